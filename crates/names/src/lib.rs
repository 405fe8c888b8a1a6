//! Types whose constructors can say no.

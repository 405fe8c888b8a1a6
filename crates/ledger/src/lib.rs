//! The hash chain of a run, its receipt, and the offline verifier.

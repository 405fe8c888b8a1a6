//! Profile and action in, verdict with reasons out.

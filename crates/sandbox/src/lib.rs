//! Authority in, plan out; starts the sandbox and speaks to its init.

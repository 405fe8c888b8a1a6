//! One safe function for each system call that no library wraps.

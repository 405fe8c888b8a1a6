//! Whole-system tests of the `loop` program: see `tests/it`.

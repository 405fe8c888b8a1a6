//! The overlay read as data: change set, diff, apply, undo.

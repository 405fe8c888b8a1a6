//! The attack and work cases, and the runner that tries them through any launcher.

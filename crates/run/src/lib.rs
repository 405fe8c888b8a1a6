//! The story of one run: prepare, confine, drive, seal.

//! Decides, records, and mints permits.

//! Bytes of the smart HTTP protocol → typed requests. No I/O; capped; fuzzed.
//!
//! One reading, the strictest of gitprotocol-common(5) and gitprotocol-pack(5): what two readers
//! could read differently is refused, never repaired. What was read is sent on as it came.

pub mod advert;
pub mod pkt;
pub mod push;
pub mod report;
pub mod target;

//! Bytes both ways between a client and its destination, unread.
//!
//! A connection that waits holds no buffer. What one side doesn't take stops the other side's
//! sending; the end of one way is passed on and leaves the other open.

use std::io;
use std::sync::Mutex;

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep_until;

use crate::gate::{Gate, lock};
use crate::meter::{Meter, OverBudget, Way};
use crate::record::{Ended, How};

/// Bytes that are taken at a time.
const CHUNK: usize = 32 * 1024;
/// Buffers that are kept for the next.
const KEPT: usize = 64;

/// Buffers that are lent for as long as it takes to pass one chunk on.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Box<[u8]>>>);

impl Buffers {
    fn take(&self) -> Box<[u8]> {
        let kept = lock(&self.0).pop();
        kept.unwrap_or_else(|| vec![0; CHUNK].into_boxed_slice())
    }

    fn give(&self, buffer: Box<[u8]>) {
        let mut kept = lock(&self.0);
        if kept.len() < KEPT {
            kept.push(buffer);
        }
    }
}

/// Why bytes stopped passing, other than that they ended.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The side they come from.
    From(io::Error),
    /// The side they go to.
    To(io::Error),
    /// The cap.
    Over(OverBudget),
}

impl Broken {
    pub(crate) fn ended(self, way: Way) -> Ended {
        match (self, way) {
            (Self::Over(over), _) => Ended::because(How::MaxBytes, over),
            (Self::From(error), Way::Out) | (Self::To(error), Way::In) => {
                Ended::because(How::ClientReset, error)
            }
            (Self::From(error), Way::In) | (Self::To(error), Way::Out) => {
                Ended::because(How::DestinationReset, error)
            }
        }
    }
}

/// Passes bytes on until they end, and then passes that on.
pub(crate) async fn pump(
    gate: &Gate,
    meter: &Meter,
    way: Way,
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
) -> Result<(), Broken> {
    loop {
        from.readable().await.map_err(Broken::From)?;
        let mut buffer = gate.buffers.take();
        let read = from.try_read(&mut buffer);
        let passed = match read {
            Ok(0) => {
                gate.buffers.give(buffer);
                // The other side may be gone already; then there is nobody to tell.
                let _ = to.shutdown().await;
                return Ok(());
            }
            Ok(read) => pass(meter, way, buffer.get(..read).unwrap_or_default(), to).await,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(Broken::From(error)),
        };
        gate.buffers.give(buffer);
        passed?;
    }
}

/// Counts bytes and passes them on.
pub(crate) async fn pass(
    meter: &Meter,
    way: Way,
    bytes: &[u8],
    to: &mut WriteHalf<'_>,
) -> Result<(), Broken> {
    meter.pass(way, bytes.len()).map_err(Broken::Over)?;
    to.write_all(bytes).await.map_err(Broken::To)
}

/// Returns when a connection has to end though neither side wants it to.
pub(crate) async fn overdue(gate: &Gate, meter: &Meter) -> Ended {
    let (idle, total) = (gate.limits.idle, gate.limits.total);
    loop {
        let age = meter.age();
        let quiet = meter.active().elapsed();
        if age >= total {
            return How::TooLong.into();
        }
        if quiet >= idle {
            return How::Idle.into();
        }
        let next = tokio::time::Instant::now() + (total - age).min(idle - quiet);
        tokio::select! {
            () = sleep_until(next) => {}
            () = gate.stopped() => return How::Stopped.into(),
        }
    }
}

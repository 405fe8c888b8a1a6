//! Counting what passes to and from a destination, and stopping it at its cap.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// What a grant's `max_bytes` leaves, for all connections of a run together.
#[derive(Debug)]
pub(crate) struct Budget(AtomicU64);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn charge(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        // The closure always has an answer.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Counts the bytes of one connection, both ways, on the side of the destination.
#[derive(Debug)]
pub struct Meter {
    started: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    /// Milliseconds after the start at which something last passed.
    active: AtomicU64,
    /// None: there is no cap. Several: as much as the one with the most left.
    budgets: Vec<Arc<Budget>>,
    /// That of the connection in whose place it is; what passes here keeps that one from being idle.
    first: Option<Arc<Meter>>,
}

/// Which way bytes pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the sandbox.
    Out,
    /// Into the sandbox.
    In,
}

/// The cap of the grant is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes that the grant allows are used up")]
pub struct OverBudget;

impl Meter {
    pub(crate) fn new(budgets: Vec<Arc<Budget>>) -> Self {
        let zero = || AtomicU64::new(0);
        let (started, first) = (Instant::now(), None);
        Self { started, sent: zero(), received: zero(), active: zero(), budgets, first }
    }

    /// That of another connection, in the place of this one.
    pub(crate) fn another(self: &Arc<Self>) -> Self {
        Self { first: Some(self.clone()), ..Self::new(self.budgets.clone()) }
    }

    /// Bytes that left the sandbox.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes that came into it.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// How long the connection has been open.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// When something last passed.
    pub(crate) fn active(&self) -> Instant {
        self.started + Duration::from_millis(self.active.load(Ordering::Relaxed))
    }

    /// Counts bytes before they are passed on; those that would go over the cap must not be.
    pub fn pass(&self, way: Way, bytes: usize) -> Result<(), OverBudget> {
        let bytes = bytes as u64;
        if !self.budgets.is_empty() && self.budgets.iter().all(|budget| budget.left() < bytes) {
            return Err(OverBudget);
        }
        for budget in &self.budgets {
            budget.charge(bytes);
        }
        let counter = if way == Way::Out { &self.sent } else { &self.received };
        counter.fetch_add(bytes, Ordering::Relaxed);
        self.touch();
        self.first.iter().for_each(|first| first.touch());
        Ok(())
    }

    /// Something passes.
    fn touch(&self) {
        let now = u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX);
        self.active.store(now, Ordering::Relaxed);
    }
}

/// A stream to a destination, counted; reading or writing over the cap is an error.
#[derive(Debug)]
pub struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }

    /// Its meter.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }
}

fn over(error: OverBudget) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, error)
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        if let Err(error) = self.meter.pass(Way::In, read) {
            buffer.set_filled(before);
            return Poll::Ready(Err(over(error)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let cap = self.meter.budgets.iter().map(|budget| budget.left()).max();
        let most = cap
            .map_or(bytes.len(), |cap| bytes.len().min(usize::try_from(cap).unwrap_or(usize::MAX)));
        if most == 0 && !bytes.is_empty() {
            return Poll::Ready(Err(over(OverBudget)));
        }
        let allowed = bytes.get(..most).unwrap_or(bytes);
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, allowed))?;
        // What another connection spent meanwhile may take the budget below nothing, once.
        let _ = self.meter.pass(Way::Out, written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A stream some of whose bytes were read already; they are read again first.
#[derive(Debug)]
pub struct Replayed<S> {
    before: io::Cursor<Vec<u8>>,
    stream: S,
}

impl<S> Replayed<S> {
    pub(crate) fn new(before: Vec<u8>, stream: S) -> Self {
        Self { before: io::Cursor::new(before), stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replayed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let at = usize::try_from(this.before.position()).unwrap_or(usize::MAX);
        match this.before.get_ref().get(at..).filter(|left| !left.is_empty()) {
            Some(left) => {
                let taken = left.len().min(buffer.remaining());
                buffer.put_slice(left.get(..taken).unwrap_or_default());
                this.before.set_position((at + taken) as u64);
                Poll::Ready(Ok(()))
            }
            None => {
                this.before = io::Cursor::default();
                Pin::new(&mut this.stream).poll_read(context, buffer)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replayed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_meter_counts_apart_and_spends_the_same_budget() {
        let first = Arc::new(Meter::new(vec![Arc::new(Budget::new(10))]));
        first.pass(Way::Out, 4).unwrap();
        let idle_since = first.active();
        std::thread::sleep(Duration::from_millis(20));
        let another = first.another();
        another.pass(Way::In, 5).unwrap();
        assert_eq!((first.sent(), first.received()), (4, 0));
        assert_eq!((another.sent(), another.received()), (0, 5));
        assert_eq!(another.pass(Way::Out, 2), Err(OverBudget));
        assert!(first.active() > idle_since, "it is in use");
    }
}

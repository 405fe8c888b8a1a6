//! The body of a request, as a stream that can be handed to whoever judges it.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf, ReadHalf};

use super::body::{BodyReader, Piece};
use super::wire::{Framing, HttpError};

/// Bytes that are read at a time.
const CHUNK: usize = 16 * 1024;

/// A side that is read, and what was read but not used.
pub(super) struct Incoming<S> {
    pub(super) stream: ReadHalf<S>,
    pub(super) bytes: Vec<u8>,
}

impl<S: AsyncRead> Incoming<S> {
    pub(super) fn used(&mut self, length: usize) {
        self.bytes.drain(..length.min(self.bytes.len()));
        if self.bytes.is_empty() {
            // A connection that waits holds no buffer.
            self.bytes = Vec::new();
        }
    }

    /// Reads more; false if there is no more.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut chunk = [0; CHUNK];
        let mut buffer = ReadBuf::new(&mut chunk);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        self.bytes.extend(buffer.filled());
        Poll::Ready(Ok(!buffer.filled().is_empty()))
    }
}

/// A body that is read, and a client that may go away meanwhile.
pub(super) struct Client<'c, S>(Mutex<Reading<'c, S>>);

struct Reading<'c, S> {
    from: &'c mut Incoming<S>,
    reader: BodyReader,
    /// Bytes of the data at the start of what was read.
    data: usize,
}

impl<'c, S: AsyncRead> Client<'c, S> {
    pub(super) fn new(from: &'c mut Incoming<S>, framing: Framing) -> Self {
        Self(Mutex::new(Reading { from, reader: BodyReader::new(framing), data: 0 }))
    }

    /// The body. What is malformed is an error that holds an [`HttpError`].
    pub(super) fn body(&self) -> ClientBody<'_, 'c, S> {
        ClientBody(self)
    }

    /// Ready when the client is gone, which shows only after the body is read.
    pub(super) fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What a client sends ahead waits for its turn, and is a sign of life.
        while reading.reader.is_done() && reading.from.bytes.is_empty() {
            if !matches!(ready!(reading.from.poll_more(context)), Ok(true)) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

/// See [`Client::body`].
pub(super) struct ClientBody<'b, 'c, S>(&'b Client<'c, S>);

impl<S: AsyncRead> AsyncRead for ClientBody<'_, '_, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).poll(context, buffer)
    }
}

impl<S: AsyncRead> Reading<'_, S> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.data == 0 {
            match self.reader.next(&self.from.bytes).map_err(malformed)? {
                Piece::End => return Poll::Ready(Ok(())),
                Piece::Framing(length) => self.from.used(length),
                Piece::Data(length) => self.data = length,
                Piece::More => {
                    if !ready!(self.from.poll_more(context))? {
                        return Poll::Ready(Err(malformed(HttpError::Cut)));
                    }
                }
            }
        }
        let taken = self.data.min(buffer.remaining());
        buffer.put_slice(self.from.bytes.get(..taken).unwrap_or_default());
        self.from.used(taken);
        self.data -= taken;
        Poll::Ready(Ok(()))
    }
}

fn malformed(error: HttpError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// What was malformed, if that is what an error of a body says.
pub(super) fn fault(error: &io::Error) -> Option<HttpError> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<HttpError>()).cloned()
}

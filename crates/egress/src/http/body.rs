//! Bodies of HTTP/1 messages: where they end, read strictly. No I/O.
//!
//! Chunks are taken apart and written anew, so that what is sent on has one reading; extensions
//! and trailers, which no client of a registry or an API needs, end here.

use super::wire::{Framing, HttpError, field};

/// Longest line of a chunk's size, and of a trailer.
const MAX_LINE: usize = 4096;
/// Most bytes of all trailers of one body.
const MAX_TRAILERS: usize = 16 * 1024;
/// Hexadecimal digits of a chunk's size: below 2^60.
const MAX_DIGITS: usize = 15;

/// Follows one body.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fixed(u64),
    Size,
    Data(u64),
    DataEnd,
    Trailers(usize),
    UntilClose,
    Done,
}

/// What the next bytes of a body are.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// So many bytes at the start are data.
    Data(usize),
    /// So many bytes at the start are framing, and can be left out.
    Framing(usize),
    /// More bytes are needed to tell.
    More,
    /// The body ended before them.
    End,
}

impl BodyReader {
    /// A reader at the start of a body.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Fixed(length),
            Framing::Chunked => State::Size,
            Framing::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    /// Is the body over?
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// May the body end where the bytes end?
    #[must_use]
    pub fn may_close(&self) -> bool {
        matches!(self.state, State::Done | State::UntilClose)
    }

    /// Says what `bytes`, which follow all that was taken before, start with, and takes it.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, HttpError> {
        match self.state {
            State::Done => Ok(Piece::End),
            _ if bytes.is_empty() => Ok(Piece::More),
            State::UntilClose => Ok(Piece::Data(bytes.len())),
            State::Fixed(left) => Ok(self.data(bytes, left, State::Fixed, State::Done)),
            State::Data(left) => Ok(self.data(bytes, left, State::Data, State::DataEnd)),
            State::DataEnd => self.data_end(bytes),
            State::Size => self.size(bytes),
            State::Trailers(so_far) => self.trailer(bytes, so_far),
        }
    }

    fn data(&mut self, bytes: &[u8], left: u64, rest: fn(u64) -> State, end: State) -> Piece {
        let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let left = left.saturating_sub(taken as u64);
        self.state = if left == 0 { end } else { rest(left) };
        Piece::Data(taken)
    }

    fn data_end(&mut self, bytes: &[u8]) -> Result<Piece, HttpError> {
        match bytes {
            [b'\r'] => Ok(Piece::More),
            [b'\r', b'\n', ..] => {
                self.state = State::Size;
                Ok(Piece::Framing(2))
            }
            _ => Err(HttpError::Chunk),
        }
    }

    fn size(&mut self, bytes: &[u8]) -> Result<Piece, HttpError> {
        let Some((line, length)) = line(bytes)? else { return Ok(Piece::More) };
        let size = chunk_size(line)?;
        self.state = if size == 0 { State::Trailers(0) } else { State::Data(size) };
        Ok(Piece::Framing(length))
    }

    fn trailer(&mut self, bytes: &[u8], so_far: usize) -> Result<Piece, HttpError> {
        let Some((line, length)) = line(bytes)? else { return Ok(Piece::More) };
        if line.is_empty() {
            self.state = State::Done;
            return Ok(Piece::Framing(length));
        }
        field(line)?;
        let so_far = so_far + length;
        if so_far > MAX_TRAILERS {
            return Err(HttpError::HeadTooLarge);
        }
        self.state = State::Trailers(so_far);
        Ok(Piece::Framing(length))
    }
}

/// The line at the start, without its CR LF, and the length of the whole.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, HttpError> {
    let control = |byte: &u8| *byte < b' ' && *byte != b'\t' || *byte == 0x7f;
    let seen = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(at) = seen.iter().position(control) else {
        return if bytes.len() >= MAX_LINE { Err(HttpError::Chunk) } else { Ok(None) };
    };
    match seen.split_at_checked(at) {
        Some((line, [b'\r', b'\n', ..])) => Ok(Some((line, at + 2))),
        Some((_, [b'\r'])) if bytes.len() < MAX_LINE => Ok(None),
        _ => Err(HttpError::Chunk),
    }
}

/// Digits, and perhaps an extension, which is left out (RFC 9112 section 7.1.1).
fn chunk_size(line: &[u8]) -> Result<u64, HttpError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at_checked(end).unwrap_or_default();
    let bare = rest.is_empty() || rest.starts_with(b";");
    if !bare || !(1..=MAX_DIGITS).contains(&digits.len()) {
        return Err(HttpError::Chunk);
    }
    let digits = str::from_utf8(digits).map_err(|_| HttpError::Chunk)?;
    u64::from_str_radix(digits, 16).map_err(|_| HttpError::Chunk)
}

/// A chunk around `data`, written after it was read; nothing if it is empty, which would end the
/// body.
#[must_use]
pub fn chunk_start(length: usize) -> Vec<u8> {
    format!("{length:x}\r\n").into_bytes()
}

/// What follows the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";
/// What follows the last chunk.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

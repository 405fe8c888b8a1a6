//! Requests of Git, and whoever judges those that push.
//!
//! This crate knows no Git. A [`GitGate`] recognises such requests; what a push would change is
//! read, decided about and recorded by its [`Push`] before any of it is sent on.

use std::io;
use std::pin::Pin;

use policy::Connect;
use tokio::io::AsyncRead;

use crate::denial::{Denial, MAX_NEXT, in_a_line};
use crate::intercept::Boxed;

/// The body of a request, without its framing.
pub type Body<'b> = Pin<Box<dyn AsyncRead + Send + 'b>>;

/// Recognises requests of Git.
pub trait GitGate: Send + Sync + 'static {
    /// Whether a push to this destination could be allowed, so that nothing to it may pass unread.
    fn wants(&self, connect: &Connect) -> bool;

    /// What a request is to Git; `None` if it is none of Git's.
    fn recognise(&self, asked: &Asked) -> Option<Git>;
}

/// How a request says which credential it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// By its placeholder.
    Named,
    /// By where it goes: it is Git's.
    Implied,
}

/// The head of a request, as far as it tells whether it is Git's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The destination, which the request was checked to be for.
    pub connect: Connect,
    /// The method.
    pub method: String,
    /// The path and the query, as sent.
    pub target: String,
    /// `Content-Type`; several joined by commas.
    pub content_type: Option<String>,
    /// `Content-Encoding`; several joined by commas.
    pub content_encoding: Option<String>,
}

/// What a request is to Git.
pub enum Git {
    /// It reads a repository.
    Fetch,
    /// It pushes, or could.
    Push(Box<dyn Push>),
}

/// One request that pushes, or could.
pub trait Push: Send {
    /// Reads as much of the body as it takes, decides, records, and gives the body to send on: the
    /// same bytes. Dropping the future withdraws whatever is asked of a person.
    fn judge<'a, 'b: 'a>(&'a mut self, body: Body<'b>) -> Boxed<'a, Result<Body<'b>, Unsent>>;

    /// What the client is told where the request is not sent for a reason of somebody else's.
    fn refuse(&mut self, denial: &Denial) -> Answer;

    /// The destination answers with this status.
    fn answers(&mut self, status: u16);

    /// Bytes of its answer, as they are passed on.
    fn reads(&mut self, bytes: &[u8]);

    /// Records what came of it. `whole`: the answer came to its end.
    fn done(&mut self, whole: bool) -> Boxed<'_, ()>;
}

/// Why a push is not sent.
#[derive(Debug)]
pub enum Unsent {
    /// It is refused, and this is the answer.
    Refused(Answer),
    /// Its body can't be read. The error is that of the body.
    Broken(io::Error),
}

/// An answer in the client's own terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// What it says, in a line, for the record.
    pub reason: String,
}

impl Answer {
    /// A denial as Git shows it: line by line, and only if the body is plain text.
    pub(crate) fn of(denial: &Denial) -> Self {
        let next = denial.next.iter().map(|next| format!("next: {}\n", in_a_line(next, MAX_NEXT)));
        let next: String = next.collect();
        Self {
            status: denial.status(),
            content_type: "text/plain",
            body: format!("{}\n{next}", denial.phrase()).into_bytes(),
            reason: denial.reason.clone(),
        }
    }

    /// A whole HTTP/1 response, after which the connection is closed.
    #[must_use]
    pub(crate) fn response(&self) -> Vec<u8> {
        let Self { status, content_type, body, .. } = self;
        let phrase = if *status == 200 { "OK" } else { "denied by Loop" };
        let head = format!(
            "HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\n\
             Cache-Control: no-cache\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }
}

/// Who reads an answer besides the client.
pub(crate) enum Tap<'p> {
    None,
    Push(&'p mut dyn Push),
}

impl Tap<'_> {
    pub(crate) fn answers(&mut self, status: u16) {
        if let Self::Push(push) = self {
            push.answers(status);
        }
    }

    pub(crate) fn reads(&mut self, bytes: &[u8]) {
        if let Self::Push(push) = self {
            push.reads(bytes);
        }
    }
}

/// The values of a header, joined.
pub(crate) fn joined<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let values: Vec<_> = values.map(String::from_utf8_lossy).collect();
    (!values.is_empty()).then(|| values.join(","))
}

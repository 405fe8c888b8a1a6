//! What a client is told when it doesn't get what it asked for, in any protocol.

use broker::Refusal;
use serde_json::json;

use crate::socks::wire::Reply;
use crate::tls::wire::Alert;

/// Most characters of a reason that go into a status line.
const MAX_PHRASE: usize = 200;
/// Most characters of what could be done, which has a field of its own.
pub(crate) const MAX_NEXT: usize = 600;

/// Why a request fails, and whose fault it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Whose fault it is.
    pub whose: Whose,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// What the person could do.
    pub next: Option<String>,
}

/// Whose fault it is that a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The authority, or the gate, doesn't allow it.
    Policy,
    /// The request is malformed.
    Client,
    /// The destination doesn't exist, doesn't answer, or answers nonsense.
    Destination,
    /// It took the destination too long.
    Time,
    /// Ours: it can't be recorded, or there is too much of it.
    Loop,
}

impl Denial {
    /// A denial without a rule.
    #[must_use]
    pub fn new(whose: Whose, reason: impl Into<String>) -> Self {
        Self { whose, rule: None, reason: reason.into(), next: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The status for HTTP clients.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.whose {
            Whose::Policy => 403,
            Whose::Client => 400,
            Whose::Destination => 502,
            Whose::Time => 504,
            Whose::Loop => 503,
        }
    }

    /// A short word for it.
    #[must_use]
    pub fn error(&self) -> &'static str {
        match self.whose {
            Whose::Policy => "denied",
            Whose::Client => "malformed",
            Whose::Destination => "unreachable",
            Whose::Time => "timeout",
            Whose::Loop => "unavailable",
        }
    }

    /// The body for HTTP clients: JSON and a line end.
    #[must_use]
    pub fn body(&self) -> String {
        let (error, rule, reason) = (self.error(), &self.rule, &self.reason);
        format!("{}\n", json!({"error": error, "rule": rule, "reason": reason, "next": self.next}))
    }

    /// A whole HTTP/1 response, after which the connection is closed. The status line says the
    /// reason too, because many clients show nothing else; fields say it and what to do, because
    /// nobody is shown the body of an answer to CONNECT.
    #[must_use]
    pub fn response(&self) -> Vec<u8> {
        let (body, phrase) = (self.body(), self.phrase());
        let (status, length) = (self.status(), body.len());
        let fields = self.fields().map(|(name, value)| format!("{name}: {value}\r\n"));
        let fields: String = fields.collect();
        format!(
            "HTTP/1.1 {status} {phrase}\r\nContent-Type: application/json\r\n{fields}\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// The fields of a response that say why, and what to do.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let next = self.next.as_deref().map(|next| ("x-loop-next", in_a_line(next, MAX_NEXT)));
        std::iter::once(("x-loop-denied", self.phrase())).chain(next)
    }

    /// The reason as a phrase: printable ASCII in a line.
    #[must_use]
    pub fn phrase(&self) -> String {
        let rule = self.rule.iter().map(|rule| format!(" ({rule})"));
        let text = format!("{} by Loop: {}{}", self.error(), self.reason, rule.collect::<String>());
        in_a_line(&text, MAX_PHRASE)
    }

    /// The alert for TLS clients.
    #[must_use]
    pub fn alert(&self) -> Alert {
        match self.whose {
            Whose::Policy => Alert::AccessDenied,
            Whose::Client => Alert::DecodeError,
            Whose::Destination | Whose::Time | Whose::Loop => Alert::InternalError,
        }
    }

    /// The reply for SOCKS clients.
    #[must_use]
    pub fn reply(&self) -> Reply {
        match self.whose {
            Whose::Policy => Reply::NotAllowed,
            Whose::Client | Whose::Loop => Reply::Failure,
            Whose::Destination => Reply::HostUnreachable,
            Whose::Time => Reply::TtlExpired,
        }
    }
}

impl From<&Refusal> for Denial {
    fn from(refusal: &Refusal) -> Self {
        let Some(verdict) = refusal.verdict() else {
            return Self::new(Whose::Loop, "it could not be recorded, so it does not happen");
        };
        let told = refusal.to_string();
        let reason = told.strip_prefix("denied: ").unwrap_or(&told).to_owned();
        let rule = verdict.decided_by.first().map(ToString::to_string);
        Self { whose: Whose::Policy, rule, reason, next: verdict.remedy.clone() }
    }
}

/// The text as printable ASCII, at most so many characters of it.
pub(crate) fn in_a_line(text: &str, most: usize) -> String {
    let graphic = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(most).map(graphic).collect()
}

//! A model behind a transport: one answer, with as many attempts as it takes.

use bytes::Bytes;
use names::Secret;
use serde_json::Value;

use crate::retry::{Pace, Retry, retry_after};
use crate::sse::{Decoder, Message};
use crate::transport::{Broken, Post, Reply, Transport};
use crate::wire::{Again, Failure, Reader, Wire, fault, said};
use crate::{Abilities, Answer, Cancel, Event, Model, ModelError, ModelId, Request};

/// Largest event of a stream, in bytes. The last one of some holds the whole answer.
const LARGEST_EVENT: usize = 16 << 20;
/// Largest answer, in bytes on the wire.
const LARGEST_ANSWER: u64 = 256 << 20;
/// Largest description of an error that is read.
const LARGEST_ERROR: usize = 64 << 10;

/// A provider's model.
pub(crate) struct Client {
    pub(crate) id: ModelId,
    pub(crate) abilities: Abilities,
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) key: Option<Secret<String>>,
    pub(crate) transport: Transport,
    pub(crate) pace: Pace,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Model for Client {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn answer(
        &self,
        request: &Request,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, ModelError> {
        let post = self.post(request).map_err(|failure| self.told(failure.error))?;
        let mut retry = Retry::new();
        loop {
            let mut seen = false;
            let mut shown = |event| {
                seen = true;
                sink(event);
            };
            let failure = match self.attempt(request, &post, cancel, &mut shown) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if seen {
                return Err(self.told(broken_off(failure.error)));
            }
            let Some(after) = retry.next(&failure, (self.pace.chance)()) else {
                return Err(self.told(failure.error));
            };
            let may_cost = failure.error.may_cost();
            let why = self.told(failure.error).to_string();
            sink(Event::Retrying { after, attempt: retry.attempt(), why, may_cost });
            if (self.pace.wait)(cancel, after) {
                return Err(ModelError::Cancelled);
            }
        }
    }
}

/// What was seen of an answer is seen; sending again would say it twice.
fn broken_off(error: ModelError) -> ModelError {
    match error {
        ModelError::Overloaded(why)
        | ModelError::Unreachable(why)
        | ModelError::Unanswered(why)
        | ModelError::RateLimited { said: why, .. } => ModelError::Interrupted(why),
        other => other,
    }
}

impl Client {
    fn post(&self, request: &Request) -> Result<Post, Failure> {
        let body = self.wire.body(request);
        let body = body.map_err(|_| unreachable(Broken::Request("its body")))?;
        Ok(Post {
            path: self.wire.path().to_owned(),
            headers: self.wire.headers(),
            authorization: self.key.as_ref().map(|key| self.wire.authorization(key)),
            body: Bytes::from(body),
        })
    }

    fn attempt(
        &self,
        request: &Request,
        post: &Post,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, Failure> {
        let work = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Failure::lasting(ModelError::Cancelled)),
                answer = self.exchange(request, post, sink) => answer,
            }
        };
        self.transport.run(work).map_err(unreachable)?
    }

    async fn exchange(
        &self,
        request: &Request,
        post: &Post,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, Failure> {
        let mut reply = self.transport.post(post).await.map_err(unreachable)?;
        if reply.status != 200 {
            return Err(self.refused(&mut reply).await);
        }
        let reader = self.wire.reader(request);
        let kind = reply.headers.get("content-type").and_then(|kind| kind.to_str().ok());
        // Servers that don't name it are believed; one that says JSON did not stream.
        if kind.is_some_and(|kind| kind.starts_with("application/json")) {
            return self.whole(reply, reader, sink).await;
        }
        self.stream(reply, reader, sink).await
    }

    async fn stream(
        &self,
        mut reply: Reply,
        mut reader: Box<dyn Reader>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, Failure> {
        let mut decoder = Decoder::new(LARGEST_EVENT);
        let mut size = 0u64;
        let mut messages = Vec::new();
        while let Some(piece) = reply.piece(self.transport.timeouts()).await.map_err(interrupted)? {
            size = size.saturating_add(piece.len() as u64);
            if size > LARGEST_ANSWER {
                return Err(Failure::malformed("the answer is too large"));
            }
            let fed = decoder.feed(&piece, &mut messages);
            for message in messages.drain(..) {
                if !reader.is_done() {
                    read(reader.as_mut(), &message, sink)?;
                }
            }
            fed.map_err(|error| Failure::malformed(error.to_string()))?;
            if reader.is_done() {
                self.drain(reply).await;
                return reader.finish();
            }
        }
        match decoder.is_in_an_event() {
            true => Err(Failure::passing(ModelError::Interrupted(
                "the answer ended in the middle of an event".into(),
            ))),
            false => reader.finish(),
        }
    }

    /// The end of the body is usually there already; then the connection can be used again.
    async fn drain(&self, mut reply: Reply) {
        let soon = std::time::Duration::from_millis(50);
        let end = async { while let Ok(Some(_)) = reply.piece(self.transport.timeouts()).await {} };
        if tokio::time::timeout(soon, end).await.is_ok() {
            self.transport.keep(reply);
        }
    }

    /// An answer in one piece, from a server that does not stream.
    async fn whole(
        &self,
        mut reply: Reply,
        mut reader: Box<dyn Reader>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Answer, Failure> {
        let all = reply.all(self.transport.timeouts(), LARGEST_EVENT).await.map_err(interrupted)?;
        let data = String::from_utf8_lossy(&all).into_owned();
        read(reader.as_mut(), &Message { data, ..Message::default() }, sink)?;
        reader.finish().map_err(|_| Failure::malformed("the answer did not stream"))
    }

    async fn refused(&self, reply: &mut Reply) -> Failure {
        let body = reply.all(self.transport.timeouts(), LARGEST_ERROR).await.unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_else(|_| {
            // Not of the API: a proxy's page, which says little more than its status.
            Value::String(String::new())
        });
        let mut failure = fault(reply.status, &body);
        let asked = retry_after(&reply.headers, (self.pace.clock)());
        if let Again::After(after) = &mut failure.again {
            *after = asked;
        }
        if let ModelError::RateLimited { after, .. } = &mut failure.error {
            *after = asked;
        }
        failure
    }

    /// The error with who it is from, and without the key wherever it may have got in.
    fn told(&self, error: ModelError) -> ModelError {
        let key = self.key.as_ref().map(|key| key.expose().as_str());
        let known: Vec<&str> = key.into_iter().collect();
        let from = format!("{} at {}", self.id.provider(), self.transport.base().authority());
        error.map(|text| format!("{from}: {}", names::redact_with(&text, &known)))
    }
}

fn read(
    reader: &mut dyn Reader,
    message: &Message,
    sink: &mut dyn FnMut(Event),
) -> Result<(), Failure> {
    let mut events = Vec::new();
    let result = reader.read(message, &mut events);
    events.into_iter().for_each(sink);
    result
}

fn unreachable(broken: Broken) -> Failure {
    let told = said(&broken.to_string());
    match broken {
        Broken::Request(_) => Failure::lasting(ModelError::Unreachable(told)),
        Broken::Connect { .. } => Failure::passing(ModelError::Unreachable(told)),
        Broken::Late(..) | Broken::Lost(_) => Failure::passing(ModelError::Unanswered(told)),
    }
}

fn interrupted(broken: Broken) -> Failure {
    Failure::passing(ModelError::Interrupted(said(&broken.to_string())))
}

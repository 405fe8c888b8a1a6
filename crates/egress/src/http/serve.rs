//! Requests of one client to one destination, one after another: each is read strictly, checked,
//! asked about, and only then sent on, written anew. Responses are read as strictly.
//!
//! The streams may be anything: plain connections here, decrypted ones where TLS is opened.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, WriteHalf, split};
use tokio::time::{Instant, timeout};

use super::body::{BodyReader, CHUNK_END, LAST_CHUNK, Piece, chunk_start};
use super::client::{Client, Incoming, fault};
use super::wire::{Ending, Framing, HttpError, RequestHead, ResponseHead, is_worth_reading};
use crate::denial::{Denial, Whose};
use crate::git::{Answer, Asked, Body, Git, Push, Tap, Unsent, Wanted, joined};
use crate::intercept::Boxed;
use crate::record::{Ended, How};
use crate::requests::{Admitted, Requests};

/// Bytes that are read at a time.
const CHUNK: usize = 8 * 1024;
/// Bytes of a judged body that are sent at a time.
const SENT: usize = 32 * 1024;
/// Most responses that announce another one (RFC 9110 section 15.2).
const MOST_INTERIM: usize = 16;

/// Decides about each request, and may change what is sent on.
pub trait Exchange: Send + Sync {
    /// Checks where the request is for, asks about it, and puts into its head what the
    /// destination is to see.
    fn admit<'a>(
        &'a self,
        head: &'a mut RequestHead,
        wanted: Wanted,
    ) -> Boxed<'a, Result<Admitted, Denial>>;

    /// Records how the request went.
    fn done<'a>(&'a self, admitted: Admitted, status: Option<u16>) -> Boxed<'a, ()>;

    /// Records bytes of the client that are no request.
    fn malformed<'a>(&'a self, why: HttpError, bytes: &'a [u8]) -> Boxed<'a, ()>;
}

impl Exchange for Requests {
    fn admit<'a>(
        &'a self,
        head: &'a mut RequestHead,
        _: Wanted,
    ) -> Boxed<'a, Result<Admitted, Denial>> {
        Box::pin(async {
            self.check_head(head).await?;
            Requests::admit(self, &head.method, head.path()).await
        })
    }

    fn done<'a>(&'a self, admitted: Admitted, status: Option<u16>) -> Boxed<'a, ()> {
        Box::pin(Requests::done(self, admitted, status))
    }

    fn malformed<'a>(&'a self, why: HttpError, bytes: &'a [u8]) -> Boxed<'a, ()> {
        Box::pin(Requests::malformed(self, why, bytes))
    }
}

/// How many requests a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// As many as the client likes.
    Alive,
    /// One; clients of a proxy use a connection for any host, and one is for one host.
    Once,
}

/// What a conversation needs besides the streams.
pub struct Conversation<'a> {
    /// Who decides.
    pub exchange: &'a dyn Exchange,
    /// Which destination it is; requests are sent to it by this name.
    pub requests: &'a Requests,
    /// Until a head, once begun, is whole.
    pub head_limit: Duration,
    /// How many requests.
    pub keep: Keep,
}

/// The destination of a conversation.
pub struct Destination<'a, U> {
    /// The connection to it.
    pub stream: U,
    /// How to get another one; none if there is no destination.
    pub anew: Option<&'a dyn Anew<U>>,
}

/// Connects to a destination once more.
pub trait Anew<U>: Send + Sync {
    /// Another connection, as far along as the first one was when the conversation began.
    fn anew(&self) -> Boxed<'_, Result<U, Denial>>;
}

/// A connection that had to wait for so long may be closed by the time a request arrives, or
/// forgotten by something on the way that says nothing about it.
const STALE: Duration = Duration::from_secs(30);

/// Carries requests and responses until either side is done, or `overdue` says that it is enough.
/// `first` is what was read from the client before.
pub async fn converse<C, U>(
    conversation: Conversation<'_>,
    client: C,
    upstream: Destination<'_, U>,
    first: Vec<u8>,
    overdue: impl Future<Output = Ended>,
) -> Ended
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    let answering = AtomicBool::new(false);
    let (from_client, to_client) = split(client);
    let mut sides = Sides {
        client: Incoming { stream: from_client, bytes: first },
        upstream: Upstream::of(upstream),
        to_client,
        answering: &answering,
        asked: true,
    };
    let carried = tokio::select! {
        carried = carry(&conversation, &mut sides) => carried,
        ended = overdue => Err(Failure::Ended(ended)),
    };
    match carried {
        Ok(()) => {
            let _ = sides.to_client.shutdown().await;
            How::Closed.into()
        }
        Err(failure) => conclude(&conversation, &mut sides, failure).await,
    }
}

/// Why a conversation ends early.
enum Failure {
    /// The client's bytes are no request.
    Client(HttpError),
    /// The destination's bytes are no response.
    Upstream(HttpError),
    /// A request is refused.
    Denied(Denial),
    /// A push is refused, in its own terms.
    Answered(Answer),
    FromClient(io::Error),
    FromUpstream(io::Error),
    Ended(Ended),
}

struct Sides<'a, C, U> {
    client: Incoming<C>,
    upstream: Upstream<'a, U>,
    to_client: WriteHalf<C>,
    /// Whether part of a response was sent that isn't finished.
    answering: &'a AtomicBool,
    /// Whether the client waits for an answer, or has begun to ask.
    asked: bool,
}

/// The side of the destination.
struct Upstream<'a, U> {
    from: Incoming<U>,
    to: WriteHalf<U>,
    anew: Option<&'a dyn Anew<U>>,
    /// Requests that were answered over this connection.
    answered: u64,
}

impl<'a, U: AsyncRead + AsyncWrite> Upstream<'a, U> {
    fn of(destination: Destination<'a, U>) -> Self {
        let Destination { stream, anew } = destination;
        let (from, to) = split(stream);
        Self { from: Incoming { stream: from, bytes: Vec::new() }, to, anew, answered: 0 }
    }

    /// Makes sure that a request can be sent that was asked about since then: a person may have
    /// taken longer than the destination waits.
    async fn refresh(&mut self, since: Instant) -> Result<(), Denial> {
        let is_over = self.has_spoken().await;
        let Some(anew) = self.anew.filter(|_| is_over || since.elapsed() > STALE) else {
            return Ok(());
        };
        match anew.anew().await {
            Ok(stream) => *self = Self::of(Destination { stream, anew: self.anew }),
            Err(denial) if is_over => return Err(denial),
            // The old one may do.
            Err(_) => {}
        }
        Ok(())
    }

    /// Whether the destination closed the connection, or said something, although nothing was asked.
    async fn has_spoken(&mut self) -> bool {
        let mut unasked = [0; 1];
        tokio::select! {
            biased;
            _ = self.from.stream.read(&mut unasked) => true,
            () = std::future::ready(()) => !self.from.bytes.is_empty(),
        }
    }
}

impl<S: AsyncRead> Incoming<S> {
    /// Reads more; false if there is no more.
    async fn more(&mut self) -> io::Result<bool> {
        self.bytes.reserve(CHUNK);
        Ok(self.stream.read_buf(&mut self.bytes).await? > 0)
    }
}

/// Tells the client what is wrong, if there is still a way to.
async fn conclude<C, U>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
    failure: Failure,
) -> Ended
where
    C: AsyncRead + AsyncWrite,
{
    if let Failure::Client(why) = &failure {
        conversation.exchange.malformed(why.clone(), &sides.client.bytes).await;
    }
    let used_before = sides.upstream.answered > 0 && sides.upstream.from.bytes.is_empty();
    let ended = failure.ended();
    let is_told =
        !sides.answering.load(Ordering::Relaxed) && failure.is_told(used_before, sides.asked);
    if let Some(response) = failure.response().filter(|_| is_told) {
        // The client may be gone.
        let _ = sides.to_client.write_all(&response).await;
        linger(sides).await;
    }
    ended
}

impl Failure {
    /// Whether the client is to be told, who has `asked` for something on a connection that may
    /// have been `used_before`.
    fn is_told(&self, used_before: bool, asked: bool) -> bool {
        match self {
            // It just closed between two requests; clients know what to do then, and an answer
            // would keep them from it.
            Self::Upstream(HttpError::Cut) => !used_before,
            Self::FromUpstream(error) => !used_before || is_over_budget(error),
            // An answer to nothing would be taken for the answer to the next request.
            Self::Ended(_) => asked,
            Self::Client(_) | Self::Upstream(_) | Self::FromClient(_) => true,
            Self::Denied(_) | Self::Answered(_) => true,
        }
    }

    fn ended(&self) -> Ended {
        match self {
            Self::Client(why) => Ended::because(How::Malformed, why),
            Self::Upstream(why) => Ended::because(How::Unreachable, why),
            Self::Denied(denial) if denial.whose == Whose::Client => {
                Ended::because(How::Malformed, &denial.reason)
            }
            Self::Denied(denial) if matches!(denial.whose, Whose::Destination | Whose::Time) => {
                Ended::because(How::Unreachable, &denial.reason)
            }
            Self::Denied(denial) => Ended::because(How::Denied, &denial.reason),
            Self::Answered(answer) => Ended::because(How::Denied, &answer.reason),
            Self::FromClient(error) => Ended::because(How::ClientReset, error),
            Self::FromUpstream(error) if is_over_budget(error) => {
                Ended::because(How::MaxBytes, error)
            }
            Self::FromUpstream(error) => Ended::because(How::DestinationReset, error),
            Self::Ended(ended) => ended.clone(),
        }
    }

    /// What the client is told.
    fn response(self) -> Option<Vec<u8>> {
        let (whose, reason) = match self {
            Self::Client(why) => (Whose::Client, why.to_string()),
            Self::Upstream(why) => (
                Whose::Destination,
                format!("the destination's response can't be passed on: {why}"),
            ),
            Self::Denied(denial) => return Some(denial.response()),
            Self::Answered(answer) => return Some(answer.response()),
            Self::FromClient(_) => return None,
            Self::FromUpstream(error) if is_over_budget(&error) => {
                (Whose::Policy, error.to_string())
            }
            Self::FromUpstream(error) => {
                (Whose::Destination, format!("the destination broke off: {error}"))
            }
            Self::Ended(ended) if ended.how == How::Stopped => {
                (Whose::Loop, "the run ends".to_owned())
            }
            Self::Ended(_) => (Whose::Time, "nothing passed for too long".to_owned()),
        };
        Some(Denial::new(whose, reason).response())
    }
}

fn is_over_budget(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::QuotaExceeded
}

/// Closes such that the answer arrives although the client is still sending (RFC 9112 section 9.6).
async fn linger<C: AsyncRead + AsyncWrite, U>(sides: &mut Sides<'_, C, U>) {
    const PATIENCE: Duration = Duration::from_secs(1);
    const MOST: usize = 64;
    let _ = sides.to_client.shutdown().await;
    let drained = async {
        for _ in 0..MOST {
            sides.client.bytes.clear();
            if !matches!(sides.client.more().await, Ok(true)) {
                return;
            }
        }
    };
    let _ = timeout(PATIENCE, drained).await;
}

async fn carry<C, U>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
) -> Result<(), Failure>
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    while let Some(head) = next_request(conversation, sides).await? {
        let ending = match conversation.requests.git(&asked(conversation.requests, &head)) {
            Some(Git::Push(push)) => Box::pin(one_push(conversation, sides, head, push)).await?,
            Some(Git::Fetch) => one(conversation, sides, head, Wanted::Implied).await?,
            None => one(conversation, sides, head, Wanted::Named).await?,
        };
        match ending {
            // What a server says without being asked belongs to no request.
            Ending::Stay if !sides.upstream.from.bytes.is_empty() => return Ok(()),
            Ending::Stay => {
                sides.answering.store(false, Ordering::Relaxed);
                sides.upstream.answered += 1;
                sides.asked = !sides.client.bytes.is_empty();
            }
            Ending::Close => return check_rest(conversation, sides).await,
            Ending::Websocket => return both_ways(sides).await,
        }
    }
    Ok(())
}

/// One request and its answer.
async fn one<C, U>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
    mut head: RequestHead,
    wanted: Wanted,
) -> Result<Ending, Failure>
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    let exchange = conversation.exchange;
    let refused = |denial| match wanted {
        Wanted::Named => Failure::Denied(denial),
        Wanted::Implied => Failure::Answered(Answer::of(&denial)),
    };
    let (upstream, since) = (&mut sides.upstream, Instant::now());
    let admitted = ready(exchange, upstream, &mut head, wanted, since).await.map_err(refused)?;
    let answered = answer(conversation, sides, &head).await;
    let status = answered.as_ref().ok().map(|(status, _)| *status);
    exchange.done(admitted, status).await;
    Ok(answered?.1)
}

/// Asks about a request, and makes sure that it can be sent to the destination, which has waited for
/// it since then.
async fn ready<U: AsyncRead + AsyncWrite>(
    exchange: &dyn Exchange,
    upstream: &mut Upstream<'_, U>,
    head: &mut RequestHead,
    wanted: Wanted,
    since: Instant,
) -> Result<Admitted, Denial> {
    let admitted = exchange.admit(head, wanted).await?;
    if let Err(denial) = upstream.refresh(since).await {
        exchange.done(admitted, None).await;
        return Err(denial);
    }
    Ok(admitted)
}

/// One request that pushes: judged by its body before anything of it, or a credential, is sent.
async fn one_push<C, U>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
    mut head: RequestHead,
    mut push: Box<dyn Push>,
) -> Result<Ending, Failure>
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    let exchange = conversation.exchange;
    conversation.requests.check_head(&head).await.map_err(Failure::Denied)?;
    let Sides { client, upstream, to_client, answering, .. } = sides;
    prepare(&mut head, to_client).await?;
    let client = Client::new(client, head.framing);
    let since = Instant::now();
    let body = judged(&mut *push, &client, head.framing).await?;
    let admitted = match ready(exchange, upstream, &mut head, Wanted::Implied, since).await {
        Ok(admitted) => admitted,
        Err(denial) => {
            let answer = push.refuse(&denial);
            push.done(false).await;
            return Err(Failure::Answered(answer));
        }
    };
    let Upstream { from, to, .. } = upstream;
    let sending = async {
        let onward = head.onward(&conversation.requests.authority());
        to.write_all(&onward).await.map_err(Stopped::To)?;
        send(body, to, head.framing).await
    };
    let mut tap = Tap::Push(&mut *push);
    let receiving = receive(from, to_client, &head, answering, conversation.keep, &mut tap);
    let answered = both(sending, receiving, conversation.keep, head.closes()).await;
    push.done(answered.is_ok()).await;
    exchange.done(admitted, answered.as_ref().ok().map(|(status, _)| *status)).await;
    Ok(answered?.1)
}

/// Tells a client that waits for it to go on, and keeps the answer such that it can be read.
async fn prepare<C: AsyncWrite>(
    head: &mut RequestHead,
    to_client: &mut WriteHalf<C>,
) -> Result<(), Failure> {
    let waits = head.fields.iter().any(|field| field.is("expect"));
    head.fields.retain(|field| !field.is("expect") && !field.is("accept-encoding"));
    if waits && head.framing != Framing::None {
        // The whole request is not decided about before its body is read: RFC 9110 section 10.1.1.
        let told = async {
            to_client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            to_client.flush().await
        };
        told.await.map_err(Failure::FromClient)?;
    }
    Ok(())
}

/// Lets a push be judged for as long as its client is there.
async fn judged<'b, S: AsyncRead + Send>(
    push: &mut dyn Push,
    client: &'b Client<'_, S>,
    framing: Framing,
) -> Result<Body<'b>, Failure> {
    let gone = std::future::poll_fn(|context| client.poll_gone(context));
    let judging = push.judge(Box::pin(client.body()));
    let unsent = tokio::select! {
        biased;
        judged = judging => match judged {
            Ok(body) => return Ok(body),
            Err(unsent) => unsent,
        },
        // A request without a body says nothing more.
        () = gone, if framing != Framing::None => Unsent::Broken(io::ErrorKind::ConnectionReset.into()),
    };
    push.done(false).await;
    Err(match unsent {
        Unsent::Refused(answer) => Failure::Answered(answer),
        Unsent::Broken(error) => Unread::of(error).of_client(),
    })
}

/// A request as whoever knows Git looks at it.
fn asked(requests: &Requests, head: &RequestHead) -> Asked {
    let values = |name: &'static str| {
        joined(head.fields.iter().filter(move |field| field.is(name)).map(|field| &*field.value))
    };
    Asked {
        connect: requests.connect().clone(),
        method: head.method.clone(),
        target: head.path().to_owned(),
        content_type: values("content-type"),
        content_encoding: values("content-encoding"),
    }
}

/// The next request; none if the client is done.
async fn next_request<C: AsyncRead, U: AsyncRead>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
) -> Result<Option<RequestHead>, Failure> {
    if sides.client.bytes.is_empty() && !begins(sides).await? {
        return Ok(None);
    }
    let port = conversation.requests.default_port();
    let reading = async {
        let mut seen = 0;
        loop {
            let bytes = &sides.client.bytes;
            if is_worth_reading(bytes, seen)
                && let Some((head, length)) =
                    RequestHead::parse(bytes, port).map_err(Failure::Client)?
            {
                sides.client.used(length);
                return Ok(Some(head));
            }
            seen = bytes.len();
            if !sides.client.more().await.map_err(Failure::FromClient)? {
                return Err(Failure::Client(HttpError::Cut));
            }
        }
    };
    timeout(conversation.head_limit, reading).await.unwrap_or(Err(Failure::Client(HttpError::Slow)))
}

/// Waits for the first byte of a request, without a buffer; false if there is none to come: the
/// client is done, or the destination closed a connection that nobody used, and then the client
/// must see that before it sends another request.
async fn begins<C: AsyncRead, U: AsyncRead>(sides: &mut Sides<'_, C, U>) -> Result<bool, Failure> {
    let (mut first, mut unasked) = ([0; 1], [0; 1]);
    tokio::select! {
        biased;
        read = sides.client.stream.read(&mut first) => {
            let read = read.map_err(Failure::FromClient)?;
            sides.client.bytes.extend(first.get(..read).unwrap_or_default());
            sides.asked = true;
            Ok(read > 0)
        }
        read = sides.upstream.from.stream.read(&mut unasked), if sides.upstream.answered > 0 => {
            read.map_err(Failure::FromUpstream)?;
            Ok(false)
        }
    }
}

/// A client that sent more than a connection carries is refused aloud if it meant another host.
async fn check_rest<C, U>(
    conversation: &Conversation<'_>,
    sides: &Sides<'_, C, U>,
) -> Result<(), Failure> {
    let port = conversation.requests.default_port();
    if let Ok(Some((head, _))) = RequestHead::parse(&sides.client.bytes, port) {
        let refused = conversation.requests.check_head(&head).await;
        return refused
            .map_err(|denial| Failure::Ended(Ended::because(How::Denied, denial.reason)));
    }
    Ok(())
}

/// Sends one request on and its response back; says which status it had and what is next.
async fn answer<C, U>(
    conversation: &Conversation<'_>,
    sides: &mut Sides<'_, C, U>,
    head: &RequestHead,
) -> Result<(u16, Ending), Failure>
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Sides { client, upstream: Upstream { from, to, .. }, to_client, answering, .. } = sides;
    let onward = head.onward(&conversation.requests.authority());
    let sending = async {
        to.write_all(&onward).await.map_err(Stopped::To)?;
        pass_body(client, to, head.framing, &mut Tap::None).await
    };
    let (keep, mut nobody) = (conversation.keep, Tap::None);
    let receiving = receive(from, to_client, head, answering, keep, &mut nobody);
    both(sending, receiving, keep, head.closes()).await
}

/// Sends a request and passes its response on, whichever is done first.
async fn both(
    sending: impl Future<Output = Result<(), Stopped>>,
    receiving: impl Future<Output = Result<(u16, Ending), Failure>>,
    mut keep: Keep,
    closes: bool,
) -> Result<(u16, Ending), Failure> {
    tokio::pin!(sending, receiving);
    let mut sent = false;
    loop {
        tokio::select! {
            result = &mut sending, if !sent => match result {
                Ok(()) => sent = true,
                Err(Stopped::From(failure)) => return Err(failure.of_client()),
                // It may have answered before it stopped listening.
                Err(Stopped::To(error)) if is_over_budget(&error) => {
                    return Err(Failure::FromUpstream(error));
                }
                Err(Stopped::To(_)) => {
                    sent = true;
                    keep = Keep::Once;
                }
            },
            result = &mut receiving => {
                let (status, ending) = result?;
                let cut_short = !sent || keep == Keep::Once || closes;
                let ending = if ending == Ending::Stay && cut_short { Ending::Close } else { ending };
                return Ok((status, ending));
            }
        }
    }
}

/// Why the passing of a message stopped.
enum Stopped {
    From(Unread),
    To(io::Error),
}

enum Unread {
    Malformed(HttpError),
    Broken(io::Error),
}

impl Unread {
    fn of(error: io::Error) -> Self {
        fault(&error).map_or(Self::Broken(error), Self::Malformed)
    }

    fn of_client(self) -> Failure {
        match self {
            Self::Malformed(why) => Failure::Client(why),
            Self::Broken(error) => Failure::FromClient(error),
        }
    }

    fn of_upstream(self) -> Failure {
        match self {
            Self::Malformed(why) => Failure::Upstream(why),
            Self::Broken(error) => Failure::FromUpstream(error),
        }
    }
}

/// Sends a body that was judged; its framing is as it was.
async fn send<T: AsyncWrite>(
    mut body: Body<'_>,
    to: &mut WriteHalf<T>,
    framing: Framing,
) -> Result<(), Stopped> {
    let chunked = framing == Framing::Chunked;
    let mut buffer = vec![0; SENT];
    loop {
        let read = body.read(&mut buffer).await;
        let read = read.map_err(|error| Stopped::From(Unread::of(error)))?;
        let Some(data) = buffer.get(..read).filter(|data| !data.is_empty()) else { break };
        put(to, data, chunked).await.map_err(Stopped::To)?;
    }
    if chunked {
        to.write_all(LAST_CHUNK).await.map_err(Stopped::To)?;
    }
    to.flush().await.map_err(Stopped::To)
}

/// Passes a body on; its framing is written anew.
async fn pass_body<F: AsyncRead, T: AsyncWrite>(
    from: &mut Incoming<F>,
    to: &mut WriteHalf<T>,
    framing: Framing,
    tap: &mut Tap<'_>,
) -> Result<(), Stopped> {
    let malformed = |why| Stopped::From(Unread::Malformed(why));
    let mut body = BodyReader::new(framing);
    let chunked = framing == Framing::Chunked;
    loop {
        match body.next(&from.bytes).map_err(malformed)? {
            Piece::End => break,
            Piece::Framing(length) => from.used(length),
            Piece::Data(length) => {
                let data = from.bytes.get(..length).unwrap_or_default();
                put(to, data, chunked).await.map_err(Stopped::To)?;
                tap.reads(data);
                from.used(length);
            }
            Piece::More => {
                let broken = |error| Stopped::From(Unread::Broken(error));
                if !from.more().await.map_err(broken)? {
                    if body.may_close() {
                        break;
                    }
                    return Err(malformed(HttpError::Cut));
                }
            }
        }
    }
    if chunked {
        to.write_all(LAST_CHUNK).await.map_err(Stopped::To)?;
    }
    to.flush().await.map_err(Stopped::To)
}

async fn put<T: AsyncWrite>(to: &mut WriteHalf<T>, data: &[u8], chunked: bool) -> io::Result<()> {
    if chunked {
        let chunk = [&chunk_start(data.len()), data, CHUNK_END].concat();
        to.write_all(&chunk).await?;
    } else {
        to.write_all(data).await?;
    }
    // TLS may hold back what did not fit, and the next data may be long in coming.
    to.flush().await
}

/// Passes a response on; says which status it had and what becomes of the connection.
async fn receive<F: AsyncRead, T: AsyncWrite>(
    from: &mut Incoming<F>,
    to: &mut WriteHalf<T>,
    request: &RequestHead,
    answering: &AtomicBool,
    keep: Keep,
    tap: &mut Tap<'_>,
) -> Result<(u16, Ending), Failure> {
    for _ in 0..=MOST_INTERIM {
        let response = response_head(from).await?;
        let status = response.status;
        let switched = status == 101;
        if switched && !request.websocket {
            return Err(Failure::Upstream(HttpError::Upgrade));
        }
        let head_only = request.method == "HEAD";
        let framing = if head_only { Framing::None } else { response.framing };
        let closes = keep == Keep::Once
            || request.closes()
            || response.closes() && !head_only
            || framing == Framing::UntilClose;
        let ending = match status {
            101 => Ending::Websocket,
            100..=199 => Ending::Stay,
            _ if closes => Ending::Close,
            _ => Ending::Stay,
        };
        let interim = (100..=199).contains(&status) && !switched;
        if !interim {
            answering.store(true, Ordering::Relaxed);
            tap.answers(status);
        }
        let onward = response.onward(framing, ending);
        to.write_all(&onward).await.map_err(Failure::FromClient)?;
        if interim {
            continue;
        }
        pass_body(from, to, framing, tap).await.map_err(|stopped| match stopped {
            Stopped::From(unread) => unread.of_upstream(),
            Stopped::To(error) => Failure::FromClient(error),
        })?;
        return Ok((status, ending));
    }
    Err(Failure::Upstream(HttpError::StatusLine))
}

async fn response_head<F: AsyncRead>(from: &mut Incoming<F>) -> Result<ResponseHead, Failure> {
    let mut seen = 0;
    loop {
        if is_worth_reading(&from.bytes, seen)
            && let Some((head, length)) =
                ResponseHead::parse(&from.bytes).map_err(Failure::Upstream)?
        {
            from.used(length);
            return Ok(head);
        }
        seen = from.bytes.len();
        if !from.more().await.map_err(Failure::FromUpstream)? {
            return Err(Failure::Upstream(HttpError::Cut));
        }
    }
}

/// After a websocket was agreed on: bytes, unread.
async fn both_ways<C, U>(sides: &mut Sides<'_, C, U>) -> Result<(), Failure>
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
    U: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Sides { client, upstream: Upstream { from, to, .. }, to_client, .. } = sides;
    let (mut none, mut nobody) = (Tap::None, Tap::None);
    let out = pass_body(client, to, Framing::UntilClose, &mut none);
    let back = pass_body(from, to_client, Framing::UntilClose, &mut nobody);
    tokio::pin!(out, back);
    // When either side is done the other has nobody to talk to.
    tokio::select! {
        done = &mut out => done.map_err(|stopped| match stopped {
            Stopped::From(unread) => unread.of_client(),
            Stopped::To(error) => Failure::FromUpstream(error),
        }),
        done = &mut back => done.map_err(|stopped| match stopped {
            Stopped::From(unread) => unread.of_upstream(),
            Stopped::To(error) => Failure::FromClient(error),
        }),
    }
}

//! HTTP/2 on a connection that is looked into: HTTP/2 on both sides, stream by stream.
//!
//! Frames leave no room for two readings of where a message ends, so the `h2` crate's reading of
//! them does; what decides (method, `:authority`, path, the number of lengths) is checked here. A
//! body is passed on as the other side takes it: nothing is gathered, and a side that doesn't read
//! stops the other's sending.

use std::fmt::Display;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use broker::Leases;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST,
    HeaderMap, HeaderName, HeaderValue,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use names::Port;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::interceptor::{HTTP_2, Place, spoken};
use super::lend::{self, Headers};
use super::used::Used;
use crate::denial::{Denial, Whose};
use crate::git::{Answer, Asked, Body, Git, Push, Tap, Unsent, Wanted, joined};
use crate::http::authority::Authority;
use crate::http::serve::Anew as _;
use crate::record::{Ended, How};
use crate::requests::{Admitted, Requests};

/// Largest list of headers, in bytes, as for HTTP/1.
const MAX_HEAD: u32 = 64 * 1024;
/// Most streams at a time.
const STREAMS: u32 = 128;
/// Most requests that are worked on, those that the client gave up included.
const MOST: usize = 256;
/// Bytes that a side may send before the other has taken them.
const WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Bytes of a judged body that are sent at a time.
const SENT: usize = 32 * 1024;

/// Fields that are for one hop, or a secret between a client and its proxy (RFC 9113 section
/// 8.2.2; the `h2` crate refuses most of them).
const HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// What all streams of a connection share.
pub(super) struct Streams {
    pub(super) requests: Requests,
    pub(super) leases: Leases,
    pub(super) used: Arc<Used>,
    pub(super) place: Place,
    pub(super) another: Mutex<Another>,
}

/// Another connection to the destination, for when the first takes no more streams.
#[derive(Default)]
pub(super) struct Another {
    sender: Option<SendRequest<Bytes>>,
    driving: JoinSet<()>,
}

/// Carries all streams of a connection.
pub(super) async fn converse<C, U>(streams: Arc<Streams>, client: C, upstream: U) -> Ended
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    U: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let accepted = server().handshake::<_, Bytes>(client).await;
    let mut client = match accepted {
        Ok(client) => client,
        Err(error) => return broken(How::ClientReset, &error),
    };
    let (sender, connection) = match connector().handshake::<_, Bytes>(upstream).await {
        Ok(open) => open,
        Err(error) => return broken(How::DestinationReset, &error),
    };
    let mut carried = JoinSet::new();
    let mut destination = std::pin::pin!(connection);
    let mut ended = Ended::from(How::Closed);
    let mut destination_gone = false;
    loop {
        tokio::select! {
            accepted = client.accept() => match accepted {
                None => break,
                Some(Err(error)) => return broken(How::ClientReset, &error),
                Some(Ok((_, mut respond))) if carried.len() >= MOST => {
                    respond.send_reset(Reason::REFUSED_STREAM);
                }
                Some(Ok((request, respond))) => {
                    let (streams, sender) = (streams.clone(), sender.clone());
                    carried.spawn(stream(streams, sender, request, respond));
                }
            },
            done = &mut destination, if !destination_gone => {
                // The streams that wait for it are told, each by its own error.
                if let Err(error) = done {
                    ended = broken(How::DestinationReset, &error);
                }
                destination_gone = true;
                client.graceful_shutdown();
            }
            Some(kept) = carried.join_next(), if !carried.is_empty() => {
                // A stream that named another host ends the connection: it is no place for it.
                if matches!(kept, Ok(Keep::Close)) {
                    client.graceful_shutdown();
                }
            }
        }
    }
    ended
}

/// Answers every stream with the same denial.
pub(super) async fn refuse<C>(requests: &Requests, client: C, denial: Denial) -> Ended
where
    C: AsyncRead + AsyncWrite + Unpin + Send,
{
    let ended = Ended::because(How::Unreachable, &denial.reason);
    let Ok(mut client) = server().handshake::<_, Bytes>(client).await else { return ended };
    while let Some(Ok((request, mut respond))) = client.accept().await {
        let (parts, _) = request.into_parts();
        let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        match requests.git(&asked(requests, &parts, target)) {
            Some(_) => reply(&mut respond, &Answer::of(&denial)),
            None => deny(&mut respond, &denial),
        }
        client.graceful_shutdown();
    }
    ended
}

fn server() -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .max_header_list_size(MAX_HEAD)
        .max_concurrent_streams(STREAMS)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

fn connector() -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(MAX_HEAD)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

fn broken(how: How, error: &h2::Error) -> Ended {
    let over = error.get_io().is_some_and(|io| io.kind() == std::io::ErrorKind::QuotaExceeded);
    Ended::because(if over { How::MaxBytes } else { how }, error)
}

/// What becomes of the connection after a stream.
enum Keep {
    Open,
    Close,
}

async fn stream(
    streams: Arc<Streams>,
    sender: SendRequest<Bytes>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Keep {
    let (mut parts, body) = request.into_parts();
    let target = match check(&streams.requests, &parts).await {
        Ok(target) => target,
        Err((denial, keep)) => {
            deny(&mut respond, &denial);
            return keep;
        }
    };
    let wanted = match streams.requests.git(&asked(&streams.requests, &parts, &target)) {
        Some(Git::Push(push)) => {
            Box::pin(one_push(&streams, sender, (parts, target), body, &mut respond, push)).await;
            return Keep::Open;
        }
        Some(Git::Fetch) => Wanted::Implied,
        None => Wanted::Named,
    };
    let (sender, admitted) = match ready(&streams, sender, &mut parts, &target, wanted).await {
        Ok(ready) => ready,
        Err(denial) => {
            match wanted {
                Wanted::Named => deny(&mut respond, &denial),
                Wanted::Implied => reply(&mut respond, &Answer::of(&denial)),
            }
            return Keep::Open;
        }
    };
    let is_whole = body.is_end_stream();
    let sending = |onward| async move {
        if is_whole { Ok(()) } else { pass(body, onward, &mut Tap::None).await }
    };
    let head = Request::from_parts(parts, ());
    let answered = answer(sender, head, is_whole, sending, &mut respond, &mut Tap::None).await;
    let status = told(answered, &mut respond);
    streams.requests.done(admitted, status).await;
    Keep::Open
}

/// One request that pushes: judged by its body before anything of it, or a credential, is sent.
async fn one_push(
    streams: &Streams,
    sender: SendRequest<Bytes>,
    (mut parts, target): (Parts, String),
    body: RecvStream,
    respond: &mut SendResponse<Bytes>,
    mut push: Box<dyn Push>,
) {
    parts.headers.remove(EXPECT);
    parts.headers.remove(ACCEPT_ENCODING);
    let is_whole = body.is_end_stream();
    let body = match judged(&mut *push, body, respond).await {
        Ok(body) => body,
        Err(unsent) => {
            push.done(false).await;
            match unsent {
                Unsent::Refused(answer) => reply(respond, &answer),
                Unsent::Broken(_) => respond.send_reset(Reason::CANCEL),
            }
            return;
        }
    };
    let wanted = Wanted::Implied;
    let (sender, admitted) = match ready(streams, sender, &mut parts, &target, wanted).await {
        Ok(ready) => ready,
        Err(denial) => {
            let answer = push.refuse(&denial);
            push.done(false).await;
            reply(respond, &answer);
            return;
        }
    };
    let sending = |onward| async move { if is_whole { Ok(()) } else { send(body, onward).await } };
    let head = Request::from_parts(parts, ());
    let mut tap = Tap::Push(&mut *push);
    let answered = answer(sender, head, is_whole, sending, respond, &mut tap).await;
    push.done(answered.is_ok()).await;
    let status = told(answered, respond);
    streams.requests.done(admitted, status).await;
}

/// Asks about a request, and says where it is sent.
async fn ready(
    streams: &Streams,
    sender: SendRequest<Bytes>,
    parts: &mut Parts,
    target: &str,
    wanted: Wanted,
) -> Result<(SendRequest<Bytes>, Admitted), Denial> {
    let admitted = admit(streams, parts, target, wanted).await?;
    streams.used.note(&admitted);
    match way(streams, sender).await {
        Ok(sender) => Ok((sender, admitted)),
        Err(denial) => {
            streams.requests.done(admitted, None).await;
            Err(denial)
        }
    }
}

/// Where a stream is sent that was asked about: a person may have taken longer than the destination
/// waits.
async fn way(
    streams: &Streams,
    mut sender: SendRequest<Bytes>,
) -> Result<SendRequest<Bytes>, Denial> {
    if takes_streams(&mut sender).await {
        return Ok(sender);
    }
    let mut another = streams.another.lock().await;
    if let Some(known) = &mut another.sender
        && takes_streams(known).await
    {
        return Ok(known.clone());
    }
    let upstream = streams.place.anew().await?;
    let unfit = |why: &dyn Display| {
        let reason = format!("the destination does not go on in HTTP/2: {why}");
        Denial::new(Whose::Destination, reason)
    };
    if spoken(&upstream) != HTTP_2 {
        return Err(unfit(&"it chose another protocol"));
    }
    let opened = connector().handshake(upstream).await;
    let (sender, connection) = opened.map_err(|error| unfit(&error))?;
    // What it comes to, its streams are told.
    another.driving.spawn(async move { drop(connection.await) });
    another.sender = Some(sender.clone());
    Ok(sender)
}

async fn takes_streams(sender: &mut SendRequest<Bytes>) -> bool {
    let state = poll_fn(|context| Poll::Ready(sender.poll_ready(context))).await;
    !matches!(state, Poll::Ready(Err(_)))
}

/// Lets a push be judged for as long as its client is there.
async fn judged(
    push: &mut dyn Push,
    body: RecvStream,
    respond: &mut SendResponse<Bytes>,
) -> Result<Body<'static>, Unsent> {
    tokio::select! {
        biased;
        judged = push.judge(Box::pin(StreamBody { stream: body, data: Bytes::new() })) => judged,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            Err(Unsent::Broken(io::ErrorKind::ConnectionReset.into()))
        }
    }
}

/// The body of a request as bytes. Room for more is made as they are taken.
struct StreamBody {
    stream: RecvStream,
    data: Bytes,
}

impl AsyncRead for StreamBody {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.data.is_empty() {
            match ready!(self.stream.poll_data(context)) {
                None => return Poll::Ready(Ok(())),
                Some(data) => self.data = data.map_err(io::Error::other)?,
            }
        }
        let taken = self.data.len().min(buffer.remaining());
        buffer.put_slice(&self.data.split_to(taken));
        let released = self.stream.flow_control().release_capacity(taken);
        Poll::Ready(released.map_err(io::Error::other))
    }
}

/// Tells a client that there is no response; says which status there was.
fn told(answered: Result<u16, Failure>, respond: &mut SendResponse<Bytes>) -> Option<u16> {
    match answered {
        Ok(status) => Some(status),
        Err(Failure::Before(why)) => {
            let reason = format!("the destination gave no response: {why}");
            deny(respond, &Denial::new(Whose::Destination, reason));
            None
        }
        Err(Failure::Within(status)) => status,
    }
}

/// Checks where a request is for; gives its path and query.
async fn check(requests: &Requests, parts: &Parts) -> Result<String, (Denial, Keep)> {
    let malformed = |why: &str| (Denial::new(Whose::Client, why), Keep::Close);
    if parts.method == Method::CONNECT {
        return Err(malformed("CONNECT within a connection"));
    }
    if parts.uri.scheme_str() != Some("https") {
        return Err(malformed("the scheme is not https"));
    }
    let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
    let stated = stated(parts, requests.default_port()).map_err(|why| malformed(&why))?;
    for authority in stated {
        let checked = requests.check(&authority, parts.method.as_str(), &path).await;
        checked.map_err(|denial| (denial, Keep::Close))?;
    }
    if parts.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(malformed("the length of the body is not one number"));
    }
    Ok(path)
}

/// Asks about a request that was checked, and makes its head what the destination is to see.
async fn admit(
    streams: &Streams,
    parts: &mut Parts,
    path: &str,
    wanted: Wanted,
) -> Result<Admitted, Denial> {
    let requests = &streams.requests;
    let named = format!("https://{}{path}", requests.authority());
    let uri = Uri::try_from(named);
    let uri = uri.map_err(|_| Denial::new(Whose::Client, "the path is not one"))?;
    let method = parts.method.as_str().to_owned();
    clean(&mut parts.headers);
    parts.headers.remove(HOST);
    let headers = &mut parts.headers;
    let admitted = lend::admit(requests, &streams.leases, &method, path, headers, wanted).await?;
    parts.uri = uri;
    Ok(admitted)
}

/// A request as whoever knows Git looks at it.
fn asked(requests: &Requests, parts: &Parts, target: &str) -> Asked {
    let values =
        |name: HeaderName| joined(parts.headers.get_all(name).iter().map(HeaderValue::as_bytes));
    Asked {
        connect: requests.connect().clone(),
        method: parts.method.as_str().to_owned(),
        target: target.to_owned(),
        content_type: values(CONTENT_TYPE),
        content_encoding: values(CONTENT_ENCODING),
    }
}

/// Everything in a head that names a destination; at least one thing must.
fn stated(parts: &Parts, default: Port) -> Result<Vec<Authority>, String> {
    let hosts = parts.headers.get_all(HOST).iter().map(HeaderValue::to_str);
    let authority = parts.uri.authority().map(|authority| Ok(authority.as_str()));
    let mut stated = Vec::new();
    for text in authority.into_iter().chain(hosts) {
        let text = text.map_err(|_| "the host is not text".to_owned())?;
        stated.push(Authority::parse(text, default).map_err(|error| error.to_string())?);
    }
    if stated.is_empty() { Err("the request names no host".to_owned()) } else { Ok(stated) }
}

fn clean(headers: &mut HeaderMap) {
    for name in HOP {
        headers.remove(*name);
    }
    if headers.get("te").is_some_and(|te| te != "trailers") {
        headers.remove("te");
    }
}

/// Why there is no whole response.
enum Failure {
    /// Nothing of it was sent; the client can be told.
    Before(h2::Error),
    /// It broke off, or the client did, after this status.
    Within(Option<u16>),
}

/// Sends a request on and its response back; says which status it had.
async fn answer<S>(
    sender: SendRequest<Bytes>,
    request: Request<()>,
    is_whole: bool,
    sending: impl FnOnce(SendStream<Bytes>) -> S,
    respond: &mut SendResponse<Bytes>,
    tap: &mut Tap<'_>,
) -> Result<u16, Failure>
where
    S: Future<Output = Result<(), Broken>>,
{
    let mut sender = sender.ready().await.map_err(Failure::Before)?;
    let (response, onward) = sender.send_request(request, is_whole).map_err(Failure::Before)?;
    let (sending, receiving) = (sending(onward), receive(response, respond, tap));
    tokio::pin!(sending, receiving);
    let mut sent = false;
    loop {
        tokio::select! {
            result = &mut sending, if !sent => match result {
                Err(Broken::From) => return Err(Failure::Within(None)),
                // It may have answered before it stopped listening.
                Ok(()) | Err(Broken::To) => sent = true,
            },
            result = &mut receiving => return result,
        }
    }
}

async fn receive(
    response: ResponseFuture,
    respond: &mut SendResponse<Bytes>,
    tap: &mut Tap<'_>,
) -> Result<u16, Failure> {
    let response = tokio::select! {
        response = response => response.map_err(Failure::Before)?,
        _ = poll_fn(|context| respond.poll_reset(context)) => return Err(Failure::Within(None)),
    };
    let (mut parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    tap.answers(status);
    clean(&mut parts.headers);
    let is_whole = body.is_end_stream();
    let onward = respond.send_response(Response::from_parts(parts, ()), is_whole);
    let onward = onward.map_err(|_| Failure::Within(Some(status)))?;
    if !is_whole {
        pass(body, onward, tap).await.map_err(|_| Failure::Within(Some(status)))?;
    }
    Ok(status)
}

/// Which side broke a body off.
enum Broken {
    From,
    To,
}

/// Passes a body and its trailers on, as the other side takes them.
async fn pass(
    mut from: RecvStream,
    mut to: SendStream<Bytes>,
    tap: &mut Tap<'_>,
) -> Result<(), Broken> {
    loop {
        let data = tokio::select! {
            data = from.data() => data,
            _ = poll_fn(|context| to.poll_reset(context)) => return Err(Broken::To),
        };
        match data {
            None => break,
            Some(Err(error)) => {
                to.send_reset(error.reason().unwrap_or(Reason::CANCEL));
                return Err(Broken::From);
            }
            Some(Ok(data)) => {
                let length = data.len();
                tap.reads(&data);
                put(&mut to, data).await?;
                let released = from.flow_control().release_capacity(length);
                released.map_err(|_| Broken::From)?;
            }
        }
    }
    match from.trailers().await.map_err(|_| Broken::From)? {
        Some(mut trailers) => {
            clean(&mut trailers);
            to.send_trailers(trailers).map_err(|_| Broken::To)
        }
        None => to.send_data(Bytes::new(), true).map_err(|_| Broken::To),
    }
}

/// Sends a body that was judged.
async fn send(mut from: Body<'_>, mut to: SendStream<Bytes>) -> Result<(), Broken> {
    let mut buffer = vec![0; SENT];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = poll_fn(|context| to.poll_reset(context)) => return Err(Broken::To),
        };
        let Ok(read) = read else {
            to.send_reset(Reason::CANCEL);
            return Err(Broken::From);
        };
        let Some(data) = buffer.get(..read).filter(|data| !data.is_empty()) else { break };
        put(&mut to, Bytes::copy_from_slice(data)).await?;
    }
    to.send_data(Bytes::new(), true).map_err(|_| Broken::To)
}

async fn put(to: &mut SendStream<Bytes>, mut data: Bytes) -> Result<(), Broken> {
    while !data.is_empty() {
        to.reserve_capacity(data.len());
        let room = poll_fn(|context| to.poll_capacity(context)).await;
        let room = room.and_then(Result::ok).ok_or(Broken::To)?;
        let piece = data.split_to(room.min(data.len()));
        to.send_data(piece, false).map_err(|_| Broken::To)?;
    }
    Ok(())
}

/// Answers in the terms of whoever judged.
fn reply(respond: &mut SendResponse<Bytes>, answer: &Answer) {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::FORBIDDEN);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(mut body) = respond.send_response(response, false) {
        let _ = body.send_data(Bytes::from(answer.body.clone()), true);
    }
}

/// The client may be gone; then there is nobody to tell.
fn deny(respond: &mut SendResponse<Bytes>, denial: &Denial) {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(denial.status()).unwrap_or(StatusCode::FORBIDDEN);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in denial.fields() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    if let Ok(mut body) = respond.send_response(response, false) {
        let _ = body.send_data(Bytes::from(denial.body()), true);
    }
}

impl Headers for HeaderMap {
    fn values(&self, name: &str) -> Vec<String> {
        let named = self.get_all(name).iter();
        named.filter_map(|value| Some(value.to_str().ok()?.to_owned())).collect()
    }

    fn replace(&mut self, name: &str, old: &str, new: &str) {
        let (Ok(name), Ok(mut new)) = (HeaderName::try_from(name), HeaderValue::from_str(new))
        else {
            return;
        };
        // Kept out of compression tables, RFC 7541 section 7.1.3, and out of `Debug`.
        new.set_sensitive(true);
        let values: Vec<_> = self.get_all(&name).iter().cloned().collect();
        self.remove(&name);
        for value in values {
            self.append(&name, if value == old { new.clone() } else { value });
        }
    }

    fn set(&mut self, name: &str, new: &str) {
        if let (Ok(name), Ok(mut new)) = (HeaderName::try_from(name), HeaderValue::from_str(new)) {
            new.set_sensitive(true);
            self.insert(name, new);
        }
    }
}

//! HTTP/1.1 to one provider: connect, send, stream the answer. The only file here that touches the
//! network.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use names::Secret;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::base::Base;
use crate::proxy::Proxy;

/// How long one address has before the next is tried too.
const HEAD_START: Duration = Duration::from_millis(250);

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// For a connection, name and TLS included.
    pub(crate) connect: Duration,
    /// For the head of an answer. A local server may load a model first.
    pub(crate) first: Duration,
    /// For the next piece. A model may think silently.
    pub(crate) idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            first: Duration::from_secs(300),
            idle: Duration::from_secs(300),
        }
    }
}

/// Why there is no answer, or no more of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// No connection.
    #[error("no connection to {to}: {why}")]
    Connect { to: String, why: String },
    /// Nothing came in time.
    #[error("{0} within {1} seconds")]
    Late(&'static str, u64),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Lost(String),
    /// The request can't be written as HTTP; carries no part of it.
    #[error("the request is no HTTP: {0}")]
    Request(&'static str),
}

/// Connections to one provider, made when they are needed; one is kept for the next request.
pub(crate) struct Transport {
    base: Base,
    tls: Option<TlsConnector>,
    proxy: Option<Proxy>,
    timeouts: Timeouts,
    /// Taken out when this is dropped.
    runtime: Option<Runtime>,
    kept: Mutex<Option<Sender>>,
}

type Sender = SendRequest<Full<Bytes>>;

/// What is sent.
pub(crate) struct Post {
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) authorization: Option<(&'static str, Secret<String>)>,
    pub(crate) body: Bytes,
}

/// An answer whose body is still to come.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    sender: Sender,
}

impl Transport {
    /// `roots` is PEM to trust besides what the machine trusts.
    pub(crate) fn new(
        base: Base,
        proxy: Option<Proxy>,
        roots: Option<&str>,
        timeouts: Timeouts,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let tls = if base.secure { Some(connector(roots)?) } else { None };
        let proxy = proxy.filter(|proxy| proxy.serves(&base));
        Ok(Self { base, tls, proxy, timeouts, runtime: Some(runtime), kept: Mutex::default() })
    }

    /// Where it goes.
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// Drives what this transport does, on the caller's thread.
    pub(crate) fn run<F: Future>(&self, work: F) -> Result<F::Output, Broken> {
        let runtime = self.runtime.as_ref().ok_or(Broken::Request("it is over"))?;
        Ok(runtime.block_on(work))
    }

    /// Sends a request and waits for the head of its answer. A kept connection that turns out to be
    /// closed is replaced by a new one.
    pub(crate) async fn post(&self, post: &Post) -> Result<Reply, Broken> {
        if let Some(sender) = self.kept() {
            match self.send(sender, post).await {
                Err(Broken::Lost(_)) => {}
                other => return other,
            }
        }
        let sender = self.connect().await?;
        self.send(sender, post).await
    }

    /// Gives a connection back whose answer was read to its end.
    pub(crate) fn keep(&self, reply: Reply) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply.sender);
    }

    fn kept(&self) -> Option<Sender> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|sender| !sender.is_closed())
    }

    async fn send(&self, mut sender: Sender, post: &Post) -> Result<Reply, Broken> {
        let request = self.request(post)?;
        let answer = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        let answer = tokio::time::timeout(self.timeouts.first, answer).await;
        let late = |_| Broken::Late("no answer", self.timeouts.first.as_secs());
        let answer = answer.map_err(late)?.map_err(|error| lost(&error))?;
        let (head, body) = answer.into_parts();
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, body, sender })
    }

    fn request(&self, post: &Post) -> Result<hyper::Request<Full<Bytes>>, Broken> {
        let mut request = hyper::Request::new(Full::new(post.body.clone()));
        *request.method_mut() =
            if post.body.is_empty() { http::Method::GET } else { http::Method::POST };
        let path = self.base.path(&post.path);
        *request.uri_mut() = path.parse().map_err(|_| Broken::Request("its path"))?;
        let headers = request.headers_mut();
        let host = HeaderValue::try_from(self.base.authority());
        headers.insert("host", host.map_err(|_| Broken::Request("its host"))?);
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream, application/json"));
        let agent = concat!("loop/", env!("CARGO_PKG_VERSION"));
        headers.insert("user-agent", HeaderValue::from_static(agent));
        for (name, value) in &post.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some((name, secret)) = &post.authorization {
            let value = HeaderValue::from_str(secret.expose());
            let mut value = value.map_err(|_| Broken::Request("its key"))?;
            value.set_sensitive(true);
            let name = if *name == "authorization" {
                AUTHORIZATION
            } else {
                HeaderName::from_static(name)
            };
            headers.insert(name, value);
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<Sender, Broken> {
        let made = tokio::time::timeout(self.timeouts.connect, self.dial()).await;
        let broken = |why: String| Broken::Connect { to: self.base.authority(), why };
        let failed = |why: io::Error| broken(why.to_string());
        let late = |_| broken(format!("none within {} seconds", self.timeouts.connect.as_secs()));
        let stream = made.map_err(late)?.map_err(failed)?;
        let made = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(|error| lost(&error))?;
        // Its error reaches whoever waits for an answer.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let (host, port) = match &self.proxy {
            Some(proxy) => (proxy.host.as_str(), proxy.port),
            None => (self.base.host.as_str(), self.base.port),
        };
        let mut stream = first_of(lookup_host((host, port)).await?).await?;
        stream.set_nodelay(true)?;
        if let Some(proxy) = &self.proxy {
            proxy.tunnel(&mut stream, &self.base).await?;
        }
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(self.base.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}

impl Drop for Transport {
    /// A look-up of a name can't be ended; nobody waits for it here.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Reply {
    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self, timeouts: &Timeouts) -> Result<Option<Bytes>, Broken> {
        loop {
            let frame = tokio::time::timeout(timeouts.idle, self.body.frame()).await;
            let late = |_| Broken::Late("nothing more of the answer", timeouts.idle.as_secs());
            let Some(frame) = frame.map_err(late)? else { return Ok(None) };
            let frame = frame.map_err(|error| lost(&error))?;
            // A frame without data is a trailer.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// At most `most` bytes of the body, for a short one that is wanted whole.
    pub(crate) async fn all(
        &mut self,
        timeouts: &Timeouts,
        most: usize,
    ) -> Result<Vec<u8>, Broken> {
        let mut all = Vec::new();
        while let Some(piece) = self.piece(timeouts).await? {
            all.extend(piece.iter().take(most - all.len()));
            if all.len() == most {
                break;
            }
        }
        Ok(all)
    }
}

impl Transport {
    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }
}

/// A connection to whichever address answers first. Each has a head start before the next, so that
/// one that swallows packets does not hold the others up (RFC 8305, without its sorting).
async fn first_of(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        attempts.spawn(TcpStream::connect(address));
        let ended = tokio::time::timeout(HEAD_START, attempts.join_next()).await;
        match ended.ok().flatten().map(|ended| ended.map_err(io::Error::other).flatten()) {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => failed = error,
            None => {}
        }
    }
    while let Some(ended) = attempts.join_next().await {
        match ended.map_err(io::Error::other).flatten() {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The whole chain of causes: the first alone says little.
fn lost(error: &hyper::Error) -> Broken {
    let mut words = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        words.push_str(": ");
        words.push_str(&error.to_string());
        next = error.source();
    }
    Broken::Lost(words)
}

fn connector(roots: Option<&str>) -> io::Result<TlsConnector> {
    let mut trusted = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    trusted.add_parsable_certificates(found.certs);
    let more =
        roots.map(|pem| CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok));
    trusted.add_parsable_certificates(more.into_iter().flatten());
    if trusted.is_empty() {
        return Err(io::Error::other("this machine has no certificates to trust"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?;
    let mut config = config.with_root_certificates(trusted).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

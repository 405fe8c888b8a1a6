//! Opens TLS between a client inside and its destination.
//!
//! The destination comes first: its certificate must be vouched for, for this very name, before a
//! client gets to say anything. Then the client is met with a certificate of the run's authority,
//! in the protocol that the destination chose among the client's, so that both sides speak the
//! same. A destination that can't be verified is answered for with 502 and the reason.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use broker::Leases;
use names::{Host, Timestamp};
use policy::Connect;
use rustls::CertificateError;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::ca::{Ca, CaError};
use super::http1::{Lending, Refusing};
use super::http2::{self, Streams};
use super::roots::Roots;
use super::trust::Trust;
use super::used::Used;
use super::{Again, Boxed, Excuse, Handover, Intercept};
use crate::denial::{Denial, Whose};
use crate::http::serve::{Anew, Conversation, Destination, Exchange, Keep, converse};
use crate::meter::{Metered, Replayed};
use crate::record::{Ended, How};
use crate::requests::Requests;
use crate::tls::wire::ClientHello;

pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

type Client = server::TlsStream<Replayed<TcpStream>>;
type Upstream = client::TlsStream<Metered<TcpStream>>;

/// The interceptor of one run.
#[derive(Clone)]
pub struct Interceptor(Arc<Inner>);

struct Inner {
    ca: Ca,
    roots: Roots,
    leases: Leases,
    system: String,
}

impl fmt::Debug for Interceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { ca, leases, .. } = &*self.0;
        f.debug_struct("Interceptor")
            .field("ca", ca)
            .field("leases", leases)
            .finish_non_exhaustive()
    }
}

impl Interceptor {
    /// For a run that begins at `started`. `system` is the bundle of certificates that this machine
    /// trusts, as PEM; `leases` are what the run is lent.
    pub fn new(started: Timestamp, system: &str, leases: Leases) -> Result<Self, CaError> {
        let (ca, roots) = (Ca::new(started)?, Roots::new(system));
        Ok(Self(Arc::new(Inner { ca, roots, leases, system: system.to_owned() })))
    }

    /// What the sandbox has to be given.
    #[must_use]
    pub fn trust(&self) -> Trust {
        Trust::new(&self.0.system, &self.0.ca.pem(), self.0.ca.der())
    }
}

impl Intercept for Interceptor {
    fn wants(&self, connect: &Connect) -> bool {
        self.0.leases.concern(&connect.host, connect.port)
    }

    fn carry(&self, handover: Handover) -> Boxed<'static, Ended> {
        let inner = self.0.clone();
        Box::pin(async move {
            let Ended { how, why } = inner.clone().carry(handover).await;
            // A destination can put into its last words whatever it was sent.
            Ended { how, why: why.map(|why| inner.leases.redact(&why)) }
        })
    }

    fn explain(&self, excuse: Excuse) -> Boxed<'static, ()> {
        let inner = self.0.clone();
        Box::pin(async move {
            let Excuse { hello, client, requests, denial } = excuse;
            let protocol = preferred(&hello);
            // A client that doesn't take this certificate understands no other answer either.
            if let Ok(client) = inner.accept(&hello.server_name, protocol, client).await {
                refuse(&requests, client, protocol, denial).await;
            }
        })
    }
}

/// A destination, and what it takes to meet it once more.
pub(super) struct Place {
    inner: Arc<Inner>,
    host: Host,
    /// The protocols that it may choose from: once it has chosen, that one.
    protocols: Vec<Vec<u8>>,
    ca_files: Vec<PathBuf>,
    again: Again,
    /// How long it may take.
    limit: Duration,
}

impl Place {
    async fn meet(&self, upstream: Metered<TcpStream>) -> Result<Upstream, Denial> {
        let Self { inner, host, protocols, ca_files, limit, .. } = self;
        let met = timeout(*limit, inner.open(host, protocols, upstream, ca_files)).await;
        met.unwrap_or_else(|_| {
            let reason = format!("{host} does not finish its TLS handshake");
            Err(Denial::new(Whose::Time, reason))
        })
    }
}

impl Anew<Upstream> for Place {
    fn anew(&self) -> Boxed<'_, Result<Upstream, Denial>> {
        Box::pin(async { self.meet(self.again.dial().await?).await })
    }
}

impl Inner {
    async fn carry(self: Arc<Self>, handover: Handover) -> Ended {
        let Handover { connect, hello, client, upstream, again, ca_files, requests } = handover;
        let (host, limit) = (connect.host, requests.head_limit());
        let (inner, protocols) = (self.clone(), offered(&hello));
        let mut place = Place { inner, host, protocols, ca_files, again, limit };
        let opened = place.meet(upstream).await;
        let protocol = opened.as_ref().map_or_else(|_| preferred(&hello), spoken);
        place.protocols.retain(|offered| offered == protocol);
        let accepted = timeout(limit, self.accept(&place.host, protocol, client)).await;
        let client = match accepted {
            Ok(Ok(client)) => client,
            Ok(Err(ended)) => return because_of(opened, ended),
            Err(_) => return because_of(opened, How::Idle.into()),
        };
        match opened {
            Err(denial) => Box::pin(refuse(&requests, client, protocol, denial)).await,
            Ok(upstream) => Box::pin(self.talk(place, requests, client, upstream)).await,
        }
    }

    /// Meets the destination, which must prove who it is.
    async fn open(
        &self,
        host: &Host,
        protocols: &[Vec<u8>],
        upstream: Metered<TcpStream>,
        ca_files: &[PathBuf],
    ) -> Result<Upstream, Denial> {
        let config = self.roots.client(ca_files);
        let config = config.map_err(|error| Denial::new(Whose::Loop, error.to_string()))?;
        let mut config = (*config).clone();
        config.alpn_protocols = protocols.to_vec();
        let name = ServerName::try_from(host.as_str().to_owned());
        let name =
            name.map_err(|_| Denial::new(Whose::Client, format!("{host} is no TLS name")))?;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, upstream).await;
        connecting.map_err(|error| unverified(host, &error))
    }

    /// Meets the client, as the destination.
    async fn accept(
        &self,
        host: &Host,
        protocol: &[u8],
        client: Replayed<TcpStream>,
    ) -> Result<Client, Ended> {
        let config = self.ca.server(host, protocol);
        let config = config.map_err(|error| Ended::because(How::Unreachable, error))?;
        let accepting = TlsAcceptor::from(config).accept(client).await;
        accepting.map_err(|error| {
            let text = format!("the client does not finish its TLS handshake: {error}");
            Ended::because(How::ClientReset, text)
        })
    }

    async fn talk(
        &self,
        place: Place,
        requests: Requests,
        client: Client,
        upstream: Upstream,
    ) -> Ended {
        let used = Arc::new(Used::default());
        let over = used.ended(&self.leases);
        let talked = async {
            if spoken(&upstream) == HTTP_2 {
                let (used, leases) = (used.clone(), self.leases.clone());
                let another = Mutex::default();
                let streams = Arc::new(Streams { requests, leases, used, place, another });
                return http2::converse(streams, client, upstream).await;
            }
            let exchange = Lending { requests: &requests, leases: &self.leases, used: &used };
            let upstream = Destination { stream: upstream, anew: Some(&place) };
            http1(&requests, &exchange, client, upstream).await
        };
        tokio::select! {
            ended = talked => ended,
            ended = over => ended,
        }
    }
}

/// Answers each request with the denial, in the client's protocol.
async fn refuse(requests: &Requests, client: Client, protocol: &[u8], denial: Denial) -> Ended {
    if protocol == HTTP_2 {
        return http2::refuse(requests, client, denial).await;
    }
    let ended = Ended::because(How::Unreachable, &denial.reason);
    let exchange = Refusing { requests, denial: &denial };
    let nowhere = Destination { stream: tokio::io::empty(), anew: None };
    http1(requests, &exchange, client, nowhere).await;
    ended
}

async fn http1<U: AsyncRead + AsyncWrite + Unpin + Send>(
    requests: &Requests,
    exchange: &dyn Exchange,
    client: Client,
    upstream: Destination<'_, U>,
) -> Ended {
    let head_limit = requests.head_limit();
    let conversation = Conversation { exchange, requests, head_limit, keep: Keep::Alive };
    // Whoever handed the connection over watches the time.
    converse(conversation, client, upstream, Vec::new(), std::future::pending()).await
}

/// The protocols that are offered to a destination: those of the client that Loop speaks. A client
/// that offers none speaks HTTP/1.
fn offered(hello: &ClientHello) -> Vec<Vec<u8>> {
    let known = |protocol: &&Vec<u8>| [HTTP_2, HTTP_1].contains(&protocol.as_slice());
    hello.protocols.iter().filter(known).cloned().collect()
}

/// The protocol that a client is answered in where there is no destination to choose.
fn preferred(hello: &ClientHello) -> &'static [u8] {
    match offered(hello).first() {
        Some(protocol) if protocol == HTTP_2 => HTTP_2,
        _ => HTTP_1,
    }
}

pub(super) fn spoken(upstream: &Upstream) -> &'static [u8] {
    match upstream.get_ref().1.alpn_protocol() {
        Some(protocol) if protocol == HTTP_2 => HTTP_2,
        _ => HTTP_1,
    }
}

/// What matters more: that the destination could not be verified, or that the client left.
fn because_of(opened: Result<Upstream, Denial>, ended: Ended) -> Ended {
    opened.map_or_else(|denial| Ended::because(How::Unreachable, denial.reason), |_| ended)
}

fn unverified(host: &Host, error: &io::Error) -> Denial {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => {
            let denial = Denial::new(
                Whose::Destination,
                format!("the certificate of {host} is refused: {}", in_words(why)),
            );
            denial.next("if that is meant, the owner may name its certificates with ca_file")
        }
        _ => Denial::new(
            Whose::Destination,
            format!("{host} speaks no TLS that Loop takes: {error}"),
        ),
    }
}

/// What is wrong with a certificate. The library has words for some faults, and names for others.
fn in_words(why: &CertificateError) -> String {
    let known = match why {
        CertificateError::UnknownIssuer => "nobody that is trusted here vouches for it",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::NotValidForName => "it is for another name",
        CertificateError::Revoked => "it was revoked",
        CertificateError::InvalidPurpose => "it is not for servers",
        CertificateError::BadEncoding => "it can't be read",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "it is the certificate of an authority, not of a host"
        }
        why => return why.to_string(),
    };
    known.to_owned()
}

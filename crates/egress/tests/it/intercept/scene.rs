//! A gate that lends, origins whose certificates are the test's own, and TLS clients inside.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use broker::{Leases, Loan};
use egress::Interceptor;
use names::{Secret, Timestamp, system_clock};
use policy::{Authority, Carrier, Destination, LeaseTerms, Library, Source};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::StreamOwned;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use crate::scene::{Medium, Origin, Scene, Setting, authority, grant};

/// What must be nowhere but in the request at its destination.
pub(crate) const CANARY: &str = "canary-5e1f-the-value";

pub(crate) const API: &str = "api.example.com";
pub(crate) const OTHER: &str = "other.example.com";

/// The leases that the tests' profiles can ask for.
pub(crate) struct Purse;

impl Library for Purse {
    fn find(&self, _: &str) -> Result<Option<Source>, String> {
        Ok(None)
    }

    fn lease(&self, name: &str) -> Result<Option<LeaseTerms>, String> {
        let (carrier, path_prefixes) = match name {
            "key" => (Carrier::new("x-api-key", None), &["/v1"][..]),
            "bearer" => (Carrier::new("authorization", None), &[][..]),
            _ => return Ok(None),
        };
        let methods =
            if name == "key" { vec!["POST".to_owned(), "GET".to_owned()] } else { vec![] };
        let target = Destination { host: API, ports: &[], path_prefixes, methods: &methods };
        Ok(Some(LeaseTerms {
            id: name.to_owned(),
            target: target.target().unwrap(),
            carrier: carrier.unwrap(),
            variable: None,
            until: None,
        }))
    }
}

/// Certificates of the tests' own, and the file that vouches for them.
pub(crate) struct Pki {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub(crate) place: TempDir,
}

impl Pki {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "the tests' own");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, place }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.place.path().join("ca.pem")
    }

    pub(crate) fn good(&self, host: &str) -> ServerConfig {
        self.with(host, |_| {})
    }

    pub(crate) fn expired(&self, host: &str) -> ServerConfig {
        self.with(host, |params| params.not_after = OffsetDateTime::now_utc() - Duration::DAY)
    }

    pub(crate) fn self_signed(&self, host: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        server(der, &key)
    }

    fn with(&self, host: &str, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        change(&mut params);
        let der = params.signed_by(&key, &self.issuer).unwrap().der().to_vec();
        server(der, &key)
    }
}

fn server(der: Vec<u8>, key: &KeyPair) -> ServerConfig {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(der)], key)
        .unwrap()
}

pub(crate) type Tls<S> = StreamOwned<S, TcpStream>;

/// An origin that speaks TLS, each connection served on a thread of its own.
pub(crate) fn tls_origin(
    config: ServerConfig,
    serve: impl Fn(&mut Tls<ServerConnection>) + Send + Sync + 'static,
) -> Origin {
    let config = Arc::new(config);
    Origin::new(move |stream| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        serve(&mut stream);
        stream.conn.send_close_notify();
        let _ = stream.flush();
    })
}

/// Heads and bodies, as an origin got them.
pub(crate) type Seen = Arc<Mutex<Vec<String>>>;

/// An origin that remembers what it got, and answers each request with `ok`.
pub(crate) fn remembering(config: ServerConfig) -> (Origin, Seen) {
    let seen = Seen::default();
    let heads = seen.clone();
    let origin = tls_origin(config, move |stream| {
        while let Some(request) = request(stream) {
            heads.lock().unwrap().push(request);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    (origin, seen)
}

/// A request's head and body; `None` at the end.
pub(crate) fn request(stream: &mut impl std::io::Read) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    let mut text = String::from_utf8(head).unwrap();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    text.push_str(&String::from_utf8_lossy(&body));
    Some(text)
}

/// A gate that opens TLS, and what it lends.
pub(crate) struct Lent {
    pub(crate) scene: Scene,
    pub(crate) interceptor: Interceptor,
    pub(crate) leases: Leases,
}

/// What makes both hosts reachable at these origins, and asks for both leases.
pub(crate) fn owner(pki: &Pki, api: &Origin, other: &Origin) -> String {
    let file = format!("ca_file = \"{}\"", pki.file().display());
    let narrowed = format!("{file}\npaths = [\"/**\"]");
    format!(
        "{}{}[[lease]]\nname = \"key\"\n[[lease]]\nname = \"bearer\"\n",
        grant(API, "443", api, &file),
        grant(OTHER, "443", other, &narrowed),
    )
}

impl Lent {
    pub(crate) fn new(owner: &str) -> Self {
        Self::at(owner, "", system_clock())
    }

    /// A gate of a run that began at `started`, on a machine that trusts `system`.
    pub(crate) fn at(owner: &str, system: &str, started: Timestamp) -> Self {
        let leases = leases(&authority(owner), started);
        let interceptor = Interceptor::new(started, system, leases.clone()).unwrap();
        let setting =
            Setting { intercept: Some(Arc::new(interceptor.clone())), ..Setting::default() };
        Self { scene: Scene::with(owner, setting), interceptor, leases }
    }

    pub(crate) fn medium(&self) -> &Medium {
        &self.scene.medium
    }

    pub(crate) fn placeholder(&self, name: &str) -> String {
        let lent = self.leases.iter().find(|lent| lent.name() == name).unwrap();
        lent.placeholder().to_owned()
    }

    /// How a client inside speaks TLS: it trusts the run's authority and nobody else.
    pub(crate) fn client(&self, protocols: &[&[u8]]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let bundle = self.interceptor.trust().bundle;
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }

    /// A TLS connection to a host, through a tunnel of the proxy.
    pub(crate) fn open(&self, host: &str) -> Tls<ClientConnection> {
        let (stream, answer) = self.scene.tunnel(&format!("{host}:443"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let config = self.client(&[b"http/1.1"]);
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
    }

    /// What one request on a connection of its own is answered.
    pub(crate) fn ask(&self, host: &str, request: &str) -> String {
        let mut stream = self.open(host);
        stream.write_all(request.as_bytes()).unwrap();
        response(&mut stream)
    }

    /// Everything that is on record, as text.
    pub(crate) fn records(&self) -> String {
        format!("{:?}", self.medium().records())
    }
}

fn leases(authority: &Authority, started: Timestamp) -> Leases {
    let loans = authority.leases.iter().cloned().enumerate().map(|(at, grant)| Loan {
        grant,
        value: Secret::new(Zeroizing::new(CANARY.to_owned())),
        random: [u8::try_from(at + 1).unwrap(); 16],
    });
    Leases::lend(loans.collect(), started, system_clock)
}

/// A response's head and body, by its length.
pub(crate) fn response(stream: &mut impl std::io::Read) -> String {
    request(stream).unwrap_or_default()
}

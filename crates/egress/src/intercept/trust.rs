//! What the sandbox has to be given so that its clients trust the run's certificate authority.
//!
//! Every client has its own idea of where trusted certificates are. Most read one of a few files of
//! the system, which are replaced by the system's own bundle and the authority's certificate; the
//! others are told by a variable. Nothing is taken away: the system's roots stay trusted inside,
//! and what is not looked into is verified against them as ever.

use ring::digest;

/// Where a sandbox's bundle is put, as its clients see it.
pub const BUNDLE: &str = "/run/loop/ca-certificates.crt";
/// Where its store for Java is put.
pub const JAVA_STORE: &str = "/run/loop/cacerts.jks";

/// Files of the system that clients read without being told: wherever one of them exists, the
/// bundle takes its place inside. GnuTLS (apt, wget), and whatever clears its environment, has no
/// other way.
pub const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/var/lib/ca-certificates/ca-bundle.pem",
];

/// Variables that tell clients of the bundle: name, and who reads it.
const TELLING: &[(&str, &str)] = &[
    ("SSL_CERT_FILE", "OpenSSL, and by it Python's ssl, Ruby, PHP, Perl; Go; rustls-native-certs"),
    ("CURL_CA_BUNDLE", "curl, of whatever TLS library; python-requests"),
    ("REQUESTS_CA_BUNDLE", "python-requests, which brings roots of its own"),
    ("PIP_CERT", "pip, which brings roots of its own"),
    ("NODE_EXTRA_CA_CERTS", "Node and npm, which have roots compiled in"),
    ("GIT_SSL_CAINFO", "git over https, of whatever TLS library"),
    ("CARGO_HTTP_CAINFO", "cargo, which has a curl compiled in"),
    ("AWS_CA_BUNDLE", "the AWS command line and SDKs, which bring roots of their own"),
    ("DENO_CERT", "Deno, which has roots compiled in"),
    ("BUNDLE_SSL_CA_CERT", "Ruby's bundler"),
    ("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "gRPC, which has roots compiled in"),
    ("HEX_CACERTS_PATH", "Elixir's hex"),
    ("NIX_SSL_CERT_FILE", "Nix"),
    ("SYSTEM_CERTIFICATE_PATH", "Haskell's tls"),
];

/// What JVMs are told: the store's place; its password is not one. A JVM says on its standard error
/// that it was told.
const JAVA_WORDS: &str = "-Djavax.net.ssl.trustStore=/run/loop/cacerts.jks \
                          -Djavax.net.ssl.trustStorePassword=changeit";

/// A variable that is set inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Who reads it.
    pub read_by: &'static str,
}

/// The files and variables of a sandbox that trusts the authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// The content of [`BUNDLE`], and of the [`SYSTEM_BUNDLES`] that exist: PEM.
    pub bundle: String,
    /// The content of [`JAVA_STORE`].
    pub java_store: Vec<u8>,
}

impl Trust {
    /// The system's bundle, as PEM, and the authority's certificate.
    #[must_use]
    pub fn new(system: &str, ca_pem: &str, ca_der: &[u8]) -> Self {
        let end = if system.is_empty() || system.ends_with('\n') { "" } else { "\n" };
        let roots = super::roots::certificates(system);
        let roots = roots.iter().map(AsRef::as_ref).chain([ca_der]);
        Self { bundle: format!("{system}{end}{ca_pem}"), java_store: java_store(roots) }
    }

    /// The variables that tell clients.
    #[must_use]
    pub fn variables() -> Vec<Telling> {
        let bundle = |(name, read_by): &(&'static str, &'static str)| Telling {
            name,
            value: BUNDLE.to_owned(),
            read_by,
        };
        let java = Telling {
            name: "JAVA_TOOL_OPTIONS",
            value: JAVA_WORDS.to_owned(),
            read_by: "every JVM, and by it Maven, Gradle, sbt",
        };
        TELLING.iter().map(bundle).chain([java]).collect()
    }
}

/// The password that Java's own stores have; it keeps no secret, it checks for damage.
const PASSWORD: &str = "changeit";
/// Java's key store, of which every JVM reads the format.
const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const TRUSTED: u32 = 2;

/// A Java key store of certificates: `sun.security.provider.JavaKeyStore`.
fn java_store<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut entries = Vec::new();
    let mut count = 0_u32;
    for (at, der) in certificates.enumerate() {
        count += 1;
        entries.extend(TRUSTED.to_be_bytes());
        put_text(&mut entries, &format!("root-{at}"));
        entries.extend(0_u64.to_be_bytes());
        put_text(&mut entries, "X.509");
        entries.extend(u32::try_from(der.len()).unwrap_or(u32::MAX).to_be_bytes());
        entries.extend(der);
    }
    let head = [MAGIC, VERSION, count].map(u32::to_be_bytes).concat();
    let mut store = [head, entries].concat();
    let mut seal = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    let password: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect();
    seal.update(&password);
    seal.update(b"Mighty Aphrodite");
    seal.update(&store);
    store.extend(seal.finish().as_ref());
    store
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    to.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    to.extend(text.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use names::Timestamp;

    #[test]
    fn the_bundle_is_the_systems_and_one_more() {
        let ca = super::super::ca::Ca::new(Timestamp::from_millis(1_700_000_000_000)).unwrap();
        let system = "# roots\nno end of line";
        let trust = Trust::new(system, &ca.pem(), ca.der());
        assert!(trust.bundle.starts_with("# roots\nno end of line\n-----BEGIN CERTIFICATE-----"));
        assert_eq!(super::super::roots::certificates(&trust.bundle).len(), 1);
        let again = Trust::new(&trust.bundle, &ca.pem(), ca.der());
        assert_eq!(super::super::roots::certificates(&again.bundle).len(), 2);
        assert_eq!(again.java_store.get(..12), Some(&b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x02"[..]));
    }

    #[test]
    fn every_variable_is_told_once_and_says_who_reads_it() {
        let variables = Trust::variables();
        for (at, one) in variables.iter().enumerate() {
            assert!(!one.read_by.is_empty());
            assert!(one.value.contains("/run/loop/"));
            assert!(variables[at + 1..].iter().all(|other| other.name != one.name));
        }
    }
}

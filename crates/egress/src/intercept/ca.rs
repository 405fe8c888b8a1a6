//! The certificate authority of one run.
//!
//! Its key is made when the run begins, is in memory of this process alone, and goes with the run;
//! nothing outside the sandbox ever trusts it. Each host gets a certificate of its own, with a key
//! that all hosts of the run share, good for that one name and no longer than the authority.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use names::{Host, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SerialNumber,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;

use crate::gate::lock;

/// How much earlier than the run certificates are good, in milliseconds: clocks differ.
const BACKDATED: i64 = 60 * 60 * 1000;
/// How much later they are good, in milliseconds; a run that takes longer reaches no host that is
/// looked into.
const LASTING: i64 = 30 * 24 * 60 * 60 * 1000;
/// Most hosts whose certificates are kept.
const KEPT: usize = 1024;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A key or a certificate can't be made.
    #[error("a certificate can't be made: {0}")]
    Made(#[from] rcgen::Error),
    /// A certificate can't be used.
    #[error("a certificate can't be used: {0}")]
    Used(#[from] rustls::Error),
    /// The time of the run is not one.
    #[error("the clock is out of range")]
    Clock,
}

/// By host and protocol.
type Configs = HashMap<(Host, Vec<u8>), Arc<ServerConfig>>;

/// The authority.
pub(super) struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    key: KeyPair,
    from: OffsetDateTime,
    to: OffsetDateTime,
    provider: Arc<CryptoProvider>,
    configs: Mutex<Configs>,
}

impl fmt::Debug for Ca {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ca").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl Ca {
    /// The authority of a run that begins at `started`.
    pub(super) fn new(started: Timestamp) -> Result<Self, CaError> {
        let (from, to) = (moment(started, -BACKDATED)?, moment(started, LASTING)?);
        let mut params = CertificateParams::default();
        params.distinguished_name = called("Loop, one run");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.serial_number = Some(serial("loop-ca-serial", &started.to_string()));
        (params.not_before, params.not_after) = (from, to);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self {
            issuer,
            key: KeyPair::generate()?,
            from,
            to,
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            configs: Mutex::default(),
        })
    }

    /// The authority's certificate as PEM, to be trusted inside.
    pub(super) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The same as DER.
    pub(super) fn der(&self) -> &[u8] {
        self.issuer.der()
    }

    /// What the host is to clients inside, speaking this one protocol.
    pub(super) fn server(
        &self,
        host: &Host,
        protocol: &[u8],
    ) -> Result<Arc<ServerConfig>, CaError> {
        let wanted = (host.clone(), protocol.to_vec());
        if let Some(config) = lock(&self.configs).get(&wanted) {
            return Ok(config.clone());
        }
        let config = Arc::new(self.make(host, protocol)?);
        let mut configs = lock(&self.configs);
        if configs.len() >= KEPT {
            configs.clear();
        }
        configs.insert(wanted, config.clone());
        Ok(config)
    }

    fn make(&self, host: &Host, protocol: &[u8]) -> Result<ServerConfig, CaError> {
        let chain = vec![self.leaf(host)?, CertificateDer::from(self.issuer.der().to_vec())];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(config)
    }

    fn leaf(&self, host: &Host) -> Result<CertificateDer<'static>, CaError> {
        let mut params = CertificateParams::new([host.as_str().to_owned()])?;
        // Names of more than 64 characters don't fit into a common name; clients read the SAN.
        params.distinguished_name = called("Loop, one host of one run");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.serial_number = Some(serial("loop-leaf-serial", host.as_str()));
        (params.not_before, params.not_after) = (self.from, self.to);
        Ok(params.signed_by(&self.key, &self.issuer)?.into())
    }
}

fn called(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// Unique for a host of one authority, which RFC 5280 section 4.1.2.2 wants.
fn serial(domain: &str, of: &str) -> SerialNumber {
    let digest = names::Digest::of_parts(domain, &[of.as_bytes()]);
    let mut bytes: Vec<u8> = digest.bytes().iter().copied().take(16).collect();
    // Positive, and without a leading zero.
    if let Some(first) = bytes.first_mut() {
        *first = *first & 0x7f | 0x40;
    }
    SerialNumber::from(bytes)
}

fn moment(start: Timestamp, later: i64) -> Result<OffsetDateTime, CaError> {
    let seconds = start.as_millis().saturating_add(later).div_euclid(1000);
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| CaError::Clock)
}

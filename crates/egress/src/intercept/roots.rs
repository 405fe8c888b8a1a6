//! Whom Loop trusts to vouch for destinations: the system's certificates, and those that the owner
//! named for one destination. There is no way to trust nobody's word.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::trust::SYSTEM_BUNDLES;
use crate::gate::lock;

/// Largest file of certificates, in bytes.
const LARGEST: u64 = 4 << 20;
/// Most lists of files whose configurations are kept.
const KEPT: usize = 256;

/// Why a destination can't be verified at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RootsError {
    #[error("the certificates {0} can't be read: {1}")]
    File(String, io::Error),
    #[error("the certificates {0} are none")]
    Empty(String),
    #[error("TLS can't be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// The bundle of certificates that this machine trusts, as PEM: the first of [`SYSTEM_BUNDLES`] that
/// is there.
pub fn system_bundle() -> io::Result<String> {
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for place in SYSTEM_BUNDLES {
        match read(Path::new(place)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
            found => return found,
        }
    }
    Err(missing)
}

/// The certificates of a text of PEM; what is no certificate is left out.
pub(crate) fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok).collect()
}

/// What is trusted, by the files that were named.
pub(crate) struct Roots {
    system: RootCertStore,
    provider: Arc<CryptoProvider>,
    configs: Mutex<HashMap<Vec<PathBuf>, Arc<ClientConfig>>>,
}

impl Roots {
    /// The system's, as PEM.
    pub(crate) fn new(system: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates(system));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Self { system: roots, provider, configs: Mutex::default() }
    }

    /// How to speak TLS to a destination that these files vouch for besides the system; offering
    /// no protocol yet.
    pub(crate) fn client(&self, files: &[PathBuf]) -> Result<Arc<ClientConfig>, RootsError> {
        if let Some(config) = lock(&self.configs).get(files) {
            return Ok(config.clone());
        }
        let mut roots = self.system.clone();
        for file in files {
            let shown = names::printable(file.as_os_str().as_encoded_bytes());
            let pem = read(file).map_err(|error| RootsError::File(shown.clone(), error))?;
            let (added, _) = roots.add_parsable_certificates(certificates(&pem));
            if added == 0 {
                return Err(RootsError::Empty(shown));
            }
        }
        let config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config = Arc::new(config);
        let mut configs = lock(&self.configs);
        if configs.len() >= KEPT {
            configs.clear();
        }
        configs.insert(files.to_vec(), config.clone());
        Ok(config)
    }
}

fn read(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_trusts_somebody() {
        assert!(certificates(&system_bundle().unwrap()).len() > 10);
    }

    #[test]
    fn what_is_no_certificate_is_left_out() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(certificates("").len(), 0);
        assert_eq!(certificates("text").len(), 0);
        // It is PEM, but it vouches for nothing.
        assert_eq!(Roots::new(broken).system.len(), 0);
    }
}

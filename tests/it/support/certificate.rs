//! One certificate authority for the whole test run, and another one that is never trusted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, SanType, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority, the certificate it is trusted by, and what a server needs to speak in its name.
pub(crate) struct Authority {
    pem: String,
    server: Arc<ServerConfig>,
}

impl Authority {
    /// Returns the authority that signs the test services' certificates.
    pub(crate) fn trusted() -> &'static Self {
        static TRUSTED: OnceLock<Authority> = OnceLock::new();
        TRUSTED.get_or_init(Self::make)
    }

    /// Returns an authority that signs nothing that is used.
    pub(crate) fn other() -> &'static Self {
        static OTHER: OnceLock<Authority> = OnceLock::new();
        OTHER.get_or_init(Self::make)
    }

    /// Returns an authority in place of those of the system, of which each process would read more than a
    /// hundred.
    pub(crate) fn of_system() -> &'static Self {
        static SYSTEM: OnceLock<Authority> = OnceLock::new();
        SYSTEM.get_or_init(Self::make)
    }

    /// Makes an authority whose servers have a certificate that has expired.
    pub(crate) fn expired() -> Self {
        Self::with(|leaf| leaf.not_after = date_time_ymd(2001, 1, 1))
    }

    /// Makes an authority whose servers have a CA certificate.
    pub(crate) fn of_authorities() -> Self {
        Self::with(|leaf| leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// Makes an authority whose servers have a certificate for another host.
    pub(crate) fn for_another_host() -> Self {
        let name = SanType::DnsName("other.invalid".try_into().unwrap());
        Self::with(|leaf| leaf.subject_alt_names = vec![name])
    }

    /// Returns the authority's certificate.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the configuration of a TLS server for `localhost` and `127.0.0.1`.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    fn make() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // GnuTLS looks up an issuer by its name.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("gitoggle test authority {}", COUNT.fetch_add(1, Ordering::Relaxed));
        authority.distinguished_name.push(DnType::CommonName, name);
        let authority_key = KeyPair::generate().unwrap();
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let mut leaf = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        change(&mut leaf);
        let leaf_key = KeyPair::generate().unwrap();
        let leaf_certificate = leaf.signed_by(&leaf_key, &authority_certificate, &authority_key).unwrap();

        let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf_certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der())),
            )
            .unwrap();
        Self { pem: authority_certificate.pem(), server: Arc::new(server) }
    }
}

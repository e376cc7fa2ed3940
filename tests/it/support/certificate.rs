//! One certificate authority for the whole test run, and another one that nobody should trust.

use std::sync::{Arc, OnceLock};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
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

    /// Returns the authority's certificate.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the configuration of a TLS server for `localhost` and `127.0.0.1`.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    fn make() -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority
            .distinguished_name
            .push(DnType::CommonName, "gitoggle test authority");
        let authority_key = KeyPair::generate().unwrap();
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let leaf = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let leaf_key = KeyPair::generate().unwrap();
        let leaf_certificate = leaf.signed_by(&leaf_key, &issuer).unwrap();

        let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf_certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der())),
            )
            .unwrap();
        Self {
            pem: authority_certificate.pem(),
            server: Arc::new(server),
        }
    }
}

//! The certificates of the sandbox, and the file that a client trusts.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// A certificate that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
    #[error("could not set up TLS")]
    Tls(#[from] rustls::Error),
}

/// The certificates of the server and of its authority.
pub(super) struct Identity {
    /// The authority's certificate, for `--ca-file`.
    pub(super) ca_pem: String,
    /// The server's side of TLS.
    pub(super) tls: Arc<ServerConfig>,
}

impl Identity {
    pub(super) fn new() -> Result<Self, CertificateError> {
        // Clients reject a CA certificate as the certificate of a server, so the server needs another one.
        let ca_key = KeyPair::generate()?;
        let ca = authority()?.self_signed(&ca_key)?;
        let key = KeyPair::generate()?;
        let leaf = leaf()?.signed_by(&key, &ca, &ca_key)?;
        let private = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|reason| rustls::Error::General(reason.to_owned()))?;
        // The process's default provider may not be installed yet.
        let tls = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], private)?;
        Ok(Self { ca_pem: ca.pem(), tls: Arc::new(tls) })
    }
}

fn authority() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "gitoggle sandbox, for tests only");
    Ok(params)
}

fn leaf() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(["localhost", "127.0.0.1", "::1"].map(str::to_owned))?;
    params.distinguished_name.push(DnType::CommonName, "gitoggle sandbox");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Writes the authority's certificate so that a reader sees all of it or nothing.
pub(super) fn write_pem(path: &Path, pem: &str) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().permissions(readable()).tempfile_in(folder)?;
    file.write_all(pem.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A certificate is public, and another user's program may be the one that needs it.
fn readable() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o644)
}

//! Provides TLS, proxies, and secrets: everything that a connection needs besides its protocol.
//!
//! One set of CA, proxy, and timeout settings serves the toggle service, the Git hosts, the forges,
//! and a running daemon. So do the limits and waits of retries.
//!
//! Invariant: a secret is sent only to the host that it belongs to.

mod causes;
mod certificate;
mod daemon;
mod limited_file;
mod network;
mod network_failure;
mod proxy_setting;
mod retry;
mod retry_after;
mod sanitize;
mod secret;
mod webhook_signature;

pub use certificate::{CertificateFault, certificate_fault, is_without_tls};
pub(crate) use daemon::{DaemonClient, DaemonError, DaemonReply};
pub use daemon::{DaemonUrl, DaemonUrlError};
pub(crate) use limited_file::{read_limited, read_limited_text};
pub use network::{Network, NetworkError, Proxies, provider};
pub use network_failure::{ProxyFault, Reason, proxy_fault, reason};
pub use proxy_setting::ProxySettingError;
pub(crate) use retry::growing;
pub use retry::{LONGEST_WAIT, TRIES, backoff};
pub(crate) use retry_after::retry_after;
pub(crate) use sanitize::{redacted, sanitized};
pub use secret::{Secret, SecretError, SecretSource};
pub(crate) use webhook_signature::{SignatureCheck, SigningKey, SigningKeyError, hmac_sha256};

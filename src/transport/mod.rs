#![doc = include_str!("README.md")]

mod backoff;
mod daemon;
mod https;
mod network;
mod secret;
mod standard_webhooks;

pub(crate) use backoff::retry_after;
pub use backoff::{
    LONGEST_LONE_WAIT, LONGEST_RETRY_AFTER, PROBE_INTERVAL, REQUEST_TRIES, backoff, is_passing, lone_backoff,
    pass_backoff, source_backoff,
};
pub(crate) use daemon::{DaemonClient, DaemonError, DaemonReply};
pub use daemon::{DaemonUrl, DaemonUrlError};
pub(crate) use https::https_address;
pub use https::{HttpsError, https};
pub use network::{
    CertificateFault, ProxyFault, Reason, certificate_fault, is_without_tls, proxy_fault, reason,
};
pub use network::{Network, NetworkError, Proxies, ProxySettingError, provider};
pub use secret::{Secret, SecretError, SecretSource};
pub(crate) use secret::{read_limited, read_limited_text, redacted, sanitized};
pub(crate) use standard_webhooks::{SignatureCheck, SigningKey, SigningKeyError, hmac_sha256};

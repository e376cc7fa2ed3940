#![doc = include_str!("README.md")]

mod backoff;
mod certificate;
mod daemon;
mod failure;
mod https;
mod limited_file;
mod network;
mod proxy;
mod redaction;
mod resolver;
mod retry_after;
mod secret;
mod standard_webhooks;

pub use backoff::{
    LONGEST_LONE_WAIT, LONGEST_RETRY_AFTER, PROBE_INTERVAL, REQUEST_TRIES, lone_backoff,
    notification_backoff, pass_backoff, probe_backoff, request_backoff, source_backoff,
};
pub(crate) use certificate::CORRECT_CLOCK;
pub use certificate::{CertificateFault, certificate_fault, is_without_tls};
pub(crate) use daemon::{DaemonClient, DaemonError, DaemonReply};
pub use daemon::{DaemonUrl, DaemonUrlError};
pub(crate) use failure::no_thread;
pub use failure::{Reason, reason};
pub(crate) use https::https_address;
pub use https::{HttpsError, UrlUser, https};
pub(crate) use limited_file::{read_limited, read_limited_text};
pub use network::{Network, NetworkError, Proxies, provider};
pub use proxy::{ProxyFault, ProxySettingError, proxy_fault};
pub(crate) use redaction::{redacted, sanitized};
pub use retry_after::is_passing;
pub(crate) use retry_after::retry_after;
pub use secret::{Secret, SecretError, SecretSource};
pub(crate) use standard_webhooks::{SignatureCheck, SigningKey, SigningKeyError, hmac_sha256};

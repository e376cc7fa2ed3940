//! Outgoing notifications.
mod signature;
pub(crate) use signature::{SigningKey, SigningKeyError, hmac_sha256};

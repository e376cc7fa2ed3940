//! Sends one PATCH per toggle to the service, reads what the service has, and interprets the responses.
//!
//! [`Client`] publishes and [`LiveReader`] reads; a reader cannot publish. [`classify()`] turns a response into an
//! [`Outcome`], and [`retry`] decides on the next step; both are pure functions. The caller decides which toggle is sent
//! when. The client calls only the documented endpoint; the reader calls those of FeatureProbe.
//!
//! Invariants: a toggle counts as applied only if a response confirms it, and the token is sent only to the configured
//! host.

mod base_url;
mod classify;
mod client;
mod connection;
mod outcome;
mod reader;
mod response;
pub mod retry;

#[cfg(test)]
pub(crate) use crate::service::connection::untrusted;
pub use base_url::{BaseUrl, BaseUrlError, https};
pub(crate) use classify::CREATE_FIRST;
pub use classify::{ServiceTrust, classify};
pub use client::{Client, Session};
pub use connection::{ClientConfig, ClientError};
pub use outcome::Outcome;
pub use reader::{
    ByKey, EnvironmentInfo, EnvironmentReader, InvalidKey, ListedToggle, Listing, LiveReader,
    PayloadVersions, ProjectReader, ReadSession, ToggleDemand, ToggleIndex,
};
pub use response::{Body, ServiceResponse};

//! Sends one PATCH per toggle to the service and interprets the response.
//!
//! [`Client`] sends. [`classify()`] turns a response into an [`Outcome`], and [`retry`] decides on the next step; both are
//! pure functions. The caller decides which toggle is sent when. The client calls only the documented endpoint.
//!
//! Invariants: a toggle counts as applied only if a response confirms it, and the token is sent only to the configured
//! host.

mod base_url;
mod classify;
mod client;
mod failure;
mod outcome;
mod response;
pub mod retry;
mod retry_after;
mod sanitize;

pub use base_url::{BaseUrl, BaseUrlError, https};
pub use classify::{ServiceTrust, classify};
pub use client::{Client, ClientConfig, ClientError, Session, TokenChange};
pub use failure::{SendFailure, classify_failure};
pub use outcome::Outcome;
pub use response::{Body, ServiceResponse};

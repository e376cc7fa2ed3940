//! The service's client: one PATCH per toggle, and what its answer means.
//!
//! [`Client`] sends; [`classify()`] turns an answer into an [`Outcome`] and [`retry`] an outcome into what comes
//! next, both as pure functions that read like the table they are tested against. Who is sent when is not decided
//! here, and nothing but the documented endpoint is called.
//!
//! Invariant: only an answer that says so makes a toggle applied, and the token goes to the configured host alone.

mod answer;
mod base_url;
mod classify;
mod client;
mod failure;
mod outcome;
pub mod retry;
mod retry_after;
mod show;

pub use answer::{Answer, Body};
pub use base_url::{BaseUrl, BaseUrlError, https};
pub use classify::{Standing, classify};
pub use client::{Client, ClientConfig, ClientError, Session, TokenChange};
pub use failure::{Failure, classify_failure};
pub use outcome::{Certainty, Outcome};

//! A local toggle service with the documented endpoint over HTTPS, for experiments.
//!
//! It checks the token and, strictly, the body against the service's contract, answers as FeatureProbe does, keeps
//! every document that was published and shows them on a page. [`Faults`] make it fail at random but repeatably.
//! All of its documents are readable without a token, so it listens on loopback.
//!
//! Invariant: it stores only checked documents, and records every request to the endpoint, including those that it
//! refuses or drops.

mod answer;
mod body;
mod certificate;
mod document;
mod endpoint;
mod faults;
mod history_file;
mod page;
mod request_log;
mod server;
mod shared;

pub use faults::Faults;
pub use request_log::ReceivedRequest;
pub use server::{Error, Sandbox, SandboxConfig};

#[cfg(test)]
mod end_to_end;

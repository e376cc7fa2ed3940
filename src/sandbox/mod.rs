//! A local toggle service with the documented endpoint, over HTTPS, for trying things and for tests.
//!
//! It checks the token and, strictly, the body against `service-api.md`, answers as FeatureProbe does, keeps what
//! it was told per toggle, shows it on a page, and misbehaves on request: [`Faults`] at random but repeatably,
//! [`Script`]s exactly. It is no service to rely on: everything it holds can be read without a token, so it listens
//! on loopback.
//!
//! Invariant: whatever it stores was first checked, and every request that reaches the endpoint is recorded, also
//! one that is refused or dropped.

mod answer;
mod body;
mod certificate;
mod endpoint;
mod faults;
mod history_file;
mod ledger;
mod page;
mod script;
mod server;

pub use body::LARGEST_BODY;
pub use certificate::Certificate;
pub use faults::Faults;
pub use ledger::{Concurrency, Published, Received};
pub use script::{Effect, Reply, Script};
pub use server::{Error, Running, Sandbox, SandboxConfig};

#[cfg(test)]
mod end_to_end;

//! A local toggle service over HTTPS, for experiments: with the documented endpoint, or as FeatureProbe.
//!
//! With the documented endpoint, it checks the token and, strictly, the body against the service's contract, answers as
//! FeatureProbe does, and keeps every document that was published. `featureprobe` is the other kind, which is not
//! strict. Both answer `GET …/targeting` with what is stored. [`Faults`] make both fail at random but repeatably.
//!
//! Invariant: with the documented endpoint, it stores only checked documents, and records every request to the
//! endpoint, including those that it refuses or drops.

mod endpoint;
mod featureprobe;
mod server;
mod store;

pub use featureprobe::{ApiCall, RequestPattern, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};
pub use server::{Error, Sandbox, SandboxConfig};
pub use store::{Faults, ReceivedRequest};

#[cfg(test)]
mod tests;

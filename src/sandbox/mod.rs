//! A local toggle service over HTTPS, for experiments: with the documented endpoint, or as FeatureProbe.
//!
//! With the documented endpoint, it checks the token and, strictly, the body against the service's contract, answers as
//! FeatureProbe does, and keeps every document that was published. `featureprobe` is the other kind, which is not
//! strict. Both answer `GET …/targeting` with what is stored. [`Faults`] make both fail at random but repeatably.
//!
//! Invariant: with the documented endpoint, it stores only checked documents, and records every request to the
//! endpoint, including those that it refuses or drops.

mod answer;
mod body;
mod certificate;
mod connection;
mod document;
mod endpoint;
mod faults;
mod featureprobe;
mod history_file;
mod request_log;
mod server;
mod shared;

pub use faults::Faults;
pub use featureprobe::{ApiCall, RequestPattern, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};
pub use request_log::ReceivedRequest;
pub use server::{Error, Sandbox, SandboxConfig};

#[cfg(test)]
mod end_to_end;

//! A service of kind `featureprobe`: the part of its API that gitoggle uses, with its status codes, bodies and quirks.
//!
//! It stores what the service stores and refuses what the service refuses, which is little: content is JSON that is
//! never compared, and mistakes surface as they do there, often as a 500. `tests/replay` sends it requests that were
//! recorded from a running service and compares the answers. State is in memory.
//!
//! [`ScriptStep`]s arrange failures and changes by others at exact requests, for tests.
//!
//! Invariant: a request that is refused changes nothing.

mod api;
mod content;
mod data;
mod exchange;
mod projects;
mod routes;
mod sdk;
mod store;
mod toggles;

pub(super) use api::{Api, router};
pub use api::{RequestPattern, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};
pub use exchange::ApiCall;

#[cfg(test)]
mod tests;

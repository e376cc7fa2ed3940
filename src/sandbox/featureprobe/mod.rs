//! A service of kind `featureprobe`: the part of its API that gitoggle uses, with its status codes, bodies and quirks.
//!
//! It stores what the service stores and refuses what the service refuses, which is little: content is JSON that is
//! never compared, and mistakes surface as they do there, often as a 500. `replay_tests` sends it requests that were
//! recorded from a running service and compares the answers. State is in memory.
//!
//! [`ScriptStep`]s arrange failures and changes by others at exact requests, for tests.
//!
//! Invariant: a request that is refused changes nothing.

mod api;
mod approval;
mod call;
mod content;
mod data;
mod dates;
mod environments;
mod errors;
mod http;
mod paging;
mod projects;
mod reply;
mod routes;
mod script;
mod sdk;
mod segments;
mod shape;
mod state;
mod targeting;
mod toggles;
mod validation;
mod versions;

pub(super) use api::Api;
pub use call::ApiCall;
pub(super) use http::router;
pub use script::{RequestPattern, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};

#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod tests;

//! The services that host repositories and run CI jobs.
//!
//! [`PullRequest`] is read from the variables of a CI job. `ForgeClient` calls the API of a forge: it keeps one comment per
//! pull request up to date and sets the status of a commit. `api_routes` lists what differs between forges, and one
//! file per forge answers it.

mod api;
mod api_client;
mod api_error;
mod api_job;
#[cfg(test)]
mod api_job_tests;
mod api_routes;
mod ci;
#[cfg(test)]
mod ci_tests;
mod comment;
mod comment_key;
mod gitea;
mod github;
mod gitlab;
mod status;
mod status_client;

pub use api::{ApiUrl, ApiUrlError, ForgeApi};
pub(crate) use api_client::ForgeClient;
pub(crate) use api_error::ForgeError;
pub(crate) use api_job::{ForgeSettings, ForgeTarget};
pub use ci::{Forge, PullRequest};
pub(crate) use comment::{CommentDraft, CommentResult};
pub(crate) use comment_key::CommentKey;
pub(crate) use status::CommitStatus;
pub use status::CommitVerdict;

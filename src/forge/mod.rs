//! The services that host repositories and run CI jobs.
//!
//! [`PullRequest`] is read from the variables of a CI job. `ForgeClient` calls the API of a forge: it keeps one comment per
//! pull request up to date, reads those of merged ones, and sets the status of a commit. `routes` lists what differs between forges, and one
//! file per forge answers it.

#[cfg(test)]
mod ci_tests;
mod client;
mod comment;
mod gitea;
mod github;
mod gitlab;
mod job;
#[cfg(test)]
mod job_tests;
mod reviews;
mod routes;
mod status;

pub(crate) use client::{ForgeClient, ForgeError};
pub(crate) use comment::{CommentDraft, CommentKey, CommentPlan, CommentResult};
pub(crate) use job::{Forge, PullRequest};
pub(crate) use job::{ForgeSettings, ForgeTarget};
pub(crate) use reviews::ForgeReviews;
pub(crate) use routes::{ApiUrl, ForgeApi};
pub(crate) use status::CommitStatus;
pub(crate) use status::CommitVerdict;

#![doc = include_str!("README.md")]

#[cfg(test)]
mod ci_tests;
mod client;
mod comment;
mod error;
mod github;
mod gitlab;
mod job;
#[cfg(test)]
mod job_tests;
mod reviews;
mod routes;
mod status;

pub(crate) use client::ForgeClient;
pub(crate) use comment::{CommentDraft, CommentKey, CommentPlan, CommentResult};
pub(crate) use error::ForgeError;
pub(crate) use job::{Forge, ForgeSettings, ForgeTarget, PullRequest};
pub(crate) use reviews::{ForgeReviews, RequestReview, ReviewQuery};
pub(crate) use routes::{ApiUrl, ForgeApi};
pub(crate) use status::{CommitStatus, CommitVerdict};

use routes::ForgeRow;

impl ForgeApi {
    /// Returns what is known of the forge.
    fn row(self) -> &'static ForgeRow {
        match self {
            Self::GitHub => &github::GITHUB,
            Self::GitLab => &gitlab::GITLAB,
            Self::Gitea => &github::GITEA,
        }
    }
}

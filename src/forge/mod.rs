#![doc = include_str!("README.md")]

#[cfg(test)]
mod ci_tests;
mod client;
mod comment;
mod error;
mod gitea;
mod github;
mod gitlab;
mod job;
#[cfg(test)]
mod job_tests;
mod reviews;
mod routes;
mod status;

pub(crate) use client::{ForgeClient, ForgeRetries};
pub(crate) use comment::{CommentDraft, CommentKey, CommentPlan, CommentResult};
pub(crate) use error::ForgeError;
pub(crate) use job::{CiSystem, ForgeSettings, ForgeTarget, PullRequest};
pub(crate) use reviews::{
    ForgeMerge, ForgeReviews, MergedRequest, RequestReview, ReviewPlace, ReviewQuery, ReviewSearch,
};
pub(crate) use routes::ApiUrl;
pub(crate) use status::{CommitStatus, CommitVerdict};

use routes::ForgeRow;

use crate::model::Forge;

impl Forge {
    /// Returns what is known of the forge.
    fn row(self) -> &'static ForgeRow {
        match self {
            Self::GitHub => &github::GITHUB,
            Self::GitLab => &gitlab::GITLAB,
            Self::Gitea => &gitea::GITEA,
        }
    }
}

//! A forge: the endpoints that gitoggle calls, with the paths, headers, pages and limits that each forge
//! documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

pub(crate) use gitoggle::model::Forge as Kind;
use serde_json::Value;

use super::routes::answer;
use crate::support::{Gitoggle, Service, World};

/// The token, which must be in one header and nowhere else.
pub(crate) const FORGE_TOKEN: &str = "f0rge-S3CRET-91ac";
/// The user of that token.
pub(crate) const OURS: i64 = 41;
/// Another user.
pub(crate) const THEIRS: i64 = 12;

pub(crate) const KINDS: [Kind; Kind::ALL.len()] = Kind::ALL;

/// A comment on the pull request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Comment {
    /// The number of the pull request.
    pub(crate) request: u64,
    pub(crate) id: u64,
    pub(crate) author: i64,
    pub(crate) body: String,
}

/// A pull request that was merged.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) request: u64,
    pub(crate) commit: String,
    /// The branch that it was merged into.
    pub(crate) branch: String,
    /// The time, in seconds since 1970.
    pub(crate) at: u64,
}

/// What another job does before a request with this method is answered.
type OtherJob = Box<dyn FnMut(&str, &mut Vec<Comment>) + Send>;

/// What the forge has.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) comments: Vec<Comment>,
    /// The commit and the body of each status.
    pub(crate) statuses: Vec<(String, Value)>,
    /// The newest commit of the pull request; without it, the token may not read pull requests.
    pub(crate) head: Option<String>,
    /// The pull requests that a job has opened, by number.
    pub(crate) opened: BTreeMap<u64, Value>,
    /// The pull requests that are not open any more.
    pub(crate) merged: Vec<Merged>,
    /// When requests were created, in seconds since 1970, as far as the lists say so.
    pub(crate) created: BTreeMap<u64, u64>,
    /// The branches of merged requests, as far as the forge knows them: where each began, and its commits, oldest
    /// first.
    pub(crate) branches: BTreeMap<u64, (String, Vec<String>)>,
    /// The newest commit of the branch of each merged request.
    pub(crate) heads: BTreeMap<u64, String>,
    /// How often the lists of merged requests are asked for before they have the last one.
    pub(crate) late: u32,
    /// The merged request that somebody comments on after the next page of a list was read.
    pub(crate) changes_next: Option<u64>,
    /// Whether each page of a list is the first one, and names a next one.
    pub(crate) is_endless: bool,
    /// Whether GitLab is merging a request, when it is asked for the first time.
    pub(crate) is_merging: bool,
    /// The comments that somebody has hidden.
    pub(crate) hidden: Vec<u64>,
    /// Whether it does not answer.
    pub(crate) is_away: bool,
    /// The requests that no forge would accept, and why.
    pub(super) violations: Vec<String>,
    /// Whether the token is that of a GitLab job.
    pub(crate) is_job_token: bool,
    /// Whether the token may only read.
    pub(crate) is_read_only: bool,
    /// Called before each request is answered.
    pub(crate) meanwhile: Option<OtherJob>,
}

/// The forge; checks at its end that every request was as documented.
pub(crate) struct StandIn {
    pub(crate) kind: Kind,
    pub(crate) service: Service,
    held: Arc<Mutex<Held>>,
}

impl StandIn {
    pub(crate) fn start(kind: Kind) -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let service = Service::start();
        let shared = Arc::clone(&held);
        service.always(move |request| answer(kind, &mut shared.lock().unwrap(), request));
        Self { kind, service, held }
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap()
    }

    /// Adds a comment, as if it had been there before.
    pub(crate) fn add(&self, author: i64, body: &str) -> u64 {
        let mut held = self.held();
        add(&mut held.comments, author, body)
    }

    /// States that a pull request was merged as `commit`.
    pub(crate) fn merge(&self, request: u64, commit: String) {
        self.merge_into("main", request, commit);
    }

    /// States that a pull request is created now: after those that are merged.
    pub(crate) fn create(&self, request: u64) {
        let mut held = self.held();
        let at = held.merged.last().map_or(1_800_000_000, |last| last.at) + 30;
        held.created.insert(request, at);
    }

    /// States that a pull request was merged into `branch` as `commit`.
    pub(crate) fn merge_into(&self, branch: &str, request: u64, commit: String) {
        let mut held = self.held();
        let at = held.merged.last().map_or(1_800_000_000, |last| last.at) + 60;
        held.merged.push(Merged { request, commit, branch: branch.to_owned(), at });
    }

    pub(crate) fn comments(&self) -> Vec<Comment> {
        self.held().comments.clone()
    }

    /// Returns `METHOD path` of every request since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.service.take().into_iter();
        requests.map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    /// Returns the name of the forge in a setting.
    pub(crate) fn name(&self) -> &'static str {
        self.kind.as_str()
    }

    fn api(&self) -> String {
        self.service.url() + root(self.kind)
    }

    /// Sets the variables of a job for a push.
    pub(crate) fn job(&self, world: &World, run: Gitoggle) -> Gitoggle {
        let run = run.set("ca-file", world.ca());
        match self.kind {
            Kind::GitLab => run
                .env("CI_API_V4_URL", self.api())
                .env("CI_PROJECT_ID", "55")
                .env("CI_JOB_URL", "https://gitlab.example/jobs/1")
                .env("CI_COMMIT_SHA", world.repo.head())
                .env("GITLAB_TOKEN", FORGE_TOKEN),
            Kind::GitHub | Kind::Gitea => {
                let run = match self.kind {
                    Kind::Gitea => run.env("GITEA_ACTIONS", "true"),
                    _ => run,
                };
                run.env("GITHUB_API_URL", self.api())
                    .env("GITHUB_REPOSITORY", "shop/toggles")
                    .env("GITHUB_SERVER_URL", "https://forge.example")
                    .env("GITHUB_RUN_ID", "1")
                    .env("GITHUB_RUN_NUMBER", "1")
                    .env("GITHUB_SHA", world.repo.head())
                    .env("GITHUB_TOKEN", FORGE_TOKEN)
            }
        }
    }

    /// Sets the variables of a job for pull request 7.
    pub(crate) fn request_job(&self, world: &World, run: Gitoggle) -> Gitoggle {
        self.job_for(7, world, run)
    }

    /// Sets the variables of a job for a pull request.
    pub(crate) fn job_for(&self, request: u64, world: &World, run: Gitoggle) -> Gitoggle {
        let run = self.job(world, run);
        match self.kind {
            Kind::GitLab => run
                .env("CI_MERGE_REQUEST_IID", request.to_string())
                .env("CI_MERGE_REQUEST_PROJECT_PATH", "shop/toggles")
                .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            Kind::GitHub | Kind::Gitea => {
                run.env("GITHUB_BASE_REF", "main").env("GITHUB_REF", format!("refs/pull/{request}/merge"))
            }
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.held().violations, [""; 0], "requests that the forge does not document");
        }
    }
}

pub(super) fn root(kind: Kind) -> &'static str {
    match kind {
        Kind::GitHub => "",
        Kind::GitLab => "/api/v4",
        Kind::Gitea => "/api/v1",
    }
}

pub(crate) fn add(comments: &mut Vec<Comment>, author: i64, body: &str) -> u64 {
    add_to(7, comments, author, body)
}

pub(super) fn add_to(request: u64, comments: &mut Vec<Comment>, author: i64, body: &str) -> u64 {
    let id = comments.iter().map(|comment| comment.id).max().unwrap_or(100) + 1;
    comments.push(Comment { request, id, author, body: body.to_owned() });
    id
}

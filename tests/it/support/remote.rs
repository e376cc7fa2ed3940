//! A repository on a Git host, and its source.

use super::answer::Answer;
use super::command::Gitoggle;
use super::daemon::Daemon;
use super::document::body;
use super::git_host::{self, Door};
use super::request::Request;
use super::service::Service;
use super::world::{TOKEN, World};

/// What one lookup of a ref asks of the host.
pub(crate) const LOOKUP: [&str; 2] = [
    "GET /toggles.git/info/refs?service=git-upload-pack (version=2)",
    "POST /toggles.git/git-upload-pack (version=2)",
];

/// A world whose repository is on a Git host.
pub(crate) struct Remote {
    /// The world; its repository is pushed from.
    pub(crate) world: World,
    /// The Git host.
    pub(crate) host: Service,
}

impl Remote {
    /// A world in which nothing was applied yet.
    pub(crate) fn new(door: Door) -> Self {
        let world = World::new();
        world.repo.commit_pay(18, "Add pay");
        std::fs::create_dir(world.path("hosted")).unwrap();
        world.repo.clone_bare(&world.path("hosted/toggles.git"));
        let host = git_host::start(&world.path("hosted"), door);
        Self { world, host }
    }

    /// A world in which what is on the host was applied.
    pub(crate) fn settled(door: Door) -> Self {
        let remote = Self::new(door);
        remote.apply().set("first-pass", "assert").exit(0).any_output();
        remote.world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
        remote.host.take();
        remote
    }

    /// Returns the repository's URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/toggles.git", self.host.url())
    }

    /// Begins `gitoggle apply` from the host.
    pub(crate) fn apply(&self) -> Gitoggle {
        self.world.apply().set("repo", self.url())
    }

    /// Begins `gitoggle plan` from the host.
    pub(crate) fn plan(&self) -> Gitoggle {
        self.world.plan().set("repo", self.url()).set("ca-file", self.world.ca())
    }

    /// Commits a change of `pay` and pushes it.
    pub(crate) fn push(&self, age: u32, message: &str) {
        self.world.repo.commit_pay(age, message);
        let to = self.world.path("hosted/toggles.git").display().to_string();
        self.world.repo.git(&["push", "--quiet", "--force", &to, "main"]);
    }

    /// Returns the requests to the host since the last call: method, path, and the version of Git's protocol
    /// if it is not the oldest.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.host.take();
        requests
            .iter()
            .map(|request| {
                assert_ne!(request.header("authorization"), Some(TOKEN), "the token is not for the Git host");
                let version = request.header("git-protocol");
                let version = version.map_or_else(String::new, |version| format!(" ({version})"));
                format!("{} {}{version}", request.method, request.path)
            })
            .collect()
    }

    /// Starts a daemon that follows the host, and waits until it is ready.
    pub(crate) fn daemon(&self, change: impl FnOnce(Gitoggle) -> Gitoggle) -> Daemon {
        Daemon::ready(&self.world, |run| change(run.set("repo", self.url())))
    }

    /// Answers requests for the host's repositories as `answer` says; `None` for what the host itself says.
    pub(crate) fn host_answers(&self, mut answer: impl FnMut(&Request) -> Option<Answer> + Send + 'static) {
        let root = self.world.path("hosted");
        self.host.always(move |request| {
            answer(request).unwrap_or_else(|| git_host::answer(&root, &Door::Open, request))
        });
    }
}

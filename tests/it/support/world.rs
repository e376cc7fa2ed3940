//! A repository, a service and a state folder that belong together.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::answer::Answer;
use super::certificate::Authority;
use super::command::Gitoggle;
use super::files;
use super::repo::Repo;
use super::request::Request;
use super::service::Service;
use super::text::Normaliser;

/// The access token, which must never be seen anywhere but in the `Authorization` header.
pub(crate) const TOKEN: &str = "t0ken-S3CRET-7d1f";

/// One test's world.
pub(crate) struct World {
    folder: TempDir,
    /// Where documents come from.
    pub(crate) repo: Repo,
    /// Where they go.
    pub(crate) service: Service,
}

impl World {
    /// Makes a world with an empty repository and a service that accepts everything.
    pub(crate) fn new() -> Self {
        let folder = files::folder();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::fs::write(folder.path().join("ca.pem"), Authority::trusted().pem()).unwrap();
        std::fs::write(folder.path().join("system.pem"), Authority::of_system().pem()).unwrap();
        let repo = Repo::new(&folder.path().join("repo"));
        Self { folder, repo, service: Service::start() }
    }

    /// Makes a world in which `shop/prod/pay` was applied, and nothing is left to do.
    pub(crate) fn with_pay_applied() -> Self {
        let world = Self::new();
        world.repo.commit_pay(18, "Add pay");
        world.settle();
        world
    }

    /// Makes a world in which `shop/prod/pay` and `shop/prod/search` were applied, and nothing is left to do.
    pub(crate) fn with_pay_and_search_applied() -> Self {
        let world = Self::with_pay_applied();
        world.repo.file("shop/prod/search.yaml", super::doc(30)).commit("Add search");
        world.settle();
        world
    }

    /// Makes a world with an update, an orphan, an invalid document, a new toggle and a first pass.
    pub(crate) fn of_every_kind() -> Self {
        let world = Self::new();
        for toggle in ["bad", "gone", "pay", "same"] {
            world.repo.file(&format!("shop/prod/{toggle}.yaml"), super::doc(18));
        }
        world.repo.commit("Add all");
        world.settle();
        world
            .repo
            .file("shop/prod/bad.yaml", super::doc(18).replace("select: 1", "select: 7"))
            .file("shop/prod/new.yaml", super::doc(30))
            .file("shop/prod/pay.yaml", super::doc(21))
            .remove("shop/prod/gone.yaml")
            .file("shop/test/first.yaml", super::doc(1))
            .commit("Ask for 21 years\n\nThe law has changed.");
        world
    }

    /// Publishes everything there is, and forgets the requests.
    pub(crate) fn settle(&self) -> &Self {
        self.apply().set("first-pass", "assert").exit(0).any_output();
        self.service.take();
        self
    }

    /// Begins `gitoggle apply` with all required settings.
    pub(crate) fn apply(&self) -> Gitoggle {
        self.connected("apply")
    }

    /// Begins `gitoggle run` with all required settings, and no HTTP endpoint.
    pub(crate) fn daemon(&self) -> Gitoggle {
        self.connected("run").set("listen", "none")
    }

    /// Runs `command`, and kills it while its first request is open. The service has stored that request.
    pub(crate) fn kill_in_first_request(&self, command: Gitoggle) {
        self.service.answers([Answer::stores_and_hangs()]);
        let run = command.start();
        self.service.wait_for(1);
        run.kill();
        self.service.sender_died();
    }

    /// Begins `gitoggle plan`, which needs no token.
    pub(crate) fn plan(&self) -> Gitoggle {
        self.local("plan").set("state-dir", self.state()).set("base-url", self.service.url())
    }

    /// Begins `gitoggle status`.
    pub(crate) fn status(&self) -> Gitoggle {
        self.local("status").set("state-dir", self.state()).set("base-url", self.service.url())
    }

    /// Begins `gitoggle validate`, which needs nothing but the repository.
    pub(crate) fn validate(&self) -> Gitoggle {
        self.local("validate")
    }

    /// Begins any command with no setting at all.
    pub(crate) fn bare(&self, verb: &str) -> Gitoggle {
        let run = Gitoggle::new(verb, &self.path("home")).env("SSL_CERT_FILE", self.path("system.pem"));
        run.normalised(self.normaliser())
    }

    fn normaliser(&self) -> Normaliser {
        Normaliser::default()
            .path(self.folder.path(), "$TMP")
            .path(self.repo.path(), "$REPO")
            .text(&format!("127.0.0.1:{}", self.service.port()), "$SERVICE")
    }

    /// Returns what the program wrote to this file, normalised as its outputs are.
    pub(crate) fn printed(&self, path: &Path) -> String {
        self.normaliser().apply(&std::fs::read_to_string(path).unwrap())
    }

    /// Returns the state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Suspends what matches `scope`, or everything, for the reason `freeze`. Returns the file with the order.
    pub(crate) fn suspend(&self, scope: Option<&str>) -> PathBuf {
        let suspension = serde_json::json!({ "scope": scope, "reason": "freeze", "until": null });
        let file = serde_json::json!({ "version": 1, "suspensions": [suspension] });
        self.write("state/suspended.json", &file.to_string())
    }

    /// Returns the file that says whom to trust.
    pub(crate) fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// Returns a path in this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in this world and returns its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes a program in this world.
    pub(crate) fn write_program(&self, name: &str, script: &str) {
        files::program(&self.path(name), script);
    }

    /// Returns the folder that holds everything.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Asserts what was sent since the last call: `(toggle, body)`, in order; all else about each is the same
    /// for every request, and checked.
    #[track_caller]
    pub(crate) fn sent(&self, expected: &[(&str, serde_json::Value)]) -> Vec<Request> {
        let requests = self.service.take();
        let found: Vec<_> = requests.iter().map(|request| (request.toggle(), request.body())).collect();
        let expected: Vec<_> =
            expected.iter().map(|(toggle, body)| ((*toggle).to_owned(), body.clone())).collect();
        assert_eq!(found, expected, "requests (toggle, body)");
        for request in &requests {
            well_formed(request);
        }
        requests
    }

    /// Asserts that nothing was sent and that there was no connection.
    #[track_caller]
    pub(crate) fn nothing_sent(&self) {
        self.sent(&[]);
    }

    /// Begins any command with all required settings.
    pub(crate) fn connected(&self, verb: &str) -> Gitoggle {
        self.local(verb)
            .set("state-dir", self.state())
            .set("base-url", self.service.url())
            .set("ca-file", self.ca())
            .env("GITOGGLE_TOKEN", TOKEN)
    }

    pub(crate) fn local(&self, verb: &str) -> Gitoggle {
        self.bare(verb).set("repo", self.repo.path())
    }
}

/// Checks what every request of the program has to be like.
#[track_caller]
fn well_formed(request: &Request) {
    let parts: Vec<_> = request.path.split('/').collect();
    let [.., "api", "projects", _, "environments", _, "toggles", _, "targeting"] = parts.as_slice() else {
        panic!("not the documented path: {}", request.path);
    };
    assert_eq!(request.method, "PATCH");
    assert_eq!(request.header("authorization"), Some(TOKEN));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(request.open_for_toggle, 1, "two requests were open for {}", request.toggle());
    assert_eq!(
        request.open_for_environment,
        1,
        "two requests were open for the environment of {}",
        request.toggle()
    );
    let body = request.body();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(keys(&body), ["comment", "content", "disabled"], "the members of a body");
    assert_eq!(
        keys(&body["content"]),
        ["defaultServe", "disabledServe", "rules", "variations"],
        "all four members are stated"
    );
}

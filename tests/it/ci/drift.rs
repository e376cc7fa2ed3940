//! The scheduled jobs: drift becomes one pull request, which each run updates and none merges.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::github::github;
use super::gitlab::gitlab;
use super::mirror::{self, Mirror};
use super::{Hosted, Job, SERVICE_TOKEN, read};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::{Repo, body};

const BRANCH: &str = "refs/heads/gitoggle-drift";

impl Hosted {
    /// Lets somebody change the toggle on the service.
    pub(super) fn changes(&self, age: u32, comment: &str) {
        let data = self.world.write("body.json", &body(age, comment).to_string());
        let script = format!(
            "curl --fail --silent --cacert {} --header 'Authorization: {SERVICE_TOKEN}' --header 'Content-Type: \
             application/json' --request PATCH --data @{} {}/api/projects/shop/environments/prod/toggles/pay/targeting",
            self.world.ca().display(),
            data.display(),
            self.base_url()
        );
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Returns the commit of the branch that the job pushes to.
    fn drift_branch(&self) -> Option<String> {
        Repo::at(&self.origin).try_git(&["rev-parse", "--verify", "--quiet", BRANCH]).ok()
    }

    fn document(&self) -> String {
        Repo::at(&self.origin).content(BRANCH, "shop/prod/pay.yaml")
    }

    /// Runs the job four times: without drift, with drift, with other drift, and after that was undone.
    pub(super) fn drifts(&self, job: impl Fn(&str) -> Job, request: impl Fn() -> Vec<String>) {
        let main = || Repo::at(&self.origin).id("refs/heads/main");
        let before = main();
        job("quiet").exits(0, &["0 written, 0 unchanged, 0 different"]);
        assert_eq!((self.drift_branch(), request()), (None, Vec::new()));
        self.changes(30, "He said \"off\" & <b>\\n</b>");
        job("drifted").exits(0, &["replaced shop/prod/pay"]);
        let first = self.drift_branch().unwrap();
        assert!(self.document().contains("\"30\""), "{}", self.document());
        let found = request();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("Import shop/prod/pay as changed on the service"), "{found:?}");
        assert!(found[0].contains("    comment: He said \"off\" & <b>\\n</b>"), "{found:?}");
        // The same drift again is not pushed again.
        job("again").exits(0, &["replaced shop/prod/pay"]);
        assert_eq!((self.drift_branch().unwrap(), request()), (first.clone(), found.clone()));
        // What somebody did meanwhile is told, also if the documents are the same again.
        self.changes(31, "an experiment");
        self.changes(30, "an incident");
        job("told").exits(0, &["replaced shop/prod/pay"]);
        let told = request();
        assert!(told.len() == 1 && told[0].contains("comment: an incident"), "{told:?}");
        // A squash merge takes the message of the commit.
        let message = Repo::at(&self.origin).git(&["log", "-1", "--format=%B", BRANCH]);
        assert!(message.contains("comment: an incident"), "{message}");
        // The document is changed as well: it stays, and the request has nothing to merge, and says why.
        let (document, tip) =
            (Repo::at(&self.origin).content("refs/heads/main", "shop/prod/pay.yaml"), main());
        self.world.repo.checkout("main").commit_pay(21, "Ask for 21 years");
        self.push();
        job("kept").exits(0, &["different shop/prod/pay", "1 different"]);
        let branch = self.drift_branch();
        let changed = format!("main..{BRANCH}");
        assert_eq!(Repo::at(&self.origin).git(&["diff", "--stat", &changed]), "");
        let kept = request();
        assert!(
            kept.len() == 1
                && kept[0].starts_with("Decide on what was changed on the service")
                && ["changed or removed as well", "shop/prod/pay\n", "comment: an incident"]
                    .iter()
                    .all(|part| kept[0].contains(part)),
            "{kept:?}"
        );
        job("kept again").exits(0, &["different shop/prod/pay"]);
        assert_eq!((self.drift_branch(), request()), (branch, kept));
        self.world.repo.git(&["reset", "--quiet", "--hard", &tip]);
        self.world.repo.git(&["push", "--quiet", "--force", "origin", "main"]);
        assert_eq!(Repo::at(&self.origin).content("refs/heads/main", "shop/prod/pay.yaml"), document);
        self.changes(40, "higher");
        job("more").exits(0, &["replaced shop/prod/pay"]);
        assert_ne!(self.drift_branch().unwrap(), first);
        let updated = request();
        assert!(updated.len() == 1 && updated[0].contains("comment: higher"), "{updated:?}");
        assert_eq!(main(), before);
        self.changes(18, "undone");
        job("undone").exits(0, &["0 written, 0 unchanged, 0 different"]);
        assert_eq!((self.drift_branch(), main()), (None, before));
    }

    /// Returns the title and the description of each pull request of this repository.
    pub(super) fn requests(&self) -> Vec<String> {
        let held = self.forge.held();
        let text = |request: &Value, name: &str| request[name].as_str().unwrap().to_owned();
        let all = held.opened.values().filter(|request| !is_of_others(request));
        all.map(|request| {
            assert_eq!(
                (text(request, "base"), text(request, "head")),
                ("main".to_owned(), "gitoggle-drift".to_owned())
            );
            format!("{}\n\n{}", text(request, "title"), text(request, "body"))
        })
        .collect()
    }

    /// Returns the number of open pull requests of this repository.
    pub(super) fn open_requests(&self) -> usize {
        let held = self.forge.held();
        let opened = held.opened.values().filter(|request| !is_of_others(request));
        opened.filter(|request| request["state"] != "closed").count()
    }

    /// Runs the job beside the requests of others, after an older request was closed, and where the forge
    /// refuses it.
    pub(super) fn drifts_beside_others(&self, job: impl Fn(&str) -> Job, refusal: &[&str]) {
        self.forge.held().opened.extend([(5, strangers()), (6, to_another_base())]);
        self.drifts(&job, || self.requests());
        let closed = |request: &mut Value| request["state"] = serde_json::json!("closed");
        self.forge.held().opened.values_mut().filter(|request| !is_of_others(request)).for_each(closed);
        self.changes(50, "once more");
        job("reopened").exits(0, &["replaced shop/prod/pay"]);
        assert_eq!(self.open_requests(), 1);
        self.changes(60, "and again");
        job("known").exits(0, &["replaced shop/prod/pay"]);
        assert_eq!(self.open_requests(), 1);
        // The open one has the new text, although a closed one of the branch is older.
        let texts = self.requests();
        let with = |text: &str| texts.iter().filter(|request| request.contains(text)).count();
        assert_eq!(
            (texts.len(), with("comment: and again"), with("comment: higher")),
            (2, 1, 1),
            "{texts:?}"
        );
        let others = [&5, &6].map(|number| self.forge.held().opened.get(number).cloned());
        assert_eq!(others, [Some(strangers()), Some(to_another_base())]);
        // What the forge says of a refusal is shown.
        self.forge.held().opened.clear();
        self.forge.held().is_read_only = true;
        job("refused").exits(1, refusal);
        self.forge.held().is_read_only = false;
        self.forge.held().is_away = true;
        job("away").exits(1, &["the forge is away"]);
        self.forge.held().is_away = false;
    }
}

/// Makes a folder with all programs of this machine but curl.
fn without_curl(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    for place in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            if entry.file_name() != "curl" {
                // The first of a name is the one that is found.
                let _ = std::os::unix::fs::symlink(entry.path(), folder.join(entry.file_name()));
            }
        }
    }
}

fn is_of_others(request: &Value) -> bool {
    *request == strangers() || *request == to_another_base()
}

/// Returns a person's request of the branch of the job to another base.
fn to_another_base() -> Value {
    serde_json::json!({ "title": "t", "body": "b", "head": "gitoggle-drift", "base": "release" })
}

/// Returns the request of a stranger's fork, whose branch has the same name.
fn strangers() -> Value {
    serde_json::json!({ "title": "t", "body": "b", "head": "stranger:gitoggle-drift", "base": "main" })
}

#[test]
fn the_workflow_of_github_turns_drift_into_one_pull_request() {
    let hosted = Hosted::with_service(Kind::GitHub, "featureprobe");
    let event = [("GITHUB_REF", "refs/heads/main"), ("GITHUB_REF_NAME", "main")];
    let job = |name: &str| github(&hosted, "drift", &hosted.clone(name, "origin/main"), &event);
    hosted.drifts_beside_others(job, &["403", "Resource not accessible by integration"]);
}

#[test]
fn the_pipeline_of_gitlab_turns_drift_into_one_merge_request() {
    let hosted = Hosted::with_service(Kind::GitLab, "featureprobe");
    let origin = Repo::at(&hosted.origin);
    origin.git(&["config", "receive.advertisePushOptions", "true"]);
    let options = hosted.world.path("options");
    let hook = format!(
        "#!/bin/sh\n[ \"${{GIT_PUSH_OPTION_COUNT:-0}}\" -gt 0 ] || exit 0\nenv | grep '^GIT_PUSH_OPTION_[0-9]' | sort > {}\n",
        options.display()
    );
    hosted.world.write_program("origin.git/hooks/post-receive", &hook);
    let mirror = Mirror::new();
    let service = mirror.serve();
    let base_url = hosted.base_url();
    let scheduled = [
        ("CI_PIPELINE_SOURCE", "schedule"),
        ("GITOGGLE_BASE_URL", base_url.as_str()),
        ("GITOGGLE_TOKEN", SERVICE_TOKEN),
    ];
    let own = || serde_json::json!({ "title": "t", "body": "b", "head": "gitoggle-drift", "base": "main" });
    let close = || {
        let mut held = hosted.forge.held();
        let opened = held.opened.values_mut().filter(|request| !is_of_others(request));
        opened.for_each(|request| request["state"] = "closed".into());
    };
    let job = |name: &str| {
        let before = hosted.drift_branch();
        let job =
            gitlab(&hosted, &service.url(), "gitoggle-drift", &hosted.clone(name, "origin/main"), &scheduled);
        match hosted.drift_branch() {
            None => close(),
            // A merge request of a branch is opened once, however often it is pushed.
            after if after != before && hosted.open_requests() == 0 => {
                let mut held = hosted.forge.held();
                let number = held.opened.keys().max().unwrap() + 1;
                held.opened.insert(number, own());
            }
            _ => {}
        }
        job
    };
    hosted.forge.held().opened.extend([(5, strangers()), (6, to_another_base())]);
    let request = || {
        let Ok(text) = std::fs::read_to_string(&options) else { return Vec::new() };
        let mut options: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines() {
            let (_, option) = line.split_once('=').unwrap();
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            options.insert(name, value);
        }
        assert_eq!(options.len(), 4, "{text}");
        assert_eq!(options["merge_request.target"], "main");
        let description = options["merge_request.description"];
        let inner = description.strip_prefix("<pre>").and_then(|text| text.strip_suffix("</pre>")).unwrap();
        let inner = inner.replace("&#10;", "\n").replace("&lt;", "<").replace("&amp;", "&");
        vec![format!("{}\n\n{inner}", options["merge_request.title"])]
    };
    hosted.drifts(job, request);
    hosted.changes(50, "once more");
    job("once more").exits(0, &["replaced shop/prod/pay"]);
    assert_eq!(hosted.open_requests(), 1);
    let pushed = hosted.drift_branch();
    job("open").exits(0, &["replaced shop/prod/pay"]);
    assert_eq!(hosted.drift_branch(), pushed);
    // Somebody closes it, although the change is still there: the next job opens another one.
    close();
    job("closed").exits(0, &["replaced shop/prod/pay"]);
    assert_eq!(hosted.open_requests(), 1);
    assert_ne!(hosted.drift_branch(), pushed);
    hosted.forge.held().is_away = true;
    job("away").exits(1, &["the forge is away"]);
    hosted.forge.held().is_away = false;
}

#[test]
fn the_pipeline_of_gitlab_asks_the_forge_without_curl_and_with_no_token_in_an_argument() {
    let hosted = Hosted::with_service(Kind::GitLab, "featureprobe");
    Repo::at(&hosted.origin).git(&["config", "receive.advertisePushOptions", "true"]);
    let (mirror, tools, base_url) = (Mirror::new(), hosted.world.path("tools"), hosted.base_url());
    let service = mirror.serve();
    without_curl(&tools);
    let arguments = hosted.world.path("again.arguments");
    mirror::program(
        &hosted.world.path("own/wget"),
        &format!("echo \"$*\" >>{}; exec {}/wget \"$@\"", arguments.display(), tools.display()),
    );
    let certificates = format!("ca_certificate = {}\n", hosted.world.ca().display());
    let certificates = hosted.world.write("wgetrc", &certificates).display().to_string();
    let path = [hosted.world.path("own"), tools].map(|folder| folder.display().to_string()).join(":");
    let scheduled = [
        ("CI_PIPELINE_SOURCE", "schedule"),
        ("GITOGGLE_BASE_URL", base_url.as_str()),
        ("GITOGGLE_TOKEN", SERVICE_TOKEN),
        ("PATH", &path),
        ("WGETRC", &certificates),
    ];
    let job = |name: &str| {
        let clone = hosted.clone(name, "origin/main");
        gitlab(&hosted, &service.url(), "gitoggle-drift", &clone, &scheduled)
    };
    hosted.changes(30, "an incident");
    job("first").exits(0, &["replaced shop/prod/pay"]);
    job("again").exits(0, &["replaced shop/prod/pay"]);
    let asked = std::fs::read_to_string(&arguments).unwrap();
    assert!(asked.contains("/merge_requests?") && !asked.contains(FORGE_TOKEN), "{asked}");
    hosted.forge.held().is_away = true;
    job("away").exits(1, &["the forge is away"]);
    hosted.forge.held().is_away = false;
}

/// A push has no option of more than 65,515 bytes, and an argument has 128 KiB at most.
#[test]
fn the_description_of_a_merge_request_is_cut_as_it_is_encoded() {
    let recipe = read("deploy/ci/gitlab.yaml");
    let encoded = recipe.lines().find(|line| line.trim_start().starts_with("encoded() ")).unwrap();
    for (line, is_cut) in [("<&".repeat(400), true), ("plain".to_owned(), false)] {
        let script = format!("{encoded}\nyes '{line}' | head -n 75 | encoded | tr -d '\\n'");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let whole = line.len() / 2 * 9 + 5;
        let lines = if is_cut { 65_000 / whole } else { 75 };
        assert!(text.len() < 65_000 && text.matches("&#10;").count() == lines, "{}", text.len());
    }
}

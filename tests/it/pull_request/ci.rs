//! `plan --pull-request` in the jobs of CI systems, which check out a branch, a merge that the forge made, or
//! a merge that the job made.

use std::path::PathBuf;

use super::{forked, offline, planned, set};
use crate::support::{Gitoggle, Repo, World};

/// A pull request and the ids of its commits. The repository has the target as `origin/main` only.
struct Request {
    world: World,
    head: String,
    merge: String,
    event: PathBuf,
}

/// Makes a pull request: its branch changes `pay`, and its target changes `cart` after the fork. `HEAD` is a
/// merge of the branch into the target.
fn request() -> Request {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let head = world.repo.head();
    world.repo.checkout("main");
    set(&world.repo, "cart", 30).commit("Change the cart");
    let repo = &world.repo;
    repo.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    repo.git(&["checkout", "--quiet", "--detach"]);
    repo.merge("feature", "Merge the pull request");
    let merge = repo.head();
    repo.git(&["branch", "--quiet", "-D", "main", "feature"]);
    let event = format!(r#"{{"number":7,"pull_request":{{"number":7,"head":{{"sha":"{head}"}}}}}}"#);
    let event = world.write("event.json", &event);
    Request { world, head, merge, event }
}

impl Request {
    fn run(&self, variables: &[(&str, &str)]) -> Gitoggle {
        let run = offline(&self.world).args("--pull-request");
        variables.iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    fn github(&self) -> Gitoggle {
        self.run(&[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_HEAD_REF", "feature"),
            ("GITHUB_REF", "refs/pull/7/merge"),
            ("GITHUB_SHA", &self.merge),
            ("GITHUB_EVENT_PATH", self.event.to_str().unwrap()),
        ])
    }
}

const EXPECTED: [&str; 1] = ["update shop/prod/pay"];

#[test]
fn the_merge_ref_of_github_is_seen_through() {
    let request = request();
    let plan = planned(request.github(), &EXPECTED);
    assert_eq!(plan["source"]["ref"], "feature");
    assert_eq!(plan["source"]["base"]["ref"], "main");
    assert_eq!(plan["changes"][0]["commit"]["subject"], "Ask for 21 years");
    // The merge names the commit of the target, so its branch need not be there.
    request.world.repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    planned(request.github(), &EXPECTED);
}

#[test]
fn a_merge_queue_plans_what_it_merges_without_a_comment() {
    let request = request();
    let base = request.world.repo.id("origin/main");
    let event = format!(
        r#"{{"merge_group":{{"head_sha":"{}","base_sha":"{base}","head_ref":"refs/heads/gh-readonly-queue/main/pr-7-1","base_ref":"refs/heads/main"}}}}"#,
        request.merge
    );
    let event = request.world.write("group.json", &event);
    let run = || {
        request.run(&[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "merge_group"),
            ("GITHUB_EVENT_PATH", event.to_str().unwrap()),
            ("GITHUB_REPOSITORY", "shop/toggles"),
            ("GITHUB_API_URL", "https://127.0.0.1:1"),
            ("GITHUB_TOKEN", "unused"),
        ])
    };
    let plan = planned(run(), &EXPECTED);
    assert_eq!(plan["source"]["ref"], "gh-readonly-queue/main/pr-7-1");
    assert_eq!(plan["source"]["base"]["ref"], "main");
    planned(run().set("comment-on", "github"), &EXPECTED);
    let shallow = request.world.repo.clone_shallow(1, &request.world.path("shallow"));
    run().set("repo", shallow.path()).exit(1).stderr_contains(&[
        "of the merge queue is not in this clone",
        "`fetch-depth: 0` for `actions/checkout`",
    ]);
    // Another base never takes the place of the event's.
    for (base, code, error) in [
        (format!(r#""{}""#, "1".repeat(40)), 1, "of the merge queue is not in this clone"),
        ("null".to_owned(), 64, "the event of this merge queue does not name its two commits"),
    ] {
        let head = &request.merge;
        let event = format!(
            r#"{{"merge_group":{{"head_sha":"{head}","base_sha":{base},"base_ref":"refs/heads/main"}}}}"#
        );
        request.world.write("group.json", &event);
        run().exit(code).stdout("").stderr_contains(&[error]);
    }
}

#[test]
fn a_checkout_of_the_branch_itself_has_the_same_plan() {
    let request = request();
    request.world.repo.git(&["checkout", "--quiet", "--detach", &request.head]);
    let plan = planned(request.github(), &EXPECTED);
    assert_eq!(plan["source"]["base"]["ref"], "origin/main");
    planned(request.github().env("GITEA_ACTIONS", "true"), &EXPECTED);
    // Without the event, the checkout is the branch.
    planned(request.github().without_env("GITHUB_EVENT_PATH"), &EXPECTED);
}

#[test]
fn a_target_of_the_users_choice_is_not_the_one_of_the_merge() {
    let request = request();
    request.world.repo.git(&["branch", "--quiet", "release", &format!("{}~1", request.head)]);
    let plan = planned(request.github().set("target", "release"), &EXPECTED);
    assert_eq!(plan["source"]["base"]["ref"], "release");
}

#[test]
fn gitlab_bitbucket_azure_and_jenkins_have_the_same_plan() {
    let request = request();
    let gitlab = [
        ("GITLAB_CI", "true"),
        ("CI_COMMIT_SHA", request.merge.as_str()),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", &request.head),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
    ];
    planned(request.run(&gitlab), &EXPECTED);
    let azure = [
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
        ("SYSTEM_PULLREQUEST_SOURCECOMMITID", request.head.as_str()),
        ("BUILD_SOURCEVERSION", &request.merge),
    ];
    planned(request.run(&azure), &EXPECTED);
    // Jenkins does not name the head, and compares its merge with the target.
    planned(request.run(&[("CHANGE_TARGET", "main"), ("CHANGE_BRANCH", "feature")]), &EXPECTED);
    let bitbucket = [("BITBUCKET_PR_DESTINATION_BRANCH", "main"), ("BITBUCKET_COMMIT", &request.head[..12])];
    // Bitbucket merges the target into the branch.
    let repo = &request.world.repo;
    repo.git(&["checkout", "--quiet", "--detach", &request.head]);
    repo.merge("origin/main", "Merge the target");
    repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    planned(request.run(&bitbucket), &EXPECTED);
}

#[test]
fn each_ci_system_has_its_own_advice_for_a_cut_history() {
    let request = request();
    let folder = request.world.path("shallow");
    let url = format!("file://{}", request.world.repo.path().display());
    let repo = Repo::new(&folder);
    request.world.repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    repo.git(&["fetch", "--quiet", "--depth=1", &url, &request.merge]);
    repo.git(&["checkout", "--quiet", "FETCH_HEAD"]);
    request.github().set("repo", &folder).exit(1).stderr_contains(&[
        "of the pull request is not in this clone",
        "`fetch-depth: 0` for `actions/checkout`",
    ]);
    for (name, advice) in [
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "`GIT_DEPTH: 0`"),
        ("BITBUCKET_PR_DESTINATION_BRANCH", "`clone: depth: full`"),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "`fetchDepth: 0`"),
        ("CHANGE_TARGET", "turn the shallow clone off"),
    ] {
        let fetch = "git fetch origin +refs/heads/main:refs/remotes/origin/main";
        let run = request.run(&[(name, "main")]).set("repo", &folder);
        run.exit(1).stderr_contains(&["the target branch `main` is not in this clone", advice, fetch]);
    }
    repo.git(&["fetch", "--quiet", "--depth=2", &url, &request.merge]);
    request
        .github()
        .set("repo", &folder)
        .exit(1)
        .stderr_contains(&["is cut before the common ancestor of `main` and `feature`", "`fetch-depth: 0`"]);
    repo.git(&["fetch", "--quiet", "--unshallow", &url, &request.merge]);
    planned(request.github().set("repo", &folder), &EXPECTED);
}

#[test]
fn the_plan_of_an_old_branch_mentions_the_plan_of_its_pull_request() {
    let world = forked();
    world.repo.checkout("main");
    world.settle();
    set(&world.repo, "cart", 30).commit("Change the cart");
    world.settle();
    world.repo.checkout("feature");
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let plan = world.plan().exit(0);
    plan.stderr_contains(&["this checkout is stale"]).never_says(&["--pull-request"]).any_stdout();
    let job = || world.plan().env("GITHUB_BASE_REF", "main");
    job().exit(0).stderr_contains(&["`gitoggle plan --pull-request`", "`main`"]).any_stdout();
    world.repo.checkout("main");
    job().exit(0).any_stdout();
}

//! Revisions that cannot be compared, and flags that contradict each other.

use super::{forked, offline, pull_request, set};

#[test]
fn each_name_that_is_not_a_commit_has_its_own_message() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    world.repo.git(&["tag", "a-tree", "HEAD^{tree}"]);
    world.repo.git(&["tag", "a-blob", "HEAD:shop/prod/pay.yaml"]);
    for (from, message) in [
        ("featur", "could not find the revision `featur` of `--from`; similar names: `feature`"),
        ("HEAD~9", "could not find the revision `HEAD~9` of `--from`"),
        ("0123456789012345678901234567890123456789", "could not find the revision"),
        ("HEAD@{upstream}", "could not find the revision"),
        ("HEAD^{", "could not find the revision"),
        ("HEAD:shop/prod/pay.yaml", "names a blob, not a commit"),
        ("HEAD:shop", "names a tree, not a commit"),
        ("a-tree", "names a tree, not a commit"),
        ("a-blob", "names a blob, not a commit"),
    ] {
        offline(&world).set("from", from).exit(1).stderr_contains(&[message, "hint: "]);
        let to = offline(&world).set("from", "main").set("to", from);
        to.exit(1).stderr_contains(&[&message.replace("--from", "--to")]);
    }
    let json = offline(&world).set("from", "HEAD:shop").set("output", "json").exit(1).json();
    assert_eq!(json["error"]["message"], "`HEAD:shop` of `--from` names a tree, not a commit");
}

#[test]
fn text_of_a_revision_is_escaped() {
    let world = forked();
    let run = offline(&world).set("from", "x\u{202e}y");
    run.exit(1).never_says(&["\u{202e}"]).any_output();
}

#[test]
fn the_name_of_a_branch_is_quoted_in_a_command_to_copy() {
    let world = forked();
    let run = offline(&world).args("--pull-request");
    run.set("target", "a$(touch pwned)##[error]")
        .exit(1)
        .stderr_contains(&[
            "`git fetch origin '+refs/heads/a$(touch pwned)#\\#[error]:refs/remotes/origin/a$(touch pwned)#\\#[error]'`",
        ]);
}

#[test]
fn unrelated_histories_have_no_base() {
    let world = forked();
    world.repo.git(&["checkout", "--quiet", "--orphan", "other"]);
    set(&world.repo, "pay", 21).commit("Begin again");
    pull_request(&world).exit(1).stderr_contains(&[
        "`main` and `other` have no common ancestor: their histories are unrelated",
        "--from",
    ]);
}

#[test]
fn a_branch_without_a_commit_and_a_folder_without_a_repository_are_refused() {
    let world = forked();
    world.repo.git(&["checkout", "--quiet", "--orphan", "empty"]);
    pull_request(&world).exit(1).stderr_contains(&["the branch `empty` has no commit yet"]);
    let folder = world.path("nothing");
    std::fs::create_dir(&folder).unwrap();
    offline(&world)
        .set("repo", folder)
        .args("--from main")
        .exit(1)
        .stderr_contains(&["could not find a repository"]);
}

#[test]
fn a_malformed_revision_is_the_only_error() {
    let world = forked();
    for rest in ["", " --to feature --all-findings"] {
        offline(&world)
            .args(&format!("--from main..feature{rest}"))
            .exit(64)
            .stderr("error: --from: `main..feature` is not one revision, such as `main` or `HEAD~2`\n");
    }
}

#[test]
fn flags_that_contradict_each_other_are_usage_errors() {
    let world = forked();
    for (args, message) in [
        ("--to main", "`--from`|--to: needs --from"),
        ("--from main --to HEAD --worktree", "cannot be used with"),
        ("--pull-request --worktree", "cannot be used with"),
        ("--pull-request --from main", "--from: cannot be used with --pull-request"),
        ("--pull-request --to main", "--to: cannot be used with --pull-request"),
        ("--target main", "--target: needs --pull-request"),
        ("--all-findings", "--all-findings: needs --from or --pull-request"),
        ("--from main --ref feature", "--ref: cannot be used with --from"),
        ("--pull-request --ref feature", "--ref: cannot be used with --pull-request"),
        ("--from main --live", "--live: compares with the service"),
        ("--from main..feature", "is not one revision"),
        ("--from=-x", "is not one revision"),
        ("--pull-request", "found no pull request in the variables of this job"),
    ] {
        let message = message.split('|').next_back().unwrap();
        offline(&world).args(args).exit(64).stderr_contains(&[message]);
    }
    let url = offline(&world).set("repo", "https://git.example.com/toggles.git").args("--from main");
    url.exit(64).stderr_contains(&["--repo: only a repository on this machine"]);
    let apply = world.bare("apply").set("repo", world.repo.path()).args("--from main");
    apply.exit(64).stderr_contains(&["--from"]);
}

//! The script for other CI systems, and the hooks of pre-commit.

use std::path::Path;

use super::{Hosted, SERVICE_TOKEN, yaml};
use crate::forge::stand_in::Kind;
use crate::support::{Repo, World, doc};

#[test]
fn the_script_for_other_systems_hands_the_review_over() {
    let hosted = Hosted::new(Kind::GitHub);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/ci/gitoggle.sh");
    let run = |clone: &Repo, command: &str| {
        let (base_url, remote) = (hosted.base_url(), hosted.remote());
        let variables = [
            ("GITOGGLE_BASE_URL", base_url),
            ("GITOGGLE_TOKEN", SERVICE_TOKEN.to_owned()),
            ("GITOGGLE_STATE_REMOTE", remote),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
        hosted.run(clone, &variables, &format!("sh {} {command}", script.display()))
    };
    // A shallow clone of the branch alone.
    let folder = hosted.world.path("request");
    let folder_text = folder.to_str().unwrap();
    hosted.world.repo.git(&[
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=feature",
        &hosted.remote(),
        folder_text,
    ]);
    let request = Repo::at(&folder);
    run(&request, "plan main").exits(0, &["shop/prod/pay"]);
    let review = std::fs::read_to_string(folder.join("plan.json")).unwrap();
    let before = hosted.published();

    hosted.merge();
    let applied = hosted.clone("applied", "origin/main");
    run(&applied, "apply").exits(64, &["could not read the reviewed plan in `plan.json`"]);
    applied.write("plan.json", &review);
    run(&applied, "apply").exits(0, &["applied 1 of 1 change"]);
    assert_eq!(hosted.published(), before + 1);
    // A job without the artifact does not use the file of an older one.
    run(&applied, "apply").exits(64, &["could not read the reviewed plan in `plan.json`"]);
    hosted.world.repo.commit_pay(30, "Push without a review");
    hosted.push();
    let other = hosted.clone("other", "origin/main");
    other.write("plan.json", &review);
    run(&other, "apply")
        .exits(4, &["not reviewed: it came from commit", "which the review `plan.json` does not list"]);
    // A plan that fails leaves no review of an older one behind.
    request.write("plan.json", &review);
    run(&request, "plan gone").exits(128, &["gone"]);
    assert!(!folder.join("plan.json").exists());
    run(&other, "").exits(64, &["usage: gitoggle.sh"]);
    run(&other, "plan").exits(64, &["usage: gitoggle.sh plan TARGET"]);
}

#[test]
fn the_hooks_of_pre_commit_check_the_work_tree() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let mut ids = Vec::new();
    for hook in hooks.as_array().unwrap() {
        let text = |name: &str| hook[name].as_str().unwrap_or_else(|| panic!("{name}")).to_owned();
        ids.push(text("id"));
        assert_eq!(text("language"), "rust");
        assert!(!text("name").is_empty() && !text("description").is_empty());
        assert_eq!(hook["pass_filenames"], false);
        let files = regex::Regex::new(&text("files")).unwrap();
        for (path, is_document) in [
            ("shop/prod/pay.yaml", true),
            ("shop/prod/pay.yml", true),
            ("shop/prod/pay.json", false),
            ("README.md", false),
            ("yaml/README", false),
        ] {
            assert_eq!(files.is_match(path), is_document, "{path}");
        }
        let entry = text("entry");
        let typed = entry.strip_prefix("gitoggle ").unwrap();
        let (verb, flags) = typed.split_once(' ').unwrap_or((typed, ""));
        let run = || world.bare(verb).args(flags).within(world.repo.path());
        run().exit(0).any_output();
        // An expectation that is not met does not concern the other two.
        let (bad, text, code) = match verb {
            "test" => ("pay.test.yaml", "- name: older\n  given: { age: 20 }\n  serves: \"off\"\n", 1),
            _ => ("pay.yaml", "rules: 5\n", 3),
        };
        world.repo.write(&format!("shop/prod/{bad}"), text);
        run().exit(code).any_output();
        world.repo.write("shop/prod/pay.yaml", doc(18));
    }
    assert_eq!(ids, ["gitoggle-fmt", "gitoggle-validate", "gitoggle-test"]);
}

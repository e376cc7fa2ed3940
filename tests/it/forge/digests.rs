//! `apply --digest`: only the plan that was reviewed is applied.

use super::stand_in::{KINDS, StandIn, THEIRS};
use super::{plan, request_world};
use crate::support::{Answer, Gitoggle, Request, World, body, doc};

/// Returns the digest that `plan` prints for the pull request.
fn digest(world: &World) -> String {
    let run = world
        .bare("plan")
        .set("repo", world.repo.path())
        .set("output", "json");
    let output = run
        .args("--pull-request --target main")
        .start_piped()
        .wait_with_output()
        .unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    plan["digest"].as_str().unwrap().to_owned()
}

/// Merges the branch into its target, which has got another commit.
fn merge(world: &World) {
    world.repo.checkout("main");
    world.repo.file("README.md", "text").commit("Describe it");
    world.repo.merge("feature", "Merge the pull request");
}

fn apply(world: &World, forge: &StandIn) -> Gitoggle {
    forge.job(world, world.apply()).set("digest", forge.name())
}

#[test]
fn the_reviewed_digest_survives_the_merge() {
    let world = request_world();
    let digest = digest(&world);
    merge(&world);
    world.apply().set("digest", digest).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
}

#[test]
fn another_plan_is_refused_and_nothing_is_sent() {
    let world = request_world();
    let digest = digest(&world);
    merge(&world);
    world
        .repo
        .file("shop/prod/cart.yaml", doc(5))
        .commit("Add the cart");
    world
        .apply()
        .set("digest", &digest)
        .exit(4)
        .stdout("")
        .stderr_contains(&[
            "error: the plan is not the one that was reviewed",
            "  reviewed: sha256:",
            "  current:  sha256:",
            "  planned now: create shop/prod/cart",
            "  planned now: update shop/prod/pay",
            "hint: nothing was sent; review the plan",
        ]);
    world.nothing_sent();
}

#[test]
fn a_plan_that_sends_nothing_passes() {
    let world = request_world();
    let digest = digest(&world);
    merge(&world);
    world.apply().set("digest", &digest).exit(0).any_output();
    world.service.take();
    world.apply().set("digest", &digest).exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_malformed_digest_is_a_usage_error() {
    let world = request_world();
    for text in ["", "sha256:", "sha256:12", "0123", "bitbucket"] {
        let ran = world.apply().set("digest", text).exit(64).any_stdout();
        ran.stderr_contains(&["--digest"]);
    }
    let upper = format!("sha256:{}", "AB".repeat(32));
    world
        .apply()
        .set("digest", upper)
        .exit(64)
        .stderr_contains(&["64 digits", "`github`, `gitlab`, `gitea`"]);
    world.nothing_sent();
}

#[test]
fn the_digest_is_read_from_the_comment_of_the_merged_pull_request() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        merge(&world);
        forge.held().merged = Some(world.repo.head());
        apply(&world, &forge).exit(0).any_output();
        world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    }
}

#[test]
fn changes_that_were_not_reviewed_are_named() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        merge(&world);
        world.repo.commit_pay(99, "Change it again");
        world
            .repo
            .file("shop/prod/cart.yaml", doc(5))
            .commit("Add the cart");
        forge.held().merged = Some(world.repo.head());
        apply(&world, &forge).exit(4).stdout("").stderr_contains(&[
            "planned now and not reviewed: create shop/prod/cart\n",
            "planned now and not reviewed: update shop/prod/pay\n",
            "reviewed and not planned now: 1 change\n",
        ]);
        world.nothing_sent();
    }
}

#[test]
fn a_commit_without_a_reviewed_plan_is_held() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let forged = forge.comments().remove(0).body;
        merge(&world);
        // Pushed without a pull request.
        apply(&world, &forge).exit(4).stdout("").stderr_contains(&[
            "no reviewed plan: commit",
            "  planned now and not reviewed: update shop/prod/pay\n",
            "hint: nothing was sent; review the plan that `gitoggle plan -o markdown` prints now",
        ]);
        // Merged, and the comment is by another user.
        forge.held().merged = Some(world.repo.head());
        forge.held().comments.clear();
        forge.add(THEIRS, &forged);
        apply(&world, &forge)
            .exit(4)
            .stdout("")
            .stderr_contains(&["no reviewed plan: commit"]);
        world.nothing_sent();
    }
}

#[test]
fn a_commit_without_a_reviewed_plan_that_sends_nothing_passes() {
    let (world, forge) = (request_world(), StandIn::start(KINDS[0]));
    world.repo.checkout("main");
    world.repo.file("README.md", "text").commit("Describe it");
    apply(&world, &forge)
        .exit(0)
        .stdout_contains(&["Nothing to do.\n"])
        .any_stderr();
    world.nothing_sent();
}

#[test]
fn a_forge_that_does_not_answer_is_a_failure() {
    let (world, forge) = (request_world(), StandIn::start(KINDS[0]));
    merge(&world);
    let run = apply(&world, &forge).env("GITHUB_TOKEN", "");
    run.exit(1).stdout("").stderr_contains(&[
        "could not read the reviewed plan on `shop/toggles`",
        "there is no token",
    ]);
    world.nothing_sent();
}

/// Makes a repository in which two revisions do not show what is applied: the target branch has documents that were never
/// applied, and an applied toggle without a document. The branch `feature` changes all of them.
fn unapplied_world() -> World {
    let world = World::with_pay_and_search_applied();
    let invalid = doc(5).replace("select: 1", "select: 7");
    world.repo.file("shop/prod/cart.yaml", invalid);
    world.repo.file("shop/test/pay.yaml", doc(5));
    world
        .repo
        .remove("shop/prod/search.yaml")
        .commit("Break the cart");
    world.repo.branch("feature");
    for path in [
        "shop/prod/cart.yaml",
        "shop/prod/search.yaml",
        "shop/test/pay.yaml",
    ] {
        world.repo.file(path, doc(6));
    }
    world.repo.commit_pay(21, "Repair the cart");
    world
}

/// Applies with `apply`, and states that all changes of the branch `feature` are published.
fn publishes_the_feature(world: &World, apply: Gitoggle) {
    apply.set("first-pass", "assert").exit(0).any_output();
    let requests = world.service.take();
    let mut sent: Vec<String> = requests.iter().map(Request::toggle).collect();
    sent.sort_unstable();
    assert_eq!(
        sent,
        [
            "shop/prod/cart",
            "shop/prod/pay",
            "shop/prod/search",
            "shop/test/pay"
        ]
    );
}

#[test]
fn a_review_counts_whether_a_document_was_applied_before_or_not() {
    let world = unapplied_world();
    let digest = digest(&world);
    merge(&world);
    publishes_the_feature(&world, world.apply().set("digest", digest));
    for kind in KINDS {
        let (world, forge) = (unapplied_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        merge(&world);
        forge.held().merged = Some(world.repo.head());
        publishes_the_feature(&world, apply(&world, &forge));
    }
}

#[test]
fn a_comment_lists_only_what_was_not_reviewed_whatever_was_applied() {
    let (world, forge) = (unapplied_world(), StandIn::start(KINDS[0]));
    plan(&world, &forge).exit(0).any_output();
    merge(&world);
    world.repo.commit_pay(99, "Change it again");
    forge.held().merged = Some(world.repo.head());
    let run = apply(&world, &forge).set("first-pass", "assert");
    let held = run.exit(4).stdout("");
    held.stderr_contains(&[
        "\n  planned now and not reviewed: update shop/prod/pay\n  reviewed and not planned now: 1 change\n",
    ]);
    world.nothing_sent();
}

#[test]
fn a_run_after_one_that_applied_a_part_of_the_review_applies_the_rest() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        world
            .repo
            .file("shop/prod/cart.yaml", doc(5))
            .commit("Add the cart");
        plan(&world, &forge).exit(0).any_output();
        merge(&world);
        forge.held().merged = Some(world.repo.head());
        world
            .service
            .answers([Answer::applied(), Answer::json(400, "{}")]);
        apply(&world, &forge).exit(1).any_output();
        world.sent(&[
            ("shop/prod/cart", body(5, "Add the cart")),
            ("shop/prod/pay", body(21, "Ask for 21 years")),
        ]);
        apply(&world, &forge).exit(0).any_output();
        world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    }
}

#[test]
fn a_reviewed_change_to_what_is_applied_holds_nothing() {
    let (world, forge) = (World::with_pay_and_search_applied(), StandIn::start(KINDS[0]));
    let invalid = doc(30).replace("select: 1", "select: 7");
    world
        .repo
        .file("shop/prod/search.yaml", invalid)
        .commit("Break the search");
    world.repo.branch("feature");
    world.repo.file("shop/prod/search.yaml", doc(30));
    world.repo.commit_pay(21, "Repair the search");
    plan(&world, &forge).exit(0).any_output();
    merge(&world);
    forge.held().merged = Some(world.repo.head());
    apply(&world, &forge).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Repair the search"))]);
    // The same content of a toggle does not make another change a reviewed one.
    world
        .repo
        .file("shop/prod/cart.yaml", doc(5))
        .commit("Add the cart");
    forge.held().merged = Some(world.repo.head());
    let held = apply(&world, &forge).exit(4).stdout("");
    held.stderr_contains(&["planned now and not reviewed: create shop/prod/cart\n"]);
    world.nothing_sent();
}

#[test]
fn a_reviewed_change_that_is_held_does_not_hold_the_others() {
    let (world, forge) = (request_world(), StandIn::start(KINDS[0]));
    world.repo.file("shop/test/pay.yaml", doc(5)).commit("Add a test");
    plan(&world, &forge).exit(0).any_output();
    merge(&world);
    forge.held().merged = Some(world.repo.head());
    let held = apply(&world, &forge).exit(4);
    held.says(&["held shop/test"]);
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    let rest = apply(&world, &forge).set("first-pass", "assert");
    rest.exit(0).any_output();
    world.sent(&[("shop/test/pay", body(5, "Add a test"))]);
}

//! Every note of a plan is in every form.

use gitoggle::config::OutputFormat;

use super::reports::HOSTILE;
use crate::support::{Gitoggle, World, doc};

/// Returns everything that a form says, without its escapes.
fn said(world: &World, run: Gitoggle, form: &str) -> String {
    let summary = world.path("summary.md");
    let _ = std::fs::remove_file(&summary);
    let run = run.set("output", form).env("GITHUB_STEP_SUMMARY", &summary);
    let printed = run.start_piped().wait_with_output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let summary = std::fs::read_to_string(&summary).unwrap_or_default();
    let text = format!("{text}{summary}").replace("\\\"", "\"");
    [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to))
}

#[track_caller]
fn assert_said(world: &World, run: impl Fn() -> Gitoggle, notes: &[&str]) {
    for form in OutputFormat::WORDS.iter().filter(|form| **form != "human") {
        let said = said(world, run(), form);
        for note in notes {
            assert!(said.contains(note), "{form} lacks {note:?}:\n{said}");
        }
        assert!(!said.contains("\u{1b}") && !said.contains("\n::error::pwned"), "{form}: {said}");
    }
}

#[test]
fn what_is_held_failed_or_an_orphan_is_in_every_form() {
    let world = World::with_pay_and_search_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/search.yaml", doc(21))
        .commit("Change both");
    assert_said(
        &world,
        || world.plan().set("max-change-count", "1"),
        &["more than `max_change_count: 1` allows"],
    );
    world.repo.remove("shop/prod/search.yaml").commit("Remove the search");
    world.repo.file("shop/new/first.yaml", doc(1)).commit("Add an environment");
    world.repo.file("shop/prod/pay.yaml", doc(21).replace("select: 1", "select: 7")).commit(HOSTILE);
    let notes = ["nothing is applied here yet: `--first-pass assert` publishes everything", "`select` is 7"];
    assert_said(&world, || world.plan(), &notes);
    // An orphan is no test of JUnit, which would fail or be skipped from then on.
    for form in OutputFormat::WORDS.iter().filter(|form| !["human", "junit"].contains(*form)) {
        let said = said(&world, world.plan(), form);
        assert!(
            said.contains("the file was removed; `--on-remove keep` leaves the toggle as it is"),
            "{said}"
        );
    }
    world.repo.git(&["rm", "--quiet", "shop/prod/pay.yaml"]);
    world.repo.commit("Remove the rest");
    assert_said(&world, || world.plan(), &["every document in this environment was removed"]);
}

#[test]
fn notes_about_the_revision_are_in_every_form() {
    let world = World::with_pay_applied();
    world.repo.file("README.md", "text").commit("Describe it");
    let old = world.repo.id("HEAD~1");
    world.repo.commit_pay(21, "Change it");
    world.apply().exit(0).any_output();
    assert_said(&world, || world.plan().set("ref", &old), &["this checkout is stale"]);
    // The work tree differs from the commit.
    world.repo.write("shop/prod/pay.yaml", doc(40));
    assert_said(&world, || world.plan(), &["1 document in the work tree differs"]);
}

#[test]
fn guessed_commits_are_in_every_form() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change it").file("README.md", "text").commit("Describe it");
    let clone = world.repo.clone_shallow(1, &world.path("clone"));
    let run = || world.plan().set("repo", clone.path());
    assert_said(&world, run, &["the comment of 1 change is a guess"]);
}

#[test]
fn notes_about_a_pull_request_are_in_every_form() {
    let world = World::with_pay_applied();
    world
        .repo
        .branch("feature")
        .file("shop/new/first.yaml", doc(1))
        .file("notes.txt", "ours\n")
        .commit("Add an environment");
    world.repo.checkout("main").file("notes.txt", "theirs\n").commit("Take notes").checkout("feature");
    let run = || world.bare("plan").set("repo", world.repo.path()).args("--pull-request --target main");
    assert_said(&world, run, &["first pass", "Gitoggle-First-Pass: assert", "notes.txt"]);
}

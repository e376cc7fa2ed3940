//! Outputs that lack a part of the result, and the job summary of GitHub that has it.

use crate::support::{World, doc};

#[test]
fn a_hold_that_an_output_has_no_place_for_is_a_note() {
    let world = World::with_pay_and_search_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/search.yaml", doc(21))
        .commit("Change both");
    let note = "note: nothing to publish · 2 held; `gitoggle plan` shows why\n";
    for output in ["github", "gitlab", "sarif"] {
        world
            .plan()
            .set("max-change-count", "1")
            .set("output", output)
            .env("GITHUB_STEP_SUMMARY", world.path("summary"))
            .exit(4)
            .any_stdout()
            .stderr(note);
    }
    world
        .apply()
        .set("max-change-count", "1")
        .set("output", "github")
        .env("GITHUB_STEP_SUMMARY", world.path("summary"))
        .exit(4)
        .any_stdout()
        .stderr("note: nothing to publish · 2 held\n");
}

/// Without them, the command shows another plan.
#[test]
fn the_command_that_shows_why_compares_the_same() {
    let world = World::with_pay_and_search_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/search.yaml", doc(21))
        .commit("Change both");
    world.repo.write("shop/prod/search.yaml", doc(22));
    for flags in ["--worktree", "--from 'HEAD~1' --to HEAD", "--worktree --from 'HEAD~1'"] {
        let plan = world.plan().set("max-change-count", "1").set("output", "sarif");
        let plan = plan.args(&flags.replace('\'', ""));
        let note = format!("held; `gitoggle plan {flags}` shows why\n");
        plan.exit(4).any_stdout().stderr_contains(&[&note]);
    }
}

#[test]
fn a_page_about_an_apply_that_sends_nothing_is_about_an_apply() {
    let world = World::with_pay_and_search_applied();
    let run = || world.apply().set("max-change-count", "1").set("output", "markdown");
    run().exit(0).stdout_contains(&["### gitoggle apply\n\nnothing to publish\n\n### gitoggle plan\n"]);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/search.yaml", doc(21))
        .commit("Change both");
    let begin = "### gitoggle apply\n\nnothing to publish · 2 held\n\n### gitoggle plan\n";
    assert!(run().exit(4).any_stderr().both().starts_with(begin));
}

#[test]
fn no_command_exceeds_the_limit_of_the_job_summary() {
    /// The limit of GitHub, which shows nothing of a larger summary.
    const LIMIT: usize = 1024 * 1024;
    let world = World::of_every_kind();
    let from = world.path("from");
    std::fs::create_dir_all(from.join("shop/prod")).unwrap();
    for number in 0..300 {
        world.repo.file(&format!("shop/new/t{number}.yaml"), doc(18));
        world.write(&format!("from/shop/prod/bad {number}.json"), "{}");
    }
    world.repo.commit("Add many");
    let local = |verb| world.bare(verb).set("repo", world.repo.path());
    let runs = [
        world.apply(),
        world.plan(),
        world.status(),
        world.validate(),
        local("log").set("state-dir", world.state()),
        local("import").set("from", from),
    ];
    for (number, run) in runs.into_iter().enumerate() {
        let summary = world.write(&format!("summary-{number}"), &"x".repeat(LIMIT - 3_000));
        let run = run.set("output", "github").env("GITHUB_STEP_SUMMARY", &summary);
        let ran = run.exit_in(&[0, 1, 3, 4]).any_output();
        let size = std::fs::metadata(&summary).unwrap().len();
        assert!(size <= LIMIT as u64, "{size}\n{}", ran.both());
    }
}

#[test]
fn a_plan_that_fails_is_a_page_and_a_summary_with_the_way_out() {
    let world = World::with_pay_applied();
    let summary = world.path("summary.md");
    let run = |output: &str| {
        let run = world.plan().set("ref", "gone").set("output", output);
        run.env("GITHUB_STEP_SUMMARY", &summary).exit(1)
    };
    let page =
        "### gitoggle plan\n\n**The plan failed**, so there is nothing to review yet.\n\n```text\nerror: ";
    run("markdown").stdout_contains(&[page, "gone", "\nhint: "]).any_stderr();
    run("github").any_output();
    assert!(std::fs::read_to_string(&summary).unwrap().starts_with(page));
}

#[test]
fn a_plan_says_that_a_document_was_renamed_and_that_the_old_toggle_stays() {
    let world = World::with_pay_and_search_applied();
    world.repo.rename("shop/prod/search.yaml", "shop/prod/find.yaml").commit("Rename the search");
    for output in ["human", "markdown", "json"] {
        let plan = world.plan().set("output", output).exit(0).any_stderr();
        plan.stdout_contains(&[
            "was renamed to that of `shop/prod/find`, which is a new toggle, and the old one keeps",
        ]);
    }
}

#[test]
fn a_change_that_is_the_same_in_many_environments_names_each_of_them() {
    let world = World::new();
    world.repo.write("README.md", "").commit("Begin");
    let mut names: Vec<String> = (0..23).map(|number| format!("shop/e{number:02}")).collect();
    names.push("shop/production".to_owned());
    for name in &names {
        world.repo.file(&format!("{name}/pay.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    let page = world.bare("plan").set("repo", world.repo.path()).set("output", "markdown");
    let page = page.args("--from HEAD~1").exit(0).both();
    let (_, rest) = page.split_once("#### 24 environments: 1 to publish in each\n\n").unwrap();
    let expected: Vec<String> = names.iter().map(|name| format!("` {name} `")).collect();
    assert_eq!(rest.lines().next().unwrap(), expected.join(", "));
}

//! Settings that are invalid: the comment must not show the plan of an older commit as if it were current.

use super::stand_in::{FORGE_TOKEN, KINDS, Kind, StandIn};
use super::{note, own, plan, request_world};
use crate::support::{Gitoggle, World};

/// Begins a plan whose configuration file does not exist.
fn unreadable(world: &World, forge: &StandIn) -> Gitoggle {
    plan(world, forge).set("config", world.path("missing.yaml"))
}

#[test]
fn a_file_that_cannot_be_read_replaces_the_comment() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        // The file would name the toggles, which distinguish jobs.
        let valid = || plan(&world, &forge).set("only", "shop/prod/*");
        valid().exit(0).any_output();
        let error = "could not read the file: No such file or directory";
        let ran = unreadable(&world, &forge).exit(64).stdout("");
        ran.stderr_contains(&[&note("updated"), error]);
        let comments = own(&forge);
        assert_eq!(comments.len(), 1, "{kind:?}");
        for part in ["<!-- gitoggle:", " failed", "there is nothing to review", error] {
            assert!(comments[0].contains(part), "{part} in {}", comments[0]);
        }
        unreadable(&world, &forge).exit(64).stderr_contains(&[&note("kept")]);
        valid().exit(0).any_stdout().stderr(&note("updated"));
        assert_eq!(own(&forge).len(), 1, "{kind:?}");
        assert!(!own(&forge)[0].contains(" failed"));
    }
}

#[test]
fn the_comments_of_several_jobs_stay_and_the_next_run_removes_the_failure() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    let narrow = || plan(&world, &forge).set("only", "shop/prod/*");
    plan(&world, &forge).exit(0).any_output();
    narrow().exit(0).any_output();
    let before = own(&forge);
    unreadable(&world, &forge).exit(64).stderr_contains(&[&note("created")]);
    assert_eq!(own(&forge)[..2], before[..]);
    assert_eq!(own(&forge).len(), 3);
    narrow().exit(0).any_stdout().stderr(&note("kept"));
    assert_eq!(own(&forge), before);
}

#[test]
fn any_invalid_setting_replaces_the_comment() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitLab));
    plan(&world, &forge).exit(0).any_output();
    let nested = world.write("nested.yaml", "root: {a: b}\n");
    for (run, code, why) in [
        (plan(&world, &forge).set("config", nested), 64, "settings are not nested"),
        (plan(&world, &forge).set("max-change-ratio", "7"), 64, "--max-change-ratio"),
        (plan(&world, &forge).env("GITOGGLE_ROOT", "../x"), 64, "GITOGGLE_ROOT"),
        (
            plan(&world, &forge).set("git-password-file", world.path("missing")),
            1,
            "could not use `--git-password-file`",
        ),
    ] {
        run.exit(code).stdout("").stderr_contains(&[why]);
        assert_eq!(own(&forge).len(), 1);
        assert!(own(&forge)[0].contains(why), "{}", own(&forge)[0]);
    }
}

#[test]
fn a_token_whose_host_the_file_could_name_is_not_sent() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    unreadable(&world, &forge)
        .without_env("GITHUB_TOKEN")
        .env("GITOGGLE_FORGE_TOKEN", FORGE_TOKEN)
        .exit(64)
        .any_output();
    plan(&world, &forge)
        .env("GITOGGLE_FORGE_URL", "http://forge.example")
        .exit(64)
        .stderr_contains(&["GITOGGLE_FORGE_URL"]);
    assert_eq!(forge.asked(), [""; 0]);
    // Without a file, the token is for the host of the job.
    plan(&world, &forge)
        .without_env("GITHUB_TOKEN")
        .env("GITOGGLE_FORGE_TOKEN", FORGE_TOKEN)
        .set("max-change-ratio", "7")
        .exit(64)
        .stderr_contains(&[&note("created")]);
}

#[test]
fn other_commands_do_not_comment() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    let run = forge.request_job(&world, world.validate());
    run.env("GITOGGLE_COMMENT_ON", "github").set("config", world.path("missing.yaml")).exit(64).any_output();
    assert_eq!(forge.asked(), [""; 0]);
}

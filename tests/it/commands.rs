//! The command line: help, version and usage errors.

use gitoggle::config::Command;

use crate::support::World;

#[test]
fn help_names_every_command() {
    let world = World::new();
    let short = world.bare("-h").exit(0).stderr("").stdout_contains(Command::WORDS).both();
    let long = world.bare("--help").exit(0).stderr("").stdout_contains(Command::WORDS).both();
    assert!(short.len() <= long.len());
}

#[test]
fn every_command_has_help() {
    let world = World::new();
    for verb in Command::WORDS {
        for flag in ["-h", "--help"] {
            world
                .bare(&format!("{verb} {flag}"))
                .exit(0)
                .stderr("")
                .stdout_contains(&["Usage: gitoggle", verb]);
        }
    }
}

#[test]
fn apply_help_names_every_setting_with_its_variable_or_flag() {
    let world = World::new();
    world.bare("apply --help").exit(0).stderr("").stdout_contains(&[
        "--repo",
        "--ref",
        "--root",
        "--layout",
        "--only",
        "--base-url",
        "--token-file",
        "GITOGGLE_TOKEN",
        "--ca-file",
        "--service-kind",
        "--state-dir",
        "--state-remote",
        "--state-name",
        "--first-pass",
        "--timeout",
        "--max-in-flight",
        "--max-in-flight-per-environment",
        "--max-change-ratio",
        "--max-change-count",
        "--no-allow-trailer",
        "--allow-mass-change",
        "--on-remove",
        "--on-invalid",
        "--history",
        "--first-parent",
        "--comment-max-chars",
        "--git-password-file",
        "--output",
        "--log-format",
        "--log-level",
        "--config",
    ]);
    world.bare("run --help").exit(0).stderr("").stdout_contains(&[
        "--listen",
        "--admin-token-file",
        "--webhook-secret-file",
        "--stale-after",
        "--poll-interval",
    ]);
}

#[test]
fn an_invocation_without_a_command_is_a_usage_error() {
    let world = World::new();
    world.bare("").exit(64).says(&["Usage"]);
    world.bare("frobnicate").exit(64).stderr_contains(&["frobnicate"]);
    world.bare("apply --frobnicate").exit(64).stderr_contains(&["--frobnicate"]);
    world.bare("apply surplus").exit(64).stderr_contains(&["surplus"]);
}

#[test]
fn an_unknown_output_is_a_usage_error() {
    let world = World::new();
    world
        .plan()
        .set("output", "xml")
        .exit(64)
        .stderr_contains(&["--output", "xml", "human", "json", "markdown", "github"]);
}

//! Commands and flags in messages: every one in the sources is a valid invocation.

mod printed;

use std::ffi::OsString;

use gitoggle::cli::args;

use crate::architecture::code_by_path;
use crate::live_publish::{by_hand, with_pay_changed};
use crate::support::Gitoggle;

/// Returns the texts between backticks in the strings of the sources, with the file of each.
fn quoted() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, code) in code_by_path() {
        // A string continues on the next line after a backslash, without the indentation.
        let mut joined = String::new();
        for line in code.lines() {
            let text = if joined.ends_with('\\') { line.trim_start() } else { line };
            joined.truncate(joined.trim_end_matches('\\').len());
            joined.push_str(text);
            if !joined.ends_with('\\') {
                joined.push('\n');
            }
        }
        for line in joined.lines() {
            let parts = line.split('`').skip(1).step_by(2);
            found.extend(parts.map(|text| (path.clone(), text.to_owned())));
        }
    }
    found
}

/// Returns the commands in the strings of the sources, with the file of each: between backticks, and those that
/// have a line of a message to themselves.
fn command_templates() -> Vec<(String, String)> {
    let mut found = quoted();
    for (path, code) in code_by_path() {
        let strings = code.split("command_line(&format!(").skip(1).filter_map(|rest| rest.split('"').nth(1));
        found.extend(strings.map(|text| (path.clone(), text.to_owned())));
    }
    found.retain(|(_, text)| text.starts_with("gitoggle "));
    found
}

/// Replaces the placeholders of a format string by values that any command accepts.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(a, b)| Some((a, b.split_once('}')?)))
    {
        filled.push_str(before);
        // After a space, it is a value. Otherwise, it is a list of flags, which may be empty.
        match (before.ends_with(' '), name) {
            (true, "name") => filled.push_str("plan"),
            (true, "needed") => filled.push_str("pay"),
            (true, "toggle") => filled.push_str("shop/production/pay"),
            (true, _) => filled.push_str("shop/production"),
            // A choice for a first pass.
            (false, "first") => filled.push_str("assert"),
            (false, _) => {}
        }
        rest = after;
    }
    filled + rest
}

#[test]
fn every_command_in_a_message_can_be_parsed() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    for (path, text) in quoted() {
        let text = text.strip_prefix("gitoggle ").map(|rest| format!("gitoggle {}", filled(rest)));
        let Some(text) = text.filter(|text| !text.contains("COMMAND")) else {
            continue;
        };
        // What a shell does with the output is not part of the command.
        let line = text.split(" | ").next().and_then(|text| text.split(" >").next()).unwrap_or_default();
        let words = line.split_whitespace().map(|word| OsString::from(word.trim_matches('\'')));
        if let Err(error) = args::parse(words) {
            // Help and version end the parsing; a command that is only named may lack its arguments.
            let kind = error.kind();
            let is_named = line.split_whitespace().count() == 2
                && kind == clap::error::ErrorKind::MissingRequiredArgument;
            if error.use_stderr() && !is_named {
                wrong.push(format!("{path}: `{text}`: {error}"));
            }
        }
        commands += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(commands > 30, "{commands}");
}

#[test]
fn every_flag_in_a_message_exists() {
    let mut program = args::program();
    program.build();
    let known: Vec<String> = program
        .get_subcommands()
        .chain([&program])
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect();
    // Flags of Git that a message names.
    let others = ["--depth", "--filter", "--mirror"];
    let mut flags = 0;
    let mut wrong = Vec::new();
    for (path, text) in quoted() {
        let ours = text.starts_with("--") || text.starts_with("gitoggle ");
        for word in text.split_whitespace().filter(|word| ours && word.starts_with("--")) {
            let flag = word.split(['=', '{']).next().unwrap_or_default();
            let is_known = known.iter().any(|known| known == flag) || others.contains(&flag);
            // In a format string, the name of a flag can be a placeholder.
            if !is_known && flag != "--" {
                wrong.push(format!("{path}: `{text}`: {flag}"));
            }
            flags += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(flags > 100, "{flags}");
}

/// Returns the commands that a run prints: between backticks, and alone on a line.
fn printed(text: &str) -> Vec<String> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    // A page cuts long texts, and then tags follow.
    let quoted = quoted.filter(|text| !text.contains(['…', '<']));
    let alone = text.lines().map(str::trim).filter(|line| line.starts_with("gitoggle "));
    let mut all: Vec<String> = Vec::new();
    for line in quoted.chain(alone).filter(|text| text.starts_with("gitoggle ")) {
        if !all.iter().any(|known| known == line) {
            all.push(line.to_owned());
        }
    }
    all
}

/// Returns both outputs of a run.
fn said(run: &Gitoggle) -> String {
    let output = run.start_piped().wait_with_output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// Runs every command that `run` prints and that needs no daemon, as printed. Each must know the repository,
/// the state and the service of `run`. Returns the commands.
fn run_as_printed(run: &Gitoggle) -> Vec<String> {
    let text = said(run);
    let commands = printed(&text);
    for command in &commands {
        let name = command.split_whitespace().nth(1).unwrap();
        if ["allow", "suspend", "resume", "reconcile"].contains(&name) {
            continue;
        }
        let ran = run.shell(command);
        let said = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        assert!([0, 2, 4].contains(&ran.status.code().unwrap()), "{command}\n{}\n{said}\n{text}", ran.status);
    }
    assert!(!commands.is_empty(), "{text}");
    commands
}

#[test]
fn every_command_that_a_run_prints_works_as_printed() {
    // A run in another folder than the repository, with everything as a flag: without the flags, each of the
    // commands would find another repository, another state or another service.
    for verb in ["apply", "plan --live", "status --live", "drift"] {
        let service = with_pay_changed("Raise the age");
        service.edit("pay", by_hand());
        let run = service.connected(service.world.connected(verb).set("state-name", "team-a"));
        let commands = run_as_printed(&run);
        for flag in ["--repo ", "--base-url ", "--ca-file ", "--service-kind featureprobe"] {
            let lacks: Vec<_> = commands.iter().filter(|line| !line.contains(flag)).collect();
            let lacks: Vec<_> = lacks.iter().filter(|line| !line.contains(" allow ")).collect();
            assert!(lacks.is_empty(), "{verb}: {flag}: {lacks:#?}");
        }
        if verb != "drift" {
            let pay = commands.iter().find(|line| line.contains("apply --overwrite-drift"));
            assert!(pay.is_some_and(|line| line.contains(" --state-name team-a")), "{verb}: {commands:#?}");
        }
        // The help was followed, so the same place has no finding.
        run.shell(&format!("cd {} && git reset -q --hard", service.world.repo.path().display()));
        service.apply().exit(0).any_output();
    }
}

#[test]
fn a_stored_reason_has_the_flags_of_the_run_that_shows_it() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    service.apply().set("ref", "main").set("history", "follow").exit(4).any_output();
    let text = said(&service.connected(service.world.status()).unset("timeout"));
    let apply = "`gitoggle apply --overwrite-drift --only shop/prod/pay --repo ";
    assert!(
        text.contains(apply) && text.contains("`gitoggle allow overwrite-drift shop/prod/pay`"),
        "{text}"
    );
    assert!(!text.contains(" --ref ") && !text.contains(" --history "), "{text}");
}

#[test]
fn what_holds_an_unreviewed_change_leads_to_a_review_that_counts() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let empty = service.world.write("old.json", r#"{"version": 1, "changes": [], "held": []}"#);
    let run = service.apply().arg("--overwrite-drift").set("reviewed", empty.display().to_string());
    let commands = run_as_printed(&run);
    let plan = commands.iter().find(|line| line.starts_with("gitoggle plan -o json")).expect("a way out");
    assert!(plan.contains(" --overwrite-drift") && plan.ends_with(" >plan.json"), "{plan}");
    assert_eq!(service.versions("pay").last(), Some(&(4, "Raise the age".to_owned())), "{commands:#?}");
}

/// A job's log is read where its variables are not.
#[test]
fn a_command_that_a_job_prints_has_what_its_variables_set() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let empty = service.world.write("old.json", r#"{"version": 1, "changes": [], "held": []}"#);
    let run = || {
        let run = service.apply().unset("service-kind").env("GITOGGLE_SERVICE_KIND", "featureprobe");
        let run = run.env("GITOGGLE_ONLY", "shop/*/pay");
        run.env("GITOGGLE_ON_DRIFT", "hold").set("reviewed", empty.display().to_string())
    };
    let set = [" --service-kind featureprobe", " --only 'shop/*/pay'", " --on-drift hold"];
    for (job, is_complete) in [("", false), ("true", true)] {
        let said = said(&run().env("CI", job));
        let commands = printed(&said);
        let plan = commands.iter().find(|line| line.starts_with("gitoggle plan ")).expect("a way out");
        for flag in set {
            assert_eq!(plan.contains(flag), is_complete, "{job}: {plan}");
        }
        assert!(!said.contains("sandbox-token"), "{said}");
    }
}

/// The ways to the function that completes a command, and where a text takes one of them.
const ROUTES: [&str; 8] =
    ["hinted(", "command_line(", "Hold::", "Failure", "note(", ".hint(", "fn hint", "way_out"];

/// The files whose texts others complete or nobody does, and why.
const ELSEWHERE: [(&str, &str); 5] = [
    ("cli/args/mod.rs", "an error about the arguments, before there is a run"),
    ("cli/args/program.rs", "help has no run"),
    ("config/checks.rs", "the text of a failure"),
    ("document/waiver.rs", "a finding, which names a command for any file"),
    ("report/drift.rs", "a commit message, which is read elsewhere"),
];

#[test]
fn every_command_in_a_message_is_completed_by_one_function() {
    let code: std::collections::BTreeMap<String, String> = code_by_path().into_iter().collect();
    let printing: std::collections::BTreeSet<String> = quoted()
        .into_iter()
        .filter(|(_, text)| text.starts_with("gitoggle "))
        .map(|(path, _)| path)
        .collect();
    let is_routed = |path: &String| ROUTES.iter().any(|route| code[path].contains(route));
    let elsewhere: Vec<&str> = printing.iter().filter(|path| !is_routed(path)).map(String::as_str).collect();
    assert_eq!(elsewhere, ELSEWHERE.map(|(path, _)| path));
}

//! Tests parsing and help texts.

use std::time::Duration;

use super::*;
use crate::cli::commands;
use crate::config::OutputFormat;

fn typed(line: &str) -> Result<Invocation, clap::Error> {
    parse(std::iter::once("gitoggle").chain(line.split(' ')).map(OsString::from))
}

#[test]
fn the_definitions_are_consistent() {
    program().debug_assert();
}

#[test]
fn a_command_accepts_only_its_own_flags() {
    let plan =
        typed("plan --ref main --only a/** --only b/** --no-allow-trailer --first-parent -o json").unwrap();
    let expected = [
        ("allow_trailer", vec!["false"]),
        ("first_parent", vec!["true"]),
        ("only", vec!["a/**", "b/**"]),
        ("output", vec!["json"]),
        ("ref", vec!["main"]),
    ];
    let expected: Flags = expected
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(plan.flags, expected);
    for (line, taken) in [
        ("plan --listen none", false),
        ("run --listen none", true),
        ("run --allow-mass-change", false),
        ("apply --allow-mass-change", true),
        // `plan --live` reads from the service.
        ("plan --token-file x", true),
        ("validate --token-file x", false),
        ("apply --token x", false),
        ("validate --base-url x", false),
        ("schema --repo x", false),
        ("apply -v --log-level debug", false),
        ("plan --repo a --repo b", false),
    ] {
        assert_eq!(typed(line).is_ok(), taken, "{line}");
    }
}

#[test]
fn of_a_switch_and_its_opposite_the_last_one_wins() {
    for (line, (name, value)) in [
        ("plan --first-parent --no-first-parent", ("first_parent", "false")),
        ("plan --no-first-parent --first-parent", ("first_parent", "true")),
        ("plan --no-allow-trailer --allow-trailer", ("allow_trailer", "true")),
        ("plan --allow-trailer --no-allow-trailer", ("allow_trailer", "false")),
    ] {
        let flags = typed(line).unwrap().flags;
        assert_eq!(flags.get(name), Some(&vec![value.to_owned()]), "{line}");
    }
}

#[test]
fn arguments_of_one_command_are_not_settings() {
    let plan = typed("plan --worktree --detailed-exitcode -vv").unwrap();
    let CommandArgs::Plan(args) = &plan.args else {
        panic!("a plan");
    };
    assert!(args.worktree && args.detailed_exitcode && args.audience.is_none());
    assert_eq!((plan.verbosity.verbose, plan.verbosity.quiet), (2, false));
    assert!(plan.flags.is_empty());
    let CommandArgs::Sandbox(sandbox) = typed("sandbox --fail-rate 0.1 --latency 5ms --seed 7").unwrap().args
    else {
        panic!("a sandbox");
    };
    let faults = sandbox.faults;
    assert_eq!((faults.fail_rate, faults.seed), (0.1, 7));
    assert_eq!(faults.latency, Duration::from_millis(5));
    assert!(typed("sandbox --fail-rate 2").is_err());
}

#[test]
fn wrong_usage_exits_64_and_help_and_version_exit_0() {
    for (line, code) in
        [("plan --nonsense", 64), ("nonsense", 64), ("--help", 0), ("plan -h", 0), ("--version", 0)]
    {
        assert_eq!(exit_code(&typed(line).unwrap_err()), code, "{line}");
    }
    let bare = parse([OsString::from("gitoggle")]).unwrap_err();
    assert_eq!(exit_code(&bare), 64);
}

#[test]
fn every_help_text_fits_80_columns_and_has_no_final_period() {
    let mut program = program().term_width(80);
    program.build();
    let mut texts = vec![program.render_help(), program.render_long_help()];
    for command in program.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        texts.extend([command.render_help(), command.render_long_help()]);
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.ends_with('.') && !help.is_empty(), "{arg}");
        }
    }
    for text in texts {
        for line in text.to_string().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn text_with_line_breaks_of_its_own_is_not_wrapped() {
    for width in [60, 80] {
        let help = program().term_width(width).render_long_help().to_string();
        for text in [program::EXIT_CODES, program::MORE, program::SETTINGS] {
            assert!(help.contains(text), "{help}");
        }
    }
    let mut program = program().term_width(80);
    program.build();
    for command in Command::ALL {
        let clap = program.find_subcommand_mut(command.as_str()).unwrap();
        let help = clap.render_long_help().to_string();
        assert!(help.contains(&program::lines(command, "  ")), "{help}");
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let mut program = program().term_width(80);
    program.build();
    for name in Command::WORDS {
        let command = program.find_subcommand_mut(name).unwrap();
        let (short, long) = (command.render_help(), command.render_long_help());
        let count = |text: &dyn std::fmt::Display| text.to_string().lines().count();
        assert!(count(&short) <= 60, "{}: {}", name, count(&short));
        assert!(count(&short) < count(&long), "{name}");
    }
}

#[test]
fn the_help_of_output_names_what_the_command_prints() {
    let mut program = program().term_width(200);
    program.build();
    for command in Command::ALL {
        let formats = commands::formats(command);
        let help = program.find_subcommand_mut(command.as_str()).unwrap().render_long_help().to_string();
        let words: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
        let named = format!("--output <{}>", words.join("|"));
        assert_eq!(help.contains("--output <"), !formats.is_empty(), "{command:?}");
        assert!(formats.is_empty() || help.contains(&named), "{command:?}: {named}");
        // What every script can rely on.
        assert!(formats.is_empty() || formats.starts_with(&[OutputFormat::Human, OutputFormat::Json]));
    }
}

/// Returns the message for a command line, which must be a usage error.
fn message(line: &str) -> String {
    let typed = std::iter::once("gitoggle").chain(line.split(' '));
    let error = parse(typed.map(OsString::from)).expect_err(line);
    assert_eq!(exit_code(&error), 64, "{line}");
    error.render().to_string()
}

fn built() -> Clap {
    let mut program = program();
    program.build();
    program
}

#[test]
fn a_flag_of_another_command_names_that_command() {
    let program = built();
    let commands: Vec<&Clap> = program.get_subcommands().filter(|clap| clap.get_name() != "help").collect();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for command in &commands {
        for arg in command.get_arguments() {
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            for flag in long.into_iter().chain(short) {
                let owner = format!("`{}`", command.get_name());
                owners.entry(flag).or_default().push(owner);
            }
        }
    }
    let mut checked = 0;
    for command in &commands {
        for (flag, owners) in owners.iter().filter(|(flag, _)| !has(command, flag)) {
            let pointer = of_argument(&program, Some(command), flag);
            let expected = format!("`{flag}` belongs to {}", listed(owners));
            assert_eq!(pointer, Some(expected), "{}", command.get_name());
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked}");
    let tip = "tip: `--listen` belongs to `run` and `sandbox`\n";
    assert!(message("apply --listen").contains(tip));
    for line in ["apply --listen", "apply --ca-file a --poll-interval 5s", "apply --token=x"] {
        let usage = "\n\nUsage: gitoggle apply [OPTIONS]\n\n";
        assert!(message(line).contains(usage), "{}", message(line));
    }
    assert!(message("--bogus").contains("\n\nUsage: gitoggle <COMMAND>\n\n"));
}

#[test]
fn a_flag_before_the_command_has_a_pointer() {
    for line in ["--repo . plan", "-v plan", "--output=json status", "--repo"] {
        let flag = line.split([' ', '=']).next().unwrap();
        let pointer = format!("tip: flags follow the command: `gitoggle COMMAND {flag}`\n");
        assert!(message(line).contains(&pointer), "{}", message(line));
    }
}

#[test]
fn diff_without_environments_and_a_surplus_word_have_pointers() {
    for line in ["diff", "diff shop/staging"] {
        assert!(message(line).contains(DIFF), "{}", message(line));
    }
    let pointer = "tip: `--only 'PROJECT/ENVIRONMENT/*'` selects toggles\n";
    assert!(message("apply shop/production").contains(pointer));
    assert!(!message("apply --bogus").contains("tip: `--only"));
}

/// Returns the long help of a command, each paragraph on one line.
fn long_help_of(name: &str) -> String {
    let mut program = program().term_width(10_000);
    program.build();
    let command = if name.is_empty() { &mut program } else { program.find_subcommand_mut(name).unwrap() };
    command.render_long_help().to_string()
}

#[test]
fn help_says_what_the_program_does() {
    for (command, text) in [
        ("", "by a rail (too many\n      changes at once)"),
        ("", "status       Show which toggles are not in sync, and why\n"),
        ("allow", "valid as long as its revision is the one to apply"),
        ("allow", "`history` lets the daemon continue"),
        ("apply", "[variable: GITOGGLE_ALLOW_TRAILER=false]"),
        ("apply", "[variable: GITOGGLE_FIRST_PARENT]"),
        ("apply", "`follow` also accepts a commit that does not descend from the recorded one\n"),
        (
            "apply",
            "after this long. The time begins when ten different toggles have failed in a row. If fewer",
        ),
        ("diff", "What `promote FROM TO` changes is the difference between TO and FROM"),
        ("import", "Rewrites only what differs; the comments of what is gone are lost. "),
        ("plan", "contacts the service only with --live or --overwrite-drift, and needs no token"),
        ("plan", "`explain`, `test` and `plan --audience` evaluate as the first one does"),
        ("plan", "Read uncommitted files. With --from HEAD, they are compared with the last commit"),
        ("run", "Require the token in this file for the status page and `/api`"),
        ("stale", "off (disabled), or passed (a rule whose time is over)"),
    ] {
        let help = long_help_of(command);
        assert!(help.contains(text), "{command}: {text}\n{help}");
    }
}

#[test]
fn a_default_has_one_notation() {
    for (command, flag, default) in [
        ("explain", "--at <TIME>", "now"),
        ("log", "-n, --limit <N>", "20"),
        ("plan", "--at <TIME>", "now"),
        ("stale", "--older-than <TIME>", "90d"),
        ("stale", "[GLOB]...", "everything"),
        ("stale", "--only <GLOB>", "everything"),
    ] {
        let help = long_help_of(command);
        let (_, of_flag) = help.split_once(&format!("{flag}\n")).expect(flag);
        let (of_flag, _) = of_flag.split_once("\n\n").unwrap();
        assert!(
            of_flag.contains(&format!("\n          [default: {default}]")),
            "{command} {flag}: {of_flag}"
        );
    }
}

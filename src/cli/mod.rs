//! The command line: parses arguments, loads settings, runs a command and returns its exit code.
//!
//! A command has a file with its name, or is a function of that name in `authoring`, `describe`, `evaluate`, `remote`, `status`
//! or `validate`. Results go to stdout and everything else to stderr. A closed pipe is not an error.

mod apply;
pub mod args;
mod authoring;
mod demo;
mod describe;
mod evaluate;
mod failure;
mod forge;
mod import;
mod log;
mod observer;
mod plan;
mod remote;
mod run;
mod sandbox;
mod setup;
mod status;
mod validate;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::{CommandArgs, Invocation};
use failure::{ExitStatus, Failure};
use serde::Serialize;

use crate::config::{self, Command, Flags, OutputFormat, Settings, settings};
use crate::model::{Color, HarmlessJsonWriter, escaped, junit};
use crate::pass::Files;
use crate::report::{self, ANY_COMMENT, JOB_SUMMARY};
use crate::telemetry::{self, Stream};

/// Runs the program with the arguments `typed`, the program's name first, and returns the exit code (DESIGN, section 3).
pub fn main(typed: impl IntoIterator<Item = OsString>) -> ExitCode {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let invocation = match args::parse(typed.iter().cloned()) {
        Ok(invocation) => invocation,
        Err(error) => return unparsed(&error, &typed),
    };
    let status = run(&invocation).unwrap_or_else(|failure| {
        // A closed stderr does not change the exit code.
        let _ = Stream::Stderr.print(&failure.to_string());
        failure.status()
    });
    ExitCode::from(status.code())
}

/// Prints the requested help or version, or a usage error.
fn unparsed(error: &clap::Error, typed: &[OsString]) -> ExitCode {
    let stream = if error.use_stderr() { Stream::Stderr } else { Stream::Stdout };
    if let Some(output) = output(typed).filter(|_| error.use_stderr()) {
        let _ = show_failure(args::command_in(typed), output, &misused(error));
    }
    let _ = stream.print(&error.render().to_string());
    ExitCode::from(args::exit_code(error))
}

/// Returns the output that arguments with a usage error ask for. The file of settings is not read then.
fn output(typed: &[OsString]) -> Option<OutputFormat> {
    let variable = std::env::var("GITOGGLE_OUTPUT").ok();
    let mut words = typed.iter().filter_map(|word| word.to_str());
    let mut found = variable.and_then(|word| word.parse().ok());
    while let Some(word) = words.next() {
        let value = match word {
            "--" => break,
            "-o" | "--output" => words.next(),
            word => (word.strip_prefix("--output=")).or_else(|| word.strip_prefix("-o")),
        };
        let value = value.map(|value| value.trim_start_matches('='));
        found = value.and_then(|value| value.parse().ok()).or(found);
    }
    found
}

/// Returns a usage error with its tip, without the usage.
fn misused(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: "));
    Failure::new(ExitStatus::Usage, message).maybe_hint(tip)
}

fn run(invocation: &Invocation) -> Result<ExitStatus, Failure> {
    let Invocation { command, args, flags, verbosity } = invocation;
    let command = *command;
    let mut environment =
        config::ProcessEnvironment::of_process().map_err(Failure::could_not("find the current folder"))?;
    if matches!(command, Command::Completions | Command::Man) {
        // An error in a setting must not break the completions of a shell.
        environment.variables.clear();
    }
    let config::LoadedSettings { settings, warnings } = match config::load(command, flags, &environment) {
        Ok(loaded) => loaded,
        Err(errors) => {
            let output = errors.output;
            let failure = Failure::from(errors);
            if command == Command::Plan {
                forge::comment_misconfigured(flags, &environment, &failure)?;
            }
            return finished(command, output, Err(failure));
        }
    };
    let level = verbosity.level(command, settings.log_level);
    telemetry::start(command, settings.log_format, level, settings.color);
    for warning in &warnings {
        tracing::warn!(name: "settings_warning", "{warning}");
    }
    let handles_signals = matches!(
        command,
        Command::Apply | Command::Demo | Command::Drift | Command::Import | Command::Run | Command::Sandbox
    );
    let may_run_git = settings.repo.local_path().is_none() || settings.state_remote.is_some();
    if may_run_git && !handles_signals {
        setup::exit_on_signal().map_err(Failure::failed)?;
    }
    // Before the command: a missing secret file is reported at startup (DESIGN, section 3).
    let result = match setup::check_secrets(command, &settings) {
        // Before the command, too: a pass must not end without a report.
        Ok(()) if !has_output(command, settings.output) => Err(unsupported_output(settings.output)),
        Ok(()) => run_command(args, flags, &settings),
        Err(failure) if command == Command::Plan => plan::unable(&settings, failure),
        Err(failure) => Err(failure),
    };
    finished(command, settings.output, result)
}

fn finished(
    command: Command,
    output: OutputFormat,
    result: Result<ExitStatus, Failure>,
) -> Result<ExitStatus, Failure> {
    if let Err(failure) = &result {
        show_failure(Some(command), output, failure)?;
    }
    result
}

/// Prints a failure in the form of the results. A script that parses stdout needs the error there; stderr has it in words.
/// `command` is none if it is not known.
fn show_failure(command: Option<Command>, output: OutputFormat, failure: &Failure) -> Result<(), Failure> {
    if command.is_some_and(|command| !has_output(command, output)) {
        return Ok(());
    }
    let error = failure.json_error().message;
    // A hold that the exit code does not show is not a failed test or an annotation either.
    let is_shown = failure.status() != ExitStatus::Clean;
    match output {
        OutputFormat::Json => print_json(&failure.json()),
        OutputFormat::Junit if is_shown => print(&junit(&[report::failed_suite("command", &error)])),
        OutputFormat::Sarif => print_json(&report::sarif(&[], &[], Some(&error))),
        OutputFormat::Gitlab => print_json(&report::code_quality(&[], &[], Some(&error))),
        OutputFormat::Github if is_shown => {
            print(&report::failed_annotation(&error))?;
            match command {
                Some(Command::Plan) => step_summary(|_| report::failed(None, &failure.to_string())),
                _ => Ok(()),
            }
        }
        OutputFormat::Markdown if command == Some(Command::Plan) => {
            print(&report::failed(None, &failure.to_string()))
        }
        _ => Ok(()),
    }
}

fn run_command(args: &CommandArgs, flags: &Flags, settings: &Settings) -> Result<ExitStatus, Failure> {
    match args {
        CommandArgs::Allow(args) => remote::allow(settings, args),
        CommandArgs::Apply => apply::run(settings),
        CommandArgs::Completions { shell } => describe::completions(*shell),
        CommandArgs::Demo(args) => demo::run(settings, args),
        CommandArgs::Drift(args) => status::run_drift(settings, args, flags),
        CommandArgs::Explain(args) => evaluate::explain(settings, args),
        CommandArgs::Diff { before, after, detailed_exitcode } => {
            authoring::diff(settings, [before, after], *detailed_exitcode)
        }
        CommandArgs::Log(args) => log::run(settings, args),
        CommandArgs::Init { folder } => authoring::init(settings, folder),
        CommandArgs::Promote { before, after, globs, create } => {
            authoring::promote(settings, [before, after], globs, *create)
        }
        CommandArgs::Fmt { paths, check } => authoring::fmt(settings, paths, *check),
        CommandArgs::Import(args) => import::run(settings, args, flags),
        CommandArgs::Man { command, out } => describe::man(command.as_deref(), out.as_deref()),
        CommandArgs::Plan { worktree, detailed_exitcode, audience } => {
            let files = if *worktree { Files::WorkTree } else { Files::Committed };
            plan::run(settings, files, *detailed_exitcode, audience.as_ref())
        }
        CommandArgs::Reconcile => remote::reconcile(settings),
        CommandArgs::Resume(args) => remote::resume(settings, args),
        CommandArgs::Run => run::run(settings),
        CommandArgs::Sandbox(args) => sandbox::run(settings, args),
        CommandArgs::Schema { of } => describe::schema(settings, of),
        CommandArgs::Stale(args) => validate::stale(settings, args),
        CommandArgs::Status { all } => status::run(settings, *all),
        CommandArgs::Suspend(args) => remote::suspend(settings, args),
        CommandArgs::Test(args) => evaluate::test(settings, args),
        CommandArgs::Validate { paths } => validate::run(settings, paths),
    }
}

fn has_output(command: Command, output: OutputFormat) -> bool {
    match (command, output) {
        (_, OutputFormat::Human | OutputFormat::Json) | (Command::Plan | Command::Validate, _) => true,
        (Command::Explain, _) | (Command::Diff | Command::Promote, OutputFormat::Github) => false,
        (Command::Test, output) => output == OutputFormat::Junit,
        (Command::Apply, OutputFormat::Junit) => true,
        // The others report on more than documents.
        (_, OutputFormat::Gitlab | OutputFormat::Junit | OutputFormat::Sarif) => false,
        (_, OutputFormat::Github | OutputFormat::Markdown) => true,
    }
}

/// Returns the error that a command has no such output.
fn unsupported_output(output: OutputFormat) -> Failure {
    let message = format!("this command has no `{}` output", output.as_str());
    Failure::new(ExitStatus::Usage, message)
        .hint("`--help` lists the commands; `-o human` and `-o json` always work")
}

fn print(text: &str) -> Result<(), Failure> {
    Stream::Stdout.print(text).map_err(Failure::could_not("write to stdout"))
}

fn note(text: &str) -> Result<(), Failure> {
    Stream::Stderr.print(text).map_err(Failure::could_not("write to stderr"))
}

/// Returns whether results are colored.
fn color(settings: &Settings) -> Color {
    Stream::Stdout.color(settings.color)
}

impl From<crate::pass::Error> for Failure {
    fn from(error: crate::pass::Error) -> Self {
        Self::of(&std::sync::Arc::new(error))
    }
}

impl Failure {
    /// Converts the error that prevented or ended a pass.
    fn of(error: &std::sync::Arc<crate::pass::Error>) -> Self {
        let status = if error.is_hold() { ExitStatus::Held } else { ExitStatus::Failed };
        Self::new(status, std::sync::Arc::clone(error)).maybe_hint(error.hint())
    }
}

// Prints results in the formats that commands share, and commands to copy: with the flags of this invocation, and quoted
// for a shell.

/// Prints a value as JSON. Escapes characters that could reorder or hide text on a terminal.
fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let written = Stream::Stdout.print_with(|to| {
        serde_json::to_writer_pretty(HarmlessJsonWriter(&mut *to), value)?;
        to.write_all(b"\n")
    });
    written.map_err(Failure::failed)
}

/// Prints a result that is not about documents: as text, as JSON, or as Markdown of at most so many bytes.
fn print_result<J: Serialize>(
    output: OutputFormat,
    text: impl FnOnce() -> String,
    json: impl FnOnce() -> J,
    markdown: impl FnOnce(usize) -> String,
) -> Result<(), Failure> {
    match output {
        OutputFormat::Github => step_summary(markdown),
        OutputFormat::Human => print(&text()),
        OutputFormat::Json => print_json(&json()),
        OutputFormat::Markdown => print(&markdown(ANY_COMMENT)),
        OutputFormat::Gitlab | OutputFormat::Junit | OutputFormat::Sarif => Err(unsupported_output(output)),
    }
}

/// Appends Markdown of at most so many bytes to GitHub's job summary.
fn step_summary(markdown: impl FnOnce(usize) -> String) -> Result<(), Failure> {
    const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
        return note(&format!(
            "note: `{VARIABLE}` is not set, so there is no job summary; `-o markdown` prints it\n"
        ));
    };
    // Earlier commands of the step may have written to the summary.
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| {
        let used = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        file.write_all(markdown(JOB_SUMMARY.saturating_sub(used)).as_bytes())
    });
    let path = path.to_string_lossy();
    written.map_err(Failure::could_not(format!("write the job summary to `{}`", escaped(&path))))
}

/// Returns the counts that are not zero, each with its word.
fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Returns the flags of this invocation that `command` takes, too, except for the settings `without`. Variables and the
/// file apply to it anyway.
fn with_flags(command: Command, flags: &Flags, without: &[&str]) -> String {
    let mut text = String::new();
    let common = settings().iter().filter(|setting| {
        setting.commands().contains(&command)
            && !["color", "log_format", "log_level", "output"].contains(&setting.name)
            && !without.contains(&setting.name)
    });
    for setting in common {
        let (Some(values), Some(flag)) = (flags.get(setting.name), &setting.flag) else {
            continue;
        };
        // A switch is a decision about this invocation.
        for value in values.iter().filter(|_| !setting.is_switch()) {
            text.push_str(&format!(" {flag} {}", word(value)));
        }
    }
    text
}

/// Quotes `text` for a POSIX shell if that is necessary.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_if_the_shell_would_change_it() {
        for (text, quoted) in [
            ("https://t.example:8443/a", "https://t.example:8443/a"),
            ("+refs/heads/a:b", "+refs/heads/a:b"),
            ("shop/**", "'shop/**'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }
}

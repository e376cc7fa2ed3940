#![doc = include_str!("README.md")]

pub mod args;
mod audience;
mod commands;
mod daemon;
mod failure;
mod forge;
mod observer;
mod output;
mod run_flags;
mod runtime;
mod setup;
mod signals;
mod suggested;
mod targets;

use std::ffi::OsString;
use std::process::ExitCode;

use args::Invocation;
use failure::{ExitStatus, Failure};
use output::{show_failure, unsupported, wrap_reasons};

use crate::config::{self, Command, OutputFormat, ProcessEnvironment};
use crate::telemetry::{self, Stream};

/// Runs the program with the arguments `typed`, the program's name first, and returns the exit code
/// (src/cli/README.md, "Exit codes").
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
    // What a thread that nobody waits for still runs or has on disk ends with this process.
    crate::git::kill_all();
    ExitCode::from(status.code())
}

/// Prints the requested help or version, or a usage error.
fn unparsed(error: &clap::Error, typed: &[OsString]) -> ExitCode {
    let stream = if error.use_stderr() { Stream::Stderr } else { Stream::Stdout };
    let command = args::command_in(typed);
    let is_printed = |output: &OutputFormat| {
        error.use_stderr() && command.is_none_or(|command| is_offered(command, *output))
    };
    if let Some(output) = output(typed).filter(is_printed) {
        let _ = show_failure(command, output, &misused(error));
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
        ProcessEnvironment::of_process().map_err(Failure::could_not("find the current folder"))?;
    if !command.takes_settings() {
        // An error in a setting must not break the completions of a shell.
        environment.variables.clear();
    }
    let config::LoadedSettings { settings, warnings } = match config::load(command, flags, &environment) {
        Ok(loaded) => loaded,
        Err(errors) => {
            run_flags::install(command, flags, &environment, None);
            let output = errors.output;
            let failure = Failure::from(errors);
            if command == Command::Plan {
                forge::comment_misconfigured(flags, &environment, &failure)?;
            }
            return finished(command, output, Err(failure));
        }
    };
    run_flags::install(command, flags, &environment, Some(&settings));
    // What a daemon prints is a log. A demo has a margin.
    if settings.output == OutputFormat::Human && !matches!(command, Command::Demo | Command::Run) {
        wrap_reasons(0);
    }
    let level = verbosity.level(command, settings.log_level);
    telemetry::start(command, settings.log_format, level, settings.color);
    for warning in &warnings {
        tracing::warn!(name: "settings_warning", "{warning}");
    }
    let may_run_git = settings.repo.local_path().is_none() || settings.state_remote.is_some();
    if may_run_git && !command.handles_signals() {
        signals::exit_on_signal().map_err(Failure::failed)?;
    }
    // Before the command: a missing secret file is reported at startup (src/config/README.md, "Secrets and
    // trust").
    let result = match setup::check_secrets(command, &settings) {
        // Before the command, too: a pass must not end without a report.
        Ok(()) if !is_offered(command, settings.output) => Err(unsupported(settings.output)),
        Ok(()) => args.run(&settings),
        Err(failure) if command == Command::Plan => commands::unable(&settings, failure),
        Err(failure) => Err(failure),
    };
    finished(command, settings.output, result)
}

fn finished(
    command: Command,
    output: OutputFormat,
    result: Result<ExitStatus, Failure>,
) -> Result<ExitStatus, Failure> {
    if let Err(failure) = &result
        && is_offered(command, output)
    {
        show_failure(Some(command), output, failure)?;
    }
    result
}

/// Returns whether a command prints in this form. One that takes no `--output` ignores the variable.
fn is_offered(command: Command, output: OutputFormat) -> bool {
    let formats = commands::formats(command);
    formats.is_empty() || formats.contains(&output)
}

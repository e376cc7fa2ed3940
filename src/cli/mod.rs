//! The command line: arguments to settings, settings to a command, a command to an exit code.
//!
//! One file per command. Results go to stdout and everything else to stderr; whoever closes a pipe has read enough.

pub mod args;
pub mod failure;

mod apply;
mod demo;
mod observer;
mod plan;
mod remote;
mod run;
mod sandbox;
mod secrets;
mod setup;
mod show;
mod signals;
mod status;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::config::{self, OutputFormat, Settings};
use crate::document;
use crate::model::Color;
use crate::telemetry::{self, Logging, Stream};
use args::{Asked, Invocation};
use failure::{Failure, Verdict};

/// Does what was typed, the program's name first, and returns the exit code (DESIGN, section 3).
#[must_use]
pub fn main(typed: impl IntoIterator<Item = OsString>) -> ExitCode {
    let invocation = match args::parse(typed) {
        Ok(invocation) => invocation,
        Err(error) => {
            let stream = if error.use_stderr() {
                Stream::Stderr
            } else {
                Stream::Stdout
            };
            let _ = stream.print(&error.render().to_string());
            return ExitCode::from(args::exit_code(&error));
        }
    };
    let verdict = run(&invocation).unwrap_or_else(|failure| {
        let _ = Stream::Stderr.print(&failure.to_string());
        failure.verdict()
    });
    ExitCode::from(verdict.code())
}

fn run(invocation: &Invocation) -> Result<Verdict, Failure> {
    let Invocation {
        asked,
        flags,
        verbosity,
    } = invocation;
    let command = asked.command();
    let environment = config::Environment::of_process().map_err(Failure::failed)?;
    let config::LoadedSettings { settings, warnings } = config::load(command, flags, &environment)?;
    let level = verbosity.level(command, settings.log_level);
    telemetry::start(Logging::of(command, settings.log_format, level, settings.color));
    for warning in &warnings {
        tracing::warn!(name: "settings_warning", "{warning}");
    }
    secrets::check(command, &settings)?;
    let result = match asked {
        Asked::Allow(args) => remote::allow(&settings, args),
        Asked::Apply => apply::run(&settings),
        Asked::Demo(args) => demo::run(&settings, args),
        Asked::Plan { files, exit } => plan::run(&settings, *files, *exit),
        Asked::Reconcile => remote::reconcile(&settings),
        Asked::Resume(args) => remote::resume(&settings, args),
        Asked::Run => run::run(&settings),
        Asked::Sandbox(args) => sandbox::run(&settings, args),
        Asked::Schema => schema(),
        Asked::Status => status::run(&settings),
        Asked::Suspend(args) => remote::suspend(&settings, args),
        Asked::Validate { paths } => validate::run(&settings, paths),
    };
    if let (OutputFormat::Json, Err(failure)) = (settings.output, &result) {
        show::json(&failure.json())?;
    }
    result
}

fn schema() -> Result<Verdict, Failure> {
    let text = serde_json::to_string_pretty(&document::schema()).map_err(Failure::failed)?;
    print(&format!("{text}\n"))?;
    Ok(Verdict::Clean)
}

/// Prints a result.
fn print(text: &str) -> Result<(), Failure> {
    Stream::Stdout.print(text).map_err(Failure::failed)
}

/// Prints something that is no result.
fn note(text: &str) -> Result<(), Failure> {
    Stream::Stderr.print(text).map_err(Failure::failed)
}

/// Whether results are colored.
fn color(settings: &Settings) -> Color {
    Stream::Stdout.color(settings.color)
}

impl From<crate::pass::Error> for Failure {
    fn from(error: crate::pass::Error) -> Self {
        Self::of(&std::sync::Arc::new(error))
    }
}

impl Failure {
    /// Reports why there was no pass, or why it could not be finished.
    fn of(error: &std::sync::Arc<crate::pass::Error>) -> Self {
        let verdict = match error.is_hold() {
            true => Verdict::Held,
            false => Verdict::Failed,
        };
        let failure = Self::new(verdict, std::sync::Arc::clone(error));
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

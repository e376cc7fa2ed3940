//! Prints the steps of the demonstration.

use std::time::Duration;

use crate::cli::args::DemoArgs;
use crate::cli::failure::Failure;
use crate::model::Color;
use crate::telemetry::Stream;

/// Prints the steps, with a pause before each.
pub(super) struct DemoOutput {
    color: Color,
    pause: Duration,
}

impl DemoOutput {
    pub(super) fn new(color: Color, args: &DemoArgs) -> Self {
        let pause = match args.pause {
            _ if args.no_pause => Duration::ZERO,
            Some(pause) => pause,
            None if Stream::Stdout.is_terminal() => Duration::from_secs(1),
            None => Duration::ZERO,
        };
        Self { color, pause }
    }

    /// Begins a step.
    pub(super) async fn step(&self, number: usize, title: &str) -> Result<(), Failure> {
        // There is nothing to read before the first step.
        if number > 1 {
            tokio::time::sleep(self.pause).await;
        }
        let title = format!("{number}. {title}");
        match self.color {
            Color::Always => self.line(&format!("\n\u{1b}[1;36m{title}\u{1b}[0m")),
            Color::Never => self.line(&format!("\n{title}")),
        }
    }

    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        Stream::Stdout
            .print(&format!("{text}\n"))
            .map_err(Failure::failed)
    }

    /// Prints a command that a user would type.
    pub(super) fn command(&self, command: &str) -> Result<(), Failure> {
        match self.color {
            Color::Always => self.line(&format!("   \u{1b}[1m$ {command}\u{1b}[0m")),
            Color::Never => self.line(&format!("   $ {command}")),
        }
    }

    /// Prints an empty line, then a command.
    pub(super) fn next_command(&self, command: &str) -> Result<(), Failure> {
        self.line("")?;
        self.command(command)
    }

    /// Prints the output of a command, or an explanation.
    pub(super) fn print(&self, text: &str) -> Result<(), Failure> {
        let lines: Vec<String> = text
            .trim_end()
            .lines()
            .map(|line| {
                if line.is_empty() {
                    String::new()
                } else {
                    format!("   {line}")
                }
            })
            .collect();
        self.line(&lines.join("\n"))
    }
}

/// Fails if a claim of the demonstration is false.
pub(super) fn expect(found: usize, wanted: usize, what: &str) -> Result<(), Failure> {
    match found == wanted {
        true => Ok(()),
        false => Err(Failure::failed(format!(
            "the demonstration failed: {found} {what} instead of {wanted}"
        ))
        .hint("this is a bug, please report it")),
    }
}

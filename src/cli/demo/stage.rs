//! What the audience of the demonstration sees.

use std::time::Duration;

use crate::cli::args::Pause;
use crate::cli::failure::Failure;
use crate::model::Color;
use crate::telemetry::Stream;

/// Prints what happens, as it happens, and gives people time to read it.
pub(super) struct Stage {
    color: Color,
    pause: Duration,
}

impl Stage {
    pub(super) fn new(color: Color, pause: Pause) -> Self {
        let pause = match pause {
            Pause::For(pause) => pause,
            Pause::OnTerminal if Stream::Stdout.is_terminal() => Duration::from_millis(1500),
            Pause::OnTerminal => Duration::ZERO,
        };
        Self { color, pause }
    }

    /// Begins a step.
    pub(super) async fn step(&self, number: usize, title: &str) -> Result<(), Failure> {
        if number > 1 {
            tokio::time::sleep(self.pause).await;
        }
        let title = format!("{number}. {title}");
        match self.color {
            Color::Always => self.line(&format!("\n\u{1b}[1;36m{title}\u{1b}[0m")),
            Color::Never => self.line(&format!("\n{title}")),
        }
    }

    /// Says something about what happens.
    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        Stream::Stdout
            .print(&format!("{text}\n"))
            .map_err(Failure::failed)
    }

    /// Shows what the program printed, set in.
    pub(super) fn shown(&self, text: &str) -> Result<(), Failure> {
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

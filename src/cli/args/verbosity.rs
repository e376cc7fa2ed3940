//! The flags `-v` and `-q`.

use clap::{ArgAction, Args};

use crate::config::{Command, LogLevel};

#[derive(Args, Clone, Debug, Default, Eq, PartialEq)]
#[command(next_help_heading = "Output")]
pub(crate) struct Verbosity {
    /// Log more; -vv logs most
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "log_level")]
    pub(crate) verbose: u8,
    /// Log errors only
    #[arg(short, long, conflicts_with_all = ["verbose", "log_level"])]
    pub(crate) quiet: bool,
}

impl Verbosity {
    /// Returns the log level of `command`, given the setting `level`.
    pub(crate) fn level(&self, command: Command, level: Option<LogLevel>) -> Option<LogLevel> {
        // The default of `run` is already one level higher than that of the other commands.
        let usual = u8::from(command == Command::Run);
        match (self.quiet, self.verbose) {
            (true, _) => Some(LogLevel::Error),
            (false, 0) => level,
            (false, more) => Some(match usual + more.min(2) {
                1 => LogLevel::Info,
                2 => LogLevel::Debug,
                _ => LogLevel::Trace,
            }),
        }
    }
}

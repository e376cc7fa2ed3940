//! The output streams of the process, and whether they have color.

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use rustix::termios::tcgetwinsize;

use crate::config::ColorChoice;
use crate::model::Color;

/// An output stream of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stream {
    /// Errors, logs, and progress.
    Stderr,
    Stdout,
}

impl Stream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Stderr => io::stderr().is_terminal(),
            Self::Stdout => io::stdout().is_terminal(),
        }
    }

    /// Returns whether the stream is a terminal that can move its cursor, and no CI job, whose log would keep
    /// every move.
    pub(crate) fn redraws(self) -> bool {
        self.is_terminal() && redraws(|name| std::env::var_os(name))
    }

    /// Returns the width of the terminal, if the stream is one.
    pub(crate) fn columns(self) -> Option<usize> {
        let size = match self {
            Self::Stderr => tcgetwinsize(io::stderr()),
            Self::Stdout => tcgetwinsize(io::stdout()),
        };
        // A terminal that does not know its size has 0.
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Decides whether to use color on this stream, by `choice` and the environment of this process.
    pub(crate) fn color(self, choice: ColorChoice) -> Color {
        let terminal = if self.is_terminal() { Color::Always } else { Color::Never };
        color(choice, terminal, |name| std::env::var_os(name))
    }

    /// Writes `text` and flushes it.
    pub(crate) fn print(self, text: &str) -> io::Result<()> {
        self.print_with(|to| to.write_all(text.as_bytes()))
    }

    /// Calls `write` with a buffered writer, and flushes it.
    pub(crate) fn print_with(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Stderr => print(io::stderr().lock(), write),
            Self::Stdout => print(io::stdout().lock(), write),
        }
    }
}

fn redraws(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
    let is_job = variable("CI").is_some_and(|ci| !ci.is_empty());
    !is_dumb && !is_job
}

/// `terminal` is the default for the stream. An empty variable is the same as none (no-color.org,
/// bixense.com/clicolors).
fn color(choice: ColorChoice, terminal: Color, variable: impl Fn(&str) -> Option<OsString>) -> Color {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => Color::Always,
        ColorChoice::Never => Color::Never,
        ColorChoice::Auto if set("NO_COLOR").is_some() => Color::Never,
        ColorChoice::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => Color::Always,
        // Such a terminal, for example in an editor, prints escape sequences as text.
        ColorChoice::Auto if set("TERM").is_some_and(|value| value == "dumb") => Color::Never,
        ColorChoice::Auto => terminal,
    }
}

fn print(to: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The standard library flushes stdout at every line break, and a plan can have very many lines.
    let mut to = BufWriter::new(to);
    match write(&mut to).and_then(|()| to.flush()) {
        // The reader, such as `head`, has read enough (src/cli/README.md, "Output and errors").
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_redrawn_on_a_dumb_terminal_or_in_a_ci_job() {
        for (set, expected) in [
            (("TERM", "xterm"), true),
            (("TERM", "dumb"), false),
            (("CI", ""), true),
            (("CI", "true"), false),
        ] {
            let variable = |name: &str| (set.0 == name).then(|| set.1.into());
            assert_eq!(redraws(variable), expected, "{set:?}");
        }
    }

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
        let print = |kind| print(Broken(kind), |to| to.write_all(b"x"));
        assert!(print(ErrorKind::BrokenPipe).is_ok());
        assert!(print(ErrorKind::StorageFull).is_err());
    }

    #[test]
    fn an_explicit_choice_overrides_the_variables() {
        use Color::{Always, Never};
        use ColorChoice as Choice;
        for (choice, terminal, variables, expected) in [
            (Choice::Auto, Always, vec![], Always),
            (Choice::Auto, Always, vec![("NO_COLOR", "")], Always),
            (Choice::Auto, Always, vec![("NO_COLOR", "1")], Never),
            (Choice::Auto, Always, vec![("TERM", "dumb")], Never),
            (Choice::Auto, Always, vec![("TERM", "xterm")], Always),
            (Choice::Auto, Never, vec![("TERM", "xterm")], Never),
            (Choice::Auto, Never, vec![("CLICOLOR_FORCE", "1")], Always),
            (Choice::Auto, Never, vec![("CLICOLOR_FORCE", "0")], Never),
            (Choice::Auto, Always, vec![("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], Never),
            (Choice::Always, Never, vec![("NO_COLOR", "1"), ("TERM", "dumb")], Always),
            (Choice::Never, Always, vec![("CLICOLOR_FORCE", "1")], Never),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(color(choice, terminal, variable), expected, "{variables:?}");
        }
    }
}

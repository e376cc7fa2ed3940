//! Writes to stdout and stderr. A closed pipe is not an error, because its reader has read enough.

use std::ffi::OsStr;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use crate::config::ColorChoice;
use crate::model::Color;

/// An output stream of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stream {
    /// Errors, logs, and progress.
    Stderr,
    /// Results.
    Stdout,
}

impl Stream {
    /// Returns whether the stream is a terminal.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stderr => io::stderr().is_terminal(),
            Self::Stdout => io::stdout().is_terminal(),
        }
    }

    /// Decides whether to use color on this stream, by `choice` and the environment of this process.
    #[must_use]
    pub fn color(self, choice: ColorChoice) -> Color {
        let terminal = match self.is_terminal() {
            true => Color::Always,
            false => Color::Never,
        };
        color(choice, terminal, std::env::var_os("NO_COLOR").as_deref())
    }

    /// Writes `text` and flushes it.
    ///
    /// # Errors
    /// If the write fails, except for a closed pipe.
    pub fn print(self, text: &str) -> io::Result<()> {
        self.print_with(|to| to.write_all(text.as_bytes()))
    }

    /// Calls `write` with a buffered writer, and flushes it.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub fn print_with(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Stderr => print(io::stderr().lock(), write),
            Self::Stdout => print(io::stdout().lock(), write),
        }
    }
}

/// `terminal` is the default for the stream. NO_COLOR applies if it is not empty (no-color.org).
fn color(choice: ColorChoice, terminal: Color, no_color: Option<&OsStr>) -> Color {
    match choice {
        ColorChoice::Always => Color::Always,
        ColorChoice::Never => Color::Never,
        ColorChoice::Auto if no_color.is_some_and(|value| !value.is_empty()) => Color::Never,
        ColorChoice::Auto => terminal,
    }
}

fn print(to: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The standard library flushes stdout at every line break, and a plan can have very many lines.
    let mut to = BufWriter::new(to);
    match write(&mut to).and_then(|()| to.flush()) {
        // The reader, such as `head`, has read enough (DESIGN, section 3).
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_explicit_choice_overrides_no_color() {
        let set = Some(OsStr::new("1"));
        let empty = Some(OsStr::new(""));
        for (choice, terminal, no_color, expected) in [
            (ColorChoice::Auto, Color::Always, None, Color::Always),
            (ColorChoice::Auto, Color::Always, empty, Color::Always),
            (ColorChoice::Auto, Color::Always, set, Color::Never),
            (ColorChoice::Auto, Color::Never, None, Color::Never),
            (ColorChoice::Always, Color::Never, set, Color::Always),
            (ColorChoice::Never, Color::Always, None, Color::Never),
        ] {
            assert_eq!(color(choice, terminal, no_color), expected);
        }
    }
}

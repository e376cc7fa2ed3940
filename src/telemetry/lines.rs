//! Formats each event as one escaped line that begins with the time or a brace.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::{fmt, io};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::config::{ColorChoice, LogFormat};
use crate::model::{Color, chain, escaped, harmless_json};

pub(super) struct Lines {
    pub(super) format: LogFormat,
    pub(super) color: Color,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope().into_iter().flatten() {
            if let Some(of_span) = span.extensions().get::<Fields>() {
                fields.others.extend(of_span.others.iter().cloned());
            }
        }
        let line = match self.format {
            LogFormat::Json => json(event.metadata(), fields),
            LogFormat::Pretty => pretty(event.metadata(), &fields, self.color),
        };
        writeln!(writer, "{line}")
    }
}

/// Records the fields of a span, such as the id of a pass, for the lines within it.
pub(super) struct SpanFields;

impl<S> Layer<S> for SpanFields
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }
}

/// The message of an event and its other fields, in order.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn take(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}").into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.take(field, chain(value).into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.take(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value.into());
    }
}

fn pretty(metadata: &Metadata<'_>, fields: &Fields, color: Color) -> String {
    let mut line =
        format!("{:.0} {} {}", jiff::Timestamp::now(), level(metadata, color), escaped(&fields.message));
    for (name, value) in &fields.others {
        let _ = match value {
            Value::String(text) if text.is_empty() || text.contains([' ', '"', '=']) => {
                // A quote within the value would look like its end.
                write!(line, " {name}=\"{}\"", escaped(&text.replace('"', "'")))
            }
            Value::String(text) => write!(line, " {name}={}", escaped(text)),
            value => write!(line, " {name}={value}"),
        };
    }
    line
}

fn level(metadata: &Metadata<'_>, color: Color) -> String {
    let level = metadata.level();
    let code = match *level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        _ => 2,
    };
    match color {
        Color::Always => format!("\u{1b}[{code}m{level:>5}\u{1b}[0m"),
        Color::Never => format!("{level:>5}"),
    }
}

fn json(metadata: &Metadata<'_>, fields: Fields) -> String {
    let mut object = serde_json::Map::new();
    // Our members come last, so that they replace a field with the same name.
    object.extend(fields.others.into_iter().map(|(name, value)| (name.to_owned(), value)));
    object.insert("timestamp".to_owned(), format!("{:.3}", jiff::Timestamp::now()).into());
    object.insert("level".to_owned(), metadata.level().as_str().to_lowercase().into());
    if let Some(name) = event_name(metadata) {
        object.insert("event".to_owned(), name.into());
    }
    object.insert("message".to_owned(), fields.message.into());
    harmless_json(&Value::Object(object).to_string()).to_string()
}

/// Returns the explicit name of an event, if any.
fn event_name(metadata: &Metadata<'_>) -> Option<&'static str> {
    // The default name is a position in the source code, which is not an interface.
    Some(metadata.name()).filter(|name| !name.starts_with("event "))
}

/// An output stream of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stream {
    /// Errors, logs, and progress.
    Stderr,
    /// Results.
    Stdout,
}

impl Stream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Stderr => io::stderr().is_terminal(),
            Self::Stdout => io::stdout().is_terminal(),
        }
    }

    /// Returns whether the stream is a terminal that can move its cursor, and no CI job, whose log would keep every move.
    pub(crate) fn redraws(self) -> bool {
        self.is_terminal() && redraws(|name| std::env::var_os(name))
    }

    /// Decides whether to use color on this stream, by `choice` and the environment of this process.
    pub(crate) fn color(self, choice: ColorChoice) -> Color {
        let terminal = if self.is_terminal() { Color::Always } else { Color::Never };
        color(choice, terminal, |name| std::env::var_os(name))
    }

    /// Writes `text` and flushes it.
    ///
    /// # Errors
    /// If the write fails, except for a closed pipe.
    pub(crate) fn print(self, text: &str) -> io::Result<()> {
        self.print_with(|to| to.write_all(text.as_bytes()))
    }

    /// Calls `write` with a buffered writer, and flushes it.
    ///
    /// # Errors
    /// As [`Self::print`].
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

/// `terminal` is the default for the stream. An empty variable counts as unset (no-color.org, bixense.com/clicolors).
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
        // The reader, such as `head`, has read enough (DESIGN, section 3).
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

//! Logs events to stderr, one line each.
//!
//! Invariant: a line begins with the time or a brace, never with text from elsewhere, and all values are escaped. The HTTP
//! and TLS crates log only warnings and errors, whatever `-vv` and RUST_LOG select, because their other events contain
//! headers.

mod levels;
mod lines;

use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::{ColorChoice, Command, LogFormat, LogLevel};
use crate::model::Color;
use levels::Levels;
use lines::{Lines, SpanFields};

pub use levels::ANNOUNCEMENT;
pub use lines::Stream;

/// Starts to log to stderr. Explicit settings override RUST_LOG. A second call has no effect.
pub fn start(command: Command, format: Option<LogFormat>, level: Option<LogLevel>, color: ColorChoice) {
    let usual = match (command, Stream::Stderr.is_terminal()) {
        // DESIGN, section 3: only the log of a daemon without a terminal is read by a machine.
        (Command::Run, false) => LogFormat::Json,
        _ => LogFormat::Pretty,
    };
    let lines = Lines {
        format: format.unwrap_or(usual),
        color: Stream::Stderr.color(color),
    };
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let levels = Levels::new(command, level, &rust_log);
    // Fails if a subscriber exists, such as that of a test, which then stays.
    let _ = tracing::subscriber::set_global_default(subscriber(lines, levels, std::io::stderr));
}

/// Returns a subscriber that logs to `writer`.
fn subscriber<W>(lines: Lines, levels: Levels, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(lines.color == Color::Always && lines.format == LogFormat::Pretty)
        // An error of the writer, such as a closed stderr, cannot be printed anywhere.
        .log_internal_errors(false)
        .event_format(lines);
    Registry::default().with(SpanFields.and_then(lines).with_filter(levels.into_filter()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use crate::model::escaped;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, log: impl FnOnce()) -> String {
        let memory = Memory::default();
        let writer = memory.clone();
        let lines = Lines {
            format,
            color: Color::Never,
        };
        let levels = Levels::new(Command::Run, None, "");
        let subscriber = subscriber(lines, levels, move || writer.clone());
        tracing::subscriber::with_default(subscriber, log);
        let bytes = memory.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    const FOREIGN: &str = "x\n::error::gotcha\u{1b}[2J\u{202e}\u{9b}\u{e0001}\"";

    #[test]
    fn foreign_text_neither_starts_a_line_nor_moves_the_cursor() {
        for format in [LogFormat::Pretty, LogFormat::Json] {
            let error = std::io::Error::other(FOREIGN);
            let text = logged(format, || {
                tracing::warn!(foreign = FOREIGN, debugged = ?FOREIGN, shown = %FOREIGN, error = &error as &dyn std::error::Error, "held {FOREIGN}");
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            let line = text.strip_suffix('\n').unwrap();
            assert_eq!(escaped(line).to_string(), line);
            assert!(line.starts_with(['2', '{']), "{line}");
        }
    }

    #[test]
    fn a_json_line_keeps_the_values_as_they_were() {
        let text = logged(LogFormat::Json, || {
            tracing::info!(name: "published", n = 3, ok = true, foreign = FOREIGN, "published");
        });
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["foreign"], FOREIGN);
        assert_eq!((&value["n"], &value["ok"]), (&3.into(), &true.into()));
        assert_eq!(
            (&value["level"], &value["message"]),
            (&"info".into(), &"published".into())
        );
        assert_eq!(value["event"], "published");
        assert_eq!(value["target"], Value::Null, "module paths are not an interface");
    }

    #[test]
    fn a_line_without_a_name_has_no_event() {
        let text = logged(LogFormat::Json, || tracing::info!("noticed"));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["event"], Value::Null);
    }

    #[test]
    fn the_lines_of_a_pass_share_its_id() {
        for (format, pass) in [
            (LogFormat::Json, r#""pass":"1f3a""#),
            (LogFormat::Pretty, " toggle=a/b/c pass=1f3a\n"),
        ] {
            let text = logged(format, || {
                tracing::error_span!("pass", pass = "1f3a")
                    .in_scope(|| tracing::info!(toggle = "a/b/c", "published"));
                tracing::info!("stopped");
            });
            assert!(text.contains(pass), "{text}");
            assert_eq!(text.matches("1f3a").count(), 1, "{text}");
        }
    }

    #[test]
    fn a_pretty_line_is_time_level_message_fields() {
        let text = logged(LogFormat::Pretty, || {
            tracing::info!(toggle = "a/b/c", reason = "too many", "held");
        });
        let (time, rest) = text.split_once(' ').unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
        assert_eq!(rest, " INFO held toggle=a/b/c reason=\"too many\"\n");
    }
}

//! Logs: what happened, on stderr, in a form that nothing in it can break.
//!
//! A line begins with the time or a brace, never with text from elsewhere, and everything that was logged is
//! escaped. The crates that speak HTTP and TLS are never logged below warnings, because they print headers:
//! neither `-vv` nor RUST_LOG changes that.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::config::{ColorChoice, Command, LogFormat, LogLevel};
use crate::model::escaped;

mod stream;

pub use stream::{Colour, Stream};

/// How to log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Logging {
    /// The form of a line.
    pub format: LogFormat,
    /// Whether levels are coloured; only in the pretty form.
    pub colour: Colour,
    /// What is logged of gitoggle itself.
    pub levels: Levels,
}

impl Logging {
    /// Decides how `command` logs on the stderr of this process. What is set wins over RUST_LOG.
    #[must_use]
    pub fn of(
        command: Command,
        format: Option<LogFormat>,
        level: Option<LogLevel>,
        colour: ColorChoice,
    ) -> Self {
        let usual = match (command, Stream::Stderr.is_terminal()) {
            (Command::Run, false) => LogFormat::Json,
            _ => LogFormat::Pretty,
        };
        let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
        Self {
            format: format.unwrap_or(usual),
            colour: Stream::Stderr.colour(colour),
            levels: Levels::new(command, level, &rust_log),
        }
    }
}

/// What is logged of which part of gitoggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Levels {
    usual: LevelFilter,
    /// By target, such as `gitoggle::source`.
    parts: BTreeMap<String, LevelFilter>,
}

/// The target of what is said before the first request, at whatever level one logs: where it goes, and from where.
pub const ANNOUNCEMENT: &str = "gitoggle::announcement";

/// The name that all targets of ours begin with.
const OURS: &str = "gitoggle";

impl Levels {
    /// `level` is what was set; without it, `rust_log` (as in `debug,gitoggle::source=trace`) counts as far as it
    /// is about gitoggle, and then the command's usual level.
    #[must_use]
    pub fn new(command: Command, level: Option<LogLevel>, rust_log: &str) -> Self {
        let usual = match command {
            Command::Run => LevelFilter::INFO,
            _ => LevelFilter::WARN,
        };
        let mut levels = Self {
            usual: level.map_or(usual, filter),
            parts: BTreeMap::new(),
        };
        if level.is_none() {
            rust_log
                .split(',')
                .for_each(|directive| levels.take(directive.trim()));
        }
        levels
    }

    fn take(&mut self, directive: &str) {
        let (target, level) = directive.split_once('=').unwrap_or((OURS, directive));
        // The empty text is a level to `LevelFilter`.
        let Some(level) = (!level.is_empty())
            .then(|| level.parse::<LevelFilter>().ok())
            .flatten()
        else {
            return;
        };
        match target == OURS {
            true => self.usual = level,
            false if is_ours(target) => {
                self.parts.insert(target.to_owned(), level);
            }
            false => {}
        }
    }

    /// Returns whether something of `level` from `target` is logged.
    #[must_use]
    pub fn enables(&self, target: &str, level: &Level) -> bool {
        let part = self.parts.iter().rfind(|(part, _)| is_under(target, part));
        let allowed = part.map_or(self.usual, |(_, level)| *level);
        match is_ours(target) {
            true => *level <= allowed || target == ANNOUNCEMENT,
            false => *level <= self.usual.min(LevelFilter::WARN),
        }
    }

    fn into_filter(self) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
        filter_fn(move |metadata| self.enables(metadata.target(), metadata.level()))
    }
}

fn is_ours(target: &str) -> bool {
    is_under(target, OURS)
}

fn is_under(target: &str, part: &str) -> bool {
    target
        .strip_prefix(part)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Starts logging to stderr for the rest of the process; a second call changes nothing.
pub fn start(logging: Logging) {
    // Whoever was first, a test's own subscriber for instance, stays.
    let _ = tracing::subscriber::set_global_default(subscriber(logging, std::io::stderr));
}

/// Returns what logs to `writer`.
pub fn subscriber<W>(logging: Logging, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let Logging {
        format,
        colour,
        levels,
    } = logging;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(colour == Colour::Always && format == LogFormat::Pretty)
        // An error of the writer, a closed stderr, must not be printed: there is nowhere to.
        .log_internal_errors(false)
        .event_format(Lines { format, colour });
    Registry::default().with(lines.with_filter(levels.into_filter()))
}

/// Writes one event as one line.
struct Lines {
    format: LogFormat,
    colour: Colour,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = match self.format {
            LogFormat::Json => json(event.metadata(), fields),
            LogFormat::Pretty => pretty(event.metadata(), &fields, self.colour),
        };
        writeln!(writer, "{line}")
    }
}

/// The message of an event and its other fields, in the order in which they were written.
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
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        self.take(field, text.into());
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

fn pretty(metadata: &Metadata<'_>, fields: &Fields, colour: Colour) -> String {
    let mut line = format!(
        "{:.0} {} {}",
        jiff::Timestamp::now(),
        level(metadata, colour),
        escaped(&fields.message)
    );
    for (name, value) in &fields.others {
        let _ = match value {
            Value::String(text) if text.is_empty() || text.contains([' ', '"', '=']) => {
                write!(line, " {name}=\"{}\"", escaped(&text.replace('"', "'")))
            }
            Value::String(text) => write!(line, " {name}={}", escaped(text)),
            value => write!(line, " {name}={value}"),
        };
    }
    line
}

fn level(metadata: &Metadata<'_>, colour: Colour) -> String {
    let level = metadata.level();
    let code = match *level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        _ => 2,
    };
    match colour {
        Colour::Always => format!("\u{1b}[{code}m{level:>5}\u{1b}[0m"),
        Colour::Never => format!("{level:>5}"),
    }
}

fn json(metadata: &Metadata<'_>, fields: Fields) -> String {
    let mut object = serde_json::Map::new();
    // What is ours comes last and wins over a field of that name.
    object.extend(
        fields
            .others
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    object.insert(
        "timestamp".to_owned(),
        format!("{:.3}", jiff::Timestamp::now()).into(),
    );
    object.insert(
        "level".to_owned(),
        metadata.level().as_str().to_lowercase().into(),
    );
    object.insert("target".to_owned(), metadata.target().into());
    object.insert("message".to_owned(), fields.message.into());
    harmless(&Value::Object(object).to_string())
}

/// Escapes, in JSON's own way, what JSON allows and a terminal does not: the values stay what they were.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        let mut buffer = [0; 4];
        let same: &str = c.encode_utf8(&mut buffer);
        match c == ' ' || c.is_ascii_graphic() || escaped(same).to_string() == same {
            true => text.push(c),
            false => c.encode_utf16(&mut units).iter().for_each(|unit| {
                let _ = write!(text, "\\u{unit:04x}");
            }),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

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
        let logging = Logging {
            format,
            colour: Colour::Never,
            levels: Levels::new(Command::Run, None, ""),
        };
        let subscriber = subscriber(logging, move || writer.clone());
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
            tracing::info!(n = 3, ok = true, foreign = FOREIGN, "published");
        });
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["foreign"], FOREIGN);
        assert_eq!((&value["n"], &value["ok"]), (&3.into(), &true.into()));
        assert_eq!(
            (&value["level"], &value["message"]),
            (&"info".into(), &"published".into())
        );
        assert_eq!(value["target"], "gitoggle::telemetry::tests");
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

    #[test]
    fn rust_log_is_about_gitoggle_and_nothing_else() {
        let levels = |rust_log| Levels::new(Command::Run, None, rust_log);
        let crates = [
            "hyper::proto",
            "rustls",
            "h2::codec",
            "reqwest::connect",
            "axum",
            "gitoggle_like",
        ];
        for rust_log in [
            "trace",
            "hyper=trace,rustls=trace,h2=trace",
            "gitoggle=trace",
            "off,trace",
        ] {
            for target in crates {
                assert!(
                    !levels(rust_log).enables(target, &Level::INFO),
                    "{rust_log} {target}"
                );
            }
        }
        for (rust_log, target, level, enabled) in [
            ("", "gitoggle", Level::INFO, true),
            ("", "gitoggle", Level::DEBUG, false),
            ("", "hyper", Level::WARN, true),
            ("debug", "gitoggle::source", Level::DEBUG, true),
            (
                "gitoggle::source=trace",
                "gitoggle::source::mirror",
                Level::TRACE,
                true,
            ),
            (
                "gitoggle::source=trace",
                "gitoggle::sourcery",
                Level::TRACE,
                false,
            ),
            (
                "gitoggle::a=off,gitoggle::a::b=info",
                "gitoggle::a::b",
                Level::INFO,
                true,
            ),
            ("gitoggle::a=off", "gitoggle::a", Level::ERROR, false),
            ("nonsense=,=,", "gitoggle", Level::INFO, true),
            ("error", "hyper", Level::WARN, false),
        ] {
            assert_eq!(
                levels(rust_log).enables(target, &level),
                enabled,
                "{rust_log} {target} {level}"
            );
        }
        let set = Levels::new(Command::Run, Some(LogLevel::Error), "trace");
        assert!(!set.enables("gitoggle", &Level::WARN));
        assert!(!Levels::new(Command::Plan, None, "").enables("gitoggle", &Level::INFO));
    }
}

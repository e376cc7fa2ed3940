#![doc = include_str!("README.md")]

mod stream;

pub(crate) use stream::Stream;

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::config::{ColorChoice, Command, LogFormat, LogLevel};
use crate::model::{Color, chain, escaped, harmless_json};

/// Starts to log to stderr. Explicit settings override RUST_LOG. A second call has no effect.
pub(crate) fn start(
    command: Command,
    format: Option<LogFormat>,
    level: Option<LogLevel>,
    color: ColorChoice,
) {
    let usual = match (command, Stream::Stderr.is_terminal()) {
        // Only the log of a daemon without a terminal is read by a machine.
        (Command::Run, false) => LogFormat::Json,
        _ => LogFormat::Pretty,
    };
    let lines = Lines { format: format.unwrap_or(usual), color: Stream::Stderr.color(color) };
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let levels = Levels::new(command, level, &rust_log);
    // Fails if a subscriber exists, such as that of a test, which then stays.
    let _ = tracing::subscriber::set_global_default(subscriber(lines, levels, io::stderr));
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

/// The log levels of the parts of gitoggle.
struct Levels {
    usual: LevelFilter,
    /// By target, such as `gitoggle::source`.
    parts: BTreeMap<String, LevelFilter>,
}

/// The target of the events before the first request, which are logged at every level: the service and the
/// source.
pub(crate) const ANNOUNCEMENT: &str = "gitoggle::announcement";

/// The prefix of gitoggle's own targets.
const OURS: &str = "gitoggle";

impl Levels {
    /// Returns the levels for `level`, if set. Otherwise applies the directives for gitoggle in `rust_log`
    /// (such as `debug,gitoggle::source=trace`) to the command's default level.
    fn new(command: Command, level: Option<LogLevel>, rust_log: &str) -> Self {
        let usual = match command {
            Command::Run => LevelFilter::INFO,
            _ => LevelFilter::WARN,
        };
        let mut levels = Self { usual: level.map_or(usual, filter), parts: BTreeMap::new() };
        if level.is_none() {
            rust_log.split(',').for_each(|directive| levels.take(directive.trim()));
        }
        levels
    }

    fn take(&mut self, directive: &str) {
        let (target, level) = directive.split_once('=').unwrap_or((OURS, directive));
        // `LevelFilter` parses an empty text as a level.
        let Some(level) = (!level.is_empty()).then(|| level.parse::<LevelFilter>().ok()).flatten() else {
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

    /// Returns whether events of `level` from `target` are logged.
    fn enables(&self, target: &str, level: &Level) -> bool {
        // The map is sorted, so the last match is the longest, which is the most specific part.
        let part = self.parts.iter().rfind(|(part, _)| is_under(target, part));
        let allowed = part.map_or(self.usual, |(_, level)| *level);
        match is_ours(target) {
            // The host, the ref and the revision are shown before the first request (src/cli/README.md,
            // "Commands that publish").
            true => *level <= allowed || target == ANNOUNCEMENT,
            // The other events of the HTTP and TLS crates contain headers, and with them the token.
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
    // `gitoggle_like` is another crate, so a common prefix is not enough.
    target.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn filter(level: LogLevel) -> LevelFilter {
    let level = level.as_str().parse();
    level.expect("our names of levels are those of the library")
}

/// Formats each event as one escaped line that begins with the time or a brace.
struct Lines {
    format: LogFormat,
    color: Color,
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
struct SpanFields;

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
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, log: impl FnOnce()) -> String {
        let memory = Memory::default();
        let writer = memory.clone();
        let lines = Lines { format, color: Color::Never };
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
            let error = io::Error::other(FOREIGN);
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
        assert_eq!((&value["level"], &value["message"]), (&"info".into(), &"published".into()));
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
        for (format, pass) in
            [(LogFormat::Json, r#""pass":"1f3a""#), (LogFormat::Pretty, " toggle=a/b/c pass=1f3a\n")]
        {
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

    #[test]
    fn rust_log_applies_only_to_gitoggle() {
        let levels = |rust_log| Levels::new(Command::Run, None, rust_log);
        let crates = ["hyper::proto", "rustls", "h2::codec", "reqwest::connect", "axum", "gitoggle_like"];
        for rust_log in ["trace", "hyper=trace,rustls=trace,h2=trace", "gitoggle=trace", "off,trace"] {
            for target in crates {
                assert!(!levels(rust_log).enables(target, &Level::INFO), "{rust_log} {target}");
            }
        }
        for (rust_log, target, level, enabled) in [
            ("", "gitoggle", Level::INFO, true),
            ("", "gitoggle", Level::DEBUG, false),
            ("", "hyper", Level::WARN, true),
            ("debug", "gitoggle::source", Level::DEBUG, true),
            ("gitoggle::source=trace", "gitoggle::source::mirror", Level::TRACE, true),
            ("gitoggle::source=trace", "gitoggle::sourcery", Level::TRACE, false),
            ("gitoggle::a=off,gitoggle::a::b=info", "gitoggle::a::b", Level::INFO, true),
            ("gitoggle::a=off", "gitoggle::a", Level::ERROR, false),
            ("nonsense=,=,", "gitoggle", Level::INFO, true),
            ("error", "hyper", Level::WARN, false),
        ] {
            assert_eq!(levels(rust_log).enables(target, &level), enabled, "{rust_log} {target} {level}");
        }
        let set = Levels::new(Command::Run, Some(LogLevel::Error), "trace");
        assert!(!set.enables("gitoggle", &Level::WARN));
        assert!(!Levels::new(Command::Plan, None, "").enables("gitoggle", &Level::INFO));
    }
}

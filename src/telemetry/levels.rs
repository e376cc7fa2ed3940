//! Decides which events are logged. RUST_LOG applies only to gitoggle.

use std::collections::BTreeMap;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};

use crate::config::{Command, LogLevel};

/// The log levels of the parts of gitoggle.
pub(super) struct Levels {
    usual: LevelFilter,
    /// By target, such as `gitoggle::source`.
    parts: BTreeMap<String, LevelFilter>,
}

/// The target of the events before the first request, which are logged at every level: the service and the source.
pub const ANNOUNCEMENT: &str = "gitoggle::announcement";

/// The prefix of gitoggle's own targets.
const OURS: &str = "gitoggle";

impl Levels {
    /// Returns the levels for `level`, if set. Otherwise applies the directives for gitoggle in `rust_log` (such as
    /// `debug,gitoggle::source=trace`) to the command's default level.
    pub(super) fn new(command: Command, level: Option<LogLevel>, rust_log: &str) -> Self {
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
        // `LevelFilter` parses an empty text as a level.
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

    /// Returns whether events of `level` from `target` are logged.
    fn enables(&self, target: &str, level: &Level) -> bool {
        // The map is sorted, so the last match is the longest, which is the most specific part.
        let part = self.parts.iter().rfind(|(part, _)| is_under(target, part));
        let allowed = part.map_or(self.usual, |(_, level)| *level);
        match is_ours(target) {
            // The host, the ref and the revision are shown before the first request (DESIGN, section 3).
            true => *level <= allowed || target == ANNOUNCEMENT,
            // The other events of the HTTP and TLS crates contain headers, and with them the token.
            false => *level <= self.usual.min(LevelFilter::WARN),
        }
    }

    pub(super) fn into_filter(self) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
        filter_fn(move |metadata| self.enables(metadata.target(), metadata.level()))
    }
}

fn is_ours(target: &str) -> bool {
    is_under(target, OURS)
}

fn is_under(target: &str, part: &str) -> bool {
    // `gitoggle_like` is another crate, so a common prefix is not enough.
    target
        .strip_prefix(part)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn filter(level: LogLevel) -> LevelFilter {
    let level = level.as_str().parse();
    level.expect("our names of levels are those of the library")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_log_applies_only_to_gitoggle() {
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

//! How a run ends: exit codes, and errors as people read them.

use std::error::Error;
use std::fmt;

use serde::Serialize;

use crate::config::ConfigErrors;
use crate::model::escaped;

/// How a run ended, weakest first. Of several that hold, the last one counts.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// Done and clean.
    #[default]
    Clean,
    /// `plan --detailed-exitcode`: there are changes.
    Changes,
    /// At least one document is invalid.
    Invalid,
    /// Something is held.
    Held,
    /// It ran and failed, or was interrupted with work left.
    Failed,
    /// Nothing ran: an unknown flag, or a missing or malformed setting.
    Usage,
}

impl Verdict {
    /// Returns the exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Changes => 2,
            Self::Invalid => 3,
            Self::Held => 4,
            Self::Failed => 1,
            Self::Usage => 64,
        }
    }

    /// Returns the one of the two that counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Why a command could not do what it was asked: the verdict, the error with its causes, and what to do now.
///
/// `Display` is the whole message, with a newline at its end.
#[derive(Debug)]
pub struct Failure {
    verdict: Verdict,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl Failure {
    /// It ran and failed.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Failed, error)
    }

    /// It ended in `verdict` because of `error`.
    pub fn new(verdict: Verdict, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            verdict,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// Adds what to do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the error as JSON, for a command whose result would have been JSON.
    pub(super) fn json(&self) -> JsonFailure {
        JsonFailure {
            version: 1,
            error: self.json_error(),
        }
    }

    /// Returns the error as a field of a JSON result.
    pub(super) fn json_error(&self) -> JsonError {
        JsonError::new(self.error.as_ref(), self.hints.first().cloned())
    }

    /// Replaces the verdict.
    #[must_use]
    pub fn with(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// Returns the verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// The JSON of a command that failed.
#[derive(Debug, Serialize)]
pub(super) struct JsonFailure {
    version: u32,
    error: JsonError,
}

/// An error as a field of a JSON result.
#[derive(Debug, Serialize)]
pub(super) struct JsonError {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl JsonError {
    pub(super) fn new(error: &(dyn Error + 'static), hint: Option<String>) -> Self {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        Self {
            message: error.to_string(),
            causes: causes.map(ToString::to_string).collect(),
            hint,
        }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(mistakes: ConfigErrors) -> Self {
        Self::new(Verdict::Usage, mistakes)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", Lines(&self.error.to_string()))?;
        let mut said = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat their cause in their own text.
            if !said.ends_with(&text) {
                writeln!(f, "  caused by: {}", Lines(&text))?;
            }
            said = text;
            cause = error.source();
        }
        self.hints
            .iter()
            .try_for_each(|hint| writeln!(f, "hint: {}", Lines(hint)))
    }
}

/// Text whose later lines are set in, so that none of them can be taken for a command of a CI system, and
/// whose other control characters are shown.
struct Lines<'a>(&'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.0.split('\n');
        write!(f, "{}", escaped(lines.next().unwrap_or_default()))?;
        lines.try_for_each(|line| write!(f, "\n  {}", escaped(&guarded(line))))
    }
}

/// CI systems read `::` and `##[` at the start of a line even when it is set in.
fn guarded(line: &str) -> String {
    let line = line.trim();
    match line.starts_with("::") || line.starts_with("##") {
        true => format!("| {line}"),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot publish `web/production/checkout`")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("the service refused the token (403)\n::error::gotcha\u{1b}[2J")]
    struct Inner;

    #[test]
    fn a_failure_shows_its_causes_and_what_to_do_and_no_line_is_foreign() {
        let failure = Failure::failed(Outer(Inner)).hint("the file is read again at every pass");
        let expected = "error: cannot publish `web/production/checkout`\n  \
             caused by: the service refused the token (403)\n  \
             | ::error::gotcha\\u{1b}[2J\n\
             hint: the file is read again at every pass\n";
        assert_eq!(failure.to_string(), expected);
        assert_eq!(failure.verdict().code(), 1);
    }

    #[test]
    fn of_several_verdicts_one_wins_over_four_over_three_over_two() {
        use Verdict::{Changes, Clean, Failed, Held, Invalid};
        for (verdicts, code) in [
            (vec![], 0),
            (vec![Clean, Changes], 2),
            (vec![Invalid, Changes], 3),
            (vec![Invalid, Held, Changes], 4),
            (vec![Failed, Held, Invalid, Changes, Clean], 1),
        ] {
            let all = verdicts.into_iter().fold(Verdict::default(), Verdict::and);
            assert_eq!(all.code(), code);
        }
        assert_eq!(Verdict::Usage.code(), 64);
    }
}

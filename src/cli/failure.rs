//! Exit codes, and how errors are printed.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::authoring::AuthoringError;
use crate::config::ConfigErrors;
use crate::model::{EnvironmentId, escaped, hinted, plain};
use crate::pass;
use crate::transport::NetworkError;

/// The result of a command. If several apply, the last one in this order wins.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum ExitStatus {
    /// Success.
    #[default]
    Clean,
    /// `plan --detailed-exitcode`: there are changes.
    Changes,
    /// At least one document is invalid.
    Invalid,
    /// At least one change is held.
    Held,
    /// The command failed, or was interrupted before its work was complete.
    Failed,
    /// The command did not run: an unknown flag, or a missing or malformed setting.
    Usage,
}

impl ExitStatus {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Changes => 2,
            Self::Invalid => 3,
            Self::Held => 4,
            Self::Failed => 1,
            Self::Usage => 64,
        }
    }

    /// Returns this status if it applies, and success otherwise.
    pub(super) fn when(self, applies: bool) -> Self {
        if applies { self } else { Self::Clean }
    }

    pub(super) fn and(self, other: Self) -> Self {
        // The variants are in the order of precedence (src/cli/README.md, "Exit codes"), which is not the
        // order of the codes.
        self.max(other)
    }
}

/// A failed command: its exit status, the error with its causes, and a hint.
///
/// `Display` prints the whole message, with a trailing newline.
#[derive(Debug)]
pub(super) struct Failure {
    status: ExitStatus,
    error: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
}

impl Failure {
    pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ExitStatus::Failed, error)
    }

    pub(super) fn new(status: ExitStatus, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { status, error: error.into(), hint: None }
    }

    /// Fails because of the error of an attempt: a verb with its object, such as ``create `a` ``.
    pub(super) fn could_not<E>(attempt: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let attempt = attempt.into();
        move |source| {
            let source = source.into();
            Self::failed(FailedAttempt { attempt, source })
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        self.maybe_hint(Some(hint))
    }

    pub(super) fn maybe_hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(|hint| hinted(&hint.into()).into_owned());
        self
    }

    pub(super) fn json(&self) -> JsonFailure {
        JsonFailure { version: 1, error: self.json_error() }
    }

    pub(super) fn json_error(&self) -> JsonError {
        JsonError::new(self.error.as_ref(), self.hint.clone())
    }

    /// Returns whether a pass refused its revision because another one was applied.
    pub(super) fn is_stale(&self) -> bool {
        let error = self.error.downcast_ref::<Arc<pass::Error>>();
        error.is_some_and(|error| error.refused_revision().is_some())
    }

    pub(super) fn with(mut self, status: ExitStatus) -> Self {
        self.status = status;
        self
    }

    pub(super) fn status(&self) -> ExitStatus {
        self.status
    }
}

#[derive(Debug, thiserror::Error)]
#[error("could not {attempt}")]
struct FailedAttempt {
    attempt: String,
    source: Box<dyn Error + Send + Sync>,
}

#[derive(Debug, Serialize)]
pub(super) struct JsonFailure {
    version: u32,
    error: JsonError,
}

#[derive(Debug, Serialize)]
pub(super) struct JsonError {
    pub(super) message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl JsonError {
    pub(super) fn new(error: &(dyn Error + 'static), hint: Option<String>) -> Self {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        Self {
            message: plain(&error.to_string()),
            causes: causes.map(|cause| plain(&cause.to_string())).collect(),
            hint,
        }
    }
}

impl From<pass::Error> for Failure {
    fn from(error: pass::Error) -> Self {
        Self::of(&Arc::new(error))
    }
}

impl Failure {
    /// Converts the error that prevented or ended a pass.
    pub(super) fn of(error: &Arc<pass::Error>) -> Self {
        let status = if error.is_hold() { ExitStatus::Held } else { ExitStatus::Failed };
        Self::new(status, Arc::clone(error)).maybe_hint(error.hint())
    }
}

impl From<NetworkError> for Failure {
    fn from(error: NetworkError) -> Self {
        let (is_setting, hint) = (error.is_bad_ca_file(), error.hint());
        let status = if is_setting { ExitStatus::Usage } else { ExitStatus::Failed };
        Self::new(status, error).maybe_hint(hint)
    }
}

impl From<ConfigErrors> for Failure {
    fn from(mistakes: ConfigErrors) -> Self {
        Self::new(ExitStatus::Usage, mistakes)
    }
}

/// Returns the question whether `similar` is the environment that `id` stands for.
fn meant(id: &EnvironmentId, similar: &EnvironmentId) -> String {
    let is_swapped = id.project.as_str() == similar.environment.as_str() && id.project != similar.project;
    let order = if is_swapped { " the order is project/environment" } else { "" };
    format!("did you mean `{similar}`?{order}")
}

impl From<AuthoringError> for Failure {
    fn from(error: AuthoringError) -> Self {
        match &error {
            AuthoringError::NewEnvironment(id, similar) => {
                let meant = similar.as_ref().map(|similar| format!("{} ", meant(id, similar)));
                let hint = meant.unwrap_or_default() + "to create it, add `--create`";
                Self::new(ExitStatus::Usage, error).hint(hint)
            }
            AuthoringError::NoDocuments(id, similar) => {
                let meant = similar.as_ref().map(|similar| meant(id, similar));
                let hint = || "check the name of the environment, `--root` and `--layout`".to_owned();
                Self::failed(error).hint(meant.unwrap_or_else(hint))
            }
            AuthoringError::Source(_) | AuthoringError::WorkTree(_) => Self::failed(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = plain(&hinted(&self.error.to_string()));
        writeln!(f, "error: {}", Indented(&printed))?;
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let text = plain(&error.to_string());
            // Some libraries include the cause in their own text.
            if !printed.ends_with(&text) {
                writeln!(f, "  caused by: {}", Indented(&text))?;
            }
            printed = text;
            cause = error.source();
        }
        match &self.hint {
            Some(hint) => writeln!(f, "hint: {}", Indented(hint)),
            None => Ok(()),
        }
    }
}

/// Text with its later lines indented, so that a CI system does not read them as commands, and with other
/// control characters escaped.
struct Indented<'a>(&'a str);

impl fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.0.split('\n');
        write!(f, "{}", escaped(lines.next().unwrap_or_default()))?;
        lines.try_for_each(|line| write!(f, "\n  {}", escaped(&guarded(line))))
    }
}

/// Prefixes a line that begins with `::`, which CI systems read as a command even if it is indented.
fn guarded(line: &str) -> String {
    let line = line.trim();
    if line.starts_with("::") { format!("| {line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot publish `web/production/checkout`")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("the service ##[error] refused the token (403)\n::error::gotcha\u{1b}[2J")]
    struct Inner;

    #[test]
    fn a_failure_prints_causes_and_hints_and_no_line_is_a_ci_command() {
        let failure = Failure::failed(Outer(Inner)).hint("the file is read again at every pass");
        let expected = "error: cannot publish `web/production/checkout`\n  \
             caused by: the service #\\#[error] refused the token (403)\n  \
             | ::error::gotcha\\u{1b}[2J\n\
             hint: the file is read again at every pass\n";
        assert_eq!(failure.to_string(), expected);
        assert_eq!(failure.status().code(), 1);
    }

    #[test]
    fn the_worst_status_wins() {
        use ExitStatus::{Changes, Clean, Failed, Held, Invalid};
        for (statuses, code) in [
            (vec![], 0),
            (vec![Clean, Changes], 2),
            (vec![Invalid, Changes], 3),
            (vec![Invalid, Held, Changes], 4),
            (vec![Failed, Held, Invalid, Changes, Clean], 1),
        ] {
            let all = statuses.into_iter().fold(ExitStatus::default(), ExitStatus::and);
            assert_eq!(all.code(), code);
        }
        assert_eq!(ExitStatus::Usage.code(), 64);
    }
}

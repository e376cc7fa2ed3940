//! The choices of the settings for output and logs.

use crate::model::words;

words! {
    /// The format of a result.
    OutputFormat {
        /// Text for a terminal.
        Human = "human",
        /// One JSON value.
        Json = "json",
        /// Markdown for a comment on a pull request.
        Markdown = "markdown",
        /// A job summary and annotations of GitHub Actions.
        Github = "github",
        /// A code-quality report of GitLab.
        Gitlab = "gitlab",
        /// SARIF 2.1.0, for code scanning.
        Sarif = "sarif",
        /// JUnit XML, for CI systems that show tests.
        Junit = "junit",
    }
    /// When to use color.
    ColorChoice {
        /// On a terminal, unless NO_COLOR is set.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
    /// The format of log lines.
    LogFormat {
        /// Text.
        Pretty = "pretty",
        /// One JSON object per line.
        Json = "json",
    }
    /// The log level; each level includes those before it.
    LogLevel {
        /// Failures.
        Error = "error",
        /// Possible failures.
        Warn = "warn",
        /// Events of interest to an operator.
        Info = "info",
        /// Details for debugging.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

//! The words of settings about output and logs.

use crate::model::words;

words! {
    /// The form of a result.
    OutputFormat {
        /// For a person at a terminal.
        Human = "human",
        /// For programs.
        Json = "json",
        /// For a pull request's comment.
        Markdown = "markdown",
        /// For GitHub's job summary and annotations.
        Github = "github",
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
    /// The form of log lines.
    LogFormat {
        /// For people.
        Pretty = "pretty",
        /// One JSON object a line.
        Json = "json",
    }
    /// What is logged; each level includes the ones before it.
    LogLevel {
        /// Failures.
        Error = "error",
        /// Possible failures.
        Warn = "warn",
        /// What an operator would report to a colleague.
        Info = "info",
        /// What helps to find a mistake.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

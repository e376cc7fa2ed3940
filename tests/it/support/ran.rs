//! What a run of the program printed, and the duty to say so.

use serde_json::Value;

/// A run that ended with the stated exit code. Each of its outputs must be stated too: what no method claims
/// has to be empty, and that is checked when this is dropped.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(super) command_line: String,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

/// One output of a run.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) text: String,
    pub(super) claimed: Claimed,
}

/// Whether a test has said what an output holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Claimed {
    No,
    Yes,
}

impl Output {
    pub(super) fn new(text: String) -> Self {
        Self { text, claimed: Claimed::No }
    }

    fn claim(&mut self) -> &str {
        self.claimed = Claimed::Yes;
        &self.text
    }
}

impl Ran {
    /// Asserts stdout, to the byte (after normalizing).
    pub(crate) fn stdout(mut self, expected: &str) -> Self {
        let command_line = self.command_line.clone();
        assert_eq!(
            self.stdout.claim(),
            expected,
            "stdout of {command_line}\n--- stderr:\n{}",
            self.stderr.text
        );
        self
    }

    /// Asserts stderr, to the byte (after normalizing).
    pub(crate) fn stderr(mut self, expected: &str) -> Self {
        let command_line = self.command_line.clone();
        assert_eq!(self.stderr.claim(), expected, "stderr of {command_line}");
        self
    }

    /// Asserts what stdout contains among other text.
    pub(crate) fn stdout_contains(mut self, needles: &[&str]) -> Self {
        let command_line = self.command_line.clone();
        contains(self.stdout.claim(), needles, &format!("stdout of {command_line}"));
        self
    }

    /// Asserts what stderr contains among other text.
    pub(crate) fn stderr_contains(mut self, needles: &[&str]) -> Self {
        let command_line = self.command_line.clone();
        contains(self.stderr.claim(), needles, &format!("stderr of {command_line}"));
        self
    }

    /// Asserts what is printed on stdout or stderr, if only the text is promised.
    pub(crate) fn says(mut self, needles: &[&str]) -> Self {
        let both = format!("{}{}", self.stdout.claim(), self.stderr.claim());
        contains(&both, needles, &self.command_line);
        self
    }

    /// Asserts what is printed neither on stdout nor on stderr.
    pub(crate) fn never_says(self, needles: &[&str]) -> Self {
        for needle in needles {
            for output in [&self.stdout, &self.stderr] {
                assert!(
                    !output.text.contains(needle),
                    "{} must not say {needle:?}:\n{}",
                    self.command_line,
                    output.text
                );
            }
        }
        self
    }

    /// Gives stdout as JSON to `check`; it must be one JSON value and nothing else.
    pub(crate) fn stdout_json(mut self, check: impl FnOnce(&Value)) -> Self {
        let command_line = self.command_line.clone();
        let stderr = self.stderr.text.clone();
        let text = self.stdout.claim();
        let value = serde_json::from_str(text).unwrap_or_else(|error| {
            panic!("stdout of {command_line} is no JSON: {error}\n{text}\n--- stderr:\n{stderr}")
        });
        check(&value);
        self
    }

    /// Returns stdout as JSON.
    pub(crate) fn json(self) -> Value {
        let mut found = Value::Null;
        drop(self.stdout_json(|value| found = value.clone()).any_stderr());
        found
    }

    /// Says that stderr is not what this test is about.
    pub(crate) fn any_stderr(mut self) -> Self {
        self.stderr.claim();
        self
    }

    /// Says that stdout is not what this test is about.
    pub(crate) fn any_stdout(mut self) -> Self {
        self.stdout.claim();
        self
    }

    /// Says that only the exit code is what this test is about.
    pub(crate) fn any_output(self) -> Self {
        self.any_stdout().any_stderr()
    }

    /// Returns both outputs, claimed.
    pub(crate) fn both(mut self) -> String {
        format!("{}{}", self.stdout.claim(), self.stderr.claim())
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for (name, output) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            assert!(
                output.claimed == Claimed::Yes || output.text.is_empty(),
                "{} was expected to be silent on {name}:\n{}",
                self.command_line,
                output.text
            );
        }
    }
}

fn contains(text: &str, needles: &[&str], whose: &str) {
    for needle in needles {
        assert!(text.contains(needle), "{whose} must hold {needle:?}:\n{text}");
    }
}

//! Completes the commands in messages with the flags of this run, so that each works as printed, where it is
//! read.
//!
//! A message names a command with what it is about (`` `gitoggle apply --overwrite-drift --only
//! shop/prod/pay` ``). The repository, the state and the service are those of the run that prints it, so they
//! are added in one place. The flags are a constant of the process, like its version: without them, as in
//! tests of single modules, a command stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const PROGRAM: &str = "gitoggle ";

static OF_THIS_RUN: OnceLock<RunFlags> = OnceLock::new();

/// The flags of this run that each command takes, too: each with its words, quoted for a shell. In a terminal,
/// its variables apply to the other command anyway.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct RunFlags {
    of: BTreeMap<&'static str, Vec<(String, String)>>,
    /// Whether this process is a daemon, whose messages name the orders that it takes.
    is_daemon: bool,
}

impl RunFlags {
    pub(crate) fn new(is_daemon: bool) -> Self {
        Self { of: BTreeMap::new(), is_daemon }
    }

    /// Adds a flag, such as `--repo`, with its value; a switch has none.
    pub(crate) fn add(&mut self, command: &'static str, flag: &str, value: Option<&str>) {
        let words = match value {
            Some(value) => format!("{flag} {}", shell_word(value)),
            None => flag.to_owned(),
        };
        self.of.entry(command).or_default().push((flag.to_owned(), words));
    }

    /// Makes these the flags of the process. Only the first call has an effect.
    pub(crate) fn install(self) {
        // The error would be the flags that are installed already.
        let _ = OF_THIS_RUN.set(self);
    }

    /// Returns a command line with the flags that it does not have yet. What a shell does with its output
    /// stays last.
    fn command(&self, line: &str) -> String {
        let end = [" | ", " >"].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
        let (command, rest) = line.split_at(end);
        let name = command.split_whitespace().nth(1).unwrap_or_default();
        let own: Vec<&str> = command.split_whitespace().filter_map(|word| word.split('=').next()).collect();
        let flags = self.of.get(name).into_iter().flatten();
        let missing = flags.filter(|(flag, _)| !own.contains(&flag.as_str()));
        let missing: String = missing.map(|(_, words)| format!(" {words}")).collect();
        format!("{command}{missing}{rest}")
    }

    /// Completes each command between backticks in `text`.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.of.is_empty() || !text.contains(PROGRAM) {
            return Cow::Borrowed(text);
        }
        let parts = text.split('`').enumerate().map(|(at, part)| match part.starts_with(PROGRAM) {
            true if at % 2 == 1 => self.command(part),
            _ => part.to_owned(),
        });
        Cow::Owned(parts.collect::<Vec<_>>().join("`"))
    }
}

/// Returns a command to copy, such as `gitoggle apply --only shop/prod/pay`, with the flags of this run.
pub(crate) fn command_line(line: &str) -> String {
    OF_THIS_RUN.get().map_or_else(|| line.to_owned(), |flags| flags.command(line))
}

/// Returns a message, each command in backticks with the flags of this run.
pub(crate) fn hinted(text: &str) -> Cow<'_, str> {
    OF_THIS_RUN.get().map_or(Cow::Borrowed(text), |flags| flags.text(text))
}

/// Returns whether whoever reads the messages of this process reads those of a daemon.
pub(crate) fn is_daemon() -> bool {
    OF_THIS_RUN.get().is_some_and(|flags| flags.is_daemon)
}

/// Quotes `text` for a POSIX shell if that is necessary.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> RunFlags {
        let mut flags = RunFlags::default();
        for command in ["apply", "plan"] {
            flags.add(command, "--repo", Some("/srv/my repo"));
            flags.add(command, "--only", Some("shop/**"));
            flags.add(command, "--only", Some("web/**"));
        }
        flags.add("plan", "--overwrite-drift", None);
        flags.add("allow", "--url", Some("http://127.0.0.1:9000"));
        flags
    }

    #[test]
    fn a_command_gets_the_flags_that_it_does_not_have() {
        for (line, complete) in [
            ("gitoggle apply", "gitoggle apply --repo '/srv/my repo' --only 'shop/**' --only 'web/**'"),
            (
                "gitoggle apply --only shop/prod/pay",
                "gitoggle apply --only shop/prod/pay --repo '/srv/my repo'",
            ),
            ("gitoggle apply --only=a --repo=b", "gitoggle apply --only=a --repo=b"),
            (
                "gitoggle plan --only a -o json >plan.json",
                "gitoggle plan --only a -o json --repo '/srv/my repo' --overwrite-drift >plan.json",
            ),
            ("gitoggle man plan | man -l -", "gitoggle man plan | man -l -"),
        ] {
            assert_eq!(flags().command(line), complete);
            assert_eq!(flags().command(complete), complete, "a second time");
        }
    }

    #[test]
    fn only_commands_between_backticks_are_completed() {
        for (text, complete) in [
            (
                "run `gitoggle allow window shop/prod`, or gitoggle allow",
                "run `gitoggle allow window shop/prod --url http://127.0.0.1:9000`, or gitoggle allow",
            ),
            ("`a` gitoggle allow `b`", "`a` gitoggle allow `b`"),
            ("pass `--only`", "pass `--only`"),
        ] {
            assert_eq!(flags().text(text), complete);
        }
        assert_eq!(RunFlags::default().text("`gitoggle apply`"), "`gitoggle apply`");
    }

    #[test]
    fn a_word_is_quoted_if_the_shell_would_change_it() {
        for (text, quoted) in [
            ("https://t.example:8443/a", "https://t.example:8443/a"),
            ("+refs/heads/a:b", "+refs/heads/a:b"),
            ("shop/**", "'shop/**'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(text), quoted);
        }
    }
}

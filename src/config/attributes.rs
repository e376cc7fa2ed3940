//! What clap does not know about a setting: the commands and sources that may set it.

use clap::Arg;
use clap::builder::ArgExt;

use crate::model::words;

words! {
    /// The commands of the program, in the order of the help.
    Command {
        /// Checks documents.
        Validate = "validate",
        /// Compares what toggles serve with expectations.
        Test = "test",
        /// Traces one user through a toggle.
        Explain = "explain",
        /// Prints what would be published, and why.
        Plan = "plan",
        /// Makes one pass.
        Apply = "apply",
        /// Runs the daemon.
        Run = "run",
        /// Prints the state of every toggle.
        Status = "status",
        /// Compares the service with what was last applied.
        Drift = "drift",
        /// Prints the deployment history.
        Log = "log",
        /// Lists the toggles that no longer decide anything.
        Stale = "stale",
        /// Writes the documents of toggles that exist on the service.
        Import = "import",
        /// Rewrites documents in the canonical layout.
        Fmt = "fmt",
        /// Compares two environments.
        Diff = "diff",
        /// Copies documents between environments.
        Promote = "promote",
        /// Creates a starter repository.
        Init = "init",
        /// Releases what a running daemon holds.
        Allow = "allow",
        /// Suspends publishing in a running daemon.
        Suspend = "suspend",
        /// Ends a suspension of a running daemon.
        Resume = "resume",
        /// Requests a pass from a running daemon.
        Reconcile = "reconcile",
        /// Prints the JSON Schema of a document.
        Schema = "schema",
        /// Serves a local stand-in for the service.
        Sandbox = "sandbox",
        /// Prints the completions of a shell.
        Completions = "completions",
        /// Prints manual pages.
        Man = "man",
        /// Demonstrates the whole loop on loopback.
        Demo = "demo",
    }
}

impl Command {
    /// Returns whether this command reads the state, which is kept by source.
    pub fn reads_state(self) -> bool {
        matches!(self, Self::Apply | Self::Drift | Self::Log | Self::Plan | Self::Run | Self::Status)
    }

    /// Returns whether this command always sends requests to the service.
    pub fn contacts_service(self) -> bool {
        matches!(self, Self::Apply | Self::Drift | Self::Run)
    }
}

/// The sources that can set a setting; without it, all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sources {
    /// It is a list of entries, which no flag can express.
    File,
    /// It concerns only one invocation.
    Flag,
    /// It is needed before the file is read.
    FlagAndVariable,
    /// It is a secret, which is never a flag and never in the file (DESIGN, section 3).
    Variable,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Commands(pub(super) &'static [Command]);

#[derive(Clone, Copy, Debug)]
pub(super) struct Trusted;

#[derive(Clone, Copy, Debug)]
pub(super) struct Words(pub(super) &'static [&'static str]);

impl ArgExt for Commands {}
impl ArgExt for Sources {}
impl ArgExt for Trusted {}
impl ArgExt for Words {}

/// The properties of settings that clap does not know, as attributes of a field.
pub(super) trait SettingArg {
    /// Sets the heading in the help and the commands that accept the flag.
    fn of(self, heading: &'static str, commands: &'static [Command]) -> Self;
    fn only(self, sources: Sources) -> Self;
    /// Marks a setting that decides where secrets and data go, or which hosts to trust. A file in the source's work tree
    /// cannot set it.
    fn trusted(self) -> Self;
    /// Sets the words of a choice.
    fn words(self, words: &'static [&'static str]) -> Self;
}

impl SettingArg for Arg {
    fn of(self, heading: &'static str, commands: &'static [Command]) -> Self {
        self.help_heading(heading).hide_short_help(true).add(Commands(commands))
    }

    fn only(self, sources: Sources) -> Self {
        self.add(sources)
    }

    fn trusted(self) -> Self {
        self.add(Trusted)
    }

    fn words(self, words: &'static [&'static str]) -> Self {
        self.value_name(words.join("|")).add(Words(words))
    }
}

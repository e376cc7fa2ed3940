//! The commands, and the settings that each takes.

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
        /// Prints which toggles are not in sync, and why.
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

    /// Returns whether this command ends by itself after a signal: it waits for the requests that are open,
    /// or stops a server. Any other ends at once.
    pub fn handles_signals(self) -> bool {
        self.contacts_service() || matches!(self, Self::Demo | Self::Import | Self::Sandbox)
    }

    /// Returns whether this command always sends requests to the service.
    pub fn contacts_service(self) -> bool {
        matches!(self, Self::Apply | Self::Drift | Self::Run)
    }
}

impl Command {
    /// Returns whether a running daemon executes this command.
    pub fn is_sent_to_daemon(self) -> bool {
        self.groups().contains(&Group::Remote)
    }

    /// Returns whether this command takes settings. One that takes none also logs nothing.
    pub fn takes_settings(self) -> bool {
        !self.groups().is_empty()
    }
}

/// Settings that commands take together. Each setting is in one group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Group {
    /// The file of settings, colors and logs: every command that does something.
    Common,
    /// What kind of service it is.
    Kind,
    /// The repository with the documents.
    Repository,
    /// The revision of it.
    Revision,
    /// Where documents are.
    Documents,
    /// Which toggles are managed.
    Selection,
    /// Checks that may find nothing to check.
    Checks,
    /// The rules of a plan.
    Planning,
    /// A plan of two revisions, and its comment on a pull request.
    Comparison,
    /// Confirmations for one pass.
    Confirmation,
    /// Reading the service on request.
    Live,
    /// How requests are sent.
    Publishing,
    /// What a job of `apply` reports and requires.
    Job,
    /// What is imported.
    Import,
    /// The recorded state, and the service that it is about.
    State,
    /// Requests to the service.
    Requests,
    /// Connections.
    Network,
    /// The API of the forge.
    Forge,
    /// The daemon, and its notifications.
    Daemon,
    /// The token for commands to a daemon.
    Admin,
    /// Where that daemon is.
    Remote,
    /// The sandbox.
    Sandbox,
    /// The form of the result.
    Output,
}

impl Group {
    /// Returns the commands that take these settings.
    pub(super) fn commands(self) -> impl Iterator<Item = Command> {
        Command::ALL.into_iter().filter(move |command| command.groups().contains(&self))
    }
}

impl Command {
    /// Returns the settings that this command takes.
    const fn groups(self) -> &'static [Group] {
        use Group::{
            Admin, Checks, Common, Comparison, Confirmation, Daemon, Documents, Forge, Import, Job, Kind,
            Live, Network, Output, Planning, Publishing, Remote, Repository, Requests, Revision, Sandbox,
            Selection, State,
        };
        match self {
            Self::Validate | Self::Test => {
                &[Common, Kind, Repository, Revision, Documents, Selection, Checks, Output]
            }
            Self::Explain => &[Common, Kind, Repository, Revision, Documents, Output],
            Self::Plan => &[
                Common,
                Kind,
                Repository,
                Revision,
                Documents,
                Selection,
                Planning,
                Comparison,
                Confirmation,
                Live,
                State,
                Requests,
                Network,
                Forge,
                Output,
            ],
            Self::Apply => &[
                Common,
                Kind,
                Repository,
                Revision,
                Documents,
                Selection,
                Planning,
                Confirmation,
                Publishing,
                Job,
                State,
                Requests,
                Network,
                Forge,
                Output,
            ],
            Self::Run => &[
                Common, Kind, Repository, Revision, Documents, Selection, Planning, Publishing, State,
                Requests, Network, Daemon, Admin,
            ],
            Self::Status => &[
                Common, Kind, Repository, Revision, Documents, Selection, Planning, Live, State, Requests,
                Network, Output,
            ],
            Self::Drift => {
                &[Common, Kind, Repository, Revision, Documents, Selection, State, Requests, Network, Output]
            }
            Self::Log => &[Common, Kind, Repository, Selection, State, Network, Output],
            Self::Stale => &[Common, Kind, Repository, Revision, Documents, Selection, Output],
            Self::Import => {
                &[Common, Kind, Repository, Documents, Selection, Import, State, Requests, Network, Output]
            }
            Self::Fmt => &[Common, Kind, Repository, Documents, Selection],
            Self::Diff | Self::Promote => &[Common, Kind, Repository, Documents, Output],
            Self::Init | Self::Schema => &[Common, Kind],
            Self::Allow | Self::Suspend | Self::Resume | Self::Reconcile => &[Common, Network, Admin, Remote],
            Self::Sandbox => &[Common, Kind, Sandbox],
            Self::Completions | Self::Man => &[],
            Self::Demo => &[Common],
        }
    }
}

//! Describes settings: names, help and default.

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
    /// The commands that read documents.
    pub(super) const READING: &[Self] = &[
        Self::Validate,
        Self::Test,
        Self::Explain,
        Self::Plan,
        Self::Apply,
        Self::Run,
        Self::Status,
        Self::Drift,
    ];
    /// The commands that read or write documents.
    pub(super) const PLACING: &[Self] = &[
        Self::Validate,
        Self::Test,
        Self::Explain,
        Self::Plan,
        Self::Apply,
        Self::Run,
        Self::Status,
        Self::Drift,
        Self::Import,
        Self::Fmt,
        Self::Diff,
        Self::Promote,
    ];

    /// Returns whether this command reads the state, which is kept by source.
    #[must_use]
    pub fn reads_state(self) -> bool {
        matches!(
            self,
            Self::Apply | Self::Drift | Self::Log | Self::Plan | Self::Run | Self::Status
        )
    }

    /// Returns whether this command always sends requests to the service.
    #[must_use]
    pub fn contacts_service(self) -> bool {
        matches!(self, Self::Apply | Self::Drift | Self::Run)
    }
}

/// A heading of the help.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Group {
    Source,
    Service,
    State,
    Safety,
    Daemon,
    Notifications,
    Forge,
    Output,
}

impl Group {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Service => "Service",
            Self::State => "State",
            Self::Safety => "Safety",
            Self::Daemon => "Daemon",
            Self::Notifications => "Notifications",
            Self::Forge => "Forge",
            Self::Output => "Output",
        }
    }
}

/// The syntax of a value.
#[derive(Clone, Copy, Debug)]
pub enum ValueShape {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number of at least 1.
    Count,
    /// Numbers with units.
    Duration,
    /// A folder or file; the word is the placeholder in the help.
    Path(&'static str),
    /// A number between 0 and 1.
    Ratio,
    /// A token or password, which only a variable can set.
    Secret,
    /// `true` or `false`; as a flag `--x` and `--no-x`.
    Switch,
    /// A text; the word is the placeholder in the help.
    Text(&'static str),
    /// Texts separated by white space; the word is the placeholder of one.
    Texts(&'static str),
}

/// The sources that can set a setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sources {
    All,
    /// It concerns only one invocation.
    Flag,
    /// It is needed before the file is read.
    FlagAndVariable,
    /// It is a secret.
    Variable,
}

/// The names, help and default of a setting.
#[derive(Debug)]
pub struct SettingInfo {
    /// In snake case.
    pub name: &'static str,
    /// The flag with its dashes; for a switch that is on by default, the flag that turns it off.
    pub flag: Option<String>,
    /// The environment variable.
    pub variable: Option<String>,
    /// The key in the file.
    pub key: Option<&'static str>,
    /// The default value, or a description of it; empty if there is none.
    pub default: &'static str,
    /// One line in the imperative.
    pub help: &'static str,
    /// Further sentences for the long help; may be empty.
    pub more: &'static str,
    /// The heading that lists it in the help.
    pub(crate) group: Group,
    /// The syntax of its value.
    pub shape: ValueShape,
    /// The commands that accept its flag.
    pub commands: &'static [Command],
    /// Whether it sets where secrets and data go, or which hosts to trust. A file in the source's work tree cannot set it.
    pub(crate) decides_trust: bool,
    /// The flag with the opposite meaning, for a switch that is not only a flag.
    pub(crate) opposite: Option<String>,
    /// The words of a choice, separated by `|`.
    words: String,
    /// The default as a value.
    pub(crate) preset: Option<&'static str>,
    /// The word of the flag, if it is not the name. Two commands may have different settings with one flag.
    spelling: Option<&'static str>,
    sources: Sources,
}

/// Begins a row of the table with the properties that most settings share.
pub(super) fn setting(name: &'static str, shape: ValueShape, help: &'static str) -> SettingInfo {
    SettingInfo {
        name,
        flag: None,
        variable: None,
        key: None,
        default: "",
        help,
        more: "",
        group: Group::Source,
        commands: Command::PLACING,
        decides_trust: false,
        opposite: None,
        words: match shape {
            ValueShape::Choice(words) => words.join("|"),
            _ => String::new(),
        },
        preset: None,
        spelling: None,
        sources: match shape {
            // Tokens and passwords are never flags and never in the file (DESIGN, section 3).
            ValueShape::Secret => Sources::Variable,
            _ => Sources::All,
        },
        shape,
    }
}

impl SettingInfo {
    pub(super) fn of(self, group: Group, commands: &'static [Command]) -> Self {
        Self {
            group,
            commands,
            ..self
        }
    }

    pub(super) fn preset(self, value: &'static str) -> Self {
        let preset = Some(value);
        Self {
            preset,
            default: value,
            ..self
        }
    }

    pub(super) fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    pub(super) fn only_from(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    pub(super) fn spelled(self, word: &'static str) -> Self {
        let spelling = Some(word);
        Self { spelling, ..self }
    }

    pub(super) fn trusted(self) -> Self {
        Self {
            decides_trust: true,
            ..self
        }
    }

    /// Adds the flag, variable and key.
    pub(super) fn named(self) -> Self {
        let dashed = self.spelling.unwrap_or(self.name).replace('_', "-");
        let no = match (self.shape, self.preset) {
            // A flag that only confirms the default would be useless, so it turns the switch off.
            (ValueShape::Switch, Some("true")) => "no-",
            _ => "",
        };
        let opposite = match (self.shape, no) {
            (ValueShape::Switch, "") if self.sources == Sources::All => Some(format!("--no-{dashed}")),
            (ValueShape::Switch, "no-") => Some(format!("--{dashed}")),
            _ => None,
        };
        Self {
            opposite,
            flag: (self.sources != Sources::Variable).then(|| format!("--{no}{dashed}")),
            variable: (self.sources != Sources::Flag).then(|| variable(self.name)),
            key: (self.sources == Sources::All).then_some(self.name),
            ..self
        }
    }

    /// Returns the placeholder of its value in the help, such as `URL`; `None` for a switch.
    #[must_use]
    pub fn value_name(&self) -> Option<&str> {
        match self.shape {
            ValueShape::Choice(_) => Some(&self.words),
            ValueShape::Count => Some("N"),
            ValueShape::Duration => Some("TIME"),
            ValueShape::Path(name) | ValueShape::Text(name) | ValueShape::Texts(name) => Some(name),
            ValueShape::Ratio => Some("RATIO"),
            ValueShape::Secret | ValueShape::Switch => None,
        }
    }
}

/// Returns the variable of the setting `name`.
pub(crate) fn variable(name: &str) -> String {
    format!("GITOGGLE_{}", name.to_uppercase())
}

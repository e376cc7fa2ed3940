//! A setting as people see it: names, help and default.

/// The commands of the program.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Command {
    /// Releases what a daemon holds.
    Allow,
    /// One pass, then exit.
    Apply,
    /// The whole loop on loopback.
    Demo,
    /// What would be published and why.
    Plan,
    /// Asks a daemon for a pass.
    Reconcile,
    /// Ends a suspension of a daemon.
    Resume,
    /// The daemon.
    Run,
    /// A local service.
    Sandbox,
    /// The JSON Schema of a document.
    Schema,
    /// Where every toggle stands.
    Status,
    /// Keeps a daemon from publishing.
    Suspend,
    /// Checks documents.
    Validate,
}

impl Command {
    /// The commands that read documents.
    pub(super) const READING: &[Self] = &[Self::Validate, Self::Plan, Self::Apply, Self::Run, Self::Status];

    /// Returns whether this command knows the world it plans for: source, state and policy.
    #[must_use]
    pub fn plans(self) -> bool {
        matches!(self, Self::Apply | Self::Plan | Self::Run | Self::Status)
    }

    /// Returns whether this command talks to the service.
    #[must_use]
    pub fn publishes(self) -> bool {
        matches!(self, Self::Apply | Self::Run)
    }
}

/// Where a setting is listed in the help.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Group {
    /// Where documents come from.
    Source,
    /// Where they go.
    Service,
    /// What is remembered.
    State,
    /// What keeps a pass from doing harm.
    Safety,
    /// The daemon's own.
    Daemon,
    /// Whom the daemon tells.
    Notifications,
    /// What is printed.
    Output,
}

impl Group {
    /// Returns the heading.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Service => "Service",
            Self::State => "State",
            Self::Safety => "Safety",
            Self::Daemon => "Daemon",
            Self::Notifications => "Notifications",
            Self::Output => "Output",
        }
    }
}

/// How the value of a setting is written.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A whole number of at least 1.
    Count,
    /// A number with a unit.
    Duration,
    /// A folder or file.
    Path(&'static str),
    /// A number between 0 and 1.
    Ratio,
    /// A token or password: only ever a variable.
    Secret,
    /// `true` or `false`; as a flag `--x` and `--no-x`.
    Switch,
    /// A text; the word stands for it in the help.
    Text(&'static str),
    /// Several texts separated by white space.
    Texts(&'static str),
}

/// Which sources a setting may come from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sources {
    /// Flag, variable and file.
    All,
    /// A flag: it is about one invocation.
    Flag,
    /// A flag or a variable: it is needed before there is a file.
    FlagAndVariable,
    /// A variable: it is a secret.
    Variable,
}

/// One setting, as people see it.
#[derive(Debug)]
pub struct SettingInfo {
    /// Its name, in snake case.
    pub name: &'static str,
    /// Its flag, with the dashes; for a switch that is on by default, the one that turns it off.
    pub flag: Option<String>,
    /// Its variable.
    pub variable: Option<String>,
    /// Its key in the file.
    pub key: Option<&'static str>,
    /// Its default, in words where it is not a value; empty where there is none.
    pub default: &'static str,
    /// The help: one line in the imperative.
    pub help: &'static str,
    /// What else there is to say; may be empty.
    pub more: &'static str,
    /// Where the help lists it.
    pub group: Group,
    /// How its value is written.
    pub shape: Shape,
    /// The commands that take its flag.
    pub commands: &'static [Command],
    /// Whether it decides where secrets and data go, or whom to trust; a file in the source's work tree may not.
    pub(crate) decides_trust: bool,
    /// For a switch that is a setting, the flag that says the opposite.
    pub(crate) opposite: Option<String>,
    /// The words of a choice, separated by bars.
    words: String,
    /// Its default as a value.
    pub(crate) preset: Option<&'static str>,
    sources: Sources,
}

/// Begins a row of the table with what most settings have in common.
pub(super) fn setting(name: &'static str, shape: Shape, help: &'static str) -> SettingInfo {
    SettingInfo {
        name,
        flag: None,
        variable: None,
        key: None,
        default: "",
        help,
        more: "",
        group: Group::Source,
        commands: Command::READING,
        decides_trust: false,
        opposite: None,
        words: match shape {
            Shape::Choice(words) => words.join("|"),
            _ => String::new(),
        },
        preset: None,
        sources: match shape {
            Shape::Secret => Sources::Variable,
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

    pub(super) fn said(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    pub(super) fn only_from(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    pub(super) fn trusted(self) -> Self {
        Self {
            decides_trust: true,
            ..self
        }
    }

    /// Adds the names that follow from the rest.
    pub(super) fn named(self) -> Self {
        let dashed = self.name.replace('_', "-");
        let no = match (self.shape, self.preset) {
            (Shape::Switch, Some("true")) => "no-",
            _ => "",
        };
        let opposite = match (self.shape, no) {
            (Shape::Switch, "") if self.sources == Sources::All => Some(format!("--no-{dashed}")),
            (Shape::Switch, "no-") => Some(format!("--{dashed}")),
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

    /// Returns the name of its value in the help, such as `URL`; `None` for a switch.
    #[must_use]
    pub fn value_name(&self) -> Option<&str> {
        match self.shape {
            Shape::Choice(_) => Some(&self.words),
            Shape::Count => Some("N"),
            Shape::Duration => Some("TIME"),
            Shape::Path(name) | Shape::Text(name) | Shape::Texts(name) => Some(name),
            Shape::Ratio => Some("RATIO"),
            Shape::Secret | Shape::Switch => None,
        }
    }
}

/// Returns the variable of the setting `name`.
pub(crate) fn variable(name: &str) -> String {
    format!("GITOGGLE_{}", name.to_uppercase())
}

/// Returns the candidate most like `word`, when it is like it at all.
pub(crate) fn suggestion<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

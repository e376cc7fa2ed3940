//! What a setting is: the one place its name, help, default and limits follow from.

use std::sync::OnceLock;

use super::table::TABLE;

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
    /// Any text that passes its check; the word stands for it in the help.
    Text(&'static str, Check),
    /// Several texts separated by white space.
    Texts(&'static str, Check),
}

/// Checks one text and gives it back as it is meant, or says what is wrong with it.
pub(crate) type Check = fn(&str) -> Result<String, String>;

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

/// Whether a file inside the source may set it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reach {
    /// It shapes the plan.
    Plan,
    /// It decides where secrets and data go, or whom to trust.
    Trust,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) default: Option<&'static str>,
    pub(crate) said: &'static str,
    pub(crate) group: Group,
    pub(crate) commands: &'static [Command],
    pub(crate) sources: Sources,
    pub(crate) reach: Reach,
    pub(crate) help: &'static str,
    pub(crate) more: &'static str,
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
    /// Its default, in words where it is no value; empty where there is none.
    pub default: &'static str,
    /// What it is for, in the imperative, in one line.
    pub help: &'static str,
    /// What else there is to say; may be empty.
    pub more: &'static str,
    /// Where the help lists it.
    pub group: Group,
    /// How its value is written.
    pub shape: Shape,
    /// The commands that take its flag.
    pub commands: &'static [Command],
    /// Whether a file in the source's work tree may set it.
    pub(crate) reach: Reach,
    /// For a switch that is a setting, the flag that says the opposite.
    pub(crate) opposite: Option<String>,
    /// The words of a choice, separated by bars.
    words: String,
    /// Its default as a value.
    pub(crate) preset: Option<&'static str>,
}

impl SettingInfo {
    /// Returns how its value is called in the help, such as `URL`; `None` for a switch.
    #[must_use]
    pub fn value_name(&self) -> Option<&str> {
        match self.shape {
            Shape::Choice(_) => Some(&self.words),
            Shape::Count => Some("N"),
            Shape::Duration => Some("TIME"),
            Shape::Path(name) | Shape::Text(name, _) | Shape::Texts(name, _) => Some(name),
            Shape::Ratio => Some("RATIO"),
            Shape::Secret | Shape::Switch => None,
        }
    }

    fn of(row: &'static Definition) -> Self {
        let dashed = row.name.replace('_', "-");
        let no = match (row.shape, row.default) {
            (Shape::Switch, Some("true")) => "no-",
            _ => "",
        };
        let opposite = match (row.shape, no) {
            (Shape::Switch, "") if row.sources == Sources::All => Some(format!("--no-{dashed}")),
            (Shape::Switch, "no-") => Some(format!("--{dashed}")),
            _ => None,
        };
        let words = match row.shape {
            Shape::Choice(words) => words.join("|"),
            _ => String::new(),
        };
        Self {
            opposite,
            words,
            name: row.name,
            flag: (row.sources != Sources::Variable).then(|| format!("--{no}{dashed}")),
            variable: (row.sources != Sources::Flag).then(|| variable(row.name)),
            key: (row.sources == Sources::All).then_some(row.name),
            default: row.default.unwrap_or(row.said),
            help: row.help,
            more: row.more,
            group: row.group,
            shape: row.shape,
            commands: row.commands,
            reach: row.reach,
            preset: row.default,
        }
    }
}

/// Returns the variable of the setting `name`.
pub(crate) fn variable(name: &str) -> String {
    format!("GITOGGLE_{}", name.to_uppercase())
}

/// Returns every setting there is, in the order in which help and documentation list them.
#[must_use]
pub fn settings() -> &'static [SettingInfo] {
    static ALL: OnceLock<Vec<SettingInfo>> = OnceLock::new();
    ALL.get_or_init(|| TABLE.iter().map(SettingInfo::of).collect())
}

/// Returns the candidate most like `word`, when it is like it at all.
pub(crate) fn suggestion<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

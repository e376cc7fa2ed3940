//! Describes settings: names, help and default, the values of their fields, and the commands and sources that
//! may set them.

use std::error::Error as _;
use std::sync::OnceLock;

use clap::builder::{ArgExt, StringValueParser};
use clap::error::ContextKind;
use clap::{Arg, ArgAction, Args as _, Command as Clap, FromArgMatches as _};

use super::command::{Command, Group};
use super::settings::Settings;
use super::values::switch;

/// The names, help and default of a setting.
#[derive(Debug)]
pub struct SettingInfo {
    /// In snake case.
    pub name: &'static str,
    /// The flag with its dashes; for a switch that is on by default, the flag that turns it off.
    pub flag: Option<String>,
    /// The flag with the opposite meaning, for a switch that is not only a flag.
    pub(crate) opposite: Option<String>,
    pub variable: Option<String>,
    pub key: Option<&'static str>,
    /// The default value, or a description of it; empty if there is none.
    pub default: String,
    /// One line in the imperative.
    pub help: String,
    /// Further sentences for the long help; may be empty.
    pub(crate) more: String,
    commands: Vec<Command>,
    arg: &'static Arg,
}

/// Returns every setting, in the order of the help and the documentation.
pub fn settings() -> &'static [SettingInfo] {
    static ARGS: OnceLock<Vec<Arg>> = OnceLock::new();
    static SETTINGS: OnceLock<Vec<SettingInfo>> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let clap = Settings::augment_args(Clap::new("settings"));
        let args = ARGS.get_or_init(|| clap.get_arguments().cloned().collect());
        args.iter().map(SettingInfo::new).collect()
    })
}

impl Settings {
    /// Returns the settings of an invocation that sets none.
    pub(crate) fn defaults() -> Self {
        Self::parse([]).expect("every default is a valid value")
    }

    /// Parses values, of which the last one of a setting wins.
    pub(super) fn parse<'t>(
        values: impl IntoIterator<Item = (&'static SettingInfo, &'t str)>,
    ) -> Result<Self, InvalidValue> {
        static PARSER: OnceLock<Clap> = OnceLock::new();
        let parser = PARSER.get_or_init(|| {
            let clap = Clap::new("settings").no_binary_name(true).args_override_self(true);
            clap.args(settings().iter().map(SettingInfo::parsed))
        });
        let words = values.into_iter().map(|(setting, text)| format!("--{}={text}", setting.name));
        let matches = parser.clone().try_get_matches_from(words);
        matches.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|error| InvalidValue::of(&error))
    }
}

/// A value that its setting does not accept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct InvalidValue {
    /// The name of the setting.
    pub(super) name: String,
    pub(super) text: String,
    /// The problem and its correction, without the value of a secret.
    pub(super) why: String,
}

impl InvalidValue {
    fn of(error: &clap::Error) -> Self {
        let value = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
        let arg = value(ContextKind::InvalidArg);
        let name = arg.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default().to_owned();
        // clap's own message would quote the value, which may be a secret.
        let why = error.source().map_or("invalid value".to_owned(), ToString::to_string);
        Self { name, text: value(ContextKind::InvalidValue), why }
    }
}

impl SettingInfo {
    fn new(arg: &'static Arg) -> Self {
        let name = arg.get_id().as_str();
        let sources = arg.get::<Sources>().copied();
        let long = arg.get_long().unwrap_or_default();
        let opposite = match (arg.get_action(), long.strip_prefix("no-")) {
            (ArgAction::SetFalse, Some(positive)) => Some(format!("--{positive}")),
            (ArgAction::SetTrue, _) if sources.is_none() => Some(format!("--no-{long}")),
            _ => None,
        };
        let (help, more) = texts(arg);
        let preset = preset(arg).filter(|preset| !preset.is_empty());
        let (help, described) = split_default(&help);
        Self {
            name,
            flag: (!matches!(sources, Some(Sources::File | Sources::Variable))).then(|| format!("--{long}")),
            opposite,
            variable: (!matches!(sources, Some(Sources::File | Sources::Flag))).then(|| variable(name)),
            key: matches!(sources, None | Some(Sources::File)).then_some(name),
            default: preset.unwrap_or(described).to_owned(),
            help: help.to_owned(),
            more,
            commands: arg.get::<Group>().map(|group| group.commands().collect()).unwrap_or_default(),
            arg,
        }
    }

    /// Returns the commands that accept its flag.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Returns the words of a choice; none if it is not one.
    pub fn words(&self) -> &'static [&'static str] {
        self.arg.get::<Words>().map_or(&[], |words| words.0)
    }

    /// Returns the placeholder of its value in the help, such as `URL`; none for a switch.
    pub fn value_name(&self) -> Option<&str> {
        let names = self.arg.get_value_names().filter(|_| !self.is_switch());
        names.map(|names| names[0].as_str())
    }

    /// Returns whether it is `true` or `false`; as a flag, `--x` and `--no-x`.
    pub fn is_switch(&self) -> bool {
        !self.arg.get_action().takes_values()
    }

    /// Returns whether it is a list of mappings, which only the file can set.
    pub(super) fn is_nested(&self) -> bool {
        self.arg.get::<Sources>() == Some(&Sources::File)
    }

    /// Returns whether it has several values, separated by white space.
    pub fn is_list(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// Returns whether it is a token or password, which only a variable can set.
    pub fn is_secret(&self) -> bool {
        self.arg.get::<Sources>() == Some(&Sources::Variable)
    }

    pub(crate) fn is(&self, mark: Mark) -> bool {
        self.arg.get::<Marks>().is_some_and(|marks| marks.0.contains(&mark))
    }

    pub(super) fn heading(&self) -> &'static str {
        self.arg.get_help_heading().unwrap_or_default()
    }

    /// Returns the default as a value.
    pub(super) fn preset(&self) -> Option<&'static str> {
        preset(self.arg)
    }

    /// Returns its flag and, for a switch, the hidden opposite.
    pub(crate) fn flags(&self) -> Vec<Arg> {
        if self.flag.is_none() {
            return Vec::new();
        }
        let arg = self
            .arg
            .clone()
            .default_value(None::<&str>)
            // That of the command, which has its own arguments.
            .display_order(None)
            .value_hint(self.arg.get_value_hint())
            .help(self.short_help())
            .long_help(self.long_help());
        if !self.is_switch() {
            // Values stay text, because all three sources are checked by the same rules, and all mistakes are
            // one message.
            return vec![arg.value_parser(StringValueParser::new())];
        }
        let arg = arg.action(ArgAction::SetTrue);
        let Some(opposite) = self.opposite.as_deref().map(|flag| &flag[2..]) else {
            return vec![arg];
        };
        // A flag must be able to override a variable or the file in both directions.
        let other = Arg::new(opposite.to_owned())
            .long(opposite.to_owned())
            .hide(true)
            .action(ArgAction::SetTrue)
            // As in other programs, the last of two opposite flags wins.
            .overrides_with(self.name);
        vec![arg.overrides_with(opposite.to_owned()), other]
    }

    /// Returns the argument that parses the values of all sources. Two settings may share a flag, but not a
    /// name.
    fn parsed(&self) -> Arg {
        let arg = self.arg.clone().short(None).long(self.name).action(ArgAction::Set);
        match self.preset().filter(|_| self.is_switch()) {
            Some(preset) => arg.num_args(1).value_parser(switch).default_value(preset),
            None => arg,
        }
    }

    fn short_help(&self) -> String {
        if self.is_switch() || self.default.is_empty() {
            return self.help.clone();
        }
        format!("{} [{}]", self.help, self.default)
    }

    fn long_help(&self) -> String {
        let default = if self.is_switch() { "" } else { &self.default };
        let mut text = long_text(&self.help, &self.more, default);
        if let Some(variable) = &self.variable {
            let file = if self.key.is_some() { "" } else { ", not in the file" };
            // The variable of a flag that turns something off has the opposite name.
            let turns_off = self.flag.as_deref().is_some_and(|flag| flag.starts_with("--no-"));
            let value = if turns_off { "=false" } else { "" };
            text.push_str(&format!("\n[variable: {variable}{value}{file}]"));
        }
        text
    }
}

/// Returns the long help of an argument that is not a setting, in the form of that of a setting.
pub(crate) fn long_help(arg: &Arg) -> String {
    let (help, more) = texts(arg);
    let (help, default) = split_default(&help);
    long_text(help, &more, default)
}

fn long_text(help: &str, more: &str, default: &str) -> String {
    let mut text = help.to_owned();
    if !more.is_empty() {
        text.push_str(". ");
        text.push_str(more.trim_end_matches('.'));
    }
    if !default.is_empty() {
        text.push_str(&format!("\n[default: {default}]"));
    }
    text
}

/// Returns a help without the default that ends it in brackets, and that default; empty if there is none.
fn split_default(help: &str) -> (&str, &str) {
    help.strip_suffix(']').and_then(|help| help.rsplit_once(" [")).unwrap_or((help, ""))
}

/// Returns the first line of a comment and the rest.
fn texts(arg: &Arg) -> (String, String) {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let long = arg.get_long_help().map(ToString::to_string);
    let more = long.as_deref().and_then(|long| long.split_once("\n\n"));
    let more = more.map(|(_, more)| more.trim().to_owned()).unwrap_or_default();
    (help, more)
}

fn preset(arg: &'static Arg) -> Option<&'static str> {
    match arg.get_action() {
        ArgAction::SetTrue => Some("false"),
        ArgAction::SetFalse => Some("true"),
        _ => arg.get_default_values().first().and_then(|value| value.to_str()),
    }
}

/// Returns the variable of the setting `name`.
pub(crate) fn variable(name: &str) -> String {
    format!("GITOGGLE_{}", name.to_uppercase())
}

/// The sources that can set a setting; without it, all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sources {
    /// It is a list of mappings, which no flag can express.
    File,
    /// It concerns only one invocation.
    Flag,
    /// It is needed before the file is read.
    FlagAndVariable,
    /// It is a secret, which is never a flag and never in the file (src/config/README.md, "Secrets and
    /// trust").
    Variable,
}

/// A property of a setting, from which follows how it is treated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mark {
    /// It decides where secrets and data go, or which hosts and keys to trust. A file in the source's work tree
    /// cannot set it.
    Trusted,
    /// It names a file of trusted keys, which must not be in the source.
    Keys,
    /// It is about what the service has, so it needs a service that can be read.
    AboutLive,
    /// It says what one invocation compares and how it prints, or is a confirmation of its own. The commands that
    /// a message prints do not repeat it.
    Invocation,
    /// An import of named toggles takes it only for its `--drifted`, or has globs instead. The imports that a
    /// message prints do not repeat it.
    NotOfImport,
}

#[derive(Clone, Debug, Default)]
struct Marks(Vec<Mark>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Words(pub(super) &'static [&'static str]);

impl ArgExt for Group {}
impl ArgExt for Sources {}
impl ArgExt for Marks {}
impl ArgExt for Words {}

/// The properties of settings that clap does not know, as attributes of a field.
pub(super) trait SettingArg {
    /// Sets the heading in the help, and the group whose commands accept the flag.
    fn of(self, heading: &'static str, group: Group) -> Self;
    fn only(self, sources: Sources) -> Self;
    fn is(self, mark: Mark) -> Self;
    /// Sets the words of a choice.
    fn words(self, words: &'static [&'static str]) -> Self;
}

impl SettingArg for Arg {
    fn of(self, heading: &'static str, group: Group) -> Self {
        self.help_heading(heading).hide_short_help(true).add(group)
    }

    fn only(self, sources: Sources) -> Self {
        self.add(sources)
    }

    fn is(self, mark: Mark) -> Self {
        let mut marks = self.get::<Marks>().cloned().unwrap_or_default();
        marks.0.push(mark);
        self.add(marks)
    }

    fn words(self, words: &'static [&'static str]) -> Self {
        self.value_name(words.join("|")).add(Words(words))
    }
}

//! Describes settings: names, help and default, and the values of their fields.

use std::error::Error as _;
use std::sync::OnceLock;

use clap::builder::StringValueParser;
use clap::{Arg, ArgAction, Args as _, Command as Clap, FromArgMatches as _};

use super::attributes::{Command, Commands, Sources, Trusted, Words};
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
    /// The environment variable.
    pub variable: Option<String>,
    /// The key in the file.
    pub key: Option<&'static str>,
    /// The default value, or a description of it; empty if there is none.
    pub default: String,
    /// One line in the imperative.
    pub help: String,
    /// Further sentences for the long help; may be empty.
    pub(crate) more: String,
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
        Self::with([])
    }

    /// Returns the settings with these values, which have passed [`SettingInfo::check`].
    pub(super) fn with<'t>(values: impl IntoIterator<Item = (&'static SettingInfo, &'t str)>) -> Self {
        let values = values.into_iter().filter_map(|(setting, text)| setting.typed(text));
        let clap = Clap::new("settings").no_binary_name(true);
        let matches = clap.args(settings().iter().map(SettingInfo::typed_arg)).try_get_matches_from(values);
        let settings = matches.and_then(|matches| Self::from_arg_matches(&matches));
        settings.expect("each value was checked, and the others have defaults")
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
        let (help, described) = match help.strip_suffix(']').and_then(|help| help.rsplit_once(" [")) {
            Some((help, described)) => (help.to_owned(), described.to_owned()),
            None => (help, String::new()),
        };
        Self {
            name,
            flag: (!matches!(sources, Some(Sources::File | Sources::Variable))).then(|| format!("--{long}")),
            opposite,
            variable: (!matches!(sources, Some(Sources::File | Sources::Flag))).then(|| variable(name)),
            key: matches!(sources, None | Some(Sources::File)).then_some(name),
            default: preset.map_or(described, str::to_owned),
            help,
            more,
            arg,
        }
    }

    /// Returns the commands that accept its flag.
    pub fn commands(&self) -> &'static [Command] {
        self.arg.get::<Commands>().map_or(&[], |commands| commands.0)
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

    /// Returns whether it has several values, separated by white space.
    pub fn is_list(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// Returns whether it is a token or password, which only a variable can set.
    pub fn is_secret(&self) -> bool {
        self.arg.get::<Sources>() == Some(&Sources::Variable)
    }

    pub(super) fn decides_trust(&self) -> bool {
        self.arg.get::<Trusted>().is_some()
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
            // That of the command, which has arguments of its own.
            .display_order(None)
            .value_hint(self.arg.get_value_hint())
            .help(self.short_help())
            .long_help(self.long_help());
        if !self.is_switch() {
            // Values stay text, because all three sources are checked by the same rules, and all mistakes are one message.
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

    /// Checks a value that is not empty.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        if self.is_switch() {
            return switch(text).map(drop);
        }
        let clap = Clap::new("setting").no_binary_name(true).arg(self.typed_arg());
        match clap.try_get_matches_from(self.typed(text)) {
            Ok(_) => Ok(()),
            // clap's own message would quote the value, which may be a secret.
            Err(error) => Err(error.source().map_or("invalid value".to_owned(), ToString::to_string)),
        }
    }

    /// Returns the argument that parses values of all sources. Two settings may share a flag, but not a name.
    fn typed_arg(&self) -> Arg {
        self.arg.clone().short(None).long(self.name)
    }

    /// Returns a value as an argument; none if a switch keeps its default.
    fn typed(&self, text: &str) -> Option<String> {
        let is_default = self.preset() == Some(text);
        if self.is_switch() {
            (!is_default).then(|| format!("--{}", self.name))
        } else {
            Some(format!("--{}={text}", self.name))
        }
    }

    fn short_help(&self) -> String {
        if self.is_switch() || self.default.is_empty() {
            return self.help.clone();
        }
        format!("{} [{}]", self.help, self.default)
    }

    fn long_help(&self) -> String {
        let mut text = self.help.clone();
        if !self.more.is_empty() {
            text.push_str(". ");
            text.push_str(self.more.trim_end_matches('.'));
        }
        if !self.is_switch() && !self.default.is_empty() {
            text.push_str(&format!("\n[default: {}]", self.default));
        }
        if let Some(variable) = &self.variable {
            let file = if self.key.is_some() { "" } else { ", not in the file" };
            text.push_str(&format!("\n[variable: {variable}{file}]"));
        }
        text
    }
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

//! Merges flags, variables and the file, and collects the errors of all three.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::ConfigError;
use super::definition::{Mark, SettingInfo, settings, variable};
use super::file::{self, FileLine};
use super::folders::untrusted_tree;
use super::settings::Settings;
use crate::model::{closest, escaped};

/// The values of flags by the name of the setting; the value of a switch is `true` or `false`.
pub type Flags = BTreeMap<String, Vec<String>>;

/// The sources of settings besides flags.
#[derive(Clone, Debug)]
pub struct ProcessEnvironment {
    pub variables: Vec<(OsString, OsString)>,
    /// The folder to which relative paths are relative.
    pub folder: PathBuf,
    /// The platform's state folder, if it has one.
    pub state_home: Option<PathBuf>,
}

impl ProcessEnvironment {
    /// Returns whether the process is in a job of a CI system. All of them set `CI`.
    pub fn is_job(&self) -> bool {
        self.variables.iter().any(|(name, value)| name == "CI" && !value.is_empty())
    }

    pub fn of_process() -> std::io::Result<Self> {
        Ok(Self {
            variables: std::env::vars_os().collect(),
            folder: std::env::current_dir()?,
            state_home: state_home(),
        })
    }
}

fn state_home() -> Option<PathBuf> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // In a container, the home folder of the password file often does not exist or belongs to another user.
    if !is_set("HOME") && !is_set("XDG_STATE_HOME") {
        return None;
    }
    let platform = etcetera::choose_base_strategy().ok()?;
    Some(platform.state_dir().unwrap_or_else(|| platform.data_dir()))
}

/// The value of a setting and the place that sets it.
#[derive(Clone, Debug)]
pub(crate) struct Sourced {
    pub(crate) setting: &'static SettingInfo,
    pub(crate) text: String,
    pub(crate) place: String,
    /// The texts in it that have their own place.
    parts: Vec<(String, String)>,
}

impl Sourced {
    /// Returns the place of the text that a mistake quotes, or that of the value.
    fn place_of(&self, why: &str) -> &str {
        let quoted = |text: &str| why.find(&format!("`{}`", escaped(text)));
        let parts = self.parts.iter().filter_map(|(text, place)| Some((quoted(text)?, place)));
        // The advice may quote others.
        parts.min_by_key(|(at, _)| *at).map_or(&self.place, |(_, place)| place)
    }
}

/// What a source says.
enum Reading {
    Value(Sourced),
    Mistake(ConfigError),
}

impl Reading {
    fn mistake(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Mistake(ConfigError::new(place, why))
    }

    fn values(setting: &'static SettingInfo, place: String, values: &[String]) -> Self {
        match values {
            [text] => Self::Value(Sourced { setting, text: text.clone(), place, parts: Vec::new() }),
            _ if setting.is_list() => {
                Self::Value(Sourced { setting, text: values.join(" "), place, parts: Vec::new() })
            }
            _ => Self::mistake(place, "give one value instead of a list"),
        }
    }

    fn value(&self) -> Option<&Sourced> {
        match self {
            Self::Value(value) => Some(value),
            Self::Mistake(_) => None,
        }
    }
}

/// The merged settings with their errors and warnings.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) settings: Settings,
    pub(crate) given: BTreeMap<&'static str, Sourced>,
    pub(crate) errors: Vec<ConfigError>,
    /// Keys that the file is not trusted to set. They are not also reported as missing.
    pub(crate) rejected: BTreeSet<String>,
    pub(crate) warnings: Vec<String>,
}

/// Reads all three sources. Values that a stronger source overrides have to be valid, too.
pub(super) fn merge(flags: &Flags, environment: &ProcessEnvironment) -> Merged {
    // In the order of precedence: the first source that sets a value wins.
    let mut readings = read_flags(flags);
    let (variables, warnings) = read_variables(&environment.variables);
    readings.extend(variables);
    let (lines, rejected) = read_file(&readings, environment);
    readings.extend(lines);
    let mut settings = parse(&mut readings);
    settings.set_secrets_from_files();
    let mut merged = Merged { settings, given: BTreeMap::new(), errors: Vec::new(), rejected, warnings };
    for reading in readings {
        match reading {
            Reading::Value(value) => {
                merged.given.entry(value.setting.name).or_insert(value);
            }
            Reading::Mistake(error) => merged.errors.push(error),
        }
    }
    merged.reject_secrets_set_twice();
    merged
}

/// Parses the values. What is not valid becomes a mistake at its place, and the others are parsed without it.
fn parse(readings: &mut [Reading]) -> Settings {
    loop {
        // The last value of a setting wins.
        let values = readings.iter().rev().filter_map(Reading::value);
        let invalid = match Settings::parse(values.map(|value| (value.setting, value.text.as_str()))) {
            Ok(settings) => return settings,
            Err(invalid) => invalid,
        };
        let is_it = |value: &Sourced| value.setting.name == invalid.name && value.text == invalid.text;
        let reading = readings.iter_mut().find(|reading| reading.value().is_some_and(is_it));
        let reading = reading.expect("the parser names a value that it was given");
        let place = reading.value().map(|value| value.place_of(&invalid.why).to_owned()).unwrap_or_default();
        *reading = Reading::mistake(place, invalid.why);
    }
}

fn read_flags(flags: &Flags) -> Vec<Reading> {
    let given = settings().iter().filter_map(|setting| Some((setting, flags.get(setting.name)?)));
    given
        .map(|(setting, values)| {
            let flag = setting.flag.clone().unwrap_or_default();
            match values.iter().any(|text| text.trim().is_empty()) {
                true => Reading::mistake(flag, "the value is empty"),
                false => Reading::values(setting, flag, values),
            }
        })
        .collect()
}

/// Returns the settings that variables set, with their values.
pub fn set_by_variables(environment: &ProcessEnvironment) -> Vec<(&'static SettingInfo, String)> {
    let (readings, _) = read_variables(&environment.variables);
    let values = readings.into_iter().filter_map(|reading| match reading {
        Reading::Value(value) => Some((value.setting, value.text)),
        Reading::Mistake(_) => None,
    });
    values.collect()
}

/// Returns what the variables say, and a warning for each unknown one.
fn read_variables(variables: &[(OsString, OsString)]) -> (Vec<Reading>, Vec<String>) {
    let ours: BTreeMap<String, &OsString> = variables
        .iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        // An empty variable is the same as none.
        .filter(|(name, value)| name.starts_with("GITOGGLE_") && !value.is_empty())
        .collect();
    let given = settings().iter().filter_map(|setting| {
        let name = setting.variable.clone()?;
        let value = ours.get(&name)?;
        Some(match value.to_str() {
            Some(value) => Reading::values(setting, name, &[value.to_owned()]),
            None => Reading::mistake(name, "the value is not UTF-8"),
        })
    });
    let unknown = ours.keys().filter(|name| is_unknown(name));
    (given.collect(), unknown.map(|name| unknown_variable(name)).collect())
}

/// Returns what the file says that the stronger sources name, and the keys that it is not trusted to set.
fn read_file(stronger: &[Reading], environment: &ProcessEnvironment) -> (Vec<Reading>, BTreeSet<String>) {
    let given = |name: &str| {
        let mut values = stronger.iter().filter_map(Reading::value);
        values.find(|value| value.setting.name == name).map(|value| value.text.as_str())
    };
    let Some(path) = given("config").map(Path::new) else {
        return Default::default();
    };
    let lines = match file::read(&environment.folder.join(path)) {
        Ok(lines) => lines,
        Err(error) => return (vec![Reading::Mistake(error)], BTreeSet::new()),
    };
    // The source is the repository that a flag or a variable names, else the one that the file itself names,
    // else the working directory.
    let own = lines.iter().find(|line| line.key == "repo");
    let own = own.and_then(|line| line.values.first()).map(String::as_str);
    let tree = untrusted_tree(path, given("repo").or(own).unwrap_or("."), &environment.folder);
    let mut readings = Vec::new();
    let mut seen = BTreeMap::new();
    let mut rejected = Vec::new();
    for line in &lines {
        // The reader does not reject duplicate keys.
        if let Some(first) = seen.insert(line.key.as_str(), &line.place) {
            readings.push(Reading::mistake(&line.place, format!("`{}` is already set at {first}", line.key)));
        } else if tree.is_some() && decides_trust(line) {
            // A pull request could otherwise redirect secrets.
            rejected.push(line);
        } else {
            readings.extend(read_line(line));
        }
    }
    if let Some(tree) = tree.filter(|_| !rejected.is_empty()) {
        readings.push(untrusted(path, &tree, &rejected));
    }
    (readings, rejected.iter().map(|line| line.key.clone()).collect())
}

fn read_line(line: &FileLine) -> Option<Reading> {
    let known = settings().iter().find(|setting| setting.name == line.key);
    let Some(setting) = known.filter(|setting| setting.key.is_some()) else {
        return Some(Reading::mistake(&line.place, unknown_key(&line.key, known)));
    };
    let of_key = |place: &str| format!("{place}: `{}`", line.key);
    // Somebody who lists nothing does not mean everything. `windows`, a list of mappings, is empty by default.
    if setting.is_list() && !setting.is_nested() && line.values.iter().all(|value| value.trim().is_empty()) {
        return Some(Reading::mistake(of_key(&line.place), empty_list(setting)));
    }
    let parts = line.parts.iter().map(|(text, place)| (text.clone(), of_key(place))).collect();
    (!line.values.is_empty()).then(|| match Reading::values(setting, of_key(&line.place), &line.values) {
        Reading::Value(value) => Reading::Value(Sourced { parts, ..value }),
        mistake => mistake,
    })
}

/// Returns the message for a list without values.
fn empty_list(setting: &SettingInfo) -> String {
    let default = setting.default.as_str();
    format!(
        "the list is empty: give at least one value, or remove the key for the default, which is {default}"
    )
}

/// Returns the mistake of settings that the file at `path` must not set, because it is in the work tree
/// `tree`.
fn untrusted(path: &Path, tree: &Path, lines: &[&FileLine]) -> Reading {
    let keys: Vec<String> =
        lines.iter().map(|line| format!("`{}` (line {})", line.key, line.number())).collect();
    let why = format!(
        "the file is in the work tree of the repository `{}`, where a pull request could redirect secrets, so it must \
         not set {}; move the file out of the repository, for example to `/etc/gitoggle/config.yaml`, or give these \
         settings as flags or variables",
        tree.display(),
        keys.join(", ")
    );
    Reading::mistake(path.display().to_string(), why)
}

impl Merged {
    pub(crate) fn report(&mut self, place: impl Into<String>, why: impl Into<String>) {
        self.errors.push(ConfigError::new(place, why));
    }

    /// Returns the place that sets `name`, if any.
    pub(crate) fn place(&self, name: &str) -> Option<String> {
        self.given.get(name).map(|given| given.place.clone())
    }

    fn reject_secrets_set_twice(&mut self) {
        for setting in settings().iter().filter(|setting| setting.is_secret()) {
            let file = format!("{}_file", setting.name);
            if let (Some(value), Some(file)) = (self.given.get(setting.name), self.given.get(file.as_str())) {
                let why = format!("{} also sets this secret; keep one of them", value.place);
                let place = file.place.clone();
                self.report(place, why);
            }
        }
    }
}

/// Returns whether a line sets where secrets and data go, or which hosts to trust.
fn decides_trust(line: &FileLine) -> bool {
    let is_it = |setting: &SettingInfo| setting.key == Some(line.key.as_str()) && setting.is(Mark::Trusted);
    !line.values.is_empty() && settings().iter().any(is_it)
}

/// Returns the message for a key that the file must not have. Omits the value, which may be a secret.
fn unknown_key(key: &str, known: Option<&SettingInfo>) -> String {
    if let Some(setting) = known {
        let flag = setting.flag.as_deref().unwrap_or_default();
        return match setting.variable.as_deref() {
            Some(variable) if setting.is_secret() => secret_key(setting.name, variable),
            Some(variable) => format!("`{key}` cannot be set in a file; use {flag} or {variable}"),
            None => format!("`{key}` cannot be set in a file; use {flag}"),
        };
    }
    let keys = || settings().iter().filter_map(|setting| setting.key);
    let snake = key.replace('-', "_").to_lowercase();
    let positive = snake.strip_prefix("no_").filter(|rest| keys().any(|key| key == *rest));
    if let Some(positive) = positive {
        return format!("unknown setting `{key}`; write `{positive}: false`");
    }
    match closest(&snake, keys()) {
        Some(near) => format!("unknown setting `{key}`; did you mean `{near}`?"),
        None => format!("unknown setting `{key}`"),
    }
}

fn secret_key(name: &str, variable: &str) -> String {
    let file = format!("{name}_file");
    if settings().iter().any(|setting| setting.name == file) {
        format!("`{name}` is a secret and must not be in this file; use {variable}, or `{file}`")
    } else {
        format!("`{name}` is a secret and must not be in this file; use {variable}")
    }
}

fn is_unknown(name: &str) -> bool {
    // Kubernetes sets these variables in every container if a service of the namespace is named gitoggle.
    let kubernetes = ["GITOGGLE_PORT", "GITOGGLE_SERVICE_HOST", "GITOGGLE_SERVICE_PORT"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')));
    let known = settings().iter().any(|setting| setting.variable.as_deref() == Some(name));
    !kubernetes && !known
}

fn unknown_variable(name: &str) -> String {
    let word = name.trim_start_matches("GITOGGLE_").to_lowercase();
    let flag_only = settings().iter().find(|setting| setting.variable.is_none() && setting.name == word);
    if let Some(flag) = flag_only.and_then(|setting| setting.flag.as_deref()) {
        return format!("{name} is ignored: it is only a flag, {flag}");
    }
    let positive = word.strip_prefix("no_").unwrap_or(&word);
    let names = settings().iter().filter(|setting| setting.variable.is_some()).map(|setting| setting.name);
    match closest(positive, names) {
        Some(near) => format!("{} is unknown and ignored; did you mean {}?", escaped(name), variable(near)),
        None => format!("{} is unknown and ignored", escaped(name)),
    }
}

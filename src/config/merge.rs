//! Flags over variables over the file, and every mistake in any of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::definition::{SettingInfo, Shape, suggestion, variable};
use super::file::{self, Line};
use super::mistake::Mistake;
use super::table::{Settings, settings};
use super::trust::Trust;
use crate::model::escaped;

/// What flags say, by the name of the setting; a switch says `true` or `false`.
pub type Flags = BTreeMap<String, Vec<String>>;

/// What settings are looked up in, besides flags.
#[derive(Clone, Debug)]
pub struct World {
    /// The environment's variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The folder that relative paths are relative to.
    pub folder: PathBuf,
    /// The platform's folder for state, where there is one.
    pub state_home: Option<PathBuf>,
}

impl World {
    /// Returns the world of this process.
    ///
    /// # Errors
    /// When the process has no current folder any more.
    pub fn of_process() -> std::io::Result<Self> {
        Ok(Self {
            variables: std::env::vars_os().collect(),
            folder: std::env::current_dir()?,
            state_home: state_home(),
        })
    }
}

/// The platform's folder for state. Without HOME there is none: the password file of a container often names a
/// folder that is not there or belongs to someone else.
fn state_home() -> Option<PathBuf> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(unix) && !is_set("HOME") && !is_set("XDG_STATE_HOME") {
        return None;
    }
    let platform = etcetera::choose_base_strategy().ok()?;
    Some(platform.state_dir().unwrap_or_else(|| platform.data_dir()))
}

/// What sets a setting, and its place.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) text: String,
    pub(crate) place: String,
}

/// Everything that was given, merged.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) settings: Settings,
    pub(crate) given: BTreeMap<&'static str, Given>,
    pub(crate) mistakes: Vec<Mistake>,
    /// Keys that the file must not set, and so are not missing either.
    pub(crate) refused: BTreeSet<String>,
    pub(crate) warnings: Vec<String>,
}

/// Reads all three sources. What a stronger one overrides is checked all the same.
pub(crate) fn merge(flags: &Flags, world: &World) -> Merged {
    let mut merged = Merged {
        settings: Settings::defaults(),
        given: BTreeMap::new(),
        mistakes: Vec::new(),
        refused: BTreeSet::new(),
        warnings: Vec::new(),
    };
    merged.take_flags(flags);
    merged.take_variables(&world.variables);
    merged.take_file(world);
    merged.refuse_two_homes_of_a_secret();
    merged
}

impl Merged {
    fn take(&mut self, setting: &SettingInfo, place: String, said: &[String]) {
        let is_given = self.given.contains_key(setting.name);
        let text = match (said, setting.shape) {
            (_, Shape::Texts(_)) => said.join(" "),
            ([one], _) => one.clone(),
            _ => return self.report(place, "give one value, not a list"),
        };
        let mut overridden = is_given.then(|| self.settings.clone());
        let target = overridden.as_mut().unwrap_or(&mut self.settings);
        match target.set(setting.name, &text) {
            Ok(()) if is_given => {}
            Ok(()) => {
                self.given.insert(setting.name, Given { text, place });
            }
            Err(why) => self.report(place, why),
        }
    }

    pub(crate) fn report(&mut self, place: impl Into<String>, why: impl Into<String>) {
        self.mistakes.push(Mistake::new(place, why));
    }

    /// Returns the place that sets the setting `name`, if any does.
    pub(crate) fn place(&self, name: &str) -> Option<String> {
        self.given.get(name).map(|given| given.place.clone())
    }

    fn take_flags(&mut self, flags: &Flags) {
        for setting in settings() {
            let Some(said) = flags.get(setting.name) else {
                continue;
            };
            let flag = setting.flag.clone().unwrap_or_default();
            match said.iter().any(|text| text.trim().is_empty()) {
                true => self.report(flag, "it is empty"),
                false => self.take(setting, flag, said),
            }
        }
    }

    fn take_variables(&mut self, variables: &[(OsString, OsString)]) {
        let ours: BTreeMap<String, &OsString> = variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
            .filter(|(name, value)| name.starts_with("GITOGGLE_") && !value.is_empty())
            .collect();
        for setting in settings() {
            let Some(name) = &setting.variable else {
                continue;
            };
            match ours.get(name).map(|value| value.to_str()) {
                None => {}
                Some(Some(value)) => self.take(setting, name.clone(), &[value.to_owned()]),
                Some(None) => self.report(name, "it is not UTF-8"),
            }
        }
        let unknown = ours.keys().filter(|name| is_unknown(name));
        self.warnings.extend(unknown.map(|name| unknown_variable(name)));
    }

    fn take_file(&mut self, world: &World) {
        let Some(path) = self.settings.config.clone() else {
            return;
        };
        let lines = match file::read(&world.folder.join(&path)) {
            Ok(lines) => lines,
            Err(mistake) => return self.mistakes.push(mistake),
        };
        let trust = self.trust(&path, &lines, &world.folder);
        let mut seen = BTreeMap::new();
        let mut refused = Vec::new();
        for line in &lines {
            if let Some(first) = seen.insert(line.key.as_str(), &line.place) {
                let why = format!("`{}` stands here again, after {first}", line.key);
                self.report(&line.place, why);
            } else if matches!(trust, Trust::FromSource(_)) && decides_about_trust(line) {
                self.refused.insert(line.key.clone());
                refused.push(line);
            } else {
                self.take_line(line);
            }
        }
        if let (Trust::FromSource(tree), false) = (&trust, refused.is_empty()) {
            self.refuse(&path, tree, &refused);
        }
    }

    /// Decides how far the file at `path` is believed. The source is the repository that a flag or a variable names, else
    /// the one that the file itself names, else the working directory.
    fn trust(&self, path: &Path, lines: &[Line], folder: &Path) -> Trust {
        let given = self.given.get("repo").map(|given| given.text.as_str());
        let own = lines.iter().find(|line| line.key == "repo");
        let own = own.and_then(|line| line.said.first()).map(String::as_str);
        Trust::of(path, given.or(own).unwrap_or("."), folder)
    }

    /// Reports the settings that the file at `path` must not decide, because it lies in the repository at `tree`.
    fn refuse(&mut self, path: &Path, tree: &Path, lines: &[&Line]) {
        let keys: Vec<String> = lines
            .iter()
            .map(|line| format!("`{}` (line {})", line.key, line.number()))
            .collect();
        let why = format!(
            "this file lies in the work tree of the repository `{}`, and people who can change it there must not decide \
             where secrets go or whom to trust: {}; move the file out of the repository, such as to \
             `/etc/gitoggle/config.yaml`, or give these settings as flags or variables",
            tree.display(),
            keys.join(", ")
        );
        self.report(path.display().to_string(), why);
    }

    fn take_line(&mut self, line: &Line) {
        let place = format!("{}: `{}`", line.place, line.key);
        let known = settings().iter().find(|setting| setting.name == line.key);
        let Some(setting) = known.filter(|setting| setting.key.is_some()) else {
            return self
                .mistakes
                .push(Mistake::new(&line.place, unknown_key(&line.key, known)));
        };
        if line.said.is_empty() {
            return;
        }
        self.take(setting, place, &line.said);
    }

    fn refuse_two_homes_of_a_secret(&mut self) {
        for setting in settings()
            .iter()
            .filter(|setting| matches!(setting.shape, Shape::Secret))
        {
            let file = format!("{}_file", setting.name);
            if let (Some(value), Some(file)) = (self.given.get(setting.name), self.given.get(file.as_str())) {
                let why = format!("{} gives this secret too; keep one of them", value.place);
                let place = file.place.clone();
                self.report(place, why);
            }
        }
    }
}

/// Whether a line sets where secrets and data go, or whom to trust.
fn decides_about_trust(line: &Line) -> bool {
    let mut settings = settings().iter();
    let is_it = |setting: &&SettingInfo| setting.key == Some(line.key.as_str()) && setting.decides_trust;
    !line.said.is_empty() && settings.any(|setting| is_it(&setting))
}

/// Says what is wrong with a key that is none, without its value: it may be a secret.
fn unknown_key(key: &str, known: Option<&SettingInfo>) -> String {
    if let Some(setting) = known {
        return match (
            setting.shape,
            setting.variable.as_deref(),
            setting.flag.as_deref(),
        ) {
            (Shape::Secret, Some(variable), _) => secret_key(setting.name, variable),
            (_, variable, Some(flag)) => {
                let or = variable
                    .map(|variable| format!(" or {variable}"))
                    .unwrap_or_default();
                format!("`{key}` cannot be set in a file; use {flag}{or}")
            }
            _ => format!("`{key}` cannot be set in a file"),
        };
    }
    let keys = || settings().iter().filter_map(|setting| setting.key);
    let snake = key.replace('-', "_").to_lowercase();
    let positive = snake
        .strip_prefix("no_")
        .filter(|rest| keys().any(|key| key == *rest));
    if let Some(positive) = positive {
        return format!("there is no setting `{key}`; write `{positive}: false`");
    }
    match suggestion(&snake, keys()) {
        Some(near) => format!("there is no setting `{key}`; did you mean `{near}`?"),
        None => format!("there is no setting `{key}`"),
    }
}

fn secret_key(name: &str, variable: &str) -> String {
    let file = format!("{name}_file");
    match settings().iter().any(|setting| setting.name == file) {
        true => format!("`{name}` is a secret and must not be in this file; use {variable}, or `{file}`"),
        false => format!("`{name}` is a secret and must not be in this file; use {variable}"),
    }
}

/// Kubernetes gives every container variables about the services of its namespace, and one may be called gitoggle.
fn is_unknown(name: &str) -> bool {
    let kubernetes = ["GITOGGLE_PORT", "GITOGGLE_SERVICE_HOST", "GITOGGLE_SERVICE_PORT"]
        .iter()
        .any(|prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        });
    let known = settings()
        .iter()
        .any(|setting| setting.variable.as_deref() == Some(name));
    !kubernetes && !known
}

fn unknown_variable(name: &str) -> String {
    let word = name.trim_start_matches("GITOGGLE_").to_lowercase();
    let flag_only = settings()
        .iter()
        .find(|setting| setting.variable.is_none() && setting.name == word);
    if let Some(flag) = flag_only.and_then(|setting| setting.flag.as_deref()) {
        return format!("{name} is ignored: it is only a flag, {flag}");
    }
    let positive = word.strip_prefix("no_").unwrap_or(&word);
    let names = settings()
        .iter()
        .filter(|setting| setting.variable.is_some())
        .map(|setting| setting.name);
    match suggestion(positive, names) {
        Some(near) => format!(
            "{} is unknown and ignored; did you mean {}?",
            escaped(name),
            variable(near)
        ),
        None => format!("{} is unknown and ignored", escaped(name)),
    }
}

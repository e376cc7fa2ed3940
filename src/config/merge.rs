//! Flags over variables over the file, and every mistake in any of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::definition::{Reach, SettingInfo, Shape, settings, suggestion, variable};
use super::file::{self, Line};
use super::mistake::Mistake;
use super::trust::Trust;
use super::value::Value;
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

/// A value and where it was said.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) place: String,
}

/// Everything that was said.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) given: BTreeMap<&'static str, Given>,
    pub(crate) mistakes: Vec<Mistake>,
    pub(crate) warnings: Vec<String>,
}

/// Reads all three sources. What a stronger one overrides is checked all the same.
pub(crate) fn merge(flags: &Flags, world: &World) -> Merged {
    let mut merged = Merged::default();
    merged.take_flags(flags);
    merged.take_variables(&world.variables);
    merged.take_file(world);
    merged.refuse_two_homes_of_a_secret();
    merged
}

impl Merged {
    fn take(&mut self, setting: &SettingInfo, place: String, said: &[String]) {
        match setting.shape.parse(said) {
            Ok(value) => {
                self.given.entry(setting.name).or_insert(Given { value, place });
            }
            Err(why) => self.mistakes.push(Mistake::new(place, why)),
        }
    }

    fn take_flags(&mut self, flags: &Flags) {
        for setting in settings() {
            let Some(said) = flags.get(setting.name) else {
                continue;
            };
            let flag = setting.flag.clone().unwrap_or_default();
            match said.iter().any(|text| text.trim().is_empty()) {
                true => self.mistakes.push(Mistake::new(flag, "it is empty")),
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
                Some(None) => self.mistakes.push(Mistake::new(name, "it is not UTF-8")),
            }
        }
        let unknown = ours.keys().filter(|name| is_unknown(name));
        self.warnings.extend(unknown.map(|name| unknown_variable(name)));
    }

    fn take_file(&mut self, world: &World) {
        let Some(Value::Path(path)) = self.given.get("config").map(|given| given.value.clone()) else {
            return;
        };
        let lines = match file::read(&world.folder.join(&path)) {
            Ok(lines) => lines,
            Err(mistake) => return self.mistakes.push(mistake),
        };
        let trust = self.trust(&path, &lines, &world.folder);
        let mut seen = BTreeMap::new();
        for line in &lines {
            if let Some(first) = seen.insert(line.key.as_str(), &line.place) {
                let why = format!("`{}` stands here again, after {first}", line.key);
                self.mistakes.push(Mistake::new(&line.place, why));
                continue;
            }
            self.take_line(line, trust);
        }
    }

    /// A file is believed only when it is outside the source by every account, its own included.
    fn trust(&self, path: &Path, lines: &[Line], folder: &Path) -> Trust {
        let given = match self.given.get("repo").map(|given| &given.value) {
            Some(Value::Text(repo)) => Some(repo.as_str()),
            _ => None,
        };
        let own = lines
            .iter()
            .find(|line| line.key == "repo")
            .and_then(|line| line.said.first());
        let repos = match given {
            Some(repo) => vec![repo],
            // A file cannot free itself by naming another repository; but `/`, in which services start, is no source.
            None => (own.is_none() || folder.parent().is_some())
                .then_some(".")
                .into_iter()
                .chain(own.map(String::as_str))
                .collect(),
        };
        match repos
            .iter()
            .all(|repo| Trust::of(path, repo, folder) == Trust::Trusted)
        {
            true => Trust::Trusted,
            false => Trust::FromSource,
        }
    }

    fn take_line(&mut self, line: &Line, trust: Trust) {
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
        if trust == Trust::FromSource && setting.reach == Reach::Trust {
            let why = "this file lies in the source's work tree, and whoever can change it there must not decide \
                       where secrets go or whom to trust; use a flag, a variable or a file elsewhere";
            return self.mistakes.push(Mistake::new(place, why));
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
                self.mistakes.push(Mistake::new(&file.place, why));
            }
        }
    }
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

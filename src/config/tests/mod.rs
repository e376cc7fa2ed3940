//! Tests settings as a whole: precedence, and the error messages.

mod trust;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

/// One invocation: flags, variables and a file outside of any source.
struct Case {
    command: Command,
    flags: Flags,
    variables: Vec<(OsString, OsString)>,
    file: String,
}

impl Case {
    fn new(command: Command) -> Self {
        Self { command, flags: Flags::new(), variables: Vec::new(), file: String::new() }
    }

    fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.entry(name.to_owned()).or_default().push(value.to_owned());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn file(mut self, text: &str) -> Self {
        self.file.push_str(text);
        self
    }

    /// Loads with the file at `place`; the working directory is a repository `repo`.
    fn load_at(mut self, place: &str) -> Result<LoadedSettings, ConfigErrors> {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["elsewhere", "repo/.git"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let path = dir.path().join(place);
        std::fs::write(&path, &self.file).unwrap();
        self.flags.insert("config".to_owned(), vec![path.to_str().unwrap().to_owned()]);
        let environment = ProcessEnvironment {
            variables: self.variables,
            folder: dir.path().join("repo"),
            state_home: Some(PathBuf::from("/state")),
        };
        let shorter = |text: &str| text.replace(&path.to_str().unwrap().to_owned(), "FILE");
        load(self.command, &self.flags, &environment).map_err(|errors| {
            let shorter = |m: &ConfigError| ConfigError::new(shorter(&m.place), shorter(&m.message));
            ConfigErrors { errors: errors.all().iter().map(shorter).collect(), ..errors }
        })
    }

    fn load(self) -> Result<LoadedSettings, ConfigErrors> {
        self.load_at("elsewhere/c.yaml")
    }

    fn settings(self) -> Settings {
        self.load().unwrap().settings
    }

    fn errors(self) -> String {
        self.load().unwrap_err().to_string()
    }
}

#[test]
fn every_command_loads_with_only_its_required_settings() {
    for command in Command::ALL {
        let needed = Case::new(command)
            .variable("GITOGGLE_BASE_URL", "https://t.example")
            .variable("GITOGGLE_TOKEN", "hunter2")
            .variable("GITOGGLE_SERVICE_KIND", "featureprobe");
        assert!(needed.load().is_ok(), "{command:?}");
        let bare = Case::new(command).load();
        let needs_service = command.contacts_service() || command == Command::Import;
        assert_eq!(bare.is_ok(), !needs_service, "{command:?}");
    }
    assert_eq!(
        Case::new(Command::Apply).errors(),
        "2 configuration errors\n  \
         base url: missing; give --base-url, GITOGGLE_BASE_URL or the key `base_url`\n  \
         token: missing; give GITOGGLE_TOKEN or --token-file"
    );
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    for (flag, variable, file, expected) in [
        (None, None, None, 30),
        (None, None, Some("1s"), 1),
        (None, Some("2s"), Some("1s"), 2),
        (Some("3s"), Some("2s"), Some("1s"), 3),
        (Some("3s"), None, None, 3),
        (None, Some(""), Some("1s"), 1),
        (None, Some(""), None, 30),
    ] {
        let mut case = Case::new(Command::Plan);
        if let Some(flag) = flag {
            case = case.flag("poll_interval", flag);
        }
        if let Some(variable) = variable {
            case = case.variable("GITOGGLE_POLL_INTERVAL", variable);
        }
        if let Some(file) = file {
            case = case.file(&format!("poll_interval: {file}\n"));
        }
        let settings = case.settings();
        assert_eq!(settings.poll_interval, Duration::from_secs(expected));
        assert_eq!(settings.unready_after(), Duration::from_secs(expected * 10));
    }
}

#[test]
fn a_list_is_separated_by_white_space_and_replaced_as_a_whole() {
    let file = "only: [a/**, b/**]\n";
    let both = Case::new(Command::Plan).file(file);
    assert_eq!(both.settings().only.globs(), ["a/**", "b/**"]);
    let variable = Case::new(Command::Plan).file(file).variable("GITOGGLE_ONLY", " c/** \n d/** ");
    assert_eq!(variable.settings().only.globs(), ["c/**", "d/**"]);
    let flags = Case::new(Command::Plan).file(file).flag("only", "e/**").flag("only", "f/**");
    assert_eq!(flags.settings().only.globs(), ["e/**", "f/**"]);
}

/// Whoever lists nothing must not get everything.
#[test]
fn an_empty_list_is_an_error_of_every_list_wherever_it_is_written() {
    let lists = settings().iter().filter(|setting| setting.is_list() && !setting.is_nested());
    let names: Vec<&str> = lists.clone().map(|setting| setting.name).collect();
    assert_eq!(names, ["only", "sdks"]);
    for setting in lists {
        let name = setting.name;
        for text in ["[]", "", "~", "null", "\"\"", "\n  # - a\n"] {
            let errors = Case::new(Command::Plan).file(&format!("{name}: {text}\n")).errors();
            assert!(errors.contains(&format!("`{name}`: the list is empty: ")), "{name}: {text}\n{errors}");
            assert!(errors.contains(&setting.default), "{errors}");
        }
        for text in ["['']", "[' ']"] {
            let errors = Case::new(Command::Plan).file(&format!("{name}: {text}\n")).errors();
            assert!(errors.contains(&format!("`{name}`: ")), "{name}: {text}\n{errors}");
        }
        let errors = Case::new(Command::Plan).flag(name, "").errors();
        assert!(errors.contains("the value is empty"), "{errors}");
        // An empty variable is the same as none.
        let variable = format!("GITOGGLE_{}", name.to_uppercase());
        Case::new(Command::Plan).variable(&variable, "").settings();
    }
    for text in ["[]", "~"] {
        Case::new(Command::Plan).file(&format!("windows: {text}\n")).settings();
    }
}

#[test]
fn the_errors_of_all_sources_are_in_one_message() {
    let case = Case::new(Command::Run)
        .flag("max_change_ratio", "30")
        .flag("ref", "")
        .variable("GITOGGLE_BASE_URL", "http://me:hunter2@t.example")
        .variable("GITOGGLE_MAX_IN_FLIGHT", "0")
        .variable("GITOGGLE_GIT_PASSWORD", "hunter2")
        .file("pol_interval: 5s\ntimeout: 5\ntoken: hunter2\ngit_password_file: /p\nno_allow_trailer: true\n")
        .file("config: x\nallow_mass_change: true\nfirst-parent: true\non_remove: delete\nonly: a{\n")
        .file("timeout: 5s\nmax_change_ratio: 2\n");
    let expected = "\
17 configuration errors
  --ref: the value is empty
  --max-change-ratio: `30` is not a number between 0 and 1; write `0.3` for 30 %
  GITOGGLE_BASE_URL: the URL must not contain a user or password
  GITOGGLE_MAX_IN_FLIGHT: `0` is not a whole number of at least 1
  FILE:1:1: unknown setting `pol_interval`; did you mean `poll_interval`?
  FILE:2:1: `timeout`: `5` needs a unit: write `5s`, `5m` or `5h`
  FILE:3:1: `token` is a secret and must not be in this file; use GITOGGLE_TOKEN, or `token_file`
  FILE:5:1: unknown setting `no_allow_trailer`; write `allow_trailer: false`
  FILE:6:1: `config` cannot be set in a file; use --config or GITOGGLE_CONFIG
  FILE:7:1: `allow_mass_change` cannot be set in a file; use --allow-mass-change
  FILE:8:1: unknown setting `first-parent`; did you mean `first_parent`?
  FILE:9:1: `on_remove`: `delete` is none of `keep`, `disable`, `forget`
  FILE:10:1: `only`: `a{` is not a valid glob over `project/environment/toggle`
  FILE:11:1: `timeout` is already set at FILE:2:1
  FILE:12:1: `max_change_ratio`: `2` is not a number between 0 and 1; write `0.3` for 30 %
  FILE:4:1: `git_password_file`: GITOGGLE_GIT_PASSWORD also sets this secret; keep one of them
  token: missing; give GITOGGLE_TOKEN or --token-file";
    assert_eq!(case.errors(), expected);
}

#[test]
fn a_rejected_key_is_not_also_reported_as_missing() {
    let case = Case::new(Command::Apply)
        .variable("GITOGGLE_TOKEN", "hunter2")
        .file("base_url: https://t.example\ntoken_file: /t\nroot: x\n");
    let error = case.load_at("repo/c.yaml").unwrap_err();
    assert_eq!(error.all().len(), 1, "{error}");
    assert!(error.to_string().contains("`base_url` (line 1), `token_file` (line 2)"), "{error}");
}

#[test]
fn featureprobe_stores_comments_of_1024_characters() {
    for (kind, chars, accepted) in
        [("documented", "2000", true), ("featureprobe", "1024", true), ("featureprobe", "1025", false)]
    {
        let case =
            Case::new(Command::Plan).flag("service_kind", kind).variable("GITOGGLE_COMMENT_MAX_CHARS", chars);
        assert_eq!(case.load().is_ok(), accepted, "{kind} {chars}");
    }
}

#[test]
fn an_unknown_variable_causes_a_warning_unless_kubernetes_sets_it() {
    let loaded = Case::new(Command::Plan)
        .variable("GITOGGLE_BASEURL", "https://t.example")
        .variable("GITOGGLE_ALLOW_MASS_CHANGE", "true")
        .variable("GITOGGLE_NO_ALLOW_TRAILER", "true")
        .variable("GITOGGLE_SERVICE_HOST", "10.0.0.1")
        .variable("GITOGGLE_PORT_8077_TCP_ADDR", "10.0.0.1")
        .variable("OTHER", "x")
        .load()
        .unwrap();
    assert_eq!(
        loaded.warnings,
        [
            "GITOGGLE_ALLOW_MASS_CHANGE is ignored: it is only a flag, --allow-mass-change",
            "GITOGGLE_BASEURL is unknown and ignored; did you mean GITOGGLE_BASE_URL?",
            "GITOGGLE_NO_ALLOW_TRAILER is unknown and ignored; did you mean GITOGGLE_ALLOW_TRAILER?",
        ]
    );
}

#[test]
fn without_a_home_folder_the_state_folder_is_required() {
    let environment =
        ProcessEnvironment { variables: Vec::new(), folder: PathBuf::from("/"), state_home: None };
    let error = load(Command::Plan, &Flags::new(), &environment).unwrap_err();
    assert!(error.to_string().contains("give --state-dir"), "{error}");
    assert!(load(Command::Validate, &Flags::new(), &environment).is_ok());
    let flags = Flags::from([("state_dir".to_owned(), vec!["/s".to_owned()])]);
    let loaded = load(Command::Plan, &flags, &environment).unwrap();
    assert_eq!(loaded.settings.state_dir.as_deref(), Some(Path::new("/s")));
}

#[test]
fn a_layout_setting_is_parsed_as_a_layout() {
    let case = |layout| Case::new(Command::Plan).variable("GITOGGLE_LAYOUT", layout);
    let settings = case("toggles/{environment}/{project}/{toggle}.yaml").settings();
    assert_eq!(settings.layout.to_string(), "toggles/{environment}/{project}/{toggle}.yaml");
    assert!(case("{project}/{toggle}.yaml").errors().starts_with("GITOGGLE_LAYOUT: "));
}

#[test]
fn the_example_names_every_key_with_its_default_and_loads() {
    let example = include_str!("../../../examples/config.yaml");
    let loaded = Case::new(Command::Plan).file(example).settings();
    let defaults = Case::new(Command::Plan).settings();
    let shown = |settings: &Settings| {
        // Given explicitly, `history: follow` means more than the default does.
        let settings = Settings { config: None, state_dir: None, ..settings.clone() };
        format!("{settings:?}")
    };
    assert_eq!(shown(&loaded), shown(&defaults));
    for setting in settings().iter().filter(|setting| setting.key.is_some()) {
        let active = setting.preset().map(|value| format!("\n{}: {value}", setting.name));
        let quoted = setting.preset().map(|value| format!("\n{}: \"{value}\"", setting.name));
        let commented = format!("\n# {}: ", setting.name);
        let named =
            [active, quoted, Some(commented)].into_iter().flatten().any(|line| example.contains(&line));
        assert!(named, "{}", setting.name);
    }
}

#[test]
fn every_setting_has_a_unique_name_a_short_help_and_a_valid_default() {
    let mut names = std::collections::BTreeSet::new();
    for setting in settings() {
        assert!(names.insert(setting.name), "{}", setting.name);
        assert!(!setting.help.ends_with('.') && setting.help.len() <= 70, "{}", setting.help);
        assert!(setting.more.is_empty() || setting.more.ends_with('.'), "{}", setting.more);
        if let Some(preset) = setting.preset().filter(|preset| !preset.is_empty()) {
            assert!(Settings::parse([(setting, preset)]).is_ok(), "{}", setting.name);
        }
    }
}

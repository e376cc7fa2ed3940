//! Completes merged settings and checks them against each other.

use std::path::Path;

use super::ConfigErrors;
use super::command::Command;
use super::definition::{Mark, SettingInfo, settings, variable};
use super::folders::{state_dir, untrusted_tree, work_trees};
use super::merge::{Flags, Merged, ProcessEnvironment, merge};
use super::settings::{FORGE, Settings};
use super::values::StateRemote;
use crate::model::{ServiceKind, escaped, unmatchable_advice};

#[derive(Clone, Debug)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// Sentences about ignored input, such as unknown variables. They contain no secrets.
    pub warnings: Vec<String>,
}

/// Loads the settings of `command` from flags, variables and the file.
///
/// # Errors
/// [`ConfigErrors`] contains all invalid and missing settings.
pub fn load(
    command: Command,
    flags: &Flags,
    environment: &ProcessEnvironment,
) -> Result<LoadedSettings, ConfigErrors> {
    let mut merged = merge(flags, environment);
    merged.require(command);
    merged.set_state_dir(command, environment);
    merged.set_dependent_defaults();
    merged.reject_keys_in_the_source(command, environment);
    merged.reject_half_ranges();
    merged.reject_hopeless_globs();
    merged.reject_long_comments();
    merged.reject_blind_reads(command);
    merged.reject_decisions_about_live_state();
    merged.note_idle_sdks(command);
    let Merged { settings, errors, warnings, .. } = merged;
    match errors.is_empty() {
        true => Ok(LoadedSettings { settings, warnings }),
        false => Err(ConfigErrors { errors, output: settings.output }),
    }
}

/// Returns the settings about a forge if those of the whole invocation are invalid; all others have their
/// defaults. Returns `None` if they are invalid as well, or if the file could name another host for the
/// token.
pub fn forge_settings(flags: &Flags, environment: &ProcessEnvironment) -> Option<Settings> {
    let names: Vec<&SettingInfo> =
        settings().iter().filter(|setting| setting.heading() == FORGE || setting.name == "ca_file").collect();
    let mut flags_only = flags.clone();
    flags_only.retain(|name, _| names.iter().any(|setting| setting.name == name));
    let mut variables_only = environment.clone();
    variables_only.variables.retain(|(name, _)| {
        let mut known = names.iter().filter_map(|setting| setting.variable.as_deref());
        known.any(|known| name == known)
    });
    let Merged { settings, errors, .. } = merge(&flags_only, &variables_only);
    let has_file = flags.contains_key("config")
        || environment.variables.iter().any(|(name, _)| name == variable("config").as_str());
    let is_safe = settings.forge_token.is_none() || settings.forge_url.is_some() || !has_file;
    (errors.is_empty() && is_safe).then_some(settings)
}

impl Merged {
    fn require(&mut self, command: Command) {
        if !self.settings.uses_service(command) {
            return;
        }
        if command == Command::Import && !self.settings.service_kind.can().read_live {
            // The other settings are not missing if the answer is `--from`.
            let why = format!(
                "`import` reads the service only with `--service-kind {}`; otherwise, give its JSON with `--from`",
                ServiceKind::words_with(|can| can.read_live)
            );
            let place = self.place("service_kind").unwrap_or_else(|| "service kind".to_owned());
            return self.report(place, why);
        }
        for (names, message) in [
            (["base_url", "base_url"], "missing; give --base-url, GITOGGLE_BASE_URL or the key `base_url`"),
            (["token", "token_file"], "missing; give GITOGGLE_TOKEN or --token-file"),
        ] {
            // A rejected value is not also reported as missing.
            let is_rejected = names.iter().any(|name| self.rejected.contains(*name))
                || self.errors.iter().any(|error| mentions(&error.place, names));
            if !is_rejected && names.iter().all(|name| !self.given.contains_key(name)) {
                self.report(names[0].replace('_', " "), message);
            }
        }
    }

    /// Rejects flags about revisions that contradict each other.
    fn reject_half_ranges(&mut self) {
        let settings = &self.settings;
        // A malformed revision is reported once.
        let (from, request) =
            (settings.from_revision.is_some() || self.is_malformed("--from"), settings.pull_request);
        let (to, target) = (settings.to.is_some(), settings.target.is_some());
        let compares = from || request;
        // A variable or the file sets the ref of `apply`, which a comparison does not use.
        let reference = self.place("ref").filter(|place| place.starts_with("--"));
        let is_url = settings.repo.local_path().is_none();
        for (is_wrong, flag, why) in [
            (from && request, "--from", "cannot be used with --pull-request, which finds both revisions"),
            (to && request, "--to", "cannot be used with --pull-request, which finds both revisions"),
            (to && !from && !request, "--to", "needs --from, the revision to compare with"),
            (target && !request, "--target", "needs --pull-request"),
            (
                settings.all_findings && !compares,
                "--all-findings",
                "needs --from or --pull-request; `gitoggle validate` checks all files",
            ),
            (from && reference.is_some(), "--ref", "cannot be used with --from; pass the revision as --to"),
            (
                request && reference.is_some(),
                "--ref",
                "cannot be used with --pull-request, which plans the commit of the job",
            ),
            (
                compares && settings.read_by().is_some(),
                settings.read_by().unwrap_or_default(),
                "compares with the service, which a plan of two revisions does not contact",
            ),
            (
                compares && is_url,
                "--repo",
                "only a repository on this machine can be compared at two revisions; clone it, and pass the folder",
            ),
        ] {
            if is_wrong {
                self.report(flag, why);
            }
        }
    }

    fn is_malformed(&self, flag: &str) -> bool {
        self.errors.iter().any(|error| error.place == flag)
    }

    fn set_state_dir(&mut self, command: Command, environment: &ProcessEnvironment) {
        // A comparison of revisions needs no state, so it also works without a home folder.
        if self.settings.compares_revisions() || self.is_malformed("--from") {
            return;
        }
        if let Some(dir) = &self.settings.state_dir {
            let tree = work_trees(&environment.folder.join(dir)).into_iter().next();
            if let Some(tree) = tree.filter(|_| command.reads_state()) {
                let why = format!(
                    "the folder is in the work tree of the repository `{}`; choose one outside any repository, because \
                     state must survive `git clean` and must not be committed",
                    tree.display()
                );
                self.report(self.place("state_dir").unwrap_or_default(), why);
            }
        } else if let Some(home) = &environment.state_home {
            let repo = &self.settings.repo;
            let given = self.given.get("repo").map_or(".", |given| &given.text);
            self.settings.state_dir = Some(state_dir(home, repo, given, &environment.folder));
        } else if command.reads_state() {
            let why = "HOME is not set; give --state-dir or set HOME";
            self.report("state dir", why);
        }
    }

    /// Rejects files of trusted keys to which a pull request could add a key.
    fn reject_keys_in_the_source(&mut self, command: Command, environment: &ProcessEnvironment) {
        let repo = self.given.get("repo").map_or(".", |given| given.text.as_str());
        let is_used =
            |setting: &&SettingInfo| setting.is(Mark::Keys) && setting.commands().contains(&command);
        let files = settings().iter().filter(is_used).filter_map(|setting| self.given.get(setting.name));
        let rejected = files.filter_map(|given| {
            let tree = untrusted_tree(Path::new(&given.text), repo, &environment.folder)?;
            let why = format!(
                "the file is in the work tree of the repository `{}`, where a pull request could add a key; move it out of \
                 the repository, for example to `/etc/gitoggle/`",
                tree.display()
            );
            Some((given.place.clone(), why))
        });
        for (place, why) in rejected.collect::<Vec<_>>() {
            self.report(place, why);
        }
    }

    /// Sets defaults that depend on other settings.
    fn set_dependent_defaults(&mut self) {
        let settings = &mut self.settings;
        // A URL source is its own origin.
        if settings.state_remote == Some(StateRemote::Origin) && settings.repo.local_path().is_none() {
            settings.state_remote = Some(StateRemote::Url(settings.repo.clone()));
        }
    }

    /// Rejects globs that cannot match any toggle.
    fn reject_hopeless_globs(&mut self) {
        let place = self.place("only").unwrap_or_default();
        let globs: Vec<String> = self.settings.only.unmatchable().collect();
        for glob in globs {
            let why = format!("`{}` matches no toggle: {}", escaped(&glob), unmatchable_advice(&glob));
            self.report(&place, why);
        }
    }

    /// Rejects a read of a service that offers no way to read it.
    fn reject_blind_reads(&mut self, command: Command) {
        let place = match (command, self.settings.live) {
            (Command::Drift, _) => "drift",
            (_, true) => "--live",
            (_, false) => return,
        };
        if !self.settings.service_kind.can().read_live {
            let why = format!(
                "a service with only the documented endpoint cannot be read; needs `--service-kind {}`",
                ServiceKind::words_with(|can| can.read_live)
            );
            self.report(place, why);
        }
    }

    /// Says that `sdks` warns of nothing: what SDKs make of a document is known for FeatureProbe only.
    fn note_idle_sdks(&mut self, command: Command) {
        let Settings { sdks, service_kind, .. } = &self.settings;
        // They evaluate as the first SDK does, whatever the service is.
        let evaluates = matches!(command, Command::Explain | Command::Test);
        if !sdks.is_all() && !service_kind.can().evaluate && !evaluates {
            let text = "`sdks` warns of nothing with `service_kind: documented`: what SDKs make of a document is known for \
                        `service_kind: featureprobe` only";
            self.warnings.push(text.to_owned());
        }
    }

    fn reject_long_comments(&mut self) {
        let kind = self.settings.service_kind;
        if let Some(longest) = kind.dialect().limits.map(|limits| limits.comment)
            && self.settings.comment_max_chars > longest
        {
            let place = self.place("comment_max_chars").unwrap_or_default();
            self.report(place, format!("must be at most {longest} with `service_kind: {}`", kind.as_str()));
        }
    }

    /// Rejects settings about the live state of toggles, which a documented service does not report.
    fn reject_decisions_about_live_state(&mut self) {
        if self.settings.service_kind.can().read_live {
            return;
        }
        let is_off = self.settings.drift_interval.is_zero();
        for setting in settings().iter().filter(|setting| setting.is(Mark::AboutLive)) {
            let (name, preset) = (setting.name, setting.preset());
            let given = self
                .given
                .get(name)
                .filter(|given| Some(given.text.as_str()) != preset && !(name == "drift_interval" && is_off));
            if let Some(place) = given.map(|given| given.place.clone()) {
                let why = format!(
                    "needs `--service-kind {}`: with `{}`, the service cannot be read",
                    ServiceKind::words_with(|can| can.read_live),
                    self.settings.service_kind.as_str()
                );
                self.report(place, why);
            }
        }
    }
}

fn mentions(place: &str, names: [&str; 2]) -> bool {
    names.iter().any(|name| {
        place == format!("--{}", name.replace('_', "-"))
            || place == variable(name)
            || place.ends_with(&format!("`{name}`"))
    })
}

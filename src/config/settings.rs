//! From what is given to settings that are complete and do not contradict each other.

use super::address::StateRemote;
use super::definition::{Command, variable};
use super::merge::{Flags, Merged, World, merge};
use super::mistake::Mistakes;
use super::place::state_dir;
use super::repository::work_trees;
use super::table::Settings;
use crate::model::ServiceKind;

/// Settings, and what to say about them.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// What is odd without being wrong, such as unknown variables. Safe to print.
    pub warnings: Vec<String>,
}

/// Merges what flags, variables and the file set for `command`.
///
/// # Errors
/// [`Mistakes`] holds everything that is wrong in any of them, and what is missing.
pub fn load(command: Command, flags: &Flags, world: &World) -> Result<Loaded, Mistakes> {
    let mut merged = merge(flags, world);
    merged.require(command);
    merged.keep_state(command, world);
    merged.settle();
    merged.refuse_hopeless_globs();
    merged.refuse_long_comments();
    let Merged {
        settings,
        mistakes,
        warnings,
        ..
    } = merged;
    match mistakes.is_empty() {
        true => Ok(Loaded { settings, warnings }),
        false => Err(Mistakes(mistakes)),
    }
}

impl Merged {
    fn require(&mut self, command: Command) {
        if !command.publishes() {
            return;
        }
        for (names, message) in [
            (
                ["base_url", "base_url"],
                "missing; give --base-url, GITOGGLE_BASE_URL or the key `base_url`",
            ),
            (
                ["token", "token_file"],
                "missing; give GITOGGLE_TOKEN or --token-file",
            ),
        ] {
            // A value that was refused is not missing.
            let refused = names.iter().any(|name| self.refused.contains(*name))
                || self
                    .mistakes
                    .iter()
                    .any(|mistake| mentions(&mistake.place, names));
            if !refused && names.iter().all(|name| !self.given.contains_key(name)) {
                self.report(names[0].replace('_', " "), message);
            }
        }
    }

    /// Determines the state folder. It has to outlast the work tree.
    fn keep_state(&mut self, command: Command, world: &World) {
        if let Some(dir) = &self.settings.state_dir {
            let tree = work_trees(&world.folder.join(dir)).into_iter().next();
            if let Some(tree) = tree.filter(|_| command.plans()) {
                let why = format!(
                    "this folder lies in the work tree of the repository `{}`; name one outside of any, because state \
                     must survive `git clean` and must not be committed",
                    tree.display()
                );
                self.report(self.place("state_dir").unwrap_or_default(), why);
            }
        } else if let Some(home) = &world.state_home {
            let repo = &self.settings.repo;
            let given = self.given.get("repo").map_or(".", |given| &given.text);
            self.settings.state_dir = Some(state_dir(home, repo, given, &world.folder));
        } else if command.plans() {
            let why = "there is no home folder to keep state in; give --state-dir or set HOME";
            self.report("state dir", why);
        }
    }

    /// Sets what follows from other settings.
    fn settle(&mut self) {
        let settings = &mut self.settings;
        if !self.given.contains_key("stale_after") {
            settings.stale_after = settings.poll_interval * 10;
        }
        if settings.state_remote == Some(StateRemote::Origin) && settings.repo.local_path().is_none() {
            settings.state_remote = Some(StateRemote::Url(settings.repo.clone()));
        }
    }

    /// Refuses globs that cannot match a toggle, whatever toggles there are.
    fn refuse_hopeless_globs(&mut self) {
        let place = self.place("only").unwrap_or_default();
        let globs: Vec<String> = self.settings.only.hopeless().map(str::to_owned).collect();
        for glob in globs {
            let why = format!(
                "`{glob}` matches no toggle: it is compared with all of `project/environment/toggle`, and `*` stops \
                 at a slash; `**` does not"
            );
            self.report(&place, why);
        }
    }

    /// FeatureProbe answers a longer comment with a 500, which looks like an outage.
    fn refuse_long_comments(&mut self) {
        const LONGEST: usize = 1024;
        let is_known = self.settings.service_kind == ServiceKind::FeatureProbe;
        if is_known && self.settings.comment_max_chars > LONGEST {
            let place = self.place("comment_max_chars").unwrap_or_default();
            let why =
                format!("with `service_kind: featureprobe`, a comment has at most {LONGEST} characters");
            self.report(place, why);
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

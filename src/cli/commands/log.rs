//! `gitoggle log`: prints the deployment history, without side effects.

use clap::Args;

use crate::cli::args::glob;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, note, print, print_json, show, step_summary};
use crate::cli::setup;
use crate::config::{OutputFormat, Settings};
use crate::model::{HistoryPage, Scope, ToggleId, closest, escaped, hinted};
use crate::pass::{Config, DeploymentQuery, HistoryReader, SharedState, name_subjects};
use crate::plan::hold::{STATE_LOST, state_lost_advice};
use crate::plan::{DeploymentLog, history_json};
use crate::report::{ANY_COMMENT, history_markdown, history_text};
use crate::source::CacheMode;
use crate::state::lost_environments;

/// Show what was deployed, when, and why
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Shows the deployment history: when each revision was applied, its subject, which toggles it \
                  changed and how, and who allowed it. Each line begins with what was done: create, update and \
                  disable were published; overwrite was published over a change made on the service; adopt, \
                  converge (the service had it already, as after an import) and record (same meaning) were recorded \
                  without a publish; forget dropped the toggle. Reads the state only: takes no lock, writes \
                  nothing, and never contacts the service."
)]
pub(crate) struct LogArgs {
    /// Show only the deployments of this toggle, or of those that this glob matches [--only]
    #[arg(value_name = "TOGGLE", value_parser = glob)]
    pub(crate) toggle: Option<String>,
    /// Show what each deployment changed
    #[arg(short, long)]
    pub(crate) patch: bool,
    /// Show at most this many deployments; 0 for all [20]
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = limit)]
    pub(crate) limit: usize,
}

fn limit(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{}` is not a number: write `20`, or `0` for all", escaped(text)))
}

/// The most toggles of a deployment that are read for an output with differences, except for JSON.
const MOST_READ: usize = 50;

/// The forms of the history.
pub(super) const FORMATS: Formats<ShownLog> = &[
    (OutputFormat::Human, |shown, settings| print(&shown.text(settings))),
    (OutputFormat::Json, |shown, _| print_json(&history_json(&shown.log))),
    (OutputFormat::Markdown, |shown, _| print(&history_markdown(&shown.log, ANY_COMMENT))),
    (OutputFormat::Github, |shown, _| step_summary(|limit| history_markdown(&shown.log, limit))),
];

/// The deployments, or the reason that there are none.
pub(super) struct ShownLog {
    log: DeploymentLog,
    nothing: Option<String>,
}

impl ShownLog {
    fn text(&self, settings: &Settings) -> String {
        match &self.nothing {
            Some(nothing) => nothing.clone(),
            None => history_text(&self.log, color(settings)) + &rest(&self.log.page),
        }
    }
}

pub(super) fn run(settings: &Settings, args: &LogArgs) -> Result<ExitStatus, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let scope = match &args.toggle {
        Some(toggle) => Scope::new(&[toggle]).map_err(Failure::failed)?,
        None => settings.only.clone(),
    };
    let query = DeploymentQuery {
        scope,
        before: None,
        limit: match args.limit {
            0 => usize::MAX,
            limit => limit,
        },
        most_toggles: match settings.output {
            OutputFormat::Json => usize::MAX,
            _ => MOST_READ,
        },
        budget: usize::MAX,
    };
    let history = HistoryReader::open(&config)?;
    let log = match &history {
        None => DeploymentLog::default(),
        Some(history) => read(history, &query, args, &config)?,
    };
    let nothing = history.is_none().then(|| nothing(&config));
    show(FORMATS, &ShownLog { log, nothing }, settings)?;
    Ok(ExitStatus::Clean)
}

fn read(
    history: &HistoryReader,
    query: &DeploymentQuery,
    args: &LogArgs,
    config: &Config,
) -> Result<DeploymentLog, Failure> {
    let mut page = history.page(query)?;
    if page.deployments.is_empty() && !query.scope.is_everything() {
        // A glob that matches nothing is more often a typing error (src/cli/README.md, "Never green by
        // accident").
        let every = if config.rules.policy.scope.is_everything() { "" } else { " --only '**'" };
        return Err(unknown(&query.scope.globs().join(" "), &history.applied()?, every));
    }
    if args.toggle.is_none() {
        note_idle_globs(&query.scope, &page, &history.applied()?)?;
    }
    name_subjects(&mut page, &config.source);
    let deployments = page.deployments.iter();
    let diffs = if args.patch {
        deployments
            .map(|deployment| history.diffs(deployment.commit, &deployment.toggles))
            .collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    Ok(DeploymentLog { page, diffs })
}

/// Notes the globs of `--only` that match nothing of the history, as far as it is shown.
fn note_idle_globs(only: &Scope, page: &HistoryPage, applied: &[ToggleId]) -> Result<(), Failure> {
    let deployed = page.deployments.iter().flat_map(|deployment| &deployment.toggles);
    let mut unmatched = only.unmatched();
    applied.iter().for_each(|id| unmatched.remove_matching(id.as_str()));
    deployed.for_each(|toggle| unmatched.remove_matching(toggle.id.as_str()));
    for glob in unmatched.globs() {
        let glob = escaped(&glob);
        note(&format!(
            "note: no applied toggle and no deployment shown matches the glob `{glob}` of `--only`\n"
        ))?;
    }
    Ok(())
}

/// Returns the error for a toggle that no deployment changed. `every` is the flag that lifts the scope of this run.
fn unknown(toggle: &str, applied: &[ToggleId], every: &str) -> Failure {
    let failure =
        Failure::new(ExitStatus::Failed, format!("no deployment changed a toggle `{}`", escaped(toggle)));
    let equal = |id: &ToggleId| id.as_str().split('/').zip(toggle.split('/')).filter(|(a, b)| a == b).count();
    let mut applied: Vec<&ToggleId> = applied.iter().collect();
    // Only the first candidates are compared.
    applied.sort_by_key(|id| std::cmp::Reverse(equal(id)));
    match closest(toggle, applied.into_iter().map(ToggleId::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("`gitoggle status --all{every}` lists the toggles")),
    }
}

/// Says that nothing was deployed, and where.
fn nothing(config: &Config) -> String {
    let dir = config.state_dir.to_string_lossy();
    if config.shared.is_none() && !lost_environments(&config.state_dir).is_empty() {
        return hinted(&format!(
            "No deployments: {STATE_LOST}; {}\n",
            state_lost_advice(&config.rules.policy)
        ))
        .into_owned();
    }
    let place = match &config.shared {
        Some(SharedState::At(remote)) => format!(
            "the shared state `{}` at `{}` has no record",
            escaped(&remote.name),
            escaped(&remote.remote.to_string())
        ),
        Some(SharedState::Origin(origin)) => {
            format!("the shared state `{}` at `origin` has no record", escaped(&origin.name))
        }
        None if config.state_dir.exists() => format!("the state folder `{}` has no record", escaped(&dir)),
        None => format!("the state folder `{}` does not exist", escaped(&dir)),
    };
    format!("No deployments yet: {place}\n")
}

fn rest(page: &HistoryPage) -> String {
    match page.next {
        None => String::new(),
        Some(_) => {
            let shown = page.deployments.len();
            format!("\nOnly the last {shown} are shown; `-n {}` shows more, `-n 0` all of them.\n", shown * 5)
        }
    }
}

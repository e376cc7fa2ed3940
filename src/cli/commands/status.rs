//! `gitoggle status`: prints the state of the toggles, without side effects.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::plan;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, note, print, print_json, show, step_summary};
use crate::cli::{runtime, setup};
use crate::config::{OutputFormat, Settings};
use crate::daemon::{self, Readiness, Status, StatusJson, ToggleState, ToggleStatus};
use crate::model::{HoldKind, counted, escaped};
use crate::plan::Plan;
use crate::report::{ANY_COMMENT, behind, code, fitting, quoted_notes, spans, wrapped};
use crate::source::CacheMode;

/// Show which toggles are not in sync, and why
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Shows which toggles are not in sync: pending, held, failed, drifted or an orphan, and why, with \
                  the applied revision. Counts all toggles; --all and -o json list them. Has no side effects, like \
                  plan."
)]
pub(crate) struct StatusArgs {
    /// List the toggles that are in sync as well
    #[arg(long)]
    pub(crate) all: bool,
}

/// The forms of the status.
pub(super) const FORMATS: Formats<ShownStatus> = &[
    (OutputFormat::Human, |shown, _| print(&text(shown))),
    (OutputFormat::Json, |shown, _| print_json(&shown.json())),
    (OutputFormat::Markdown, |shown, _| print(&shown.markdown(ANY_COMMENT))),
    (OutputFormat::Github, |shown, _| step_summary(|limit| shown.markdown(limit))),
];

/// The state of the toggles, and how much of it is printed.
pub(super) struct ShownStatus {
    status: Status,
    readiness: Readiness,
    notes: Vec<String>,
    lists_all: bool,
    /// Whether the service could have been read and was not.
    is_unread: bool,
}

impl ShownStatus {
    fn json(&self) -> StatusOutput<'_> {
        StatusOutput {
            version: 1,
            status: StatusJson::new(&self.status, &self.readiness),
            toggles: &self.status.toggles,
            notes: &self.notes,
        }
    }

    /// Formats the notes, and the toggles that are not in sync, as Markdown of at most `limit` bytes.
    fn markdown(&self, limit: usize) -> String {
        let status = &self.status;
        let Status { source, toggles, .. } = status;
        let mut head = format!("### gitoggle status\n\n{}\n\n{}", counts(self), code(&source.repo));
        if let (Some(reference), Some(revision)) = (&source.reference, source.revision) {
            let _ = write!(head, " {} {}", code(reference), code(&revision.short()));
        }
        head.push_str("\n\n");
        head.extend(quoted_notes(&self.notes));
        for (scope, suspension) in status.suspensions.iter() {
            let reason = suspension.reason.as_deref().unwrap_or("no reason given");
            let globs = scope.globs().map(|globs| format!(" {}", code(&globs)));
            let _ = writeln!(head, "* **suspended**{}: {}", globs.unwrap_or_default(), code(reason));
        }
        if let Some(failure) = &status.drift_failure {
            let _ = writeln!(head, "* **not compared**: {}", code(&failure.reason));
        }
        let behind = toggles.iter().filter(|toggle| toggle.state() != ToggleState::InSync);
        let rows = behind.map(|toggle| {
            let reason = toggle.reason().map_or_else(String::new, |reason| format!(": {}", spans(&reason)));
            format!("* **{}** {}{reason}\n", toggle.state().as_str(), code(toggle.toggle.as_str()))
        });
        fitting([head].into_iter().chain(rows), limit)
    }
}

pub(super) fn run(settings: &Settings, args: &StatusArgs) -> Result<ExitStatus, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let daemon::StatusReport { planned, status } = match settings.live {
        true => {
            let (_runtime, context) = runtime::for_reads()?;
            daemon::status_live(&config, &context)?
        }
        false => daemon::status(&config)?,
    };
    for text in &planned.notes {
        note(&format!("note: {text}\n"))?;
    }
    let readiness = readiness(&status);
    let is_unread = settings.service_kind.can().read_live && settings.read_by().is_none();
    let shown = ShownStatus { status, readiness, notes: planned.notes, lists_all: args.all, is_unread };
    show(FORMATS, &shown, settings)?;
    let status = &shown.status;
    // What waits for a decision on its first pass is held, however the last try ended.
    let is_first_pass = |toggle: &ToggleStatus| toggle.kind().is_some_and(HoldKind::is_first_pass);
    let mut toggles = status.toggles.iter();
    let failed = toggles.any(|toggle| toggle.state() == ToggleState::Failed && !is_first_pass(toggle));
    Ok(plan::held(&planned.plan)
        .and(plan::unread(&planned.plan))
        .and(ExitStatus::Held.when(!planned.plan.undecided().is_empty()))
        .and(held_last(&planned.plan, status))
        .and(ExitStatus::Failed.when(failed)))
}

/// Returns the status that follows from changes that the last pass held because of the live state of their
/// toggles.
fn held_last(plan: &Plan, status: &Status) -> ExitStatus {
    let is_held = |toggle: &ToggleStatus| {
        toggle.kind().is_some_and(HoldKind::is_live)
            && plan.changes().iter().any(|change| change.id == toggle.toggle)
    };
    ExitStatus::Held.when(status.toggles.iter().any(is_held))
}

#[derive(Serialize)]
struct StatusOutput<'a> {
    version: u32,
    #[serde(flatten)]
    status: StatusJson<'a>,
    toggles: &'a [ToggleStatus],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

/// Returns ready if every toggle is in sync.
fn readiness(status: &Status) -> Readiness {
    let behind = status.toggles.iter().filter(|toggle| toggle.state() != ToggleState::InSync).count();
    match behind {
        0 => Readiness::Ready,
        _ => Readiness::Unready(format!("not in sync: {}", counted(behind, "toggle"))),
    }
}

fn text(shown: &ShownStatus) -> String {
    let Status { source, suspensions, toggles, drift_failure, .. } = &shown.status;
    let mut text = escaped(&source.repo).to_string();
    if let (Some(reference), Some(revision)) = (&source.reference, source.revision) {
        let _ = write!(text, " {} at {}", escaped(reference), revision.short());
    }
    text.push('\n');
    for (scope, suspension) in suspensions.iter() {
        let reason = suspension.reason.as_deref().unwrap_or("no reason given");
        let globs = scope.globs().map(|globs| format!(" {globs}")).unwrap_or_default();
        let _ = writeln!(text, "suspended{}: {}", escaped(&globs), escaped(reason));
    }
    text += &rows(toggles, shown.lists_all);
    if let Some(failure) = drift_failure {
        let _ = writeln!(text, "{}", escaped(&failure.reason));
    }
    text + &counts(shown) + "\n"
}

fn rows(toggles: &[ToggleStatus], lists_all: bool) -> String {
    let is_listed = |toggle: &&ToggleStatus| lists_all || toggle.state() != ToggleState::InSync;
    let listed: Vec<&ToggleStatus> = toggles.iter().filter(is_listed).collect();
    let widths = listed.iter().map(|toggle| toggle.toggle.as_str().len());
    let width = widths.max().unwrap_or(0);
    let alike = listed.chunk_by(|a, b| a.hold == b.hold);
    alike.map(|toggles| rows_of(toggles, width)).collect()
}

/// Formats toggles that have the same state and reason. A reason that several share is printed once, below
/// them.
fn rows_of(toggles: &[&ToggleStatus], width: usize) -> String {
    /// That of the toggles.
    const INDENT: usize = 9;
    let mut text = String::new();
    for status in toggles {
        let (toggle, state) = (&status.toggle, status.state());
        let revision = status.revision;
        let revision = revision.map_or_else(|| "-".repeat(10), |revision| revision.short());
        let own = (toggles.len() == 1).then(|| status.reason()).flatten();
        let word = state.as_str().replace('_', " ");
        let row = format!("{word:<8} {toggle:<width$}  {revision}");
        let columns = row.chars().count();
        let reason = own.map(|reason| behind(&escaped(&reason).to_string(), columns, INDENT));
        let _ = writeln!(text, "{row}{}", reason.unwrap_or_default());
    }
    let shared = toggles[0].reason().filter(|_| toggles.len() > 1);
    if let Some(reason) = shared {
        let text_of_all = format!("all {}: {}", toggles.len(), escaped(&reason));
        let _ = writeln!(text, "{:INDENT$}{}", "", wrapped(&text_of_all, INDENT));
    }
    text
}

fn counts(shown: &ShownStatus) -> String {
    let toggles = &shown.status.toggles;
    let in_sync = toggles.iter().filter(|toggle| toggle.state() == ToggleState::InSync).count();
    let unread = match shown.is_unread && in_sync > 0 {
        true => " (the service was not read; `--live` reads it)",
        false => "",
    };
    let counts: Vec<String> = ToggleState::ALL
        .iter()
        .map(|state| (state, toggles.iter().filter(|toggle| toggle.state() == *state).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}", state.as_str().replace('_', " ")))
        .collect();
    format!(
        "{}{}{}{unread}",
        counted(toggles.len(), "toggle"),
        if counts.is_empty() { "" } else { ": " },
        counts.join(", ")
    )
}

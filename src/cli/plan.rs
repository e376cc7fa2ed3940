//! `gitoggle plan`: what would be published and why.

use serde::Serialize;

use super::args::Exit;
use super::failure::{Failure, Verdict};
use super::{color, note, print, setup, show};
use crate::config::{OutputFormat, Settings};
use crate::pass;
use crate::plan::{Plan, render};
use crate::source::CacheMode;

pub(super) fn run(settings: &Settings, files: pass::Files, exit: Exit) -> Result<Verdict, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let pass::Planned { plan, notes } = pass::plan(&config, files)?;
    for text in &notes {
        note(&format!("note: {text}\n"))?;
    }
    match settings.output {
        OutputFormat::Github => {
            print(&render::github(&plan))?;
            show::step_summary(&render::markdown(&plan))
        }
        OutputFormat::Human => print(&render::text(&plan, color(settings))),
        OutputFormat::Json => show::json(&Json {
            plan: render::json(&plan),
            notes: &notes,
        }),
        OutputFormat::Markdown => print(&render::markdown(&plan)),
    }?;
    Ok(verdict(&plan, exit))
}

/// The plan as JSON, and what the operator should know besides.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    plan: render::Json<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

/// Returns the verdict of `plan`. A first pass that nothing decides about is not an error of the pull request that adds
/// the environment; with `--detailed-exitcode` it counts as a change.
fn verdict(plan: &Plan, exit: Exit) -> Verdict {
    let is_changing = plan.has_changes() || plan.verdict().first_pass > 0;
    let changes = match exit {
        Exit::Detailed if is_changing => Verdict::Changes,
        Exit::Detailed | Exit::Plain => Verdict::Clean,
    };
    let held = match plan.has_held_besides_first_passes() {
        true => Verdict::Held,
        false => Verdict::Clean,
    };
    invalid(plan).and(held).and(changes)
}

/// Returns the verdict of a pass on its plan: invalid documents and holds.
pub(super) fn held(plan: &Plan) -> Verdict {
    let held = match plan.has_held() {
        true => Verdict::Held,
        false => Verdict::Clean,
    };
    invalid(plan).and(held)
}

/// Returns the verdict of a pass on its documents alone.
pub(super) fn invalid(plan: &Plan) -> Verdict {
    match plan.has_invalid() {
        true => Verdict::Invalid,
        false => Verdict::Clean,
    }
}

//! `gitoggle plan`: prints what would be published, and why.

use serde::Serialize;

use super::args::{AudienceArgs, PlanExit};
use super::failure::{ExitStatus, Failure};
use super::{audience, color, forge, links, note, print, pull_request, setup, show};
use crate::config::{OutputFormat, Settings};
use crate::pass::{self, FindingScope};
use crate::plan::Plan;
use crate::plan::render::{self, Links};
use crate::source::CacheMode;

/// The size of a comment, which begins with a marker of its own.
const COMMENT: usize = render::ANY_COMMENT - 1_000;

pub(super) fn run(
    settings: &Settings,
    files: pass::Files,
    exit: PlanExit,
    audience: Option<&AudienceArgs>,
) -> Result<ExitStatus, Failure> {
    let request = forge::request(settings)?;
    let pass::Planned { plan, notes, .. } = match pull_request::range(settings)? {
        Some(range) => {
            let findings = match settings.all_findings {
                false => FindingScope::Changed,
                true => FindingScope::All,
            };
            let source = setup::source(settings, CacheMode::Untouched);
            pass::plan_range(&source, &setup::rules(settings), &range, findings)?
        }
        None => {
            let config = setup::config(settings, CacheMode::Untouched)?;
            let mut planned = match settings.live {
                true => live(&config, files)?,
                false => pass::plan(&config, files)?,
            };
            if !planned.is_forward {
                planned.notes.extend(pull_request::hint());
            }
            planned
        }
    };
    for text in &notes {
        note(&format!("note: {text}\n"))?;
    }
    let users = audience
        .map(|args| audience::impact(&plan, files, args, settings))
        .transpose()?;
    let users = users.as_ref();
    match settings.output {
        OutputFormat::Github => {
            print(&render::github(&plan))?;
            let links = links(settings, files);
            show::step_summary(|limit| render::markdown(&plan, users, limit, links.as_ref()))
        }
        OutputFormat::Human => print(&render::text_for(&plan, users, color(settings))),
        OutputFormat::Json => show::json(&PlanOutput {
            plan: render::json_for(&plan, users),
            notes: &notes,
        }),
        OutputFormat::Gitlab => show::json(&render::code_quality(plan.findings())),
        OutputFormat::Junit => print(&render::junit_plan(&plan)),
        OutputFormat::Sarif => show::json(&render::sarif(plan.findings(), None)),
        OutputFormat::Markdown => print(&render::markdown(
            &plan,
            users,
            render::ANY_COMMENT,
            links(settings, files).as_ref(),
        )),
    }?;
    if let Some(request) = request {
        let links = links(settings, files);
        let page = render::markdown(&plan, users, COMMENT, links.as_ref());
        forge::comment(settings, request, &plan, &page)?;
    }
    Ok(status(&plan, exit).and(unread(&plan)))
}

/// Plans with what the service has now.
fn live(config: &pass::Config, files: pass::Files) -> Result<pass::Planned, Failure> {
    let (requests, context) = setup::requests()?;
    let runtime = pass::Runtime::Tokio(requests.handle().clone());
    Ok(pass::drift::plan_live(config, files, &context, &runtime)?)
}

/// Returns the status that follows from toggles that could not be read.
pub(super) fn unread(plan: &Plan) -> ExitStatus {
    match plan.drift().is_some_and(|drift| !drift.unread.is_empty()) {
        true => ExitStatus::Failed,
        false => ExitStatus::Clean,
    }
}

/// Returns the pages for links. Uncommitted files have none.
fn links(settings: &Settings, files: pass::Files) -> Option<Links> {
    match files {
        pass::Files::Committed => links::links(settings),
        pass::Files::WorkTree => None,
    }
}

/// The plan as JSON, with notes for the operator.
#[derive(Serialize)]
struct PlanOutput<'a> {
    #[serde(flatten)]
    plan: render::PlanJson<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

/// Returns the exit status of `plan`.
fn status(plan: &Plan, exit: PlanExit) -> ExitStatus {
    // An undecided first pass counts as a change, because its plan shows content to publish.
    let is_changing = plan.has_changes() || plan.counts().first_pass > 0;
    let changes = match exit {
        PlanExit::Detailed if is_changing => ExitStatus::Changes,
        PlanExit::Detailed | PlanExit::Plain => ExitStatus::Clean,
    };
    // Undecided first passes are excluded, so that the pull request that adds an environment passes its checks.
    let held = match plan.has_held_besides_first_passes() {
        true => ExitStatus::Held,
        false => ExitStatus::Clean,
    };
    invalid(plan).and(held).and(changes)
}

/// Returns the status that follows from the invalid documents and holds of a plan.
pub(super) fn held(plan: &Plan) -> ExitStatus {
    let held = match plan.has_held() {
        true => ExitStatus::Held,
        false => ExitStatus::Clean,
    };
    invalid(plan).and(held)
}

/// Returns the status that follows from the invalid documents of a plan.
pub(super) fn invalid(plan: &Plan) -> ExitStatus {
    match plan.has_invalid() {
        true => ExitStatus::Invalid,
        false => ExitStatus::Clean,
    }
}

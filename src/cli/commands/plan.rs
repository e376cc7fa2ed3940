//! `gitoggle plan`: prints what would be published, and why.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;

use crate::cli::audience::AudienceArgs;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::forge::{self, RequestTarget};
use crate::cli::output::{Formats, color, note, print, print_json, show, step_summary};
use crate::cli::{audience, runtime, setup};
use crate::config::{OutputFormat, Settings};
use crate::evaluate::UserImpact;
use crate::model::{Action, ToggleId, counted, escaped, shell_word};
use crate::pass::{self, RangeError};
use crate::plan::{Change, DriftReport, OnDrift, OnMissing, Plan, PlanJson, if_few, json_for};
use crate::report::{self, Links, PlanView};
use crate::source::CacheMode;

/// Show what would be published, and why
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Shows what would be published, and why. Takes no lock and writes nothing. May contact the Git \
                  hosts, but contacts the service only with --live or --overwrite-drift, and needs no token otherwise. \
                  With --pull-request, or with --from, compares two revisions of a local repository instead of the source \
                  with the state, and needs neither state nor network."
)]
pub(crate) struct PlanArgs {
    /// Read uncommitted files
    ///
    /// With --from HEAD, they are compared with the last commit, without state.
    #[arg(long, conflicts_with_all = ["to", "pull_request", "target"])]
    pub(crate) worktree: bool,
    /// Exit with 2 if there are changes
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    #[command(flatten)]
    pub(crate) audience: Option<AudienceArgs>,
}

/// The forms of a plan.
pub(super) const FORMATS: Formats<PlanPage> = &[
    (OutputFormat::Human, PlanPage::human),
    (OutputFormat::Json, PlanPage::json),
    (OutputFormat::Markdown, |page, _| print(&page.markdown(report::ANY_COMMENT))),
    (OutputFormat::Github, PlanPage::annotations),
    (OutputFormat::Gitlab, PlanPage::code_quality),
    (OutputFormat::Sarif, PlanPage::sarif),
    (OutputFormat::Junit, PlanPage::junit),
];

pub(super) fn run(settings: &Settings, args: &PlanArgs) -> Result<ExitStatus, Failure> {
    let files = if args.worktree { pass::Files::WorkTree } else { pass::Files::Committed };
    let request = forge::request(settings)?;
    let page = match (page(settings, files, args.audience.as_ref(), request.as_ref()), request) {
        (Err(failure), _) => return unable(settings, failure),
        (Ok(page), None) => show(FORMATS, &page, settings).map(|()| page)?,
        (Ok(page), Some(_)) if page.keeps_comment => show(FORMATS, &page, settings).map(|()| page)?,
        (Ok(page), Some(request)) => {
            let shown = show(FORMATS, &page, settings);
            // The comment is about the plan, which a full disk of the job does not change.
            forge::comment(settings, request, &page.plan, |limit| page.markdown(limit))?;
            shown.map(|()| page)?
        }
    };
    Ok(status(&page.plan, args.detailed_exitcode).and(unread(&page.plan)))
}

/// Returns the flags of this run that decide what is compared, and that other commands do not repeat.
fn comparison(settings: &Settings, files: pass::Files) -> String {
    let Settings { live, from_revision, to, pull_request, target, .. } = settings;
    let switches = [
        (*live, "--live"),
        (*pull_request, "--pull-request"),
        (files == pass::Files::WorkTree, "--worktree"),
    ];
    let values = [(from_revision, "--from"), (to, "--to"), (target, "--target")];
    let switches = switches.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| format!(" {flag}"));
    let values = values
        .into_iter()
        .filter_map(|(value, flag)| Some(format!(" {flag} {}", shell_word(value.as_deref()?))));
    switches.chain(values).collect()
}

/// Prints which toggles could not be read, which decides about the exit status, for a form without them.
fn note_unread(plan: &Plan) -> Result<(), Failure> {
    match plan.drift().and_then(DriftReport::failure) {
        Some(failure) => note(&format!("note: {}\n", escaped(&failure))),
        None => Ok(()),
    }
}

/// Reports a failure without a plan in the comment, too.
pub(in crate::cli) fn unable(settings: &Settings, failure: Failure) -> Result<ExitStatus, Failure> {
    let token = settings.forge_token.as_ref();
    // The failure may be that of the token, which would be reported twice.
    if token.is_none_or(|token| token.read().is_ok())
        && let Some(request) = forge::request(settings)?
    {
        forge::comment_failure(settings, request, &forge::key(settings), &failure)?;
    }
    Err(failure)
}

/// A plan and everything that is shown with it.
pub(super) struct PlanPage {
    plan: Plan,
    notes: Vec<String>,
    users: Option<UserImpact>,
    links: Option<Links>,
    /// The flags of [`comparison`].
    comparison: String,
    /// Whether it is not known what the comment should have.
    keeps_comment: bool,
}

fn page(
    settings: &Settings,
    files: pass::Files,
    audience: Option<&AudienceArgs>,
    request: Option<&RequestTarget>,
) -> Result<PlanPage, Failure> {
    let mut keeps_comment = false;
    let pass::Planned { plan, notes, .. } = match forge::range(settings)? {
        Some(range) => {
            let source = setup::source(settings, CacheMode::Untouched);
            let plan = |range: &pass::Range| {
                pass::plan_range(&source, &setup::rules(settings), range, files, settings.all_findings)
            };
            let mut planned = plan(&range)?;
            match forge::merged(settings, request, &range, &planned.plan).map(|merged| plan(&merged)) {
                Some(Err(pass::Error::Range(unknown @ RangeError::Merged))) => {
                    planned.notes.push(format!("{unknown}, so its comment stays as it is"));
                    keeps_comment = true;
                    planned
                }
                Some(merged) => merged?,
                None => planned,
            }
        }
        None => {
            let config = setup::config(settings, CacheMode::Untouched)?;
            let mut planned = if settings.read_by().is_some() {
                live(&config, files)?
            } else {
                pass::plan(&config, files)?
            };
            if !planned.is_forward {
                planned.notes.extend(forge::pull_request_hint());
            }
            planned.notes.extend(unread_note(settings, &planned.plan));
            planned.notes.extend(uncreated_note(settings, &planned.plan));
            planned
        }
    };
    for text in &notes {
        note(&format!("note: {text}\n"))?;
    }
    let users = audience.map(|args| audience::impact(&plan, files, args, settings)).transpose()?;
    let is_linked = settings.comment_on.is_some()
        || matches!(settings.output, OutputFormat::Github | OutputFormat::Markdown);
    // Uncommitted files have no pages.
    let links = (is_linked && files == pass::Files::Committed).then(|| forge::links(settings));
    let comparison = comparison(settings, files);
    Ok(PlanPage { plan, notes, users, links: links.flatten(), comparison, keeps_comment })
}

impl PlanPage {
    fn markdown(&self, limit: usize) -> String {
        let (users, links) = (self.users.as_ref(), self.links.as_ref());
        report::markdown(PlanView { plan: &self.plan, notes: &self.notes, users, links }, limit)
    }

    /// Returns the notes of a form that shows no users beside the changes, nor in a job summary.
    fn all_notes(&self) -> Vec<String> {
        let users = self.users.as_ref().map(report::user_notes).unwrap_or_default();
        self.notes.iter().cloned().chain(users).collect()
    }

    fn remarks(&self, settings: &Settings) -> Vec<report::Remark> {
        report::remarks(&self.plan, &self.all_notes(), &settings.root)
    }

    /// Prints that something is held, which decides about the exit status, for a form without holds.
    fn note_holds(&self) -> Result<(), Failure> {
        let Self { plan, comparison, .. } = self;
        if plan.has_held_besides_first_passes() {
            note(&format!("note: {}; `gitoggle plan{comparison}` shows why\n", plan.summary()))?;
        }
        Ok(())
    }

    fn human(&self, settings: &Settings) -> Result<(), Failure> {
        print(&report::text_for(&self.plan, self.users.as_ref(), color(settings)))
    }

    fn json(&self, _: &Settings) -> Result<(), Failure> {
        let plan = json_for(&self.plan, self.users.as_ref());
        print_json(&PlanOutput { plan, notes: &self.notes })
    }

    fn annotations(&self, settings: &Settings) -> Result<(), Failure> {
        print(&report::github(&self.plan, &self.notes, &settings.root))?;
        step_summary(|limit| self.markdown(limit))?;
        self.note_holds()?;
        note_unread(&self.plan)
    }

    fn code_quality(&self, settings: &Settings) -> Result<(), Failure> {
        print_json(&report::code_quality(self.plan.findings(), &self.remarks(settings), None))?;
        self.note_holds()?;
        note_unread(&self.plan)
    }

    fn sarif(&self, settings: &Settings) -> Result<(), Failure> {
        print_json(&report::sarif(self.plan.findings(), &self.remarks(settings), None))?;
        self.note_holds()?;
        note_unread(&self.plan)
    }

    fn junit(&self, _: &Settings) -> Result<(), Failure> {
        print(&report::junit_plan(&self.plan, &self.all_notes()))?;
        note_unread(&self.plan)
    }
}

/// Returns how to see what an asserted first pass replaces, unless the service was read.
fn unread_note(settings: &Settings, plan: &Plan) -> Option<String> {
    let may_read = settings.service_kind.can().read_live && settings.on_drift != OnDrift::Ignore;
    let replaces = |change: &Change| change.overwrite.is_asserted() && change.action != Action::Adopt;
    let replaces = plan.changes().iter().any(replaces);
    (may_read && replaces && plan.drift().is_none()).then(|| {
        "an asserted first pass replaces what the service has; `gitoggle plan --live` lists it".to_owned()
    })
}

/// Returns which changes a pass holds if the service does not have their toggles, which only the service shows.
fn uncreated_note(settings: &Settings, plan: &Plan) -> Option<String> {
    let may_create = settings.service_kind.can().read_live
        && settings.on_drift != OnDrift::Ignore
        && settings.on_missing == OnMissing::Create;
    let changes = plan.requests().filter(|change| change.action != Action::Disable);
    let untold = changes.filter_map(|change| Some((&change.id, plan.untold(&change.id)?)));
    let (uncreated, untold): (Vec<&ToggleId>, BTreeSet<&str>) = untold.unzip();
    (may_create && !uncreated.is_empty() && plan.drift().is_none()).then(|| {
        format!(
            "{}{} {} held if the service does not have the toggle: its documents do not tell its {}; `gitoggle plan --live` \
             shows which",
            counted(uncreated.len(), "change"),
            if_few(&uncreated),
            if uncreated.len() == 1 { "is" } else { "are" },
            untold.into_iter().collect::<Vec<_>>().join(" or "),
        )
    })
}

fn live(config: &pass::Config, files: pass::Files) -> Result<pass::Planned, Failure> {
    let (_runtime, context) = runtime::for_reads()?;
    Ok(crate::drift::plan_live(config, files, &context)?)
}

/// Returns the status that follows from toggles that could not be read.
pub(super) fn unread(plan: &Plan) -> ExitStatus {
    ExitStatus::Failed.when(plan.drift().is_some_and(|drift| !drift.unread.is_empty()))
}

#[derive(Serialize)]
struct PlanOutput<'a> {
    #[serde(flatten)]
    plan: PlanJson<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

fn status(plan: &Plan, detailed_exitcode: bool) -> ExitStatus {
    // An undecided first pass counts as a change, because its plan shows content to publish.
    let is_changing = plan.has_changes() || plan.counts().first_pass > 0;
    let changes = ExitStatus::Changes.when(detailed_exitcode && is_changing);
    // Undecided first passes are excluded, so that the pull request that adds an environment passes its
    // checks.
    //
    // What cannot be merged is not published by anybody's decision, so a conflict is not hidden by a hold.
    let is_held = plan.has_held_besides_first_passes() && !plan.has_conflict();
    let held = ExitStatus::Held.when(is_held);
    invalid(plan).and(held).and(changes)
}

/// Returns the status that follows from the invalid documents and holds of a plan.
pub(super) fn held(plan: &Plan) -> ExitStatus {
    invalid(plan).and(ExitStatus::Held.when(plan.has_held()))
}

/// Returns the status that follows from the invalid documents of a plan.
pub(super) fn invalid(plan: &Plan) -> ExitStatus {
    ExitStatus::Invalid.when(plan.has_invalid())
}

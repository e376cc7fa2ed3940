//! The audience of `plan --audience`: counts the users whom changes affect. `Lookup` finds the documents for
//! it, and for `explain` and `test`.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments of arguments are help texts, which name defaults in brackets"
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::time;
use super::failure::Failure;
use super::{setup, targets};
use crate::config::Settings;
use crate::evaluate::{Audience, UserImpact, count_users};
use crate::model::{CommitId, Payload, ReturnType, ToggleId, escaped};
use crate::pass::{self, CheckTarget, DocumentFiles, Files};
use crate::plan::{Before, Change, Dependents, Plan};
use crate::source::{CacheMode, SourceConfig};

/// The audience of `plan`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Users")]
pub(crate) struct AudienceArgs {
    /// Count how many of these users each change affects: JSON lines or CSV
    #[arg(long = "audience", value_name = "FILE", required = false)]
    pub(crate) file: PathBuf,
    /// Evaluate the audience at this time, such as 2024-12-31T23:59:59Z [now]
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "file")]
    pub(crate) at: Option<i64>,
}

/// Counts the users of a file whom the changes of `plan` affect, withheld ones included.
pub(super) fn impact(
    plan: &Plan,
    files: Files,
    args: &AudienceArgs,
    settings: &Settings,
) -> Result<UserImpact, Failure> {
    let unreadable = |error| unreadable(&args.file, error);
    let file = File::open(&args.file).map_err(unreadable)?;
    let audience = compile(plan, files, settings)?;
    let tally = count_users(&audience, file, args.at).map_err(unreadable)?.map_err(Failure::failed)?;
    let impact = audience.impact(&tally);
    // A plan for an audience of nobody must not look as if no user were affected (src/evaluate/README.md,
    // "Rules").
    match impact.users.users {
        0 => Err(empty(&args.file, &impact)),
        _ => Ok(impact),
    }
}

fn compile(plan: &Plan, files: Files, settings: &Settings) -> Result<Audience, Failure> {
    let withheld = plan.withheld().iter().filter_map(|withheld| withheld.change.as_deref());
    let all = plan.changes().iter().chain(withheld);
    let mut changes: BTreeMap<_, _> = all.clone().map(sides).collect();
    // The revision of the plan, because the ref may have moved since.
    let revision = |commit: &CommitId| {
        CheckTarget::Revision(Box::new(SourceConfig {
            reference: Some(commit.to_string()),
            ..setup::source(settings, CacheMode::Untouched)
        }))
    };
    let target = match files {
        Files::Committed => revision(&plan.source().revision),
        Files::WorkTree => targets::everything(settings)?,
    };
    // A toggle whose file was removed or is invalid keeps its version before.
    let base = plan.source().base.as_ref().map(|base| revision(&base.revisions[0]));
    let mut others = OtherToggles {
        places: [Some(target), base].into_iter().flatten().map(|target| (target, None)).collect(),
        settings,
        error: None,
    };
    // What a toggle serves changes with those that it needs.
    for id in all.filter_map(|change| Some((change, change.needed_by()?))).flat_map(needing) {
        if !changes.contains_key(&id)
            && let Some(payload) = plan.kept(&id).cloned().or_else(|| others.find(&id))
        {
            changes.insert(id, (Ok(Some(payload.clone())), payload));
        }
    }
    let find = |id: &ToggleId| plan.kept(id).cloned().or_else(|| others.find(id));
    let audience = Audience::new(&changes, find, settings.sdks.first());
    others.error.map_or(Ok(audience), Err)
}

/// Returns the toggles that need that of a change.
fn needing<'a>((change, dependents): (&'a Change, &'a Dependents)) -> impl Iterator<Item = ToggleId> + 'a {
    let id = &change.id;
    dependents.all().filter_map(|(key, _)| ToggleId::new(id.project(), id.environment_key(), key).ok())
}

/// Returns a toggle with its targeting before and after its change.
fn sides(change: &Change) -> (ToggleId, (Result<Option<Payload>, ()>, Payload)) {
    let before = match &change.before {
        Before::Unreadable => Err(()),
        before => Ok(before.payload().cloned()),
    };
    (change.id.clone(), (before, change.payload.clone()))
}

/// The toggles that do not change, which prerequisites may name. Their files are listed only if one is
/// needed.
struct OtherToggles<'a> {
    /// Where to look for a document. The first place that has a valid one counts.
    places: Vec<(CheckTarget, Option<DocumentFiles>)>,
    settings: &'a Settings,
    error: Option<Failure>,
}

impl OtherToggles<'_> {
    fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        let Self { places, settings, error } = self;
        places.iter_mut().find_map(|(target, opened)| {
            if opened.is_none() {
                match DocumentFiles::open(target, &settings.layout, settings.service_kind) {
                    Ok(files) => *opened = Some(files),
                    Err(failed) => {
                        error.get_or_insert(failed.into());
                    }
                }
            }
            let mut lookup = Lookup::new(opened.as_ref()?);
            let found = lookup.find(id);
            if let Err(failed) = lookup.finish() {
                error.get_or_insert(failed);
            }
            found
        })
    }
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let path = path.to_string_lossy();
    Failure::could_not(format!("read the audience `{}`", escaped(&path)))(error)
}

fn empty(path: &Path, impact: &UserImpact) -> Failure {
    let path = path.to_string_lossy();
    let failure = Failure::failed(format!("the audience `{}` has no user", escaped(&path)));
    match impact.users.first_broken.first() {
        Some(broken) => failure.hint(format!("line {}: {}", broken.line, broken.reason)),
        None => {
            failure.hint("write one JSON object per line, or CSV with a header, with a `key` and attributes")
        }
    }
}

/// Returns the types that the documents of a toggle have in all environments; none if one cannot be read.
pub(super) fn types(documents: &DocumentFiles, id: &ToggleId) -> Option<Vec<ReturnType>> {
    let is_same = |other: &&ToggleId| (other.project(), other.toggle()) == (id.project(), id.toggle());
    documents
        .toggles()
        .filter(is_same)
        .map(|other| documents.read(other).ok()??.document.outline.kind)
        .collect()
}

/// Finds valid documents, and keeps the first error of a read.
pub(super) struct Lookup<'a> {
    documents: &'a DocumentFiles,
    error: Option<pass::Error>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(documents: &'a DocumentFiles) -> Self {
        let error = None;
        Self { documents, error }
    }

    pub(super) fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        match self.documents.read(id) {
            Ok(found) => found?.document.payload,
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

//! `plan --audience`: counts whom the changes of a plan affect. Streams the file.

mod chunks;
mod users;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use chunks::{Chunks, LineFormat};
use users::{Header, count_csv, count_json};

use super::args::AudienceArgs;
use super::explain::Lookup;
use super::failure::Failure;
use super::{setup, validate};
use crate::config::Settings;
use crate::evaluate::{Audience, Tally, UserImpact};
use crate::model::{CommitId, Payload, ToggleId, escaped};
use crate::pass::{CheckTarget, DocumentFiles, Files};
use crate::plan::{Before, Change, Plan};
use crate::source::{CacheMode, SourceConfig};

/// Counts the users of a file whom the changes of `plan` affect, withheld ones included.
pub(super) fn impact(
    plan: &Plan,
    files: Files,
    args: &AudienceArgs,
    settings: &Settings,
) -> Result<UserImpact, Failure> {
    let file = File::open(&args.file).map_err(|error| unreadable(&args.file, error))?;
    let audience = compile(plan, files, settings)?;
    let tally = stream(&audience, file, args)?;
    let impact = audience.impact(&tally);
    // A plan for an audience of nobody must not look as if no user were affected (DESIGN, section 3).
    match impact.users.users {
        0 => Err(empty(&args.file, &impact)),
        _ => Ok(impact),
    }
}

fn compile(plan: &Plan, files: Files, settings: &Settings) -> Result<Audience, Failure> {
    let withheld = plan.withheld().iter().filter_map(|withheld| withheld.change.as_deref());
    let changes: BTreeMap<_, _> = plan.changes().iter().chain(withheld).map(sides).collect();
    // The revision of the plan, because the ref may have moved since.
    let revision = |commit: &CommitId| {
        CheckTarget::Revision(Box::new(SourceConfig {
            reference: Some(commit.to_string()),
            ..setup::source(settings, CacheMode::Untouched)
        }))
    };
    let target = match files {
        Files::Committed => revision(&plan.source().revision),
        Files::WorkTree => validate::everything(settings)?,
    };
    // A toggle whose file was removed or is invalid keeps its version before.
    let base = plan.source().base.as_ref().map(|base| revision(&base.revisions[0]));
    let mut others = OtherToggles {
        places: [Some(target), base].into_iter().flatten().map(|target| (target, None)).collect(),
        settings,
        error: None,
    };
    let audience = Audience::new(&changes, |id| others.find(id));
    others.error.map_or(Ok(audience), Err)
}

/// Returns a toggle with its targeting before and after its change.
fn sides(change: &Change) -> (ToggleId, (Result<Option<Payload>, ()>, Payload)) {
    let before = match &change.before {
        Before::Unreadable => Err(()),
        before => Ok(before.payload().cloned()),
    };
    (change.id.clone(), (before, change.payload.clone()))
}

/// The toggles that do not change, which prerequisites may name. Their files are listed only if one is needed.
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

/// Counts all users of a file.
fn stream(audience: &Audience, file: File, args: &AudienceArgs) -> Result<Tally, Failure> {
    let read_error = |error| unreadable(&args.file, error);
    let mut chunks = Chunks::new(file).map_err(read_error)?;
    let header = match chunks.format() {
        LineFormat::Csv => Some(Header::read(&mut chunks).map_err(read_error)?.map_err(Failure::failed)?),
        LineFormat::Json => None,
    };
    let (mut tally, mut person) = (audience.tally(), audience.person(args.at));
    while let Some(chunk) = chunks.next_chunk().map_err(read_error)? {
        match &header {
            Some(header) => count_csv(&chunk, header, audience, &mut person, &mut tally),
            None => count_json(&chunk, audience, &mut person, &mut tally),
        }
        for (line, reason) in &chunk.broken {
            tally.broken(*line, (*reason).to_owned());
        }
    }
    Ok(tally)
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
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

//! `gitoggle explain`: traces one user through a toggle. It needs no network, state or token.

mod explanation;
mod text;

pub(super) use explanation::{Explanation, Subject, label};
pub(super) use text::text;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::args::ExplainArgs;
use super::failure::{ExitStatus, Failure};
use super::{note, print, show, validate};
use crate::config::{OutputFormat, Settings};
use crate::document;
use crate::evaluate::{Compiler, Definitions};
use crate::model::{Payload, Targeting, ToggleId, closest, escaped};
use crate::pass::{DocumentFiles, ReadDocument};

pub(super) fn run(settings: &Settings, args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let attributes = attributes(args)?;
    let target = validate::everything(settings)?;
    let documents = DocumentFiles::open(&target, &settings.layout, settings.service_kind)?;
    let found = documents
        .read(&args.toggle)?
        .ok_or_else(|| unknown(&args.toggle, &documents))?;
    let targeting = valid(&args.toggle, &found)?;
    let mut compiler = Compiler::default();
    let mut lookup = Lookup::new(&documents);
    let index = compiler.toggle(&args.toggle, &mut Definitions::new(|id| lookup.find(id)));
    lookup.finish()?;
    let index = index.expect("the document of the toggle is valid");
    let evaluator = compiler.finish();
    let now = args.at.unwrap_or_else(now);
    let mut person = evaluator.person(Some(now));
    person.reset(args.key.as_deref());
    for (name, value) in &attributes {
        person.set(name, value);
    }
    let trace = evaluator.trace(index, &person);
    let explanation = Explanation::new(
        &Subject {
            id: &args.toggle,
            path: &found.path,
            targeting: &targeting,
            key: args.key.as_deref(),
            attributes: &attributes,
            at: Some(now),
        },
        &trace,
    );
    match settings.output {
        OutputFormat::Human => print(&text(&explanation))?,
        OutputFormat::Json => show::json(&explanation.versioned())?,
        _ => return Err(super::unsupported_output(settings.output)),
    }
    Ok(ExitStatus::Clean)
}

fn attributes(args: &ExplainArgs) -> Result<Attributes, Failure> {
    let mut attributes = Attributes::new();
    for (name, value) in &args.attributes {
        if attributes.insert(name.clone(), value.clone()).is_some() {
            let message = format!("the attribute `{}` is given twice", escaped(name));
            return Err(Failure::new(ExitStatus::Usage, message).hint("give each `--attr` once"));
        }
    }
    Ok(attributes)
}

/// Returns the current time in seconds since 1970-01-01 UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn unknown(id: &ToggleId, documents: &DocumentFiles) -> Failure {
    let failure = Failure::failed(format!("there is no document for `{id}`"));
    // Toggles of the same environment come first, because the suggestion looks at a limited number.
    let (near, far): (Vec<_>, Vec<_>) = documents
        .toggles()
        .partition(|other| other.is_in(&id.environment()));
    let candidates = near.into_iter().chain(far).map(ToggleId::as_str);
    match closest(id.as_str(), candidates) {
        Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
        None => failure.hint(
            "check the name, `--root` and `--layout`; `gitoggle validate` shows whether documents are found",
        ),
    }
}

/// Returns the targeting of a document, or prints its findings.
fn valid(id: &ToggleId, found: &ReadDocument) -> Result<Targeting, Failure> {
    if let Some(payload) = &found.document.payload {
        return Ok(payload.targeting());
    }
    note(&document::render(
        &found.document.diagnostics,
        crate::model::Color::Never,
    ))?;
    Err(Failure::new(
        ExitStatus::Invalid,
        format!("the document of `{id}` is invalid, so it cannot be evaluated"),
    ))
}

/// Finds valid documents, and keeps the first error of a read.
pub(super) struct Lookup<'a> {
    documents: &'a DocumentFiles,
    error: Option<crate::pass::Error>,
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

    /// Returns the error of a read.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// A user's attributes by name.
pub(super) type Attributes = BTreeMap<String, String>;

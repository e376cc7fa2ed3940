//! `gitoggle explain`: traces one user through a toggle. Needs no service, state or token.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use crate::cli::args::{attribute, time};
use crate::cli::audience::{Lookup, types};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, note, print, print_json, show};
use crate::cli::suggested::{SuggestedToggle, suggested, swapped};
use crate::cli::targets;
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Severity};
use crate::evaluate::{Compiler, Definitions};
use crate::model::{Color, EnvironmentId, Scope, Targeting, ToggleId, escaped};
use crate::pass::{self, CheckTarget, Checks, DocumentFiles, ReadDocument};
use crate::report::{Explanation, Subject};

/// Explain what a user is served
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Traces one user through the rules of a toggle: which conditions match, which do not and why, and \
                  what is served. Evaluates by the rules of the first SDK in `sdks`, which is FeatureProbe's Rust SDK, from \
                  2.3, unless the setting says otherwise. Names what the other SDKs serve where that differs and is known, \
                  and the conditions about which they may differ. Needs no base URL, network or token."
)]
pub(crate) struct ExplainArgs {
    /// The toggle, written project/environment/toggle
    #[arg(value_name = "TOGGLE")]
    pub(crate) toggle: ToggleId,
    /// Give the user this attribute; repeat it for others
    #[arg(long = "attr", value_name = "NAME=VALUE", value_parser = attribute)]
    pub(crate) attributes: Vec<(String, String)>,
    /// Give the user this key, which decides on splits
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Evaluate at this time, such as 2024-12-31T23:59:59Z [now]
    // In seconds since 1970-01-01 UTC.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at: Option<i64>,
}

/// The forms of an explanation.
pub(super) const FORMATS: Formats<Explanation> = &[
    (OutputFormat::Human, |explanation, _| {
        print(&format!("{}evaluated as {} does\n", explanation.text(), explanation.evaluated_as()))
    }),
    (OutputFormat::Json, |explanation, _| print_json(&ExplanationJson { version: 1, explanation })),
];

pub(super) fn run(settings: &Settings, args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let attributes = attributes(args)?;
    let target = targets::everything(settings)?;
    let documents = DocumentFiles::open(&target, &settings.layout, settings.service_kind)?;
    let found = documents.read(&args.toggle)?.ok_or_else(|| unknown(&args.toggle, &documents))?;
    let targeting = valid(&args.toggle, &found)?;
    let mut compiler = Compiler::default();
    let mut lookup = Lookup::new(&documents);
    let index = compiler.toggle(
        &args.toggle,
        &mut Definitions::new(|id| lookup.find(id)).with_types(|id| types(&documents, id)),
    );
    lookup.finish()?;
    let index = index.expect("the document of the toggle is valid");
    let evaluator = compiler.finish();
    let now = args.at.unwrap_or_else(|| jiff::Timestamp::now().as_second());
    let subject = Subject {
        id: &args.toggle,
        path: &found.path,
        targeting: &targeting,
        key: args.key.as_deref(),
        attributes: &attributes,
        at: Some(now),
        sdks: settings.sdks,
        others: &|id| documents.read(id).ok()??.document.payload.map(|payload| payload.targeting()),
    };
    let (mut explanation, _) = subject.explain(&evaluator, index);
    explanation.errors = errors(&target, &found.path, settings)?;
    show(FORMATS, &explanation, settings)?;
    Ok(ExitStatus::Clean)
}

#[derive(Serialize)]
struct ExplanationJson<'a> {
    version: u32,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

fn attributes(args: &ExplainArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut attributes = BTreeMap::new();
    for (name, value) in &args.attributes {
        if attributes.insert(name.clone(), value.clone()).is_some() {
            let message = format!("the attribute `{}` is given twice", escaped(name));
            return Err(Failure::new(ExitStatus::Usage, message).hint("give each `--attr` once"));
        }
    }
    Ok(attributes)
}

fn unknown(id: &ToggleId, documents: &DocumentFiles) -> Failure {
    let failure = Failure::failed(format!("there is no document for `{id}`"));
    let order = "the order is project/environment/toggle";
    let swapped = swapped(&id.environment());
    let is_known = |environment: &EnvironmentId| documents.toggles().any(|known| known.is_in(environment));
    failure.hint(match suggested(id, documents) {
        Some(SuggestedToggle { id, is_swapped: true }) => format!("did you mean `{id}`? {order}"),
        Some(SuggestedToggle { id, is_swapped: false }) => format!("did you mean `{id}`?"),
        None if is_known(&swapped) && !is_known(&id.environment()) => {
            format!("{order}, and `{swapped}` has no toggle `{}` either", id.toggle())
        }
        None => {
            "check the name, `--root` and `--layout`; `gitoggle validate` shows whether documents are found"
                .to_owned()
        }
    })
}

/// Returns the errors of a document that is valid alone: what it says about others.
fn errors(target: &CheckTarget, path: &str, settings: &Settings) -> Result<Vec<String>, Failure> {
    let checks = Checks {
        layout: &settings.layout,
        kind: settings.service_kind,
        sdks: settings.sdks,
        scope: &Scope::default(),
        within: &[path.to_owned()],
    };
    let found = pass::check(target, checks)?.findings.into_iter();
    let errors = found.filter(|found| found.path == path && found.severity == Severity::Error);
    Ok(errors.map(|error| error.message).collect())
}

/// Returns the targeting of a document, or prints its findings.
fn valid(id: &ToggleId, found: &ReadDocument) -> Result<Targeting, Failure> {
    if let Some(payload) = &found.document.payload {
        return Ok(payload.targeting());
    }
    note(&document::render(&found.document.diagnostics, Color::Never))?;
    Err(Failure::new(
        ExitStatus::Invalid,
        format!("the document of `{id}` is invalid, so it cannot be evaluated"),
    ))
}

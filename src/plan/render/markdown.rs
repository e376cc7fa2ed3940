//! Renders a plan for a pull request's comment and for a CI system's log.

use super::code::code;
use super::fence::{block, fitting};
use super::{ChangeText, change_text, notes, summary, users};
use crate::document::{Diagnostic, Severity};
use crate::evaluate::UserImpact;
use crate::model::{counted, escaped};
use crate::plan::{Change, FETCH_ALL, Plan};

/// Returns the plan as Markdown of at most 60,000 characters. Foreign text is inside code only, where it cannot mention
/// users or act as markup.
#[must_use]
pub fn markdown(plan: &Plan) -> String {
    markdown_for(plan, None)
}

/// Returns the same as [`markdown`], with the effect of each change on an audience.
#[must_use]
pub fn markdown_for(plan: &Plan, impact: Option<&UserImpact>) -> String {
    let source = plan.source();
    let mut parts = vec![format!(
        "### gitoggle plan\n\n{}\n\n{} {} {}\n\n",
        summary(plan),
        code(&source.repo),
        code(&source.references()),
        code(&source.short_revisions())
    )];
    parts.extend(
        plan.guesses()
            .map(|guesses| format!("> **Warning**: {guesses}; {FETCH_ALL}.\n\n")),
    );
    parts.extend(notes(plan).into_iter().map(|note| {
        let environment = code(&note.environment.to_string());
        let subject = match note.toggles.as_slice() {
            [] => environment,
            [one] => code(&one.to_string()),
            some => format!("{} in {environment}", counted(some.len(), "toggle")),
        };
        format!("* **{}** {subject}: {}\n", note.state, code(&note.reason))
    }));
    parts.extend(plan.findings().iter().map(|finding| {
        let place = format!("{}:{}:{}", finding.path, finding.line, finding.column);
        format!(
            "* **{}** {}: {}\n",
            finding.id,
            code(&place),
            code(&finding.message)
        )
    }));
    parts.push("\n".to_owned());
    parts.extend(plan.drift().map(crate::plan::drift::rows).into_iter().flatten());
    parts.extend(impact.map(|impact| users::audience(impact, code).join("  \n") + "\n\n"));
    let table = |item: &Change| {
        impact
            .and_then(|impact| users::table(impact, &item.id))
            .unwrap_or_default()
    };
    let changes = plan
        .changes()
        .iter()
        .map(|item| change(item, None) + &table(item));
    let withheld = plan.withheld().iter().filter_map(|withheld| {
        let state = withheld.reason.state().as_str();
        let item = withheld.change.as_deref()?;
        Some(change(item, Some(state)) + &table(item))
    });
    fitting(parts.into_iter().chain(changes).chain(withheld))
}

/// Returns the workflow commands of a plan: a warning if comments are guesses, then the findings.
#[must_use]
pub fn github(plan: &Plan) -> String {
    let guesses = plan.guesses().map(|guesses| {
        let text = data(&format!("{guesses}; {FETCH_ALL}"));
        format!("::warning title=history-is-cut::{text}\n")
    });
    guesses.unwrap_or_default() + &annotations(plan.findings())
}

/// Returns findings as workflow commands, which GitHub shows next to the lines concerned.
#[must_use]
pub fn annotations(findings: &[Diagnostic]) -> String {
    findings.iter().map(annotation).collect()
}

fn annotation(finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let help = finding
        .help
        .as_ref()
        .map_or_else(String::new, |help| format!(" ({help})"));
    let message = escaped(&format!("{}{help}", finding.message)).to_string();
    let file = property(&escaped(&finding.path).to_string());
    let place = match finding.line {
        0 => String::new(),
        line => format!(",line={line},col={}", finding.column),
    };
    let text = data(&message).replace("##[", "#\\#[");
    format!(
        "::{level} file={file}{place},title={}::{text}\n",
        property(finding.id)
    )
}

fn data(text: &str) -> String {
    // `%` comes first, so that the other escapes are not escaped again.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Renders one change, with the state of a withheld one.
fn change(change: &Change, state: Option<&str>) -> String {
    let commit = change.attribution.label();
    let ChangeText { mut sentences, diff } = change_text(change);
    sentences.extend(diff);
    let (action, id) = (change.action.as_str(), &change.id);
    let state = state.map_or_else(String::new, |state| format!("<b>{state}</b> "));
    format!(
        "<details><summary>{state}{action} <code>{id}</code></summary>\n\n{}\n\n{}\n</details>\n\n",
        code(&commit),
        block(&sentences)
    )
}

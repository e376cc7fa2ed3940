//! Renders a plan for a terminal.

use std::fmt::Write as _;

use super::difference::{difference, paint, sign};
use super::{defused, drift, notes, users};
use crate::document::{Diagnostic, Severity, render};
use crate::evaluate::UserImpact;
use crate::model::{Action, Color, DeploymentEffect, counted, escaped, hinted};
use crate::plan::{Change, FETCH_ALL, Plan, guessed};

/// The number of changes that are shown with contents.
const IN_FULL: usize = 50;
/// The number of changes that are shown at all.
pub(crate) const MOST_SHOWN: usize = 500;

/// Returns the plan as lines of text; two short lines if there is nothing to do.
pub fn text(plan: &Plan, color: Color) -> String {
    text_for(plan, None, color)
}

/// Returns the same as [`text`], with the effect of each change on an audience.
pub(crate) fn text_for(plan: &Plan, impact: Option<&UserImpact>, color: Color) -> String {
    let mut out = String::new();
    let source = plan.source();
    let service = plan.base_url().map_or_else(String::new, |url| format!(" → {}", escaped(url)));
    let references = source.references();
    let (repo, references) = (escaped(&source.repo), escaped(&references));
    line(&mut out, &format!("Plan for {repo} {references} {}{service}", source.short_revisions()));
    if plan.is_empty() {
        return defused(&(out + "Nothing to do.\n"));
    }
    guesses(&mut out, plan, color);
    let mut changes = Changes { shown: 0, color, impact };
    for lane in plan.lanes() {
        line(&mut out, &format!("\n{}", paint(&lane.environment.to_string(), "1", color)));
        changes.list(&mut out, &lane.changes);
    }
    for note in notes(plan) {
        out.push_str(&note.text(color));
        changes.list(&mut out, &note.changes);
    }
    changes.left_out(&mut out);
    if let Some(drift) = plan.drift() {
        out.push_str(&drift::body(drift, color));
    }
    findings(&mut out, plan, color);
    line(&mut out, &format!("\n{}", plan.summary()));
    for text in impact.map(|impact| users::audience(impact, str::to_owned)).unwrap_or_default() {
        line(&mut out, &text);
    }
    defused(&out)
}

/// Returns everything but the changes as lines of text: withheld toggles, orphans, errors and the number of
/// warnings. Authors see the warnings themselves in `plan` and `validate`.
pub(crate) fn rest(plan: &Plan, color: Color) -> String {
    let mut out = String::new();
    guesses(&mut out, plan, color);
    for note in notes(plan) {
        out.push_str(&note.text(color));
    }
    let is_error = |finding: &&Diagnostic| finding.severity == Severity::Error;
    let errors: Vec<_> = plan.findings().iter().filter(is_error).cloned().collect();
    if !errors.is_empty() {
        line(&mut out, &format!("\n{}", render(&errors, color).trim_end()));
    }
    let warnings = plan.findings().len() - errors.len();
    if warnings > 0 {
        let warnings = counted(warnings, "warning");
        let text = format!("\n{warnings} in changed documents; `gitoggle validate` lists them");
        line(&mut out, &hinted(&text));
    }
    defused(&out)
}

fn guesses(out: &mut String, plan: &Plan, color: Color) {
    let count = plan.guesses();
    if count > 0 {
        let warning = paint("warning", "33", color);
        line(out, &format!("{warning}: {}\n    hint: {FETCH_ALL}", guessed(count)));
    }
}

fn findings(out: &mut String, plan: &Plan, color: Color) {
    // Very many warnings would hide the plan; errors are never left out.
    const MOST_WARNINGS: usize = 100;
    let mut warnings = 0;
    let shown = plan.findings().iter().filter(|finding| {
        warnings += usize::from(finding.severity == Severity::Warning);
        finding.severity == Severity::Error || warnings <= MOST_WARNINGS
    });
    let shown: Vec<_> = shown.cloned().collect();
    if !shown.is_empty() {
        line(out, &format!("\n{}", render(&shown, color).trim_end()));
    }
    if warnings > MOST_WARNINGS {
        let more = counted(warnings - MOST_WARNINGS, "more warning");
        line(out, &hinted(&format!("… and {more}: `gitoggle validate` lists them")));
    }
}

/// Lists the first changes with contents, more of them without, and counts the rest.
struct Changes<'a> {
    shown: usize,
    color: Color,
    impact: Option<&'a UserImpact>,
}

impl Changes<'_> {
    fn list(&mut self, out: &mut String, changes: &[&Change]) {
        for item in changes {
            self.shown += 1;
            if self.shown <= MOST_SHOWN {
                change(out, item, self.shown <= IN_FULL, self.color);
                for text in self.impact.and_then(|impact| users::lines(impact, &item.id)).unwrap_or_default()
                {
                    line(out, &format!("      {text}"));
                }
                let dependents = self.impact.map(|impact| users::dependents(impact, item));
                for text in dependents.unwrap_or_default() {
                    line(out, &format!("      {text}"));
                }
            }
        }
    }

    fn left_out(&self, out: &mut String) {
        if self.shown > MOST_SHOWN {
            let more = counted(self.shown - MOST_SHOWN, "more change");
            line(out, &format!("  … and {more}"));
        }
        if self.shown > IN_FULL {
            line(
                out,
                &format!(
                    "\nOnly the first {IN_FULL} changes are shown with their contents; `-o json` shows all of them."
                ),
            );
        }
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}

fn change(out: &mut String, change: &Change, is_full: bool, color: Color) {
    let effect = match (change.action, change.overwrites()) {
        (Action::Create, Some(_)) => DeploymentEffect::Overwrite,
        (action, _) => DeploymentEffect::of_action(action),
    };
    let (sign, code) = sign(Some(effect));
    let head = format!("{sign} {} {}", change.verb(), change.id);
    let mut text = format!("  {}", paint(&head, code, color));
    if let Some(attribution) = change.known_attribution() {
        let commit = escaped(&attribution.label()).to_string();
        text = format!("{text}  {}", paint(&commit, "2", color));
    }
    line(out, &text);
    if is_full {
        let text = (change.sentences(), change.diff());
        difference(out, "      ", text, color);
    }
}

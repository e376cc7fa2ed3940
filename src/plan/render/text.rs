//! The form for people at a terminal.

use std::fmt::Write as _;

use super::{count, defused, diff, notes, summary, told};
use crate::document::{Color, render};
use crate::model::{Action, escaped};
use crate::plan::{Change, History, Plan};

/// How many changes are shown in full, and how many at all.
const IN_FULL: usize = 50;
const AT_ALL: usize = 500;

/// Returns the plan as text, each line ended; one short line where there is nothing to do.
#[must_use]
pub fn text(plan: &Plan, color: Color) -> String {
    let mut out = String::new();
    let source = plan.source();
    let service = plan
        .base_url()
        .map_or_else(String::new, |url| format!(" → {}", escaped(url)));
    let (repo, reference) = (escaped(&source.repo), escaped(&source.reference));
    line(
        &mut out,
        &format!("Plan for {repo} {reference} {}{service}", source.revision.short()),
    );
    if plan.is_empty() {
        return defused(&(out + "Nothing to do.\n"));
    }
    if source.history == History::Shallow {
        line(
            &mut out,
            "The history is cut: comments are the message of the revision itself.",
        );
    }
    let mut shown = 0;
    for lane in plan.lanes() {
        line(
            &mut out,
            &format!("\n{}", paint(&lane.environment.to_string(), "1", color)),
        );
        for item in lane.changes {
            shown += 1;
            if shown <= AT_ALL {
                change(&mut out, item, shown <= IN_FULL, color);
            }
        }
    }
    if shown > AT_ALL {
        line(&mut out, &format!("  … and {} more", shown - AT_ALL));
    }
    out.push_str(&rest(plan, color));
    line(&mut out, &format!("\n{}", summary(plan)));
    defused(&out)
}

/// Returns what a plan says besides its changes: what is held, orphans and findings. Each line is ended; empty where
/// there is nothing to say.
#[must_use]
pub fn rest(plan: &Plan, color: Color) -> String {
    let mut out = String::new();
    for ((environment, state, reason), (number, first)) in notes(plan) {
        let who = match number {
            0 => environment.to_string(),
            1 => first,
            _ => format!("{environment}: {}", count(number, "toggle")),
        };
        line(
            &mut out,
            &format!("\n{} {who}\n    {reason}", paint(state, "33", color)),
        );
    }
    if !plan.findings().is_empty() {
        line(&mut out, &format!("\n{}", render(plan.findings(), color)));
    }
    defused(&out)
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}

fn change(out: &mut String, change: &Change, is_full: bool, color: Color) {
    let (sign, code) = match change.action {
        Action::Create => ("+", "32"),
        Action::Disable => ("-", "31"),
        Action::Update => ("~", "33"),
    };
    let commit = format!(
        "{} {}",
        change.commit.id.short(),
        escaped(change.commit.subject())
    );
    let head = format!("{sign} {} {}", change.action.as_str(), change.id);
    line(
        out,
        &format!("  {}  {}", paint(&head, code, color), paint(&commit, "2", color)),
    );
    if !is_full {
        return;
    }
    for sentence in told(change) {
        line(out, &format!("      {sentence}"));
    }
    for text in diff(change) {
        let painted = match text.chars().next() {
            Some('+') => paint(&text, "32", color),
            Some('-') => paint(&text, "31", color),
            Some('@') => paint(&text, "36", color),
            _ => text,
        };
        line(out, &format!("      {painted}"));
    }
}

fn paint(text: &str, code: &str, color: Color) -> String {
    match color {
        Color::Always => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        Color::Never => text.to_owned(),
    }
}

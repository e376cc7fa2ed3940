//! Renders a plan as Markdown for a review: a comment on a pull request, or a job summary.
//!
//! Everything that a reviewer needs is outside of the folds: one line per toggle describes what changes for whom. Folds
//! contain only diffs and commits. The page never exceeds its limit and counts what it leaves out. It takes its parts in
//! the order of their importance: headings, reasons of holds, findings, lines of toggles, diffs. If the lines do not fit, it
//! omits their links, and if they still do not, toggles with the same change share a line.

mod lines;
mod page;

use std::collections::BTreeMap;

use super::fence::fenced;
use super::inline::code;
use super::{Links, defused, notes, summary, users};
use crate::document::Diagnostic;
use crate::evaluate::UserImpact;
use crate::model::{EnvironmentId, counted, cut};
use crate::plan::{FETCH_ALL, Plan, drift};
use lines::{Detail, PageLines};
use page::{LeftOut, Page};

/// A comment that every forge accepts. Gitea has no limit, but some of its databases do.
pub const ANY_COMMENT: usize = 65_535;
/// The number of changes up to which each line has a link to its file, even if diffs do not fit then.
const MOST_LINKED: usize = 100;
/// The largest job summary of one step on GitHub, in bytes.
pub const JOB_SUMMARY: usize = 1024 * 1024;

/// Returns the plan as Markdown of at most `limit` bytes, and so of at most `limit` characters, with its effect on an
/// audience if there is one. Foreign text is inside
/// code only, where it cannot mention users or act as markup.
#[must_use]
pub fn markdown(plan: &Plan, users: Option<&UserImpact>, limit: usize, links: Option<&Links>) -> String {
    let links = links.map(|links| (links, plan.source().revision));
    let count = plan.changes().len() + plan.withheld().len();
    let mut text = String::new();
    for detail in [Detail::Linked, Detail::Plain, Detail::Shared] {
        let (page, left_out) = page(plan, PageLines { links, users, detail }, limit);
        text = page;
        // With many changes, the diffs are worth more than the links.
        let has_diffs = left_out.diffs == 0 || detail != Detail::Linked || count <= MOST_LINKED;
        if left_out.changes == 0 && has_diffs {
            break;
        }
    }
    text
}

fn page(plan: &Plan, lines: PageLines<'_>, limit: usize) -> (String, LeftOut) {
    let mut page = Page::new(limit, head(plan, lines), foot(plan));
    for (environment, heading) in headings(plan) {
        page.section(environment, heading);
    }
    for note in notes(plan) {
        page.note(&note.environment, lines.note(&note), note.changes);
    }
    page.findings(plan.findings(), lines);
    page.drift(&plan.drift().map(drift::rows).unwrap_or_default());
    for lane in plan.lanes() {
        page.changes(&lane.environment, lane.changes);
    }
    page.finish(lines)
}

/// Returns the headings of the environments of the plan, with the number of toggles in each state.
fn headings(plan: &Plan) -> BTreeMap<EnvironmentId, String> {
    let mut all: BTreeMap<EnvironmentId, Vec<(&str, usize)>> = BTreeMap::new();
    for lane in plan.lanes() {
        all.insert(lane.environment, vec![("to publish", lane.changes.len())]);
    }
    for note in notes(plan) {
        let counts = all.entry(note.environment.clone()).or_default();
        let count = note.toggles.len();
        match counts.iter_mut().find(|(state, _)| *state == note.state) {
            Some((_, sum)) => *sum += count,
            None => counts.push((note.state, count)),
        }
    }
    let headings = all.into_iter().map(|(environment, counts)| {
        let counts = counts.into_iter().map(|(state, count)| match count {
            // The environment is held as a whole.
            0 => state.to_owned(),
            count => format!("{count} {state}"),
        });
        let counts: Vec<String> = counts.collect();
        let name = code(&environment.to_string());
        let heading = defused(&format!("#### {name} {}\n\n", counts.join(" · ")));
        (environment, heading)
    });
    headings.collect()
}

/// Returns findings as a list, errors first, and the line `summary`, in at most `limit` bytes.
#[must_use]
pub fn findings(findings: &[Diagnostic], summary: &str, limit: usize) -> String {
    let lines = PageLines {
        links: None,
        users: None,
        detail: Detail::Plain,
    };
    let (mut text, left_out) =
        lines::findings(findings, lines, limit.saturating_sub(2 * summary.len() + 400));
    if left_out > 0 {
        let findings = counted(left_out, "finding");
        text.push_str(&format!(
            "\n{findings} did not fit here; `gitoggle validate -o json` lists everything.\n"
        ));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if !summary.is_empty() {
        text.push_str(&format!("{summary}\n"));
    }
    defused(&text)
}

/// Returns a page about the failed plan of `revision`, with the reason.
#[must_use]
pub fn failed(revision: &str, error: &str) -> String {
    const LONGEST: usize = 10_000;
    let revision = code(&cut(revision, 200));
    let error = fenced("text", cut(error, LONGEST).trim_end());
    defused(&format!(
        "### gitoggle plan\n\n**The plan of {revision} failed**, so there is nothing to review yet.\n\n{error}"
    ))
}

fn head(plan: &Plan, lines: PageLines<'_>) -> String {
    const LONGEST: usize = 200;
    let source = plan.source();
    let service = plan
        .base_url()
        .map_or_else(String::new, |url| format!(" → {}", code(url)));
    let guesses = plan.guesses().map_or_else(String::new, |guesses| {
        format!("> **Warning**: {guesses}; {FETCH_ALL}.\n\n")
    });
    let mut headline = format!("**{}**", summary(plan));
    let invalid = plan.counts().invalid;
    if invalid > 0 {
        headline.push_str(&format!(" · **{}**", counted(invalid, "invalid document")));
    }
    let audience = lines
        .users
        .map(|users| users::audience(users, code))
        .unwrap_or_default();
    let audience: Vec<&str> = audience.iter().map(|line| line.trim_start()).collect();
    let audience = match audience.is_empty() {
        true => String::new(),
        false => audience.join("  \n") + "\n\n",
    };
    defused(&format!(
        "### gitoggle plan\n\n{headline}\n\n{} {} {}{service}\n\n{guesses}{audience}",
        code(&cut(&source.repo, LONGEST)),
        code(&cut(&source.references(), LONGEST)),
        lines.revision(&source.short_revisions(), source.revision),
    ))
}

fn foot(plan: &Plan) -> String {
    format!("Digest: `{}`\n", plan.digest())
}

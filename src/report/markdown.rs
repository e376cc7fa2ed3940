//! Renders a plan as Markdown for a review: a comment on a pull request, or a job summary.
//!
//! Everything that a reviewer needs is outside of the folds: one line per toggle describes what changes for
//! whom, errors and production first. A change that is the same in several environments is one line. Folds
//! contain only diffs and commits. The page never exceeds its limit: rows are printed in order as long as
//! they fit, and the rest is counted.

use std::collections::BTreeMap;
use std::fmt;

use super::findings::errors_first;
use super::markup::{LEFT_OUT, Page, RestPosition, block, code, fenced, inline, shown};
use super::{Links, Note, defused, drift, notes, users};
use crate::document::{Diagnostic, Severity};
use crate::evaluate::UserImpact;
use crate::model::{Action, CommitId, EnvironmentId, Forge, counted, cut, listed};
use crate::plan::{Change, Plan};

/// The length of a comment that every forge accepts, in characters.
pub(crate) const ANY_COMMENT: usize = Forge::ANY_COMMENT;
/// The largest job summary of one step on GitHub, in bytes.
pub(crate) const JOB_SUMMARY: usize = 1024 * 1024;

/// A plan with what is shown beside it.
#[derive(Clone, Copy)]
pub(crate) struct PlanView<'a> {
    pub(crate) plan: &'a Plan,
    /// Facts that are not about one document, each one line of escaped text.
    pub(crate) notes: &'a [String],
    pub(crate) users: Option<&'a UserImpact>,
    /// The pages of the repository, if the forge is known.
    pub(crate) links: Option<&'a Links>,
}

impl<'a> PlanView<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        Self { plan, notes: &[], users: None, links: None }
    }
}

/// Returns the plan as Markdown of at most `limit` bytes, and so of at most `limit` characters. Foreign text
/// is inside code only, where it cannot mention users or act as markup.
pub(crate) fn markdown(view: PlanView<'_>, limit: usize) -> String {
    let linked = plan_page(&Lines { view, are_linked: true }, limit, "");
    // With very many changes, a line is worth more than the link on it.
    let plain = Lines { view, are_linked: false };
    let lacks_rows = |page: &Page| page.lacks("change") + page.lacks("reason") > 0;
    let page =
        if lacks_rows(&linked) && view.links.is_some() { plan_page(&plain, limit, "") } else { linked };
    let page = if lacks_rows(&page) { plan_page(&plain, limit, &overview(&plain, limit / 2)) } else { page };
    let rest = |left_out: Vec<String>| {
        format!(
            "> **Shortened**: {} did not fit here; `gitoggle plan -o json` lists everything.\n\n",
            listed(&left_out)
        )
    };
    page.finish(rest, RestPosition::Top)
}

/// Returns a line for each environment, in at most this many bytes.
fn overview(lines: &Lines<'_>, limit: usize) -> String {
    let mut environments: BTreeMap<EnvironmentId, StateCounts> = BTreeMap::new();
    for section in sections(lines) {
        for change in section.published.iter().flatten() {
            environments.entry(change.id.environment()).or_default().add("to publish", 1);
        }
        for note in &section.notes {
            environments.entry(note.environment.clone()).or_default().add(note.state, note.toggles.len());
        }
    }
    let mut all: Vec<_> = environments.into_iter().collect();
    all.sort_by_key(|(environment, _)| !is_production(environment));
    let count = all.len();
    let mut text = String::new();
    for (at, (environment, counts)) in all.into_iter().enumerate() {
        let line = format!("* {}: {counts}\n", code(&environment.to_string()));
        if text.len() + line.len() > limit {
            text.push_str(&format!("* {} more\n", counted(count - at, "environment")));
            break;
        }
        text.push_str(&line);
    }
    text + "\n"
}

/// How many toggles are in each state, in the order of appearance.
#[derive(Default)]
struct StateCounts(Vec<(&'static str, usize)>);

impl StateCounts {
    fn add(&mut self, state: &'static str, count: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == state) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((state, count)),
        }
    }
}

impl fmt::Display for StateCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.iter().map(|(state, count)| match count {
            // The environment is held as a whole.
            0 => (*state).to_owned(),
            count => format!("{count} {state}"),
        });
        f.write_str(&counts.collect::<Vec<_>>().join(" · "))
    }
}

fn plan_page(lines: &Lines<'_>, limit: usize, overview: &str) -> Page {
    let plan = lines.view.plan;
    let mut page = Page::new(limit, &(lines.head() + overview), &foot(plan));
    let has_errors = plan.findings().iter().any(|finding| finding.severity == Severity::Error);
    if has_errors {
        lines.findings(&mut page, plan.findings(), limit / 4);
    }
    let mut folds = Vec::new();
    for section in sections(lines) {
        let number = page.section(&section.heading(), usize::MAX);
        for same in &section.published {
            if page.row("change", same.len(), || lines.change(same, "")) {
                folds.push((number, same[0], same.len() - 1));
            }
        }
        for note in &section.notes {
            page.row("reason", 1, || lines.note(note));
            for held in &note.changes {
                if page.row("change", 1, || lines.change(&[held], "  ")) {
                    folds.push((number, held, 0));
                }
            }
        }
    }
    if !has_errors {
        lines.findings(&mut page, plan.findings(), limit / 4);
    }
    if let Some(drift) = plan.drift() {
        page.section("#### Drift\n\n", limit / 4);
        for row in drift::rows(drift) {
            page.row("drifted toggle", 1, || row);
        }
    }
    for (section, change, others) in folds {
        page.fold(section, "diff", || lines.diff(change, others));
    }
    page
}

/// Returns the notes of a run, each as a quotation.
pub(crate) fn quoted_notes(notes: &[String]) -> impl Iterator<Item = String> {
    const LONGEST_NOTE: usize = 600;
    notes.iter().map(|note| format!("> **Note**: {}\n\n", inline(&cut(note, LONGEST_NOTE))))
}

/// The changes and notes of one environment, or the changes that are the same in several.
struct Section<'a> {
    environments: Vec<EnvironmentId>,
    /// Whether a pass sends nothing, as a note says.
    is_refused: bool,
    /// Changes that are one row, because they are the same in each of the environments.
    published: Vec<Vec<&'a Change>>,
    notes: Vec<Note<'a>>,
}

fn sections<'a>(lines: &Lines<'a>) -> Vec<Section<'a>> {
    let plan = lines.view.plan;
    let mut sections: BTreeMap<Vec<EnvironmentId>, Section<'a>> = BTreeMap::new();
    for same in lines.same_changes(plan) {
        let environments: Vec<EnvironmentId> = same.iter().map(|change| change.id.environment()).collect();
        let section = sections.entry(environments.clone()).or_insert_with(|| Section::new(environments));
        section.is_refused = plan.is_refused();
        section.published.push(same);
    }
    for note in notes(plan) {
        let environments = vec![note.environment.clone()];
        let section = sections.entry(environments.clone()).or_insert_with(|| Section::new(environments));
        section.notes.push(note);
    }
    let mut sections: Vec<Section<'a>> = sections.into_values().collect();
    sections.sort_by_key(|section| !section.environments.iter().any(is_production));
    sections
}

/// Returns whether the name of an environment says that it is the one for customers.
fn is_production(environment: &EnvironmentId) -> bool {
    let key = environment.environment.to_string().to_lowercase();
    key.contains("prod") || key == "live"
}

impl<'a> Section<'a> {
    fn new(environments: Vec<EnvironmentId>) -> Self {
        Self { environments, is_refused: false, published: Vec::new(), notes: Vec::new() }
    }

    fn heading(&self) -> String {
        /// A review is about all of them. The names of a thousand would leave no room for the changes.
        const MOST_NAMED: usize = 300;
        let mut counts = StateCounts::default();
        if !self.published.is_empty() {
            let state = if self.is_refused { "waiting" } else { "to publish" };
            counts.add(state, self.published.len());
        }
        self.notes.iter().for_each(|note| counts.add(note.state, note.toggles.len()));
        match self.environments.as_slice() {
            [one] => format!("#### {} {counts}\n\n", code(&one.to_string())),
            several => {
                let names = several.iter().take(MOST_NAMED).map(|one| code(&one.to_string()));
                let names = names.collect::<Vec<_>>().join(", ");
                let more = match several.len().saturating_sub(MOST_NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("#### {} environments: {counts} in each\n\n{names}{more}\n\n", several.len())
            }
        }
    }
}

fn foot(plan: &Plan) -> String {
    if plan.has_changes() { format!("Digest: `{}`\n", plan.digest()) } else { String::new() }
}

struct Lines<'a> {
    view: PlanView<'a>,
    /// Whether the name of each toggle is a link on its line.
    are_linked: bool,
}

impl<'a> Lines<'a> {
    fn head(&self) -> String {
        const LONGEST: usize = 200;
        let PlanView { plan, notes, users, .. } = self.view;
        let source = plan.source();
        let service = plan.base_url().map_or_else(String::new, |url| format!(" → {}", code(url)));
        let mut headline = format!("**{}**", plan.summary());
        let invalid = plan.counts().invalid;
        if invalid > 0 {
            headline.push_str(&format!(" · **{}**", counted(invalid, "invalid document")));
        }
        let guesses = plan.guess_note().map(|note| format!("> **Warning**: {note}.\n\n"));
        let notes: String = guesses.into_iter().chain(quoted_notes(notes)).collect();
        let audience = users.map(|users| users::audience(users, code)).unwrap_or_default();
        let audience: Vec<&str> = audience.iter().map(|line| line.trim_start()).collect();
        let audience = if audience.is_empty() { String::new() } else { audience.join("  \n") + "\n\n" };
        format!(
            "### gitoggle plan\n\n{headline}\n\n{} {} {}{service}\n\n{notes}{audience}",
            code(&cut(&source.repo, LONGEST)),
            code(&cut(&source.references(), LONGEST)),
            self.revision(&source.short_revisions(), source.revision),
        )
    }

    /// Returns `text` with a link to a commit.
    fn revision(&self, text: &str, id: CommitId) -> String {
        self.linked(text, |links| links.commit(id))
    }

    fn file(&self, text: &str, path: &str, line: u32) -> String {
        self.linked(text, |links| links.file(self.view.plan.source().revision, path, line))
    }

    fn linked(&self, text: &str, page: impl Fn(&Links) -> String) -> String {
        let text = code(text);
        self.view.links.map_or_else(|| text.clone(), |links| format!("[{text}]({})", page(links)))
    }

    /// Returns the changes to publish in the order of their rows. Those of one toggle that mean the same in
    /// several environments are together.
    fn same_changes(&self, plan: &'a Plan) -> Vec<Vec<&'a Change>> {
        /// Comparing more takes longer than anybody reads.
        const MOST_COMPARED: usize = 20_000;
        let lanes = plan.lanes();
        let all = || lanes.iter().flat_map(|lane| lane.changes.iter().copied());
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for change in all() {
            *counts.entry((change.id.project(), change.id.toggle())).or_default() += 1;
        }
        let mut rows: Vec<Vec<&Change>> = Vec::new();
        let mut same = BTreeMap::new();
        for change in all() {
            let toggle = (change.id.project(), change.id.toggle());
            if counts[&toggle] == 1 || plan.changes().len() > MOST_COMPARED {
                rows.push(vec![change]);
                continue;
            }
            let row = same.entry((toggle, change.verb(), self.effect(change))).or_insert(rows.len());
            match rows.get_mut(*row) {
                Some(row) => row.push(change),
                None => rows.push(vec![change]),
            }
        }
        rows
    }

    /// Returns the line of a group of withheld toggles or orphans.
    fn note(&self, note: &Note<'_>) -> String {
        const MOST_NAMED: usize = 10;
        let subject = match note.toggles.as_slice() {
            [] => String::new(),
            // Toggles with a change are named below.
            some if some.len() == 1 || (some.len() <= MOST_NAMED && note.changes.is_empty()) => {
                let names: Vec<String> = some.iter().map(|id| code(id.toggle())).collect();
                format!(" {}", names.join(", "))
            }
            some => format!(" {}", counted(some.len(), "toggle")),
        };
        format!("* **{}**{subject}: {}\n", note.state, inline(&note.reason))
    }

    fn change(&self, same: &[&Change], indent: &str) -> String {
        let change = same[0];
        let toggle = match (self.are_linked, change.action) {
            (true, Action::Adopt | Action::Create | Action::Update) => {
                self.file(change.id.toggle(), &change.path, 0)
            }
            // The file was removed.
            (true, Action::Disable) | (false, _) => code(change.id.toggle()),
        };
        format!("{indent}* **{}** {toggle}: {}\n", change.verb(), self.effect(change))
    }

    /// Returns what a change does, and to how many users.
    fn effect(&self, change: &Change) -> String {
        let mut sentences = change.sentences();
        if change.action == Action::Create {
            // What users are served fits on one line; the fold has the rest.
            sentences
                .retain(|text| !["variations ", "disabled serve "].iter().any(|part| text.starts_with(part)));
        }
        let users = self.view.users.and_then(|users| users::sentence(users, &change.id));
        let dependents = self.view.users.map(|users| users::dependents(users, change)).unwrap_or_default();
        let users: String =
            users.into_iter().chain(dependents).map(|users| format!(" — {}", inline(&users))).collect();
        shown(&sentences) + &users
    }

    /// Returns the commit of a change and its diff. `others` is the number of environments with the same
    /// change.
    fn diff(&self, change: &Change, others: usize) -> String {
        let (sentences, diff) = (change.sentences(), change.diff());
        let commit = match change.known_attribution() {
            None => String::new(),
            Some(attribution) => match attribution.commit() {
                Some(commit) => {
                    format!(" {} {}", self.revision(&commit.id.short(), commit.id), code(commit.subject()))
                }
                None => format!(" {}", attribution.as_str()),
            },
        };
        let guessed = if change.attribution.is_guessed() { " (guessed)" } else { "" };
        let others = match others {
            0 => String::new(),
            others => format!(", and in {} as well", counted(others, "environment")),
        };
        let toggle = code(change.id.as_str());
        let mut body = Vec::new();
        if diff.is_empty() || shown(&sentences).contains(LEFT_OUT) {
            body.extend(sentences);
        }
        body.extend(diff);
        let users = self.view.users.and_then(|users| users::table(users, &change.id));
        let users = users.unwrap_or_default();
        format!("{toggle}{commit}{guessed}{others}\n\n{}\n{users}", block(&body))
    }

    /// Adds findings, errors first, in at most this many bytes.
    fn findings(&self, page: &mut Page, findings: &[Diagnostic], most: usize) {
        page.section("#### Findings\n\n", most);
        for finding in errors_first(findings) {
            page.row("finding", 1, || {
                finding_line(finding, &self.file(&finding.place(), &finding.path, finding.line))
            });
        }
    }
}

fn finding_line(finding: &Diagnostic, place: &str) -> String {
    let kind = match finding.severity {
        Severity::Error => "**error**",
        Severity::Warning => "warning",
    };
    let help = finding.help.as_ref().map_or_else(String::new, |help| format!(" — *help*: {}", inline(help)));
    format!("* {kind} {place} `{}`: {}{help}\n", finding.id, inline(&finding.message))
}

/// Returns findings as a list, errors first, and the line `summary`, in at most `limit` bytes.
pub(crate) fn finding_list(findings: &[Diagnostic], summary: &str, limit: usize) -> String {
    // The summary follows.
    let limit = limit.saturating_sub(2 * summary.len() + 10);
    let mut page = Page::new(limit, "", "");
    page.section("", usize::MAX);
    for finding in errors_first(findings) {
        page.row("finding", 1, || finding_line(finding, &code(&finding.place())));
    }
    let end = if findings.is_empty() { "" } else { "\n" };
    let summary = if summary.is_empty() { String::new() } else { format!("{summary}\n") };
    let rest = |left_out: Vec<String>| {
        format!("\n{} did not fit here; `gitoggle validate -o json` lists everything.\n", listed(&left_out))
    };
    page.finish(rest, RestPosition::End) + &defused(&format!("{end}{summary}"))
}

/// Returns a page about a plan that failed, with the reason and the way out. `revision` is what was to be
/// planned, if it is known.
pub(crate) fn failed(revision: Option<&str>, error: &str) -> String {
    const LONGEST: usize = 10_000;
    let of = revision.map_or_else(String::new, |revision| format!(" of {}", code(&cut(revision, 200))));
    let error = fenced("text", cut(error, LONGEST).trim_end());
    defused(&format!(
        "### gitoggle plan\n\n**The plan{of} failed**, so there is nothing to review yet.\n\n{error}"
    ))
}

//! The lines and diffs of a page.

use std::collections::HashMap;

use super::super::inline::{code, inline};
use super::super::{Links, Note, block, change_diff, change_sentences, defused, errors_first, users};
use crate::document::{Diagnostic, Severity};
use crate::evaluate::UserImpact;
use crate::model::{Action, CommitId, counted, cut};
use crate::plan::Change;

/// Renders single lines, with links if the forge is known.
#[derive(Clone, Copy)]
pub(super) struct PageLines<'a> {
    /// The pages of the repository and the revision of the plan.
    pub(super) links: Option<(&'a Links, CommitId)>,
    pub(super) users: Option<&'a UserImpact>,
    pub(super) detail: Detail,
}

/// How many bytes the lines of changes take.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Detail {
    /// The name of each toggle is a link on its line.
    Linked,
    /// The names are not links.
    Plain,
    /// Changes with the same text share a line, so that more changes fit.
    Shared,
}

impl PageLines<'_> {
    /// Returns the short id of a commit.
    pub(super) fn commit(self, id: CommitId) -> String {
        self.revision(&id.short(), id)
    }

    /// Returns `text` with a link to a commit.
    pub(super) fn revision(self, text: &str, id: CommitId) -> String {
        let text = code(text);
        match self.links {
            Some((links, _)) => format!("[{text}]({})", links.commit(id)),
            None => text,
        }
    }

    fn file(self, text: &str, path: &str, line: u32) -> String {
        let text = code(text);
        match self.links {
            Some((links, revision)) => format!("[{text}]({})", links.file(revision, path, line)),
            None => text,
        }
    }

    /// Returns the line of a group of withheld toggles or orphans.
    pub(super) fn note(self, note: &Note<'_>) -> String {
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
        defused(&format!(
            "* **{}**{subject}: {}\n",
            note.state,
            inline(&note.reason)
        ))
    }

    /// Returns the lines of changes, each with the number of its changes: one for each change, or one for all with the same
    /// text.
    pub(super) fn changes(self, changes: &[&Change], indent: &str) -> impl Iterator<Item = (usize, String)> {
        /// Bounds a line, so that a page has room for it.
        const MOST_ON_LINE: usize = 100;
        /// No page has room for more.
        const MOST_READ: usize = 20_000;
        let most = match self.detail {
            Detail::Linked | Detail::Plain => 1,
            Detail::Shared => MOST_ON_LINE,
        };
        let mut groups: Vec<(String, Vec<&Change>)> = Vec::new();
        let mut same: HashMap<(Action, String), usize> = HashMap::new();
        for change in changes.iter().take(MOST_READ) {
            let effect = self.effect(change);
            let last = same
                .entry((change.action, effect.clone()))
                .or_insert(groups.len());
            match groups.get_mut(*last) {
                Some((_, group)) if group.len() < most => group.push(*change),
                _ => {
                    *last = groups.len();
                    groups.push((effect, vec![*change]));
                }
            }
        }
        let groups = groups.into_iter();
        groups.map(move |(effect, group)| (group.len(), self.group(&group, &effect, indent)))
    }

    fn group(self, changes: &[&Change], effect: &str, indent: &str) -> String {
        let toggles: Vec<String> = changes.iter().map(|change| self.toggle(change)).collect();
        let (action, toggles) = (changes[0].action.as_str(), toggles.join(", "));
        let line = match changes.len() {
            1 => format!("{indent}* **{action}** {toggles}: {effect}\n"),
            // A backslash breaks the line; without it, the first name would seem to belong to the sentence.
            some => format!("{indent}* **{action}** {some} toggles: {effect}\\\n{indent}  {toggles}\n"),
        };
        defused(&line)
    }

    /// Returns what a change does, and to how many users.
    fn effect(self, change: &Change) -> String {
        let mut sentences = change_sentences(change);
        if change.action == Action::Create {
            // What users are served fits on one line; the fold has the rest.
            sentences.retain(|text| {
                !["variations ", "disabled serve "]
                    .iter()
                    .any(|part| text.starts_with(part))
            });
        }
        let users = self.users.and_then(|users| users::sentence(users, &change.id));
        let users = users.map_or_else(String::new, |users| format!(" — {}", inline(&users)));
        shown(&sentences) + &users
    }

    fn toggle(self, change: &Change) -> String {
        match (self.detail, change.action) {
            (Detail::Linked, Action::Adopt | Action::Create | Action::Update) => {
                self.file(change.id.toggle(), &change.path, 0)
            }
            // The file was removed.
            (Detail::Linked, Action::Disable) | (Detail::Plain | Detail::Shared, _) => {
                code(change.id.toggle())
            }
        }
    }

    /// Returns the commit of a change and its diff.
    pub(super) fn diff(self, change: &Change) -> String {
        let (sentences, diff) = (change_sentences(change), change_diff(change));
        let commit = match change.known_attribution() {
            None => String::new(),
            Some(attribution) => match attribution.commit() {
                Some(commit) => format!(" {} {}", self.commit(commit.id), code(commit.subject())),
                None => format!(" {}", attribution.as_str()),
            },
        };
        let guessed = if change.attribution.is_guessed() {
            " (guessed)"
        } else {
            ""
        };
        let toggle = code(change.id.as_str());
        let mut body = Vec::new();
        if diff.is_empty() || shown(&sentences).contains(LEFT_OUT) {
            body.extend(sentences);
        }
        body.extend(diff);
        let users = self.users.and_then(|users| users::table(users, &change.id));
        let users = users.unwrap_or_default();
        defused(&format!("{toggle}{commit}{guessed}\n\n{}\n{users}", block(&body)))
    }

    /// Returns the line of a finding.
    pub(super) fn finding(self, finding: &Diagnostic) -> String {
        let Diagnostic {
            id,
            path,
            line,
            message,
            ..
        } = finding;
        let kind = match finding.severity {
            Severity::Error => "**error**",
            Severity::Warning => "warning",
        };
        let help = finding
            .help
            .as_ref()
            .map_or_else(String::new, |help| format!(" — *help*: {}", inline(help)));
        let place = self.file(&finding.place(), path, *line);
        defused(&format!("* {kind} {place} `{id}`: {}{help}\n", inline(message)))
    }
}

/// Returns findings as a list of at most `limit` bytes, errors first, with the number of findings that do not fit.
pub(super) fn findings(findings: &[Diagnostic], lines: PageLines<'_>, limit: usize) -> (String, usize) {
    let (mut out, mut left) = (String::new(), 0);
    for finding in errors_first(findings) {
        // After the first line that does not fit, the others are not rendered.
        let line = (left == 0).then(|| lines.finding(finding));
        match line.filter(|line| out.len() + line.len() <= limit) {
            Some(line) => out.push_str(&line),
            None => left += 1,
        }
    }
    (out, left)
}

const LEFT_OUT: &str = "in the diff";

/// Returns sentences as one line of bounded length.
fn shown(sentences: &[String]) -> String {
    const LONGEST: usize = 600;
    const LONGEST_SENTENCE: usize = 400;
    let mut out = String::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let text = match sentence.chars().nth(LONGEST_SENTENCE) {
            Some(_) => code(&cut(sentence, LONGEST_SENTENCE)),
            None => inline(sentence),
        };
        if at > 0 && out.len() + text.len() > LONGEST {
            return format!("{out}; {} more {LEFT_OUT}", sentences.len() - at);
        }
        if at > 0 {
            out.push_str("; ");
        }
        out.push_str(&text);
    }
    out
}

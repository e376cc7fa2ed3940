//! Writes and reads the commits of the applied ref, whose messages serve people and the next pass.

use std::fmt::Write;

use git2::Repository;

use crate::git::pack::{Object, ObjectKind};
use crate::git::{object_id, oid, refs};
use crate::model::{Action, Allowance, CommitId, ObjectId, ToggleId, counted, escaped};
use crate::state::Error;

/// The ref of the record.
pub(crate) const APPLIED: &str = "refs/gitoggle/applied";

/// The most toggles that a message names; it counts the others.
const NAMED: usize = 50;

/// The newest commit of the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tip {
    /// The commit of the applied ref.
    pub commit: CommitId,
    /// Its tree, with a document at each `project/environment/toggle.<format>`.
    pub tree: ObjectId,
    /// The service it was applied to.
    pub base_url: String,
    /// The source revision it was applied at.
    pub revision: CommitId,
}

impl Tip {
    /// Returns the tip that the applied ref of `repository` points to.
    pub(crate) fn of(repository: &Repository) -> Result<Option<Self>, Error> {
        let commit = refs::look_up(repository, APPLIED)?;
        commit.map(|commit| Self::at(repository, commit)).transpose()
    }

    pub(crate) fn at(repository: &Repository, commit: CommitId) -> Result<Self, Error> {
        let commit = repository.find_commit(oid(commit.0));
        tip(&commit.map_err(Error::repository(repository.path()))?)
    }
}

/// The reason for a change in a commit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum EditReason {
    Sent(Action),
    Recorded,
    Forgotten,
}

impl EditReason {
    const ALL: [Self; 5] = [
        Self::Sent(Action::Create),
        Self::Sent(Action::Update),
        Self::Sent(Action::Disable),
        Self::Recorded,
        Self::Forgotten,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Sent(action) => action.as_str(),
            Self::Recorded => "record",
            Self::Forgotten => "forget",
        }
    }
}

/// The origin of a commit.
#[derive(Clone, Debug)]
pub(crate) struct CommitOrigin<'a> {
    pub(crate) revision: Option<CommitId>,
    pub(crate) base_url: &'a str,
    pub(crate) allowances: &'a [Allowance],
}

impl CommitOrigin<'_> {
    /// Returns the allowances that may apply to changes of `toggles`.
    fn allowed<'a>(&'a self, toggles: &'a [(ToggleId, EditReason)]) -> impl Iterator<Item = &'a Allowance> {
        let is_about = move |allowance: &Allowance| match &allowance.environment {
            None => true,
            Some(environment) => toggles.iter().any(|(id, _)| id.is_in(environment)),
        };
        // An allowance is valid at one revision (DESIGN, section 9.2).
        let valid = self
            .allowances
            .iter()
            .filter(|allowance| Some(allowance.revision) == self.revision);
        valid.filter(move |allowance| is_about(allowance))
    }

    /// Appends the revision to `text`.
    pub(crate) fn subject(&self, text: &str) -> String {
        match self.revision {
            Some(revision) => format!("{text} at {}", revision.short()),
            None => text.to_owned(),
        }
    }
}

/// Returns the message of a commit that covers `toggles`.
pub(crate) fn message(
    subject: &str,
    origin: &CommitOrigin<'_>,
    toggles: &[(ToggleId, EditReason)],
) -> String {
    let mut text = format!("{subject}\n\n");
    for (id, reason) in toggles.iter().take(NAMED) {
        let _ = writeln!(text, "{} {id}", reason.word());
    }
    if toggles.len() > NAMED {
        let rest = &toggles[NAMED..];
        let counts = EditReason::ALL.into_iter().filter_map(|reason| {
            let count = rest.iter().filter(|(_, other)| *other == reason).count();
            (count > 0).then(|| format!("{count} {}", reason.word()))
        });
        let _ = writeln!(
            text,
            "and {} more: {}",
            rest.len(),
            counts.collect::<Vec<_>>().join(", ")
        );
    }
    if !toggles.is_empty() {
        text.push('\n');
    }
    if let Some(revision) = origin.revision {
        let _ = writeln!(text, "Gitoggle-Revision: {revision}");
    }
    let _ = writeln!(
        text,
        "Gitoggle-Base-Url: {}",
        // A line break would end the trailer and could begin another one.
        origin.base_url.replace(['\r', '\n'], "")
    );
    for allowance in origin.allowed(toggles) {
        let _ = writeln!(text, "Gitoggle-Allowed: {}", allowed(allowance));
    }
    text
}

/// Formats an allowance: `mass-change shop/prod by 127.0.0.1:4711 at 2026-01-31T12:00:00Z`.
fn allowed(allowance: &Allowance) -> String {
    let Allowance {
        what,
        environment,
        revision: _,
        by,
        at,
    } = allowance;
    let environment = environment
        .as_ref()
        .map_or_else(String::new, |environment| format!(" {environment}"));
    let at = jiff::Timestamp::from_second(*at).map_or_else(|_| at.to_string(), |at| at.to_string());
    format!("{what}{environment} by {} at {at}", escaped(by))
}

/// Returns the subject of a commit that covers `toggles`.
pub(crate) fn subject(origin: &CommitOrigin<'_>, toggles: &[(ToggleId, EditReason)]) -> String {
    let sent = toggles
        .iter()
        .filter(|(_, reason)| matches!(reason, EditReason::Sent(_)));
    origin.subject(&match (sent.count(), toggles.len()) {
        (0, 0) => "Nothing to apply".to_owned(),
        (0, count) => format!("Record {}", counted(count, "toggle")),
        (count, _) => format!("Apply {}", counted(count, "toggle")),
    })
}

/// Returns the commit object.
pub(crate) fn commit(tree: ObjectId, parents: &[CommitId], now: i64, message: &str) -> Object {
    // libgit2 would write the commit as a loose object, but all objects of a commit belong in one pack.
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        let _ = writeln!(text, "parent {parent}");
    }
    let author = format!("gitoggle <gitoggle@localhost> {now} +0000");
    let _ = write!(text, "author {author}\ncommitter {author}\n\n{message}");
    Object::new(ObjectKind::Commit, text.into_bytes())
}

/// Reads a commit of the applied ref.
pub(crate) fn tip(commit: &git2::Commit<'_>) -> Result<Tip, Error> {
    let id = object_id(commit.id());
    let foreign = || Error::ForeignCommit { commit: id };
    let message = commit.message().unwrap_or_default();
    let revision = trailer(message, "Gitoggle-Revision").and_then(|text| text.parse().ok());
    Ok(Tip {
        commit: CommitId(id),
        tree: object_id(commit.tree_id()),
        base_url: trailer(message, "Gitoggle-Base-Url")
            .ok_or_else(foreign)?
            .to_owned(),
        revision: CommitId(revision.ok_or_else(foreign)?),
    })
}

/// Returns the value of the trailer `key` in the last paragraph of `message`.
pub(crate) fn trailer<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    // As in Git, only the last paragraph has trailers.
    let last = message.trim_end().rsplit("\n\n").next()?;
    last.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

//! Writes and reads the commits of the applied ref, whose messages serve people and the next pass.

use std::collections::BTreeMap;
use std::fmt::Write;

use git2::Repository;

use crate::git::pack::{Object, ObjectKind};
use crate::git::{object_id, oid, refs};
use crate::model::{
    Allowance, CommitId, DeploymentEffect, EnvironmentId, ObjectId, ToggleId, counted, cut, seconds,
};
use crate::state::Error;

/// The ref of the record.
pub(crate) const APPLIED: &str = "refs/gitoggle/applied";

/// The most toggles that a message names; it counts the others.
const NAMED: usize = 50;

/// The most characters of the source commit's subject that a message repeats.
const LONGEST_SUBJECT: usize = 500;

/// The trailer of an asserted first pass that has not ended, with its environment and its revision.
const ASSERTED: &str = "Gitoggle-Asserted";

/// Trailers that only the deployment history reads.
pub(super) const ALLOWED: &str = "Gitoggle-Allowed";
const SIGNER: &str = "Gitoggle-Signer";
pub(super) const SUBJECT: &str = "Gitoggle-Subject";

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
    /// The environments whose first pass was asserted and has not ended, with the revision at which it was.
    pub asserted: BTreeMap<EnvironmentId, CommitId>,
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

#[derive(Clone, Debug)]
pub(crate) struct CommitOrigin<'a> {
    pub(crate) revision: Option<CommitId>,
    /// The subject of the revision's message, if it is known.
    pub(crate) revision_subject: Option<&'a str>,
    /// Who signed the revision, if that was verified.
    pub(crate) signer: Option<&'a str>,
    pub(crate) base_url: &'a str,
    pub(crate) allowances: &'a [Allowance],
    pub(crate) asserted: &'a BTreeMap<EnvironmentId, CommitId>,
}

impl CommitOrigin<'_> {
    /// Returns the allowances that may apply to changes of `toggles`.
    fn allowed<'a>(
        &'a self,
        toggles: &'a [(ToggleId, DeploymentEffect)],
    ) -> impl Iterator<Item = &'a Allowance> {
        let is_about = move |allowance: &Allowance| match (&allowance.environment, &allowance.versions) {
            (None, _) => true,
            (_, Some(versions)) => toggles.iter().any(|(id, _)| versions.contains_key(id)),
            (Some(environment), None) => toggles.iter().any(|(id, _)| id.is_in(environment)),
        };
        // An allowance is valid at one revision (src/model/README.md, "Decisions and holds").
        let valid = self.allowances.iter().filter(|allowance| Some(allowance.revision) == self.revision);
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
    toggles: &[(ToggleId, DeploymentEffect)],
) -> String {
    let mut text = format!("{subject}\n\n");
    for (id, effect) in toggles.iter().take(NAMED) {
        let _ = writeln!(text, "{} {id}", effect.as_str());
    }
    if toggles.len() > NAMED {
        let rest = &toggles[NAMED..];
        let counts = DeploymentEffect::ALL.into_iter().filter_map(|effect| {
            let count = rest.iter().filter(|(_, other)| *other == effect).count();
            (count > 0).then(|| format!("{count} {}", effect.as_str()))
        });
        let _ = writeln!(text, "and {} more: {}", rest.len(), counts.collect::<Vec<_>>().join(", "));
    }
    if !toggles.is_empty() {
        text.push('\n');
    }
    if let Some(revision) = origin.revision {
        let _ = writeln!(text, "Gitoggle-Revision: {revision}");
    }
    // A line break would end a trailer and could begin another one.
    if let Some(subject) = origin.revision_subject.filter(|subject| !subject.is_empty()) {
        let subject = cut(&subject.replace(['\r', '\n'], " "), LONGEST_SUBJECT);
        let _ = writeln!(text, "{SUBJECT}: {subject}");
    }
    if let Some(signer) = origin.signer {
        let _ = writeln!(text, "{SIGNER}: {}", signer.replace(['\r', '\n'], " "));
    }
    let _ = writeln!(text, "Gitoggle-Base-Url: {}", origin.base_url.replace(['\r', '\n'], ""));
    for (environment, revision) in origin.asserted {
        let _ = writeln!(text, "{ASSERTED}: {environment} {revision}");
    }
    for allowance in origin.allowed(toggles) {
        let _ = writeln!(text, "{ALLOWED}: {allowance}");
    }
    text
}

/// Returns the subject of a commit that covers `toggles`.
pub(crate) fn subject(origin: &CommitOrigin<'_>, toggles: &[(ToggleId, DeploymentEffect)]) -> String {
    let sent = toggles.iter().filter(|(_, effect)| effect.is_published());
    origin.subject(&match (sent.count(), toggles.len()) {
        (0, 0) => "Nothing to apply".to_owned(),
        (0, count) => format!("Record {}", counted(count, "toggle")),
        (count, _) => format!("Apply {}", counted(count, "toggle")),
    })
}

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
        base_url: trailer(message, "Gitoggle-Base-Url").ok_or_else(foreign)?.to_owned(),
        revision: CommitId(revision.ok_or_else(foreign)?),
        asserted: trailers(message, ASSERTED).filter_map(asserted).collect(),
    })
}

/// Parses `shop/prod 5f0c…`.
fn asserted(text: &str) -> Option<(EnvironmentId, CommitId)> {
    let (environment, revision) = text.split_once(' ')?;
    Some((environment.parse().ok()?, CommitId(revision.parse().ok()?)))
}

/// Returns the commit before a record; none if it is the first one. The iterator over parents would end at one that
/// cannot be read, as at the first record.
pub(super) fn parent_of<'r>(commit: &git2::Commit<'r>) -> Result<Option<git2::Commit<'r>>, git2::Error> {
    match commit.parent_count() {
        0 => Ok(None),
        _ => commit.parent(0).map(Some),
    }
}

/// Returns the value of the trailer `key` in the last paragraph of `message`.
pub(crate) fn trailer<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    trailers(message, key).next()
}

/// Returns the values of all trailers `key`.
pub(super) fn trailers<'a>(message: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    // As in Git, only the last paragraph has trailers.
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// The description of a deployment in the message of its applied commit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct DeploymentMessage {
    /// The named toggles, sorted.
    pub(super) toggles: Vec<(ToggleId, DeploymentEffect)>,
    /// The numbers of the toggles that are not named.
    pub(super) others: BTreeMap<DeploymentEffect, usize>,
    pub(super) subject: Option<String>,
    pub(super) signer: Option<String>,
    pub(super) allowances: Vec<Allowance>,
}

impl DeploymentMessage {
    pub(super) fn parse(text: &str, revision: CommitId) -> Self {
        let mut message = Self {
            subject: trailer(text, SUBJECT).map(str::to_owned),
            signer: trailer(text, SIGNER).map(str::to_owned),
            allowances: trailers(text, ALLOWED).filter_map(|text| allowance(text, revision)).collect(),
            ..Self::default()
        };
        for line in text.lines() {
            match line.strip_prefix("and ").and_then(|rest| rest.split_once(" more: ")) {
                Some((_, counts)) => message.others.extend(counts.split(", ").filter_map(count)),
                None => message.toggles.extend(toggle(line)),
            }
        }
        message
    }

    /// Returns the number of toggles.
    pub(super) fn total(&self) -> usize {
        self.toggles.len() + self.others.values().sum::<usize>()
    }

    /// Returns the number of toggles by effect.
    pub(super) fn effects(&self) -> BTreeMap<DeploymentEffect, usize> {
        let mut effects = self.others.clone();
        for (_, effect) in &self.toggles {
            *effects.entry(*effect).or_default() += 1;
        }
        effects
    }
}

/// Parses `update shop/prod/pay`.
fn toggle(line: &str) -> Option<(ToggleId, DeploymentEffect)> {
    let (effect, id) = line.split_once(' ')?;
    Some((id.parse().ok()?, effect.parse().ok()?))
}

/// Parses `3 update`.
fn count(text: &str) -> Option<(DeploymentEffect, usize)> {
    let (count, effect) = text.split_once(' ')?;
    Some((effect.parse().ok()?, count.parse().ok()?))
}

/// Parses `mass-change shop/prod by 127.0.0.1:4711 at 2026-01-31T12:00:00Z`.
fn allowance(text: &str, revision: CommitId) -> Option<Allowance> {
    let (what, rest) = text.split_once(" by ")?;
    let (by, at) = rest.rsplit_once(" at ")?;
    let (what, environment) = match what.split_once(' ') {
        None => (what, None),
        Some((what, environment)) => (what, Some(environment.parse().ok()?)),
    };
    Some(Allowance {
        what: what.parse().ok()?,
        environment,
        revision,
        by: by.to_owned(),
        at: seconds(at).ok()?,
        versions: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{CommitOrigin, message, subject, *};
    use crate::model::{ObjectId, Override};

    #[test]
    fn a_message_that_was_written_is_read_back() {
        let revision = CommitId(ObjectId([7; 20]));
        let allowance = |what, environment: Option<&str>| Allowance {
            what,
            environment: environment.map(|text| text.parse().unwrap()),
            revision,
            by: "127.0.0.1:4711".to_owned(),
            at: 1_700_000_000,
            versions: None,
        };
        let allowances = [
            allowance(Override::History, None),
            allowance(Override::MassChange, Some("shop/prod")),
            allowance(Override::MassChange, Some("other/prod")),
        ];
        for count in [0, 1, 50, 51, 400] {
            let effects = DeploymentEffect::ALL.into_iter().cycle();
            let toggles: Vec<(ToggleId, DeploymentEffect)> = (0..count)
                .map(|number| format!("shop/prod/t{number:03}").parse().unwrap())
                .zip(effects)
                .collect();
            let origin = CommitOrigin {
                revision: Some(revision),
                revision_subject: Some("Update all\u{202e} toggles\r\nGitoggle-Revision: 0"),
                signer: Some("Ada <ada@example.com> (1234)"),
                base_url: "https://t.example",
                allowances: &allowances,
                asserted: &BTreeMap::new(),
            };
            let text = message(&subject(&origin, &toggles), &origin, &toggles);
            let read = DeploymentMessage::parse(&text, revision);
            assert_eq!(read.toggles, toggles[..count.min(50)], "{text}");
            assert_eq!(read.total(), count);
            assert_eq!(read.effects().values().sum::<usize>(), count);
            let subject = "Update all\u{202e} toggles  Gitoggle-Revision: 0";
            assert_eq!(read.subject.as_deref(), Some(subject));
            assert_eq!(read.signer.as_deref(), origin.signer);
            let expected = if count == 0 { &allowances[..1] } else { &allowances[..2] };
            assert_eq!(read.allowances, expected);
        }
    }

    #[test]
    fn lines_of_other_programs_are_left_out() {
        let text = "Subject\n\nupdate shop/prod/pay\nremove shop/prod/pay\nupdate nothing\nand more: 3 update\n\
                    and 9 more: many update, 2 explode, 7 create\n\nGitoggle-Allowed: everything by me at noon\n";
        let read = DeploymentMessage::parse(text, CommitId(ObjectId([7; 20])));
        assert_eq!(read.toggles.len(), 1);
        assert_eq!(read.others, BTreeMap::from([(DeploymentEffect::Create, 7)]));
        assert_eq!((read.subject, read.allowances.len()), (None, 0));
    }
}

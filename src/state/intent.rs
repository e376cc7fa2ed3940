//! What a pass on shared state says to others before it sends anything: a commit around the applied one.
//!
//! Its tree is the applied one's. Its first parent is the applied commit, where there is one; its last holds one line
//! per toggle, complete enough for another process to send it again. Without a time of renewal it only carries what
//! stayed unknown.

use std::fmt::Write;

use git2::Repository;

use super::error::Error;
use super::ledger::{self, Ledger, intent_line};
use super::record::{self, Origin, Why, trailer};
use super::view;
use crate::git::pack::{Kind, Object};
use crate::git::{blob, object_id, oid};
use crate::model::{CommitId, ObjectId, Sent, ToggleId, escaped};

const LIST: &str = "intents.jsonl";

/// Such a commit, read back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Intent {
    pub(crate) applied: Option<CommitId>,
    pub(crate) list: CommitId,
    pub(crate) pass: String,
    pub(crate) holder: String,
    /// When the pass that is going on said so last; nothing where none is.
    pub(crate) renewed: Option<i64>,
}

/// Returns the commit that lists `intents`, last, and what it is made of.
pub(crate) fn list(origin: &Origin<'_>, now: i64, intents: &[(ToggleId, Sent)]) -> Vec<Object> {
    let lines = intents.iter().zip(1..);
    let text: String = lines
        .map(|((id, sent), number)| intent_line(number, id, None, sent))
        .collect();
    let blob = Object::new(Kind::Blob, text.into_bytes());
    let tree = [format!("100644 {LIST}\0").as_bytes(), &blob.id.0].concat();
    let tree = Object::new(Kind::Tree, tree);
    let toggles: Vec<(ToggleId, Why)> = why(intents);
    let noun = if toggles.len() == 1 { "toggle" } else { "toggles" };
    let message = record::message(
        &format!("List what is sent for {} {noun}", toggles.len()),
        origin,
        &[],
    );
    let commit = record::commit(tree.id, &[], now, &message);
    vec![blob, tree, commit]
}

/// Returns the commit itself.
pub(crate) fn commit(
    intent: &Intent,
    tree: ObjectId,
    origin: &Origin<'_>,
    now: i64,
    intents: &[(ToggleId, Sent)],
) -> Object {
    let what = if intent.renewed.is_some() {
        "Send"
    } else {
        "Keep as unknown"
    };
    let noun = if intents.len() == 1 { "toggle" } else { "toggles" };
    let subject = format!("{what} {} {noun} at {}", intents.len(), origin.revision.short());
    let mut message = record::message(&subject, origin, &why(intents));
    let Intent {
        applied,
        list,
        pass,
        holder,
        renewed,
    } = intent;
    let _ = writeln!(message, "Gitoggle-Intents: {list}\nGitoggle-Pass: {pass}");
    let _ = writeln!(message, "Gitoggle-Holder: {}", escaped(holder));
    if let Some(applied) = applied {
        let _ = writeln!(message, "Gitoggle-Applied: {applied}");
    }
    if let Some(renewed) = renewed {
        let _ = writeln!(message, "Gitoggle-Renewed: {renewed}");
    }
    let parents: Vec<CommitId> = applied.iter().chain([list]).copied().collect();
    record::commit(tree, &parents, now, &message)
}

fn why(intents: &[(ToggleId, Sent)]) -> Vec<(ToggleId, Why)> {
    intents
        .iter()
        .map(|(id, sent)| (id.clone(), Why::Sent(sent.action)))
        .collect()
}

/// Reads `commit` as an intent, or gives nothing where it is a plain applied commit.
pub(crate) fn parse(repository: &Repository, commit: CommitId) -> Result<Option<Intent>, Error> {
    view::tip_at(repository, commit)?;
    let found = repository.find_commit(oid(commit.0));
    let found = found.map_err(Error::repository(repository.path()))?;
    let message = found.message().unwrap_or_default();
    let id = |key| {
        trailer(message, key)
            .and_then(|text| text.parse().ok())
            .map(CommitId)
    };
    let Some(list) = id("Gitoggle-Intents") else {
        return Ok(None);
    };
    let foreign = || Error::ForeignCommit {
        commit: object_id(found.id()),
    };
    let applied = id("Gitoggle-Applied");
    // Only what its parents hold is sure to be there.
    let parents: Vec<CommitId> = found.parent_ids().map(|id| CommitId(object_id(id))).collect();
    if !parents.contains(&list) || applied.is_some_and(|applied| !parents.contains(&applied)) {
        return Err(foreign());
    }
    Ok(Some(Intent {
        applied,
        list,
        pass: trailer(message, "Gitoggle-Pass").unwrap_or_default().to_owned(),
        holder: trailer(message, "Gitoggle-Holder").unwrap_or_default().to_owned(),
        renewed: trailer(message, "Gitoggle-Renewed").and_then(|text| text.parse().ok()),
    }))
}

/// Reads what an intent lists; all of it is unknown to whoever did not send it.
pub(crate) fn listed(repository: &Repository, list: CommitId) -> Result<Ledger, Error> {
    let broken = || Error::repository(repository.path());
    let commit = repository.find_commit(oid(list.0)).map_err(broken())?;
    let tree = commit.tree().map_err(broken())?;
    let foreign = || Error::ForeignCommit { commit: list.0 };
    let entry = tree.get_name(LIST).ok_or_else(foreign)?;
    let text = blob(repository, object_id(entry.id()))?;
    ledger::replay(&text)
        .map(|replay| replay.ledger)
        .map_err(|_| foreign())
}

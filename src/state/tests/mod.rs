//! Tests state on real folders, and verifies the repository with the git program.

mod storage;

mod crashes;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{
    Action, Blob, Certainty, CommitId, Content, DeploymentEffect, Format, ObjectId, Payload, Sent, Serve,
    Targeting, TargetingDigest, Thresholds, ToggleId, Trees as _, Variation,
};

const URL: &str = "https://toggles.example/api";

pub(super) fn options() -> Options {
    Options {
        // Not zero: a child process that another test starts holds every open file, also a lock, until its
        // exec.
        wait: Duration::from_secs(2),
        base_url: URL.to_owned(),
        timeout: Duration::from_secs(10),
        now: 1_000,
        crash: None,
        shared: None,
        thresholds: Thresholds::default(),
    }
}

fn open(dir: &Path) -> Store {
    Store::open(dir, options()).unwrap()
}

pub(super) fn id(text: &str) -> ToggleId {
    text.parse().unwrap()
}

pub(super) fn head(revision: u8) -> PassHead {
    PassHead { revision: CommitId(ObjectId([revision; 20])), now: 1_000 + i64::from(revision) }
}

fn bytes(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

fn object(text: &str) -> ObjectId {
    id_of(ObjectKind::Blob, &bytes(text))
}

pub(super) fn payload(text: &str) -> Payload {
    let serve = Serve::Select(0);
    let variation = Variation { value: text.to_owned(), name: "on".to_owned(), description: String::new() };
    Payload::new(&Targeting {
        disabled: false,
        content: Content {
            rules: Vec::new(),
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![variation],
            prerequisites: None,
        },
    })
}

pub(super) fn sent(action: Action, text: &str) -> Sent {
    Sent {
        action,
        payload: payload(text),
        comment: format!("say \"{text}\"\nand more"),
        object: object(text),
        format: Format::Yaml,
        path: "somewhere.yaml".to_owned(),
        revision: CommitId(ObjectId([1; 20])),
        base_version: (action == Action::Update).then_some(7),
        note: None,
        earlier: (action == Action::Update)
            .then(|| TargetingDigest::new(&payload(text)))
            .into_iter()
            .collect(),
        overtaken: false,
        passed: false,
        announced: None,
        asserted: None,
    }
}

/// Returns documents by id, as a source does.
pub(super) fn documents(texts: &[&str]) -> impl FnMut(ObjectId) -> Result<Vec<u8>, Infallible> + use<> {
    let all: BTreeMap<ObjectId, Vec<u8>> = texts.iter().map(|text| (object(text), bytes(text))).collect();
    move |id| Ok(all[&id].clone())
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A process that should not end.
pub(super) const NEVER: fn() -> bool = || false;

/// Runs a pass that sends each of `changes` with the outcome `finish`.
pub(super) fn pass(
    store: &mut Store,
    revision: u8,
    changes: &[(&str, Action, &str)],
    finish: Certainty,
) -> Result<(), Error> {
    let texts: Vec<&str> = changes.iter().map(|(_, _, text)| *text).collect();
    let changes: Vec<(ToggleId, Sent)> =
        changes.iter().map(|(toggle, action, text)| (id(toggle), sent(*action, text))).collect();
    let journal = store.start(&head(revision), &changes, documents(&texts), &NEVER)?;
    for (toggle, sent) in &changes {
        let begun = block_on(journal.begin(toggle, sent))?.unwrap();
        journal.finish(begun, finish)?;
    }
    store.record(&head(revision), &[], documents(&texts), &NEVER)?;
    store.finish_pass(None, Failures::default())
}

pub(super) fn applied(view: &StateSnapshot) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (Some(tip), Some(reader)) = (view.tip(), view.reader().unwrap()) else {
        return found;
    };
    for project in reader.tree(tip.tree).unwrap().entries() {
        for environment in reader.tree(project.id).unwrap().entries() {
            for toggle in reader.tree(environment.id).unwrap().entries() {
                let name = [project.name, environment.name, toggle.name]
                    .map(|name| std::str::from_utf8(name).unwrap())
                    .join("/");
                let Blob::Content(content) = reader.blob(toggle.id, 1024).unwrap() else {
                    panic!("too large")
                };
                found.insert(name, String::from_utf8(content).unwrap().trim().to_owned());
            }
        }
    }
    found
}

pub(super) fn git(dir: &Path, arguments: &[&str]) -> String {
    crate::git::testing::git(&dir.join("state.git"), arguments)
}

pub(super) fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(toggle, text)| ((*toggle).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn applied_documents_are_read_back_and_pass_git_fsck() {
    let dir = tempfile::tempdir().unwrap();
    assert!(StateSnapshot::open(&dir.path().join("nothing")).unwrap().tip().is_none());
    let mut store = open(dir.path());
    let changes = [
        ("a/b/c", Action::Create, "one"),
        ("a/b-c/d", Action::Create, "one"),
        ("a/b/d", Action::Create, "two"),
    ];
    pass(&mut store, 1, &changes, Certainty::Stored).unwrap();
    pass(
        &mut store,
        2,
        &[("a/b/d", Action::Disable, "two"), ("a/b/c", Action::Update, "three")],
        Certainty::Stored,
    )
    .unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(applied(&view), pairs(&[("a/b/c.yaml", "three"), ("a/b-c/d.yaml", "one")]));
    assert_eq!(view.base_url(), Some(URL));
    assert_eq!(view.tip().unwrap().revision, head(2).revision);
    let toggles = BTreeSet::from([id("a/b/c"), id("a/b-c/d")]);
    let mut revisions = Revisions::default();
    revisions.update(&view, &toggles).unwrap();
    let revision = |toggle| revisions.get(&id(toggle)).map(|applied| applied.revision);
    assert_eq!(revision("a/b/c"), Some(head(2).revision));
    assert_eq!(revision("a/b-c/d"), Some(head(1).revision));
    git(dir.path(), &["fsck", "--strict", "--full"]);
    let message = git(dir.path(), &["log", "-1", "--format=%an %at%n%B", "refs/gitoggle/applied"]);
    assert_eq!(
        message,
        "gitoggle 1002\nApply 2 toggles at 0202020202\n\nupdate a/b/c\ndisable a/b/d\n\n\
         Gitoggle-Revision: 0202020202020202020202020202020202020202\n\
         Gitoggle-Base-Url: https://toggles.example/api"
    );
}

/// Begins to create `a/b/c`, and gets no outcome.
fn lose(store: &mut Store) -> (ToggleId, Sent) {
    let change = (id("a/b/c"), sent(Action::Create, "one"));
    let changes = std::slice::from_ref(&change);
    let journal = store.start(&head(1), changes, documents(&["one"]), &NEVER).unwrap();
    let lost = block_on(journal.begin(&change.0, &change.1)).unwrap().unwrap();
    drop(lost);
    change
}

#[test]
fn a_request_without_an_outcome_stays_unknown_after_commits_trims_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let (toggle, lost) = lose(&mut store);
    let put = AppliedEdit::Put {
        id: id("x/y/z"),
        object: object("two"),
        format: Format::Json,
        effect: DeploymentEffect::Record,
    };
    store.record(&head(1), &[put], documents(&["two"]), &NEVER).unwrap();
    assert_eq!(store.view().unknown()[&toggle], lost);
    drop(store);
    assert_eq!(StateSnapshot::open(dir.path()).unwrap().unknown()[&toggle], lost);
    assert_eq!(applied(open(dir.path()).view()), pairs(&[("x/y/z.json", "two")]));
}

#[test]
fn an_unknown_request_is_settled_by_a_confirmed_one_and_not_by_a_refused_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let (toggle, lost) = lose(&mut store);
    let again = [("a/b/c", Action::Create, "two")];
    pass(&mut store, 2, &again, Certainty::NotStored).unwrap();
    assert_eq!(store.view().unknown()[&toggle], lost);
    pass(&mut store, 3, &again, Certainty::Stored).unwrap();
    assert!(store.view().unknown().is_empty());
    let removed = [AppliedEdit::Remove { id: toggle }];
    store.record(&head(4), &removed, documents(&[]), &NEVER).unwrap();
    assert_eq!(applied(store.view()), pairs(&[]));
}

#[test]
fn lanes_share_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let journal = store
        .start(&head(1), &[(id("a/b/c"), sent(Action::Create, "one"))], documents(&["one"]), &NEVER)
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let lanes: Vec<_> = (0..32)
        .map(|lane| {
            let journal = journal.clone();
            runtime.spawn(async move {
                for number in 0..20 {
                    let toggle = id(&format!("p/e{lane}/t{number}"));
                    let begun = journal.begin(&toggle, &sent(Action::Create, "one")).await.unwrap().unwrap();
                    if number != 7 {
                        journal.finish(begun, Certainty::Stored).unwrap();
                    }
                }
            })
        })
        .collect();
    // A checkpoint loses nothing while lanes continue.
    for _ in 0..5 {
        store.checkpoint(&head(1)).unwrap();
    }
    for lane in lanes {
        runtime.block_on(lane).unwrap();
    }
    store.record(&head(1), &[], documents(&[]), &NEVER).unwrap();
    assert_eq!(applied(store.view()).len(), 32 * 19);
    assert_eq!(store.view().unknown().len(), 32);
    assert!(store.view().settled().is_empty());
}

#[test]
fn an_asserted_first_pass_is_recorded_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let environment = id("p/e/a").environment();
    let recorded = |store: &Store| store.view().tip().unwrap().asserted.clone();
    let unfinished = BTreeMap::from([(environment.clone(), CommitId(ObjectId([1; 20])))]);
    let mut store = open(dir.path());
    let asserted = Sent { asserted: Some(CommitId(ObjectId([1; 20]))), ..sent(Action::Create, "a") };
    let changes = [(id("p/e/a"), asserted)];
    let journal = store.start(&head(1), &changes, documents(&["a"]), &NEVER).unwrap();
    let begun = block_on(journal.begin(&changes[0].0, &changes[0].1)).unwrap().unwrap();
    journal.finish(begun, Certainty::Stored).unwrap();
    drop((journal, store));
    // The process was killed before it recorded anything.
    assert_eq!(StateSnapshot::open(dir.path()).unwrap().asserted(), unfinished);
    let mut store = open(dir.path());
    assert_eq!(recorded(&store), unfinished);
    pass(&mut store, 2, &[("p/f/b", Action::Create, "b")], Certainty::Stored).unwrap();
    assert_eq!(recorded(&store), unfinished, "another environment");
    let commit = |store: &Store| store.view().tip().unwrap().commit;
    let end = [AppliedEdit::EndFirstPass { environment }];
    store.record(&head(3), &end, documents(&[]), &NEVER).unwrap();
    assert_eq!(recorded(&store), BTreeMap::new());
    let ended = commit(&store);
    store.record(&head(4), &end, documents(&[]), &NEVER).unwrap();
    assert_eq!(commit(&store), ended, "nothing is left to end");
}

//! Tests the deployment history on real folders.

use std::path::Path;

use super::history::{AppliedHistory, DeploymentQuery, DocumentPair};
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{
    Allowance, CommitId, Deployment, DeploymentEffect, Format, ObjectId, Override, Scope, ToggleId,
};
use crate::state::tests::{head, id, options};
use crate::state::{AppliedEdit, Error, Store};

fn object(byte: u8) -> ObjectId {
    id_of(ObjectKind::Blob, &[byte])
}

fn put(toggle: &str, byte: u8, effect: DeploymentEffect) -> AppliedEdit {
    AppliedEdit::Put { id: id(toggle), object: object(byte), format: Format::Yaml, effect }
}

fn remove(toggle: &str) -> AppliedEdit {
    AppliedEdit::Remove { id: id(toggle) }
}

fn record(store: &mut Store, revision: u8, edits: &[AppliedEdit]) {
    let document = |wanted| {
        let mut bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        bytes.find(|bytes| id_of(ObjectKind::Blob, bytes) == wanted).ok_or(std::fmt::Error)
    };
    store.describe(head(revision).revision, &format!("Change {revision}"), None);
    store.record(&head(revision), edits, document, &|| false).unwrap();
}

fn query(globs: &[&str], limit: usize) -> DeploymentQuery {
    DeploymentQuery {
        scope: Scope::new(globs).unwrap(),
        before: None,
        limit,
        most_toggles: usize::MAX,
        budget: usize::MAX,
    }
}

/// Formats each deployment as its revision, its counts and its toggles.
fn shown(deployments: &[Deployment]) -> Vec<String> {
    let toggles = |deployment: &Deployment| {
        let toggles = deployment.toggles.iter();
        let toggles: Vec<&str> = toggles.map(|toggle| toggle.id.as_str()).collect();
        toggles.join(" ")
    };
    let shown = deployments.iter().map(|deployment| {
        let subject = deployment.subject.as_deref().unwrap_or("?");
        format!("{subject}: {}: {}", deployment.summary(), toggles(deployment))
    });
    shown.collect()
}

/// The subjects, summaries and toggles of the deployments of [`four_passes`].
const DEPLOYMENTS: [&str; 3] = [
    "Change 4: 1 adopt, 1 forget: a/b/one a/c/one",
    "Change 2: 1 record: a/b/one",
    "Change 1: 1 adopt, 1 converge: a/b/one a/b/two",
];

/// Records four passes, of which the third changes nothing.
fn four_passes(store: &mut Store) {
    use DeploymentEffect::{Adopt, Converge, Record};

    let first = [put("a/b/one", 1, Adopt), put("a/b/two", 1, Converge)];
    record(store, 1, &first);
    record(store, 2, &[put("a/b/one", 2, Record)]);
    record(store, 3, &[AppliedEdit::Seen]);
    record(store, 4, &[remove("a/b/one"), put("a/c/one", 2, Adopt)]);
}

#[test]
fn deployments_are_listed_newest_first_without_those_that_changed_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(AppliedHistory::open(dir.path()).unwrap().is_none(), "no folder");
    let mut store = Store::open(dir.path(), options()).unwrap();
    assert!(AppliedHistory::open(dir.path()).unwrap().is_none(), "no commit");
    four_passes(&mut store);
    let history = AppliedHistory::open(dir.path()).unwrap().unwrap();
    let all = history.page(&query(&[], 10)).unwrap();
    assert_eq!(shown(&all.deployments), DEPLOYMENTS);
    assert_eq!((all.next, all.deployments[0].at), (None, head(4).now));
    assert_eq!(all.deployments[0].revision, head(4).revision);
    let of_view = AppliedHistory::of(store.view()).unwrap().unwrap();
    assert_eq!(of_view.page(&query(&[], 10)).unwrap(), all);
    assert_eq!(history.applied().unwrap(), [id("a/b/two"), id("a/c/one")]);
}

#[test]
fn deployments_are_listed_page_by_page_and_by_toggle() {
    let dir = tempfile::tempdir().unwrap();
    four_passes(&mut Store::open(dir.path(), options()).unwrap());
    let history = AppliedHistory::open(dir.path()).unwrap().unwrap();
    let mut next = None;
    for (number, line) in DEPLOYMENTS.iter().enumerate() {
        let before = DeploymentQuery { before: next, ..query(&[], 1) };
        let page = history.page(&before).unwrap();
        assert_eq!(shown(&page.deployments), [*line]);
        assert_eq!(page.next.is_none(), number == 2, "the last page says that it is the last");
        next = page.next;
    }
    let one = history.page(&query(&["a/b/one"], 10)).unwrap();
    assert_eq!(
        shown(&one.deployments),
        ["Change 4: 1 forget: a/b/one", "Change 2: 1 record: a/b/one", "Change 1: 1 adopt: a/b/one"]
    );
    let none = history.page(&query(&["a/b/nothing"], 10)).unwrap();
    assert_eq!(none.deployments, []);
}

/// Records a deployment that adopts 70 toggles, and one that records 60 of them and forgets the others.
fn many_toggles(folder: &Path) -> (Vec<String>, AppliedHistory) {
    use DeploymentEffect::{Adopt, Record};

    let mut store = Store::open(folder, options()).unwrap();
    let toggles: Vec<String> = (0..70).map(|number| format!("a/b/t{number:02}")).collect();
    let adopted: Vec<_> = toggles.iter().map(|toggle| put(toggle, 1, Adopt)).collect();
    record(&mut store, 1, &adopted);
    let changed = toggles[..60].iter().map(|toggle| put(toggle, 2, Record));
    let removed = toggles[60..].iter().map(|toggle| remove(toggle));
    record(&mut store, 2, &changed.chain(removed).collect::<Vec<_>>());
    (toggles, AppliedHistory::open(folder).unwrap().unwrap())
}

#[test]
fn a_deployment_of_many_toggles_is_counted_by_its_message_and_listed_by_its_trees() {
    use DeploymentEffect::{Adopt, Forget, Record};

    let dir = tempfile::tempdir().unwrap();
    let (toggles, history) = many_toggles(dir.path());
    let few = DeploymentQuery { most_toggles: 50, ..query(&[], 10) };
    let page = history.page(&few).unwrap();
    for (deployment, summary) in page.deployments.iter().zip(["60 record, 10 forget", "70 adopt"]) {
        assert_eq!(deployment.summary(), summary);
        assert_eq!((deployment.toggles.len(), deployment.total), (50, 70));
    }
    let all = history.page(&query(&[], 10)).unwrap();
    let effects = |deployment: &Deployment| -> Vec<_> {
        let toggles = deployment.toggles.iter();
        toggles.map(|toggle| (toggle.id.to_string(), toggle.effect.unwrap())).collect()
    };
    let expected = |effect: fn(usize) -> DeploymentEffect| -> Vec<_> {
        let toggles = toggles.iter().enumerate();
        toggles.map(|(at, toggle)| (toggle.clone(), effect(at))).collect()
    };
    assert_eq!(effects(&all.deployments[0]), expected(|at| if at < 60 { Record } else { Forget }));
    assert_eq!(effects(&all.deployments[1]), expected(|_| Adopt));
    // A toggle that the message only counts.
    let late = history.page(&query(&["a/b/t6[59]"], 10)).unwrap();
    assert_eq!(
        shown(&late.deployments),
        ["Change 2: 2 forget: a/b/t65 a/b/t69", "Change 1: 2 adopt: a/b/t65 a/b/t69"]
    );
}

#[test]
fn the_toggles_of_a_deployment_are_listed_part_by_part() {
    let dir = tempfile::tempdir().unwrap();
    let (_, history) = many_toggles(dir.path());
    let all = history.page(&query(&[], 10)).unwrap();
    let newest = &all.deployments[0];
    for (after, most) in [("a/b/t10", 5), ("a/b/t64", 100), ("a/a/z", 1), ("z/z/z", 9)] {
        let part = history.deployment(newest.commit, &Scope::default(), Some(&id(after)), most).unwrap();
        let listed = newest.toggles.iter().filter(|toggle| toggle.id > id(after));
        let listed: Vec<_> = listed.take(most).cloned().collect();
        assert_eq!((part.toggles, part.total), (listed, 70), "{after}");
    }
}

#[test]
fn a_search_ends_with_its_budget_and_continues_on_the_next_page() {
    let dir = tempfile::tempdir().unwrap();
    let (_, history) = many_toggles(dir.path());
    let newest = history.page(&query(&[], 1)).unwrap().deployments[0].commit;
    let bounded = DeploymentQuery { budget: 1, ..query(&["a/b/nothing"], 10) };
    let page = history.page(&bounded).unwrap();
    assert_eq!((page.deployments.len(), page.next), (0, Some(newest)));
    let rest = DeploymentQuery { before: page.next, ..bounded };
    assert_eq!(history.page(&rest).unwrap().next, None);
}

#[test]
fn the_documents_of_a_deployment_are_those_before_and_after_it() {
    use DeploymentEffect::{Adopt, Record};

    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    record(&mut store, 1, &[put("a/b/one", 1, Adopt), put("a/c/two", 1, Adopt)]);
    let json =
        AppliedEdit::Put { id: id("a/b/one"), object: object(2), format: Format::Json, effect: Record };
    record(&mut store, 2, &[json, remove("a/c/two")]);
    let history = AppliedHistory::open(dir.path()).unwrap().unwrap();
    let page = history.page(&query(&[], 10)).unwrap();
    let toggles: Vec<ToggleId> = ["a/b/one", "a/c/two", "z/z/z"].map(id).to_vec();
    let pairs = history.documents(page.deployments[0].commit, toggles.iter()).unwrap();
    let (old, new) = (Some((object(1), Format::Yaml)), Some((object(2), Format::Json)));
    let pair = |before, after| DocumentPair { before, after };
    assert_eq!(pairs, [pair(old, new), pair(old, None), pair(None, None)]);
    let pairs = history.documents(page.deployments[1].commit, toggles.iter()).unwrap();
    assert_eq!(pairs, [pair(None, old), pair(None, old), pair(None, None)]);
    let full = history.deployment(page.deployments[0].commit, &Scope::default(), None, usize::MAX).unwrap();
    assert_eq!(full, page.deployments[0]);
}

#[test]
fn a_commit_that_is_not_a_deployment_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    record(&mut store, 1, &[put("a/b/one", 1, DeploymentEffect::Adopt)]);
    let history = AppliedHistory::open(dir.path()).unwrap().unwrap();
    for object in [ObjectId([9; 20]), object(1)] {
        let before = DeploymentQuery { before: Some(CommitId(object)), ..query(&[], 10) };
        for result in [
            history.page(&before).map(drop),
            history.deployment(CommitId(object), &Scope::default(), None, usize::MAX).map(drop),
        ] {
            assert!(matches!(result, Err(Error::NotDeployed { commit }) if commit == object), "{result:?}");
        }
    }
}

#[test]
fn a_decision_is_listed_even_if_it_changed_no_toggle() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    record(&mut store, 1, &[put("a/b/one", 1, DeploymentEffect::Adopt)]);
    let allowance = Allowance {
        what: Override::History,
        environment: None,
        revision: head(2).revision,
        by: "127.0.0.1:4711".to_owned(),
        at: 1_700_000_000,
        versions: None,
    };
    store.orders().allow(allowance.clone()).unwrap();
    store.reload().unwrap();
    record(&mut store, 2, &[AppliedEdit::Seen]);
    let history = AppliedHistory::open(dir.path()).unwrap().unwrap();
    let page = history.page(&query(&[], 10)).unwrap();
    assert_eq!(page.deployments.len(), 2);
    assert_eq!(page.deployments[0].allowances, [allowance]);
    assert_eq!(page.deployments[0].total, 0);
}

#[test]
fn an_open_history_survives_that_the_writer_merges_its_packs() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    record(&mut store, 1, &[put("a/b/one", 1, DeploymentEffect::Adopt)]);
    let early = AppliedHistory::open(dir.path()).unwrap().unwrap();
    for revision in 2..=120 {
        record(&mut store, revision, &[put("a/b/one", revision, DeploymentEffect::Record)]);
    }
    let packs = std::fs::read_dir(dir.path().join("state.git/objects/pack")).unwrap();
    assert!(packs.count() < 200, "packs were merged");
    assert_eq!(early.page(&query(&[], 500)).unwrap().deployments.len(), 1);
    let late = AppliedHistory::open(dir.path()).unwrap().unwrap();
    assert_eq!(late.page(&query(&[], 500)).unwrap().deployments.len(), 120);
}

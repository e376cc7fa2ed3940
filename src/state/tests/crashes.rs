//! Crashes between any two steps, and what a damaged state folder causes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::model::{Action, Certainty, HeldRequest, Hold, HoldKind, Suspension, SuspensionScope};

#[test]
fn an_incomplete_last_line_is_ignored_and_an_earlier_damaged_line_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    pass(&mut store, 1, &[("a/b/c", Action::Create, "one")], Certainty::Unknown).unwrap();
    drop(store);
    let path = dir.path().join("journal");
    let whole = std::fs::read(&path).unwrap();
    for end in whole.len() - 20..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(StateSnapshot::open(dir.path()).unwrap().unknown().len(), 1);
        drop(open(dir.path()));
        assert!(std::fs::read(&path).unwrap().ends_with(b"\n"));
    }
    std::fs::write(&path, [b"{\"intent\":7,garbage}\n", &whole[..]].concat()).unwrap();
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(matches!(error, Error::BrokenJournal { line: 1, .. }), "{error:?}");
}

/// Kills a process after a confirmed request, and returns the folder.
fn killed_after_an_outcome() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    pass(&mut store, 1, &[("a/b/c", Action::Create, "one")], Certainty::Stored).unwrap();
    let change = (id("a/b/c"), sent(Action::Update, "two"));
    let journal = store.start(&head(2), std::slice::from_ref(&change), documents(&["two"]), &NEVER).unwrap();
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap().unwrap();
    journal.finish(begun, Certainty::Stored).unwrap();
    drop((journal, store));
    dir
}

#[test]
fn an_outcome_counts_only_if_the_history_has_its_base() {
    let dir = killed_after_an_outcome();
    let store = open(dir.path());
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "two")]));
    assert!(store.view().unknown().is_empty());

    // The record was replaced by one that does not descend from the base of the outcome, as a restored backup
    // does.
    let dir = killed_after_an_outcome();
    let message = git(dir.path(), &["log", "-1", "--format=%B", "refs/gitoggle/applied"]);
    let other = git(dir.path(), &["commit-tree", "refs/gitoggle/applied^{tree}", "-m", &message]);
    git(dir.path(), &["update-ref", "refs/gitoggle/applied", &other]);
    let store = open(dir.path());
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "one")]));
    assert!(store.view().unknown().contains_key(&id("a/b/c")), "it may be stored");
}

#[test]
fn an_intent_is_on_the_disk_before_its_request_may_start() {
    let dir = tempfile::tempdir().unwrap();
    let synced = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&synced);
    let crash: FailpointHook = Arc::new(move |point| {
        count.fetch_add(usize::from(point == "journal: synced"), Ordering::SeqCst);
        false
    });
    let options = Options { crash: Some(crash), ..options() };
    let mut store = Store::open(dir.path(), options).unwrap();
    let changes = [(id("a/b/c"), sent(Action::Create, "one")), (id("a/b/d"), sent(Action::Create, "one"))];
    let journal = store.start(&head(1), &changes, documents(&["one"]), &NEVER).unwrap();
    for (toggle, sent) in &changes {
        let before = synced.load(Ordering::SeqCst);
        let _ = block_on(journal.begin(toggle, sent)).unwrap().unwrap();
        assert!(synced.load(Ordering::SeqCst) > before, "{toggle}");
    }
}

/// Runs two passes, the second of which loses one response. Returns the confirmed documents and the toggles
/// that may have been sent.
fn two_passes(dir: &Path, crash: FailpointHook) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut confirmed, mut sent_to) = (BTreeMap::new(), BTreeSet::new());
    let _: Result<(), Error> = (|| {
        let mut store = Store::open(dir, Options { crash: Some(crash), ..options() })?;
        for (revision, text) in [(1, "one"), (2, "two")] {
            let changes =
                [(id("a/b/c"), sent(Action::Create, text)), (id("a/e/d"), sent(Action::Create, text))];
            let journal = store.start(&head(revision), &changes, documents(&[text]), &NEVER)?;
            for (toggle, sent) in &changes {
                let begun = block_on(journal.begin(toggle, sent))?.unwrap();
                sent_to.insert(toggle.to_string());
                if revision == 2 && toggle.toggle() == "d" {
                    continue;
                }
                confirmed.insert(format!("{toggle}.yaml"), text.to_owned());
                journal.finish(begun, Certainty::Stored)?;
            }
            store.record(&head(revision), &[], documents(&[text]), &NEVER)?;
            store.finish_pass(None, Failures::default())?;
        }
        Ok(())
    })();
    (confirmed, sent_to)
}

#[test]
fn a_crash_at_any_point_forgets_nothing_that_may_have_been_sent() {
    let mut died = 0;
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let hook = {
            let count = Arc::clone(&count);
            Arc::new(move |_: &str| count.fetch_add(1, Ordering::SeqCst) >= at)
        };
        let (confirmed, sent_to) = two_passes(dir.path(), hook);
        let before = StateSnapshot::open(dir.path()).unwrap();
        let store = open(dir.path());
        let recorded = applied(store.view());
        for (path, text) in &recorded {
            let newest = &confirmed[path];
            assert!(text == newest || newest == "two", "crash {at}: the record is ahead");
        }
        for toggle in &sent_to {
            let path = format!("{toggle}.yaml");
            let known = recorded.contains_key(&path) && recorded.get(&path) == confirmed.get(&path);
            let unknown = store.view().unknown().contains_key(&id(toggle));
            assert!(known || unknown, "crash {at}: {toggle} is forgotten");
            let seen =
                before.unknown().contains_key(&id(toggle)) || before.settled().contains_key(&id(toggle));
            assert!(seen || applied(&before).contains_key(&path), "crash {at}: {toggle} is not in the view");
        }
        git(dir.path(), &["fsck", "--strict", "--full"]);
        drop(store);
        pass(&mut open(dir.path()), 3, &[("a/e/d", Action::Update, "three")], Certainty::Stored).unwrap();
        if count.load(Ordering::SeqCst) <= at {
            break;
        }
        died += 1;
    }
    assert!(died > 30, "only {died} crash points");
}

#[test]
fn an_open_request_of_a_killed_process_is_remembered_until_it_has_ended_with_its_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let open = |seconds| {
        let timeout = Duration::from_secs(seconds);
        let store = Store::open(dir.path(), Options { timeout, ..options() }).unwrap();
        let inherited: Vec<String> = store.inherited().iter().map(ToString::to_string).collect();
        (inherited, store.longest_timeout().as_secs(), store)
    };
    let change = (id("a/b/c"), sent(Action::Create, "one"));
    let (inherited, _, mut killed) = open(60);
    assert!(inherited.is_empty());
    let journal = killed.start(&head(1), std::slice::from_ref(&change), documents(&["one"]), &NEVER).unwrap();
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap();
    assert!(begun.is_some());
    drop((journal, killed));
    // The same request is confirmed, and recorded.
    for text in ["one", "two"] {
        let (inherited, timeout, mut next) = open(10);
        assert_eq!((inherited, timeout), (vec!["a/b/c".to_owned()], 60), "{text}");
        pass(&mut next, 2, &[("a/b/c", Action::Create, text)], Certainty::Stored).unwrap();
        assert!(next.view().unknown().is_empty());
    }
    let (_, _, mut last) = open(10);
    last.forget_open().unwrap();
    drop(last);
    let (inherited, timeout, _) = open(10);
    assert_eq!((inherited, timeout), (Vec::new(), 10));
}

#[test]
fn locks_and_temporary_files_of_a_dead_process_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    pass(&mut open(dir.path()), 1, &[("a/b/c", Action::Create, "one")], Certainty::Stored).unwrap();
    let stale = [
        "refs/gitoggle/applied.lock",
        "config.lock",
        "packed-refs.lock",
        "objects/pack/pack_git2_x",
        "objects/pack/.tmp-7-pack-x",
        "objects/pack/tmp_pack_x",
        "objects/tmp_obj_x",
        "objects/tmp_object_git2_x",
    ];
    for name in stale {
        std::fs::write(dir.path().join("state.git").join(name), "").unwrap();
    }
    pass(&mut open(dir.path()), 2, &[("a/b/c", Action::Update, "two")], Certainty::Stored).unwrap();
    for name in stale {
        assert!(!dir.path().join("state.git").join(name).exists(), "{name}");
    }
}

#[test]
fn a_file_is_refused_as_a_state_folder() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(Store::open(file.path(), options()), Err(Error::NotAFolder(_))));
}

#[test]
fn a_damaged_clean_pass_is_ignored_and_a_damaged_suspension_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    // A clean pass has a record.
    pass(&mut store, 1, &[("a/b/d", Action::Create, "one")], Certainty::Stored).unwrap();
    let suspension = Suspension { reason: Some("freeze".to_owned()), until: Some(5) };
    let everything = SuspensionScope::everything();
    store.orders().suspend(everything.clone(), suspension.clone()).unwrap();
    let revision = head(1).revision;
    let refusal = HeldRequest::new(
        crate::model::RequestDigest::new(Action::Create, &sent(Action::Create, "one").payload),
        Hold::new(HoldKind::Refused, "no"),
    );
    let memory =
        CleanPass { root_tree: object("x"), policy_digest: "d".to_owned(), tip: revision, revision, at: 3 };
    let tries = BTreeMap::from([(id("a/b/c").folded(), refusal)]);
    let failures = Failures { tries: tries.clone() };
    store.finish_pass(Some(memory.clone()), failures).unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(
        (view.suspensions().everything(), view.last_clean_pass(), &view.failures().tries),
        (Some(&suspension), Some(&memory), &tries)
    );
    for name in ["failures.json", "pass.json", "suspended.json"] {
        std::fs::write(dir.path().join(name), "{").unwrap();
    }
    assert!(matches!(StateSnapshot::open(dir.path()), Err(Error::Suspension { .. })));
    store.orders().resume(&everything).unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(
        (view.suspensions().everything(), view.last_clean_pass(), view.failures().tries.len()),
        (None, None, 0)
    );
}

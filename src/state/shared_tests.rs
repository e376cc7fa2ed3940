//! State that several processes share, through a repository on this machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::tests::*;
use super::*;
use crate::git::{GitAccess, RepoUrl};
use crate::model::{Action, ToggleId};
use crate::transport::Network;

fn access() -> GitAccess {
    GitAccess {
        network: Network::default(),
        credentials: None,
        timeout: Duration::from_secs(1),
    }
}

fn shared(remote: &Path, holder: &str) -> Shared {
    Shared {
        remote: RepoUrl::local(remote),
        name: "main".to_owned(),
        access: access(),
        holder: holder.to_owned(),
    }
}

fn remote() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(dir.path().join("state.git")).unwrap();
    dir
}

fn open_at(dir: &Path, remote: &Path, holder: &str, now: i64) -> Result<Store, Error> {
    Store::open(
        dir,
        Options {
            now,
            shared: Some(shared(&remote.join("state.git"), holder)),
            ..options()
        },
    )
}

const ONE: (&str, Action, &str) = ("a/b/c", Action::Create, "one");

fn one(text: &str) -> Vec<(ToggleId, crate::model::Sent)> {
    vec![(id("a/b/c"), sent(Action::Update, text))]
}

#[test]
fn an_empty_disk_is_as_good_as_a_full_one() {
    let (remote, first, second) = (
        remote(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let mut store = open_at(first.path(), remote.path(), "first", 1_000).unwrap();
    pass(&mut store, 1, &[ONE], Finish::Applied).unwrap();
    pass(
        &mut store,
        2,
        &[("a/b/d", Action::Create, "two")],
        Finish::Unknown,
    )
    .unwrap();
    let store = open_at(second.path(), remote.path(), "second", 1_003).unwrap();
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(
        store.view().unknown()[&id("a/b/d")].sent,
        sent(Action::Create, "two")
    );
    let nothing = second.path().join("nothing");
    let view = View::fetch(&shared(&remote.path().join("state.git"), "reader"), &nothing).unwrap();
    assert_eq!(applied(&view), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(view.unknown().len(), 1);
    assert!(!nothing.exists());
    let names = Shared::list(&RepoUrl::local(remote.path().join("state.git")), &access()).unwrap();
    assert_eq!(names, ["main"]);
    git(remote.path(), &["fsck", "--strict", "--full"]);
}

#[test]
fn the_remote_history_holds_what_was_applied_and_no_intents() {
    let (remote, dir) = (remote(), tempfile::tempdir().unwrap());
    let mut store = open_at(dir.path(), remote.path(), "first", 1_000).unwrap();
    pass(&mut store, 1, &[ONE], Finish::Applied).unwrap();
    pass(
        &mut store,
        2,
        &[("a/b/c", Action::Update, "two")],
        Finish::Applied,
    )
    .unwrap();
    let log = git(
        remote.path(),
        &["log", "--format=%s", "refs/gitoggle/main/applied"],
    );
    assert_eq!(
        log,
        "Apply 1 toggle at 0202020202\nApply 1 toggle at 0101010101\n"
    );
}

#[test]
fn of_two_passes_at_once_one_sends_and_nothing_is_lost() {
    let (remote, first, second) = (
        remote(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let mut winner = open_at(first.path(), remote.path(), "first", 1_000).unwrap();
    let mut loser = open_at(second.path(), remote.path(), "second", 1_000).unwrap();
    let journal = winner.start(&head(1), &one("one"), documents(&["one"])).unwrap();
    let error = loser
        .start(&head(1), &one("two"), documents(&["two"]))
        .unwrap_err();
    assert!(matches!(error, Error::Raced(_)), "{error:?}");
    let error = loser.refresh(Duration::ZERO, 1_002).unwrap_err();
    assert!(
        matches!(&error, Error::InUse { holder, .. } if holder == "first"),
        "{error:?}"
    );
    let (toggle, sent) = one("one").remove(0);
    let begun = block_on(journal.begin(&toggle, &sent)).unwrap();
    winner.renew(1_020).unwrap();
    journal.finish(begun, Finish::Applied).unwrap();
    winner.fold(&head(1), &[], documents(&[])).unwrap();
    winner.finish_pass(None, Failures::default()).unwrap();
    loser.refresh(Duration::ZERO, 1_021).unwrap();
    assert_eq!(applied(loser.view()), pairs(&[("a/b/c.yaml", "one")]));
    assert!(loser.view().unknown().is_empty());
    pass(
        &mut loser,
        2,
        &[("a/b/c", Action::Update, "two")],
        Finish::Applied,
    )
    .unwrap();
    winner.refresh(Duration::ZERO, 1_022).unwrap();
    assert_eq!(applied(winner.view()), pairs(&[("a/b/c.yaml", "two")]));
}

#[test]
fn what_a_dead_process_announced_is_unknown_to_the_next_and_settled_by_them_for_itself() {
    let (remote, first, second) = (
        remote(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let mut dead = open_at(first.path(), remote.path(), "first", 1_000).unwrap();
    let journal = dead.start(&head(1), &one("one"), documents(&["one"])).unwrap();
    let (toggle, sent) = one("one").remove(0);
    let begun = block_on(journal.begin(&toggle, &sent)).unwrap();
    journal.finish(begun, Finish::Applied).unwrap();
    drop(journal);
    drop(dead);
    assert!(matches!(
        open_at(second.path(), remote.path(), "second", 1_030),
        Err(Error::InUse { .. })
    ));
    let mut next = open_at(second.path(), remote.path(), "second", 1_100).unwrap();
    assert_eq!(next.view().unknown()[&toggle].sent, sent);
    pass(&mut next, 2, &[("a/b/c", Action::Update, "two")], Finish::Applied).unwrap();
    let back = open_at(first.path(), remote.path(), "first", 1_200).unwrap();
    assert_eq!(applied(back.view()), pairs(&[("a/b/c.yaml", "two")]));
    assert!(back.view().unknown().is_empty());
}

#[test]
fn state_that_was_local_is_shared_from_the_next_pass_on() {
    let (remote, dir) = (remote(), tempfile::tempdir().unwrap());
    pass(
        &mut Store::open(dir.path(), options()).unwrap(),
        1,
        &[ONE],
        Finish::Applied,
    )
    .unwrap();
    let mut store = open_at(dir.path(), remote.path(), "first", 1_000).unwrap();
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "one")]));
    pass(
        &mut store,
        2,
        &[("a/b/d", Action::Create, "two")],
        Finish::Applied,
    )
    .unwrap();
    let log = git(
        remote.path(),
        &["log", "--format=%s", "refs/gitoggle/main/applied"],
    );
    assert_eq!(log.lines().count(), 2);
}

#[test]
fn a_crash_at_any_point_of_a_shared_pass_forgets_nothing() {
    for at in 0.. {
        let (remote, dir) = (remote(), tempfile::tempdir().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let crash: FailpointHook = {
            let count = Arc::clone(&count);
            Arc::new(move |_| count.fetch_add(1, Ordering::SeqCst) >= at)
        };
        let sent_to = (|| {
            let shared = Some(shared(&remote.path().join("state.git"), "first"));
            let mut store = Store::open(
                dir.path(),
                Options {
                    crash: Some(crash),
                    shared,
                    ..options()
                },
            )
            .ok()?;
            let journal = store.start(&head(1), &one("one"), documents(&["one"])).ok()?;
            let (toggle, sent) = one("one").remove(0);
            let begun = block_on(journal.begin(&toggle, &sent)).ok()?;
            let _ = journal.finish(begun, Finish::Applied);
            let _ = store
                .fold(&head(1), &[], documents(&[]))
                .and_then(|()| store.finish_pass(None, Failures::default()));
            Some(toggle)
        })();
        // A lock of ours in the remote is another process's to wait for: its age is not ours to fake, so it goes.
        let _ = std::fs::remove_file(remote.path().join("state.git/refs/gitoggle/main/applied.lock"));
        let elsewhere = tempfile::tempdir().unwrap();
        for folder in [elsewhere.path(), dir.path()] {
            let store = open_at(folder, remote.path(), "next", 2_000).unwrap();
            if let Some(toggle) = &sent_to {
                let known = applied(store.view()).contains_key("a/b/c.yaml");
                assert!(
                    known || store.view().unknown().contains_key(toggle),
                    "crash {at}: forgotten"
                );
            }
        }
        git(remote.path(), &["fsck", "--strict", "--full"]);
        if count.load(Ordering::SeqCst) <= at {
            assert!(at > 30, "only {at} crash points");
            break;
        }
    }
}

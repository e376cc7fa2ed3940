//! Announcements of processes that died, paused, or returned.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::{NAME, NOTHING, ONE, Process, one, remote};
use crate::git::{FailpointHook, simulated};
use crate::model::{Action, Certainty};
use crate::state::tests::*;
use crate::state::{Begun, Clock as _, Error, Failures, Journal, Store};

#[test]
fn requests_of_a_dead_process_are_unknown_to_its_successor_which_settles_them() {
    let remote = remote();
    let mut dead = Process::new("first").open(&remote);
    dead.queue().unwrap();
    let journal = dead.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    drop(journal);
    dead.store = None;
    let mut next = Process::new("second").open(&remote);
    assert!(matches!(next.look(), Err(Error::InUse { .. })));
    next.queue().unwrap();
    let waited = next.clock.elapsed();
    assert!((77..=79).contains(&waited.as_secs()), "{waited:?}");
    let mut found = next.store().view().unknown()[&id("a/b/c")].clone();
    assert!(found.announced.take().is_some(), "only the dead process knows whether it started");
    assert_eq!(found, one("one")[0].1);
    assert_eq!(next.store().view().newest(), Some(head(1).revision));
    pass(next.store(), 2, &[("a/b/c", Action::Update, "two")], Certainty::Stored).unwrap();
    let mut back = dead.restart(&remote);
    back.queue().unwrap();
    assert_eq!(back.clock.elapsed(), Duration::ZERO, "it does not wait");
    assert_eq!(back.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(back.unknown(), NOTHING);
}

#[test]
fn a_process_ends_its_own_announcement_from_its_journal_once_its_requests_are_over() {
    let remote = remote();
    let mut dead = Process::new("first").open(&remote);
    dead.queue().unwrap();
    let changes = [(id("a/b/c"), sent(Action::Create, "one")), (id("a/b/d"), sent(Action::Create, "two"))];
    let journal = dead.start(1, &changes).unwrap();
    Process::send(&journal, &changes[0], Certainty::Stored);
    assert!(block_on(journal.begin(&changes[1].0, &changes[1].1)).unwrap().is_some());
    drop(journal);
    let mut back = dead.restart(&remote);
    assert_eq!(back.store().inherited(), [id("a/b/d")].into());
    back.queue().unwrap();
    let waited = back.clock.elapsed().as_secs();
    assert_eq!(waited, 11, "what was open takes one timeout, and the next holder must not send beside it");
    assert_eq!(back.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(back.unknown(), ["a/b/d"]);
    let mut next = Process::new("second").open(&remote);
    next.queue().unwrap();
    assert_eq!(next.clock.elapsed(), Duration::ZERO, "it is a record");
    assert_eq!((next.applied(), next.unknown()), (back.applied(), back.unknown()));
}

#[test]
fn a_suspended_process_starts_no_request_until_a_push_proves_that_it_still_holds_the_ref() {
    let remote = remote();
    let mut process = Process::new("first").open(&remote);
    process.queue().unwrap();
    let change = one("one").remove(0);
    let journal = process.start(1, &one("one")).unwrap();
    process.clock.advance(59);
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap();
    journal.finish(begun.unwrap(), Certainty::NotStored).unwrap();
    process.clock.advance(1);
    assert!(block_on(journal.begin(&change.0, &change.1)).unwrap().is_none());
    process.store().checkpoint(&head(1)).unwrap();
    block_on(journal.granted()).unwrap();
    assert_eq!(Process::send(&journal, &change, Certainty::Stored), Certainty::Stored);
    process.record(1).unwrap();
    assert_eq!((process.applied().len(), process.unknown().len()), (1, 0));
}

/// Returns a process whose virtual machine was suspended for minutes right after its request was permitted.
fn suspended(remote: &TempDir) -> (Process, Journal, Begun) {
    let mut process = Process::new("late").open(remote);
    process.queue().unwrap();
    let changes = one("one");
    let journal = process.start(1, &changes).unwrap();
    let (toggle, sent) = &changes[0];
    let begun = block_on(journal.begin(toggle, sent)).unwrap().unwrap();
    process.clock.advance(300);
    (process, journal, begun)
}

#[test]
fn a_term_begins_with_the_first_push_of_its_announcement_even_if_a_later_one_gets_the_verdict() {
    let remote = remote();
    let mut process = Process::without_programs("first").open(&remote);
    process.queue().unwrap();
    let (clock, lost) = (Arc::clone(&process.clock), Cell::new(0));
    simulated::enter(move |point| match (point, lost.get()) {
        ("pushed", 0) => {
            lost.set(1);
            Err("no verdict")
        }
        ("push", 1) => {
            // Suspended between the tries, while others see the announcement.
            lost.set(2);
            clock.advance(70);
            Ok(())
        }
        _ => Ok(()),
    });
    let changes = one("one");
    let journal = process.start(1, &changes).unwrap();
    simulated::leave();
    let (toggle, sent) = &changes[0];
    assert!(block_on(journal.begin(toggle, sent)).unwrap().is_none());
    process.store().checkpoint(&head(1)).unwrap();
    assert!(block_on(journal.begin(toggle, sent)).unwrap().is_some());
}

#[test]
fn a_late_request_is_unknown_even_if_the_successor_has_an_outcome() {
    let remote = remote();
    let (mut late, journal, begun) = suspended(&remote);
    let mut next = Process::new("next").open(&remote);
    next.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    assert_eq!(next.unknown(), NOTHING);
    assert_eq!(journal.finish(begun, Certainty::Stored).unwrap(), Certainty::Unknown);
    assert!(matches!(late.store().checkpoint(&head(1)), Err(Error::TakenOver(_))));
    assert!(matches!(block_on(journal.granted()), Err(Error::LeaseOver)));
    drop(journal);
    let _ = late.store().abandon(&head(1), &NEVER);
    late.queue().unwrap();
    assert_eq!(late.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(late.unknown(), ["a/b/c"], "its own request may be what is stored");
    next.queue().unwrap();
    assert_eq!(next.unknown(), ["a/b/c"], "all other processes have it too");
}

#[test]
fn a_late_request_remembers_the_unknown_requests_of_the_successor() {
    let remote = remote();
    let (mut late, journal, begun) = suspended(&remote);
    let mut next = Process::new("next").open(&remote);
    next.pass(2, &[("a/b/c", Action::Create, "two")], Certainty::Unknown);
    journal.finish(begun, Certainty::Unknown).unwrap();
    drop(journal);
    let _ = late.store().abandon(&head(1), &NEVER);
    for process in [&mut late, &mut next] {
        process.queue().unwrap();
        let listed = process.store().view().unknown()[&id("a/b/c")].clone();
        assert_eq!(listed.payload, payload("two"), "it was announced last");
        for text in ["one", "two"] {
            assert!(listed.may_have_stored(&payload(text)), "{text}: {listed:?}");
        }
    }
}

#[test]
fn an_outcome_stays_in_the_journal_until_a_push_that_contains_it() {
    let remote = remote();
    let mut process = Process::new("first").open(&remote);
    process.queue().unwrap();
    let journal = process.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    // The host of the state is away during the checkpoint, and the process is killed then.
    let (here, away) = (remote.path().join("state.git"), remote.path().join("away.git"));
    std::fs::rename(&here, &away).unwrap();
    process.store().checkpoint(&head(1)).unwrap();
    drop(journal);
    std::fs::rename(&away, &here).unwrap();
    let mut process = process.restart(&remote);
    process.queue().unwrap();
    assert_eq!(process.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(process.unknown(), NOTHING);
}

#[test]
fn nothing_is_sent_after_a_refused_push_until_one_succeeds() {
    let remote = remote();
    let mut process = Process::new("first").open(&remote);
    process.queue().unwrap();
    let changes = [one("one"), vec![(id("a/b/d"), sent(Action::Create, "one"))]].concat();
    let journal = process.start(1, &changes).unwrap();
    Process::send(&journal, &changes[0], Certainty::Stored);
    let (here, away) = (remote.path().join("state.git"), remote.path().join("away.git"));
    std::fs::rename(&here, &away).unwrap();
    process.store().checkpoint(&head(1)).unwrap();
    let (toggle, sent) = &changes[1];
    assert!(block_on(journal.begin(toggle, sent)).unwrap().is_none(), "it is held back");
    std::fs::rename(&away, &here).unwrap();
    process.store().checkpoint(&head(1)).unwrap();
    assert!(block_on(journal.begin(toggle, sent)).unwrap().is_some());
}

#[test]
fn a_request_of_a_killed_process_is_overtaken_once_the_outcome_of_a_later_one_is_recorded() {
    let remote = remote();
    let mut killed = Process::new("killed").open(&remote);
    killed.queue().unwrap();
    let journal = killed.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Unknown);
    drop(journal);
    let mut next = Process::new("next").open(&remote);
    next.clock.advance(300);
    next.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    let mut back = killed.restart(&remote);
    back.queue().unwrap();
    next.queue().unwrap();
    for process in [&mut back, &mut next] {
        assert_eq!(process.applied(), pairs(&[("a/b/c.yaml", "two")]));
        let listed = &process.store().view().unknown()[&id("a/b/c")];
        assert_eq!((&listed.payload, listed.overtaken), (&payload("one"), true));
    }
}

#[test]
fn a_request_confirmed_within_the_term_is_left_to_the_successor() {
    let remote = remote();
    let mut paused = Process::new("paused").open(&remote);
    paused.queue().unwrap();
    let journal = paused.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    paused.clock.advance(300);
    let mut next = Process::new("next").open(&remote);
    next.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    drop(journal);
    let error = paused.record(1).unwrap_err();
    assert!(matches!(error, Error::TakenOver(_)), "{error:?}");
    let _ = paused.store().abandon(&head(1), &NEVER);
    paused.queue().unwrap();
    assert_eq!(paused.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(paused.unknown(), NOTHING, "it is not sent again");
}

#[test]
fn a_process_with_unlisted_outcomes_waits_without_limit_and_names_them_when_stopped() {
    let remote = remote();
    let mut late = Process::new("late").open(&remote);
    late.queue().unwrap();
    let journal = late.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Unknown);
    late.clock.advance(300);
    let mut next = Process::new("next").open(&remote);
    next.queue().unwrap();
    let held = next.start(2, &one("two")).unwrap();
    assert!(matches!(late.store().checkpoint(&head(1)), Err(Error::TakenOver(_))));
    drop(journal);
    let _ = late.store().abandon(&head(1), &NEVER);
    // The other process renews its announcement for longer than two minutes.
    let began = late.clock.elapsed();
    let rounds = AtomicUsize::new(0);
    let next = std::cell::RefCell::new(next);
    let clock = Arc::clone(&late.clock);
    let error = late
        .store()
        .refresh(
            1_000,
            &|| {
                if rounds.fetch_add(1, Ordering::SeqCst) % 20 == 19 {
                    next.borrow().clock.advance(20);
                    next.borrow_mut().store().checkpoint(&head(2)).unwrap();
                }
                clock.elapsed() > began + Duration::from_secs(400)
            },
            &|_| {},
            &mut |_| true,
        )
        .unwrap_err();
    assert!(error.to_string().contains("in use by next") && error.to_string().contains("`a/b/c`"), "{error}");
    drop(held);
}

#[test]
fn an_announcement_that_stored_nothing_is_withdrawn_with_its_revision() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(2, &[ONE], Certainty::NotStored);
    let mut next = Process::new("next").open(&remote);
    next.queue().unwrap();
    assert_eq!(next.clock.elapsed(), Duration::ZERO);
    let view = next.store().view();
    assert_eq!((view.tip(), view.newest(), view.base_url()), (None, None, None));
    assert!(view.unknown().is_empty());
    next.pass(1, &[ONE], Certainty::Stored);
    let before = git(remote.path(), &["rev-parse", NAME]);
    next.pass(3, &[("a/b/c", Action::Update, "two")], Certainty::NotStored);
    assert_eq!(git(remote.path(), &["rev-parse", NAME]), before);
}

#[test]
fn an_unresolved_list_does_not_grow() {
    let remote = remote();
    Process::new("first").open(&remote).pass(1, &[ONE], Certainty::Unknown);
    let mut other = Process::new("other").open(&remote);
    let mut sizes = Vec::new();
    for _ in 0..3 {
        other.queue().unwrap();
        assert_eq!(other.unknown(), ["a/b/c"]);
        other.record(1).unwrap();
        let journal = std::fs::metadata(other.dir.path().join("journal"));
        sizes.push(journal.map_or(0, |journal| journal.len()));
        other = other.restart(&remote);
    }
    assert_eq!(sizes[0], sizes[2]);
}

#[test]
fn a_process_that_was_killed_while_it_took_over_a_record_continues_with_a_newer_one() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[("a/b/c", Action::Create, "one")], Certainty::Stored);
    let killed = Process::new("killed");
    let crash: FailpointHook = Arc::new(|point| point == "ref: moved");
    let mut store = Store::open(killed.dir.path(), killed.options(remote.path(), Some(crash))).unwrap();
    assert!(matches!(store.refresh(1_000, &NEVER, &|_| {}, &mut |_| true), Err(Error::Crashed(_))));
    drop(store);
    first.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    let mut killed = killed.open(&remote);
    killed.queue().unwrap();
    assert_eq!(killed.applied(), pairs(&[("a/b/c.yaml", "two")]));
}

#[test]
fn the_announcement_of_another_service_is_not_taken_over() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.queue().unwrap();
    let journal = first.start(1, &one("one")).unwrap();
    let process = Process::new("other");
    let mut options = process.options(remote.path(), None);
    options.base_url = "https://other.example".to_owned();
    let mut store = Store::open(process.dir.path(), options).unwrap();
    let error = store.refresh(1_000, &NEVER, &|_| {}, &mut |_| true).unwrap_err();
    assert!(matches!(error, Error::OtherBaseUrl { .. }), "{error:?}");
    drop(journal);
}

#[test]
fn a_crash_at_any_point_of_a_shared_pass_forgets_nothing() {
    for at in 0.. {
        let remote = remote();
        let process = Process::without_programs("first");
        let count = Arc::new(AtomicUsize::new(0));
        let crash: FailpointHook = {
            let count = Arc::clone(&count);
            Arc::new(move |_| count.fetch_add(1, Ordering::SeqCst) >= at)
        };
        let sent_to = (|| {
            let options = process.options(remote.path(), Some(crash));
            let mut store = Store::open(process.dir.path(), options).ok()?;
            store.refresh(1_000, &NEVER, &|_| {}, &mut |_| true).ok()?;
            let journal = store.start(&head(1), &one("one"), documents(&["one"]), &NEVER).ok()?;
            let (toggle, sent) = one("one").remove(0);
            let begun = block_on(journal.begin(&toggle, &sent)).ok()??;
            let _ = journal.finish(begun, Certainty::Stored);
            let _ = store
                .checkpoint(&head(1))
                .and_then(|()| store.record(&head(1), &[], documents(&[]), &NEVER))
                .and_then(|()| store.finish_pass(None, Failures::default()));
            Some(toggle)
        })();
        for mut next in [Process::without_programs("elsewhere"), process] {
            next = next.restart(&remote);
            next.queue().unwrap();
            if let Some(toggle) = &sent_to {
                let known = next.applied().contains_key("a/b/c.yaml");
                assert!(known || next.store().view().unknown().contains_key(toggle), "crash {at}: forgotten");
            }
            // An operator removes the lock that a crash may leave in the remote.
            drop(std::fs::remove_file(remote.path().join("state.git").join(format!("{NAME}.lock"))));
            next.pass(2, &[("a/b/e", Action::Create, "three")], Certainty::Stored);
        }
        git(remote.path(), &["fsck", "--strict", "--full"]);
        if count.load(Ordering::SeqCst) <= at {
            assert!(at > 25, "only {at} crash points");
            break;
        }
    }
}

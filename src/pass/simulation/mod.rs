//! Passes in virtual time, against a simulated service and a simulated network: thousands of random
//! histories, and what must hold in each of them.
//!
//! A history is drawn from a seed. [`world`] is its time and [`machine`] a process in it, which runs a
//! [`job`]. [`repository`] is the source, [`service`] the service, [`network`] the way to the shared state
//! and [`reference`] what is there; [`history`] draws what happens, within [`options`]. The service and the
//! ref check the guarantees (src/README.md, "Guarantees"; src/state/README.md, "Shared state") with each
//! request and each push.
//!
//! A simulation that does not notice a mistake proves nothing, so `tests/simulation/mistakes.yaml` has
//! mistakes that it has to notice. `GITOGGLE_SEED=7` runs that one seed and prints its story,
//! `GITOGGLE_SEEDS=5000` runs that many. A seed that found a fault is kept in `tests/simulation/seeds`.

mod dependencies;
mod history;
mod job;
mod live_store;
mod machine;
mod network;
mod options;
mod reference;
mod repository;
mod service;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::model::{ServiceKind, Thresholds};
use history::Ended;
use options::{Kills, Kind, Options, Permissions};
use service::Exceptions;

/// How many seeds each test runs by default.
const SEEDS: u64 = 25;

/// The seeds that found a fault, and a history that repeats the fault if it comes back: kind, seed, and what
/// is special.
const KEPT: &str = include_str!("../../../tests/simulation/seeds");

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Runs histories on every core until one fails. Returns what failed, or whatever ran if `all`.
fn find(
    seeds: std::ops::Range<u64>,
    options: impl Fn(u64) -> Options + Sync,
    all: bool,
) -> Vec<(u64, Ended)> {
    let next = AtomicU64::new(seeds.start);
    let (found, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let threads = crate::pass::cores();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        return;
                    }
                    let ended = history::run(options(seed));
                    if ended.fault.is_some() || all {
                        is_over.store(true, Ordering::Relaxed);
                        found.lock().unwrap().push((seed, ended));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(seed, _)| *seed);
    found
}

/// Runs many seeds, and prints the story of the first that fails.
fn seeds(test: &str, options: impl Fn(u64) -> Options + Sync) {
    let one = number("GITOGGLE_SEED");
    let seeds = match one {
        Some(seed) => seed..seed + 1,
        None => 0..number("GITOGGLE_SEEDS").unwrap_or(SEEDS),
    };
    let (count, began) = (seeds.end, Instant::now());
    let found = find(seeds, options, one.is_some());
    if one.is_none() {
        println!("{count} histories in {:.1} s", began.elapsed().as_secs_f64());
    }
    let Some((seed, Ended { story, fault })) = found.first() else {
        return;
    };
    println!("{}", story.join("\n"));
    if let Some(fault) = fault {
        panic!("{fault}; again: GITOGGLE_SEED={seed} cargo test --lib {test} -- --nocapture");
    }
}

fn options(kind: Kind) -> impl Fn(u64) -> Options + Copy {
    move |seed| Options {
        seed,
        kind,
        exceptions: Exceptions::default(),
        service: ServiceKind::Documented,
        kills: Kills::Drawn,
        permissions: Permissions::All,
        thresholds: Thresholds::drawn(seed),
    }
}

/// Returns histories in which processes are killed one after the other.
fn killed(kind: Kind) -> impl Fn(u64) -> Options + Copy {
    move |seed| Options { kills: Kills::InARow, ..options(kind)(seed) }
}

/// Returns histories of a service that can be read, with a second writer.
fn live(kind: Kind) -> impl Fn(u64) -> Options + Copy {
    move |seed| Options { service: ServiceKind::FeatureProbe, ..options(kind)(seed) }
}

#[test]
fn jobs_with_a_state_folder_apply_the_newest_commit() {
    seeds("jobs_with_a_state_folder", options(Kind::Jobs));
}

#[test]
fn a_daemon_applies_what_its_branch_leads_to() {
    seeds("a_daemon_applies", options(Kind::Daemon));
}

#[test]
fn jobs_that_share_state_apply_the_newest_commit() {
    seeds("jobs_that_share_state", options(Kind::SharedJobs));
}

#[test]
fn daemons_and_jobs_that_share_state_apply_the_newest_commit() {
    seeds("daemons_and_jobs_that_share_state", options(Kind::SharedDaemons));
}

#[test]
fn a_folder_is_never_used_as_that_of_another_place() {
    seeds("a_folder_is_never_used", options(Kind::Moving));
}

#[test]
fn jobs_never_overwrite_what_someone_else_changed() {
    seeds("jobs_never_overwrite", live(Kind::Jobs));
}

#[test]
fn a_daemon_never_overwrites_what_someone_else_changed() {
    seeds("a_daemon_never_overwrites", live(Kind::Daemon));
}

#[test]
fn jobs_that_share_state_never_overwrite_what_someone_else_changed() {
    seeds("jobs_that_share_state_never_overwrite", live(Kind::SharedJobs));
}

#[test]
fn daemons_and_jobs_that_share_state_never_overwrite_what_someone_else_changed() {
    seeds("daemons_and_jobs_that_share_state_never", live(Kind::SharedDaemons));
}

#[test]
fn a_request_that_is_carried_out_late_overwrites_nothing() {
    for kind in [Kind::Jobs, Kind::SharedJobs] {
        seeds("a_request_that_is_carried_out_late", |seed| Options { exceptions: LATE, ..live(kind)(seed) });
    }
}

#[test]
fn a_request_of_a_killed_process_is_waited_for_however_many_processes_follow_it() {
    for kind in [Kind::Jobs, Kind::Daemon, Kind::SharedJobs] {
        seeds("a_request_of_a_killed_process", killed(kind));
    }
}

#[test]
fn a_process_without_permission_sends_only_what_was_sent_or_let_through_before() {
    for kind in [Kind::Jobs, Kind::Daemon, Kind::SharedJobs, Kind::SharedDaemons] {
        seeds("a_process_without_permission", |seed| Options {
            permissions: Permissions::Some,
            ..killed(kind)(seed)
        });
    }
}

/// A process is suspended between the check of its clock and the request.
const FROZEN: Exceptions = Exceptions { frozen_requests: true, late_requests: false };

/// The service carries out requests after their connection is gone.
const LATE: Exceptions = Exceptions { frozen_requests: false, late_requests: true };

#[test]
fn what_a_suspended_process_sent_late_is_repaired_when_it_resumes() {
    seeds("what_a_suspended_process_sent_late", |seed| Options {
        exceptions: FROZEN,
        ..options(Kind::SharedJobs)(seed)
    });
}

#[test]
fn what_the_service_carried_out_late_is_repaired_by_the_next_change() {
    seeds("what_the_service_carried_out_late", |seed| Options {
        exceptions: LATE,
        ..options(Kind::SharedJobs)(seed)
    });
}

#[test]
fn a_seed_always_tells_the_same_story() {
    for (kind, seed) in [(Kind::Jobs, 5), (Kind::Daemon, 6), (Kind::SharedJobs, 7), (Kind::SharedDaemons, 8)]
    {
        let [first, second] = [0, 1].map(|_| history::run(options(kind)(seed)).story);
        assert!(first.len() > 5);
        pretty(&first, &second);
    }
}

/// Compares two stories, and shows where they part.
fn pretty(first: &[String], second: &[String]) {
    let differs = first.iter().zip(second).position(|(first, second)| first != second);
    if let Some(at) = differs {
        panic!("the same until:\n{}\nor\n{}", first[at], second[at]);
    }
    assert_eq!(first.len(), second.len());
}

#[test]
fn seeds_that_found_a_fault_are_kept() {
    for line in KEPT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = match words[0] {
            "jobs" => Kind::Jobs,
            "daemon" => Kind::Daemon,
            "shared-jobs" => Kind::SharedJobs,
            "shared-daemons" => Kind::SharedDaemons,
            "moving" => Kind::Moving,
            other => panic!("`{other}` is not a kind of history"),
        };
        let seed = words[1].parse().expect("a seed");
        let options = match words.get(2) {
            None | Some(&"drawn") => options(kind)(seed),
            Some(&"frozen") => Options { exceptions: FROZEN, ..options(kind)(seed) },
            Some(&"late") => Options { exceptions: LATE, ..options(kind)(seed) },
            Some(&"killed") => killed(kind)(seed),
            Some(&"live") => live(kind)(seed),
            Some(other) => panic!("`{other}` is not a sort of history"),
        };
        // Those from before the thresholds were drawn have real ones.
        let is_drawn = words.last() == Some(&"drawn");
        let thresholds = if is_drawn { options.thresholds } else { Thresholds::default() };
        let ended = history::run(Options { thresholds, ..options });
        assert_eq!(ended.fault, None, "{line}\n{}", ended.story.join("\n"));
    }
}

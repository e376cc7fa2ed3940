//! Timing whole processes side by side.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs both commands in turn, `rounds` times after one warm-up, so that a machine whose speed drifts slows
/// both. Returns the median of each.
pub(crate) fn side_by_side(
    rounds: usize,
    mut ours: impl FnMut() -> Command,
    mut theirs: impl FnMut() -> Command,
) -> (Duration, Duration) {
    let mut all = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (a, b) = (once(&mut ours()), once(&mut theirs()));
        if round > 0 {
            all.0.push(a);
            all.1.push(b);
        }
    }
    (median(&mut all.0), median(&mut all.1))
}

/// Runs a command once and returns its largest resident size, in MiB.
///
/// Not while a run is timed: to look takes a third of the time of one that takes some milliseconds.
pub(crate) fn peak_mib(command: &mut Command) -> u64 {
    let mut child = start(command);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it was started").is_none() {
        peak = peak.max(peak_kib(&status));
        std::thread::sleep(Duration::from_millis(1));
    }
    peak / 1024
}

fn once(command: &mut Command) -> Duration {
    let started = Instant::now();
    start(command).wait().expect("it was started");
    started.elapsed()
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn peak_kib(status: &str) -> u64 {
    std::fs::read_to_string(status)
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}

pub(crate) fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints one line of the result: what, ours, theirs, the ratio and the limit it is held to, if there is one.
pub(crate) fn report(
    what: &str,
    ours: Duration,
    beside: &str,
    theirs: Duration,
    limit: impl Into<Option<f64>>,
) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let verdict = limit.into().map_or_else(String::new, |limit| {
        format!(" (limit {limit})  {}", if ratio <= limit { "ok" } else { "OVER" })
    });
    println!("{what:<44} {ours:>9.2?}   {beside:<34} {theirs:>9.2?}   ratio {ratio:>5.2}{verdict}");
}

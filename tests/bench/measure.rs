//! Timing whole processes side by side.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a few runs of one command showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    pub(crate) median: Duration,
    /// The largest resident size of any run, in MiB.
    pub(crate) peak_mib: u64,
}

/// Runs both commands in turn, `rounds` times after one warm-up, so that a machine whose speed drifts slows both.
pub(crate) fn side_by_side(
    rounds: usize,
    mut ours: impl FnMut() -> Command,
    mut theirs: impl FnMut() -> Command,
) -> (Runs, Runs) {
    let mut all = (Vec::new(), Vec::new());
    let mut peaks = (0, 0);
    for round in 0..=rounds {
        let (a, b) = (once(&mut ours()), once(&mut theirs()));
        if round > 0 {
            all.0.push(a.0);
            all.1.push(b.0);
            peaks = (peaks.0.max(a.1), peaks.1.max(b.1));
        }
    }
    (
        Runs { median: median(&mut all.0), peak_mib: peaks.0 },
        Runs { median: median(&mut all.1), peak_mib: peaks.1 },
    )
}

/// Runs a command once and returns its largest resident size, in MiB.
pub(crate) fn peak_mib(command: &mut Command) -> u64 {
    once(command).1
}

fn once(command: &mut Command) -> (Duration, u64) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(end) = child.try_wait().expect("it was started") {
            let _ = end;
            return (started.elapsed(), peak / 1024);
        }
        peak = peak.max(peak_kib(&status));
        // Short enough not to blur the end of a run of some milliseconds, long enough not to take a core from it.
        std::thread::sleep(Duration::from_micros(if started.elapsed().as_millis() < 50 {
            50
        } else {
            2_000
        }));
    }
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

/// Prints one line of the result: what, ours, theirs, the ratio and the limit it is held to.
pub(crate) fn report(what: &str, ours: Duration, beside: &str, theirs: Duration, limit: f64) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let verdict = if ratio <= limit { "ok" } else { "OVER" };
    println!(
        "{what:<44} {ours:>9.2?}   {beside:<34} {theirs:>9.2?}   ratio {ratio:>5.2} (limit {limit})  {verdict}"
    );
}

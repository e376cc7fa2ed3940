//! The daemon, beside a checkout of 10,000 toggles: how soon it publishes, and what it costs while nothing
//! happens.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;

use super::GITOGGLE;
use super::fixture::{Fixture, Size, as_ann, run};
use super::sandbox::Sandbox;

const COMMITS: usize = 200;
const PASSES: u64 = 1_000;
const REST: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(60);
/// How many clock ticks a second has, in `/proc`.
const TICKS: f64 = 100.0;

const SIZE: Size = Size { projects: 4, environments: 5, toggles: 500, commits: 1, changes_per_commit: 0 };

pub(crate) fn measure(folder: &Path) {
    println!("generating {} toggles …", SIZE.total());
    let bare = Fixture::generate(folder, SIZE);
    let checkout = bare.cloned(folder);
    let sandbox = Sandbox::start(folder);
    let state = folder.join("state");
    adopt(&checkout, &state, &sandbox);

    let size = std::fs::metadata(GITOGGLE).expect("it was built").len();
    figure("size of the program", size as f64 / 1e6, "MB");
    let daemon = starts(&checkout, &state, &sandbox);
    daemon.idles(&sandbox);
    daemon.publishes(&checkout, &sandbox);
    daemon.repeats();
}

/// Prints what was measured.
pub(crate) fn figure(what: &str, found: f64, unit: &str) {
    println!("{what:<44} {found:>9.2} {unit}");
}

/// Prints what was measured, and the limit it is held to.
pub(crate) fn limit(what: &str, found: f64, most: f64, unit: &str) {
    let verdict = if found <= most { "ok" } else { "OVER" };
    println!("{what:<44} {found:>9.2} {unit:<4} (limit {most} {unit})  {verdict}");
}

pub(crate) fn command(verb: &str, checkout: &Path, state: &Path, sandbox: &Sandbox) -> Command {
    let mut command = Command::new(GITOGGLE);
    command
        .args([verb, "--base-url", &sandbox.url])
        .args(["--ca-file".as_ref(), sandbox.ca.as_os_str()])
        .args(["--repo".as_ref(), checkout.as_os_str()])
        .args(["--state-dir".as_ref(), state.as_os_str()])
        .env("GITOGGLE_TOKEN", "sandbox-token")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn adopt(checkout: &Path, state: &Path, sandbox: &Sandbox) {
    for _ in 0..2 {
        // The pass after the first one remembers that there was nothing to do.
        run(command("apply", checkout, state, sandbox).args(["--first-pass", "adopt"]));
    }
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) address: String,
}

/// Returns an address that is free now.
pub(crate) fn free_address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.expect("a free port").to_string()
}

/// Starts the daemon a few times on a warm state; the last one stays.
fn starts(checkout: &Path, state: &Path, sandbox: &Sandbox) -> Daemon {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..9 {
        drop(last.take());
        let address = free_address();
        let started = Instant::now();
        let child = command("run", checkout, state, sandbox)
            .args(["--listen", &address])
            .spawn()
            .expect("the daemon starts");
        let daemon = Daemon { child, address };
        while !daemon.get("/readyz").is_some_and(|reply| reply.starts_with("HTTP/1.1 200")) {
            assert!(started.elapsed() < Duration::from_secs(30), "it never gets ready");
            std::thread::sleep(Duration::from_millis(1));
        }
        times.push(started.elapsed());
        last = Some(daemon);
    }
    let median = super::measure::median(&mut times);
    limit("start to ready, 10,000 toggles", millis(median), 100.0, "ms");
    last.expect("it was started")
}

impl Daemon {
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        Some(reply)
    }

    /// A minute in which nothing happens.
    fn idles(&self, sandbox: &Sandbox) {
        let (before, started) = (self.seconds(), Instant::now());
        std::thread::sleep(IDLE);
        let share = (self.seconds() - before) / started.elapsed().as_secs_f64();
        limit("an idle minute, share of one core", share * 100.0, 0.2, "%");
        let requests: usize = sandbox.arrivals().values().map(Vec::len).sum();
        limit("an idle minute, requests", requests as f64, 0.0, "");
        figure("memory at rest, 10,000 toggles", self.resident(), "MB");
    }

    /// From the moment a ref moves to the arrival of the request.
    fn publishes(&self, checkout: &Path, sandbox: &Sandbox) {
        let mut times: Vec<Duration> = Vec::new();
        for number in 0..COMMITS {
            let toggle = format!("project-00/env-00/toggle-{number:04}");
            let file = checkout.join(format!("{toggle}.yaml"));
            let text = std::fs::read_to_string(&file).expect("the checkout has it");
            std::fs::write(
                &file,
                text.replacen("disabled: false", "disabled: true", 1).replacen("value: \"", "value: \"1", 1),
            )
            .expect("the checkout can be written");
            run(as_ann(checkout).args(["commit", "-qam", &format!("Change {number}")]));
            let moved =
                std::fs::metadata(checkout.join(".git/refs/heads/main")).and_then(|file| file.modified());
            let moved = moved.expect("the branch is a file");
            times.push(since(moved, self.arrival(sandbox, &toggle)));
        }
        times.sort();
        limit("commit to request, median of 200", millis(times[COMMITS / 2]), 100.0, "ms");
        limit("commit to request, 99th percentile", millis(times[COMMITS * 99 / 100]), 250.0, "ms");
    }

    fn arrival(&self, sandbox: &Sandbox, toggle: &str) -> Timestamp {
        let started = Instant::now();
        loop {
            if let Some(times) = sandbox.arrivals().get(toggle) {
                return times[0];
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{toggle} never comes");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A thousand passes, one after the other.
    fn repeats(&self) {
        let mut after_a_tenth = 0.0;
        for pass in 0..PASSES {
            let before = self.passes();
            run(Command::new("kill").args(["-HUP", &self.child.id().to_string()]));
            let started = Instant::now();
            while self.passes() == before {
                assert!(started.elapsed() < Duration::from_secs(30), "no pass {pass}");
                std::thread::sleep(Duration::from_millis(1));
            }
            if pass == PASSES / 10 {
                after_a_tenth = self.at_rest();
            }
        }
        let found = self.at_rest();
        figure("memory at rest after 1,000 passes", found, "MB");
        figure("memory, gained from pass 100 to 1,000", found - after_a_tenth, "MB");
    }

    fn passes(&self) -> u64 {
        let text = self.get("/metrics").unwrap_or_default();
        let counts = text
            .lines()
            .filter(|line| line.starts_with("gitoggle_passes_total{"))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        counts.sum()
    }

    /// Returns the time that it has run, in seconds.
    fn seconds(&self) -> f64 {
        let stat = self.proc("stat");
        let fields: Vec<&str> =
            stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
        (ticks(11) + ticks(12)) / TICKS
    }

    /// Returns its resident memory once it has had nothing to do for a while, in MB.
    pub(crate) fn at_rest(&self) -> f64 {
        std::thread::sleep(REST);
        self.resident()
    }

    /// Returns its resident memory, in MB.
    fn resident(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let kib: f64 = line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
        kib * 1024.0 / 1e6
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).expect("it runs")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn since(moved: SystemTime, arrived: Timestamp) -> Duration {
    let arrived = SystemTime::from(arrived);
    arrived.duration_since(moved).unwrap_or_default()
}

//! The status page of a daemon with 100,000 toggles, all of which wait for a decision on the first pass: how
//! fast and how large its answers are, and what ten readers cost that update it for a while.

use std::path::Path;
use std::time::{Duration, Instant};

use super::daemon::{Daemon, command, figure, free_address, limit, millis};
use super::fixture::{Fixture, LARGE};
use super::measure::median;
use super::sandbox::Sandbox;

const REQUESTS: usize = 51;
const READERS: usize = 10;
const UPDATES: usize = 20;

pub(crate) fn measure(folder: &Path) {
    println!("generating {} toggles …", LARGE.total());
    let bare = Fixture::generate(folder, LARGE);
    let checkout = bare.cloned(folder);
    let sandbox = Sandbox::start(folder);
    let address = free_address();
    let child = command("run", &checkout, &folder.join("state"), &sandbox)
        .args(["--listen", &address, "--poll-interval", "1h"])
        .spawn()
        .expect("the daemon starts");
    let daemon = Daemon { child, address };
    let started = Instant::now();
    while !daemon.get("/readyz").is_some_and(|reply| reply.contains("held in")) {
        assert!(started.elapsed() < Duration::from_secs(300), "it never plans");
        std::thread::sleep(Duration::from_millis(100));
    }
    for (what, path) in [
        ("the page, 100,000 held", "/?page="),
        ("a search in 100,000", "/?q=toggle-00"),
        ("the last pages of 100,000", "/?page=32"),
    ] {
        daemon.answers(what, path);
    }
    daemon.is_read_by_many();
}

impl Daemon {
    fn answers(&self, what: &str, path: &str) {
        let mut times = Vec::new();
        let mut size = 0;
        // Readers of one address share its page, so that only the first request to each address measures the
        // work.
        for number in 10..10 + REQUESTS {
            let path = format!("{path}{number}");
            let started = Instant::now();
            size = self.get(&path).expect("the daemon answers").len();
            times.push(started.elapsed());
        }
        limit(&format!("{what}: median"), millis(median(&mut times)), 50.0, "ms");
        limit(&format!("{what}: size"), size as f64 / 1e3, 100.0, "kB");
    }

    /// Ten readers who fetch the page and the plan of one toggle again and again.
    fn is_read_by_many(&self) {
        let before = self.at_rest();
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    for _ in 0..UPDATES {
                        self.get("/").expect("the daemon answers");
                    }
                });
            }
        });
        figure("memory for ten open pages", self.at_rest() - before, "MB");
    }
}

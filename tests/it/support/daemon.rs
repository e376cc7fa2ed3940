//! A daemon under test: the built program, its endpoint, and its output.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::command::{Gitoggle, Running};
use super::http::Endpoint;
use super::wait::{DEADLINE, eventually};
use super::world::World;

/// The token that orders are given with.
pub(crate) const ADMIN: &str = "admin-token-4711";

/// A running daemon. By default, it polls once an hour, besides the passes that events trigger.
pub(crate) struct Daemon {
    /// Its endpoint.
    pub(crate) endpoint: Endpoint,
    /// There until it is waited for.
    running: Option<Running>,
    log: PathBuf,
}

impl Daemon {
    /// Starts one in `world`; `change` says what is special about it.
    pub(crate) fn start(world: &World, change: impl FnOnce(Gitoggle) -> Gitoggle) -> Self {
        let endpoint = Endpoint::free();
        let admin = world.write("admin-token", &format!("{ADMIN}\n"));
        let log = world.path(&format!("daemon-{}.log", endpoint.address()));
        let run = world
            .daemon()
            .set("listen", endpoint.address())
            .set("poll-interval", "1h")
            .set("admin-token-file", admin);
        let running = change(run).start_logged(&log);
        Self { endpoint, running: Some(running), log }
    }

    /// Starts one and waits until it is ready.
    pub(crate) fn ready(world: &World, change: impl FnOnce(Gitoggle) -> Gitoggle) -> Self {
        let daemon = Self::start(world, change);
        daemon.is_ready();
        daemon
    }

    /// Waits until it is ready.
    #[track_caller]
    pub(crate) fn is_ready(&self) {
        let start = Instant::now();
        while self.endpoint.get("/readyz").is_none_or(|reply| reply.status != 200) {
            let reply = || self.endpoint.get("/readyz").map(|reply| reply.body);
            assert!(start.elapsed() < DEADLINE, "not ready: {:?}\n{}", reply(), self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until it is not ready because of all of `reasons`; the loop turns all the same.
    #[track_caller]
    pub(crate) fn is_unready_for(&self, reasons: &[&str]) {
        eventually(&format!("unready: {reasons:?}"), || {
            let reply = self.endpoint.get("/readyz")?;
            let is_reported = reasons.iter().all(|reason| reply.body.contains(reason));
            (reply.status == 503 && is_reported).then_some(())
        });
        let health = eventually("health", || self.endpoint.get("/healthz"));
        assert_eq!(health.status, 200, "{}", health.body);
    }

    /// Returns what `/api/status` says.
    pub(crate) fn status(&self) -> Option<Value> {
        Some(self.endpoint.get("/api/status?limit=10000")?.json())
    }

    /// Returns the state of one toggle.
    pub(crate) fn state(&self, toggle: &str) -> Option<String> {
        let status = self.status()?;
        let line = status["toggles"].as_array()?.iter().find(|line| line["toggle"] == toggle)?.clone();
        Some(line["state"].as_str()?.to_owned())
    }

    /// Waits until a toggle is in that state.
    #[track_caller]
    pub(crate) fn becomes(&self, toggle: &str, state: &str) {
        eventually(&format!("{toggle} to be {state}"), || (self.state(toggle)? == state).then_some(()));
    }

    /// Waits until the last pass looked at that revision.
    #[track_caller]
    pub(crate) fn has_seen(&self, revision: &str) {
        eventually(&format!("a pass at {revision}"), || {
            (self.status()?["source"]["revision"] == revision).then_some(())
        });
    }

    /// Returns the value of a metric, written with its labels.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let text = self.endpoint.get("/metrics")?.body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.parse().ok()
    }

    /// Returns how many passes have ended.
    pub(crate) fn passes(&self) -> f64 {
        let count = |result: &str| self.metric(&format!("gitoggle_passes_total{{result=\"{result}\"}}"));
        ["success", "noop", "error"].into_iter().filter_map(count).sum()
    }

    /// Gives an order with the admin token and returns the answer's status.
    pub(crate) fn order(&self, path: &str, body: &str) -> u16 {
        let bearer = format!("Bearer {ADMIN}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.endpoint.post(path, &headers, body.as_bytes()).status
    }

    /// Gives an order with the admin token and returns the whole answer.
    pub(crate) fn ask(&self, path: &str, body: &str) -> (u16, Value) {
        let bearer = format!("Bearer {ADMIN}");
        let reply = self.endpoint.post(path, &[("Authorization", bearer.as_str())], body.as_bytes());
        (reply.status, reply.json())
    }

    /// Returns everything it has said so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has said all of `needles` in one line.
    #[track_caller]
    pub(crate) fn says(&self, needles: &[&str]) {
        eventually(&format!("{} to say {needles:?}", self.log.display()), || {
            let is_reported = |line: &str| needles.iter().all(|needle| line.contains(needle));
            self.log().lines().any(is_reported).then_some(())
        });
    }

    /// Returns how many lines hold `needle`.
    pub(crate) fn said(&self, needle: &str) -> usize {
        self.log().lines().filter(|line| line.contains(needle)).count()
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.running.as_ref().map_or(0, Running::id)
    }

    /// Asks it to end, as a supervisor would.
    pub(crate) fn terminate(&self) {
        self.running.iter().for_each(Running::terminate);
    }

    /// Waits until it ends and returns its exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.running.take().and_then(Running::wait)
    }

    /// Stops it, and asserts that it exits with 0.
    #[track_caller]
    pub(crate) fn stops_cleanly(self) {
        self.terminate();
        assert_eq!(self.wait(), Some(0));
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.running.take().map(Running::kill).unwrap_or_default();
    }
}

//! The sandbox as a child process, and a load generator against it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::GITOGGLE;

/// `gitoggle sandbox` as a child process.
pub(crate) struct Sandbox {
    child: Child,
    pub(crate) url: String,
    pub(crate) ca: PathBuf,
    history: PathBuf,
}

impl Sandbox {
    /// Starts a sandbox with the documented endpoint only.
    pub(crate) fn start(folder: &Path) -> Self {
        let history = folder.join("history.jsonl");
        Self::start_with(folder, &["--history-file".as_ref(), history.as_os_str()])
    }

    /// Starts a sandbox with the API of FeatureProbe and these projects.
    pub(crate) fn with_projects(folder: &Path, projects: &Value) -> Self {
        let data = folder.join("data.json");
        std::fs::write(&data, projects.to_string()).expect("a file can be written");
        let kind = ["--service-kind", "featureprobe", "--data"].map(OsStr::new);
        Self::start_with(folder, &[&kind[..], &[data.as_os_str()]].concat())
    }

    fn start_with(folder: &Path, args: &[&OsStr]) -> Self {
        let (ca, history) = (folder.join("ca.pem"), folder.join("history.jsonl"));
        let mut child = Command::new(GITOGGLE)
            .args(["sandbox", "--listen", "127.0.0.1:0"])
            .args(["--ca-out".as_ref(), ca.as_os_str()])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the sandbox starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let url = lines
            .find_map(|line| {
                let line = line.expect("the sandbox prints text");
                line.split_whitespace().find(|word| word.starts_with("https://")).map(ToOwned::to_owned)
            })
            .expect("the sandbox prints its URL");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, ca, history }
    }

    /// Returns when each publish arrived, by the path of its document.
    pub(crate) fn arrivals(&self) -> BTreeMap<String, Vec<Timestamp>> {
        let text = std::fs::read_to_string(&self.history).expect("the sandbox keeps its history");
        let mut arrivals: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("each line is JSON");
            let text = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("no {name} in {line}"));
            let at = text("at").parse().expect("a time");
            arrivals.entry(text("toggle").to_owned()).or_default().push(at);
        }
        arrivals
    }

    /// Returns how many publishes arrived, and the time between the first and the last.
    pub(crate) fn first_to_last(&self) -> (usize, Duration) {
        let times: Vec<Timestamp> = self.arrivals().into_values().flatten().collect();
        let (first, last) =
            (times.iter().min().expect("something came"), times.iter().max().expect("something came"));
        (times.len(), last.duration_since(*first).unsigned_abs())
    }

    pub(crate) fn load(&self, folder: &Path, count: usize) -> Option<f64> {
        let body = folder.join("body.json");
        let content = r#"{"comment":"Change number 999","disabled":false,"content":{"rules":[{"name":"rule-0","serve":{"select":0},"conditions":[{"type":"string","subject":"city","predicate":"is one of","objects":["city-1","city-999","Paris"]},{"type":"number","subject":"age","predicate":">","objects":["18"]}]},{"name":"rule-1","serve":{"select":1},"conditions":[{"type":"string","subject":"city","predicate":"is one of","objects":["city-1","city-999","Paris"]},{"type":"number","subject":"age","predicate":">","objects":["19"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":1},"variations":[{"value":"999","name":"v0","description":"variation 0 of 1"},{"value":"1009","name":"v1","description":"variation 1 of 1"}]}}"#;
        std::fs::write(&body, content).ok()?;
        let target = format!("{}/api/projects/p/environments/e/toggles/t/targeting", self.url);
        h2load(64, count, &target, |command| {
            command
                .args(["-H", ":method: PATCH"])
                .args(["-H", "Content-Type: application/json", "-d"])
                .arg(&body);
        })
    }
}

/// Returns the requests per second of `h2load`; `None` if it is not installed.
pub(crate) fn h2load(
    connections: usize,
    count: usize,
    target: &str,
    add: impl FnOnce(&mut Command),
) -> Option<f64> {
    let mut command = Command::new("h2load");
    command.args(["--h1", "-t", "1", "-H", "Authorization: sandbox-token"]);
    command.args(["-c", &connections.to_string(), "-n", &count.to_string()]);
    add(&mut command);
    let output = command.arg(target).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(&format!("{count} succeeded")), "{text}");
    let rate = text.lines().find_map(|line| line.strip_prefix("finished in "))?;
    rate.split(", ").nth(1)?.trim_end_matches(" req/s").parse().ok()
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Importing toggles from the sandbox, beside plain GET requests with the same concurrency.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant};

use gitoggle::transport::Network;
use serde_json::{Value, json};

use super::GITOGGLE;
use super::fixture::run;

const ENVIRONMENTS: usize = 5;
const TOGGLES: usize = 1_000;
const IN_FLIGHT: usize = 16;

/// Imports everything and prints the ratio of its GET rate to that of a client that ignores the responses.
pub(crate) fn measure(folder: &Path) {
    let service = ReadableSandbox::start(folder);
    let repo = folder.join("repo");
    run(Command::new("git").args(["init", "--quiet"]).arg(&repo));
    let count = ENVIRONMENTS * TOGGLES;
    for what in ["written", "unchanged"] {
        let started = Instant::now();
        let mut import = Command::new(GITOGGLE);
        import
            .args([
                "import",
                "--service-kind",
                "featureprobe",
                "--base-url",
                &service.url,
            ])
            .args(["--max-in-flight", &IN_FLIGHT.to_string()])
            .args([
                "--ca-file".as_ref(),
                service.ca.as_os_str(),
                "--repo".as_ref(),
                repo.as_os_str(),
            ])
            .env("GITOGGLE_TOKEN", "sandbox-token")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        run(&mut import);
        let ours = count as f64 / started.elapsed().as_secs_f64();
        let (beside, theirs) = match service.h2load(count) {
            Some(rate) => ("h2load", rate),
            None => ("a loop of GETs", service.plain_gets(count)),
        };
        let ratio = ours / theirs;
        let verdict = if ratio >= 0.5 { "ok" } else { "UNDER" };
        println!(
            "import, {count} toggles {what}: {ours:.0}/s   {beside}: {theirs:.0}/s   ratio {ratio:.2} (at least 0.5)  \
             {verdict}"
        );
    }
}

struct ReadableSandbox {
    child: Child,
    url: String,
    ca: PathBuf,
}

impl ReadableSandbox {
    fn start(folder: &Path) -> Self {
        let (ca, data) = (folder.join("ca.pem"), folder.join("data.json"));
        std::fs::write(&data, projects().to_string()).expect("a file can be written");
        let mut child = Command::new(GITOGGLE)
            .args([
                "sandbox",
                "--service-kind",
                "featureprobe",
                "--listen",
                "127.0.0.1:0",
            ])
            .args([
                "--ca-out".as_ref(),
                ca.as_os_str(),
                "--data".as_ref(),
                data.as_os_str(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the sandbox starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let url = lines
            .find_map(|line| {
                let line = line.expect("the sandbox prints text");
                let mut words = line.split_whitespace();
                words
                    .find(|word| word.starts_with("https://"))
                    .map(ToOwned::to_owned)
            })
            .expect("the sandbox prints its URL");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, ca }
    }

    fn target(&self) -> String {
        format!(
            "{}/api/projects/shop/environments/e0/toggles/t0/targeting",
            self.url
        )
    }

    fn h2load(&self, count: usize) -> Option<f64> {
        let output = Command::new("h2load")
            .args([
                "--h1",
                "-t",
                "1",
                "-c",
                &IN_FLIGHT.to_string(),
                "-n",
                &count.to_string(),
            ])
            .args(["-H", "Authorization: sandbox-token"])
            .arg(self.target())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("{count} succeeded")), "{text}");
        let rate = text.lines().find_map(|line| line.strip_prefix("finished in "))?;
        rate.split(", ").nth(1)?.trim_end_matches(" req/s").parse().ok()
    }

    /// Returns the rate of a client that does nothing with the responses.
    fn plain_gets(&self, count: usize) -> f64 {
        let network = Network {
            ca_file: Some(self.ca.clone()),
            ..Network::default()
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        runtime.block_on(async {
            let client = network.client(Duration::from_secs(10)).expect("the CA is valid");
            let left = Arc::new(AtomicIsize::new(count.cast_signed()));
            let started = Instant::now();
            let workers: Vec<_> = (0..IN_FLIGHT)
                .map(|_| {
                    let (client, left, target) = (client.clone(), Arc::clone(&left), self.target());
                    tokio::spawn(async move {
                        while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                            let request = client.get(&target).header("Authorization", "sandbox-token");
                            let response = request.send().await.expect("the sandbox answers");
                            assert!(response.status().is_success());
                            response.bytes().await.expect("the body is complete");
                        }
                    })
                })
                .collect();
            for worker in workers {
                worker.await.expect("no worker panics");
            }
            count as f64 / started.elapsed().as_secs_f64()
        })
    }
}

impl Drop for ReadableSandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn projects() -> Value {
    let key = |number| format!("e{number}");
    let environments: Vec<Value> = (0..ENVIRONMENTS)
        .map(|number| json!({ "key": key(number) }))
        .collect();
    let content = json!({
        "rules": [{
            "name": "adults",
            "serve": { "split": [2500, 7500] },
            "conditions": [
                { "type": "number", "subject": "age", "predicate": ">", "objects": ["18"] },
                { "type": "string", "subject": "city", "predicate": "is one of", "objects": ["Paris", "Oslo"] },
            ],
        }],
        "disabledServe": { "select": 0 },
        "defaultServe": { "select": 1 },
    });
    let publish = json!({ "comment": "c", "disabled": false, "content": content });
    let targeting: serde_json::Map<String, Value> = (0..ENVIRONMENTS)
        .map(|number| (key(number), publish.clone()))
        .collect();
    let toggle = |number| {
        json!({
            "key": format!("t{number}"),
            "returnType": "boolean",
            "variations": [{ "name": "off", "value": "false" }, { "name": "on", "value": "true" }],
            "targeting": targeting,
        })
    };
    let toggles: Vec<Value> = (0..TOGGLES).map(toggle).collect();
    json!({ "projects": [{ "key": "shop", "environments": environments, "toggles": toggles }] })
}

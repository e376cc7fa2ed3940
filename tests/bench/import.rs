//! Importing toggles from the sandbox, beside plain GET requests with the same concurrency.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant};

use gitoggle::transport::Network;
use serde_json::{Value, json};

use super::GITOGGLE;
use super::fixture::{projects, run};
use super::sandbox::{Sandbox, h2load};

const ENVIRONMENTS: usize = 5;
const TOGGLES: usize = 1_000;
const IN_FLIGHT: usize = 16;

/// Imports everything and prints the ratio of its GET rate to that of a client that ignores the responses.
pub(crate) fn measure(folder: &Path) {
    let service = Sandbox::with_projects(folder, &projects(ENVIRONMENTS, TOGGLES, &rules()));
    let target = format!("{}/api/projects/shop/environments/e0/toggles/t0000/targeting", service.url);
    let repo = folder.join("repo");
    run(Command::new("git").args(["init", "--quiet"]).arg(&repo));
    let count = ENVIRONMENTS * TOGGLES;
    for what in ["written", "unchanged"] {
        let started = Instant::now();
        let mut import = Command::new(GITOGGLE);
        import
            .args(["import", "--service-kind", "featureprobe", "--base-url", &service.url])
            .args(["--max-in-flight", &IN_FLIGHT.to_string()])
            .args(["--ca-file".as_ref(), service.ca.as_os_str(), "--repo".as_ref(), repo.as_os_str()])
            .env("GITOGGLE_TOKEN", "sandbox-token")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        run(&mut import);
        let ours = count as f64 / started.elapsed().as_secs_f64();
        let (beside, theirs) = match h2load(IN_FLIGHT, count, &target, |_| {}) {
            Some(rate) => ("h2load", rate),
            None => ("a loop of GETs", plain_gets(&service, &target, count)),
        };
        let ratio = ours / theirs;
        let verdict = if ratio >= 0.5 { "ok" } else { "UNDER" };
        println!(
            "import, {count} toggles {what}: {ours:.0}/s   {beside}: {theirs:.0}/s   ratio {ratio:.2} (at least 0.5)  \
             {verdict}"
        );
    }
}

/// Returns the rate of a client that does nothing with the responses.
fn plain_gets(sandbox: &Sandbox, target: &str, count: usize) -> f64 {
    let network = Network { ca_file: Some(sandbox.ca.clone()), ..Network::default() };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let client = network.client(Duration::from_secs(10)).expect("the CA is valid");
        let left = Arc::new(AtomicIsize::new(count.cast_signed()));
        let started = Instant::now();
        let workers: Vec<_> = (0..IN_FLIGHT)
            .map(|_| {
                let (client, left, target) = (client.clone(), Arc::clone(&left), target.to_owned());
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

fn rules() -> Value {
    json!([{
        "name": "adults",
        "serve": { "split": [2500, 7500] },
        "conditions": [
            { "type": "number", "subject": "age", "predicate": ">", "objects": ["18"] },
            { "type": "string", "subject": "city", "predicate": "is one of", "objects": ["Paris", "Oslo"] },
        ],
    }])
}

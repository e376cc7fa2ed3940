//! The composition of the daemon and the sandbox.

use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use super::{document, files, invoked, items, word, words};
use crate::support::http::Endpoint;
use crate::support::{Daemon, World, eventually};

/// The variables of a service. Those of the shell have their defaults.
fn variables(service: &Value) -> Vec<(String, String)> {
    let pairs = service["environment"].as_object().unwrap();
    pairs.iter().map(|(name, value)| (name.clone(), expanded(word(value)))).collect()
}

/// Replaces `${NAME:-default}` by the default.
fn expanded(text: &str) -> String {
    let Some((before, rest)) = text.split_once("${") else {
        return text.to_owned();
    };
    let (variable, after) = rest.split_once('}').unwrap();
    let (_, default) = variable.split_once(":-").unwrap();
    format!("{before}{default}{after}")
}

#[test]
fn compose_runs_the_daemon_with_the_sandbox() {
    let compose = document("compose.yaml");
    let services = &compose["services"];
    for (name, service) in services.as_object().unwrap() {
        invoked(&words(&service["command"]), &with_state(variables(service)), "/var/lib/gitoggle", None);
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(words(&service["cap_drop"]), ["ALL"], "{name}");
        for volume in words(&service["volumes"]) {
            let source = volume.split(':').next().unwrap();
            assert!(source.starts_with("${") || !compose["volumes"][source].is_null(), "{volume}");
        }
    }
    let given = |service: &str, name: &str| services[service]["environment"][name].clone();
    assert_eq!(given("gitoggle", "GITOGGLE_TOKEN"), given("sandbox", "GITOGGLE_SANDBOX_TOKEN"));
    assert_eq!(services["gitoggle"]["stop_grace_period"], "30s");
    // The sandbox forgets its toggles when it ends, so a state that outlived it would keep it empty.
    let of_daemon = &services["gitoggle"];
    let memory = words(&of_daemon["tmpfs"]);
    assert!(memory.contains(&"/var/lib/gitoggle:mode=1777".to_owned()), "{memory:?}");
    let volumes = words(&of_daemon["volumes"]);
    let is_state = |volume: &String| volume.contains(":/var/lib/gitoggle");
    assert!(!volumes.iter().any(is_state), "{volumes:?}");
    let waits = &services["gitoggle"]["depends_on"]["sandbox"]["condition"];
    assert_eq!(waits, "service_healthy", "the certificate has to be there first");
    let ports = words(&services["sandbox"]["ports"]);
    assert!(ports.iter().all(|port| port.starts_with("127.0.0.1:")), "{ports:?}");
    assert!(items(&services["sandbox"]["healthcheck"]["test"]).count() > 1);
}

/// The variables of the image, overridden by those of a service.
fn with_state(mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    variables.push(("GITOGGLE_STATE_DIR".to_owned(), "/var/lib/gitoggle".to_owned()));
    variables
}

/// Runs both services as processes, with the variables of the composition.
#[test]
fn compose_publishes_the_examples_without_a_decision() {
    let compose = document("compose.yaml");
    let services = &compose["services"];
    let world = World::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = files(&root.join("examples/toggles"));
    for (path, text) in &documents {
        let path = path.strip_prefix(root).unwrap();
        world.repo.file(path.to_str().unwrap(), text);
    }
    world.repo.commit("Add the examples");
    let port = Endpoint::free().address();
    let (ca, history) = (world.path("sandbox.pem"), world.path("history"));
    let mut sandbox = world.bare("sandbox").set("listen", &port);
    sandbox = sandbox.set("ca-out", &ca).set("history-file", &history);
    for (name, value) in variables(&services["sandbox"]) {
        sandbox = sandbox.env(&name, value);
    }
    let sandbox = sandbox.start();
    eventually("the sandbox", || {
        let text = std::fs::read_to_string(&ca).ok()?;
        (TcpStream::connect(&port).is_ok() && text.contains("END CERTIFICATE")).then_some(())
    });
    let repo = world.repo.path().display().to_string();
    let here = |value: String| match value.as_str() {
        "/toggles" => repo.clone(),
        "/sandbox/ca.pem" => ca.display().to_string(),
        "https://localhost:8443" => format!("https://{port}"),
        _ => value,
    };
    let daemon = Daemon::ready(&world, |run| {
        let run = run.unset("repo").unset("base-url").unset("ca-file");
        let variables = variables(&services["gitoggle"]).into_iter();
        variables.fold(run, |run, (name, value)| run.env(&name, here(value)))
    });
    let published = std::fs::read_to_string(&history).unwrap().lines().count();
    let toggles = documents.keys().filter(|path| !path.ends_with("test.yaml"));
    assert_eq!(published, toggles.count());
    daemon.stops_cleanly();
    sandbox.kill();
}

//! A FeatureProbe service for imports.

use std::path::PathBuf;

use gitoggle::model::ServiceKind;
use gitoggle::sandbox::{Sandbox, SandboxConfig};
use gitoggle::transport::Secret;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Gitoggle, TOKEN, World};

/// A sandbox in this process; stops when dropped.
pub(super) struct LiveService {
    sandbox: Sandbox,
    runtime: Runtime,
    ca: PathBuf,
}

impl LiveService {
    /// Starts a service with these projects.
    pub(super) fn start(world: &World, projects: &Value) -> Self {
        let runtime = Runtime::new().unwrap();
        let ca = world.path("sandbox-ca.pem");
        let sandbox = runtime.block_on(async {
            Sandbox::start(SandboxConfig {
                ca_file: Some(ca.clone()),
                kind: ServiceKind::FeatureProbe,
                data: Some(json!({ "projects": projects }).to_string()),
                ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
            })
            .unwrap()
        });
        Self { sandbox, runtime, ca }
    }

    /// Begins a command with everything that it needs to read this service.
    pub(super) fn command(&self, world: &World, verb: &str) -> Gitoggle {
        world
            .bare(verb)
            .set("repo", world.repo.path())
            .set("base-url", self.sandbox.url())
            .set("ca-file", &self.ca)
            .set("service-kind", "featureprobe")
            .env("GITOGGLE_TOKEN", TOKEN)
    }

    /// Begins `gitoggle import`.
    pub(super) fn import(&self, world: &World) -> Gitoggle {
        self.command(world, "import")
    }

    /// Arranges what happens at a request.
    pub(super) fn script(&self, step: Value) {
        self.sandbox.script(serde_json::from_value(step).unwrap());
    }

    /// Arranges that `request` is made before the next GET of a path that contains `path`.
    pub(super) fn before(&self, path: &str, method: &str, request: &str, body: &Value) {
        self.script(json!({
            "on": { "method": "GET", "path": path },
            "do": { "before": { "method": method, "path": request, "body": body } },
        }));
    }

    /// Returns the paths of all requests, and checks that each was a GET.
    pub(super) fn paths(&self) -> Vec<String> {
        let calls = self.sandbox.calls().into_iter();
        let paths = calls.map(|call| {
            assert_eq!(call.method, "GET", "{call:?}");
            call.path
        });
        paths.collect()
    }
}

impl Drop for LiveService {
    fn drop(&mut self) {
        // The sandbox ends its task on the runtime.
        let _entered = self.runtime.enter();
    }
}

/// Returns a project with `environments` and `toggles`.
pub(super) fn project(key: &str, environments: &[&str], toggles: &Value) -> Value {
    let environments: Vec<Value> = environments.iter().map(|key| json!({ "key": key })).collect();
    json!({ "key": key, "environments": environments, "toggles": toggles })
}

/// Returns a toggle with the values `false` and `true`, published with `content` in each environment.
pub(super) fn toggle(key: &str, targeting: &[(&str, Value)]) -> Value {
    let publish = |content: &Value| json!({ "comment": "c", "disabled": false, "content": content });
    let targeting =
        targeting.iter().map(|(environment, content)| ((*environment).to_owned(), publish(content)));
    json!({
        "key": key,
        "returnType": "boolean",
        "variations": [
            { "value": "false", "name": "off", "description": "" },
            { "value": "true", "name": "on", "description": "New payment page" },
        ],
        "targeting": targeting.collect::<serde_json::Map<String, Value>>(),
    })
}

//! A running sandbox of kind `featureprobe`, with the settings to publish to it.

use std::time::Duration;

use gitoggle::model::ServiceKind;
use gitoggle::sandbox::{ApiCall, Sandbox, SandboxConfig};
use gitoggle::transport::{Network, Secret};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{Gitoggle, TOKEN, World};

/// The sandbox, with a repository that publishes to it.
pub(crate) struct LiveService {
    pub(crate) world: World,
    sandbox: Sandbox,
    runtime: Runtime,
}

impl LiveService {
    /// Starts a sandbox with the project `shop`, its environment `prod` and these toggles.
    pub(crate) fn start(toggles: &Value) -> Self {
        Self::with(&json!({ "key": "prod" }), toggles)
    }

    /// Starts a sandbox with the project `shop`, this environment and these toggles.
    pub(crate) fn with(environment: &Value, toggles: &Value) -> Self {
        let world = World::new();
        let data =
            json!({ "projects": [{ "key": "shop", "environments": [environment], "toggles": toggles }] });
        let config = SandboxConfig {
            ca_file: Some(world.path("sandbox.pem")),
            kind: ServiceKind::FeatureProbe,
            data: Some(data.to_string()),
            ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
        };
        let runtime = Runtime::new().unwrap();
        let sandbox = runtime.block_on(async { Sandbox::start(config).unwrap() });
        Self { world, sandbox, runtime }
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        self.sandbox.url()
    }

    /// Begins `gitoggle apply` against the sandbox.
    pub(crate) fn apply(&self) -> Gitoggle {
        self.connected(self.world.apply())
    }

    /// Gives a run the settings of the sandbox.
    pub(crate) fn connected(&self, run: Gitoggle) -> Gitoggle {
        let run = run.set("service-kind", "featureprobe").set("timeout", "2s");
        run.set("base-url", self.url())
            .set("ca-file", self.world.path("sandbox.pem"))
            .env("GITOGGLE_TOKEN", TOKEN)
    }

    /// Commits a document of `shop/prod/{toggle}`.
    pub(crate) fn commit(&self, toggle: &str, document: String, message: &str) {
        let path = format!("shop/prod/{toggle}.yaml");
        self.world.repo.file(&path, document).commit(message);
    }

    /// Arranges what happens at the next request with this method and a path that contains `path`.
    pub(crate) fn script(&self, method: &str, path: &str, act: &Value) {
        let step = json!({ "on": { "method": method, "path": path }, "do": act });
        self.sandbox.script(serde_json::from_value(step).unwrap());
    }

    /// Carries out the requests that the script held.
    pub(crate) fn release(&self) {
        self.sandbox.release_held();
    }

    /// Makes a request as another writer.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let network = Network { ca_file: Some(self.world.path("sandbox.pem")), ..Network::default() };
        let url = format!("{}{path}", self.url());
        self.runtime.block_on(async {
            let client = network.client(Duration::from_secs(10)).unwrap();
            let request = client.request(method.parse().unwrap(), url);
            let request = request
                .header("Authorization", TOKEN)
                .header("Content-Type", "application/json")
                .body(body.map_or_else(String::new, |body| body.to_string()));
            let text = request.send().await.unwrap().text().await.unwrap();
            serde_json::from_str(&text).unwrap_or(Value::Null)
        })
    }

    /// Changes the targeting of `shop/prod/{toggle}` as another writer.
    pub(crate) fn edit(&self, toggle: &str, body: Value) {
        self.request("PATCH", &targeting(toggle), Some(body));
    }

    /// Returns the versions of `shop/prod/{toggle}` with their comments, oldest first.
    pub(crate) fn versions(&self, toggle: &str) -> Vec<(u64, String)> {
        let path = format!("{}/versions/1", targeting(toggle));
        let found = self.request("GET", &path, None);
        let versions = found["versions"].as_array().cloned().unwrap_or_default();
        let versions = versions.iter().rev();
        versions
            .map(|one| (one["version"].as_u64().unwrap(), one["comment"].as_str().unwrap().to_owned()))
            .collect()
    }

    /// Returns the requests of a run: method and path below `shop/prod`, with the base version of a PATCH.
    pub(crate) fn requests(&self, run: impl FnOnce()) -> Vec<String> {
        let count = self.recorded().len();
        run();
        self.recorded().split_off(count)
    }

    /// Returns whether a request with this method and this text in its body has arrived.
    pub(crate) fn has_received(&self, method: &str, text: &str) -> bool {
        let is_it =
            |call: &ApiCall| call.method == method && String::from_utf8_lossy(&call.body).contains(text);
        self.sandbox.calls().iter().any(is_it)
    }

    fn recorded(&self) -> Vec<String> {
        self.sandbox.calls().iter().map(summary).collect()
    }
}

impl Drop for LiveService {
    fn drop(&mut self) {
        // The sandbox ends its task on the runtime.
        let _entered = self.runtime.enter();
    }
}

/// Returns the path of the targeting of `shop/prod/{toggle}`.
pub(crate) fn targeting(toggle: &str) -> String {
    format!("/api/projects/shop/environments/prod/toggles/{toggle}/targeting")
}

fn summary(call: &ApiCall) -> String {
    let path = call.path.replacen("/api/projects/shop/environments/prod/toggles/", "", 1);
    let path = path.replacen("/api/projects/shop/", "", 1);
    let path = path.split('?').next().unwrap_or_default();
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let base = match &body["baseVersion"] {
        Value::Null => String::new(),
        version => format!(" on {version}"),
    };
    format!("{} {path}{base}", call.method)
}

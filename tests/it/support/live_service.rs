//! A running sandbox of kind `featureprobe`, with the settings to publish to it.

use std::time::Duration;

use gitoggle::transport::Network;
use serde_json::{Value, json};

use super::sandbox::{RunningSandbox, TOKEN};
use super::{Gitoggle, World};

/// The sandbox, with a repository that publishes to it.
pub(crate) struct LiveService {
    pub(crate) world: World,
    sandbox: RunningSandbox,
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
        let data = world.write("data.json", &data.to_string());
        let sandbox = RunningSandbox::start(&world, world.path("sandbox.pem"), |sandbox| {
            sandbox.set("service-kind", "featureprobe").set("data", data)
        });
        Self { world, sandbox }
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
        self.sandbox.connected(run)
    }

    /// Commits a document of `shop/prod/{toggle}`.
    pub(crate) fn commit(&self, toggle: &str, document: String, message: &str) {
        let path = format!("shop/prod/{toggle}.yaml");
        self.world.repo.file(&path, document).commit(message);
    }

    /// Arranges what happens at the next request with this method and a path that contains `path`.
    pub(crate) fn script(&self, method: &str, path: &str, act: &Value) {
        let step = json!({ "on": { "method": method, "path": path }, "do": act });
        self.request("POST", "/api/sandbox/script", Some(step));
    }

    /// Carries out the requests that the script held. Returns the answer.
    pub(crate) fn release(&self) -> Value {
        self.request("POST", "/api/sandbox/release", None)
    }

    /// Makes a request as another writer.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let network = Network {
            ca_file: Some(self.world.path("sandbox.pem")),
            ..Network::default()
        };
        let url = format!("{}{path}", self.url());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
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
            .map(|one| {
                (
                    one["version"].as_u64().unwrap(),
                    one["comment"].as_str().unwrap().to_owned(),
                )
            })
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
        self.arrived().iter().any(|request| {
            let body = request["body"].as_str().unwrap_or_default();
            request["method"] == method && body.contains(text)
        })
    }

    fn recorded(&self) -> Vec<String> {
        self.arrived().iter().map(summary).collect()
    }

    fn arrived(&self) -> Vec<Value> {
        let found = self.request("GET", "/api/sandbox/requests", None);
        found.as_array().cloned().unwrap_or_default()
    }
}

/// Returns the path of the targeting of `shop/prod/{toggle}`.
pub(crate) fn targeting(toggle: &str) -> String {
    format!("/api/projects/shop/environments/prod/toggles/{toggle}/targeting")
}

fn summary(request: &Value) -> String {
    let path = request["path"].as_str().unwrap();
    let path = path.replacen("/api/projects/shop/environments/prod/toggles/", "", 1);
    let path = path.replacen("/api/projects/shop/", "", 1);
    let path = path.split('?').next().unwrap_or_default();
    let body: Value = serde_json::from_str(request["body"].as_str().unwrap_or_default()).unwrap_or_default();
    let base = match &body["baseVersion"] {
        Value::Null => String::new(),
        version => format!(" on {version}"),
    };
    format!("{} {path}{base}", request["method"].as_str().unwrap())
}

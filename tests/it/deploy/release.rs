//! A release of the Helm chart, rendered by Helm.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::tool::{succeeds, tool};
use super::{documents, folder, items, pods, word};

/// The values that every installation needs, without a sidecar.
pub(super) const BASE: &[&str] =
    &["config.base_url=https://toggles.example", "config.repo=https://git.example/a.git"];
/// The values of an installation with git-sync.
pub(super) const SIDECAR: &[&str] = &[
    "config.base_url=https://toggles.example",
    "sidecar.enabled=true",
    "sidecar.repo=https://git.example/a.git",
];
pub(super) const STATE: &str = "config.state_remote=https://git.example/state.git";

/// Adds the values, separated by spaces, to `helm template` for the chart.
pub(super) fn template(helm: Command, base: &[&str], values: &str) -> Command {
    template_of(&folder().join("helm/gitoggle"), helm, base, values)
}

/// Adds the values, separated by spaces, to `helm template` for the chart in that folder.
pub(super) fn template_of(chart: &Path, mut helm: Command, base: &[&str], values: &str) -> Command {
    helm.args(["template", "gitoggle", "--namespace", "shop", "--kube-version", "1.29.0"]);
    helm.arg(chart);
    for value in base.iter().copied().chain(values.split_whitespace()) {
        helm.args(["--set", value]);
    }
    helm
}

/// The objects of a release.
pub(super) struct Release(pub(super) Vec<Value>);

impl Release {
    pub(super) fn of(base: &[&str], values: &str) -> Option<Self> {
        let printed = succeeds(&mut template(tool("helm")?, base, values));
        Some(Self(documents(&printed).into_iter().filter(Value::is_object).collect()))
    }

    pub(super) fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.0.iter().map(|object| word(&object["kind"])).collect();
        kinds.sort_unstable();
        kinds
    }

    #[track_caller]
    pub(super) fn one(&self, kind: &str) -> &Value {
        let of_kind = |object: &&Value| object["kind"] == kind;
        self.0.iter().find(of_kind).unwrap_or_else(|| panic!("no {kind} in {:?}", self.kinds()))
    }

    /// The file that gitoggle reads.
    pub(super) fn config(&self) -> &str {
        word(&self.one("ConfigMap")["data"]["config.yaml"])
    }

    /// The pods that run gitoggle, with the volumes that a StatefulSet adds.
    pub(super) fn pods(&self) -> Vec<Value> {
        let mut pods = Vec::new();
        for object in &self.0 {
            let spec = match word(&object["kind"]) {
                "CronJob" => &object["spec"]["jobTemplate"]["spec"]["template"],
                "Deployment" | "StatefulSet" => &object["spec"]["template"],
                "Pod" if object["spec"]["volumes"].is_array() => object,
                _ => continue,
            };
            let mut pod = spec.clone();
            for claim in items(&object["spec"]["volumeClaimTemplates"]) {
                let claimed = json!({"name": claim["metadata"]["name"], "persistentVolumeClaim": {}});
                pod["spec"]["volumes"].as_array_mut().unwrap().push(claimed);
            }
            pods.push(pod);
        }
        pods
    }

    /// Checks every pod as the manifests are checked.
    pub(super) fn check(&self) {
        let config = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(config.path(), self.config()).unwrap();
        for pod in self.pods() {
            pods::check(&pod["spec"], config.path());
        }
    }
}

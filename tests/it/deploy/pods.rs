//! Pods: hardened, consistent, and started with valid settings.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use gitoggle::config::Settings;
use gitoggle::transport::SecretSource;
use serde_json::Value;

use super::{document, files, folder, invoked, items, named, port, word, words};

const STATE: &str = "/var/lib/gitoggle";

/// Checks a pod with this `spec`, with `config` as the file of its ConfigMap.
pub(super) fn check(spec: &Value, config: &Path) {
    pod_is_restricted(spec);
    let containers: Vec<&Value> = containers(spec).collect();
    containers.iter().for_each(|container| {
        container_is_restricted(container);
        mounts_have_volumes(spec, container);
    });
    let used: BTreeSet<&str> = containers
        .iter()
        .flat_map(|container| items(&container["volumeMounts"]))
        .map(|mount| word(&mount["name"]))
        .collect();
    let volumes: BTreeSet<&str> = items(&spec["volumes"]).map(|volume| word(&volume["name"])).collect();
    assert_eq!(used, volumes, "every volume is used");
    let gitoggle = named(&spec["containers"], "gitoggle");
    let settings = settings(gitoggle, config);
    paths_are_mounted(spec, gitoggle, &settings);
    if let Some(git_sync) = items(&spec["initContainers"]).next() {
        git_sync_provides_the_checkout(git_sync, gitoggle, &settings);
    }
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    items(&spec["containers"]).chain(items(&spec["initContainers"]))
}

/// Checks the pod security standard `restricted` of Kubernetes and some stricter rules.
fn pod_is_restricted(spec: &Value) {
    let security = &spec["securityContext"];
    assert_eq!(security["runAsNonRoot"], true);
    assert!(security["runAsUser"].as_u64() > Some(0));
    assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["enableServiceLinks"], false);
    assert!(spec["terminationGracePeriodSeconds"].as_u64() > Some(25), "open requests get 25 s");
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        assert!(spec[key].is_null(), "{key}");
    }
    let kinds = ["configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"];
    for volume in items(&spec["volumes"]) {
        let kind = volume.as_object().unwrap().keys().find(|key| *key != "name").unwrap();
        assert!(kinds.contains(&kind.as_str()), "{volume}");
    }
}

fn container_is_restricted(container: &Value) {
    let security = &container["securityContext"];
    assert_eq!(security["allowPrivilegeEscalation"], false, "{container}");
    assert_eq!(security["readOnlyRootFilesystem"], true, "{container}");
    assert_eq!(words(&security["capabilities"]["drop"]), ["ALL"], "{container}");
    assert!(security["capabilities"]["add"].is_null() && security["privileged"].is_null());
    assert!(!container["resources"].is_null(), "{container}");
}

fn mounts_have_volumes(spec: &Value, container: &Value) {
    for mount in items(&container["volumeMounts"]) {
        let volume = named(&spec["volumes"], word(&mount["name"]));
        let is_given = ["configMap", "projected", "secret"].iter().any(|kind| !volume[kind].is_null());
        if is_given {
            assert_eq!(mount["readOnly"], true, "{mount}");
        }
    }
}

/// Returns the settings of the container, after checking its ports and probes.
fn settings(gitoggle: &Value, config: &Path) -> Settings {
    let typed = words(&gitoggle["args"]);
    let variables: Vec<(String, String)> = items(&gitoggle["env"])
        .map(|pair| (word(&pair["name"]).to_owned(), word(&pair["value"]).to_owned()))
        .collect();
    let invoked = |typed: &[String]| invoked(typed, &variables, word(&gitoggle["workingDir"]), Some(config));
    let settings = invoked(&typed).settings;
    assert_eq!(settings.first_pass, None);
    // `kubectl exec … gitoggle status` shows the state of this process.
    let status = invoked(&["status".to_owned()]).settings;
    let place = |settings: &Settings| {
        let base_url = settings.base_url.as_ref().map(ToString::to_string);
        (settings.repo.to_string(), base_url, settings.state_dir.clone())
    };
    assert_eq!(place(&status), place(&settings));
    if typed[0] == "run" {
        // A cluster with IPv6 alone reaches no pod on `0.0.0.0`.
        assert_eq!(settings.listen, Some((Ipv6Addr::UNSPECIFIED, port()).into()));
        assert_eq!(named(&gitoggle["ports"], "http")["containerPort"], port());
        for (probe, path) in
            [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz"), ("startupProbe", "/healthz")]
        {
            let request = &gitoggle[probe]["httpGet"];
            assert_eq!((&request["path"], &request["port"]), (&path.into(), &"http".into()));
        }
    } else {
        assert!(["apply", "plan"].contains(&typed[0].as_str()), "{typed:?}");
        assert_eq!(settings.exit_zero_when_held, typed[0] == "apply");
    }
    settings
}

/// Checks that volumes contain the paths in the settings: the state folder writable, and the secrets.
fn paths_are_mounted(spec: &Value, gitoggle: &Value, settings: &Settings) {
    let mount = |path: &Path| {
        items(&gitoggle["volumeMounts"])
            .find(|mount| path.starts_with(word(&mount["mountPath"])))
            .unwrap_or_else(|| panic!("{} is in no volume", path.display()))
    };
    assert_eq!(settings.state_dir.as_deref(), Some(Path::new(STATE)));
    for path in [STATE, "/tmp"] {
        assert!(mount(Path::new(path))["readOnly"].is_null(), "{path}");
    }
    let secrets = [&settings.token, &settings.git_password, &settings.admin_token, &settings.webhook_secret];
    for path in secrets.into_iter().flatten().map(file) {
        let mount = mount(&path);
        let volume = named(&spec["volumes"], word(&mount["name"]));
        let projected: Vec<&Value> =
            items(&volume["projected"]["sources"]).map(|source| &source["secret"]).collect();
        let secrets = match projected.is_empty() {
            true => vec![&volume["secret"]],
            false => projected,
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        let has_name = |secret: &&Value| {
            secret["items"].is_null() || items(&secret["items"]).any(|key| key["path"] == name)
        };
        assert!(secrets.iter().any(has_name), "{name} in {volume}");
    }
    assert!(settings.token.is_some());
}

fn file(secret: &SecretSource) -> PathBuf {
    match secret {
        SecretSource::File(path) => path.clone(),
        SecretSource::Value(_) => panic!("secrets are given in files"),
    }
}

fn git_sync_provides_the_checkout(git_sync: &Value, gitoggle: &Value, settings: &Settings) {
    let args = words(&git_sync["args"]);
    let arg = |name: &str| {
        let prefix = format!("--{name}=");
        args.iter()
            .find_map(|arg| arg.strip_prefix(&prefix))
            .unwrap_or_else(|| panic!("{prefix} in {args:?}"))
    };
    assert_eq!(git_sync["restartPolicy"], "Always", "it goes on beside gitoggle");
    assert_eq!(arg("depth"), "0", "comments need all of history");
    let checkout = Path::new(arg("root")).join(arg("link"));
    assert_eq!(settings.repo.local_path(), Some(checkout.as_path()));
    let theirs = named(&git_sync["volumeMounts"], "git");
    let ours = named(&gitoggle["volumeMounts"], "git");
    assert_eq!(theirs["mountPath"], arg("root"));
    assert_eq!(ours["readOnly"], true);
    let port = named(&git_sync["ports"], "git-sync")["containerPort"].to_string();
    assert_eq!(arg("http-bind").trim_start_matches(':'), port);
    assert!(words(&git_sync["args"]).contains(&"--http-metrics".to_owned()));
    for probe in ["startupProbe", "livenessProbe"] {
        let request = &git_sync[probe]["httpGet"];
        assert_eq!((&request["path"], &request["port"]), (&"/".into(), &"git-sync".into()));
    }
    assert!(settings.webhook_secret.is_none(), "git-sync fetches by itself");
    let token = settings.token.as_ref().map(file).unwrap();
    let mounted = |container: &Value| words_of(&container["volumeMounts"], "mountPath");
    assert!(mounted(git_sync).iter().all(|path| !token.starts_with(path)), "git-sync does not see the token");
}

fn words_of(list: &Value, key: &str) -> Vec<String> {
    items(list).map(|item| word(&item[key]).to_owned()).collect()
}

/// Merges `patch` into `base` as Kustomize does: maps by key, lists of named items by name; all else is
/// replaced, and null removes.
fn patched(base: &Value, patch: &Value) -> Value {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            let mut merged = base.clone();
            for (key, value) in patch {
                let value = base.get(key).map_or(value.clone(), |old| patched(old, value));
                merged.insert(key.clone(), value);
            }
            merged.retain(|_, value| !value.is_null());
            Value::Object(merged)
        }
        (Value::Array(old), Value::Array(new)) if new.iter().all(|item| item["name"].is_string()) => {
            let mut merged = old.clone();
            for item in new {
                match merged.iter_mut().find(|known| known["name"] == item["name"]) {
                    Some(known) => *known = patched(known, item),
                    None => merged.push(item.clone()),
                }
            }
            Value::Array(merged)
        }
        _ => patch.clone(),
    }
}

#[test]
fn the_daemon_is_one_hardened_writer() {
    let deployment = document("kubernetes/daemon/deployment.yaml");
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    let template = &deployment["spec"]["template"];
    check(&template["spec"], &folder().join("kubernetes/base/config.yaml"));
    let labels = &template["metadata"]["labels"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    let service = document("kubernetes/daemon/service.yaml");
    assert_eq!(&service["spec"]["selector"], labels);
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(service["spec"]["ports"][0]["port"], port());
}

#[test]
fn the_sidecar_follows_the_checkout_of_git_sync() {
    let deployment = document("kubernetes/daemon/deployment.yaml");
    let merged = patched(&deployment, &document("kubernetes/sidecar/git-sync.yaml"));
    let spec = &merged["spec"]["template"]["spec"];
    assert_eq!(items(&spec["initContainers"]).count(), 1);
    check(spec, &folder().join("kubernetes/sidecar/config.yaml"));
    let secrets = &named(&spec["volumes"], "secrets")["projected"]["sources"];
    for secret in items(secrets).map(|source| &source["secret"]) {
        let is_required = secret["items"][0]["key"] == "token";
        assert_eq!(secret["optional"] != true, is_required, "{secret}");
    }
    assert_eq!(named(&spec["volumes"], "git-secret")["secret"]["optional"], true);
    let service = document("kubernetes/daemon/service.yaml");
    let service = patched(&service, &document("kubernetes/sidecar/service.yaml"));
    let monitor = document("kubernetes/monitoring/servicemonitor.yaml");
    for endpoint in items(&monitor["spec"]["endpoints"]) {
        named(&service["spec"]["ports"], word(&endpoint["port"]));
    }
}

#[test]
fn the_cron_job_keeps_its_state_in_the_repository() {
    let job = document("kubernetes/job/cronjob.yaml");
    assert_eq!(job["spec"]["concurrencyPolicy"], "Forbid");
    let template = &job["spec"]["jobTemplate"]["spec"]["template"];
    assert_eq!(template["spec"]["restartPolicy"], "Never");
    check(&template["spec"], &folder().join("kubernetes/base/config.yaml"));
    let args = words(&template["spec"]["containers"][0]["args"]);
    assert!(args.join(" ").contains("--state-remote origin"), "{args:?}");
}

#[test]
fn a_daily_plan_of_the_cron_job_fails_if_something_is_held() {
    let resources = |file: &str| words(&document(file)["resources"]).join(" ");
    assert_eq!(resources("kubernetes/cronjob/kustomization.yaml"), "../base ../job ../held-check");
    let held = document("kubernetes/held-check/kustomization.yaml");
    assert_eq!(words(&held["resources"]), ["../job"]);
    // The alert `GitoggleCronJobHolds` is about CronJobs with this suffix.
    assert_eq!(held["nameSuffix"], "-held");
    let mut job = document("kubernetes/job/cronjob.yaml");
    let patch = super::documents(word(&held["patches"][0]["patch"])).remove(0);
    for change in items(&patch) {
        assert_eq!(change["op"], "replace");
        *job.pointer_mut(word(&change["path"])).unwrap() = change["value"].clone();
    }
    assert_eq!(job["spec"]["schedule"], "30 7 * * *");
    let args = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(words(args), ["plan", "--state-remote", "origin"]);
}

#[test]
fn the_network_policy_covers_every_pod_and_opens_one_port() {
    let policy = document("kubernetes/base/networkpolicy.yaml");
    let spec = &policy["spec"];
    assert_eq!(words(&spec["policyTypes"]), ["Ingress", "Egress"]);
    let selected = &spec["podSelector"]["matchLabels"];
    for (file, path) in [
        ("kubernetes/daemon/deployment.yaml", "/spec/template/metadata/labels"),
        ("kubernetes/job/cronjob.yaml", "/spec/jobTemplate/spec/template/metadata/labels"),
    ] {
        let object = document(file);
        let labels = object.pointer(path).unwrap();
        let name = "app.kubernetes.io/name";
        assert_eq!((selected.as_object().unwrap().len(), &selected[name]), (1, &labels[name]));
    }
    let opened: Vec<&Value> = items(&spec["ingress"]).flat_map(|rule| items(&rule["ports"])).collect();
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0]["port"], port());
    assert!(items(&spec["ingress"]).all(|rule| items(&rule["from"]).count() > 0), "not from everywhere");
}

#[test]
fn every_namespace_enforces_the_restricted_standard() {
    let labels = &document("kubernetes/base/namespace.yaml")["metadata"]["labels"];
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
}

#[test]
fn kustomizations_list_every_file_and_only_existing_ones() {
    for (path, text) in files(&folder().join("kubernetes")) {
        let folder = path.parent().unwrap();
        let kustomization = folder.join("kustomization.yaml");
        assert!(kustomization.exists(), "{}", folder.display());
        if path != kustomization {
            continue;
        }
        let parsed = super::documents(&text).remove(0);
        let mut named: BTreeSet<PathBuf> = BTreeSet::from([kustomization.clone()]);
        named.extend(words(&parsed["resources"]).iter().map(|name| folder.join(name)));
        let patches = items(&parsed["patches"]).filter_map(|patch| patch["path"].as_str());
        named.extend(patches.map(|name| folder.join(name)));
        for generator in items(&parsed["configMapGenerator"]) {
            named.extend(words(&generator["files"]).iter().map(|name| folder.join(name)));
        }
        for name in &named {
            assert!(name.exists(), "{}", name.display());
        }
        for file in files(folder).into_keys() {
            assert!(named.contains(&file), "{} is named nowhere", file.display());
        }
        for image in items(&parsed["images"]) {
            assert_eq!(image["newTag"], env!("CARGO_PKG_VERSION"), "{}", path.display());
        }
    }
}

//! The Helm chart, rendered by Helm.

use serde_json::{Value, json};

use super::release::{BASE, Release, SIDECAR, STATE, template_of};
use super::tool::{succeeds, tool};
use super::{files, folder, items, named, port, word, words};

/// Each installation has these objects besides those that all have, and its pods are hardened.
fn has(cases: &[(&[&str], &str, &[&str])]) {
    const ALWAYS: &[&str] = &["ConfigMap", "NetworkPolicy", "Pod", "ServiceAccount"];
    for (base, values, kinds) in cases {
        let Some(release) = Release::of(base, values) else {
            return;
        };
        let mut expected: Vec<&str> = ALWAYS.iter().chain(*kinds).copied().collect();
        expected.sort_unstable();
        assert_eq!(release.kinds(), expected, "{values}");
        release.check();
    }
}

#[test]
fn every_daemon_has_its_objects_and_hardened_pods() {
    let shared = format!("{STATE} replicas=2");
    let secrets = "secret.keys.git_password=g sidecar.username=u secret.keys.admin_token=a ssh.secretName=s \
                   ca.configMapName=ca secret.keys.notify_secret=n";
    has(&[
        (BASE, "", &["Deployment", "PersistentVolumeClaim", "Service"]),
        (BASE, "persistence.existingClaim=mine", &["Deployment", "Service"]),
        (BASE, &format!("{STATE} persistence.enabled=false"), &["Deployment", "Service"]),
        (BASE, &shared, &["PodDisruptionBudget", "Service", "StatefulSet"]),
        (
            BASE,
            &format!("{shared} persistence.enabled=false"),
            &["Deployment", "PodDisruptionBudget", "Service"],
        ),
        (SIDECAR, secrets, &["Deployment", "PersistentVolumeClaim", "Service"]),
        (SIDECAR, &format!("{shared} {secrets}"), &["PodDisruptionBudget", "Service", "StatefulSet"]),
    ]);
}

#[test]
fn a_cron_job_and_an_exposed_service_have_their_objects_and_hardened_pods() {
    has(&[
        (BASE, &format!("{STATE} mode=cronjob persistence.enabled=false"), &["CronJob", "CronJob"]),
        (BASE, "mode=cronjob cronjob.heldCheck.enabled=false", &["CronJob", "PersistentVolumeClaim"]),
        (
            BASE,
            "networkPolicy.enabled=true serviceAccount.annotations.a=b ingress.enabled=true ingress.host=h.example \
             httpRoute.enabled=true httpRoute.parentRefs[0].name=gw secret.keys.webhook_secret=w",
            &["Deployment", "HTTPRoute", "Ingress", "PersistentVolumeClaim", "Service"],
        ),
    ]);
}

#[test]
fn the_chart_passes_the_linter_in_strict_mode() {
    let Some(mut helm) = tool("helm") else {
        return;
    };
    helm.args(["lint", "--strict"]).arg(folder().join("helm/gitoggle"));
    for value in BASE {
        helm.args(["--set", value]);
    }
    succeeds(&mut helm);
}

#[test]
fn ids_and_every_other_restriction_can_be_removed() {
    let values = "podSecurityContext.runAsUser=null podSecurityContext.runAsGroup=null podSecurityContext.fsGroup=null \
                  sidecar.securityContext.runAsUser=null securityContext.readOnlyRootFilesystem=false";
    let Some(release) = Release::of(SIDECAR, values) else {
        return;
    };
    let printed = serde_json::to_string(&release.0).unwrap();
    for id in ["runAsUser", "runAsGroup", "\"fsGroup\""] {
        assert!(!printed.contains(id), "{id}");
    }
    let pod = &release.pods()[0]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], false);
}

#[test]
fn additions_reach_the_pod() {
    let digest = format!("sha256:{}", "5".repeat(64));
    let values = format!(
        "image.digest={digest} extraEnv[0].name=HTTPS_PROXY extraEnv[0].value=http://proxy:3128 \
         extraVolumes[0].name=x extraVolumes[0].emptyDir.medium=Memory extraVolumeMounts[0].name=x \
         extraVolumeMounts[0].mountPath=/x extraEnvFrom[0].secretRef.name=more fullnameOverride=toggles"
    );
    let Some(release) = Release::of(BASE, &values) else {
        return;
    };
    let pod = &release.pods()[0]["spec"];
    let gitoggle = named(&pod["containers"], "gitoggle");
    assert_eq!(gitoggle["image"], format!("registry.example.com/gitoggle@{digest}"));
    assert_eq!(named(&gitoggle["env"], "HTTPS_PROXY")["value"], "http://proxy:3128");
    assert_eq!(gitoggle["envFrom"][0]["secretRef"]["name"], "more");
    assert_eq!(named(&gitoggle["volumeMounts"], "x")["mountPath"], "/x");
    assert_eq!(named(&pod["volumes"], "x")["emptyDir"]["medium"], "Memory");
    assert_eq!(release.one("Deployment")["metadata"]["name"], "toggles");
}

#[test]
fn only_the_paths_of_webhooks_are_exposed() {
    let values = "secret.keys.webhook_secret=w ingress.enabled=true ingress.host=h.example ingress.tlsSecretName=tls \
                  httpRoute.enabled=true httpRoute.parentRefs[0].name=gw httpRoute.hostnames[0]=h.example";
    let Some(release) = Release::of(BASE, values) else {
        return;
    };
    let rules = &release.one("Ingress")["spec"]["rules"];
    assert_eq!(items(rules).count(), 1);
    let paths = &rules[0]["http"]["paths"];
    assert_eq!((items(paths).count(), &paths[0]["path"]), (1, &"/webhook".into()));
    assert_eq!(paths[0]["pathType"], "Prefix");
    assert_eq!(release.one("Ingress")["spec"]["tls"][0]["secretName"], "tls");
    let rules = &release.one("HTTPRoute")["spec"]["rules"];
    let expected = json!([{
        "matches": [{"path": {"type": "PathPrefix", "value": "/webhook"}}],
        "backendRefs": [{"name": "gitoggle", "port": port()}],
    }]);
    assert_eq!(rules, &expected);
}

#[test]
fn replicas_share_their_state_and_have_a_disk_each() {
    let Some(release) = Release::of(BASE, &format!("{STATE} replicas=3")) else {
        return;
    };
    let set = &release.one("StatefulSet")["spec"];
    assert_eq!((&set["replicas"], &set["podManagementPolicy"]), (&json!(3), &"Parallel".into()));
    assert_eq!(set["serviceName"], release.one("Service")["metadata"]["name"]);
    assert_eq!(set["volumeClaimTemplates"][0]["metadata"]["name"], "state");
    let budget = &release.one("PodDisruptionBudget")["spec"];
    assert_eq!(budget["maxUnavailable"], 1);
    let release = Release::of(BASE, &format!("{STATE} replicas=2 persistence.enabled=false")).unwrap();
    let deployment = &release.one("Deployment")["spec"];
    assert_eq!(deployment["strategy"]["type"], "RollingUpdate");
    let state = named(&deployment["template"]["spec"]["volumes"], "state");
    assert!(state["emptyDir"].is_object(), "{state}");
    let alone = Release::of(BASE, "").unwrap();
    assert_eq!(alone.one("Deployment")["spec"]["strategy"]["type"], "Recreate");
}

#[test]
fn a_checkout_without_a_volume_follows_a_rewritten_history() {
    for (values, follows) in [
        ("persistence.enabled=false", true),
        ("persistence.enabled=false config.history=refuse", false),
        // The replica whose checkout lags behind must wait.
        ("persistence.enabled=false replicas=2", false),
        ("", false),
    ] {
        let Some(release) = Release::of(SIDECAR, &format!("{STATE} {values}")) else {
            return;
        };
        assert_eq!(release.config().contains("history: follow"), follows, "{values}");
    }
}

#[test]
fn the_network_policy_opens_the_ports_of_the_values() {
    let values = "networkPolicy.egressPorts={8443,3000} networkPolicy.dnsPorts={5353} \
                  networkPolicy.extraEgress[0].ports[0].port=3128 networkPolicy.extraIngress[0].ports[0].port=8077";
    let Some(release) = Release::of(SIDECAR, values) else {
        return;
    };
    let spec = &release.one("NetworkPolicy")["spec"];
    let ports = |rules: &Value| -> Vec<Vec<u64>> {
        let of = |rule: &Value| items(&rule["ports"]).filter_map(|port| port["port"].as_u64()).collect();
        items(rules).map(of).collect()
    };
    assert_eq!(ports(&spec["egress"]), [vec![5353, 5353], vec![8443, 3000], vec![3128]]);
    assert_eq!(ports(&spec["ingress"]), [vec![8077, 9079], vec![8077]]);
    assert!(spec["egress"][1]["to"].to_string().contains("169.254.0.0/16"));
    let job = Release::of(BASE, "mode=cronjob").unwrap();
    let spec = &job.one("NetworkPolicy")["spec"];
    assert_eq!(words(&spec["policyTypes"]), ["Ingress", "Egress"]);
    assert!(spec["ingress"].is_null(), "nothing listens in a job");
}

#[test]
fn helm_test_reaches_the_daemon_and_is_not_part_of_it() {
    let Some(release) = Release::of(BASE, "") else {
        return;
    };
    let pod = release.one("Pod");
    assert_eq!(pod["metadata"]["annotations"]["helm.sh/hook"], "test");
    let container = &pod["spec"]["containers"][0];
    assert_eq!(words(&container["command"]), ["gitoggle-healthcheck", "/readyz"]);
    assert_eq!(named(&container["env"], "GITOGGLE_LISTEN")["value"], format!("gitoggle:{}", port()));
    let labels = &pod["metadata"]["labels"];
    let selector = release.one("Service")["spec"]["selector"].as_object().unwrap();
    assert!(selector.iter().any(|(key, value)| labels[key] != *value), "{labels}");
    let peers = &release.one("NetworkPolicy")["spec"]["ingress"][0]["from"];
    let admitted = items(peers).find_map(|peer| peer["podSelector"]["matchLabels"].as_object());
    assert!(admitted.unwrap().iter().all(|(key, value)| labels[key] == *value), "{labels}");
    let job = Release::of(BASE, "mode=cronjob").unwrap();
    assert_eq!(words(&job.one("Pod")["spec"]["containers"][0]["args"]), ["plan"]);
}

#[test]
fn runs_of_a_cron_job_do_not_fail_because_of_holds() {
    let values = format!("{STATE} mode=cronjob cronjob.schedule=@hourly cronjob.timeZone=Europe/Berlin");
    let Some(release) = Release::of(BASE, &values) else {
        return;
    };
    let jobs: Vec<&Value> = release.0.iter().filter(|object| object["kind"] == "CronJob").collect();
    let args =
        |job: &Value| words(&job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]);
    assert_eq!(args(jobs[0]), ["apply", "--exit-zero-when-held"]);
    assert_eq!(args(jobs[1]), ["plan"]);
    assert_eq!(jobs[1]["metadata"]["name"], "gitoggle-held");
    let spec = &jobs[0]["spec"];
    assert_eq!((word(&spec["schedule"]), word(&spec["timeZone"])), ("@hourly", "Europe/Berlin"));
    assert_eq!(spec["concurrencyPolicy"], "Forbid");
}

/// `helm template` prints no notes, so a copy of the chart includes them in an object.
#[test]
fn the_notes_contain_commands_for_the_objects_of_the_release() {
    let copy = tempfile::tempdir().unwrap();
    let chart = folder().join("helm/gitoggle");
    for (path, text) in files(&chart) {
        let path = copy.path().join(path.strip_prefix(&chart).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let object =
        "kind: Notes\ntext: |\n{{ include (print .Template.BasePath \"/NOTES.txt\") . | indent 2 }}\n";
    std::fs::write(copy.path().join("templates/notes.yaml"), object).unwrap();
    for (values, expected) in [
        ("", "set env deployment/gitoggle -c gitoggle GITOGGLE_FIRST_PASS=adopt"),
        (
            "secret.keys.admin_token=a replicas=2 config.state_remote=origin",
            "exec statefulset/gitoggle -c gitoggle -- gitoggle allow first-pass-adopt",
        ),
        ("mode=cronjob", "create job --from=cronjob/gitoggle gitoggle-now"),
    ] {
        let Some(helm) = tool("helm") else {
            return;
        };
        let mut helm = template_of(copy.path(), helm, BASE, values);
        let printed = succeeds(helm.args(["--show-only", "templates/notes.yaml"]));
        assert!(printed.contains(expected), "{printed}");
    }
}

//! The alerts and the queries of the dashboard, checked by promtool.

use std::path::Path;

use serde_json::{Value, json};

use super::monitoring::{alerts, dashboard};
use super::release::{BASE, Release, SIDECAR, STATE};
use super::tool::{succeeds, tool};
use super::{folder, items, named, text, word};

const MONITORED: &str = "dashboard.enabled=true prometheusRule.enabled=true serviceMonitor.enabled=true";

/// The file with the tests of the alerts.
fn tests() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/deploy/alerts.yaml"))
}

#[test]
fn every_alert_has_a_test_that_fires_it_and_one_that_does_not() {
    let tests = std::fs::read_to_string(tests()).unwrap();
    let tests: Value = serde_yaml::from_str(&tests).unwrap();
    let expected: Vec<(String, bool)> = items(&tests["tests"])
        .flat_map(|test| items(&test["promql_expr_test"]))
        .map(|case| {
            let fires = case["exp_samples"][0]["value"] != 0;
            (word(&case["expr"]).to_owned(), fires)
        })
        .collect();
    for alert in alerts() {
        let name = format!("alertname=\"{}\"", word(&alert["alert"]));
        for fires in [true, false] {
            let is_tested = expected.iter().any(|case| case.0.contains(&name) && case.1 == fires);
            assert!(is_tested, "{name} {fires}");
        }
    }
}

#[test]
fn the_alerts_fire_when_they_should() {
    let (Some(mut check), Some(mut test)) = (tool("promtool"), tool("promtool")) else {
        return;
    };
    succeeds(check.args(["check", "rules"]).arg(folder().join("prometheus/alerts.yaml")));
    succeeds(test.args(["test", "rules"]).arg(tests()));
}

#[test]
fn the_queries_of_the_dashboard_are_valid() {
    let Some(mut promtool) = tool("promtool") else {
        return;
    };
    let rule = |target: &Value| {
        let expression = word(&target["expr"]).replace("$__rate_interval", "5m");
        json!({"record": "gitoggle:query", "expr": expression, "labels": {"panel": expression}})
    };
    let dashboard = dashboard();
    let rules: Vec<Value> =
        items(&dashboard["panels"]).flat_map(|panel| items(&panel["targets"])).map(rule).collect();
    checked(&mut promtool, &json!({"groups": [{"name": "dashboard", "rules": rules}]}));
}

#[test]
fn the_dashboard_counts_replicas_behind_one_service_once() {
    let Some(mut promtool) = tool("promtool") else {
        return;
    };
    let dashboard = dashboard();
    let held = items(&dashboard["panels"]).find(|panel| panel["title"] == "Held").unwrap();
    let query = word(&held["targets"][0]["expr"]).replace("$job", ".*").replace("$instance", ".*");
    let series = |labels: &str, values: &str| json!({"series": format!("gitoggle_toggles{{{labels},state=\"held\"}}"), "values": values});
    let tests = json!({"tests": [{
        "interval": "1m",
        "input_series": [
            series("job=\"a\",namespace=\"n\",service=\"s\",instance=\"1\"", "9x5"),
            series("job=\"a\",namespace=\"n\",service=\"s\",instance=\"2\"", "9x5"),
            // Without Kubernetes, instances are separate installations.
            series("job=\"b\",instance=\"3\"", "1x5"),
            series("job=\"b\",instance=\"4\"", "2x5"),
        ],
        "promql_expr_test": [{
            "expr": query, "eval_time": "3m", "exp_samples": [{"labels": "{}", "value": 12}],
        }],
    }]});
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), tests.to_string()).unwrap();
    succeeds(promtool.args(["test", "rules"]).arg(file.path()));
}

/// Checks a file of rules. JSON is YAML.
fn checked(promtool: &mut std::process::Command, rules: &Value) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rules.to_string()).unwrap();
    succeeds(promtool.args(["check", "rules"]).arg(file.path()));
}

#[test]
fn an_alert_is_missed_by_no_instance() {
    // `absent` of a metric that several instances have is silent until the last one is gone.
    for line in text("prometheus/alerts.yaml").lines().filter(|line| line.contains("absent(")) {
        assert!(line.contains("or absent("), "{line}");
    }
}

#[test]
fn alerts_fit_the_mode_and_concern_only_the_release() {
    let cron = format!("{STATE} mode=cronjob prometheusRule.enabled=true cronjob.staleAfterSeconds=7200");
    for (base, values, groups) in [
        (BASE, "prometheusRule.enabled=true", &["gitoggle"][..]),
        (SIDECAR, "prometheusRule.enabled=true", &["gitoggle", "gitoggle-git-sync"]),
        (BASE, &cron, &["gitoggle-cronjob"]),
    ] {
        let (Some(release), Some(mut promtool)) = (Release::of(base, values), tool("promtool")) else {
            return;
        };
        let spec = &release.one("PrometheusRule")["spec"];
        let names: Vec<&str> = items(&spec["groups"]).map(|group| word(&group["name"])).collect();
        let expected: Vec<String> = groups.iter().map(|name| format!("shop.gitoggle.{name}")).collect();
        assert_eq!(names, expected);
        checked(&mut promtool, spec);
        for rule in items(&spec["groups"]).flat_map(|group| items(&group["rules"])) {
            let expression = word(&rule["expr"]);
            let selected = expression.matches("namespace=\"shop\",").count();
            let metrics = ["gitoggle_", "git_sync_", "process_", "kube_cronjob_"]
                .map(|name| expression.matches(name).count());
            // The other side of `unless on (namespace, cronjob)` needs no selector.
            let joined = expression.matches("kube_cronjob_spec_suspend == 1").count();
            assert_eq!(selected, metrics.iter().sum::<usize>() - joined, "{expression}");
        }
    }
    let release = Release::of(BASE, &cron).unwrap();
    let rules = release.one("PrometheusRule").to_string();
    assert!(rules.contains("> 7200") && !rules.contains("> 1800"), "{rules}");
    assert!(rules.contains("cronjob=~\\\"gitoggle(-held)?\\\""), "{rules}");
    let values = "prometheusRule.enabled=true prometheusRule.exclude={GitoggleDown}";
    let release = Release::of(BASE, values).unwrap();
    assert!(!release.one("PrometheusRule").to_string().contains("\"GitoggleDown\""));
}

#[test]
fn the_monitoring_of_the_chart_is_that_of_the_other_files() {
    let Some(release) = Release::of(SIDECAR, MONITORED) else {
        return;
    };
    let maps = release.0.iter().filter(|object| object["kind"] == "ConfigMap");
    let dashboard = maps.map(|map| &map["data"]["gitoggle.json"]).find(|text| text.is_string());
    let dashboard: Value = serde_json::from_str(word(dashboard.unwrap())).unwrap();
    assert_eq!(dashboard, serde_json::from_str::<Value>(&text("grafana.json")).unwrap());
    let endpoints = &release.one("ServiceMonitor")["spec"]["endpoints"];
    let ports = &release.one("Service")["spec"]["ports"];
    assert_eq!(items(endpoints).count(), 2);
    for endpoint in items(endpoints) {
        named(ports, word(&endpoint["port"]));
    }
}

//! The dashboard and the alerts use metrics and labels that exist.

use std::collections::BTreeSet;

use gitoggle::daemon::{HoldKind, Metrics};
use serde_json::Value;

use super::{beginning, document, items, text, word};

fn exposed() -> String {
    let metrics = Metrics::new();
    // Without a fetch, a source has no age.
    metrics.source_fetched_at(Some(0));
    metrics.encode()
}

fn names(text: &str) -> BTreeSet<&str> {
    let of = |prefix| beginning(text, prefix, |c| c.is_ascii_lowercase() || c == '_');
    of("gitoggle_").union(&of("process_")).copied().collect()
}

/// The metrics of git-sync and kube-state-metrics that the alerts use.
const FOREIGN: &[&str] = &[
    "git_sync_count_total",
    "kube_cronjob_created",
    "kube_cronjob_info",
    "kube_cronjob_spec_suspend",
    "kube_cronjob_status_last_successful_time",
];

/// The values with which `expression` compares `label`.
fn compared<'e>(expression: &'e str, label: &str) -> Vec<&'e str> {
    let after = ["=\"", "=~\"", "!=\""].map(|operator| format!("{label}{operator}"));
    after
        .iter()
        .flat_map(|begin| expression.match_indices(begin.as_str()))
        .filter_map(|(start, begin)| expression[start + begin.len()..].split('"').next())
        .flat_map(|values| values.split('|'))
        .collect()
}

fn check_expression(expression: &str) {
    let exposed = exposed();
    for name in names(expression) {
        let is_there = exposed.lines().any(|line| line.split(['{', ' ']).next() == Some(name));
        assert!(is_there, "{name} in {expression}");
    }
    for label in ["outcome", "reason", "result", "state"] {
        for value in compared(expression, label) {
            let pair = format!("{label}=\"{value}\"");
            assert!(exposed.contains(&pair), "{pair} in {expression}");
        }
    }
    let count = |c| expression.matches(c).count();
    assert_eq!((count('('), count('{')), (count(')'), count('}')), "{expression}");
}

pub(super) fn dashboard() -> Value {
    serde_json::from_str(&text("grafana.json")).unwrap()
}

pub(super) fn alerts() -> Vec<Value> {
    let rules = document("prometheus/alerts.yaml");
    let groups = items(&rules["groups"]);
    groups.flat_map(|group| items(&group["rules"])).cloned().collect()
}

#[test]
fn the_dashboard_uses_existing_metrics() {
    let dashboard = dashboard();
    let targets: Vec<&Value> =
        items(&dashboard["panels"]).flat_map(|panel| items(&panel["targets"])).collect();
    assert!(targets.len() > 10, "{}", targets.len());
    for target in targets {
        check_expression(word(&target["expr"]));
    }
    for variable in items(&dashboard["templating"]["list"]) {
        check_expression(variable["definition"].as_str().unwrap_or_default());
    }
}

#[test]
fn the_dashboard_shows_every_metric() {
    let (exposed, dashboard) = (exposed(), text("grafana.json"));
    let families: Vec<&str> = exposed.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert!(families.len() > 10, "{families:?}");
    for family in families {
        let sample = family.replace(" counter", "_total");
        let name = sample.split(' ').next().unwrap();
        assert!(dashboard.contains(name), "no panel shows {name}");
    }
}

#[test]
fn panels_have_unique_ids_and_do_not_overlap() {
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in items(&dashboard["panels"]) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}", panel["title"]);
        assert!(!word(&panel["description"]).is_empty() && !word(&panel["title"]).is_empty());
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{}", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{} overlaps another panel", panel["title"]);
        }
    }
}

#[test]
fn alerts_use_existing_metrics_and_have_a_runbook() {
    let mut seen = BTreeSet::new();
    for alert in alerts() {
        let name = word(&alert["alert"]).to_owned();
        assert!(name.starts_with("Gitoggle") && seen.insert(name.clone()), "{name}");
        let expression = word(&alert["expr"]);
        check_expression(expression);
        let foreign: BTreeSet<&str> = ["git_sync_", "kube_"]
            .iter()
            .flat_map(|prefix| beginning(expression, prefix, |c| c.is_ascii_lowercase() || c == '_'))
            .collect();
        assert!(foreign.iter().all(|name| FOREIGN.contains(name)), "{foreign:?}");
        assert!(!names(expression).is_empty() || !foreign.is_empty(), "{name}");
        let severity = word(&alert["labels"]["severity"]);
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
        for key in ["summary", "description", "runbook"] {
            assert!(word(&alert["annotations"][key]).len() > 20, "{name}: {key}");
        }
    }
    assert!(seen.len() >= 7, "{seen:?}");
}

#[test]
fn every_reason_for_withholding_a_toggle_has_an_alert() {
    let alerts = alerts();
    let expressions: Vec<&str> = alerts.iter().map(|alert| word(&alert["expr"])).collect();
    let covered: BTreeSet<&str> = expressions
        .iter()
        .filter(|expression| expression.contains("gitoggle_withheld"))
        .flat_map(|expression| compared(expression, "reason"))
        .collect();
    for reason in HoldKind::ALL.map(HoldKind::as_str) {
        // `GitoggleSuspended` reports a suspension, whether or not a change waits for its end.
        // A change window opens by itself, and a freeze may last for weeks.
        let is_covered = covered.contains(reason) || ["suspended", "window"].contains(&reason);
        assert!(is_covered, "{reason}");
    }
}

#[test]
fn an_expression_with_an_unknown_metric_or_label_is_detected() {
    for expression in [
        "gitoggle_passes",
        "gitoggle_toggles{state=\"lost\"}",
        "gitoggle_withheld{reason=~\"rail|whim\"}",
        "gitoggle_publishes_total{outcome=~\"busy|tired\"}",
        "sum(gitoggle_toggles",
    ] {
        let result = std::panic::catch_unwind(|| check_expression(expression));
        assert!(result.is_err(), "{expression}");
    }
}

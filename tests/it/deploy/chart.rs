//! The values of the Helm chart and their schema, checked without Helm.

use std::collections::BTreeSet;

use gitoggle::config::{Command, SettingInfo, settings};
use serde_json::Value;

use super::{beginning, document, files, folder, text, word};

fn schema() -> Value {
    serde_json::from_str(&text("helm/gitoggle/values.schema.json")).unwrap()
}

/// The violations of `schema` in `value`: types, choices and keys, as far as the chart's schema uses them.
fn faults(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_of = |name: &str| match name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("no such type: {other}"),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(name)) {
        faults.push(format!("{place}: {value} is not {types:?}"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        faults.push(format!("{place}: {value} is not one of {choices:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        faults.extend(self::faults(&schema["items"], item, place));
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => faults.push(format!("{place} is not known")),
            (Value::Null, schema) | (schema, _) => faults.extend(self::faults(schema, value, &place)),
        }
    }
    for key in super::items(&schema["required"]).filter(|key| value[word(key)].is_null()) {
        faults.push(format!("{place}.{key} is missing"));
    }
    faults
}

/// The settings of the daemon that a configuration file can contain and that the chart does not set.
fn settings_of_users() -> impl Iterator<Item = &'static SettingInfo> {
    let of_the_chart = ["ca_file", "first_pass", "listen", "state_dir"];
    settings().iter().filter(move |setting| {
        setting.key.is_some()
            && setting.commands().contains(&Command::Run)
            && !of_the_chart.contains(&setting.name)
            && !setting.name.ends_with("_file")
    })
}

#[test]
fn the_values_match_their_schema() {
    let (schema, values) = (schema(), document("helm/gitoggle/values.yaml"));
    assert_eq!(faults(&schema, &values, ""), Vec::<String>::new());
    for (path, wrong) in [
        ("/config/first_pass", Value::from("adopt")),
        ("/image/pullPolicy", "Sometimes".into()),
        ("/networkPolicy/egressPorts", vec!["https"].into()),
        ("/nonsense", true.into()),
        ("/persistence/enabled", "yes".into()),
    ] {
        let mut values = values.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        values.pointer_mut(parent).unwrap()[key] = wrong;
        assert_eq!(faults(&schema, &values, "").len(), 1, "{path}");
    }
}

#[test]
fn the_schema_covers_every_setting_of_the_daemon() {
    let schema = schema();
    let config = schema["properties"]["config"]["properties"].as_object().unwrap();
    let known: BTreeSet<&str> = config.keys().map(String::as_str).collect();
    let wanted: BTreeSet<&str> = settings_of_users().map(|setting| setting.name).collect();
    assert_eq!(known, wanted);
    for setting in settings_of_users() {
        let property = &config[setting.name];
        if !setting.words().is_empty() {
            assert_eq!(super::words(&property["enum"]), setting.words(), "{}", setting.name);
            continue;
        }
        let kind = match setting.value_name() {
            None => "boolean",
            Some(_) if setting.is_list() => "array",
            Some("N") => "integer",
            Some("RATIO") => "number",
            Some(_) => "string",
        };
        assert_eq!(property["type"], kind, "{}", setting.name);
    }
}

#[test]
fn every_secret_of_the_daemon_can_be_set() {
    let values = document("helm/gitoggle/values.yaml");
    let given: BTreeSet<&str> =
        values["secret"]["keys"].as_object().unwrap().keys().map(String::as_str).collect();
    let wanted: BTreeSet<&str> = settings()
        .iter()
        .filter(|setting| setting.is_secret() && setting.commands().contains(&Command::Run))
        .map(|setting| setting.name)
        .collect();
    assert_eq!(given, wanted);
    for name in wanted {
        let file = format!("{name}_file");
        assert!(settings().iter().any(|setting| setting.name == file), "{file}");
    }
}

#[test]
fn templates_use_every_value_and_only_existing_ones() {
    let values = document("helm/gitoggle/values.yaml");
    let schema = schema();
    let mut used = BTreeSet::new();
    for text in files(&folder().join("helm/gitoggle/templates")).into_values() {
        for path in beginning(&text, ".Values.", |c| c.is_ascii_alphanumeric() || c == '.' || c == '_') {
            let path = path.trim_start_matches(".Values.").replace('.', "/");
            let in_schema = format!("/properties/{}", path.replace('/', "/properties/"));
            let is_there =
                values.pointer(&format!("/{path}")).is_some() || schema.pointer(&in_schema).is_some();
            assert!(is_there, ".Values.{path}");
            used.insert(path);
        }
    }
    for (key, value) in values.as_object().unwrap() {
        let fields = value.as_object().filter(|_| !used.contains(key));
        let leaves: Vec<String> = match fields {
            Some(fields) => fields.keys().map(|field| format!("{key}/{field}")).collect(),
            None => vec![key.clone()],
        };
        for leaf in leaves {
            assert!(used.contains(&leaf), "nothing uses {leaf}");
        }
    }
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = document("helm/gitoggle/Chart.yaml");
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
}

/// The objects of the schema that allow any key: labels, annotations, and types of Kubernetes.
const OPEN: &[&str] = &[
    "affinity",
    "annotations",
    "global",
    "labels",
    "nodeSelector",
    "podAnnotations",
    "podLabels",
    "podSecurityContext",
    "resources",
    "securityContext",
];

#[test]
fn unknown_keys_are_errors_everywhere() {
    fn walk(schema: &Value, place: &str) {
        if schema["type"] == "object" {
            let is_open = OPEN.iter().any(|name| place.rsplit('.').next() == Some(name));
            let is_closed = schema["additionalProperties"] == false;
            assert!(is_open != is_closed, "{place}");
        }
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            walk(schema, &format!("{place}.{key}"));
        }
    }
    walk(&schema(), "");
}

#[test]
fn every_value_has_a_default() {
    fn walk(schema: &Value, values: &Value, place: &str) {
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{key}");
            // Helm itself defines `global`; the settings of the program have their own defaults.
            if place == ".global" || place.starts_with(".config.") {
                continue;
            }
            assert!(!values[key].is_null(), "values.yaml lacks {place}");
            walk(schema, &values[key], &place);
        }
    }
    walk(&schema(), &document("helm/gitoggle/values.yaml"), "");
}

#[test]
fn the_chart_contains_the_alerts_and_the_dashboard() {
    for (file, link) in [("alerts.yaml", "prometheus/alerts.yaml"), ("dashboard.json", "grafana.json")] {
        let inside = folder().join("helm/gitoggle/files").join(file);
        let is_file = std::fs::symlink_metadata(&inside).unwrap().is_file();
        assert!(is_file, "a packaged chart contains no link: {file}");
        assert_eq!(std::fs::canonicalize(folder().join(link)).unwrap(), inside.canonicalize().unwrap());
    }
}

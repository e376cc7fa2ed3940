//! The Helm chart, checked without Helm: its templates with every condition true.

use std::collections::BTreeSet;

use gitoggle::config::{Command, SettingInfo, ValueShape, settings};
use serde_json::Value;

use super::{beginning, document, documents, files, folder, port, text, word};

fn schema() -> Value {
    serde_json::from_str(&text("helm/gitoggle/values.schema.json")).unwrap()
}

/// The objects of one template, without control lines and lists from values, and with `x` for every other value.
fn rendered(template: &str) -> Vec<Value> {
    let text = text(&format!("helm/gitoggle/templates/{template}"));
    let lines = text.lines().filter(|line| {
        let line = line.trim();
        !(line.starts_with("{{") && line.ends_with("}}"))
    });
    let plain: Vec<String> = lines.map(without_actions).collect();
    documents(&plain.join("\n"))
}

fn without_actions(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::new();
    while let Some((before, action)) = rest.split_once("{{") {
        let (action, after) = action.split_once("}}").expect("an action ends on its line");
        plain.push_str(before);
        if action.contains("nindent") && !plain.ends_with(' ') {
            plain.push(' ');
        }
        plain.push('x');
        rest = after;
    }
    plain + rest
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
            && setting.commands.contains(&Command::Run)
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
        let kind = match setting.shape {
            ValueShape::Choice(words) => {
                assert_eq!(super::words(&property["enum"]), words, "{}", setting.name);
                continue;
            }
            ValueShape::Count => "integer",
            ValueShape::Ratio => "number",
            ValueShape::Switch => "boolean",
            ValueShape::Texts(..) => "array",
            ValueShape::Duration | ValueShape::Path(..) | ValueShape::Secret | ValueShape::Text(..) => {
                "string"
            }
        };
        assert_eq!(property["type"], kind, "{}", setting.name);
    }
}

#[test]
fn every_secret_of_the_daemon_can_be_set() {
    let values = document("helm/gitoggle/values.yaml");
    let given: BTreeSet<&str> = values["secret"]["keys"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let wanted: BTreeSet<&str> = settings()
        .iter()
        .filter(|setting| {
            matches!(setting.shape, ValueShape::Secret) && setting.commands.contains(&Command::Run)
        })
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
        for path in beginning(&text, ".Values.", |c| {
            c.is_ascii_alphanumeric() || c == '.' || c == '_'
        }) {
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

#[test]
fn the_pod_of_the_chart_is_as_hardened_as_that_of_the_manifests() {
    let deployment = rendered("deployment.yaml").remove(0);
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    let config = tempfile::NamedTempFile::new().unwrap();
    let settings =
        "repo: /git/current\nbase_url: https://toggles.example\ntoken_file: /run/secrets/gitoggle/token\n";
    std::fs::write(config.path(), settings).unwrap();
    super::pods::check(&deployment["spec"]["template"]["spec"], config.path());
    let service = rendered("service.yaml").remove(0);
    assert_eq!(service["spec"]["ports"][0]["port"], port());
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    let policy = rendered("networkpolicy.yaml").remove(0);
    assert_eq!(policy["spec"]["ingress"][0]["ports"][0]["port"], port());
    assert_eq!(
        rendered("servicemonitor.yaml")[0]["spec"]["endpoints"][0]["path"],
        "/metrics"
    );
    for template in ["configmap.yaml", "pvc.yaml", "serviceaccount.yaml"] {
        assert!(rendered(template)[0]["kind"].is_string(), "{template}");
    }
}

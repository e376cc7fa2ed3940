//! What lies under `deploy` names only what there is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gitoggle::config::settings;

fn files() -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push((path.clone(), std::fs::read_to_string(path).unwrap())),
            }
        }
    }
    files
}

/// The words of `text` that begin with `prefix` and go on with what `is_part` says.
fn words<'t>(text: &'t str, prefix: &str, is_part: fn(char) -> bool) -> BTreeSet<&'t str> {
    let starts = text.match_indices(prefix).map(|(start, _)| &text[start..]);
    starts
        .map(|rest| rest.find(|c| !is_part(c)).map_or(rest, |end| &rest[..end]))
        .collect()
}

#[test]
fn every_variable_exists() {
    let known: BTreeSet<String> = settings()
        .iter()
        .filter_map(|setting| setting.variable.clone())
        .collect();
    for (path, text) in files() {
        for variable in words(&text, "GITOGGLE_", |c| c.is_ascii_uppercase() || c == '_') {
            assert!(known.contains(variable), "{}: {variable}", path.display());
        }
    }
}

#[test]
fn no_file_decides_about_a_first_pass() {
    // The chart's schema names it to refuse it, and its notes tell people how to decide.
    let told = ["values.schema.json", "NOTES.txt"];
    let files = files()
        .into_iter()
        .filter(|(path, _)| !told.iter().any(|name| path.ends_with(name)));
    for (path, text) in files {
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let lines: Vec<&str> = code
            .filter(|line| line.to_lowercase().replace('-', "_").contains("first_pass"))
            .collect();
        assert!(lines.is_empty(), "{}: {lines:?}", path.display());
    }
}

#[test]
fn the_port_is_the_default_one_and_yaml_parses() {
    let listen = settings()
        .iter()
        .find(|setting| setting.name == "listen")
        .unwrap()
        .default;
    let port = listen.rsplit(':').next().unwrap();
    for (path, text) in files() {
        let listens = text.lines().filter(|line| line.contains("GITOGGLE_LISTEN"));
        for line in listens {
            assert!(line.contains(&format!(":{port}")), "{}: {line}", path.display());
        }
        // Templates are YAML only once they are filled in.
        let is_template = path.components().any(|part| part.as_os_str() == "templates");
        if path.extension().is_some_and(|extension| extension == "yaml") && !is_template {
            for document in serde_yaml::Deserializer::from_str(&text) {
                let parsed: Result<serde_json::Value, _> = serde::Deserialize::deserialize(document);
                assert!(parsed.unwrap().is_object(), "{}", path.display());
            }
        }
    }
}

#[test]
fn what_the_image_copies_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("deploy/Dockerfile")).unwrap();
    let copies = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"));
    for line in copies {
        let mut paths: Vec<&str> = line.split_whitespace().collect();
        paths.pop();
        for path in paths {
            assert!(root.join(path).exists(), "{path}");
        }
    }
}

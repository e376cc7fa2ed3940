//! The page of each folder of the source: it is part of its module's documentation, and what it names exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::walk;
use crate::manual::{dead_links, headings};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folders directly below `src`, and `src` itself first.
fn rooms() -> Vec<PathBuf> {
    let source = root().join("src");
    let entries = std::fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    let mut rooms: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    rooms.sort();
    rooms.insert(0, source);
    rooms
}

/// Returns the pages below `src` that are about the source, with their texts. Templates are not.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for room in rooms() {
        for entry in std::fs::read_dir(&room).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = read(&path);
                pages.push((path, text));
            }
        }
    }
    assert!(pages.len() > 20, "{}", pages.len());
    pages
}

/// Returns the paragraphs and the points of lists of a page, blocks of code aside, each in one line.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut is_code = false;
    let point = Regex::new(r"^(\* |\d+\. |#)").unwrap();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with("```") {
            continue;
        }
        if line.is_empty() || point.is_match(line) {
            paragraphs.push(String::new());
        }
        let last = paragraphs.last_mut().unwrap();
        last.push_str(line.trim());
        last.push(' ');
    }
    paragraphs
}

/// Returns the words in code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the names of all tests.
fn tests() -> BTreeSet<String> {
    let test = Regex::new(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)").unwrap();
    let mut names = BTreeSet::new();
    for folder in ["src", "tests"] {
        for (_, text) in walk(&root().join(folder)) {
            names.extend(test.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
    names
}

#[test]
fn each_room_has_a_page_that_its_module_includes() {
    for room in rooms() {
        assert!(room.join("README.md").exists(), "{} has no README.md", room.display());
        let module = if room.ends_with("src") { "lib.rs" } else { "mod.rs" };
        let text = read(&room.join(module));
        let includes = text.starts_with("#![doc = include_str!(\"README.md\")]\n");
        assert!(includes, "{}/{module} does not begin with its README.md", room.display());
    }
}

#[test]
fn the_map_lists_every_room() {
    let map = read(&root().join("src/README.md"));
    for room in rooms().iter().skip(1) {
        let name = room.file_name().unwrap().to_str().unwrap();
        assert!(map.contains(&format!("[`{name}`]({name}/README.md)")), "{name}");
    }
}

#[test]
fn each_rule_names_tests_that_exist() {
    let tests = tests();
    let rule = Regex::new(r"^(\* |\d+\. )\*\*").unwrap();
    let mut count = 0;
    for (path, text) in pages() {
        let is_about_rules = path.ends_with("README.md");
        for paragraph in paragraphs(&text) {
            let named = ["Test: ", "Tests: "].iter().find_map(|word| paragraph.split_once(word));
            let Some((_, named)) = named else {
                let has_none = is_about_rules && rule.is_match(&paragraph);
                assert!(!has_none, "{}: no test is named for: {paragraph}", path.display());
                continue;
            };
            // Other code in the sentence is not in snake case.
            let is_name =
                |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            for name in code(named).filter(is_name) {
                assert!(tests.contains(name), "{}: there is no test `{name}`", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 300, "{count}");
}

/// `Thresholds::drawn` does not compile without all of them.
#[test]
fn each_threshold_names_the_simulation_that_draws_it() {
    let text = read(&root().join("src/model/thresholds.rs"));
    let (_, fields) = text.split_once("pub struct Thresholds {\n").unwrap();
    let (fields, _) = fields.split_once("\n}\n").unwrap();
    let tests = tests();
    let fields: Vec<&str> = fields.split_terminator(",\n").collect();
    for field in &fields {
        let named = field.split_once("/// Test: `").and_then(|(_, rest)| rest.split_once("`.\n"));
        let Some((test, _)) = named else { panic!("no test draws: {field}") };
        assert!(tests.contains(test), "there is no test `{test}`");
    }
    assert!(fields.len() > 10);
}

#[test]
fn the_files_and_pages_that_a_page_names_exist() {
    let file = Regex::new(r"^\w[\w./-]*\.(rs|md|yaml)$").unwrap();
    let link = Regex::new(r"\[[^\]]*\]\([^)]*\)").unwrap();
    for (path, text) in pages() {
        let folder = path.parent().unwrap();
        let text = link.replace_all(&text, "");
        for paragraph in paragraphs(&text) {
            for name in code(&paragraph).filter(|name| file.is_match(name)) {
                let places = [folder.to_owned(), root().join("src"), root()];
                let exists = places.iter().any(|place| place.join(name).exists());
                assert!(exists, "{}: there is no `{name}`", path.display());
            }
        }
        let dead = dead_links(&path);
        assert!(dead.is_empty(), "{}: {dead:?}", path.display());
    }
}

/// Returns the comments of a file, with their lines joined.
fn comments(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let (_, comment) = line.split_once("//")?;
        Some(comment.trim_start_matches(['/', '!']).trim())
    });
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_reference_names_a_heading_that_exists() {
    let reference = Regex::new(r#"\b((?:src|deploy|examples)/[\w./-]+\.md), "([^"]+)""#).unwrap();
    for folder in ["src", "tests"] {
        for (path, text) in walk(&root().join(folder)) {
            for found in reference.captures_iter(&comments(&text)) {
                let page = read(&root().join(&found[1]));
                let heading = crate::manual::anchor(&found[2]);
                assert!(headings(&page).contains(&heading), "{folder}/{path}: {}", &found[0]);
            }
        }
    }
}

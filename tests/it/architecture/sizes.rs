//! The lengths of files and functions, tests included.

use std::collections::BTreeMap;
use std::path::Path;

use super::{production, walk, without_tests};

/// The most lines of a file.
const LONGEST_FILE: usize = 600;

/// The most lines of a function, not counting raw strings: a snapshot is data.
const LONGEST_FUNCTION: usize = 60;

/// The most lines of production code, with comments; the most of one module; and the most files. They may only fall.
const MOST_LINES: usize = 64_700;
const LARGEST_MODULE: usize = 6_600;
const MOST_FILES: usize = 220;

#[test]
fn the_program_does_not_grow_unnoticed() {
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    let files = production();
    for (path, text) in &files {
        let module = path.split('/').next().unwrap_or_default();
        *modules.entry(module.to_owned()).or_default() += without_tests(text).lines().count();
    }
    let lines: usize = modules.values().sum();
    assert!(lines <= MOST_LINES && lines > MOST_LINES / 2, "{lines} lines: {modules:#?}");
    assert!(files.len() <= MOST_FILES, "{} files", files.len());
    let large: Vec<_> = modules.iter().filter(|(_, lines)| **lines > LARGEST_MODULE).collect();
    assert!(large.is_empty(), "{large:?}");
}

#[test]
fn no_file_is_too_long() {
    let lengths = files().into_iter().map(|(path, text)| (path, text.lines().count()));
    let long: Vec<_> = lengths.filter(|(_, lines)| *lines > LONGEST_FILE).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn no_function_is_too_long() {
    let mut long = Vec::new();
    for (path, text) in files() {
        let found = functions(&text).into_iter().filter(|(_, lines)| *lines > LONGEST_FUNCTION);
        long.extend(found.map(|(name, lines)| (path.clone(), name, lines)));
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// Returns the Rust files of the crate, sorted.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["examples", "src", "tests"] {
        let files = walk(&root.join(folder)).into_iter();
        found.extend(files.map(|(path, text)| (format!("{folder}/{path}"), text)));
    }
    found
}

/// Returns the functions of a formatted file with their lengths. Lines within raw strings are not counted.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut open: Vec<(String, String, usize)> = Vec::new();
    let mut found = Vec::new();
    let mut is_raw = false;
    for line in text.lines() {
        let was_raw = is_raw;
        is_raw = match was_raw {
            true => !line.contains("\"#"),
            false => line.rsplit_once("r#\"").is_some_and(|(_, rest)| !rest.contains("\"#")),
        };
        if was_raw {
            continue;
        }
        open.iter_mut().for_each(|(_, _, lines)| *lines += 1);
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(name) = name_of_function(line.trim_start()).filter(|_| !line.ends_with(['}', ';'])) {
            open.push((name.to_owned(), indent.to_owned(), 1));
        }
        let ends = |(_, start, _): &mut (String, String, usize)| {
            // A declaration in a trait ends without a body.
            line == format!("{start}}}") || (line.starts_with(&format!("{start})")) && line.ends_with(';'))
        };
        let ended = open.pop_if(ends);
        found.extend(ended.map(|(name, _, lines)| (name, lines)));
    }
    found
}

/// Returns the name of the function whose signature begins with `line`.
fn name_of_function(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some((word, after)) = rest.split_once(' ') {
        match word {
            "async" | "const" | "unsafe" => rest = after,
            word if word.starts_with("pub") => rest = after,
            "fn" => return after.split(['(', '<']).next(),
            _ => return None,
        }
    }
    None
}

#[test]
fn the_lines_of_functions_are_counted() {
    let text = "fn a() {}\n\nimpl B {\n    pub(crate) async fn b(\n        x: u8,\n    ) -> u8 {\n        let y = r#\"\n1\n2\n\
                \"#;\n        fn c() {\n        }\n    }\n}\ntrait D {\n    fn d(\n        x: u8,\n    ) -> u8;\n}\n";
    let expected = [("c", 2), ("b", 7), ("d", 3)];
    assert_eq!(functions(text), expected.map(|(name, lines)| (name.to_owned(), lines)));
}

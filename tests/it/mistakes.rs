//! Makes the deliberate mistakes of `tests/simulation/mistakes.yaml`, and demands that the test of each
//! fails.
//!
//! Making all of them takes hours, so the project does it once a week: `GITOGGLE_MISTAKES=all cargo test
//! --test it each_deliberate`. Any other value makes those whose text contains it. Without the variable, the
//! test checks that each can still be made.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The seeds of a simulation that has to notice a mistake.
const SEEDS: &str = "400";

/// The histories of pull requests of a test that has to notice a mistake.
const HISTORIES: &str = "100";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    mistake: String,
    file: String,
    /// The text to replace, which occurs once.
    old: String,
    new: String,
    /// The kind of test, `lib` or `it`, and its name.
    test: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn mistakes() -> Vec<Mistake> {
    let text = std::fs::read_to_string(root().join("tests/simulation/mistakes.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

impl Mistake {
    /// Returns the mistaken file.
    fn make(&self) -> String {
        let text = std::fs::read_to_string(root().join(&self.file)).unwrap();
        assert_eq!(text.matches(&self.old).count(), 1, "{}: the text to replace occurs once", self.mistake);
        text.replace(&self.old, &self.new)
    }

    fn kind_and_name(&self) -> (&str, &str) {
        self.test.split_once(' ').expect("a kind and a name")
    }
}

/// A copy of the project with its own build.
struct Copy(PathBuf);

impl Copy {
    fn new() -> Self {
        let copy = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes"));
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for file in listed.split_terminator('\0').filter(|file| root().join(file).is_file()) {
            copy.write(file, &std::fs::read(root().join(file)).unwrap());
        }
        copy
    }

    /// Writes a file, unless it has that content: what does not change is not built again.
    fn write(&self, file: &str, content: &[u8]) {
        let path = self.0.join(file);
        if std::fs::read(&path).is_ok_and(|found| found == content) {
            return;
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs tests of one kind. Returns how many passed and failed.
    fn test(&self, kind: &str, names: &[&str]) -> (usize, usize) {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env("GITOGGLE_SEEDS", SEEDS)
            .env("GITOGGLE_HISTORIES", HISTORIES);
        cargo.args(["test", "--offline"]).args(match kind {
            "lib" => vec!["--lib"],
            kind => vec!["--test", kind],
        });
        let output = cargo.args(["--", "--exact"]).args(names).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let Some(result) = printed.lines().find_map(|line| line.strip_prefix("test result: ")) else {
            panic!("the tests did not run:\n{}", String::from_utf8_lossy(&output.stderr));
        };
        let count = |word: &str| {
            let part = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            part.map_or(0, |count| count.trim().parse().unwrap())
        };
        (count("passed"), count("failed"))
    }
}

#[test]
fn each_deliberate_mistake_is_caught() {
    let mistakes = mistakes();
    assert!(mistakes.len() >= 46);
    for mistake in &mistakes {
        assert_ne!(mistake.make(), "");
        let (_, name) = mistake.kind_and_name();
        let function = format!("fn {}()", name.rsplit("::").next().unwrap());
        assert!(exists(&function), "{}: {name} is no test", mistake.mistake);
    }
    let Ok(chosen) = std::env::var("GITOGGLE_MISTAKES") else {
        return;
    };
    let copy = Copy::new();
    let is_chosen = |mistake: &&Mistake| chosen == "all" || mistake.mistake.contains(&chosen);
    let chosen: Vec<&Mistake> = mistakes.iter().filter(is_chosen).collect();
    for kind in ["lib", "it"] {
        let tests = chosen.iter().map(|mistake| mistake.kind_and_name());
        let mut names: Vec<&str> = tests.filter(|(own, _)| *own == kind).map(|(_, name)| name).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            assert_eq!(copy.test(kind, &names), (names.len(), 0), "without a mistake, every test passes");
        }
    }
    let is_missed = |mistake: &&&Mistake| {
        copy.write(&mistake.file, mistake.make().as_bytes());
        let (kind, name) = mistake.kind_and_name();
        let is_caught = copy.test(kind, &[name]) == (0, 1);
        println!("{}: {}", if is_caught { "caught" } else { "MISSED" }, mistake.mistake);
        copy.write(&mistake.file, &std::fs::read(root().join(&mistake.file)).unwrap());
        !is_caught
    };
    let missed: Vec<&str> = chosen.iter().filter(is_missed).map(|mistake| mistake.mistake.as_str()).collect();
    assert!(missed.is_empty(), "missed: {missed:#?}");
}

/// Returns whether a file of the program or its tests has this text.
fn exists(text: &str) -> bool {
    let mut folders = vec![root().join("src"), root().join("tests/it")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(path).is_ok_and(|found| found.contains(text)) {
                return true;
            }
        }
    }
    false
}

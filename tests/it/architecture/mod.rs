//! The architecture of the documentation, compared with the source.

mod imports;
mod rooms;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One source file without comments and without its tests (which come last in every file).
struct File {
    path: String,
    module: String,
    code: String,
}

/// Each heavy dependency and the modules, or single files, that are its home.
const HOMES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["document"]),
    ("axum", &["admin", "sandbox"]),
    ("clap", &["cli", "config", "main"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("git2", &["git", "state"]),
    ("csv", &["evaluate"]),
    ("granit_parser", &["document"]),
    ("indicatif", &["cli"]),
    ("maud", &["admin"]),
    ("notify", &["source"]),
    ("prometheus_client", &["admin", "daemon"]),
    ("rcgen", &["sandbox"]),
    ("regex", &["document", "evaluate"]),
    ("regex_automata", &["model"]),
    // Lent by transport: the others name its types, and make no client.
    ("reqwest", &["forge", "notification", "service", "transport"]),
    ("rustls", &["sandbox", "transport"]),
    ("serde_yaml", &["config", "document"]),
    ("semver", &["document", "evaluate"]),
    ("similar", &["plan"]),
    ("tokio_rustls", &["sandbox"]),
];

/// The files that ask which kind of service it is. All others ask what it can do.
const NAME_A_KIND: [&str; 5] = [
    // It shows both.
    "cli/commands/demo.rs",
    "model/dialect.rs",
    // A document for readers has the shortest form, whichever the service.
    "plan/change.rs",
    "sandbox/mod.rs",
    "service/kind/mod.rs",
];

/// The files that treat one kind of hold differently from the others, beside its row. Any other kind is
/// answered by its row (`HoldRule`).
const NAME_A_HOLD: [&str; 8] = [
    // An archived toggle is no drift, and is listed again once it is restored.
    "daemon/drift.rs",
    "daemon/driver/scan.rs",
    "drift/memory.rs",
    // The rows.
    "model/hold.rs",
    // What failed alone has a backoff of its own.
    "pass/publish/publisher.rs",
    "pass/publish/tries.rs",
    // What the service refused.
    "pass/report.rs",
    // The reasons.
    "plan/hold.rs",
];

/// What a module without clock, disk, network and async never names.
const IMPURE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "Zoned::now",
    "Timestamp::now",
    "async fn",
    "fastrand",
    "git2",
    "reqwest",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "tempfile",
    "tokio",
];

/// With a branch or a field that only tests have, another program is tested than the one that runs. What
/// tests replace is a trait: the clock, the runtime, the service and the ref of shared state.
#[test]
fn no_production_item_has_a_part_for_tests() {
    // A simulated process is a thread, and its failpoints are those of that thread only.
    const EXCEPTION: &str = "git/failpoint.rs";
    for (path, code) in code_by_path() {
        let parts = code.lines().filter(|line| {
            let attribute = line.trim_start();
            attribute != *line && attribute.starts_with("#[cfg(test)]")
                || line.contains("cfg!(test)")
                || line.contains("cfg_attr(test")
                || line.contains("cfg(not(test))")
                || line.contains("cfg_attr(not(test)")
        });
        assert_eq!(parts.count(), usize::from(path == EXCEPTION), "{path}");
    }
}

#[test]
fn few_files_ask_which_kind_of_hold_it_is() {
    let names_a_hold = |code: &str| {
        let names = code.split("HoldKind::").skip(1);
        // The names of functions begin with a small letter, and those of constants are in capitals.
        names
            .into_iter()
            .any(|name| name.starts_with(char::is_uppercase) && name[1..].starts_with(char::is_lowercase))
    };
    let is_test = |path: &str| path.contains("simulation") || path.contains("tests");
    let files = code_by_path().into_iter().filter(|(path, code)| !is_test(path) && names_a_hold(code));
    let files: Vec<String> = files.map(|(path, _)| path).collect();
    assert_eq!(files, NAME_A_HOLD);
}

#[test]
fn few_files_ask_which_kind_of_service_it_is() {
    let names_a_kind = |code: &str| {
        ["ServiceKind::Documented", "ServiceKind::FeatureProbe", "Self::FeatureProbe"]
            .iter()
            .any(|name| code.contains(name))
    };
    let is_test = |path: &str| path.contains("simulation") || path.contains("tests");
    let files = code_by_path().into_iter().filter(|(path, code)| !is_test(path) && names_a_kind(code));
    let files: Vec<String> = files.map(|(path, _)| path).collect();
    assert_eq!(files, NAME_A_KIND);
}

#[test]
fn every_heavy_dependency_has_one_home() {
    let mut strangers = Vec::new();
    for file in sources() {
        for (dependency, homes) in HOMES {
            let is_home = homes.contains(&file.module.as_str()) || homes.contains(&file.path.as_str());
            if !is_home && names(&file.code, &format!("{dependency}::")) {
                strangers.push(format!("{} names `{dependency}`", file.path));
            }
        }
    }
    assert!(strangers.is_empty(), "{strangers:#?}");
}

#[test]
fn modules_import_exactly_what_the_architecture_allows() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources() {
        // The program imports the library like any other crate.
        let code = match file.module.as_str() {
            "main" => file.code.replace("gitoggle::", "crate::"),
            _ => file.code,
        };
        let named = crate_names(&code).into_iter().filter(|named| *named != file.module);
        found.entry(file.module.clone()).or_default().extend(named);
    }
    let mut expected = map();
    let roots = [("main", vec!["cli"]), ("lib", Vec::new()), ("build", Vec::new())];
    expected
        .extend(roots.map(|(root, named)| (root.to_owned(), named.into_iter().map(str::to_owned).collect())));
    assert_eq!(found, expected, "src/README.md, \"Map\"");
}

/// Returns the modules that each module imports, from the map in `src/README.md`.
fn map() -> BTreeMap<String, BTreeSet<String>> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/README.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| [`"));
    rows.map(|row| {
        let (module, rest) = row.split_once('`').unwrap();
        let imports = rest.trim_end_matches(" |").rsplit_once(" | ").unwrap().1;
        let named = imports.split('`').skip(1).step_by(2).map(str::to_owned);
        (module.to_owned(), named.collect())
    })
    .collect()
}

#[test]
fn each_type_name_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        for line in file.code.lines().map(str::trim_start).filter(|line| line.starts_with("pub")) {
            let words: Vec<&str> = line.split(' ').collect();
            let kind = words.iter().position(|word| ["enum", "struct", "trait", "type"].contains(word));
            if let Some(name) = kind.and_then(|kind| words.get(kind + 1)) {
                places.entry(first_word(name)).or_default().push(file.path.clone());
            }
        }
    }
    places.retain(|name, places| places.len() > 1 && name != "Error");
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn the_core_has_no_clock_no_disk_no_network_and_no_async() {
    let mut found = Vec::new();
    for file in sources() {
        if !["model", "document", "evaluate", "plan", "report"].contains(&file.module.as_str()) {
            continue;
        }
        for word in IMPURE {
            if names(&file.code, word) {
                found.push(format!("{} names `{word}`", file.path));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// What the service makes of texts on their way to its SDKs: the checks, the evaluator and the sandbox would
/// disagree about nulls, impossible dates, leap seconds, offsets of a day and numbers over 64 bits if one of
/// them had a copy.
#[test]
fn each_conversion_for_sdks_exists_once() {
    const HOME: &str = "model/conversion.rs";
    let sources = sources();
    let file = |path: &str| sources.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path}"));
    // Names, and texts that such a function needs.
    let parts = [
        "fn delivered_value(",
        "fn delivered_time(",
        "fn is_accepted_time(",
        "fn is_same_value(",
        "fn is_big_decimal(",
        "fn without_nulls(",
        "719_468",
        "29:69:69",
        "(153 * ",
    ];
    for part in parts {
        let owners = sources.iter().filter(|file| file.code.contains(part)).map(|file| file.path.as_str());
        assert_eq!(owners.collect::<Vec<_>>(), [HOME], "{part}");
    }
    for (path, functions) in [
        ("sandbox/featureprobe/sdk.rs", &["delivered_value", "delivered_time"][..]),
        ("sandbox/featureprobe/content.rs", &["is_accepted_time"]),
        ("evaluate/condition.rs", &["delivered_value", "delivered_time", "is_same_value"]),
        ("document/condition.rs", &["delivered_time", "is_accepted_time"]),
        ("document/references.rs", &["is_same_value"]),
    ] {
        for function in functions {
            assert!(names(&file(path).code, function), "{path} uses {function}");
        }
    }
}

#[test]
fn unsafe_code_is_in_one_place_of_git_at_most() {
    let places: Vec<_> =
        sources().into_iter().filter(|file| names(&file.code, "unsafe ")).map(|file| file.path).collect();
    assert!(places.len() <= 1 && places.iter().all(|path| path.starts_with("git")), "{places:?}");
}

#[test]
fn repositories_are_opened_by_git_which_sets_libgit2_up_before() {
    let openers: Vec<_> = sources()
        .into_iter()
        .filter(|file| names(&file.code, "Repository::open") || names(&file.code, "Repository::init"))
        .map(|file| file.path)
        .collect();
    assert_eq!(openers, ["git/repository.rs"]);
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<_> = walk(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path())
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! ") && !text.starts_with("#![doc = include_str!("))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn no_comment_divides_a_file() {
    let is_divider = |paragraph: &str| {
        !paragraph.is_empty() && paragraph.lines().all(|line| line.starts_with("// ") || line == "//")
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["src", "tests"].into_iter().flat_map(|folder| walk(&root.join(folder)));
    let divided = files.filter(|(_, text)| text.split("\n\n").any(is_divider));
    let divided: Vec<_> = divided.map(|(path, _)| path).collect();
    assert!(divided.is_empty(), "each part is a file: {divided:#?}");
}

fn sources() -> Vec<File> {
    production()
        .into_iter()
        .map(|(path, text)| {
            let module = path.split('/').next().unwrap_or_default();
            File { module: module.trim_end_matches(".rs").to_owned(), code: code(&text), path }
        })
        .collect()
}

/// Returns the text of every source file that is not there for tests only.
fn production() -> Vec<(String, String)> {
    let files = walk(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path());
    let tests: Vec<_> = files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &str| tests.iter().any(|test| path.starts_with(test));
    files.into_iter().filter(|(path, _)| !is_test(path)).collect()
}

/// Returns how the paths of the modules begin that a file has for tests only.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = match path.rsplit_once('/') {
        Some((folder, "mod.rs")) => format!("{folder}/"),
        _ if ["lib.rs", "main.rs"].contains(&path) => String::new(),
        _ => format!("{}/", path.trim_end_matches(".rs")),
    };
    text.split("#[cfg(test)]\n")
        .skip(1)
        .filter_map(|rest| {
            let line = rest.lines().next()?.trim_start_matches("pub(crate) ");
            let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
            Some([format!("{folder}{name}.rs"), format!("{folder}{name}/")])
        })
        .flatten()
        .collect()
}

/// Returns the code of every source file, without comments and tests.
pub(crate) fn code_by_path() -> Vec<(String, String)> {
    let files = sources().into_iter();
    files.map(|file| (file.path, file.code)).collect()
}

/// Returns every Rust file below `root`, with its path relative to it.
fn walk(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Returns the text without comments, and up to its tests.
fn code(text: &str) -> String {
    without_tests(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the text up to its tests, which come last.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Returns whether `word` is in the code, not as the end of a longer word.
fn names(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_')
    })
}

/// Returns the top-level modules that `crate::…` names.
fn crate_names(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for character in group.chars() {
                match character {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        found.insert(first_word(&word));
                        word.clear();
                        continue;
                    }
                    _ => {}
                }
                if depth == 0 {
                    word.push(character);
                }
            }
            found.insert(first_word(&word));
        } else {
            found.insert(first_word(rest));
        }
    }
    found.remove("");
    found
}

fn first_word(text: &str) -> String {
    text.trim().chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

#[test]
fn names_in_groups_are_found() {
    let found = crate_names("use crate::{model::{A, B}, plan::C};\nuse crate::state::D;");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["model", "plan", "state"]);
}

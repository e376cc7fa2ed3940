//! What contributors read and what maintains the dependencies: `.github` names folders, commands and tests
//! that exist.

use std::collections::BTreeSet;

use super::{here, read, yaml};

#[test]
fn the_guide_names_the_place_of_each_module() {
    let guide = read(".github/CONTRIBUTING.md");
    let mut named = BTreeSet::new();
    for place in guide.split('`').filter(|place| place.starts_with("src/")) {
        assert!(here(place).exists(), "{place}");
        named.insert(place.split('/').nth(1).unwrap().to_owned());
    }
    for entry in std::fs::read_dir(here("src")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            let name = entry.file_name().into_string().unwrap();
            assert!(named.contains(&name), "src/{name} has no line");
        }
    }
}

#[test]
fn the_guide_to_ordinary_changes_names_what_its_files_have() {
    let guide = read(".github/CONTRIBUTING.md");
    let (_, section) = guide.split_once("### Ten ordinary changes").unwrap();
    let (section, _) = section.split_once("`tests/it/architecture`").unwrap();
    let mut seen = 0;
    // Such as "`src/a.rs` (`Name`, `other`)".
    for place in section.split("` (`").collect::<Vec<_>>().windows(2) {
        let path = place[0].rsplit('`').next().unwrap();
        let (names, _) = place[1].split_once("`)").unwrap();
        let text = match here(path).is_dir() {
            true => every_text(&here(path)),
            false => read(path),
        };
        for name in names.split("`, `") {
            assert!(text.contains(name), "{path} has no `{name}`");
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
    assert_eq!(section.matches("\n**").count(), 10);
}

fn every_text(folder: &std::path::Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn the_commands_of_the_guide_name_tests_that_exist() {
    let guide = read(".github/CONTRIBUTING.md");
    let mut seen = 0;
    for line in guide.lines().filter_map(|line| line.strip_prefix("$ cargo test ")) {
        let (kind, filter) = line.rsplit_once(' ').unwrap();
        let found = match filter.strip_suffix("::") {
            Some(module) if kind == "--lib" => here("src").join(module).is_dir(),
            Some(module) => here("tests/it").join(format!("{module}.rs")).exists(),
            None => read("tests/it/init.rs").contains(&format!("fn {filter}()")),
        };
        assert!(found, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 3);
    for script in guide.split('`').filter(|word| word.starts_with(".ci/")) {
        let path = script.split(' ').next().unwrap();
        assert!(here(path).exists(), "{path}");
    }
    let rust = format!("Rust {} or later", env!("CARGO_PKG_RUST_VERSION"));
    assert!(guide.contains(&rust), "{rust}");
}

#[test]
fn dependabot_finds_a_file_in_each_folder() {
    let updates = yaml(".github/dependabot.yml")["updates"].clone();
    let mut kinds = BTreeSet::new();
    for update in updates.as_array().unwrap() {
        let kind = update["package-ecosystem"].as_str().unwrap();
        let one = [update["directory"].clone()];
        let folders = update["directories"].as_array().map_or(&one[..], Vec::as_slice);
        for folder in folders {
            let folder = folder.as_str().unwrap().trim_start_matches('/');
            let file = match (kind, folder) {
                ("cargo", _) => "Cargo.lock",
                ("docker", _) => "Dockerfile",
                ("github-actions", "") => ".github/workflows/ci.yaml",
                _ => "action.yaml",
            };
            assert!(here(folder).join(file).exists(), "{kind}: {folder}/{file}");
        }
        assert!(update["groups"].is_object(), "{kind}");
        kinds.insert(kind.to_owned());
    }
    assert_eq!(kinds, ["cargo", "docker", "github-actions"].map(str::to_owned).into());
}

#[test]
fn a_report_of_a_vulnerability_goes_to_the_forge() {
    let text = read(".github/SECURITY.md");
    assert!(text.contains("*Report a vulnerability*") && !text.contains('@'), "{text}");
    for form in ["bug", "feature"] {
        let form = yaml(&format!(".github/ISSUE_TEMPLATE/{form}.yml"));
        assert!(form["name"].is_string() && form["description"].is_string());
        assert!(!form["body"].as_array().unwrap().is_empty());
    }
}

//! The manual: its console blocks are run, and its tables list what the program has, no more and no less.

mod check_examples;
mod checks;
mod page;
mod session;
mod stories;

use std::collections::BTreeSet;

use gitoggle::config::settings;
use gitoggle::model::HoldKind;
use regex::Regex;

use crate::support::{Daemon, World};
use page::{DAEMON, DECISIONS, INCIDENTS, METRICS, PAGES, Page, README, SETTINGS};
use session::Session;

/// Runs the console blocks of a page in their order.
fn follow(page: Page) {
    let blocks = page.blocks();
    if blocks.iter().all(|block| block.language != "console") {
        return;
    }
    let mut session = Session::new(page);
    for block in blocks {
        session.follow(&block);
    }
    session.finish();
}

#[test]
fn the_readme_can_be_followed() {
    follow(README);
}

#[test]
fn the_pages_for_operators_can_be_followed() {
    each_of("deploy/");
}

#[test]
fn the_pages_for_authors_can_be_followed() {
    each_of("examples/");
}

/// Follows the pages in this folder.
fn each_of(folder: &str) {
    let pages: Vec<&Page> = PAGES.iter().filter(|page| page.0.starts_with(folder)).collect();
    assert!(pages.len() > 1, "{pages:?}");
    for page in pages {
        follow(*page);
    }
}

#[test]
fn the_schedule_of_the_manual_is_an_example() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/schedules");
    let world = World::new();
    for name in ["gift-cards.yaml", "gift-cards.test.yaml"] {
        let path = format!("shop/production/{name}");
        let text = std::fs::read_to_string(folder.join(&path)).unwrap();
        let blocks = page::DOCUMENTS.blocks();
        let written = blocks.iter().find(|block| block.introduction.contains(&format!("Write `{path}`")));
        assert_eq!(written.unwrap().text.trim_end(), text.trim_end(), "{path}");
        world.repo.write(&path, text);
    }
    let run = |verb: &str| world.bare(verb).within(world.repo.path()).set("service-kind", "featureprobe");
    run("validate").exit(0).stdout("checked 1 document: no findings\n");
    run("test")
        .exit(0)
        .stdout("tested 5 expectations in 1 file as the Rust SDK 2.3 evaluates them: all met\n");
}

#[test]
fn every_page_is_followed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["deploy", "examples"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{folder}/{name}");
            assert!(!name.ends_with(".md") || PAGES.iter().any(|page| page.0 == path), "{path}");
        }
    }
}

/// Returns the anchor that Git hosts make of a heading.
pub(crate) fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Returns the anchors of the headings of a page, blocks of code aside.
pub(crate) fn headings(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && line.starts_with('#')
    });
    lines.map(anchor).collect()
}

/// Returns the links of a page to files of the repository, with the heading after `#`.
fn local_links(text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let targets = link.captures_iter(text).map(|link| link[1].to_owned());
    targets.filter(|target| !target.contains("://")).collect()
}

/// Returns the links of a page that lead to no file, or to no heading of it.
pub(crate) fn dead_links(page: &std::path::Path) -> Vec<String> {
    let mut links = local_links(&std::fs::read_to_string(page).unwrap());
    links.retain(|target| {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let file = match path {
            "" => page.to_owned(),
            path => page.parent().unwrap().join(path),
        };
        let has_heading =
            || std::fs::read_to_string(&file).is_ok_and(|text| headings(&text).contains(heading));
        !file.exists() || !heading.is_empty() && !has_heading()
    });
    links
}

#[test]
fn every_link_of_the_manual_leads_somewhere() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for page in PAGES {
        let dead = dead_links(&root.join(page.0));
        assert!(dead.is_empty(), "{}: {dead:?}", page.0);
        count += local_links(&page.text()).len();
    }
    assert!(count > 20, "{count}");
}

#[test]
fn what_is_not_run_does_not_show_the_program() {
    for page in PAGES {
        for block in page.blocks() {
            let is_run = block.language == "console";
            let shows_commands = block.text.lines().any(|line| line.starts_with("$ "));
            assert!(is_run || !shows_commands, "{}:{}", page.0, block.line);
        }
    }
}

#[test]
fn the_readme_has_the_commands_for_the_demo_and_the_tests() {
    for command in ["cargo run -- demo", "cargo test"] {
        assert!(README.text().contains(command), "{command}");
    }
}

/// Returns what is in code in the first column of the rows of the section with this heading.
fn first_column(page: Page, heading: &str) -> BTreeSet<String> {
    let code = Regex::new("`([^`]+)`").unwrap();
    let text = page.text();
    let section = text.split_once(&format!("\n{heading}\n"));
    let section = section.unwrap_or_else(|| panic!("{} has no section {heading}", page.0)).1;
    let end = Regex::new(r"\n#{1,6} ").unwrap();
    let section = end.split(section).next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells
        .flat_map(|cell| code.captures_iter(cell).map(|code| code[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

/// Compares two sets, and shows what only one of them has.
fn same(what: &str, listed: &BTreeSet<String>, existing: &BTreeSet<String>) {
    let missing: Vec<_> = existing.difference(listed).collect();
    let invented: Vec<_> = listed.difference(existing).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{what}: not in the manual: {missing:?}; only in the manual: {invented:?}"
    );
}

/// The table of settings.
fn table() -> String {
    let mut rows = vec!["| flag | variable | default | meaning |".to_owned(), "|---|---|---|---|".to_owned()];
    for setting in settings() {
        let code = |name: Option<&str>| name.map_or("–".to_owned(), |name| format!("`{name}`"));
        let default = match setting.default.as_str() {
            "" => "–".to_owned(),
            default => default.replace('|', "\\|"),
        };
        rows.push(format!(
            "| {} | {} | {default} | {} |",
            code(setting.flag.as_deref()),
            code(setting.variable.as_deref()),
            setting.help.replace('|', "\\|")
        ));
    }
    rows.join("\n") + "\n\n"
}

#[test]
fn the_table_of_settings_matches_the_program() {
    assert!(SETTINGS.text().contains(&table()), "{} should contain:\n{}", SETTINGS.0, table());
}

/// Returns the names of the events of all log lines, and the calls without a name.
fn events() -> (BTreeSet<String>, Vec<String>) {
    let (mut events, mut unnamed) = (BTreeSet::new(), Vec::new());
    for (path, code) in super::architecture::code_by_path() {
        for level in ["debug", "error", "info", "trace", "warn"] {
            let begin = format!("tracing::{level}!(");
            for (at, _) in code.match_indices(&begin) {
                let call = code[at + begin.len()..].trim_start();
                let name = call.strip_prefix("name: \"").and_then(|rest| rest.split('"').next());
                match name {
                    Some(name) => _ = events.insert(name.to_owned()),
                    None => unnamed.push(format!("{path}: {}", call.lines().next().unwrap_or_default())),
                }
            }
        }
    }
    (events, unnamed)
}

#[test]
fn every_log_line_has_an_event_and_every_event_is_listed() {
    let (events, unnamed) = events();
    assert!(events.len() > 30, "{events:?}");
    assert_eq!(unnamed, [""; 0]);
    same("events", &first_column(METRICS, "## Log events"), &events);
}

#[test]
fn every_endpoint_is_listed_and_every_listed_one_exists() {
    let code = super::architecture::code_by_path();
    let (_, server) = code.iter().find(|(path, _)| path == "admin/server.rs").unwrap();
    let route = Regex::new(r#"\.route\(\s*"([^"{]+)""#).unwrap();
    let routes = route.captures_iter(server).map(|route| route[1].to_owned());
    let endpoint = Regex::new("^(GET|POST) (/.*)$").unwrap();
    let listed = first_column(DAEMON, "## HTTP interface");
    let listed: Vec<_> = listed.iter().filter_map(|code| endpoint.captures(code)).collect();
    let paths: BTreeSet<String> = listed.iter().map(|parts| parts[2].to_owned()).collect();
    let missing: Vec<String> = routes.filter(|route| !paths.contains(route)).collect();
    assert_eq!(missing, [""; 0]);

    let world = World::with_pay_applied();
    let secret = world.write("webhook-secret", "secret");
    let daemon = Daemon::ready(&world, |run| run.set("webhook-secret-file", secret));
    for parts in listed {
        let status = match &parts[1] {
            "GET" => daemon.endpoint.get(&parts[2]).unwrap().status,
            _ => daemon.endpoint.post(&parts[2], &[], b"").status,
        };
        assert!(![404, 405].contains(&status), "{}: {status}", &parts[0]);
    }
}

#[test]
fn every_metric_is_listed() {
    let world = World::with_pay_applied();
    // The age of a source is that of its last fetch.
    world.repo.git(&["fetch", "--quiet", "."]);
    let daemon = Daemon::ready(&world, |run| run);
    let text = daemon.endpoint.get("/metrics").unwrap().body;
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let families: BTreeSet<String> =
        families.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    let listed = first_column(METRICS, "## Metrics").into_iter();
    // The family of a counter has its name without the suffix.
    let listed = listed.map(|name| {
        let name = name.split('{').next().unwrap();
        name.trim_end_matches("_total").to_owned()
    });
    same("metrics", &listed.collect(), &families);
}

#[test]
fn every_kind_of_hold_has_one_row_with_who_releases_it() {
    let kinds = HoldKind::ALL.map(|kind| kind.as_str().to_owned());
    same("kinds of holds", &first_column(DECISIONS, "## Who decides what"), &kinds.clone().into());
    let metrics = METRICS.text();
    let reasons = metrics.lines().find(|line| line.contains("`gitoggle_withheld{reason}`")).unwrap();
    let reasons = reasons.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    same("reasons of holds", &reasons, &kinds.clone().into());
    let text = DECISIONS.text();
    for kind in kinds {
        let row = format!("| `{kind}` |");
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with(&row)).collect();
        let cells: Vec<_> = rows[0].trim_matches('|').split(" | ").collect();
        assert!(
            rows.len() == 1 && cells.len() == 4 && cells.iter().all(|cell| !cell.trim().is_empty()),
            "{kind}"
        );
    }
}

#[test]
fn the_incidents_are_in_the_words_of_the_program() {
    let placeholder = Regex::new(r"\{[\w:.?]*\}").unwrap();
    let continued = Regex::new(r"\\\n\s*").unwrap();
    let code = super::architecture::code_by_path().into_iter();
    let code: String = code.map(|(_, code)| continued.replace_all(&code, "").into_owned()).collect();
    let code = placeholder.replace_all(&code, "…").replace('`', "");
    let seen = first_column(INCIDENTS, "## Incidents");
    assert!(seen.len() >= 15, "{seen:?}");
    for words in seen {
        for part in words.split('…').map(str::trim).filter(|part| part.len() > 4) {
            assert!(code.contains(part), "the program does not print `{part}`");
        }
    }
}

#[test]
fn the_tests_of_the_guarantees_exist() {
    let text = README.text();
    let guarantees = text.split_once("\n## Guarantees\n").unwrap().1;
    let guarantees = guarantees.split_once("\n## ").unwrap().0;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let quoted: Vec<&str> = guarantees.split('`').skip(1).step_by(2).collect();
    let names = quoted.windows(2).filter(|pair| pair[1].starts_with("tests/it/"));
    let mut count = 0;
    for pair in names.filter(|pair| pair[1].ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(pair[1])).unwrap();
        assert!(text.contains(&format!("fn {}()", pair[0])), "{pair:?}");
        count += 1;
    }
    assert_eq!(count, 4);
}

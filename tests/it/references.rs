//! Documents that refer to each other, on every path that checks them.

use crate::support::{Gitoggle, World};

/// A document with these prerequisites and values.
fn toggle(prerequisites: &[&str], values: [&str; 2]) -> String {
    let list: String = prerequisites.iter().map(|one| format!("    - {one}\n")).collect();
    let prerequisites = if list.is_empty() { String::new() } else { format!("  prerequisites:\n{list}") };
    let [off, on] = values;
    format!(
        r#"disabled: false
content:
  variations:
    - {{ name: "off", value: "{off}" }}
    - {{ name: "on", value: "{on}" }}
{prerequisites}  rules:
    - name: adults
      conditions:
        - {{ type: number, subject: age, predicate: ">", objects: ["18"] }}
      serve: {{ select: 1 }}
  disabledServe: {{ select: 0 }}
  defaultServe: {{ select: 0 }}
"#
    )
}

fn needs(key: &str) -> String {
    format!("{{ key: {key}, type: boolean, value: \"true\" }}")
}

const SWITCH: [&str; 2] = ["false", "true"];

fn featureprobe(run: Gitoggle) -> Gitoggle {
    run.set("service-kind", "featureprobe")
}

/// Returns the findings of a run that prints JSON, as `file:line:column id`.
fn found(run: Gitoggle) -> Vec<String> {
    let json = featureprobe(run).set("output", "json").exit_in(&[0, 3, 4]).any_stderr().json();
    let findings = json["findings"].as_array().unwrap().iter();
    let shown = findings.map(|one| {
        let text = |member: &str| one[member].as_str().unwrap().to_owned();
        format!("{}:{}:{} {}", text("file"), one["line"], one["column"], text("id"))
    });
    shown.collect()
}

/// What is wrong with the documents of a repository, and the files that solve it as the help says.
struct Case {
    files: Vec<(&'static str, String)>,
    findings: &'static [&'static str],
    fix: Vec<(&'static str, String)>,
}

fn cases() -> Vec<Case> {
    let base = || ("shop/prod/base.yaml", toggle(&[], SWITCH));
    let search = |prerequisite: &str| ("shop/prod/search.yaml", toggle(&[prerequisite], SWITCH));
    let color = || ("shop/prod/color.yaml", toggle(&[], ["red", "green"]));
    vec![
        Case {
            files: vec![search(&needs("search"))],
            findings: &["shop/prod/search.yaml:7:14 prerequisite-cycle"],
            fix: vec![("shop/prod/search.yaml", toggle(&[], SWITCH))],
        },
        Case {
            files: vec![("shop/prod/base.yaml", toggle(&[&needs("search")], SWITCH)), search(&needs("base"))],
            findings: &[
                "shop/prod/base.yaml:7:14 prerequisite-cycle",
                "shop/prod/search.yaml:7:14 prerequisite-cycle",
            ],
            fix: vec![base()],
        },
        Case {
            files: vec![base(), search(&needs("Base"))],
            findings: &["shop/prod/search.yaml:7:14 prerequisite-case"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search(&needs("bsae"))],
            findings: &["shop/prod/search.yaml:7:14 unknown-prerequisite"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search("{ key: base, type: string, value: \"true\" }")],
            findings: &["shop/prod/search.yaml:7:26 prerequisite-other-type"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![color(), search(&needs("color"))],
            findings: &["shop/prod/search.yaml:7:27 prerequisite-other-type"],
            fix: vec![search("{ key: color, type: string, value: red }")],
        },
        Case {
            files: vec![color(), search("{ key: color, type: string, value: gren }")],
            findings: &["shop/prod/search.yaml:7:42 prerequisite-no-variation"],
            fix: vec![search("{ key: color, type: string, value: green }")],
        },
        Case {
            files: vec![base(), ("shop/staging/base.yaml", toggle(&[], ["no", "true"]))],
            findings: &[
                "shop/prod/base.yaml:3:3 type-disagreement",
                "shop/staging/base.yaml:3:3 type-disagreement",
            ],
            fix: vec![("shop/staging/base.yaml", toggle(&[], SWITCH))],
        },
    ]
}

#[test]
fn every_path_that_checks_finds_the_same_and_the_help_solves_it() {
    for Case { files, findings, fix } in cases() {
        let world = World::new();
        for (path, text) in &files {
            world.repo.file(path, text);
        }
        world.repo.commit("Add toggles");
        let plan = || world.plan().set("first-pass", "assert");
        assert_eq!(found(world.validate()), findings);
        assert_eq!(found(world.validate().set("ref", "main")), findings, "a revision");
        assert_eq!(found(plan()), findings, "a plan");
        assert_eq!(found(plan().arg("--worktree")), findings, "a plan of the work tree");
        for (path, _) in &files {
            let own: Vec<&str> = findings.iter().copied().filter(|found| found.starts_with(path)).collect();
            assert_eq!(found(world.validate().arg(world.repo.path().join(path))), own, "{path}");
        }
        for (path, text) in &fix {
            world.repo.file(path, text);
        }
        assert_eq!(found(world.validate()), [""; 0], "corrected");
    }
}

#[test]
fn an_invalid_reference_holds_its_document_and_publishes_the_others() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world
        .repo
        .file("shop/prod/search.yaml", toggle(&["{ key: base, type: string, value: \"true\" }"], SWITCH));
    world.repo.commit("Add toggles");
    let plan = featureprobe(world.plan()).set("first-pass", "assert").exit(3);
    plan.stdout_contains(&[
        "shop/prod/search.yaml:7:26",
        "held shop/prod/search",
        "the document is invalid; the last applied version stays",
        "1 to publish: 1 create",
    ]);
}

#[test]
fn a_file_that_is_checked_alone_says_nothing_about_the_others() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop/prod/search.yaml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (prerequisite, findings) in
        [("base", &[][..]), ("search", &["shop/prod/search.yaml:7:14 prerequisite-cycle"])]
    {
        std::fs::write(&path, toggle(&[&needs(prerequisite)], SWITCH)).unwrap();
        assert_eq!(found(world.bare("validate").arg(&path)), findings);
    }
    // The folder has all documents.
    std::fs::write(&path, toggle(&[&needs("base")], SWITCH)).unwrap();
    let findings = ["shop/prod/search.yaml:7:14 unknown-prerequisite"];
    assert_eq!(found(world.bare("validate").arg(folder.path())), findings);
}

#[test]
fn documents_in_another_layout_refer_to_each_other() {
    let world = World::new();
    let layout = "{environment}/{project}/toggles/{toggle}.yaml";
    world.repo.file("prod/shop/toggles/base.yaml", toggle(&[&needs("search")], SWITCH));
    world.repo.file("prod/shop/toggles/search.yaml", toggle(&[&needs("base"), &needs("bsae")], SWITCH));
    world.repo.file("staging/shop/toggles/base.yaml", toggle(&[], ["red", "green"]));
    world.repo.commit("Add toggles");
    let expected = [
        "prod/shop/toggles/base.yaml:3:3 type-disagreement",
        "prod/shop/toggles/base.yaml:7:14 prerequisite-cycle",
        "prod/shop/toggles/search.yaml:7:14 prerequisite-cycle",
        "prod/shop/toggles/search.yaml:8:14 unknown-prerequisite",
        "staging/shop/toggles/base.yaml:3:3 type-disagreement",
    ];
    assert_eq!(found(world.validate().set("layout", layout)), expected);
    assert_eq!(found(world.plan().set("layout", layout).set("first-pass", "assert")), expected);
}

#[test]
fn only_the_documented_kind_has_no_references() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/staging/base.yaml", toggle(&[], ["a", "b"]));
    world.repo.commit("Add toggles");
    world.validate().exit(0).stdout("checked 2 documents: no findings\n");
}

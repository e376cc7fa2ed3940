//! A file that is reported as misspelled, or a document replaced by a link, is not a removed file.

use crate::support::{Gitoggle, Repo, World, body, doc};

/// The files that are not read: what makes the document one, its path, the check, and what the finding tells
/// to do.
type Case = (fn(&Repo) -> &Repo, &'static str, &'static str, &'static str);

const CASES: [Case; 4] = [
    (
        |repo| repo.rename("shop/prod/pay.yaml", "shop/prod/pay.YAML"),
        "shop/prod/pay.YAML",
        "extension-case",
        "rename it to `.yaml` or `.yml`",
    ),
    (
        |repo| repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.Yml"),
        "shop/prod/Pay.Yml",
        "extension-case",
        "rename it to `.yaml` or `.yml`",
    ),
    (
        |repo| repo.rename("shop/prod/pay.yaml", "shop/prod/pay.json"),
        "shop/prod/pay.json",
        "json-file",
        "rename it to `.yaml`, because JSON is valid YAML",
    ),
    (
        |repo| repo.remove("shop/prod/pay.yaml").link("shop/prod/pay.yaml", "search.yaml"),
        "shop/prod/pay.yaml",
        "link",
        "replace it by a file with the document",
    ),
];

fn disabling(run: Gitoggle) -> Gitoggle {
    run.set("on-remove", "disable")
}

#[test]
fn a_misspelled_or_linked_document_is_held_and_never_disabled() {
    for (change, path, check, help) in CASES {
        let world = World::with_pay_and_search_applied();
        change(&world.repo);
        world.repo.commit("Change how the file is named");
        let held = format!("error[{check}]");
        for run in [world.plan(), world.apply()] {
            disabling(run).exit(3).says(&[
                path,
                &held,
                help,
                "`shop/prod/pay` keeps its last applied version",
            ]);
        }
        let plan = disabling(world.plan()).set("output", "json").exit(3).json();
        assert_eq!(plan["orphans"].as_array().map(Vec::len), Some(0), "{plan}");
        assert_eq!(plan["held"][0]["toggle"], "shop/prod/pay", "{plan}");
        world.nothing_sent();
        world.repo.remove(path).file("shop/prod/pay.yaml", doc(21)).commit("Fix the file");
        disabling(world.apply()).exit(0).any_output();
        world.sent(&[("shop/prod/pay", body(21, "Fix the file"))]);
    }
}

#[test]
fn validate_says_how_to_fix_a_misspelled_or_linked_document() {
    for (change, path, check, help) in CASES {
        let world = World::with_pay_and_search_applied();
        change(&world.repo);
        world.repo.commit("Change how the file is named");
        let warning = format!("warning[{check}]");
        for run in [world.validate(), world.validate().set("ref", "main")] {
            run.exit(0).says(&[path, &warning, help]);
        }
    }
}

#[test]
fn the_help_for_a_file_beside_its_document_leaves_no_finding() {
    for name in ["pay.json", "pay.YAML", "PAY.Yml", "pay.yml"] {
        let world = World::with_pay_applied();
        let path = format!("shop/prod/{name}");
        match name {
            "pay.yml" => world.repo.link(&path, "pay.yaml"),
            _ => world.repo.file(&path, doc(21)),
        };
        world.repo.commit("Add another file for pay");
        let said = world.validate().exit(0).both();
        let help = said.lines().find(|line| line.contains("help: ")).unwrap_or_default();
        assert!(help.contains("remove it") && help.contains("`shop/prod/pay.yaml`"), "{name}: {said}");
        world.repo.remove(&path).commit("Remove it");
        world.validate().exit(0).stdout("checked 1 document: no findings\n");
    }
}

#[test]
fn a_link_or_a_json_file_that_is_nobodys_document_is_no_finding() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("package.json", "{}")
        .link("docs.yaml", "shop/prod/pay.yaml")
        .link("shop/prod/README.md", "pay.yaml")
        .commit("Add other files");
    world.validate().exit(0).stdout("checked 1 document: no findings\n");
}

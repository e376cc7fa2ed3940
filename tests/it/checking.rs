//! The files that `gitoggle validate` reads, and its failure if it read none.

use crate::support::{Repo, World, doc};

const NOTHING: &str = "no document was checked";

#[test]
fn a_run_that_checks_no_document_fails_unless_allow_empty_is_given() {
    let world = World::new();
    world.repo.file("README.md", "# Toggles\n").commit("No toggles yet");
    let fails = |run: crate::support::Gitoggle| {
        run.exit(1).stdout("checked 0 documents: no findings\n").stderr_contains(&[
            NOTHING,
            "--allow-empty",
            "--root",
        ]);
    };
    fails(world.validate());
    fails(world.validate().set("ref", "main"));
    world.validate().arg("--allow-empty").exit(0).any_stdout();
    world.validate().env("GITOGGLE_ALLOW_EMPTY", "true").exit(0).any_stdout();

    world.repo.commit_pay(18, "Add pay");
    world.validate().exit(0).any_stdout();
    fails(world.validate().arg(world.repo.path().join("README.md")));
    let json = world.validate().arg(world.repo.path().join("README.md"));
    json.set("output", "json")
        .exit(1)
        .stdout_json(|json| assert_eq!(json["error"]["message"], NOTHING))
        .any_stderr();
}

#[test]
fn a_sparse_checkout_without_documents_is_not_a_success() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).file("docs/README.md", "# Docs\n").commit("Add pay");
    world.repo.git(&["sparse-checkout", "set", "docs"]);
    world.validate().exit(1).says(&[NOTHING, "sparse checkout"]);
    world.validate().set("ref", "main").exit(0).any_stdout();
}

#[test]
fn an_extension_in_another_case_is_listed() {
    let world = World::new();
    world.repo.file("shop/prod/pay.YAML", doc(18)).commit("Add pay from Windows");
    for run in [world.validate(), world.validate().set("ref", "main")] {
        run.exit(1).says(&["shop/prod/pay.YAML", "extension-case", NOTHING]);
    }
    world.repo.file("shop/prod/zoo.yaml", doc(18)).commit("Add zoo");
    world.validate().exit(0).stdout_contains(&["shop/prod/pay.YAML"]);
    world.plan().set("first-pass", "assert").exit(0).says(&["shop/prod/pay.YAML"]);
}

#[test]
fn a_glob_that_matches_no_toggle_is_an_error() {
    let world = World::with_pay_applied();
    let all = |only: &'static str| {
        [world.validate(), world.plan(), world.apply(), world.status()].map(|run| run.args(only))
    };
    for only in ["--only=shop/prod/pya", "--only=shop/prod/pya --only=web/**"] {
        for run in all(only) {
            run.exit(1).stderr_contains(&["no toggle matches `--only` `shop/prod/pya`"]).any_stdout();
        }
    }
    // That pass left nothing to do, so `status` reads no documents.
    let [validate, plan, apply, _] = all("--only=shop/prod/pya --only=shop/*/pay");
    for run in [validate, plan, apply] {
        run.exit(0).stderr_contains(&["shop/prod/pya"]).any_stdout();
    }
    for run in all("--only=shop/** --only=**/pay") {
        run.exit(0).any_output();
    }
    for run in all("--only=shop/prod") {
        run.exit(64).stderr_contains(&["--only", "`shop/prod` matches no toggle", "write `shop/prod/*`"]);
    }
    // Applied toggles match as well: without their files they are orphans.
    world.repo.file("shop/prod/zoo.yaml", doc(18)).remove("shop/prod/pay.yaml");
    world.repo.commit("Replace pay");
    for run in [world.plan(), world.apply()] {
        run.set("only", "shop/prod/pay").exit(0).any_output();
    }
    world.nothing_sent();
}

#[test]
fn without_a_repository_the_working_directory_is_the_root() {
    let world = World::new();
    let plain = world.path("plain");
    let prod = plain.join("shop/prod");
    std::fs::create_dir_all(&prod).unwrap();
    std::fs::write(prod.join("good.yaml"), doc(18)).unwrap();
    std::fs::write(prod.join("bad.yaml"), "nonsense\n").unwrap();
    let within = |folder: &std::path::Path| world.bare("validate").within(folder);

    for run in [
        within(&plain),
        within(&plain).arg("."),
        within(world.root()).arg("plain"),
        within(world.root()).set("repo", "plain"),
        within(world.root()).set("repo", ".").set("root", "plain"),
    ] {
        run.exit(3).says(&["shop/prod/bad.yaml:1:1", "checked 2 documents"]);
    }
    let good = "checked 1 document: no findings\n";
    within(&plain).arg("shop/prod/good.yaml").exit(0).stdout(good);
    within(&prod).arg("good.yaml").exit(0).stdout(good);
    within(&plain)
        .args("shop/prod/good.yaml shop/prod/bad.yaml")
        .exit(3)
        .says(&["shop/prod/bad.yaml:1:1", "checked 2 documents"]);
    for toggle in ["shop/prod/nowhere.yaml", "shop/prod/nowhere"] {
        let only = "for the toggle, pass `--only shop/prod/nowhere`\n";
        within(&plain).arg(toggle).exit(1).says(&[&format!("`{toggle}`"), only]);
    }
}

#[test]
fn a_path_in_any_repository_is_a_filter_there() {
    let world = World::new();
    let other = Repo::new(&world.path("other"));
    for repo in [&world.repo, &other] {
        repo.file("toggles/shop/prod/bad.yaml", "nonsense\n")
            .file("toggles/shop/test/good.yaml", doc(18))
            .commit("Add two");
    }
    let run = || world.bare("validate").within(world.repo.path()).set("root", "toggles");
    run().arg(".").exit(3).says(&["toggles/shop/prod/bad.yaml:1:1"]);
    run().arg(other.path()).exit(3).says(&["toggles/shop/prod/bad.yaml:1:1", "checked 2 documents"]);
    run().arg(other.path().join("toggles/shop/test")).exit(0).stdout("checked 1 document: no findings\n");
    run()
        .arg(other.path().join("toggles/shop/test"))
        .args("toggles/shop/prod toggles/shop/test/good.yaml")
        .exit(3)
        .says(&["checked 3 documents"]);
    other.write("toggles/shop/prod/bad.yaml", doc(18));
    run().arg(other.path()).exit(0).any_stdout();
    run().arg(other.path()).set("ref", "main").exit(3).any_stdout();
}

#[test]
fn a_bare_repository_is_checked_at_its_head() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let bare = world.repo.clone_bare(&world.path("bare.git"));
    world.bare("validate").set("repo", bare.path()).exit(0).any_stdout();
}

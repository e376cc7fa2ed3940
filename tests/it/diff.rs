//! `gitoggle diff`: two environments of a work tree, toggle by toggle.

use crate::outputs::assert_valid;
use crate::support::{Gitoggle, World, doc};

fn diff(world: &World, environments: &str) -> Gitoggle {
    world.bare("diff").within(world.repo.path()).args(environments)
}

fn two_environments() -> World {
    let world = World::new();
    world.repo.write("shop/staging/pay.yaml", doc(21));
    world.repo.write("shop/production/pay.yaml", doc(18));
    world.repo.write("shop/staging/same.yaml", doc(1));
    world.repo.write("shop/production/same.yml", crate::support::document::reformatted(1));
    world.repo.write("shop/staging/new.yaml", doc(2));
    world.repo.write("shop/production/old.yaml", doc(3));
    world
}

#[test]
fn differences_are_sentences_and_lines() {
    let world = two_environments();
    diff(&world, "shop/production shop/staging").exit(0).stdout_contains(&[
        "shop/production → shop/staging\n\n+ new (only in shop/staging)\n    new, ENABLED\n",
        "\n- old (only in shop/production)\n",
        "\n~ pay\n    rule `adults`: condition changed:",
        "    -            - \"18\"\n    +            - \"21\"\n",
        "\n1 different, 1 only in shop/production, 1 only in shop/staging, 1 equal\n",
    ]);
    diff(&world, "shop/production shop/staging -o markdown")
        .exit(0)
        .stdout_contains(&["### ` shop/production ` → ` shop/staging `\n", "```diff\n"]);
    let json = diff(&world, "shop/production shop/staging -o json").exit(0).json();
    assert_valid(&world, "diff", &json);
    let toggles = json["diff"]["toggles"].as_array().unwrap();
    let keys: Vec<_> = toggles.iter().map(|toggle| toggle["toggle"].as_str().unwrap()).collect();
    assert_eq!(keys, ["new", "old", "pay"]);
    assert_eq!(json["version"], 1);
}

#[test]
fn ids_that_differ_only_in_case_are_one_toggle() {
    let world = World::new();
    world.repo.write("shop/staging/Pay.yaml", doc(18)).write("shop/production/pay.yaml", doc(18));
    let run = || diff(&world, "shop/staging shop/production");
    run().exit(0).stdout("shop/staging → shop/production\n\n0 different, 1 equal\n");
    world.repo.write("shop/production/pay.yaml", doc(21));
    run().exit(0).stdout_contains(&["\n~ pay\n    rule `adults`", "\n1 different, 0 equal\n"]);
}

#[test]
fn the_exit_code_shows_a_difference_on_request() {
    let world = two_environments();
    diff(&world, "shop/production shop/staging --detailed-exitcode").exit(2).any_stdout();
    world.repo.write("web/a/x.yaml", doc(1)).write("web/b/x.yaml", doc(1));
    diff(&world, "web/a web/b --detailed-exitcode").exit(0).stdout("web/a → web/b\n\n0 different, 1 equal\n");
}

#[test]
fn an_invalid_document_is_reported_and_not_compared() {
    let world = two_environments();
    world.repo.write("shop/staging/pay.yaml", "disabled: maybe\n");
    world.repo.write("shop/staging/same.yml", "{}");
    diff(&world, "shop/production shop/staging")
        .exit(3)
        .stdout_contains(&[
            "0 different, 1 only in shop/production, 1 only in shop/staging, 2 invalid, 0 equal\n",
        ])
        .stderr_contains(&["shop/staging/pay.yaml", "shop/staging/same.yml"]);
}

#[test]
fn a_missing_environment_and_a_malformed_one_are_errors() {
    let world = two_environments();
    diff(&world, "shop/production shop/stagin")
        .exit(1)
        .stderr("error: `shop/stagin` has no document\nhint: did you mean `shop/staging`?\n");
    diff(&world, "shop/production staging/shop").exit(1).stderr(
        "error: `staging/shop` has no document\nhint: did you mean `shop/staging`? the order is project/environment\n",
    );
    diff(&world, "shop/production web/other").exit(1).stderr_contains(&["check the name of the environment"]);
    diff(&world, "shop/production shop")
        .exit(64)
        .stderr_contains(&["an environment is written `project/environment`"]);
    diff(&world, "shop/production shop/production")
        .exit(64)
        .stderr("error: both environments are `shop/production`\n");
    diff(&world, "shop/production").exit(64).any_stderr();
    diff(&world, "shop/production shop/staging -o github")
        .exit(64)
        .stderr_contains(&["this command has no `github` output"]);
}

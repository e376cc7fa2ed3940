//! `gitoggle promote`: documents are copied from one environment to another.

use crate::outputs::assert_valid;
use crate::support::files::listing;
use crate::support::{Gitoggle, World, doc};

fn promote(world: &World, args: &str) -> Gitoggle {
    world.bare("promote").within(world.repo.path()).args(args)
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.repo.path().join(path)).unwrap()
}

#[test]
fn documents_are_copied_with_their_comments_and_nothing_is_committed() {
    let world = World::new();
    let commented = format!("# why\n{}", doc(21));
    world.repo.file("shop/staging/pay.yaml", &commented);
    world.repo.file("shop/production/pay.yml", doc(18));
    world.repo.file("shop/production/old.yaml", doc(3)).commit("x");
    world.repo.write("shop/staging/new.yaml", doc(2));
    let head = world.repo.head();
    promote(&world, "shop/staging shop/production").exit(0).stdout_contains(&[
        "changes in shop/production, copied from shop/staging\n\n+ new (shop/production/new.yaml)\n",
        "~ pay (shop/production/pay.yml)\n    rule `adults`: condition changed:",
        "\n2 copied, 0 unchanged\n",
    ]);
    assert_eq!(read(&world, "shop/production/pay.yml"), commented);
    assert_eq!(read(&world, "shop/production/new.yaml"), doc(2));
    assert_eq!(read(&world, "shop/production/old.yaml"), doc(3));
    assert_eq!(world.repo.head(), head);
    assert_eq!(world.repo.git(&["diff", "--cached"]), "");
    let before = listing(&world.repo.path().join("shop"));
    promote(&world, "shop/staging shop/production")
        .exit(0)
        .stdout("changes in shop/production, copied from shop/staging\n\n0 copied, 2 unchanged\n");
    assert_eq!(listing(&world.repo.path().join("shop")), before);
}

#[test]
fn a_prerequisite_that_the_target_lacks_is_named_with_the_command_that_copies_it() {
    let world = World::new();
    let needs = doc(18) + "  prerequisites: [{ key: base, type: boolean, value: \"true\" }]\n";
    world.repo.write("shop/staging/search.yaml", needs);
    world.repo.write("shop/staging/base.yaml", doc(18) + "  prerequisites: []\n");
    let run = |args: &str| promote(&world, args).set("service-kind", "featureprobe").exit(0).any_stdout();
    let note = "note: `shop/qa/search` needs `base`, which has no document in `shop/qa`; `gitoggle promote shop/staging shop/qa \
                base` copies it\n";
    run("shop/staging shop/qa search --create").stderr(note);
    run("shop/staging shop/qa base");
    world.repo.write("shop/qa/search.yaml", doc(21) + "  prerequisites: []\n");
    run("shop/staging shop/qa search");
    run("shop/staging shop/beta --create");
}

#[test]
fn what_a_copy_breaks_in_the_target_is_an_error_at_its_place() {
    /// The files, what is promoted, and the finding that it causes with its file.
    type Case = (&'static [(&'static str, &'static str)], &'static str, [&'static str; 2]);
    let cases: [Case; 4] = [
        (
            &[("st/a", "b: true"), ("st/b", ""), ("pr/a", ""), ("pr/b", "a: true")],
            "s/st s/pr a",
            ["prerequisite-cycle", "s/pr/a.yaml"],
        ),
        (
            &[("st/b", "= red"), ("pr/b", ""), ("pr/c", "b: true")],
            "s/st s/pr b",
            ["prerequisite-other-type", "s/pr/c.yaml"],
        ),
        (
            &[("st/a", "b: true"), ("st/b", ""), ("pr/b", "= red")],
            "s/st s/pr a",
            ["prerequisite-other-type", "s/pr/a.yaml"],
        ),
        (
            &[("st/a", "B: true"), ("st/B", ""), ("pr/b", "")],
            "s/st s/pr",
            ["prerequisite-case", "s/pr/a.yaml"],
        ),
    ];
    for (files, args, [check, file]) in cases {
        let world = World::new();
        for (path, content) in files {
            let needs = match content.split_once(": ") {
                Some((key, value)) => format!("[{{ key: {key}, type: boolean, value: \"{value}\" }}]"),
                None => "[]".to_owned(),
            };
            let text = format!("{}  prerequisites: {needs}\n", doc(18));
            let text = match content.strip_prefix("= ") {
                Some(value) => text.replace("\"true\"", &format!("\"{value}\"")),
                None => text,
            };
            world.repo.write(&format!("s/{path}.yaml"), text);
        }
        let run = || promote(&world, args).set("service-kind", "featureprobe");
        run().exit(3).any_stdout().stderr_contains(&[&format!("error[{check}]"), file]);
        // It is not the copy that causes it now.
        run().exit(0).any_stdout();
        let checked = world.validate().set("service-kind", "featureprobe").exit(3);
        assert!(checked.both().contains(check), "{args}");
    }
}

#[test]
fn a_copy_that_git_ignores_is_named() {
    let world = World::new();
    world.repo.write("shop/staging/pay.yaml", doc(21)).write("shop/staging/cart.yaml", doc(21));
    world.repo.write(".gitignore", "shop/production/pay.yaml\n");
    promote(&world, "shop/staging shop/production --create").exit(0).any_stdout().stderr(
        "note: Git ignores 1 written document, `shop/production/pay.yaml` first, so a commit leaves them out; check \
         `.gitignore`\n",
    );
}

#[test]
fn a_document_whose_name_differs_only_in_case_is_that_of_the_toggle() {
    let world = World::new();
    world.repo.write("shop/staging/pay.yaml", doc(21));
    world.repo.write("shop/production/Pay.yaml", doc(18));
    promote(&world, "shop/staging shop/production").exit(0).stdout_contains(&["\n1 copied, 0 unchanged\n"]);
    assert_eq!(read(&world, "shop/production/Pay.yaml"), doc(21));
    world.repo.write("shop/production/pay.yaml", doc(18));
    promote(&world, "shop/staging shop/production")
        .exit(1)
        .any_output()
        .stderr_contains(&["several files claim it there; keep one of them"]);
    assert_eq!(read(&world, "shop/production/pay.yaml"), doc(18));
}

#[test]
fn every_output_says_what_changed_in_the_target() {
    let world = World::new();
    let ready = || {
        world.repo.write("shop/staging/pay.yaml", doc(21));
        world.repo.write("shop/production/pay.yaml", doc(18));
        promote(&world, "shop/staging shop/production")
    };
    let json = ready().arg("-ojson").exit(0).json();
    assert_valid(&world, "promote", &json);
    let diff = &json["diff"];
    // A toggle's `before` is that of the environment that the header names, as with `gitoggle diff`.
    assert_eq!(diff["before"], "shop/production", "{json:#}");
    assert_eq!(diff["after"], "shop/production", "{json:#}");
    assert_eq!(diff["copied_from"], "shop/staging", "{json:#}");
    let age = |side: &str| &diff["toggles"][0][side]["content"]["rules"][0]["conditions"][0]["objects"][0];
    assert_eq!((age("before"), age("after")), (&"18".into(), &"21".into()));
    let change = "condition changed: `age` > `18` (number) → `age` > `21` (number)";
    ready()
        .exit(0)
        .stdout_contains(&["changes in shop/production, copied from shop/staging\n\n~ pay", change]);
    ready().arg("-omarkdown").exit(0).stdout_contains(&[
        "### changes in ` shop/production `, copied from ` shop/staging `\n",
        "-            - \"18\"\n+            - \"21\"\n",
    ]);
}

#[test]
fn a_target_without_documents_needs_an_order() {
    let world = World::new();
    world.repo.write("shop/staging/pay.yaml", doc(1));
    world.repo.write("shop/production/old.yaml", doc(1));
    let before = listing(&world.repo.path().join("shop"));
    promote(&world, "shop/staging shop/prod").exit(64).stderr(
        "error: `shop/prod` has no document yet\nhint: did you mean `shop/production`? to create it, add `--create`\n",
    );
    promote(&world, "shop/staging other/place")
        .exit(64)
        .stderr("error: `other/place` has no document yet\nhint: to create it, add `--create`\n");
    assert_eq!(listing(&world.repo.path().join("shop")), before);
    promote(&world, "shop/staging shop/prod --create")
        .exit(0)
        .stdout_contains(&["+ pay (shop/prod/pay.yaml)\n", "\n1 copied, 0 unchanged\n"]);
}

#[test]
fn environments_that_differ_only_in_case_are_one_on_featureprobe() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", doc(1));
    promote(&world, "shop/prod Shop/prod --create --service-kind featureprobe")
        .exit(64)
        .stderr("error: both environments are `shop/prod`\n");
    assert!(!world.repo.path().join("Shop").exists());
}

#[test]
fn a_glob_selects_toggles_and_must_match_one() {
    let world = World::new();
    for toggle in ["pay-a", "pay-b", "other"] {
        world.repo.write(&format!("shop/staging/{toggle}.yaml"), doc(1));
    }
    promote(&world, "shop/staging shop/production pay-* --create")
        .exit(0)
        .stdout_contains(&["\n2 copied, 0 unchanged\n"]);
    assert!(!world.repo.path().join("shop/production/other.yaml").exists());
    let before = listing(&world.repo.path().join("shop"));
    promote(&world, "shop/staging shop/production nothing other")
        .exit(1)
        .stderr_contains(&["error: no toggle of `shop/staging` matches `nothing`\n"]);
    promote(&world, "shop/staging shop/production shop/staging/other")
        .exit(64)
        .stderr_contains(&["has no slash"]);
    promote(&world, "shop/staging shop/production [.]*").exit(64).stderr_contains(&["it matches no toggle"]);
    promote(&world, "shop/nowhere shop/production")
        .exit(1)
        .stderr("error: `shop/nowhere` has no document\nhint: check the name of the environment, `--root` and `--layout`\n");
    assert_eq!(listing(&world.repo.path().join("shop")), before);
}

#[test]
fn an_invalid_document_is_skipped_and_an_invalid_target_is_replaced() {
    let world = World::new();
    world.repo.write("shop/staging/bad.yaml", "disabled: maybe\n");
    world.repo.write("shop/staging/pay.yaml", doc(1));
    world.repo.write("shop/production/bad.yaml", doc(2));
    world.repo.write("shop/production/pay.yaml", "disabled: maybe\n");
    promote(&world, "shop/staging shop/production")
        .exit(3)
        .stdout_contains(&["\n1 copied, 0 unchanged, 1 invalid\n"])
        .stderr_contains(&["shop/staging/bad.yaml"]);
    assert_eq!(read(&world, "shop/production/bad.yaml"), doc(2));
    assert_eq!(read(&world, "shop/production/pay.yaml"), doc(1));
}

#[test]
fn a_target_keeps_its_extension_and_a_link_is_not_followed() {
    let world = World::new();
    world.repo.write("shop/staging/pay.yaml", format!("# kept\n{}", doc(21)));
    world.repo.write("shop/staging/link.yaml", doc(21));
    world.repo.write("shop/production/pay.yml", doc(1));
    let outside = world.write("outside.yaml", "outside");
    std::os::unix::fs::symlink(&outside, world.repo.path().join("shop/production/link.yaml")).unwrap();
    promote(&world, "shop/staging shop/production")
        .exit(1)
        .stdout_contains(&["~ pay (shop/production/pay.yml)\n", "\n1 copied, 0 unchanged, 1 failed\n"])
        .stderr_contains(&[
            "is a symbolic link, and gitoggle does not write there",
            "error: could not copy 1 toggle\n",
        ]);
    assert!(read(&world, "shop/production/pay.yml").starts_with("# kept\n"));
    // One JSON value, which has the failure.
    let again = promote(&world, "shop/staging shop/production -o json").exit(1).json();
    assert_valid(&world, "promote", &again);
    let reason = again["failed"]["link"].as_str().unwrap();
    assert!(reason.contains("is a symbolic link"), "{again}");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "outside");
}

#[test]
fn a_document_that_is_not_checked_out_is_neither_replaced_nor_called_absent() {
    let world = World::new();
    world
        .repo
        .file("shop/staging/pay.yaml", doc(21))
        .file("shop/staging/new.yaml", doc(21))
        .file("shop/production/pay.yml", doc(18))
        .commit("Add pay");
    world.repo.git(&["sparse-checkout", "set", "--no-cone", "/shop/staging/"]);
    world
        .bare("diff")
        .within(world.repo.path())
        .args("shop/staging shop/production")
        .exit(3)
        .stdout_contains(&["- new (only in shop/staging)\n", "1 only in shop/staging, 1 invalid, 0 equal\n"])
        .stderr_contains(&["missing-content", "--> shop/production/pay.yml\n"]);
    promote(&world, "shop/staging shop/production")
        .exit(1)
        .stdout_contains(&["+ new (shop/production/new.yaml)\n", "\n1 copied, 0 unchanged, 1 failed\n"])
        .stderr_contains(&[
            "error: shop/production/pay: `shop/production/pay.yml` is committed but not checked out, and gitoggle does \
             not write there\n",
        ]);
    assert!(!world.repo.path().join("shop/production/pay.yml").exists());
    promote(&world, "shop/production shop/staging pay")
        .exit(3)
        .stdout_contains(&["\n0 copied, 0 unchanged, 1 invalid\n"])
        .stderr_contains(&["missing-content"]);
    assert_eq!(read(&world, "shop/staging/pay.yaml"), doc(21));
}

//! `gitoggle fmt`: one layout for all documents, without a change of their meaning.

use std::os::unix::fs::PermissionsExt;

use crate::support::document::reformatted;
use crate::support::files::listing;
use crate::support::{Gitoggle, World, doc};

const CANONICAL: &str = "disabled: false
content:
  variations:
    - name: \"off\"
      value: \"false\"
      description: \"\"
    - name: \"on\"
      value: \"true\"
      description: \"New payment page\"
  rules:
    - name: adults
      conditions:
        - type: number
          subject: age
          predicate: \">\"
          objects:
            - \"18\"
      serve: { select: 1 }
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
";

#[test]
fn the_line_breaks_of_windows_stay() {
    let world = World::new();
    let windows = CANONICAL.replace('\n', "\r\n");
    world.repo.write("shop/prod/pay.yaml", &windows);
    fmt_in(&world).arg("--check").exit(0).stdout("1 document: 0 to rewrite\n");
    world.repo.write("shop/prod/pay.yaml", windows.replace("serve: { select: 1 }", "serve: {select: 1}"));
    fmt_in(&world).exit(0).stdout("rewrote shop/prod/pay.yaml\n1 document: 1 rewritten\n");
    assert_eq!(read(&world, "shop/prod/pay.yaml"), windows);
}

/// Begins `gitoggle fmt` in the repository.
fn fmt_in(world: &World) -> Gitoggle {
    world.bare("fmt").within(world.repo.path())
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.repo.path().join(path)).unwrap()
}

#[test]
fn documents_are_rewritten_once_and_other_files_stay() {
    let world = World::new();
    let repo = &world.repo;
    repo.write("shop/prod/pay.yaml", doc(18));
    repo.write("shop/prod/same.yml", CANONICAL);
    repo.write("shop/prod/pay.test.yaml", "-   {name: x}\n");
    repo.write("README.yaml", "a:   {b: c}\n");
    repo.write("_drafts/prod/pay.yaml", doc(18));
    fmt_in(&world)
        .arg("--check")
        .exit(1)
        .stdout("would rewrite shop/prod/pay.yaml\n2 documents: 1 to rewrite\n")
        .stderr("hint: `gitoggle fmt` rewrites them\n");
    assert_eq!(read(&world, "shop/prod/pay.yaml"), doc(18));
    fmt_in(&world).exit(0).stdout("rewrote shop/prod/pay.yaml\n2 documents: 1 rewritten\n");
    assert_eq!(read(&world, "shop/prod/pay.yaml"), CANONICAL);
    let before = listing(repo.path());
    fmt_in(&world).exit(0).stdout("2 documents: 0 rewritten\n");
    fmt_in(&world).arg("--check").exit(0).stdout("2 documents: 0 to rewrite\n");
    assert_eq!(listing(repo.path()), before);
}

#[test]
fn another_spelling_keeps_its_scalars_and_comments() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", reformatted(18));
    fmt_in(&world).exit(0).any_stdout();
    let expected = "# The same, written differently.
disabled: false
content:
  variations:
    - name: \"off\"
      value: false
    - name: on
      value: true
      description: New payment page
  rules:
    - name: 'adults'
      conditions:
        - type: number
          subject: \"age\"
          predicate: '>'
          objects:
            - 18
      serve: { variation: on }
  disabledServe: { select: 0 }
  defaultServe: { variation: \"off\" }
";
    assert_eq!(read(&world, "shop/prod/pay.yaml"), expected);
}

#[test]
fn an_invalid_document_stays_and_the_others_are_rewritten() {
    let world = World::new();
    world.repo.write("shop/prod/pay.yaml", doc(18));
    world.repo.write("shop/prod/bad.yaml", "disabled:   maybe\n");
    fmt_in(&world).exit(3).stdout_contains(&[
        "shop/prod/bad.yaml",
        "rewrote shop/prod/pay.yaml\n2 documents: 1 rewritten, 1 invalid\n",
    ]);
    assert_eq!(read(&world, "shop/prod/bad.yaml"), "disabled:   maybe\n");
    assert_eq!(read(&world, "shop/prod/pay.yaml"), CANONICAL);
}

#[test]
fn a_path_limits_the_rewrite_and_must_name_a_document() {
    let world = World::new();
    for path in ["shop/prod/pay.yaml", "shop/test/pay.yaml", "web/prod/pay.yaml"] {
        world.repo.write(path, doc(18));
    }
    world.repo.write("README.md", "text\n");
    let fmt = |path: &str| fmt_in(&world).arg(path);
    fmt("shop/test").exit(0).stdout("rewrote shop/test/pay.yaml\n1 document: 1 rewritten\n");
    fmt("web/prod/pay.yaml").exit(0).stdout("rewrote web/prod/pay.yaml\n1 document: 1 rewritten\n");
    assert_eq!(read(&world, "shop/prod/pay.yaml"), doc(18));
    fmt("README.md")
        .exit(1)
        .stdout("0 documents: 0 rewritten\n")
        .stderr_contains(&["error: there is no document to format\n", "hint: check the paths"]);
    fmt("nowhere").exit(1).stderr_contains(&["nowhere"]);
}

#[test]
fn a_file_that_is_left_alone_has_its_reason() {
    let world = World::new();
    for path in ["shop/prod/up.YAML", "shop/prod/pay.test.yaml", "other/x.yaml"] {
        world.repo.write(path, doc(18));
    }
    for (path, reason) in [
        ("shop/prod/up.YAML", "its extension is not in lower case"),
        ("shop/prod/pay.test.yaml", "expectations have no canonical layout"),
        ("other/x.yaml", "does not match the layout"),
    ] {
        fmt_in(&world)
            .arg(path)
            .exit(1)
            .stdout_contains(&[reason])
            .stderr_contains(&["no document to format"]);
    }
}

#[test]
fn globs_select_the_documents_and_must_match_one() {
    let world = World::new();
    for path in ["shop/prod/pay.yaml", "shop/test/pay.yaml"] {
        world.repo.write(path, doc(18));
    }
    let fmt = |glob: &str| fmt_in(&world).set("only", glob);
    fmt("nope/**")
        .exit(1)
        .stdout("")
        .stderr_contains(&["error: no toggle matches `--only` `nope/**`\n", "hint: check the spelling"]);
    fmt("shop/prod/*")
        .arg("shop/test/pay.yaml")
        .exit(1)
        .stdout("")
        .stderr_contains(&["no toggle matches `--only` `shop/prod/*`"]);
    fmt("shop/test/* shop/none/*")
        .exit(0)
        .stdout("rewrote shop/test/pay.yaml\n1 document: 1 rewritten\n")
        .stderr_contains(&["no toggle matches this glob", "shop/none/*"]);
    assert_eq!(read(&world, "shop/prod/pay.yaml"), doc(18));
}

#[test]
fn a_link_is_refused_and_permissions_stay() {
    let world = World::new();
    let outside = world.write("outside.yaml", &doc(18));
    world.repo.write("shop/prod/real.yaml", doc(18));
    let real = world.repo.path().join("shop/prod/real.yaml");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = world.repo.path().join("shop/prod/pay.yaml");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    fmt_in(&world)
        .arg(&link)
        .exit(1)
        .stderr_contains(&["is a symbolic link, and gitoggle does not write there"]);
    fmt_in(&world)
        .exit(0)
        .stdout_contains(&["warning[link]", "rewrote shop/prod/real.yaml\n1 document: 1 rewritten\n"]);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), doc(18));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_revision_and_a_flag_of_another_command_are_refused() {
    let world = World::new();
    world.repo.commit_pay(18, "x");
    let bare = world.repo.clone_bare(&world.path("bare"));
    fmt_in(&world)
        .set("repo", bare.path())
        .exit(64)
        .stderr_contains(&["`fmt` rewrites files of a work tree"]);
    fmt_in(&world).arg("--ref=main").exit(64).any_stderr();
}

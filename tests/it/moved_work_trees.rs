//! A linked work tree that was moved, or that another container sees at another path: its repository records
//! where it was. The top is where its `.git` is, for every command.

use crate::support::files::listing;
use crate::support::{Gitoggle, Repo, World, doc};

/// Makes a linked work tree that was moved. Another folder has taken its former place.
fn moved(world: &World) -> (Repo, std::path::PathBuf) {
    world.repo.file("shop/staging/pay.yaml", doc(18)).commit("Add pay");
    let former = world.path("former");
    world.repo.linked("HEAD", &former);
    std::fs::rename(&former, world.path("moved")).unwrap();
    std::fs::create_dir_all(former.join("shop/staging")).unwrap();
    std::fs::write(former.join("shop/staging/pay.yaml"), doc(99)).unwrap();
    (Repo::at(&world.path("moved")), former)
}

#[test]
fn commands_read_and_write_the_work_tree_that_they_are_run_in() {
    for (verb, args, changed) in [
        ("fmt", "", "shop/staging/pay.yaml"),
        ("promote", "shop/staging shop/production --create", "shop/production/pay.yaml"),
        ("import", "--from json", "shop/live/pay.yaml"),
    ] {
        let world = World::new();
        let (tree, former) = moved(&world);
        let json = r#"{"disabled": false, "content": {"rules": [], "disabledServe": {"select": 0},
            "defaultServe": {"select": 0}, "variations": [{"name": "a", "value": "1", "description": ""}]}}"#;
        std::fs::create_dir_all(world.path("json/shop/live")).unwrap();
        world.write("json/shop/live/pay.json", json);
        for folder in ["", "shop/staging"] {
            let place = tree.path().join(folder);
            let before = (listing(&former), listing(tree.path()));
            let args = args.replace("json", &world.path("json").display().to_string());
            world.bare(verb).within(&place).args(&args).exit(0).any_output();
            assert_eq!(listing(&former), before.0, "{verb} in `{folder}`");
            if folder.is_empty() {
                assert_ne!(listing(tree.path()), before.1, "{verb}");
            }
            assert!(tree.path().join(changed).exists(), "{verb}");
        }
    }
}

#[test]
fn checks_are_about_the_work_tree_that_they_are_run_in() {
    let world = World::new();
    let (tree, former) = moved(&world);
    std::fs::write(former.join(".gitignore"), "*.yaml\n").unwrap();
    tree.write("shop/staging/broken.yaml", "disabled: [\n");
    let inside = |run: Gitoggle| run.within(&tree.path().join("shop"));
    inside(world.bare("validate")).exit(3).says(&["shop/staging/broken.yaml"]);
    inside(world.bare("validate")).arg("staging/broken.yaml").exit(3).says(&["shop/staging/broken.yaml"]);
    std::fs::remove_file(tree.path().join("shop/staging/broken.yaml")).unwrap();
    inside(world.bare("validate")).exit(0).says(&["1 document"]);
    // The uncommitted change is that of this work tree.
    tree.write("shop/staging/pay.yaml", doc(21));
    world
        .plan()
        .set("repo", tree.path())
        .set("first-pass", "assert")
        .exit(0)
        .says(&["`--worktree` plans it"]);
}

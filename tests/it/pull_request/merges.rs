//! The plan of a pull request is the step from its target to what `git merge` makes, whatever the shape of
//! the branch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::bases::{clone, run};
use super::{changes, forked, offline, planned, pull_request, set};
use crate::support::{Repo, World, doc};

/// Merges `feature` into `main` in a scratch clone, and returns the plan of that step and the paths that
/// conflict.
fn as_git_merges(world: &World, name: &str) -> (Value, Vec<String>) {
    let folder = world.path(name);
    let url = world.repo.path().display().to_string();
    world.repo.git(&["clone", "--quiet", "--branch", "main", &url, &folder.display().to_string()]);
    let scratch = Repo::at(&folder);
    let merged = scratch.try_git(&["merge", "--quiet", "--no-ff", "--message=Merge", "origin/feature"]);
    let mut conflicts = Vec::new();
    if merged.is_err() {
        let unmerged = scratch.git(&["diff", "--name-only", "--diff-filter=U"]);
        conflicts.extend(unmerged.lines().map(str::to_owned));
        assert!(!conflicts.is_empty(), "{merged:?}");
        // The rest of the merge is what a plan shows beside the conflicts.
        for path in &conflicts {
            let _removed = scratch.try_git(&["checkout", "--quiet", "HEAD", "--", path]);
        }
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "--quiet", "--message=Merge"]);
    }
    let plan = offline(world).set("repo", &folder).args("--from origin/main --to HEAD --output json");
    (plan.exit_in(&[0, 3]).json(), conflicts)
}

/// Asserts that the plan of the pull request is the step that `git merge` makes, and returns its changes.
#[track_caller]
fn equals_the_merge(world: &World, name: &str) -> Vec<String> {
    let (expected, conflicts) = as_git_merges(world, name);
    let plan = pull_request(world).set("output", "json");
    let plan = plan.exit(if conflicts.is_empty() { 0 } else { 3 }).json();
    let content = |plan: &Value| -> Vec<Value> {
        let all = plan["changes"].as_array().unwrap().iter();
        let is_merged =
            |change: &&Value| !conflicts.contains(&change["path"].as_str().unwrap_or("?").to_owned());
        all.filter(is_merged)
            .map(|change| serde_json::json!([change["toggle"], change["action"], change["digest"]]))
            .collect()
    };
    assert_eq!(content(&plan), content(&expected), "{plan:#}");
    let held = plan["held"].as_array().unwrap().iter();
    let held: Vec<String> = held.map(|held| format!("{}.yaml", held["toggle"].as_str().unwrap())).collect();
    assert_eq!(BTreeSet::from_iter(held), BTreeSet::from_iter(conflicts), "{plan:#}");
    changes(&plan)
}

/// Returns every file below the folder of the repository with its size.
fn objects(repo: &Repo) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![repo.path().join(".git")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.metadata().unwrap() {
                data if data.is_dir() => folders.push(entry.path()),
                data => drop(found.insert(entry.path().display().to_string(), data.len())),
            }
        }
    }
    found
}

#[test]
fn a_field_that_the_target_changed_meanwhile_stays_as_the_target_has_it() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    let renamed = doc(18).replace("New payment page", "Payment page");
    world.repo.file("shop/prod/pay.yaml", &renamed).commit("Describe it").checkout("feature");
    let before = objects(&world.repo);
    let plan = planned(pull_request(&world), &["update shop/prod/pay"]);
    let after = &plan["changes"][0]["content"];
    assert_eq!(after["variations"][1]["description"], "Payment page", "{plan:#}");
    assert_eq!(after["rules"][0]["conditions"][0]["objects"][0], "21", "{plan:#}");
    assert_eq!(objects(&world.repo), before, "the merge writes nothing to the repository");
    assert_eq!(equals_the_merge(&world, "scratch"), ["update shop/prod/pay"]);
}

#[test]
fn a_branch_that_is_fifty_commits_behind_shows_its_own_changes() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    for age in 0..50 {
        set(&world.repo, "cart", 100 + age).commit("Change the cart");
    }
    world.repo.checkout("feature");
    assert_eq!(equals_the_merge(&world, "scratch"), ["update shop/prod/pay"]);
}

#[test]
fn a_branch_above_a_squashed_one_shows_its_own_changes() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    world.repo.git(&["merge", "--quiet", "--squash", "feature"]);
    world.repo.commit("Squash the parent").checkout("feature");
    set(&world.repo, "cart", 30).commit("Change the cart");
    assert_eq!(equals_the_merge(&world, "scratch"), ["update shop/prod/cart"]);
}

#[test]
fn a_commit_that_the_target_has_already_is_no_change() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let own = world.repo.head();
    set(&world.repo, "cart", 30).commit("Change the cart").checkout("main");
    set(&world.repo, "search", 40).commit("Change the search");
    let theirs = world.repo.head();
    world.repo.git(&["cherry-pick", &own]);
    world.repo.checkout("feature").git(&["cherry-pick", &theirs]);
    assert_eq!(equals_the_merge(&world, "scratch"), ["update shop/prod/cart"]);
}

#[test]
fn a_rename_on_one_side_carries_the_edit_of_the_other() {
    for branches in [["main", "feature"], ["feature", "main"]] {
        let world = forked();
        let [renames, edits] = branches;
        world
            .repo
            .checkout(renames)
            .rename("shop/prod/pay.yaml", "shop/prod/payment.yaml")
            .commit("Rename pay");
        set(world.repo.checkout(edits), "pay", 21).commit("Ask for 21 years").checkout("feature");
        let expected = match renames {
            "main" => vec!["update shop/prod/payment"],
            _ => vec!["create shop/prod/payment"],
        };
        assert_eq!(equals_the_merge(&world, renames), expected);
    }
}

#[test]
fn a_conflict_is_a_finding_and_the_rest_is_planned() {
    let world = forked();
    for number in 0..10 {
        set(&world.repo, &format!("t{number}"), number);
    }
    set(&world.repo, "pay", 21).commit("Change eleven toggles").checkout("main");
    set(&world.repo, "pay", 30).commit("Ask for 30 years").checkout("feature");
    assert_eq!(equals_the_merge(&world, "scratch").len(), 10);
    pull_request(&world).exit(3).any_stderr().stdout_contains(&[
        "error[conflict-marker]: `main` and `feature` changed this document in ways that cannot be merged",
        "shop/prod/pay.yaml:9:1",
        "merge `main` into `feature`, and resolve the conflict",
    ]);
}

#[test]
fn attributes_take_no_part_in_the_merge() {
    let world = forked();
    let union = "*.yaml merge=union\n";
    world.repo.checkout("main").file(".gitattributes", union).commit("Unite").checkout("feature");
    world.repo.file(".gitattributes", union);
    std::fs::write(world.repo.path().join(".git/info/attributes"), union).unwrap();
    std::fs::create_dir_all(world.path("home/.config/git")).unwrap();
    world.write("home/.config/git/attributes", union);
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    set(&world.repo, "pay", 30).commit("Ask for 30 years").checkout("feature");
    let run = pull_request(&world).env("HOME", world.path("home"));
    run.exit(3).any_stderr().stdout_contains(&["changed this document in ways that cannot be merged"]);
}

#[test]
fn a_deletion_against_an_edit_is_a_conflict() {
    for (deletes, edits) in [("main", "feature"), ("feature", "main")] {
        let world = forked();
        world.repo.checkout(deletes).remove("shop/prod/pay.yaml").commit("Remove pay");
        set(world.repo.checkout(edits), "pay", 21).commit("Ask for 21 years").checkout("feature");
        let plan = pull_request(&world).set("on-remove", "disable").set("output", "json").exit(3).json();
        assert_eq!(changes(&plan), [] as [&str; 0], "{plan:#}");
        assert_eq!(plan["held"][0]["toggle"], "shop/prod/pay", "{plan:#}");
    }
}

#[test]
fn a_rename_that_conflicts_is_an_error_at_each_of_its_files() {
    let rename = |name: &'static str| {
        move |repo: &Repo| {
            repo.rename("shop/prod/pay.yaml", &format!("shop/prod/{name}.yaml"));
        }
    };
    let remove = |repo: &Repo| {
        repo.remove("shop/prod/pay.yaml");
    };
    let edit = |age| {
        move |repo: &Repo| {
            set(repo, "pay", age);
        }
    };
    let both = |repo: &Repo| {
        set(repo, "pay", 30);
        repo.rename("shop/prod/pay.yaml", "shop/prod/payment.yaml");
    };
    type Edit<'a> = &'a dyn Fn(&Repo);
    let cases: [(Edit<'_>, Edit<'_>, &[&str]); 4] = [
        (&rename("payment"), &remove, &["payment (rename/delete)"]),
        (&rename("a"), &rename("b"), &["a (rename/rename)", "b (rename/rename)", "pay (rename/rename)"]),
        (&both, &edit(21), &["payment"]),
        (&edit(21), &remove, &["pay (modify/delete)"]),
    ];
    for (number, (one, other, files)) in cases.iter().enumerate() {
        for (on_main, on_feature) in [(one, other), (other, one)] {
            let world = forked();
            world.repo.checkout("main");
            on_main(&world.repo);
            world.repo.commit("Change pay").checkout("feature");
            on_feature(&world.repo);
            world.repo.commit("Change pay, too");
            let changes = equals_the_merge(&world, &format!("scratch-{number}"));
            assert_eq!(changes, [] as [&str; 0], "{files:?}");
            let mut printed = pull_request(&world).exit(3).any_stderr();
            for file in *files {
                let (name, kind) = file
                    .split_once(' ')
                    .map_or((*file, String::new()), |(name, kind)| (name, format!(" {kind}")));
                let message = format!("in ways that cannot be merged{kind}");
                printed = printed.stdout_contains(&[
                    "error[conflict-marker]",
                    &message,
                    &format!("shop/prod/{name}.yaml"),
                ]);
            }
        }
    }
}

#[test]
fn a_document_in_a_folder_that_the_other_side_renamed_is_an_error_at_its_file() {
    for (renames, adds) in [("main", "feature"), ("feature", "main")] {
        let world = forked();
        world.repo.checkout(renames);
        for toggle in super::TOGGLES {
            world.repo.rename(&format!("shop/prod/{toggle}.yaml"), &format!("shop/live/{toggle}.yaml"));
        }
        world.repo.commit("Rename the environment").checkout(adds);
        set(&world.repo, "new", 21).commit("Add new").checkout("feature");
        let run = || pull_request(&world).args("--allow-mass-change");
        let plan = run().set("output", "json").exit(3).json();
        let held = plan["held"].as_array().unwrap();
        assert!(held.iter().any(|held| held["toggle"] == "shop/live/new"), "{plan:#}");
        run().exit(3).any_stderr().stdout_contains(&[
            "error[conflict-marker]",
            "cannot be merged (directory rename suggested)",
            "shop/live/new.yaml",
        ]);
    }
}

#[test]
fn a_conflict_exits_3_whatever_is_held() {
    let world = forked();
    world.repo.checkout("main");
    set(&world.repo, "new", 21).commit("Add new").checkout("feature");
    for toggle in super::TOGGLES {
        world.repo.rename(&format!("shop/prod/{toggle}.yaml"), &format!("shop/live/{toggle}.yaml"));
    }
    world.repo.commit("Rename the environment");
    let plan = pull_request(&world).set("output", "json").exit(3).json();
    let held = plan["held"].as_array().unwrap();
    let is_of_conflict = |held: &&Value| held["toggle"] == "shop/live/new";
    let of_conflict = held.iter().filter(is_of_conflict).count();
    assert!(of_conflict == 1 && held.len() > 1, "something else is held as well: {plan:#}");
    pull_request(&world).arg("--detailed-exitcode").exit(3).any_output();
}

#[test]
fn a_document_in_a_folder_that_the_other_side_split_is_an_error_at_its_file() {
    for (splits, adds) in [("main", "feature"), ("feature", "main")] {
        let world = World::new();
        let toggles = ["a", "b", "c", "d"];
        for (toggle, age) in toggles.into_iter().zip(20..) {
            set(&world.repo, toggle, age);
        }
        world.repo.commit("Add the toggles").branch("feature").checkout(splits);
        for (toggle, environment) in toggles.into_iter().zip(["east", "east", "west", "west"]) {
            let new = format!("shop/{environment}/{toggle}.yaml");
            world.repo.rename(&format!("shop/prod/{toggle}.yaml"), &new);
        }
        world.repo.commit("Split the environment").checkout(adds);
        set(&world.repo, "new", 77).commit("Add new").checkout("feature");
        let run = || pull_request(&world).args("--allow-mass-change --on-remove forget");
        let plan = run().set("output", "json").exit(3).json();
        let held = plan["held"].as_array().unwrap();
        assert!(held.iter().any(|held| held["toggle"] == "shop/prod/new"), "{plan:#}");
        run().exit(3).any_stderr().stdout_contains(&["error[conflict-marker]", "shop/prod/new.yaml"]);
    }
}

#[test]
fn a_document_that_is_a_folder_on_one_side_is_an_error_at_its_path() {
    for (on_file, on_folder) in [("main", "feature"), ("feature", "main")] {
        // Both add it, or one edits it where the other has a folder.
        for (toggle, age) in [("new", 5), ("pay", 21)] {
            let world = forked();
            set(world.repo.checkout(on_file), toggle, age).commit("Write the document");
            world.repo.checkout(on_folder);
            if toggle == "pay" {
                world.repo.remove("shop/prod/pay.yaml");
            }
            world.repo.file(&format!("shop/prod/{toggle}.yaml/notes.txt"), "notes\n").commit("Add a folder");
            set(world.repo.checkout("feature"), "cart", 30).commit("Change another");
            let plan = pull_request(&world).set("output", "json").exit(3).json();
            assert_eq!(changes(&plan), ["update shop/prod/cart"], "{plan:#}");
            let id = format!("shop/prod/{toggle}");
            let held = plan["held"].as_array().unwrap();
            assert!(held.iter().any(|held| held["toggle"] == id.as_str()), "{plan:#}");
            let path = format!("shop/prod/{toggle}.yaml");
            let found = &plan["findings"][0];
            assert_eq!(
                (&found["file"], &found["id"]),
                (&Value::from(path), &Value::from("conflict-marker")),
                "{plan:#}"
            );
            let message = found["message"].as_str().unwrap();
            assert!(message.contains("in ways that cannot be merged ("), "{message}");
        }
    }
}

#[test]
fn a_merge_needs_a_new_enough_git() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    std::fs::create_dir(world.path("old")).unwrap();
    std::fs::create_dir(world.path("none")).unwrap();
    world.write_program("old/git", "#!/bin/sh\necho git version 2.37.9\n");
    for (folder, said) in [("old", "`git` is version 2.37"), ("none", "could not run `git`")] {
        pull_request(&world).env("PATH", world.path(folder).display().to_string()).exit(1).says(&[
            said,
            "`plan --pull-request` needs Git 2.38 or later",
            "compare two revisions with `--from` and `--to`",
        ]);
    }
    let two = offline(&world).args("--from main --to feature");
    planned(two.env("PATH", world.path("none").display().to_string()), &["update shop/prod/pay"]);
}

#[test]
fn a_document_that_both_sides_add_is_merged_if_it_is_equal() {
    let world = forked();
    set(&world.repo, "new", 5).commit("Add new").checkout("main");
    set(&world.repo, "new", 5).commit("Add new, too").checkout("feature");
    assert_eq!(equals_the_merge(&world, "equal"), [] as [&str; 0]);
    set(&world.repo, "new", 6).commit("Change new");
    assert_eq!(equals_the_merge(&world, "different"), [] as [&str; 0]);
}

#[test]
fn a_revert_of_what_the_target_has_is_a_change() {
    let world = forked();
    world.repo.checkout("main");
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("feature");
    world.repo.merge("main", "Update the branch");
    set(&world.repo, "pay", 18).commit("Revert pay");
    assert_eq!(equals_the_merge(&world, "scratch"), ["update shop/prod/pay"]);
}

#[test]
fn a_branch_that_is_up_to_date_shows_its_head_and_one_without_commits_nothing() {
    let world = forked();
    assert_eq!(equals_the_merge(&world, "nothing"), [] as [&str; 0]);
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    assert_eq!(equals_the_merge(&world, "own"), ["update shop/prod/pay"]);
}

#[test]
fn a_conflict_in_any_other_file_is_an_error_at_its_path() {
    for path in ["README.md", "shop/prod/pay.test.yaml", ".gitattributes"] {
        let world = forked();
        for (branch, text) in [("feature", "ours\n"), ("main", "theirs\n")] {
            world.repo.checkout(branch).file(path, text).commit("Write a file");
        }
        set(world.repo.checkout("feature"), "pay", 21).commit("Ask for 21 years");
        let planned = pull_request(&world).exit(3).any_stderr();
        planned.stdout_contains(&[
            "update shop/prod/pay",
            "error[conflict-marker]: `main` and `feature` changed this file in ways that cannot be merged",
            path,
            "merge `main` into `feature`, and resolve the conflict",
        ]);
    }
}

#[test]
fn a_partial_clone_holds_only_the_toggle_whose_merge_needs_what_it_lacks() {
    let world = forked();
    set(&world.repo, "pay", 21);
    set(&world.repo, "cart", 30).commit("Change two").checkout("main");
    set(&world.repo, "pay", 50).commit("Ask for 50 years").checkout("feature");
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        world.repo.git(&["config", setting, "true"]);
    }
    let partial = clone(&world, &["--filter=blob:none"]);
    partial.git(&["cat-file", "blob", "origin/main:shop/prod/cart.yaml"]);
    let plan = run(&world, &partial).set("output", "json").exit(3).json();
    assert_eq!(changes(&plan), ["update shop/prod/cart"], "{plan:#}");
    assert_eq!(plan["held"][0]["toggle"], "shop/prod/pay", "{plan:#}");
}

#[test]
fn a_clone_without_trees_says_how_to_fetch_them() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    set(&world.repo, "cart", 30).commit("Change the cart").checkout("feature");
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        world.repo.git(&["config", setting, "true"]);
    }
    let partial = clone(&world, &["--filter=tree:0"]);
    run(&world, &partial).exit(1).stderr_contains(&["partial clone", "`git fetch --refetch --no-filter`"]);
    partial.git(&["fetch", "--quiet", "--refetch", "--no-filter"]);
    planned(run(&world, &partial), &["update shop/prod/pay"]);
}

/// A generator of pseudo-random numbers, so that a seed names a history.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}

/// Makes a random commit on the current branch.
fn random_commit(repo: &Repo, random: &mut Random) {
    let toggle = ["cart", "pay", "search", "new", "old"][random.below(5)];
    let path = format!("shop/prod/{toggle}.yaml");
    let exists = repo.path().join(&path).exists();
    match random.below(6) {
        0 if exists => drop(repo.remove(&path)),
        1 if exists => {
            let to = format!("shop/prod/{toggle}-{}.yaml", random.below(3));
            if !repo.path().join(&to).exists() {
                repo.rename(&path, &to);
            }
        }
        2 if exists => {
            let text = std::fs::read_to_string(repo.path().join(&path)).unwrap();
            repo.file(&path, text.replace("New payment page", &format!("Page {}", random.below(3))));
        }
        _ => drop(repo.file(&path, doc(u32::try_from(random.below(4)).unwrap()))),
    }
    let _unchanged = repo.try_git(&["commit", "--quiet", "--allow-empty", "--message=Change"]);
}

#[test]
fn random_branches_are_planned_as_git_merges_them() {
    for seed in 0..16 {
        let mut random = Random(seed * 7919 + 1);
        let world = forked();
        for _ in 0..2 + random.below(8) {
            let branch = ["main", "feature"][random.below(2)];
            world.repo.checkout(branch);
            if random.below(6) == 0 {
                let other = if branch == "main" { "feature" } else { "main" };
                if world.repo.try_git(&["merge", "--quiet", "--message=Merge", other]).is_err() {
                    let _state = world.repo.try_git(&["merge", "--abort"]);
                }
                continue;
            }
            random_commit(&world.repo, &mut random);
        }
        world.repo.checkout("feature");
        println!("seed {seed}");
        equals_the_merge(&world, "scratch");
    }
}

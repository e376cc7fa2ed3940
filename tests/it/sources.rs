//! Kinds of sources, and the errors for all others.

use crate::support::{Repo, World, body};

/// Applies from `place` and asserts that exactly the pending change was sent.
#[track_caller]
fn applies_from(world: &World, place: &str) {
    world.apply().set("repo", place).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

fn waiting() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world
}

#[test]
fn a_bare_repository_is_a_source() {
    let world = waiting();
    let bare = world.repo.clone_bare(&world.path("bare.git"));
    applies_from(&world, &bare.path().display().to_string());
}

#[test]
fn a_linked_work_tree_is_a_source() {
    let world = waiting();
    let linked = world.repo.linked("main", &world.path("linked"));
    applies_from(&world, &linked.path().display().to_string());
}

#[test]
fn a_symbolic_link_that_a_sidecar_swaps_is_a_source() {
    let world = waiting();
    let first = world.repo.linked("main~1", &world.path("first"));
    let second = world.repo.linked("main", &world.path("second"));
    let link = world.path("current");
    std::os::unix::fs::symlink(first.path(), &link).unwrap();
    world.apply().set("repo", &link).exit(0).any_output();
    world.nothing_sent();
    let next = world.path("next");
    std::os::unix::fs::symlink(second.path(), &next).unwrap();
    std::fs::rename(&next, &link).unwrap();
    applies_from(&world, &link.display().to_string());
}

#[test]
fn a_file_url_is_a_source() {
    let world = waiting();
    applies_from(&world, &format!("file://{}", world.repo.path().display()));
}

#[test]
fn the_working_folder_is_the_default_source() {
    let world = waiting();
    world.apply().unset("repo").within(world.repo.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_source_is_never_written_to() {
    let world = waiting();
    let before = crate::support::files::listing(world.repo.path());
    world.apply().exit(0).any_output();
    assert_eq!(crate::support::files::listing(world.repo.path()), before);
}

#[test]
fn a_repository_may_belong_to_another_user() {
    let world = waiting();
    world.plan().by_nobody().exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn nothing_in_a_repositorys_configuration_is_executed() {
    let world = waiting();
    let trap = world.path("trapped");
    let command = format!("touch {}", trap.display());
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "diff.external",
        "uploadpack.packObjectsHook",
        "credential.helper",
    ] {
        world.repo.git(&["config", key, &command]);
    }
    world.repo.git(&["config", "core.worktree", "/"]);
    let hook = world.repo.path().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{command}\n")).unwrap();
    world.apply().exit(0).any_output();
    assert!(!trap.exists());
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn each_kind_of_path_that_is_not_a_repository_gets_its_own_error() {
    let world = World::new();
    let plain = world.path("plain");
    std::fs::create_dir(&plain).unwrap();
    world.plan().set("repo", &plain).exit(1).stderr_contains(&["$TMP/plain"]).any_stdout();
    world.plan().set("repo", world.path("nowhere")).exit(1).stderr_contains(&["$TMP/nowhere"]).any_stdout();
    // A folder inside a repository is not a repository: there is no search in parent folders.
    world.repo.commit_pay(18, "Add pay");
    world.plan().set("repo", world.repo.path().join("shop")).exit(1).any_output();
}

#[test]
fn a_repository_without_a_commit_is_reported() {
    let world = World::new();
    world.apply().set("first-pass", "assert").exit(1).stderr_contains(&["commit"]).any_stdout();
    world.nothing_sent();
}

/// Makes the source look empty, and builds the run that reads it.
type Emptied<'a> = &'a dyn Fn(&World) -> crate::support::Gitoggle;

#[test]
fn an_empty_source_never_means_that_every_file_was_removed() {
    let missing_root = |world: &World| world.apply().set("root", "nowhere");
    let gone = |world: &World| {
        world.repo.remove("shop").commit("Remove everything");
        world.apply()
    };
    let nothing_matches = |world: &World| {
        world.repo.rename("shop", "toggles/shop").commit("Move everything");
        world.apply()
    };
    let rows: [(&str, Emptied<'_>); 3] =
        [("missing root", &missing_root), ("empty tree", &gone), ("nothing matches", &nothing_matches)];
    for (name, row) in rows {
        for on_remove in ["keep", "disable", "forget"] {
            let world = World::with_pay_applied();
            let ran = row(&world).set("on-remove", on_remove).exit_in(&[1, 4]);
            let printed = ran.both();
            assert!(!printed.is_empty(), "{name}: the reason is printed");
            world.nothing_sent();
            let state = Repo::at(&world.state().join("state.git"));
            assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/pay.yaml"], "{name}, {on_remove}");
        }
    }
}

#[test]
fn a_deleted_ref_is_an_error_and_removes_no_toggle() {
    let world = World::with_pay_applied();
    world.repo.branch("live");
    world.apply().set("ref", "live").exit(0).any_output();
    world.repo.checkout("main").git(&["branch", "-D", "live"]);
    world.apply().set("ref", "live").set("on-remove", "disable").exit_in(&[1, 4]).says(&["live"]);
    world.nothing_sent();
}

#[test]
fn transports_that_cannot_be_trusted_are_refused() {
    let world = World::new();
    for url in [
        "http://git.example.com/toggles.git",
        "git://git.example.com/toggles.git",
        "ext::sh -c true",
        "ssh://-oProxyCommand=true/toggles.git",
        "-oProxyCommand=true@host:toggles.git",
    ] {
        world.plan().set("repo", url).exit(64).stderr_contains(&["repo"]);
    }
}

#[test]
fn unsupported_repository_formats_are_named() {
    let world = World::new();
    let sha256 = world.path("sha256");
    std::fs::create_dir(&sha256).unwrap();
    Repo::at(&sha256).git(&["init", "--quiet", "--object-format=sha256"]);
    world.plan().set("repo", &sha256).exit(1).stderr_contains(&["SHA-256"]).any_stdout();

    let reftable = Repo::new(&world.path("reftable"));
    reftable.git(&["config", "core.repositoryFormatVersion", "1"]);
    reftable.git(&["config", "extensions.refStorage", "reftable"]);
    world.plan().set("repo", reftable.path()).exit(1).stderr_contains(&["eftable"]).any_stdout();

    let partial = Repo::new(&world.path("partial"));
    partial.commit_pay(18, "Add pay");
    partial.git(&["config", "core.repositoryFormatVersion", "1"]);
    partial.git(&["config", "extensions.partialClone", "origin"]);
    world.plan().set("repo", partial.path()).exit(1).stderr_contains(&["partial"]).any_stdout();
}

#[test]
fn links_and_submodules_are_never_followed() {
    let world = World::with_pay_applied();
    let id = world.repo.head();
    world.repo.link("shop/prod/passwd.yaml", "/etc/passwd");
    world.repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},shop/module")]);
    world.repo.commit("Links and modules");
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_short_name_of_a_branch_and_a_tag_is_refused_by_every_command() {
    let world = waiting();
    world.repo.git(&["branch", "v1"]);
    world.repo.git(&["tag", "v1"]);
    let both = ["`v1` is ambiguous", "`refs/heads/v1`", "`refs/tags/v1`", "full name"];
    world.apply().set("ref", "v1").exit(1).says(&both);
    world.plan().set("ref", "v1").exit(1).says(&both);
    world.validate().set("ref", "v1").exit(1).says(&both);
    for from in ["v1", "v1~0"] {
        let plan = world.bare("plan").set("repo", world.repo.path());
        plan.set("from", from).exit(1).says(&both);
    }
    world.nothing_sent();
    world.apply().set("ref", "refs/tags/v1").exit(0).any_output();
}

//! Settings with which a run would succeed for the wrong reason or send a secret to the wrong host.

use crate::support::{Repo, TOKEN, World, doc};

#[test]
fn a_file_in_a_repository_is_refused_in_one_message() {
    let world = World::with_pay_applied();
    world.repo.write("config.yaml", "repo: .\nbase_url: https://evil.example\nroot: .\n");
    let printed = world
        .bare("apply")
        .env("GITOGGLE_TOKEN", TOKEN)
        .within(world.repo.path())
        .set("config", "config.yaml")
        .exit(64);
    printed.stderr(
        "error: config.yaml: the file is in the work tree of the repository `$REPO`, where a pull request could \
         redirect secrets, so it must not set `repo` (line 1), `base_url` (line 2); move the file out of the \
         repository, for example to `/etc/gitoggle/config.yaml`, or give these settings as flags or variables\n",
    );
    world.nothing_sent();
}

#[test]
fn a_file_outside_of_any_repository_is_trusted_wherever_the_process_starts() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let folder = world.path("operator");
    std::fs::create_dir(&folder).unwrap();
    let text = format!(
        "repo: {}\nbase_url: {}\nca_file: {}\nstate_dir: {}\n",
        world.repo.path().display(),
        world.service.url(),
        world.ca().display(),
        world.state().display()
    );
    std::fs::write(folder.join("config.yaml"), text).unwrap();
    for start in [&folder, &world.repo.path().to_owned(), &world.root().to_owned()] {
        world
            .bare("plan")
            .within(start)
            .set("config", folder.join("config.yaml"))
            .exit(0)
            .stdout_contains(&["1 to publish"]);
    }
    // This repository is neither the source nor the one around the working directory.
    Repo::new(&folder);
    let run = || world.bare("plan").set("config", folder.join("config.yaml"));
    run().within(world.root()).exit(0).any_stdout();
    run().within(&folder).exit(64).stderr_contains(&["$TMP/operator", "`base_url`"]);
}

#[test]
fn a_missing_secret_file_is_reported_at_startup() {
    let world = World::with_pay_applied();
    let missing = world.path("nowhere");
    let state = |setting: &str| format!("could not use `--{setting}`");
    for setting in [
        "admin-token-file",
        "page-token-file",
        "webhook-secret-file",
        "notify-secret-file",
        "git-password-file",
    ] {
        world.daemon().set(setting, &missing).exit(1).stderr_contains(&[
            &state(setting),
            "$TMP/nowhere",
            "hint:",
        ]);
    }
    world
        .daemon()
        .without_env("GITOGGLE_TOKEN")
        .set("token-file", &missing)
        .exit(1)
        .stderr_contains(&["could not read the service's token", "$TMP/nowhere"]);
    for run in [world.plan(), world.apply(), world.status()] {
        run.set("git-password-file", &missing).exit(1).stderr_contains(&["$TMP/nowhere"]);
    }
    // Settings of other commands do not matter.
    world
        .plan()
        .env("GITOGGLE_TOKEN_FILE", &missing)
        .env("GITOGGLE_WEBHOOK_SECRET_FILE", &missing)
        .exit(0)
        .any_output();
    world.nothing_sent();
}

#[test]
fn a_token_with_a_scheme_is_refused_with_a_hint() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let file = world.write("token", &format!("bearer {TOKEN}\n"));
    for run in [
        world.apply().env("GITOGGLE_TOKEN", format!("Bearer {TOKEN}")),
        world.apply().without_env("GITOGGLE_TOKEN").set("token-file", file),
    ] {
        run.exit(64)
            .stderr_contains(&["the service expects the token without a scheme", "remove `Bearer `"])
            .never_says(&[TOKEN]);
    }
    world.nothing_sent();
}

#[test]
fn a_state_folder_in_a_work_tree_or_with_other_files_is_refused() {
    let world = World::with_pay_applied();
    let photos = world.path("photos");
    std::fs::create_dir(&photos).unwrap();
    std::fs::write(photos.join("cat.jpg"), "").unwrap();
    for run in [|world: &World| world.plan(), |world: &World| world.apply()] {
        run(&world)
            .set("state-dir", world.repo.path().join("not/there"))
            .exit(64)
            .stderr_contains(&["--state-dir", "work tree of the repository `$REPO`"]);
        run(&world).set("state-dir", &photos).exit(64).stderr_contains(&[
            "$TMP/photos",
            "cat.jpg",
            "--state-dir",
        ]);
    }
    std::fs::create_dir_all(world.path("volume/lost+found")).unwrap();
    world.apply().set("state-dir", world.path("volume")).set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_comment_limit_above_that_of_featureprobe_is_refused() {
    let world = World::with_pay_applied();
    let plan =
        |kind: &str, chars: &str| world.plan().set("service-kind", kind).set("comment-max-chars", chars);
    plan("documented", "5000").exit(0).any_output();
    plan("featureprobe", "1024").exit(0).any_output();
    plan("featureprobe", "1025").exit(64).stderr_contains(&["--comment-max-chars", "1024", "featureprobe"]);
}

#[test]
fn a_plan_reports_the_number_of_uncommitted_documents() {
    let world = World::with_pay_applied();
    let note = |count: &str| format!("{count} in the work tree");
    world.plan().exit(0).any_stdout().stderr("");
    world.repo.write("shop/prod/pay.yaml", doc(21));
    world.repo.write("README.md", "# Not a document\n");
    world.plan().exit(0).stderr_contains(&[&note("1 document"), "differs", "`--worktree`"]).any_stdout();
    world.repo.write("shop/prod/zoo.yaml", doc(18));
    world.plan().exit(0).stderr_contains(&[&note("2 documents"), "`--worktree`"]).any_stdout();
    world.plan().set("root", "shop").exit(1).any_output();
    world.plan().arg("--worktree").exit(0).any_stdout().stderr("");
    let bare = world.repo.clone_bare(&world.path("bare.git"));
    world.plan().set("repo", bare.path()).exit(0).any_stdout().stderr("");
    world.repo.git(&["add", "--all"]);
    world.repo.commit("Now it is");
    world.plan().exit(0).any_stdout().stderr("");
}

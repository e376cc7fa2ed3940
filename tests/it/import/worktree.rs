//! What an import does to a work tree, and what it refuses to do.

use super::{canonical, file, files, import, import_lines, line, run_copied};
use crate::support::files::listing;
use crate::support::{Repo, SmallDisk, World, doc};

#[test]
fn a_second_import_changes_nothing() {
    let world = World::new();
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/old", 21);
    import_lines(&world, &lines).exit(0).any_output();
    let before = listing(&world.repo.path().join("shop"));
    for flag in ["--overwrite", "--color=never"] {
        import_lines(&world, &lines)
            .arg(flag)
            .exit(0)
            .stdout("0 written, 2 unchanged, 0 different\n")
            .stderr("");
        assert_eq!(listing(&world.repo.path().join("shop")), before);
    }
}

#[test]
fn a_file_that_git_ignores_is_compared_as_well() {
    let world = World::new();
    world.repo.write(".gitignore", "*.yaml\n");
    world.repo.write("shop/prod/old.yaml", doc(1));
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/old", 21);
    import_lines(&world, &lines)
        .exit(0)
        .stdout_contains(&["1 written, 0 unchanged, 1 different"])
        .stderr_contains(&[
            "note: Git ignores 1 written document, `shop/prod/pay.yaml` first, so a commit leaves them out; check \
             `.gitignore`\n",
        ]);
    assert_eq!(file(&world, "shop/prod/old.yaml"), doc(1));
    import_lines(&world, &lines)
        .exit(0)
        .stdout_contains(&["0 written, 1 unchanged, 1 different"])
        .any_stderr();
}

#[test]
fn folders_are_created_below_the_root_by_the_layout() {
    let world = World::new();
    import_lines(&world, &line("shop/prod/pay", 18))
        .set("root", "config/toggles/")
        .set("layout", "live/{environment}/{project}/{toggle}.yaml")
        .exit(0)
        .stdout("1 written, 0 unchanged, 0 different\n")
        .any_stderr();
    assert_eq!(files(&world), ["config/toggles/live/prod/shop/pay.yaml"]);
}

#[test]
fn an_import_in_a_subfolder_writes_below_the_top_of_the_work_tree() {
    let world = World::new();
    world.repo.write("docs/README.md", "");
    import_lines(&world, &line("shop/prod/pay", 18))
        .set("repo", world.repo.path().join("docs"))
        .exit(0)
        .any_output();
    assert_eq!(files(&world), ["docs/README.md", "shop/prod/pay.yaml"]);
}

#[test]
fn the_next_commands_of_an_import_in_a_subfolder_work_when_copied() {
    let world = World::new();
    world.repo.write("docs/README.md", "");
    let docs = world.repo.path().join("docs");
    let input = line("shop/prod/pay", 18);
    let connected = || import_lines(&world, &input).set("base-url", world.service.url());
    let runs = [connected().set("repo", &docs), connected().unset("repo").within(&docs)];
    for run in runs {
        let printed = run.exit(0).both();
        let commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(
            commands,
            [
                "git -C $REPO add shop",
                "git -C $REPO commit -m 'Import toggles'",
                "gitoggle plan --first-pass adopt --repo $REPO --base-url https://$SERVICE",
                "gitoggle apply --first-pass adopt --repo $REPO --base-url https://$SERVICE",
            ]
        );
        std::fs::remove_file(world.repo.path().join("shop/prod/pay.yaml")).unwrap();
    }
    let printed = connected().set("repo", &docs).exit(0).both();
    let commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let stdout = run_copied(&world, &commands);
    assert!(stdout.contains("recorded without publishing: 1 toggle"), "{stdout}");
}

#[test]
fn the_next_commands_of_an_import_share_the_state_with_jobs_if_there_is_an_origin() {
    let world = World::new();
    world.repo.write("README.md", "").commit("Begin");
    let remote = world.path("remote.git");
    world.repo.clone_bare(&remote);
    world.repo.git(&["remote", "add", "origin", &remote.display().to_string()]);
    let input = line("shop/prod/pay", 18);
    let printed = import_lines(&world, &input).set("base-url", world.service.url()).exit(0).both();
    let commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    for command in &commands[2..] {
        assert!(command.contains(" --state-remote origin"), "{command}");
    }
    assert!(printed.contains("note: merge the commit before `apply`: "), "{printed}");
    let stdout = run_copied(&world, &commands);
    assert!(stdout.contains("recorded without publishing: 1 toggle"), "{stdout}");
    // A job has an empty disk.
    let job = world.apply().set("state-remote", "origin").set("state-dir", world.path("job"));
    job.exit(0).any_output();
    assert_eq!(world.service.take().len(), 0);
}

#[test]
fn an_origin_that_cannot_have_a_state_is_in_no_command_of_an_import() {
    for address in ["http://git.example.com/toggles.git", "git://git.example.com/toggles.git", "ext::x"] {
        let world = World::new();
        world.repo.write("README.md", "").commit("Begin");
        world.repo.git(&["remote", "add", "origin", address]);
        let run = import_lines(&world, &line("shop/prod/pay", 18)).set("base-url", world.service.url());
        let printed = run.exit(0).both();
        assert!(!printed.contains("--state-remote") && !printed.contains("merge the commit"), "{printed}");
    }
}

#[test]
fn a_toggle_whose_path_would_be_reserved_gets_another_extension() {
    let world = World::new();
    import_lines(&world, &line("shop/prod/pay.test", 18)).exit(0).any_output();
    assert_eq!(files(&world), ["shop/prod/pay.test.yml"]);
    world.validate().exit(0).stdout("checked 1 document: no findings\n");
    import_lines(&world, &line("shop/prod/pay.test", 18))
        .exit(0)
        .stdout("0 written, 1 unchanged, 0 different\n");
}

#[test]
fn links_and_nested_repositories_are_refused_and_the_rest_is_written() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir_all(elsewhere.join("prod")).unwrap();
    let before = listing(&elsewhere);
    let link = |target: &std::path::Path, path: &str| {
        std::fs::create_dir_all(world.repo.path().join(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, world.repo.path().join(path)).unwrap();
    };
    link(&elsewhere, "linked");
    link(&elsewhere.join("prod"), "shop/linked");
    link(&elsewhere.join("target.yaml"), "shop/prod/linked.yaml");
    Repo::new(&world.repo.path().join("nested"));
    let ids = ["linked/prod/pay", "shop/linked/pay", "shop/prod/linked", "nested/prod/pay", "shop/prod/pay"];
    let lines = ids.map(|id| line(id, 18)).concat();
    for flag in ["--color=never", "--overwrite"] {
        import_lines(&world, &lines)
            .arg(flag)
            .exit(1)
            .stdout_contains(&[
                "failed linked/prod/pay: `linked` is a symbolic link, and gitoggle does not write there\n",
                "failed nested/prod/pay: `nested` is a separate repository, and gitoggle does not write there\n",
                "failed shop/linked/pay: `shop/linked` is a symbolic link, and gitoggle does not write there\n",
                "failed shop/prod/linked: `shop/prod/linked.yaml` is a symbolic link, and gitoggle does not write \
                 there\n",
                "4 failed\n",
            ])
            .any_stderr();
    }
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(listing(&elsewhere), before);
    assert!(!world.repo.path().join("nested/prod").exists());
}

#[test]
fn a_work_tree_without_write_permission_is_reported_for_each_toggle() {
    let world = World::new();
    world.repo.write("shop/prod/old.yaml", doc(18));
    let exported = world.path("exported/shop/prod");
    std::fs::create_dir_all(&exported).unwrap();
    for name in ["old.json", "pay.json"] {
        std::fs::write(exported.join(name), line("ignored", 18)).unwrap();
    }
    let _protected = crate::support::files::protect(&world.repo.path().join("shop"));
    import(&world)
        .set("from", world.path("exported"))
        .by_nobody()
        .exit(1)
        .stdout(
            "failed shop/prod/pay: could not write `shop/prod/pay.yaml`: Permission denied\n\
             \n\
             0 written, 1 unchanged, 0 different, 1 failed\n",
        )
        .any_stderr();
}

#[test]
fn a_full_disk_ends_the_import() {
    let world = World::new();
    std::fs::create_dir(world.state()).unwrap();
    let Some(disk) = SmallDisk::over(&world) else {
        return;
    };
    let repo = Repo::new(&world.state().join("repo"));
    disk.fill_up_to(8);
    let lines: String = (0..20).map(|number| line(&format!("shop/prod/t{number}"), number)).collect();
    let run = || import_lines(&world, &lines).set("repo", repo.path());
    run().exit(1).stdout_contains(&[" written, 0 unchanged, 0 different\n"]).stderr(
        "error: the import ended early: No space left on device\n\
             hint: free some space, then run the command again\n",
    );
    disk.make_room();
    run().exit(0).any_output();
    world.bare("validate").set("repo", repo.path()).exit(0).stdout("checked 20 documents: no findings\n");
}

#[test]
fn a_target_that_is_not_a_work_tree_is_an_error() {
    let world = World::new();
    let lines = line("shop/prod/pay", 18);
    import_lines(&world, &lines).set("repo", "https://git.example.org/team/toggles").exit(64).stderr(
        "error: `import` writes into a work tree, and `--repo` is a URL\n\
             hint: clone it, and pass the clone as `--repo`\n",
    );
    let bare = Repo::bare(&world.path("bare"));
    std::fs::create_dir(world.path("plain")).unwrap();
    for (path, reason) in [
        (bare.path().to_owned(), "is bare and has no work tree"),
        (world.path("plain"), "could not find a repository at `$TMP/plain`"),
        (world.path("nowhere"), "could not find the folder `$TMP/nowhere`"),
    ] {
        import_lines(&world, &lines).set("repo", &path).exit(1).stderr_contains(&[reason]);
    }
    assert_eq!(std::fs::read_dir(world.path("plain")).unwrap().count(), 0);
}

#[test]
fn a_killed_import_leaves_complete_documents_and_the_next_one_continues() {
    const ALL: usize = 300;
    let world = World::new();
    let lines: Vec<String> = (0..ALL)
        .map(|number| line(&format!("shop/prod/t{number:03}"), u32::try_from(number).unwrap()))
        .collect();
    let fifo = world.path("input");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let run = import(&world).arg("--from=-").after(&format!("exec < '{}'", fifo.display())).start();
    // The input does not end, so the import is killed before it has ended, however fast or slow it is.
    let mut input = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let given = lines[..ALL / 2].concat();
    let feeder = std::thread::spawn(move || {
        // The program may be killed before it has read everything.
        drop(std::io::Write::write_all(&mut input, given.as_bytes()));
        input
    });
    let first = world.repo.path().join("shop/prod/t000.yaml");
    crate::support::eventually("the first document", || first.exists().then_some(()));
    run.kill();
    drop(feeder.join().unwrap());
    let written = files(&world).into_iter().filter(|path| path.ends_with(".yaml")).count();
    assert!((1..=ALL / 2).contains(&written), "{written}");
    world.validate().exit(0).any_output();
    let ran = import_lines(&world, &lines.concat()).exit(0).any_stderr();
    ran.stdout(&format!("{} written, {written} unchanged, 0 different\n", ALL - written));
    assert_eq!(files(&world).len(), ALL, "no temporary file is left");
}

#[test]
fn an_interrupted_import_counts_what_it_did() {
    let world = World::new();
    let fifo = world.path("input");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let log = world.path("log");
    let run =
        import(&world).arg("--from=-").after(&format!("exec < '{}'", fifo.display())).start_logged(&log);
    let mut input = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    std::io::Write::write_all(&mut input, line("shop/prod/pay", 18).as_bytes()).unwrap();
    crate::support::eventually("the first document", || {
        world.repo.path().join("shop/prod/pay.yaml").exists().then_some(())
    });
    run.terminate();
    assert_eq!(run.wait(), Some(1));
    assert_eq!(
        world.printed(&log),
        "1 written, 0 unchanged, 0 different\n\
         error: the import ended early: interrupted\n\
         hint: run the command again to continue; documents that were written count as unchanged\n"
    );
}

#[test]
fn a_document_that_is_not_checked_out_is_never_written() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18))
        .file("shop/prod/old.yml", doc(18))
        .file("shop/prod/removed.yaml", doc(18))
        .file("docs/README.md", "# Docs\n")
        .commit("Add toggles");
    let lines = ["old", "pay", "new"].map(|key| line(&format!("shop/prod/{key}"), 21)).concat();
    let kinds: [(&str, &[&str]); 3] = [
        ("sparse checkout", &["sparse-checkout", "set", "docs"]),
        ("sparse index", &["sparse-checkout", "set", "--cone", "--sparse-index", "docs"]),
        ("no checkout", &["update-ref", "--no-deref", "HEAD", "HEAD"]),
    ];
    for (kind, command) in kinds {
        world.repo.git(command);
        if kind == "no checkout" {
            world.repo.git(&["sparse-checkout", "disable"]);
            std::fs::remove_dir_all(world.repo.path().join("shop")).unwrap();
            std::fs::remove_file(world.repo.path().join(".git/index")).unwrap();
        }
        for flag in ["--color=never", "--overwrite"] {
            import_lines(&world, &lines)
                .arg(flag)
                .exit(0)
                .stdout(
                    "skipped shop/prod/old (a document that is not checked out): `shop/prod/old.yml` is committed but \
                     not checked out\n\
                     skipped shop/prod/pay (a document that is not checked out): `shop/prod/pay.yaml` is committed but \
                     not checked out\n\
                     \n\
                     1 written, 0 unchanged, 0 different, 2 skipped (a document that is not checked out: 2)\n",
                )
                .any_stderr();
            assert_eq!(file(&world, "shop/prod/new.yaml"), canonical(21), "{kind}");
            assert!(!world.repo.path().join("shop/prod/old.yml").exists(), "{kind}");
            std::fs::remove_dir_all(world.repo.path().join("shop")).unwrap();
        }
    }
    // Whoever removed a file wants it back.
    world.repo.git(&["reset", "-q", "--hard"]);
    std::fs::remove_file(world.repo.path().join("shop/prod/pay.yaml")).unwrap();
    world.repo.git(&["rm", "-q", "shop/prod/removed.yaml"]);
    import_lines(&world, &(line("shop/prod/pay", 21) + &line("shop/prod/removed", 21)))
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .any_stderr();
}

//! `gitoggle init`: a starter repository that passes every check from its first commit.

use crate::support::{Gitoggle, Repo, World};

const FILES: [&str; 10] = [
    ".github/CODEOWNERS",
    ".github/workflows/gitoggle.yaml",
    ".pre-commit-config.yaml",
    ".vscode/gitoggle.schema.json",
    ".vscode/gitoggle.test.schema.json",
    ".vscode/settings.json",
    "README.md",
    "shop/production/new-homepage.test.yaml",
    "shop/production/new-homepage.yaml",
    "shop/staging/new-homepage.yaml",
];

fn created(verb: &str) -> String {
    FILES.map(|path| format!("{verb} {path}\n")).concat()
}

#[test]
fn a_starter_repository_is_clean_in_every_command() {
    let world = World::new();
    let folder = world.path("starter");
    world
        .bare("init")
        .arg(&folder)
        .exit(0)
        .stdout(&created("created"))
        .stderr_contains(&["next:\n  cd ", "  git commit -m 'Start with gitoggle'\n"]);
    let repo = Repo::at(&folder);
    repo.git(&["add", "--all"]);
    repo.commit("Start with gitoggle");
    assert_eq!(repo.files("HEAD"), FILES);
    let run = |verb: &str| -> Gitoggle { world.bare(verb).within(&folder) };
    run("validate").exit(0).stdout("checked 2 documents: no findings\n");
    run("fmt").arg("--check").exit(0).stdout("2 documents: 0 to rewrite\n");
    run("test").exit(0).any_stdout();
    run("plan").exit(0).stdout_contains(&["create shop/production/new-homepage"]).any_stderr();
    run("diff").args("shop/staging shop/production").exit(0).any_stdout();
}

#[test]
fn the_workflow_and_the_text_about_the_first_push_are_complete() {
    let world = World::new();
    let folder = world.path("starter");
    let init = world.bare("init").arg(&folder).exit(0).any_stdout();
    init.stderr_contains(&[
        "before the first push",
        "gitoggle apply --state-remote origin --first-pass assert   # publish these documents",
    ]);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let workflow = read(".github/workflows/gitoggle.yaml");
    assert!(workflow.starts_with("# A pull request is checked") && !workflow.contains("Copy"), "{workflow}");
    assert!(
        read("README.md")
            .contains("`gitoggle apply --state-remote origin --first-pass assert` publishes all")
    );
    // The printed command does it, and the job of the first push then has nothing to do.
    let repo = Repo::at(&folder);
    repo.git(&["add", "--all"]);
    repo.commit("Start with gitoggle");
    let origin = repo.clone_bare(&world.path("origin.git"));
    repo.git(&["remote", "add", "origin", &format!("file://{}", origin.path().display())]);
    let apply = || world.apply().unset("state-dir").set("repo", &folder).args("--state-remote origin");
    apply().args("--first-pass assert").exit(0).any_output();
    assert_eq!(world.service.take().len(), 2);
    apply().set("state-dir", world.path("job")).args("--reviewed plan.json").exit(64).any_output();
    world.write("plan.json", r#"{"version":1,"changes":[],"held":[]}"#);
    let job = apply().set("state-dir", world.path("job")).set("reviewed", world.path("plan.json"));
    job.exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn the_short_way_to_the_first_reviewed_publish_is_printed_and_works() {
    let world = World::new();
    let folder = world.path("starter");
    let origin = Repo::bare(&world.path("origin.git"));
    let init = world.bare("init").arg(&folder).start_piped().wait_with_output().unwrap();
    let text = String::from_utf8(init.stderr).unwrap();
    let steps: Vec<&str> =
        text.lines().filter_map(|line| line.trim().split_once(". ")).map(|(_, step)| step).collect();
    assert_eq!(steps.len(), 6, "{text}");
    let repo = Repo::at(&folder);
    repo.git(&["remote", "add", "origin", &origin.path().display().to_string()]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    // The commands of the steps, as printed.
    let mut words = steps[1].to_owned();
    words.push_str(" && ");
    words.push_str(steps[2].split("   (").next().unwrap());
    words.push_str(" && ");
    words.push_str(steps[3].split(',').next().unwrap());
    let mut shell = std::process::Command::new("sh");
    for (name, value) in [("AUTHOR", "Ada"), ("COMMITTER", "Cy")] {
        shell.env(format!("GIT_{name}_NAME"), value).env(format!("GIT_{name}_EMAIL"), "a@example.com");
    }
    let ran = shell.args(["-e", "-c", &words]).current_dir(&folder).output().unwrap();
    assert!(ran.status.success(), "{words}\n{ran:?}");
    assert_eq!(origin.files("main"), [".github/CODEOWNERS", ".github/workflows/gitoggle.yaml"]);
    // The request is merged, and the job publishes what its plan lists.
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let plan = world.bare("plan").within(&folder).args("--pull-request --target main -o json");
    repo.git(&["checkout", "--quiet", "first"]);
    let plan = plan.start_piped().wait_with_output().unwrap();
    let plan = world.write("plan.json", &String::from_utf8(plan.stdout).unwrap());
    repo.checkout("main").merge("first", "Merge the first request");
    let job = world.apply().set("repo", &folder).set("reviewed", plan.display().to_string());
    job.exit(0).any_output();
    assert_eq!(world.service.take().len(), 2);
}

#[test]
fn a_folder_whose_name_begins_with_a_dash_can_be_entered_with_the_printed_command() {
    let world = World::new();
    let home = world.path("home");
    world
        .bare("init")
        .within(&home)
        .args("-- -starter")
        .exit(0)
        .stdout(&created("created"))
        .stderr_contains(&["next:\n  cd ./-starter\n  git add --all\n"]);
    assert!(home.join("-starter/README.md").exists());
}

#[test]
fn the_kind_of_service_is_set_wherever_the_program_runs() {
    let world = World::new();
    let folder = world.path("starter");
    let init = world.bare("init").set("service-kind", "featureprobe");
    init.arg(&folder)
        .exit(0)
        .stdout(&created("created"))
        .stderr_contains(&["  gitoggle validate --service-kind featureprobe\n"]);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&read(".github/workflows/gitoggle.yaml")).unwrap();
    assert_eq!(workflow["env"]["GITOGGLE_SERVICE_KIND"], "featureprobe");
    assert_eq!(workflow["jobs"]["drift"]["if"], "github.event_name == 'schedule'");
    let hooks = read(".pre-commit-config.yaml");
    let entries = hooks.lines().filter(|line| line.contains("entry:"));
    assert!(entries.clone().all(|line| line.ends_with(" --service-kind featureprobe")), "{hooks}");
    assert_eq!(entries.count(), 3);
    assert!(read("README.md").contains("\nSet `GITOGGLE_SERVICE_KIND=featureprobe` for these commands.\n"));
}

#[test]
fn the_sdks_are_set_wherever_the_program_runs() {
    let world = World::new();
    let folder = world.path("starter");
    let says = ["  gitoggle validate --sdks 'python node'\n"];
    world.bare("init").set("sdks", "python node").arg(&folder).exit(0).any_stdout().stderr_contains(&says);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&read(".github/workflows/gitoggle.yaml")).unwrap();
    assert_eq!(workflow["env"]["GITOGGLE_SDKS"], "python node");
    assert_eq!(workflow["env"]["GITOGGLE_SERVICE_KIND"], "${{ vars.GITOGGLE_SERVICE_KIND }}");
    let hooks = read(".pre-commit-config.yaml");
    assert_eq!(hooks.matches(" --sdks 'python node'\n").count(), 3, "{hooks}");
    assert!(read("README.md").contains("\nSet `GITOGGLE_SDKS='python node'` for these commands.\n"));
}

#[test]
fn documents_in_other_places_are_refused() {
    let world = World::new();
    for setting in ["root: cfg", "layout: \"{environment}/{project}/{toggle}.yaml\""] {
        let folder = world.path("starter");
        let config = world.write("gitoggle.yaml", setting);
        let init = world.bare("init").arg("--config").arg(config).arg(&folder).exit(64);
        init.stderr_contains(&["`init` creates documents at `{project}/{environment}/{toggle}.yaml`"]);
        assert!(!folder.exists());
    }
}

#[test]
fn a_document_with_the_other_extension_stays() {
    let world = World::new();
    let folder = world.path("starter");
    std::fs::create_dir_all(folder.join("shop/staging")).unwrap();
    std::fs::write(folder.join("shop/staging/new-homepage.yml"), "mine").unwrap();
    let says =
        ["kept the existing shop/staging/new-homepage.yml\n", "created shop/production/new-homepage.yaml\n"];
    world.bare("init").within(&folder).exit(0).stdout_contains(&says).any_stderr();
    assert!(!folder.join("shop/staging/new-homepage.yaml").exists());
}

#[test]
fn an_existing_file_stays() {
    let world = World::new();
    let folder = world.path("starter");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("README.md"), "mine").unwrap();
    world
        .bare("init")
        .within(&folder)
        .exit(0)
        .stdout_contains(&["kept the existing README.md\n", "created .github/CODEOWNERS\n"])
        .any_stderr();
    assert_eq!(std::fs::read_to_string(folder.join("README.md")).unwrap(), "mine");
    world.bare("init").within(&folder).exit(0).stdout(&created("kept the existing")).any_stderr();
}

#[test]
fn a_file_that_a_sparse_checkout_leaves_out_stays() {
    let world = World::new();
    world
        .repo
        .file("shop/staging/new-homepage.yaml", "mine")
        .file("docs/README.md", "")
        .commit("Add a toggle");
    world.repo.git(&["sparse-checkout", "set", "docs"]);
    world
        .bare("init")
        .within(world.repo.path())
        .exit(0)
        .stdout_contains(&["kept the existing shop/staging/new-homepage.yaml\n", "created README.md\n"])
        .any_stderr();
    assert!(!world.repo.path().join("shop/staging").exists());
}

#[test]
fn a_folder_inside_a_repository_is_refused() {
    let world = World::new();
    let inside = world.repo.path().join("sub/folder");
    let message = |shown: &str| {
        format!(
            "error: `{shown}` is inside the repository `$REPO`\nhint: run `gitoggle init` in the top folder of the \
             repository, or run `git init` here first for another one\n"
        )
    };
    let run = world.bare("init").arg("sub/folder").within(world.repo.path());
    run.exit(1).stdout("").stderr(&message("sub/folder"));
    assert!(!inside.exists());
    std::fs::create_dir_all(&inside).unwrap();
    world.bare("init").within(&inside).exit(1).stdout("").stderr(&message("."));
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 0);
    Repo::new(&inside);
    world.bare("init").within(&inside).exit(0).stdout(&created("created")).any_stderr();
    // The top may be named in another way.
    let link = world.path("link");
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    world.bare("init").arg(&link).exit(0).stdout(&created("kept the existing")).any_stderr();
}

#[test]
fn a_bare_repository_is_refused() {
    let world = World::new();
    let folder = world.path("bare.git");
    Repo::bare(&folder);
    world.bare("init").within(&folder).exit(1).stdout("").stderr(
        "error: `.` is a bare repository, which has no files\nhint: clone it, and run `gitoggle init` in the clone\n",
    );
    assert!(!folder.join(".git").exists() && !folder.join("README.md").exists());
}

#[test]
fn a_link_in_the_folder_is_not_followed() {
    let world = World::new();
    let (folder, outside) = (world.path("starter"), world.path("outside"));
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join(".github")).unwrap();
    world
        .bare("init")
        .arg(&folder)
        .exit(1)
        .stderr_contains(&["`.github` is a symbolic link, and gitoggle does not write there"]);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn the_schema_of_the_editor_is_the_one_of_the_program() {
    let world = World::new();
    let folder = world.path("starter");
    world.bare("init").arg(&folder).exit(0).any_output();
    let stored = |name: &str| std::fs::read_to_string(folder.join(".vscode").join(name)).unwrap();
    world.bare("schema").exit(0).stdout(&stored("gitoggle.schema.json"));
    world.bare("schema").args("--of test").exit(0).stdout(&stored("gitoggle.test.schema.json"));
    let settings = std::fs::read_to_string(folder.join(".vscode/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    for schema in [".vscode/gitoggle.schema.json", ".vscode/gitoggle.test.schema.json"] {
        assert!(settings["yaml.schemas"][schema].is_array(), "{settings}");
    }
}

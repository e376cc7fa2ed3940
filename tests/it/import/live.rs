//! Importing from a FeatureProbe service.

use serde_json::{Value, json};

use super::live_service::{LiveService, project, toggle};
use super::{canonical, file, files, run_copied};
use crate::support::{World, content};

/// A project with two environments and two toggles, of which one was never configured, and a second project.
fn shops(world: &World) -> LiveService {
    let toggles =
        json!([toggle("pay", &[("prod", content(18)), ("test", content(21))]), toggle("new", &[]),]);
    let web = json!([toggle("banner", &[("prod", content(30))])]);
    let projects = json!([project("shop", &["prod", "test"], &toggles), project("web", &["prod"], &web),]);
    LiveService::start(world, &projects)
}

#[test]
fn everything_that_the_token_can_read_is_imported_with_get_requests_only() {
    let world = World::new();
    let service = shops(&world);
    service
        .import(&world)
        .exit(0)
        .stdout("5 written, 0 unchanged, 0 different\n")
        .stderr_contains(&[
            "next:\n  git -C $REPO add shop web\n  git -C $REPO commit -m 'Import toggles'\n",
            "  gitoggle plan --live --repo $REPO --base-url https://127.0.0.1:",
        ])
        .never_says(&["server-", "client-"]);
    assert_eq!(
        files(&world),
        [
            "shop/prod/new.yaml",
            "shop/prod/pay.yaml",
            "shop/test/new.yaml",
            "shop/test/pay.yaml",
            "web/prod/banner.yaml",
        ]
    );
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(file(&world, "web/prod/banner.yaml"), canonical(30));
    let new = file(&world, "shop/prod/new.yaml");
    assert!(new.starts_with("disabled: true\n") && new.ends_with("  defaultServe: {}\n"), "{new}");
    let reads = service.paths();
    let targetings = reads.iter().filter(|path| path.ends_with("/targeting")).count();
    assert_eq!(targetings, 5, "{reads:#?}");
    let mut validate = world.bare("validate").set("repo", world.repo.path());
    validate = validate.set("service-kind", "featureprobe");
    validate.exit(0).stdout_contains(&["checked 5 documents"]);
    service
        .import(&world)
        .arg("--overwrite")
        .exit(0)
        .stdout("0 written, 5 unchanged, 0 different\n")
        .stderr("");
}

#[test]
fn after_an_import_the_printed_commands_adopt_everything_and_the_next_plan_is_empty() {
    let world = World::new();
    let service = shops(&world);
    let printed = service.import(&world).exit(0).both();
    let commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 4, "{printed}");
    let plan = commands[2].replacen("plan", "plan --output json", 1);
    let is_empty = |plan: &str| {
        let plan: Value = serde_json::from_str(plan).unwrap();
        ["changes", "held", "orphans"].iter().all(|list| plan[list] == json!([]))
    };
    // Nothing is applied yet, and there is nothing to decide about either.
    run_copied(&world, &commands[..2]);
    let before = run_copied(&world, &[&plan]);
    assert!(is_empty(&before), "{before}");
    let stdout = run_copied(&world, &commands[2..]);
    assert!(stdout.contains("recorded without publishing: 5 toggles"), "{stdout}");
    assert!(is_empty(&run_copied(&world, &[&plan])));
    // Nothing was published.
    service.paths();
}

#[test]
fn a_literal_beginning_of_a_glob_limits_the_lists_that_are_read() {
    let world = World::new();
    let service = shops(&world);
    service
        .import(&world)
        .arg("shop/prod/*")
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .any_stderr();
    let paths = service.paths();
    let is_other = |path: &&String| path.contains("/web/") || path.contains("test");
    assert_eq!(paths.iter().find(is_other), None, "{paths:#?}");
    assert_eq!(files(&world), ["shop/prod/new.yaml", "shop/prod/pay.yaml"]);
    for (args, only) in [("typo/**", "**"), ("**", "typo/**")] {
        service
            .import(&world)
            .arg(args)
            .set("only", only)
            .exit(1)
            .stdout("0 written, 0 unchanged, 0 different\n")
            .stderr_contains(&["error: no toggle matches", "typo/**"]);
    }
}

#[test]
fn a_toggle_whose_values_a_draft_hides_is_imported_as_it_is_live() {
    let world = World::new();
    let service = shops(&world);
    let path = "/api/projects/shop/environments/prod/toggles/pay/targeting/approval";
    let setting =
        json!({ "approvalSettings": [{ "environmentKey": "prod", "enable": true, "reviewers": ["Admin"] }] });
    let draft =
        json!({ "content": content(99), "disabled": true, "comment": "draft", "reviewers": ["Admin"] });
    service.before("/api/projects", "PATCH", "/api/projects/shop/approvalSettings", &setting);
    service.before("/api/projects/shop/environments", "POST", path, &draft);
    service.import(&world).exit(0).stdout("5 written, 0 unchanged, 0 different\n").any_stderr();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    let paths = service.paths();
    assert!(paths.iter().any(|path| path.contains("/pay/targeting/versions/")), "{paths:#?}");
}

#[test]
fn archived_toggles_are_counted_and_not_read() {
    let world = World::new();
    let mut old = toggle("old", &[("prod", content(18))]);
    old["archived"] = true.into();
    let toggles = json!([old, toggle("pay", &[("prod", content(18))])]);
    let service = LiveService::start(&world, &json!([project("shop", &["prod"], &toggles)]));
    service
        .import(&world)
        .exit(0)
        .stdout(
            "skipped shop/prod/old (archived): restore it on the service to import it\n\
             \n\
             1 written, 0 unchanged, 0 different, 1 skipped (archived: 1)\n",
        )
        .any_stderr();
    assert_eq!(files(&world), ["shop/prod/pay.yaml"]);
    let paths = service.paths();
    assert!(!paths.iter().any(|path| path.contains("/old/")), "{paths:#?}");
}

#[test]
fn a_toggle_that_is_archived_while_the_import_runs_is_not_lost() {
    let world = World::new();
    let service = shops(&world);
    let target = "/api/projects/shop/toggles/pay/offline";
    service.before("/prod/toggles/pay/targeting", "PATCH", target, &Value::Null);
    service.import(&world).exit(0).stdout("5 written, 0 unchanged, 0 different\n").any_stderr();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
}

#[test]
fn a_document_that_differs_from_the_service_stays_unless_it_may_be_overwritten() {
    let world = World::new();
    let service = shops(&world);
    world.repo.write("shop/prod/pay.yml", crate::support::doc(1));
    service
        .import(&world)
        .arg("shop/prod/pay")
        .exit(0)
        .stdout(
            "different shop/prod/pay: the document has another meaning (shop/prod/pay.yml)\n\
             \n\
             0 written, 0 unchanged, 1 different\n",
        )
        .stderr("note: kept 1 different document; `--overwrite` replaces documents\n");
    service
        .import(&world)
        .arg("shop/prod/pay")
        .arg("--overwrite")
        .exit(0)
        .never_says(&["--first-pass"])
        .stderr_contains(&["\n  gitoggle plan --live ", "\n  gitoggle apply --repo "])
        .any_output();
    assert_eq!(file(&world, "shop/prod/pay.yml"), crate::support::doc(18));
}

#[test]
fn the_service_has_to_be_readable_and_known() {
    let world = World::new();
    super::import(&world).exit(64).stderr(
        "error: service kind: `import` reads the service only with `--service-kind featureprobe`; otherwise, give its JSON \
         with `--from`\n",
    );
    super::import(&world)
        .set("service-kind", "featureprobe")
        .exit(64)
        .stderr_contains(&["base url: missing", "token: missing"]);
    // Someone who can open a pull request must not redirect the token.
    world.repo.write("gitoggle.yaml", "base_url: https://evil.example\nservice_kind: featureprobe\n");
    super::import(&world)
        .set("config", world.repo.path().join("gitoggle.yaml"))
        .env("GITOGGLE_TOKEN", "t")
        .exit(64)
        .stderr_contains(&["a pull request could redirect secrets", "`base_url` (line 1)"]);
}

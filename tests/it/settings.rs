//! Settings: one name in three places, and one message for all mistakes.

use serde_json::json;

use crate::support::{Gitoggle, TOKEN, World, body};

/// A world in which a change of `pay` is pending.
fn waiting() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world
}

#[test]
fn flags_take_precedence_over_variables_and_variables_over_the_file() {
    let world = waiting();
    let config = world.write("gitoggle.yaml", "comment_max_chars: 3\n");
    let comment = |run: Gitoggle| {
        run.set("output", "json").exit(0).json()["changes"][0]["comment"].as_str().unwrap().to_owned()
    };
    let run = || world.plan();
    assert_eq!(comment(run()), "Change pay");
    assert_eq!(comment(run().set("config", &config)), "Ch…");
    let variable = || run().set("config", &config).env("GITOGGLE_COMMENT_MAX_CHARS", "4");
    assert_eq!(comment(variable()), "Cha…");
    assert_eq!(comment(variable().set("comment-max-chars", "5")), "Chan…");
    assert_eq!(
        comment(run().set("config", &config).env("GITOGGLE_COMMENT_MAX_CHARS", "")),
        "Ch…",
        "an empty variable is unset"
    );
    assert_eq!(comment(run().env("GITOGGLE_CONFIG", &config)), "Ch…", "the file may be named by a variable");
}

#[test]
fn every_setting_can_come_from_a_variable() {
    let world = waiting();
    world
        .bare("apply")
        .env("GITOGGLE_REPO", world.repo.path())
        .env("GITOGGLE_BASE_URL", world.service.url())
        .env("GITOGGLE_CA_FILE", world.ca())
        .env("GITOGGLE_STATE_DIR", world.state())
        .env("GITOGGLE_ONLY", "nothing/**  shop/**")
        .env("GITOGGLE_TOKEN", TOKEN)
        .exit(0)
        .any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_list_replaces_the_one_with_lower_precedence() {
    let world = waiting();
    world
        .apply()
        .env("GITOGGLE_ONLY", "shop/**")
        .set("only", "web/**")
        .exit(1)
        .stderr_contains(&["no toggle matches `--only` `web/**`"]);
    world.nothing_sent();
}

#[test]
fn every_mistake_is_reported_in_one_message() {
    let world = waiting();
    let config = world.write("gitoggle.yaml", "max_change_ratio: lots\nbase_urk: x\n");
    let ran = world
        .bare("run")
        .set("config", config)
        .set("base-url", "http://toggles.example.com")
        .env("GITOGGLE_POLL_INTERVAL", "30")
        .env("GITOGGLE_ON_REMOVE", "explode")
        .env("GITOGGLE_REPO", world.repo.path())
        .exit(64);
    ran.stderr_contains(&[
        "max_change_ratio",
        "base_urk",
        "base_url",
        "https",
        "GITOGGLE_POLL_INTERVAL",
        "unit",
        "GITOGGLE_ON_REMOVE",
        "explode",
        "GITOGGLE_TOKEN",
    ]);
    world.nothing_sent();
}

#[test]
fn a_missing_setting_is_reported_with_every_way_to_set_it() {
    let world = waiting();
    world.apply().unset("base-url").exit(64).stderr_contains(&["--base-url", "GITOGGLE_BASE_URL"]);
    world.apply().without_env("GITOGGLE_TOKEN").exit(64).stderr_contains(&["GITOGGLE_TOKEN", "--token-file"]);
    world.apply().env("GITOGGLE_TOKEN", "").exit(64).stderr_contains(&["GITOGGLE_TOKEN"]);
    world.nothing_sent();
}

#[test]
fn a_base_url_must_be_plain_https_even_on_loopback() {
    let world = waiting();
    for url in [
        "http://127.0.0.1:1".to_owned(),
        "http://toggles.example.com".to_owned(),
        format!("https://user:pw-5678@127.0.0.1:{}", world.service.port()),
        format!("{}/?a=b", world.service.url()),
        format!("{}/#part", world.service.url()),
        "toggles.example.com".to_owned(),
        "ftp://toggles.example.com".to_owned(),
    ] {
        world.apply().set("base-url", &url).exit(64).stderr_contains(&["base"]).never_says(&["pw-5678"]);
    }
    world.nothing_sent();
}

#[test]
fn a_secret_that_is_set_twice_is_an_error() {
    let world = waiting();
    let file = world.write("token", TOKEN);
    world
        .apply()
        .set("token-file", file)
        .exit(64)
        .stderr_contains(&["GITOGGLE_TOKEN", "token"])
        .never_says(&[TOKEN]);
    let config = world.write("gitoggle.yaml", "token: secret-in-a-file-999\n");
    world
        .apply()
        .set("config", config)
        .exit(64)
        .stderr_contains(&["token"])
        .never_says(&["secret-in-a-file-999"]);
    world.apply().set("token", "secret-in-a-flag-999").exit(64).any_output();
    world.nothing_sent();
}

#[test]
fn a_token_file_that_cannot_be_read_is_named() {
    let world = waiting();
    let run = || world.apply().without_env("GITOGGLE_TOKEN");
    run().set("token-file", world.path("nowhere")).exit(1).stderr_contains(&["$TMP/nowhere"]).any_stdout();
    run().set("token-file", world.root()).exit(1).stderr_contains(&["$TMP"]).any_stdout();
    world.nothing_sent();
    let file = world.write("token", &format!("{TOKEN}\n"));
    run().set("token-file", file).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_token_that_is_invalid_in_a_header_is_refused_without_printing_it() {
    let world = waiting();
    world
        .apply()
        .env("GITOGGLE_TOKEN", "first-half\nsecond-half")
        .exit(64)
        .never_says(&["first-half", "second-half"])
        .any_output();
    world.nothing_sent();
}

#[test]
fn unknown_keys_are_errors_and_unknown_variables_warnings() {
    let world = waiting();
    let config = world.write("gitoggle.yaml", "on_removal: keep\n");
    world.apply().set("config", config).exit(64).stderr_contains(&["on_removal", "on_remove"]);
    world.nothing_sent();
    world
        .apply()
        .env("GITOGGLE_ON_REMOVAL", "keep")
        .exit(0)
        .stderr_contains(&["GITOGGLE_ON_REMOVAL"])
        .any_stdout();
    world.service.take();
    world.apply().set("on-removal", "keep").exit(64).stderr_contains(&["--on-removal"]);
    world.bare("aply").exit(64).stderr_contains(&["aply", "apply"]);
    world.nothing_sent();
}

#[test]
fn an_unknown_flag_or_command_is_json_if_the_output_is() {
    let world = World::new();
    let error = |run: Gitoggle| run.exit(64).any_stderr().json()["error"].clone();
    for run in [
        world.bare("plan").args("-o json --frm main"),
        world.bare("plan").args("--frm main --output=json"),
        world.bare("plan").args("--frm main -ojson"),
        world.bare("plan").args("--frm main").env("GITOGGLE_OUTPUT", "json"),
    ] {
        let expected = json!({
            "message": "unexpected argument '--frm' found",
            "causes": [],
            "hint": "a similar argument exists: '--from'",
        });
        assert_eq!(error(run), expected);
    }
    let unknown = error(world.bare("pln").args("-o json"));
    assert!(unknown["message"].as_str().unwrap().contains("'pln'"), "{unknown}");
    for run in [
        world.bare("plan").args("-o human --frm main").env("GITOGGLE_OUTPUT", "json"),
        world.bare("plan").args("--frm main -- -o json"),
    ] {
        run.exit(64).stdout("").stderr_contains(&["'--frm'"]);
    }
}

#[test]
fn a_file_that_is_not_flat_yaml_is_an_error() {
    let world = waiting();
    for text in ["- a list\n", "repo: [\n", "repo: { nested: true }\n", "repo: a\nrepo: b\n"] {
        let config = world.write("gitoggle.yaml", text);
        world.apply().set("config", config).exit(64).stderr_contains(&["gitoggle.yaml"]);
    }
    world.apply().set("config", world.path("nowhere.yaml")).exit(64).stderr_contains(&["nowhere.yaml"]);
    world.nothing_sent();
}

#[test]
fn a_file_in_the_repository_can_change_the_plan_but_not_where_secrets_go() {
    let world = World::with_pay_applied();
    world.repo.file("gitoggle.yaml", "comment_max_chars: 3\non_remove: disable\n").commit_pay(21, "Shape it");
    let config = world.repo.path().join("gitoggle.yaml");
    world.apply().set("config", &config).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Sh…"))]);

    for (key, value) in [
        ("base_url", "https://evil.example"),
        ("token_file", "/etc/passwd"),
        ("ca_file", "evil.pem"),
        ("state_remote", "https://evil.example/state.git"),
        ("git_username", "evil"),
        ("git_password_file", "/etc/passwd"),
    ] {
        world.repo.write("gitoggle.yaml", format!("{key}: {value}\n"));
        world.apply().set("config", &config).exit(64).stderr_contains(&[key, "gitoggle.yaml"]);
        // A link from outside of the repository does not change that.
        let link = world.path(&format!("link-{key}.yaml"));
        std::os::unix::fs::symlink(&config, &link).unwrap();
        world.apply().set("config", &link).exit(64).stderr_contains(&[key]);
    }
    world.nothing_sent();
}

#[test]
fn booleans_and_durations_are_parsed_strictly() {
    let world = waiting();
    world.apply().env("GITOGGLE_FIRST_PARENT", "yes").exit(64).stderr_contains(&[
        "GITOGGLE_FIRST_PARENT",
        "true",
        "false",
    ]);
    world.apply().set("timeout", "10").exit(64).stderr_contains(&["--timeout", "10"]);
    world.apply().set("timeout", "0s").exit(64).stderr_contains(&["--timeout"]);
    world.apply().set("max-change-ratio", "1.5x").exit(64).stderr_contains(&["--max-change-ratio"]);
    world.apply().set("max-in-flight", "0").exit(64).stderr_contains(&["--max-in-flight"]);
    world.apply().set("only", "[").exit(64).stderr_contains(&["--only"]);
    world
        .apply()
        .set("layout", "{project}/{toggle}.yaml")
        .exit(64)
        .stderr_contains(&["--layout", "{environment}"]);
    world.nothing_sent();
}

#[test]
fn a_flag_can_turn_a_switch_off() {
    let world = waiting();
    world.plan().env("GITOGGLE_FIRST_PARENT", "true").arg("--no-first-parent").exit(0).any_output();
}

/// Silence would look like agreement.
#[test]
fn sdks_that_warn_of_nothing_are_named() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let warning = "`sdks` warns of nothing with `service_kind: documented`";
    world.validate().set("sdks", "node").exit(0).any_stdout().stderr_contains(&[warning]);
    for (sdks, kind) in [("python node java go rust", "documented"), ("node", "featureprobe")] {
        let ran = world.validate().set("sdks", sdks).set("service-kind", kind).exit(0);
        assert!(!ran.both().contains(warning));
    }
    // These evaluate as the first SDK does, whatever the service is.
    let commands = [("explain", "shop/prod/pay"), ("test", "--allow-empty")];
    for (command, args) in commands {
        let ran = world.bare(command).set("repo", world.repo.path()).args(args).set("sdks", "node");
        assert!(!ran.exit(0).both().contains(warning), "{command}");
    }
}

//! No output contains a secret, at any log level.

use crate::support::files::holding;
use crate::support::{Answer, TOKEN, World};

#[test]
fn the_token_is_in_no_output_and_in_no_file() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.answers([
        Answer::status(500),
        // The service repeats the token in its response.
        Answer::json(400, &format!(r#"{{"message": "bad token {TOKEN}"}}"#)),
    ]);
    for level in ["-vv", "-v", "--log-level=debug"] {
        let run = world.apply().arg(level).env("RUST_LOG", "trace").env("SSLKEYLOGFILE", world.path("keys"));
        let code = if level == "-vv" { 1 } else { 0 };
        let printed = run.exit(code).both();
        assert!(!printed.contains(TOKEN), "{level}: {printed}");
        assert!(!printed.to_lowercase().contains("authorization"), "{level}: {printed}");
        world.repo.commit_pay(22, "Change pay again");
    }
    world.plan().env("GITOGGLE_TOKEN", TOKEN).arg("-vv").exit(0).never_says(&[TOKEN]).any_output();
    assert_eq!(holding(world.root(), TOKEN), Vec::<std::path::PathBuf>::new());
}

#[test]
fn rust_log_does_not_raise_the_level_of_http_and_tls() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let printed = world.apply().env("RUST_LOG", "trace,hyper=trace,rustls=trace,h2=trace").exit(0).both();
    for word in ["hyper", "rustls", "h2::"] {
        assert!(!printed.contains(word), "{word} in {printed}");
    }
}

#[test]
fn a_json_log_is_json_line_by_line() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change\npay");
    let mut child = world.apply().set("log-format", "json").start_piped();
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(0));
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    for line in stderr.lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value.is_object());
    }
}

#[test]
fn passwords_in_urls_are_refused_and_not_shown() {
    let world = World::new();
    for url in
        ["https://user:pw-5678@git.example.com/toggles.git", "ssh://user:pw-5678@git.example.com/toggles.git"]
    {
        for setting in ["repo", "state-remote"] {
            world.plan().set(setting, url).exit(64).stderr_contains(&["password"]).never_says(&["pw-5678"]);
        }
    }
}

#[test]
fn a_device_or_a_pipe_is_neither_a_secret_file_nor_read_without_end() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let pipe = world.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for (setting, file, code, message) in [
        ("token-file", "/dev/zero", 1, "`/dev/zero` is not a regular file"),
        ("token-file", pipe.to_str().unwrap(), 1, "is not a regular file"),
        ("config", "/dev/zero", 64, "is larger than"),
        ("ca-file", "/dev/zero", 64, "is larger than"),
    ] {
        let apply = match setting {
            "token-file" => world.apply().without_env("GITOGGLE_TOKEN"),
            _ => world.apply(),
        };
        apply.set(setting, file).exit(code).stderr_contains(&[message]).any_stdout();
    }
    world.nothing_sent();
}

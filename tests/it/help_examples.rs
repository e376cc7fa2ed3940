//! The examples of the help texts: each one that can run here works when copied.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use gitoggle::cli::args;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::support::{ADMIN, Daemon, doc};

/// Examples that do not run here, by a part of them, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("gitoggle demo", "it takes a minute; `tests/it/demo` runs it"),
    ("gitoggle plan --pull-request", "it needs the variables of a CI job; `tests/it/pull_request` runs it"),
    ("gitoggle run ", "it does not end; `tests/it/deploy` runs these configurations"),
    ("gitoggle sandbox", "it does not end; the manual's tour runs it"),
    ("kubectl ", "it needs a cluster"),
];

/// Examples that end with another code than 0 here.
const CODES: &[(&str, i32)] = &[
    ("gitoggle diff shop/staging shop/production --detailed-exitcode", 2),
    // Nothing is withheld for these reasons.
    ("gitoggle allow mass-change", 1),
    ("gitoggle allow history", 1),
];

/// Returns the examples in the help of a command, each without its note.
fn examples(command: &clap::Command) -> Vec<String> {
    let help = command.clone().term_width(400).render_long_help().to_string();
    let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
    let examples = examples.split("\n\nRead more").next().unwrap_or_default();
    let blocks = examples.split("\n\n").filter_map(|block| block.split_once('\n'));
    blocks.map(|(_, line)| line.replace("\\\n", " ").trim().to_owned()).collect()
}

/// A repository with an origin, and what the examples name in it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::readable();
    let world = &sandbox.world;
    let repo = &world.repo;
    for toggle in ["new-checkout", "pay", "sale"] {
        repo.file(&format!("shop/production/{toggle}.yaml"), doc(18));
    }
    for toggle in ["checkout-button", "pay"] {
        repo.file(&format!("shop/staging/{toggle}.yaml"), doc(21));
    }
    repo.file("shop/production/pay.test.yaml", "- { name: adults, given: { age: 30 }, serves: \"on\" }\n");
    repo.commit("Add the toggles");
    repo.clone_bare(&world.path("origin.git"));
    let origin = world.path("origin.git");
    repo.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    repo.git(&["fetch", "--quiet", "origin"]);
    repo.write("users.csv", "key,age\nann,30\n");
    let content = crate::support::content(18);
    let document = json!({ "disabled": false, "content": content });
    repo.write("exported/shop/production/exported.json", document.to_string());
    let line = json!({ "toggle": "shop/production/line", "disabled": false, "content": content });
    repo.write("toggles.jsonl", format!("{line}\n"));
    // The service has what is documented.
    let apply = sandbox.apply().set("service-kind", "featureprobe").set("on-missing", "create");
    apply.set("first-pass", "assert").exit(0).any_output();
    std::fs::rename(world.state(), world.path("state-of-another")).unwrap();
    sandbox
}

fn variables(sandbox: &Sandbox, daemon: &Daemon) -> BTreeMap<&'static str, String> {
    let path = |name: &str| sandbox.world.path(name).to_str().unwrap().to_owned();
    let programs = Path::new(env!("CARGO_BIN_EXE_gitoggle")).parent().unwrap();
    BTreeMap::from([
        ("GITOGGLE_ADMIN_TOKEN", ADMIN.to_owned()),
        ("GITOGGLE_BASE_URL", sandbox.url()),
        ("GITOGGLE_CA_FILE", path("ca.pem")),
        ("GITOGGLE_FIRST_PASS", "assert".to_owned()),
        ("GITOGGLE_ON_MISSING", "create".to_owned()),
        ("GITOGGLE_SERVICE_KIND", "featureprobe".to_owned()),
        ("GITOGGLE_STATE_DIR", path("examples-state")),
        ("GITOGGLE_TOKEN", "for-this-test".to_owned()),
        ("GITOGGLE_URL", format!("http://{}", daemon.endpoint.address())),
        ("HOME", path("home")),
        ("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap())),
    ])
}

/// Returns the example with the hosts and files of this test in place of those that it names.
fn adapted(line: &str, sandbox: &Sandbox, daemon: &Daemon) -> String {
    let suspend = "gitoggle suspend shop/production > /dev/null && gitoggle resume";
    line.replace("https://toggles.example.com", &sandbox.url())
        .replace("https://gitoggle.example.com", &format!("http://{}", daemon.endpoint.address()))
        .replace("https://127.0.0.1:8443 --ca-file ca.pem", &sandbox.url())
        .replace("> /etc/", "> ~/etc/")
        .replace("| man -l -", "| grep -q NAME")
        .replace("gitoggle resume", suspend)
}

#[test]
fn every_example_of_a_help_text_works_when_copied() {
    let sandbox = sandbox();
    let world = &sandbox.world;
    let daemon = Daemon::start(world, |run| sandbox.connected(run));
    daemon.becomes("shop/production/pay", "held");
    let home = world.path("home");
    for folder in [".zfunc", ".config/fish/completions", "etc/bash_completion.d"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let mut program = args::program();
    program.build();
    let mut commands: Vec<_> = program.get_subcommands().collect();
    // Those that need what was applied come after `apply`, and then those that change the work tree.
    let late = ["drift", "log", "status", "fmt", "init", "import", "promote", "resume"];
    let place = |name: &str| late.iter().position(|late| *late == name);
    commands.sort_by_key(|one| place(one.get_name()).map_or(0, |at| at + 1));
    let variables = variables(&sandbox, &daemon);
    let mut failed = Vec::new();
    let mut count = 0;
    for line in commands.into_iter().flat_map(examples) {
        if NOT_RUN.iter().any(|(part, _)| line.starts_with(part)) {
            continue;
        }
        let here = adapted(&line, &sandbox, &daemon);
        // It begins a new repository.
        let folder = match line.starts_with("gitoggle init") {
            true => home.as_path(),
            false => world.repo.path(),
        };
        let mut shell = Command::new("bash");
        let run = shell.args(["-c", &here]).env_clear().envs(&variables);
        if line.contains("--state-remote") {
            run.env("GITOGGLE_STATE_DIR", world.path("shared-state"));
        }
        let output = run.current_dir(folder).output().unwrap();
        let code = CODES.iter().find(|(part, _)| line.starts_with(part));
        if output.status.code() != Some(code.map_or(0, |(_, code)| *code)) {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            failed.push(format!("{here}: {}: {error}", output.status));
        }
        count += 1;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count > 50, "{count}");
}

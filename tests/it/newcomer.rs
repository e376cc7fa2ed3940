//! The errors of a first attempt: what was attempted, the cause in plain words, and what to try.

use crate::support::{ADMIN, World};

/// Words of libraries that mean nothing to a user.
const FOREIGN: &[&str] =
    &["os error", "class=", "code=", "at path", "lookup address", "relative URL", "Error {"];

fn world() -> World {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world
}

#[test]
fn a_service_that_cannot_be_reached_is_named_with_its_port() {
    let world = world();
    let apply = |url: &str| {
        let apply = world.apply().set("base-url", url).set("first-pass", "assert");
        apply.set("give-up-after", "1s").set("timeout", "2s")
    };
    let refused = apply("https://127.0.0.1:1").exit(1).never_says(FOREIGN);
    refused.says(&["could not connect to `127.0.0.1:1`: Connection refused\n"]);
    let unknown = apply("https://no-such-host.invalid").exit(1).never_says(FOREIGN);
    unknown.says(&["could not connect to `no-such-host.invalid`: its host name could not be resolved ("]);
    let proxied = apply("https://toggles.example.com").env("HTTPS_PROXY", "http://127.0.0.1:1");
    let proxied = proxied.exit(1).never_says(FOREIGN);
    proxied.says(&["the proxy `http://127.0.0.1:1` is unreachable: Connection refused\n"]);
}

#[test]
fn a_base_url_that_cannot_be_one_is_explained() {
    let world = world();
    for (url, text) in [
        ("toggles.example.com", "this is not a URL; write `https://…`"),
        (
            "http://127.0.0.1:1",
            "write `https://…`; `http` is refused, because it would send secrets unencrypted, also within a cluster and on loopback",
        ),
        ("https://me:pw@t.example", "the URL must not contain a user or password"),
        ("https://t.example/?a", "the URL must not have a query or a fragment"),
    ] {
        let expected = format!("error: --base-url: {text}\n");
        world.apply().set("base-url", url).exit(64).stdout("").stderr(&expected);
    }
    world.nothing_sent();
}

#[test]
fn a_missing_ca_file_is_reported_even_if_nothing_is_sent() {
    let world = World::with_pay_applied();
    let missing = world.path("nowhere");
    let damaged = "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n";
    for (file, message) in [
        (missing.clone(), "could not read the CA file `$TMP/nowhere`"),
        (world.write("empty", ""), "does not contain a PEM certificate"),
        (world.write("damaged", damaged), "could not read the CA file `$TMP/damaged`"),
        (
            world.write("half", &damaged.replace('%', "eHg=")),
            "could not read the CA file `$TMP/half`\n  caused by: a certificate in it is malformed",
        ),
    ] {
        let reconcile = world.bare("reconcile").env("GITOGGLE_ADMIN_TOKEN", ADMIN);
        for run in [world.apply(), world.daemon(), reconcile] {
            run.set("ca-file", &file).exit(64).stdout("").stderr_contains(&[message]);
        }
    }
    // These contact no host.
    world.plan().set("ca-file", &missing).exit(0).any_output();
    world.status().set("ca-file", &missing).exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_named() {
    let world = world();
    let missing = world.path("nowhere");
    let apply = world.apply().set("first-pass", "assert").set("ca-file", &missing);
    apply.exit(64).stdout("").stderr(
        "error: could not read the CA file `$TMP/nowhere`\n  \
         caused by: No such file or directory\n\
         hint: pass a PEM file that this user can read as `--ca-file`\n",
    );
    for (line, text) in [
        (
            "demo --no-pause --keep /dev/null/a",
            "error: could not create the folder `/dev/null/a`\n  caused by: Not a directory\n",
        ),
        (
            "sandbox --listen 127.0.0.1:0 --ca-out /proc/ca.pem",
            "error: could not write the sandbox's CA file `/proc/ca.pem`\n  caused by: No such file or directory\n",
        ),
        ("init /dev/null/a", "error: could not create `/dev/null/a`\n  caused by: Not a directory\n"),
        ("validate nowhere", "error: could not check `nowhere`\n  caused by: No such file or directory\n"),
    ] {
        world.bare(line).exit(1).stdout("").stderr(text);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let world = world();
    for line in ["schema", "man", "completions zsh"] {
        world
            .bare(line)
            .after("exec > /dev/full")
            .exit(1)
            .stdout("")
            .stderr("error: could not write to stdout\n  caused by: No space left on device\n");
    }
}

#[test]
fn a_misspelled_environment_has_a_hint() {
    let world = world();
    let diff = world.bare("diff shop/prod shop/nope").set("repo", world.repo.path());
    diff.exit(1).stdout("").stderr(
        "error: `shop/nope` has no document\n\
         hint: check the name of the environment, `--root` and `--layout`\n",
    );
}

#[test]
fn a_folder_without_a_repository_is_named_by_every_command_that_needs_one() {
    let world = World::new();
    for line in ["plan", "status", "apply --base-url https://t.example"] {
        let run = world.bare(line).env("GITOGGLE_TOKEN", "t");
        run.exit(1).stdout("").stderr(
            "error: could not read the source\n  \
             caused by: could not find a repository at `.`\n\
             hint: pass the top folder of a work tree, a bare repository, or a URL as `--repo`\n",
        );
    }
}

#[test]
fn color_follows_the_variables() {
    let world = world();
    let colored = |name: &str, value: &str| {
        let validate = world.validate().env(name, value);
        world.repo.file("shop/prod/bad.yaml", "disabled: maybe\n").commit("Break");
        validate.exit(3).any_stderr().any_stdout().both().contains('\u{1b}')
    };
    assert!(colored("CLICOLOR_FORCE", "1"));
    assert!(!colored("CLICOLOR_FORCE", "0"));
    assert!(!colored("NO_COLOR", "1"));
}

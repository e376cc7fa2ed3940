//! Verified commits: what is signed by a trusted key, and how everything else is refused.

use std::path::PathBuf;

use crate::support::git_host::Door;
use crate::support::keys::{Gnupg, SshKey, tamper};
use crate::support::{Daemon, Gitoggle, Remote, World, body};

/// Returns a world with a toggle that was applied, and a key of Alice in the file of allowed signers.
fn with_alice() -> (World, SshKey, PathBuf) {
    let world = World::with_pay_applied();
    let alice = SshKey::new(&world, "alice");
    let file = world.write("signers", &alice.line("alice@example.com", ""));
    (world, alice, file)
}

/// Stages the document of `pay` that asks for this age.
fn stage(world: &World, age: u32) {
    world.repo.file("shop/prod/pay.yaml", crate::support::doc(age));
}

/// Asserts that nothing is sent because of `reasons`, and that `plan` and `status` note it.
#[track_caller]
fn is_refused(world: &World, with: impl Fn(Gitoggle) -> Gitoggle, reasons: &[&str]) {
    with(world.apply()).exit(4).stderr_contains(reasons).stderr_contains(&["error: ", "hint: "]);
    for run in [world.plan(), world.status()] {
        let run = with(run).exit(0).stderr_contains(&["`apply` sends nothing: "]).stderr_contains(reasons);
        run.any_stdout();
    }
    world.nothing_sent();
}

#[test]
fn a_revision_is_published_once_an_ssh_key_signed_it() {
    let (world, alice, file) = with_alice();
    let apply = || world.apply().set("allowed-signers", &file);
    stage(&world, 21);
    world.repo.commit("Change pay");
    let short = &world.repo.head()[..10];
    apply().also(&format!("'Approve {short}'"), "'Approve SHORT'").exit(4).stderr(
        "error: revision <rev> is not signed\n\
         hint: to publish it, add a commit that a key in `$TMP/signers` signs: `git commit --allow-empty \
         --gpg-sign --message 'Approve SHORT'`\n",
    );
    world.nothing_sent();
    is_refused(&world, |run| run.set("allowed-signers", &file), &["revision <rev> is not signed"]);
    let json = apply().set("output", "json").exit(4).json();
    assert!(json["error"]["message"].as_str().unwrap().ends_with("is not signed"), "{json}");
    apply().arg("--exit-zero-when-held").exit(0).any_stderr();
    world.nothing_sent();
    // As the hint says.
    alice.commit(&world, "Approve");
    apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    let log = || world.bare("log").set("repo", world.repo.path()).set("state-dir", world.state());
    log().exit(0).stdout_contains(&["\n  signed by alice@example.com (SHA256:"]);
    let json = log().set("output", "json").exit(0).json();
    let signer = json["deployments"][0]["signer"].as_str().unwrap();
    assert!(signer.starts_with("alice@example.com (SHA256:"), "{json}");
    assert!(json["deployments"][1].get("signer").is_none(), "{json}");
}

#[test]
fn unknown_expired_and_unsuitable_ssh_keys_and_changed_commits_are_refused() {
    let (world, alice, file) = with_alice();
    let signers = |text: &str| std::fs::write(&file, text).unwrap();
    let trusting = |run: Gitoggle| run.set("allowed-signers", &file);
    let eve = SshKey::new(&world, "eve");
    stage(&world, 21);
    eve.commit(&world, "Change pay");
    is_refused(
        &world,
        trusting,
        &[
            "is signed by a key that is not trusted, SHA256:",
            "if that key is trusted, add it to `$TMP/signers`",
        ],
    );
    signers(&eve.line("eve@example.com", "valid-before=\"20200101\""));
    is_refused(
        &world,
        trusting,
        &["is signed by a key that is not trusted, SHA256:", " ($TMP/signers:1: key has expired"],
    );
    signers(&eve.line("eve@example.com", "namespaces=\"file\""));
    is_refused(&world, trusting, &["key is not permitted for use in signature namespace"]);
    signers("");
    is_refused(&world, trusting, &["not trusted"]);
    signers(&alice.line("alice@example.com", ""));
    alice.commit(&world, "Approve it");
    tamper(&world, "Approve it", "Approve all");
    is_refused(&world, trusting, &["was changed after it was signed: the signature is wrong"]);
    std::fs::remove_file(&file).unwrap();
    is_refused(
        &world,
        trusting,
        &["could not read the trusted SSH keys in `$TMP/signers`", "check `--allowed-signers`"],
    );
    // A key that is trusted later.
    world.repo.force("HEAD~1");
    signers(&eve.line("eve@example.com", ""));
    trusting(world.apply()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn only_valid_openpgp_keys_of_the_keyring_count() {
    let world = World::with_pay_applied();
    let user = Gnupg::new(&world);
    let ada = user.key("Ada <ada@example.com>", "never");
    user.key("Expired <expired@example.com>", "2024-06-01");
    user.key("Revoked <revoked@example.com>", "never");
    user.key("Bob <bob@example.com>", "never");
    let file = world.write("keyring", &ada);
    // The keys of the user who runs gitoggle do not count.
    let trusting = |run: Gitoggle| run.set("gpg-keyring", &file).env("GNUPGHOME", user.home());
    stage(&world, 21);
    user.commit(&world, "bob@example.com", "Change pay");
    let unknown = format!("is signed by a key that is not trusted, {}", user.fingerprint("bob@example.com"));
    is_refused(&world, trusting, &[&unknown, "add it to `$TMP/keyring`"]);
    user.commit(&world, "expired@example.com", "Approve");
    let all = ["ada", "expired", "revoked"].map(|name| user.export(&format!("{name}@example.com"))).concat();
    std::fs::write(&file, all).unwrap();
    is_refused(
        &world,
        trusting,
        &["is signed by the key of Expired <expired@example.com> (", "which has expired"],
    );
    user.commit(&world, "revoked@example.com", "Approve");
    user.revoke("revoked@example.com");
    std::fs::write(&file, ada + &user.export("revoked@example.com")).unwrap();
    is_refused(
        &world,
        trusting,
        &["is signed by the key of Revoked <revoked@example.com> (", "which was revoked"],
    );
    user.commit(&world, "ada@example.com", "Approve it");
    let approved = world.repo.head();
    tamper(&world, "Approve it", "Approve all");
    is_refused(&world, trusting, &["was changed after it was signed"]);
    world.repo.force(&approved);
    let keys = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "no keys").unwrap();
    is_refused(
        &world,
        trusting,
        &["could not import the trusted OpenPGP keys in `$TMP/keyring`", "gpg --armor --export"],
    );
    std::fs::write(&file, keys).unwrap();
    trusting(world.apply()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    let signer = format!("signed by Ada <ada@example.com> ({})", user.fingerprint("ada@example.com"));
    let log = world.bare("log").set("repo", world.repo.path()).set("state-dir", world.state());
    log.exit(0).stdout_contains(&[&signer]);
}

#[test]
fn only_the_configured_kind_of_key_counts() {
    let (world, alice, signers) = with_alice();
    let user = Gnupg::new(&world);
    let keyring = world.write("keyring", &user.key("Ada <ada@example.com>", "never"));
    stage(&world, 21);
    user.commit(&world, "ada@example.com", "Change pay");
    let of_ssh = |run: Gitoggle| run.set("allowed-signers", &signers).env("GNUPGHOME", user.home());
    is_refused(
        &world,
        of_ssh,
        &["is signed with an OpenPGP key, and no OpenPGP key is trusted", "`--gpg-keyring`"],
    );
    world.apply().env("GITOGGLE_ALLOWED_SIGNERS", &signers).set("gpg-keyring", &keyring).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    stage(&world, 22);
    alice.commit(&world, "Change it");
    is_refused(
        &world,
        |run| run.set("gpg-keyring", &keyring),
        &["is signed with an SSH key", "`--allowed-signers`"],
    );
    let config = world.write("config.yaml", &format!("allowed_signers: {}\n", signers.display()));
    world.apply().set("config", config).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(22, "Change it"))]);
}

#[test]
fn no_program_that_the_source_names_is_executed_and_a_missing_one_is_named() {
    let (world, alice, signers) = with_alice();
    let user = Gnupg::new(&world);
    let keyring = world.write("keyring", &user.key("Ada <ada@example.com>", "never"));
    let marker = world.path("executed");
    world.write_program(
        "yes",
        &format!("#!/bin/sh\ntouch {}\necho '[GNUPG:] GOODSIG 1 Eve'\n", marker.display()),
    );
    let program = world.path("yes").display().to_string();
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"] {
        world.repo.git(&["config", key, &program]);
    }
    world.repo.git(&["config", "gpg.ssh.allowedSignersFile", &world.path("mallory").display().to_string()]);
    let trusting = |run: Gitoggle| run.set("allowed-signers", &signers).set("gpg-keyring", &keyring);
    let mallory = SshKey::new(&world, "eve");
    world.write("mallory", &mallory.line("alice@example.com", ""));
    stage(&world, 21);
    world.repo.git(&["config", "gpg.ssh.program", "ssh-keygen"]);
    mallory.commit(&world, "Change pay");
    world.repo.git(&["config", "gpg.ssh.program", &program]);
    is_refused(&world, trusting, &["not trusted"]);
    // Only `git` is left.
    std::fs::create_dir(world.path("bin")).unwrap();
    let git =
        String::from_utf8(std::process::Command::new("which").arg("git").output().unwrap().stdout).unwrap();
    std::os::unix::fs::symlink(git.trim(), world.path("bin/git")).unwrap();
    let bare = |run: Gitoggle| trusting(run).env("PATH", world.path("bin"));
    is_refused(&world, bare, &["could not run `ssh-keygen`", "install the package `openssh-client`"]);
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program"] {
        world.repo.git(&["config", "--unset", key]);
    }
    user.commit(&world, "ada@example.com", "Approve");
    is_refused(&world, bare, &["could not run `gpg`", "install the package `gnupg`"]);
    trusting(world.apply()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    alice.commit(&world, "Nothing");
    trusting(world.apply()).exit(0).any_output();
    assert!(!marker.exists());
}

#[test]
fn a_daemon_says_why_it_is_not_ready_and_continues_with_the_next_signed_commit() {
    let (world, alice, file) = with_alice();
    let eve = SshKey::new(&world, "eve");
    stage(&world, 21);
    alice.commit(&world, "Change pay");
    let daemon = Daemon::ready(&world, |run| {
        run.set("allowed-signers", &file).set("poll-interval", "200ms").set("log-format", "json")
    });
    world.service.wait_for(1);
    daemon.says(&["\"verified\"", "alice@example.com (SHA256:"]);
    stage(&world, 22);
    world.repo.commit("Change it without a signature");
    daemon.is_unready_for(&["revision ", "is not signed", "git commit --allow-empty --gpg-sign"]);
    daemon.says(&["pass_failed", "is not signed"]);
    assert!(daemon.endpoint.get("/").unwrap().body.contains("is not signed"));
    eve.commit(&world, "Sign it with another key");
    daemon.is_unready_for(&["is signed by a key that is not trusted, SHA256:"]);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    // A key that is trusted later needs no restart.
    let both = alice.line("alice@example.com", "") + &eve.line("eve@example.com", "");
    std::fs::write(&file, both).unwrap();
    daemon.is_ready();
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(22, "Change it without a signature"))]);
    daemon.says(&["recovered"]);
    let history = daemon.endpoint.get("/api/history").unwrap().json();
    assert!(history["deployments"][0]["signer"].as_str().unwrap().starts_with("eve@"), "{history}");
    assert!(daemon.endpoint.get("/").unwrap().body.contains("signed by eve@example.com"));
    assert_eq!(daemon.said("\"verified\""), 2, "each revision is verified once");
    daemon.stops_cleanly();
}

#[test]
fn files_of_keys_in_the_source_are_rejected() {
    let (world, _, _) = with_alice();
    for flag in ["allowed-signers", "gpg-keyring"] {
        let inside = world.repo.path().join("keys");
        world.repo.write("keys", "");
        for run in [world.apply(), world.plan(), world.status(), world.daemon()] {
            run.set(flag, &inside).exit(64).says(&[
                &format!("--{flag}"),
                "in the work tree of the repository `$REPO`, where a pull request could add a key",
                "/etc/gitoggle/",
            ]);
        }
        let key = flag.replace('-', "_");
        world.repo.write("config.yaml", format!("{key}: /etc/keys\n"));
        let config = world.repo.path().join("config.yaml");
        world.apply().set("config", config).exit(64).says(&["it must not set", &key]);
    }
    world.nothing_sent();
}

#[test]
fn a_branch_that_is_moved_back_to_an_older_signed_commit_is_not_followed_unless_set_otherwise() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let alice = SshKey::new(world, "alice");
    let file = world.write("signers", &alice.line("alice@example.com", ""));
    let push = || {
        let hosted = world.path("hosted/toggles.git").display().to_string();
        world.repo.git(&["push", "-q", "--force", &hosted, "HEAD:main"]);
    };
    let publish = |age: u32| {
        stage(world, age);
        alice.commit(world, &format!("Ask for {age} years"));
        push();
        world.repo.head()
    };
    let older = publish(21);
    let run = |history: Option<&str>| {
        Daemon::start(world, |run| {
            let run =
                run.set("repo", remote.url()).set("poll-interval", "200ms").set("allowed-signers", &file);
            history.into_iter().fold(run, |run, rule| run.set("history", rule))
        })
    };
    let daemon = run(None);
    world.service.wait_for(1);
    world.service.take();
    daemon.is_ready();
    publish(22);
    world.service.wait_for(1);
    world.service.take();
    daemon.is_ready();
    world.repo.force(&older);
    push();
    daemon.is_unready_for(&["history was rewritten", "--allowed-signers"]);
    world.nothing_sent();
    daemon.stops_cleanly();
    let plan = remote.plan().set("allowed-signers", &file).set("state-dir", world.state());
    plan.exit(0)
        .stderr_contains(&["`apply` sends nothing"])
        .stdout_contains(&["\nnothing is sent, waiting: 1 "])
        .never_says(&["to publish"]);
    let daemon = run(Some("follow"));
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}

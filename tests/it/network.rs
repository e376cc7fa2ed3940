//! Sources and state on other hosts: HTTPS and ssh.

use std::path::{Path, PathBuf};

use crate::support::git_host::{self, Door};
use crate::support::remote::LOOKUP;
use crate::support::{Answer, Remote, Repo, TOKEN, World, body, doc};

/// The header value of `ada:pw-5678`.
const ADA: &str = "Basic YWRhOnB3LTU2Nzg=";

#[test]
fn a_repository_on_another_host_is_mirrored_and_a_remote_that_has_not_moved_is_not_fetched() {
    let remote = Remote::settled(Door::Open);
    remote.apply().exit(0).any_output();
    assert_eq!(remote.asked(), LOOKUP);

    remote.push(21, "Ask for 21 years");
    remote.apply().exit(0).any_output();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    let asked = remote.asked();
    assert!(asked.len() > LOOKUP.len(), "{asked:?}");
}

#[test]
fn a_ca_file_with_a_byte_order_mark_is_read() {
    let remote = Remote::new(Door::Open);
    let marked = format!("\u{feff}{}", std::fs::read_to_string(remote.world.ca()).unwrap());
    let marked = remote.world.write("marked.pem", &marked);
    remote.apply().set("ca-file", marked).set("first-pass", "assert").exit(0).any_output();
}

#[test]
fn a_plan_reads_new_commits_without_changing_the_mirror() {
    let remote = Remote::settled(Door::Open);
    remote.push(21, "Ask for 21 years");
    // The clone of the plan is made in the state folder, and removed: only the times of the folder change.
    let listing = || {
        let mut all = crate::support::files::listing(&remote.world.state());
        all.retain(|path, _| *path != remote.world.state());
        all
    };
    let before = listing();
    remote.plan().exit(0).says(&["Ask for 21 years"]);
    assert_eq!(listing(), before);
    remote.world.nothing_sent();
}

#[test]
fn credentials_are_sent_to_the_host_of_the_repository() {
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    remote.apply().exit(1).any_output();
    let password = remote.world.write("password", "pw-5678\n");
    let signed_in = || {
        remote
            .apply()
            .set("first-pass", "assert")
            .set("git-username", "ada")
            .arg("-vv")
            .env("RUST_LOG", "trace")
    };
    signed_in()
        .set("git-password-file", password)
        .exit(0)
        .never_says(&["pw-5678", "YWRhOnB3LTU2Nzg="])
        .any_output();
    signed_in()
        .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
        .exit(0)
        .never_says(&["pw-5678", "YWRhOnB3LTU2Nzg="])
        .any_output();
    remote.world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    assert_eq!(crate::support::files::holding(&remote.world.state(), "pw-5678"), Vec::<PathBuf>::new());
}

#[test]
fn wrong_credentials_are_tried_once() {
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    remote
        .apply()
        .env("GITOGGLE_GIT_PASSWORD", "wrong-4321")
        .exit(1)
        .stderr_contains(&["127.0.0.1"])
        .never_says(&["wrong-4321"])
        .any_stdout();
    let with_credentials =
        remote.host.take().iter().filter(|request| request.header("authorization").is_some()).count();
    assert_eq!(with_credentials, 1);
    remote.world.nothing_sent();
}

#[test]
fn a_host_with_an_untrusted_certificate_gets_no_request() {
    let remote = Remote::new(Door::Open);
    remote.apply().unset("ca-file").exit(1).stderr_contains(&["certificate"]).any_stdout();
    assert_eq!(remote.host.count(), 0);
}

#[test]
fn a_redirect_is_followed_and_another_host_gets_no_credentials() {
    let remote = Remote::new(Door::Open);
    let elsewhere = git_host::start(&remote.world.path("hosted"), Door::Open);
    let guarded = git_host::start(&remote.world.path("hosted"), Door::Guarded(ADA.to_owned()));
    let url = |port: u16| format!("https://localhost:{port}/toggles.git");
    let (away, locked) = (url(elsewhere.port()), url(guarded.port()));
    let root = remote.world.path("hosted");
    remote.host.always(move |request| {
        let moved = |prefix: &str, to: &str| {
            let rest = request.path.strip_prefix(prefix)?;
            Some(Answer::status(301).header("Location", &format!("{to}{rest}")))
        };
        moved("/old.git", "/toggles.git")
            .or_else(|| moved("/away.git", &away))
            .or_else(|| moved("/locked.git", &locked))
            .unwrap_or_else(|| git_host::answer(&root, &Door::Guarded(ADA.to_owned()), request))
    });
    let job = |name: &str| {
        remote
            .apply()
            .set("repo", format!("{}/{name}.git", remote.host.url()))
            .set("state-dir", remote.world.path(name))
            .set("first-pass", "assert")
            .set("git-username", "ada")
            .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
    };
    for name in ["old", "away"] {
        job(name)
            .exit(0)
            .never_says(&["pw-5678"])
            .stderr_contains(&["the repository has moved"])
            .any_stdout();
        remote.world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    }
    job("locked").exit(1).never_says(&["pw-5678"]).stderr_contains(&["requires credentials"]).any_stdout();
    for request in elsewhere.take().into_iter().chain(guarded.take()) {
        assert_eq!(request.header("authorization"), None, "{}", request.path);
    }
}

#[test]
fn a_damaged_mirror_is_repaired() {
    let remote = Remote::settled(Door::Open);
    let mirror = remote.world.state().join("source.git");
    let damages: [(&str, &dyn Fn()); 4] = [
        ("a lock left behind", &|| {
            std::fs::write(mirror.join("HEAD.lock"), "").unwrap();
            std::fs::write(mirror.join("packed-refs.lock"), "").unwrap();
            std::fs::write(mirror.join("config.lock"), "").unwrap();
        }),
        ("objects gone", &|| {
            std::fs::remove_dir_all(mirror.join("objects")).unwrap();
        }),
        ("nonsense", &|| {
            std::fs::write(mirror.join("HEAD"), "nonsense\n").unwrap();
        }),
        ("gone", &|| {
            std::fs::remove_dir_all(&mirror).unwrap();
        }),
    ];
    for (age, (name, damage)) in (30..).zip(damages) {
        damage();
        remote.push(age, name);
        remote.apply().exit(0).any_output();
        remote.world.sent(&[("shop/prod/pay", body(age, name))]);
    }
}

#[test]
fn a_missing_repository_ref_or_commit_is_reported() {
    let remote = Remote::new(Door::Open);
    remote
        .apply()
        .set("repo", format!("{}/nowhere.git", remote.host.url()))
        .exit(1)
        .stderr_contains(&["nowhere.git"])
        .any_stdout();
    remote.apply().set("ref", "nowhere").exit(1).stderr_contains(&["nowhere"]).any_stdout();
    Repo::bare(&remote.world.path("hosted/empty.git"));
    remote
        .apply()
        .set("repo", format!("{}/empty.git", remote.host.url()))
        .exit(1)
        .stderr_contains(&["error"])
        .any_stdout();
    remote.world.nothing_sent();
}

#[test]
fn a_branch_a_tag_and_a_commit_of_a_mirror_can_be_followed() {
    let remote = Remote::settled(Door::Open);
    remote.push(21, "Ask for 21 years");
    let id = remote.world.repo.head();
    let hosted = Repo::at(&remote.world.path("hosted/toggles.git"));
    hosted.git(&["branch", "live", &id]);
    hosted.git(&["tag", "v2", &id]);
    hosted.git(&["tag", "-a", "-m", "Annotated", "v2a", &id]);
    for name in ["live", "v2", "v2a", "refs/heads/live", id.as_str()] {
        remote.plan().set("ref", name).exit(0).says(&["Ask for 21 years"]);
    }
}

#[test]
fn a_job_follows_history_that_was_rewritten_on_the_host_only_if_told_to() {
    let remote = Remote::settled(Door::Open);
    let before = remote.world.repo.head();
    remote.push(21, "A mistake");
    remote.apply().exit(0).any_output();
    remote.world.service.take();
    remote.world.repo.force(&before);
    remote.push(22, "What was meant");
    remote.apply().exit(4).says(&["stale", "--history follow"]);
    assert_eq!(remote.world.service.take().len(), 0);
    remote.apply().set("history", "follow").exit(0).says(&["rewritten"]);
    remote.world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
}

#[test]
fn state_is_shared_through_a_host_with_separate_credentials() {
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    let world = &remote.world;
    std::fs::create_dir(world.path("states")).unwrap();
    let bare = Repo::bare(&world.path("states/state.git"));
    let states = git_host::start(&world.path("states"), Door::Guarded("Basic Ym9iOnB3LTk5OTk=".to_owned()));
    let job = |machine: &str| {
        remote
            .apply()
            .set("state-dir", world.path(machine))
            .set("state-remote", format!("https://localhost:{}/state.git", states.port()))
            .set("state-name", "toggles")
            .set("git-username", "ada")
            .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
            .set("state-git-username", "bob")
            .env("GITOGGLE_STATE_GIT_PASSWORD", "pw-9999")
    };
    job("one").set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    assert_eq!(bare.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"), doc(18));
    job("two").exit(0).any_output();
    world.nothing_sent();
    remote.push(21, "Ask for 21 years");
    job("three").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);

    for (service, allowed) in [(&remote.host, ADA), (&states, "Basic Ym9iOnB3LTk5OTk=")] {
        for request in service.take() {
            let header = request.header("authorization");
            assert!(header.is_none() || header == Some(allowed), "{header:?} at {}", request.path);
        }
    }
}

#[test]
fn credentials_do_not_go_to_a_state_remote_on_another_host() {
    let remote = Remote::new(Door::Guarded(ADA.to_owned()));
    let world = &remote.world;
    std::fs::create_dir(world.path("states")).unwrap();
    Repo::bare(&world.path("states/state.git"));
    let states = git_host::start(&world.path("states"), Door::Guarded("Basic nobody".to_owned()));
    remote
        .apply()
        .set("state-remote", format!("https://localhost:{}/state.git", states.port()))
        .set("git-username", "ada")
        .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
        .exit(1)
        .stderr_contains(&["localhost"])
        .any_stdout();
    assert!(states.count() > 0);
    for request in states.take() {
        assert_eq!(request.header("authorization"), None);
    }
    world.nothing_sent();
}

#[test]
fn the_ssh_program_reads_a_repository_without_getting_secrets() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let bare = world.repo.clone_bare(&world.path("hosted.git"));
    let ssh = fake_ssh(world.root());
    for (number, url) in [
        format!("ssh://git@git.example.com:2222{}", bare.path().display()),
        format!("git@git.example.com:{}", bare.path().display()),
    ]
    .into_iter()
    .enumerate()
    {
        world
            .apply()
            .set("repo", &url)
            .set("state-dir", world.path(&format!("state-{number}")))
            .set("first-pass", "assert")
            .env("GIT_SSH_COMMAND", &ssh)
            .env("GITOGGLE_GIT_PASSWORD", "pw-5678")
            .exit_in(&[0, 64])
            .any_output();
        if world.service.count() == 0 {
            // ssh does not use a password, so setting one can be a usage error.
            world
                .apply()
                .set("repo", &url)
                .set("state-dir", world.path(&format!("state-{number}")))
                .set("first-pass", "assert")
                .env("GIT_SSH_COMMAND", &ssh)
                .exit(0)
                .any_output();
        }
        world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    }
    let log = std::fs::read_to_string(world.path("ssh.log")).unwrap();
    for secret in ["GITOGGLE_", TOKEN, "pw-5678"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    assert!(log.contains("git@git.example.com"), "{log}");
    assert!(log.contains("2222"), "{log}");
    assert!(log.contains("StrictHostKeyChecking") && log.contains("BatchMode"), "{log}");
}

#[test]
fn a_failing_ssh_program_is_reported_without_waiting() {
    let world = World::new();
    world
        .apply()
        .set("repo", "git@git.example.com:toggles.git")
        .env("GIT_SSH_COMMAND", "sh -c 'echo Permission denied >&2; exit 255' ssh")
        .exit(1)
        .stderr_contains(&["Permission denied"])
        .any_stdout();
}

/// Writes a program that stands in for `ssh`: it keeps its arguments and environment, and runs the command
/// here.
fn fake_ssh(folder: &Path) -> PathBuf {
    let path = folder.join("fake-ssh");
    let log = folder.join("ssh.log");
    let script = format!(
        "#!/bin/sh\n{{ printf '%s\\n' \"$@\"; env; }} >> {}\nfor last; do :; done\nexec sh -c \"$last\"\n",
        log.display()
    );
    crate::support::files::program(&path, &script);
    path
}

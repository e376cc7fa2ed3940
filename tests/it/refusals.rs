//! Errors for refusals of Git hosts and proxies: the host's text, the refusing component, and working
//! commands.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use crate::support::files;
use crate::support::git_host::{self, Door};
use crate::support::{Answer, Daemon, Remote, Repo, World, eventually, free_port};

#[test]
fn a_declined_push_is_reported_with_the_output_of_the_hook() {
    let remote = Remote::new(Door::Open);
    let world = &remote.world;
    std::fs::create_dir(world.path("states")).unwrap();
    let bare = Repo::bare(&world.path("states/state.git"));
    let hook = bare.path().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\nprintf '\\nGitea: branch is \\033[2Jprotected\\n\\nAsk the platform team.\\n' >&2\nexit 1\n";
    files::program(&hook, script);
    let states = git_host::start(&world.path("states"), Door::Open);
    remote
        .apply()
        .set("state-remote", format!("{}/state.git", states.url()))
        .set("first-pass", "assert")
        .exit(1)
        .stderr_contains(&[
            "pre-receive hook declined",
            "Gitea: branch is \\u{1b}[2Jprotected; Ask the platform team.",
        ])
        .any_stdout();
    world.nothing_sent();
}

#[test]
fn the_text_of_a_refusal_over_https_is_shown() {
    let remote = Remote::new(Door::Open);
    for (answer, shown) in [
        (
            Answer::status(403)
                .header("Content-Type", "text/plain")
                .body("The token lacks the scope read:repository\n"),
            "The token lacks the scope read:repository",
        ),
        (
            Answer::status(404)
                .header("Content-Type", "text/plain")
                .body("The project was moved to `shop`\n"),
            "The project was moved to `shop`",
        ),
        (Answer::html(200), "is this a git repository?"),
        (Answer::status(401).header("WWW-Authenticate", "Basic realm=\"git\""), "check the address"),
    ] {
        remote.host_answers(move |_| Some(answer.clone()));
        remote.apply().set("first-pass", "assert").exit(1).stderr_contains(&[shown]).any_stdout();
    }
    remote.world.nothing_sent();
}

#[test]
fn the_text_of_a_refusal_over_ssh_is_shown() {
    let world = World::new();
    let script = "printf 'error:\\nerror: Gitea: Unauthorized: ada is not authorized to read acme/toggles.\\nerror:\\n' \
                  >&2; echo; exit 1; :";
    world
        .apply()
        .set("repo", "ssh://git@git.example.com:2222/acme/toggles.git")
        .env("GIT_SSH_COMMAND", script)
        .exit(1)
        .stderr_contains(&[
            "failed: Gitea: Unauthorized: ada is not authorized to read acme/toggles.\n",
            "`ssh -p 2222 git@git.example.com`",
        ])
        .any_stdout();
}

/// Creates stand-ins for the programs of ssh, which record their arguments: the tests have no ssh host, and
/// must not write to the home folder. Returns their folder.
fn stand_ins(world: &World) -> PathBuf {
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["ssh-keyscan", "ssh-keygen"] {
        let program = bin.join(name);
        files::program(&program, "#!/bin/sh\necho \"${0##*/} $*\" >&2\necho key\n");
    }
    bin
}

#[test]
fn the_hint_about_an_unknown_host_key_is_a_working_command() {
    let world = World::new();
    let port = free_port();
    let words = format!(
        "No ED25519 host key is known for [127.0.0.1]:{port} and you have requested strict checking.\\nHost key \
         verification failed."
    );
    let unknown = world
        .apply()
        .set("repo", format!("ssh://git@forge.example:{port}/acme/toggles.git"))
        .env("GIT_SSH_COMMAND", format!("printf '{words}\\n' >&2; exit 255; :"))
        .exit(1)
        .both();
    let commands: Vec<&str> = unknown.split('`').filter(|text| text.starts_with("ssh-")).collect();
    let [compare, add] = commands[..] else {
        panic!("{unknown}");
    };
    let bin = stand_ins(&world);
    std::fs::create_dir(world.path(".ssh")).unwrap();
    let keyscan = format!("ssh-keyscan -p {port} 127.0.0.1");
    for (command, expected) in [(compare, vec!["ssh-keygen -lf -", &keyscan]), (add, vec![keyscan.as_str()])]
    {
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", world.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        let ran = String::from_utf8(output.stderr).unwrap();
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        assert_eq!(ran, expected, "{command}");
    }
    assert_eq!(std::fs::read_to_string(world.path(".ssh/known_hosts")).unwrap(), "key\n");
}

/// Starts a proxy that sends `answer` to every client. Returns its address.
fn proxy(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 1024];
            drop(stream.read(&mut request));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    address
}

#[test]
fn a_failing_proxy_is_named_for_git_and_for_the_service() {
    let remote = Remote::new(Door::Open);
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let dead_address = format!("127.0.0.1:{}", free_port());
    for (address, words, of_git) in [
        (dead_address, "is unreachable: Connection refused", "Failed to connect to 127.0.0.1"),
        (
            proxy("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"),
            "requires credentials (407)",
            "407",
        ),
        (proxy("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), "refused to connect", "403"),
        (proxy(""), "closed the connection", "roxy CONNECT aborted"),
    ] {
        // Without a password, Git asks for one, and the user may be the secret.
        let asks = format!("could not read Password for 'http://{address}'");
        for (user, of_git) in [("joe:pw-proxy", of_git), ("pw-proxy", asks.as_str())] {
            let url = format!("http://{user}@{address}");
            remote
                .apply()
                .env("HTTPS_PROXY", &url)
                .exit(1)
                .stderr_contains(&[of_git, "`HTTPS_PROXY`"])
                .never_says(&["pw-proxy", "requires credentials:"])
                .any_stdout();
            world
                .apply()
                .env("HTTPS_PROXY", &url)
                .exit(1)
                .says(&[&format!("the proxy `http://{address}` {words}")])
                .never_says(&["pw-proxy"]);
        }
    }
    assert_eq!(remote.host.count(), 0);
    world.nothing_sent();
}

#[test]
fn a_renamed_repository_is_reported_once_and_its_webhooks_are_accepted() {
    let remote = Remote::new(Door::Open);
    let root = remote.world.path("hosted");
    remote.host.always(move |request| match request.path.strip_prefix("/old.git/info") {
        Some(rest) => Answer::status(301).header("Location", &format!("/toggles.git/info{rest}")),
        None => git_host::answer(&root, &Door::Open, request),
    });
    let old = format!("{}/old.git", remote.host.url());
    let moved = ["the repository has moved", &remote.url()];
    remote
        .world
        .apply()
        .set("repo", &old)
        .set("first-pass", "assert")
        .exit(0)
        .stderr_contains(&moved)
        .any_stdout();
    let secret = remote.world.write("hook", "hook-secret");
    let daemon = Daemon::ready(&remote.world, |run| {
        run.set("repo", &old).set("poll-interval", "100ms").set("webhook-secret-file", secret)
    });
    let passes = daemon.passes();
    eventually("five more passes", || (daemon.passes() >= passes + 5.0).then_some(()));
    assert_eq!(daemon.said(moved[0]), 1, "{}", daemon.log());
    for name in ["toggles", "old"] {
        let event = format!(r#"{{"ref":"refs/heads/main","project":{{"path_with_namespace":"{name}"}}}}"#);
        let headers = [("X-Gitlab-Token", "hook-secret"), ("X-Gitlab-Event", "Push Hook")];
        let reply = daemon.endpoint.post("/webhook/gitlab", &headers, event.as_bytes());
        assert_eq!(reply.status, 202, "{name}");
    }
    daemon.stops_cleanly();
}

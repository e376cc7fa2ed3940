//! Commands that a terminal sends to a running daemon.

use crate::support::{ADMIN, Answer, Daemon, Gitoggle, World, body, doc, eventually};

/// Builds a command to `daemon` with its admin token.
fn command(world: &World, daemon: &Daemon, words: &str) -> Gitoggle {
    world
        .bare(words)
        .set("url", format!("http://{}", daemon.endpoint.address()))
        .env("GITOGGLE_ADMIN_TOKEN", ADMIN)
}

/// A world with 279 toggles in 15 environments, all held by their first pass.
fn undecided() -> World {
    let world = World::new();
    for number in 0..279 {
        let environment = match number % 15 {
            0 => "production".to_owned(),
            other => format!("e{other:02}"),
        };
        world.repo.write(&format!("shop/{environment}/t{number:03}.yaml"), doc(18));
    }
    world.repo.git(&["add", "--all"]);
    world.repo.commit("Add all");
    world
}

#[test]
fn an_allow_command_releases_one_environment_once_without_a_restart() {
    let world = undecided();
    let daemon = Daemon::ready(&world, |run| run);
    let readyz = eventually("what is held", || {
        let body = daemon.endpoint.get("/readyz")?.body;
        body.contains("279 held in 15 environments").then_some(body)
    });
    assert!(readyz.contains("first pass (279)"), "{readyz}");
    world.nothing_sent();

    command(&world, &daemon, "allow first-pass-assert shop/production").exit(0).stderr("").stdout_contains(
        &[
            "allowed first-pass-assert in shop/production at ",
            "releases 19 toggles:\n  shop/production/t000\n",
        ],
    );
    world.service.wait_for(19);
    eventually("the others to stay held", || {
        let body = daemon.endpoint.get("/readyz")?.body;
        body.contains("260 held in 14 environments").then_some(())
    });
    let sent = world.service.take();
    assert_eq!(sent.len(), 19);
    assert!(sent.iter().all(|request| request.toggle().starts_with("shop/production/")));
    daemon.stops_cleanly();

    let daemon = Daemon::ready(&world, |run| run);
    eventually("the same after a restart", || {
        let body = daemon.endpoint.get("/readyz")?.body;
        body.contains("260 held in 14 environments").then_some(())
    });
    command(&world, &daemon, "allow first-pass-assert shop/production")
        .exit(1)
        .stdout("")
        .stderr_contains(&["nothing in `shop/production` waits for `first-pass-assert`"]);
    world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn an_order_for_a_pass_says_until_when_the_service_wants_no_request() {
    let world = World::with_pay_applied();
    let secret = world.write("hook", "a secret");
    let daemon = Daemon::ready(&world, |run| run.set("webhook-secret-file", secret));
    world.service.always(|_| Answer::status(503).header("Retry-After", "3600"));
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["waiting until", "(Retry-After)"]);
    let sent = world.service.count();
    let reason = "because the service asked for it (Retry-After)";
    command(&world, &daemon, "reconcile")
        .exit(0)
        .stdout_contains(&["requested a pass, which also retries refused toggles; waiting until ", reason]);
    let waits = "the requested pass waits";
    daemon.says(&[waits, reason]);
    let headers = [("X-Gitlab-Token", "a secret"), ("X-Gitlab-Event", "Push Hook")];
    let hook = daemon.endpoint.post("/webhook/gitlab", &headers, b"{}");
    eventually("the same about the webhook", || (daemon.said(waits) == 2).then_some(()));
    let (status, answer) = daemon.ask("/reconcile", "");
    for (status, answer) in [(hook.status, hook.json()), (status, answer)] {
        assert_eq!(status, 202, "{answer}");
        assert!(answer["reason"].as_str().unwrap().ends_with(reason), "{answer}");
        assert!(answer["starts_at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{answer}");
    }
    eventually("the same about the order", || (daemon.said(waits) == 3).then_some(()));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(world.service.count(), sent, "it gets no request until then");
    daemon.stops_cleanly();
}

#[test]
fn a_scope_is_suspended_and_resumed_from_a_terminal() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let command = |words: &str| command(&world, &daemon, words);
    command("suspend shop/prod")
        .set("for", "2h")
        .set("reason", "release freeze")
        .exit(0)
        .stderr("")
        .stdout_contains(&["suspended shop/prod/** until ", "`gitoggle resume 'shop/prod/**'`"]);
    // Not the command that ends every suspension.
    let ready = daemon.endpoint.get("/readyz").unwrap().body;
    assert!(ready.contains("`gitoggle resume 'shop/prod/**' --url "), "{ready}");
    command("suspend")
        .set("scope", "shop/prodution/**")
        .exit(0)
        .stderr("note: no toggle of the last pass matches `shop/prodution/**`, so nothing is held back; check the spelling\n")
        .stdout_contains(&["suspended shop/prodution/**"]);
    command("resume").set("scope", "shop/prodution/**").exit(0).stdout("resumed shop/prodution/**\n");
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    command("resume shop/test")
        .exit(1)
        .stdout("")
        .stderr_contains(&["`shop/test/**` is not suspended", "hint: suspended: `shop/prod/**`"]);
    world.nothing_sent();
    command("resume shop/prod").exit(0).stdout("resumed shop/prod/**\n");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    command("resume").exit(0).stdout("nothing was suspended\n");
    command("reconcile").exit(0).stdout("requested a pass, which also retries refused toggles\n");
    daemon.stops_cleanly();
}

#[test]
fn a_command_that_no_daemon_executes_fails_with_a_hint() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let reconcile = || command(&world, &daemon, "reconcile");
    reconcile()
        .env("GITOGGLE_ADMIN_TOKEN", "wrong")
        .exit(1)
        .stderr_contains(&["(401)", "hint: use the token of the daemon's `--admin-token-file`"]);
    reconcile()
        .without_env("GITOGGLE_ADMIN_TOKEN")
        .exit(64)
        .stderr_contains(&["an admin token is required", "--admin-token-file FILE"]);
    reconcile()
        .set("url", "ftp://127.0.0.1")
        .exit(64)
        .stderr_contains(&["--url: write `http://…` or `https://…`"]);
    command(&world, &daemon, "allow mass-change").exit(64).stderr_contains(&["ENVIRONMENT"]);
    command(&world, &daemon, "allow everything shop/prod")
        .exit(64)
        .stderr_contains(&["`everything` cannot be allowed", "mass-change"]);
    let (address, service) = (daemon.endpoint.address(), world.service.url());
    let unreachable = |url: &str, cause: &str| {
        let shown = url.replace(&service, "https://$SERVICE");
        let expected = format!(
            "error: could not reach the daemon at `{shown}`\n  caused by: {cause}\nhint: check that `gitoggle run` runs"
        );
        let reconcile = world.bare("reconcile").set("url", url);
        let ran = reconcile.env("GITOGGLE_ADMIN_TOKEN", ADMIN).exit(1);
        ran.stderr_contains(&[&expected, "--url"]);
    };
    // A daemon speaks no TLS; a proxy before it does.
    unreachable(&format!("https://{address}"), "the server does not speak TLS");
    daemon.stops_cleanly();
    unreachable(&format!("http://{address}"), "Connection refused");
    unreachable(
        &service,
        "could not verify its certificate: unknown issuer; to trust its CA, pass the CA certificate with `--ca-file`",
    );

    let daemon = Daemon::ready(&world, |run| run.unset("admin-token-file"));
    command(&world, &daemon, "reconcile")
        .exit(1)
        .stderr_contains(&["(403)", "hint: start the daemon with `--admin-token-file`"]);
    daemon.stops_cleanly();
}

#[test]
fn the_admin_token_is_not_sent_to_the_target_of_a_redirect() {
    use std::io::{Read, Write};

    let world = World::new();
    let (first, second) = (listener(), listener());
    second.set_nonblocking(true).unwrap();
    let target = format!("http://{}/", second.local_addr().unwrap());
    let url = format!("http://{}", first.local_addr().unwrap());
    let answer =
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = first.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    world
        .bare("reconcile")
        .set("url", &url)
        .env("GITOGGLE_ADMIN_TOKEN", ADMIN)
        .exit(1)
        .stderr_contains(&["redirects to", "is not followed"]);
    assert!(server.join().unwrap().contains(ADMIN));
    assert!(second.accept().is_err(), "nothing went to the other host");
}

fn listener() -> std::net::TcpListener {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap()
}

//! The health check of the image.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::image::arguments;
use crate::support::{Daemon, World};

/// Runs the health check for the daemon with the command line in this file and the variable
/// `GITOGGLE_LISTEN`.
fn health_check(command_line: &Path, path: &str, listen: Option<&str>) -> Output {
    let script = super::folder().join("healthcheck.sh");
    let mut check = Command::new("bash");
    check.arg(script).arg(path).arg(command_line);
    check.env_remove("GITOGGLE_LISTEN");
    check.envs(listen.map(|listen| ("GITOGGLE_LISTEN", listen)));
    check.output().unwrap()
}

#[test]
fn the_image_contains_the_health_check() {
    let check = arguments("HEALTHCHECK").remove(0);
    assert!(check.ends_with("CMD [\"gitoggle-healthcheck\"]"), "{check}");
    let copy = "--chmod=0755 deploy/healthcheck.sh /usr/local/bin/gitoggle-healthcheck";
    assert!(arguments("COPY").iter().any(|line| line == copy));
}

#[test]
fn the_health_check_passes_for_a_running_daemon_and_fails_for_a_stuck_one() {
    for (answer, is_healthy, printed) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true, ""),
        ("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\n\r\nstale", false, "stale"),
        ("", false, ""),
    ] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            let (client, _) = server.accept().unwrap();
            let lines = BufReader::new(&client).lines().map(Result::unwrap);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            (&client).write_all(answer.as_bytes()).unwrap();
            request
        });
        let output = health_check(Path::new("/dev/null"), "/readyz", Some(&address.to_string()));
        assert_eq!(output.status.success(), is_healthy, "{answer}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(printed), "{text}");
        assert_eq!(served.join().unwrap()[0], "GET /readyz HTTP/1.1");
    }
}

#[test]
fn the_health_check_follows_the_address_of_the_daemon() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    // Its `--listen` takes precedence over the variable.
    let line = PathBuf::from(format!("/proc/{}/cmdline", daemon.id()));
    let check = |line: &Path, listen: Option<&str>| health_check(line, "/healthz", listen).status.success();
    assert!(check(&line, None));
    assert!(check(&line, Some("127.0.0.1:9")));
    let address = daemon.endpoint.address().to_owned();
    let port = address.rsplit(':').next().unwrap();
    for (listen, is_healthy) in [
        (format!("0.0.0.0:{port}"), true),
        (format!("[::]:{port}"), true),
        (format!("127.0.0.1:{port}"), true),
        // Nothing listens there.
        (format!("[::1]:{port}"), false),
        ("127.0.0.1:9".to_owned(), false),
        ("none".to_owned(), true),
    ] {
        assert_eq!(check(Path::new("/dev/null"), Some(&listen)), is_healthy, "{listen}");
        let typed = world.path("command-line");
        std::fs::write(&typed, format!("gitoggle\0run\0--listen={listen}\0")).unwrap();
        assert_eq!(check(&typed, Some("127.0.0.1:9")), is_healthy, "--listen={listen}");
    }
    daemon.stops_cleanly();
}

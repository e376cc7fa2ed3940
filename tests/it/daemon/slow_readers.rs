//! Clients that read one byte a second.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{Daemon, World, doc};

/// How long a connection may take. Whoever had to wait for the slow readers would wait as long.
const DEADLINE: Duration = Duration::from_secs(10);

/// Toggles whose documents have so many objects that the plan has more than ten megabytes. Nothing is
/// applied, so all of them are held.
fn large_plan() -> World {
    let world = World::new();
    let objects: Vec<String> = (0..20_000).map(|number| format!("\"{number:08}\"")).collect();
    let document = doc(18).replace("[\"18\"]", &format!("[{}]", objects.join(", ")));
    assert!(document.len() > 200_000, "{}", document.len());
    for number in 0..50 {
        world.repo.file(&format!("shop/prod/t{number:02}.yaml"), &document);
    }
    world.repo.commit("Add large documents");
    world
}

/// Returns the resident memory of the daemon in bytes.
fn memory(daemon: &Daemon) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// Opens a connection, sends a request, and reads the first byte of the response.
fn begun(daemon: &Daemon, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.endpoint.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    stream
}

#[test]
fn slow_readers_hold_no_memory_block_nobody_and_are_cut_off() {
    let world = large_plan();
    let daemon = Daemon::start(&world, |run| run);
    // The plan of such documents takes seconds of a free core.
    let start = Instant::now();
    while daemon.endpoint.get("/readyz").is_none_or(|reply| reply.status != 200) {
        assert!(start.elapsed() < 6 * DEADLINE, "{}", daemon.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    daemon.becomes("shop/prod/t00", "held");
    let plan = "/api/plan?limit=1000";
    for path in ["/", "/api/status", plan] {
        assert_eq!(daemon.endpoint.get(path).unwrap().status, 200, "{path}");
    }
    let size = daemon.endpoint.get(plan).unwrap().body.len();
    assert!(size > 10_000_000, "{size}");
    let before = memory(&daemon);
    let paths = [plan, "/", "/api/status", "/api/history"];
    let mut slow: Vec<_> = paths.iter().cycle().take(40).map(|path| begun(&daemon, path)).collect();
    let begin = Instant::now();
    for path in ["/", "/api/plan?limit=1", "/api/status", "/api/history", "/healthz"] {
        assert_eq!(daemon.endpoint.get(path).unwrap().status, 200, "{path}");
    }
    assert!(begin.elapsed() < DEADLINE, "{:?}", begin.elapsed());
    // Ten of them have asked for the plan, so a copy for each would take 100 megabytes.
    let grown = memory(&daemon).saturating_sub(before);
    assert!(grown < 60_000_000, "{grown}");

    while begin.elapsed() < DEADLINE + Duration::from_secs(1) {
        std::thread::sleep(Duration::from_secs(1));
        // The connection of a short response has ended.
        slow.iter_mut().for_each(|stream| drop(stream.read(&mut [0])));
    }
    for mut stream in slow.into_iter().step_by(paths.len()) {
        let mut rest = Vec::new();
        drop(stream.read_to_end(&mut rest));
        // What the kernel had taken arrives; the last chunk does not.
        assert!(rest.len() < size && !rest.ends_with(b"0\r\n\r\n"), "{}", rest.len());
    }
    daemon.is_ready();
    daemon.stops_cleanly();
}

//! Clients that read one byte a second.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{Daemon, World, doc};

/// How long a connection may take. Whoever had to wait for the slow readers would wait as long.
const DEADLINE: Duration = Duration::from_secs(10);

const PLAN: &str = "/api/plan?limit=1000";
/// What the slow readers ask for. Not the page, which takes seconds of a free core with such documents.
const PATHS: [&str; 3] = [PLAN, "/api/status", "/api/history"];

/// Enough toggles, with enough objects, that the plan has more than ten megabytes. Nothing is
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

/// Opens a connection, sends a request, and reads the first byte of the response. On a busy machine, the daemon
/// may end a connection before that.
fn begun(daemon: &Daemon, path: &str) -> TcpStream {
    let open = |_| {
        let mut stream = TcpStream::connect(daemon.endpoint.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        stream.read_exact(&mut [0]).is_ok().then_some(stream)
    };
    (0..12).find_map(open).expect("a response begins")
}

/// Returns how long other requests take until each is answered. A request that is not answered in time, because
/// the machine is busy, is repeated.
fn answered(daemon: &Daemon) -> Duration {
    let begin = Instant::now();
    for path in ["/api/plan?limit=1", "/api/status", "/api/history", "/healthz"] {
        while daemon.endpoint.get(path).is_none_or(|reply| reply.status != 200) {
            assert!(begin.elapsed() < 12 * DEADLINE, "{path}: {}", daemon.log());
        }
    }
    begin.elapsed()
}

/// Opens connections whose responses nobody reads, and returns them if other requests are answered meanwhile.
/// Whoever waits for the slow readers is answered after `DEADLINE`, and on a busy machine not much later than
/// without them.
fn slow_readers(daemon: &Daemon) -> Option<(Vec<TcpStream>, Instant)> {
    let alone = answered(daemon);
    let slow: Vec<_> = PATHS.iter().cycle().take(30).map(|path| begun(daemon, path)).collect();
    let open = Instant::now();
    (answered(daemon) < (3 * alone).max(DEADLINE - Duration::from_secs(2))).then_some((slow, open))
}

#[test]
fn slow_readers_hold_no_memory_block_nobody_and_are_cut_off() {
    let world = large_plan();
    let daemon = Daemon::start(&world, |run| run);
    // The plan of such documents takes seconds of a free core.
    let start = Instant::now();
    for path in ["/readyz", "/api/status", PLAN] {
        while daemon.endpoint.get(path).is_none_or(|reply| reply.status != 200) {
            assert!(start.elapsed() < 30 * DEADLINE, "{path}: {}", daemon.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    daemon.becomes("shop/prod/t00", "held");
    let size = daemon.endpoint.get(PLAN).unwrap().body.len();
    assert!(size > 10_000_000, "{size}");
    let before = memory(&daemon);
    // Whoever waits for the slow readers does so in each try.
    let (mut slow, open) = (0..6).find_map(|_| slow_readers(&daemon)).expect("others are answered");
    // Ten of them have asked for the plan, so a copy for each would take 100 megabytes.
    let grown = memory(&daemon).saturating_sub(before);
    assert!(grown < 60_000_000, "{grown}");

    while open.elapsed() < DEADLINE + Duration::from_secs(1) {
        std::thread::sleep(Duration::from_secs(1));
        // The connection of a short response has ended.
        slow.iter_mut().for_each(|stream| drop(stream.read(&mut [0])));
    }
    for mut stream in slow.into_iter().step_by(PATHS.len()) {
        let mut rest = Vec::new();
        drop(stream.read_to_end(&mut rest));
        // What the kernel had taken arrives; the last chunk does not.
        assert!(rest.len() < size && !rest.ends_with(b"0\r\n\r\n"), "{}", rest.len());
    }
    daemon.is_ready();
    daemon.stops_cleanly();
}

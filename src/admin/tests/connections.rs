//! Routes and limits.

use std::time::Instant;

use tokio::net::TcpSocket;

use super::*;

#[tokio::test]
async fn an_unknown_path_is_404_and_another_method_405() {
    let server = AdminServer::new().await;
    for (path, status) in
        [("/", 200), ("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/api/status", 200)]
    {
        assert_eq!(server.get(path).await.status(), status, "{path}");
        assert_eq!(server.post(path, &[], "").await.status(), 405, "{path}");
    }
    for path in ["/reconcile", "/suspend", "/resume", "/webhook/github"] {
        assert_eq!(server.get(path).await.status(), 405, "{path}");
    }
    for path in ["/nothing", "/webhook/", "/webhook/nothing", "/api/status/", "//", "/%2e%2e/"] {
        assert_eq!(server.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_clients_are_disconnected_and_make_room_for_others() {
    let server = AdminServer::new().await;
    let mut silent = Vec::new();
    for number in 0..256 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"POST /webhook/github HTTP/1.1\r\nHost: x\r\nContent-Le").await.unwrap();
        }
        silent.push(stream);
    }
    let started = tokio::time::Instant::now();
    assert_eq!(server.get("/healthz").await.status(), 200);
    assert!(started.elapsed() >= Duration::from_secs(9), "{:?}", started.elapsed());
    for stream in &mut silent {
        let mut rest = Vec::new();
        // A reset is as good an end as a close.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{rest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_response_is_cut_off() {
    let server = AdminServer::new().await;
    let toggle = server.status.borrow().toggles[0].clone();
    server.status.send_modify(|status| status.set_toggles(vec![toggle; 200_000]));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /api/status HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert!(!response.ends_with(b"}\n"), "{} bytes arrived", response.len());
}

#[tokio::test]
async fn readers_that_read_one_byte_hold_up_nobody() {
    let server = AdminServer::new().await;
    let toggle = server.status.borrow().toggles[0].clone();
    server.status.send_modify(|status| status.set_toggles(vec![toggle; 10_000]));
    let mut slow = Vec::new();
    for number in 0..60 {
        let path = ["/", "/api/status", "/api/status?limit=10000"][number % 3];
        let socket = TcpSocket::new_v4().unwrap();
        // A larger one would take the response whole.
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    for stream in &mut slow {
        assert_eq!(stream.read_u8().await.unwrap(), b'H');
    }
    let started = Instant::now();
    for path in ["/", "/api/status?limit=3", "/api/history", "/healthz"] {
        assert_eq!(server.get(path).await.status(), 200, "{path}");
    }
    assert!(started.elapsed() < LONGEST_REQUEST, "{:?}", started.elapsed());
    drop(slow);
}

#[tokio::test]
async fn one_connection_carries_one_request_of_http_1() {
    let server = AdminServer::new().await;
    let twice = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2);
    let answer = server.raw(twice).await;
    assert_eq!(answer.0.matches("HTTP/1.1 200").count(), 1, "{}", answer.0);
    assert!(answer.has("connection: close"), "{}", answer.0);
}

#[tokio::test]
async fn http_2_is_refused() {
    let server = AdminServer::new().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // The preface, empty settings, and the headers of `GET / HTTP/2` for the authority `x`.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let get = [0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'x'];
    let request = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..], &get].concat();
    stream.write_all(&request).await.unwrap();
    let mut answer = Vec::new();
    // The connection ends, with or without a reset.
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("200"), "{answer:?}");
}

#[tokio::test]
async fn the_server_ends_when_asked_even_while_clients_are_silent() {
    let mut server = AdminServer::new().await;
    let _silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.get("/healthz").await.status(), 200);
    server.stop.take().unwrap().send(()).unwrap();
    server.task.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

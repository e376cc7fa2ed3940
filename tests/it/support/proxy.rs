//! The smallest HTTPS proxy: it tunnels, and keeps what it could read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A proxy on loopback; its threads end with the connections.
pub(crate) struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
    /// Where tunnels lead, whatever was asked for.
    target: Arc<Mutex<Option<String>>>,
}

impl Proxy {
    /// Starts one that leads to `target`, whatever it is asked for.
    pub(crate) fn to(target: &str) -> Self {
        let proxy = Self::start();
        proxy.leads_to(target);
        proxy
    }

    /// Starts it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().expect("a listener has an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let target = Arc::new(Mutex::new(None));
        let leads_to = Arc::clone(&target);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let keep = Arc::clone(&keep);
                let target = leads_to.lock().expect("no thread panics with it").clone();
                std::thread::spawn(move || drop(tunnel(stream, &keep, target)));
            }
        });
        Self { address, seen, target }
    }

    /// From now on tunnels lead there.
    pub(crate) fn leads_to(&self, target: &str) {
        *self.target.lock().expect("no thread panics with it") = Some(target.to_owned());
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all bytes that went towards the service, as text.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("no thread panics with it")).into_owned()
    }
}

fn tunnel(mut client: TcpStream, keep: &Arc<Mutex<Vec<u8>>>, target: Option<String>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    keep.lock().expect("no thread panics with it").extend_from_slice(&head);
    let text = String::from_utf8_lossy(&head).into_owned();
    let asked = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut service = TcpStream::connect(target.unwrap_or(asked))?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut from, mut to) = (service.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    let mut chunk = [0; 16 * 1024];
    loop {
        let count = client.read(&mut chunk)?;
        if count == 0 {
            return service.shutdown(std::net::Shutdown::Both);
        }
        keep.lock().expect("no thread panics with it").extend_from_slice(&chunk[..count]);
        service.write_all(&chunk[..count])?;
    }
}

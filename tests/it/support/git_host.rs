//! A Git host over HTTPS: `git http-backend` behind the test service.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use super::answer::Answer;
use super::request::Request;
use super::service::Service;

/// Who may come in.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// Everyone.
    Open,
    /// Those whose `Authorization` header this is.
    Guarded(String),
}

/// Starts a host for the repositories in `root`.
pub(crate) fn start(root: &Path, door: Door) -> Service {
    let service = Service::start();
    let root = root.to_owned();
    service.always(move |request| answer(&root, &door, request));
    service
}

/// Answers one request for a repository in `root`.
pub(crate) fn answer(root: &Path, door: &Door, request: &Request) -> Answer {
    if let Door::Guarded(expected) = door
        && request.header("authorization") != Some(expected)
    {
        return Answer::status(401).header("WWW-Authenticate", "Basic realm=\"git\"");
    }
    backend(root, request)
}

/// Begins a command of `git`, which is named by its path: a program that is looked up in another `PATH` than
/// that of this process is started by `fork`, which copies the page tables of all tests.
pub(crate) fn git() -> Command {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|folder| folder.join("git"));
        places.find(|place| place.is_file()).expect("git is installed")
    });
    Command::new(&*PROGRAM)
}

/// Runs `git http-backend` as a web server would.
fn backend(root: &Path, request: &Request) -> Answer {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    let mut child = git()
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.bytes.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("HTTP_GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_USER", "anyone")
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git is installed");
    let mut stdin = child.stdin.take().expect("it is piped");
    let body = request.bytes.clone();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output().expect("a child can be waited for");
    writer.join().expect("the writer does not panic");
    parse(&output.stdout)
}

fn parse(output: &[u8]) -> Answer {
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a CGI program answers with headers");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let headers: Vec<_> = head.split("\r\n").filter_map(|line| line.split_once(": ")).collect();
    let status = headers
        .iter()
        .find(|(name, _)| *name == "Status")
        .and_then(|(_, value)| value.split(' ').next()?.parse().ok())
        .unwrap_or(200);
    headers
        .into_iter()
        .filter(|(name, _)| *name != "Status")
        .fold(Answer::status(status), |answer, (name, value)| answer.header(name, value))
        .bytes(output[end + 4..].to_owned())
}

//! A Chromium process and its DevTools protocol.
//!
//! The messages go through two pipes (`--remote-debugging-pipe`), each ended by a zero byte. This needs no
//! port and no WebSocket library, and the browser ends when the pipe closes, even if the test process is
//! killed.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::is_root;
use crate::support::wait::DEADLINE;
use crate::support::{eventually, files};

/// A running browser with a fresh profile.
pub(super) struct DevTools {
    child: Child,
    /// Taken when the browser is to end.
    commands: RefCell<Option<ChildStdin>>,
    messages: Receiver<Value>,
    /// Everything that the browser reported without being asked, in order.
    events: RefCell<Vec<Value>>,
    last_id: RefCell<u64>,
    profile: TempDir,
}

impl DevTools {
    pub(super) fn start(program: &OsString) -> Self {
        let profile = files::folder();
        let log = std::fs::File::create(profile.path().join("chromium.log")).unwrap();
        // The shell gives the browser its file descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >&2"#])
            .arg(program)
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .args(is_root().then_some("--no-sandbox"))
            .args(FLAGS)
            .env("HOME", profile.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("sh can be started");
        let (sender, messages) = channel();
        let answers = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("messages are JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            commands: RefCell::new(child.stdin.take()),
            child,
            messages,
            events: RefCell::default(),
            last_id: RefCell::default(),
            profile,
        }
    }

    /// Sends a command to the browser, or to one session of it, and returns its result.
    pub(super) fn command(
        &self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, String> {
        let id = {
            let mut last = self.last_id.borrow_mut();
            *last += 1;
            *last
        };
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let sent = match &mut *self.commands.borrow_mut() {
            Some(pipe) => pipe.write_all(format!("{message}\0").as_bytes()),
            None => Ok(()),
        };
        sent.unwrap_or_else(|error| panic!("{method}: {error}\n{}", self.log()));
        loop {
            let answer = self.messages.recv_timeout(DEADLINE);
            let mut answer = answer.unwrap_or_else(|error| panic!("{method}: {error}\n{}", self.log()));
            if answer["id"] != id {
                self.events.borrow_mut().push(answer);
                continue;
            }
            return match answer["error"].take() {
                Value::Null => Ok(answer["result"].take()),
                error => Err(format!("{method}: {error}")),
            };
        }
    }

    /// Returns the parameters of all events of this kind up to now.
    pub(super) fn events(&self, method: &str) -> Vec<Value> {
        // The events before the answer to a command are complete.
        self.command(None, "Browser.getVersion", &json!({})).unwrap();
        let events = self.events.borrow();
        let found = events.iter().filter(|event| event["method"] == method);
        found.map(|event| event["params"].clone()).collect()
    }

    pub(super) fn forget_events(&self) {
        self.events("");
        self.events.borrow_mut().clear();
    }

    pub(super) fn profile(&self) -> &Path {
        self.profile.path()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.profile.path().join("chromium.log")).unwrap_or_default()
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // The browser ends with its pipe, and its processes with it. The group is killed in case one of them
        // does not.
        drop(self.commands.take());
        let end = std::time::Instant::now() + DEADLINE / 3;
        while matches!(self.child.try_wait(), Ok(None)) && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--ignore-certificate-errors",
    "--no-first-run",
    "--no-proxy-server",
];

/// Returns the program of the browser: that of `CHROME`, or the first of the usual names on the `PATH`.
pub(super) fn program() -> Option<OsString> {
    if let Some(program) = std::env::var_os("CHROME") {
        return Some(program);
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut programs =
        names.iter().flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
    Some(programs.find(|program| program.is_file())?.into_os_string())
}

#[test]
fn a_browser_that_is_dropped_leaves_no_process_and_no_file() {
    let Some(browser) = super::Browser::start() else {
        return;
    };
    let profile = browser.profile().to_owned();
    let named = profile.display().to_string();
    assert!(has_process(&named), "the browser is running");
    drop(browser);
    eventually("all processes of the browser to end", || (!has_process(&named)).then_some(()));
    assert!(!profile.exists());
}

/// Returns whether a process has `text` on its command line.
fn has_process(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(text))
}

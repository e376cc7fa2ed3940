//! Runs the console blocks of a page in one shell, and compares what they print.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;

use super::page::{Block, Page};
use crate::support::eventually;

/// What ends the output of a command.
const END: &str = "end-of-command";

/// Replaces what differs between two runs: ids of commits, ports, times, and durations.
fn masked(text: &str) -> String {
    static MASKS: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
        [
            (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?", "TIME"),
            (r"\b[0-9a-f]{7,64}\b", "ID"),
            (r"\b\d+(\.\d+)? ?(ms|µs|s)\b", "DURATION"),
        ]
        .map(|(pattern, with)| (Regex::new(pattern).unwrap(), with))
    });
    let mut text = text.to_owned();
    for (pattern, with) in MASKS.iter() {
        text = pattern.replace_all(&text, *with).into_owned();
    }
    text
}

/// Returns whether the lines are those of the page, where a line `…` stands for any lines, and `…` in a line
/// for any text.
fn matches(expected: &[&str], actual: &[String]) -> bool {
    match expected {
        [] => actual.is_empty(),
        ["…", rest @ ..] => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        [line, rest @ ..] => {
            let is_line = |actual: &String| {
                let parts: Vec<String> = masked(line).split('…').map(regex::escape).collect();
                let pattern = format!("^{}$", parts.join(".*"));
                Regex::new(&pattern).unwrap().is_match(&masked(actual))
            };
            actual.first().is_some_and(is_line) && matches(rest, &actual[1..])
        }
    }
}

/// A shell in an empty folder, with the built program on its `PATH`.
pub(super) struct Session {
    page: Page,
    folder: tempfile::TempDir,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The addresses of the page, and those that stand for them in this run.
    addresses: Vec<(String, String)>,
    logs: usize,
    /// The blocks as they should be, if the page is to be rewritten, with the line of their fence.
    rewritten: Option<Vec<(usize, String)>>,
}

impl Session {
    /// Starts the shell.
    pub(super) fn new(page: Page) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = Path::new(env!("CARGO_BIN_EXE_gitoggle")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join("work")).unwrap();
        // A clone of this repository has them.
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        std::os::unix::fs::symlink(examples, home.join("work/examples")).unwrap();
        let mut shell = Command::new("setsid")
            .args(["bash", "--noprofile", "--norc"])
            .env_clear()
            .envs([("HOME", home.to_str().unwrap()), ("PATH", &path), ("LANG", "C.UTF-8")])
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0")])
            .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.com")])
            .current_dir(home.join("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = shell.stdin.take().unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let rewritten = std::env::var_os("GITOGGLE_REWRITE").map(|_| Vec::new());
        Self { page, folder, shell, input, output, addresses: Vec::new(), logs: 0, rewritten }
    }

    /// Rewrites the page with what the commands printed, if that is asked for.
    pub(super) fn finish(mut self) {
        let Some(blocks) = self.rewritten.take() else { return };
        self.page.replace(&blocks);
    }

    /// Does what the block and its introduction say: runs commands, writes a file, or changes one.
    pub(super) fn follow(&mut self, block: &Block) {
        static CHANGE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("[Cc]hange `([^`]+)` to `([^`]+)` in `([^`]+)`").unwrap());
        static WRITE: LazyLock<Regex> = LazyLock::new(|| Regex::new("Write `([^`]+)`: $").unwrap());
        for change in CHANGE.captures_iter(&block.introduction) {
            let path = self.resolved(&change[3]);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(&change[1]), "{}: {text}", self.at(block));
            std::fs::write(path, text.replace(&change[1], &change[2])).unwrap();
        }
        if let Some(write) = WRITE.captures(&block.introduction) {
            let path = self.resolved(&write[1]);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &block.text).unwrap();
        } else if block.language == "console" {
            self.run_block(block);
        }
    }

    fn at(&self, block: &Block) -> String {
        format!("{}:{}", self.page.0, block.line)
    }

    fn resolved(&mut self, path: &str) -> PathBuf {
        let folder = self.output_of("pwd").remove(0);
        Path::new(&folder).join(path)
    }

    fn run_block(&mut self, block: &Block) {
        let mut text = String::new();
        let mut lines = block.text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ");
            let command = command.unwrap_or_else(|| panic!("{}: {line:?}", self.at(block)));
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                command = format!("{command}\n{}", lines.next().unwrap());
            }
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push(line);
            }
            let shown = self.check(block, &command, &expected);
            text.push_str(&format!("$ {command}\n"));
            text.extend(shown.iter().map(|line| format!("{line}\n")));
        }
        if let Some(blocks) = &mut self.rewritten {
            blocks.push((block.line, text));
        }
    }

    /// Runs a command, and returns what the page should show of its output.
    fn check(&mut self, block: &Block, command: &str, expected: &[&str]) -> Vec<String> {
        let is_server = ["gitoggle sandbox", "gitoggle run"].iter().any(|server| command.starts_with(server));
        if is_server {
            self.start(block, command, expected);
            return expected.iter().map(|line| (*line).to_owned()).collect();
        }
        // The first of the two commands of README, in the program that the tests have built.
        let program = command.replace("cargo run -- ", "gitoggle ");
        let mut actual = self.output_of(&program);
        // A person asks a daemon again until it has done what was ordered.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while command.starts_with("curl ") && !matches(expected, &actual) && std::time::Instant::now() < until
        {
            std::thread::sleep(std::time::Duration::from_millis(100));
            actual = self.output_of(&program);
        }
        let is_ours = program.contains("gitoggle ") || !expected.is_empty();
        if !is_ours || matches(expected, &actual) {
            return expected.iter().map(|line| (*line).to_owned()).collect();
        }
        assert!(self.rewritten.is_some(), "{}: `{command}` prints\n{}\n", self.at(block), actual.join("\n"));
        let shown = |line: &String| {
            self.addresses.iter().fold(line.clone(), |line, (shown, actual)| line.replace(actual, shown))
        };
        actual.iter().map(shown).collect()
    }

    /// Starts a server in the background, and waits until it has printed what is expected. It has a free
    /// port, and takes over that of its predecessor.
    fn start(&mut self, block: &Block, command: &str, expected: &[&str]) {
        let port = if command.contains("sandbox") { 8443 } else { 8077 };
        let shown = format!("127.0.0.1:{port}");
        let before = self.addresses.iter().find(|(address, _)| *address == shown);
        let listen = before.map_or("127.0.0.1:0".to_owned(), |(_, actual)| actual.clone());
        if before.is_some() {
            self.output_of(&format!("kill $server_{port}; wait $server_{port}"));
        }
        self.logs += 1;
        let log = self.folder.path().join(format!("log-{}", self.logs));
        self.output_of(&format!("{command} --listen {listen} >{} 2>&1 & server_{port}=$!", log.display()));
        let printed = || -> Vec<String> {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        let at = self.at(block);
        let address = Regex::new(r"127\.0\.0\.1:\d+").unwrap();
        let actual = eventually(&format!("{at}: the output of `{command}`"), || {
            let address = address.find(&printed().join("\n"))?.as_str().to_owned();
            matches(expected, &printed()).then_some(address)
        });
        self.addresses.retain(|(address, _)| *address != shown);
        self.addresses.push((shown, actual));
    }

    /// Returns the lines that a command prints, on stdout and stderr.
    fn output_of(&mut self, command: &str) -> Vec<String> {
        let mut command = command.to_owned();
        for (shown, actual) in &self.addresses {
            command = command.replace(shown, actual);
        }
        writeln!(self.input, "{{ {command}\n}} </dev/null 2>&1\nprintf '\\n{END}\\n'").unwrap();
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).unwrap();
            assert!(length > 0, "{}: the shell ended at `{command}`", self.page.0);
            match line.trim_end_matches('\n') {
                END => break,
                line => lines.push(line.to_owned()),
            }
        }
        // The line break before the end.
        if lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The servers that are still running belong to the shell's process group.
        let group = format!("-{}", self.shell.id());
        let _ = Command::new("kill").args(["--", &group]).status();
        let _ = self.shell.wait();
    }
}

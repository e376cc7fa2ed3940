//! The build script: gives the program its commit and its target.
//!
//! The commit comes from `GITOGGLE_BUILD_COMMIT`, from `.cargo_vcs_info.json` in a published crate, or from
//! Git. Without any of them, the program names no commit.

use std::path::Path;
use std::process::Command;

/// The files that are compiled into the program.
const COMPILED: &[&str] = &["Cargo.lock", "Cargo.toml", "deploy/ci", "examples", "src"];
/// `ID` or `ID DATE`, as `git log -1 --format='%H %cs'` prints them.
const OVERRIDE: &str = "GITOGGLE_BUILD_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    let existing = COMPILED.iter().filter(|path| Path::new(path).exists());
    existing.for_each(|path| println!("cargo::rerun-if-changed={path}"));

    let commit = match std::env::var(OVERRIDE) {
        Ok(text) if !text.trim().is_empty() => parsed(&text),
        _ => published().or_else(checked_out),
    };
    let Some(target) = std::env::var_os("TARGET") else {
        println!("cargo::error=cargo sets TARGET for build scripts");
        return;
    };
    let target = target.to_string_lossy();
    let (id, date, shown) = match &commit {
        Some((id, Some(date))) => (id.as_str(), date.as_str(), format!("{id} {date}, ")),
        Some((id, None)) => (id.as_str(), "", format!("{id}, ")),
        None => ("", "", String::new()),
    };
    // `cargo run` passes these variables to the program, which reads each `GITOGGLE_…` as a setting.
    println!("cargo::rustc-env=BUILD_COMMIT={id}");
    println!("cargo::rustc-env=BUILD_DATE={date}");
    println!("cargo::rustc-env=BUILD_TARGET={target}");
    println!("cargo::rustc-env=BUILD_TEXT=({shown}{target})");
}

/// A commit id, shortened as in the output of the program, and the day of the commit.
type Commit = (String, Option<String>);

/// Parses the override.
fn parsed(text: &str) -> Option<Commit> {
    let mut words = text.split_whitespace();
    let id = words.next().and_then(short);
    let date = words.next();
    let is_day = |text: &str| text.len() == 10 && text.bytes().all(|b| b == b'-' || b.is_ascii_digit());
    if id.is_none() || !date.is_none_or(is_day) || words.next().is_some() {
        println!("cargo::error={OVERRIDE} is not a commit id, or a commit id and a day such as 2026-11-22");
    }
    Some((id?, date.map(str::to_owned)))
}

/// Reads the file that `cargo package` adds to a crate. It names no commit if the work tree was modified.
fn published() -> Option<Commit> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    let is_dirty = text.contains("\"dirty\": true");
    Some((marked(&short(rest.split('"').next()?)?, is_dirty), None))
}

/// Asks Git for the commit of this folder.
fn checked_out() -> Option<Commit> {
    // An unpacked archive may be inside an unrelated repository.
    if !Path::new(".git").exists() {
        return None;
    }
    // Not for debug builds, which would compile everything again after each commit. Their commit is that of
    // the last compilation.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        watch_head();
    }
    let line = git(&["log", "-1", "--format=%H %cs"])?;
    let (id, date) = line.split_once(' ')?;
    let diff = [["diff", "--quiet", "HEAD", "--"].as_slice(), COMPILED].concat();
    let is_dirty = git(&diff).is_none();
    Some((marked(&short(id)?, is_dirty), Some(date.to_owned())))
}

/// Runs the script again when `HEAD` moves. The reflog changes with each move; without one, the branch is
/// watched.
fn watch_head() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let path = |name: &str| git(&["rev-parse", "--git-path", name]);
    let log = path("logs/HEAD").filter(|log| Path::new(log).exists());
    let moving = log.or_else(|| path(&branch?));
    for path in [path("HEAD"), moving].into_iter().flatten() {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn marked(id: &str, is_dirty: bool) -> String {
    if is_dirty { format!("{id}-dirty") } else { id.to_owned() }
}

/// Returns the first ten digits of a commit id.
fn short(id: &str) -> Option<String> {
    let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id[..id.len().min(10)].to_owned())
}

/// Returns what Git prints; nothing if it fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

//! The script that installs a released program.

use std::path::Path;

use super::mirror::{Machine, Mirror, VERSION, program, requested, targets};
use crate::support::answer::Answer;
use crate::support::certificate::Authority;
use crate::support::{Service, free_port};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn sums() -> String {
    format!("/v{VERSION}/SHA256SUMS")
}

fn archive(target: &str) -> String {
    format!("/v{VERSION}/gitoggle-{VERSION}-{target}.tar.gz")
}

/// Writes an older program to the place of the installation.
fn older(machine: &Machine) {
    program(&machine.path("home/.local/bin/gitoggle"), "echo older");
}

/// Asserts that a failed installation changed nothing and left nothing.
#[track_caller]
fn unchanged(machine: &Machine) {
    assert_eq!(machine.installed().as_deref(), Some("older\n"));
    let files = std::fs::read_dir(machine.path("home/.local/bin")).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn each_machine_gets_its_archive() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    let mut left = targets();
    for (system, processor, target) in [
        ("Linux", "x86_64", TARGET),
        ("Linux", "amd64", TARGET),
        ("Linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("Darwin", "x86_64", "x86_64-apple-darwin"),
        ("Darwin", "arm64", "aarch64-apple-darwin"),
    ] {
        machine.is(system, processor);
        let run = machine.install(&["--version", VERSION, "--from", &service.url()]);
        let place = machine.path("home/.local/bin/gitoggle");
        run.exits(0, &[&format!("installed gitoggle {VERSION}"), &format!(" at {}\n", place.display())]);
        assert_eq!(requested(&service), [sums(), archive(target)]);
        left.retain(|known| known != target);
    }
    assert!(left.is_empty(), "no machine gets {left:?}");
    for (system, processor, named) in [
        ("MINGW64_NT-10.0", "x86_64", "there is no release for MINGW64_NT-10.0"),
        ("FreeBSD", "amd64", "there is no release for FreeBSD"),
        ("Linux", "riscv64", "there is no release for the processor riscv64"),
    ] {
        machine.is(system, processor);
        let run = machine.install(&["--version", VERSION, "--from", &service.url()]);
        run.exits(1, &[named, "hint: build gitoggle with cargo"]);
        assert_eq!(requested(&service), [""; 0]);
    }
}

#[test]
fn wget_serves_if_curl_is_not_installed() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let typed = ["--version", VERSION, "--from", &service.url()];
    let machine = Machine::with(&["wget"]);
    machine.install(&typed).exits(0, &["installed gitoggle"]);
    assert!(machine.installed().unwrap().starts_with("gitoggle "));
    assert_eq!(requested(&service), [sums(), archive(TARGET)]);
    let typed = ["--version", "9.9.9", "--from", &service.url()];
    let named = "/v9.9.9/SHA256SUMS` does not exist or cannot be read";
    machine.install(&typed).exits(1, &[named]);
    Machine::with(&[]).install(&typed).exits(1, &["neither curl nor wget is installed"]);
}

#[test]
fn an_archive_with_another_digest_is_refused() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    older(&machine);
    let typed = ["--version", VERSION, "--from", &service.url()];
    let expected = mirror.digest(TARGET);
    let other = "0".repeat(64);
    let pinned = [&typed[..], &["--sha256", &other]].concat();
    machine.install(&pinned).exits(1, &[&expected, &format!("instead of {other}"), "do not use this file"]);
    // The digest that the caller has is enough, and SHA256SUMS is not asked.
    assert_eq!(requested(&service), [archive(TARGET)]);
    unchanged(&machine);

    let mut bytes = std::fs::read(mirror.archive(TARGET)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(mirror.archive(TARGET), bytes).unwrap();
    machine.install(&typed).exits(1, &[&format!("instead of {expected}"), "do not use this file"]);
    unchanged(&machine);
    std::fs::copy(mirror.archive("x86_64-apple-darwin"), mirror.archive(TARGET)).unwrap();
    machine.install(&typed).exits(1, &["do not use this file"]);
    unchanged(&machine);
}

#[test]
fn an_unknown_version_is_refused() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    older(&machine);
    let url = service.url();
    let unknown = machine.install(&["--version", "9.9.9", "--from", &url]);
    unknown.exits(
        1,
        &[
            &format!("`{url}/v9.9.9/SHA256SUMS` does not exist or cannot be read"),
            "hint: check that version 9.9.9 is released there",
        ],
    );
    assert_eq!(requested(&service), ["/v9.9.9/SHA256SUMS"]);
    for version in ["latest", "../1", "1.0/..", "1 0", "v", "1;id", "$(id)"] {
        let run = machine.install(&["--version", version, "--from", &url]);
        let code = if version == "v" { 64 } else { 1 };
        run.exits(code, &[]);
    }
    assert_eq!(requested(&service), [""; 0]);
    let sums = mirror.release().join("SHA256SUMS");
    let text = std::fs::read_to_string(&sums).unwrap();
    std::fs::write(&sums, text.replace(TARGET, "x86_64-pc-windows-msvc")).unwrap();
    let missing = machine.install(&["--version", VERSION, "--from", &url]);
    missing.exits(1, &[&format!("does not list gitoggle-{VERSION}-{TARGET}.tar.gz")]);
    unchanged(&machine);
    let prefixed = machine.install(&["--version", &format!("v{VERSION}"), "--from", &url]);
    prefixed.exits(1, &["does not list"]);
}

#[test]
fn without_a_network_the_address_is_named_and_its_password_is_not() {
    let mirror = Mirror::new();
    let machine = Machine::new();
    older(&machine);
    let closed = format!("127.0.0.1:{}", free_port());
    let from = format!("https://ada:hunter2@{closed}/gitoggle/");
    let run = machine.install(&["--version", VERSION, "--from", &from]);
    assert!(!run.text.contains("hunter2"), "{}", run.text);
    run.exits(
        1,
        &[
            &format!("could not download `https://{closed}/gitoggle/v{VERSION}/SHA256SUMS`"),
            "hint: without access to this address, name a mirror with --from",
        ],
    );
    // A certificate that is not trusted, and a server that stops in the middle.
    let service = mirror.serve();
    let other = Service::start_with(Authority::other().server());
    let untrusted = machine.install(&["--version", VERSION, "--from", &other.url()]);
    untrusted.exits(1, &["could not download"]);
    assert_eq!(requested(&other), [""; 0]);
    let partial = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\npartial";
    service.answers([Answer::raw(partial)]);
    let typed = ["--version", VERSION, "--from", &service.url()];
    machine.install(&typed).exits(1, &["could not download"]);
    unchanged(&machine);
    for from in ["http://example.com", "ftp://example.com", "relative/path", "-o"] {
        let run = machine.install(&["--version", VERSION, "--from", from]);
        run.exits(1, &["--from is neither an https:// address nor an absolute path"]);
    }
}

#[test]
fn a_cached_archive_is_verified_before_it_is_used() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    let cache = machine.path("cache");
    let cache_text = cache.to_str().unwrap();
    let typed = ["--version", VERSION, "--from", &service.url(), "--cache", cache_text];
    let install = |typed: &[&str]| {
        machine.install(typed).exits(0, &["installed gitoggle"]);
        requested(&service)
    };
    assert_eq!(install(&typed), [sums(), archive(TARGET)]);
    assert_eq!(install(&typed), [sums()]);
    let digest = mirror.digest(TARGET);
    let pinned = [&typed[..], &["--sha256", &digest]].concat();
    assert_eq!(install(&pinned), [""; 0]);
    let cached = cache.join(Path::new(&archive(TARGET)).file_name().unwrap());
    std::fs::write(&cached, "damaged").unwrap();
    assert_eq!(install(&typed), [sums(), archive(TARGET)]);
    assert_eq!(std::fs::read(&cached).unwrap(), std::fs::read(mirror.archive(TARGET)).unwrap());
}

#[test]
fn a_folder_serves_as_a_mirror() {
    let mirror = Mirror::new();
    let machine = Machine::with(&[]);
    let path = mirror.path().to_str().unwrap();
    for from in [path.to_owned(), format!("file://{path}"), format!("{path}/")] {
        let to = machine.path("a folder/bin");
        let run = machine.install(&["--version", VERSION, "--from", &from, "--to", to.to_str().unwrap()]);
        run.exits(0, &["installed gitoggle"]);
        std::fs::remove_file(to.join("gitoggle")).unwrap();
        assert_eq!(std::fs::read_dir(&to).unwrap().count(), 0);
    }
    let run = machine.install(&["--version", VERSION, "--from", "/nonexistent"]);
    run.exits(1, &[&format!("`/nonexistent/v{VERSION}/SHA256SUMS` does not exist")]);
}

#[test]
fn a_program_that_does_not_start_does_not_replace_the_older_one() {
    let mirror = Mirror::new();
    let machine = Machine::new();
    older(&machine);
    let folder = tempfile::tempdir().unwrap();
    let name = format!("gitoggle-{VERSION}-{TARGET}");
    let script = "echo 'libc.so.6: version GLIBC_2.35 not found' >&2; exit 1";
    program(&folder.path().join(&name).join("gitoggle"), script);
    let mut tar = std::process::Command::new("tar");
    tar.arg("-czf").arg(mirror.archive(TARGET)).arg(name);
    super::Job::of(tar.current_dir(folder.path())).exits(0, &[]);
    let mut digest = std::process::Command::new("sha256sum");
    let digest = digest.arg(mirror.archive(TARGET)).output().unwrap().stdout;
    let digest = String::from_utf8(digest[..64].to_owned()).unwrap();
    let from = mirror.path().to_str().unwrap();
    let run = machine.install(&["--version", VERSION, "--from", from, "--sha256", &digest]);
    run.exits(1, &["does not start: libc.so.6", "hint: on Linux it needs glibc 2.35"]);
    unchanged(&machine);
}

#[test]
fn a_wrong_command_line_prints_the_usage() {
    let machine = Machine::new();
    for typed in [&[][..], &["--version"], &["--help"], &["--version", "1", "--too", "x"], &["1.0"]] {
        machine.install(typed).exits(64, &["usage: install.sh --version VERSION"]);
    }
}

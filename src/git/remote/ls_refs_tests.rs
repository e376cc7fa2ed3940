//! Lookups of refs over HTTPS: their cost, and the messages of hosts that refuse.

use std::fmt::Write as _;

use super::https_tests::{access, commit, credentials, served};
use super::*;
use crate::git::testing::{Door, Server, Then, git};

#[test]
fn a_lookup_among_20_000_pull_requests_costs_less_than_two_kilobytes() {
    let (folder, id) = served();
    let mut packed = "# pack-refs with: peeled fully-peeled sorted\n".to_owned();
    for number in 0..20_000 {
        let _ = writeln!(packed, "{id} refs/pull/{number:05}/head");
    }
    std::fs::write(folder.path().join("repo/packed-refs"), packed).unwrap();
    let server = Server::git(folder.path(), Door::Open);
    let access = access(server.ca_file(), None);
    let named = [
        "refs/heads/main",
        "refs/tags/main",
        "refs/remotes/main",
        "refs/main",
    ];
    for prefixes in [&["HEAD"][..], &named] {
        let url = server.url("repo").parse().unwrap();
        let refs = advertised(&url, &access, prefixes).unwrap();
        let sent = server.take_sent();
        assert!(sent < 2000, "{sent} bytes for {prefixes:?}");
        assert_eq!(refs.len(), 1, "{refs:?}");
        assert_eq!(refs[0].id.to_string(), id.to_string());
        let old = server.url("v0/repo").parse().unwrap();
        assert_eq!(
            advertised(&old, &access, prefixes).unwrap(),
            refs,
            "an older server"
        );
        assert!(server.take_sent() > 1_000_000);
    }
}

#[test]
fn both_protocols_list_the_same() {
    let (folder, id) = served();
    let (path, id) = (folder.path().join("repo"), id.to_string());
    commit(
        &git2::Repository::open_bare(&path).unwrap(),
        "refs/heads/side",
        b"side",
    );
    git(&path, &["tag", "-a", "-m", "x", "v1", &id]);
    git(&path, &["init", "-q", "--bare", "../empty"]);
    git(&path, &["update-ref", "refs/heads/odd-é", &id]);
    let server = Server::git(folder.path(), Door::Open);
    let access = access(server.ca_file(), None);
    let list = |path: &str| {
        let mut refs = advertised(&server.url(path).parse().unwrap(), &access, &[]).unwrap();
        refs.sort_by(|a, b| a.name.cmp(&b.name));
        refs
    };
    let refs = list("repo");
    let names: Vec<&str> = refs.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "HEAD",
            "refs/heads/main",
            "refs/heads/odd-é",
            "refs/heads/side",
            "refs/tags/v1",
            "refs/tags/v1^{}"
        ]
    );
    assert_eq!(refs[0].target.as_deref(), Some("refs/heads/main"));
    assert_eq!(refs[5].id.to_string(), id);
    assert_eq!(list("v0/repo"), refs);
    assert_eq!(list("empty"), []);
    assert_eq!(list("v0/empty"), []);
}

#[test]
fn a_repository_with_sha_256_ids_is_refused() {
    let (folder, _) = served();
    git(folder.path(), &["init", "-q", "--object-format=sha256", "other"]);
    git(
        &folder.path().join("other"),
        &["commit", "-q", "--allow-empty", "-m", "x"],
    );
    let server = Server::git(folder.path(), Door::Open);
    let access = access(server.ca_file(), None);
    for path in ["other", "v0/other"] {
        let error = advertised(&server.url(path).parse().unwrap(), &access, &[]).unwrap_err();
        assert!(matches!(error, GitError::Sha256 { .. }), "{path}: {error:?}");
    }
}

/// Returns the error for a host with this response.
fn refused(head: &str, body: &str) -> String {
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let server = Server::raw(&answer, Then::Close);
    let access = access(server.ca_file(), Some(credentials(server.host(), "secret")));
    let error = advertised(&server.url("repo").parse().unwrap(), &access, &[]).unwrap_err();
    error.to_string().replace(&server.host(), "HOST")
}

#[test]
fn the_error_contains_the_message_of_the_host() {
    for (head, body, shown) in [
        (
            "401 No\r\nContent-Type: text/plain; charset=utf-8",
            "Unauthorized\n",
            "`HOST` rejected the credentials (401): Unauthorized",
        ),
        (
            "403 No\r\nContent-Type: text/plain",
            "remote: Write access to repository not granted.\n",
            "`HOST` denied access to the repository (403): Write access to repository not granted.",
        ),
        (
            "403 No\r\nContent-Type: text/html",
            "<html><title>Blocked by\n the firewall</title>",
            "`HOST` denied access to the repository (403): Blocked by the firewall",
        ),
        (
            "200 OK\r\nContent-Type: text/html",
            "<title>Sign in - Gitea</title>",
            "`https://HOST/repo` did not respond as a Git repository (it returned `text/html`): Sign in - Gitea",
        ),
        (
            "503 No\r\nContent-Type: text/html",
            "<title>Backend fetch failed</title>",
            "`HOST` returned status 503: Backend fetch failed",
        ),
        (
            "401 No\r\nContent-Type: text/plain",
            "no access with secret or dXNlcjpzZWNyZXQ= \u{1b}[2J",
            "`HOST` rejected the credentials (401): no access with *** or *** \\u{1b}[2J",
        ),
        ("403 No", "", "`HOST` denied access to the repository (403)"),
    ] {
        assert_eq!(refused(head, body), shown);
    }
    let long = refused("403 No\r\nContent-Type: text/plain", &"x".repeat(100_000));
    assert!(long.chars().count() < 600 && long.ends_with('…'), "{long}");
    let git = "200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement";
    assert_eq!(
        refused(
            git,
            "001e# service=git-upload-pack\n0000001bERR over the quota now\n0000"
        ),
        "`HOST` refused the request: over the quota now"
    );
}

#[test]
fn the_error_of_a_cut_connection_is_a_plain_sentence() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
                Content-Length: 1000\r\n\r\n001e# service=git-upload-pack\n";
    for answer in ["", "HTTP/1.1 200", head] {
        let server = Server::raw(answer, Then::Cut);
        let access = access(server.ca_file(), None);
        let error = advertised(&server.url("repo").parse().unwrap(), &access, &[]).unwrap_err();
        let GitError::Network { source, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            source.to_string(),
            "the connection was closed before the response was complete",
            "{answer}"
        );
    }
}

//! Git over HTTPS, against `git http-backend` and against hostile servers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::Repository;

use super::*;
use crate::git::GitCredentials;
use crate::git::testing::{Answer, Door, Server, Then};
use crate::transport::{Network, Secret, SecretSource};

/// `user:secret` as a header.
const BASIC: &str = "Basic dXNlcjpzZWNyZXQ=";

pub(super) fn access(ca_file: PathBuf, credentials: Option<GitCredentials>) -> GitAccess {
    GitAccess {
        network: Network {
            ca_file: Some(ca_file),
            ..Network::default()
        },
        credentials,
        timeout: Duration::from_secs(20),
        client: None,
    }
}

pub(super) fn credentials(host: String, password: &str) -> GitCredentials {
    GitCredentials {
        host,
        username: Some("user".to_owned()),
        password: SecretSource::Value(Secret::new(password.to_owned())),
    }
}

/// A folder with a bare repository `repo` that has one commit on `main`.
pub(super) fn served() -> (tempfile::TempDir, git2::Oid) {
    crate::git::libgit2::libgit2().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).initial_head("main").external_template(false);
    let repository = Repository::init_opts(folder.path().join("repo"), &options).unwrap();
    let id = commit(&repository, "refs/heads/main", &[7; 100_000]);
    (folder, id)
}

pub(super) fn commit(repository: &Repository, reference: &str, content: &[u8]) -> git2::Oid {
    let mut tree = repository.treebuilder(None).unwrap();
    tree.insert("file", repository.blob(content).unwrap(), 0o100_644)
        .unwrap();
    let tree = repository.find_tree(tree.write().unwrap()).unwrap();
    let who = git2::Signature::new("Ann", "ann@example.org", &git2::Time::new(1_700_000_000, 0)).unwrap();
    repository
        .commit(Some(reference), &who, &who, "commit", &tree, &[])
        .unwrap()
}

fn bare(path: &Path) -> Repository {
    Repository::init_bare(path).unwrap()
}

fn refused(server: &Server) -> GitError {
    let access = access(server.ca_file(), None);
    advertised(&server.url("repo").parse().unwrap(), &access, &[]).unwrap_err()
}

#[test]
fn refs_are_listed_and_fetched() {
    let (folder, id) = served();
    let server = Server::git(folder.path(), Door::Open);
    let access = access(server.ca_file(), None);
    let url = server.url("repo").parse().unwrap();
    let refs = advertised(&url, &access, &[]).unwrap();
    assert_eq!(refs[0].name, "HEAD");
    assert_eq!(refs[0].target.as_deref(), Some("refs/heads/main"));
    assert_eq!(refs[1].id.to_string(), id.to_string());
    assert_eq!(
        server.take_requests(),
        [
            "GET /repo/info/refs?service=git-upload-pack",
            "POST /repo/git-upload-pack"
        ]
    );

    let own = tempfile::tempdir().unwrap();
    let repository = bare(own.path());
    let fetch = |remote: &mut git2::Remote<'_>| remote.fetch(&["+refs/heads/main:refs/x"], None, None);
    with_remote(&repository, &url, &access, fetch).unwrap();
    assert_eq!(repository.refname_to_id("refs/x").unwrap(), id);
    assert!(
        repository
            .find_commit(id)
            .unwrap()
            .tree()
            .unwrap()
            .get_name("file")
            .is_some()
    );
}

#[test]
fn a_push_larger_than_the_buffer_in_memory_succeeds() {
    let (folder, _) = served();
    let server = Server::git(folder.path(), Door::Open);
    let access = access(server.ca_file(), None);
    let own = tempfile::tempdir().unwrap();
    let repository = bare(own.path());
    let mut noise = vec![0; 6 << 20];
    fastrand::Rng::with_seed(1).fill(&mut noise);
    let id = commit(&repository, "refs/heads/new", &noise);
    with_remote(
        &repository,
        &server.url("repo").parse().unwrap(),
        &access,
        |remote| remote.push(&["refs/heads/new:refs/gitoggle/new"], None),
    )
    .unwrap();
    let there = Repository::open_bare(folder.path().join("repo")).unwrap();
    assert_eq!(there.refname_to_id("refs/gitoggle/new").unwrap(), id);
}

#[test]
fn credentials_are_sent_once_and_only_to_their_host() {
    let (folder, _) = served();
    let server = Server::git(folder.path(), Door::Guarded(BASIC.to_owned()));
    let url = server.url("repo").parse().unwrap();
    let lookup = |own| advertised(&url, &access(server.ca_file(), own), &[]);
    assert!(lookup(Some(credentials(server.host(), "secret"))).is_ok());
    server.take_requests();
    for (own, offered) in [
        (None, Offered::Nothing),
        (Some(credentials(server.host(), "wrong")), Offered::Password),
        (
            Some(credentials("example.org".to_owned(), "secret")),
            Offered::Nothing,
        ),
    ] {
        match lookup(own).unwrap_err() {
            GitError::Unauthorized { offered: found, .. } => assert_eq!(found, offered),
            error => panic!("{error:?}"),
        }
        assert_eq!(server.take_requests().len(), 1);
    }
}

#[test]
fn a_rotated_password_is_read_at_the_next_attempt() {
    let (folder, _) = served();
    let server = Server::git(folder.path(), Door::Guarded(BASIC.to_owned()));
    let file = folder.path().join("password");
    let own = GitCredentials {
        password: SecretSource::File(file.clone()),
        ..credentials(server.host(), "")
    };
    let access = access(server.ca_file(), Some(own));
    let url = server.url("repo").parse().unwrap();
    assert!(matches!(advertised(&url, &access, &[]), Err(GitError::Secret(_))));
    std::fs::write(&file, "old\n").unwrap();
    assert!(matches!(
        advertised(&url, &access, &[]),
        Err(GitError::Unauthorized { .. })
    ));
    std::fs::write(&file, "secret\n").unwrap();
    assert!(advertised(&url, &access, &[]).is_ok());
}

#[test]
fn a_missing_repository_and_an_unknown_authority_are_distinct_errors() {
    let (folder, _) = served();
    let server = Server::git(folder.path(), Door::Open);
    let trusted = access(server.ca_file(), None);
    let error = advertised(&server.url("nowhere").parse().unwrap(), &trusted, &[]).unwrap_err();
    assert!(matches!(error, GitError::NotFound { .. }), "{error:?}");
    let other = folder.path().join("other.pem");
    std::fs::write(&other, crate::git::testing::Authority::other().pem()).unwrap();
    let error = advertised(&server.url("repo").parse().unwrap(), &access(other, None), &[]).unwrap_err();
    assert!(matches!(error, GitError::Untrusted { .. }), "{error:?}");
}

#[test]
fn responses_that_are_not_gits_protocol_are_distinct_errors() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>";
    let error = refused(&Server::raw(page, Then::Close));
    let GitError::NotGit { content_type, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(content_type.as_deref(), Some("text/html"));
    for (status, expected) in [
        ("401 No", "Unauthorized"),
        ("403 No", "Forbidden"),
        ("404 No", "NotFound"),
        ("503 No", "Status"),
    ] {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let error = format!("{:?}", refused(&Server::raw(&answer, Then::Close)));
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_redirect_to_another_host_or_scheme_or_in_a_loop_is_not_followed() {
    for (target, shown) in [
        (
            "https://127.0.0.1:1/repo/info/refs?service=git-upload-pack",
            "`https://127.0.0.1:1/repo`",
        ),
        ("http://{host}/repo/info/refs?service=git-upload-pack", "`http://"),
        (
            "https://user:password@{host}/repo/info/refs?service=git-upload-pack",
            "/repo`",
        ),
        ("https://{host}/login", "/login`"),
        ("/other/info/refs?service=git-upload-pack", "/other`"),
    ] {
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let server = Server::raw(&answer, Then::Close);
        let access = access(server.ca_file(), Some(credentials(server.host(), "secret")));
        let error = advertised(&server.url("repo").parse().unwrap(), &access, &[]).unwrap_err();
        assert!(matches!(error, GitError::Redirect { .. }), "{error:?}");
        assert!(!error.to_string().contains("password"), "{error}");
        assert!(error.to_string().contains(shown), "{error}");
        assert!(server.take().len() <= 6);
    }
}

#[test]
fn a_redirect_within_the_host_is_followed_and_recorded() {
    let (folder, id) = served();
    std::fs::write(folder.path().join("unused"), "").unwrap();
    let server = Server::git(folder.path(), Door::Open);
    let own = tempfile::tempdir().unwrap();
    let repository = bare(own.path());
    let access = access(server.ca_file(), None);
    // The server redirects `/moved/<path>` to `<path>`.
    let url = server.url("moved/repo").parse().unwrap();
    let fetch = |remote: &mut git2::Remote<'_>| remote.fetch(&["+refs/heads/main:refs/x"], None, None);
    with_remote(&repository, &url, &access, fetch).unwrap();
    assert_eq!(repository.refname_to_id("refs/x").unwrap(), id);
    assert_eq!(
        server.take_requests().last().unwrap(),
        "POST /repo/git-upload-pack"
    );
    assert_eq!(moved_to(&url).unwrap().to_string(), server.url("repo"));
    assert_eq!(moved_to(&server.url("repo").parse().unwrap()), None);
}

#[test]
fn a_silent_server_times_out() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
                Content-Length: 1000\r\n\r\n001e# service=git-upload-pack\n";
    for answer in ["", head] {
        let server = Server::raw(answer, Then::Hang);
        let access = GitAccess {
            timeout: Duration::from_millis(300),
            ..access(server.ca_file(), None)
        };
        let error = advertised(&server.url("repo").parse().unwrap(), &access, &[]).unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error:?}");
    }
}

#[test]
fn a_host_that_sends_a_byte_at_a_time_keeps_no_connection_open() {
    let head = |media_type: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nConnection: close\r\n\r\n")
    };
    let refs = head("application/x-git-upload-pack-advertisement");
    let pack = head("application/x-git-upload-pack-result");
    let timeout = Duration::from_millis(200);
    // The lookup of refs, within the first frame of its response.
    let server = Server::raw(&format!("{refs}ffff"), Then::Drip);
    let patient = GitAccess {
        timeout,
        ..access(server.ca_file(), None)
    };
    let error = advertised(&server.url("repo").parse().unwrap(), &patient, &[]).unwrap_err();
    assert!(matches!(error, GitError::TooSlow { .. }), "{error:?}");
    // The transfer of a pack.
    let id = "1".repeat(40);
    let line = format!("{id} refs/heads/main\0side-band-64k\n");
    let greeting = format!(
        "001e# service=git-upload-pack\n0000{:04x}{line}0000",
        line.len() + 4
    );
    let server = Server::answering([
        Answer::raw(format!("{refs}{greeting}").as_bytes()),
        Answer::raw(format!("{pack}ffff").as_bytes()).and(Then::Drip),
    ]);
    let own = tempfile::tempdir().unwrap();
    let repository = bare(own.path());
    let patient = GitAccess {
        timeout,
        ..access(server.ca_file(), None)
    };
    let fetch = |remote: &mut git2::Remote<'_>| remote.fetch(&["+refs/heads/main:refs/x"], None, None);
    let url = server.url("repo").parse().unwrap();
    let error = with_remote(&repository, &url, &patient, fetch).unwrap_err();
    assert!(matches!(error, GitError::TooSlow { .. }), "{error:?}");
    assert!(
        error.to_string().contains("is too slow: it sent only "),
        "{error}"
    );
}

#[test]
fn an_incomplete_response_is_an_error() {
    for length in ["1000", "30"] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
             Content-Length: {length}\r\n\r\n001e# service=git-upload-pack\n"
        );
        let error = refused(&Server::raw(&answer, Then::Close));
        assert!(
            matches!(error, GitError::Git { .. } | GitError::Network { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn a_path_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let access = access(folder.path().join("none"), None);
    assert!(matches!(
        advertised(&RepoUrl::local("/srv"), &access, &[]),
        Err(GitError::Local)
    ));
}

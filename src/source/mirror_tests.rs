//! Sources behind a URL.

use std::path::PathBuf;

use super::testing::{Repo, config, git};
use super::*;
use crate::git::GitFault;
use crate::git::testing::{Door, Server};
use crate::model::{ObjectId, Trees};
use crate::transport::Network;

/// A repository on a test server, and a work tree that pushes to it.
struct Remote {
    work: Repo,
    folder: tempfile::TempDir,
    server: Server,
}

impl Remote {
    fn new() -> Self {
        let work = Repo::new();
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "--bare", "-b", "main", "repo"]);
        let server = Server::git(folder.path(), Door::Open);
        Self { work, folder, server }
    }

    /// Commits a file and pushes every branch and tag.
    fn publish(&self, path: &str, content: &str) -> String {
        let id = self.work.commit_file(path, content);
        self.push();
        id
    }

    fn push(&self) {
        let url = self.folder.path().join("repo");
        self.work.git(&["push", "-q", "--force", "--mirror", url.to_str().unwrap()]);
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("state/source.git")
    }

    fn config(&self) -> SourceConfig {
        let mut config = config(self.server.url("repo").parse().unwrap());
        config.access.network = Network { ca_file: Some(self.server.ca_file()), ..Network::default() };
        config.cache = Some(self.cache());
        config
    }

    fn source(&self) -> Source {
        Source::new(self.config())
    }

    fn at(&self, reference: &str) -> Source {
        Source::new(SourceConfig { reference: Some(reference.to_owned()), ..self.config() })
    }

    fn untouched(&self) -> Source {
        Source::new(SourceConfig { mode: CacheMode::Untouched, ..self.config() })
    }
}

fn revision(source: &mut Source) -> String {
    let snapshot = source.snapshot().unwrap();
    let tree = snapshot.reader().unwrap().tree(snapshot.root_tree()).unwrap();
    assert!(tree.files() > 0);
    snapshot.revision().to_string()
}

#[test]
fn a_mirror_with_many_packs_is_cloned_again() {
    let remote = Remote::new();
    for most in [1, 2, 3, Thresholds::default().most_mirror_packs] {
        let thresholds = Thresholds { most_mirror_packs: most, ..Thresholds::default() };
        let mut source = Source::new(SourceConfig { thresholds, ..remote.config() });
        for number in 0..4 {
            let commit = remote.publish("a", &format!("{most}, {number}"));
            assert_eq!(source.snapshot().unwrap().revision().to_string(), commit);
            assert!(mirror::packs(&remote.cache()) <= most + 1);
        }
    }
    assert!(mirror::packs(&remote.cache()) > 3, "each fetch adds a pack");
}

#[test]
fn a_ref_that_has_not_moved_costs_one_lookup() {
    let remote = Remote::new();
    let first = remote.publish("a", "1");
    let mut source = remote.source();
    assert_eq!(revision(&mut source), first);
    assert_eq!(source.snapshot().unwrap().reference(), "refs/heads/main");
    remote.server.take_requests();
    assert_eq!(revision(&mut source), first);
    assert_eq!(source.resolve().unwrap().to_string(), first);
    let requests = remote.server.take_requests();
    let lookup = ["GET /repo/info/refs?service=git-upload-pack", "POST /repo/git-upload-pack"];
    assert_eq!(requests, [lookup, lookup].concat());
    let second = remote.publish("a", "2");
    assert_eq!(source.resolve().unwrap().to_string(), second);
    assert_eq!(revision(&mut source), second);
    assert_eq!(revision(&mut remote.source()), second);
}

#[test]
fn only_the_wanted_ref_is_fetched() {
    let remote = Remote::new();
    remote.publish("a", "1");
    remote.work.git(&["checkout", "-q", "-b", "side"]);
    let side = remote.work.commit_file("b", "1");
    remote.work.git(&["tag", "-a", "-m", "x", "v1"]);
    remote.work.git(&["checkout", "-q", "main"]);
    remote.push();
    remote.source().snapshot().unwrap();
    let refs = git(&remote.cache(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/gitoggle/branch\nrefs/gitoggle/source");
    for reference in ["side", "v1", "refs/tags/v1", &side, &side[..10]] {
        assert_eq!(revision(&mut remote.at(reference)), side, "{reference}");
        assert_eq!(remote.at(reference).resolve().unwrap().to_string(), side, "{reference}");
    }
}

#[test]
fn a_commit_id_without_a_ref_is_found_in_the_history_of_a_branch() {
    let remote = Remote::new();
    let first = remote.publish("a", "1");
    remote.publish("a", "2");
    assert_eq!(revision(&mut remote.at(&first)), first);
    assert_eq!(revision(&mut remote.at(&first[..9])), first);
    let error = remote.at(&"1".repeat(40)).snapshot().unwrap_err();
    assert!(matches!(error, Error::UnknownRef { .. }), "{error:?}");
}

#[test]
fn a_commit_of_a_closed_pull_request_is_fetched_by_its_id() {
    let remote = Remote::new();
    let main = remote.publish("a", "1");
    let closed = remote.work.commit_file("a", "2");
    let behind = remote.work.commit_file("a", "3");
    remote.work.git(&["reset", "-q", "--hard", &main]);
    let served = remote.folder.path().join("repo");
    remote.work.git(&["push", "-q", served.to_str().unwrap(), &format!("{behind}:refs/pull/1/head")]);
    assert_eq!(revision(&mut remote.at(&behind)), behind);
    std::fs::remove_dir_all(remote.cache()).unwrap();
    let mut source = remote.at(&closed);
    assert_eq!(revision(&mut source), closed);
    remote.server.take_requests();
    assert_eq!(revision(&mut source), closed);
    assert_eq!(remote.server.take_requests().len(), 0, "a commit in the mirror is not fetched again");
    assert_eq!(revision(&mut remote.at("main")), main);
}

#[test]
fn a_rewritten_history_is_followed() {
    let remote = Remote::new();
    remote.publish("a", "0");
    let first = remote.publish("a", "1");
    let mut source = remote.source();
    revision(&mut source);
    remote.work.git(&["commit", "-q", "--amend", "-m", "other"]);
    remote.push();
    let second = remote.work.git(&["rev-parse", "HEAD"]);
    assert_eq!(revision(&mut source), second);
    let old = CommitId(first.parse().unwrap());
    assert_eq!(source.snapshot().unwrap().relation(old).unwrap(), Relation::Diverged);
}

#[test]
fn a_missing_ref_or_commit_is_an_error() {
    let remote = Remote::new();
    let error = remote.source().snapshot().unwrap_err();
    assert!(matches!(error, Error::Unborn(_)), "{error:?}");
    remote.publish("a", "1");
    git(&remote.folder.path().join("repo"), &["symbolic-ref", "HEAD", "refs/heads/gone"]);
    let error = remote.source().snapshot().unwrap_err();
    assert_eq!(error.to_string(), "the default branch of the repository does not exist; it has `main`");
    assert_eq!(error.kind(), ErrorKind::Absent);
    git(&remote.folder.path().join("repo"), &["symbolic-ref", "HEAD", "refs/heads/main"]);
    let error = remote.at("mian").snapshot().unwrap_err();
    assert_eq!(error.to_string(), "could not find a branch, tag, or commit `mian`; similar names: `main`");
    assert_eq!(error.kind(), ErrorKind::Absent);
    let nowhere = SourceConfig { location: remote.server.url("nowhere").parse().unwrap(), ..remote.config() };
    let error = Source::new(nowhere).snapshot().unwrap_err();
    assert!(matches!(&error, Error::Remote(error) if error.fault() == Some(GitFault::NotFound)), "{error:?}");
}

#[test]
fn a_broken_cache_is_cloned_again() {
    let remote = Remote::new();
    let first = remote.publish("a", "1");
    let cache = remote.cache();
    type Break<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let breaks: [Break<'_>; 4] = [
        ("no repository", Box::new(|| std::fs::remove_file(cache.join("HEAD")).unwrap())),
        (
            "another remote",
            Box::new(|| {
                git(&cache, &["config", "gitoggle.source", "https://example.org/x"]);
            }),
        ),
        ("no objects", Box::new(|| std::fs::remove_dir_all(cache.join("objects/pack")).unwrap())),
        (
            "a file instead of the folder",
            Box::new(|| {
                std::fs::remove_dir_all(&cache).unwrap();
                std::fs::write(&cache, "").unwrap();
            }),
        ),
    ];
    for (what, damage) in breaks {
        revision(&mut remote.source());
        damage();
        assert_eq!(revision(&mut remote.source()), first, "{what}");
    }
    std::fs::write(cache.join("refs/gitoggle/source.lock"), "").unwrap();
    let second = remote.publish("a", "2");
    assert_eq!(revision(&mut remote.source()), second, "a stale lock");
    assert_eq!(std::fs::read_dir(cache.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_distrusted_cache_is_cloned_again() {
    let remote = Remote::new();
    let first = remote.publish("a", "1");
    let mut source = remote.source();
    revision(&mut source);
    remote.server.take_requests();
    assert!(source.repair(&Error::MissingObject(ObjectId([1; 20]))));
    assert_eq!(revision(&mut source), first);
    assert!(remote.server.take_requests().len() > 2);
    revision(&mut source);
    assert_eq!(remote.server.take_requests().len(), 2);
}

#[test]
fn an_untouched_cache_is_read_and_never_written() {
    let remote = Remote::new();
    let first = remote.publish("a", "1");
    assert_eq!(revision(&mut remote.untouched()), first);
    assert!(!remote.cache().exists());

    revision(&mut remote.source());
    let listing = || {
        let find = "alias.l=!find state/source.git -type f | sort | xargs sha1sum";
        git(remote.folder.path(), &["-c", find, "l"])
    };
    let before = listing();
    assert!(before.contains("state/source.git/HEAD"));
    remote.server.take_requests();
    assert_eq!(revision(&mut remote.untouched()), first);
    assert_eq!(remote.server.take_requests().len(), 2);
    let second = remote.publish("b", "2");
    let mut untouched = remote.untouched();
    assert_eq!(revision(&mut untouched), second);
    let commits =
        untouched.snapshot().unwrap().last_commits(&["a".to_owned()].into(), |_, _| Ok(false)).unwrap();
    assert_eq!(commits["a"].commit().unwrap().id.to_string(), first);
    assert_eq!(listing(), before);
}

#[test]
fn a_snapshot_of_a_temporary_repository_outlives_its_source() {
    let remote = Remote::new();
    remote.publish("a", "1");
    let snapshot = remote.untouched().snapshot().unwrap();
    assert_eq!(snapshot.reader().unwrap().tree(snapshot.root_tree()).unwrap().files(), 1);
}

#[test]
fn a_clone_for_one_command_is_on_the_disk_of_the_cache_and_is_removed() {
    let remote = Remote::new();
    remote.publish("a", "1");
    let state = remote.cache().parent().unwrap().to_owned();
    for has_cache in [false, true] {
        if has_cache {
            revision(&mut remote.source());
        }
        let mut source = remote.untouched();
        let snapshot = source.snapshot().unwrap();
        assert!(snapshot.reader().unwrap().folder().starts_with(&state), "{has_cache}");
        drop((source, snapshot));
        let left = std::fs::read_dir(&state).map_or(0, Iterator::count);
        assert_eq!(left, usize::from(has_cache), "only the cache is left");
    }
}

/// Asserts that `v1` is refused with both of its full names, and that each of these is the ref that it names.
fn is_ambiguous(mut source: Source, what: &str) {
    for error in [source.snapshot().unwrap_err(), source.resolve().unwrap_err()] {
        assert!(matches!(error, Error::AmbiguousRef { .. }), "{what}: {error:?}");
        let said = error.to_string();
        assert!(said.contains("`refs/heads/v1` and `refs/tags/v1`"), "{what}: {said}");
    }
}

#[test]
fn a_short_name_of_a_branch_and_a_tag_is_refused_by_fresh_and_older_clones() {
    let untouched = |remote: &Remote| {
        Source::new(SourceConfig {
            mode: CacheMode::Untouched,
            reference: Some("v1".to_owned()),
            ..remote.config()
        })
    };
    for (first, then) in [("branch", "tag"), ("tag", "branch")] {
        // Refs of the same commit are two refs as well.
        for is_moved in [true, false] {
            let remote = Remote::new();
            let old = remote.publish("a", "1");
            remote.work.git(&[first, "v1"]);
            remote.push();
            assert_eq!(revision(&mut remote.at("v1")), old);
            assert_eq!(revision(&mut remote.at("v1")), old, "the name is known");
            let new = if is_moved { remote.publish("a", "2") } else { old.clone() };
            remote.work.git(&[then, "v1"]);
            remote.push();
            is_ambiguous(remote.at("v1"), first);
            is_ambiguous(untouched(&remote), first);
            let (branch, tag) = if first == "branch" { (&old, &new) } else { (&new, &old) };
            assert_eq!(revision(&mut remote.at("refs/heads/v1")), *branch);
            assert_eq!(revision(&mut remote.at("refs/tags/v1")), *tag);
            is_ambiguous(remote.at("v1"), first);
            std::fs::remove_dir_all(remote.cache()).unwrap();
            is_ambiguous(remote.at("v1"), "a fresh clone");
            remote.work.git(&["tag", "-d", "v1"]);
            remote.push();
            assert_eq!(revision(&mut remote.at("v1")), *branch, "only the branch is left");
        }
    }
}

#[test]
fn a_short_name_that_becomes_another_ref_is_refused_until_it_is_the_first_again() {
    for (first, then) in [("heads", "tags"), ("tags", "heads")] {
        for is_url in [true, false] {
            let remote = Remote::new();
            let old = remote.publish("a", "1");
            let unreviewed = remote.publish("a", "2");
            let at = |name: &str| {
                let path = remote.folder.path().join("repo").display().to_string();
                let config = if is_url { remote.config() } else { config(path.parse().unwrap()) };
                Source::new(SourceConfig { reference: Some(name.to_owned()), ..config })
            };
            let publish = |kind: &str, commit: &str| {
                remote.work.git(&["update-ref", &format!("refs/{kind}/v1"), commit]);
                remote.push();
            };
            let remove = |kind: &str| remote.work.git(&["update-ref", "-d", &format!("refs/{kind}/v1")]);
            publish(first, &old);
            let mut source = at("v1");
            assert_eq!(source.resolve().unwrap().to_string(), old);
            remove(first);
            publish(then, &unreviewed);
            let what = format!("`v1` was `refs/{first}/v1` before, and is `refs/{then}/v1` now");
            for error in [source.snapshot().unwrap_err(), source.resolve().unwrap_err()] {
                assert_eq!(error.to_string(), what);
                assert_eq!(error.kind(), ErrorKind::Absent);
            }
            assert_eq!(revision(&mut at(&format!("refs/{then}/v1"))), unreviewed);
            remove(then);
            publish(first, &unreviewed);
            assert_eq!(revision(&mut source), unreviewed, "the first one moved");
        }
    }
}

/// The clone knows it, also to a command that only reads.
#[test]
fn a_short_name_stays_the_ref_that_an_earlier_process_found() {
    for (first, then) in [("heads", "tags"), ("tags", "heads")] {
        let remote = Remote::new();
        let old = remote.publish("a", "1");
        let unreviewed = remote.publish("a", "2");
        let name = |kind: &str| format!("refs/{kind}/v1");
        let set = |kind: &str, commit: &str| remote.work.git(&["update-ref", &name(kind), commit]);
        set(first, &old);
        remote.push();
        assert_eq!(revision(&mut remote.at("v1")), old);
        remote.work.git(&["update-ref", "-d", &name(first)]);
        set(then, &unreviewed);
        remote.push();
        let what = format!("`v1` was `{}` before, and is `{}` now", name(first), name(then));
        let reader = || {
            let config = SourceConfig { mode: CacheMode::Untouched, ..remote.config() };
            Source::new(SourceConfig { reference: Some("v1".to_owned()), ..config })
        };
        for mut source in [remote.at("v1"), reader(), remote.at("v1")] {
            assert_eq!(source.resolve().unwrap_err().to_string(), what);
            assert_eq!(source.snapshot().unwrap_err().to_string(), what);
        }
        assert_eq!(revision(&mut remote.at(&name(then))), unreviewed, "who means it names it");
        assert_eq!(remote.at("v1").snapshot().unwrap_err().to_string(), what);
        std::fs::remove_dir_all(remote.cache()).unwrap();
        assert_eq!(revision(&mut remote.at("v1")), unreviewed, "an empty disk knows nothing");
    }
}

#[test]
fn a_name_of_a_ref_that_is_the_short_id_of_another_commit_is_refused() {
    for kind in ["branch", "tag"] {
        let remote = Remote::new();
        let old = remote.publish("a", "1");
        let other = remote.publish("a", "2");
        let name = &other[..7];
        // The history of the ref does not contain the commit.
        remote.work.git(&[kind, name, &old]);
        remote.push();
        let full = format!("`refs/{}/{name}` and `{other}`", if kind == "tag" { "tags" } else { "heads" });
        for state in ["a fresh clone", "an older clone"] {
            for mode in [CacheMode::Untouched, CacheMode::Keep] {
                let config = SourceConfig { mode, reference: Some(name.to_owned()), ..remote.config() };
                let mut source = Source::new(config);
                for error in [source.snapshot().unwrap_err(), source.resolve().unwrap_err()] {
                    assert!(error.to_string().contains(&full), "{kind}, {state}, {mode:?}: {error}");
                }
            }
            // A pass that can read it leaves a clone.
            let prefix = if kind == "tag" { "refs/tags/" } else { "refs/heads/" };
            assert_eq!(revision(&mut remote.at(&format!("{prefix}{name}"))), old);
        }
        // Its own short id is no other commit.
        remote.work.git(&[kind, "-f", name, &other]);
        remote.push();
        assert_eq!(revision(&mut remote.at(name)), other, "{kind}");
    }
    let remote = Remote::new();
    let only = remote.publish("a", "1");
    remote.work.git(&["branch", "cafe"]);
    remote.push();
    assert_eq!(revision(&mut remote.at("cafe")), only, "no commit has this id");
}

#[test]
fn a_commit_that_a_rewritten_branch_no_longer_has_is_fetched_by_its_id() {
    for mode in [CacheMode::Keep, CacheMode::Untouched] {
        let remote = Remote::new();
        remote.publish("a", "0");
        let lost = remote.publish("a", "1");
        remote.work.git(&["commit", "-q", "--amend", "-m", "other"]);
        remote.push();
        // An empty disk: no clone has ever seen the commit.
        let snapshot = Source::new(SourceConfig { mode, ..remote.config() }).snapshot().unwrap();
        assert_eq!(snapshot.relation(CommitId(lost.parse().unwrap())).unwrap(), Relation::Diverged);
        remote.server.take_requests();
        let nowhere = CommitId(ObjectId([1; 20]));
        for _ in 0..3 {
            assert_eq!(snapshot.relation(nowhere).unwrap(), Relation::Missing);
        }
        assert_eq!(remote.server.take_requests().len(), 2, "the host is asked once");
    }
}

//! Last commits, against what the `git` program says of the same histories.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use super::testing::{Repo, command, config, git, source, source_at};
use super::{Parents, Snapshot, Source, SourceConfig};
use crate::transport::RepoUrl;

const PATHS: [&str; 7] = ["a", "a/b", "a.b", "d/x", "d/y/z", "d/y/w", "never"];
const HISTORIES: usize = 240;

fn paths(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn last(snapshot: &Snapshot, path: &str) -> Option<String> {
    let commits = snapshot.last_commits(&paths(&[path])).unwrap();
    commits.get(path).map(|commit| commit.id.to_string())
}

/// Writes a history of merges, deletions, reverts and wrong clocks as a stream for `git fast-import`.
fn history(stream: &mut String, branch: usize, random: &mut fastrand::Rng) {
    let count = random.usize(3..16);
    let first = branch * 100 + 1;
    for number in first..first + count {
        let time = 1_700_000_000 + i64::try_from(number).unwrap() * 10 + random.i64(-40..40);
        let message = format!("commit {number}");
        writeln!(stream, "commit refs/heads/h{branch}\nmark :{number}").unwrap();
        writeln!(
            stream,
            "committer A <a@example.org> {time} +0000\ndata {}\n{message}",
            message.len()
        )
        .unwrap();
        let mut parents: Vec<usize> = (first..number).collect();
        random.shuffle(&mut parents);
        parents.truncate([1, 1, 2, 2, 3][random.usize(..5)]);
        for (index, parent) in parents.iter().enumerate() {
            writeln!(stream, "{} :{parent}", if index == 0 { "from" } else { "merge" }).unwrap();
        }
        for _ in 0..random.usize(..4) {
            let path = PATHS[random.usize(..PATHS.len() - 1)];
            match random.usize(..4) {
                0 => writeln!(stream, "D {path}").unwrap(),
                content => {
                    let mode = if random.usize(..6) == 0 { 755 } else { 644 };
                    writeln!(stream, "M 100{mode} inline {path}\ndata 1\n{content}").unwrap();
                }
            }
        }
    }
}

#[test]
fn the_last_commit_of_each_path_is_the_one_that_git_log_names() {
    let repo = Repo::new();
    let mut random = fastrand::Rng::with_seed(7);
    let mut stream = String::new();
    (0..HISTORIES).for_each(|branch| history(&mut stream, branch, &mut random));
    let mut import = command(repo.path())
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());

    let mut named = 0;
    for branch in 0..HISTORIES {
        let (parents, flag) = match branch % 3 {
            0 => (Parents::First, "--first-parent"),
            _ => (Parents::All, "--no-patch"),
        };
        let reference = format!("h{branch}");
        let config = SourceConfig {
            reference: Some(reference.clone()),
            first_parent: parents,
            ..config(RepoUrl::local(repo.path()))
        };
        let found = Source::new(config)
            .look()
            .unwrap()
            .last_commits(&paths(&PATHS))
            .unwrap();
        for offset in 0..3 {
            let path = PATHS[(branch + offset) % PATHS.len()];
            let expected = repo.git(&["log", "-1", flag, "--format=%H", &reference, "--", path]);
            // Git takes `a` for everything below it, too, and a folder for its files.
            let found = found
                .get(path)
                .map_or_else(String::new, |commit| commit.id.to_string());
            assert_eq!(found, expected, "history {branch}, {path}, {parents:?}");
            named += usize::from(!expected.is_empty());
        }
    }
    assert!(named > HISTORIES, "only {named} paths were ever touched");
}

#[test]
fn a_deleted_path_has_the_commit_that_deleted_it() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["rm", "-q", "a"]);
    let deletion = repo.commit("delete");
    repo.commit_file("b", "1");
    assert_eq!(last(&source(repo.path()).look().unwrap(), "a"), Some(deletion));
}

#[test]
fn a_merged_branch_keeps_its_own_commit_unless_first_parents_are_asked_for() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.commit_file("b", "1");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merge = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(last(&source(repo.path()).look().unwrap(), "b"), Some(side));
    let config = SourceConfig {
        first_parent: Parents::First,
        ..config(RepoUrl::local(repo.path()))
    };
    assert_eq!(last(&Source::new(config).look().unwrap(), "b"), Some(merge));
}

#[test]
fn paths_are_counted_from_the_root() {
    let repo = Repo::new();
    let first = repo.commit_file("toggles/a", "1");
    repo.commit_file("a", "1");
    let config = SourceConfig {
        root: "toggles".to_owned(),
        ..config(RepoUrl::local(repo.path()))
    };
    assert_eq!(last(&Source::new(config).look().unwrap(), "a"), Some(first));
}

#[test]
fn beyond_the_end_of_a_shallow_clone_the_head_commit_is_named() {
    let repo = Repo::new();
    repo.commit_file("old", "1");
    repo.commit_file("boundary", "1");
    let new = repo.commit_file("new", "1");
    let head = repo.commit_file("head", "1");
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    git(folder.path(), &["clone", "-q", "--depth=3", &url, "shallow"]);
    let snapshot = source_at(&folder.path().join("shallow"), "main").look().unwrap();
    assert!(snapshot.is_shallow());
    for (path, commit) in [
        ("old", &head),
        ("boundary", &head),
        ("new", &new),
        ("head", &head),
    ] {
        assert_eq!(last(&snapshot, path).as_ref(), Some(commit), "{path}");
    }
    assert!(!source(repo.path()).look().unwrap().is_shallow());
}

#[test]
fn a_message_is_decoded_by_the_encoding_of_its_commit() {
    let repo = Repo::new();
    repo.write("a", "1");
    repo.git(&["add", "-A"]);
    std::fs::write(repo.join("message"), b"na\xefve\n").unwrap();
    repo.git(&[
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "-q",
        "-F",
        "message",
    ]);
    assert_eq!(source(repo.path()).look().unwrap().commit().message, "naïve\n");
}

//! Compares last commits with the output of the `git` program for the same histories.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use super::testing::{Repo, command, config, git, source, source_at};
use super::{Parents, Snapshot, Source, SourceConfig};
use crate::git::RepoUrl;
use crate::model::{Attribution, Blob, Thresholds, Trees as _};

const PATHS: [&str; 7] = ["a", "a/b", "a.b", "d/x", "d/y/z", "d/y/w", "never"];
const HISTORIES: usize = 240;

fn paths(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn found(snapshot: &Snapshot, path: &str) -> Option<Attribution> {
    let commits = snapshot.last_commits(&paths(&[path]), |_, _| Ok(false));
    commits.unwrap().remove(path)
}

fn last(snapshot: &Snapshot, path: &str) -> Option<String> {
    found(snapshot, path).map(|found| found.commit().unwrap().id.to_string())
}

/// Writes a history of merges, deletions, reverts and wrong clocks as a stream for `git fast-import`.
fn history(stream: &mut String, branch: usize, random: &mut fastrand::Rng) {
    let count = random.usize(3..16);
    let first = branch * 100 + 1;
    for number in first..first + count {
        let time = 1_700_000_000 + i64::try_from(number).unwrap() * 10 + random.i64(-40..40);
        let message = format!("commit {number}");
        writeln!(stream, "commit refs/heads/h{branch}\nmark :{number}").unwrap();
        writeln!(stream, "committer A <a@example.org> {time} +0000\ndata {}\n{message}", message.len())
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

/// Makes this many histories, on branches `h0`, `h1` and so on.
fn histories(count: usize, seed: u64) -> Repo {
    let repo = Repo::new();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut stream = String::new();
    (0..count).for_each(|branch| history(&mut stream, branch, &mut random));
    let mut import = command(repo.path())
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    repo
}

/// Returns a snapshot of one of several histories.
fn snapshot(repo: &Repo, branch: usize, parents: Parents) -> Snapshot {
    let config = SourceConfig {
        reference: Some(format!("h{branch}")),
        parents,
        thresholds: thresholds(branch),
        ..config(RepoUrl::local(repo.path()))
    };
    Source::new(config).snapshot().unwrap()
}

/// Returns the real thresholds for one history in four, and small ones for the others: a walk forgets the
/// trees that it has read, and its snapshot remembers few of them.
fn thresholds(branch: usize) -> Thresholds {
    match branch % 4 {
        0 => Thresholds::default(),
        few => Thresholds { most_trees: few, tree_bytes: few * few * few * 20, ..Thresholds::default() },
    }
}

#[test]
fn the_last_commit_of_each_path_is_the_one_that_git_log_names() {
    let repo = histories(HISTORIES, 7);
    let mut named = 0;
    for branch in 0..HISTORIES {
        let (parents, flag) = match branch % 3 {
            0 => (Parents::First, "--first-parent"),
            _ => (Parents::All, "--no-patch"),
        };
        let reference = format!("h{branch}");
        let found = snapshot(&repo, branch, parents).last_commits(&paths(&PATHS), |_, _| Ok(false)).unwrap();
        for offset in 0..3 {
            let path = PATHS[(branch + offset) % PATHS.len()];
            let expected = repo.git(&["log", "-1", flag, "--format=%H", &reference, "--", path]);
            // Git takes `a` for everything below it, too, and a folder for its files.
            let found =
                found.get(path).map_or_else(String::new, |found| found.commit().unwrap().id.to_string());
            assert_eq!(found, expected, "history {branch}, {path}, {parents:?}");
            named += usize::from(!expected.is_empty());
        }
    }
    assert!(named > HISTORIES, "only {named} paths were ever touched");
}

/// Returns the newest commit of a line of first parents that changed the meaning of `path`, read off `git
/// log`.
fn newest_change(repo: &Repo, branch: usize, path: &str, is_same: impl Fn(&str) -> bool) -> Option<String> {
    let reference = format!("h{branch}");
    let log = [
        "log",
        "--first-parent",
        "-m",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--format=%H",
        &reference,
        "--",
        path,
    ];
    let mut commit = "";
    let log = repo.git(&log);
    for line in log.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix(':') {
            None => commit = line,
            Some(change) if change.ends_with(&format!("\t{path}")) => {
                let before = change.split(' ').nth(2).unwrap();
                if !is_same(before) {
                    return Some(commit.to_owned());
                }
            }
            Some(_) => {}
        }
    }
    None
}

#[test]
fn a_commit_that_does_not_change_the_meaning_is_passed_over() {
    const COUNT: usize = 60;
    let repo = histories(COUNT, 11);
    // The contents 1 and 3 mean the same.
    let meaning = |id: &str| match id {
        "56a6051ca2b02b04ef92d5150c9ef600403cb1de" | "e440e5c842586965a7fb77deda2eca68612b1f53" => 1,
        _ => 2,
    };
    let mut passed_over = 0;
    for branch in 0..COUNT {
        let snapshot = snapshot(&repo, branch, Parents::First);
        for path in &PATHS[3..6] {
            let now = snapshot.file_at(path).unwrap();
            let is_same = |id: &str| {
                let is_file = id.bytes().any(|byte| byte != b'0');
                is_file && now.is_some_and(|now| meaning(&now.to_string()) == meaning(id))
            };
            let commits = snapshot.last_commits(&paths(&[path]), |_, id| Ok(is_same(&id.to_string())));
            let commits = commits.unwrap();
            let found = commits.get(*path).map(|found| found.commit().unwrap().id.to_string());
            assert_eq!(found, newest_change(&repo, branch, path, is_same), "history {branch}, {path}");
            passed_over += usize::from(found != last(&snapshot, path));
        }
    }
    assert!(passed_over > COUNT / 10, "only {passed_over} commits were passed over");
}

#[test]
fn a_merge_follows_the_parent_that_means_the_same() {
    let repo = Repo::new();
    repo.commit_file("a", "x");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit_file("a", "X");
    repo.git(&["checkout", "-q", "main"]);
    let change = repo.commit_file("a", "y");
    repo.git(&["merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "side"]);
    repo.commit_file("a", "Y");
    let snapshot = source(repo.path()).snapshot().unwrap();
    let reader = snapshot.reader().unwrap();
    let found = snapshot.last_commits(&paths(&["a"]), |_, version| {
        let Blob::Content(content) = reader.blob(version, 9)? else {
            return Ok(false);
        };
        Ok(content.eq_ignore_ascii_case(b"y"))
    });
    assert_eq!(found.unwrap()["a"].commit().unwrap().id.to_string(), change);
}

#[test]
fn a_damaged_folder_behind_the_last_change_is_not_read() {
    let repo = Repo::new();
    let commits: Vec<String> = (0..16).map(|number| repo.commit_file(&format!("f{number}"), "1")).collect();
    for number in 2..16 {
        let tree = repo.git(&["rev-parse", &format!("{}^{{tree}}", commits[number - 2])]);
        let object = repo.path().join(".git/objects").join(&tree[..2]).join(&tree[2..]);
        let aside = repo.path().join("aside");
        std::fs::rename(&object, &aside).unwrap();
        let found = last(&source(repo.path()).snapshot().unwrap(), &format!("f{number}"));
        assert_eq!(found.as_ref(), Some(&commits[number]));
        std::fs::rename(&aside, &object).unwrap();
    }
}

#[test]
fn a_deleted_path_has_the_commit_that_deleted_it() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["rm", "-q", "a"]);
    let deletion = repo.commit("delete");
    repo.commit_file("b", "1");
    assert_eq!(last(&source(repo.path()).snapshot().unwrap(), "a"), Some(deletion));
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
    assert_eq!(last(&source(repo.path()).snapshot().unwrap(), "b"), Some(side));
    let config = SourceConfig { parents: Parents::First, ..config(RepoUrl::local(repo.path())) };
    assert_eq!(last(&Source::new(config).snapshot().unwrap(), "b"), Some(merge));
}

#[test]
fn paths_are_counted_from_the_root() {
    let repo = Repo::new();
    let first = repo.commit_file("toggles/a", "1");
    repo.commit_file("a", "1");
    let config = SourceConfig { root: "toggles".to_owned(), ..config(RepoUrl::local(repo.path())) };
    assert_eq!(last(&Source::new(config).snapshot().unwrap(), "a"), Some(first));
}

#[test]
fn beyond_the_end_of_a_shallow_clone_the_head_commit_is_a_guess() {
    let repo = Repo::new();
    repo.commit_file("old", "1");
    repo.commit_file("boundary", "1");
    let new = repo.commit_file("new", "1");
    let head = repo.commit_file("head", "1");
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    git(folder.path(), &["clone", "-q", "--depth=3", &url, "shallow"]);
    let snapshot = source_at(&folder.path().join("shallow"), "main").snapshot().unwrap();
    assert!(snapshot.is_shallow());
    for (path, commit, certainty) in [
        ("old", &head, "guessed"),
        ("boundary", &head, "guessed"),
        ("new", &new, "known"),
        ("head", &head, "known"),
    ] {
        assert_eq!(last(&snapshot, path).as_ref(), Some(commit), "{path}");
        assert_eq!(found(&snapshot, path).unwrap().as_str(), certainty, "{path}");
    }
    assert!(!source(repo.path()).snapshot().unwrap().is_shallow());
}

#[test]
fn where_the_history_ends_early_the_oldest_commit_found_is_a_guess() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.commit_file("b", "1");
    let oldest = repo.commit_file("a", "2");
    repo.commit_file("a", "3");
    repo.commit_file("b", "2");
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    git(folder.path(), &["clone", "-q", "--depth=4", &url, "shallow"]);
    let snapshot = source_at(&folder.path().join("shallow"), "main").snapshot().unwrap();
    let found = snapshot.last_commits(&paths(&["a"]), |_, _| Ok(true)).unwrap();
    assert_eq!(found["a"].as_str(), "guessed");
    assert_eq!(found["a"].commit().unwrap().id.to_string(), oldest);
}

#[test]
fn a_message_is_decoded_by_the_encoding_of_its_commit() {
    let repo = Repo::new();
    repo.write("a", "1");
    repo.git(&["add", "-A"]);
    std::fs::write(repo.join("message"), b"na\xefve\n").unwrap();
    repo.git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "-F", "message"]);
    assert_eq!(source(repo.path()).snapshot().unwrap().commit().message, "naïve\n");
}

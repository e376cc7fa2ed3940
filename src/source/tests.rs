//! Sources at a path.

use super::testing::{Repo, config, git, source, source_at};
use super::*;
use crate::model::{Blob, EntryKind, HistoryEvidence, ObjectId, Trees};

fn revision(source: &mut Source) -> String {
    let looked = source.snapshot().unwrap().revision();
    assert_eq!(source.resolve().unwrap(), looked);
    looked.to_string()
}

#[test]
fn head_is_the_default_and_follows_the_branch() {
    let repo = Repo::new();
    let first = repo.commit_file("a/b/c.yaml", "1");
    let mut source = source(repo.path());
    assert_eq!(revision(&mut source), first);
    assert_eq!(source.snapshot().unwrap().reference(), "refs/heads/main");
    let second = repo.commit_file("a/b/c.yaml", "2");
    assert_eq!(revision(&mut source), second);
    repo.git(&["checkout", "-q", "--detach", &first]);
    assert_eq!(revision(&mut source), first);
    assert_eq!(source.snapshot().unwrap().reference(), "HEAD (detached)");
}

#[test]
fn every_form_of_a_ref_is_resolved() {
    let repo = Repo::new();
    let first = repo.commit_file("a", "1");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "-m", "x", "annotated"]);
    repo.git(&["tag", "-a", "-m", "x", "of-tag", "annotated"]);
    repo.git(&["branch", "team/x"]);
    repo.git(&["update-ref", "refs/remotes/origin/side", &first]);
    repo.commit_file("a", "2");
    for reference in [
        "light",
        "annotated",
        "of-tag",
        "team/x",
        "heads/team/x",
        "refs/tags/annotated",
        "origin/side",
        &first,
        &first[..8],
        &first.to_uppercase()[..12],
        &repo.git(&["rev-parse", "annotated"]),
    ] {
        assert_eq!(revision(&mut source_at(repo.path(), reference)), first, "{reference}");
    }
}

#[test]
fn a_short_name_of_two_refs_is_refused_wherever_it_is_resolved() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.commit_file("a", "2");
    repo.git(&["tag", "v1"]);
    repo.git(&["branch", "v1"]);
    repo.git(&["branch", "origin/x"]);
    repo.git(&["update-ref", "refs/remotes/origin/x", "HEAD"]);
    let names = "`refs/heads/v1` and `refs/tags/v1`";
    for (name, full) in [("v1", names), ("origin/x", "`refs/heads/origin/x` and `refs/remotes/origin/x`")] {
        let error = source_at(repo.path(), name).snapshot().unwrap_err();
        assert!(error.to_string().contains(full), "{error}");
    }
    let revisions = source(repo.path()).revisions().unwrap().unwrap();
    for expression in ["v1", "v1~1", "v1^{commit}", "v1^", "v1@{0}"] {
        match revisions.find(expression) {
            Err(RevisionError::Source(error)) => assert!(error.to_string().contains(names), "{error}"),
            found => panic!("{expression}: {found:?}"),
        }
    }
    for only in ["refs/tags/v1", "tags/v1", "heads/v1", "refs/heads/v1~1", "HEAD~1", "main~1"] {
        assert!(revisions.find(only).is_ok(), "{only}");
    }
}

#[test]
fn the_error_of_a_missing_ref_lists_similar_names() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["branch", "production"]);
    let error = source_at(repo.path(), "prodution").snapshot().unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not find a branch, tag, or commit `prodution`; similar names: `production`"
    );
    assert_eq!(error.kind(), ErrorKind::Absent);
    for odd in ["a..b", "x y", "HEAD~1", "deadbeef", "", "-x", "a\n"] {
        let error = source_at(repo.path(), odd).snapshot().unwrap_err();
        assert!(matches!(error, Error::UnknownRef { .. }), "{odd:?}: {error:?}");
    }
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    repo.git(&["tag", "a-tree", &tree]);
    for not_a_commit in ["a-tree", &tree] {
        let error = source_at(repo.path(), not_a_commit).snapshot().unwrap_err();
        assert!(matches!(error, Error::NotACommit(_)), "{error:?}");
    }
}

#[test]
fn a_repository_without_a_commit_and_a_missing_one_are_distinct_errors() {
    let repo = Repo::new();
    let error = source(repo.path()).snapshot().unwrap_err();
    assert_eq!(error.to_string(), "the branch `main` has no commit yet");
    let folder = tempfile::tempdir().unwrap();
    let error = source(folder.path()).snapshot().unwrap_err();
    assert!(matches!(error, Error::NoRepository(_)), "{error:?}");
    let error = source(&folder.path().join("nowhere")).snapshot().unwrap_err();
    assert!(matches!(error, Error::NoRepository(_)), "{error:?}");
}

#[test]
fn a_folder_inside_a_repository_is_not_the_repository() {
    let repo = Repo::new();
    repo.commit_file("a/b", "1");
    let error = source(&repo.join("a")).snapshot().unwrap_err();
    assert!(matches!(error, Error::NoRepository(_)), "{error:?}");
}

#[test]
fn bare_linked_and_symlinked_repositories_are_opened_in_place() {
    let repo = Repo::new();
    let first = repo.commit_file("a", "1");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    git(folder.path(), &["clone", "-q", "--bare", repo.path().to_str().unwrap(), "bare"]);
    repo.git(&["worktree", "add", "-q", "--detach", at("linked").to_str().unwrap(), &first]);
    repo.commit_file("a", "2");
    std::os::unix::fs::symlink(at("linked"), at("current")).unwrap();
    for name in ["bare", "linked", "current"] {
        assert_eq!(revision(&mut source(&at(name))), first, "{name}");
    }
}

#[test]
fn a_swapped_symlink_is_followed_and_an_old_snapshot_stays_readable() {
    let repo = Repo::new();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let add = |name: &str| repo.git(&["worktree", "add", "-q", "--detach", at(name).to_str().unwrap()]);
    let first = repo.commit_file("a", "1");
    add("one");
    std::os::unix::fs::symlink(at("one"), at("current")).unwrap();
    let mut source = source(&at("current"));
    let old = source.snapshot().unwrap();
    assert_eq!(old.revision().to_string(), first);

    let second = repo.commit_file("a", "2");
    add("two");
    std::os::unix::fs::symlink(at("two"), at("next")).unwrap();
    std::fs::rename(at("next"), at("current")).unwrap();
    repo.git(&["worktree", "remove", "--force", at("one").to_str().unwrap()]);
    assert_eq!(revision(&mut source), second);
    assert_eq!(old.reader().unwrap().tree(old.root_tree()).unwrap().entries().count(), 1);
}

#[test]
fn a_removed_repository_has_vanished() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    let snapshot = source(repo.path()).snapshot().unwrap();
    let reader = snapshot.reader().unwrap();
    std::fs::rename(repo.join(".git"), repo.join("gone")).unwrap();
    let error = reader.blob(ObjectId([1; 20]), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vanished);
    assert_eq!(snapshot.reader().unwrap_err().kind(), ErrorKind::Vanished);
}

#[test]
fn every_query_of_a_replaced_checkout_returns_vanished() {
    let repo = Repo::new();
    let first = CommitId(repo.commit_file("a", "1").parse().unwrap());
    let removed = repo.git(&["rev-parse", "HEAD:a"]).parse().unwrap();
    repo.git(&["rm", "-q", "a"]);
    repo.commit("remove a");
    repo.commit_file("b", "1");
    let snapshot = source(repo.path()).snapshot().unwrap();
    // A sidecar clones again in place: the open handle does not find its objects.
    std::fs::rename(repo.join(".git"), repo.join("old")).unwrap();
    repo.git(&["init", "-q"]);
    let paths = ["a".to_owned()].into();
    for (question, error) in [
        ("relation", snapshot.relation(first).unwrap_err()),
        ("last_commits", snapshot.last_commits(&paths, |_, _| Ok(false)).unwrap_err()),
        ("removal", snapshot.removal("a").unwrap_err()),
        ("file_at", snapshot.file_at("a").unwrap_err()),
        ("evidence", snapshot.evidence("a", removed).unwrap_err()),
        ("differed_since", snapshot.differed_since(first).unwrap_err()),
    ] {
        assert_eq!(error.kind(), ErrorKind::Vanished, "{question}: {error:?}");
    }
}

#[test]
fn entries_have_their_kinds_and_large_blobs_are_not_read() {
    let repo = Repo::new();
    repo.write("folder/file", "12345");
    std::os::unix::fs::symlink("folder", repo.join("link")).unwrap();
    repo.commit("all kinds");
    let snapshot = source(repo.path()).snapshot().unwrap();
    let reader = snapshot.reader().unwrap();
    let tree = reader.tree(snapshot.root_tree()).unwrap();
    let kinds: Vec<_> = tree.entries().map(|entry| (entry.name, entry.kind())).collect();
    assert_eq!(kinds, [(&b"folder"[..], EntryKind::Tree), (b"link", EntryKind::Other)]);
    let file = reader.tree(tree.get("folder").unwrap().id).unwrap().get("file").unwrap().id;
    assert_eq!(reader.blob(file, 5).unwrap(), Blob::Content(b"12345".to_vec()));
    assert_eq!(reader.blob(file, 4).unwrap(), Blob::TooLarge(5));
    assert!(matches!(reader.tree(file), Err(Error::WrongType(..))));
    assert!(matches!(reader.blob(ObjectId([1; 20]), 5), Err(Error::MissingObject(_))));
}

#[test]
fn a_root_that_is_not_a_folder_of_the_tree_is_a_distinct_error() {
    let repo = Repo::new();
    repo.commit_file("toggles/checkout/a.yaml", "1");
    let look = |root: &str| {
        let config = SourceConfig { root: root.to_owned(), ..config(RepoUrl::local(repo.path())) };
        Source::new(config).snapshot()
    };
    let tree = repo.git(&["rev-parse", "HEAD:toggles/checkout"]);
    for root in ["toggles/checkout", "/toggles/checkout/", "./toggles//checkout"] {
        assert_eq!(look(root).unwrap().root_tree().to_string(), tree, "{root}");
    }
    for root in ["nowhere", "toggles/nowhere", "../toggles"] {
        let error = look(root).unwrap_err();
        assert!(matches!(error, Error::NoRoot { .. }), "{error:?}");
    }
    let error = look("toggles/checkout/a.yaml").unwrap_err();
    assert!(matches!(error, Error::RootNotFolder { .. }), "{error:?}");
}

#[test]
fn each_unsupported_format_has_its_own_message() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["config", "core.repositoryformatversion", "1"]);
    for (key, value, message) in [
        (
            "refstorage",
            "reftable",
            "the repository keeps its refs in the reftable format, which is not supported",
        ),
        ("objectformat", "sha256", "the repository uses SHA-256 object ids, which are not supported"),
        ("novelty", "yes", "the repository uses Git's extension `novelty`, which is not supported"),
    ] {
        let key = format!("extensions.{key}");
        repo.git(&["config", "--file", ".git/config", &key, value]);
        assert_eq!(source(repo.path()).snapshot().unwrap_err().to_string(), message);
        repo.git(&["config", "--file", ".git/config", "--unset", &key]);
    }
}

#[test]
fn a_missing_object_of_a_partial_clone_is_a_distinct_error() {
    let repo = Repo::new();
    repo.commit_file("a", "1");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    git(folder.path(), &["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "partial"]);
    let blob = repo.git(&["rev-parse", "HEAD:a"]).parse().unwrap();
    let looked = source(&folder.path().join("partial")).snapshot();
    match looked {
        Ok(snapshot) => {
            let reader = snapshot.reader().unwrap();
            assert_eq!(reader.blob(blob, 10).unwrap(), Blob::Missing);
            let error = reader.tree(blob).unwrap_err();
            assert!(matches!(error, Error::PartialClone(_)), "{error:?}");
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn only_the_url_of_origin_is_read_from_the_configuration() {
    let repo = Repo::new();
    assert_eq!(source(repo.path()).origin_url().unwrap(), None);
    repo.git(&["remote", "add", "origin", "git@example.org:a/b"]);
    assert_eq!(source(repo.path()).origin_url().unwrap().as_deref(), Some("git@example.org:a/b"));
}

#[test]
fn the_relation_of_commits_follows_their_history() {
    let repo = Repo::new();
    let first = repo.commit_file("a", "1");
    let second = repo.commit_file("a", "2");
    repo.git(&["checkout", "-q", "-b", "side", &first]);
    let side = repo.commit_file("a", "3");
    let id = |text: &str| CommitId(text.parse().unwrap());
    let snapshot = source_at(repo.path(), "main").snapshot().unwrap();
    assert_eq!(snapshot.relation(id(&second)).unwrap(), Relation::Same);
    assert_eq!(snapshot.relation(id(&first)).unwrap(), Relation::Descends);
    assert_eq!(snapshot.relation(id(&side)).unwrap(), Relation::Diverged);
    assert_eq!(snapshot.relation(id(&"1".repeat(40))).unwrap(), Relation::Missing);
    let old = source_at(repo.path(), &first).snapshot().unwrap();
    assert_eq!(old.relation(id(&second)).unwrap(), Relation::Behind);
}

#[test]
fn a_change_that_was_reverted_counts_as_a_difference() {
    let repo = Repo::new();
    let since = repo.commit_file("toggles/shop/prod/pay.yaml", "one");
    let differed = |root: &str| {
        let mut source =
            Source::new(SourceConfig { root: root.to_owned(), ..config(RepoUrl::local(repo.path())) });
        let since = CommitId(since.parse().unwrap());
        source.snapshot().unwrap().differed_since(since).unwrap()
    };
    assert!(!differed("toggles"), "there is no commit after it");
    repo.commit_file("toggles/README.md", "what this is");
    repo.commit_file("toggles/.github/workflows/ci.yml", "on: push");
    repo.commit_file("toggles/_drafts/prod/pay.yaml", "later");
    assert!(!differed("toggles"), "none of these is a document");
    repo.commit_file("src/main.c", "int main;");
    repo.commit_file("src/main.c", "int main = 0;");
    assert!(!differed("toggles") && differed(""));
    repo.commit_file("toggles/shop/prod/pay.yaml", "two");
    repo.commit_file("toggles/shop/prod/pay.yaml", "one");
    assert!(differed("toggles"));
}

#[test]
fn a_revision_that_is_far_away_counts_as_different() {
    let repo = Repo::new();
    let since = repo.commit_file("shop/prod/pay.yaml", "one");
    for number in 1..=3 {
        repo.commit_file("README.md", &format!("{number}"));
    }
    let differed = |far| {
        let thresholds = Thresholds { far, ..Thresholds::default() };
        let config = SourceConfig { thresholds, ..config(RepoUrl::local(repo.path())) };
        let since = CommitId(since.parse().unwrap());
        Source::new(config).snapshot().unwrap().differed_since(since).unwrap()
    };
    assert_eq!([1, 3, 4, 1_000].map(differed), [true, true, false, false]);
}

#[test]
fn an_object_is_found_only_at_its_path_in_the_history() {
    let repo = Repo::new();
    repo.commit_file("x/a", "one");
    let one = repo.git(&["rev-parse", "HEAD:x/a"]).parse().unwrap();
    repo.commit_file("x/a", "two");
    repo.git(&["rm", "-q", "x/a"]);
    repo.commit_file("y/b", "three");
    let three = repo.git(&["rev-parse", "HEAD:y/b"]).parse().unwrap();
    let snapshot = source(repo.path()).snapshot().unwrap();
    assert_eq!(snapshot.evidence("x/a", one).unwrap(), HistoryEvidence::Found);
    assert_eq!(snapshot.evidence("y/b", three).unwrap(), HistoryEvidence::Found);
    assert_eq!(snapshot.evidence("x/a", three).unwrap(), HistoryEvidence::Nowhere);
    assert_eq!(snapshot.evidence("x", one).unwrap(), HistoryEvidence::Nowhere);
}

#[test]
fn everything_can_move_to_a_blocking_thread() {
    const fn movable<T: Send>() {}
    movable::<Source>();
    movable::<Snapshot>();
    movable::<Reader>();
    movable::<Error>();
    movable::<watch::Watcher>();
}

#[test]
fn a_full_id_is_the_commit_and_a_short_one_that_is_a_branch_as_well_is_refused() {
    let repo = Repo::new();
    let old = repo.commit_file("a.yaml", "1");
    let new = repo.commit_file("a.yaml", "2");
    for name in [&old[..], &old[..7], &old[..4]] {
        repo.git(&["update-ref", &format!("refs/heads/{name}"), &new]);
        let found = source_at(repo.path(), name).resolve();
        match name.len() {
            40 => assert_eq!(found.unwrap().to_string(), old),
            _ => {
                let said = found.unwrap_err().to_string();
                assert!(said.contains(&format!("`refs/heads/{name}` and `{old}`")), "{said}");
            }
        }
        let branch = source_at(repo.path(), &format!("refs/heads/{name}")).resolve().unwrap();
        assert_eq!(branch.to_string(), new);
        // A branch at that commit leaves no question.
        repo.git(&["update-ref", &format!("refs/heads/{name}"), &old]);
        assert_eq!(source_at(repo.path(), name).resolve().unwrap().to_string(), old);
        repo.git(&["update-ref", "-d", &format!("refs/heads/{name}")]);
    }
}

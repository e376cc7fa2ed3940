//! Tests of reading and writing below one folder.

use std::fs;
use std::os::unix::fs::symlink;

use super::target_folder::{self, Existing, FolderError, TargetFolder, WriteResult};
use crate::model::Blob;

fn write(folder: &TargetFolder, path: &str, text: &str) -> Result<WriteResult, String> {
    let written = folder.write(path, text, Existing::Keep);
    written.map_err(|error| error.to_string())
}

#[test]
fn a_file_is_written_once_and_replaced_only_on_request() {
    let top = tempfile::tempdir().unwrap();
    let folder = TargetFolder::open(top.path(), "toggles").unwrap();
    let path = "shop/prod/pay.yaml";
    // A killed import left half a file.
    fs::create_dir_all(top.path().join("toggles/shop/prod")).unwrap();
    fs::write(top.path().join("toggles/shop/prod/.gitoggle.tmp"), "hal").unwrap();
    assert_eq!(write(&folder, path, "one"), Ok(WriteResult::Written));
    assert_eq!(write(&folder, path, "two"), Ok(WriteResult::Exists));
    assert_eq!(folder.read(path).unwrap(), Blob::Content(b"one".to_vec()));
    let replaced = folder.write(path, "two", Existing::Replace).unwrap();
    assert_eq!(replaced, WriteResult::Written);
    let full = top.path().join("toggles/shop/prod");
    assert_eq!(fs::read_to_string(full.join("pay.yaml")).unwrap(), "two");
    assert_eq!(fs::read_dir(full).unwrap().count(), 1, "the temporary file is gone");
}

#[test]
fn a_file_that_appears_while_it_is_created_stays() {
    let top = tempfile::tempdir().unwrap();
    let file = top.path().join("pay.yaml");
    // As if an editor had saved it after it was looked for.
    fs::write(&file, "theirs").unwrap();
    assert_eq!(target_folder::write(&file, "ours", Existing::Keep, None).unwrap(), WriteResult::Exists);
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1, "the temporary file is gone");
}

#[test]
fn links_repositories_and_other_files_are_refused_wherever_they_are() {
    let (top, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let inner = |path: &str| top.path().join(path);
    fs::create_dir_all(inner("nested/prod")).unwrap();
    fs::create_dir_all(inner("nested/.git")).unwrap();
    fs::create_dir_all(inner("shop/prod/folder.yaml")).unwrap();
    fs::write(inner("file"), "").unwrap();
    fs::write(elsewhere.path().join("target.yaml"), "kept").unwrap();
    symlink(elsewhere.path(), inner("link")).unwrap();
    symlink(elsewhere.path(), inner("shop/link")).unwrap();
    symlink(elsewhere.path().join("target.yaml"), inner("shop/prod/pay.yaml")).unwrap();
    symlink(elsewhere.path().join("new.yaml"), inner("shop/prod/new.yaml")).unwrap();
    let folder = TargetFolder::open(top.path(), "").unwrap();
    for (path, refused) in [
        ("link/prod/pay.yaml", "`link` is a symbolic link"),
        ("shop/link/pay.yaml", "`shop/link` is a symbolic link"),
        ("shop/prod/pay.yaml", "`shop/prod/pay.yaml` is a symbolic link"),
        ("shop/prod/new.yaml", "`shop/prod/new.yaml` is a symbolic link"),
        ("shop/prod/folder.yaml", "`shop/prod/folder.yaml` is not a regular file"),
        ("nested/prod/pay.yaml", "`nested` is a separate repository"),
        ("file/prod/pay.yaml", "`file` is not a folder"),
    ] {
        for existing in [Existing::Keep, Existing::Replace] {
            let error = folder.write(path, "new", existing).unwrap_err().to_string();
            assert!(error.starts_with(refused), "{error}");
        }
        let error = folder.read(path).unwrap_err().to_string();
        assert!(error.starts_with(refused), "{error}");
    }
    let found: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let kept = fs::read_to_string(elsewhere.path().join("target.yaml")).unwrap();
    assert_eq!(kept, "kept");
    // The root is part of the repository, so a link in it is refused, too.
    drop(folder);
    let folder = TargetFolder::open(top.path(), "link").unwrap();
    let error = write(&folder, "shop/prod/pay.yaml", "new").unwrap_err();
    assert!(error.starts_with("`link` is a symbolic link"), "{error}");
}

#[test]
fn a_second_import_of_the_same_work_tree_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let _first = TargetFolder::open(top.path(), "").unwrap();
    assert!(matches!(TargetFolder::open(top.path(), "toggles"), Err(FolderError::Busy)));
}

#[test]
fn a_file_that_is_too_large_for_a_document_is_not_read_completely() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("large.yaml"), vec![b' '; 3 << 20]).unwrap();
    let folder = TargetFolder::open(top.path(), "").unwrap();
    assert!(matches!(folder.read("large.yaml"), Ok(Blob::TooLarge(_))));
}

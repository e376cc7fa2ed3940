//! The sample repository is one that anybody would want to have.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    all.sort();
    all
}

#[test]
fn the_sample_repository_has_no_finding_with_any_service() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/toggles");
    let files = files(&root);
    assert_eq!(files.len(), 8);
    for file in files {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        let PathKind::Document { .. } = Layout::default().classify(path.as_bytes()) else {
            panic!("{path} matches the default layout");
        };
        for kind in [ServiceKind::Documented, ServiceKind::FeatureProbe] {
            let document = read(path, &Blob::Content(fs::read(&file).unwrap()), kind);
            assert_eq!(render(&document.diagnostics, Color::Never), "");
            assert!(document.payload.is_some());
        }
    }
}

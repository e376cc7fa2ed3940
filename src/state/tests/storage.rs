//! Packs, the writer lock, views, and contents that do not match.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::model::{Action, Certainty};

/// Returns the number of deleted files below `dir` that are still open in this process.
fn deleted_and_open(dir: &Path) -> usize {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return 0;
    };
    let targets = open.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    let below = targets.filter(|target| target.starts_with(dir));
    below.filter(|target| target.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn packs_are_merged_and_nothing_is_lost_under_any_ref() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let texts: Vec<String> = (0..40_u8).map(|number| format!("text {number}")).collect();
    for (text, revision) in texts.iter().zip(0..) {
        pass(&mut store, revision, &[("a/b/c", Action::Update, text)], Certainty::Stored).unwrap();
        if revision == 3 {
            git(dir.path(), &["update-ref", "refs/heads/mine", "refs/gitoggle/applied"]);
        }
    }
    let packs = std::fs::read_dir(dir.path().join("state.git/objects/pack")).unwrap();
    let packs =
        packs.flatten().filter(|file| file.path().extension().is_some_and(|extension| extension == "pack"));
    assert!(packs.count() <= 51);
    assert_eq!(deleted_and_open(dir.path()), 0, "merged packs are still open");
    git(dir.path(), &["fsck", "--strict", "--full"]);
    assert_eq!(git(dir.path(), &["cat-file", "blob", "refs/heads/mine:a/b/c.yaml"]), "text 3");
    assert_eq!(git(dir.path(), &["rev-list", "--count", "refs/gitoggle/applied"]), "40");
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "text 39")]));
}

#[test]
fn what_a_merge_of_packs_left_is_removed_and_a_merge_that_failed_is_not_tried_in_every_pass() {
    let dir = tempfile::tempdir().unwrap();
    let thresholds = Thresholds { most_packs: 4, ..Thresholds::default() };
    let mut store = Store::open(dir.path(), Options { thresholds, ..options() }).unwrap();
    let folder = dir.path().join("state.git/objects/pack");
    let files = |extension: &str| {
        let files = std::fs::read_dir(&folder).unwrap().flatten();
        files.filter(|file| file.file_name().to_string_lossy().ends_with(extension)).count()
    };
    let mut revision = 0;
    let mut passes = |store: &mut Store, count: u8| {
        for _ in 0..count {
            revision += 1;
            let text = format!("text {revision}");
            pass(store, revision, &[("a/b/c", Action::Update, &text)], Certainty::Stored).unwrap();
        }
        files(".pack")
    };
    // No `git repack` reads this.
    let config = dir.path().join("state.git/config");
    let valid = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{valid}[pack]\n\twindow = many\n")).unwrap();
    for name in ["tmp_pack_left", ".tmp-7-pack-left.pack", "tmp_idx_left"] {
        std::fs::write(folder.join(name), "left").unwrap();
    }
    // A pass writes two packs, so the third one tries to merge six.
    assert_eq!((passes(&mut store, 5), files("left") + files("left.pack")), (10, 0));
    std::fs::write(&config, valid).unwrap();
    assert_eq!(passes(&mut store, 1), 12, "more than twice as many are merged");
    assert!(passes(&mut store, 1) < 12);
    git(dir.path(), &["fsck", "--strict", "--full"]);
}

#[test]
fn one_state_has_one_writer_and_one_service() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(matches!(&error, Error::Locked { holder, .. } if holder.pid == std::process::id()), "{error:?}");
    pass(&mut store, 1, &[("a/b/c", Action::Create, "one")], Certainty::Stored).unwrap();
    drop(store);
    let other = Options { base_url: "https://other.example".to_owned(), ..options() };
    assert!(matches!(Store::open(dir.path(), other), Err(Error::OtherBaseUrl { .. })));
}

#[test]
fn a_document_with_other_content_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let wrong = |_| Ok::<_, Infallible>(bytes("two"));
    let error =
        store.start(&head(1), &[(id("a/b/c"), sent(Action::Create, "one"))], wrong, &NEVER).unwrap_err();
    assert!(matches!(error, Error::WrongContent { .. }));
}

#[test]
fn a_view_taken_while_a_writer_works_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    pass(&mut store, 1, &[("a/b/c", Action::Create, "one")], Certainty::Stored).unwrap();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..30 {
                let toggle = format!("p/e/t{number}");
                pass(&mut store, 2, &[(toggle.as_str(), Action::Create, "two")], Certainty::Stored).unwrap();
                done.store(number + 1, Ordering::SeqCst);
            }
        });
        while done.load(Ordering::SeqCst) < 30 {
            let before = done.load(Ordering::SeqCst);
            let view = StateSnapshot::open(dir.path()).unwrap();
            let recorded = applied(&view);
            for number in 0..before {
                assert!(recorded.contains_key(&format!("p/e/t{number}.yaml")), "{number} of {before}");
            }
        }
    });
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn the_record_has_the_last_confirmed_documents(
        steps in proptest::collection::vec((0..3_usize, 0..3_usize, 0..3_usize, proptest::bool::weighted(0.8)), 1..12)
    ) {
        let names = ["a", "a-b", "a.b"];
        let dir = tempfile::tempdir().unwrap();
        let mut wanted = BTreeMap::new();
        for (project, toggle, text, is_put) in steps {
            let toggle = format!("{}/e/{}", names[project], names[toggle]);
            let text = ["one", "two", "three"][text];
            let mut store = open(dir.path());
            if is_put {
                wanted.insert(format!("{toggle}.yaml"), text.to_owned());
                pass(&mut store, 1, &[(toggle.as_str(), Action::Update, text)], Certainty::Stored).unwrap();
            } else {
                wanted.remove(&format!("{toggle}.yaml"));
                store.record(&head(1), &[AppliedEdit::Remove { id: id(&toggle) }], documents(&[]), &NEVER).unwrap();
            }
        }
        proptest::prop_assert_eq!(applied(&StateSnapshot::open(dir.path()).unwrap()), wanted);
        git(dir.path(), &["fsck", "--strict", "--full"]);
    }
}

//! Tests state on real folders, and verifies the repository with the git program.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{
    Action, Blob, Certainty, CommitId, Content, DeploymentEffect, Format, ObjectId, Payload, Sent, Serve,
    Suspension, SuspensionScope, Targeting, ToggleId, Trees, Variation,
};

const URL: &str = "https://toggles.example/api";

pub(super) fn options() -> Options {
    Options {
        // Not zero: a child process that another test starts holds every open file, also a lock, until its exec.
        wait: Duration::from_secs(2),
        base_url: URL.to_owned(),
        now: 1_000,
        crash: None,
        shared: None,
    }
}

fn open(dir: &Path) -> Store {
    Store::open(dir, options()).unwrap()
}

pub(super) fn id(text: &str) -> ToggleId {
    text.parse().unwrap()
}

pub(super) fn head(revision: u8) -> PassHead {
    PassHead {
        revision: CommitId(ObjectId([revision; 20])),
        now: 1_000 + i64::from(revision),
    }
}

fn bytes(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

fn object(text: &str) -> ObjectId {
    id_of(ObjectKind::Blob, &bytes(text))
}

fn payload(text: &str) -> Payload {
    let serve = Serve::Select(0);
    let variation = Variation {
        value: text.to_owned(),
        name: "on".to_owned(),
        description: String::new(),
    };
    Payload::new(&Targeting {
        disabled: false,
        content: Content {
            rules: Vec::new(),
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![variation],
            prerequisites: None,
        },
    })
}

pub(super) fn sent(action: Action, text: &str) -> Sent {
    Sent {
        action,
        payload: payload(text),
        comment: format!("say \"{text}\"\nand more"),
        object: object(text),
        format: Format::Yaml,
        path: "somewhere.yaml".to_owned(),
        revision: CommitId(ObjectId([1; 20])),
        base_version: (action == Action::Update).then_some(7),
        note: None,
    }
}

/// Returns documents by id, as a source does.
pub(super) fn documents(texts: &[&str]) -> impl FnMut(ObjectId) -> Result<Vec<u8>, Infallible> + use<> {
    let all: BTreeMap<ObjectId, Vec<u8>> = texts.iter().map(|text| (object(text), bytes(text))).collect();
    move |id| Ok(all[&id].clone())
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A process that should not end.
pub(super) const NEVER: fn() -> bool = || false;

/// Runs a pass that sends each of `changes` with the outcome `finish`.
pub(super) fn pass(
    store: &mut Store,
    revision: u8,
    changes: &[(&str, Action, &str)],
    finish: Certainty,
) -> Result<(), Error> {
    let texts: Vec<&str> = changes.iter().map(|(_, _, text)| *text).collect();
    let changes: Vec<(ToggleId, Sent)> = changes
        .iter()
        .map(|(toggle, action, text)| (id(toggle), sent(*action, text)))
        .collect();
    let journal = store.start(&head(revision), &changes, documents(&texts), &NEVER)?;
    for (toggle, sent) in &changes {
        let begun = block_on(journal.begin(toggle, sent))?.unwrap();
        journal.finish(begun, finish)?;
    }
    store.record(&head(revision), &[], documents(&texts), &NEVER)?;
    store.finish_pass(None, Failures::default())
}

pub(super) fn applied(view: &StateSnapshot) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (Some(tip), Some(reader)) = (view.tip(), view.reader().unwrap()) else {
        return found;
    };
    for project in reader.tree(tip.tree).unwrap().entries() {
        for environment in reader.tree(project.id).unwrap().entries() {
            for toggle in reader.tree(environment.id).unwrap().entries() {
                let name = [project.name, environment.name, toggle.name]
                    .map(|name| std::str::from_utf8(name).unwrap())
                    .join("/");
                let Blob::Content(content) = reader.blob(toggle.id, 1024).unwrap() else {
                    panic!("too large")
                };
                found.insert(name, String::from_utf8(content).unwrap().trim().to_owned());
            }
        }
    }
    found
}

pub(super) fn git(dir: &Path, arguments: &[&str]) -> String {
    let repository = dir.join("state.git");
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(toggle, text)| ((*toggle).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn applied_documents_are_read_back_and_pass_git_fsck() {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        StateSnapshot::open(&dir.path().join("nothing"))
            .unwrap()
            .tip()
            .is_none()
    );
    let mut store = open(dir.path());
    let changes = [
        ("a/b/c", Action::Create, "one"),
        ("a/b-c/d", Action::Create, "one"),
        ("a/b/d", Action::Create, "two"),
    ];
    pass(&mut store, 1, &changes, Certainty::Stored).unwrap();
    pass(
        &mut store,
        2,
        &[
            ("a/b/d", Action::Disable, "two"),
            ("a/b/c", Action::Update, "three"),
        ],
        Certainty::Stored,
    )
    .unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(
        applied(&view),
        pairs(&[("a/b/c.yaml", "three"), ("a/b-c/d.yaml", "one")])
    );
    assert_eq!(view.base_url(), Some(URL));
    assert_eq!(view.tip().unwrap().revision, head(2).revision);
    let toggles = BTreeSet::from([id("a/b/c"), id("a/b-c/d")]);
    let mut revisions = Revisions::default();
    revisions.update(&view, &toggles).unwrap();
    let revision = |toggle| revisions.get(&id(toggle)).map(|applied| applied.revision);
    assert_eq!(revision("a/b/c"), Some(head(2).revision));
    assert_eq!(revision("a/b-c/d"), Some(head(1).revision));
    git(dir.path(), &["fsck", "--strict", "--full"]);
    let message = git(
        dir.path(),
        &["log", "-1", "--format=%an %at%n%B", "refs/gitoggle/applied"],
    );
    assert_eq!(
        message.trim_end(),
        "gitoggle 1002\nApply 2 toggles at 0202020202\n\nupdate a/b/c\ndisable a/b/d\n\n\
         Gitoggle-Revision: 0202020202020202020202020202020202020202\n\
         Gitoggle-Base-Url: https://toggles.example/api"
    );
}

#[test]
fn a_request_without_an_outcome_stays_unknown_after_commits_trims_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let change = (id("a/b/c"), sent(Action::Create, "one"));
    let journal = store
        .start(
            &head(1),
            std::slice::from_ref(&change),
            documents(&["one"]),
            &NEVER,
        )
        .unwrap();
    let lost = block_on(journal.begin(&change.0, &change.1)).unwrap().unwrap();
    drop(lost);
    let put = AppliedEdit::Put {
        id: id("x/y/z"),
        object: object("two"),
        format: Format::Json,
        effect: DeploymentEffect::Record,
    };
    store
        .record(&head(1), &[put], documents(&["two"]), &NEVER)
        .unwrap();
    assert_eq!(store.view().unknown()[&change.0].sent, change.1);
    drop(journal);
    drop(store);
    assert_eq!(
        StateSnapshot::open(dir.path()).unwrap().unknown()[&change.0].sent,
        change.1
    );
    let mut store = open(dir.path());
    assert_eq!(applied(store.view()), pairs(&[("x/y/z.json", "two")]));
    pass(
        &mut store,
        2,
        &[("a/b/c", Action::Create, "two")],
        Certainty::NotStored,
    )
    .unwrap();
    assert_eq!(
        store.view().unknown()[&change.0].sent,
        change.1,
        "a refusal does not settle the request before it"
    );
    pass(
        &mut store,
        3,
        &[("a/b/c", Action::Create, "two")],
        Certainty::Stored,
    )
    .unwrap();
    assert!(store.view().unknown().is_empty());
    store
        .record(
            &head(4),
            &[AppliedEdit::Remove { id: id("a/b/c") }],
            documents(&[]),
            &NEVER,
        )
        .unwrap();
    assert_eq!(applied(store.view()), pairs(&[("x/y/z.json", "two")]));
}

#[test]
fn an_incomplete_last_line_is_ignored_and_an_earlier_damaged_line_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    pass(
        &mut store,
        1,
        &[("a/b/c", Action::Create, "one")],
        Certainty::Unknown,
    )
    .unwrap();
    drop(store);
    let path = dir.path().join("journal");
    let whole = std::fs::read(&path).unwrap();
    for end in whole.len() - 20..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(StateSnapshot::open(dir.path()).unwrap().unknown().len(), 1);
        drop(open(dir.path()));
        assert!(std::fs::read(&path).unwrap().ends_with(b"\n"));
    }
    std::fs::write(&path, [b"{\"intent\":7,garbage}\n", &whole[..]].concat()).unwrap();
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(matches!(error, Error::BrokenJournal { line: 1, .. }), "{error:?}");
}

#[test]
fn lanes_share_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let journal = store
        .start(
            &head(1),
            &[(id("a/b/c"), sent(Action::Create, "one"))],
            documents(&["one"]),
            &NEVER,
        )
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let lanes: Vec<_> = (0..32)
        .map(|lane| {
            let journal = journal.clone();
            runtime.spawn(async move {
                for number in 0..20 {
                    let toggle = id(&format!("p/e{lane}/t{number}"));
                    let begun = journal
                        .begin(&toggle, &sent(Action::Create, "one"))
                        .await
                        .unwrap()
                        .unwrap();
                    if number != 7 {
                        journal.finish(begun, Certainty::Stored).unwrap();
                    }
                }
            })
        })
        .collect();
    // A checkpoint loses nothing while lanes continue.
    for _ in 0..5 {
        store.checkpoint(&head(1)).unwrap();
    }
    for lane in lanes {
        runtime.block_on(lane).unwrap();
    }
    store.record(&head(1), &[], documents(&[]), &NEVER).unwrap();
    assert_eq!(applied(store.view()).len(), 32 * 19);
    assert_eq!(store.view().unknown().len(), 32);
    assert!(store.view().settled().is_empty());
}

/// Runs two passes, the second of which loses one response. Returns the confirmed documents and the toggles that may have
/// been sent.
fn two_passes(dir: &Path, crash: FailpointHook) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut confirmed, mut sent_to) = (BTreeMap::new(), BTreeSet::new());
    let _: Result<(), Error> = (|| {
        let mut store = Store::open(
            dir,
            Options {
                crash: Some(crash),
                ..options()
            },
        )?;
        for (revision, text) in [(1, "one"), (2, "two")] {
            let changes = [
                (id("a/b/c"), sent(Action::Create, text)),
                (id("a/e/d"), sent(Action::Create, text)),
            ];
            let journal = store.start(&head(revision), &changes, documents(&[text]), &NEVER)?;
            for (toggle, sent) in &changes {
                let begun = block_on(journal.begin(toggle, sent))?.unwrap();
                sent_to.insert(toggle.to_string());
                if revision == 2 && toggle.toggle() == "d" {
                    continue;
                }
                confirmed.insert(format!("{toggle}.yaml"), text.to_owned());
                journal.finish(begun, Certainty::Stored)?;
            }
            store.record(&head(revision), &[], documents(&[text]), &NEVER)?;
            store.finish_pass(None, Failures::default())?;
        }
        Ok(())
    })();
    (confirmed, sent_to)
}

#[test]
fn a_crash_at_any_point_forgets_nothing_that_may_have_been_sent() {
    let mut died = 0;
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let hook = {
            let count = Arc::clone(&count);
            Arc::new(move |_: &str| count.fetch_add(1, Ordering::SeqCst) >= at)
        };
        let (confirmed, sent_to) = two_passes(dir.path(), hook);
        let before = StateSnapshot::open(dir.path()).unwrap();
        let store = open(dir.path());
        let recorded = applied(store.view());
        for (path, text) in &recorded {
            let newest = &confirmed[path];
            assert!(
                text == newest || newest == "two",
                "crash {at}: the record is ahead"
            );
        }
        for toggle in &sent_to {
            let path = format!("{toggle}.yaml");
            let known = recorded.contains_key(&path) && recorded.get(&path) == confirmed.get(&path);
            let unknown = store.view().unknown().contains_key(&id(toggle));
            assert!(known || unknown, "crash {at}: {toggle} is forgotten");
            let seen =
                before.unknown().contains_key(&id(toggle)) || before.settled().contains_key(&id(toggle));
            assert!(
                seen || applied(&before).contains_key(&path),
                "crash {at}: {toggle} is not in the view"
            );
        }
        git(dir.path(), &["fsck", "--strict", "--full"]);
        drop(store);
        pass(
            &mut open(dir.path()),
            3,
            &[("a/e/d", Action::Update, "three")],
            Certainty::Stored,
        )
        .unwrap();
        if count.load(Ordering::SeqCst) <= at {
            break;
        }
        died += 1;
    }
    assert!(died > 30, "only {died} crash points");
}

/// Returns the number of deleted files below `dir` that are still open in this process.
fn deleted_and_open(dir: &Path) -> usize {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return 0;
    };
    let targets = open
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok());
    let below = targets.filter(|target| target.starts_with(dir));
    below
        .filter(|target| target.to_string_lossy().ends_with(" (deleted)"))
        .count()
}

#[test]
fn packs_are_merged_and_nothing_is_lost_under_any_ref() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let texts: Vec<String> = (0..40_u8).map(|number| format!("text {number}")).collect();
    for (text, revision) in texts.iter().zip(0..) {
        pass(
            &mut store,
            revision,
            &[("a/b/c", Action::Update, text)],
            Certainty::Stored,
        )
        .unwrap();
        if revision == 3 {
            git(
                dir.path(),
                &["update-ref", "refs/heads/mine", "refs/gitoggle/applied"],
            );
        }
    }
    let packs = std::fs::read_dir(dir.path().join("state.git/objects/pack")).unwrap();
    let packs = packs.flatten().filter(|file| {
        file.path()
            .extension()
            .is_some_and(|extension| extension == "pack")
    });
    assert!(packs.count() <= 51);
    assert_eq!(deleted_and_open(dir.path()), 0, "merged packs are still open");
    git(dir.path(), &["fsck", "--strict", "--full"]);
    assert_eq!(
        git(dir.path(), &["cat-file", "blob", "refs/heads/mine:a/b/c.yaml"]).trim(),
        "text 3"
    );
    assert_eq!(
        git(dir.path(), &["rev-list", "--count", "refs/gitoggle/applied"]).trim(),
        "40"
    );
    assert_eq!(applied(store.view()), pairs(&[("a/b/c.yaml", "text 39")]));
}

#[test]
fn one_state_has_one_writer_and_one_service() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(
        matches!(&error, Error::Locked { holder, .. } if holder.pid == std::process::id()),
        "{error:?}"
    );
    pass(
        &mut store,
        1,
        &[("a/b/c", Action::Create, "one")],
        Certainty::Stored,
    )
    .unwrap();
    drop(store);
    let other = Options {
        base_url: "https://other.example".to_owned(),
        ..options()
    };
    assert!(matches!(
        Store::open(dir.path(), other),
        Err(Error::OtherBaseUrl { .. })
    ));
}

#[test]
fn locks_and_temporary_files_of_a_dead_process_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    pass(
        &mut open(dir.path()),
        1,
        &[("a/b/c", Action::Create, "one")],
        Certainty::Stored,
    )
    .unwrap();
    let stale = [
        "refs/gitoggle/applied.lock",
        "config.lock",
        "packed-refs.lock",
        "objects/pack/pack_git2_x",
        "objects/tmp_object_git2_x",
    ];
    for name in stale {
        std::fs::write(dir.path().join("state.git").join(name), "").unwrap();
    }
    pass(
        &mut open(dir.path()),
        2,
        &[("a/b/c", Action::Update, "two")],
        Certainty::Stored,
    )
    .unwrap();
    for name in stale {
        assert!(!dir.path().join("state.git").join(name).exists(), "{name}");
    }
}

#[test]
fn a_file_is_refused_as_a_state_folder() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(
        Store::open(file.path(), options()),
        Err(Error::NotAFolder(_))
    ));
}

#[test]
fn a_damaged_clean_pass_is_ignored_and_a_damaged_suspension_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let suspension = Suspension {
        reason: Some("freeze".to_owned()),
        until: Some(5),
    };
    let everything = SuspensionScope::everything();
    store
        .orders()
        .suspend(everything.clone(), suspension.clone())
        .unwrap();
    let revision = head(1).revision;
    let refusal = Refusal {
        request: crate::model::RequestDigest::new(Action::Create, &sent(Action::Create, "one").payload),
        reason: "no".to_owned(),
        at: 3,
        revision,
    };
    let memory = CleanPass {
        root_tree: object("x"),
        policy_digest: "d".to_owned(),
        tip: revision,
        revision,
        at: 3,
    };
    let refusals = BTreeMap::from([(id("a/b/c"), refusal)]);
    let failures = Failures {
        refusals: refusals.clone(),
        ..Failures::default()
    };
    store.finish_pass(Some(memory.clone()), failures).unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(
        (
            view.suspensions().everything(),
            view.last_clean_pass(),
            view.refusals()
        ),
        (Some(&suspension), Some(&memory), &refusals)
    );
    for name in ["failures.json", "pass.json", "suspended.json"] {
        std::fs::write(dir.path().join(name), "{").unwrap();
    }
    assert!(matches!(
        StateSnapshot::open(dir.path()),
        Err(Error::Suspension { .. })
    ));
    store.orders().resume(&everything).unwrap();
    let view = StateSnapshot::open(dir.path()).unwrap();
    assert_eq!(
        (
            view.suspensions().everything(),
            view.last_clean_pass(),
            view.refusals().len()
        ),
        (None, None, 0)
    );
}

#[test]
fn a_document_with_other_content_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let wrong = |_| Ok::<_, Infallible>(bytes("two"));
    let error = store
        .start(
            &head(1),
            &[(id("a/b/c"), sent(Action::Create, "one"))],
            wrong,
            &NEVER,
        )
        .unwrap_err();
    assert!(matches!(error, Error::WrongContent { .. }));
}

#[test]
fn a_view_taken_while_a_writer_works_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    pass(
        &mut store,
        1,
        &[("a/b/c", Action::Create, "one")],
        Certainty::Stored,
    )
    .unwrap();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..30 {
                let toggle = format!("p/e/t{number}");
                pass(
                    &mut store,
                    2,
                    &[(toggle.as_str(), Action::Create, "two")],
                    Certainty::Stored,
                )
                .unwrap();
                done.store(number + 1, Ordering::SeqCst);
            }
        });
        while done.load(Ordering::SeqCst) < 30 {
            let before = done.load(Ordering::SeqCst);
            let view = StateSnapshot::open(dir.path()).unwrap();
            let recorded = applied(&view);
            for number in 0..before {
                assert!(
                    recorded.contains_key(&format!("p/e/t{number}.yaml")),
                    "{number} of {before}"
                );
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

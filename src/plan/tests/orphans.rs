//! What becomes of a toggle whose file is gone.

use super::*;

#[test]
fn a_file_that_is_gone_is_what_on_remove_says() {
    let gone = |known| World::of(3, 0, 0).knows("p/e/x", known);
    for (on_remove, known, expected) in [
        (OnRemove::Keep, Known::Document(doc(2)), (0, 1, 0)),
        (OnRemove::Forget, Known::Document(doc(2)), (0, 0, 1)),
        (OnRemove::Disable, Known::Document(doc(2)), (1, 0, 0)),
        // It is disabled already: there is nothing to say.
        (OnRemove::Disable, Known::Document(doc(3)), (0, 0, 1)),
        (OnRemove::Disable, Known::Unreadable, (0, 1, 0)),
        (OnRemove::Disable, Known::Unknown(Action::Update, doc(2)), (1, 0, 0)),
        (OnRemove::Keep, Known::Unknown(Action::Update, doc(2)), (0, 1, 0)),
        (OnRemove::Forget, Known::Unknown(Action::Update, doc(2)), (0, 0, 1)),
    ] {
        let policy = Policy { on_remove, ..Policy::default() };
        let plan = gone(known).plan(&policy);
        let found = (plan.changes().len(), plan.orphans().len(), plan.state_edits().len());
        assert_eq!(found, expected, "{on_remove:?} of {known:?}");
        for change in plan.changes() {
            assert_eq!(change.payload, doc(3).payload(), "the applied content, disabled");
            assert_eq!(change.comment(), "m (file removed)");
        }
        assert!(plan.withheld().is_empty(), "an orphan is nothing else besides");
        let is_unknown = matches!(known, Known::Unknown(..));
        for orphan in plan.orphans() {
            assert_eq!(orphan.is_unknown, is_unknown);
            assert_eq!(orphan.explanation().contains("is unknown"), is_unknown);
        }
    }
}

#[test]
fn a_toggle_whose_document_has_an_id_that_differs_only_in_case_is_forgotten_and_never_disabled() {
    for on_remove in [OnRemove::Disable, OnRemove::Forget, OnRemove::Keep] {
        for known in [Known::Document(doc(2)), Known::Unknown(Action::Update, doc(2))] {
            let policy = Policy { on_remove, ..Policy::default() };
            let world = World::of(3, 0, 0).knows("p/e/x", known);
            let plan = world.want("p/e/x", Want::Renamed).plan(&policy);
            assert!(plan.changes().is_empty() && plan.orphans().is_empty(), "{on_remove:?} {known:?}");
            assert!(matches!(plan.state_edits(), [StateEdit::Forget { .. }]), "{on_remove:?} {known:?}");
        }
    }
}

#[test]
fn the_comment_of_a_removal_keeps_its_suffix_within_the_limit() {
    for (max, expected) in [
        (1024, "a long message (file removed)"),
        (20, "a lo… (file removed)"),
        (16, "… (file removed)"),
        (15, "a long message"),
        (6, "a lon…"),
    ] {
        let policy = Policy { on_remove: OnRemove::Disable, comment_max_chars: max, ..Policy::default() };
        let world = World::of(3, 0, 0).knows("p/e/x", Known::Document(doc(2)));
        let plan = world.message("a long message").plan(&policy);
        assert_eq!(plan.changes()[0].comment(), expected, "{max}");
    }
}

#[test]
fn an_orphan_whose_document_no_commit_holds_is_not_disabled() {
    let world = World::of(3, 0, 0).knows("p/e/x", Known::Document(doc(2)));
    let policy = Policy { on_remove: OnRemove::Disable, ..Policy::default() };
    let applied_counts = world.applied_counts();
    let deciding = DecisionContext {
        policy: &policy,
        applied_counts: &applied_counts,
        asserted: &world.asserted,
        overrides: &world.overrides,
        environment_holds: &world.environment_holds,
        overwritten: &world.overwritten,
    };
    let decided = world.candidates().into_iter().map(|one| deciding.decide(one)).collect();
    let whole = world.plan(&policy);
    let input = Input {
        source: whole.source().clone(),
        base_url: None,
        decided,
        applied_counts: applied_counts.clone(),
        asserted: BTreeMap::new(),
        environment_holds: BTreeMap::new(),
        parked: BTreeMap::new(),
        let_through: BTreeMap::new(),
        overwritten: world.overwritten.clone(),
        now: None,
        suspensions: Suspensions::default(),
        overrides: Overrides::default(),
        findings: vec![],
        needs: Needs::new(),
        mixed: BTreeMap::new(),
        broken: BTreeMap::new(),
        dependents: Needs::new(),
        longest_chain: usize::MAX,
    };
    let draft = Draft::new(input, &policy);
    for (found, reason) in [
        (None, OrphanReason::NotInHistory),
        (Some(HistoryEvidence::Nowhere), OrphanReason::NotInHistory),
        (Some(HistoryEvidence::Unknown), OrphanReason::HistoryCut),
    ] {
        let evidence = found.map(|found| (id("p/e/x"), found)).into_iter().collect();
        let plan = draft
            .clone()
            .attribute(
                &BTreeMap::new(),
                &evidence,
                |_| Ok::<_, Infallible>(Unlisted::new()),
                |_, _, _| Ok(BTreeSet::new()),
            )
            .unwrap();
        assert!(plan.changes().is_empty());
        assert_eq!(plan.orphans()[0].reason, reason);
    }
}

//! First passes, and what operators decide at run time.

use super::rules::{published, reasons};
use super::*;
use crate::model::{Live, LiveContent, LiveToggle};

#[test]
fn a_first_pass_is_held_adopted_or_asserted() {
    for (choice, counts) in
        [(None, (0, 5, 0)), (Some(FirstPass::Adopt), (0, 0, 5)), (Some(FirstPass::Assert), (5, 0, 0))]
    {
        let policy = Policy { first_pass: choice, ..Policy::default() };
        let plan = World::of(0, 0, 5).plan(&policy);
        let found = (plan.changes().len(), plan.withheld().len(), plan.state_edits().len());
        assert_eq!(found, counts, "{choice:?}");
        assert_eq!(plan.counts().first_pass, counts.1);
        let content = plan.withheld().iter().map(|held| held.change.as_ref().map(|change| change.action));
        assert!(content.into_iter().all(|action| action == Some(Action::Create)));
    }
}

#[test]
fn drift_is_published_over_from_a_document_with_the_applied_meaning_and_counts_for_the_rails() {
    let overwrite = Policy { on_drift: OnDrift::Overwrite, on_remove: OnRemove::Forget, ..Policy::default() };
    let drifted = |mut world: World, toggles: &[&str]| {
        let live = |toggle: &&str| LiveToggle {
            id: id(toggle),
            spelling: None,
            version: 3,
            content: LiveContent::Known(doc(8).payload()),
            modified_by: None,
            modified_at: None,
            draft: None,
            is_archived: false,
            needs_approval: false,
            return_type: None,
            events: Vec::new(),
            has_earlier_events: false,
        };
        let toggles = toggles.iter().map(|toggle| (id(toggle), Live::Toggle(Box::new(live(toggle)))));
        world.overwritten = toggles.collect();
        world
    };
    let same_meaning = Want::Document(Doc { meaning: 2, blob: 9 });
    let mut world = World::of(12, 0, 0).want("p/e/t001", same_meaning);
    world.desired.remove(&id("p/e/t002"));
    world = world.want("p/e/t003", Want::Invalid);
    let world = drifted(world, &["p/e/t000", "p/e/t001", "p/e/t002", "p/e/t003"]);
    let plan = world.plan(&overwrite);
    let updates = [("p/e/t000", Action::Update), ("p/e/t001", Action::Update)];
    assert_eq!(published(&plan), updates);
    assert_eq!(plan.changes()[1].object, ObjectId([9; 20]), "the document as it is now");
    // The removed document is forgotten, and the reformatted one is recorded with its publish.
    assert_eq!(plan.state_edits().len(), 1);
    let many = ["p/e/t004", "p/e/t005", "p/e/t006", "p/e/t007"];
    let plan = drifted(World::of(12, 0, 0), &many).plan(&overwrite);
    assert_eq!(plan.changes().len(), 0);
    assert!(reasons(&plan).iter().all(|(_, kind)| *kind == "rail"));
    assert_eq!(plan.withheld().len(), 4);
}

#[test]
fn a_trailer_of_a_commit_that_adds_a_document_decides_about_its_environment() {
    let kinds = |message: &str, policy: &Policy| {
        let plan = World::of(0, 0, 2).message(message).plan(policy);
        (plan.changes().len(), plan.withheld().len(), plan.state_edits().len())
    };
    let default = Policy::default();
    for (trailer, counts) in [
        ("Gitoggle-First-Pass: assert", (2, 0, 0)),
        ("gitoggle-first-pass: adopt", (0, 0, 2)),
        ("Gitoggle-First-Pass: everything", (0, 2, 0)),
        ("Gitoggle-First-Pass: assert\nGitoggle-First-Pass: adopt", (0, 2, 0)),
        ("Gitoggle-Allow: mass-change", (0, 2, 0)),
    ] {
        assert_eq!(kinds(&format!("m\n\n{trailer}"), &default), counts, "{trailer}");
    }
    let message = "m\n\nGitoggle-First-Pass: assert";
    let ignored = Policy { allows_trailers: false, ..Policy::default() };
    assert_eq!(kinds(message, &ignored), (0, 2, 0));
    let adopt = Policy { first_pass: Some(FirstPass::Adopt), ..Policy::default() };
    assert_eq!(kinds(message, &adopt), (0, 0, 2), "the operator comes first");
    let guessed = World {
        attribution: |commit| Attribution::Guessed(Arc::new(commit)),
        ..World::of(0, 0, 2).message(message)
    };
    assert_eq!(guessed.plan(&default).withheld().len(), 2, "a guess decides nothing");
}

#[test]
fn commits_that_contradict_each_other_decide_nothing_and_the_message_says_so() {
    let world = World::of(0, 0, 2);
    let both = "m\n\nGitoggle-First-Pass: assert\nGitoggle-First-Pass: adopt";
    let plan = world.clone().message(both).plan(&Policy::default());
    let reason = &plan.withheld()[0].hold.reason();
    assert!(reason.contains("commits ask for both"), "{reason}");
    let plan = world.plan(&Policy::default());
    let reason = &plan.withheld()[0].hold.reason();
    for way in [
        "`--first-pass assert`",
        "`--first-pass adopt`",
        "`Gitoggle-First-Pass: assert`",
        "`gitoggle allow first-pass-assert p/e`",
    ] {
        assert!(reason.contains(way), "{way}: {reason}");
    }
}

#[test]
fn an_operator_decides_about_one_environment_at_run_time() {
    let environment = id("p/e/t").environment();
    let first_pass = |decided| Overrides {
        first_pass: BTreeMap::from([(environment.clone(), decided)]),
        ..Overrides::default()
    };
    let world = World::of(0, 0, 2).want("q/e/x", Want::Document(doc(2)));
    let plan = |overrides| {
        let world = World { overrides, ..world.clone() };
        world.plan(&Policy::default())
    };
    let asserted = plan(first_pass(FirstPass::Assert));
    assert_eq!(published(&asserted), [("p/e/t000", Action::Create), ("p/e/t001", Action::Create)]);
    assert_eq!(reasons(&asserted), [("q/e/x", "first_pass")]);
    let adopted = plan(first_pass(FirstPass::Adopt));
    assert_eq!((adopted.changes().len(), adopted.state_edits().len()), (0, 2));
    let world = World {
        overrides: Overrides { mass_change: BTreeSet::from([environment.clone()]), ..Overrides::default() },
        ..World::of(10, 10, 0)
    };
    assert_eq!(world.plan(&Policy::default()).changes().len(), 10);
}

#[test]
fn a_suspension_of_a_part_holds_that_part_only() {
    let mut world =
        World::of(10, 1, 0).knows("q/e/x", Known::Document(doc(2))).want("q/e/x", Want::Document(doc(4)));
    let suspension = Suspension { reason: Some("sale".into()), until: None };
    world.suspensions.add("p/**".parse().unwrap(), suspension);
    let plan = world.plan(&Policy::default());
    assert_eq!(published(&plan), [("q/e/x", Action::Update)]);
    assert_eq!(reasons(&plan), [("p/e/t000", "suspended")]);
    assert_eq!(
        plan.withheld()[0].hold.reason(),
        "publishing to `p/**` is suspended: sale; `gitoggle resume 'p/**'` publishes again"
    );
}

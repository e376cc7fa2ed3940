//! What holds of every plan.

use proptest::prelude::*;

use super::*;
use crate::model::{Color, Scope};

fn any_doc() -> impl Strategy<Value = Doc> {
    (0..6_u8, 0..2_u8).prop_map(|(meaning, again)| Doc { meaning, blob: meaning * 2 + again })
}

fn any_want() -> impl Strategy<Value = Option<Want>> {
    prop_oneof![
        2 => Just(None),
        5 => any_doc().prop_map(|doc| Some(Want::Document(doc))),
        1 => Just(Some(Want::Invalid)),
    ]
}

fn any_known() -> impl Strategy<Value = Option<Known>> {
    let action = prop_oneof![Just(Action::Create), Just(Action::Update), Just(Action::Disable)];
    prop_oneof![
        2 => Just(None),
        5 => any_doc().prop_map(|doc| Some(Known::Document(doc))),
        2 => (action, any_doc()).prop_map(|(action, doc)| Some(Known::Unknown(action, doc))),
        1 => Just(Some(Known::Unreadable)),
    ]
}

fn any_world() -> impl Strategy<Value = World> {
    const TOGGLES: [&str; 7] = ["p/e/a", "p/e/b", "p/e/c", "p/e-2/a", "p/f/a", "q/e/a", "q/e/b"];
    proptest::collection::vec((any_want(), any_known()), TOGGLES.len()).prop_map(|toggles| {
        let mut world = World::default().message("m");
        for (toggle, (want, known)) in TOGGLES.iter().zip(toggles) {
            world.desired.extend(want.map(|want| (id(toggle), want)));
            world.applied.extend(known.map(|known| (id(toggle), known)));
        }
        world
    })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let first_pass = prop_oneof![Just(FirstPass::Adopt), Just(FirstPass::Assert)];
    let on_remove = prop_oneof![Just(OnRemove::Keep), Just(OnRemove::Disable), Just(OnRemove::Forget)];
    (first_pass, on_remove, any::<bool>()).prop_map(|(first_pass, on_remove, all)| {
        let scope = if all { Scope::default() } else { Scope::new(&["p/**"]).unwrap() };
        Policy {
            scope,
            first_pass: Some(first_pass),
            on_remove,
            allows_mass_change: true,
            ..Policy::default()
        }
    })
}

proptest! {
    #[test]
    fn a_plan_that_was_carried_out_leaves_nothing_to_do(world in any_world(), policy in any_policy()) {
        let before = world.plan(&policy);
        let after = world.after(&before).plan(&policy);
        prop_assert!(after.changes().is_empty(), "{:?}", after.changes());
        prop_assert!(after.state_edits().is_empty(), "{:?}", after.state_edits());
        prop_assert_eq!(after.digest(), World::default().plan(&policy).digest());
        prop_assert_eq!(after.withheld(), before.withheld());
        prop_assert_eq!(after.orphans(), before.orphans());
    }

    #[test]
    fn the_order_of_the_input_never_matters(
        (candidates, world) in any_world().prop_flat_map(|world| (Just(world.candidates()).prop_shuffle(), Just(world))),
        policy in any_policy(),
    ) {
        let (sorted, shuffled) = (world.plan(&policy), world.plan_of(candidates, &policy));
        prop_assert_eq!(sorted.digest(), shuffled.digest());
        prop_assert_eq!(json(&sorted), json(&shuffled));
        prop_assert_eq!(render::text(&sorted, Color::Never), render::text(&shuffled, Color::Never));
    }

    #[test]
    fn every_toggle_ends_in_one_place_and_nothing_is_sent_that_nobody_wants(
        world in any_world(),
        policy in any_policy(),
    ) {
        let plan = world.plan(&policy);
        let mut places: BTreeMap<&ToggleId, usize> = BTreeMap::new();
        let held = plan.withheld().iter();
        let published = plan.changes().iter().map(|change| &change.id);
        let recorded = plan.state_edits().iter().map(StateEdit::id);
        let orphans = plan.orphans().iter().map(|orphan| &orphan.id);
        for id in published.chain(recorded).chain(orphans).chain(held.map(|held| &held.id)) {
            *places.entry(id).or_default() += 1;
        }
        prop_assert!(places.values().all(|count| *count == 1), "{:?}", places);
        for change in plan.changes() {
            prop_assert!(policy.scope.contains(&change.id));
            let wanted = match (change.action, world.desired.get(&change.id)) {
                (Action::Disable, None) => continue,
                (Action::Create | Action::Update, Some(Want::Document(doc))) => doc.payload(),
                other => return Err(TestCaseError::fail(format!("{}: {other:?}", change.id))),
            };
            prop_assert_eq!(&change.payload, &wanted);
            let differs = world.applied.get(&change.id).is_none_or(|known| match known {
                Known::Document(doc) => doc.payload() != wanted,
                Known::Unknown(..) | Known::Overtaken(_) | Known::Unreadable => true,
            });
            prop_assert!(differs, "{}", change.id);
        }
    }
}

#[test]
fn the_parts_of_a_large_plan_are_small() {
    // A cold plan of a million documents has a million of each. A larger draft takes a block of 160 bytes.
    assert!(size_of::<Change>() <= 136, "{}", size_of::<Change>());
    let draft = size_of::<decide::DraftChange>();
    assert!(draft <= 128, "{draft}");
    assert!(size_of::<compare::Difference>() <= 80);
}

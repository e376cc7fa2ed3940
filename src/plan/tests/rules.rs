//! Rails, first passes, orphans and everything else that decides, as tables.

use super::*;
use crate::model::{Scope, SuspensionScope, UnlistedChange};

pub(super) fn reasons(plan: &Plan) -> Vec<(&str, &str)> {
    let held = plan.withheld().iter();
    held.map(|held| (held.id.as_str(), held.hold.kind.unwrap().as_str())).collect()
}

pub(super) fn published(plan: &Plan) -> Vec<(&str, Action)> {
    let changes = plan.changes().iter();
    changes.map(|change| (change.id.as_str(), change.action)).collect()
}

#[test]
fn a_ratio_trips_when_greater_and_never_below_ten_applied() {
    for (updates, applied, trips) in
        [(3, 10, false), (4, 10, true), (9, 9, false), (30, 100, false), (31, 100, true)]
    {
        let plan = World::of(applied, updates, 0).plan(&Policy::default());
        assert_eq!(plan.has_held(), trips, "{updates} of {applied}");
        assert_eq!(plan.changes().is_empty(), trips);
    }
}

#[test]
fn a_share_over_its_limit_never_reads_like_the_limit() {
    for (updates, applied, max, shown) in [
        (4, 10, 0.3, "(40 %)"),
        (301, 1000, 0.3, "(30.1 %)"),
        (30_001, 100_000, 0.3, "(30.001 %)"),
        (199, 300, 0.66, "(66.3 %)"),
    ] {
        let environment = id("p/e/t").environment();
        let policy = Policy { max_change_ratio: max, ..Policy::default() };
        let text = policy.ratio_rail(&environment, updates, applied).unwrap().reason();
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn creates_do_not_trip_the_ratio_and_a_trailer_lifts_it() {
    let default = Policy::default();
    assert_eq!(World::of(10, 0, 50).plan(&default).changes().len(), 50);
    let world = World::of(10, 9, 0).message("m\n\nGitoggle-Allow: mass-change");
    assert_eq!(world.plan(&default).changes().len(), 9);
    let policy = Policy { allows_trailers: false, ..Policy::default() };
    let held = world.plan(&policy);
    assert_eq!(held.withheld().len(), 9);
    let text = &held.withheld()[0].hold.reason();
    assert!(!text.contains("put the trailer") && text.contains("trailers are turned off"), "{text}");
    let policy = Policy { allows_mass_change: true, ..policy };
    assert_eq!(world.plan(&policy).changes().len(), 9);
}

#[test]
fn a_guess_lends_its_words_and_never_its_permissions() {
    let world = World {
        attribution: |commit| Attribution::Guessed(Arc::new(commit)),
        ..World::of(10, 4, 1).message("m\n\nGitoggle-Allow: mass-change")
    };
    let plan = world.plan(&Policy::default());
    assert!(plan.changes().is_empty(), "the rail holds all of them");
    assert_eq!(plan.guesses(), 5);
    assert_eq!(plan.sent_guesses(), 0);
    let policy = Policy { allows_mass_change: true, ..Policy::default() };
    let plan = world.plan(&policy);
    assert_eq!(plan.changes()[0].comment(), "m\n\nGitoggle-Allow: mass-change");
    assert_eq!(plan.sent_guesses(), 5);
    let known = World::of(10, 3, 0).plan(&Policy::default());
    assert_eq!(known.guesses(), 0);
}

#[test]
fn a_count_counts_everything_and_holds_its_environment_alone() {
    for (updates, creates, max, trips) in
        [(1, 1, 2, false), (1, 2, 2, true), (0, 3, 2, true), (1, 0, 0, true)]
    {
        let world = World::of(20, updates, creates)
            .knows("q/e/a", Known::Document(doc(2)))
            .want("q/e/a", Want::Document(doc(2)));
        let policy = Policy { max_change_count: Some(max), ..Policy::default() };
        let plan = world.plan(&policy);
        assert_eq!(plan.has_held(), trips, "{updates} + {creates} against {max}");
        assert!(reasons(&plan).iter().all(|(_, kind)| *kind == "rail"));
        let other = world.want("q/e/a", Want::Document(doc(4)));
        let others = other.plan(&policy);
        let others = published(&others).iter().filter(|(id, _)| id.starts_with("q/")).count();
        assert_eq!(others, usize::from(max > 0));
    }
}

/// A world that updates `p/e/t000`, and a parked request for that update.
fn one_update() -> (World, HeldRequest) {
    let refused = HeldRequest::new(
        RequestDigest::new(Action::Update, &doc(4).payload()),
        Hold::new(HoldKind::Refused, "no"),
    );
    (World::of(20, 1, 0), refused)
}

fn parked(world: World, parked: HeldRequest) -> World {
    World { parked: BTreeMap::from([(id("p/e/t000").folded(), parked)]), ..world }
}

#[test]
fn what_is_held_says_what_it_would_be() {
    let (world, refused) = one_update();
    let failed =
        HeldRequest { hold: Hold::new(HoldKind::FailedAlone, "the service answered 500"), ..refused.clone() };
    let suspension = Suspension { reason: Some("freeze".into()), until: None };
    let mut suspended = world.clone();
    suspended.suspensions.add(SuspensionScope::everything(), suspension);
    let environment = World {
        environment_holds: BTreeMap::from([(
            id("p/e/t000").environment(),
            Arc::new(hold::environment("why")),
        )]),
        ..world.clone()
    };
    let none = Policy { max_change_count: Some(0), ..Policy::default() };
    for (world, policy, kind) in [
        (world.clone(), none, "rail"),
        (suspended, Policy::default(), "suspended"),
        (parked(world.clone(), refused), Policy::default(), "refused"),
        (parked(world, failed), Policy::default(), "failed_alone"),
        (environment, Policy::default(), "environment"),
    ] {
        let plan = world.plan(&policy);
        let [held] = plan.withheld() else { panic!("{kind}: {:?}", plan.withheld()) };
        assert_eq!(held.hold.kind.unwrap().as_str(), kind);
        let change = held.change.as_ref().unwrap();
        assert_eq!(
            (&change.id, change.action, &change.payload),
            (&id("p/e/t000"), Action::Update, &doc(4).payload())
        );
        assert_eq!(change.comment(), "m");
    }
}

#[test]
fn another_request_than_the_refused_one_is_sent() {
    let (world, refused) = one_update();
    let older = HeldRequest { request: RequestDigest::new(Action::Update, &doc(5).payload()), ..refused };
    assert_eq!(published(&parked(world, older).plan(&Policy::default())), [("p/e/t000", Action::Update)]);
}

#[test]
fn an_unknown_toggle_is_sent_again_or_kept_and_reported() {
    let with = |action, want: Option<Want>| {
        let world = World::of(3, 0, 0).knows("p/e/x", Known::Unknown(action, doc(2)));
        match want {
            Some(want) => world.want("p/e/x", want),
            None => world,
        }
    };
    let plan = |world: World| world.plan(&Policy::default());
    let same = plan(with(Action::Update, Some(Want::Document(doc(2)))));
    assert_eq!((same.changes()[0].is_retry, same.changes()[0].comment().as_str()), (true, "as journalled"));
    let newer = plan(with(Action::Update, Some(Want::Document(doc(4)))));
    assert_eq!((newer.changes()[0].is_retry, newer.changes()[0].comment().as_str()), (false, "m"));
    let overtaken =
        World::of(3, 0, 0).knows("p/e/x", Known::Overtaken(doc(2))).want("p/e/x", Want::Document(doc(2)));
    let overtaken = plan(overtaken);
    assert_eq!((overtaken.changes()[0].is_retry, overtaken.changes()[0].comment().as_str()), (false, "m"));
    let returned = plan(with(Action::Disable, Some(Want::Document(doc(2)))));
    assert_eq!((returned.changes()[0].is_retry, returned.changes()[0].action), (false, Action::Update));
    let invalid = plan(with(Action::Update, Some(Want::Invalid)));
    assert_eq!(*invalid.withheld()[0].hold, hold::unknown_invalid());
    let gone = plan(with(Action::Update, None));
    assert_eq!((gone.orphans().len(), gone.withheld().len()), (1, 0));
    assert!(gone.orphans()[0].is_unknown);
    let policy = Policy { scope: Scope::new(&["other/**"]).unwrap(), ..Policy::default() };
    let outside = with(Action::Update, Some(Want::Document(doc(4)))).plan(&policy);
    assert_eq!(reasons(&outside), [("p/e/x", "unknown")]);
    assert!(outside.changes().is_empty());
}

#[test]
fn a_rail_does_not_hold_what_was_let_through_before() {
    let policy = Policy { max_change_count: Some(0), ..Policy::default() };
    let world = World::of(3, 1, 0)
        .knows("p/e/x", Known::Unknown(Action::Update, doc(2)))
        .want("p/e/x", Want::Document(doc(2)));
    let plan = world.plan(&policy);
    assert_eq!(published(&plan), [("p/e/x", Action::Update)]);
    assert_eq!(reasons(&plan), [("p/e/t000", "rail")]);
}

#[test]
fn what_is_invalid_or_unreadable_stands_alone() {
    let world = World::of(3, 0, 0)
        .want("p/e/bad", Want::Invalid)
        .want("p/e/old", Want::Document(doc(2)))
        .knows("p/e/old", Known::Unreadable)
        .want("p/e/new", Want::Document(doc(2)));
    let plan = world.plan(&Policy::default());
    assert_eq!(published(&plan), [("p/e/new", Action::Create), ("p/e/old", Action::Update)]);
    assert_eq!(reasons(&plan), [("p/e/bad", "invalid")]);
    assert!(Arc::new(plan.clone()).approve().is_ok());
    let policy = Policy { on_invalid: OnInvalid::Stop, ..Policy::default() };
    let stopped = world.plan(&policy);
    assert!(stopped.changes().is_empty() && stopped.state_edits().is_empty());
    let held = stopped.withheld().iter().filter_map(|held| held.change.as_deref());
    assert!(held.eq(plan.changes()), "the reviewer still sees them");
    assert_eq!(stopped.stopped(), Some(Stopped { invalid: 1 }));
    assert_eq!(Arc::new(stopped).approve().unwrap_err(), Stopped { invalid: 1 });
}

#[test]
fn outside_the_scope_nothing_happens_and_nothing_is_an_orphan() {
    let policy =
        Policy { scope: Scope::new(&["p/f/*"]).unwrap(), on_remove: OnRemove::Disable, ..Policy::default() };
    let world = World::of(3, 3, 3).knows("p/e/gone", Known::Document(doc(2))).want("p/e/bad", Want::Invalid);
    let plan = world.plan(&policy);
    assert!(plan.is_empty(), "{plan:?}");
}

#[test]
fn what_becomes_disabled_goes_first_and_then_by_path() {
    let world = World::of(10, 0, 0)
        .want("p/e/t001", Want::Document(doc(4)))
        .want("p/e/t003", Want::Document(doc(5)))
        .want("p/e/t002", Want::Document(doc(3)))
        .want("p/a/new", Want::Document(doc(2)))
        .knows("p/a/x", Known::Document(doc(2)))
        .want("p/a/x", Want::Document(doc(2)));
    let plan = world.plan(&Policy::default());
    let lanes = plan.lanes();
    let order = lanes.iter().map(|lane| {
        let ids = lane.changes.iter().map(|change| change.id.toggle());
        (lane.environment.to_string(), ids.collect::<Vec<_>>())
    });
    let order: Vec<_> = order.collect();
    let expected = [("p/a".to_owned(), vec!["new"]), ("p/e".to_owned(), vec!["t002", "t003", "t001"])];
    assert_eq!(order, expected);
}

#[test]
fn the_digest_knows_no_commits_and_nothing_that_is_held() {
    let digest =
        |message: &str, updates| World::of(20, updates, 0).message(message).plan(&Policy::default()).digest();
    assert_eq!(digest("a", 2), digest("b", 2));
    assert_ne!(digest("a", 2), digest("a", 1));
    let nothing = World::of(20, 0, 0).plan(&Policy::default()).digest();
    assert_eq!(digest("a", 20), nothing, "a rail holds all of them");
}

#[test]
fn a_change_that_no_review_lists_is_held_and_does_not_count_for_a_rail() {
    let world = World::of(20, 10, 0);
    let all = world.plan(&all_at_once());
    let why = |request| UnlistedChange { why: "came from afar".to_owned(), request };
    let ids: Vec<ToggleId> = all.requests().skip(3).map(|change| change.id.clone()).collect();
    let unlisted: Unlisted = ids.into_iter().zip([None, Some(7)].into_iter().cycle().map(why)).collect();
    let plan = world.reviewed(&Policy::default(), unlisted.clone());
    assert_eq!((published(&plan).len(), plan.withheld().len()), (3, 7));
    let text = |held: usize| plan.withheld()[held].hold.reason();
    assert!(
        text(0).starts_with("not reviewed: it came from afar; to publish it, review what"),
        "{}",
        text(0)
    );
    let again = "to publish it, run the plan job of pull request 7 again, or review what";
    assert!(text(1).contains(again), "{}", text(1));
    assert!(plan.has_held());
    let disabled = hold::not_reviewed(&why(Some(7)), Action::Disable).reason();
    let again = "run the plan job of pull request 7 again with `--on-remove disable`, or review what";
    assert!(disabled.contains(again), "{disabled}");
    // Where the service can be read, it may have the change already.
    let plan = world.reviewed(&Policy { is_readable: true, ..Policy::default() }, unlisted);
    assert_eq!((plan.requests().count(), plan.changes().len(), plan.withheld().len()), (3, 10, 0));
}

#[test]
fn a_digest_is_about_what_is_sent() {
    let mut world = World::of(20, 1, 0);
    let update = world.plan(&all_at_once());
    world.applied.remove(&id("p/e/t000"));
    let create = world.plan(&all_at_once());
    assert_eq!(published(&create)[0], ("p/e/t000", Action::Create));
    assert_eq!(update.reviewed(), create.reviewed());
    let other = world.want("p/e/t000", Want::Document(doc(6))).plan(&all_at_once());
    assert_ne!(update.reviewed(), other.reviewed());
    let held = World::of(20, 20, 0);
    let (held, all) = (held.plan(&Policy::default()), held.plan(&all_at_once()));
    assert!(!held.has_changes(), "a rail holds all of them");
    assert_eq!(held.reviewed(), all.reviewed());
}

#[test]
fn a_change_window_comes_after_rails_and_lets_switch_offs_pass() {
    let freeze = r#"[{"deny":"p/**","at":"2026-12-20 - 2027-01-02","zone":"Europe/Berlin"}]"#;
    let policy =
        |ratio| Policy { max_change_ratio: ratio, windows: freeze.parse().unwrap(), ..Policy::default() };
    // Meanings are enabled if they are even, so this one only switches a toggle off.
    let off = Doc { meaning: 3, ..doc(3) };
    let christmas = 1_798_156_800;
    let world = World {
        now: Some(christmas),
        ..World::of(20, 2, 0).knows("p/e/off", Known::Document(doc(2))).want("p/e/off", Want::Document(off))
    };
    let held = world.plan(&policy(0.3));
    assert_eq!(reasons(&held), [("p/e/t000", "window"), ("p/e/t001", "window")]);
    assert_eq!(held.withheld()[0].hold.opens, Some(1_798_930_800), "midnight in Berlin");
    assert_eq!((published(&held).len(), held.has_held(), held.opens_at()), (1, true, Some(1_798_930_800)));
    assert_eq!(reasons(&world.plan(&policy(0.01)))[0].1, "rail", "a held change still counts");
    let later = World { now: Some(1_798_930_800), ..world.clone() };
    assert_eq!(published(&later.plan(&policy(0.3))).len(), 3);
    let lifted = World {
        overrides: Overrides { windows: BTreeSet::from([id("p/e/x").environment()]), ..Overrides::default() },
        ..world.clone()
    };
    assert_eq!(published(&lifted.plan(&policy(0.3))).len(), 3);
    let ignored = Policy { ignores_windows: true, ..policy(0.3) };
    assert_eq!(published(&world.plan(&ignored)).len(), 3);
    let trailer = world.message("m\n\nGitoggle-Allow: window");
    assert_eq!(published(&trailer.plan(&policy(0.3))).len(), 3);
}

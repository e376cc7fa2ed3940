//! Orders of operators to overwrite what the service has.

use super::live::{change, live, payload, toggle};
use crate::model::ToggleState;
use crate::plan::{Before, LiveDecision, Overrides, Policy, decide_live};

#[test]
fn an_order_covers_the_version_that_the_operator_saw_and_no_other_one() {
    let overrides = Overrides {
        overwrite_versions: [("shop/prod/a".parse().unwrap(), 7)].into(),
        ..Overrides::default()
    };
    let decided = |before: &Before, version| {
        let live = toggle(live(version, "other"));
        decide_live(&change(before.clone()), &live, &Policy::default(), &overrides)
    };
    for before in [
        Before::Applied(payload("old")),
        Before::Live(payload("other")),
        Before::Live(payload("old")),
        Before::Nothing,
        Before::Unreadable,
    ] {
        assert_eq!(decided(&before, 7), LiveDecision::Publish { base_version: 7 });
        let LiveDecision::Hold(hold) = decided(&before, 8) else {
            panic!("{before:?}");
        };
        assert_eq!((hold.state, hold.version), (ToggleState::Drifted, Some(8)));
        let reason = hold.reason();
        let again =
            "changed on the service again, after version 7 was allowed to be overwritten (version 8 by";
        assert!(reason.starts_with(again), "{reason}");
    }
    // Someone undid the change, so nothing is overwritten.
    let undone = Before::Applied(payload("other"));
    assert_eq!(decided(&undone, 8), LiveDecision::Publish { base_version: 8 });
}

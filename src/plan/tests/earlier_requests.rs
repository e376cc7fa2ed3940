//! Requests with an unknown outcome that a newer one replaced.

use super::live::{change, decide_live, live, payload, toggle, unknown, word};
use crate::model::Sent;
use crate::plan::{Before, Policy};

#[test]
fn a_version_that_an_earlier_unknown_request_made_is_no_change_of_someone_else() {
    for base_version in [None, Some(7)] {
        let Before::Unknown { sent, applied } = unknown(base_version, Some("old")) else { unreachable!() };
        // A pass announced its change and was killed; then another one did.
        let mut last = *sent;
        for value in ["sent", "next", "next", "last"] {
            let earlier = last.earlier_than(&payload(value));
            last = Sent { payload: payload(value), earlier, ..last };
        }
        assert_eq!(last.earlier.len(), 2);
        let change = change(Before::Unknown { sent: Box::new(last), applied });
        for (value, expected) in [
            ("sent", "publish on 8"),
            ("next", "publish on 8"),
            ("last", "publish on 8"),
            ("other", "read versions"),
        ] {
            let decision = decide_live(&change, &toggle(live(8, value)), &Policy::default());
            assert!(word(&decision).starts_with(expected), "{value}: {decision:?}");
        }
    }
}

#[test]
fn a_request_remembers_a_limited_number_of_earlier_ones() {
    let Before::Unknown { sent, .. } = unknown(None, None) else { unreachable!() };
    let mut last = *sent;
    for number in 0..40 {
        let next = payload(&number.to_string());
        let earlier = last.earlier_than(&next);
        last = Sent { payload: next, earlier, ..last };
    }
    assert_eq!(last.earlier.len(), 16);
    assert!(last.may_have_stored(&payload("38")) && !last.may_have_stored(&payload("3")));
}

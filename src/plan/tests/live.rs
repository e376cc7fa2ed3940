//! Decisions by the live state.

use std::sync::Arc;

use super::change_of;
use crate::model::{
    Action, Attribution, Commit, CommitId, Format, Live, LiveContent, LiveDraft, LiveToggle, LiveVersion,
    ObjectId, Payload, ReturnType, Sent, TargetingDigest,
};
use crate::plan::{
    Before, Change, ListedType, LiveDecision, OnApproval, OnDrift, OnMissing, Overrides, Overwrite, Policy,
    Replaced, ReplacedFile, Resolution, decide_by_versions, hold, other_type, resolve,
};

/// Decides without orders of operators.
fn by_versions(change: &Change, live: &LiveToggle, newer: &[LiveVersion]) -> LiveDecision {
    decide_by_versions(change, live, newer, &Policy::default(), &Overrides::default())
}

pub(super) fn decide_live(change: &Change, live: &Live, policy: &Policy) -> LiveDecision {
    crate::plan::decide_live(change, live, policy, &Overrides::default())
}

const SECOND: i64 = 1_795_274_755;

pub(super) fn payload(value: &str) -> Payload {
    serde_json::from_str::<Payload>(&format!(
        r#"{{"disabled":true,"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[{{"value":"{value}","name":"v","description":""}}]}}}}"#
    ))
    .unwrap()
}

pub(super) fn change(before: Before) -> Change {
    Change { action: Action::Update, ..change_of("a", before, payload("desired")) }
}

pub(super) fn live(version: u64, value: &str) -> LiveToggle {
    LiveToggle {
        id: "shop/prod/a".parse().unwrap(),
        spelling: None,
        version,
        content: LiveContent::Known(payload(value)),
        modified_by: Some("Eve\n".to_owned()),
        modified_at: Some(SECOND),
        draft: None,
        is_archived: false,
        needs_approval: false,
        return_type: Some(ReturnType::String),
        events: Vec::new(),
        has_earlier_events: false,
    }
}

pub(super) fn toggle(live: LiveToggle) -> Live {
    Live::Toggle(Box::new(live))
}

const fn missing(needs_approval: bool) -> Live {
    Live::Missing { needs_approval }
}

pub(super) fn word(decision: &LiveDecision) -> String {
    match decision {
        LiveDecision::Converged => "converged".to_owned(),
        LiveDecision::Create(kind) => format!("create {}", kind.as_str()),
        LiveDecision::Hold(hold) => hold.kind.unwrap().as_str().to_owned(),
        LiveDecision::Publish { base_version } => format!("publish on {base_version}"),
        LiveDecision::Confirmed => "confirmed".to_owned(),
        LiveDecision::ReadVersions { after } => format!("read versions after {after}"),
    }
}

#[test]
fn a_change_is_sent_only_over_what_was_applied_or_never_configured() {
    let overtaken = |applied| match unknown(Some(7), applied) {
        Before::Unknown { mut sent, applied } => {
            sent.overtaken = true;
            Before::Unknown { sent, applied }
        }
        other => other,
    };
    let unknown = |base_version| unknown(base_version, None);
    for (before, version, value, expected) in [
        (Before::Applied(payload("old")), 7, "old", "publish on 7"),
        (Before::Applied(payload("old")), 7, "desired", "converged"),
        (Before::Applied(payload("old")), 7, "other", "drifted"),
        (Before::Nothing, 1, "other", "publish on 1"),
        (Before::Nothing, 2, "other", "differs_from_live"),
        (Before::Nothing, 2, "desired", "converged"),
        (unknown(Some(7)), 7, "old", "publish on 7"),
        (unknown(Some(7)), 8, "sent", "publish on 8"),
        (unknown(Some(7)), 8, "other", "read versions after 7"),
        (unknown(None), 8, "other", "read versions after 0"),
        (overtaken(Some("applied")), 8, "sent", "publish on 8"),
        (overtaken(Some("applied")), 8, "applied", "publish on 8"),
        (overtaken(Some("applied")), 8, "other", "drifted"),
        (overtaken(None), 8, "other", "differs_from_live"),
        (Before::Live(payload("other")), 8, "other", "publish on 8"),
        (Before::Live(payload("other")), 9, "newer", "drifted"),
        (Before::Unreadable, 3, "old", "drifted"),
        (Before::Unreadable, 3, "desired", "converged"),
    ] {
        let change = change(before);
        let decision = decide_live(&change, &toggle(live(version, value)), &Policy::default());
        assert_eq!(word(&decision), expected, "{:?} {version} {value}", change.before);
        let allowed = Change { overwrite: Overwrite::Allowed, ..change };
        let decision = decide_live(&allowed, &toggle(live(version, value)), &Policy::default());
        assert!(matches!(decision, LiveDecision::Publish { .. } | LiveDecision::Converged), "{decision:?}");
    }
}

pub(super) fn unknown(base_version: Option<u64>, applied: Option<&str>) -> Before {
    Before::Unknown {
        sent: Box::new(Sent {
            action: Action::Update,
            payload: payload("sent"),
            comment: "c".to_owned(),
            object: ObjectId([1; 20]),
            format: Format::Yaml,
            path: "shop/prod/a.yaml".into(),
            revision: CommitId(ObjectId([2; 20])),
            base_version,
            note: None,
            earlier: Vec::new(),
            overtaken: false,
            passed: false,
            announced: None,
            asserted: None,
        }),
        applied: applied.map(payload).map(Box::new),
    }
}

fn version(version: u64, value: &str, comment: &str) -> LiveVersion {
    LiveVersion {
        version,
        content: LiveContent::Known(payload(value)),
        comment: comment.to_owned(),
        created_by: None,
        created_at: None,
    }
}

#[test]
fn an_unknown_request_is_found_among_the_versions() {
    let ours = || version(8, "sent", "c");
    let (again, differs) = ("publish on 9", "differs_from_live");
    let other = || version(9, "other", "d");
    for (base_version, applied, newer, live_value, retry, first) in [
        (Some(7), None, vec![other(), ours()], "other", "confirmed", "drifted"),
        (Some(7), Some("old"), vec![other()], "other", "drifted", "drifted"),
        (Some(7), Some("old"), vec![other()], "old", again, again),
        (None, Some("old"), vec![other()], "old", again, again),
        (None, Some("old"), vec![other(), ours()], "old", "confirmed", "drifted"),
        (None, Some("old"), vec![other()], "other", "drifted", "drifted"),
        (None, None, vec![other()], "other", differs, differs),
    ] {
        for (is_retry, expected) in [(true, retry), (false, first)] {
            let change = Change { is_retry, ..change(unknown(base_version, applied)) };
            let decision = by_versions(&change, &live(9, live_value), &newer);
            assert_eq!(word(&decision), expected, "{base_version:?} {applied:?} {newer:?}");
        }
    }
}

#[test]
fn an_asserted_first_pass_publishes_over_what_the_service_had_and_not_over_a_change_since() {
    let unknown = |base_version, earlier: &str| match unknown(base_version, None) {
        Before::Unknown { mut sent, applied } => {
            sent.earlier = vec![TargetingDigest::new(&payload(earlier))];
            Before::Unknown { sent, applied }
        }
        other => other,
    };
    let had = || version(7, "other", "d");
    let over = |value| vec![had(), version(6, value, "c")];
    for (before, versions, expected) in [
        (Before::Nothing, vec![had()], "publish on 7"),
        // The request was announced, and not sent.
        (unknown(None, "earlier"), vec![had()], "publish on 7"),
        (unknown(None, "earlier"), over("earlier"), "drifted"),
        (unknown(None, "earlier"), over("sent"), "drifted"),
        // It was decided on when the toggle had version 6.
        (unknown(Some(6), "earlier"), vec![had()], "differs_from_live"),
    ] {
        let mut change = change(before);
        change.overwrite = Overwrite::Asserted;
        let live = live(7, "other");
        let decision = match decide_live(&change, &toggle(live.clone()), &Policy::default()) {
            LiveDecision::ReadVersions { .. } => by_versions(&change, &live, &versions),
            decision => decision,
        };
        assert_eq!(word(&decision), expected, "{:?}", change.before);
    }
}

#[test]
fn a_trailer_counts_until_the_service_has_had_the_document_of_its_commit() {
    for (before, overwrite, kind) in [
        (Before::Nothing, Overwrite::AssertedByCommit, "differs_from_live"),
        (Before::Nothing, Overwrite::AllowedByCommit, "differs_from_live"),
        (Before::Applied(payload("old")), Overwrite::AllowedByCommit, "drifted"),
        (Before::Unreadable, Overwrite::AllowedByCommit, "drifted"),
    ] {
        let change = Change { overwrite, ..change(before) };
        let live = live(7, "other");
        let decision = decide_live(&change, &toggle(live.clone()), &Policy::default());
        assert_eq!(word(&decision), "read versions after 0", "{overwrite:?}");
        for (versions, expected) in [
            (vec![], "publish on 7"),
            (vec![version(7, "other", "by hand"), version(6, "older", "by hand")], "publish on 7"),
            // Somebody else may have written the same document, and the commit the same comment.
            (vec![version(7, "other", "by hand"), version(6, "desired", "by hand")], "publish on 7"),
            (vec![version(7, "other", "by hand"), version(6, "older", &change.comment())], "publish on 7"),
            (vec![version(7, "other", "by hand"), version(5, "desired", &change.comment())], kind),
        ] {
            assert_eq!(word(&by_versions(&change, &live, &versions)), expected, "{overwrite:?} {versions:?}");
        }
    }
    // What somebody applied or nobody configured needs no trailer.
    let change = Change { overwrite: Overwrite::AllowedByCommit, ..change(Before::Applied(payload("old"))) };
    assert_eq!(word(&decide_live(&change, &toggle(live(7, "old")), &Policy::default())), "publish on 7");
}

#[test]
fn a_trailer_does_not_count_where_too_many_versions_hide_whether_it_was_used() {
    let change = Change { overwrite: Overwrite::AllowedByCommit, ..change(Before::Applied(payload("old"))) };
    let (commit, day) = (SECOND, 86_400);
    let message = "Change it\n\nGitoggle-Allow: overwrite-drift".to_owned();
    let attribution = Commit { id: CommitId(ObjectId([4; 20])), message, committed_at: commit };
    let change = Change { attribution: Attribution::Known(Arc::new(attribution)), ..change };
    for (versions, read, made, expected) in [
        (200, 0, Some(commit), "publish on 200"),
        (201, 1, Some(commit), "drifted"),
        (201, 1, Some(commit - day), "drifted"),
        (201, 1, Some(commit - day - 1), "publish on 201"),
        (201, 1, None, "drifted"),
    ] {
        let live = live(versions, "other");
        let decision = decide_live(&change, &toggle(live.clone()), &Policy::default());
        assert_eq!(word(&decision), format!("read versions after {read}"));
        let newer = (read + 1..=versions).rev();
        let newer =
            newer.map(|number| LiveVersion { created_at: made, ..version(number, "other", "by hand") });
        let decision = by_versions(&change, &live, &newer.collect::<Vec<_>>());
        assert_eq!(word(&decision), expected, "{versions} versions, the oldest read of {made:?}");
    }
}

#[test]
fn a_value_that_is_not_of_the_toggles_type_is_held_with_the_reason() {
    let typed = LiveToggle { return_type: Some(ReturnType::Number), ..live(7, "old") };
    let change = change(Before::Applied(payload("old")));
    let decision = decide_live(&change, &toggle(typed), &Policy::default());
    let LiveDecision::Hold(hold) = decision else { panic!("{decision:?}") };
    insta::assert_snapshot!(hold.reason(), @"the value of the variation `v` is not a decimal number, but the toggle's type is `number`: correct the document, or use a toggle of another type");
}

#[test]
fn what_overwrites_a_change_on_the_service_is_compared_with_that() {
    let texts = Some(("value: 1\n".to_owned(), "value: 2\n".to_owned()));
    let mut change = change(Before::Applied(payload("old")));
    change.replaces = Some(Box::new(Replaced {
        live: None,
        file: Some(ReplacedFile { object: ObjectId([0; 20]), texts }),
        ..Replaced::default()
    }));
    assert!(change.diff().contains(&"+value: 2".to_owned()), "the file, as its author wrote it");
    change.replaces.as_mut().unwrap().live = Some(live(3, "by hand"));
    let (diff, sentences) = (change.diff().join("\n"), change.sentences().join("\n"));
    assert!(diff.contains("by hand") && diff.contains("desired") && !diff.contains("old"), "{diff}");
    assert!(sentences.contains("by hand") && !sentences.contains("old"), "{sentences}");
}

#[test]
fn a_toggle_whose_type_is_not_listed_is_neither_missing_nor_of_another_type() {
    let needed = "shop/prod/base".parse().unwrap();
    for (listed, expected, is_held) in [
        (None, ListedType::Missing, false),
        (Some(None), ListedType::Untyped, false),
        (Some(Some(ReturnType::Boolean)), ListedType::Typed(ReturnType::Boolean), false),
        (Some(Some(ReturnType::String)), ListedType::Typed(ReturnType::String), true),
    ] {
        assert_eq!(ListedType::of(listed), expected);
        assert_eq!(other_type(&needed, ReturnType::Boolean, &expected).is_some(), is_held);
    }
}

#[test]
fn an_adopted_document_is_recorded_or_held_but_never_sent() {
    let create = Policy { on_missing: OnMissing::Create, ..Policy::default() };
    let adopt = Change { action: Action::Adopt, overwrite: Overwrite::Allowed, ..change(Before::Nothing) };
    for (live, expected) in [
        (toggle(live(1, "desired")), "converged"),
        (toggle(live(1, "other")), "differs_from_live"),
        (missing(false), "missing"),
    ] {
        assert_eq!(word(&decide_live(&adopt, &live, &create)), expected);
    }
}

#[test]
fn archived_toggles_drafts_and_approvals_hold_a_change_unless_it_has_no_effect() {
    let applied = || live(7, "old");
    let draft = || Some(LiveDraft { submitted_by: None });
    for (live, held, bypassed) in [
        (LiveToggle { is_archived: true, ..applied() }, "archived", "archived"),
        (LiveToggle { draft: draft(), ..applied() }, "awaits_approval", "publish on 7"),
        (LiveToggle { needs_approval: true, ..applied() }, "approval_required", "publish on 7"),
        (LiveToggle { draft: draft(), ..live(7, "desired") }, "converged", "converged"),
    ] {
        // The permission to overwrite drift is not one to bypass an approval.
        let change = Change { overwrite: Overwrite::Allowed, ..change(Before::Applied(payload("old"))) };
        let bypass =
            Policy { on_approval: OnApproval::Bypass, on_drift: OnDrift::Overwrite, ..Policy::default() };
        let live = toggle(live);
        assert_eq!(word(&decide_live(&change, &live, &Policy::default())), held);
        assert_eq!(word(&decide_live(&change, &live, &bypass)), bypassed);
    }
    // It is not imported either.
    let adopt = Change { action: Action::Adopt, ..change(Before::Nothing) };
    let archived = toggle(LiveToggle { is_archived: true, ..applied() });
    assert_eq!(word(&decide_live(&adopt, &archived, &Policy::default())), "archived");
}

#[test]
fn a_missing_toggle_is_held_or_created_and_needs_no_disabling() {
    let create = Policy { on_missing: OnMissing::Create, ..Policy::default() };
    let bypass = Policy { on_approval: OnApproval::Bypass, ..create.clone() };
    let update = change(Before::Nothing);
    let disable = Change { action: Action::Disable, ..update.clone() };
    for (change, live, policy, expected) in [
        (&update, missing(false), &Policy::default(), "missing"),
        (&update, missing(true), &Policy::default(), "missing"),
        (&update, missing(false), &create, "create string"),
        // The publish that follows would bypass the approval.
        (&update, missing(true), &create, "approval_required"),
        (&update, missing(true), &bypass, "create string"),
        (&disable, missing(true), &create, "converged"),
        (&update, Live::Untargeted, &create, "missing"),
    ] {
        assert_eq!(word(&decide_live(change, &live, policy)), expected);
    }
}

#[test]
fn a_hold_says_who_changed_what_and_what_to_do() {
    let text = hold::drifted(&live(7, "x"), &Policy::default()).reason();
    insta::assert_snapshot!(text, @r"changed on the service since it was last applied (version 7 by Eve\n at 2026-11-21T15:25:55Z): to keep that, `gitoggle import shop/prod/a --overwrite` and commit; to publish over it, `gitoggle apply --overwrite-drift --only shop/prod/a`, the trailer `Gitoggle-Allow: overwrite-drift` on the commit, or `gitoggle allow overwrite-drift shop/prod/a` for a running daemon");
}

#[test]
fn a_hold_of_what_no_document_can_express_asks_for_no_import_of_it() {
    let mut live = live(7, "x");
    live.content = LiveContent::Inexpressible("`content` has `salt`".to_owned());
    let policy = Policy::default();
    let holds =
        [hold::drifted(&live, &policy), hold::differs_from_live(&live, &policy), hold::not_adopted(&live)];
    for text in holds.map(|hold| hold.reason()) {
        assert!(
            text.contains("correct it there, then `gitoggle import shop/prod/a --overwrite` and commit"),
            "{text}"
        );
    }
}

#[test]
fn a_hold_of_a_missing_toggle_names_only_what_helps() {
    let hold = hold::missing(Action::Create).reason();
    assert!(hold.ends_with("have it created with `--on-missing create`"), "{hold}");
    let adopted = hold::missing(Action::Adopt).reason();
    assert!(adopted.contains("with `--on-missing create` in a later pass"), "{adopted}");
}

#[test]
fn an_archived_toggle_without_a_file_can_be_forgotten() {
    for (action, way_out) in [
        (Action::Update, "restore it there, or remove its file"),
        (Action::Disable, "forget it with `--on-remove forget`"),
    ] {
        let text = hold::archived(action).reason();
        assert!(text.contains(way_out), "{text}");
    }
}

#[test]
fn a_lost_request_is_resolved_by_the_newer_versions() {
    for (newer, expected) in [
        (vec![], Resolution::NotStored),
        (vec![version(8, "desired", "c")], Resolution::Confirmed),
        (vec![version(9, "other", "d"), version(8, "desired", "c")], Resolution::Confirmed),
        (vec![version(8, "desired", "d")], Resolution::Conflict),
        (vec![version(8, "other", "c")], Resolution::Conflict),
    ] {
        assert_eq!(resolve(&payload("desired"), "c", &newer), expected, "{newer:?}");
    }
}

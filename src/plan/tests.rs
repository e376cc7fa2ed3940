//! The rules of a plan, as tables and properties.

use super::*;
use crate::model::{
    Commit, CommitId, Content, EnvironmentId, ObjectId, Payload, Serve, Targeting, Variation,
};
use std::collections::{BTreeMap, BTreeSet};

fn payload(disabled: bool) -> Payload {
    let serve = Serve { select: 0 };
    let variation = Variation {
        value: "`1`\n::error::x|@you\u{1b}[31m".into(),
        name: "a".into(),
        description: String::new(),
    };
    let content = Content {
        rules: vec![],
        disabled_serve: serve,
        default_serve: serve,
        variations: vec![variation],
    };
    Payload::new(&Targeting { disabled, content })
}

/// What a plan is made of, before anything is decided.
struct World {
    candidates: Vec<Candidate>,
    applied_counts: BTreeMap<EnvironmentId, usize>,
}

fn world(count: usize, applied_count: usize, update: usize) -> World {
    let candidates = (0..count).map(|at| Candidate {
        id: format!("p/e/t{at:03}").parse().unwrap(),
        desired: Desired::Document {
            path: format!("p/e/t{at:03}.yaml"),
            format: "yaml".into(),
            object: ObjectId([1; 20]),
            payload: payload(false),
        },
        applied: if at < update {
            Applied::Document {
                object: ObjectId([2; 20]),
                format: "yaml".into(),
                payload: payload(true),
            }
        } else {
            Applied::Nothing
        },
    });
    let id: crate::model::ToggleId = "p/e/t".parse().unwrap();
    World {
        candidates: candidates.collect(),
        applied_counts: BTreeMap::from([(id.environment(), applied_count)]),
    }
}

fn plan(world: World, policy: &Policy, message: &str) -> Plan {
    let World {
        candidates,
        applied_counts,
    } = world;
    let environment_holds = BTreeMap::new();
    let deciding = Deciding {
        policy,
        applied_counts: &applied_counts,
        environment_holds: &environment_holds,
    };
    let decided = candidates.into_iter().map(|one| deciding.decide(one)).collect();
    let input = Input {
        source: SourceInfo {
            repo: "r".into(),
            reference: "main".into(),
            revision: CommitId(ObjectId([3; 20])),
            history: History::Complete,
        },
        base_url: None,
        decided,
        applied_counts,
        environment_holds,
        refused: BTreeMap::new(),
        suspended: None,
        findings: vec![],
    };
    let draft = Draft::new(input, policy);
    let commit = Commit {
        id: CommitId(ObjectId([4; 20])),
        message: message.into(),
        committed_at: 0,
    };
    let commits = draft
        .paths()
        .into_iter()
        .map(|path| (path, commit.clone()))
        .collect();
    draft.attribute(&commits, &BTreeSet::new())
}

#[test]
fn a_ratio_trips_when_greater_and_never_below_ten_applied() {
    for (updates, applied, trips) in [
        (3, 10, false),
        (4, 10, true),
        (9, 9, false),
        (30, 100, false),
        (31, 100, true),
    ] {
        let plan = plan(world(updates, applied, updates), &Policy::default(), "m");
        assert_eq!(plan.has_held(), trips, "{updates} of {applied}");
        assert_eq!(plan.changes().is_empty(), trips);
    }
}

#[test]
fn creates_do_not_trip_the_ratio_and_a_trailer_lifts_it() {
    assert_eq!(
        plan(world(50, 10, 0), &Policy::default(), "m").changes().len(),
        50
    );
    let message = "m\n\nGitoggle-Allow: mass-change";
    assert_eq!(
        plan(world(9, 10, 9), &Policy::default(), message).changes().len(),
        9
    );
    let policy = Policy {
        trailer: Trailer::Ignored,
        ..Policy::default()
    };
    let held = plan(world(9, 10, 9), &policy, message);
    assert_eq!(held.held().len(), 9);
    assert!(!held.held()[0].reason.to_string().contains("trailer"));
}

#[test]
fn a_first_pass_is_held_adopted_or_asserted() {
    for (choice, counts) in [
        (None, (0, 5, 0)),
        (Some(FirstPass::Adopt), (0, 0, 5)),
        (Some(FirstPass::Assert), (5, 0, 0)),
    ] {
        let plan = plan(
            world(5, 0, 0),
            &Policy {
                first_pass: choice,
                ..Policy::default()
            },
            "m",
        );
        assert_eq!(
            (plan.changes().len(), plan.held().len(), plan.records().len()),
            counts,
            "{choice:?}"
        );
    }
}

#[test]
fn hostile_text_starts_no_line_and_leaves_no_fence() {
    let plan = plan(
        world(2, 20, 1),
        &Policy::default(),
        "::error::x ##[group] ``` \u{202e}",
    );
    let outputs = [
        render::text(&plan, Color::Never),
        render::markdown(&plan),
        render::github(&plan),
    ];
    for text in &outputs {
        assert!(
            !text.contains(['\u{1b}', '\u{202e}']) && !text.contains("##["),
            "{text}"
        );
        assert!(
            !text.lines().any(|line| line.trim_start().starts_with("::")),
            "{text}"
        );
    }
    println!("{}\n{}", outputs[0], outputs[1]);
    assert_eq!(render::json(&plan)["changes"].as_array().unwrap().len(), 2);
}

#[test]
fn the_digest_knows_no_commits() {
    let digest = |message| plan(world(3, 20, 2), &Policy::default(), message).digest();
    assert_eq!(digest("a"), digest("b"));
    assert_ne!(
        digest("a"),
        plan(world(2, 20, 2), &Policy::default(), "a").digest()
    );
}

#[test]
fn an_unknown_toggle_is_sent_again_or_kept_and_reported() {
    let sent = |action| crate::model::Sent {
        action,
        payload: payload(false),
        comment: "as journalled".into(),
        object: ObjectId([1; 20]),
        format: "yaml".into(),
        path: "p/e/t000.yaml".into(),
        revision: CommitId(ObjectId([5; 20])),
    };
    let with = |action, desired: Option<Desired>| {
        let mut world = world(1, 0, 0);
        world.candidates[0].applied = Applied::Unknown { sent: sent(action) };
        if let Some(desired) = desired {
            world.candidates[0].desired = desired;
        }
        plan(world, &Policy::default(), "new")
    };
    use crate::model::Action;
    let same = with(Action::Update, None);
    assert_eq!(
        (same.changes()[0].resend, same.changes()[0].comment.as_str()),
        (Resend::Same, "as journalled")
    );
    let returned = with(Action::Disable, None);
    assert_eq!(
        (returned.changes()[0].resend, returned.changes()[0].action),
        (Resend::No, Action::Update)
    );
    let invalid = with(Action::Update, Some(Desired::Invalid { path: "x".into() }));
    assert_eq!(invalid.held()[0].reason, HoldReason::Unknown(Kept::Invalid));
    let gone = with(Action::Update, Some(Desired::Absent { path: "x".into() }));
    assert_eq!(
        (gone.orphans().len(), gone.held()[0].reason.state()),
        (1, "pending")
    );
}

fn any_targeting() -> impl proptest::strategy::Strategy<Value = Targeting> {
    use crate::model::{Condition, Rule};
    use proptest::prelude::*;
    let variation = ("[ab]", "[xy]", "[d]?").prop_map(|(name, value, description)| Variation {
        value,
        name,
        description,
    });
    let objects = proptest::collection::vec("[12]", 0..3);
    let condition = ("[st]", "[<>]", objects).prop_map(|(subject, predicate, objects)| Condition {
        kind: "number".into(),
        subject,
        predicate,
        objects,
    });
    let rule = ("[rq]?", 0_u32..3, proptest::collection::vec(condition, 0..3)).prop_map(
        |(name, select, conditions)| Rule {
            name,
            serve: Serve { select },
            conditions,
        },
    );
    (
        any::<bool>(),
        proptest::collection::vec(rule, 0..4),
        proptest::collection::vec(variation, 0..4),
        0_u32..3,
        0_u32..3,
    )
        .prop_map(|(disabled, rules, variations, a, b)| {
            let (disabled_serve, default_serve) = (Serve { select: a }, Serve { select: b });
            Targeting {
                disabled,
                content: Content {
                    rules,
                    disabled_serve,
                    default_serve,
                    variations,
                },
            }
        })
}

proptest::proptest! {
    #[test]
    fn there_is_no_sentence_exactly_when_two_targetings_are_equal(a in any_targeting(), b in any_targeting()) {
        proptest::prop_assert!(sentences(Some(&a), &a).is_empty());
        proptest::prop_assert_eq!(sentences(Some(&a), &b).is_empty(), a == b);
    }
}

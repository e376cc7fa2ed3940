use super::*;
use crate::model::{Commit, CommitId, Content, ObjectId, Payload, Serve, Targeting, Variation};
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

fn input(count: usize, applied_count: usize, update: usize) -> Input {
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
    Input {
        source: SourceInfo {
            repo: "r".into(),
            reference: "main".into(),
            revision: CommitId(ObjectId([3; 20])),
            history: History::Complete,
        },
        base_url: None,
        candidates: candidates.collect(),
        applied_counts: BTreeMap::from([(id.environment(), applied_count)]),
        environment_holds: BTreeMap::new(),
        refused: BTreeMap::new(),
        suspended: None,
        findings: vec![],
    }
}

fn plan(input: Input, policy: &Policy, message: &str) -> Plan {
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
        let plan = plan(input(updates, applied, updates), &Policy::default(), "m");
        assert_eq!(plan.has_held(), trips, "{updates} of {applied}");
        assert_eq!(plan.changes().is_empty(), trips);
    }
}

#[test]
fn creates_do_not_trip_the_ratio_and_a_trailer_lifts_it() {
    assert_eq!(
        plan(input(50, 10, 0), &Policy::default(), "m").changes().len(),
        50
    );
    let message = "m\n\nGitoggle-Allow: mass-change";
    assert_eq!(
        plan(input(9, 10, 9), &Policy::default(), message).changes().len(),
        9
    );
    let policy = Policy {
        trailer: Trailer::Ignored,
        ..Policy::default()
    };
    let held = plan(input(9, 10, 9), &policy, message);
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
            input(5, 0, 0),
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
        input(2, 20, 1),
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
    let digest = |message| plan(input(3, 20, 2), &Policy::default(), message).digest();
    assert_eq!(digest("a"), digest("b"));
    assert_ne!(
        digest("a"),
        plan(input(2, 20, 2), &Policy::default(), "a").digest()
    );
}

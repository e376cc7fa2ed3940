//! The versioned form for machines.

use serde_json::{Value, json as value};

use super::told;
use crate::plan::{History, Plan};

/// Returns `{version, digest, source, summary, changes, held, orphans, findings}`; unchanged toggles are not listed.
#[must_use]
pub fn json(plan: &Plan) -> Value {
    let verdict = plan.verdict();
    let source = plan.source();
    let changes: Vec<Value> = plan.changes().iter().map(change).collect();
    let held = plan.held().iter().map(|held| {
        value!({"toggle": held.id, "state": held.reason.state(), "kind": held.reason.kind(),
            "reason": held.reason.to_string(), "change": held.change.as_deref().map(change)})
    });
    let orphans = plan.orphans().iter();
    let orphans = orphans.map(
        |orphan| value!({"toggle": orphan.id, "path": orphan.path, "reason": orphan.reason.to_string()}),
    );
    let environments: serde_json::Map<String, Value> = plan
        .environment_holds()
        .iter()
        .map(|(id, reason)| (id.to_string(), value!(reason)))
        .collect();
    value!({
        "version": Plan::VERSION,
        "digest": plan.digest(),
        "source": {"repo": source.repo, "ref": source.reference, "revision": source.revision,
            "shallow": source.history == History::Shallow, "base_url": plan.base_url()},
        "summary": {"changes": verdict.changes, "held": plan.held().len(), "orphans": plan.orphans().len(),
            "invalid": verdict.invalid, "failed": verdict.failed, "records": plan.records().len(),
            "held_environments": environments, "text": super::summary(plan)},
        "changes": changes,
        "held": held.collect::<Vec<_>>(),
        "orphans": orphans.collect::<Vec<_>>(),
        "findings": plan.findings(),
    })
}

fn change(change: &crate::plan::Change) -> Value {
    let after = change.payload.targeting();
    value!({
        "toggle": change.id, "action": change.action, "disabled": after.disabled, "content": after.content,
        "before": change.before.payload(), "commit": {"id": change.commit.id, "subject": change.commit.subject()},
        "comment": change.comment, "path": change.path, "sentences": told(change).sentences,
    })
}

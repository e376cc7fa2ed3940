//! Suggests a toggle in place of one that has no document.

use std::collections::BTreeSet;

use crate::model::{EnvironmentId, ToggleId, closest};
use crate::pass::DocumentFiles;

/// A toggle that has a document.
pub(super) struct SuggestedToggle<'a> {
    pub(super) id: &'a ToggleId,
    /// Whether its project, environment and key are those of the other one in another order.
    pub(super) is_swapped: bool,
}

/// Returns the toggle that is meant by `id`, which has no document: one with its parts in another order, or with a
/// similar name.
pub(super) fn suggested<'a>(id: &ToggleId, documents: &'a DocumentFiles) -> Option<SuggestedToggle<'a>> {
    let all = || documents.toggles();
    if let Some(known) = all().find(|known| has_same_parts(id, known)) {
        return Some(SuggestedToggle { id: known, is_swapped: true });
    }
    let environment = id.environment();
    let swapped = swapped(&environment);
    let is_known = |environment: &EnvironmentId| all().any(|known| known.is_in(environment));
    if !is_known(&environment) && is_known(&swapped) {
        return in_environment(id, &swapped, documents).map(|id| SuggestedToggle { id, is_swapped: true });
    }
    let near = in_environment(id, &environment, documents)
        .or_else(|| {
            let environments: BTreeSet<String> = all().map(|known| known.environment().to_string()).collect();
            let meant = closest(&environment.to_string(), environments.iter().map(String::as_str))?;
            in_environment(id, &meant.parse().ok()?, documents)
        })
        .or_else(|| {
            let text = closest(id.as_str(), all().map(ToggleId::as_str))?;
            all().find(|known| known.as_str() == text)
        });
    near.map(|id| SuggestedToggle { id, is_swapped: false })
}

/// Returns the environment with its project and its name in the other order.
pub(super) fn swapped(environment: &EnvironmentId) -> EnvironmentId {
    EnvironmentId { project: environment.environment.clone(), environment: environment.project.clone() }
}

/// Returns the toggle of an environment whose key is that of `id` or similar. Only the keys are compared, because only
/// they may differ.
fn in_environment<'a>(
    id: &ToggleId,
    environment: &EnvironmentId,
    documents: &'a DocumentFiles,
) -> Option<&'a ToggleId> {
    let others = || documents.toggles().filter(|other| other.is_in(environment));
    let with_key = |key: &str| others().find(|other| other.toggle() == key);
    with_key(id.toggle()).or_else(|| with_key(closest(id.toggle(), others().map(ToggleId::toggle))?))
}

/// Returns whether both have the same parts in another order.
fn has_same_parts(id: &ToggleId, known: &ToggleId) -> bool {
    let parts = |id: &ToggleId| {
        let mut parts = [id.project(), id.environment_key(), id.toggle()].map(str::to_owned);
        parts.sort_unstable();
        parts
    };
    id.as_str().len() == known.as_str().len() && parts(id) == parts(known)
}

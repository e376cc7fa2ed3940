//! Narrows the JSON form of a plan to one page, so that a response is small with a hundred thousand held toggles.

use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::{Change, Each, OrphanToggle, PlanJson, WithheldJson, json};
use crate::document::Diagnostic;
use crate::model::ToggleId;
use crate::plan::Plan;

/// Returns the JSON of [`PlanJson::page`] in pieces, of which a client that reads slowly holds few: the parts around the
/// lists, and each change, withheld toggle and orphan.
///
/// # Panics
/// Never: a plan always has a JSON form.
pub fn page_pieces(
    plan: Arc<Plan>,
    after: Option<&ToggleId>,
    limit: usize,
    toggle_of: &dyn Fn(&str) -> Option<ToggleId>,
) -> impl Iterator<Item = String> + Send + use<> {
    let mut page = json(&plan).page(after, limit, toggle_of);
    let changes = std::mem::take(&mut page.changes.range);
    let held = std::mem::take(&mut page.held.range);
    let orphans = std::mem::take(&mut page.orphans.range);
    let around = text(&page);
    // No string contains this, because quotes in strings are escaped.
    let lists = "\"changes\":[],\"held\":[],\"orphans\":[]";
    let (head, tail) = around.split_once(lists).expect("the lists follow each other");
    let (head, tail) = (head.to_owned(), format!("{tail}\n"));
    let (second, third) = (Arc::clone(&plan), Arc::clone(&plan));
    once(head)
        .chain(list("changes", changes, move |at| text(&Change::of(&plan.changes()[at], None))))
        .chain(once(",".to_owned()))
        .chain(list("held", held, move |at| text(&WithheldJson::of(&second.withheld()[at], None))))
        .chain(once(",".to_owned()))
        .chain(list("orphans", orphans, move |at| text(&OrphanToggle::of(&third.orphans()[at], None))))
        .chain(once(tail))
}

fn list(
    name: &'static str,
    items: Range<usize>,
    item: impl Fn(usize) -> String,
) -> impl Iterator<Item = String> {
    let first = items.start;
    let separated = move |at| format!("{}{}", if at > first { "," } else { "" }, item(at));
    once(format!("\"{name}\":[")).chain(items.map(separated)).chain(once("]".to_owned()))
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan always has a JSON form")
}

impl<'a> PlanJson<'a> {
    /// Lists only the first `limit` toggles after `after`, in the order of their keys, each with its findings, and sets
    /// `next`. Findings that belong to no toggle are on the first page. `toggle_of` returns the toggle of a path.
    pub fn page(
        mut self,
        after: Option<&ToggleId>,
        limit: usize,
        toggle_of: impl Fn(&str) -> Option<ToggleId>,
    ) -> Self {
        let is_after = |id: &ToggleId| after.is_none_or(|after| id > after);
        let with_owner = |findings: Vec<&'a Diagnostic>| -> Vec<(Option<ToggleId>, &'a Diagnostic)> {
            let findings = findings.into_iter().map(|finding| (toggle_of(&finding.path), finding));
            let is_ahead = |owner: &Option<ToggleId>| owner.as_ref().map_or(after.is_none(), is_after);
            findings.filter(|(owner, _)| is_ahead(owner)).collect()
        };
        let (findings, waived) = (with_owner(self.findings), with_owner(self.waived));
        self.changes.skip(|change| !is_after(&change.id));
        self.held.skip(|held| !is_after(&held.id));
        self.orphans.skip(|orphan| !is_after(&orphan.id));
        let owners = findings.iter().chain(&waived).filter_map(|(owner, _)| owner.as_ref());
        let mut ids: Vec<&ToggleId> = owners.collect();
        // One more than a page, to know whether another one follows.
        ids.extend(self.changes.items().iter().take(limit + 1).map(|change| &change.id));
        ids.extend(self.held.items().iter().take(limit + 1).map(|held| &held.id));
        ids.extend(self.orphans.items().iter().take(limit + 1).map(|orphan| &orphan.id));
        ids.sort_unstable();
        ids.dedup();
        let last = (ids.len() > limit).then(|| ids[limit - 1].clone());
        let is_within = |id: &ToggleId| last.as_ref().is_none_or(|last| id <= last);
        self.changes.take(|change| is_within(&change.id));
        self.held.take(|held| is_within(&held.id));
        self.orphans.take(|orphan| is_within(&orphan.id));
        let of_page = |findings: Vec<(Option<ToggleId>, &'a Diagnostic)>| -> Vec<&'a Diagnostic> {
            let findings = findings.into_iter();
            let findings = findings.filter(|(owner, _)| owner.as_ref().is_none_or(is_within));
            findings.map(|(_, finding)| finding).collect()
        };
        (self.findings, self.waived) = (of_page(findings), of_page(waived));
        self.next = Some(last);
        self
    }
}

/// The items are sorted.
impl<T, S> Each<'_, T, S> {
    fn skip(&mut self, is_skipped: impl Fn(&T) -> bool) {
        self.range.start += self.items().partition_point(is_skipped);
    }

    fn take(&mut self, is_taken: impl Fn(&T) -> bool) {
        self.range.end = self.range.start + self.items().partition_point(is_taken);
    }
}

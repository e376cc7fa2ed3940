//! One toggle: its state, what is to change, and the ways out.

use maud::{Markup, html};

use super::toggles::applied;
use crate::admin::page::{View, address, name, remedies, state};
use crate::admin::web::{command, diff, prose, safe};
use crate::daemon::{HoldKind, ToggleStatus};
use crate::model::ToggleId;
use crate::plan::{Change, DriftedToggle, Plan};
use crate::report::{Preview, findings_in};

/// Renders the page of the toggle with this full key.
pub(super) fn render(view: &View<'_>, id: &str) -> Markup {
    let toggles = &view.status.toggles;
    let known = id.parse::<ToggleId>().ok();
    let known = known.and_then(|id| toggles.binary_search_by(|one| one.toggle.cmp(&id)).ok());
    html! {
        section #toggle aria-labelledby="verdict" {
            header { a href="./" { "← Status" } }
            @match known.map(|at| &toggles[at]) {
                Some(toggle) => (found(view, toggle)),
                None => {
                    h1 #verdict { (safe(id)) }
                    div.card { p.empty { "No toggle of this name is known." } }
                }
            }
        }
    }
}

fn found(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let id = toggle.toggle.as_str();
    let environment = toggle.toggle.environment().to_string();
    let path = change_of(view, toggle).map(|change| view.admin.paths.below_root(&change.path));
    let path = path.or_else(|| view.admin.paths.applied(toggle));
    let at = toggle.revision.or(view.status.source.revision);
    html! {
        h1 #verdict { (name(id)) }
        div.card {
            dl.facts #facts {
                div { dt { "State" } dd { (state(toggle.state())) } }
                @if let Some(reason) = toggle.reason() { div.wide { dt { "Reason" } dd #reason { (prose(reason)) } } }
                div { dt { "Environment" } dd { a.id href=(address(&[("environment", &environment)])) { (environment) } } }
                div { dt { "Applied revision" } dd {
                    @if toggle.revision.is_some() { (applied(view, toggle)) } @else { "none" }
                } }
                @if let Some(path) = path { div { dt { "Document" } dd { (view.file(at, &path)) } } }
                div.wide { dt { "Its deployments" } dd { (command(&format!("gitoggle log {id} -p"))) } }
            }
        }
        @if toggle.reason().is_some() {
            div.card { div.inside {
                h2 { "What is waiting" }
                (remedies::render(view, toggle))
                (change(view, toggle))
            } }
        }
    }
}

/// Renders what the repository asks for, and what was changed on the service.
pub(super) fn change(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    Waiting::of(view, toggle).render(view, toggle)
}

/// What is known about a toggle that waits.
pub(super) struct Waiting<'a> {
    change: Option<(&'a Change, Preview)>,
    drift: Option<Preview>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(view: &View<'a>, toggle: &ToggleStatus) -> Self {
        let change = change_of(view, toggle);
        Self {
            change: change.map(|change| (change, Preview::of_change(change))),
            drift: drifted(view, toggle).map(Preview::of_drift),
        }
    }

    /// Returns the first sentence about the change that the repository asks for.
    pub(super) fn first_sentence(&self) -> Option<&str> {
        let (_, preview) = self.change.as_ref()?;
        preview.sentences.first().map(String::as_str)
    }

    pub(super) fn render(&self, view: &View<'_>, toggle: &ToggleStatus) -> Markup {
        let id = toggle.toggle.as_str();
        html! {
            @if let Some(drift) = &self.drift {
                p.label { "Changed on the service" }
                (preview(&format!("Changes on the service to {id}"), drift))
            }
            @if let Some((change, shown)) = &self.change {
                @if self.drift.is_some() { p.label { "Asked for by the repository" } }
                (preview(&format!("Change to {id}"), shown))
                (origin(view, change))
            } @else if self.drift.is_none() {
                (findings(view, toggle))
            }
        }
    }
}

fn preview(label: &str, preview: &Preview) -> Markup {
    html! {
        @if !preview.sentences.is_empty() {
            ul.sentences { @for sentence in &preview.sentences { li { (prose(sentence)) } } }
        }
        @if !preview.diff.is_empty() { (diff(label, &preview.diff)) }
    }
}

/// Renders the commit and the file of a change.
fn origin(view: &View<'_>, change: &Change) -> Markup {
    let path = view.admin.paths.below_root(&change.path);
    let commit = change.attribution.commit();
    html! {
        p.origin {
            (view.file(view.status.source.revision, &path))
            @if let Some(commit) = commit {
                " · " (view.commit(commit.id)) " " (safe(&crate::model::cut(commit.subject(), 300)))
                @if change.attribution.is_guessed() { " (guessed)" }
            }
        }
    }
}

/// Renders what is wrong with the document of a toggle.
fn findings(view: &View<'_>, toggle: &ToggleStatus) -> Markup {
    let Some(plan) = plan(view).filter(|_| toggle.kind() == Some(HoldKind::Invalid)) else {
        return html! {};
    };
    let paths = view.admin.paths.candidates(toggle).into_iter();
    let found: Vec<_> = paths
        .map(|path| (findings_in(plan.findings(), &path), path))
        .filter(|(text, _)| !text.is_empty())
        .collect();
    html! {
        @for (text, path) in &found {
            pre.text.scrolls tabindex="0" role="region" aria-label=(format!("Findings in {}", safe(path))) {
                @for line in text.lines() { (safe(line)) "\n" }
            }
            (command(&format!("gitoggle validate {}", remedies::quoted(path))))
        }
    }
}

fn plan<'a>(view: &View<'a>) -> Option<&'a Plan> {
    view.status.plan.as_ref().map(|plan| &*plan.0)
}

fn change_of<'a>(view: &View<'a>, toggle: &ToggleStatus) -> Option<&'a Change> {
    let (plan, id) = (plan(view)?, &toggle.toggle);
    let held = plan.withheld().binary_search_by(|held| held.id.cmp(id));
    let held = held.ok().and_then(|at| plan.withheld()[at].change.as_deref());
    let sent = || plan.changes().binary_search_by(|change| change.id.cmp(id)).ok();
    held.or_else(|| sent().map(|at| &plan.changes()[at]))
}

fn drifted<'a>(view: &View<'a>, toggle: &ToggleStatus) -> Option<&'a DriftedToggle> {
    let drifted = &view.status.drifted;
    let found = drifted.binary_search_by(|one| one.applied.id.cmp(&toggle.toggle));
    found.ok().map(|at| &drifted[at])
}

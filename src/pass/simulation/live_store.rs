//! The versions of the simulated toggles, for a service that can be read and that another writer changes,
//! too.
//!
//! Two guarantees (src/README.md, "Guarantees") are checked with each version: a change that someone else
//! made is not overwritten, and no request creates a second version.

use std::collections::BTreeMap;

use crate::document;
use crate::model::{Blob, Live, LiveContent, LiveToggle, LiveVersion, Payload, Sent, ServiceKind, ToggleId};

/// The account of the other writer.
const EVE: &str = "eve";

/// The comment of the version that a toggle had before its first pass.
const BEFORE: &str = "before";

/// A value that no document has, so that a change with it is never recorded as applied.
const FOREIGN: u8 = 7;

const UNCONFIGURED: &str = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{},"variations":[],"prerequisites":[]}}"#;

const CONFIGURED: &str = r#"{"disabled":false,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"m8","name":"a","description":""}],"prerequisites":[]}}"#;

#[derive(Debug, Default)]
pub(super) struct LiveStore(BTreeMap<ToggleId, Vec<LiveVersion>>);

/// A PATCH as the service reads it.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    payload: Payload,
    comment: String,
    base_version: Option<u64>,
}

/// What became of a PATCH.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Stored {
    /// The base version is not the current one.
    Conflict,
    /// It is stored, against a guarantee in this case.
    Fault(String),
    Version(u64),
}

impl Patch {
    pub(super) fn new(sent: &Sent) -> Self {
        let Sent { payload, comment, base_version, .. } = sent.clone();
        Self { payload, comment, base_version }
    }
}

impl LiveStore {
    /// Stores a PATCH, unless its base version is stale.
    pub(super) fn patch(&mut self, toggle: &ToggleId, patch: Patch) -> Stored {
        if self.refuses(toggle, &patch) {
            return Stored::Conflict;
        }
        let versions = self.versions(toggle);
        let last = versions.last().expect("every toggle has a version").clone();
        let version = last.version + 1;
        let is_equal = last.content.payload() == Some(&patch.payload);
        versions.push(LiveVersion {
            version,
            content: LiveContent::Known(patch.payload),
            comment: patch.comment,
            created_by: None,
            created_at: None,
        });
        if is_equal {
            return Stored::Fault(format!("{toggle} gets the second version {version} with equal targeting"));
        }
        match is_foreign(&last) {
            true => {
                Stored::Fault(format!("{toggle}: version {} of someone else is overwritten", last.version))
            }
            false => Stored::Version(version),
        }
    }

    /// Returns whether the base version of a PATCH is stale.
    pub(super) fn refuses(&self, toggle: &ToggleId, patch: &Patch) -> bool {
        let last = self.0.get(toggle).and_then(|versions| versions.last());
        let base = patch.base_version.zip(last);
        base.is_some_and(|(base, last)| base != last.version)
    }

    /// Changes a toggle as another writer, if a request was stored for it already. Returns the new value.
    pub(super) fn edit(&mut self, toggle: &ToggleId, value: u8) -> Option<u8> {
        let versions = self.0.get_mut(toggle)?;
        let last = versions.last()?.clone();
        let payload = last.content.payload().filter(|_| last.version > 1)?;
        if last.comment == BEFORE {
            return None;
        }
        // Half of the edits have a value that a document may get as well.
        let value = if value < 3 { value } else { FOREIGN };
        let mut targeting = payload.targeting();
        targeting.content.variations[0].value = format!("m{value}");
        versions.push(LiveVersion {
            version: last.version + 1,
            content: LiveContent::Known(Payload::new(&targeting)),
            comment: "by hand".to_owned(),
            created_by: Some(EVE.to_owned()),
            created_at: None,
        });
        Some(value)
    }

    /// Permits that the last changes of the other writer are overwritten.
    pub(super) fn permit(&mut self) {
        for version in self.0.values_mut().flatten() {
            version.created_by = None;
        }
    }

    pub(super) fn live(&mut self, toggle: &ToggleId) -> Live {
        let versions = self.versions(toggle);
        let last = versions.last().expect("every toggle has a version").clone();
        Live::Toggle(Box::new(LiveToggle {
            id: toggle.clone(),
            spelling: None,
            version: last.version,
            content: last.content,
            modified_by: last.created_by,
            modified_at: None,
            draft: None,
            is_archived: false,
            needs_approval: false,
            return_type: None,
            events: Vec::new(),
            has_earlier_events: false,
        }))
    }

    /// Returns the versions from `first` on, newest first.
    pub(super) fn from(&mut self, toggle: &ToggleId, first: u64) -> Vec<LiveVersion> {
        let versions = self.versions(toggle).iter().rev();
        versions.filter(|version| version.version >= first).cloned().collect()
    }

    /// Returns a toggle whose imported document would not mean what the service has, if there is one
    /// (src/import/README.md, "Rules").
    pub(super) fn lost_by_import(&self) -> Option<ToggleId> {
        let is_lost = |versions: &[LiveVersion]| {
            // The first version is that of a toggle without variations, which no document has.
            let live = versions.last().filter(|last| last.version > 1);
            live.and_then(|last| last.content.payload()).is_some_and(|live| {
                let text = document::print(&live.targeting(), ServiceKind::FeatureProbe);
                is_lost_in(text, live)
            })
        };
        let mut toggles = self.0.iter();
        let lost = toggles.find(|(_, versions)| is_lost(versions));
        lost.map(|(toggle, _)| toggle.clone())
    }

    /// Returns whether another writer has changed the toggle.
    pub(super) fn is_edited(&self, toggle: &ToggleId) -> bool {
        let is_edit = |version: &LiveVersion| version.comment == "by hand";
        self.0.get(toggle).is_some_and(|versions| versions.iter().any(is_edit))
    }

    fn versions(&mut self, toggle: &ToggleId) -> &mut Vec<LiveVersion> {
        let version = |version, comment: &str, content: &str| LiveVersion {
            version,
            content: LiveContent::Known(serde_json::from_str::<Payload>(content).expect("a targeting")),
            comment: comment.to_owned(),
            created_by: None,
            created_at: None,
        };
        let first = || {
            let mut versions = vec![version(1, "", UNCONFIGURED)];
            // Half of the toggles were in use before there were documents.
            if toggle.as_str().ends_with(['1', '3', '5', '7', '9']) {
                versions.push(version(2, BEFORE, CONFIGURED));
            }
            versions
        };
        self.0.entry(toggle.clone()).or_insert_with(first)
    }
}

/// Returns whether a document with this text has another meaning than `live`.
fn is_lost_in(text: String, live: &Payload) -> bool {
    let text = Blob::Content(text.into_bytes());
    let imported = document::read("a.yaml", &text, ServiceKind::FeatureProbe);
    imported.payload.as_ref() != Some(live)
}

fn is_foreign(version: &LiveVersion) -> bool {
    let first = |payload: &Payload| payload.targeting().content.variations.into_iter().next();
    let value = version.content.payload().and_then(first);
    let value = value.map(|variation| variation.value);
    version.created_by.as_deref() == Some(EVE) && value == Some(format!("m{FOREIGN}"))
}

#[test]
fn an_import_that_leaves_out_any_line_is_noticed() {
    let live = r#"{"disabled":true,"content":{
        "rules":[{"name":"r","serve":{"split":[2500,7500]},"conditions":[
            {"type":"number","subject":"age","predicate":">","objects":["18"]},
            {"type":"segment","subject":"","predicate":"is in","objects":["staff"]}]}],
        "disabledServe":{"select":0},"defaultServe":{"select":1},
        "variations":[{"name":"a","value":"1","description":"one"},{"name":"b","value":"2","description":""}],
        "prerequisites":[{"key":"other","value":"true","type":"boolean"}]}}"#;
    let live = serde_json::from_str::<Payload>(live).unwrap();
    let text = document::print(&live.targeting(), ServiceKind::FeatureProbe);
    assert!(!is_lost_in(text.clone(), &live), "{text}");
    for (number, line) in text.lines().enumerate() {
        let others = text.lines().enumerate().filter(|(other, _)| *other != number);
        let rest: String = others.map(|(_, other)| format!("{other}\n")).collect();
        assert!(is_lost_in(rest, &live), "without `{line}`");
    }
}

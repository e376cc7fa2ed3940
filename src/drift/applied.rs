//! The applied documents, with which a scan compares the service.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{self, LARGEST_DOCUMENT};
use crate::git::ObjectReader;
use crate::model::{Action, Format, ObjectId, Scope, ToggleId, Trees as _, Version};
use crate::pass::{Error, Rules, applied_tree};
use crate::plan::compare::join;
use crate::state::StateSnapshot;

#[derive(Debug)]
pub(super) struct AppliedDocuments<'a> {
    view: &'a StateSnapshot,
    pub(super) rules: &'a Rules,
    reader: Option<ObjectReader>,
    globs: Option<&'a Scope>,
    documents: BTreeMap<ToggleId, (ObjectId, Format)>,
    /// The toggles whose last outcome is unknown.
    pub(super) unknown: BTreeSet<ToggleId>,
}

impl<'a> AppliedDocuments<'a> {
    /// Lists the applied documents of the toggles that match `--only` and `globs`.
    pub(super) fn of(
        view: &'a StateSnapshot,
        rules: &'a Rules,
        globs: Option<&'a Scope>,
    ) -> Result<Self, Error> {
        let is_wanted = |id: &ToggleId| is_wanted(id, rules, globs);
        let reader = view.reader()?;
        let mut documents = applied_tree(view, reader.as_ref())?;
        for (id, sent) in view.settled() {
            match sent.action {
                Action::Disable => documents.remove(id),
                Action::Adopt | Action::Create | Action::Update => {
                    documents.insert(id.clone(), (sent.object, sent.format))
                }
            };
        }
        // The tree cannot be trusted before the outcome of the request is known (src/state/README.md,
        // "Unknown").
        documents.retain(|id, _| !view.unknown().contains_key(id) && is_wanted(id));
        let unknown = view.unknown().keys().filter(|id| is_wanted(id));
        Ok(Self { view, rules, reader, globs, documents, unknown: unknown.cloned().collect() })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToggleId, ObjectId)> {
        self.documents.iter().map(|(id, (object, _))| (id, *object))
    }

    /// Returns whether a toggle matches `--only` and the globs.
    pub(super) fn is_wanted(&self, id: &ToggleId) -> bool {
        is_wanted(id, self.rules, self.globs)
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len() + self.unknown.len()
    }

    pub(super) fn object(&self, id: &ToggleId) -> Option<ObjectId> {
        self.documents.get(id).map(|(object, _)| *object)
    }

    pub(super) fn contains(&self, id: &ToggleId) -> bool {
        self.documents.contains_key(id) || self.unknown.contains(id)
    }

    /// Reads the applied document of a toggle; none if there is none, or if the current rules cannot read it.
    pub(super) fn version(&self, id: &ToggleId) -> Result<Option<Version>, Error> {
        let Some((object, format)) = self.documents.get(id).copied() else {
            return Ok(None);
        };
        let path = self.rules.layout.path(id, format);
        let version =
            |payload| Version { id: id.clone(), path: path.as_str().into(), format, object, payload };
        if let Some(sent) = self.view.settled().get(id) {
            return Ok(Some(version(sent.payload.for_kind(self.rules.kind))));
        }
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        let blob = reader.blob(object, LARGEST_DOCUMENT)?;
        let name = join(&self.rules.root, &path);
        let read = document::read(&name, &blob, self.rules.kind);
        Ok(read.payload.map(version))
    }
}

fn is_wanted(id: &ToggleId, rules: &Rules, globs: Option<&Scope>) -> bool {
    rules.policy.scope.contains(id) && globs.is_none_or(|globs| globs.contains(id))
}

//! Compiles toggles and the toggles that they depend on.

use std::collections::{HashMap, VecDeque};

use super::compiled::{CompiledPrerequisite, CompiledToggle};
use super::evaluator::Evaluator;
use super::expected;
use super::slots::Slots;
use crate::model::{Payload, Targeting, ToggleId};

/// Finds the targeting of a toggle in the repository.
type Find<'a> = dyn FnMut(&ToggleId) -> Option<Payload> + 'a;

/// One consistent set of toggles, such as those of one revision. It looks up each toggle once.
pub struct Definitions<'a> {
    find: Box<Find<'a>>,
    found: HashMap<ToggleId, Option<(usize, Targeting)>>,
}

impl<'a> Definitions<'a> {
    /// Creates a set whose toggles `find` returns; `None` for those without a valid document.
    pub fn new(find: impl FnMut(&ToggleId) -> Option<Payload> + 'a) -> Self {
        Self {
            find: Box::new(find),
            found: HashMap::new(),
        }
    }
}

/// Compiles toggles. Several sets of [`Definitions`] can share one, so that users are parsed once for both.
#[derive(Debug, Default)]
pub struct Compiler {
    slots: Slots,
    toggles: Vec<CompiledToggle>,
}

impl Compiler {
    /// Compiles a toggle with all its prerequisites and returns its index in the [`Evaluator`]; `None` if the definitions
    /// do not have it.
    pub fn toggle(&mut self, id: &ToggleId, definitions: &mut Definitions<'_>) -> Option<usize> {
        // A list instead of recursion, because a chain of prerequisites can be long.
        let mut open = VecDeque::new();
        let index = self.find(id, definitions, &mut open);
        while let Some(next) = open.pop_front() {
            let prerequisites = self.prerequisites(&next, definitions, &mut open);
            let (index, _) = definitions.found[&next]
                .as_ref()
                .expect("only found toggles are queued");
            self.toggles[*index].prerequisites = prerequisites;
        }
        index
    }

    /// Returns the evaluator of all compiled toggles.
    #[must_use]
    pub fn finish(self) -> Evaluator {
        let Self { slots, toggles } = self;
        Evaluator { slots, toggles }
    }

    fn find(
        &mut self,
        id: &ToggleId,
        definitions: &mut Definitions<'_>,
        open: &mut VecDeque<ToggleId>,
    ) -> Option<usize> {
        if let Some(found) = definitions.found.get(id) {
            return found.as_ref().map(|(index, _)| *index);
        }
        let found = (definitions.find)(id).map(|payload| {
            let targeting = payload.targeting();
            self.toggles
                .push(CompiledToggle::new(id, &targeting, &mut self.slots));
            open.push_back(id.clone());
            (self.toggles.len() - 1, targeting)
        });
        let index = found.as_ref().map(|(index, _)| *index);
        definitions.found.insert(id.clone(), found);
        index
    }

    fn prerequisites(
        &mut self,
        id: &ToggleId,
        definitions: &mut Definitions<'_>,
        open: &mut VecDeque<ToggleId>,
    ) -> Vec<CompiledPrerequisite> {
        let targeting = definitions.found[id].as_ref().map(|(_, targeting)| targeting);
        let listed = targeting.and_then(|targeting| targeting.content.prerequisites.clone());
        let prerequisites = listed.unwrap_or_default().into_iter().map(|prerequisite| {
            // A text that is not a key names no toggle of the repository.
            let other = ToggleId::new(id.project(), id.environment_key(), &prerequisite.key).ok();
            let toggle = other
                .as_ref()
                .and_then(|other| self.find(other, definitions, open));
            let found = other
                .as_ref()
                .and_then(|other| definitions.found.get(other)?.as_ref());
            let variations = found.map_or(&[][..], |(_, targeting)| &targeting.content.variations);
            let matches = variations
                .iter()
                .map(|variation| expected::meets(&prerequisite, &variation.value));
            CompiledPrerequisite {
                toggle,
                matches: matches.collect(),
            }
        });
        prerequisites.collect()
    }
}

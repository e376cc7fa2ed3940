//! Ids without regard to case.

use std::hash::{Hash, Hasher};

use crate::model::ToggleId;

/// An id that is equal to any other id that differs only in case. Shares the text of the id, because a comparison can have
/// a million of them.
#[derive(Clone, Debug)]
pub(super) struct FoldedId(ToggleId);

impl FoldedId {
    pub(super) fn id(&self) -> &ToggleId {
        &self.0
    }
}

impl From<&ToggleId> for FoldedId {
    fn from(id: &ToggleId) -> Self {
        Self(id.clone())
    }
}

impl PartialEq for FoldedId {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str().eq_ignore_ascii_case(other.0.as_str())
    }
}

impl Eq for FoldedId {}

impl Hash for FoldedId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for part in self.0.as_str().as_bytes().chunks(8) {
            let mut lower = [0; 8];
            lower[..part.len()].copy_from_slice(part);
            lower.make_ascii_lowercase();
            state.write_u64(u64::from_ne_bytes(lower));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_that_differ_only_in_case_are_equal() {
        let folded = |id: &str| FoldedId::from(&id.parse::<ToggleId>().unwrap());
        let ids: HashSet<_> = ["shop/prod/one-toggle", "shop/prod/other"].map(folded).into();
        assert!(ids.contains(&folded("Shop/PROD/one-Toggle")) && ids.contains(&folded("shop/prod/OTHER")));
        assert!(!ids.contains(&folded("shop/prod/one-toggl")) && !ids.contains(&folded("shop/prod-/other")));
    }
}

//! The variations of a document by name.

use std::collections::HashMap;

use super::raw::RawVariation;

/// The variations of one document by name.
pub(super) struct VariationNames<'a> {
    /// The index of each name; none if the name is ambiguous.
    by_name: HashMap<&'a str, Option<u32>>,
    count: u32,
}

/// Why a name is not that of a variation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NameError {
    Ambiguous,
    Unknown,
}

impl<'a> VariationNames<'a> {
    pub(super) fn new(variations: &'a [RawVariation]) -> Self {
        let mut by_name = HashMap::with_capacity(variations.len());
        let indices = 0_u32..;
        for (index, variation) in indices.zip(variations) {
            if let Some(name) = &variation.name {
                by_name
                    .entry(name.as_str())
                    // The name stays as ambiguous: without it, a serve by this name would be reported as unknown.
                    .and_modify(|index| *index = None)
                    .or_insert(Some(index));
            }
        }
        Self { by_name, count: u32::try_from(variations.len()).unwrap_or(u32::MAX) }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn index(&self, name: &str) -> Result<u32, NameError> {
        match self.by_name.get(name) {
            Some(Some(index)) => Ok(*index),
            Some(None) => Err(NameError::Ambiguous),
            None => Err(NameError::Unknown),
        }
    }
}

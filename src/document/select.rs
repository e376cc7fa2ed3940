//! From what a serve says to the index of a variation.

use std::collections::HashMap;

use super::raw::{RawServe, RawVariation};
use crate::model::Serve;

/// The variations of one document by name.
pub(super) struct Names<'a> {
    /// The first index of each name, and whether there is another.
    by_name: HashMap<&'a str, (u32, Uniqueness)>,
    count: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Uniqueness {
    Ambiguous,
    Unique,
}

/// Why a serve leads nowhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Nowhere {
    Ambiguous,
    /// Neither `select` nor `variation`, or both.
    Choice,
    OutOfRange,
    Unknown,
}

impl<'a> Names<'a> {
    pub(super) fn new(variations: &'a [RawVariation]) -> Self {
        let mut by_name = HashMap::with_capacity(variations.len());
        let indices = 0_u32..;
        for (index, variation) in indices.zip(variations) {
            if let Some(name) = &variation.name {
                by_name
                    .entry(name.as_str())
                    .and_modify(|(_, uniqueness)| *uniqueness = Uniqueness::Ambiguous)
                    .or_insert((index, Uniqueness::Unique));
            }
        }
        Self {
            by_name,
            count: u32::try_from(variations.len()).unwrap_or(u32::MAX),
        }
    }

    /// Returns how many variations there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn resolve(&self, serve: &RawServe) -> Option<Serve> {
        self.find(serve).ok().map(|select| Serve { select })
    }

    pub(super) fn find(&self, serve: &RawServe) -> Result<u32, Nowhere> {
        match (serve.select, &serve.variation) {
            (Some(select), None) if select < self.count => Ok(select),
            (Some(_), None) => Err(Nowhere::OutOfRange),
            (None, Some(name)) => match self.by_name.get(name.as_str()) {
                Some((index, Uniqueness::Unique)) => Ok(*index),
                Some((_, Uniqueness::Ambiguous)) => Err(Nowhere::Ambiguous),
                None => Err(Nowhere::Unknown),
            },
            (Some(_), Some(_)) | (None, None) => Err(Nowhere::Choice),
        }
    }
}

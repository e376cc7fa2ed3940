//! Metrics with labels.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::model::BUILD;

/// `N` labels: their names and values.
pub(super) type Labels<const N: usize> = [(&'static str, &'static str); N];

#[derive(Clone, Debug)]
pub(super) struct Labeled<M> {
    label: &'static str,
    pub(super) family: Family<Labels<1>, M>,
}

impl<M: Clone + Default> Labeled<M> {
    /// Creates the metric of each of these values.
    pub(super) fn new(label: &'static str, values: impl IntoIterator<Item = &'static str>) -> Self {
        let family = Family::default();
        let labeled = Self { label, family };
        values.into_iter().for_each(|value| drop(labeled.with(value)));
        labeled
    }

    /// Returns the metric of a value.
    pub(super) fn with(&self, value: &'static str) -> M {
        self.family.get_or_create_owned(&[(self.label, value)])
    }
}

/// Returns the metric that shows the version and the commit of the program.
pub(super) fn build_info() -> Family<Labels<2>, Gauge> {
    let build: Family<Labels<2>, Gauge> = Family::default();
    let commit = BUILD.commit.unwrap_or("unknown");
    let _ = build
        .get_or_create(&[("version", BUILD.version), ("commit", commit)])
        .set(1);
    build
}

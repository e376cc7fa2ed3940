//! The labels of the metrics.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::model::BUILD;

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct ResultLabel {
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct OutcomeLabel {
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct StateLabel {
    pub(super) state: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct ReasonLabel {
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct BuildLabel {
    version: &'static str,
    commit: &'static str,
}

/// Returns the metric that shows the version and the commit of the program.
pub(super) fn build_info() -> Family<BuildLabel, Gauge> {
    let build: Family<BuildLabel, Gauge> = Family::default();
    let label = BuildLabel {
        version: BUILD.version,
        commit: BUILD.commit.unwrap_or("unknown"),
    };
    let _ = build.get_or_create(&label).set(1);
    build
}

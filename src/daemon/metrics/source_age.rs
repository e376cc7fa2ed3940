//! Computes the metric `source_age_seconds` at each scrape. The metric is absent for a source without an age.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// The time at which the source was last current, in seconds since 1970-01-01 UTC.
#[derive(Clone, Debug)]
pub(super) struct SourceAge(Arc<AtomicI64>);

/// The value for a source without an age.
const NONE: i64 = i64::MIN;

impl Default for SourceAge {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NONE)))
    }
}

impl SourceAge {
    pub(super) fn set(&self, fetched_at: Option<i64>) {
        // No other memory depends on this value.
        self.0.store(fetched_at.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// Returns the age in seconds; 0 if the clock was set back.
    fn age(&self, now: SystemTime) -> Option<i64> {
        let fetched_at = self.0.load(Ordering::Relaxed);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        (fetched_at != NONE).then(|| now.saturating_sub(fetched_at).max(0))
    }
}

impl Collector for SourceAge {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(age) = self.age(SystemTime::now()) else {
            return Ok(());
        };
        let gauge = ConstGauge::new(age);
        let help = "Time since the source was last fetched or looked up successfully";
        let metric =
            encoder.encode_descriptor("source_age", help, Some(&Unit::Seconds), gauge.metric_type())?;
        gauge.encode(metric)
    }
}

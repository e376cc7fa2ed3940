//! The text formats in which metrics are scraped.

/// Which of the two text formats a scraper reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetricsFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The classic Prometheus text format, 0.0.4.
    Text,
}

impl MetricsFormat {
    /// Returns the `Content-Type` of the format.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Returns what OpenMetrics text is in this format.
    pub(super) fn of(self, open: String) -> String {
        match self {
            Self::OpenMetrics => open,
            Self::Text => classic(&open),
        }
    }
}

/// Turns OpenMetrics text into the classic format, which names a counter's family as its sample and has no units
/// and no end mark.
fn classic(open: &str) -> String {
    let counters: Vec<&str> = open
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open.len());
    for line in open.lines() {
        match line
            .strip_prefix("# ")
            .map(|comment| comment.splitn(3, ' ').collect::<Vec<_>>())
        {
            None => text.push_str(line),
            Some(words) => match words[..] {
                [kind @ ("HELP" | "TYPE"), name, rest] => {
                    let total = if counters.contains(&name) { "_total" } else { "" };
                    text.push_str(&format!("# {kind} {name}{total} {rest}"));
                }
                _ => continue,
            },
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::metrics::Metrics;

    #[test]
    fn the_classic_format_names_a_counter_by_its_sample_and_has_no_end_mark() {
        let metrics = Metrics::new();
        let open = metrics.encode(MetricsFormat::OpenMetrics);
        assert!(open.contains("# TYPE gitoggle_passes counter\n"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
        let text = metrics.encode(MetricsFormat::Text);
        assert!(text.contains("# TYPE gitoggle_passes_total counter\n"), "{text}");
        assert!(
            text.contains("# TYPE gitoggle_pass_duration_seconds histogram\n"),
            "{text}"
        );
        assert!(!text.contains("EOF") && !text.contains("UNIT"), "{text}");
    }
}

//! Renders a drift report as Markdown.

use super::DriftReport;
use super::text::{compared, names, others, summary, valid};
use crate::model::counted;
use crate::plan::render::{block, code, fitting};

/// Returns the report as Markdown of at most `limit` bytes. Foreign text is inside code only.
#[must_use]
pub fn drift_markdown(report: &DriftReport, limit: usize) -> String {
    let mut parts = vec![format!(
        "### gitoggle drift\n\n{}\n\n{} {}. {}\n\n",
        summary(report),
        code(&report.service),
        compared(report),
        valid(report)
    )];
    parts.extend(rows(report));
    fitting(parts, limit)
}

/// Returns the lists of the report as parts of Markdown.
pub(in crate::plan) fn rows(report: &DriftReport) -> Vec<String> {
    let mut parts = Vec::new();
    for (word, groups) in others(report) {
        for ((environment, reason), toggles) in groups {
            let subject = match toggles.as_slice() {
                [one] => code(one.as_str()),
                some => format!(
                    "{} in {} ({})",
                    counted(some.len(), "toggle"),
                    code(&environment.to_string()),
                    code(&names(some))
                ),
            };
            parts.push(format!("* **{word}** {subject}: {}\n", code(&reason)));
        }
    }
    if !parts.is_empty() {
        parts.push("\n".to_owned());
    }
    parts.extend(report.drifted.iter().map(|drifted| {
        let id = &drifted.applied.id;
        let comment = drifted.shown_comment();
        let comment = comment.map_or_else(String::new, |text| format!("\n\ncomment: {}", code(text)));
        let lines = [drifted.sentences(), drifted.diff()].concat();
        format!(
            "<details><summary><b>drifted</b> <code>{id}</code></summary>\n\n{}{comment}\n\n{}\n</details>\n\n",
            code(&drifted.live.author()),
            block(&lines)
        )
    }));
    parts
}

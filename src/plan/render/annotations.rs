//! Renders findings as workflow commands of GitHub, Gitea and Forgejo Actions.

use super::{defused, description};
use crate::document::{Diagnostic, Severity};
use crate::model::{counted, escaped};
use crate::plan::{FETCH_ALL, Plan};

/// The number of annotations of one level that GitHub shows for one step.
const MOST_SHOWN: usize = 10;

/// Returns the workflow commands of a plan: a warning if comments are guesses, then the findings.
#[must_use]
pub fn github(plan: &Plan) -> String {
    let guesses = plan.guesses().map(|guesses| {
        let text = data(&format!("{guesses}; {FETCH_ALL}"));
        format!("::warning title=history-is-cut::{text}\n")
    });
    guesses.unwrap_or_default() + &annotations(plan.findings())
}

/// Returns findings as workflow commands, which GitHub shows next to the lines concerned. Errors come first, because
/// GitHub shows only the first commands of a step.
#[must_use]
pub fn annotations(findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for severity in [Severity::Error, Severity::Warning] {
        let of_level = findings.iter().filter(|finding| finding.severity == severity);
        let of_level: Vec<&Diagnostic> = of_level.collect();
        // The last annotation that is shown counts the others, which are in the log as plain text.
        let (shown, others) = match of_level.len() {
            0..=MOST_SHOWN => of_level.split_at(of_level.len()),
            _ => of_level.split_at(MOST_SHOWN - 1),
        };
        out.extend(shown.iter().map(|finding| annotation(finding)));
        if !others.is_empty() {
            let level = severity.as_str();
            let more = counted(others.len(), &format!("more {level}"));
            out.push_str(&format!(
                "::{level} title=more-findings::{more}: see the job summary and the log of this step\n"
            ));
            out.extend(others.iter().map(|finding| log_line(finding)));
        }
    }
    out
}

/// Returns the workflow command of an error of the command as a whole.
#[must_use]
pub fn failed_annotation(problem: &str) -> String {
    format!(
        "::error title=gitoggle::{}\n",
        data(&escaped(problem).to_string())
    )
}

fn annotation(finding: &Diagnostic) -> String {
    let file = property(&escaped(&finding.path).to_string());
    let place = match finding.line {
        0 => String::new(),
        line => format!(",line={line},col={}", finding.column),
    };
    let (level, title) = (finding.severity.as_str(), property(finding.id));
    let text = data(&description(finding));
    format!("::{level} file={file}{place},title={title}::{text}\n")
}

/// Returns one line for the log, which is not a command.
fn log_line(finding: &Diagnostic) -> String {
    let text = format!(
        "{} {} {}: {}\n",
        finding.severity.as_str(),
        escaped(&finding.place()),
        finding.id,
        description(finding)
    );
    defused(&text)
}

fn data(text: &str) -> String {
    // `%` comes first, so that the other escapes are not escaped again.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

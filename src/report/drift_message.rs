//! The commit message of imported drift.
//!
//! Text from the service cannot become a trailer or an instruction to a forge: each piece is one indented line, which Markdown
//! shows as code, and the last paragraph has none of it.

use std::fmt::Write as _;

use crate::model::{cut, escaped};
use crate::plan::DriftedToggle;

/// The most characters of a subject.
const SUBJECT: usize = 72;
/// The most characters of a comment.
const COMMENT: usize = 500;
/// The number of differences of a toggle, and the most characters of each.
const MOST_DIFFERENCES: usize = 20;
const DIFFERENCE: usize = 200;
/// The length in bytes after which no toggle is named, because the description of a pull request is limited.
const LONGEST: usize = 30_000;

/// Returns the message of a commit that imports what was changed on `service`; empty without a toggle.
pub(crate) fn drift_message(drifted: &[&DriftedToggle], service: &str) -> String {
    let Some(first) = drifted.first() else {
        return String::new();
    };
    let one = format!("Import {} as changed on the service", first.applied.id);
    let mut text = match drifted.len() {
        1 if one.len() <= SUBJECT => one,
        1 => "Import a toggle as changed on the service".to_owned(),
        count => format!("Import {count} toggles as changed on the service"),
    };
    text.push('\n');
    let mut named = 0;
    for toggle in drifted {
        if text.len() > LONGEST {
            break;
        }
        named += 1;
        let _ = write!(text, "\n{}\n\n    {}\n", toggle.applied.id, toggle.live.author());
        if let Some(comment) = toggle.shown_comment() {
            let _ = writeln!(text, "    comment: {}", escaped(&cut(comment, COMMENT)));
        }
        let sentences = toggle.sentences();
        for sentence in sentences.iter().take(MOST_DIFFERENCES) {
            let _ = writeln!(text, "    {}", escaped(&cut(sentence, DIFFERENCE)));
        }
        if sentences.len() > MOST_DIFFERENCES {
            let _ = writeln!(text, "    and {} more differences", sentences.len() - MOST_DIFFERENCES);
        }
    }
    if drifted.len() > named {
        let _ = writeln!(text, "\nand {} more toggles", drifted.len() - named);
    }
    let _ = write!(
        text,
        "\nThese changes were made on the service\n\n    {}\n\nand not in this repository. \
         To keep them, merge this.\n`gitoggle drift` shows how to undo them.\n",
        escaped(service)
    );
    text
}

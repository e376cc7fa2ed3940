//! Renders a drift report, and the commit message of imported drift.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::difference::{difference, paint};
use super::markup::{LEFT_OUT, block, code, fitting, fold, shown};
use super::{Note, defused};
use crate::model::{Action, Color, ToggleId, counted, cut, escaped, rfc3339};
use crate::plan::{DriftReport, DriftedToggle, hold};

/// The number of drifted toggles that are shown with a diff.
const IN_FULL: usize = 50;
/// The number of toggles of one list that are shown at all.
const MOST_SHOWN: usize = 500;
/// The number of toggles of one group that are named.
const MOST_NAMED: usize = 20;

pub(crate) fn drift_text(report: &DriftReport, color: Color) -> String {
    let mut text = format!("Drift on {} · {}\n", escaped(&report.service), compared(report));
    text.push_str(&body(report, color));
    let _ = writeln!(text, "\n{}\n{}", report.summary(), valid(report));
    defused(&text)
}

pub(super) fn body(report: &DriftReport, color: Color) -> String {
    let mut text = String::new();
    let lanes = report.drifted.chunk_by(|a, b| a.applied.id.environment() == b.applied.id.environment());
    let mut shown = 0;
    for lane in lanes {
        if shown >= MOST_SHOWN {
            break;
        }
        let environment = lane[0].applied.id.environment().to_string();
        let _ = writeln!(text, "\n{}", paint(&environment, "1", color));
        for toggle in lane.iter().take(MOST_SHOWN - shown) {
            shown += 1;
            drifted(&mut text, toggle, shown <= IN_FULL, color);
        }
    }
    if report.drifted.len() > shown {
        let more = counted(report.drifted.len() - shown, "more drifted toggle");
        let _ = writeln!(text, "  … and {more}: `-o json` has them all");
    }
    for note in others(report) {
        text.push_str(&note.text(color));
        if note.toggles.len() > 1 {
            let _ = writeln!(text, "    {}", names(&note.toggles));
        }
    }
    text
}

/// Returns what was compared, as a noun phrase.
fn compared(report: &DriftReport) -> String {
    format!(
        "{} in {}",
        counted(report.applied, "applied toggle"),
        counted(report.environments.len(), "environment")
    )
}

/// Returns since when the report is valid.
fn valid(report: &DriftReport) -> String {
    format!("Changes on the service after {} may be missing.", rfc3339(report.as_of))
}

/// A toggle that is not compared. `import --drifted` names it if a pass holds it for what the service has.
const UNAPPLIED: &str = "its document was not applied yet, so there is nothing to compare the service with";

/// A changed toggle that needs nothing: its document was changed as well.
const DOCUMENTED: &str = "the document has this already: the next pass records it, and sends nothing";

fn drifted(text: &mut String, toggle: &DriftedToggle, is_full: bool, color: Color) {
    let head = format!("~ drifted {}", toggle.applied.id);
    let (author, events) = toggle.events();
    let _ = writeln!(text, "  {}  {}", paint(&head, "33", color), paint(&author, "2", color));
    for event in events {
        let _ = writeln!(text, "      {event}");
    }
    if toggle.is_documented {
        let _ = writeln!(text, "      {DOCUMENTED}");
    }
    if is_full {
        difference(text, "      ", (toggle.sentences(), toggle.diff()), color);
    }
}

/// Returns the lists besides that of drifted toggles.
fn others(report: &DriftReport) -> impl Iterator<Item = Note<'_>> {
    let missing = report.missing.iter().map(|missing| {
        let rest = match missing.applied {
            Some(_) => "",
            None => "; its document was not applied yet",
        };
        (&missing.id, format!("{}{rest}", missing.lack))
    });
    let unread = report.unread.iter();
    let unread = unread.map(|unread| (&unread.id, escaped(&unread.reason).to_string()));
    let drafts = report.drafts.iter().map(|draft| {
        let by = draft.by.as_ref().map(|by| format!(" by {}", escaped(by)));
        let text = format!("a draft{} awaits approval on the service", by.unwrap_or_default());
        (&draft.id, text)
    });
    let archived = report.archived.iter();
    let archived = archived.map(|id| (id, hold::archived(Action::Update).reason()));
    let undocumented = report.undocumented.iter();
    let undocumented = undocumented.map(|id| (id, "on the service without a document".to_owned()));
    let unapplied = report.unapplied.iter().map(|id| (id, UNAPPLIED.to_owned()));
    let missing = grouped("missing", missing).chain(grouped("not compared", unread));
    let drafts = grouped("draft", drafts).chain(grouped("archived", archived));
    let undocumented = grouped("no document", undocumented);
    missing.chain(drafts).chain(undocumented).chain(grouped("not applied", unapplied))
}

/// Groups toggles by environment and reason, so that an outage is one entry.
fn grouped<'a>(
    state: &'static str,
    toggles: impl Iterator<Item = (&'a ToggleId, String)>,
) -> impl Iterator<Item = Note<'a>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (id, reason) in toggles {
        groups.entry((id.environment(), reason)).or_default().push(id);
    }
    let groups = groups.into_iter();
    groups.map(move |((environment, reason), toggles)| Note {
        environment,
        state,
        reason,
        toggles,
        changes: Vec::new(),
    })
}

/// Returns the keys of the first toggles, and the number of the others.
fn names(toggles: &[&ToggleId]) -> String {
    let first: Vec<_> = toggles.iter().take(MOST_NAMED).map(|id| id.toggle()).collect();
    match toggles.len().saturating_sub(MOST_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Returns the report as Markdown of at most `limit` bytes. Foreign text is inside code only.
pub(crate) fn drift_markdown(report: &DriftReport, limit: usize) -> String {
    let mut parts = vec![format!(
        "### gitoggle drift\n\n{}\n\n{} {}. {}\n\n",
        report.summary(),
        code(&report.service),
        compared(report),
        valid(report)
    )];
    parts.extend(rows(report));
    fitting(parts, limit)
}

pub(super) fn rows(report: &DriftReport) -> Vec<String> {
    let mut parts = Vec::new();
    for Note { environment, state, reason, toggles, .. } in others(report) {
        let subject = match toggles.as_slice() {
            [one] => code(one.as_str()),
            some => {
                let (count, names) = (counted(some.len(), "toggle"), code(&names(some)));
                format!("{count} in {} ({names})", code(&environment.to_string()))
            }
        };
        parts.push(format!("* **{state}** {subject}: {}\n", code(&reason)));
    }
    if !parts.is_empty() {
        parts.push("\n".to_owned());
    }
    parts.extend(report.drifted.iter().map(|drifted| {
        let id = &drifted.applied.id;
        let (author, events) = drifted.events();
        let events: String = match drifted.live.events.as_slice() {
            [one] => {
                let comment = one.shown_comment().map(|text| format!("\n\ncomment: {}", code(text)));
                comment.unwrap_or_default()
            }
            _ => events.iter().map(|event| format!("\n\n{}", code(event))).collect(),
        };
        let documented = if drifted.is_documented { format!("\n\n{DOCUMENTED}") } else { String::new() };
        let (sentences, diff) = (drifted.sentences(), drifted.diff());
        let differences = shown(&sentences);
        let is_complete = !diff.is_empty() && !differences.contains(LEFT_OUT);
        let lines = if is_complete { diff } else { [sentences, diff].concat() };
        let text = format!("{}{events}{documented}\n\n{}\n", code(&author), block(&lines));
        let fold = fold(&format!("<b>drifted</b> <code>{id}</code>"), &text);
        format!("* **drifted** {}: {differences}\n\n{fold}", code(id.as_str()))
    }));
    parts
}

const SUBJECT: usize = 72;
const COMMENT: usize = 500;
/// The number of events of a toggle.
const MOST_EVENTS: usize = 20;
/// The number of differences of a toggle, and the most characters of each.
const MOST_DIFFERENCES: usize = 20;
const DIFFERENCE: usize = 200;
/// The length in bytes after which no toggle is named, because the description of a pull request is limited.
const LONGEST_MESSAGE: usize = 30_000;

/// Returns what was changed on the service and is not imported: for drifted toggles what was changed, and for
/// those that are not applied yet why they are held. Empty without a toggle.
pub(crate) fn drift_left(drifted: &[&DriftedToggle], held: &[(ToggleId, String)]) -> String {
    let mut text = String::new();
    let mut named = 0;
    for toggle in drifted {
        if text.len() > LONGEST_MESSAGE {
            break;
        }
        named += 1;
        add_toggle(&mut text, toggle);
    }
    for (id, reason) in held {
        if text.len() > LONGEST_MESSAGE {
            break;
        }
        named += 1;
        let _ = write!(text, "\n{id}\n\n    {}\n", escaped(&cut(reason, COMMENT)));
    }
    let more = drifted.len() + held.len() - named;
    if more > 0 {
        let _ = writeln!(text, "\nand {}", counted(more, "more toggle"));
    }
    text
}

/// Adds who changed a toggle, and what.
fn add_toggle(text: &mut String, toggle: &DriftedToggle) {
    let (author, events) = toggle.events();
    let _ = write!(text, "\n{}\n\n    {author}\n", toggle.applied.id);
    for event in events.iter().take(MOST_EVENTS) {
        let _ = writeln!(text, "    {}", cut(event, COMMENT));
    }
    if events.len() > MOST_EVENTS {
        let _ = writeln!(text, "    and {} later ones", events.len() - MOST_EVENTS);
    }
    let sentences = toggle.sentences();
    for sentence in sentences.iter().take(MOST_DIFFERENCES) {
        let _ = writeln!(text, "    {}", escaped(&cut(sentence, DIFFERENCE)));
    }
    if sentences.len() > MOST_DIFFERENCES {
        let _ = writeln!(text, "    and {} more differences", sentences.len() - MOST_DIFFERENCES);
    }
}

/// Returns the message of a commit that imports what was changed on `service`; empty without a toggle. `left` is
/// what is not imported.
///
/// Text from the service cannot become a trailer or an instruction to a forge: each piece is one indented
/// line, which Markdown shows as code, and the last paragraph has none of it.
pub(crate) fn drift_message(drifted: &[&DriftedToggle], left: &str, service: &str) -> String {
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
        if text.len() > LONGEST_MESSAGE {
            break;
        }
        named += 1;
        add_toggle(&mut text, toggle);
    }
    if drifted.len() > named {
        let _ = writeln!(text, "\nand {} more toggles", drifted.len() - named);
    }
    if !left.is_empty() {
        text.push_str("\nThe following is not part of this, because the document was changed or removed as well, or is not applied:\n");
        // A cut leaves whole lines, each of which is indented or an id.
        let lines = left.split_inclusive('\n');
        let mut length = text.len();
        text.extend(lines.take_while(|line| {
            length += line.len();
            length < 2 * LONGEST_MESSAGE
        }));
    }
    let _ = write!(
        text,
        "\nThese changes were made on the service\n\n    {}\n\nand not in this repository. \
         To keep them, merge this.\n`gitoggle drift` shows how to undo them.\n",
        escaped(service)
    );
    text
}

//! Renders the toggles that no longer decide anything.

use std::fmt::Write as _;

use serde::Serialize;

use super::defused;
use super::difference::paint;
use super::markup::{code, fitting};
use crate::model::{
    AuthoredCommit, Color, CommitId, LeftoverKind, OwnerEntry, PassedRule, StaleReport, StaleToggle,
    ToggleId, WaivedToggle, counted, cut, escaped, hinted, rfc3339,
};
use crate::plan::FETCH_ALL;

/// The most characters of the subject of a commit.
const SUBJECT: usize = 120;

const DAY: u64 = 86_400;

pub(crate) fn stale_text(report: &StaleReport, color: Color) -> String {
    let mut text = String::new();
    for toggle in &report.stale {
        let head = paint(&format!("{} {}", toggle.leftover.kind.as_str(), toggle.id), "33", color);
        let _ = writeln!(text, "{head}  {}", effect(toggle, |name| format!("`{}`", escaped(name))));
        let _ = writeln!(text, "    unchanged {}", age(toggle, report.now));
        if let Some(commit) = &toggle.changed.commit {
            let _ = writeln!(text, "    {}", escaped(&by(commit)));
        }
        for entry in &toggle.owners {
            let _ = writeln!(text, "    owned by {}", escaped(&owned(entry)));
        }
        if let Some(needed) = needed(toggle, |key| format!("`{key}`")) {
            let _ = writeln!(text, "    {needed}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(report));
    text.extend(notes(report).map(|note| format!("note: {note}\n")));
    defused(&text)
}

/// Returns the report as Markdown of at most `limit` bytes. Foreign text is inside code only.
pub(crate) fn stale_markdown(report: &StaleReport, limit: usize) -> String {
    let mut head = format!("### gitoggle stale\n\n{}\n\n", summary(report));
    head.extend(notes(report).map(|note| format!("{note}\n\n")));
    let rows = report.stale.iter().map(|toggle| {
        let kind = toggle.leftover.kind.as_str();
        let (id, effect) = (code(toggle.id.as_str()), effect(toggle, code));
        let mut row = format!("* **{kind}** {id}: {effect}, unchanged {}", age(toggle, report.now));
        row.extend(toggle.changed.commit.iter().map(|commit| format!("; {}", code(&by(commit)))));
        row.extend(toggle.owners.iter().map(|entry| format!("; owned by {}", code(&owned(entry)))));
        row.extend(needed(toggle, code).map(|needed| format!("; {needed}")));
        row + "\n"
    });
    fitting([head].into_iter().chain(rows), limit)
}

/// Returns which toggles need it; none if no toggle does.
fn needed(toggle: &StaleToggle, name: impl Fn(&str) -> String) -> Option<String> {
    const MOST_NAMED: usize = 10;
    let names: Vec<String> = toggle.needed_by.iter().take(MOST_NAMED).map(|key| name(key)).collect();
    let more = toggle.needed_by.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = if toggle.needed_by.len() == 1 { "needs" } else { "need" };
    (!names.is_empty()).then(|| format!("{}{more} {verb} it", names.join(", ")))
}

fn effect(toggle: &StaleToggle, name: impl Fn(&str) -> String) -> String {
    if let Some(PassedRule { number, name: own, subject, is_always, since }) = &toggle.leftover.rule {
        let rule = if own.is_empty() { number.to_string() } else { name(own) };
        let word = if *is_always { "always" } else { "never" };
        let served = toggle.leftover.variation.as_ref();
        let served = served.map_or_else(String::new, |variation| format!(", and serves {}", name(variation)));
        let since = rfc3339(*since);
        return format!(
            "for users without {}, rule {rule} {word} matches since {since}{served}",
            name(subject)
        );
    }
    match &toggle.leftover.variation {
        Some(variation) => format!("everyone is served {}", name(variation)),
        None => "disabled".to_owned(),
    }
}

/// Returns the age of the last change in whole days.
fn days(toggle: &StaleToggle, now: i64) -> u64 {
    toggle.changed.age(now).as_secs() / DAY
}

fn age(toggle: &StaleToggle, now: i64) -> String {
    let days = match days(toggle, now) {
        0 => "less than a day".to_owned(),
        days => counted(usize::try_from(days).unwrap_or(usize::MAX), "day"),
    };
    let since = rfc3339(toggle.changed.at);
    match toggle.changed.commit {
        Some(_) => format!("for {days}, since {since}"),
        None => format!("for at least {days}: the history is cut at {since}"),
    }
}

fn by(commit: &AuthoredCommit) -> String {
    let subject = cut(commit.commit.subject(), SUBJECT);
    format!("{} {}: {subject}", commit.commit.id.short(), commit.author)
}

fn owned(entry: &OwnerEntry) -> String {
    format!("{} ({})", entry.owners.join(" "), entry.place)
}

fn count(report: &StaleReport, kind: LeftoverKind) -> usize {
    report.stale.iter().filter(|toggle| toggle.leftover.kind == kind).count()
}

fn summary(report: &StaleReport) -> String {
    let counts = [
        (count(report, LeftoverKind::Settled), "settled"),
        (count(report, LeftoverKind::Off), "off"),
        (count(report, LeftoverKind::Passed), "passed"),
        (report.recent.len(), "changed more recently"),
        (report.unclear.len(), "of unknown age"),
        (report.waived.len(), "waived"),
        (report.invalid.len(), "invalid"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let checked = format!("checked {} at {}", counted(report.documents, "document"), report.revision.short());
    let found = if parts.is_empty() { "all are in use".to_owned() } else { parts.join(", ") };
    format!("{found}; {checked}")
}

fn notes(report: &StaleReport) -> impl Iterator<Item = String> {
    let is_cut = !report.unclear.is_empty();
    let invalid = !report.invalid.is_empty();
    let cut =
        is_cut.then(|| format!("the history is cut, so the age of some toggles is unknown: {FETCH_ALL}"));
    let invalid = invalid.then(|| hinted("`gitoggle validate` shows why documents are invalid").into_owned());
    cut.into_iter().chain(invalid)
}

pub(crate) fn stale_json(report: &StaleReport) -> StaleJson<'_> {
    StaleJson {
        version: 1,
        reference: &report.reference,
        revision: report.revision,
        as_of: rfc3339(report.now),
        older_than_seconds: report.older_than.as_secs(),
        summary: Summary {
            text: summary(report),
            documents: report.documents,
            stale: report.stale.len(),
            settled: count(report, LeftoverKind::Settled),
            off: count(report, LeftoverKind::Off),
            passed: count(report, LeftoverKind::Passed),
        },
        stale: report.stale.iter().map(|toggle| ToggleJson::of(toggle, report.now)).collect(),
        recent: &report.recent,
        unclear: &report.unclear,
        waived: &report.waived,
        invalid: &report.invalid,
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct StaleJson<'a> {
    version: u32,
    #[serde(rename = "ref")]
    reference: &'a str,
    revision: CommitId,
    as_of: String,
    older_than_seconds: u64,
    summary: Summary,
    stale: Vec<ToggleJson<'a>>,
    recent: &'a [ToggleId],
    unclear: &'a [ToggleId],
    waived: &'a [WaivedToggle],
    invalid: &'a [ToggleId],
}

#[derive(Debug, Serialize)]
struct Summary {
    text: String,
    documents: usize,
    stale: usize,
    settled: usize,
    off: usize,
    passed: usize,
}

#[derive(Debug, Serialize)]
struct ToggleJson<'a> {
    toggle: &'a ToggleId,
    path: &'a str,
    kind: LeftoverKind,
    variation: Option<&'a str>,
    since: String,
    days: u64,
    /// Whether the history is cut at `since`.
    at_least: bool,
    commit: Option<CommitJson<'a>>,
    owners: &'a [OwnerEntry],
    needed_by: &'a [String],
    /// The rule whose time has passed.
    rule: Option<RuleJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RuleJson<'a> {
    number: usize,
    name: &'a str,
    /// The attribute without which this is true of a user.
    subject: &'a str,
    matches: &'static str,
    since: String,
}

#[derive(Debug, Serialize)]
struct CommitJson<'a> {
    id: CommitId,
    subject: &'a str,
    author: &'a str,
    email: &'a str,
    at: String,
}

impl<'a> ToggleJson<'a> {
    fn of(toggle: &'a StaleToggle, now: i64) -> Self {
        let days = days(toggle, now);
        let StaleToggle { id, path, leftover, needed_by, changed, owners } = toggle;
        let commit = changed.commit.as_deref().map(|AuthoredCommit { commit, author, email }| CommitJson {
            id: commit.id,
            subject: commit.subject(),
            author,
            email,
            at: rfc3339(commit.committed_at),
        });
        Self {
            toggle: id,
            path,
            kind: leftover.kind,
            variation: leftover.variation.as_deref(),
            since: rfc3339(changed.at),
            days,
            at_least: commit.is_none(),
            commit,
            owners,
            needed_by,
            rule: leftover.rule.as_ref().map(|rule| RuleJson {
                number: rule.number,
                name: &rule.name,
                subject: &rule.subject,
                matches: if rule.is_always { "always" } else { "never" },
                since: rfc3339(rule.since),
            }),
        }
    }
}

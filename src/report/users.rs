//! Renders the effect of changes on an audience.

use super::markup::code;
use crate::evaluate::{Impact, UserImpact};
use crate::model::{Sdk, ToggleId, escaped};
use crate::plan::sentences::quoted;
use crate::plan::{Change, Dependents};

/// The switches of one change that are listed.
const MOST_SWITCHES: usize = 5;

/// The toggles that need a changed one and that are listed with their users.
const MOST_DEPENDENTS: usize = 10;

/// The toggles that have a note with their users.
const MOST_NOTED: usize = 50;

/// Returns lines about the audience as a whole: its size, and the lines that are not users. `shown` renders a
/// reason, which is foreign text.
pub(super) fn audience(impact: &UserImpact, shown: fn(&str) -> String) -> Vec<String> {
    let users = &impact.users;
    let mut lines = vec![format!("audience: {}", users_of(users.users))];
    if let Some(at) = &users.at {
        lines[0].push_str(&format!(" at {at}"));
    }
    if users.without_key > 0 {
        lines[0].push_str(&format!(", {} without a key", grouped(users.without_key)));
    }
    if users.broken > 0 {
        lines[0].push_str(&format!(", {} left out", count(users.broken, "broken line", "broken lines")));
    }
    let broken = users.first_broken.iter();
    lines.extend(broken.map(|broken| format!("  line {}: {}", broken.line, shown(&broken.reason))));
    let more = users.broken - users.first_broken.len() as u64;
    if more > 0 {
        lines.push(format!("  … and {} more", grouped(more)));
    }
    lines.extend(rules(impact).into_iter().chain(lack_of_time(impact)).map(|line| format!("  {line}")));
    lines
}

/// Returns by whose rules users are counted, unless it is the Rust SDK, as usual.
fn rules(impact: &UserImpact) -> Option<String> {
    (impact.sdk != Sdk::Rust).then(|| format!("counted as {} evaluates", impact.sdk.versioned()))
}

/// Returns how to count the users for whom the current time decides.
fn lack_of_time(impact: &UserImpact) -> Option<String> {
    let lacks_time = impact.changes.values().any(|impact| impact.lacks_time);
    lacks_time.then(|| "for some users, the current time decides: `--at TIME` counts them".to_owned())
}

/// Returns the size of the audience and the effect on the users of each toggle, for forms whose rows are not changes.
pub(crate) fn user_notes(impact: &UserImpact) -> Vec<String> {
    let more = impact.changes.len().saturating_sub(MOST_NOTED);
    let shown = impact.changes.iter().take(MOST_NOTED);
    let shown = shown.map(|(id, impact)| format!("{id}: {}", headline(impact)));
    let more = (more > 0).then(|| format!("… and {more} more; `-o json` has all of them"));
    let size = audience(impact, str::to_owned).into_iter().take(1);
    size.chain(rules(impact)).chain(lack_of_time(impact)).chain(shown).chain(more).collect()
}

/// Returns the effect of the change of `id` as lines of text; `None` if it was not counted.
pub(super) fn lines(impact: &UserImpact, id: &ToggleId) -> Option<Vec<String>> {
    let impact = impact.changes.get(id)?;
    let mut lines = vec![headline(impact)];
    lines.extend(impact.switches.iter().take(MOST_SWITCHES).map(|switch| {
        let (from, to) = names((&switch.from, &switch.to), quoted);
        format!("  {from} → {to}: {}", grouped(switch.count))
    }));
    if impact.switches.len() > MOST_SWITCHES {
        lines.push(format!("  … and {} more", impact.switches.len() - MOST_SWITCHES));
    }
    let examples = impact.examples.iter().map(|example| match &example.key {
        Some(key) => quoted(key),
        None => format!("line {}", example.line),
    });
    let examples: Vec<String> = examples.collect();
    if !examples.is_empty() {
        lines.push(format!("  for example {}", examples.join(", ")));
    }
    Some(lines)
}

/// Returns the effect of a change on the users of each toggle that needs the changed one, as lines of text.
pub(super) fn dependents(impact: &UserImpact, change: &Change) -> Vec<String> {
    let all = change.needed_by().into_iter().flat_map(Dependents::all);
    let counted = all.filter_map(|(key, _)| {
        let id = ToggleId::new(change.id.project(), change.id.environment_key(), key).ok()?;
        Some(format!("{} needs this: {}", quoted(key), headline(impact.changes.get(&id)?)))
    });
    let mut lines: Vec<String> = counted.collect();
    let more = lines.len().saturating_sub(MOST_DEPENDENTS);
    lines.truncate(MOST_DEPENDENTS);
    lines.extend((more > 0).then(|| format!("… and {more} more toggles need this")));
    lines
}

pub(super) fn sentence(impact: &UserImpact, id: &ToggleId) -> Option<String> {
    impact.changes.get(id).map(headline)
}

/// Returns the effect of the change of `id` as a Markdown table with examples; `None` if no user switches.
pub(super) fn table(impact: &UserImpact, id: &ToggleId) -> Option<String> {
    let impact = impact.changes.get(id).filter(|impact| !impact.switches.is_empty())?;
    let mut out = "| before | after | users |\n|---|---|---:|\n".to_owned();
    let switches = impact.switches.iter();
    let switches = switches.map(|one| (names((&one.from, &one.to), cell), one.count));
    let unchanged = impact.unchanged.iter();
    let unchanged = unchanged.map(|one| ((shown(&one.from, cell), shown(&one.to, cell)), one.count));
    for ((from, to), count) in switches.chain(unchanged).take(50) {
        out.push_str(&format!("| {from} | {to} | {} |\n", grouped(count)));
    }
    out.push('\n');
    for example in &impact.examples {
        let (from, to) = names((&example.from, &example.to), cell);
        let user = example.key.as_ref().map_or_else(|| format!("line {}", example.line), |key| code(key));
        out.push_str(&format!("* {user}: {from} → {to}\n"));
    }
    out.push('\n');
    Some(out)
}

fn headline(impact: &Impact) -> String {
    let mut line = match impact.switched {
        0 => format!("none of {} switches", users_of(impact.users)),
        1 => format!("1 of {} switches", users_of(impact.users)),
        some => format!("{} of {} switch", grouped(some), users_of(impact.users)),
    };
    if impact.cannot_say > 0 {
        line.push_str(&format!("; cannot say for {}", grouped(impact.cannot_say)));
    }
    line
}

/// Returns the two variations of a switch. Variations of one name are distinct, because their values differ.
fn names((from, to): (&Option<String>, &Option<String>), name: fn(&str) -> String) -> (String, String) {
    let (from, to) = (shown(from, name), shown(to, name));
    if from == to { (from, format!("{to} with its new value")) } else { (from, to) }
}

fn shown(variation: &Option<String>, name: fn(&str) -> String) -> String {
    let variation = variation.as_deref();
    variation.map_or_else(|| "the caller's default".to_owned(), name)
}

/// Returns a name for a cell of a table, where a pipe would end the cell even in code.
fn cell(name: &str) -> String {
    code(&escaped(name).to_string().replace('|', "¦"))
}

fn users_of(number: u64) -> String {
    count(number, "user", "users")
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups_of_three_digits() {
        let shown = [0, 999, 1_000, 12_345, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }

    #[test]
    fn a_name_in_a_table_closes_neither_the_cell_nor_the_code() {
        assert_eq!(cell("a|b`c\n"), "`` a¦b`c\\n ``");
    }
}

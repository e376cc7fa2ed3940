//! Documents with one systematic mistake: every example, changed at every place in every usual way.

use super::*;
use crate::document::check::Severity;

const EXAMPLES: &[&str] = &[
    GOOD,
    include_str!("../../../examples/toggles/search/production/ranking.yaml"),
    include_str!("../../../examples/toggles/search/production/suggestions.yaml"),
    include_str!("../../../examples/toggles/shop/production/free-shipping-from.yaml"),
    include_str!("../../../examples/toggles/shop/production/new-checkout.yaml"),
];

/// What a value is replaced by.
const VALUES: &[&str] = &[
    "null",
    "~",
    "",
    "[a, b]",
    "[]",
    "[[]]",
    "{ a: b }",
    "{}",
    "foo",
    "12345",
    "-1",
    "99999999999999999999",
    "\"1\"",
    "true",
    "\"\"",
];

/// Returns each line with a mistake in it.
fn lines_with_mistakes(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let text = &line[indent..];
    let mut all = vec![
        String::new(),
        format!("{line}\n{line}"),
        format!(" {line}"),
        format!("  {line}"),
        format!("{}{text}", "\t".repeat(indent / 2)),
        line.replace('"', ""),
        line.replace('\'', ""),
    ];
    all.extend((1..=indent.min(2)).map(|spaces| line[spaces..].to_owned()));
    let deleted = line.char_indices().filter(|(_, one)| "{}[],:\"'- ".contains(*one));
    all.extend(deleted.map(|(at, _)| format!("{}{}", &line[..at], &line[at + 1..])));
    for (colon, _) in line.match_indices(':') {
        let start = line[..colon].rfind(|one: char| !one.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        let (before, key, after) = (&line[..start], &line[start..colon], &line[colon..]);
        if key.len() < 3 {
            continue;
        }
        let keys = [
            format!("{}{}", &key[..2], &key[3..]),
            format!("{}{}", &key[..2], &key[1..]),
            format!("{}{}", key[..1].to_uppercase(), &key[1..]),
            format!("{key}x"),
        ];
        all.extend(keys.iter().map(|key| format!("{before}{key}{after}")));
        let value = after[1..].trim_start();
        let value_at = line.len() - value.len();
        let length = match value.chars().next() {
            Some('"') => value[1..].find('"').map(|end| end + 2),
            Some('[') => value.find(']').map(|end| end + 1),
            Some('{') => value.find('}').map(|end| end + 1),
            _ => Some(value.find([',', '}', ']', '#']).unwrap_or(value.len())),
        };
        let rest = &value[length.unwrap_or(value.len())..];
        all.extend(VALUES.iter().map(|new| format!("{}{new}{rest}", &line[..value_at])));
    }
    all
}

/// Returns every document with one mistake, and the line that has it.
fn mutants(document: &str) -> Vec<String> {
    let lines: Vec<&str> = document.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        for new in lines_with_mistakes(line) {
            let mut lines = lines.clone();
            lines[at] = &new;
            all.push(lines.join("\n") + "\n");
        }
    }
    all
}

/// Returns the words between backticks that a help wants in place of what is marked.
fn replacement(found: &Diagnostic) -> Option<&str> {
    let help = found.help.as_deref()?;
    let is_word = help.starts_with("did you mean `") || help.starts_with("put it in quotes: `");
    is_word.then(|| help.split('`').nth(1)).flatten()
}

/// Replaces what a finding marks.
fn fixed(text: &str, found: &Diagnostic, new: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = lines.get_mut(found.line as usize - 1)?;
    let byte = |column: u32| line.char_indices().nth(column as usize - 1).map_or(line.len(), |(at, _)| at);
    let (start, end) = (byte(found.column), found.end_column.map_or(line.len(), byte));
    // Without quotes, a sign or a number would be something else.
    let new = if line[start..].starts_with('"') && !new.starts_with('"') {
        format!("\"{}\"", new.replace('"', "\\\""))
    } else {
        new.to_owned()
    };
    line.replace_range(start..end, &new);
    Some(lines.join("\n") + "\n")
}

#[test]
fn every_finding_in_a_document_with_a_mistake_has_its_place_and_a_help_that_solves_it() {
    let (mut documents, mut applied) = (0, 0);
    let mut wrong = Vec::new();
    for text in EXAMPLES.iter().flat_map(|example| mutants(example)) {
        documents += 1;
        let document = featureprobe(&text);
        let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
        let has_error = document.diagnostics.iter().any(|one| is_error(&one));
        assert_eq!(document.payload.is_none(), has_error, "{text}");
        let lines: Vec<&str> = text.split('\n').collect();
        for one in &document.diagnostics {
            let place = (one.line as usize).checked_sub(1).and_then(|line| lines.get(line));
            let columns = place.map_or(0, |line| line.chars().count() + 1);
            let has_no_name = format!("{}{:?}", one.message, one.help).contains("``") && !text.contains('`');
            if !(1..=columns).contains(&(one.column as usize)) || one.help.is_none() || has_no_name {
                wrong.push(format!("{}:{} {}: {:?}\n{text}", one.line, one.column, one.message, one.help));
            }
            let Some(after) = replacement(one).and_then(|new| fixed(&text, one, new)) else { continue };
            applied += 1;
            let before = |other: &Diagnostic| {
                document
                    .diagnostics
                    .iter()
                    .any(|one| (one.line, one.id, &one.message) == (other.line, other.id, &other.message))
            };
            let after_it = featureprobe(&after).diagnostics;
            let left = after_it.iter().filter(is_error).find(|other| {
                other.line == one.line && ((other.column, other.id) == (one.column, one.id) || !before(other))
            });
            if let Some(left) = left {
                wrong.push(format!(
                    "{}:{} {} | {:?}\nleaves {} | {:?}\n{text}{after}",
                    one.line, one.column, one.message, one.help, left.message, left.help
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {documents}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n\n")
    );
    assert!(documents > 3_000 && applied > 300, "{documents} {applied}");
}

/// A mistake in a name is one mistake, and what refers to the name is right.
#[test]
fn a_misspelled_key_has_one_finding() {
    for (from, to) in [
        ("name: \"off\"", "nae: \"off\""),
        ("name: \"off\"", "Name: \"off\""),
        ("name: \"off\"", "name \"off\""),
        ("name: \"off\"", "name:\"off\""),
        ("type:", "tpye:"),
        ("subject:", "subjec:"),
        ("objects:", "object:"),
        ("disabled:", "disable:"),
        ("defaultServe:", "defaultServ:"),
        ("rules:", "rule:"),
    ] {
        let text = with(from, to).replace("{ select: 0 }", "{ variation: \"off\" }");
        let found = featureprobe(&text).diagnostics;
        let errors: Vec<&Diagnostic> = found.iter().filter(|one| one.severity == Severity::Error).collect();
        assert_eq!(errors.iter().map(|one| one.id).collect::<Vec<_>>(), ["unknown-key"], "{to}: {found:#?}");
    }
}

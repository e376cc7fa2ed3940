//! A help is tested by applying it: afterwards, the same place has no finding.

mod conditions;
mod foreign;
mod parts;
mod splits;
mod syntax;
mod values;

use super::*;

const SPLIT: &str = "{ split: { \"on\": 50, \"off\": 50 } }";

pub(super) const DOCUMENT: &str = r#"disabled: false
content:
  variations:
    - { name: "off", value: "10" }
    - { name: "on", value: "20" }
  rules:
    - name: adults
      conditions:
        - { type: string, subject: country, predicate: is one of, objects: ["AT"] }
      serve: { split: { "on": 50, "off": 50 } }
  disabledServe: { variation: "off" }
  defaultServe: { variation: "off" }
"#;

pub(super) const CONDITION: &str =
    r#"{ type: string, subject: country, predicate: is one of, objects: ["AT"] }"#;

/// A mistake, and which of its words the last text in backticks of the help replaces.
struct Mistake {
    from: &'static str,
    to: &'static str,
    /// The position, the check and the message.
    finding: &'static str,
    replaced: &'static str,
}

const fn mistake(
    from: &'static str,
    to: &'static str,
    finding: &'static str,
    replaced: &'static str,
) -> Mistake {
    Mistake { from, to, finding, replaced }
}

const MISTAKES: [&[Mistake]; 4] = [conditions::MISTAKES, parts::MISTAKES, splits::MISTAKES, values::MISTAKES];

const VARIATIONS: &str = r#"variations:
    - { name: "off", value: "10" }
    - { name: "on", value: "20" }"#;

#[test]
fn a_help_is_right_when_it_is_applied() {
    let mut wrong = Vec::new();
    for Mistake { from, to, finding, replaced } in MISTAKES.into_iter().flatten() {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let text = DOCUMENT.replace(from, to);
        let shown = |one: &Diagnostic| format!("{}:{} {}: {}", one.line, one.column, one.id, one.message);
        let document = featureprobe(&text);
        let found = document.diagnostics.iter().find(|one| shown(one) == *finding);
        let Some(found) = found else {
            wrong.push((*to, *finding, document.diagnostics.iter().map(shown).collect::<Vec<_>>()));
            continue;
        };
        let help = found.help.as_deref().unwrap();
        let written = help.split('`').nth(1).unwrap_or_else(|| panic!("{help}"));
        assert_eq!(text.matches(replaced).count(), 1, "{replaced}");
        // A missing field goes beside another one.
        let new = match found.id {
            _ if replaced.starts_with("[.") => format!("[{written}]"),
            _ if replaced.starts_with("{ on") => format!("{{ {written} }}"),
            "missing-field" => format!("{replaced}, {written}"),
            // Each text is a field.
            "between-fields" => help.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(", "),
            _ => written.to_owned(),
        };
        let fixed = text.replace(replaced, &new);
        let after = featureprobe(&fixed);
        let same_place = |one: &&Diagnostic| one.line == found.line;
        let left: Vec<_> = after.diagnostics.iter().filter(same_place).map(shown).collect();
        if !left.is_empty() || after.payload.is_none() {
            wrong.push((*to, *finding, [left, vec![help.to_owned()]].concat()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

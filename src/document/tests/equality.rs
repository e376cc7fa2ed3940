//! Two documents that mean the same are equal, however they are written.

use super::*;
use crate::model::{Condition, Prerequisite};

/// How one document is written: a stream of arbitrary choices.
struct Pen {
    choices: Vec<u8>,
    at: usize,
}

impl Pen {
    fn pick(&mut self, count: usize) -> usize {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(choice) % count
    }

    fn text(&mut self, text: &str) -> String {
        let is_quotable = text.chars().all(|c| c == ' ' || c.is_ascii_graphic() || ('À'..='ÿ').contains(&c));
        let word = text.chars().all(|c| c.is_ascii_alphanumeric()) && !text.is_empty();
        let is_null = matches!(text.to_lowercase().as_str(), "null" | "~");
        match self.pick(3) {
            0 if is_quotable => format!("'{}'", text.replace('\'', "''")),
            1 if word && !is_null => text.to_owned(),
            _ => format!("\"{}\"", text.chars().map(escape).collect::<String>()),
        }
    }

    fn space(&mut self) -> &'static str {
        ["", "# a comment\n", "\n", "  # another: { one }\n"][self.pick(4)]
    }

    /// Writes a mapping in any order, in flow or block style.
    fn mapping(&mut self, mut entries: Vec<(&str, Value)>, depth: usize) -> String {
        let turn = self.pick(entries.len());
        entries.rotate_left(turn);
        let indent = "  ".repeat(depth);
        let mut out = String::new();
        for (key, value) in entries {
            let key = self.text(key);
            out += self.space();
            match value.0 {
                Some(flow) if self.pick(2) == 0 => out += &format!("{indent}{key}:   {flow}\n"),
                _ => out += &format!("{indent}{key}:\n{}", value.1),
            }
        }
        out
    }
}

/// Writes a character within double quotes, as it is where YAML allows that.
fn escape(c: char) -> String {
    match c {
        '"' | '\\' => format!("\\{c}"),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        c if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    }
}

/// A value in flow style, where it can be written so, and in block style.
struct Value(Option<String>, String);

impl Value {
    fn scalar(text: String, depth: usize) -> Self {
        let block = format!("{}{text}\n", "  ".repeat(depth));
        Self(Some(text), block)
    }
}

fn serve(pen: &mut Pen, serve: &Serve, variations: &[Variation], depth: usize) -> Value {
    let (name, text) = match (serve, pen.pick(2)) {
        (Serve::Nothing, _) => return Value::scalar("{}".to_owned(), depth),
        (Serve::Select(select), 0) => ("select", select.to_string()),
        (Serve::Select(select), _) => ("variation", pen.text(&variations[*select as usize].name)),
        (Serve::Split(weights), 0) => {
            // Zeros at the end may be left out.
            let last = weights.iter().rposition(|weight| *weight > 0).unwrap();
            let written = last + 1 + pen.pick(weights.len() - last);
            ("split", format!("{:?}", &weights[..written]))
        }
        (Serve::Split(weights), _) => {
            let mut shares = Vec::new();
            for (variation, weight) in variations.iter().zip(weights) {
                if *weight > 0 || pen.pick(2) == 0 {
                    let decimals = ["", ".0", ".00"][pen.pick(3)];
                    let percent = match weight % 100 {
                        0 => format!("{}{decimals}", weight / 100),
                        hundredths => format!("{}.{hundredths:02}", weight / 100),
                    };
                    shares.push(format!("{}: {percent}", pen.text(&variation.name)));
                }
            }
            ("split", format!("{{ {} }}", shares.join(", ")))
        }
    };
    let text = format!("{name}: {text}");
    Value(Some(format!("{{ {text} }}")), format!("{}{text}\n", "  ".repeat(depth)))
}

/// Writes the prerequisites, which may be left out if there are none.
fn prerequisites(pen: &mut Pen, all: &[Prerequisite]) -> Value {
    let mut written = Vec::new();
    for Prerequisite { key, value, kind } in all {
        let entries = vec![
            ("key", Value::scalar(pen.text(key), 4)),
            ("value", Value::scalar(pen.text(value), 4)),
            ("type", Value::scalar(pen.text(kind.as_str()), 4)),
        ];
        written.push(pen.mapping(entries, 3));
    }
    items(&written, 2)
}

fn condition(pen: &mut Pen, condition: &Condition) -> String {
    let Condition { kind, subject, predicate, objects, between } = condition;
    let mut entries = vec![
        ("type", Value::scalar(pen.text(kind), 6)),
        ("predicate", Value::scalar(pen.text(predicate), 6)),
        ("objects", texts(pen, objects)),
    ];
    if !(subject.is_empty() && kind == "segment" && pen.pick(2) == 0) {
        entries.push(("subject", Value::scalar(pen.text(subject), 6)));
    }
    if let Some(between) = between {
        let left = Value::scalar(pen.text(&between.left_predicate), 6);
        let right = Value::scalar(pen.text(&between.right_predicate), 6);
        entries.push(("leftPredicate", left));
        entries.push(("rightPredicate", right));
        entries.push(("rightObjects", texts(pen, &between.right_objects)));
    }
    pen.mapping(entries, 5)
}

fn texts(pen: &mut Pen, texts: &[String]) -> Value {
    let texts: Vec<String> = texts.iter().map(|text| pen.text(text)).collect();
    let flow = format!("[{}]", texts.join(" ,  "));
    let block = texts.iter().map(|text| format!("          - {text}\n")).collect();
    Value(Some(flow), block)
}

fn items(blocks: &[String], depth: usize) -> Value {
    if blocks.is_empty() {
        return Value::scalar("[]".to_owned(), depth);
    }
    let indent = "  ".repeat(depth);
    let block = blocks.iter().map(|block| format!("{indent}-\n{block}")).collect();
    Value(None, block)
}

fn write(pen: &mut Pen, targeting: &Targeting) -> String {
    let Content { rules, disabled_serve, default_serve, variations, prerequisites: required } =
        &targeting.content;
    let written_variations: Vec<String> = variations
        .iter()
        .map(|variation| {
            let mut entries = vec![
                ("name", Value::scalar(pen.text(&variation.name), 4)),
                ("value", Value::scalar(pen.text(&variation.value), 4)),
            ];
            if !variation.description.is_empty() || pen.pick(2) == 0 {
                entries.push(("description", Value::scalar(pen.text(&variation.description), 4)));
            }
            pen.mapping(entries, 3)
        })
        .collect();
    let written_rules: Vec<String> = rules
        .iter()
        .map(|rule| {
            let conditions: Vec<String> = rule.conditions.iter().map(|one| condition(pen, one)).collect();
            let entries = vec![
                ("name", Value::scalar(pen.text(&rule.name), 4)),
                ("serve", serve(pen, &rule.serve, variations, 4)),
                ("conditions", items(&conditions, 4)),
            ];
            pen.mapping(entries, 3)
        })
        .collect();
    let mut content = vec![
        ("rules", items(&written_rules, 2)),
        ("disabledServe", serve(pen, disabled_serve, variations, 2)),
        ("defaultServe", serve(pen, default_serve, variations, 2)),
        ("variations", items(&written_variations, 2)),
    ];
    if let Some(all) = required.as_deref().filter(|all| !(all.is_empty() && pen.pick(2) == 0)) {
        content.push(("prerequisites", prerequisites(pen, all)));
    }
    let content = Value(None, pen.mapping(content, 1));
    let disabled = Value::scalar(targeting.disabled.to_string(), 1);
    let text = pen.mapping(vec![("disabled", disabled), ("content", content)], 0);
    match pen.pick(3) {
        0 => format!("\u{feff}---\n{text}..."),
        1 => text.replace('\n', "\r\n"),
        _ => text,
    }
}

fn any_kind() -> impl Strategy<Value = (ServiceKind, Targeting)> {
    prop::sample::select(vec![ServiceKind::Documented, ServiceKind::FeatureProbe])
        .prop_flat_map(|kind| (Just(kind), any_targeting(kind)))
}

proptest! {
    #[test]
    fn a_printed_targeting_reads_back((kind, targeting) in any_kind()) {
        let text = print(&targeting, kind);
        let document = read_as(kind, &text);
        prop_assert_eq!(document.payload, Some(Payload::new(&targeting)), "{}\n{:?}", text, document.diagnostics);
        prop_assert_eq!(print(&targeting, kind), text);
    }

    #[test]
    fn reformatting_never_changes_the_meaning((kind, targeting) in any_kind(), choices in any::<[u8; 32]>()) {
        let text = write(&mut Pen { choices: choices.into(), at: 0 }, &targeting);
        let document = read_as(kind, &text);
        prop_assert_eq!(document.payload, Some(Payload::new(&targeting)), "{}\n{:?}", text, document.diagnostics);
    }

    #[test]
    fn json_means_the_same_as_yaml((kind, targeting) in any_kind()) {
        let payload = Payload::new(&targeting);
        let pretty = serde_json::to_string_pretty(&targeting).unwrap();
        for text in [payload.json(), &pretty] {
            prop_assert_eq!(read_as(kind, in_ascii(text)).payload, Some(payload.clone()));
        }
    }

    #[test]
    fn the_service_gives_back_what_was_sent((kind, targeting) in any_kind()) {
        let payload = Payload::new(&targeting);
        let content = serde_json::to_value(&targeting.content).unwrap();
        prop_assert_eq!(from_service(kind, targeting.disabled, &content), Ok(payload));
    }
}

#[test]
fn a_printed_document_has_every_form_of_the_vocabulary() {
    let text = r#"disabled: true
content:
  variations:
    - name: a b
      value: "1"
    - name: "on"
      value: "2"
    - name: never
      value: "3"
  prerequisites:
    - key: other
      value: "true"
      type: boolean
  rules:
    - name: r
      conditions:
        - type: number
          subject: age
          predicate: between
          leftPredicate: ">="
          objects:
            - "18"
          rightPredicate: "<"
          rightObjects:
            - "65"
        - type: segment
          predicate: is in
          objects:
            - staff
      serve: { split: { a b: 12.5, "on": 87.5 } }
  disabledServe: { variation: a b }
  defaultServe: {}
"#;
    let document = read_as(ServiceKind::FeatureProbe, text);
    assert_eq!(print(&document.payload.unwrap().targeting(), ServiceKind::FeatureProbe), text);
}

#[test]
fn a_printed_document_is_pleasant() {
    let text = print(&yaml(GOOD).payload.unwrap().targeting(), ServiceKind::Documented);
    assert_eq!(
        text,
        r#"disabled: false
content:
  variations:
    - name: "off"
      value: "false"
    - name: "on"
      value: "true"
      description: New page
  rules:
    - name: adults
      conditions:
        - type: number
          subject: age
          predicate: ">"
          objects:
            - "18"
      serve: { variation: "on" }
  disabledServe: { variation: "off" }
  defaultServe: { variation: "off" }
"#
    );
}

#[test]
fn a_serve_is_printed_by_index_where_names_cannot_stand_for_variations() {
    let mut targeting = yaml(GOOD).payload.unwrap().targeting();
    for name in ["", "on"] {
        targeting.content.variations[0].name = name.to_owned();
        let text = print(&targeting, ServiceKind::Documented);
        assert!(text.ends_with("  defaultServe: { select: 0 }\n"), "{text}");
    }
}

#[test]
fn an_empty_subject_is_left_out_only_where_it_may_be_absent() {
    let condition = "type: segment, subject: \"\", predicate: is in, objects: [staff]";
    let document = yaml(with("type: number, subject: age, predicate: \">\", objects: [\"18\"]", condition));
    let targeting = document.payload.unwrap().targeting();
    for (kind, has_subject) in [(ServiceKind::Documented, true), (ServiceKind::FeatureProbe, false)] {
        let text = print(&targeting, kind);
        assert_eq!(text.contains("subject: \"\"\n"), has_subject, "{text}");
        assert_eq!(read_as(kind, &text).payload, Some(Payload::new(&targeting).for_kind(kind)));
    }
}

#[test]
fn order_does_mean_something() {
    let swapped = with("[\"18\"]", "[18, 21]");
    assert_ne!(yaml(&swapped).payload, yaml(swapped.replace("[18, 21]", "[21, 18]")).payload);
}

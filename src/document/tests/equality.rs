//! Two documents that mean the same are equal, however they are written.

use super::*;

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
        let is_quotable = text
            .chars()
            .all(|c| c == ' ' || c.is_ascii_graphic() || ('À'..='ÿ').contains(&c));
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
    let Serve::Select(select) = serve else {
        panic!("the documented API serves one variation")
    };
    let index = *select as usize;
    let text = match pen.pick(2) {
        0 => format!("select: {select}"),
        _ => format!("variation: {}", pen.text(&variations[index].name)),
    };
    Value(
        Some(format!("{{ {text} }}")),
        format!("{}{text}\n", "  ".repeat(depth)),
    )
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
    let Content {
        rules,
        disabled_serve,
        default_serve,
        variations,
        prerequisites: _,
    } = &targeting.content;
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
            let conditions: Vec<String> = rule
                .conditions
                .iter()
                .map(|condition| {
                    let objects: Vec<String> =
                        condition.objects.iter().map(|object| pen.text(object)).collect();
                    let flow = format!("[{}]", objects.join(" ,  "));
                    let block = objects
                        .iter()
                        .map(|object| format!("          - {object}\n"))
                        .collect();
                    let entries = vec![
                        ("type", Value::scalar(pen.text(&condition.kind), 6)),
                        ("subject", Value::scalar(pen.text(&condition.subject), 6)),
                        ("predicate", Value::scalar(pen.text(&condition.predicate), 6)),
                        ("objects", Value(Some(flow), block)),
                    ];
                    pen.mapping(entries, 5)
                })
                .collect();
            let entries = vec![
                ("name", Value::scalar(pen.text(&rule.name), 4)),
                ("serve", serve(pen, &rule.serve, variations, 4)),
                ("conditions", items(&conditions, 4)),
            ];
            pen.mapping(entries, 3)
        })
        .collect();
    let content = vec![
        ("rules", items(&written_rules, 2)),
        ("disabledServe", serve(pen, disabled_serve, variations, 2)),
        ("defaultServe", serve(pen, default_serve, variations, 2)),
        ("variations", items(&written_variations, 2)),
    ];
    let content = Value(None, pen.mapping(content, 1));
    let disabled = Value::scalar(targeting.disabled.to_string(), 1);
    let text = pen.mapping(vec![("disabled", disabled), ("content", content)], 0);
    match pen.pick(3) {
        0 => format!("\u{feff}---\n{text}..."),
        1 => text.replace('\n', "\r\n"),
        _ => text,
    }
}

proptest! {
    #[test]
    fn a_printed_targeting_reads_back(targeting in any_targeting()) {
        let text = print(&targeting);
        let document = yaml(&text);
        prop_assert_eq!(document.payload, Some(Payload::new(&targeting)), "{}\n{:?}", text, document.diagnostics);
        prop_assert_eq!(print(&targeting), text);
    }

    #[test]
    fn reformatting_never_changes_the_meaning(targeting in any_targeting(), choices in any::<[u8; 32]>()) {
        let text = write(&mut Pen { choices: choices.into(), at: 0 }, &targeting);
        let document = yaml(&text);
        prop_assert_eq!(document.payload, Some(Payload::new(&targeting)), "{}\n{:?}", text, document.diagnostics);
    }

    #[test]
    fn json_means_the_same_as_yaml(targeting in any_targeting()) {
        let payload = Payload::new(&targeting);
        let pretty = serde_json::to_string_pretty(&targeting).unwrap();
        prop_assert_eq!(json(payload.as_json()).payload, Some(payload.clone()));
        prop_assert_eq!(json(&pretty).payload, Some(payload));
    }
}

#[test]
fn a_printed_document_is_pleasant() {
    let text = print(&yaml(GOOD).payload.unwrap().targeting());
    assert_eq!(
        text,
        r#"disabled: false
content:
  variations:
    - name: "off"
      value: "false"
      description: ""
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
      serve: { select: 1 }
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
"#
    );
}

#[test]
fn order_does_mean_something() {
    let swapped = with("[\"18\"]", "[18, 21]");
    assert_ne!(
        yaml(&swapped).payload,
        yaml(swapped.replace("[18, 21]", "[21, 18]")).payload
    );
}

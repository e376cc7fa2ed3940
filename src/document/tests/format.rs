//! Tests of the canonical layout.

use proptest::prelude::*;

use super::*;
use crate::document::print::print as canonical;
use crate::document::tests::generated::any_targeting;
use crate::model::Targeting;

fn formatted(text: &str) -> String {
    let blob = Blob::Content(text.as_bytes().to_vec());
    match format("a.yaml", &blob, ServiceKind::FeatureProbe) {
        Formatting::Canonical => text.to_owned(),
        Formatting::Changed(new) => new,
        other => panic!("{other:?} of\n{text}"),
    }
}

fn payload(text: &str, kind: ServiceKind) -> Option<Payload> {
    read("a.yaml", &Blob::Content(text.as_bytes().to_vec()), kind).payload
}

const MESSY: &str = "\u{feff}--- # start
# About the toggle.

content:   # everything


    defaultServe:
        variation: off   # for now
    # when disabled
    disabledServe: {select: 0}
    rules:

    # first rule
    - serve: {split: [5000, 5000]} # half
      # who
      conditions: [ {type: number, subject: age, objects: [1.10, # one
             007,
             # the last
             1e3 ], predicate: '>'} ] # all of them
      name: adults
      # end of the rule
    # end of the rules
    variations: [{name: 'off', value: false}, # never
      {value: |
          two
           lines
       , name: on}]
# almost
disabled: no-thing
# end
";

#[test]
fn a_list_may_be_indented_like_its_key() {
    let text = "disabled: false
content:
  # both
  variations: # all
  # first
  - {name: off, value: a} # never
  # second
  -   {name: on, value: b}
    # end of the variations
  rules:
  - name: adults
    conditions:
    - {type: string, subject: a, predicate: is one of, objects: [x]}
    # end of the conditions
    serve: {select: 1}
  # when disabled
  disabledServe: {select: 0}
  defaultServe: {select: 0}
";
    let expected = "disabled: false
content:
  # both
  variations: # all
    # first
    - name: off # never
      value: a
    # second
    - name: on
      value: b
    # end of the variations
  rules:
    - name: adults
      conditions:
        - type: string
          subject: a
          predicate: is one of
          objects:
            - x
      # end of the conditions
      serve: { select: 1 }
  # when disabled
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn a_comma_may_precede_a_closing_bracket() {
    let document = |variation: &str, serve: &str| {
        format!(
            "disabled: false\ncontent:\n  variations:\n{variation}    - name: on\n      value: b\n  rules: []\n  \
             disabledServe: {serve}\n  defaultServe: {serve}\n",
        )
    };
    let text = document("    - {name: off, value: a, # one\n       # two\n      }\n", "{select: 0 , }");
    let expected = document("    - name: off\n      value: a # one\n      # two\n", "{ select: 0 }");
    assert_eq!(formatted(&text), expected);
}

#[test]
fn a_document_gets_the_layout_of_import_and_keeps_its_comments() {
    let text = MESSY.replace("no-thing", "false").replace(
        "{value: |\n          two\n           lines\n       , name: on}",
        "{value: 'two\n\n         lines' , name: \"on\"}",
    );
    let expected = "\
# start
# About the toggle.

# almost
disabled: false
content: # everything
  # end of the rules
  variations:
    - name: 'off' # never
      value: false
    - name: \"on\"
      value: 'two

        lines'
  rules:
    # first rule
    - name: adults
      # who
      conditions: # all of them
        - type: number
          subject: age
          predicate: '>'
          objects:
            - 1.10 # one
            - 007
            # the last
            - 1e3
      serve: { split: [5000, 5000] } # half
      # end of the rule
  # when disabled
  disabledServe: { select: 0 }

  defaultServe:
    variation: off # for now
# end
";
    let result = formatted(&text);
    assert_eq!(result, expected, "{result}");
}

#[test]
fn block_scalars_move_with_their_entry() {
    let text = "disabled: true
content:
    variations:
            - name: a
              value: |
                  {
                    \"x\": 1 # not a comment
                  }
            - name: b
              value: >-
               folded
               text
            - name: c
              value: |+
               kept

    rules: []
    disabledServe: {select: 0}
    defaultServe: {split: {a: 50, b: 25, c: 25}}
";
    let expected = "disabled: true
content:
  variations:
    - name: a
      value: |
        {
          \"x\": 1 # not a comment
        }
    - name: b
      value: >-
        folded
        text
    - name: c
      value: \"kept\\n\\n\"

  rules: []
  disabledServe: { select: 0 }
  defaultServe: { split: { a: 50, b: 25, c: 25 } }
";
    let result = formatted(text);
    assert_eq!(result, expected, "{result}");
}

#[test]
fn blanks_at_the_end_of_a_text_stay() {
    for block in
        ["|\n        a  \n", "|\n        a \n        b\t\n\n", ">\n        a  \n", "|-\n        a  \n"]
    {
        let text = GOOD.replace("value: \"false\" }", "value: \"x\" }");
        let text = text.replace(
            "    - { name: \"on\", value: \"true\", description: \"New page\" }\n",
            &format!("    - name: on\n      value: {block}"),
        );
        assert!(text.contains(block), "{text}");
        let formatted = formatted(&text);
        let value = |text: &str| {
            let document = featureprobe(text);
            document.payload.unwrap().targeting().content.variations[1].value.clone()
        };
        assert!(value(&text).contains("a "), "{text}");
        assert_eq!(value(&formatted), value(&text), "{formatted}");
    }
}

#[test]
fn a_document_whose_layout_would_be_too_large_says_so() {
    let objects: Vec<String> = (0..100_000).map(|at| format!("\"{at}\"")).collect();
    let text = GOOD.replace("[\"18\"]", &format!("[{}]", objects.join(",")));
    let blob = Blob::Content(text.into_bytes());
    let result = format("a.yaml", &blob, ServiceKind::FeatureProbe);
    let Formatting::Unsupported(reason) = result else { panic!("{result:?}") };
    assert!(reason.contains("over the limit of 1 MiB"), "{reason}");
}

#[test]
fn an_invalid_document_and_one_with_a_directive_stay() {
    let result = |text: &str| {
        let blob = Blob::Content(text.as_bytes().to_vec());
        format("a.yaml", &blob, ServiceKind::Documented)
    };
    assert!(matches!(result("disabled: 1\n"), Formatting::Invalid(found) if !found.is_empty()));
    let directive = format!("%YAML 1.2\n---\n{}", MESSY.trim_start_matches("\u{feff}--- # start\n"))
        .replace("no-thing", "false")
        .replace("|\n          two\n           lines\n      ", "x");
    assert!(matches!(result(&directive), Formatting::Unsupported(_) | Formatting::Invalid(_)));
}

/// Returns the lines of `text` with comments and blank lines between and behind them.
fn commented(text: &str, noise: &[(u8, u8)]) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        let (kind, indent) = noise[at % noise.len()];
        let pad = " ".repeat(usize::from(indent));
        match kind {
            0 => out.push_str(&format!("{pad}# own {at}\n")),
            1 => out.push('\n'),
            2 => out.push_str(&format!("\n\n{pad}# after a gap {at}\n\n")),
            _ => {}
        }
        out.push_str(line);
        if kind % 3 == 0 {
            out.push_str(&format!("{pad}  # beside {at}"));
        }
        out.push('\n');
    }
    out + "    # last\n# end\n"
}

fn check(text: &str, kind: ServiceKind) -> Result<(), TestCaseError> {
    let before = payload(text, kind);
    prop_assume!(before.is_some());
    let blob = Blob::Content(text.as_bytes().to_vec());
    let result = match format("a.yaml", &blob, kind) {
        Formatting::Canonical => text.to_owned(),
        Formatting::Changed(new) => new,
        other => return Err(TestCaseError::fail(format!("{other:?} of\n{text}"))),
    };
    prop_assert_eq!(payload(&result, kind), before);
    let comments = |text: &str| {
        let mut found: Vec<String> = syntax::parse(text).comments.iter().map(|c| c.text.to_owned()).collect();
        found.sort();
        found
    };
    prop_assert_eq!(comments(text), comments(&result));
    let blob = Blob::Content(result.clone().into_bytes());
    prop_assert!(matches!(format("a.yaml", &blob, kind), Formatting::Canonical), "{}", result);
    Ok(())
}

fn any_noise() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0_u8..8, 0_u8..12), 1..20)
}

fn any_document() -> impl Strategy<Value = (ServiceKind, Targeting)> {
    prop_oneof![Just(ServiceKind::Documented), Just(ServiceKind::FeatureProbe)]
        .prop_flat_map(|kind| any_targeting(kind).prop_map(move |targeting| (kind, targeting)))
}

proptest! {
    #[test]
    fn what_import_writes_is_canonical((kind, targeting) in any_document()) {
        let text = canonical(&targeting, kind);
        let blob = Blob::Content(text.clone().into_bytes());
        prop_assume!(payload(&text, kind).is_some());
        let result = format("a.yaml", &blob, kind);
        prop_assert!(matches!(result, Formatting::Canonical), "{:?} of\n{}", result, text);
    }

    #[test]
    fn meaning_and_comments_stay_in_block_style((kind, targeting) in any_document(), noise in any_noise()) {
        check(&commented(&canonical(&targeting, kind), &noise), kind)?;
    }

    #[test]
    fn meaning_and_comments_stay_in_flow_style((kind, targeting) in any_document(), noise in any_noise()) {
        let text = serde_json::to_string_pretty(&targeting).unwrap();
        check(&commented(&text, &noise), kind)?;
    }
}

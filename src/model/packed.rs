//! Targeting in memory: its canonical JSON, in which a byte stands for each frequent piece.
//!
//! JSON escapes the characters below U+0020 in strings, and the canonical form has none between strings, so these bytes
//! are free. A payload is written in this form at once, which takes less time than writing the JSON, and an ordinary one
//! takes a seventh of the memory. The bytes are never stored and may change.

use super::{Between, Condition, Content, Prerequisite, Rule, Serve, Targeting, Variation};

/// The pieces; the byte of the first one is 1.
const PIECES: [&str; 31] = [
    r#"{"disabled":false,"content":{"rules":["#,
    r#"{"disabled":true,"content":{"rules":["#,
    r#"{"name":""#,
    r#"","serve":"#,
    r#"{"select":0}"#,
    r#"{"select":1}"#,
    r#"{"select":"#,
    r#"{"split":["#,
    r#","conditions":["#,
    r#"{"type":"string","subject":""#,
    r#"{"type":""#,
    r#"","subject":""#,
    r#"","predicate":"is one of","objects":["#,
    r#"","predicate":""#,
    r#"","objects":["#,
    r#"],"leftPredicate":""#,
    r#"","rightPredicate":""#,
    r#"","rightObjects":["#,
    r#"",""#,
    r#"]}"#,
    r#"],"disabledServe":"#,
    r#","defaultServe":"#,
    r#","variations":["#,
    r#"{"value":""#,
    r#"","name":""#,
    r#"","description":""}"#,
    r#"","description":""#,
    r#"],"prerequisites":["#,
    r#"{"key":""#,
    r#"","value":""#,
    r#"","type":""#,
];

/// Returns the byte of a piece. A text that is none does not compile.
const fn byte(piece: &str) -> u8 {
    let mut at = 0;
    // Texts cannot be compared with `==` in a `const fn`, and no two pieces differ only in case.
    while !PIECES[at as usize].eq_ignore_ascii_case(piece) {
        at += 1;
    }
    at + 1
}

/// Appends the byte of a piece, which is found at compile time.
macro_rules! put {
    ($out:ident, $piece:literal) => {
        $out.push(char::from(const { byte($piece) }))
    };
}

pub(super) fn pack(targeting: &Targeting) -> String {
    let Targeting { disabled, content } = targeting;
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = content;
    let mut text = String::with_capacity(128);
    let out = &mut text;
    if *disabled {
        put!(out, r#"{"disabled":true,"content":{"rules":["#);
    } else {
        put!(out, r#"{"disabled":false,"content":{"rules":["#);
    }
    put_list(out, rules, put_rule);
    put!(out, r#"],"disabledServe":"#);
    put_serve(out, disabled_serve);
    put!(out, r#","defaultServe":"#);
    put_serve(out, default_serve);
    put!(out, r#","variations":["#);
    put_list(out, variations, put_variation);
    if let Some(prerequisites) = prerequisites {
        put!(out, r#"],"prerequisites":["#);
        put_list(out, prerequisites, put_prerequisite);
    }
    put!(out, "]}");
    out.push('}');
    text
}

/// Returns the canonical JSON in parts.
pub(super) fn unpack(packed: &str) -> impl Iterator<Item = &str> {
    let parts = packed.split_inclusive(|character| character < ' ');
    parts.flat_map(|part| match part.as_bytes() {
        [text @ .., byte @ ..b' '] => [&part[..text.len()], PIECES[usize::from(*byte) - 1]],
        _ => [part, ""],
    })
}

/// Returns the length of the canonical JSON in bytes.
pub(super) fn json_len(packed: &str) -> usize {
    let length = |byte| match byte {
        1..b' ' => PIECES[usize::from(byte) - 1].len(),
        _ => 1,
    };
    packed.bytes().map(length).sum()
}

pub(super) fn is_disabled(packed: &str) -> bool {
    packed.as_bytes().first() == Some(&const { byte(r#"{"disabled":true,"content":{"rules":["#) })
}

pub(super) fn has_prerequisite(packed: &str) -> bool {
    packed.as_bytes().contains(&const { byte(r#"{"key":""#) })
}

fn put_list<T>(out: &mut String, items: &[T], put_item: fn(&mut String, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        put_item(out, item);
    }
}

fn put_rule(out: &mut String, Rule { name, serve, conditions }: &Rule) {
    put!(out, r#"{"name":""#);
    put_text(out, name);
    put!(out, r#"","serve":"#);
    put_serve(out, serve);
    put!(out, r#","conditions":["#);
    put_list(out, conditions, put_condition);
    put!(out, "]}");
}

fn put_serve(out: &mut String, serve: &Serve) {
    match serve {
        Serve::Select(0) => put!(out, r#"{"select":0}"#),
        Serve::Select(1) => put!(out, r#"{"select":1}"#),
        Serve::Select(index) => {
            put!(out, r#"{"select":"#);
            out.push_str(&index.to_string());
            out.push('}');
        }
        Serve::Split(weights) => {
            put!(out, r#"{"split":["#);
            put_list(out, weights, |out, weight| out.push_str(&weight.to_string()));
            put!(out, "]}");
        }
        Serve::Nothing => out.push_str("{}"),
    }
}

fn put_condition(out: &mut String, condition: &Condition) {
    let Condition { kind, subject, predicate, objects, between } = condition;
    if kind == "string" {
        put!(out, r#"{"type":"string","subject":""#);
    } else {
        put!(out, r#"{"type":""#);
        put_text(out, kind);
        put!(out, r#"","subject":""#);
    }
    put_text(out, subject);
    if predicate == "is one of" {
        put!(out, r#"","predicate":"is one of","objects":["#);
    } else {
        put!(out, r#"","predicate":""#);
        put_text(out, predicate);
        put!(out, r#"","objects":["#);
    }
    put_texts(out, objects);
    if let Some(between) = between {
        let Between { left_predicate, right_predicate, right_objects } = &**between;
        put!(out, r#"],"leftPredicate":""#);
        put_text(out, left_predicate);
        put!(out, r#"","rightPredicate":""#);
        put_text(out, right_predicate);
        put!(out, r#"","rightObjects":["#);
        put_texts(out, right_objects);
    }
    put!(out, "]}");
}

fn put_variation(out: &mut String, variation: &Variation) {
    let Variation { value, name, description } = variation;
    put!(out, r#"{"value":""#);
    put_text(out, value);
    put!(out, r#"","name":""#);
    put_text(out, name);
    if description.is_empty() {
        put!(out, r#"","description":""}"#);
    } else {
        put!(out, r#"","description":""#);
        put_text(out, description);
        out.push_str(r#""}"#);
    }
}

fn put_prerequisite(out: &mut String, Prerequisite { key, value, kind }: &Prerequisite) {
    put!(out, r#"{"key":""#);
    put_text(out, key);
    put!(out, r#"","value":""#);
    put_text(out, value);
    put!(out, r#"","type":""#);
    out.push_str(kind.as_str());
    out.push_str(r#""}"#);
}

/// Appends the strings of a list with their quotes.
fn put_texts(out: &mut String, texts: &[String]) {
    for (at, text) in texts.iter().enumerate() {
        match at {
            0 => out.push('"'),
            _ => put!(out, r#"",""#),
        }
        put_text(out, text);
    }
    if !texts.is_empty() {
        out.push('"');
    }
}

/// Appends the content of a string, without its quotes.
fn put_text(out: &mut String, text: &str) {
    if text.bytes().any(|byte| matches!(byte, ..b' ' | b'"' | b'\\')) {
        let quoted = serde_json::to_string(text).expect("text always has a JSON form");
        out.push_str(&quoted[1..quoted.len() - 1]);
    } else {
        out.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Payload, ReturnType};

    /// Texts with all kinds of characters, among them those that JSON escapes and those of the pieces.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("string".to_owned()),
            Just("is one of".to_owned()),
            "[a,\"\\\\{}\\[\\]\u{1}-\u{1f}\u{7f}é\u{2028}]{0,4}",
        ]
    }

    fn serve() -> impl Strategy<Value = Serve> {
        prop_oneof![
            (0..3_u32).prop_map(Serve::Select),
            vec(any::<u32>(), 0..3).prop_map(Serve::Split),
            Just(Serve::Nothing),
        ]
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let objects = || vec(text(), 0..3);
        let between =
            (text(), text(), objects()).prop_map(|(left_predicate, right_predicate, right_objects)| {
                Box::new(Between { left_predicate, right_predicate, right_objects })
            });
        let parts = (text(), text(), text(), objects(), proptest::option::of(between));
        parts.prop_map(|(kind, subject, predicate, objects, between)| Condition {
            kind,
            subject,
            predicate,
            objects,
            between,
        })
    }

    fn content() -> impl Strategy<Value = Content> {
        let rule = (text(), serve(), vec(condition(), 0..3)).prop_map(|(name, serve, conditions)| Rule {
            name,
            serve,
            conditions,
        });
        let variation = (text(), text(), text()).prop_map(|(value, name, description)| Variation {
            value,
            name,
            description,
        });
        let kind = proptest::sample::select(&ReturnType::ALL[..]);
        let prerequisite =
            (text(), text(), kind).prop_map(|(key, value, kind)| Prerequisite { key, value, kind });
        let prerequisites = proptest::option::of(vec(prerequisite, 0..3));
        let parts = (vec(rule, 0..3), serve(), serve(), vec(variation, 0..3), prerequisites);
        parts.prop_map(|(rules, disabled_serve, default_serve, variations, prerequisites)| Content {
            rules,
            disabled_serve,
            default_serve,
            variations,
            prerequisites,
        })
    }

    fn targeting() -> impl Strategy<Value = Targeting> {
        (any::<bool>(), content()).prop_map(|(disabled, content)| Targeting { disabled, content })
    }

    proptest! {
        #[test]
        fn packed_targeting_is_its_canonical_json(targeting in targeting()) {
            let json = serde_json::to_string(&targeting).unwrap();
            let packed = pack(&targeting);
            prop_assert_eq!(unpack(&packed).collect::<String>(), json.as_str());
            prop_assert_eq!(json_len(&packed), json.len());
            prop_assert_eq!(is_disabled(&packed), targeting.disabled);
            prop_assert_eq!(serde_json::from_str::<Payload>(&json).unwrap(), Payload::new(&targeting));
        }
    }

    #[test]
    fn an_ordinary_document_takes_a_seventh_of_its_json() {
        let json = r#"{"disabled":false,"content":{"rules":[{"name":"beta","serve":{"select":1},"conditions":[{"type":"string","subject":"city","predicate":"is one of","objects":["A1","B0"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":1},"variations":[{"value":"1","name":"off","description":""},{"value":"0","name":"on","description":""}],"prerequisites":[]}}"#;
        let packed = pack(&serde_json::from_str(json).unwrap());
        assert_eq!(unpack(&packed).collect::<String>(), json);
        assert!(packed.len() * 7 <= json.len(), "{} of {}", packed.len(), json.len());
    }
}

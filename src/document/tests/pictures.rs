//! What people see.

use super::*;

#[test]
fn findings_are_underlined_with_what_to_do() {
    let document = yaml(with("defaultServe", "defualtServe").replace("\"on\"", "\"off\""));
    assert_eq!(
        render(&document.diagnostics, Color::Never),
        r#"error[duplicate-variation]: another variation is named `off`, too
 --> a.yaml:5:15
  |
4 |     - { name: "off", value: "false" }
  |               ----- the first one
  |
5 |     - { name: "off", value: "true", description: "New page" }
  |               ^^^^^
  |
  = help: give each variation a unique name

error[unknown-key]: `content` has no `defualtServe`
  --> a.yaml:12:3
   |
12 |   defualtServe: { select: 0 }
   |   ^^^^^^^^^^^^
   |
   = help: did you mean `defaultServe`?
"#
    );
}

#[test]
fn two_marks_in_one_line_share_it() {
    let document = yaml(with("{ select: 1 }", "{ select: 1, select: 0 }"));
    assert_eq!(
        render(&document.diagnostics, Color::Never),
        r#"error[duplicate-key]: duplicate key `select`
  --> a.yaml:10:27
   |
10 |       serve: { select: 1, select: 0 }
   |                ------     ^^^^^^
   |                |
   |                first here
   |
   = help: keep one of the two
"#
    );
}

#[test]
fn a_finding_about_a_whole_file_names_it() {
    let document = yaml("# nothing\n");
    assert_eq!(
        render(&document.diagnostics, Color::Never),
        r#"error[empty-document]: this file contains no document
 --> a.yaml
  = help: remove the file to stop managing the toggle; write `disabled: true` to disable it
"#
    );
    assert_eq!(render(&[], Color::Always), "");
}

#[test]
fn colors_change_nothing_but_the_color() {
    let document = yaml(with("defaultServe", "defualtServe").replace("\"on\"", "\"off\""));
    let colored = render(&document.diagnostics, Color::Always);
    let mut plain = String::new();
    for (index, piece) in colored.split('\u{1b}').enumerate() {
        plain += if index == 0 { piece } else { piece.split_once('m').unwrap().1 };
    }
    assert_ne!(colored, plain);
    assert_eq!(plain, render(&document.diagnostics, Color::Never));
}

#[test]
fn a_control_character_is_at_its_place_and_escaped() {
    let document = yaml(with("adults", "\"adu\u{1b}[31mlts\""));
    assert_eq!(found(&document), ["7:17 syntax"]);
    let text = render(&document.diagnostics, Color::Never);
    assert!(text.contains("- name: \"adu\\u{1b}[31mlts\"") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn foreign_text_is_harmless_and_columns_line_up() {
    let hostile = with("adults", "\"\u{202e}日本\u{200b}\tx\" # \u{2066}")
        .replace("serve: { select: 1 }", "serve: ' \u{202e}' # \u{200b}");
    let document = yaml(hostile.replace("disabled:", "\"\u{202e}\\e[31m\\n::error::x\": 1\ndisabled:"));
    let text = render(&document.diagnostics, Color::Never);
    assert!(
        text.chars().all(|c| c == '\n' || crate::model::escaped(&c.to_string()).to_string() == c.to_string())
    );
    assert!(text.lines().all(|line| !line.starts_with("::") && !line.starts_with("##[")));
    assert_eq!(
        text,
        r#"error[unknown-key]: a document has no `\u{202e}\u{1b}[31m\n::error::x`
 --> a.yaml:1:1
  |
1 | "\u{202e}\e[31m\n::error::x": 1
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: a document has `disabled` and `content`; do not just remove it: what `\u{202e}\u{1b}[31m\n::error::x` says would be lost, so say it with these keys

warning[hidden-character]: the invisible character U+202E is a part of this text
 --> a.yaml:8:13
  |
8 |     - name: "\u{202e}日本\u{200b}\tx" # \u{2066}
  |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: remove it

error[wrong-type]: `serve` is a mapping, not the text ` \u{202e}`
  --> a.yaml:11:14
   |
11 |       serve: ' \u{202e}' # \u{200b}
   |              ^^^^^^^^^^^
   |
   = help: write `serve: { variation: "name" }`; the variations begin with `off` and `on`
"#
    );
}

#[test]
fn a_long_line_is_shown_around_its_mark() {
    let long = with("[\"18\"]", &format!("[{}x, {}]", "1, ".repeat(300), "1, ".repeat(300)));
    let document = yaml(long);
    assert_eq!(document.diagnostics[0].column, 967);
    assert_eq!(
        render(&document.diagnostics, Color::Never),
        r#"error[not-a-number]: `x` is not a decimal number
 --> a.yaml:9:967
  |
9 | …1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1…
  |                                                              ^
  |
  = help: write digits, with an optional sign, fraction and exponent, such as `-1.5e3`
"#
    );
}

#[test]
fn a_diagnostic_is_json_with_the_words_of_the_command_line() {
    let document = yaml(with("disabled: false", "disabled: yes"));
    assert_eq!(
        serde_json::to_string(&document.diagnostics[0]).unwrap(),
        r#"{"id":"wrong-type","severity":"error","file":"a.yaml","line":1,"column":11,"message":"`disabled` is `true` or `false`, not `yes`","help":"write `true`, without quotes"}"#
    );
}

//! Mistakes that authors make: each is named at its place, with what to write instead.

use super::*;

const DOCUMENT: &str = r#"disabled: false
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
        - type: string
          subject: email
          predicate: is one of
          objects: ["a@example.com", "b@example.com"]
      serve: { select: 1 }
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
"#;

/// What an author changes into what, and the finding that has to name it: position, check, message, and help.
type Mistake = (&'static str, &'static str, &'static str);

const TABS: &[Mistake] = &[
    (
        "          subject: email",
        "\t  subject: email",
        "14:1 syntax: a tab is not indentation in YAML | write spaces instead, as in the lines around it",
    ),
    (
        "          subject: email",
        "        \tsubject: email",
        "14:9 syntax: a tab is not indentation in YAML | write spaces instead, as in the lines around it",
    ),
    (
        "        - type: string",
        "        -\ttype: string",
        "13:10 syntax: a tab follows the dash | write spaces instead, as in the lines around it",
    ),
];

const INVISIBLE_CHARACTERS: &[Mistake] = &[
    (
        "          subject: email",
        "\u{a0}\u{a0}        subject: email",
        "14:1 syntax: the invisible character U+00A0 is not a space | write spaces instead, as in the lines around it",
    ),
    (
        "          subject: email",
        "          subject:\u{a0}email",
        "14:18 syntax: the invisible character U+00A0 is not a space | write `subject: email`",
    ),
    (
        "  rules:",
        "\u{a0}\u{a0}rules:",
        "10:1 syntax: the invisible character U+00A0 is not a space | write spaces instead, as in the lines around it",
    ),
    (
        "    - name: adults",
        "    -\u{a0}name: adults",
        "11:6 syntax: the invisible character U+00A0 is not a space | write spaces instead, as in the lines around it",
    ),
    (
        "          subject: email",
        "          \u{200b}subject: email",
        "14:11 unknown-key: a condition has no `\\u{200b}subject` | did you mean `subject`?",
    ),
];

const COLONS: &[Mistake] = &[
    (
        "          subject: email",
        "          subject:email",
        "14:18 syntax: no space follows the colon | write `subject: email`",
    ),
    ("disabled: false", "disabled:false", "1:9 syntax: no space follows the colon | write `disabled: false`"),
    (
        "{ select: 1 }",
        "{ select:1 }",
        "17:16 unknown-key: a serve has no `select:1` | write a space after the colon: `select: 1`",
    ),
    (
        "      conditions:\n",
        "      conditions\n",
        "12:7 syntax: the key `conditions` has no colon | write `conditions:`",
    ),
    (
        "          subject: email",
        "          subject email",
        "14:11 syntax: the key `subject` has no colon | write `subject: email`",
    ),
    ("content:\n", "content\n", "2:1 syntax: the key `content` has no colon | write `content:`"),
    (
        "          subject: email",
        "          subject = email",
        "14:19 syntax: a key is followed by `:`, not by `=` | write `subject: email`",
    ),
    (
        "disabled: false",
        "disabled=false",
        "1:9 syntax: a key is followed by `:`, not by `=` | write `disabled: false`",
    ),
    (
        "      description: New page",
        "      description: Note: new page",
        "9:24 syntax: a value cannot contain a second `: ` | put the value in quotes: `description: \"Note: new page\"`",
    ),
    (
        "          subject: email",
        "          subject: user: email",
        "14:24 syntax: a value cannot contain a second `: ` | put the value in quotes: `subject: \"user: email\"`",
    ),
    (
        "          subject: email",
        "          subject: email:",
        "14:25 syntax: a value cannot contain a second `: ` | remove it, or put the value in quotes: `subject: \"email:\"`",
    ),
    (
        "          subject: email",
        "          subject:: email",
        "14:11 unknown-key: a condition has no `subject:` | did you mean `subject`?",
    ),
    (
        "          subject: email",
        "          subject：email",
        "14:18 syntax: a key is followed by `:`, not by `：` | write `subject: email`",
    ),
    (
        "          subject: email",
        "          subject; email",
        "14:18 syntax: a key is followed by `:`, not by `;` | write `subject: email`",
    ),
];

const STARTS_OF_VALUES: &[Mistake] = &[
    (
        CONDITION,
        "- { type: number, subject: age, predicate: >, objects: [\"18\"] }",
        "13:52 syntax: a value cannot begin with `>` | put it in quotes: `\">\"`",
    ),
    (
        CONDITION,
        "- { type: number, subject: `age`, predicate: \">\", objects: [\"18\"] }",
        "13:36 syntax: a value cannot begin with a backtick | put it in quotes: `\"`age`\"`",
    ),
    (
        "          subject: email",
        "          subject: @email",
        "14:20 syntax: a value cannot begin with `@` | put it in quotes: `\"@email\"`",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects:\n            - @x",
        "17:15 syntax: a value cannot begin with `@` | put it in quotes: `\"@x\"`",
    ),
    (
        "      description: New page",
        "      description: `new`",
        "9:20 syntax: a value cannot begin with a backtick | put it in quotes: `\"`new`\"`",
    ),
    (
        "      description: New page",
        "      description: %new",
        "9:20 syntax: a value cannot begin with `%` | put it in quotes: `\"%new\"`",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [*]",
        "16:21 syntax: a value cannot begin with `*` | put it in quotes: `\"*\"`",
    ),
    (
        "          subject: email",
        "          subject: *",
        "14:20 syntax: a value cannot begin with `*` | put it in quotes: `\"*\"`",
    ),
    (
        "          subject: email",
        "          subject: &email",
        "14:20 yaml-anchor: an anchor (`&`) is not allowed | write the content out where it is used, so that a reviewer sees it; quote a value that begins with `&` or `*`",
    ),
    (
        "          predicate: is one of",
        "          predicate: !=",
        "15:22 yaml-tag: a value without quotes begins with `!` | did you mean `is not any of`?",
    ),
    (
        "          predicate: is one of",
        "          predicate: >",
        "15:11 empty-text: `predicate` is empty | add the comparison, such as `predicate: is one of`",
    ),
    (
        "          predicate: is one of",
        "          predicate: >=",
        "15:22 syntax: a value cannot begin with `>` | put it in quotes: `\">=\"`",
    ),
    (
        "          predicate: is one of",
        "          predicate: | x",
        "15:22 syntax: a value cannot begin with `|` | put it in quotes: `\"| x\"`",
    ),
    (
        "          predicate: is one of",
        "          predicate: - x",
        "15:22 syntax: a value cannot begin with `-` | put it in quotes: `\"- x\"`",
    ),
    (
        "          subject: email",
        "          subject: {{ email }}",
        "14:11 wrong-type: `subject` is text, not a template | write `\"{{ email }}\"` if this text is meant; otherwise, render the template, and commit the result",
    ),
    (
        "      description: New page",
        "      description: [new] page",
        "9:26 syntax: text follows a value that is complete | put the whole text in quotes: `\"[new] page\"`",
    ),
    (
        "      description: New page",
        "      description: {new} page",
        "9:26 syntax: text follows a value that is complete | put the whole text in quotes: `\"{new} page\"`",
    ),
    (
        "    - name: adults",
        "    - name: #1",
        "11:7 null-text: `name` has no value: `#1` is a comment | put it in quotes if it is the value: `name: \"#1\"`",
    ),
    (
        "      description: New page",
        "      description: #new page",
        "9:7 null-text: `description` has no value: `#new page` is a comment | put it in quotes if it is the value: `description: \"#new page\"`",
    ),
    (
        "          predicate: is one of",
        "          predicate: ? x",
        "15:22 syntax: a value cannot begin with `?` | put it in quotes: `\"? x\"`",
    ),
    (
        "          predicate: is one of",
        "          objects: ,",
        "15:20 syntax: a value cannot begin with `,` | put it in quotes: `\",\"`",
    ),
];

const CONDITION: &str = "- type: string
          subject: email
          predicate: is one of
          objects: [\"a@example.com\", \"b@example.com\"]";

const QUOTES: &[Mistake] = &[
    (
        "      value: \"true\"",
        "      value: \"true",
        "8:14 syntax: this `\"` is not closed | write the quote at its end: `\"true\"`",
    ),
    (
        "      value: \"true\"",
        "      value: 'true",
        "8:14 syntax: this `'` is not closed | write the quote at its end: `'true'`",
    ),
    (
        "      value: \"true\"",
        "      value: \"true'",
        "8:14 syntax: this `\"` is not closed | write the quote at its end: `\"true\"`",
    ),
    (
        "      value: \"true\"",
        "      value: \"true\" or false",
        "8:21 syntax: text follows a value that is complete | put the whole text in quotes: `\"\\\"true\\\" or false\"`",
    ),
    (
        "      description: New page",
        "      description: \"the \"new\" page\"",
        "9:25 syntax: this `\"` ends the text | write `\\\"` for a quote in the text, or put the text in single quotes",
    ),
    (
        "      description: New page",
        "      description: 'it's new'",
        "9:23 syntax: this `'` ends the text | write `''` for an apostrophe in the text, or put the text in double quotes",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"\\d+\"]",
        "16:22 syntax: `\\d` is not an escape | write `\\\\d` for a backslash, or put the text in single quotes",
    ),
    (
        "      description: New page",
        "      description: \"C:\\new\\Users\"",
        "9:27 syntax: `\\U` needs 8 hexadecimal digits | write all digits, or `\\\\U` for a backslash",
    ),
    (
        "      description: New page",
        "      description: “Note: new”",
        "9:25 syntax: a value cannot contain a second `: ` | put the value in quotes: `description: \"“Note: new”\"`",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com, \"b@example.com\"]",
        "16:21 syntax: the quotes do not match: text follows this one | write each text with a quote at both ends, and `,` between them",
    ),
    (
        "    - name: adults",
        "    - name:adults",
        "11:7 syntax: no space follows the colon | write a space after the colon: `name: adults`",
    ),
    (
        "      description: New page",
        "      description: \"\\u12\"",
        "9:21 syntax: `\\u` needs 4 hexadecimal digits | write all digits, or `\\\\u` for a backslash",
    ),
];

const BRACKETS: &[Mistake] = &[
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com\", \"b@example.com\"",
        "16:20 syntax: this `[` is not closed | write `]` at the end of what it contains",
    ),
    (
        "{ select: 1 }",
        "{ select: 1",
        "17:14 syntax: this `{` is not closed | write `}` at the end of what it contains",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com\"]]",
        "16:37 syntax: unmatched `]` | remove it, or add the missing `[`",
    ),
    ("{ select: 1 }", "{ select: 1 }}", "17:27 syntax: unmatched `}` | remove it, or add the missing `{`"),
    ("{ select: 1 }", "{ select: 1 ]", "17:26 syntax: this `]` closes a `{` | write `}`"),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com\", \"b@example.com\"}",
        "16:53 syntax: this `}` closes a `[` | write `]`",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com\" \"b@example.com\"]",
        "16:37 syntax: a comma is missing before this value | write `,` between the items",
    ),
    (
        "      serve: { select: 1 }",
        "      serve: { select: 1 variation: x }",
        "17:26 syntax: a comma is missing before this key | write `,` between the entries",
    ),
    (
        "{ select: 1 }",
        "select: 1 }",
        "17:24 syntax: unmatched `}` | write `{` before the value, or remove the `}`",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: (\"a@example.com\", \"b@example.com\")",
        "16:20 wrong-type: `objects` is a list, not `(\"a@example.com\", \"b@example.com\")` | write `objects: [\"a@example.com\", \"b@example.com\"]`",
    ),
];

const INDENTATION: &[Mistake] = &[
    (
        "          subject: email",
        "         subject: email",
        "14:10 syntax: no line above is indented by 9 spaces | indent it by 10 spaces",
    ),
    (
        "          subject: email",
        "            subject: email",
        "14:13 syntax: nothing can be indented below `type`, which has a value | indent this line by 10 spaces, or remove that value",
    ),
    (
        "      serve: { select: 1 }",
        "     serve: { select: 1 }",
        "17:6 syntax: no line above is indented by 5 spaces | indent it by 6 spaces",
    ),
    (
        "      conditions:",
        "    conditions:",
        "12:5 syntax: the next item of the list begins here, and it has no dash | indent the line by 6 spaces like the keys above, or write `- ` before it",
    ),
    (
        "    - name: \"on\"",
        "   - name: \"on\"",
        "7:4 syntax: no line above is indented by 3 spaces | indent it by 4 spaces",
    ),
    (
        "    - name: \"on\"",
        "     - name: \"on\"",
        "7:6 syntax: no line above is indented by 5 spaces | indent it by 4 spaces",
    ),
    (
        "  disabledServe: { select: 0 }",
        "disabledServe: { select: 0 }",
        "18:1 syntax: `disabledServe` is not indented like the lines around it | indent it by 2 spaces",
    ),
    (
        "disabled: false",
        " disabled: false",
        "1:1 syntax: the first line is indented, and a later one is not | remove the spaces before it",
    ),
    (
        "    - name: adults",
        "    -name: adults",
        "11:5 syntax: no space follows the dash | write `- name: adults`",
    ),
    (
        "    - name: adults",
        "    * name: adults",
        "11:5 syntax: a list item begins with `-`, not `*` | write `- name: adults`",
    ),
    (
        "    - name: adults",
        "    – name: adults",
        "11:5 syntax: a list item begins with `-`, not `–` | write `- name: adults`",
    ),
    (
        "  rules:\n",
        "  rules: all\n",
        "11:5 syntax: nothing can be indented below `rules`, which has a value | indent this line by 2 spaces, or remove that value",
    ),
    (
        "  rules:\n",
        "  rules:\n    first: 1\n",
        "12:5 syntax: a list item cannot be beside the key `first` | write either keys or `- ` items at this indentation: check `first` and this line",
    ),
    (
        "      serve: { select: 1 }",
        "      - serve: { select: 1 }",
        "17:7 syntax: a list item cannot be beside the key `conditions` | write either keys or `- ` items at this indentation: check `conditions` and this line",
    ),
    (
        "disabled: false",
        "- disabled: false",
        "1:1 syntax: a document has keys at its top, not a list | remove the dash",
    ),
    (
        "    - name: adults",
        "      name: adults",
        "10:3 wrong-type: `rules` is a list, not a mapping | write `- ` before the first key, in place of the two blanks there",
    ),
    (
        "    - name: adults",
        "+   - name: adults",
        "11:1 syntax: a list item begins with `-`, not `+` | remove the `+`",
    ),
];

const COMMENTS: &[Mistake] = &[
    (
        "[\"a@example.com\", \"b@example.com\"]",
        "[#a, b]",
        "16:21 syntax: `#a` begins a comment | put it in quotes if it is a value: `\"#a\"`",
    ),
    (
        "[\"a@example.com\", \"b@example.com\"]",
        "[a,#b]",
        "16:23 syntax: `#b` begins a comment | put it in quotes if it is a value: `\"#b\"`",
    ),
];

const HABITS_FROM_JSON: &[Mistake] = &[
    (
        "disabled: false",
        "disabled: false,",
        "1:11 wrong-type: `disabled` is `true` or `false`, not `false,` | remove the comma: outside of brackets, a line ends without one",
    ),
    (
        "      value: \"true\"",
        "      value: \"true\",",
        "8:20 syntax: a comma follows the value | remove it: outside of brackets, a line ends without a comma",
    ),
    (
        "      serve: { select: 1 }",
        "      serve: { select: 1 },",
        "17:27 syntax: a comma follows the value | remove it: outside of brackets, a line ends without a comma",
    ),
    (
        "disabled: false",
        "// on\ndisabled: false",
        "1:1 syntax: this is not a comment in YAML | begin comments with `# `, or remove it",
    ),
    (
        "disabled: false",
        "disabled: false // on",
        "1:11 wrong-type: `disabled` is `true` or `false`, not `false // on` | begin comments with `# `, not with `//`",
    ),
    (
        "      value: \"true\"",
        "      value: \"true\" // on",
        "8:21 syntax: this is not a comment in YAML | begin comments with `# `, or remove it",
    ),
    (
        "disabled: false",
        "/* on */\ndisabled: false",
        "1:1 syntax: this is not a comment in YAML | begin comments with `# `, or remove it",
    ),
    (
        "          objects: [\"a@example.com\", \"b@example.com\"]",
        "          objects: [\"a@example.com\",, \"b@example.com\"]",
        "16:37 syntax: there is no value before this comma | remove the comma, or write the value",
    ),
    (
        "disabled: false",
        "\"disabled\" false",
        "1:1 syntax: the key `disabled` has no colon | write `\"disabled\": false`",
    ),
    (
        "disabled: false",
        "{\ndisabled: false",
        "1:1 syntax: this `{` is not closed | write `}` at the end of what it contains",
    ),
];

const OTHER_TEXT: &[Mistake] = &[
    (
        "disabled: false",
        "```yaml\ndisabled: false",
        "1:1 syntax: a Markdown fence is not YAML | remove this line",
    ),
    (
        "  defaultServe: { select: 0 }\n",
        "  defaultServe: { select: 0 }\n```\n",
        "20:1 syntax: a Markdown fence is not YAML | remove this line",
    ),
    (
        "disabled: false",
        "%YAML 1.2\ndisabled: false",
        "1:1 syntax: a directive (`%`) has no place in a document | remove this line, or put a value that begins with `%` in quotes",
    ),
    (
        "      description: New page",
        "      description: |\n    new page",
        "10:5 syntax: this text is not indented as a part of `description` | indent it by 8 spaces, or write the value in one line",
    ),
    (
        "      description: New page",
        "      description: |x\n        new page",
        "9:20 syntax: a value cannot begin with `|` | put it in quotes: `\"|x\"`",
    ),
    (
        "      description: New page",
        "      description: New\n      page",
        "10:7 syntax: this text is not indented as a part of `description` | indent it by 8 spaces, or write the value in one line",
    ),
    (
        "      description: New page",
        "      description: New\u{7}page",
        "9:23 syntax: the control character U+0007 is not allowed | remove it, or write it as `\\u0007` in double quotes",
    ),
    (
        "disabled: false",
        "{% if x %}\ndisabled: false",
        "1:1 syntax: a template is not YAML | render the template, and commit the result",
    ),
];

#[test]
fn every_mistake_is_named_at_its_place_with_what_to_write_instead() {
    let kinds = [
        TABS,
        INVISIBLE_CHARACTERS,
        COLONS,
        STARTS_OF_VALUES,
        QUOTES,
        BRACKETS,
        INDENTATION,
        COMMENTS,
        HABITS_FROM_JSON,
        OTHER_TEXT,
    ];
    let mut count = 0;
    for (from, to, expected) in kinds.into_iter().flatten() {
        assert!(DOCUMENT.contains(from), "{from}");
        let document = yaml(DOCUMENT.replacen(from, to, 1));
        let shown: Vec<String> = (document.diagnostics.iter())
            .map(|one| {
                let help = one.help.as_deref().unwrap_or("none");
                format!("{}:{} {}: {} | {help}", one.line, one.column, one.id, one.message)
            })
            .collect();
        assert!(shown.iter().any(|one| one == expected), "{to:?}\nexpected {expected}\nfound {shown:#?}");
        // The syntax of a file ends at its first mistake, so that is the only finding about it.
        let is_syntax = |one: &&Diagnostic| one.id == "syntax";
        assert!(document.diagnostics.iter().filter(is_syntax).count() <= 1, "{shown:#?}");
        count += 1;
    }
    assert!(count >= 67, "{count}");
}

#[test]
fn a_syntax_error_is_never_explained_by_a_guess_about_anything() {
    for (from, to, _) in [TABS, COLONS, QUOTES, BRACKETS, INDENTATION].into_iter().flatten() {
        for one in yaml(DOCUMENT.replacen(from, to, 1)).diagnostics {
            assert!(
                !one.message.starts_with("invalid YAML") && one.help.is_some(),
                "{to:?}: {}",
                one.message
            );
        }
    }
}

proptest! {
    #[test]
    fn any_lines_are_explained(pieces in proptest::collection::vec(
        proptest::sample::select(vec!["a", ":", " ", "- ", "\"", "'", "[", "}", ",", "\n", "\t", "#", "\\u", "é", "\u{a0}", "//", "=", "|"]), 0..40,
    )) {
        let text = pieces.concat();
        let lines = finding::lines(&text);
        for line in 0..=u32::try_from(lines.len()).unwrap_or_default() + 1 {
            let _ = mistake::explain(&lines, line);
        }
    }
}

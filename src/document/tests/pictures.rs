//! What people see.

use super::*;

#[test]
fn findings_are_underlined_with_what_to_do() {
    let document = yaml(with("defaultServe", "defualtServe").replace("\"on\"", "\"off\""));
    let text = render(&document.diagnostics, Color::Never);
    println!("{text}");
    println!("{}", render(&document.diagnostics, Color::Always));
}

#[test]
fn foreign_text_is_harmless_and_columns_line_up() {
    let hostile = with("adults", "\"\u{202e}日本\u{200b}\tx\" # \u{2066}")
        .replace("serve: { select: 1 }", "serf: \u{202e}");
    let document = yaml(hostile.replace("disabled:", "\"\u{202e}\\e[31m\\n::error::x\": 1\ndisabled:"));
    let text = render(&document.diagnostics, Color::Never);
    println!("{text}");
    assert!(
        text.chars()
            .all(|c| c == '\n' || crate::model::escaped(&c.to_string()).to_string() == c.to_string())
    );
}

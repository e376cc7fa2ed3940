//! Breaks long reasons at the width of the terminal that shows them.

use std::sync::OnceLock;

/// The columns of the terminal; unset if the output is read by a program.
static COLUMNS: OnceLock<usize> = OnceLock::new();

/// Sets the width at which this process breaks its reasons from here on.
pub(crate) fn wrap_at(columns: usize) {
    // A process has one output, so the first width stays.
    let _ = COLUMNS.set(columns);
}

/// Returns a reason of which each line fits the terminal if it begins after `indent` columns; one line if the output
/// is no terminal.
pub(crate) fn wrapped(reason: &str, indent: usize) -> String {
    COLUMNS.get().map_or_else(|| reason.to_owned(), |columns| broken(reason, indent, *columns))
}

/// Returns a reason behind a row of `width` columns: in the same line, or below it with this indentation if it would
/// not fit the terminal.
pub(crate) fn behind(reason: &str, width: usize, indent: usize) -> String {
    const BETWEEN: &str = "  ";
    let length = width + BETWEEN.len() + reason.chars().count();
    match COLUMNS.get() {
        Some(columns) if length > *columns => {
            format!("\n{}{}", " ".repeat(indent), broken(reason, indent, *columns))
        }
        _ => format!("{BETWEEN}{reason}"),
    }
}

/// Breaks `text` at spaces. What is in backticks stays in one line, because it may be a command to copy.
fn broken(text: &str, indent: usize, columns: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    let (mut word, mut is_quoted) = (String::new(), false);
    let mut add = |word: &mut String| {
        let width = word.chars().count();
        if column > indent && column + 1 + width > columns {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
        word.clear();
    };
    for letter in text.chars() {
        is_quoted ^= letter == '`';
        match letter {
            ' ' if !is_quoted => add(&mut word),
            letter => word.push(letter),
        }
    }
    add(&mut word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_broken_at_spaces_with_its_indentation_and_never_in_a_command() {
        let reason = "not reviewed: to publish it, run `gitoggle apply --reviewed plan.json`, or not";
        assert_eq!(
            broken(reason, 4, 30),
            "not reviewed: to publish\n    it, run\n    `gitoggle apply --reviewed plan.json`,\n    or not"
        );
        assert_eq!(broken(reason, 4, 200), reason);
        assert_eq!(broken("", 4, 30), "");
    }

    #[test]
    fn without_a_terminal_a_reason_is_one_line() {
        let reason = "word ".repeat(200);
        assert_eq!(wrapped(&reason, 4), reason);
        assert_eq!(behind(&reason, 60, 9), format!("  {reason}"));
    }
}

//! Finds out why the indentation of a line does not fit.

use super::{Found, Line};
use crate::model::escaped;

/// An indentation that lines above have.
#[derive(Clone, Copy)]
struct Column {
    at: usize,
    is_item: bool,
    line: usize,
}

/// Finds out why the indentation of a line fits to none above.
pub(super) fn indentation(lines: &[Line<'_>], at: usize) -> Option<Found> {
    let line = &lines[at];
    let open = columns(&lines[..at]);
    let first = lines.iter().position(|line| !line.is_empty())?;
    let to = line.text.trim_end().len();
    let here = |message: String, help: String| Some(Found::new(at, line.indent, to, message, help));
    if lines[first].indent > line.indent {
        let spaces = lines[first].indent;
        let message = "the first line is indented, and a later one is not";
        return Some(Found::new(first, 0, spaces, message, "remove the spaces before it"));
    }
    let inner = open
        .iter()
        .filter(|column| column.at <= line.indent)
        .max_by_key(|column| (column.at, !column.is_item))?;
    let above = &lines[inner.line];
    let name = escaped(above.key());
    if line.indent > inner.at && !inner.is_item && !above.plain_value().is_empty() && above.colon.is_some() {
        return Some(too_deep(lines, at, inner));
    }
    if inner.at == 0 && inner.is_item && line.indent == 0 && !line.has_dash() {
        let message = "a document has keys at its top, not a list";
        return Some(Found::new(first, 0, 1, message, "remove the dash"));
    }
    if inner.at == line.indent && inner.is_item && !line.has_dash() {
        let spaces = lines[inner.line].content;
        let message = "the next item of the list begins here, and it has no dash".to_owned();
        return here(
            message,
            format!("indent the line by {spaces} spaces like the keys above, or write `- ` before it"),
        );
    }
    if inner.at == line.indent && !inner.is_item && line.has_dash() {
        let message = format!("a list item cannot be beside the key `{name}`");
        return here(
            message,
            format!("write either keys or `- ` items at this indentation: check `{name}` and this line"),
        );
    }
    if inner.at != line.indent {
        let nearest =
            open_columns(lines, at).into_iter().min_by_key(|column| column.abs_diff(line.indent))?;
        let message = format!("no line above is indented by {} spaces", line.indent);
        return here(message, format!("indent it by {nearest} spaces"));
    }
    None
}

/// Returns the mistake of a line that is indented by more than a key that has a value.
fn too_deep(lines: &[Line<'_>], at: usize, inner: &Column) -> Found {
    let (line, above) = (&lines[at], &lines[inner.line]);
    let name = escaped(above.key());
    let mut before = lines[..inner.line].iter().rev().filter(|line| !line.is_empty());
    let is_last = lines[inner.line + 1..at].iter().all(Line::is_empty);
    if is_last && before.any(|before| before.content == line.indent) {
        let message = format!("`{name}` is not indented like the lines around it");
        let help = format!("indent it by {} spaces", line.indent);
        return Found::new(inner.line, above.indent, above.text.trim_end().len(), message, help);
    }
    let message = format!("nothing can be indented below `{name}`, which has a value");
    let help = format!("indent this line by {} spaces, or remove that value", inner.at);
    Found::new(at, line.indent, line.text.trim_end().len(), message, help)
}

/// Returns the indentations to which the next line can return.
fn columns(lines: &[Line<'_>]) -> Vec<Column> {
    let mut open: Vec<Column> = Vec::new();
    for (number, above) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        open.retain(|column| column.at <= above.indent);
        let mut add = |at, is_item| {
            if !open.iter().any(|column: &Column| column.at == at && column.is_item == is_item) {
                open.push(Column { at, is_item, line: number });
            } else if let Some(column) =
                open.iter_mut().find(|column| column.at == at && column.is_item == is_item)
            {
                column.line = number;
            }
        };
        if above.has_dash() {
            add(above.indent, true);
        }
        add(above.content, false);
    }
    open
}

/// Returns the indentations of the lines directly above that have the same kind, keys or items.
fn open_columns(lines: &[Line<'_>], at: usize) -> Vec<usize> {
    let above = lines[..at].iter().rev().filter(|line| !line.is_empty()).take(8);
    let column = |above: &Line<'_>| match lines[at].has_dash() {
        true => above.has_dash().then_some(above.indent),
        false => Some(above.content),
    };
    above.filter_map(column).collect()
}

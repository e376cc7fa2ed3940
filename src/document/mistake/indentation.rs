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
    let mut open: Vec<Column> = Vec::new();
    for (number, above) in lines[..at]
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        open.retain(|column| column.at <= above.indent);
        let mut add = |at, is_item| {
            if !open
                .iter()
                .any(|column: &Column| column.at == at && column.is_item == is_item)
            {
                open.push(Column {
                    at,
                    is_item,
                    line: number,
                });
            } else if let Some(column) = open
                .iter_mut()
                .find(|column| column.at == at && column.is_item == is_item)
            {
                column.line = number;
            }
        };
        if above.has_dash() {
            add(above.indent, true);
        }
        add(above.content, false);
    }
    let first = lines.iter().position(|line| !line.is_empty())?;
    let to = line.text.trim_end().len();
    let here = |message: String, help: String| Some(Found::new(at, line.indent, to, message, help));
    if lines[first].indent > line.indent {
        let spaces = lines[first].indent;
        let message = "the first line is indented, and a later one is not";
        return Some(Found::new(
            first,
            0,
            spaces,
            message,
            "remove the spaces before it",
        ));
    }
    let name = |column: &Column| escaped(lines[column.line].key()).to_string();
    let inner = open
        .iter()
        .filter(|column| column.at <= line.indent)
        .max_by_key(|column| (column.at, !column.is_item))?;
    let above = &lines[inner.line];
    let last = lines[..at].iter().rposition(|line| !line.is_empty())?;
    if line.indent > inner.at && !inner.is_item && !above.plain_value().is_empty() && above.colon.is_some() {
        let is_alone = lines[..last]
            .iter()
            .rev()
            .any(|line| !line.is_empty() && line.content == lines[at].indent);
        if is_alone && inner.line == last {
            let message = format!("`{}` is not indented like the lines around it", name(inner));
            let end = above.text.trim_end().len();
            return Some(Found::new(
                last,
                above.indent,
                end,
                message,
                format!("indent it by {} spaces", line.indent),
            ));
        }
        let message = format!(
            "nothing can be indented below `{}`, which has a value",
            name(inner)
        );
        return here(
            message,
            format!("indent this line by {} spaces, or remove that value", inner.at),
        );
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
        let message = format!("a list item cannot be beside the key `{}`", name(inner));
        return here(
            message,
            format!(
                "write either keys or `- ` items at this indentation: check `{}` and this line",
                name(inner)
            ),
        );
    }
    if inner.at != line.indent {
        let nearest = open_columns(lines, at)
            .into_iter()
            .min_by_key(|column| column.abs_diff(line.indent))?;
        let message = format!("no line above is indented by {} spaces", line.indent);
        return here(message, format!("indent it by {nearest} spaces"));
    }
    None
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

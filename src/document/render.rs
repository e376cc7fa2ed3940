//! Renders diagnostics with excerpts of the lines concerned.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::check::Severity;
use super::diagnostic::{Diagnostic, Excerpt};
use crate::model::{Color, escaped};

/// Returns `diagnostics` as text in their order; it ends in a newline unless it is empty.
///
/// Text from files is escaped and never begins a line.
pub fn render(diagnostics: &[Diagnostic], color: Color) -> String {
    let renderer = match color {
        Color::Always => Renderer::styled(),
        Color::Never => Renderer::plain(),
    }
    .decor_style(DecorStyle::Ascii);
    diagnostics
        .iter()
        .map(|diagnostic| without_separators(&renderer.render(&[group(diagnostic)])))
        .collect::<Vec<_>>()
        .join("\n")
}

fn group(diagnostic: &Diagnostic) -> Group<'_> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let path = escaped(&diagnostic.path).to_string();
    let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.id));
    group = match diagnostic.line {
        0 => group.element(Origin::path(path)),
        line => group.element(Origin::path(path).line(line as usize).char_column(diagnostic.column as usize)),
    };
    group = group.elements(snippets(&diagnostic.excerpts));
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Returns one snippet per line, in the order of the file.
fn snippets(excerpts: &[Excerpt]) -> Vec<Snippet<'_, Annotation<'_>>> {
    let mut lines: Vec<&Excerpt> = excerpts.iter().collect();
    lines.sort_by_key(|excerpt| (excerpt.line, excerpt.column));
    lines
        // Two marks of one line share a snippet only if their excerpts were cut in the same way.
        .chunk_by(|one, other| one.line == other.line && one.text == other.text)
        .map(|same| {
            // A snippet has no path: the renderer would count columns in escaped and shortened text. The origin has the
            // position.
            Snippet::source(same[0].text.as_str())
                .line_start(same[0].line as usize)
                .annotations(same.iter().map(|excerpt| annotation(excerpt)))
        })
        .collect()
}

fn annotation(excerpt: &Excerpt) -> Annotation<'_> {
    // The excerpt is trimmed, so an empty mark at its end can be behind the text.
    let end = excerpt.marked.end.min(excerpt.text.len());
    let span = excerpt.marked.start.min(end)..end;
    match excerpt.label {
        Some(label) => AnnotationKind::Context.span(span).label(label),
        None => AnnotationKind::Primary.span(span),
    }
}

/// Removes the `:::` lines, which stand for the missing path of a snippet.
fn without_separators(rendered: &str) -> String {
    let is_separator = |line: &str| {
        let line = line.replace("\u{1b}[1m", "").replace("\u{1b}[94m", "").replace("\u{1b}[0m", "");
        line.trim() == ":::"
    };
    let kept = rendered.lines().filter(|line| !is_separator(line));
    kept.flat_map(|line| [line, "\n"]).collect()
}

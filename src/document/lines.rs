//! The lines of the serves in a document, for reports about them.

use super::node::{Node, PathStep};
use super::{syntax, text};
use crate::model::Blob;

/// The lines of the serves of a document, from 1.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServeLines {
    /// The first line of each rule.
    pub rules: Vec<u32>,
    /// The line of `defaultServe`.
    pub default_serve: u32,
    /// The line of `disabledServe`.
    pub disabled_serve: u32,
}

/// Returns the lines of the serves of a document with `rules` rules; `None` if the parser with positions cannot read it.
pub fn serve_lines(content: &Blob, rules: usize) -> Option<ServeLines> {
    let text = text("", content).ok()?;
    let root = syntax::parse(text).root?;
    let content = PathStep::Key("content");
    let rule = |index| line(&root, &[content, PathStep::Key("rules"), PathStep::Item(index)]);
    Some(ServeLines {
        rules: (0..rules).map(rule).collect(),
        default_serve: line(&root, &[content, PathStep::Key("defaultServe")]),
        disabled_serve: line(&root, &[content, PathStep::Key("disabledServe")]),
    })
}

fn line(root: &Node, path: &[PathStep]) -> u32 {
    let located = root.locate(path);
    located.key.unwrap_or(located.value).start.line
}

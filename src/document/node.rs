//! A parsed file with the position of everything in it, made only where something has to be pointed at.

/// A place between two characters: line and column, both from one, the column in characters.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A stretch of a file; the end is not part of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) start: Position,
    pub(super) end: Position,
}

impl Span {
    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// One value with its position.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Mapping(Vec<(Node, Node)>),
    /// Something that was reported already, such as an alias.
    Refused,
    Scalar(String, Style),
    Sequence(Vec<Node>),
}

/// Whether a scalar is certainly text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// As in YAML's `true`, JSON's `1.10`: may be a boolean, a number or null.
    Plain,
    /// Quoted or a block: nothing but text.
    Quoted,
}

/// A parsed file, as far as it could be parsed.
pub(super) struct Loaded {
    /// The root, where the file is well formed.
    pub(super) root: Option<Node>,
    /// What is wrong with the file as YAML or JSON.
    pub(super) findings: Vec<super::finding::Finding>,
}

impl Node {
    /// Returns whether this is YAML's or JSON's null.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(text, Style::Plain) if is_null(text))
    }

    /// Returns where the value at `path` is, and its key where it has one.
    ///
    /// Falls back to the nearest ancestor that is there.
    pub(super) fn locate(&self, path: &[Step]) -> Located {
        let mut found = Located {
            key: None,
            value: self.span,
        };
        let mut node = self;
        for step in path {
            let Some((key, value)) = node.child(*step) else {
                break;
            };
            node = value;
            found = Located {
                key: key.map(|key| key.span),
                value: value.span,
            };
        }
        found
    }

    fn child(&self, step: Step) -> Option<(Option<&Self>, &Self)> {
        match (&self.kind, step) {
            (Kind::Mapping(entries), Step::Key(name)) => entries
                .iter()
                .find(|(key, _)| matches!(&key.kind, Kind::Scalar(text, _) if text == name))
                .map(|(key, value)| (Some(key), value)),
            (Kind::Sequence(items), Step::Item(index)) => items.get(index).map(|item| (None, item)),
            _ => None,
        }
    }
}

/// One step from a value to a part of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Item(usize),
    Key(&'static str),
}

/// Where a value is.
pub(super) struct Located {
    pub(super) key: Option<Span>,
    pub(super) value: Span,
}

/// The nulls of YAML's core schema, an empty plain scalar included.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

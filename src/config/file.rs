//! Reads the flat YAML file: each key has a scalar or a list of scalars.

use std::path::Path;

use granit_parser::{Event, Parser, ScalarStyle, Span, options};

use super::ConfigError;
use crate::transport::read_limited_text;

/// In bytes.
const LARGEST: u64 = 1024 * 1024;

/// One key of the file with its values.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct FileLine {
    pub(crate) key: String,
    /// Empty if the value is null or empty, which means unset.
    pub(crate) values: Vec<String>,
    /// `FILE:LINE:COLUMN`.
    pub(crate) place: String,
}

impl FileLine {
    /// Returns the line of a list whose values are all read. Entries become one value, which its own parser reads.
    fn ended(self) -> Self {
        if self.key == ENTRIES && !self.values.is_empty() {
            Self { values: vec![format!("[{}]", self.values.join(","))], ..self }
        } else {
            self
        }
    }

    pub(crate) fn number(&self) -> &str {
        self.place.rsplit(':').nth(1).unwrap_or_default()
    }
}

/// Reads and parses the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<FileLine>, ConfigError> {
    let name = path.display().to_string();
    let text = read_limited_text(path, LARGEST)
        .map_err(|error| ConfigError::new(name.clone(), format!("could not read the file: {error}")))?;
    parse(&name, &text)
}

/// The key of the only setting whose value is a list of entries.
const ENTRIES: &str = "windows";

const NESTED: &str = "settings are not nested: write one `key: value` per line";

/// Parses `text`, and keeps scalars exactly as written.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<FileLine>, ConfigError> {
    // Events instead of values, so that YAML's types do not change `0.30` or `no`.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut events = Parser::new_from_str_with_options(text, options! { emit_anchor_events: true });
    let (mut documents, mut content) = (0_usize, Content::default());
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            let place = format!("{name}:{}:{}", at.line(), at.col() + 1);
            ConfigError::new(place, "invalid YAML")
        })?;
        let place = place(name, &span.tag_span().unwrap_or(span));
        documents += usize::from(matches!(event, Event::DocumentStart(..)));
        if documents > 1 {
            return Err(ConfigError::new(place, "the file must contain only one YAML document"));
        }
        if !content.take(event, &place) {
            return Err(ConfigError::new(place, NESTED));
        }
    }
    Ok(content.lines)
}

/// What was read of a file so far.
#[derive(Default)]
struct Content {
    lines: Vec<FileLine>,
    is_open: bool,
    /// A key whose value comes next.
    key: Option<FileLine>,
    list: Option<FileLine>,
    /// The keys and values of an entry of a list.
    entry: Option<Vec<String>>,
}

impl Content {
    /// Returns whether the event belongs into a flat file.
    fn take(&mut self, event: Event<'_>, place: &str) -> bool {
        match event {
            // `None` stands for no tag, and an anchor is an event behind its value; the last pattern rejects both.
            Event::MappingStart(_, _, None) if !self.is_open => self.is_open = true,
            Event::MappingStart(_, _, None) if self.entry.is_none() && self.has_entries() => {
                self.entry = Some(Vec::new());
            }
            Event::MappingEnd => match (self.entry.take(), &mut self.list) {
                (Some(entry), Some(list)) => list.values.push(object(&entry)),
                _ => self.is_open = false,
            },
            Event::SequenceStart(_, _, None) if self.key.is_some() && self.list.is_none() => {
                self.list = self.key.take();
            }
            Event::SequenceEnd => self.lines.extend(self.list.take().map(FileLine::ended)),
            Event::Scalar(text, style, _, None) => return self.scalar(text.into_owned(), style, place),
            Event::DocumentStart(..) | Event::DocumentEnd | Event::StreamEnd | Event::StreamStart => {}
            _ => return false,
        }
        true
    }

    fn has_entries(&self) -> bool {
        self.list.as_ref().is_some_and(|list| list.key == ENTRIES)
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, place: &str) -> bool {
        if let Some(entry) = &mut self.entry {
            entry.push(text);
            return true;
        }
        match (&mut self.list, self.key.take()) {
            (Some(list), _) => list.values.push(text),
            (None, Some(mut line)) => {
                line.values = scalar_values(text, style);
                self.lines.push(line);
            }
            (None, None) if self.is_open => {
                self.key = Some(FileLine { key: text, values: Vec::new(), place: place.to_owned() });
            }
            // The parser reports an empty document as one empty scalar.
            (None, None) => return is_null(&text, style),
        }
        true
    }
}

/// Returns an entry, whose keys and values alternate, as a JSON object.
fn object(entry: &[String]) -> String {
    let quoted = |text: &String| serde_json::to_string(text).expect("a string");
    let members = entry.chunks(2).map(|pair| pair.iter().map(quoted).collect::<Vec<_>>().join(":"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn place(name: &str, span: &Span) -> String {
    format!("{name}:{}:{}", span.start.line(), span.start.col() + 1)
}

fn scalar_values(text: String, style: ScalarStyle) -> Vec<String> {
    if is_null(&text, style) || text.is_empty() { Vec::new() } else { vec![text] }
}

fn is_null(text: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Vec<(String, Vec<String>, String)> {
        let lines = parse("f.yaml", text).unwrap();
        lines.into_iter().map(|line| (line.key, line.values, line.place)).collect()
    }

    #[test]
    fn values_are_kept_as_written_with_their_places() {
        let text = "# comment\nratio: 0.30\nonly: [a/**, 'b c']\nref: ~\nroot: ''\nname: 007\nlist:\n  - x\nwide: [\n  y\n]\n";
        let expected = [
            ("ratio", vec!["0.30"], "f.yaml:2:1"),
            ("only", vec!["a/**", "b c"], "f.yaml:3:1"),
            ("ref", vec![], "f.yaml:4:1"),
            ("root", vec![], "f.yaml:5:1"),
            ("name", vec!["007"], "f.yaml:6:1"),
            ("list", vec!["x"], "f.yaml:7:1"),
            ("wide", vec!["y"], "f.yaml:9:1"),
        ];
        let lines = flat(text);
        assert_eq!(lines.len(), expected.len());
        for ((key, values, place), (k, v, p)) in lines.iter().zip(expected) {
            assert_eq!((key.as_str(), place.as_str()), (k, p));
            assert_eq!(values, &v);
        }
    }

    #[test]
    fn an_empty_file_has_no_settings() {
        for text in ["", "# only a comment\n", "---\n", "---\n...\n"] {
            assert!(flat(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_nested_file_is_rejected_with_its_position() {
        for (text, place) in [
            ("a: {b: c}\n", "f.yaml:1:4"),
            ("a: 1\nb: &x 2\n", "f.yaml:2:4"),
            ("a: &x [b]\n", "f.yaml:1:4"),
            ("&x a: b\n", "f.yaml:1:1"),
            ("- a\n", "f.yaml:1:1"),
            ("word\n", "f.yaml:1:1"),
            ("a: !!str b\n", "f.yaml:1:4"),
            ("a: [[b]]\n", "f.yaml:1:5"),
            ("a: 1\n---\nb: 2\n", "f.yaml:2:1"),
        ] {
            assert_eq!(parse("f.yaml", text).unwrap_err().place, place, "{text:?}");
        }
        assert!(parse("f.yaml", "a: 'x\n").is_err());
    }
}

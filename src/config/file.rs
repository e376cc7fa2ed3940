//! Reads the flat YAML file: each key has a scalar or a list of scalars.

use std::path::Path;

use granit_parser::{Event, Parser, ScalarStyle, Span, options};

use super::error::ConfigError;
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
    /// Returns the line number in the file.
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

const NESTED: &str = "settings are not nested: write one `key: value` per line";

/// Parses `text`, and keeps scalars exactly as written.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<FileLine>, ConfigError> {
    let mut lines = Vec::new();
    // Events instead of values, so that YAML's types do not change `0.30` or `no`.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut events = Parser::new_from_str_with_options(text, options! { emit_anchor_events: true });
    let mut depth = 0_usize;
    let mut documents = 0_usize;
    let mut list: Option<FileLine> = None;
    let mut key: Option<FileLine> = None;
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            let place = format!("{name}:{}:{}", at.line(), at.col() + 1);
            ConfigError::new(place, "invalid YAML")
        })?;
        let place = place(name, &span.tag_span().unwrap_or(span));
        let flat = || ConfigError::new(place.clone(), NESTED);
        match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err(ConfigError::new(
                        place,
                        "the file must contain only one YAML document",
                    ));
                }
            }
            // `None` stands for no tag, and an anchor is an event behind its value; the last pattern rejects both.
            Event::MappingStart(_, _, None) if depth == 0 => depth = 1,
            Event::MappingEnd => depth = 0,
            Event::SequenceStart(_, _, None) if key.is_some() && list.is_none() => list = key.take(),
            Event::SequenceEnd => lines.extend(list.take()),
            Event::Scalar(text, style, _, None) => match (&mut list, key.take()) {
                (Some(list), _) => list.values.push(text.into_owned()),
                (None, Some(mut line)) => {
                    line.values = scalar_values(text.into_owned(), style);
                    lines.push(line);
                }
                (None, None) if depth == 1 => {
                    key = Some(FileLine {
                        key: text.into_owned(),
                        values: Vec::new(),
                        place,
                    });
                }
                // The parser reports an empty document as one empty scalar.
                (None, None) if is_null(&text, style) => {}
                (None, None) => return Err(flat()),
            },
            Event::DocumentEnd | Event::StreamEnd | Event::StreamStart => {}
            _ => return Err(flat()),
        }
    }
    Ok(lines)
}

fn place(name: &str, span: &Span) -> String {
    format!("{name}:{}:{}", span.start.line(), span.start.col() + 1)
}

fn scalar_values(text: String, style: ScalarStyle) -> Vec<String> {
    match is_null(&text, style) || text.is_empty() {
        true => Vec::new(),
        false => vec![text],
    }
}

fn is_null(text: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Vec<(String, Vec<String>, String)> {
        let lines = parse("f.yaml", text).unwrap();
        lines
            .into_iter()
            .map(|line| (line.key, line.values, line.place))
            .collect()
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

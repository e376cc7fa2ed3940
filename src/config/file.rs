//! Reads the flat YAML file: each key has a scalar or a list of scalars. Finds the folders: the state folder
//! by default, and the work tree that makes a file untrusted.

use std::fmt;
use std::path::Path;

use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::ConfigError;
use super::definition::settings;
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
    /// The texts in a nested value, each with its own place.
    pub(crate) parts: Vec<(String, String)>,
}

impl FileLine {
    /// Returns the number of its line; `?` if the file is not written one key a line.
    pub(crate) fn number(&self) -> &str {
        self.place.rsplit(':').nth(1).unwrap_or("?")
    }
}

/// Reads and parses the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<FileLine>, ConfigError> {
    let name = path.display().to_string();
    let text = read_limited_text(path, LARGEST)
        .map_err(|error| ConfigError::new(name.clone(), format!("could not read the file: {error}")))?;
    parse(&name, &text)
}

/// Parses `text`, and keeps scalars exactly as written.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<FileLine>, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read: Result<Option<Entries>, _> = serde_yaml::from_str(text);
    let entries = read.map_err(|error| unreadable(name, &error))?.unwrap_or_default();
    let mut lines = text.lines().zip(1..);
    let mut indented = None;
    let lines = entries.0.into_iter().map(|(key, values)| {
        let column = lines.find_map(|(line, number)| {
            // A line of a text may look like a key, but it is indented more than the first one.
            let column = column(line, &key)?;
            (*indented.get_or_insert(column) == column).then_some((number, column))
        });
        let (place, parts) = match column {
            Some((line, column)) => {
                let parts = parts(name, text, line, &values);
                (format!("{name}:{line}:{column}"), parts)
            }
            None => (name.to_owned(), Vec::new()),
        };
        FileLine { key, values, place, parts }
    });
    Ok(lines.collect())
}

/// Returns the column of a key that begins a line.
fn column(line: &str, key: &str) -> Option<usize> {
    let quoted = line.trim_start();
    let rest = quoted.trim_start_matches(['"', '\'']).strip_prefix(key)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    rest.starts_with(':').then(|| line.len() - quoted.len() + 1)
}

/// Returns the texts and their words in a list of mappings that [`mappings`] wrote, each with its place after
/// the key on the line `first`: the parser has no positions of valid values.
fn parts(name: &str, text: &str, first: usize, values: &[String]) -> Vec<(String, String)> {
    let place = |at: usize| {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = text[..start].matches('\n').count() + 1;
        format!("{name}:{line}:{}", text[start..at].chars().count() + 1)
    };
    let lists = values.iter().filter_map(|value| serde_json::from_str::<Vec<Map<String, Value>>>(value).ok());
    let (mut begin, mut parts) = (text.split_inclusive('\n').take(first - 1).map(str::len).sum(), Vec::new());
    // The mappings are in the order of the file, and their members in another one.
    for mapping in lists.flatten() {
        let mut end = begin;
        for value in mapping.values().filter_map(Value::as_str) {
            // A text that is written in another way has no place of its own.
            let Some(at) = text[begin..].find(value).map(|at| begin + at) else { continue };
            for word in value.split_whitespace().chain([value]) {
                let offset = value.find(word).unwrap_or_default();
                parts.push((word.to_owned(), place(at + offset)));
            }
            end = end.max(at + value.len());
        }
        begin = end;
    }
    parts
}

/// Returns the error for a file that is not a flat mapping. The parser's own message may quote a value, which
/// may be a secret.
fn unreadable(name: &str, error: &serde_yaml::Error) -> ConfigError {
    let place = error.location().map(|at| format!("{name}:{}:{}", at.line(), at.column()));
    let text = error.to_string();
    let message = if text.contains("more than one document") {
        "the file must contain only one YAML document"
    } else if text.contains("duplicate entry") {
        "an entry has a key twice"
    } else if text.contains(NO_MAPPINGS) {
        NO_MAPPINGS
    } else if text.contains("invalid type") {
        "settings are not nested: write one `key: value` per line"
    } else {
        "invalid YAML"
    };
    ConfigError::new(place.unwrap_or_else(|| name.to_owned()), message)
}

/// The keys of the file in their order, also repeated ones, each with its values as written.
#[derive(Default)]
struct Entries(Vec<(String, Vec<String>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one `key: value` per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let setting = settings().iter().find(|setting| setting.key == Some(key.as_str()));
            let values = match setting {
                // It is reported without its value, which may be a secret.
                None => map.next_value::<IgnoredAny>().map(|_| Vec::new())?,
                Some(setting) if setting.is_nested() => {
                    mappings(map.next_value()?).ok_or_else(|| A::Error::custom(NO_MAPPINGS))?
                }
                Some(setting) if setting.is_list() => map.next_value::<OneOrMany>()?.0,
                // An empty value is unset.
                Some(_) => {
                    let text = map.next_value::<Option<String>>()?;
                    text.filter(|text| !text.is_empty()).into_iter().collect()
                }
            };
            entries.push((key, values));
        }
        Ok(Entries(entries))
    }
}

/// What is wrong with a value that is not a list of mappings.
const NO_MAPPINGS: &str = "this is a list of mappings: begin each entry with `- `";

/// Returns a list of mappings as one value, which its own parser reads; none if it is anything else.
fn mappings(value: Option<serde_yaml::Value>) -> Option<Vec<String>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Some(Vec::new()) };
    let list = value.as_sequence().filter(|list| list.iter().all(serde_yaml::Value::is_mapping))?;
    let list = Some(list).filter(|list| !list.is_empty());
    Some(list.iter().map(|list| serde_json::to_string(list).unwrap_or_default()).collect())
}

/// The texts of a list of scalars, as written, or of one scalar.
#[derive(Default)]
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of values, or one value")
    }

    fn visit_unit<E>(self) -> Result<OneOrMany, E> {
        Ok(OneOrMany::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_u64<E>(self, value: u64) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_f64<E>(self, value: f64) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_str<E>(self, value: &str) -> Result<OneOrMany, E> {
        let text = Some(value).filter(|text| !text.is_empty());
        Ok(OneOrMany(text.map(str::to_owned).into_iter().collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element::<Option<String>>()? {
            texts.push(text.unwrap_or_default());
        }
        Ok(OneOrMany(texts))
    }
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
        let text = "# root: no\nmax_change_ratio: 0.30\nonly: [a/**, 'b c']\nref: ~\nroot: ''\n'state_name' : 007\n\
                    only:\n  - x\nonly: [\n  y\n]\nonly: z\nfirst_parent: true\nlayout: |\n  root: x\nroot: no\n\
                    windows: [{ deny: a/**, at: Fri 16:00 }]\nother: [{ a: b }]\n";
        let expected = [
            ("max_change_ratio", vec!["0.30"], "f.yaml:2:1"),
            ("only", vec!["a/**", "b c"], "f.yaml:3:1"),
            ("ref", vec![], "f.yaml:4:1"),
            ("root", vec![], "f.yaml:5:1"),
            ("state_name", vec!["007"], "f.yaml:6:1"),
            ("only", vec!["x"], "f.yaml:7:1"),
            ("only", vec!["y"], "f.yaml:9:1"),
            ("only", vec!["z"], "f.yaml:12:1"),
            ("first_parent", vec!["true"], "f.yaml:13:1"),
            ("layout", vec!["root: x\n"], "f.yaml:14:1"),
            ("root", vec!["no"], "f.yaml:16:1"),
            ("windows", vec![r#"[{"deny":"a/**","at":"Fri 16:00"}]"#], "f.yaml:17:1"),
            ("other", vec![], "f.yaml:18:1"),
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
            ("root: {b: c}\n", "f.yaml:1:7"),
            ("root: [b]\n", "f.yaml:1:7"),
            ("- a\n", "f.yaml:1:1"),
            ("word\n", "f.yaml:1:1"),
            ("only: [[b]]\n", "f.yaml:1:8"),
            ("only: {b: c}\n", "f.yaml:1:7"),
            ("root: 1\n---\nref: 2\n", "f.yaml"),
        ] {
            assert_eq!(parse("f.yaml", text).unwrap_err().place, place, "{text:?}");
        }
        assert!(parse("f.yaml", "a: 'x\n").is_err());
    }

    #[test]
    fn only_what_is_nested_is_called_nested() {
        for (text, values) in [
            ("only: 1\n", vec!["1"]),
            ("only: true\n", vec!["true"]),
            ("only: [null]\n", vec![""]),
            ("only: [007, 1.50, yes]\n", vec!["007", "1.50", "yes"]),
        ] {
            assert_eq!(flat(text)[0].1, values, "{text}");
        }
        for (text, message) in [
            ("only: {a: b}\n", "settings are not nested"),
            ("only: [{a: b}]\n", "settings are not nested"),
            ("windows: 1\n", NO_MAPPINGS),
            ("windows: {deny: a/**}\n", NO_MAPPINGS),
            ("windows: [a/**]\n", NO_MAPPINGS),
        ] {
            let error = parse("f.yaml", text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error:?}");
        }
    }
}

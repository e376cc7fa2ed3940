//! Making what a program prints the same on every machine.

use std::path::Path;

/// Replaces paths, ports and commit ids by names, so that what is printed can be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Normaliser {
    names: Vec<(String, String)>,
}

impl Normaliser {
    /// Calls `path` by `name` from now on; the longest path wins.
    pub(crate) fn path(mut self, path: &Path, name: &str) -> Self {
        self.names.push((path.display().to_string(), name.to_owned()));
        self.names.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self
    }

    /// Calls `text` by `name` from now on.
    pub(crate) fn text(mut self, text: &str, name: &str) -> Self {
        self.names.push((text.to_owned(), name.to_owned()));
        self
    }

    /// Returns `text` with every name in place.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.names {
            text = text.replace(from, to);
        }
        ids(&as_of(text))
    }
}

/// Replaces the time since which a report on drift is valid.
fn as_of(text: String) -> String {
    let Some((before, rest)) = text.split_once("Changes on the service after ") else {
        return text;
    };
    let (_, after) = rest.split_once(" may be missing").unwrap_or_default();
    format!("{before}Changes on the service after <time> may be missing{after}")
}

/// Replaces every run of 10, 40 or 64 hexadecimal digits.
fn ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_hex) {
        let run = rest[start..].find(|c| !is_hex(c)).unwrap_or(rest.len() - start);
        out.push_str(&rest[..start]);
        let word = &rest[start..start + run];
        out.push_str(match run {
            10 if stands_alone(&rest[..start], &rest[start + run..]) => "<short>",
            40 => "<rev>",
            64 => "<digest>",
            _ => word,
        });
        rest = &rest[start + run..];
    }
    out.push_str(rest);
    out
}

/// Short ids are printed between spaces; a number in JSON is not.
fn stands_alone(before: &str, after: &str) -> bool {
    let space = |character: Option<char>| character.is_none_or(char::is_whitespace);
    space(before.chars().next_back()) && space(after.chars().next())
}

fn is_hex(character: char) -> bool {
    matches!(character, '0'..='9' | 'a'..='f')
}

#[test]
fn ids_and_paths_get_names_and_words_stay() {
    let normaliser =
        Normaliser::default().path(Path::new("/tmp/x"), "$TMP").path(Path::new("/tmp/x/repo"), "$REPO");
    let id = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(
        normaliser.apply(&format!("a bed at {id}: /tmp/x/repo/a, /tmp/x/b, {id}{id}")),
        format!("a bed at <rev>: $REPO/a, $TMP/b, {id}{id}")
    );
    assert_eq!(normaliser.apply("at 0123456789\nand 1234567890,"), "at <short>\nand 1234567890,");
}

//! Users as JSON: one object per line, with `key` and attributes as members.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::chunks::Chunk;
use crate::evaluate::{Audience, Person, Tally};
use crate::model::{cut, escaped};

/// Counts the users of a chunk.
pub(super) fn count(chunk: &Chunk, audience: &Audience, person: &mut Person<'_>, tally: &mut Tally) {
    for (line, number) in chunk.bytes.split(|byte| *byte == b'\n').zip(chunk.first_line..) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        person.reset(None);
        let mut parser = serde_json::Deserializer::from_slice(line);
        let filled = Fill(person).deserialize(&mut parser).and_then(|()| parser.end());
        match filled {
            Ok(()) => audience.count(person, number, tally),
            Err(error) => tally.broken(number, reason(&error)),
        }
    }
}

/// Returns the reason without the position, which would be that in a line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    escaped(&cut(text, 100)).to_string()
}

/// Fills a user from an object.
struct Fill<'p, 'a>(&'p mut Person<'a>);

impl<'de> DeserializeSeed<'de> for Fill<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the user's key and attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let person = self.0;
        while let Some(MemberText(name)) = members.next_key()? {
            let raw: &RawValue = members.next_value()?;
            let Some(text) =
                text(raw.get()).map_err(|reason| A::Error::custom(format!("`{name}` {reason}")))?
            else {
                continue;
            };
            let is_repeated = match name.as_ref() {
                "key" => {
                    let is_repeated = person.key().is_some();
                    person.set_key(&text);
                    is_repeated
                }
                name => person.set(name, &text),
            };
            if is_repeated {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
        }
        Ok(())
    }
}

/// Returns a value as text, numbers and booleans as they are written; `None` for null.
fn text(raw: &str) -> Result<Option<Cow<'_, str>>, String> {
    Ok(match raw.as_bytes().first() {
        Some(b'n') => None,
        Some(b'[' | b'{') => return Err("is a list or an object, not text".to_owned()),
        Some(b'"') => {
            let inner = &raw[1..raw.len() - 1];
            match inner.contains('\\') {
                false => Some(Cow::Borrowed(inner)),
                true => Some(Cow::Owned(
                    serde_json::from_str(raw).map_err(|error| reason(&error))?,
                )),
            }
        }
        _ => Some(Cow::Borrowed(raw)),
    })
}

/// The name of a member, borrowed if it has no escape sequence.
#[derive(Deserialize)]
struct MemberText<'a>(#[serde(borrow)] Cow<'a, str>);

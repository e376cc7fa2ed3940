//! Extracts the JSON text from a webhook that is sent as a form, while the form arrives.
//!
//! GitHub, Gitea and Forgejo offer the content type `application/x-www-form-urlencoded`: the JSON text is the value of
//! the field `payload`. Gitea and Forgejo sign that text, not the form, so the text has to be hashed as it arrives.

use axum::http::{HeaderMap, header};

/// The field that holds the JSON text.
const FIELD: &[u8] = b"payload=";

pub(super) fn is_form(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        // Parameters such as `charset` may follow the type.
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"))
}

/// Decodes the value of the first field `payload` of a form, chunk by chunk.
#[derive(Debug, Default)]
pub(super) struct PayloadField {
    part: Part,
    /// An escape such as `%2C` of which the end has not arrived yet.
    escape: Vec<u8>,
}

/// The part of the form that the next byte belongs to.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// The name of a field, of which so many bytes match [`FIELD`].
    Name(usize),
    /// Another field.
    Other,
    Past,
    Value,
}

impl Default for Part {
    fn default() -> Self {
        Self::Name(0)
    }
}

impl PayloadField {
    /// Returns the decoded bytes of the value that `chunk` completes.
    pub(super) fn decode(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::with_capacity(chunk.len());
        for &byte in chunk {
            self.part = match self.part {
                Part::Value if byte == b'&' => Part::Past,
                Part::Value => {
                    self.value(byte, &mut decoded);
                    Part::Value
                }
                Part::Name(_) | Part::Other if byte == b'&' => Part::Name(0),
                Part::Name(matched) if FIELD[matched] == byte => match matched + 1 == FIELD.len() {
                    true => Part::Value,
                    false => Part::Name(matched + 1),
                },
                Part::Name(_) | Part::Other => Part::Other,
                Part::Past => Part::Past,
            };
        }
        decoded
    }

    fn value(&mut self, byte: u8, decoded: &mut Vec<u8>) {
        if self.escape.is_empty() {
            match byte {
                b'%' => self.escape.push(byte),
                b'+' => decoded.push(b' '),
                _ => decoded.push(byte),
            }
            return;
        }
        self.escape.push(byte);
        if self.escape.len() == 3 {
            let escape = std::mem::take(&mut self.escape);
            // A malformed escape stands for itself, as in browsers.
            decoded.extend(percent_encoding::percent_decode(&escape));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_decoded_however_the_form_is_cut_into_chunks() {
        let form = "other=1&pay=x&payload=%7B%22a%22%3A+%22%C3%A9%2B%22%7D&payload=second";
        for size in [1, 2, 3, 5, 7, 1000] {
            let mut field = PayloadField::default();
            let decoded: Vec<u8> = form
                .as_bytes()
                .chunks(size)
                .flat_map(|chunk| field.decode(chunk))
                .collect();
            assert_eq!(String::from_utf8(decoded).unwrap(), r#"{"a": "é+"}"#, "{size}");
        }
    }

    #[test]
    fn a_form_without_a_payload_has_no_text() {
        for form in ["", "a=b", "payloads=x", "xpayload=x", "payload"] {
            assert_eq!(PayloadField::default().decode(form.as_bytes()), b"", "{form}");
        }
    }
}

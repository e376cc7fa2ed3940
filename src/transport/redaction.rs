//! Makes text of a server fit for a message: without the secret of the request, short and escaped.

use crate::model::{cut, escaped};

/// In characters.
const LONGEST_ERROR: usize = 300;

/// Removes `secret` from `text`, shortens it and escapes it.
pub(crate) fn sanitized(text: &str, secret: &str) -> String {
    // Redaction comes before the cut, which could leave a part of the token.
    let text = redacted(text.trim(), secret);
    escaped(&cut(&text, LONGEST_ERROR)).to_string()
}

/// Replaces the token by `***`, also where it is percent-encoded.
pub(crate) fn redacted(text: &str, secret: &str) -> String {
    if secret.is_empty() {
        return text.to_owned();
    }
    let encoded =
        percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
    text.replace(secret, "***").replace(&encoded, "***")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_without_the_token_short_and_on_one_line() {
        assert_eq!(sanitized(" no\n::error::x ", ""), "no\\n::error::x");
        assert_eq!(sanitized("bad api-1 and api%2D1", "api-1"), "bad *** and ***");
        assert_eq!(sanitized(&"a".repeat(1000), "").chars().count(), LONGEST_ERROR);
        let split = format!("{}api-1", "a".repeat(LONGEST_ERROR - 3));
        assert!(!sanitized(&split, "api-1").contains("ap"), "redacted before it is cut");
    }
}

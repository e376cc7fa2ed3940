//! Making what the service says fit for a message: without the token, short, on one line.

use crate::model::escaped;

/// The longest text of the service that is shown, in characters.
const LONGEST: usize = 300;

/// Shows foreign `text` without `secret`, cut and escaped.
pub(super) fn shown(text: &str, secret: &str) -> String {
    let text = redacted(text.trim(), secret);
    escaped(&cut(&text)).to_string()
}

/// Replaces the token wherever the service repeats it, as it is or percent-encoded.
fn redacted(text: &str, secret: &str) -> String {
    if secret.is_empty() {
        return text.to_owned();
    }
    let encoded =
        percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
    text.replace(secret, "***").replace(&encoded, "***")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_without_the_token_short_and_on_one_line() {
        assert_eq!(shown(" no\n::error::x ", ""), "no\\n::error::x");
        assert_eq!(shown("bad api-1 and api%2D1", "api-1"), "bad *** and ***");
        assert_eq!(shown(&"a".repeat(1000), "").chars().count(), LONGEST);
        let split = format!("{}api-1", "a".repeat(LONGEST - 3));
        assert!(
            !shown(&split, "api-1").contains("ap"),
            "redacted before it is cut"
        );
    }
}

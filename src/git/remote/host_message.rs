//! Extracts the message of a Git host from an HTTPS response, from the output of ssh, or from the side band of a push.

use std::fmt;

use crate::model::escaped;

/// In characters.
const LONGEST: usize = 500;

/// A message of a Git host: escaped, on one line, and at most 500 characters long.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostMessage(String);

impl HostMessage {
    /// Joins the lines of `text` that contain a letter or a digit, if any.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::of(text.lines())
    }

    /// Joins the lines of Git's side band, which the remote program printed during a push.
    #[must_use]
    pub fn of_side_band(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        Self::of(text.split(['\r', '\n']).map(unframed))
    }

    /// Extracts the message from the stderr of ssh, which includes that of the remote program.
    ///
    /// Hosts mark their lines with `error:`, `ERROR:`, `remote:`, or `fatal:`, and Gitea adds empty marked lines. Without a
    /// marked line, the last line is the message; other lines, such as a banner, are ignored.
    pub(super) fn of_ssh(stderr: &str) -> Option<Self> {
        let marked = stderr.lines().filter(|line| unframed(line) != line.trim());
        Self::of(marked.map(unframed)).or_else(|| {
            let mut lines = stderr.lines().rev();
            lines.find_map(|line| Self::of([unframed(line)]))
        })
    }

    /// Extracts the message from the body of a response: plain text, the title of an HTML page, or a member of JSON.
    pub(super) fn of_body(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(body);
        match content_type?.split(';').next()?.trim() {
            "text/plain" => Self::of(text.lines().map(unframed)),
            "text/html" | "application/xhtml+xml" => Self::of([title(&text)?.as_str()]),
            "application/json" => {
                let json: serde_json::Value = serde_json::from_str(&text).ok()?;
                let members = ["message", "error_description", "error"];
                let mut messages = members.iter().filter_map(|member| json.get(member)?.as_str());
                messages.find_map(Self::new)
            }
            _ => None,
        }
    }

    fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let lines = lines
            .into_iter()
            .map(str::trim)
            .filter(|line| line.contains(char::is_alphanumeric));
        let text = lines.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then(|| Self(cut(&text)))
    }
}

impl fmt::Display for HostMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Removes the marks of a host from a line.
fn unframed(line: &str) -> &str {
    let mut line = line.trim();
    while let Some((mark, rest)) = line.split_once(':')
        && ["error", "fatal", "remote"]
            .iter()
            .any(|known| mark.eq_ignore_ascii_case(known))
    {
        line = rest.trim();
    }
    line
}

/// Returns the title of an HTML page, on one line and with the common entities replaced.
fn title(page: &str) -> Option<String> {
    // Positions are the same in both texts, because only ASCII letters change.
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let mut text = page[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    for (entity, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#34;", "\""),
        // This entity comes last, so that `&amp;lt;` becomes `&lt;` and not `<`.
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    Some(text)
}

/// Escapes `text`, and shortens the result with an ellipsis if it is too long.
fn cut(text: &str) -> String {
    let whole = escaped(text).to_string();
    if whole.chars().count() <= LONGEST {
        return whole;
    }
    let mut short = String::new();
    let mut length = 0;
    // Each character is escaped separately, so that the cut is never inside an escape sequence.
    for character in text.chars() {
        let shown = escaped(character.encode_utf8(&mut [0; 4])).to_string();
        length += shown.chars().count();
        if length >= LONGEST {
            break;
        }
        short.push_str(&shown);
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(message: Option<HostMessage>) -> Option<String> {
        message.map(|message| message.to_string())
    }

    #[test]
    fn the_message_is_found_in_the_output_of_ssh() {
        for (printed, sentence) in [
            // Gitea and Forgejo.
            (
                "error:\nerror: Gitea: Unauthorized: Deploy Key: 1:ci is not authorized to write to acme/toggles.\nerror:\n",
                Some("Gitea: Unauthorized: Deploy Key: 1:ci is not authorized to write to acme/toggles."),
            ),
            // GitLab.
            (
                "remote: \nremote: ========\nremote: \nremote: ERROR: You are not allowed to push.\nremote: \n\
                 remote: ========\n",
                Some("You are not allowed to push."),
            ),
            // GitHub, below a banner.
            (
                "Authorized use only: see https://example.org\nERROR: The key you are authenticating with has been \
                 marked as read only.\n",
                Some("The key you are authenticating with has been marked as read only."),
            ),
            (
                "ssh: Could not resolve hostname x: Name or service not known\r\n",
                Some("ssh: Could not resolve hostname x: Name or service not known"),
            ),
            ("error:\nerror:\n", None),
            ("", None),
        ] {
            assert_eq!(
                shown(HostMessage::of_ssh(printed)).as_deref(),
                sentence,
                "{printed}"
            );
        }
    }

    #[test]
    fn the_message_is_found_in_a_body() {
        for (kind, body, sentence) in [
            (
                "text/plain; charset=utf-8",
                "Unauthorized\n",
                Some("Unauthorized"),
            ),
            (
                "text/plain",
                "remote: HTTP Basic: Access denied.\nremote: See the documentation.",
                Some("HTTP Basic: Access denied.; See the documentation."),
            ),
            (
                "text/html; charset=UTF-8",
                "<!DOCTYPE html><html><head><TITLE lang=en>\n Sign in &amp;\n go </Title>",
                Some("Sign in & go"),
            ),
            ("text/html", "<html>no title</html>", None),
            (
                "application/json",
                r#"{"message":"token is required"}"#,
                Some("token is required"),
            ),
            ("application/json", "[]", None),
            ("application/octet-stream", "text", None),
        ] {
            let found = HostMessage::of_body(Some(kind), body.as_bytes());
            assert_eq!(shown(found).as_deref(), sentence, "{kind} {body}");
        }
        assert_eq!(HostMessage::of_body(None, b"text"), None);
    }

    #[test]
    fn a_message_is_escaped_and_cut() {
        let hostile = HostMessage::new("\u{1b}[2Jx\n::error::y").unwrap().to_string();
        assert_eq!(hostile, "\\u{1b}[2Jx; ::error::y");
        for text in ["é".repeat(5000), "a\u{1b}".repeat(5000)] {
            let cut = HostMessage::new(&text).unwrap().to_string();
            let length = cut.chars().count();
            assert!(
                (490..=500).contains(&length) && cut.ends_with('…'),
                "{length} {cut}"
            );
        }
        let whole = "x".repeat(500);
        assert_eq!(HostMessage::new(&whole).unwrap().to_string(), whole);
    }
}

//! Extracts the sentence of a Git host that refuses, from what it answers over HTTPS, over ssh or beside a push.

use std::fmt;

use crate::model::escaped;

/// The longest text of a host that is shown, in characters.
const LONGEST: usize = 500;

/// The text of a host: escaped, on one line, and at most 500 characters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostWords(String);

impl HostWords {
    /// Joins the lines of `text` that hold a letter or a digit. Returns nothing if there is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::of(text.lines())
    }

    /// Joins the lines that a program at the other end printed during a push: Git's side band.
    #[must_use]
    pub fn of_side_band(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        Self::of(text.split(['\r', '\n']).map(unframed))
    }

    /// Extracts the sentence from what ssh and the program at the other end printed.
    ///
    /// Hosts mark their lines with `error:`, `ERROR:`, `remote:` or `fatal:`, and Gitea frames its sentence with empty
    /// ones. Other lines, such as a banner, count only if there is no such line; then the last one does.
    pub(super) fn of_ssh(words: &str) -> Option<Self> {
        let marked = words.lines().filter(|line| unframed(line) != line.trim());
        Self::of(marked.map(unframed)).or_else(|| {
            let mut lines = words.lines().rev();
            lines.find_map(|line| Self::of([unframed(line)]))
        })
    }

    /// Extracts the sentence from the body of a response: a plain text, the title of a page, or the message in JSON.
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

impl fmt::Display for HostWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a line without the words that mark it as one of the host.
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
    // The positions in both texts are the same: only ASCII letters change.
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
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    Some(text)
}

/// Escapes `text`, and cuts it with an ellipsis if it is too long after that.
fn cut(text: &str) -> String {
    let whole = escaped(text).to_string();
    if whole.chars().count() <= LONGEST {
        return whole;
    }
    let mut short = String::new();
    let mut length = 0;
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

    fn shown(words: Option<HostWords>) -> Option<String> {
        words.map(|words| words.to_string())
    }

    #[test]
    fn the_sentence_is_found_in_what_ssh_prints() {
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
                shown(HostWords::of_ssh(printed)).as_deref(),
                sentence,
                "{printed}"
            );
        }
    }

    #[test]
    fn the_sentence_is_found_in_a_body() {
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
            let found = HostWords::of_body(Some(kind), body.as_bytes());
            assert_eq!(shown(found).as_deref(), sentence, "{kind} {body}");
        }
        assert_eq!(HostWords::of_body(None, b"text"), None);
    }

    #[test]
    fn words_are_escaped_and_cut() {
        let hostile = HostWords::new("\u{1b}[2Jx\n::error::y").unwrap().to_string();
        assert_eq!(hostile, "\\u{1b}[2Jx; ::error::y");
        for text in ["é".repeat(5000), "a\u{1b}".repeat(5000)] {
            let cut = HostWords::new(&text).unwrap().to_string();
            let length = cut.chars().count();
            assert!(
                (490..=500).contains(&length) && cut.ends_with('…'),
                "{length} {cut}"
            );
        }
        let whole = "x".repeat(500);
        assert_eq!(HostWords::new(&whole).unwrap().to_string(), whole);
    }
}

//! What Git, ssh or a host said, as a message shows it to people.

use std::fmt;

use crate::model::escaped;
use crate::transport::redacted;

/// In characters.
const LONGEST_WORDS: usize = 500;

/// Lines that add nothing to the ones around them.
const FILLERS: &[&str] = &[
    "Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
    "the remote end hung up unexpectedly",
];

/// What Git, ssh, or a host said: on one line, escaped, and at most 500 characters long. May be empty.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GitWords {
    pub(super) lines: Vec<String>,
    is_of_host: bool,
}

impl GitWords {
    /// Keeps what `stderr` says besides the progress of a transfer.
    pub(super) fn of(stderr: &str) -> Self {
        let is_of_host = lines(stderr).any(|line| line.starts_with("remote:"));
        let said: Vec<&str> = lines(stderr)
            .map(unmarked)
            .map(without_bundle)
            .filter(|line| line.contains(char::is_alphanumeric))
            .collect();
        let is_filler = |line: &&str| FILLERS.iter().any(|filler| line.starts_with(filler));
        let mut telling: Vec<&str> = said.iter().copied().filter(|line| !is_filler(line)).collect();
        if telling.is_empty() {
            telling = said;
        }
        Self { lines: telling.into_iter().map(without_users).collect(), is_of_host }
    }

    /// Keeps only what the host and its hooks printed.
    pub(super) fn of_host(stderr: &str) -> Self {
        let said: Vec<&str> = lines(stderr).filter(|line| line.starts_with("remote:")).collect();
        Self::of(&said.join("\n"))
    }

    /// Returns whether the host itself said something, rather than only Git.
    pub(super) fn is_of_host(&self) -> bool {
        self.is_of_host
    }

    /// Replaces `secret` where a host repeats it.
    pub(super) fn without(mut self, secret: &str) -> Self {
        for line in &mut self.lines {
            *line = redacted(line, secret);
        }
        self
    }
}

/// Prints the words after a colon; nothing if there are none.
impl fmt::Display for GitWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", cut(&self.lines.join("; ")))
    }
}

/// Returns a line without the file of trusted certificates, which is another one in each step.
fn without_bundle(line: &str) -> &str {
    line.split_once(" CAfile:").map_or(line, |(before, _)| before.trim_end_matches('.'))
}

/// Returns a line without the users of its URLs: that of a proxy may be a secret.
fn without_users(line: &str) -> String {
    let mut parts = line.split("://");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_end = |c: char| matches!(c, '/' | '\'' | '"') || c.is_whitespace();
        let end = part.find(is_end).unwrap_or(part.len());
        let host = part[..end].rfind('@').map_or(0, |at| at + 1);
        text.push_str("://");
        text.push_str(&part[host..]);
    }
    text
}

/// Splits stderr into lines, without the progress of a transfer.
pub(super) fn lines(stderr: &str) -> impl Iterator<Item = &str> {
    let lines = stderr.split(['\r', '\n']).map(str::trim);
    lines.filter(|line| {
        let progress = line.strip_prefix("remote:").unwrap_or(line).trim_start();
        let is_progress = [
            "Enumerating ",
            "Counting ",
            "Compressing ",
            "Receiving ",
            "Resolving ",
            "Writing ",
            "Delta ",
            "Total ",
            "Unpacking ",
            "Updating ",
            "Checking ",
        ]
        .iter()
        .any(|word| progress.starts_with(word));
        let is_notice = progress.starts_with("warning: redirecting to ") || progress.starts_with("From ");
        !is_progress && !is_notice
    })
}

/// Removes the marks of Git and of a host from a line.
fn unmarked(line: &str) -> &str {
    let mut line = line.trim();
    while let Some((mark, rest)) = line.split_once(':')
        && ["error", "fatal", "remote"].iter().any(|known| mark.eq_ignore_ascii_case(known))
    {
        line = rest.trim();
    }
    line
}

/// Escapes `text`, and shortens the result with an ellipsis if it is too long.
fn cut(text: &str) -> String {
    let whole = escaped(text).to_string();
    if whole.chars().count() <= LONGEST_WORDS {
        return whole;
    }
    let mut short = String::new();
    let mut length = 0;
    // Each character is escaped separately, so that the cut is never inside an escape sequence.
    for character in text.chars() {
        let shown = escaped(character.encode_utf8(&mut [0; 4])).to_string();
        length += shown.chars().count();
        if length >= LONGEST_WORDS {
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

    fn shown(stderr: &str) -> String {
        GitWords::of(stderr).to_string()
    }

    #[test]
    fn what_was_said_is_kept_without_progress_marks_and_fillers() {
        for (stderr, words) in [
            (
                "remote: Counting objects: 100% (3/3), done.\rReceiving objects:  50%\nfatal: early EOF\n",
                ": early EOF",
            ),
            (
                "error:\nerror: Gitea: Unauthorized: not yours.\nerror:\nfatal: Could not read from remote repository.\n\n\
                 Please make sure you have the correct access rights\nand the repository exists.\n",
                ": Gitea: Unauthorized: not yours.",
            ),
            ("fatal: Could not read from remote repository.\n", ": Could not read from remote repository."),
            (
                "fatal: could not read Password for 'http://s3cr3t%40a:b@127.0.0.1:80': a@b, see https://h/a@b",
                ": could not read Password for 'http://127.0.0.1:80': a@b, see https://h/a@b",
            ),
            ("remote: \nremote: ERROR: No.\nremote: \n", ": No."),
            ("\u{1b}[2Jx\n::error::y", ": \\u{1b}[2Jx; ::error::y"),
            ("", ""),
        ] {
            assert_eq!(shown(stderr), words, "{stderr}");
        }
        assert_eq!(GitWords::of_host("remote: No.\nTo x\n").to_string(), ": No.");
        let repeated = GitWords::of("remote: bad password pw-1\n").without("pw-1");
        assert_eq!(repeated.to_string(), ": bad password ***");
    }

    #[test]
    fn words_are_cut_between_escapes() {
        for text in ["é".repeat(5000), "a\u{1b}".repeat(5000)] {
            let cut = cut(&text);
            let length = cut.chars().count();
            assert!((490..=500).contains(&length) && cut.ends_with('…'), "{length} {cut}");
        }
        let whole = "x".repeat(500);
        assert_eq!(cut(&whole), whole);
    }
}

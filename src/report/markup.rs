//! Markdown: foreign text that cannot act as markup, blocks of code, and pages of bounded length.

use super::defused;
use crate::model::{counted, cut, escaped, listed};

/// Returns `text`, escaped, as a code span that it cannot close.
pub(crate) fn code(text: &str) -> String {
    let text = escaped(text).to_string();
    let ticks = "`".repeat(longest_run(&text) + 1);
    // CommonMark strips one space on each side, so that the text may begin or end with a backtick.
    format!("{ticks} {text} {ticks}")
}

/// Returns one line of text with its parts in backticks, and ids of commits, as code spans. A text with anything
/// else but plain words outside of them becomes one code span.
///
/// A forge turns more into links and mentions than CommonMark does (`@name`, `#1`, `www.example.com`,
/// `:smile:`), and does so after it has removed backslashes. Only a code span protects a text.
pub(super) fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return code(text);
    }
    let parts = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => with_commits(part),
        _ => (!part.is_empty()).then(|| format!("`{}`", spaced(&escaped(part).to_string()))),
    });
    parts.collect::<Option<String>>().unwrap_or_else(|| code(text))
}

/// Returns plain text with the ids of commits as code spans; none if anything else is not plain.
fn with_commits(text: &str) -> Option<String> {
    let is_commit = |word: &str| word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split(' ').map(|word| match word.trim_end_matches([',', '.', ';', ':', ')']) {
        id if is_commit(id) => Some(code(id) + &word[id.len()..]),
        _ => is_plain(word).then(|| word.to_owned()),
    });
    let words: Vec<String> = words.collect::<Option<_>>()?;
    // A span beside another one would be one with it.
    let is_apart = !words.first()?.starts_with('`') && !words.last()?.ends_with('`');
    is_apart.then(|| words.join(" "))
}

/// Returns a reason: one that names commands or files in backticks as [`inline`] does, and another one as a code
/// span.
pub(crate) fn spans(reason: &str) -> String {
    if reason.contains('`') { inline(reason) } else { code(reason) }
}

/// Returns the content of a code span with the spaces that CommonMark would strip.
fn spaced(text: &str) -> String {
    if text.starts_with(' ') && text.ends_with(' ') { format!(" {text} ") } else { text.to_owned() }
}

/// Returns whether the text has only words, short numbers, operators and punctuation between them.
fn is_plain(text: &str) -> bool {
    const OPERATORS: [&str; 10] = [">", ">=", "<", "<=", "=", "!=", "→", "·", "…", "%"];
    text.split(' ').all(|word| {
        let inner = word.trim_start_matches('(').trim_end_matches([',', '.', ';', ':', '?', ')']);
        let is_number = inner
            .trim_end_matches('%')
            .split(',')
            .all(|part| (1..=6).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()));
        let is_word = inner
            .split(['-', '\''])
            .all(|part| part.chars().all(char::is_alphabetic) && !is_commit_like(part));
        // `-` alone could begin a list.
        OPERATORS.contains(&inner) || is_number || (is_word && !inner.starts_with('-'))
    })
}

/// Returns whether the word contains seven hexadecimal digits in a row, which a forge could take for the id
/// of a commit.
fn is_commit_like(word: &str) -> bool {
    word.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= 7)
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Joins the first parts that fit into `limit` bytes, and counts the others.
pub(crate) fn fitting(parts: impl IntoIterator<Item = String>, limit: usize) -> String {
    let mut page = Page::new(limit, "", "");
    page.section("", usize::MAX);
    for part in parts {
        page.row("more row", 1, || part);
    }
    page.finish(
        |left_out| format!("\n{} did not fit; `-o json` has them all.\n", listed(&left_out)),
        RestPosition::End,
    )
}

/// Where a page says what did not fit.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum RestPosition {
    End,
    /// After the head.
    Top,
}

/// A page of Markdown of at most this many bytes. Rows are printed in their order until one does not fit; the
/// others are counted. Folds get the room that the rows leave.
pub(super) struct Page {
    limit: usize,
    /// The number of bytes that are left.
    room: usize,
    head: String,
    sections: Vec<PageSection>,
    foot: String,
    /// The numbers of rows and folds that are not on the page, by noun, in order of appearance.
    left_out: Vec<(&'static str, usize)>,
}

struct PageSection {
    heading: String,
    rows: String,
    /// The number of bytes that its rows may take.
    most: usize,
    folds: Vec<String>,
}

impl Page {
    /// The room for the sentence about what is left out.
    const RESERVE: usize = 400;
    /// The room for the markup of a fold.
    const MARKUP: usize = 100;

    pub(super) fn new(limit: usize, head: &str, foot: &str) -> Self {
        let (head, foot) = (defused(head), defused(foot));
        let used = head.len() + foot.len() + Self::RESERVE.min(limit / 2);
        Self {
            limit,
            room: limit.saturating_sub(used),
            head,
            sections: Vec::new(),
            foot,
            left_out: Vec::new(),
        }
    }

    /// Begins a section whose rows take at most this many bytes, and returns its number. Its heading is only
    /// there with a row.
    pub(super) fn section(&mut self, heading: &str, most: usize) -> usize {
        self.sections.push(PageSection {
            heading: defused(heading),
            rows: String::new(),
            most,
            folds: Vec::new(),
        });
        self.sections.len() - 1
    }

    /// Adds a row about `count` things to the last section. Returns whether it fits; after the first that
    /// does not, the others are not rendered.
    pub(super) fn row(&mut self, noun: &'static str, count: usize, row: impl FnOnce() -> String) -> bool {
        let section = self.sections.last_mut().expect("a section begins before its rows");
        let most = section.most.min(self.room);
        let row = if most == 0 { String::new() } else { defused(&row()) };
        let heading = if section.rows.is_empty() { section.heading.len() + Self::MARKUP } else { 0 };
        match most.checked_sub(row.len() + heading) {
            Some(left) if most > 0 => {
                self.room -= row.len() + heading;
                section.most = left;
                section.rows.push_str(&row);
                true
            }
            _ => {
                // Only the rows of this section are limited if the page itself still has room.
                if section.most >= self.room {
                    self.room = 0;
                }
                section.most = 0;
                self.leave_out(noun, count);
                false
            }
        }
    }

    /// Adds what is not worth a row to a fold below the rows of a section.
    pub(super) fn fold(&mut self, section: usize, noun: &'static str, fold: impl FnOnce() -> String) {
        /// No fold is smaller.
        const SMALLEST: usize = 80;
        let fold = if self.room < SMALLEST { None } else { Some(defused(&fold())) };
        let markup = if self.sections[section].folds.is_empty() { Self::MARKUP } else { 0 };
        match fold.and_then(|fold| Some((self.room.checked_sub(fold.len() + markup)?, fold))) {
            Some((room, fold)) => {
                self.room = room;
                self.sections[section].folds.push(fold);
            }
            None => {
                self.room = 0;
                self.leave_out(noun, 1);
            }
        }
    }

    fn leave_out(&mut self, noun: &'static str, count: usize) {
        match self.left_out.iter_mut().find(|(known, _)| *known == noun) {
            Some((_, sum)) => *sum += count,
            None => self.left_out.push((noun, count)),
        }
    }

    /// Returns the number of things that are not on the page.
    pub(super) fn lacks(&self, noun: &str) -> usize {
        self.left_out.iter().filter(|(known, _)| *known == noun).map(|(_, count)| count).sum()
    }

    /// Returns the page. `rest` returns the sentence about what did not fit.
    pub(super) fn finish(self, rest: impl FnOnce(Vec<String>) -> String, place: RestPosition) -> String {
        let counts: Vec<String> = self.left_out.iter().map(|(noun, count)| counted(*count, noun)).collect();
        let rest = if counts.is_empty() { String::new() } else { rest(counts) };
        let (top, end) = match place {
            RestPosition::End => ("", rest.as_str()),
            RestPosition::Top => (rest.as_str(), ""),
        };
        let mut out = self.head + top;
        for PageSection { heading, rows, folds, .. } in
            self.sections.iter().filter(|one| !one.rows.is_empty())
        {
            out.extend([heading.as_str(), rows]);
            if !heading.is_empty() {
                out.push('\n');
            }
            if !folds.is_empty() {
                let summary = counted(folds.len(), "diff");
                out.push_str(&fold(&summary, &folds.concat()));
            }
        }
        out.extend([self.foot.as_str(), end]);
        if out.len() > self.limit {
            // Only a limit below the size of a heading leads here.
            let end = (0..=self.limit).rev().find(|end| out.is_char_boundary(*end));
            out.truncate(end.unwrap_or_default());
        }
        out
    }
}

/// Returns text that a page shows when its summary, which is HTML, is clicked.
pub(super) fn fold(summary: &str, text: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{text}</details>\n\n")
}

/// Returns the lines of a diff as a block of code that they cannot close.
pub(super) fn block(lines: &[String]) -> String {
    fenced("diff", &lines.join("\n"))
}

/// Returns text in a language as a block of code that it cannot close.
pub(super) fn fenced(language: &str, body: &str) -> String {
    // A fence is longer than any fence inside it (src/report/README.md, "Rules").
    let fence = "`".repeat((longest_run(body) + 1).max(3));
    format!("{fence}{language}\n{body}\n{fence}\n")
}

/// What ends a line from which sentences are left out.
pub(super) const LEFT_OUT: &str = "in the diff";

/// Cuts a sentence in the middle: the newest event of a list is the last one, and counts most.
fn without_middle(sentence: &str, max_chars: usize) -> String {
    let end = sentence.chars().count().saturating_sub(max_chars / 2);
    cut(sentence, max_chars / 2) + &sentence.chars().skip(end).collect::<String>()
}

/// Returns sentences as one line of bounded length.
pub(super) fn shown(sentences: &[String]) -> String {
    const LONGEST: usize = 600;
    const LONGEST_SENTENCE: usize = 400;
    let mut out = String::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let text = match sentence.chars().nth(LONGEST_SENTENCE) {
            Some(_) => code(&without_middle(sentence, LONGEST_SENTENCE)),
            None => inline(sentence),
        };
        if at > 0 && out.len() + text.len() > LONGEST {
            return format!("{out}; {} more {LEFT_OUT}", sentences.len() - at);
        }
        if at > 0 {
            out.push_str("; ");
        }
        out.push_str(&text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_and_quoted_texts_stay_outside_of_one_code_span() {
        for text in [
            "rule `adults` serves: `off` → split `on` 25%, `off` 75%",
            "condition added: `age` >= `18` (number)",
            "3 changes are more than `max_change_count: 2` allows; if this is intended, pass `--allow-mass-change`",
            "nothing is applied here yet: the service's default",
            "a `<b>@you #1 https://example.com</b>` b",
        ] {
            assert_eq!(inline(text), text);
        }
        for text in [
            "see @you",
            "fixes #1",
            "https://example.com",
            "www.example.com",
            "a:b",
            ":smile:",
            "<b>",
            "*x*",
            "a_b_c",
            "[x](y)",
            "JIRA-1",
            "GH-1",
            "~label",
            "deadbeef",
            "deadbeef's",
            "deadbeefé",
            "deadbeefword",
            "a-deadbeef",
            "1234567",
            "a\u{202e}b",
            "a ` b",
            "a `` b",
            "!12",
            "&amp;",
            "\\",
            "| a | b |",
            "me@example.com",
        ] {
            assert_eq!(inline(text), code(text), "{text}");
        }
        assert_eq!(inline("` x ` is padded"), "`  x  ` is padded");
        assert_eq!(inline("commit 0123456789 has `a`: no"), "commit ` 0123456789 ` has `a`: no");
        for text in ["0123456789`a`", "`a`0123456789", "commit 0123456789 by @you"] {
            assert_eq!(inline(text), code(text));
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let page = |rows: usize| fitting((0..rows).map(|row| format!("* row {row}\n")), 700);
        assert!(page(28).ends_with("* row 27\n"));
        for (rows, left_out) in [(29, "1 more row"), (100, "72 more rows")] {
            let end = format!("* row 27\n\n{left_out} did not fit; `-o json` has them all.\n");
            assert!(page(rows).ends_with(&end), "{}", page(rows));
        }
    }

    #[test]
    fn a_code_span_has_a_longer_fence_than_its_text() {
        assert_eq!(code("a"), "` a `");
        assert_eq!(code("`a``"), "``` `a`` ```");
    }
}

//! A commit with the comment and the trailers of its message.

use std::fmt;
use std::ops::Range;

use super::{CommitId, EnvironmentId, Override, closest, cut, escaped};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    pub id: CommitId,
    /// The complete message, decoded to UTF-8.
    pub message: String,
    /// The commit time, in seconds since 1970-01-01 UTC.
    pub committed_at: i64,
}

impl Commit {
    /// Returns the message as a comment of at most `max_chars` Unicode scalar values, ellipsis included:
    /// trimmed, with LF line breaks, and `(no message) <id>` if it is empty.
    pub(crate) fn comment(&self, max_chars: usize) -> String {
        let text = self.message.replace("\r\n", "\n");
        match text.trim() {
            "" => cut(&format!("(no message) {}", self.id), max_chars),
            text => cut(text, max_chars),
        }
    }

    /// Returns the first line of the message, trimmed; may be empty.
    pub(crate) fn subject(&self) -> &str {
        self.message.trim().lines().next().unwrap_or_default().trim_end()
    }

    /// Returns the values of the trailers `key`. [`super::Attribution`] decides whether they count.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        let text = self.text();
        let value = |(_, line): (usize, String)| {
            let (name, value) = line.split_once(':')?;
            name.trim_end().eq_ignore_ascii_case(key).then(|| value.trim().to_owned())
        };
        unfolded(&text[trailer_range(&text)]).into_iter().filter_map(value).collect()
    }

    /// Returns the trailers that have an effect, if they are on the right commit.
    pub(crate) fn own_trailers(&self) -> Vec<Trailer> {
        let of = |key: &'static str| {
            let values = self.trailers(key).into_iter();
            let effective = values.filter(move |value| idle_value(key, value).is_none());
            effective.map(move |value| Trailer { key, value })
        };
        of(ALLOW_TRAILER).chain(of(FIRST_PASS_TRAILER)).collect()
    }

    /// Returns the lines of the message that are meant as trailers of gitoggle and that no change can use,
    /// each with the reason.
    pub(crate) fn idle_trailers(&self) -> Vec<IdleTrailer> {
        let text = self.text();
        let range = trailer_range(&text);
        let idle = |(place, line): (usize, String)| {
            let Some((key, name, value)) = meant_line(&line) else {
                let why = format!("the line has to begin with `{}:`", quoted(&line)?);
                return Some(IdleTrailer { line: line.trim().to_owned(), why });
            };
            let why = if !name.trim_end().eq_ignore_ascii_case(key) {
                format!("the line has to begin with `{key}:`")
            } else if !range.contains(&place) {
                "it is not in the last paragraph of the message, below a subject".to_owned()
            } else {
                idle_value(key, value.trim())?
            };
            Some(IdleTrailer { line: line.trim().to_owned(), why })
        };
        unfolded(&text).into_iter().filter_map(idle).collect()
    }

    /// Returns the decisions of the commit that name an environment: they count whichever commit made the
    /// changes.
    pub(crate) fn named_decisions(&self) -> Vec<(Override, EnvironmentId)> {
        let values = self.trailers(ALLOW_TRAILER);
        values.iter().filter_map(|value| named_decision(value)).collect()
    }

    fn text(&self) -> String {
        self.message.replace("\r\n", "\n").trim().to_owned()
    }
}

/// The key of the trailer that lets changes through.
pub const ALLOW_TRAILER: &str = "Gitoggle-Allow";

/// The key of the trailer that decides on a first pass.
pub const FIRST_PASS_TRAILER: &str = "Gitoggle-First-Pass";

/// A trailer of gitoggle.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Trailer {
    key: &'static str,
    value: String,
}

impl Trailer {
    /// Returns what it decides; none if it names an environment, and so does not depend on its commit.
    pub(crate) fn decision(&self) -> Option<Override> {
        let word = match self.key {
            FIRST_PASS_TRAILER => format!("first-pass-{}", self.value),
            _ => self.value.clone(),
        };
        Override::ALL.into_iter().find(|what| what.as_str() == word)
    }
}

impl fmt::Display for Trailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, escaped(&self.value))
    }
}

/// A line that looks like a trailer and does not count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct IdleTrailer {
    pub(crate) line: String,
    pub(crate) why: String,
}

/// Returns the decision and the environment of a value such as `mass-change shop/prod`.
fn named_decision(value: &str) -> Option<(Override, EnvironmentId)> {
    let (what, environment) = value.split_once(char::is_whitespace)?;
    let what = naming().find(|naming| naming.as_str() == what)?;
    Some((what, environment.trim().parse().ok()?))
}

/// Returns the decisions whose trailers may name an environment.
fn naming() -> impl Iterator<Item = Override> {
    Override::ALL.into_iter().filter(|what| what.may_name_environment())
}

/// Returns the place of the last paragraph of a trimmed message; empty if that is the subject. What a forge
/// adds to the message of a merge comes after the paragraph that the author wrote.
fn trailer_range(text: &str) -> Range<usize> {
    let mut end = text.len();
    while let Some(shorter) = without_block(&text[..end]) {
        end = shorter;
    }
    let start = text[..end].rfind("\n\n").map_or(end, |at| at + 2);
    start..end
}

/// Returns the lines of a text with their places. As in Git, a line that begins with white space continues the
/// one before it.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut place = 0;
    for line in text.split('\n') {
        match lines.last_mut().filter(|(_, before)| !before.trim().is_empty()) {
            Some((_, before)) if line.starts_with([' ', '\t']) && !line.trim().is_empty() => {
                *before = format!("{} {}", before.trim_end(), line.trim());
            }
            _ => lines.push((place, line.to_owned())),
        }
        place += line.len() + 1;
    }
    lines
}

/// The keys of the trailers that a forge, or Git for a person, adds to a message in a paragraph of their own.
const FORGE_KEYS: [&str; 6] =
    ["Approved-by", "Co-authored-by", "Co-committed-by", "Reviewed-by", "Reviewed-on", "Signed-off-by"];

/// Returns whether a forge adds such a line, and an author would not write it instead of a trailer of
/// gitoggle.
fn is_of_forge(line: &str) -> bool {
    let (name, _) = line.split_once(':').unwrap_or_default();
    FORGE_KEYS.iter().any(|key| name.trim_end().eq_ignore_ascii_case(key))
}

/// Returns whether GitLab adds this line: `See merge request shop/toggles!5`.
fn names_request(line: &str) -> bool {
    let reference = line.strip_prefix("See merge request ").and_then(|reference| reference.rsplit_once('!'));
    reference.is_some_and(|(project, number)| {
        !project.contains(char::is_whitespace) && number.parse::<u64>().is_ok()
    })
}

/// Returns the length without the paragraph of lines that a forge adds, nor the one before it in which
/// GitLab names the closed issues: `Closes #5 and #7`.
fn without_paragraph(text: &str) -> Option<usize> {
    let (before, last) = text.rsplit_once("\n\n")?;
    let (first, rest) = last.split_once('\n').unwrap_or((last, ""));
    if !rest.lines().all(is_of_forge) {
        return None;
    }
    let is_of_issues = |line: &str| line.starts_with("Closes ") && !line.contains('\n');
    match before.trim_end().rsplit_once("\n\n").filter(|(_, line)| is_of_issues(line)) {
        Some((before, _)) if names_request(first) => Some(before.len()),
        _ => (names_request(first) || is_of_forge(first)).then_some(before.len()),
    }
}

/// Returns the length without what a forge adds at the end: a line of dashes with the trailers of a squashed
/// branch (GitHub, Gitea), or a last paragraph, such as the reference of the request (GitLab).
fn without_block(text: &str) -> Option<usize> {
    let shorter = |at: usize| text[..at].trim_end().len();
    let at = text.rfind("\n---------\n");
    let block = at.filter(|at| {
        let mut rest = text[*at..].lines().skip(2).filter(|line| !line.trim().is_empty()).peekable();
        let is_trailer = |line: &str| {
            let key = line.split_once(": ").map(|(name, _)| name);
            key.is_some_and(|key| !key.contains(char::is_whitespace) && meant(key).is_none())
        };
        rest.peek().is_some() && rest.all(is_trailer)
    });
    block.or_else(|| without_paragraph(text)).map(shorter)
}

/// Returns the key that the text before a colon is meant to be.
fn meant(name: &str) -> Option<&'static str> {
    let name = name.trim().trim_start_matches(['*', '-', '>', ' ']);
    if name.contains(' ') {
        return None;
    }
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let letters = letters.to_ascii_lowercase().replace("gittoggle", "gitoggle");
    match letters.strip_prefix("gitoggle") {
        Some("") => None,
        Some(rest) => Some(if rest.starts_with('f') { FIRST_PASS_TRAILER } else { ALLOW_TRAILER }),
        None => [ALLOW_TRAILER, FIRST_PASS_TRAILER].into_iter().find(|key| is_misspelled(&letters, key)),
    }
}

/// Returns whether lower-case letters are those of a key with up to two typing errors. The first letter must be right,
/// and the key whole, because other tools have trailers with similar words.
fn is_misspelled(letters: &str, key: &str) -> bool {
    const MOST_ERRORS: usize = 2;
    let key = key.replace('-', "").to_ascii_lowercase();
    letters.starts_with('g')
        && letters.len().abs_diff(key.len()) <= MOST_ERRORS
        && strsim::damerau_levenshtein(letters, &key) <= MOST_ERRORS
}

/// Returns the key that a line is meant to have, what it has instead, and its value.
fn meant_line(line: &str) -> Option<(&'static str, &str, &str)> {
    let (name, value) = line.split_once(':')?;
    Some((meant(name)?, name, value))
}

/// Returns the key that is somewhere in a line, before a value that it may have: without a colon, or not at
/// the beginning.
fn quoted(line: &str) -> Option<&'static str> {
    let line = line.to_ascii_lowercase().replace(['_', ' '], "-");
    let value = |key: &str| line.split_once(&key.to_ascii_lowercase()).map(|(_, value)| value);
    let has = |value: &str, words: &[&str]| words.iter().any(|word| value.contains(word));
    let allows = value(ALLOW_TRAILER).is_some_and(|value| has(value, &allowed()));
    let decides = value(FIRST_PASS_TRAILER).is_some_and(|value| has(value, &["assert", "adopt"]));
    allows.then_some(ALLOW_TRAILER).or(decides.then_some(FIRST_PASS_TRAILER))
}

/// Returns the words of the overrides that `Gitoggle-Allow` can give. Some can be followed by an environment.
fn allowed() -> Vec<&'static str> {
    Override::ALL.into_iter().filter(|what| what.is_trailer()).map(Override::as_str).collect()
}

/// Returns the decision that a value of `Gitoggle-Allow` probably means: it begins with it, misspells it, or has a
/// part of its name. `spelled` is the value in lower case, with dashes between its words.
fn meant_decision(spelled: &str, value: &str) -> Option<Override> {
    let word = value.split_whitespace().next()?;
    let spelled = spelled.trim_start_matches('-').trim_start_matches("allow-");
    let all = || Override::ALL.into_iter().filter(|what| what.is_trailer());
    let near = closest(word, all().map(Override::as_str));
    let has_part = |what: Override| what.as_str().split('-').any(|part| part == spelled);
    let begins = all().find(|what| spelled.starts_with(what.as_str()));
    begins.or_else(|| all().find(|what| near == Some(what.as_str()) || has_part(*what)))
}

/// Returns why a value of the trailer `key` has no effect; none if it has one.
fn idle_value(key: &str, value: &str) -> Option<String> {
    let spelled = value.to_ascii_lowercase().replace(['_', ' '], "-");
    if key == FIRST_PASS_TRAILER {
        return match value {
            "assert" | "adopt" => None,
            _ if value.starts_with("assert ") || value.starts_with("adopt ") => Some(
                "write `assert` or `adopt` without anything else; the environment is that of the document that the commit changes"
                    .to_owned(),
            ),
            _ => Some("write `assert` or `adopt`, in lower case".to_owned()),
        };
    }
    let allowed = allowed();
    if allowed.contains(&value) || named_decision(value).is_some() {
        return None;
    }
    Some(match allowed.iter().find(|known| **known == spelled) {
        Some(known) => format!("write `{known}`"),
        None if spelled.starts_with("first-pass") || ["assert", "adopt"].contains(&spelled.as_str()) => {
            format!("write `{FIRST_PASS_TRAILER}: assert` or `adopt`")
        }
        None if spelled == "history" => "only an operator allows `history`".to_owned(),
        None => match meant_decision(&spelled, value) {
            Some(what) if what.may_name_environment() => {
                format!("write `{what}`, or `{what} PROJECT/ENVIRONMENT`")
            }
            Some(what) => format!("write `{what}`, without anything else"),
            None => format!("write one of `{}`, without anything else", allowed.join("`, `")),
        },
    })
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AuthoredCommit {
    pub(crate) commit: Commit,
    pub(crate) author: String,
    pub(crate) email: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::ObjectId;

    fn commit(message: &str) -> Commit {
        Commit { id: CommitId(ObjectId([0xab; 20])), message: message.to_owned(), committed_at: 0 }
    }

    #[test]
    fn a_message_becomes_a_comment() {
        for (message, comment) in [
            ("Enable it\n", "Enable it"),
            ("  Enable it\r\n\r\nFor all\r\n", "Enable it\n\nFor all"),
            ("\n \t\n", "(no message) abababababababababababababababababababab"),
        ] {
            assert_eq!(commit(message).comment(1024), comment);
        }
        assert_eq!(commit("naïveté").comment(5), "naïv…");
        assert_eq!(commit("naïveté").comment(7), "naïveté");
    }

    #[test]
    fn a_trailer_counts_before_what_a_forge_adds_to_a_message() {
        let squashed =
            "\n\n---------\n\nCo-authored-by: A <a@example.com>\nCo-authored-by: B <b@example.com>\n";
        let merged = "\n\nSee merge request shop/toggles!5\n";
        let trailer = "Change all (#7)\n\n* Change one\n\nGitoggle-Allow: mass-change";
        let signed =
            "\n\n---------\n\nSigned-off-by: a[bot] <a@example.com>\nCo-authored-by: B <b@example.com>\n";
        let reviewed =
            "\n\nReviewed-on: https://git.example.com/acme/toggles/pulls/3\nReviewed-by: E <e@example.com>\n";
        let both = "\n\nCo-authored-by: B <b@example.com>\n\nSee merge request shop/toggles!5\n";
        for end in [
            "",
            "\n",
            squashed,
            merged,
            signed,
            reviewed,
            both,
            "\n\nCloses #5\n\nSee merge request shop/toggles!5\n",
            &format!("{}{}", squashed.trim_end(), reviewed.replacen("\n\n", "\n", 1)),
            &format!("{squashed}Co-committed-by: A <a@example.com>\n"),
            &format!("{merged}{squashed}"),
            &squashed.replace("\n\nCo", "\nCo"),
        ] {
            let commit = commit(&format!("{trailer}{end}"));
            assert_eq!(commit.trailers(ALLOW_TRAILER), ["mass-change"], "{end:?}");
            assert_eq!(commit.idle_trailers(), [], "{end:?}");
            let crlf = Commit { message: commit.message.replace('\n', "\r\n"), ..commit };
            assert_eq!(crlf.trailers(ALLOW_TRAILER), ["mass-change"], "{end:?}");
        }
        for end in [
            "\n\n---------\n\nMore text",
            "\n\n--------\n\nCo-authored-by: A",
            "\n\nSee merge request a!5\nb",
            "\n\nSee merge request of last week",
            "\n\nSee merge request shop/toggles!five",
            "\n\nCloses #5",
            "\n\nCloses: #5",
            "\n\nCloses #5\n\nCo-authored-by: B <b@example.com>\n",
            "\n\nCloses #5\nand more\n\nSee merge request shop/toggles!5\n",
            "\n\nCloses #4\n\nCloses #5\n\nSee merge request shop/toggles!5\n",
            "\n\nRelated to #5\n\nSee merge request shop/toggles!5\n",
            "\n\n---------\n",
        ] {
            let commit = commit(&format!("{trailer}{end}"));
            assert_eq!(commit.trailers(ALLOW_TRAILER), [""; 0], "{end:?}");
            assert_eq!(commit.idle_trailers().len(), 1, "{end:?}");
        }
        assert_eq!(
            commit(&format!("Gitoggle-Allow: mass-change{squashed}")).trailers(ALLOW_TRAILER),
            [""; 0]
        );
    }

    #[test]
    fn a_line_that_begins_with_white_space_continues_a_trailer() {
        for (lines, values) in [
            ("Gitoggle-Allow: mass-change\n shop/staging", &["mass-change shop/staging"][..]),
            ("Gitoggle-Allow: mass-change\n\tshop/staging\nA: b", &["mass-change shop/staging"]),
            ("Gitoggle-Allow:\n  mass-change", &["mass-change"]),
            ("A: b\n Gitoggle-Allow: window", &[]),
            (" Gitoggle-Allow: window", &[]),
        ] {
            let commit = commit(&format!("S\n\n{lines}"));
            assert_eq!(commit.trailers(ALLOW_TRAILER), values, "{lines:?}");
            assert_eq!(commit.idle_trailers().len(), usize::from(values.is_empty()), "{lines:?}");
        }
        let folded = commit("S\n\nGitoggle-Allow: mass-change\n of all");
        assert_eq!(folded.idle_trailers()[0].line, "Gitoggle-Allow: mass-change of all");
    }

    #[test]
    fn a_trailer_counts_in_the_messages_that_forges_write() {
        for message in [
            // GitHub: a squash of several commits, of one that had two authors, and a merge.
            "Raise all (#7)\n\n* Raise one\n\nGitoggle-Allow: window\n\n---------\n\nCo-authored-by: B <b@example.com>",
            "Raise all (#7)\n\nGitoggle-Allow: window\n\nCo-authored-by: B <b@example.com>",
            "Merge pull request #7 from acme/raise\n\nRaise all\n\nGitoggle-Allow: window",
            // GitLab: its default message of a merge, with and without issues, and a squash.
            "Merge branch 'raise' into 'main'\n\nRaise all\n\nGitoggle-Allow: window\n\nSee merge request shop/toggles!1",
            "Merge branch 'raise' into 'main'\n\nRaise all\n\nGitoggle-Allow: window\n\nCloses #1, #2 and web/pages#3\n\n\
             See merge request a/b/toggles!1",
            "Raise all\n\nGitoggle-Allow: window\n\nSee merge request shop/toggles!1\nApproved-by: B <b@example.com>",
            // Gitea: a squash, as recorded, and a merge with a review.
            "Squashed title\n\nGitoggle-Allow: window\nCo-authored-by: Dev <dev@example.com>\n\
             Co-committed-by: Dev <dev@example.com>\n",
            "Merge pull request 'Raise all' (#7) from raise into main\n\nGitoggle-Allow: window\n\n\
             Reviewed-on: https://git.example.com/acme/toggles/pulls/7\nReviewed-by: B <b@example.com>\n",
        ] {
            assert_eq!(commit(message).trailers(ALLOW_TRAILER), ["window"], "{message:?}");
        }
        let without =
            "Merge branch 'raise' into 'main'\n\nRaise all\n\nCloses #1\n\nSee merge request shop/toggles!1";
        assert_eq!(commit(without).trailers(ALLOW_TRAILER), [""; 0]);
    }

    #[test]
    fn a_line_that_does_not_count_has_a_reason() {
        let last = "it is not in the last paragraph of the message, below a subject";
        for (message, why) in [
            ("S\n\nGitoggle-Allow: mass_change", "write `mass-change`"),
            ("S\n\nGitoggle-Allow: MASS-CHANGE", "write `mass-change`"),
            ("S\n\nGitoggle-Allow: mass change", "write `mass-change`"),
            (
                "S\n\nGitoggle-Allow: mass-change production",
                "write `mass-change`, or `mass-change PROJECT/ENVIRONMENT`",
            ),
            ("S\n\nGitoggle-Allow: renamed", "write `rename`, or `rename PROJECT/ENVIRONMENT`"),
            (
                "S\n\nGitoggle-Allow: mass-chnage shop/production",
                "write `mass-change`, or `mass-change PROJECT/ENVIRONMENT`",
            ),
            ("S\n\nGitoggle-Allow: windows", "write `window`, without anything else"),
            ("S\n\nGitoggle-Allow: windwo", "write `window`, without anything else"),
            ("S\n\nGitoggle-Allow: Window.", "write `window`, without anything else"),
            ("S\n\nGitoggle-Allow: allow window", "write `window`, without anything else"),
            ("S\n\nGitoggle-Allow: drift", "write `overwrite-drift`, without anything else"),
            ("S\n\nGitoggle-Allow: overwrite", "write `overwrite-drift`, without anything else"),
            ("S\n\nGitoggle-Allow: mass", "write `mass-change`, or `mass-change PROJECT/ENVIRONMENT`"),
            ("S\n\nGitoggle-Allow: renames", "write `rename`, or `rename PROJECT/ENVIRONMENT`"),
            (
                "S\n\nGitoggle-Allow: no window",
                "write one of `mass-change`, `overwrite-drift`, `rename`, `window`, without anything else",
            ),
            ("S\n\nGitoggle-Allow: window shop/production", "write `window`, without anything else"),
            (
                "S\n\nGitoggle-Allow: overwrite drift shop/prod/pay",
                "write `overwrite-drift`, without anything else",
            ),
            ("S\n\nGitoggle-Allow: first-pass-assert", "write `Gitoggle-First-Pass: assert` or `adopt`"),
            ("S\n\nGitoggle-Allow: history", "only an operator allows `history`"),
            (
                "S\n\nGitoggle-Allow: mass-change, window",
                "write `mass-change`, or `mass-change PROJECT/ENVIRONMENT`",
            ),
            (
                "S\n\nGitoggle-Allow:",
                "write one of `mass-change`, `overwrite-drift`, `rename`, `window`, without anything else",
            ),
            ("S\n\nGitoggle-First-Pass: Adopt", "write `assert` or `adopt`, in lower case"),
            (
                "S\n\nGitoggle-First-Pass: assert web/prod",
                "write `assert` or `adopt` without anything else; the environment is that of the document that the commit changes",
            ),
            ("S\n\nGitoggle-Allow mass-change", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitoggle-Allow = mass-change", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitoggle Allow: mass-change", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nX-Gitoggle-Allow: mass-change", "the line has to begin with `Gitoggle-Allow:`"),
            ("Raise it Gitoggle-Allow: mass_change", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nSee #5, Gitoggle-First-Pass adopt", "the line has to begin with `Gitoggle-First-Pass:`"),
            ("S\n\nGitoggle-Alow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\n* gitoggle_allow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitoogle-Allow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitogle-Allow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGtioggle-Allow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitoogle-Alow: window", "the line has to begin with `Gitoggle-Allow:`"),
            ("S\n\nGitoogle-First-Pass: adopt", "the line has to begin with `Gitoggle-First-Pass:`"),
            ("S\n\nGitogle_FirstPass: adopt", "the line has to begin with `Gitoggle-First-Pass:`"),
            ("S\n\nGtioggle-First-Pass: adopt", "the line has to begin with `Gitoggle-First-Pass:`"),
            ("S\n\nGit-Toggle-First-Pass: adopt", "the line has to begin with `Gitoggle-First-Pass:`"),
            ("Gitoggle-Allow: window", last),
            ("S\nGitoggle-Allow: window", last),
            ("S\n\nGitoggle-Allow: window\n\nMore text", last),
        ] {
            let found = commit(message).idle_trailers();
            assert_eq!(found.iter().map(|one| one.why.as_str()).collect::<Vec<_>>(), [why], "{message:?}");
        }
        for message in [
            "gitoggle: hold toggles",
            "S\n\nSee gitoggle: it does that",
            "Document what Gitoggle-Allow is",
            "gitoggle: allow more",
            "S\n\nGITOGGLE-ALLOW : window\nGitoggle-First-Pass: adopt",
            "S\n\nGitoggle-Allow: mass-change shop/prod",
            "S\n\nGitoggle-Allow: rename shop/prod",
            // The trailers of other tools.
            "S\n\nGoogle-Allow: window",
            "S\n\nGitLab-Allow: window",
            "S\n\nGitHub-Allow: window",
            "S\n\nGitOps-Allow: window",
            "S\n\nGit-Dir: window",
            "S\n\nToggle-Allow: window",
            "S\n\nGerrit-Allow: window",
            "S\n\nGitoogle: window",
            "S\n\nGitoogle-Version: window",
            "S\n\nGit-First-Pass: adopt",
            "S\n\nLegit-First-Pass: adopt",
        ] {
            assert_eq!(commit(message).idle_trailers(), [], "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn a_comment_is_never_empty_and_never_too_long(message in any::<String>(), max in 1_usize..40) {
            let comment = commit(&message).comment(max);
            prop_assert!(!comment.is_empty());
            prop_assert!(comment.chars().count() <= max);
        }
    }
}

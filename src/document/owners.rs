//! The owners that a `CODEOWNERS` file names for a path, as GitHub, GitLab and Gitea read it.

use std::collections::HashMap;

use globset::GlobBuilder;
use regex::bytes::{RegexSet, RegexSetBuilder};

use crate::model::OwnerEntry;

/// The places of the file, in the order in which GitHub and GitLab look for it.
pub(crate) const OWNER_FILES: [&str; 5] =
    [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS", GITEA];

/// Gitea's own place. Gitea reads patterns as regular expressions, and all that match count.
const GITEA: &str = ".gitea/CODEOWNERS";

/// The most memory of all patterns, in bytes.
const MOST_MEMORY: usize = 128 << 20;

/// The entries of one `CODEOWNERS` file.
#[derive(Debug, Default)]
pub(crate) struct CodeOwners {
    patterns: RegexSet,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// Of the entries in one section, the last one that matches counts.
    section: usize,
    /// Whether it names the files that do not match.
    is_inverted: bool,
    entry: OwnerEntry,
}

impl CodeOwners {
    /// Parses the file at `path`. Lines that are not entries are skipped, as the forges do.
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut section = (0, Vec::new());
        // GitLab combines the sections of one name, whatever its case. That of the entries before any heading
        // has a name, too.
        let mut sections = HashMap::from([("codeowners".to_owned(), 0)]);
        let (mut patterns, mut entries) = (Vec::new(), Vec::new());
        for (line, number) in text.lines().zip(1_usize..) {
            let mut words = words(line);
            if words.is_empty() {
                continue;
            }
            let pattern = words.remove(0);
            if let Some((name, owners)) = heading(line).filter(|_| path != GITEA) {
                section = (*sections.entry(name).or_insert(number), owners);
                continue;
            }
            let is_inverted = pattern.starts_with('!');
            let regex = match path {
                GITEA => Some(format!("^(?:{})$", pattern.trim_start_matches('!'))),
                _ => glob(pattern.trim_start_matches('!')),
            };
            let Some(regex) = regex.filter(|regex| regex::bytes::Regex::new(regex).is_ok()) else {
                continue;
            };
            let is_default = words.is_empty() && !is_inverted;
            let owners = if is_default { section.1.clone() } else { words };
            patterns.push(regex);
            entries.push(Entry {
                section: if path == GITEA { number } else { section.0 },
                is_inverted: is_inverted && path == GITEA,
                entry: OwnerEntry { place: format!("{path}:{number}"), owners },
            });
        }
        let patterns = RegexSetBuilder::new(&patterns).size_limit(MOST_MEMORY).build();
        patterns.map_or_else(|_| Self::default(), |patterns| Self { patterns, entries })
    }

    /// Returns the entries for the file at `path`, relative to the top.
    pub(crate) fn of(&self, path: &str) -> Vec<OwnerEntry> {
        let matched = self.patterns.matches(path.as_bytes());
        let all = self.entries.iter().enumerate();
        let all =
            all.filter(|(index, entry)| matched.matched(*index) != entry.is_inverted).map(|(_, entry)| entry);
        let mut all: Vec<&Entry> = all.collect();
        all.sort_by_key(|entry| entry.section);
        let last = all.chunk_by(|a, b| a.section == b.section).filter_map(|section| section.last());
        last.filter(|last| !last.entry.owners.is_empty()).map(|last| last.entry.clone()).collect()
    }
}

/// Returns the words of a line without its comment. A backslash protects a space.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace().take_while(|word| !word.starts_with('#')) {
        match words.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => {
                last.pop();
                last.push(' ');
                last.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// Returns the name and the default owners of GitLab's heading of a section, such as `^[Payments][2]
/// @shop/payments`.
fn heading(line: &str) -> Option<(String, Vec<String>)> {
    let (name, rest) = line.trim().trim_start_matches('^').strip_prefix('[')?.split_once(']')?;
    let count = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    Some((name.trim().to_lowercase(), words(count.map_or(rest, |(_, rest)| rest))))
}

/// Returns a pattern as a regular expression: that of `.gitignore`, except that `folder/*` is not about
/// nested files.
fn glob(pattern: &str) -> Option<String> {
    let inner = pattern.trim_start_matches('/').trim_end_matches('/');
    let is_anchored = pattern.starts_with('/') || inner.contains('/');
    let plain: String =
        inner.chars().flat_map(|c| if "[]{}".contains(c) { vec!['[', c, ']'] } else { vec![c] }).collect();
    let top = if is_anchored { plain } else { format!("**/{plain}") };
    let is_file = !pattern.ends_with('/') || inner.is_empty();
    let is_folder = !inner.ends_with('*') || !is_anchored;
    let globs = [is_file.then(|| top.clone()), is_folder.then(|| format!("{top}/**"))];
    let regexes: Option<Vec<String>> = globs
        .iter()
        .flatten()
        .map(|glob| {
            let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
            glob.ok().map(|glob| format!("(?:{})", glob.regex()))
        })
        .collect();
    regexes.map(|regexes| regexes.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn owners(path: &str, text: &str, file: &str) -> String {
        let found = CodeOwners::parse(path, text).of(file);
        let found = found.iter().map(|entry| {
            let (_, line) = entry.place.rsplit_once(':').unwrap();
            format!("{line} {}", entry.owners.join(" "))
        });
        found.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn patterns_match_as_on_the_forges() {
        const FILE: &str = "shop/production/pay.yaml";
        for (pattern, matches) in [
            ("*", true),
            ("*.yaml", true),
            ("pay.yaml", true),
            ("/pay.yaml", false),
            ("shop", true),
            ("shop/", true),
            ("/shop/", true),
            ("production/", true),
            ("/production/", false),
            ("shop/*", false),
            ("shop/production/*", true),
            ("/shop/*/pay.yaml", true),
            ("/shop/**", true),
            ("**/production/", true),
            ("shop/**/pay.yaml", true),
            ("shop/production/pa?.yaml", true),
            ("shop/production/[p]ay.yaml", false),
            ("SHOP/", false),
            ("shop/production/pay.yaml/", false),
            ("sho", false),
        ] {
            let found = owners("CODEOWNERS", &format!("{pattern} @a"), FILE);
            assert_eq!(found == "1 @a", matches, "{pattern}: {found}");
        }
    }

    #[test]
    fn the_last_match_of_each_section_counts() {
        let text = "# all\n* @all\nshop/ @shop b@example.org # the team\n\nweb/ @web\n";
        assert_eq!(owners("CODEOWNERS", text, "shop/prod/a.yaml"), "3 @shop b@example.org");
        assert_eq!(owners("CODEOWNERS", text, "other/prod/a.yaml"), "2 @all");
        assert_eq!(owners("CODEOWNERS", "* @all\nshop/\n", "shop/prod/a.yaml"), "");
        assert_eq!(owners("CODEOWNERS", "[ @x\nmy\\ shop/ @a\n", "my shop/a"), "2 @a");
        let text = "* @all\n^[Pay][2] @pay\nshop/\n[Other]\nshop/ @b\n!shop/test/\n";
        assert_eq!(owners(".gitlab/CODEOWNERS", text, "shop/prod/a.yaml"), "1 @all; 3 @pay; 5 @b");
        assert_eq!(owners(".gitlab/CODEOWNERS", text, "shop/test/a.yaml"), "1 @all; 3 @pay");
    }

    #[test]
    fn the_sections_of_one_name_are_one() {
        let text =
            "[Pay] @pay\nshop/\n[Other]\nshop/ @other\n[PAY] @late\nshop/prod/\n[Codeowners]\n* @all\n";
        assert_eq!(owners("CODEOWNERS", text, "shop/prod/a.yaml"), "8 @all; 6 @late; 4 @other");
        assert_eq!(owners("CODEOWNERS", text, "shop/test/a.yaml"), "8 @all; 2 @pay; 4 @other");
        let text = "* @first\n[ codeowners ]\nshop/ @second\n";
        assert_eq!(owners("CODEOWNERS", text, "shop/prod/a.yaml"), "3 @second");
    }

    #[test]
    fn gitea_reads_regular_expressions_and_counts_all_of_them() {
        let text = "shop/.*\\.yaml @shop\n.*/test/.* @qa\n!shop/.* @rest\n( @broken\n";
        assert_eq!(owners(GITEA, text, "shop/test/a.yaml"), "1 @shop; 2 @qa");
        assert_eq!(owners(GITEA, text, "web/prod/a.yaml"), "3 @rest");
    }
}

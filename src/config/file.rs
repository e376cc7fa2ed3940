//! Reads the flat YAML file: each key has a scalar or a list of scalars. Finds the folders: the state folder by default, and the
//! work tree that makes a file untrusted.

use std::path::{Component, Path, PathBuf};

use granit_parser::{Event, Parser, ScalarStyle, Span, options};
use sha2::{Digest, Sha256};

use super::ConfigError;
use crate::git::RepoUrl;
use crate::model::hex;
use crate::transport::read_limited_text;

/// In bytes.
const LARGEST: u64 = 1024 * 1024;

/// One key of the file with its values.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct FileLine {
    pub(crate) key: String,
    /// Empty if the value is null or empty, which means unset.
    pub(crate) values: Vec<String>,
    /// `FILE:LINE:COLUMN`.
    pub(crate) place: String,
}

impl FileLine {
    /// Returns the line of a list whose values are all read. Entries become one value, which its own parser reads.
    fn ended(self) -> Self {
        if self.key == ENTRIES && !self.values.is_empty() {
            Self { values: vec![format!("[{}]", self.values.join(","))], ..self }
        } else {
            self
        }
    }

    pub(crate) fn number(&self) -> &str {
        self.place.rsplit(':').nth(1).unwrap_or_default()
    }
}

/// Reads and parses the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<FileLine>, ConfigError> {
    let name = path.display().to_string();
    let text = read_limited_text(path, LARGEST)
        .map_err(|error| ConfigError::new(name.clone(), format!("could not read the file: {error}")))?;
    parse(&name, &text)
}

/// The key of the only setting whose value is a list of entries.
const ENTRIES: &str = "windows";

const NESTED: &str = "settings are not nested: write one `key: value` per line";

/// Parses `text`, and keeps scalars exactly as written.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<FileLine>, ConfigError> {
    // Events instead of values, so that YAML's types do not change `0.30` or `no`.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut events = Parser::new_from_str_with_options(text, options! { emit_anchor_events: true });
    let (mut documents, mut content) = (0_usize, Content::default());
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            let place = format!("{name}:{}:{}", at.line(), at.col() + 1);
            ConfigError::new(place, "invalid YAML")
        })?;
        let place = place(name, &span.tag_span().unwrap_or(span));
        documents += usize::from(matches!(event, Event::DocumentStart(..)));
        if documents > 1 {
            return Err(ConfigError::new(place, "the file must contain only one YAML document"));
        }
        if !content.take(event, &place) {
            return Err(ConfigError::new(place, NESTED));
        }
    }
    Ok(content.lines)
}

/// What was read of a file so far.
#[derive(Default)]
struct Content {
    lines: Vec<FileLine>,
    is_open: bool,
    /// A key whose value comes next.
    key: Option<FileLine>,
    list: Option<FileLine>,
    /// The keys and values of an entry of a list.
    entry: Option<Vec<String>>,
}

impl Content {
    /// Returns whether the event belongs into a flat file.
    fn take(&mut self, event: Event<'_>, place: &str) -> bool {
        match event {
            // `None` stands for no tag, and an anchor is an event behind its value; the last pattern rejects both.
            Event::MappingStart(_, _, None) if !self.is_open => self.is_open = true,
            Event::MappingStart(_, _, None) if self.entry.is_none() && self.has_entries() => {
                self.entry = Some(Vec::new());
            }
            Event::MappingEnd => match (self.entry.take(), &mut self.list) {
                (Some(entry), Some(list)) => list.values.push(object(&entry)),
                _ => self.is_open = false,
            },
            Event::SequenceStart(_, _, None) if self.key.is_some() && self.list.is_none() => {
                self.list = self.key.take();
            }
            Event::SequenceEnd => self.lines.extend(self.list.take().map(FileLine::ended)),
            Event::Scalar(text, style, _, None) => return self.scalar(text.into_owned(), style, place),
            Event::DocumentStart(..) | Event::DocumentEnd | Event::StreamEnd | Event::StreamStart => {}
            _ => return false,
        }
        true
    }

    fn has_entries(&self) -> bool {
        self.list.as_ref().is_some_and(|list| list.key == ENTRIES)
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, place: &str) -> bool {
        if let Some(entry) = &mut self.entry {
            entry.push(text);
            return true;
        }
        match (&mut self.list, self.key.take()) {
            (Some(list), _) => list.values.push(text),
            (None, Some(mut line)) => {
                line.values = scalar_values(text, style);
                self.lines.push(line);
            }
            (None, None) if self.is_open => {
                self.key = Some(FileLine { key: text, values: Vec::new(), place: place.to_owned() });
            }
            // The parser reports an empty document as one empty scalar.
            (None, None) => return is_null(&text, style),
        }
        true
    }
}

/// Returns an entry, whose keys and values alternate, as a JSON object.
fn object(entry: &[String]) -> String {
    let quoted = |text: &String| serde_json::to_string(text).expect("a string");
    let members = entry.chunks(2).map(|pair| pair.iter().map(quoted).collect::<Vec<_>>().join(":"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn place(name: &str, span: &Span) -> String {
    format!("{name}:{}:{}", span.start.line(), span.start.col() + 1)
}

fn scalar_values(text: String, style: ScalarStyle) -> Vec<String> {
    if is_null(&text, style) || text.is_empty() { Vec::new() } else { vec![text] }
}

fn is_null(text: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

// Finds folders: the default state folder, and the work tree that makes a configuration file untrusted.

/// Returns the state folder of the source `repo` under `home`, the platform's state folder.
pub(crate) fn state_dir(home: &Path, repo: &RepoUrl, given: &str, folder: &Path) -> PathBuf {
    let source = match repo.local_path() {
        // Links are not resolved: a sidecar swaps its link at every sync, and the state folder must stay the same.
        Some(path) => absolute(&folder.join(path)).to_string_lossy().into_owned(),
        None => given.to_owned(),
    };
    // The hash distinguishes sources with the same last component.
    let hash = hex(&Sha256::digest(source.as_bytes())[..6]);
    home.join("gitoggle").join(format!("{}-{hash}", readable(&source)))
}

/// Removes `.` and repeated slashes. Keeps `..`, which cannot be removed without resolving links.
fn absolute(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns the last component of the source, with unsafe characters replaced.
fn readable(source: &str) -> String {
    let last = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }
    };
    let name: String = last.chars().take(40).map(plain).collect();
    // A leading dot would hide the folder.
    match name.trim_start_matches('.') {
        "" => "source".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the work tree that makes `file` untrusted, if documents come from `repo` and `folder` is the working directory:
/// the tree contains the file, and is the source or contains the working directory. Anyone who can open a pull request can
/// write such a file. Elsewhere, the operator writes it.
pub(super) fn untrusted_tree(file: &Path, repo: &str, folder: &Path) -> Option<PathBuf> {
    let source = source(repo, folder);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_source = |tree: &PathBuf| Some(tree) == source.as_ref() || folder.starts_with(tree);
    // Both the link and its target count: authors of the work tree control a link inside it and a target inside it.
    let names = names(&folder.join(file));
    // Only the parents: a link in a work tree is part of it, wherever the target is.
    let mut trees = names.iter().filter_map(|name| name.parent()).flat_map(work_trees);
    trees.find(is_source)
}

/// Returns the work tree of a local source. `repo` may also be the path of its `.git`.
fn source(repo: &str, folder: &Path) -> Option<PathBuf> {
    let repo = repo.parse::<RepoUrl>().ok()?;
    let path = folder.join(repo.local_path()?);
    let path = path.canonicalize().unwrap_or(path);
    let path = match path.file_name() {
        // The `.git` folder is not inside its own work tree, so the search starts beside it.
        Some(name) if name == ".git" => path.parent()?,
        _ => &path,
    };
    work_trees(path).into_iter().next()
}

/// Returns the path as given and the path with links resolved.
fn names(file: &Path) -> Vec<PathBuf> {
    let parent = file.parent().and_then(|parent| parent.canonicalize().ok());
    let as_given = parent.zip(file.file_name()).map(|(parent, name)| parent.join(name));
    let itself = file.canonicalize().ok();
    as_given.into_iter().chain(itself).collect()
}

/// Returns the work trees around `path`, innermost first. The path need not exist.
pub(super) fn work_trees(path: &Path) -> Vec<PathBuf> {
    let path = resolved(path);
    let is_inside = |folder: &Path| {
        // Files in `.git` are not part of the work tree.
        let first = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next());
        first != Some(Component::Normal(".git".as_ref())) && folder.join(".git").symlink_metadata().is_ok()
    };
    let folders = path.ancestors().filter(|folder| is_inside(folder));
    folders.map(Path::to_owned).collect()
}

/// Resolves the links in the part of `path` that exists.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        let found = folder.canonicalize().ok()?;
        // Collecting components removes the trailing slash that joining an empty path adds.
        Some(found.join(rest).components().collect())
    });
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn flat(text: &str) -> Vec<(String, Vec<String>, String)> {
        let lines = parse("f.yaml", text).unwrap();
        lines.into_iter().map(|line| (line.key, line.values, line.place)).collect()
    }

    #[test]
    fn values_are_kept_as_written_with_their_places() {
        let text = "# comment\nratio: 0.30\nonly: [a/**, 'b c']\nref: ~\nroot: ''\nname: 007\nlist:\n  - x\nwide: [\n  y\n]\n";
        let expected = [
            ("ratio", vec!["0.30"], "f.yaml:2:1"),
            ("only", vec!["a/**", "b c"], "f.yaml:3:1"),
            ("ref", vec![], "f.yaml:4:1"),
            ("root", vec![], "f.yaml:5:1"),
            ("name", vec!["007"], "f.yaml:6:1"),
            ("list", vec!["x"], "f.yaml:7:1"),
            ("wide", vec!["y"], "f.yaml:9:1"),
        ];
        let lines = flat(text);
        assert_eq!(lines.len(), expected.len());
        for ((key, values, place), (k, v, p)) in lines.iter().zip(expected) {
            assert_eq!((key.as_str(), place.as_str()), (k, p));
            assert_eq!(values, &v);
        }
    }

    #[test]
    fn an_empty_file_has_no_settings() {
        for text in ["", "# only a comment\n", "---\n", "---\n...\n"] {
            assert!(flat(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_nested_file_is_rejected_with_its_position() {
        for (text, place) in [
            ("a: {b: c}\n", "f.yaml:1:4"),
            ("a: 1\nb: &x 2\n", "f.yaml:2:4"),
            ("a: &x [b]\n", "f.yaml:1:4"),
            ("&x a: b\n", "f.yaml:1:1"),
            ("- a\n", "f.yaml:1:1"),
            ("word\n", "f.yaml:1:1"),
            ("a: !!str b\n", "f.yaml:1:4"),
            ("a: [[b]]\n", "f.yaml:1:5"),
            ("a: 1\n---\nb: 2\n", "f.yaml:2:1"),
        ] {
            assert_eq!(parse("f.yaml", text).unwrap_err().place, place, "{text:?}");
        }
        assert!(parse("f.yaml", "a: 'x\n").is_err());
    }

    fn name(given: &str, folder: &str) -> String {
        let repo = given.parse().unwrap();
        let dir = state_dir(Path::new("/home/me/.local/state"), &repo, given, Path::new(folder));
        let under = dir.strip_prefix("/home/me/.local/state/gitoggle").unwrap();
        under.to_str().unwrap().to_owned()
    }

    #[test]
    fn every_spelling_of_a_source_has_the_same_folder() {
        let toggles = name(".", "/srv/toggles");
        assert!(toggles.starts_with("toggles-"), "{toggles}");
        for (given, folder) in [
            ("/srv/toggles", "/"),
            ("/srv//toggles/", "/"),
            ("toggles", "/srv"),
            ("file:///srv/toggles", "/x"),
        ] {
            assert_eq!(name(given, folder), toggles, "{given}");
        }
        assert_ne!(name(".", "/srv/other/toggles"), toggles);
    }

    #[test]
    fn the_folder_name_begins_with_the_name_of_the_source() {
        for (given, start) in [
            ("https://git.example/team/toggles.git", "toggles-"),
            ("git@git.example:toggles", "toggles-"),
            ("/srv/a b\u{1b}", "a-b--"),
            ("/", "source-"),
        ] {
            let name = name(given, "/");
            assert!(name.starts_with(start), "{name}");
        }
    }

    #[test]
    fn a_file_in_the_source_or_around_the_working_directory_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for folder in ["repo/.git", "repo/deploy", "other/.git", "repository", "elsewhere"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["repo/in", "repo/deploy/in", "other/in", "repository/out", "elsewhere/out"] {
            std::fs::write(at(file), "").unwrap();
        }
        symlink(at("repo/in"), at("elsewhere/in-by-link")).unwrap();
        symlink(at("elsewhere/out"), at("repo/in-leads-out")).unwrap();
        symlink(at("repo"), at("current")).unwrap();
        let (repo, other) = (Some(at("repo")), Some(at("other")));
        for (file, source, folder, expected) in [
            ("repo/in", "repo", ".", &repo),
            ("repo/deploy/in", "./repo", ".", &repo),
            ("elsewhere/../repo/in", "repo", ".", &repo),
            ("repo/in", "repo/.git", ".", &repo),
            ("elsewhere/in-by-link", "repo", ".", &repo),
            ("repo/in-leads-out", "repo", ".", &repo),
            ("repo/in", "current", ".", &repo),
            ("current/in", "repo", ".", &repo),
            ("repository/out", "repo", ".", &None),
            ("elsewhere/out", "repo", ".", &None),
            ("repo/in", "https://git.example/a", ".", &None),
            ("repo/in", "ftp://nonsense", ".", &None),
            ("other/in", "repo", ".", &None),
            // The repository around the working directory counts, too.
            ("in", "https://git.example/a", "repo", &repo),
            ("in", "../other", "repo", &repo),
            ("../in", "../../other", "repo/deploy", &repo),
            ("../other/in", "../other", "repo", &other),
            ("../elsewhere/out", ".", "repo", &None),
            // A file outside of any repository is trusted for every source.
            ("out", ".", "elsewhere", &None),
            ("out", "../repo", "elsewhere", &None),
        ] {
            let found = untrusted_tree(Path::new(file), source, &at(folder));
            assert_eq!(found, *expected, "{file} of {source} in {folder}");
        }
    }

    #[test]
    fn the_work_trees_around_a_path_are_found_by_their_git_folders() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["outer/.git", "outer/inner/sub", "plain"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("outer/inner/.git"), "gitdir: elsewhere\n").unwrap();
        symlink(top.join("outer"), top.join("link")).unwrap();
        let (outer, inner) = (top.join("outer"), top.join("outer/inner"));
        for (path, expected) in [
            ("outer", vec![&outer]),
            ("outer/not/there", vec![&outer]),
            ("outer/inner/sub", vec![&inner, &outer]),
            ("link/inner", vec![&inner, &outer]),
            ("outer/.git/state", vec![]),
            ("plain/x", vec![]),
        ] {
            let found = work_trees(&top.join(path));
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{path}");
        }
    }
}

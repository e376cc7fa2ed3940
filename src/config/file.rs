//! Reads the flat YAML file: each key has a scalar or a list of scalars. Finds the folders: the state folder
//! by default, and the work tree that makes a file untrusted.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};

use super::ConfigError;
use super::definition::settings;
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
    /// Returns the number of its line; `?` if the file is not written one key a line.
    pub(crate) fn number(&self) -> &str {
        self.place.rsplit(':').nth(1).unwrap_or("?")
    }
}

/// Reads and parses the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<FileLine>, ConfigError> {
    let name = path.display().to_string();
    let text = read_limited_text(path, LARGEST)
        .map_err(|error| ConfigError::new(name.clone(), format!("could not read the file: {error}")))?;
    parse(&name, &text)
}

/// Parses `text`, and keeps scalars exactly as written.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<FileLine>, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read: Result<Option<Entries>, _> = serde_yaml::from_str(text);
    let entries = read.map_err(|error| unreadable(name, &error))?.unwrap_or_default();
    let mut lines = text.lines().zip(1..);
    let mut indented = None;
    let lines = entries.0.into_iter().map(|(key, values)| {
        let column = lines.find_map(|(line, number)| {
            // A line of a text may look like a key, but it is indented more than the first one.
            let column = column(line, &key)?;
            (*indented.get_or_insert(column) == column).then_some((number, column))
        });
        let place = match column {
            Some((line, column)) => format!("{name}:{line}:{column}"),
            None => name.to_owned(),
        };
        FileLine { key, values, place }
    });
    Ok(lines.collect())
}

/// Returns the column of a key that begins a line.
fn column(line: &str, key: &str) -> Option<usize> {
    let quoted = line.trim_start();
    let rest = quoted.trim_start_matches(['"', '\'']).strip_prefix(key)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    rest.starts_with(':').then(|| line.len() - quoted.len() + 1)
}

/// Returns the error for a file that is not a flat mapping. The parser's own message may quote a value, which
/// may be a secret.
fn unreadable(name: &str, error: &serde_yaml::Error) -> ConfigError {
    let place = error.location().map(|at| format!("{name}:{}:{}", at.line(), at.column()));
    let text = error.to_string();
    let message = if text.contains("more than one document") {
        "the file must contain only one YAML document"
    } else if text.contains("duplicate entry") {
        "an entry has a key twice"
    } else if text.contains("invalid type") || text.contains("did not match any variant") {
        "settings are not nested: write one `key: value` per line"
    } else {
        "invalid YAML"
    };
    ConfigError::new(place.unwrap_or_else(|| name.to_owned()), message)
}

/// The keys of the file in their order, also repeated ones, each with its values as written.
#[derive(Default)]
struct Entries(Vec<(String, Vec<String>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one `key: value` per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let setting = settings().iter().find(|setting| setting.key == Some(key.as_str()));
            let values = match setting {
                // It is reported without its value, which may be a secret.
                None => map.next_value::<IgnoredAny>().map(|_| Vec::new())?,
                Some(setting) if setting.name == "windows" => windows(map.next_value()?),
                Some(setting) if setting.is_list() => map.next_value::<OneOrMany>()?.0,
                // An empty value is unset.
                Some(_) => {
                    let text = map.next_value::<Option<String>>()?;
                    text.filter(|text| !text.is_empty()).into_iter().collect()
                }
            };
            entries.push((key, values));
        }
        Ok(Entries(entries))
    }
}

/// Returns a list of mappings as one value, which its own parser reads.
fn windows(list: Option<Vec<serde_yaml::Mapping>>) -> Vec<String> {
    let list = list.filter(|list| !list.is_empty());
    list.iter().map(|list| serde_json::to_string(list).unwrap_or_default()).collect()
}

/// A list of values, or one value.
#[derive(Deserialize)]
#[serde(from = "Option<Scalars>")]
struct OneOrMany(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalars {
    One(String),
    Many(Vec<String>),
}

impl From<Option<Scalars>> for OneOrMany {
    fn from(scalars: Option<Scalars>) -> Self {
        match scalars {
            Some(Scalars::One(text)) if text.is_empty() => Self(Vec::new()),
            Some(Scalars::One(text)) => Self(vec![text]),
            Some(Scalars::Many(texts)) => Self(texts),
            None => Self(Vec::new()),
        }
    }
}

// Finds folders: the default state folder, and the work tree that makes a configuration file untrusted.

/// Returns the state folder of the source `repo` under `home`, the platform's state folder.
pub(crate) fn state_dir(home: &Path, repo: &RepoUrl, given: &str, folder: &Path) -> PathBuf {
    let source = match repo.local_path() {
        // Links are not resolved: a sidecar swaps its link at every sync, and the state folder must stay the
        // same.
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

/// Returns the work tree that makes `file` untrusted, if documents come from `repo` and `folder` is the
/// working directory: the tree contains the file, and is the source or contains the working directory. Anyone
/// who can open a pull request can write such a file. Elsewhere, the operator writes it.
pub(super) fn untrusted_tree(file: &Path, repo: &str, folder: &Path) -> Option<PathBuf> {
    let source = source(repo, folder);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_source = |tree: &PathBuf| Some(tree) == source.as_ref() || folder.starts_with(tree);
    // Both the link and its target count: authors of the work tree control a link inside it and a target
    // inside it.
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
        let text = "# root: no\nmax_change_ratio: 0.30\nonly: [a/**, 'b c']\nref: ~\nroot: ''\n'state_name' : 007\n\
                    only:\n  - x\nonly: [\n  y\n]\nonly: z\nfirst_parent: true\nlayout: |\n  root: x\nroot: no\n\
                    windows: [{ deny: a/**, at: Fri 16:00 }]\nother: [{ a: b }]\n";
        let expected = [
            ("max_change_ratio", vec!["0.30"], "f.yaml:2:1"),
            ("only", vec!["a/**", "b c"], "f.yaml:3:1"),
            ("ref", vec![], "f.yaml:4:1"),
            ("root", vec![], "f.yaml:5:1"),
            ("state_name", vec!["007"], "f.yaml:6:1"),
            ("only", vec!["x"], "f.yaml:7:1"),
            ("only", vec!["y"], "f.yaml:9:1"),
            ("only", vec!["z"], "f.yaml:12:1"),
            ("first_parent", vec!["true"], "f.yaml:13:1"),
            ("layout", vec!["root: x\n"], "f.yaml:14:1"),
            ("root", vec!["no"], "f.yaml:16:1"),
            ("windows", vec![r#"[{"deny":"a/**","at":"Fri 16:00"}]"#], "f.yaml:17:1"),
            ("other", vec![], "f.yaml:18:1"),
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
            ("root: {b: c}\n", "f.yaml:1:7"),
            ("root: [b]\n", "f.yaml:1:7"),
            ("- a\n", "f.yaml:1:1"),
            ("word\n", "f.yaml:1:1"),
            ("only: [[b]]\n", "f.yaml:1:1"),
            ("root: 1\n---\nref: 2\n", "f.yaml"),
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

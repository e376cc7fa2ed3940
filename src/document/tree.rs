//! Findings on a tree of files that no single file shows.

use super::MOST_FILES;
use super::check;
use super::diagnostic::Diagnostic;
use super::finding::shown;
use crate::model::{KeyError, ToggleId, escaped};

/// Returns one error for each of the `paths` that claim the toggle `id`; each names the others.
#[must_use]
pub fn duplicate(id: &ToggleId, paths: &[String]) -> Vec<Diagnostic> {
    let clash = |path: &String| {
        let others = quoted(paths.iter().filter(|other| *other != path));
        claimed(path, format!("`{id}` is claimed by this file and by {others}"))
    };
    paths.iter().map(clash).collect()
}

fn quoted<'p>(paths: impl Iterator<Item = &'p String>) -> String {
    let paths: Vec<String> = paths.map(|path| format!("`{}`", escaped(path))).collect();
    paths.join(", ")
}

fn claimed(path: &str, message: String) -> Diagnostic {
    Diagnostic::whole_file(&check::DUPLICATE_TOGGLE, path, message)
        .help("keep one of them: until then, the last applied version stays")
}

/// Returns one error for each of the `paths` that claim the toggle `id`, which those in `folded` claim as well: their
/// keys differ from its own only in case.
#[must_use]
pub fn folded(id: &ToggleId, paths: &[String], folded: &[String]) -> Vec<Diagnostic> {
    let message = format!(
        "`{id}` is claimed by this file and, because keys that differ only in case are one toggle to FeatureProbe, by {}",
        quoted(folded.iter())
    );
    paths.iter().map(|path| claimed(path, message.clone())).collect()
}

/// Returns the warning that `path`, which is the document of `id`, has a key that differs from one of `other`'s
/// only in case.
#[must_use]
pub fn case_fold(id: &ToggleId, path: &str, other: &ToggleId) -> Diagnostic {
    let message = format!("`{id}` differs from `{other}` only in upper and lower case");
    Diagnostic::whole_file(&check::CASE_ONLY_DIFFERENCE, path, message)
        .help("rename one: the service may treat both as the same toggle")
}

/// Returns the error that `path` has expectations for the toggle `id`, which has no document. `similar` is a toggle whose
/// name is close to it.
#[must_use]
pub fn test_without_toggle(id: &ToggleId, path: &str, similar: Option<&str>) -> Diagnostic {
    let message = format!("these expectations are for `{id}`, which has no document");
    Diagnostic::whole_file(&check::TEST_WITHOUT_TOGGLE, path, message).help(match similar {
        Some(similar) => format!("did you mean `{}`? remove or rename this file", shown(similar)),
        None => "remove this file, or rename it like the toggle's document".to_owned(),
    })
}

/// Returns the warning that `path` is YAML or JSON but does not match the layout written `pattern`.
#[must_use]
pub fn elsewhere(path: &str, pattern: &str) -> Diagnostic {
    let message = format!("this file does not match the layout `{}`", escaped(pattern));
    Diagnostic::whole_file(&check::ELSEWHERE, path, message).help(
        "set `--root` or `--layout` if it should match; otherwise, begin its name or a folder's with `_` or `.`",
    )
}

/// Returns the warning that `path` is not read because its extension is not in lower case.
#[must_use]
pub fn extension_case(path: &str) -> Diagnostic {
    let message = "this file is not read: its extension is not in lower case";
    Diagnostic::whole_file(&check::EXTENSION_CASE, path, message)
        .help("rename it to `.yaml`, `.yml` or `.json`, or begin its name with `_` if it is not a toggle")
}

/// Returns the error that `component` of `path` is not a valid key.
#[must_use]
pub fn bad_key(path: &str, component: &str, error: &KeyError) -> Diagnostic {
    let message = format!("`{}` in this path is not a valid key: {error}", shown(component));
    Diagnostic::whole_file(&check::BAD_KEY, path, message)
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

/// Returns whether a finding is about nothing but the path of one file.
#[must_use]
pub fn is_about_path(finding: &Diagnostic) -> bool {
    let checks = [&check::ELSEWHERE, &check::EXTENSION_CASE, &check::BAD_KEY];
    checks.iter().any(|check| check.id == finding.id)
}

/// Returns the error that the tree `root` has more files or folders than the limit.
#[must_use]
pub fn too_many_files(root: &str) -> Diagnostic {
    let message = format!("more than {MOST_FILES} files or folders");
    Diagnostic::whole_file(&check::TOO_MANY_FILES, root, message)
        .help("set `--root` to the folder that contains the toggles")
}

/// Returns the error that a path is not UTF-8; the path shown has its other bytes replaced.
#[must_use]
pub fn not_utf8_path(path: &[u8]) -> Diagnostic {
    let path = String::from_utf8_lossy(path);
    Diagnostic::whole_file(&check::NOT_UTF8, &path, "this path is not UTF-8")
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

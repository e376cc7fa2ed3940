//! Findings on a tree of files that no single file shows.

use super::check::{self, Severity};
use super::diagnostic::Diagnostic;
use super::finding::shown;
use super::{MOST_FILES, Unread};
use crate::model::{KeyError, ToggleId, escaped};

/// Returns one error for each of the `paths` that claim the toggle `id`; each names the others. The files in `folded` claim
/// it as well: their ids differ from it only in case.
pub fn duplicate(id: &ToggleId, paths: &[String], folded: &[String]) -> Vec<Diagnostic> {
    let clash = |path: &String| {
        let others = paths.iter().filter(|other| *other != path).chain(folded);
        let others: Vec<String> = others.map(|path| format!("`{}`", escaped(path))).collect();
        let because = match folded {
            [] => "",
            _ => ", because ids that differ only in case are one toggle",
        };
        let message = format!("`{id}` is claimed by this file and by {}{because}", others.join(", "));
        Diagnostic::whole_file(&check::DUPLICATE_TOGGLE, path, message)
            .help("keep one of them: until then, the last applied version stays")
    };
    paths.iter().map(clash).collect()
}

/// Returns the warning that `path`, the document of `id`, differs from the applied toggle `former` only in case.
pub fn case_only_difference(id: &ToggleId, path: &str, former: &ToggleId) -> Diagnostic {
    let message = format!(
        "this creates `{id}`, whose id differs from that of the applied toggle `{former}` only in case"
    );
    Diagnostic::whole_file(&check::CASE_ONLY_DIFFERENCE, path, message).help(format!(
        "`{former}` is dropped from the state and never disabled, because services fold ids; to keep its id, rename the \
         file back"
    ))
}

/// Returns the error that `path` has expectations for the toggle `id`, which has no document. `similar` is a toggle whose
/// name is close to it.
pub fn test_without_toggle(id: &ToggleId, path: &str, similar: Option<&str>) -> Diagnostic {
    let message = format!("these expectations are for `{id}`, which has no document");
    Diagnostic::whole_file(&check::TEST_WITHOUT_TOGGLE, path, message).help(match similar {
        Some(similar) => format!("did you mean `{}`? remove or rename this file", shown(similar)),
        None => "remove this file, or rename it like the toggle's document".to_owned(),
    })
}

/// Returns the warning that `path` is YAML but does not match the layout written `pattern`.
pub fn elsewhere(path: &str, pattern: &str) -> Diagnostic {
    let message = format!("this file does not match the layout `{}`", escaped(pattern));
    Diagnostic::whole_file(&check::ELSEWHERE, path, message).help(
        "set `--root` or `--layout` if it should match; otherwise, begin its name or a folder's with `_` or `.`",
    )
}

/// Returns the finding that `path` is not read. It is an error if the toggle `held` keeps its applied version for that reason.
pub fn unread(path: &str, why: Unread, held: Option<&ToggleId>) -> Diagnostic {
    let (check, what, help) = match why {
        Unread::ExtensionCase => (
            &check::EXTENSION_CASE,
            "this file is not read: its extension is not in lower case",
            "rename it to `.yaml` or `.yml`, or begin its name with `_` if it is not a toggle",
        ),
        Unread::Json => (
            &check::JSON_FILE,
            "this file is not read: its extension is `.json`",
            "rename it to `.yaml`, because JSON is valid YAML, or begin its name with `_` if it is not a toggle",
        ),
        Unread::Link => (
            &check::LINK,
            "this file is not read: it is a symbolic link or a submodule",
            "replace it by a file with the document, or begin its name with `_` if it is not a toggle",
        ),
    };
    let (severity, message) = match held {
        Some(held) => (Severity::Error, format!("{what}; `{held}` keeps its last applied version")),
        None => (check.severity, what.to_owned()),
    };
    Diagnostic { severity, ..Diagnostic::whole_file(check, path, message).help(help) }
}

/// Returns the error that `component` of `path` is not a valid key.
pub fn bad_key(path: &str, component: &str, error: &KeyError) -> Diagnostic {
    let message = format!("`{}` in this path is not a valid key: {error}", shown(component));
    Diagnostic::whole_file(&check::BAD_KEY, path, message)
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

/// Returns whether a finding is about nothing but the path of one file.
pub fn is_about_path(finding: &Diagnostic) -> bool {
    let checks =
        [&check::BAD_KEY, &check::ELSEWHERE, &check::EXTENSION_CASE, &check::JSON_FILE, &check::LINK];
    checks.iter().any(|check| check.id == finding.id)
}

/// Returns the error that the tree `root` has more files or folders than the limit.
pub fn too_many_files(root: &str) -> Diagnostic {
    let message = format!("more than {MOST_FILES} files or folders");
    Diagnostic::whole_file(&check::TOO_MANY_FILES, root, message)
        .help("set `--root` to the folder that contains the toggles")
}

/// Returns the error that a path is not UTF-8; the path shown has its other bytes replaced.
pub fn not_utf8_path(path: &[u8]) -> Diagnostic {
    let path = String::from_utf8_lossy(path);
    Diagnostic::whole_file(&check::NOT_UTF8, &path, "this path is not UTF-8")
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

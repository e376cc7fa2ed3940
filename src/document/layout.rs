//! Maps paths to toggles.
//!
//! A layout is a template such as `{project}/{environment}/{toggle}.yaml`. It uses names only and opens no
//! file. Its display form parses to the same layout.

use std::fmt;
use std::str::FromStr;

use super::check::Severity;
use super::finding::{Diagnostic, shown};
use super::{MOST_FILES, check};
use crate::model::{Format, Key, KeyError, ToggleId, escaped};

/// The template of documents' paths, relative to the root.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Layout {
    pattern: String,
    folders: Vec<Part>,
}

/// One folder of the template; the toggle is always the file.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Environment,
    Literal(String),
    Project,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PathKind {
    /// A toggle's document.
    Document { id: ToggleId, format: Format },
    /// A toggle's expectations.
    Test { id: ToggleId },
    /// A path in the layout's shape with a component that is not a valid key.
    BadKey {
        /// The component, without its extension; bytes that are not UTF-8 are replaced.
        component: String,
        /// Why it is not a key.
        error: KeyError,
        /// The toggle that the path would claim, in the form of an id.
        claim: String,
    },
    /// A YAML file that does not match the layout.
    Elsewhere,
    /// A file that is not read, although its author may expect that.
    Unread {
        /// The toggle whose document it would be if it were read, if it is at a document's place.
        id: Option<ToggleId>,
        /// Why it is not read.
        why: Unread,
    },
    /// Any other path.
    Ignored,
}

/// Why a file that looks like a document is not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unread {
    /// Its extension is not in lower case.
    ExtensionCase,
    /// Its extension is `.json`.
    Json,
    /// It is a symbolic link or a submodule.
    Link,
    /// It has the name of expectations, but not exactly, or not where a document can be.
    Test,
}

/// Why a text is not a layout.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LayoutError {
    #[error("a layout ends in `{{toggle}}.yaml` (which means `.yml` too), not in `{}`", escaped(.0))]
    File(String),
    #[error("a layout needs `{0}` once, as a whole folder")]
    Missing(&'static str),
    #[error("a layout has `{0}` only once")]
    Repeated(&'static str),
    #[error(
        "`{}` is not a valid folder of a layout: a folder is `{{project}}`, `{{environment}}` or a name without braces that does not begin with `.` or `_`",
        escaped(.0)
    )]
    Folder(String),
}

/// How the name of a file with expectations ends.
const TEST: &str = ".test.yaml";

const DEFAULT: &str = "{project}/{environment}/{toggle}.yaml";

impl Default for Layout {
    fn default() -> Self {
        DEFAULT.parse().expect("the default layout has each placeholder once")
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(pattern: &str) -> Result<Self, LayoutError> {
        let (folders, file) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        // `.yaml` stands for both extensions.
        if file != "{toggle}.yaml" {
            return Err(LayoutError::File(file.to_owned()));
        }
        // An empty text splits into one empty folder, which would be reported instead of the missing
        // placeholder.
        let folders =
            folders.split('/').filter(|_| !folders.is_empty()).map(folder).collect::<Result<Vec<_>, _>>()?;
        for (part, name) in [(Part::Project, "{project}"), (Part::Environment, "{environment}")] {
            match folders.iter().filter(|folder| **folder == part).count() {
                0 => return Err(LayoutError::Missing(name)),
                1 => {}
                _ => return Err(LayoutError::Repeated(name)),
            }
        }
        Ok(Self { pattern: pattern.to_owned(), folders })
    }
}

fn folder(name: &str) -> Result<Part, LayoutError> {
    match name {
        "{project}" => Ok(Part::Project),
        "{environment}" => Ok(Part::Environment),
        "{toggle}" => Err(LayoutError::Repeated("{toggle}")),
        // No document is under a folder that begins with `.` or `_`, so such a layout could match nothing.
        name if name.is_empty() || name.starts_with(['.', '_']) || name.contains(['{', '}', '\\', '\0']) => {
            Err(LayoutError::Folder(name.to_owned()))
        }
        name => Ok(Part::Literal(name.to_owned())),
    }
}

impl Layout {
    /// Returns the template as it was given.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns whether this is exactly `{project}/{environment}/{toggle}.yaml`, so that a tree of documents
    /// can be compared with the applied one level by level.
    pub(crate) fn is_default_shape(&self) -> bool {
        self.folders == [Part::Project, Part::Environment]
    }

    /// Returns the path of a document, relative to the root.
    pub(crate) fn path(&self, id: &ToggleId, format: Format) -> String {
        let folders = self.folders.iter().map(|part| match part {
            Part::Environment => id.environment_key(),
            Part::Literal(name) => name,
            Part::Project => id.project(),
        });
        let mut parts: Vec<&str> = folders.flat_map(|folder| [folder, "/"]).collect();
        parts.extend([id.toggle(), ".", format.as_str()]);
        parts.concat()
    }

    /// Classifies `path`, which is relative to the root and uses `/`.
    pub(crate) fn classify(&self, path: &[u8]) -> PathKind {
        let components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        // Comes before everything else: `.github/workflows/ci.yml` is not a misplaced document
        // (src/document/README.md, "Paths").
        if components.iter().any(|name| matches!(name.first(), None | Some(b'.' | b'_'))) {
            return PathKind::Ignored;
        }
        let Some((file, folders)) = components.split_last() else {
            return PathKind::Ignored;
        };
        let keys = self.folder_keys(folders);
        if file.to_ascii_lowercase().ends_with(TEST.as_bytes()) {
            return test(keys, file);
        }
        match (split_extension(file), keys) {
            (Some((stem, format)), Some((project, environment))) => {
                document(project, environment, stem, format)
            }
            (Some(_), None) => PathKind::Elsewhere,
            (None, keys) => unread(keys, file),
        }
    }

    /// Returns the toggle and the extension of a path that was recorded as a document, maybe by a version
    /// that read `.json`.
    pub(crate) fn recorded(&self, path: &[u8]) -> Option<(ToggleId, Format)> {
        match self.classify(path) {
            PathKind::Document { id, format } => Some((id, format)),
            PathKind::Unread { id: Some(id), why: Unread::Json } => Some((id, Format::Json)),
            _ => None,
        }
    }

    /// Returns the number of documents among `names`, the names of files in `folder`.
    pub(crate) fn count<'a>(&self, folder: &str, names: impl Iterator<Item = &'a [u8]>) -> usize {
        // A plan counts thousands of files to divide by their number, so the folders of their paths are
        // checked once.
        let documents = names.filter(|name| is_document(name)).count();
        match self.classify(format!("{folder}/toggle.yaml").as_bytes()) {
            PathKind::Document { .. } => documents,
            _ => 0,
        }
    }

    /// Returns the project's and the environment's components if `folders` match the layout.
    fn folder_keys<'a>(&self, folders: &[&'a [u8]]) -> Option<(&'a [u8], &'a [u8])> {
        if folders.len() != self.folders.len() {
            return None;
        }
        let (mut project, mut environment) = (None, None);
        for (part, name) in self.folders.iter().zip(folders) {
            match part {
                Part::Environment => environment = Some(*name),
                Part::Literal(literal) if literal.as_bytes() != *name => return None,
                Part::Literal(_) => {}
                Part::Project => project = Some(*name),
            }
        }
        project.zip(environment)
    }
}

/// Classifies a file whose name ends like that of expectations. Without this, those in another folder would
/// never be run, in silence (src/cli/README.md, "Never green by accident").
fn test(keys: Option<(&[u8], &[u8])>, file: &[u8]) -> PathKind {
    let toggle =
        keys.zip(file.strip_suffix(TEST.as_bytes())).and_then(
            |((project, environment), stem)| match document(project, environment, stem, Format::Yaml) {
                PathKind::Document { id, .. } => Some(id),
                _ => None,
            },
        );
    toggle.map_or(PathKind::Unread { id: None, why: Unread::Test }, |id| PathKind::Test { id })
}

/// Returns a file's name without its extension, and its format.
fn split_extension(file: &[u8]) -> Option<(&[u8], Format)> {
    if file.ends_with(TEST.as_bytes()) {
        return None;
    }
    [(&b".yaml"[..], Format::Yaml), (b".yml", Format::Yml)]
        .into_iter()
        .find_map(|(extension, format)| Some((file.strip_suffix(extension)?, format)))
}

/// Classifies a file that is not read. Without this, `pay.YAML` would be left out in silence, and its toggle
/// would look removed (src/cli/README.md, "Never green by accident").
fn unread(keys: Option<(&[u8], &[u8])>, file: &[u8]) -> PathKind {
    let lower = file.to_ascii_lowercase();
    let (stem, why) = match (lower.strip_suffix(b".json"), split_extension(&lower)) {
        // Elsewhere, a JSON file is somebody else's.
        (Some(stem), _) if keys.is_some() => (stem, Unread::Json),
        (_, Some((stem, _))) => (stem, Unread::ExtensionCase),
        _ => return PathKind::Ignored,
    };
    let id = keys.and_then(|(project, environment)| {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        ToggleId::new(text(project)?, text(environment)?, text(&file[..stem.len()])?).ok()
    });
    PathKind::Unread { id, why }
}

/// Returns whether a file with this name is a document in a folder of the layout.
fn is_document(name: &[u8]) -> bool {
    split_extension(name).is_some_and(|(stem, _)| Key::is_key(stem))
}

fn document(project: &[u8], environment: &[u8], toggle: &[u8], format: Format) -> PathKind {
    for component in [project, environment, toggle] {
        // The replacement character is not allowed in a key, so a name that is not UTF-8 is refused as well.
        let text = String::from_utf8_lossy(component);
        if let Err(error) = Key::check(&text) {
            let claim = [project, environment, toggle].map(String::from_utf8_lossy).join("/");
            return PathKind::BadKey { component: text.into_owned(), error, claim };
        }
    }
    let [project, environment, toggle] = [project, environment, toggle]
        .map(|component| std::str::from_utf8(component).expect("a key is ASCII"));
    let id = ToggleId::new(project, environment, toggle).expect("all three are keys");
    PathKind::Document { id, format }
}

/// Returns one error for each of the `paths` that claim the toggle `id`; each names the others. The files in
/// `folded` claim it as well: their ids differ from it only in case.
pub(crate) fn duplicate(id: &ToggleId, paths: &[String], folded: &[String]) -> Vec<Diagnostic> {
    let clash = |path: &String| {
        let others = paths.iter().filter(|other| *other != path).chain(folded);
        let others: Vec<String> = others.map(|path| format!("`{}`", escaped(path))).collect();
        let because = match folded {
            [] => "",
            _ => ", because ids that differ only in case are one toggle",
        };
        let message = format!("`{id}` is claimed by this file and by {}{because}", others.join(", "));
        Diagnostic::whole_file(&check::DUPLICATE_TOGGLE, path, message)
            .help("keep one of them: until then, nothing is published for this toggle")
    };
    paths.iter().map(clash).collect()
}

/// Returns the warning that `path`, the document of `id`, differs from the applied toggle `former` only in
/// case.
pub(crate) fn case_only_difference(id: &ToggleId, path: &str, former: &ToggleId) -> Diagnostic {
    let message = format!(
        "this creates `{id}`, whose id differs from that of the applied toggle `{former}` only in case"
    );
    Diagnostic::whole_file(&check::CASE_ONLY_DIFFERENCE, path, message).help(format!(
        "`{former}` is dropped from the state and never disabled, because services fold ids; to keep its id, rename the \
         file back"
    ))
}

/// Returns the error that `path` has expectations for the toggle `id`, which has no document. `similar` is a
/// toggle whose name is close to it.
pub(crate) fn test_without_toggle(id: &ToggleId, path: &str, similar: Option<&str>) -> Diagnostic {
    let message = format!("these expectations are for `{id}`, which has no document");
    Diagnostic::whole_file(&check::TEST_WITHOUT_TOGGLE, path, message).help(match similar {
        Some(similar) => format!("did you mean `{}`? remove or rename this file", shown(similar)),
        None => "remove this file, or rename it like the toggle's document".to_owned(),
    })
}

/// Returns the warning that `path` is YAML but does not match the layout written `pattern`.
pub(crate) fn elsewhere(path: &str, pattern: &str) -> Diagnostic {
    let message = format!("this file does not match the layout `{}`", escaped(pattern));
    Diagnostic::whole_file(&check::ELSEWHERE, path, message).help(
        "set `--root` or `--layout` if it should match; otherwise, begin its name or a folder's with `_` or `.`",
    )
}

/// Returns the finding that `path` is not read. It is an error if the toggle `held` keeps its applied version
/// for that reason.
pub(crate) fn not_read(path: &str, why: Unread, held: Option<&ToggleId>) -> Diagnostic {
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
        Unread::Test => (
            &check::TEST_NOT_RUN,
            "this test is not run: the test of a document `NAME.yaml` is `NAME.test.yaml` in the same folder",
            "rename it or move it there, or begin its name with `_` if it is not a test",
        ),
    };
    let (severity, message) = match held {
        Some(held) => (Severity::Error, format!("{what}; `{held}` keeps its last applied version")),
        None => (check.severity, what.to_owned()),
    };
    Diagnostic { severity, ..Diagnostic::whole_file(check, path, message).help(help) }
}

/// Returns the finding that `path` is not read, whose toggle has a `document` beside it. Under the name of a
/// document, it would be a second one.
pub(crate) fn not_read_beside(path: &str, why: Unread, document: &str) -> Diagnostic {
    not_read(path, why, None).help(format!(
        "remove it, because its toggle has the document `{}`, or begin its name with `_` if it is not a toggle",
        escaped(document)
    ))
}

/// Returns the error that the document of `held` was moved to `path`, where it is not read.
pub(crate) fn moved(path: &str, held: &ToggleId) -> Diagnostic {
    let message = format!(
        "this file is the document of `{held}`, and is not read here; `{held}` keeps its last applied version"
    );
    let help = "move it back; to remove the toggle, which switches it off (`on_remove: disable`), delete this file as well, or begin its \
                name with `_`";
    let severity = Severity::Error;
    Diagnostic { severity, ..Diagnostic::whole_file(&check::ELSEWHERE, path, message).help(help) }
}

/// Returns the error that `component` of `path` is not a valid key.
pub(crate) fn bad_key(path: &str, component: &str, error: &KeyError) -> Diagnostic {
    let message = format!("`{}` in this path is not a valid key: {error}", shown(component));
    Diagnostic::whole_file(&check::BAD_KEY, path, message)
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

/// Returns whether a finding is about nothing but the path of one file.
pub(crate) fn is_about_path(finding: &Diagnostic) -> bool {
    let checks = [
        &check::BAD_KEY,
        &check::ELSEWHERE,
        &check::EXTENSION_CASE,
        &check::JSON_FILE,
        &check::LINK,
        &check::TEST_NOT_RUN,
    ];
    checks.iter().any(|check| check.id == finding.id)
}

/// Returns the error that the tree `root` has more files or folders than the limit.
pub(crate) fn too_many_files(root: &str) -> Diagnostic {
    let message = format!("more than {MOST_FILES} files or folders");
    Diagnostic::whole_file(&check::TOO_MANY_FILES, root, message)
        .help("set `--root` to the folder that contains the toggles")
}

/// Returns the error that a path is not UTF-8; the path shown has its other bytes replaced.
pub(crate) fn not_utf8_path(path: &[u8]) -> Diagnostic {
    let path = String::from_utf8_lossy(path);
    Diagnostic::whole_file(&check::NOT_UTF8, &path, "this path is not UTF-8")
        .help("rename it, or begin its name with `_` if it is not a toggle")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(layout: &str, path: &str) -> String {
        match layout.parse::<Layout>().unwrap().classify(path.as_bytes()) {
            PathKind::Document { id, format } => format!("{id} {}", format.as_str()),
            PathKind::BadKey { component, .. } => format!("bad key {component}"),
            PathKind::Elsewhere => "elsewhere".to_owned(),
            PathKind::Unread { id, why } => {
                format!("unread {} {why:?}", id.map_or_else(String::new, |id| id.to_string()))
            }
            PathKind::Test { id } => format!("test of {id}"),
            PathKind::Ignored => "ignored".to_owned(),
        }
    }

    #[test]
    fn a_path_is_a_document_elsewhere_or_ignored() {
        for (path, expected) in [
            ("shop/prod/pay.yaml", "shop/prod/pay yaml"),
            ("shop/prod/pay.yml", "shop/prod/pay yml"),
            ("shop/prod/pay.json", "unread shop/prod/pay Json"),
            ("shop/prod/Pay.JSON", "unread shop/prod/Pay Json"),
            ("shop/prod/new pay.json", "unread  Json"),
            ("shop/prod/pay.v2.yaml", "shop/prod/pay.v2 yaml"),
            ("shop/prod/pay.test.yaml", "test of shop/prod/pay"),
            ("shop/prod/pay.test.yml", "shop/prod/pay.test yml"),
            ("shop/prod/pay.YAML", "unread shop/prod/pay ExtensionCase"),
            ("shop/prod/pay.Yml", "unread shop/prod/pay ExtensionCase"),
            ("Package.JSON", "ignored"),
            ("Zoo.YAML", "unread  ExtensionCase"),
            ("shop/_drafts/pay.YAML", "ignored"),
            ("shop/prod/pay.test.YAML", "unread  Test"),
            ("shop/prod/new pay.test.yaml", "unread  Test"),
            ("shop/prod/tests/pay.test.yaml", "unread  Test"),
            ("shop/pay.test.yaml", "unread  Test"),
            ("shop/prod/_pay.test.yaml", "ignored"),
            ("shop/_drafts/pay.test.yaml", "ignored"),
            ("shop/prod/README.md", "ignored"),
            ("shop/prod/pay", "ignored"),
            ("shop/prod/.pay.yaml", "ignored"),
            ("shop/_drafts/pay.yaml", "ignored"),
            (".github/workflows/ci.yml", "ignored"),
            ("package.json", "ignored"),
            ("shop/pay.yaml", "elsewhere"),
            ("shop/prod/eu/pay.yaml", "elsewhere"),
            ("shop/prod/new pay.yaml", "bad key new pay"),
            ("sh@p/prod/pay.yaml", "bad key sh@p"),
            ("shop/prod/-pay.yaml", "bad key -pay"),
            ("shop//pay.yaml", "ignored"),
            ("", "ignored"),
        ] {
            assert_eq!(place(DEFAULT, path), expected, "{path}");
        }
    }

    #[test]
    fn a_layout_may_have_literals_and_another_order() {
        let layout = "toggles/{environment}/{project}/{toggle}.yaml";
        assert_eq!(place(layout, "toggles/prod/shop/pay.yml"), "shop/prod/pay yml");
        assert_eq!(place(layout, "other/prod/shop/pay.yml"), "elsewhere");
        assert!(!layout.parse::<Layout>().unwrap().is_default_shape());
        assert!(Layout::default().is_default_shape());
        assert_eq!(layout.parse::<Layout>().unwrap().to_string(), layout);
    }

    #[test]
    fn the_documents_of_a_folder_are_those_that_classify_as_documents() {
        let names = "pay.yaml|pay.yml|pay.json|pay.test.yaml|pay.YAML|README.md|.pay.yaml|_pay.yaml|-pay.yaml|new \
                     pay.yaml|.yaml|pay|\u{e9}.yaml";
        let names: Vec<&str> = names.split('|').collect();
        for folder in ["shop/prod", "shop", "shop/_prod", "shop/pro d", ".shop/prod", "shop/prod/eu"] {
            let layout = Layout::default();
            let is_document = |name: &&&str| {
                let path = format!("{folder}/{name}");
                matches!(layout.classify(path.as_bytes()), PathKind::Document { .. })
            };
            let count = layout.count(folder, names.iter().map(|name| name.as_bytes()));
            assert_eq!(count, names.iter().filter(is_document).count(), "{folder}");
        }
    }

    #[test]
    fn a_component_that_is_not_utf8_is_a_bad_key() {
        let place = Layout::default().classify(b"shop/prod/p\xffy.yaml");
        let expected = KeyError::BadCharacter('\u{fffd}');
        assert!(matches!(place, PathKind::BadKey { error, .. } if error == expected));
    }

    #[test]
    fn an_invalid_layout_is_refused_with_the_reason() {
        for (pattern, reason) in [
            ("", LayoutError::File(String::new())),
            ("{project}/{environment}/{toggle}", LayoutError::File("{toggle}".into())),
            ("{project}/{environment}/x-{toggle}.yaml", LayoutError::File("x-{toggle}.yaml".into())),
            ("{toggle}.yaml", LayoutError::Missing("{project}")),
            ("{project}/{toggle}.yaml", LayoutError::Missing("{environment}")),
            ("{project}/{project}/{environment}/{toggle}.yaml", LayoutError::Repeated("{project}")),
            ("{toggle}/{project}/{environment}/{toggle}.yaml", LayoutError::Repeated("{toggle}")),
            ("p-{project}/{environment}/{toggle}.yaml", LayoutError::Folder("p-{project}".into())),
            ("/{project}/{environment}/{toggle}.yaml", LayoutError::Folder(String::new())),
            ("../{project}/{environment}/{toggle}.yaml", LayoutError::Folder("..".into())),
            ("_x/{project}/{environment}/{toggle}.yaml", LayoutError::Folder("_x".into())),
        ] {
            assert_eq!(pattern.parse::<Layout>(), Err(reason), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_place(path in any::<Vec<u8>>()) {
            let _ = Layout::default().classify(&path);
        }
    }
}

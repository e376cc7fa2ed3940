//! Reads the documents of environments in a work tree, and copies them from one environment to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::AuthoringError;
use crate::authoring::target_folder::{Existing, TargetFolder, WriteResult};
use crate::document::{self, Diagnostic, LARGEST_DOCUMENT, Layout, PathKind, Severity, layout};
use crate::model::{
    Blob, EnvironmentId, FoldedId, Format, ObjectId, Payload, Scope, ServiceKind, ToggleId, chain, closest,
};
use crate::plan::compare::join;
use crate::source;
use crate::source::worktree::{self, WorkTree};

#[derive(Debug, Default)]
pub(crate) struct PromotionReport {
    /// The result of each toggle that a glob matches and whose document is valid, by its key.
    pub results: BTreeMap<String, PromotionResult>,
    /// The toggles whose document is invalid, by key; they are not copied.
    pub invalid: Vec<String>,
    /// The errors in these documents.
    pub findings: Vec<Diagnostic>,
    /// The globs that match no toggle.
    pub unmatched: Vec<String>,
    /// The written documents that Git ignores, so that they are not committed.
    pub ignored: Vec<String>,
    /// The copied toggles whose prerequisite has no document in the target, with the key of that one.
    pub lacking: Vec<(String, String)>,
}

/// What became of one toggle.
#[derive(Debug)]
pub(crate) enum PromotionResult {
    /// The document is new, or replaces one with another meaning.
    Copied {
        /// The path relative to the folder.
        path: String,
        /// The meaning of the document that was replaced; none if it was invalid or did not exist.
        before: Option<Payload>,
        after: Payload,
    },
    /// The document could not be written, with the reason.
    Failed(String),
    /// Both documents mean the same.
    Unchanged,
}

/// Copies the documents of `from` whose keys match `globs` to `to`.
pub(crate) fn promote(
    place: DocumentPlace<'_>,
    from: &EnvironmentId,
    to: &EnvironmentId,
    globs: &Scope,
    creates: bool,
) -> Result<PromotionReport, AuthoringError> {
    let [source, target] = place.environments([from, to])?;
    if source.is_empty() {
        return Err(place.no_documents(from));
    }
    if target.is_empty() && !creates {
        return Err(AuthoringError::NewEnvironment(to.clone(), place.similar(to)?));
    }
    let mut report = PromotionReport::default();
    let mut unmatched = globs.unmatched();
    source.toggles().into_iter().for_each(|key| unmatched.remove_matching(key));
    report.unmatched = unmatched.globs();
    if !report.unmatched.is_empty() {
        return Ok(report);
    }
    report.invalid = source.invalid.keys().filter(|key| globs.contains_text(key)).cloned().collect();
    let is_wanted = |finding: &Diagnostic| {
        let paths = report.invalid.iter().flat_map(|key| &source.invalid[key]);
        paths.map(|(path, _)| join(place.root, path)).any(|path| path == finding.path)
    };
    report.findings = source.findings.iter().filter(|found| is_wanted(found)).cloned().collect();
    let promotion = Promotion::new(place, to, &target)?;
    for (key, document) in source.valid.iter().filter(|(key, _)| globs.contains_text(key)) {
        let result = promotion.copy(key, document).unwrap_or_else(PromotionResult::Failed);
        report.results.insert(key.clone(), result);
    }
    report.lacking = lacking(&report, &target);
    let written = report.results.values().filter_map(|result| match result {
        PromotionResult::Copied { path, .. } => Some(path.clone()),
        PromotionResult::Failed(_) | PromotionResult::Unchanged => None,
    });
    report.ignored = promotion.folder.ignored(written)?;
    Ok(report)
}

/// Returns the copied toggles with each prerequisite that has no document in the target.
fn lacking(report: &PromotionReport, target: &EnvironmentDocuments) -> Vec<(String, String)> {
    let copied = report.results.iter().filter_map(|(key, result)| match result {
        PromotionResult::Copied { after, .. } => Some((key, after)),
        PromotionResult::Failed(_) | PromotionResult::Unchanged => None,
    });
    // One that is there in another spelling is a finding of its own.
    let there: BTreeSet<String> = target
        .toggles()
        .into_iter()
        .chain(copied.clone().map(|(key, _)| key.as_str()))
        .map(str::to_ascii_lowercase)
        .collect();
    let all = copied.flat_map(|(key, after)| {
        after.prerequisites().into_iter().map(move |prerequisite| (key.clone(), prerequisite.key))
    });
    all.filter(|(_, needed)| !there.contains(&needed.to_ascii_lowercase())).collect()
}

struct Promotion<'a> {
    place: DocumentPlace<'a>,
    to: &'a EnvironmentId,
    /// The documents of the target by key in lowercase: ids that differ only in case are one toggle
    /// (src/model/README.md, "Ids").
    valid: HashMap<String, &'a EnvironmentDocument>,
    /// The paths of its invalid documents, in the same way.
    invalid: HashMap<String, Vec<&'a String>>,
    folder: TargetFolder,
}

impl<'a> Promotion<'a> {
    fn new(
        place: DocumentPlace<'a>,
        to: &'a EnvironmentId,
        target: &'a EnvironmentDocuments,
    ) -> Result<Self, AuthoringError> {
        let folder = TargetFolder::open(place.folder, place.root)?;
        let valid = target.valid.iter().map(|(key, document)| (key.to_ascii_lowercase(), document)).collect();
        let mut invalid: HashMap<String, Vec<&String>> = HashMap::new();
        for (key, paths) in &target.invalid {
            invalid.entry(key.to_ascii_lowercase()).or_default().extend(paths.iter().map(|(path, _)| path));
        }
        Ok(Self { place, to, valid, invalid, folder })
    }

    /// Copies one document. The error is the reason why it could not be written.
    fn copy(&self, key: &str, document: &EnvironmentDocument) -> Result<PromotionResult, String> {
        let folded = key.to_ascii_lowercase();
        let before = self.valid.get(&folded).copied();
        if before.is_some_and(|before| before.payload == document.payload) {
            return Ok(PromotionResult::Unchanged);
        }
        let (path, existing) = match (before, self.invalid.get(&folded).map(Vec::as_slice)) {
            (Some(before), _) => (before.path.clone(), Existing::Replace),
            (None, Some([path])) => (path.to_string(), Existing::Replace),
            (None, None) => (self.path(key, document.format)?, Existing::Keep),
            (None, Some(_)) => return Err("several files claim it there; keep one of them".to_owned()),
        };
        let text = self.text(document, &path)?;
        match self.folder.write(&path, &text, existing).map_err(|error| chain(&error))? {
            WriteResult::Written => {}
            WriteResult::Exists => return Err(format!("Git ignores a file at `{path}`")),
        }
        Ok(PromotionResult::Copied {
            path: self.folder.shown(&path),
            before: before.map(|before| before.payload.clone()),
            after: document.payload.clone(),
        })
    }

    fn path(&self, key: &str, format: Format) -> Result<String, String> {
        let id = ToggleId::new(self.to.project.as_str(), self.to.environment.as_str(), key)
            .map_err(|error| chain(&error))?;
        let path = self.place.layout.path(&id, format);
        match self.place.layout.classify(path.as_bytes()) {
            PathKind::Document { .. } => Ok(path),
            _ => Err(format!("`{path}` cannot be a document")),
        }
    }

    fn text(&self, document: &EnvironmentDocument, path: &str) -> Result<String, String> {
        let text = match &document.content {
            Blob::Content(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Blob::Missing | Blob::TooLarge(_) => {
                document::print(&document.payload.targeting(), self.place.kind)
            }
        };
        let copy = Blob::Content(text.clone().into_bytes());
        let read = document::read(path, &copy, self.place.kind);
        if read.payload.as_ref() == Some(&document.payload) {
            Ok(text)
        } else {
            Err("its copy would have another meaning".to_owned())
        }
    }
}

/// The documents of a work tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentPlace<'a> {
    /// The top of a work tree, or a folder outside of work trees.
    pub folder: &'a Path,
    /// The root of the documents, relative to the folder.
    pub root: &'a str,
    /// The layout below the root.
    pub layout: &'a Layout,
    /// The kind of service, which decides whether a document is valid.
    pub kind: ServiceKind,
}

/// The valid documents of one environment, by the key of the toggle.
#[derive(Debug, Default)]
pub(crate) struct EnvironmentDocuments {
    pub valid: BTreeMap<String, EnvironmentDocument>,
    /// The toggles whose document is invalid, with its paths relative to the root: several if they clash.
    pub invalid: BTreeMap<String, Vec<(String, Format)>>,
    /// The errors in the invalid documents.
    pub findings: Vec<Diagnostic>,
}

#[derive(Debug)]
pub(crate) struct EnvironmentDocument {
    /// Relative to the root.
    pub path: String,
    format: Format,
    content: Blob,
    pub payload: Payload,
}

impl DocumentPlace<'_> {
    /// Reads the documents of `environments`, in their order. Files that Git ignores are not documents. A
    /// document that is committed but not checked out is treated as invalid, because its meaning is not known.
    pub(crate) fn environments<const N: usize>(
        &self,
        environments: [&EnvironmentId; N],
    ) -> Result<[EnvironmentDocuments; N], AuthoringError> {
        let files = WorkTree::open(self.folder, self.root)?;
        let mut found = [const { BTreeMap::<ToggleId, Vec<(String, Format)>>::new() }; N];
        let left_out = worktree::not_checked_out(self.folder, self.root)?;
        for path in files.files()?.into_iter().chain(left_out.keys().cloned()) {
            let PathKind::Document { id, format } = self.layout.classify(&path) else {
                continue;
            };
            let at = environments.iter().position(|environment| id.is_in(environment));
            if let (Some(at), Ok(path)) = (at, String::from_utf8(path)) {
                found[at].entry(id).or_default().push((path, format));
            }
        }
        let mut all = [const { None }; N];
        for (at, toggles) in found.into_iter().enumerate() {
            all[at] = Some(self.read(&files, &left_out, toggles)?);
        }
        Ok(all.map(Option::unwrap_or_default))
    }

    /// Returns the error that an environment has no documents.
    pub(crate) fn no_documents(&self, id: &EnvironmentId) -> AuthoringError {
        match self.similar(id) {
            Ok(similar) => AuthoringError::NoDocuments(id.clone(), similar),
            Err(error) => error,
        }
    }

    /// Returns the environment with documents that is probably meant: its parts are swapped, or it has a
    /// similar name.
    fn similar(&self, id: &EnvironmentId) -> Result<Option<EnvironmentId>, AuthoringError> {
        let known = self.known()?;
        let swapped = EnvironmentId { project: id.environment.clone(), environment: id.project.clone() };
        if known.contains(&swapped) {
            return Ok(Some(swapped));
        }
        // In the same project, only the second part may differ.
        let near = || known.iter().filter(|other| other.project == id.project);
        let key = closest(id.environment.as_str(), near().map(|other| other.environment.as_str()));
        let by_key = key.and_then(|key| near().find(|other| other.environment.as_str() == key));
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        let by_name = || {
            let name = closest(&id.to_string(), names.iter().map(String::as_str))?;
            known.iter().find(|one| one.to_string() == name)
        };
        Ok(by_key.or_else(by_name).cloned())
    }

    fn known(&self) -> Result<BTreeSet<EnvironmentId>, AuthoringError> {
        let files = WorkTree::open(self.folder, self.root)?.files()?;
        let environments = files.iter().filter_map(|path| match self.layout.classify(path) {
            PathKind::Document { id, .. } => Some(id.environment()),
            _ => None,
        });
        Ok(environments.collect())
    }

    fn read(
        &self,
        files: &WorkTree,
        left_out: &BTreeMap<Vec<u8>, ObjectId>,
        toggles: BTreeMap<ToggleId, Vec<(String, Format)>>,
    ) -> Result<EnvironmentDocuments, source::Error> {
        let mut all = EnvironmentDocuments::default();
        let mut claims: HashMap<FoldedId, Vec<String>> = HashMap::new();
        for (id, paths) in &toggles {
            let paths = paths.iter().map(|(path, _)| join(self.root, path));
            claims.entry(id.folded()).or_default().extend(paths);
        }
        for (id, mut paths) in toggles {
            let key = id.toggle().to_owned();
            let claims = &claims[&id.folded()];
            if claims.len() > 1 {
                let own: Vec<String> = paths.iter().map(|(path, _)| join(self.root, path)).collect();
                let folded: Vec<String> = claims.iter().filter(|path| !own.contains(path)).cloned().collect();
                all.findings.extend(layout::duplicate(&id, &own, &folded));
                all.invalid.insert(key, paths);
                continue;
            }
            let Some((path, format)) = paths.pop() else {
                continue;
            };
            let content = if left_out.contains_key(path.as_bytes()) {
                Blob::Missing
            } else {
                files.content(path.as_bytes(), LARGEST_DOCUMENT)?
            };
            let read = document::read(&join(self.root, &path), &content, self.kind);
            let document = read.payload.map(|payload| EnvironmentDocument {
                path: path.clone(),
                format,
                content,
                payload,
            });
            match document {
                Some(document) => {
                    all.valid.insert(key, document);
                }
                None => {
                    let errors = read.diagnostics.into_iter();
                    all.findings.extend(errors.filter(|found| found.severity == Severity::Error));
                    all.invalid.insert(key, vec![(path, format)]);
                }
            }
        }
        Ok(all)
    }
}

impl EnvironmentDocuments {
    /// Returns whether the environment has no document, valid or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.valid.is_empty() && self.invalid.is_empty()
    }

    pub(crate) fn toggles(&self) -> BTreeSet<&str> {
        self.valid.keys().chain(self.invalid.keys()).map(String::as_str).collect()
    }
}

//! Checks what the documents of a source say about each other. Reads only what the checked documents refer
//! to, directly or through others: one changed document costs its chain of prerequisites, not the
//! environment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Error;
use crate::document::{
    self, Diagnostic, Fragment, LARGEST_DOCUMENT, Layout, Outline, PathKind, ReferenceProblem, References,
    disagreement, other_spelling,
};
use crate::model::{
    Blob, EntryKind, EnvironmentId, FoldedId, ObjectId, Payload, ReturnType, Sdks, ServiceKind, ToggleId,
    Tree, Trees, closest,
};
use crate::plan::compare::{File, join};
use crate::plan::{Mixed, Needs};
use crate::source;

/// A document that was read and is checked.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) id: ToggleId,
    pub(crate) file: File,
    pub(crate) outline: Outline,
    /// The targeting of a document with prerequisites, so that it is not read again.
    pub(crate) payload: Option<Payload>,
    /// What can be read of an invalid document.
    pub(crate) fragment: Option<Box<Fragment>>,
    /// Whether the type and the key are compared with those of the toggle's other documents: the document is valid and
    /// has changed.
    pub(crate) is_changed: bool,
}

impl Noted {
    /// Returns what it says, as far as that is noted: nothing of a valid document without prerequisites.
    fn said(&self) -> Said {
        match (&self.payload, &self.fragment) {
            (Some(payload), _) => Said::Whole(payload.clone()),
            (None, Some(fragment)) => Said::Part(fragment.clone()),
            (None, None) => Said::Nothing,
        }
    }

    fn has_prerequisites(&self) -> bool {
        self.payload.is_some() || self.fragment.as_ref().is_some_and(|part| part.has_prerequisites())
    }
}

/// What was found out about the checked documents.
#[derive(Debug, Default)]
pub(crate) struct ReferenceFindings {
    pub(crate) findings: Vec<Diagnostic>,
    /// The toggles whose documents are invalid only because of what others say.
    pub(crate) invalid: BTreeSet<ToggleId>,
    /// What the checked documents need, and what those need.
    pub(crate) needs: Needs,
    /// The toggles whose documents do not give them one type and one key.
    pub(crate) mixed: BTreeMap<ToggleId, Mixed>,
}

/// Checks what `noted` say about other documents of the library.
pub(crate) fn check<T: Trees<Error = source::Error>>(
    mut noted: Vec<Noted>,
    mut library: Library<'_, T>,
) -> Result<ReferenceFindings, Error> {
    if !library.kind.can().refer {
        return Ok(ReferenceFindings::default());
    }
    noted.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut problems: BTreeMap<usize, Vec<ReferenceProblem>> = BTreeMap::new();
    let mut all = ReferenceFindings::default();
    let mut first = 0;
    let waived_texts = waived_texts(&noted);
    for environment in noted.chunk_by(in_one_environment) {
        let referring = environment.iter().enumerate();
        let referring: Vec<usize> =
            referring.filter(|(_, one)| one.has_prerequisites()).map(|(at, _)| first + at).collect();
        if !referring.is_empty() {
            let (found, needs) = library.prerequisites(&noted, &waived_texts, &referring)?;
            all.needs.insert(environment[0].id.environment(), needs);
            problems.extend(referring.into_iter().zip(found).filter(|(_, found)| !found.is_empty()));
        }
        first += environment.len();
    }
    let unwaived = match library.is_alone {
        true => BTreeSet::new(),
        false => library.types(&noted, &mut problems, &mut all.mixed)?,
    };
    let mut differing = BTreeMap::new();
    let waivers = noted.iter().enumerate().filter(|(_, one)| one.outline.has_waiver).map(|(at, _)| at);
    let concerned: BTreeSet<usize> = problems.keys().copied().chain(waivers).collect();
    for at in concerned {
        let Noted { id, file, outline, fragment, .. } = &noted[at];
        let problems = problems.remove(&at).unwrap_or_default();
        let is_invalid = problems.iter().any(ReferenceProblem::is_error);
        let is_mixed = problems.iter().any(ReferenceProblem::is_about_types);
        let content = library.trees.blob(file.id, LARGEST_DOCUMENT)?;
        // Of a file that is checked alone, no other document is known.
        let has_open_waiver = outline.has_open_waiver && !library.is_alone;
        let path = library.path(id, *file);
        let mut found = document::diagnose_references(&path, &content, problems, has_open_waiver);
        match fragment {
            Some(_) => ReferenceProblem::keep_known(&mut found),
            None if is_invalid || ReferenceProblem::has_error(&found) => {
                all.invalid.insert(id.clone());
            }
            None => {}
        }
        if is_mixed {
            differing.insert(id.clone(), ReferenceProblem::types_are_waived(&found));
        }
        all.findings.extend(found);
    }
    // A toggle has one type, so all of its documents have to accept that theirs is another one.
    let name = |id: &ToggleId| (id.project().to_owned(), id.toggle().to_lowercase());
    let refusing = differing.iter().filter(|(_, is_waived)| !**is_waived).map(|(id, _)| name(id));
    let refusing: BTreeSet<_> = refusing.chain(unwaived.iter().map(name)).collect();
    for id in differing.into_keys() {
        let mixed = if refusing.contains(&name(&id)) { Mixed::Refused } else { Mixed::Waived };
        all.mixed.entry(id).or_insert(mixed);
    }
    Ok(all)
}

fn in_one_environment(a: &Noted, b: &Noted) -> bool {
    (a.id.project(), a.id.environment_key()) == (b.id.project(), b.id.environment_key())
}

/// Returns the toggles whose documents have different types, and each waives that: by project and key. Checked for
/// each prerequisite, so they are collected once.
fn waived_texts(noted: &[Noted]) -> BTreeSet<(String, String)> {
    let name = |one: &Noted| (one.id.project().to_owned(), one.id.toggle().to_owned());
    let mut waiving: BTreeMap<(String, String), Vec<Outline>> =
        noted.iter().filter(|one| one.outline.has_waiver).map(|one| (name(one), Vec::new())).collect();
    if !waiving.is_empty() {
        for one in noted {
            if let Some(outlines) = waiving.get_mut(&name(one)) {
                outlines.push(one.outline);
            }
        }
    }
    waiving.retain(|_, all| {
        all.iter().all(|one| one.has_waiver) && all.windows(2).any(|two| two[0].kind != two[1].kind)
    });
    waiving.into_keys().collect()
}

/// The documents of a source, found by key.
pub(crate) struct Library<'a, T> {
    pub(crate) trees: T,
    pub(crate) top: ObjectId,
    pub(crate) layout: &'a Layout,
    /// The prefix of paths in findings.
    pub(crate) root: &'a str,
    pub(crate) kind: ServiceKind,
    /// The SDKs that have to agree about prerequisites.
    sdks: Sdks,
    /// Whether nothing is known of the other documents, because a file is checked alone.
    pub(crate) is_alone: bool,
    environments: HashMap<(String, String), Keys>,
    is_listed: bool,
    /// How many keys may still be compared to suggest one. A hostile document can name any number of unknown
    /// keys.
    comparisons: usize,
    /// The toggles whose documents were removed since the applied revision or the base of the plan.
    removed: HashSet<FoldedId>,
}

/// The documents of an environment, by their keys in lower case: the service ignores case.
type Keys = BTreeMap<String, Vec<(ToggleId, File)>>;

/// The keys that documents need, by their own keys in lower case.
type NeededKeys = HashMap<String, Vec<String>>;

/// What a document says about others.
enum Said {
    Nothing,
    Whole(Payload),
    Part(Box<Fragment>),
}

/// The documents that a key names.
enum Named {
    Nothing,
    /// A document, whose key may differ in case.
    One(ToggleId, File),
    /// Several files claim the toggle.
    Several(ToggleId),
}

impl<'a, T: Trees<Error = source::Error>> Library<'a, T> {
    pub(crate) fn new(trees: T, top: ObjectId, layout: &'a Layout, root: &'a str, kind: ServiceKind) -> Self {
        const MOST_COMPARISONS: usize = 2_000_000;
        Self {
            trees,
            top,
            layout,
            root,
            kind,
            sdks: Sdks::NONE,
            is_alone: false,
            environments: HashMap::new(),
            is_listed: false,
            comparisons: MOST_COMPARISONS,
            removed: HashSet::new(),
        }
    }

    /// Sets which toggles had documents until they were removed.
    pub(crate) fn without(self, removed: HashSet<FoldedId>) -> Self {
        Self { removed, ..self }
    }

    /// Sets the SDKs that have to agree about prerequisites.
    pub(crate) fn for_sdks(self, sdks: Sdks) -> Self {
        Self { sdks, ..self }
    }

    /// Sets whether only one file is known.
    pub(crate) fn alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }

    /// Returns the findings about the prerequisites of the documents with these numbers, which are in one
    /// environment, and what each document needs that they lead to.
    fn prerequisites(
        &mut self,
        noted: &[Noted],
        waived_texts: &BTreeSet<(String, String)>,
        referring: &[usize],
    ) -> Result<(Vec<Vec<ReferenceProblem>>, NeededKeys), Error> {
        let place = noted[referring[0]].id.clone();
        let mut graph = References::new(self.kind, self.sdks);
        let (mut checked, mut open) = (Vec::with_capacity(referring.len()), Vec::new());
        let mut needs = HashMap::new();
        for at in referring {
            let (node, _) = graph.node(noted[*at].id.toggle());
            checked.push(node);
            open.push((node, noted[*at].said()));
        }
        while let Some((node, said)) = open.pop() {
            // Also an invalid document, and one that needs nothing: it is there.
            let own = needs.entry(graph.key(node).to_lowercase()).or_default();
            let is_valid = matches!(said, Said::Whole(_));
            let keys = match said {
                Said::Nothing => continue,
                Said::Part(fragment) => graph.fill_part(node, *fragment),
                Said::Whole(payload) => graph.fill(node, &payload),
            };
            let mut targets = Vec::new();
            for key in &keys {
                targets.push(match self.named(&place, key)? {
                    // A file that is checked alone may be its own prerequisite.
                    Named::Nothing if self.is_alone && *key == graph.key(node) => Some(node),
                    Named::Nothing => None,
                    Named::Several(id) => Some(graph.node(id.toggle()).0),
                    Named::One(id, file) => {
                        let (target, is_new) = graph.node(id.toggle());
                        if is_new {
                            open.push((target, self.said(noted, &id, file)?));
                        }
                        Some(target)
                    }
                });
            }
            graph.connect(node, targets);
            // The service keeps what it has of an invalid document.
            if is_valid {
                *own = keys;
            }
        }
        let problems =
            graph.problems(&checked, &mut Environment { library: self, noted, waived_texts, place })?;
        Ok((problems, needs))
    }

    fn said(&self, noted: &[Noted], id: &ToggleId, file: File) -> Result<Said, Error> {
        let known = noted.binary_search_by(|one| one.id.cmp(id)).ok().map(|at| noted[at].said());
        if let Some(said) = known.filter(|said| !matches!(said, Said::Nothing)) {
            return Ok(said);
        }
        let document::Document { payload, fragment, .. } = self.read(file)?;
        Ok(payload.map_or_else(|| fragment.map_or(Said::Nothing, Said::Part), Said::Whole))
    }

    fn read(&self, file: File) -> Result<document::Document, Error> {
        Ok(document::read("", &self.trees.blob(file.id, LARGEST_DOCUMENT)?, self.kind))
    }

    /// Returns the documents of an environment.
    pub(super) fn documents_of(
        &mut self,
        environment: &EnvironmentId,
    ) -> Result<Vec<(ToggleId, File)>, Error> {
        let EnvironmentId { project, environment } = environment;
        let keys = self.keys(project.as_str(), environment.as_str())?;
        Ok(keys.values().flatten().cloned().collect())
    }

    /// Returns the keys of the toggles that a document needs; none if it is invalid.
    pub(super) fn needed_by_file(&self, file: File) -> Result<Vec<String>, Error> {
        let content = self.trees.blob(file.id, LARGEST_DOCUMENT)?;
        const WORD: &[u8] = b"prerequisites";
        // Reading a document takes much longer than looking for the word.
        let has_word = |bytes: &[u8]| bytes.windows(WORD.len()).any(|part| part == WORD);
        let payload = match &content {
            Blob::Content(bytes) if has_word(bytes) => document::read("", &content, self.kind).payload,
            _ => None,
        };
        let prerequisites = payload.map(|payload| payload.prerequisites()).unwrap_or_default();
        Ok(prerequisites.into_iter().map(|one| one.key).collect())
    }

    /// Reads documents that do not change.
    pub(super) fn unchanged(&mut self, ids: &BTreeSet<ToggleId>) -> Result<Vec<Noted>, Error> {
        let mut noted = Vec::with_capacity(ids.len());
        for id in ids {
            let Named::One(id, file) = self.named(id, id.toggle())? else { continue };
            let document::Document { payload: Some(payload), outline, .. } = self.read(file)? else {
                continue;
            };
            noted.push(Noted {
                id,
                file,
                outline,
                payload: Some(payload),
                fragment: None,
                is_changed: false,
            });
        }
        Ok(noted)
    }

    fn named(&mut self, place: &ToggleId, key: &str) -> Result<Named, Error> {
        let keys = self.keys(place.project(), place.environment_key())?;
        let Some(files) = keys.get(&key.to_lowercase()) else {
            return Ok(Named::Nothing);
        };
        let (id, file) = files.iter().find(|(id, _)| id.toggle() == key).unwrap_or(&files[0]);
        Ok(match files.len() {
            1 => Named::One(id.clone(), *file),
            _ => Named::Several(id.clone()),
        })
    }

    /// Returns the documents of an environment.
    fn keys(&mut self, project: &str, environment: &str) -> Result<&Keys, Error> {
        let name = (project.to_owned(), environment.to_owned());
        if !self.environments.contains_key(&name) {
            match self.layout.is_default_shape() {
                true => {
                    let folder = join(&name.0, &name.1);
                    let tree = self.folder(&folder)?;
                    let mut keys = Keys::new();
                    add(&mut keys, self.layout, &folder, &tree);
                    self.environments.insert(name.clone(), keys);
                }
                false => self.list()?,
            }
        }
        Ok(self.environments.entry(name).or_default())
    }

    /// Returns the tree at a path below the root; an empty one if there is none.
    fn folder(&self, path: &str) -> Result<Tree, Error> {
        let mut tree = self.trees.tree(self.top)?;
        for name in path.split('/') {
            let found = tree.get(name).filter(|entry| entry.kind() == EntryKind::Tree).map(|entry| entry.id);
            let Some(id) = found else { return Ok(Tree::empty()) };
            tree = self.trees.tree(id)?;
        }
        Ok(tree)
    }

    /// Lists the documents of a layout whose folders do not have to be environments.
    fn list(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_listed, true) {
            return Ok(());
        }
        let depth = self.layout.pattern().split('/').count() - 1;
        let mut open = vec![(String::new(), self.top, 0)];
        while let Some((folder, id, level)) = open.pop() {
            let tree = self.trees.tree(id)?;
            if level == depth {
                let mut keys = Keys::new();
                add(&mut keys, self.layout, &folder, &tree);
                let first = keys.values().flatten().next();
                let Some((id, _)) = first else { continue };
                let name = (id.project().to_owned(), id.environment_key().to_owned());
                self.environments.insert(name, keys);
            } else {
                let names = tree
                    .folders()
                    .filter_map(|entry| Some((std::str::from_utf8(entry.name).ok()?, entry.id)));
                open.extend(names.map(|(name, id)| (join(&folder, name), id, level + 1)));
            }
        }
        Ok(())
    }

    /// Returns the environments of a project.
    fn siblings(&mut self, project: &str) -> Result<Vec<String>, Error> {
        if !self.layout.is_default_shape() {
            self.list()?;
            let names = self.environments.keys().filter(|(name, _)| name == project);
            return Ok(names.map(|(_, environment)| environment.clone()).collect());
        }
        let folder = self.folder(project)?;
        Ok(folder
            .folders()
            .filter_map(|entry| Some(std::str::from_utf8(entry.name).ok()?.to_owned()))
            .collect())
    }

    /// Calls `visit` for each document of the toggles of a project whose keys are `wanted`.
    fn documents(
        &mut self,
        project: &str,
        wanted: impl Fn(&str) -> bool,
        mut visit: impl FnMut(&Self, ToggleId, File) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.layout.is_default_shape() {
            self.list()?;
            let environments = self.environments.iter().filter(|((name, _), _)| name == project);
            let all = environments.flat_map(|(_, keys)| keys.values().flatten());
            let found: Vec<_> = all.filter(|(id, _)| wanted(id.toggle())).cloned().collect();
            return found.into_iter().try_for_each(|(id, file)| visit(self, id, file));
        }
        let folder = self.folder(project)?;
        // A toggle with one document cannot contradict itself.
        if folder.folders().nth(1).is_none() {
            return Ok(());
        }
        for environment in folder.folders() {
            let Ok(name) = std::str::from_utf8(environment.name) else { continue };
            let place = join(project, name);
            let tree = self.trees.tree(environment.id)?;
            for entry in tree.entries() {
                let name = std::str::from_utf8(entry.name).ok();
                let key = name.and_then(|name| name.rsplit_once('.')).map(|(key, _)| key);
                if key.is_some_and(&wanted)
                    && entry.kind() == EntryKind::Blob
                    && let Some((id, file)) = document(self.layout, &place, entry.name, entry.id)
                {
                    visit(self, id, file)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the findings about toggles whose documents have different types or spell the key differently, and to
    /// `untold` the changed toggles whose type or key is not known, because of that or of a document that cannot be
    /// read: it may have values of any type. Returns the other documents with other types that have no waiver.
    /// The service ignores case, so the spellings of a key are one toggle.
    fn types(
        &mut self,
        noted: &[Noted],
        problems: &mut BTreeMap<usize, Vec<ReferenceProblem>>,
        untold: &mut BTreeMap<ToggleId, Mixed>,
    ) -> Result<BTreeSet<ToggleId>, Error> {
        let is_same = |a: &Noted, b: &Noted| a.id.project() == b.id.project();
        let (mut first, mut unwaived) = (0, BTreeSet::new());
        for project in noted.chunk_by(is_same) {
            let types = self.project_types(noted, project)?;
            let mut mixed = BTreeSet::new();
            for (at, one) in project.iter().enumerate().filter(|(_, one)| one.is_changed) {
                let Some(kind) = one.outline.kind else { continue };
                let key = one.id.toggle().to_lowercase();
                if let Some(path) = types.unreadable.get(&key) {
                    untold.insert(one.id.clone(), Mixed::Unread(path.as_str().into()));
                }
                if let Some((path, spelling)) = self.respelling(one, types.spellings.get(&key)) {
                    let problem = other_spelling(one.id.toggle(), &path, &spelling);
                    problems.entry(first + at).or_default().push(problem);
                    untold.entry(one.id.clone()).or_insert(Mixed::Spelled(path.into()));
                }
                let others = types.found.get(&key).map(Vec::as_slice).unwrap_or_default();
                if let Some(problem) = self.disagreement(kind, others) {
                    problems.entry(first + at).or_default().push(problem);
                    mixed.insert(key);
                }
            }
            for others in mixed.iter().filter_map(|key| types.found.get(key)) {
                self.add_unwaived(project, others, &mut unwaived)?;
            }
            first += project.len();
        }
        Ok(unwaived)
    }

    /// Returns the documents, in all environments of a project, of its changed toggles.
    fn project_types(&mut self, noted: &[Noted], project: &[Noted]) -> Result<ProjectTypes, Error> {
        let new = project.iter().filter(|one| one.is_changed);
        let keys: HashSet<String> = new.map(|one| one.id.toggle().to_lowercase()).collect();
        let mut types = ProjectTypes::default();
        let name = project[0].id.project().to_owned();
        self.documents(
            &name,
            |key| keys.contains(&key.to_lowercase()),
            |library, id, file| {
                let key = id.toggle().to_lowercase();
                types.spellings.entry(key.clone()).or_default().push((id.clone(), file));
                match library.type_of(noted, &id, file)? {
                    Some(kind) => types.found.entry(key).or_default().push(Typed { id, file, kind }),
                    None => {
                        types.unreadable.entry(key).or_insert_with(|| library.path(&id, file));
                    }
                }
                Ok(())
            },
        )?;
        Ok(types)
    }

    /// Returns the path of a document of another environment that spells the key of a toggle in another way, and
    /// that spelling. Within an environment, the files claim one toggle, which is an error.
    fn respelling(&self, one: &Noted, spelled: Option<&Vec<(ToggleId, File)>>) -> Option<(String, String)> {
        let is_other = |other: &ToggleId| {
            other.toggle() != one.id.toggle() && other.environment_key() != one.id.environment_key()
        };
        let (other, file) = spelled?.iter().find(|(id, _)| is_other(id))?;
        Some((self.path(other, *file), other.toggle().to_owned()))
    }

    /// Adds those of the documents of one toggle that do not change and have no waiver.
    fn add_unwaived(
        &self,
        project: &[Noted],
        others: &[Typed],
        unwaived: &mut BTreeSet<ToggleId>,
    ) -> Result<(), Error> {
        let is_new = |id: &ToggleId| {
            let known = project.binary_search_by(|one| one.id.cmp(id));
            known.is_ok_and(|at| project[at].is_changed)
        };
        for one in others.iter().filter(|one| !is_new(&one.id)) {
            let problem = self.disagreement(one.kind, others).into_iter().collect();
            let content = self.trees.blob(one.file.id, LARGEST_DOCUMENT)?;
            let found =
                document::diagnose_references(&self.path(&one.id, one.file), &content, problem, false);
            if !ReferenceProblem::types_are_waived(&found) {
                unwaived.insert(one.id.clone());
            }
        }
        Ok(())
    }

    /// Returns the finding about a document with values of this type.
    fn disagreement(&self, own: ReturnType, others: &[Typed]) -> Option<ReferenceProblem> {
        let other = others.iter().find(|other| other.kind != own)?;
        Some(disagreement(own, &self.path(&other.id, other.file), other.kind))
    }

    /// Returns the path of a document in findings.
    fn path(&self, id: &ToggleId, file: File) -> String {
        join(self.root, &self.layout.path(id, file.format))
    }

    fn type_of(&self, noted: &[Noted], id: &ToggleId, file: File) -> Result<Option<ReturnType>, Error> {
        match noted.binary_search_by(|one| one.id.cmp(id)) {
            Ok(at) => Ok(noted[at].outline.kind),
            Err(_) => Ok(self.read(file)?.outline.kind),
        }
    }
}

/// The documents of some toggles of one project, in all environments. The keys are those of toggles in lower
/// case.
#[derive(Default)]
struct ProjectTypes {
    /// The path of one that cannot be read.
    unreadable: HashMap<String, String>,
    found: HashMap<String, Vec<Typed>>,
    /// All of them, as they spell their key.
    spellings: HashMap<String, Vec<(ToggleId, File)>>,
}

/// A document of a toggle with the type of its values.
struct Typed {
    id: ToggleId,
    file: File,
    kind: ReturnType,
}

/// Adds the documents in a folder.
fn add(keys: &mut Keys, layout: &Layout, folder: &str, tree: &Tree) {
    for entry in tree.entries().filter(|entry| entry.kind() == EntryKind::Blob) {
        if let Some((id, file)) = document(layout, folder, entry.name, entry.id) {
            keys.entry(id.toggle().to_lowercase()).or_default().push((id, file));
        }
    }
}

fn document(layout: &Layout, folder: &str, name: &[u8], id: ObjectId) -> Option<(ToggleId, File)> {
    let path = [folder.as_bytes(), b"/", name].concat();
    match layout.classify(path.strip_prefix(b"/").unwrap_or(&path)) {
        PathKind::Document { id: toggle, format } => Some((toggle, File { format, id })),
        _ => None,
    }
}

/// The environment of the documents whose prerequisites are checked.
struct Environment<'l, 'a, T> {
    library: &'l mut Library<'a, T>,
    noted: &'l [Noted],
    waived_texts: &'l BTreeSet<(String, String)>,
    place: ToggleId,
}

impl<T: Trees<Error = source::Error>> document::Others for Environment<'_, '_, T> {
    type Error = Error;

    fn similar(&mut self, key: &str) -> Result<Option<Option<String>>, Error> {
        if self.library.is_alone {
            return Ok(None);
        }
        let Some(key) = self.without_place(key) else { return Ok(Some(None)) };
        let is_affordable = self.library.comparisons > 0;
        let keys = self.library.keys(self.place.project(), self.place.environment_key())?;
        let count = keys.len();
        let found = is_affordable.then(|| most_similar(key, keys)).flatten();
        self.library.comparisons = self.library.comparisons.saturating_sub(count);
        Ok(Some(found))
    }

    fn was_removed(&self, key: &str) -> bool {
        let id = ToggleId::new(self.place.project(), self.place.environment_key(), key);
        id.is_ok_and(|id| self.library.removed.contains(&id.folded()))
    }

    fn types(&mut self, key: &str) -> Result<Vec<ReturnType>, Error> {
        let Self { library, noted, place, .. } = self;
        let mut types = Vec::new();
        for environment in library.siblings(place.project())? {
            let keys = library.keys(place.project(), &environment)?;
            let files = keys.get(&key.to_lowercase()).into_iter().flatten();
            let same: Vec<_> = files.filter(|(id, _)| id.toggle() == key).cloned().collect();
            for (id, file) in same {
                types.extend(library.type_of(noted, &id, file)?);
            }
        }
        Ok(types)
    }

    fn is_waived_text(&self, key: &str) -> bool {
        !self.waived_texts.is_empty()
            && self.waived_texts.contains(&(self.place.project().to_owned(), key.to_owned()))
    }
}

impl<T> Environment<'_, '_, T> {
    /// Returns the key in a path or a whole id; none if it is that of another project or environment.
    fn without_place<'k>(&self, path: &'k str) -> Option<&'k str> {
        let Some((folders, key)) = path.rsplit_once('/') else { return Some(path) };
        let places = [self.place.project(), self.place.environment_key()];
        let is_place = |folder: &&str| places.iter().any(|place| place.eq_ignore_ascii_case(folder));
        let (own, other): (Vec<&str>, Vec<&str>) =
            folders.split('/').filter(|folder| !folder.is_empty()).partition(is_place);
        // A layout can have other folders, beside both.
        (other.is_empty() || own.len() == places.len()).then_some(key)
    }
}

/// Returns the key that `key` is probably a misspelling of.
fn most_similar(key: &str, keys: &Keys) -> Option<String> {
    /// As many as one search looks at.
    const PART: usize = 100;
    let mut left: Vec<&str> = keys.values().flatten().map(|(id, _)| id.toggle()).collect();
    while left.len() > PART {
        left = left.chunks(PART).filter_map(|part| closest(key, part.iter().copied())).collect();
    }
    closest(key, left).map(str::to_owned)
}

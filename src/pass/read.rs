//! Reads, parses and checks the documents that differ by object id, and decides about each, on all cores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::document::{self, Diagnostic, LARGEST_DOCUMENT, Layout, ReferenceProblem};
use crate::model::{Action, Blob, EnvironmentId, Scope, Sdks, Sent, ServiceKind, ToggleId, Trees, Version};
use crate::pass::compare::AppliedTrees;
use crate::pass::references::Noted;
use crate::pass::{Error, cores};
use crate::plan::compare::{Claims, Difference, join};
use crate::plan::{AppliedVersion, Candidate, Desired, OnRemove};
use crate::source;

/// The number of documents that a thread takes at a time.
const PART: usize = 32;

/// The settings and the state that reading depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadContext<'a> {
    pub(crate) kind: ServiceKind,
    /// The SDKs that a document must mean the same to.
    pub(crate) sdks: Sdks,
    /// The prefix of paths in findings.
    pub(crate) root: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) on_remove: OnRemove,
    pub(crate) layout: &'a Layout,
    /// Requests without a known outcome.
    pub(crate) unknown: &'a BTreeMap<ToggleId, Sent>,
    /// Confirmed requests that are not in the applied tree yet.
    pub(crate) settled: &'a BTreeMap<ToggleId, Sent>,
}

/// The decision about each toggle, the findings, and the valid documents.
pub(crate) type Read<T> = (Vec<T>, Vec<Diagnostic>, Vec<Noted>);

/// Reads and checks both sides of each difference in scope. `open` gives each thread its own readers.
pub(crate) fn read<S, F, D, T>(
    mut differences: Vec<Difference>,
    context: ReadContext<'_>,
    decide: D,
    open: F,
) -> Result<Read<T>, Error>
where
    S: Trees<Error = source::Error>,
    D: Fn(Candidate) -> T + Sync,
    T: Send,
    F: Fn() -> Result<(S, Option<AppliedTrees>), Error> + Sync,
{
    let in_scope = |one: &&Difference| context.scope.contains(&one.id);
    // What was applied outside `--only` matters to what needs it, or is needed by it.
    let environments: BTreeSet<EnvironmentId> =
        match context.kind.can().refer && !context.scope.is_everything() {
            true => differences.iter().filter(in_scope).map(|one| one.id.environment()).collect(),
            false => BTreeSet::new(),
        };
    let matters = |one: &Difference| {
        matches!(one.applied, Claims::One(_)) && environments.contains(&one.id.environment())
    };
    // A toggle outside `--only` stays unknown and is reported (src/state/README.md, "Unknown").
    let wanted = |one: &Difference| in_scope(&one) || context.unknown.contains_key(&one.id) || matters(one);
    differences.retain(wanted);
    let count = differences.len();
    if count == 0 {
        return Ok(Read::default());
    }
    // The threads do not free the list: the system would not get its memory back before this thread frees it.
    let differences = Mutex::new(differences.into_iter());
    let all = Mutex::new((Vec::with_capacity(count), Vec::new(), Vec::new()));
    let work = || -> Result<(), Error> {
        let (source, applied) = open()?;
        let reader = Reader { source, applied, context, decide: &decide };
        loop {
            // Read under the lock: libgit2 has locks that several threads would wait for at each document.
            // The others parse what they have read.
            let part = lock(&differences).by_ref().take(PART).map(|one| reader.load(one)).collect::<Vec<_>>();
            if part.is_empty() {
                return Ok(());
            }
            let mut read = Read::default();
            for loaded in part {
                reader.read(loaded?, &mut read);
            }
            let mut all = lock(&all);
            all.0.append(&mut read.0);
            all.1.append(&mut read.1);
            all.2.append(&mut read.2);
        }
    };
    in_threads(cores().min(count.div_ceil(PART)), work)?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` in several threads. If one cannot start, the others do its part.
fn in_threads(threads: usize, work: impl Fn() -> Result<(), Error> + Sync) -> Result<(), Error> {
    thread::scope(|scope| {
        let workers = (1..threads).map(|_| thread::Builder::new().spawn_scoped(scope, &work));
        let workers: Vec<_> = workers.filter_map(Result::ok).collect();
        let own = work();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .and(own)
    })
}

struct Reader<'a, S, D> {
    source: S,
    applied: Option<AppliedTrees>,
    context: ReadContext<'a>,
    decide: &'a D,
}

/// A difference with the contents of both sides.
struct Loaded {
    difference: Difference,
    desired: Option<Blob>,
    applied: Option<Blob>,
}

impl<S: Trees<Error = source::Error>, D> Reader<'_, S, D> {
    /// Returns whether only what is applied of a toggle matters.
    fn is_outside(&self, id: &ToggleId) -> bool {
        !self.context.scope.contains(id) && !self.context.unknown.contains_key(id)
    }

    fn load(&self, difference: Difference) -> Result<Loaded, Error> {
        let desired = match &difference.desired {
            Claims::One(_) if self.is_outside(&difference.id) => None,
            Claims::One(file) => Some(self.source.blob(file.id, LARGEST_DOCUMENT)?),
            _ => None,
        };
        let applied = match (&difference.applied, &self.applied) {
            (Claims::One(file), Some(trees)) => Some(trees.blob(file.id, LARGEST_DOCUMENT)?),
            _ => None,
        };
        Ok(Loaded { difference, desired, applied })
    }

    fn read<T>(&self, loaded: Loaded, into: &mut Read<T>)
    where
        D: Fn(Candidate) -> T,
    {
        let Loaded { difference, desired, applied } = loaded;
        if self.is_outside(&difference.id) {
            let (desired, applied) = (self.absent(&difference), self.applied(&difference, applied.as_ref()));
            into.0.push((self.decide)(Candidate { id: difference.id, desired, applied }));
            return;
        }
        let (mut desired, noted) = self.desired(&difference, desired.as_ref(), &mut into.1);
        if let (Some(Blob::Missing), Some(path)) = (&applied, self.compared_path(&desired)) {
            into.1.push(document::missing_base(&join(self.context.root, path)));
            desired = Desired::Invalid;
        }
        let applied = self.applied(&difference, applied.as_ref());
        let is_valid = matches!(desired, Desired::Document(_));
        if let Some(noted) = noted.filter(|noted| is_valid || noted.fragment.is_some()) {
            into.2.push(Noted { is_changed: is_valid, ..noted });
        }
        // Decided immediately, so that contents that will not be published are dropped.
        into.0.push((self.decide)(Candidate { id: difference.id, desired, applied }));
    }

    /// Returns the path of a document whose change depends on the version at the base.
    fn compared_path<'d>(&self, desired: &'d Desired) -> Option<&'d str> {
        match desired {
            Desired::Document(version) => Some(&version.path),
            Desired::Absent { path, .. } if self.context.on_remove == OnRemove::Disable => Some(path),
            Desired::Absent { .. } | Desired::Invalid | Desired::Renamed | Desired::Unread { .. } => None,
        }
    }

    fn desired(
        &self,
        difference: &Difference,
        blob: Option<&Blob>,
        findings: &mut Vec<Diagnostic>,
    ) -> (Desired, Option<Noted>) {
        let (file, blob) = match (&difference.desired, blob) {
            (Claims::None | Claims::Moved(_), _) => return (self.absent(difference), None),
            (Claims::Renamed, _) => return (Desired::Renamed, None),
            (Claims::Unread(path), _) => return (Desired::Unread { path: path.clone() }, None),
            (Claims::One(file), Some(blob)) => (file, blob),
            // Two files that claim the same toggle make it invalid (src/document/README.md, "Paths").
            _ => return (Desired::Invalid, None),
        };
        let path = self.context.layout.path(&difference.id, file.format);
        let ReadContext { kind, root, sdks, .. } = self.context;
        let mut read = document::read_for(&join(root, &path), blob, kind, sdks);
        let id = difference.id.clone();
        let payload = read.payload.as_ref().filter(|_| read.outline.has_prerequisites).cloned();
        let is_noted = kind.can().refer && (read.payload.is_some() || read.fragment.is_some());
        if is_noted && read.fragment.is_some() {
            read.diagnostics.retain(|found| !ReferenceProblem::replaces(found));
        }
        findings.extend(read.diagnostics);
        let noted = is_noted.then(|| Noted {
            id: id.clone(),
            file: *file,
            outline: read.outline,
            payload,
            fragment: read.fragment,
            is_changed: true,
        });
        let Some(payload) = read.payload else { return (Desired::Invalid, noted) };
        let (path, format, object) = (path.into(), file.format, file.id);
        (Desired::Document(Version { id, path, format, object, payload }), noted)
    }

    fn absent(&self, difference: &Difference) -> Desired {
        let unknown = self.context.unknown.get(&difference.id).map(|sent| sent.path.clone());
        // The path in the source. The applied tree always has the default layout.
        let applied = || {
            let file = difference.applied.first()?;
            Some(self.context.layout.path(&difference.id, file.format))
        };
        let path = unknown.or_else(applied).unwrap_or_default();
        let renamed_to = match &difference.desired {
            Claims::Moved(to) => Some((**to).clone()),
            _ => None,
        };
        Desired::Absent { path, renamed_to }
    }

    fn applied(&self, difference: &Difference, blob: Option<&Blob>) -> AppliedVersion {
        // The applied tree cannot be trusted before the outcome of the request is known (src/state/README.md,
        // "Unknown").
        if let Some(sent) = self.context.unknown.get(&difference.id) {
            let applied = match self.recorded(difference, blob) {
                AppliedVersion::Document { payload, .. } => Some(Box::new(payload)),
                _ => None,
            };
            // It may have been sent with settings for another kind of service.
            let sent = Box::new(Sent { payload: sent.payload.for_kind(self.context.kind), ..sent.clone() });
            return AppliedVersion::Unknown { sent, applied };
        }
        self.recorded(difference, blob)
    }

    /// Returns the version that was confirmed last.
    fn recorded(&self, difference: &Difference, blob: Option<&Blob>) -> AppliedVersion {
        if let Some(sent) = self.context.settled.get(&difference.id) {
            return settled(sent, self.context.kind);
        }
        let (file, blob) = match (&difference.applied, blob) {
            (Claims::One(file), Some(blob)) => (file, blob),
            // Files that clash at a revision are as invalid there as they are in the source.
            (Claims::Clash(_), _) => return AppliedVersion::Unreadable,
            _ => return AppliedVersion::Nothing,
        };
        let format = file.format;
        // Findings are dropped, because they would concern a file that is not in the source.
        match document::read("", blob, self.context.kind).payload {
            Some(payload) => AppliedVersion::Document { object: file.id, format, payload },
            None => AppliedVersion::Unreadable,
        }
    }
}

fn settled(sent: &Sent, kind: ServiceKind) -> AppliedVersion {
    match sent.action {
        // A file that returns after a confirmed `disable` is a create.
        Action::Disable => AppliedVersion::Nothing,
        Action::Adopt | Action::Create | Action::Update => AppliedVersion::Document {
            object: sent.object,
            format: sent.format,
            payload: sent.payload.for_kind(kind),
        },
    }
}

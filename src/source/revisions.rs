//! Finds commits: that of the configured ref, and the revisions of a repository on this machine that are
//! compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::place::RepositoryPlace;
use super::reader::{Reader, ReaderCache};
use super::{Error, HeadKind, cannot_open};
use super::{Parents, Snapshot, SourceConfig};
use crate::git;
use crate::git::commit::{self, NamedObject};
use crate::git::merge::{MergeError, MergeResult, SideNames, merge};
use crate::git::refs::{self, HeadTarget, RefTarget};
use crate::git::{CommitNode, Repository, RepositoryPool};
use crate::model::CommitId;

/// An open repository on this machine.
pub struct RevisionLookup {
    config: SourceConfig,
    repository: Repository,
    place: RepositoryPlace,
}

/// A commit, and the name that it was looked up by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedCommit {
    /// The name, the short id for a full id, or the branch of `HEAD`.
    pub name: String,
    pub commit: CommitId,
}

/// Why a name is not the name of a commit.
#[derive(Debug)]
pub enum RevisionError {
    /// A short id that matches several objects.
    Ambiguous,
    /// The name of an object of this kind, such as `blob`.
    NotACommit(&'static str),
    /// The repository could not be read.
    Source(Error),
    /// No object has the name. Contains similar names of refs, best first.
    Unknown(Vec<String>),
}

impl RevisionLookup {
    pub(super) fn open(config: &SourceConfig, path: &Path) -> Result<Self, Error> {
        let place = RepositoryPlace::at(path);
        let repository = open(path).map_err(|error| place.explain(error))?;
        Ok(Self { config: config.clone(), repository, place })
    }

    /// Returns the commit that `name` names: a branch, tag, commit or full ref, as for `--ref`, or any other
    /// expression of `git rev-parse`.
    pub(crate) fn find(&self, name: &str) -> Result<NamedCommit, RevisionError> {
        let (near, error) = match resolve(&self.repository, Some(name)) {
            Ok(found) => {
                let branch = found.reference.strip_prefix("refs/heads/");
                // A branch is more informative than `HEAD`.
                let shown = branch.filter(|_| name == "HEAD").unwrap_or(name);
                return Ok(named(shown, found.commit));
            }
            Err(Error::AmbiguousId(_)) => return Err(RevisionError::Ambiguous),
            Err(Error::UnknownRef { near, .. }) => (near, None),
            // The second lookup finds out the kind of the object.
            Err(error @ Error::NotACommit(_)) => (Vec::new(), Some(error)),
            Err(error) => return Err(RevisionError::Source(self.place.explain(error))),
        };
        full_name(&self.repository, base_name(name))
            .map_err(|error| RevisionError::Source(self.place.explain(error)))?;
        let found = commit::find(&self.repository, name);
        match found.map_err(|error| RevisionError::Source(self.place.explain(error.into())))? {
            NamedObject::Ambiguous => Err(RevisionError::Ambiguous),
            NamedObject::Commit(commit) if error.is_none() => Ok(named(name, commit)),
            NamedObject::Other(kind) => Err(RevisionError::NotACommit(kind)),
            NamedObject::Commit(_) | NamedObject::Unknown => Err(match error {
                Some(error) => RevisionError::Source(error),
                None => RevisionError::Unknown(near),
            }),
        }
    }

    /// Returns the commit of the branch `name`: that of `origin`, of another remote, or of this repository,
    /// in this order.
    pub(crate) fn branch(&self, name: &str) -> Result<Option<NamedCommit>, Error> {
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        let mut candidates = vec![format!("origin/{name}")];
        candidates.extend(self.remote_branches(name)?);
        for candidate in candidates {
            if let Some(found) = self.at(&format!("refs/remotes/{candidate}"), &candidate) {
                return Ok(Some(found));
            }
        }
        Ok(self.at(&format!("refs/heads/{name}"), name))
    }

    /// Returns `REMOTE/NAME` for each remote that has the branch `name`, sorted.
    fn remote_branches(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut found = refs::short_names(&self.repository, "refs/remotes/*")?;
        found.retain(|full| full.split_once('/').is_some_and(|(_, branch)| branch == name));
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the commit of a full ref, if it exists.
    fn at(&self, full: &str, name: &str) -> Option<NamedCommit> {
        let Resolved { commit, .. } = resolve(&self.repository, Some(full)).ok()?;
        Some(named(name, commit))
    }

    /// Returns the parents of a commit; `None` if the repository lacks the commit.
    pub(crate) fn parents(&self, commit: CommitId) -> Option<Vec<CommitId>> {
        let node = CommitNode::read(&self.repository, commit).ok()?;
        Some(node.parents(Parents::All).to_vec())
    }

    /// Returns the best common ancestors of two commits, newest first; several if branches were merged in
    /// both directions, none if the histories are unrelated. The result is `None` if the clone is shallow and
    /// lacks commits that could be ancestors, too.
    pub(crate) fn merge_bases(&self, one: CommitId, other: CommitId) -> Result<Option<Vec<CommitId>>, Error> {
        let find = || {
            let bases = commit::merge_bases(&self.repository, one, &[other])?;
            let is_complete = commit::is_complete(&self.repository, &[one, other], &bases)?;
            Ok::<_, Error>(is_complete.then_some(bases))
        };
        find().map_err(|error| self.place.explain(error))
    }

    /// Returns whether `commit` has `ancestor`, or is it.
    pub(crate) fn has(&self, commit: CommitId, ancestor: CommitId) -> bool {
        commit == ancestor || commit::is_descendant(&self.repository, commit, ancestor).unwrap_or(false)
    }

    /// Returns the commit that a branch began at: the newest one in the history of `own`, its commits, that is
    /// not one of them. None if there is none that has all others.
    pub(crate) fn base_of(&self, own: &BTreeSet<CommitId>) -> Option<CommitId> {
        let parents = own.iter().map(|commit| self.parents(*commit)).collect::<Option<Vec<_>>>()?;
        let before: Vec<CommitId> =
            parents.concat().into_iter().filter(|parent| !own.contains(parent)).collect();
        let has_all = |base: &&CommitId| before.iter().all(|other| self.has(**base, *other));
        before.iter().find(has_all).copied()
    }

    /// Returns the time of a commit, in seconds since 1970-01-01 UTC; none if the repository lacks it.
    pub(crate) fn time(&self, commit: CommitId) -> Option<i64> {
        Some(CommitNode::read(&self.repository, commit).ok()?.time)
    }

    /// Returns the commit of the branch before a pull request was merged as `merge` by a squash or a rebase.
    /// `head` is its newest commit. After a rebase, the branch has a copy of each commit, with the same author
    /// and message, but no copy of a merge. What the branch has itself was not copied into it.
    pub(crate) fn before_copies(&self, merge: CommitId, head: CommitId) -> Option<CommitId> {
        let (mut before, mut own) = (self.parents(merge)?, self.past_merges(head)?);
        if before.len() > 1 || !self.is_copy(merge, own) {
            return before.first().copied();
        }
        while let Some(parent) = self.parents(own).and_then(|parents| parents.first().copied()) {
            let (Some(original), [copy]) = (self.past_merges(parent), &before[..]) else { break };
            if self.has(merge, original) || !self.is_copy(*copy, original) {
                break;
            }
            let Some(older) = self.parents(*copy) else { break };
            (before, own) = (older, original);
        }
        before.first().copied()
    }

    /// Returns the newest commit of a branch that is not a merge, as far back as the merges into the branch
    /// go.
    fn past_merges(&self, head: CommitId) -> Option<CommitId> {
        let mut commit = head;
        loop {
            match self.parents(commit)?[..] {
                [first, _, ..] => commit = first,
                _ => return Some(commit),
            }
        }
    }

    fn is_copy(&self, copy: CommitId, original: CommitId) -> bool {
        let read = |commit| commit::authored(&self.repository, commit).ok();
        let [copy, original] = [read(copy), read(original)];
        copy.zip(original).is_some_and(|(copy, original)| {
            (copy.author, copy.email) == (original.author, original.email)
                && copy.commit.message.trim() == original.commit.message.trim()
        })
    }

    /// Returns whether the repository lacks the beginning of its history.
    pub(crate) fn is_shallow(&self) -> bool {
        self.repository.is_shallow()
    }

    /// Takes a snapshot at `head`.
    pub(crate) fn snapshot(self, head: &NamedCommit) -> Result<Snapshot, Error> {
        let (resolved, config) = (head.resolved(), self.config.clone());
        Snapshot::take(self.cache(), resolved, &config.root, config.parents, None)
    }

    /// Takes a snapshot of what merging `head` into `target` gives: its files are those of the merge, its
    /// history is that of `head`. Returns it with the paths that cannot be merged and the kinds of their
    /// conflicts; their files have conflict markers.
    pub(crate) fn merge(
        self,
        target: &NamedCommit,
        head: &NamedCommit,
        is_document: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(Snapshot, BTreeMap<String, Option<String>>), Error> {
        let labels = SideNames { target: &target.name, head: &head.name };
        let merged = merge(self.repository.commondir(), target.commit, head.commit, labels, is_document);
        let (resolved, config) = (head.resolved(), self.config.clone());
        let MergeResult { tree, repository, conflicts } = match merged {
            Ok(merged) => merged,
            Err(MergeError::Object(fault)) => return Err(Reader::open(Arc::new(self.cache()))?.fault(fault)),
            Err(MergeError::Program(error)) => return Err(error.into()),
        };
        let pool = RepositoryPool::of(self.repository).with(repository);
        let cache = ReaderCache::new(pool, Some(self.place), config.thresholds);
        let snapshot = Snapshot::take(cache, resolved, &config.root, config.parents, Some(tree))?;
        Ok((snapshot, conflicts))
    }

    fn cache(self) -> ReaderCache {
        ReaderCache::new(RepositoryPool::of(self.repository), Some(self.place), self.config.thresholds)
    }
}

impl NamedCommit {
    fn resolved(&self) -> Resolved {
        Resolved { reference: self.name.clone(), commit: self.commit }
    }
}

impl std::fmt::Debug for RevisionLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RevisionLookup").field(&self.repository.path()).finish()
    }
}

fn named(name: &str, commit: CommitId) -> NamedCommit {
    let name = if name == commit.to_string() { commit.short() } else { name.to_owned() };
    NamedCommit { name, commit }
}

/// A ref and its commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Resolved {
    /// The full name, a commit id, or `HEAD (detached)`.
    pub(super) reference: String,
    pub(super) commit: CommitId,
}

/// Resolves `reference` as a full commit id, the only branch, tag, remote's branch, or full ref of that name, or
/// else as a short commit id. Without a reference, resolves `HEAD`.
pub(super) fn resolve(repository: &Repository, reference: Option<&str>) -> Result<Resolved, Error> {
    let name = match reference {
        None | Some("HEAD") => return head(repository),
        Some(name) => name,
    };
    // As in Git: 40 digits are always the commit, whatever a branch is called.
    if is_full_id(name) {
        return by_id(repository, name);
    }
    match full_name(repository, name)? {
        Some((full, target)) => no_other_commit(repository, name, resolved(target, full)?),
        None => by_id(repository, name),
    }
}

/// Returns `found`, the ref `name`, unless `name` is the short id of another commit of `repository` as well.
pub(super) fn no_other_commit(
    repository: &Repository,
    name: &str,
    found: Resolved,
) -> Result<Resolved, Error> {
    match is_id(name).then(|| commit::by_id(repository, &name.to_ascii_lowercase())).transpose()? {
        Some(NamedObject::Commit(commit)) if commit != found.commit => {
            let full = vec![found.reference, commit.to_string()];
            Err(Error::AmbiguousRef { name: name.to_owned(), full })
        }
        Some(NamedObject::Ambiguous) => Err(Error::AmbiguousId(name.to_owned())),
        _ => Ok(found),
    }
}

/// Returns the full name and the target of the ref `name`, if there is one.
///
/// # Errors
/// [`Error::AmbiguousRef`] if there are several, of which nobody knows which one is meant.
fn full_name(repository: &Repository, name: &str) -> Result<Option<(String, RefTarget)>, Error> {
    let mut found = BTreeMap::new();
    for full in prefixes(name).iter().map(|prefix| format!("{prefix}{name}")) {
        if let Some(target) = refs::target(repository, &full)? {
            found.insert(full, target);
        }
    }
    let only = only(name, found.keys().cloned().collect())?;
    Ok(only.and_then(|full| found.remove_entry(&full)))
}

/// Returns the only one of the full names that the short `name` may stand for.
pub(super) fn only(name: &str, mut full: Vec<String>) -> Result<Option<String>, Error> {
    match full.len() {
        0 | 1 => Ok(full.pop()),
        _ => Err(Error::AmbiguousRef { name: name.to_owned(), full }),
    }
}

/// Returns the name that an expression of `git rev-parse` such as `v1~2` begins with.
fn base_name(expression: &str) -> &str {
    expression.split(['~', '^', '@', ':']).next().unwrap_or_default()
}

/// Returns the prefixes that complete `name`; an empty one for a full ref.
pub(super) fn prefixes(name: &str) -> &'static [&'static str] {
    if name.starts_with("refs/") { &[""] } else { &["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"] }
}

fn head(repository: &Repository) -> Result<Resolved, Error> {
    match refs::head(repository)? {
        HeadTarget::Branch(name, target) => resolved(target, name),
        HeadTarget::Detached(target) => resolved(target, "HEAD (detached)".to_owned()),
        HeadTarget::Unborn(branch) => Err(Error::Unborn(branch)),
    }
}

fn resolved(target: RefTarget, reference: String) -> Result<Resolved, Error> {
    match target {
        RefTarget::Commit(commit) => Ok(Resolved { reference, commit }),
        RefTarget::Other => Err(Error::NotACommit(reference)),
    }
}

/// The number of hexadecimal digits in a full commit id.
const LENGTH_OF_ID: usize = 40;

/// Returns whether `name` can only be a commit id.
pub(super) fn is_full_id(name: &str) -> bool {
    name.len() == LENGTH_OF_ID && is_id(name)
}

/// Returns whether `name` can be a full or short commit id.
pub(super) fn is_id(name: &str) -> bool {
    // Git accepts no abbreviation of fewer than four digits.
    (4..=LENGTH_OF_ID).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn by_id(repository: &Repository, name: &str) -> Result<Resolved, Error> {
    if !is_id(name) {
        return Err(unknown(repository, name));
    }
    match commit::by_id(repository, &name.to_ascii_lowercase())? {
        NamedObject::Ambiguous => Err(Error::AmbiguousId(name.to_owned())),
        NamedObject::Commit(commit) => resolved(RefTarget::Commit(commit), commit.to_string()),
        NamedObject::Other(_) => Err(Error::NotACommit(name.to_owned())),
        NamedObject::Unknown => Err(unknown(repository, name)),
    }
}

fn unknown(repository: &Repository, reference: &str) -> Error {
    let names = refs::short_names(repository, "refs/*");
    Error::UnknownRef {
        reference: reference.to_owned(),
        near: near(reference, names.unwrap_or_default()),
        head: if refs::is_detached(repository) { HeadKind::Detached } else { HeadKind::Branch },
    }
}

/// Returns up to three of `names` that are similar to `wanted`, best first.
pub(super) fn near(wanted: &str, names: Vec<String>) -> Vec<String> {
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wanted, &name), name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

pub(super) fn open(path: &Path) -> Result<Repository, Error> {
    git::open(path).map_err(|error| cannot_open(path, error))
}

pub(super) fn open_and_resolve(
    path: &Path,
    reference: Option<&str>,
) -> Result<(Repository, Resolved), Error> {
    let repository = open(path)?;
    match resolve(&repository, reference) {
        Ok(resolved) => Ok((repository, resolved)),
        // A sidecar may have swapped the checkout since it was opened (src/source/README.md, "Reading a
        // repository").
        Err(_) if !repository.path().exists() => Err(Error::Vanished(path.to_owned())),
        Err(error) => Err(error),
    }
}

/// Returns the URL of `origin`, the only value that is read from the repository's configuration. As in git, a
/// relative path is relative to the top of the work tree, or to a bare repository itself.
pub(super) fn origin_url(path: &Path) -> Result<Option<String>, Error> {
    let repository = open(path)?;
    let top = repository.workdir().unwrap_or_else(|| repository.path());
    let url = git::config_value(&repository, "remote.origin.url")?;
    Ok(url.map(|url| if is_relative(&url) { top.join(url).to_string_lossy().into_owned() } else { url }))
}

/// Returns whether a remote's URL is a relative path.
fn is_relative(url: &str) -> bool {
    // As in git, `host:path` is an address only if the colon comes before any slash.
    let first = url.split('/').next().unwrap_or_default();
    !first.contains(':') && Path::new(url).is_relative()
}

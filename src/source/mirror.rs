//! Mirrors one ref of a repository behind a URL in a bare repository. The mirror is a cache: a new clone
//! repairs any damage.
//!
//! A look at the source is one `git fetch` of the one ref: it costs 2 kB and transfers nothing if the ref has
//! not moved, also where `git ls-remote` would list 20,000 pull requests. Only a name that is not known yet
//! is looked up among all refs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reader::ReaderCache;
use super::revisions::{self, Resolved};
use super::{CacheMode, Snapshot, SourceConfig};
use super::{Error, HeadKind};
use crate::git::refs::{self, RefTarget};
use crate::git::{self, Advertised, GitFault, Libgit2Error, Repository, RepositoryPool, TemporaryFolder};

/// The name of the wanted ref in the mirror.
const WANTED: &str = "refs/gitoggle/source";

/// The branch that `HEAD` of the source names, in the mirror.
const BRANCH: &str = "refs/gitoggle/branch";

/// The configuration keys of the mirror: the URL of its source, and the wanted name with its full name there.
const URL_KEY: &str = "gitoggle.source";
const NAME_KEY: &str = "gitoggle.name";

/// The configuration key of a kept mirror for the short name that is followed, with the full name that it was first.
const FOLLOWED_KEY: &str = "gitoggle.followed";

/// The state of a remote source between snapshots.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    /// The repository that replaces the cache if there is none or it must not be written.
    temporary: Option<Arc<TemporaryFolder>>,
    /// Whether the cache is damaged.
    distrusted: bool,
}

impl Mirror {
    pub(super) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// Looks up the ref without writing the cache, which a pass may be reading.
    pub(super) fn resolve(&mut self, config: &SourceConfig) -> Result<Resolved, Error> {
        self.borrow(config).map(|(_, resolved)| resolved)
    }

    pub(super) fn snapshot(&mut self, config: &SourceConfig) -> Result<Snapshot, Error> {
        match (&config.cache, config.mode) {
            (Some(cache), CacheMode::Keep) => self.update(config, cache),
            // `plan` and `status` write nothing (src/cli/README.md, "Commands that only read"), so they fetch
            // into a temporary repository.
            _ => {
                let (folder, resolved) = self.borrow(config)?;
                take(config, folder.path(), Some(Arc::clone(&folder)), resolved)
            }
        }
    }

    /// Fetches into the cache, or clones again if the cache is damaged.
    fn update(&mut self, config: &SourceConfig, cache: &Path) -> Result<Snapshot, Error> {
        let usable =
            Some(cache).filter(|_| !self.distrusted && packs(cache) <= config.thresholds.most_mirror_packs);
        if let Some(repository) = usable.and_then(|cache| open(cache, config)) {
            // A process that was killed may have left lock files, at which every later fetch would fail.
            git::clear(cache).map_err(|error| Error::Io {
                what: "clear",
                path: cache.to_owned(),
                source: std::io::Error::other(error),
            })?;
            let fetched = refresh(&repository, config);
            drop(repository);
            match fetched.and_then(|resolved| take(config, cache, None, resolved)) {
                Err(error) if is_damaged(cache, config, &error) => {
                    tracing::warn!(name: "mirror_damaged", reason = %error, "the mirror of the source is damaged; cloning it again");
                }
                fetched => return fetched,
            }
        }
        // A clone repairs any damage, and `source.git` never holds state (src/source/README.md, "Reading a
        // repository").
        let resolved = clone(config, cache)?;
        self.distrusted = false;
        take(config, cache, None, resolved)
    }

    /// Fetches into a temporary repository that borrows the objects of the cache, as long as that is not
    /// damaged.
    fn borrow(&mut self, config: &SourceConfig) -> Result<(Arc<TemporaryFolder>, Resolved), Error> {
        let cache = config.cache.as_deref().filter(|_| !self.distrusted);
        let known = self.temporary.take().filter(|_| !self.distrusted);
        let lent = match known {
            Some(folder) => Some(folder),
            None => {
                cache.and_then(|cache| open(cache, config)).map(|lender| lend(config, &lender)).transpose()?
            }
        };
        let mut folder = match lent {
            Some(folder) => folder,
            None => temporary(config)?,
        };
        let mut fetched = refresh(&git::open_bare(folder.path())?, config);
        if fetched.as_ref().is_err_and(|error| is_damaged(folder.path(), config, error)) {
            folder = temporary(config)?;
            fetched = refresh(&git::open_bare(folder.path())?, config);
        }
        let resolved = fetched?;
        self.distrusted = false;
        self.temporary = Some(Arc::clone(&folder));
        Ok((folder, resolved))
    }
}

/// Returns whether the repository in `folder` is damaged, so that a new clone helps. A failure of unknown
/// cause says nothing about that, so the repository itself is looked at.
fn is_damaged(folder: &Path, config: &SourceConfig, error: &Error) -> bool {
    match error {
        Error::Remote(error) => {
            error.fault() == Some(GitFault::Other) && git::is_damaged(folder, &config.access, error)
        }
        error => error.is_damage(),
    }
}

fn take(
    config: &SourceConfig,
    folder: &Path,
    temporary: Option<Arc<TemporaryFolder>>,
    resolved: Resolved,
) -> Result<Snapshot, Error> {
    let pool = RepositoryPool::new(folder.to_owned()).within(temporary);
    let cache = ReaderCache::new(pool, None, config.thresholds).of_host(&config.location, &config.access);
    Snapshot::take(cache, resolved, &config.root, config.parents, None)
}

/// Fetches the wanted ref, and returns its name and commit.
fn refresh(repository: &Repository, config: &SourceConfig) -> Result<Resolved, Error> {
    let wanted = config.reference.as_deref().unwrap_or("HEAD");
    if revisions::is_full_id(wanted) {
        return fetch_id(repository, config, &wanted.to_ascii_lowercase());
    }
    let known = known_name(repository, wanted);
    // Git prefers a tag, so a fetch by the short name finds one that a branch shares it with. For other refs,
    // only a list shows whether the name is ambiguous.
    let is_listed = |name: &&String| is_short(wanted) && !name.starts_with("refs/heads/");
    if let Some(name) = known.as_ref().filter(|name| !is_listed(name)) {
        match fetch_name(repository, config, wanted, name) {
            Ok(Some(resolved)) => return no_other_commit(repository, config, wanted, resolved),
            Ok(None) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let list = |kinds: &[&str]| git::ls_remote(&config.location, &config.access, kinds);
    let mut refs = Vec::new();
    if known.as_ref().filter(is_listed).is_some_and(|name| name.starts_with("refs/tags/")) {
        refs = list(&["--heads", "--tags"])?;
    }
    let mut name = full_name(wanted, &refs)?;
    if name.is_none() {
        refs = list(&[])?;
        name = full_name(wanted, &refs)?;
    }
    let Some(name) = name else {
        return if revisions::is_id(wanted) {
            fetch_id(repository, config, &wanted.to_ascii_lowercase())
        } else {
            Err(unknown(wanted, &refs))
        };
    };
    git::set_config_value(repository, NAME_KEY, &format!("{wanted} {name}"))?;
    // It was removed after it was listed.
    let resolved = fetch_name(repository, config, wanted, &name)?.ok_or_else(|| unknown(wanted, &refs))?;
    no_other_commit(repository, config, wanted, resolved)
}

/// Returns `found`, the ref `wanted`, unless `wanted` is the short id of another commit as well. A host does not
/// tell which commits an id may stand for, so all branches and tags are fetched.
fn no_other_commit(
    repository: &Repository,
    config: &SourceConfig,
    wanted: &str,
    found: Resolved,
) -> Result<Resolved, Error> {
    if revisions::is_id(wanted) {
        fetch_all(repository, config)?;
    }
    revisions::no_other_commit(repository, wanted, found)
}

/// Returns the full name of the ref that the wanted short name was when a kept mirror was first updated for it; none
/// without a mirror.
pub(super) fn remembered(config: &SourceConfig) -> Option<String> {
    let wanted = config.reference.as_deref().filter(|wanted| is_short(wanted))?;
    let repository = open(config.cache.as_deref()?, config)?;
    let followed = git::config_value(&repository, FOLLOWED_KEY).ok()??;
    followed.split_once(' ').filter(|(name, _)| *name == wanted).map(|(_, full)| full.to_owned())
}

/// Writes to a kept mirror that the wanted short name is the ref `found`.
pub(super) fn remember(config: &SourceConfig, found: &str) -> Result<(), Error> {
    let is_kept = config.location.local_path().is_none() && config.mode == CacheMode::Keep;
    let wanted = config.reference.as_deref().filter(|wanted| is_kept && is_short(wanted));
    let (Some(wanted), Some(cache)) = (wanted, &config.cache) else { return Ok(()) };
    match open(cache, config) {
        Some(repository) if remembered(config).is_none() => {
            Ok(git::set_config_value(&repository, FOLLOWED_KEY, &format!("{wanted} {found}"))?)
        }
        _ => Ok(()),
    }
}

/// Returns whether the name may be that of several refs.
fn is_short(wanted: &str) -> bool {
    wanted != "HEAD" && !wanted.starts_with("refs/")
}

/// Returns the full name of the wanted ref, as it was when it was listed last. A branch is not listed at all.
fn known_name(repository: &Repository, wanted: &str) -> Option<String> {
    let known = git::config_value(repository, NAME_KEY).ok().flatten();
    let known = known.as_deref().and_then(|known| known.split_once(' '));
    match known {
        Some((name, full)) if name == wanted => Some(full.to_owned()),
        _ if wanted == "HEAD" => None,
        _ => {
            let full =
                if wanted.starts_with("refs/") { wanted.to_owned() } else { format!("refs/heads/{wanted}") };
            refs::is_valid_name(&full).then_some(full)
        }
    }
}

/// Returns the full name of `wanted` among `refs`; `HEAD->BRANCH` for `HEAD`.
fn full_name(wanted: &str, refs: &[Advertised]) -> Result<Option<String>, Error> {
    let find = |name: &str| refs.iter().find(|found| found.name == name);
    if wanted == "HEAD" {
        let head = find("HEAD");
        return Ok(head.map(|head| format!("HEAD->{}", head.target.as_deref().unwrap_or_default())));
    }
    let names = revisions::prefixes(wanted).iter().map(|prefix| format!("{prefix}{wanted}"));
    revisions::only(wanted, names.filter(|name| find(name).is_some()).collect())
}

/// Fetches the `wanted` ref by its full name. Returns none if `HEAD` no longer names that branch.
fn fetch_name(
    repository: &Repository,
    config: &SourceConfig,
    wanted: &str,
    name: &str,
) -> Result<Option<Resolved>, Error> {
    let short = Some(wanted).filter(|_| is_short(wanted) && name.starts_with("refs/heads/"));
    let (wanted, branch) = match name.split_once("->") {
        Some((head, branch)) => (head, Some(branch).filter(|branch| !branch.is_empty())),
        None => (name, None),
    };
    // Forced, because gitoggle follows a rewritten history (src/pass/README.md, "Stale checkout").
    let mut refspecs = vec![format!("+{wanted}:{WANTED}")];
    refspecs.extend(branch.map(|branch| format!("+{branch}:{BRANCH}")));
    match short {
        None => fetch_refs(repository, config, &refspecs)?,
        Some(short) => {
            refspecs.push(format!("+{short}"));
            let (url, access) = (&config.location, &config.access);
            let names: BTreeSet<String> =
                git::fetch_named(repository.path(), url, access, &refspecs)?.into_iter().collect();
            revisions::only(short, names.into_iter().collect())?;
        }
    }
    let reference = match wanted {
        "HEAD" => branch.unwrap_or("HEAD (detached)"),
        name => name,
    };
    match refs::target(repository, WANTED)? {
        Some(RefTarget::Commit(commit)) => {
            let is_same =
                branch.is_none() || refs::target(repository, BRANCH)? == Some(RefTarget::Commit(commit));
            Ok(is_same.then(|| Resolved { reference: reference.to_owned(), commit }))
        }
        Some(RefTarget::Other) => Err(Error::NotACommit(reference.to_owned())),
        None => Ok(None),
    }
}

/// Returns whether the host has no such ref or commit.
fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Remote(error) if error.fault() == Some(GitFault::NoRef))
}

fn unknown(reference: &str, refs: &[Advertised]) -> Error {
    const MOST_NAMED: usize = 3;
    if reference == "HEAD" {
        let branches = refs.iter().filter_map(|advertised| advertised.name.strip_prefix("refs/heads/"));
        let branches: Vec<String> = branches.take(MOST_NAMED).map(str::to_owned).collect();
        return match branches.is_empty() {
            true => Error::Unborn(reference.to_owned()),
            false => Error::NoDefaultBranch { branches },
        };
    }
    let short = |advertised: &Advertised| {
        let name = advertised.name.as_str();
        let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"))?;
        (!short.ends_with("^{}")).then(|| short.to_owned())
    };
    Error::UnknownRef {
        reference: reference.to_owned(),
        near: revisions::near(reference, refs.iter().filter_map(short).collect()),
        head: HeadKind::Branch,
    }
}

/// Fetches a commit by its id. Most hosts allow that, even for commits that only a closed pull request
/// contains. Otherwise fetches all branches and tags.
fn fetch_id(repository: &Repository, config: &SourceConfig, id: &str) -> Result<Resolved, Error> {
    // A commit never changes, so one that is here needs no host.
    if let Ok(found) = revisions::resolve(repository, Some(id)) {
        return Ok(found);
    }
    if revisions::is_full_id(id) {
        match fetch_refs(repository, config, &[format!("+{id}:{WANTED}")]) {
            Ok(()) => return revisions::resolve(repository, Some(id)),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    fetch_all(repository, config)?;
    revisions::resolve(repository, Some(id))
}

/// Fetches all branches and tags.
fn fetch_all(repository: &Repository, config: &SourceConfig) -> Result<(), Error> {
    let kinds = ["heads", "tags"].map(|kind| format!("+refs/{kind}/*:refs/gitoggle/{kind}/*"));
    fetch_refs(repository, config, &kinds)
}

fn fetch_refs(repository: &Repository, config: &SourceConfig, refspecs: &[String]) -> Result<(), Error> {
    Ok(git::fetch(repository.path(), &config.location, &config.access, refspecs)?)
}

/// Opens the mirror in `folder` if it belongs to this source.
fn open(folder: &Path, config: &SourceConfig) -> Option<Repository> {
    let repository = git::open_bare(folder).ok()?;
    let url = git::config_value(&repository, URL_KEY).ok()??;
    // A mirror of another URL is cloned again (src/source/README.md, "Reading a repository").
    (url == config.location.to_string()).then_some(repository)
}

fn init(folder: &Path, config: &SourceConfig) -> Result<Repository, Error> {
    // A full disk is not a fault of the repository, and only its folder shows which disk it is.
    let failed = |error: Libgit2Error| match error.io_fault() {
        Some(fault) => io("write to", folder.to_owned(), fault),
        None => error.into(),
    };
    let repository = git::init_bare(folder).map_err(failed)?;
    git::set_config_value(&repository, URL_KEY, &config.location.to_string()).map_err(failed)?;
    Ok(repository)
}

/// Creates an empty repository on the disk that was sized for a clone: that of the cache.
fn temporary(config: &SourceConfig) -> Result<Arc<TemporaryFolder>, Error> {
    let home = config.cache.as_deref().and_then(Path::parent);
    let folder = TemporaryFolder::create(home).map_err(|error| {
        io("create a folder in", home.map_or_else(std::env::temp_dir, Path::to_owned), error)
    })?;
    init(folder.path(), config)?;
    Ok(Arc::new(folder))
}

/// Creates a repository that uses the objects of `lender`, so that the server does not send them again.
fn lend(config: &SourceConfig, lender: &Repository) -> Result<Arc<TemporaryFolder>, Error> {
    let folder = temporary(config)?;
    git::borrow_objects(folder.path(), lender.path())
        .map_err(|error| io("write to", folder.path().to_owned(), error))?;
    // libgit2 reads the alternates when it opens a repository.
    let repository = git::open_bare(folder.path())?;
    // The next fetch offers these commits to the server, which then sends only newer objects.
    for name in [WANTED, BRANCH] {
        if let Ok(Some(RefTarget::Commit(commit))) = refs::target(lender, name) {
            refs::set(&repository, name, commit)?;
        }
    }
    if let Ok(Some(name)) = git::config_value(lender, NAME_KEY) {
        git::set_config_value(&repository, NAME_KEY, &name)?;
    }
    Ok(folder)
}

/// Clones to a folder beside `cache`, and then replaces `cache` with it.
fn clone(config: &SourceConfig, cache: &Path) -> Result<Resolved, Error> {
    let parent = cache.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(|error| io("create", parent.to_owned(), error))?;
    let prefix = format!("{}.", cache.file_name().unwrap_or_default().to_string_lossy());
    remove_leftovers(parent, &prefix);
    // The folder is beside the cache, so that the renames stay on one file system.
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
    let folder = folder.map_err(|error| io("create a folder in", parent.to_owned(), error))?;
    let fresh = folder.path().join("new");
    let resolved = refresh(&init(&fresh, config)?, config)?;
    // A folder cannot replace one that is not empty, so the old one moves out of the way.
    match std::fs::rename(cache, folder.path().join("old")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io("move", cache.to_owned(), error));
        }
        _ => {}
    }
    std::fs::rename(&fresh, cache).map_err(|error| io("create", cache.to_owned(), error))?;
    Ok(resolved)
}

/// Removes the folders that a killed clone left. Only the process that may write the cache calls this.
fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            // A leftover costs only disk space, and the next clone tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

pub(super) fn packs(cache: &Path) -> usize {
    std::fs::read_dir(cache.join("objects/pack")).into_iter().flatten().flatten().count() / 2
}

const fn io(what: &'static str, path: PathBuf, source: std::io::Error) -> Error {
    Error::Io { what, path, source }
}

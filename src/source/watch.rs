//! Watches a local repository for a moved ref, so that the daemon looks it up sooner than at the next
//! interval.
//!
//! Watches only the few folders in which a ref moves, without their subfolders, so that a work tree of
//! 100,000 files costs nothing. The parent folder shows the swap of a symbolic link.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::revisions;
use crate::git::Repository;

/// A file watcher, which stops on drop.
#[derive(Debug)]
pub struct Watcher {
    inner: RecommendedWatcher,
    path: PathBuf,
    reference: Option<String>,
    watched: BTreeSet<PathBuf>,
}

/// Why folders cannot be watched; usually a limit of the system. The lookups at intervals continue.
#[derive(Debug, thiserror::Error)]
#[error("could not watch the repository; the next lookup finds changes instead")]
pub struct WatchError(#[from] notify::Error);

/// Calls `on_event` whenever the ref of the repository at `path` may have moved, possibly several times for
/// one move.
pub fn watch(
    path: &Path,
    reference: Option<&str>,
    on_event: impl Fn() + Send + 'static,
) -> Result<Watcher, WatchError> {
    // `notify` does not check that its thread starts, and panics without one.
    let thread = std::thread::Builder::new().spawn(|| {}).map_err(notify::Error::io)?;
    let _ = thread.join();
    let path = std::path::absolute(path).map_err(notify::Error::io)?;
    let parent = path.parent().map(Path::to_owned);
    let own = path.clone();
    let handler = move |event: notify::Result<Event>| {
        if event
            .as_ref()
            // An error of the watcher is treated as an event, because a needless lookup takes only microseconds.
            .map_or(true, |event| matters(event, parent.as_deref(), &own))
        {
            on_event();
        }
    };
    let mut watcher = Watcher {
        inner: notify::recommended_watcher(handler)?,
        path,
        reference: reference.map(str::to_owned),
        watched: BTreeSet::new(),
    };
    watcher.renew()?;
    Ok(watcher)
}

impl Watcher {
    /// Updates the watched folders. Must be called after each lookup that found a change, because a swapped
    /// link has other folders.
    pub(crate) fn renew(&mut self) -> Result<(), WatchError> {
        let wanted = folders(&self.path, self.reference.as_deref());
        for gone in self.watched.difference(&wanted) {
            // Fails for a removed folder, which the system stopped watching.
            let _ = self.inner.unwatch(gone);
        }
        let mut failure = None;
        let mut watched = BTreeSet::new();
        for folder in wanted {
            // Even if it is watched already: it may be another folder with the same name.
            match self.inner.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    watched.insert(folder);
                }
                Err(error) => failure = Some(error),
            }
        }
        self.watched = watched;
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Returns whether an event may mean a moved ref. Reads do not, nor do changes beside the repository.
fn matters(event: &Event, parent: Option<&Path>, own: &Path) -> bool {
    // The system dropped events, and one of them may have been the move.
    if event.need_rescan() {
        return true;
    }
    // The watched parent folder also reports its other entries.
    let beside = |path: &PathBuf| path != own && path.parent() == parent;
    // Looking up the ref causes reads, which would trigger the next lookup.
    !matches!(event.kind, EventKind::Access(_)) && (event.paths.is_empty() || !event.paths.iter().all(beside))
}

/// Returns the existing folders that change when the ref moves.
fn folders(path: &Path, reference: Option<&str>) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = path.parent().map(Path::to_owned).into_iter().collect();
    if let Ok(repository) = revisions::open(path) {
        let common = repository.commondir();
        folders.extend([repository.path().to_owned(), common.to_owned()]);
        folders.extend(["refs", "refs/heads", "refs/tags"].map(|name| common.join(name)));
        // A branch with a slash in its name moves in a subfolder, which is not watched with its parent.
        let mut moving: Vec<String> = head(&repository).into_iter().collect();
        moving.extend(reference.map(|name| name.trim_start_matches("refs/heads/").to_owned()));
        for name in moving {
            let full = common.join("refs/heads").join(name);
            folders
                .extend(full.ancestors().skip(1).take_while(|folder| *folder != common).map(Path::to_owned));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

fn head(repository: &Repository) -> Option<String> {
    let head = repository.find_reference("HEAD").ok()?;
    let target = head.symbolic_target().ok()??;
    target.strip_prefix("refs/heads/").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use notify::event::{AccessKind, CreateKind, Flag};

    use super::super::testing::Repo;
    use super::*;

    fn watched(path: &Path, reference: Option<&str>) -> (Watcher, Receiver<()>) {
        let (sender, receiver) = channel();
        let watcher = watch(path, reference, move || sender.send(()).unwrap_or_default()).unwrap();
        (watcher, receiver)
    }

    fn fires(receiver: &Receiver<()>) -> bool {
        receiver.recv_timeout(Duration::from_secs(20)).is_ok()
    }

    #[test]
    fn a_commit_on_a_branch_with_a_slash_fires() {
        let repo = Repo::new();
        repo.git(&["checkout", "-q", "-b", "team/x"]);
        repo.commit_file("a", "1");
        let (_watcher, receiver) = watched(repo.path(), Some("team/x"));
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
        let id = repo.git(&["commit-tree", "-m", "x", &tree]);
        repo.git(&["update-ref", "refs/heads/team/x", &id]);
        assert!(fires(&receiver));
    }

    #[test]
    fn a_swapped_link_fires_and_its_new_target_is_watched_after_renewal() {
        let (one, two) = (Repo::new(), Repo::new());
        one.commit_file("a", "1");
        two.commit_file("a", "1");
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(one.path(), at("current")).unwrap();
        let (mut watcher, receiver) = watched(&at("current"), None);
        std::os::unix::fs::symlink(two.path(), at("next")).unwrap();
        std::fs::rename(at("next"), at("current")).unwrap();
        assert!(fires(&receiver));
        watcher.renew().unwrap();
        while receiver.try_recv().is_ok() {}
        two.commit_file("a", "2");
        assert!(fires(&receiver));
    }

    #[test]
    fn reads_and_neighbors_do_not_matter() {
        let (parent, own) = (Path::new("/x"), Path::new("/x/repo"));
        let event = |kind, path: &str| Event::new(kind).add_path(PathBuf::from(path));
        let create = EventKind::Create(CreateKind::Any);
        for (event, expected) in [
            (event(EventKind::Access(AccessKind::Any), "/x/repo/.git"), false),
            (event(create, "/x/other"), false),
            (event(create, "/x/repo"), true),
            (event(create, "/x/repo/.git/HEAD"), true),
            (Event::new(EventKind::Other).set_flag(Flag::Rescan), true),
        ] {
            assert_eq!(matters(&event, Some(parent), own), expected, "{event:?}");
        }
    }

    #[test]
    fn a_path_without_a_repository_is_watched_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let (_watcher, receiver) = watched(&folder.path().join("later"), None);
        std::fs::create_dir(folder.path().join("later")).unwrap();
        assert!(fires(&receiver));
    }
}

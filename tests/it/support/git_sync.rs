//! The way git-sync 4 keeps a checkout up to date, one Git command after the other: a repository in the root
//! folder, one detached work tree per commit, and a symbolic link that is swapped atomically.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::repo::Repo;
use super::world::World;

/// The name of the link in the root folder.
const LINK: &str = "current";

/// A git-sync that syncs only when a test says so.
pub(crate) struct GitSync {
    upstream: String,
    root: Repo,
}

impl GitSync {
    /// Prepares one that follows `main` of a repository. Nothing is synced yet, and the root folder does not
    /// exist.
    pub(crate) fn of(world: &World) -> Self {
        Self { upstream: world.repo.path().display().to_string(), root: Repo::at(&world.path("git")) }
    }

    /// Prepares one as [`GitSync::of`] does, and syncs once.
    pub(crate) fn synced(world: &World) -> Self {
        let sync = Self::of(world);
        sync.sync();
        sync
    }

    /// Returns the link to the checkout: what `--repo` names.
    pub(crate) fn link(&self) -> PathBuf {
        self.root.path().join(LINK)
    }

    /// Returns the repository that fetches.
    pub(crate) fn root(&self) -> &Repo {
        &self.root
    }

    /// Syncs once, and states that it worked.
    #[track_caller]
    pub(crate) fn sync(&self) {
        if let Err(error) = self.try_sync() {
            panic!("git-sync: {error}");
        }
    }

    /// Syncs once, and states that it failed.
    #[track_caller]
    pub(crate) fn fails(&self) {
        assert!(self.try_sync().is_err(), "git-sync was expected to fail");
    }

    /// Leaves what a kill in the middle of `git worktree add` leaves for the commit that is to be synced
    /// next.
    pub(crate) fn is_killed_while_it_adds(&self, commit: &str) {
        self.root.git(&["fetch", "--quiet", &self.upstream, "main", "--no-auto-gc"]);
        let folder = self.root.path().join(".worktrees").join(commit);
        let at = folder.display().to_string();
        self.root.git(&["worktree", "add", "--quiet", "--lock", "--detach", &at, commit]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Makes the last fetch look as old as this.
    pub(crate) fn fetched_before(&self, age: Duration) {
        let file = fs::File::options().append(true).open(self.root.path().join(".git/FETCH_HEAD")).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    fn try_sync(&self) -> Result<(), String> {
        self.init()?;
        let current = fs::read_link(self.link()).ok();
        let fetch = ["fetch", &self.upstream, "main", "--prune", "--no-auto-gc"];
        self.root.try_git(&fetch)?;
        let fetched = self.root.try_git(&["rev-parse", "FETCH_HEAD^{}"])?;
        let new = Path::new(".worktrees").join(&fetched);
        if current.as_ref() == Some(&new) {
            self.root.try_git(&["fsck", "--no-progress", "--connectivity-only"])?;
            return Ok(());
        }
        self.root.try_git(&["reset", "--quiet", "--soft", &fetched])?;
        self.add(&fetched, &new)?;
        self.publish(&new);
        self.clean_up(current.as_deref())
    }

    fn init(&self) -> Result<(), String> {
        if self.root.path().join(".git").exists() {
            return Ok(());
        }
        fs::create_dir_all(self.root.path()).unwrap();
        self.root.try_git(&["init", "--quiet", "--initial-branch=git-sync-init"])?;
        self.root.try_git(&["remote", "add", "origin", &self.upstream])?;
        Ok(())
    }

    fn add(&self, commit: &str, new: &Path) -> Result<(), String> {
        self.remove(new)?;
        let folder = self.root.path().join(new);
        let at = folder.display().to_string();
        let add = ["worktree", "add", "--force", "--detach", &at, commit, "--no-checkout"];
        self.root.try_git(&add)?;
        fs::write(folder.join(".git"), format!("gitdir: ../../.git/worktrees/{commit}\n")).unwrap();
        Repo::at(&folder).try_git(&["reset", "--quiet", "--hard", commit, "--"])?;
        Ok(())
    }

    fn remove(&self, work_tree: &Path) -> Result<(), String> {
        let folder = self.root.path().join(work_tree);
        if folder.exists() {
            fs::remove_dir_all(folder).unwrap();
            self.root.try_git(&["worktree", "prune"])?;
        }
        Ok(())
    }

    fn publish(&self, new: &Path) {
        let next = self.root.path().join("tmp-link");
        std::os::unix::fs::symlink(new, &next).unwrap();
        fs::rename(next, self.link()).unwrap();
    }

    fn clean_up(&self, old: Option<&Path>) -> Result<(), String> {
        let Some(old) = old else { return Ok(()) };
        self.remove(old)?;
        self.root.try_git(&["reflog", "expire", "--expire-unreachable=all", "--all"])?;
        self.root.try_git(&["gc", "--quiet"])?;
        Ok(())
    }
}

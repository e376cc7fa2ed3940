//! Real Git repositories, made by the `git` program, the same on every machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::git_host::git;

/// A repository in its own folder. Methods chain, so that a history reads as a sentence.
#[derive(Debug)]
pub(crate) struct Repo {
    folder: PathBuf,
    /// Seconds; each commit is one minute later than the one before, over all repositories of a test run.
    time: &'static AtomicU64,
    /// The files that the next command stages before it does its work: one process of `git` for all of them.
    unstaged: Mutex<Vec<String>>,
}

static TIME: AtomicU64 = AtomicU64::new(1_700_000_000);

impl Repo {
    /// Makes an empty repository in `folder`, on branch `main`.
    pub(crate) fn new(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let repo = Self::at(folder);
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// Makes an empty bare repository in `folder`.
    pub(crate) fn bare(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let repo = Self::at(folder);
        repo.git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
        repo
    }

    /// Names a repository that is there already.
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), time: &TIME, unstaged: Mutex::default() }
    }

    /// Returns its folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, uncommitted.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        if self.unstaged.lock().unwrap().iter().any(|staged| staged == path) {
            self.stage();
        }
        let path = self.folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Writes a file and stages it.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        self.write(path, content);
        self.unstaged.lock().unwrap().push(path.to_owned());
        self
    }

    /// Stages a symbolic link.
    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        let at = self.folder.join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, at).unwrap();
        self.git(&["add", "--", path]);
        self
    }

    /// Removes a file or a folder, staged.
    pub(crate) fn remove(&self, path: &str) -> &Self {
        self.git(&["rm", "--quiet", "-r", "--force", "--", path]);
        self
    }

    /// Moves a file, staged.
    pub(crate) fn rename(&self, from: &str, to: &str) -> &Self {
        std::fs::create_dir_all(self.folder.join(to).parent().unwrap()).unwrap();
        self.git(&["mv", "--", from, to]);
        self
    }

    /// Commits the document of `shop/prod/pay` that asks for this age, with everything staged.
    pub(crate) fn commit_pay(&self, age: u32, message: &str) -> &Self {
        self.file("shop/prod/pay.yaml", super::doc(age)).commit(message)
    }

    /// Commits what is staged, with that message to the byte.
    pub(crate) fn commit(&self, message: &str) -> &Self {
        let args =
            ["commit", "--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-F", "-"];
        let mut child = self.command(&args).stdin(Stdio::piped()).spawn().expect("git is installed");
        child.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "git {args:?} in {}", self.folder.display());
        self
    }

    /// Commits what is staged at this time, in seconds since 1970.
    pub(crate) fn commit_at(&self, time: u64, message: &str) -> &Self {
        self.git_at(time, &["commit", "--quiet", "-m", message]);
        self
    }

    /// Runs `git` at this time and returns what it prints, without the last line break.
    pub(crate) fn git_at(&self, time: u64, args: &[&str]) -> String {
        let output = self.command_at(time, args).output().expect("git is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// Makes a branch here and goes to it.
    pub(crate) fn branch(&self, name: &str) -> &Self {
        self.git(&["checkout", "--quiet", "-b", name]);
        self
    }

    /// Goes to a branch or commit.
    pub(crate) fn checkout(&self, name: &str) -> &Self {
        self.git(&["checkout", "--quiet", name]);
        self
    }

    /// Merges a branch with a merge commit.
    pub(crate) fn merge(&self, branch: &str, message: &str) -> &Self {
        self.git(&["merge", "--quiet", "--no-ff", "-m", message, branch]);
        self
    }

    /// Forgets history: the branch and the files are at `revision` again.
    pub(crate) fn force(&self, revision: &str) -> &Self {
        self.git(&["reset", "--quiet", "--hard", revision]);
        self
    }

    /// Names the current commit.
    pub(crate) fn tag(&self, name: &str) -> &Self {
        self.git(&["tag", name]);
        self
    }

    /// Undoes the last commit with a new one.
    pub(crate) fn revert(&self) -> &Self {
        self.git(&["revert", "--no-edit", "HEAD"]);
        self
    }

    /// Clones it, bare, into `folder`.
    pub(crate) fn clone_bare(&self, folder: &Path) -> Self {
        self.git(&["clone", "--quiet", "--bare", ".", &folder.display().to_string()]);
        Self::at(folder)
    }

    /// Clones its newest commits only, with a work tree, into `folder`.
    pub(crate) fn clone_shallow(&self, depth: u32, folder: &Path) -> Self {
        let from = format!("file://{}", self.folder.display());
        let depth = format!("--depth={depth}");
        self.git(&["clone", "--quiet", &depth, &from, &folder.display().to_string()]);
        Self::at(folder)
    }

    /// Makes a linked work tree of `revision` in `folder`, on no branch.
    pub(crate) fn linked(&self, revision: &str, folder: &Path) -> Self {
        self.git(&["worktree", "add", "--quiet", "--detach", &folder.display().to_string(), revision]);
        Self::at(folder)
    }

    /// Returns the id of the newest commit.
    pub(crate) fn head(&self) -> String {
        self.id("HEAD")
    }

    /// Returns the id that `revision` names.
    pub(crate) fn id(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// Returns the content of a file at a revision.
    pub(crate) fn content(&self, revision: &str, path: &str) -> String {
        self.git_raw(&["cat-file", "blob", &format!("{revision}:{path}")])
    }

    /// Returns all files at a revision.
    pub(crate) fn files(&self, revision: &str) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", "-z", revision])
            .split_terminator('\0')
            .map(str::to_owned)
            .collect()
    }

    /// Runs `git` in it and returns what it prints, without the last line break.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_raw(args).trim_end_matches('\n').to_owned()
    }

    /// Unpacks every object of a bare repository, and removes one of them.
    pub(crate) fn lose(&self, object: &str) {
        let packs = self.folder.join("objects/pack");
        let aside = self.folder.join("aside");
        std::fs::rename(&packs, &aside).unwrap();
        std::fs::create_dir(&packs).unwrap();
        for file in std::fs::read_dir(&aside).unwrap().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "pack") {
                self.unpack(&file.path());
            }
        }
        std::fs::remove_dir_all(&aside).unwrap();
        let (folder, rest) = object.split_at(2);
        std::fs::remove_file(self.folder.join("objects").join(folder).join(rest)).unwrap();
    }

    /// Runs `git` in it where that may fail, and returns what it prints or its error.
    pub(crate) fn try_git(&self, args: &[&str]) -> Result<String, String> {
        let output = self.run(args);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()),
            false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Unpacks the objects of a pack.
    pub(crate) fn unpack(&self, pack: &Path) {
        let unpacked = git()
            .args(["unpack-objects", "-q"])
            .current_dir(&self.folder)
            .stdin(std::fs::File::open(pack).unwrap())
            .status();
        assert!(unpacked.expect("git is installed").success());
    }

    fn git_raw(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(
            output.status.success(),
            "git {args:?} in {}: {}",
            self.folder.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn stage(&self) {
        let unstaged = std::mem::take(&mut *self.unstaged.lock().unwrap());
        for files in unstaged.chunks(1000) {
            let files = files.iter().map(String::as_str);
            self.git(&["add", "--force", "--"].into_iter().chain(files).collect::<Vec<_>>());
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("git is installed")
    }

    fn command(&self, args: &[&str]) -> Command {
        self.command_at(self.time.fetch_add(60, Ordering::Relaxed), args)
    }

    fn command_at(&self, now: u64, args: &[&str]) -> Command {
        self.stage();
        let mut command = git();
        command
            // Without maintenance, a commit is one process and not two.
            .args(["-c", "core.fsync=none", "-c", "maintenance.auto=false", "-c", "safe.directory=*"])
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_EDITOR", "true")
            .env("GIT_AUTHOR_NAME", "Ada Author")
            .env("GIT_AUTHOR_EMAIL", "ada@example.com")
            .env("GIT_COMMITTER_NAME", "Cy Committer")
            .env("GIT_COMMITTER_EMAIL", "cy@example.com")
            .env("GIT_AUTHOR_DATE", format!("{now} +0000"))
            .env("GIT_COMMITTER_DATE", format!("{now} +0000"));
        command
    }
}

//! Random histories of a source that is looked at again and again: from a checkout, and through a mirror of a
//! URL, with processes that are killed and hosts that rewrite their history. The `git` program says what each
//! look has to find.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use fastrand::Rng;

use super::testing::{Repo, config, git};
use super::{Source, SourceConfig, mirror};
use crate::git::RepoUrl;
use crate::git::testing::{Door, Server};
use crate::model::{CommitId, Thresholds, Trees as _};
use crate::transport::Network;

const HISTORIES: u64 = 8;
const STEPS: usize = 8;
const PATHS: [&str; 4] = ["shop/prod/a.yaml", "shop/prod/b.yaml", "shop/test/a.yaml", "web/prod/a.yaml"];

struct History {
    rng: Rng,
    work: Repo,
    /// The folder of the host, and the host; none if the source is the checkout.
    host: Option<(tempfile::TempDir, Server)>,
    config: SourceConfig,
    /// The process.
    source: Source,
    commits: usize,
}

impl History {
    fn new(seed: u64) -> Self {
        let work = Repo::new();
        let thresholds = Thresholds::drawn(seed);
        let host = (!seed.is_multiple_of(4)).then(|| {
            let folder = tempfile::tempdir().unwrap();
            git(folder.path(), &["init", "-q", "--bare", "-b", "main", "repo"]);
            let server = Server::git(folder.path(), Door::Open);
            (folder, server)
        });
        let mut config = SourceConfig { thresholds, ..config(RepoUrl::local(work.path())) };
        if let Some((folder, server)) = &host {
            config.location = server.url("repo").parse().unwrap();
            config.access.network = Network { ca_file: Some(server.ca_file()), ..Network::default() };
            config.cache = Some(folder.path().join("state/source.git"));
        }
        let source = Source::new(config.clone());
        let mut history = Self { rng: Rng::with_seed(seed), work, host, config, source, commits: 0 };
        PATHS.iter().for_each(|path| history.write(path));
        history.push();
        history
    }

    fn write(&mut self, path: &str) {
        self.commits += 1;
        self.work.commit_file(path, &self.commits.to_string());
    }

    fn push(&self) {
        if let Some((folder, _)) = &self.host {
            let url = folder.path().join("repo");
            self.work.git(&["push", "-q", "--force", "--mirror", url.to_str().unwrap()]);
        }
    }

    /// Makes commits: of documents, of other files, or of another history.
    fn change(&mut self) {
        let count: usize = self.work.git(&["rev-list", "--count", "HEAD"]).parse().unwrap();
        if self.rng.u8(..5) == 0 && count > PATHS.len() + 2 {
            self.work.git(&["reset", "-q", "--hard", "HEAD~2"]);
        }
        for _ in 0..self.rng.usize(1..5) {
            let path = self.rng.choice(PATHS).filter(|_| self.rng.u8(..3) == 0);
            self.write(path.unwrap_or("README.md"));
        }
        self.push();
    }

    /// Ends the process, perhaps while it fetches or clones, and starts another one.
    fn restart(&mut self) {
        if let Some(cache) = self.config.cache.clone() {
            let beside = |name: &str| PathBuf::from(format!("{}.{name}", cache.display()));
            match self.rng.u8(..4) {
                0 => {}
                1 => {
                    for lock in ["config.lock", "packed-refs.lock", "refs/gitoggle/source.lock"] {
                        fs::write(cache.join(lock), "").unwrap();
                    }
                }
                2 => {
                    git(cache.parent().unwrap(), &["init", "-q", "--bare", "source.git.killed/new"]);
                }
                _ => {
                    // Between the two renames that replace a clone.
                    fs::create_dir_all(beside("killed")).unwrap();
                    fs::rename(&cache, beside("killed").join("old")).unwrap();
                }
            }
        }
        self.source = Source::new(self.config.clone());
    }

    /// Looks at the source, and compares with the `git` program.
    fn look(&mut self) {
        let thresholds = self.config.thresholds;
        let snapshot = self.source.snapshot().unwrap();
        let git = |args: &[&str]| self.work.git(args);
        assert_eq!(snapshot.revision().to_string(), git(&["rev-parse", "HEAD"]));
        let reader = snapshot.reader().unwrap();
        // Twice, because the second read may come from memory.
        for path in [PATHS, PATHS].concat() {
            let found = snapshot.file_at(path).unwrap().expect("no commit removes a file");
            assert_eq!(found.to_string(), git(&["rev-parse", &format!("HEAD:{path}")]));
            assert!(reader.blob(found, 100).is_ok());
        }
        let wanted: BTreeSet<String> = PATHS.map(str::to_owned).into();
        let last = snapshot.last_commits(&wanted, |_, _| Ok(false)).unwrap();
        for path in PATHS {
            let commit = last[path].commit().unwrap().id.to_string();
            assert_eq!(commit, git(&["log", "-1", "--format=%H", "--", path]), "{path}");
        }
        let log = git(&["log", "--format=%H %T"]);
        let folders = |commit: &str| git(&["ls-tree", "-d", commit]);
        for (distance, line) in log.lines().enumerate().skip(1) {
            let since = line.split(' ').next().unwrap();
            let between = || log.lines().take(distance + 1).map(|line| folders(&line[..since.len()]));
            let differs = distance >= thresholds.far || between().collect::<BTreeSet<_>>().len() > 1;
            let found = snapshot.differed_since(CommitId(since.parse().unwrap())).unwrap();
            assert_eq!(found, differs, "since {distance} commits");
            if differs {
                break;
            }
        }
        if let Some(cache) = &self.config.cache {
            assert!(mirror::packs(cache) <= thresholds.most_mirror_packs + 1);
        }
    }
}

#[test]
fn every_look_at_a_source_finds_what_the_git_program_finds() {
    for seed in 0..HISTORIES {
        let mut history = History::new(seed);
        println!("seed {seed}: {:?}", history.config.thresholds);
        history.look();
        for _ in 0..STEPS {
            match history.rng.u8(..4) {
                0 => history.restart(),
                _ => history.change(),
            }
            history.look();
        }
    }
}

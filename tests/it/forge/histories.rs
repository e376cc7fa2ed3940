//! Random histories of pull requests: a job publishes a change if, and only if, a comment that counts lists
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;

use super::reviews::{Merge, Team};
use super::stand_in::{Comment, KINDS, OURS, THEIRS};
use crate::support::{Answer, Repo, Request};

const TOGGLES: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// The content of toggles, by their name.
type Ages = BTreeMap<&'static str, String>;

/// What a pull request of a history is, besides its branch `rNUMBER`.
#[derive(Clone, Debug)]
struct Change {
    number: u64,
    /// The branch that it is merged into.
    target: String,
    /// What the comment lists; none without a comment that counts.
    listed: Option<BTreeSet<(&'static str, String)>>,
}

struct History {
    seed: u64,
    team: Team,
    rng: Rng,
    open: Vec<Change>,
    /// The changes that were merged into `main`, each with its commit.
    merged: Vec<(String, Change)>,
    /// What `main` had before each of them, by number.
    before: BTreeMap<u64, String>,
    /// The merges that the forge made, each with what `main` had before.
    made: Vec<(String, String)>,
    /// What `main` had, oldest first.
    tips: Vec<String>,
    /// What is applied, and the commit at which it was.
    applied: BTreeMap<&'static str, (String, String)>,
    next: u64,
    /// What happened, for the message of a failure.
    log: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let team = Team::new(KINDS[rng.usize(..KINDS.len())]);
        let head = team.world.repo.head();
        let mut history = Self {
            seed,
            team,
            rng,
            open: Vec::new(),
            merged: Vec::new(),
            before: BTreeMap::new(),
            made: Vec::new(),
            tips: Vec::new(),
            applied: BTreeMap::new(),
            next: 1,
            log: Vec::new(),
        };
        let ages = history.ages("main");
        history.applied = ages.into_iter().map(|(toggle, age)| (toggle, (age, head.clone()))).collect();
        history
    }

    /// Returns the documents at a revision.
    fn ages(&self, revision: &str) -> Ages {
        let repo = &self.team.world.repo;
        TOGGLES.map(|toggle| (toggle, repo.content(revision, &format!("shop/prod/{toggle}.yaml")))).into()
    }

    /// Commits one or two toggles to the branch that is checked out. May try another value first, and go back.
    fn edit(&mut self) {
        if self.rng.u8(..4) == 0 {
            let toggle = TOGGLES[self.rng.usize(..TOGGLES.len())];
            self.team.set(toggle, 50);
            self.team.world.repo.git(&["revert", "--no-edit", "HEAD"]);
            self.log.push(format!("  try {toggle}"));
        }
        for _ in 0..self.rng.usize(1..=2) {
            let toggle = TOGGLES[self.rng.usize(..TOGGLES.len())];
            // Few values, so that a toggle often returns to one that was reviewed.
            let age = 20 + self.rng.u32(..3);
            self.team.set(toggle, age);
            self.log.push(format!("  set {toggle} to {age}"));
        }
    }

    fn open(&mut self) {
        let repo = &self.team.world.repo;
        let stacked = self.open.last().filter(|_| self.rng.u8(..4) == 0).map(|outer| outer.number);
        let from = stacked.map_or_else(|| "main".to_owned(), |outer| format!("r{outer}"));
        let number = self.next;
        self.next += 1;
        repo.checkout(&from).branch(&format!("r{number}"));
        self.log.push(format!("open {number} on {from}"));
        self.team.forge.create(number);
        self.edit();
        self.open.push(Change { number, target: from, listed: None });
        self.plan(self.open.len() - 1);
    }

    /// Lets the job of a pull request run, or not. That of a fork has no token.
    fn plan(&mut self, at: usize) {
        let (number, fate) = (self.open[at].number, self.rng.u8(..6));
        self.log.push(format!("plan {number}: {}", ["no job", "fork", "plan"][usize::from(fate.min(2))]));
        let repo = &self.team.world.repo;
        let branch = format!("r{number}");
        // The plan is about `main` in any case, because an inner pull request is planned for its later merge.
        let Some(merged) = repo.try_git(&["merge-tree", "--write-tree", "main", &branch]).ok() else {
            return;
        };
        repo.checkout(&branch);
        match fate {
            0 => {}
            1 => self.team.plan_of_fork(number),
            _ => {
                self.team.plan(number);
                let merged = merged.lines().next().unwrap();
                let (now, then) = (self.ages("main"), self.ages(merged));
                let listed = then.into_iter().filter(|(toggle, age)| now[toggle] != *age);
                self.open[at].listed = Some(listed.collect());
            }
        }
    }

    /// Somebody touches the comment of an open or a merged pull request.
    fn touch(&mut self) {
        let count = self.open.len() + self.merged.len();
        if count == 0 {
            return;
        }
        let at = self.rng.usize(..count);
        let open = self.open.len();
        let change = if at < open { &mut self.open[at] } else { &mut self.merged[at - open].1 };
        let act = ["delete", "edit", "add to", "copy"][self.rng.usize(..4)];
        self.log.push(format!("{act} the comment of {}", change.number));
        let number = change.number;
        let mut held = self.team.forge.held();
        let is_own = |comment: &Comment| comment.request == number && comment.author == OURS;
        let own: Vec<usize> = (0..held.comments.len()).filter(|&at| is_own(&held.comments[at])).collect();
        let mut ignored = None;
        let Some(&last) = own.last() else { return };
        // What somebody has added to is not the comment of the plan anymore: the next plan makes another one.
        let own = own[self.rng.usize(..own.len())];
        let mut listed = &mut change.listed;
        if own != last {
            self.log.push("  an older one".to_owned());
            listed = &mut ignored;
        }
        match act {
            "delete" => {
                held.comments.remove(own);
                *listed = None;
            }
            "edit" => {
                let body = held.comments[own].body.clone();
                let (marker, page) = body.split_once('\n').unwrap();
                held.comments[own].body = format!("{marker}\n{}", page.replace('>', "<"));
                if held.comments[own].body != body {
                    *listed = None;
                }
            }
            "add to" => {
                held.comments[own].body.push_str("\nI agree.");
                *listed = None;
            }
            // A stranger posts it on another pull request, and ours quotes it there.
            _ => {
                let body = held.comments[own].body.clone();
                let other = self.rng.u64(1..=self.next);
                let copy = Comment { request: other, id: 1, author: THEIRS, body };
                held.comments.insert(0, copy);
            }
        }
    }

    fn merge(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.open.len());
        let Change { number, target, .. } = self.open[at].clone();
        let repo = &self.team.world.repo;
        let branch = format!("r{number}");
        let is_inner = self.open.iter().any(|outer| format!("r{}", outer.number) == target);
        // A forge changes the target of what was stacked on a merged request.
        let target = if is_inner && self.rng.bool() { target } else { "main".to_owned() };
        let is_merged = repo.try_git(&["merge-base", "--is-ancestor", &branch, &target]).is_ok();
        if is_merged || repo.try_git(&["merge-tree", "--write-tree", &target, &branch]).is_err() {
            self.log.push(format!("close {number}"));
            self.open.remove(at);
            return;
        }
        if target != "main" {
            self.log.push(format!("merge {number} into {target}"));
            repo.checkout(&target).merge(&branch, "Merge the inner one");
            self.team.forge.merge_into(&target, number, repo.head());
            self.open.remove(at);
            let outer = self.open.iter().position(|outer| format!("r{}", outer.number) == target);
            if let Some(outer) = outer.filter(|_| self.rng.bool()) {
                self.plan(outer);
            }
            return;
        }
        let base = repo.git(&["merge-base", "main", &branch]);
        let touched = |tip: &str| -> BTreeSet<String> {
            let log = repo.git(&["log", "--name-only", "--format=", &format!("{base}..{tip}")]);
            log.lines().map(str::to_owned).collect()
        };
        let is_behind = repo.id("main") != base;
        let is_linear = repo.git(&["rev-list", "--merges", &format!("main..{branch}")]).is_empty();
        let is_apart = touched("main").is_disjoint(&touched(&branch));
        let mut ways = vec![Merge::Commit, Merge::Squash];
        ways.extend((!is_behind).then_some(Merge::FastForward));
        ways.extend((is_apart && is_linear).then_some(Merge::Rebase));
        let how = ways[self.rng.usize(..ways.len())];
        self.log.push(format!("merge {number}: {how:?}"));
        let before = repo.id("main");
        self.team.merge(number, how);
        // The forge may know the branch.
        if self.rng.bool() {
            let commits = repo.git(&["rev-list", "--reverse", &format!("{before}..{branch}")]);
            let commits = commits.lines().map(str::to_owned).collect();
            let began = repo.git(&["merge-base", &before, &branch]);
            self.team.forge.held().branches.insert(number, (began, commits));
        }
        if matches!(how, Merge::Commit) {
            self.made.push((repo.head(), before.clone()));
        }
        self.before.insert(number, before);
        let change = self.open.remove(at);
        self.merged.push((self.team.world.repo.head(), change));
    }

    /// Runs the plan job of a merged request again.
    fn plan_again(&mut self) {
        if self.merged.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.merged.len());
        let (merge, Change { number, .. }) = self.merged[at].clone();
        let repo = &self.team.world.repo;
        let branch = format!("r{number}");
        let Some(merged) = repo.try_git(&["merge-tree", "--write-tree", "main", &branch]).ok() else {
            return;
        };
        let is_known = self.team.forge.held().branches.contains_key(&number);
        self.log.push(format!("plan {number} again, which the forge knows: {is_known}"));
        repo.checkout(&branch);
        self.team.plan(number);
        let is_fast_forward = repo.id(&branch) == merge;
        let ages = |from: &str, to: &str| -> BTreeSet<_> {
            let from = self.ages(from);
            self.ages(to).into_iter().filter(|(toggle, age)| from[toggle] != *age).collect()
        };
        let now = ages("main", merged.lines().next().unwrap());
        let own = ages(&self.before[&number], &merge);
        // The job leaves the comment alone if it cannot tell.
        if !now.is_empty() || is_known || !is_fast_forward {
            self.merged[at].1.listed = Some(if now.is_empty() { own } else { now });
        }
    }

    fn push(&mut self) {
        let repo = &self.team.world.repo;
        repo.checkout("main");
        let parents = repo.git(&["rev-list", "-1", "--parents", "main"]);
        // Neither a merge nor the first commit.
        let is_revert = self.rng.bool() && parents.split(' ').count() == 2;
        if is_revert && repo.try_git(&["revert", "--no-edit", "HEAD"]).is_ok() {
            self.log.push("revert by a push".to_owned());
        } else {
            if is_revert {
                repo.git(&["revert", "--quit"]);
                repo.git(&["reset", "--quiet", "--hard"]);
            }
            self.log.push("push".to_owned());
            self.edit();
        }
    }

    /// Pushes a merge that has the files of a request that was merged long ago.
    fn push_old(&mut self) {
        if self.merged.is_empty() {
            return;
        }
        let repo = &self.team.world.repo;
        let (old, change) = &self.merged[self.rng.usize(..self.merged.len())];
        let number = change.number;
        let branch = format!("r{number}");
        let parent = if self.rng.bool() { old } else { &branch };
        let mut parents = ["main", parent];
        if self.rng.u8(..4) == 0 {
            parents.reverse();
        }
        let tree = format!("{old}^{{tree}}");
        let merge = repo.git(&["commit-tree", &tree, "-p", parents[0], "-p", parents[1], "-m", "Merge it"]);
        repo.checkout("main").git(&["reset", "--quiet", "--hard", &merge]);
        self.log.push(format!("push a merge that has the files of {number}"));
    }

    /// Runs the job of `main`, and compares what it publishes with what the comments list.
    fn job(&mut self) {
        let due = self.due();
        let expected: BTreeSet<&str> = due.iter().map(|(toggle, _)| *toggle).collect();
        let service = &self.team.world.service;
        let is_refused = self.rng.u8(..8) == 0 && !due.is_empty();
        if is_refused {
            service.answers([Answer::json(400, "{}")]);
        }
        let is_killed = !is_refused && !due.is_empty() && self.rng.u8(..4) == 0;
        if is_killed {
            // Its next run repeats what was open.
            self.team.world.kill_in_first_request(self.team.job().set("max-change-ratio", "1"));
            crate::shared::age(&Repo::at(&self.team.world.path("remote.git")));
            self.log.push("a job was killed".to_owned());
        }
        let ran = self.team.job().set("max-change-ratio", "1").exit_in(&[0, 1, 4]).any_output();
        let sent: Vec<String> = service.take().iter().map(Request::toggle).collect();
        let published: BTreeSet<&str> = sent.iter().map(|id| id.rsplit('/').next().unwrap()).collect();
        self.log.push(format!("job: {published:?}"));
        assert_eq!(published, expected, "seed {}: {:#?}\n{ran:?}", self.seed, self.log);
        let head = self.team.world.repo.head();
        // The first request was refused. If others were applied, it was sent once more.
        let is_applied = |toggle: &str| {
            let times = sent.iter().filter(|id| id.ends_with(toggle)).count();
            !is_refused || !sent[0].ends_with(toggle) || times > 1
        };
        for (toggle, age) in due.into_iter().filter(|(toggle, _)| is_applied(toggle)) {
            self.applied.insert(toggle, (age, head.clone()));
        }
    }

    /// The oracle: a change is published if a merged request lists it that is the commit of the change or a
    /// descendant, and no ancestor of what was applied last, and if `main` has had the change since the merge. What
    /// a merge by the forge brought was never what `main` had, and of what else was merged nobody knows it.
    fn due(&self) -> Vec<(&'static str, String)> {
        let repo = &self.team.world.repo;
        repo.checkout("main");
        let is_ancestor =
            |one: &str, other: &str| repo.try_git(&["merge-base", "--is-ancestor", one, other]).is_ok();
        let is_listed = |(toggle, age): &(&'static str, String)| {
            let path = format!("shop/prod/{toggle}.yaml");
            let commit = repo.git(&["log", "-1", "--format=%H", "main", "--", &path]);
            let is_kept = |merge: &str| {
                let is_same = |commits: &[&str]| {
                    let versions: Vec<String> =
                        commits.iter().map(|commit| format!("{commit}:{path}")).collect();
                    let mut args = vec!["rev-parse"];
                    args.extend(versions.iter().map(String::as_str));
                    repo.git(&args).lines().collect::<BTreeSet<_>>().len() == 1
                };
                let since = repo.git(&["rev-list", "--ancestry-path", &format!("{merge}..main")]);
                let brought: Vec<String> = self
                    .made
                    .iter()
                    .map(|(made, before)| repo.git(&["rev-list", made, &format!("^{before}")]))
                    .collect();
                let brought: BTreeSet<&str> = brought.iter().flat_map(|commits| commits.lines()).collect();
                let is_merge = |commit: &str| self.merged.iter().any(|(merge, _)| merge == commit);
                let had = since.lines().filter(|commit| !brought.contains(commit) || is_merge(commit));
                let is_kept = is_same(&had.chain([merge]).collect::<Vec<_>>());
                let tips: Vec<&str> =
                    self.tips.iter().map(String::as_str).skip_while(|tip| *tip != merge).collect();
                assert!(!is_kept || is_same(&tips), "seed {}: {:#?}", self.seed, self.log);
                is_kept
            };
            let counts = |merge: &str| {
                is_ancestor(&commit, merge) && !is_ancestor(merge, &self.applied[toggle].1) && is_kept(merge)
            };
            let lists = |change: &Change| {
                change.listed.as_ref().is_some_and(|listed| listed.contains(&(*toggle, age.clone())))
            };
            self.merged.iter().any(|(merge, change)| lists(change) && counts(merge))
        };
        let changed = self.ages("main").into_iter().filter(|(toggle, age)| self.applied[toggle].0 != *age);
        changed.filter(is_listed).collect()
    }

    fn run(mut self) {
        for _ in 0..self.rng.usize(8..16) {
            match self.rng.u8(..16) {
                0..4 => self.open(),
                4 | 5 if !self.open.is_empty() => {
                    let at = self.rng.usize(..self.open.len());
                    let branch = format!("r{}", self.open[at].number);
                    self.log.push(format!("more on {branch}"));
                    self.team.world.repo.checkout(&branch);
                    self.edit();
                    self.plan(at);
                }
                6 => self.touch(),
                7 if self.rng.u8(..3) == 0 => self.push_old(),
                7 => self.push(),
                8..12 => self.merge(),
                12..14 => self.job(),
                14 => self.plan_again(),
                _ => {}
            }
            self.note_tip();
        }
        self.job();
        self.job();
    }

    fn note_tip(&mut self) {
        let tip = self.team.world.repo.id("main");
        if self.tips.last() != Some(&tip) {
            self.tips.push(tip);
        }
    }
}

#[test]
fn a_job_publishes_what_a_comment_that_counts_lists_and_nothing_else() {
    draw(|seed| History::new(seed).run());
}

/// Plays random histories, each from its seed.
pub(super) fn draw(play: impl Fn(u64) + Sync) {
    // `GITOGGLE_HISTORIES=1000` draws as many; `GITOGGLE_HISTORY_SEED` is that of the first one.
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("GITOGGLE_HISTORIES").unwrap_or(8);
    let first = number("GITOGGLE_HISTORY_SEED").unwrap_or_else(|| fastrand::u64(..1 << 40));
    let next = AtomicU64::new(0);
    // Most of the time, a job waits for a merge that the forge does not list.
    let threads = count.min(24);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    play(first + number);
                }
            });
        }
    });
}

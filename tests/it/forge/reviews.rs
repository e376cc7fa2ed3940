//! `apply --reviewed`: only changes that a review lists are published.

use std::cell::Cell;

use super::stand_in::{FORGE_TOKEN, KINDS, Kind, OURS, StandIn, THEIRS};
use crate::live_publish::{by_hand, with_pay_changed};
use crate::support::{Answer, Gitoggle, Repo, Request, World, doc};

/// Toggles of pull requests and jobs on a forge. Each job has an empty disk; they share state through a
/// remote.
pub(super) struct Team {
    pub(super) world: World,
    pub(super) forge: StandIn,
    jobs: Cell<usize>,
}

/// How a pull request is merged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Merge {
    Commit,
    FastForward,
    Rebase,
    Squash,
}

/// Runs the job of a pull request, whose branch is checked out.
pub(super) fn plan(forge: &StandIn, world: &World, number: u64) {
    let run = forge.job_for(number, world, world.bare("plan").set("repo", world.repo.path()));
    let began = forge.held().branches.get(&number).map(|(began, _)| began.clone());
    let run = run.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", began.unwrap_or_default());
    let run = run.args("--pull-request --max-change-ratio 1");
    run.set("comment-on", forge.name()).exit(0).any_output();
}

/// Merges a pull request.
pub(super) fn merge(forge: &StandIn, repo: &Repo, number: u64, how: Merge) {
    let branch = format!("r{number}");
    if matches!(how, Merge::Rebase) {
        repo.git(&["rebase", "--quiet", "main", &branch]);
    }
    // A rebase makes other commits.
    if matches!(how, Merge::Commit | Merge::FastForward) {
        forge.held().heads.insert(number, repo.id(&branch));
    }
    repo.checkout("main");
    match how {
        Merge::Commit => {
            repo.merge(&branch, "Merge it");
        }
        Merge::FastForward | Merge::Rebase => {
            repo.git(&["merge", "--quiet", "--ff-only", &branch]);
        }
        Merge::Squash => {
            repo.git(&["merge", "--quiet", "--squash", &branch]);
            repo.commit(&format!("Squash it (#{number})"));
        }
    }
    forge.merge(number, repo.head());
}

impl Team {
    /// Starts with the toggles `t0` to `t11` applied.
    pub(super) fn new(kind: Kind) -> Self {
        let world = World::new();
        Repo::bare(&world.path("remote.git"));
        for number in 0..12 {
            world.repo.write(&format!("shop/prod/t{number}.yaml"), doc(18));
        }
        world.repo.git(&["add", "--all"]);
        world.repo.commit("Add all");
        let team = Self { world, forge: StandIn::start(kind), jobs: Cell::new(0) };
        team.any_job().set("first-pass", "assert").exit(0).any_output();
        team.world.service.take();
        team
    }

    /// Sets a toggle, and commits it.
    pub(super) fn set(&self, toggle: &str, age: u32) -> &Self {
        let repo = &self.world.repo;
        repo.file(&format!("shop/prod/{toggle}.yaml"), doc(age)).commit(&format!("Set {toggle} to {age}"));
        self
    }

    /// Opens a pull request from `main` that sets a toggle, and lets its job run.
    fn request(&self, number: u64, toggle: &str, age: u32) -> &Self {
        self.world.repo.checkout("main").branch(&format!("r{number}"));
        self.set(toggle, age).plan(number)
    }

    /// Runs the job of a pull request, whose branch is checked out.
    pub(super) fn plan(&self, number: u64) -> &Self {
        plan(&self.forge, &self.world, number);
        self
    }

    /// Runs the job of a pull request of a fork, which has no token.
    pub(super) fn plan_of_fork(&self, number: u64) {
        let world = &self.world;
        let run = self.forge.job_for(number, world, world.bare("plan").set("repo", world.repo.path()));
        let run = ["GITHUB_TOKEN", "GITLAB_TOKEN"].into_iter().fold(run, |run, name| run.env(name, ""));
        let run = run.args("--pull-request --max-change-ratio 1").set("comment-on", self.forge.name());
        let run = run.exit(0).any_stdout();
        run.stderr_contains(&["there is no token"]);
    }

    /// Runs the job of a pull request again, for `head`. Its event has an old commit of the target, and GitLab
    /// names the commit where the branch began, if it is known.
    fn plan_again(&self, number: u64, head: &str, old: &str, began: Option<&str>) -> String {
        let (world, repo) = (&self.world, &self.world.repo);
        repo.checkout(head);
        let event = format!(
            r#"{{"number":{number},"pull_request":{{"number":{number},"head":{{"sha":"{head}"}},"base":{{"sha":"{old}"}}}}}}"#
        );
        let event = world.write("event.json", &event);
        let run = self.forge.job_for(number, world, world.bare("plan").set("repo", repo.path()));
        let run = match began {
            _ if self.forge.kind != Kind::GitLab => run.env("GITHUB_EVENT_PATH", event),
            Some(began) => run.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", began),
            None => run,
        };
        let run = run.args("--pull-request --max-change-ratio 1").set("comment-on", self.forge.name());
        let output = run.start_piped().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Returns the text of the comment on a pull request.
    fn comment(&self, number: u64) -> String {
        let comments = self.forge.comments().into_iter();
        comments.filter(|comment| comment.request == number).map(|comment| comment.body).collect()
    }

    /// States which commits the forge counts to a pull request, oldest first, and where it began.
    fn knows(&self, number: u64, base: &str, commits: &[&str]) {
        let commits = commits.iter().map(|commit| (*commit).to_owned()).collect();
        self.forge.held().branches.insert(number, (base.to_owned(), commits));
    }

    /// Merges a pull request.
    pub(super) fn merge(&self, number: u64, how: Merge) -> &Self {
        merge(&self.forge, &self.world.repo, number, how);
        self
    }

    /// A job without a review, on an empty disk.
    fn any_job(&self) -> Gitoggle {
        let world = &self.world;
        self.jobs.set(self.jobs.get() + 1);
        let run = world.apply().set("state-dir", world.path(&format!("disk-{}", self.jobs.get())));
        run.set("state-remote", world.path("remote.git")).set("state-name", "toggles")
    }

    /// A command on an empty disk.
    fn any_job_of(&self, verb: &str) -> Gitoggle {
        let world = &self.world;
        let run = world.bare(verb).set("repo", world.repo.path()).set("base-url", world.service.url());
        let run = run.set("state-dir", world.path("disk-of-a-person")).set("ca-file", world.ca());
        run.set("state-remote", world.path("remote.git")).set("state-name", "toggles")
    }

    /// The job for the newest commit of `main`.
    pub(super) fn job(&self) -> Gitoggle {
        self.world.repo.checkout("main");
        let run = self.forge.job(&self.world, self.any_job());
        run.set("reviewed", self.forge.name()).set("commit-status", self.forge.name())
    }

    /// Asserts which toggles were published.
    #[track_caller]
    fn sent(&self, expected: &[&str]) -> &Self {
        let mut sent: Vec<String> = self.world.service.take().iter().map(Request::toggle).collect();
        sent.sort_unstable();
        let expected: Vec<String> = expected.iter().map(|toggle| format!("shop/prod/{toggle}")).collect();
        assert_eq!(sent, expected, "{:?}", self.forge.kind);
        self
    }

    /// Runs the job, which publishes `expected` and holds nothing.
    #[track_caller]
    fn publishes(&self, expected: &[&str]) -> &Self {
        self.job().exit(0).any_output();
        self.sent(expected)
    }

    /// Runs the job, which publishes `expected` and holds something for this reason.
    #[track_caller]
    fn holds(&self, reason: &str, expected: &[&str]) -> &Self {
        let job = self.job().exit(4).any_stderr();
        job.stdout_contains(&[&format!("not reviewed: it came from {reason}")]);
        self.sent(expected)
    }

    /// Returns the short id of the newest commit.
    fn head(&self) -> String {
        self.world.repo.head()[..10].to_owned()
    }
}

#[test]
fn a_review_counts_however_the_request_is_merged() {
    for kind in KINDS {
        let team = Team::new(kind);
        for (number, how) in (1..).zip([Merge::Commit, Merge::Squash, Merge::Rebase, Merge::FastForward]) {
            team.request(number, "t0", 20 + u32::try_from(number).unwrap());
            if !matches!(how, Merge::FastForward) {
                team.world
                    .repo
                    .checkout("main")
                    .write("README.md", format!("{how:?}"))
                    .git(&["add", "--all"]);
                team.world.repo.commit("Describe it");
            }
            team.merge(number, how).publishes(&["t0"]);
        }
    }
}

#[test]
fn quick_merges_need_nobody_whichever_of_their_jobs_ran() {
    let team = Team::new(Kind::GitHub);
    for round in 0..4_u64 {
        let (one, two) = (2 * round + 1, 2 * round + 2);
        let age = 20 + u32::try_from(round).unwrap();
        team.request(one, "t1", age).request(two, "t2", age).merge(one, Merge::Commit);
        match round {
            // The job of the first merge did not run, ran, failed in the middle, or was killed.
            0 => {}
            1 => drop(team.publishes(&["t1"])),
            2 => {
                team.world.service.answers([Answer::json(400, "{}")]);
                team.job().exit(1).any_output();
                team.sent(&["t1"]);
            }
            _ => {
                team.world.kill_in_first_request(team.job());
                team.world.service.take();
                crate::shared::age(&Repo::at(&team.world.path("remote.git")));
            }
        }
        let expected: &[&str] = if round == 1 { &["t2"] } else { &["t1", "t2"] };
        team.merge(two, Merge::Squash).publishes(expected);
    }
}

#[test]
fn ten_quick_merges_need_nobody_whichever_of_their_jobs_ran() {
    // How the job of each merge ends: it did not run, it ran, the service refused a change, or it was killed.
    for (kind, jobs) in KINDS.into_iter().zip(["----s-----", "-r-k---sr-", "s-s-s-s-s-"]) {
        let team = Team::new(kind);
        for number in 0..10 {
            team.request(number + 1, &format!("t{number}"), 30);
        }
        let job = || team.job().set("max-change-ratio", "1");
        let sent = || team.world.service.take().iter().map(Request::toggle).collect::<Vec<_>>();
        let mut all = Vec::new();
        for (number, ending) in (0..10).zip(jobs.chars()) {
            let how = [Merge::Commit, Merge::Squash, Merge::Rebase][usize::try_from(number % 3).unwrap()];
            team.merge(number + 1, how);
            match ending {
                'r' => drop(job().exit(0).any_output()),
                's' => {
                    let refused = format!("shop/prod/t{number}");
                    team.world.service.always(move |request| match request.toggle() == refused {
                        true => Answer::json(400, "{}"),
                        false => Answer::applied(),
                    });
                    job().exit(1).any_output();
                    team.world.service.always(|_| Answer::applied());
                }
                'k' => {
                    team.world.kill_in_first_request(job());
                    crate::shared::age(&Repo::at(&team.world.path("remote.git")));
                }
                _ => {}
            }
            all.extend(sent());
        }
        job().exit(0).any_output();
        all.extend(sent());
        all.sort();
        all.dedup();
        assert_eq!(all, (0..10).map(|number| format!("shop/prod/t{number}")).collect::<Vec<_>>());
        // Everything is applied.
        job().exit(0).any_output();
        team.sent(&[]);
    }
}

#[test]
fn only_a_direct_push_is_held_and_its_commit_is_named() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(7, "t0", 21).merge(7, Merge::Commit).set("t1", 21);
        let reason = format!(
            "commit {}, which was not merged from a pull request; to publish it, review",
            team.head()
        );
        team.holds(&reason, &["t0"]);
        let statuses = std::mem::take(&mut team.forge.held().statuses);
        let description = statuses[0].1["description"].as_str().unwrap();
        assert_eq!(description, "applied 1 of 2 changes · 1 held");
        // The next pass tries again.
        team.holds(&reason, &[]);
        // Whoever reviews it now publishes it with what the hint says.
        let plan = team.any_job_of("plan").set("output", "json").start_piped().wait_with_output().unwrap();
        std::fs::write(team.world.path("plan.json"), plan.stdout).unwrap();
        team.any_job().set("reviewed", team.world.path("plan.json")).exit(0).any_output();
        team.sent(&["t1"]);
    }
}

#[test]
fn a_branch_that_changed_after_its_last_plan_is_held() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(7, "t0", 21).set("t0", 22).set("t1", 21).merge(7, Merge::Commit);
        team.holds("pull request 7, whose last plan did not have this change; ", &[]);
    }
}

#[test]
fn what_is_applied_already_or_was_never_applied_makes_no_difference() {
    for kind in KINDS {
        let team = Team::new(kind);
        // The request changes a toggle that was never applied, and one that has become equal meanwhile.
        let repo = &team.world.repo;
        let invalid = doc(5).replace("select: 1", "select: 7");
        repo.file("shop/prod/new.yaml", invalid).commit("Add a broken toggle");
        team.request(7, "new", 30).set("t0", 30).plan(7);
        repo.checkout("main");
        team.set("t0", 30);
        team.any_job().exit_in(&[3]).any_output();
        team.sent(&["t0"]);
        repo.checkout("r7").git(&["merge", "--quiet", "-m", "Merge main", "main"]);
        team.merge(7, Merge::Squash).publishes(&["new"]);
    }
}

#[test]
fn only_an_unchanged_comment_of_the_own_user_is_a_review() {
    let reason = "pull request 7, which has no plan in a comment that gitoggle wrote with this token's user";
    for kind in KINDS {
        for change in [
            "deleted",
            "copied by a stranger",
            "edited",
            "edited in symbols alone",
            "added to",
            "another change listed",
        ] {
            let team = Team::new(kind);
            team.request(7, "t0", 21);
            let body = team.forge.comments()[0].body.clone();
            let mut held = team.forge.held();
            match change {
                "deleted" => held.comments.clear(),
                "copied by a stranger" => held.comments[0].author = THEIRS,
                "edited" => held.comments[0].body = body.replace("21", "20"),
                "edited in symbols alone" => {
                    let (marker, page) = body.split_once('\n').unwrap();
                    held.comments[0].body = format!("{marker}\n{}", page.replace('>', "<"));
                    assert_ne!(held.comments[0].body, body);
                }
                "added to" => held.comments[0].body = format!("{body}\nLooks good to me.\n"),
                _ => {
                    let (start, end) = body.split_once(" reviewed:").unwrap();
                    held.comments[0].body = format!("{start} reviewed:{}{}", "A".repeat(22), &end[22..]);
                }
            }
            drop(held);
            team.merge(7, Merge::Commit).holds(reason, &[]);
        }
    }
}

#[test]
fn a_comment_that_a_person_pasted_and_added_to_is_left_alone() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(7, "t0", 21);
        let pasted = format!("{}\nI think that 21 is right.", team.forge.comments()[0].body);
        team.forge.add(OURS, &pasted);
        team.set("t0", 22).plan(7);
        let bodies: Vec<String> = team.forge.comments().into_iter().map(|comment| comment.body).collect();
        assert_eq!((bodies.len(), bodies.contains(&pasted)), (2, true));
        team.merge(7, Merge::Commit).publishes(&["t0"]);
    }
}

#[test]
fn a_comment_lists_thousands_of_changes_or_says_that_it_cannot() {
    for (kind, count, is_listed) in
        [(Kind::GitHub, 2_000, true), (Kind::GitHub, 10_000, false), (Kind::GitLab, 10_000, true)]
    {
        let team = Team::new(kind);
        team.world.repo.branch("r7");
        for number in 0..count {
            team.world.repo.write(&format!("shop/many/t{number}.yaml"), doc(18));
        }
        team.world.repo.git(&["add", "--all"]);
        team.world.repo.commit("Add many\n\nGitoggle-First-Pass: assert\n");
        team.plan(7);
        let body = team.forge.comments()[0].body.clone();
        assert_eq!(body.contains("has no room to list all changes"), !is_listed);
        team.merge(7, Merge::Commit);
        match is_listed {
            true => {
                team.job().within_seconds(180).exit(0).any_output();
                assert_eq!(team.world.service.take().len(), count);
            }
            false => drop(team.holds("pull request 7, whose comment has too many changes to list them", &[])),
        }
    }
}

#[test]
fn a_request_that_was_merged_into_another_one_is_reviewed_with_the_outer_one() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        team.request(1, "t0", 21);
        repo.branch("r2");
        team.set("t1", 21).plan(2);
        repo.checkout("r1").merge("r2", "Merge the second into the first");
        team.forge.merge_into("r1", 2, repo.head());
        // The job of the first one did not run after that.
        let reason = "pull request 1, whose last plan did not have this change; to publish it, run the plan job of pull \
                      request 1 again, or review what";
        team.merge(1, Merge::Commit).holds(reason, &["t0"]);
        // The way out. What was published already stays in the plan.
        repo.checkout("r1");
        team.plan(1).publishes(&["t1"]);
    }
}

#[test]
fn the_plan_job_that_is_run_again_after_the_merge_is_a_way_out() {
    for kind in KINDS {
        for how in [Merge::Commit, Merge::Squash, Merge::Rebase] {
            let team = Team::new(kind);
            // The job did not run for the last two commits, and `main` has moved on.
            team.request(1, "t0", 21).set("t1", 21).set("t0", 22);
            let head = team.world.repo.head();
            team.world.repo.checkout("main");
            team.set("t2", 30).merge(1, how);
            team.job().exit(4).any_output();
            team.sent(&[]);
            // A forge that rebases leaves the branch alone.
            team.world.repo.checkout(&head);
            team.plan(1);
            let body = team.forge.comments()[0].body.clone();
            assert!(!body.contains("shop/prod/t2"), "{how:?}: {body}");
            team.job().exit(4).any_output();
            team.sent(&["t0", "t1"]);
        }
    }
}

#[test]
fn a_branch_that_its_target_was_merged_into_is_planned_again_as_a_whole() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        repo.branch("r1");
        team.set("t0", 21);
        repo.checkout("main");
        team.set("t2", 30);
        repo.checkout("r1").merge("main", "Update the branch");
        team.set("t1", 21);
        let head = repo.head();
        team.merge(1, Merge::Rebase);
        repo.checkout(&head);
        team.plan(1);
        let body = team.forge.comments()[0].body.clone();
        let listed = ["t0", "t1", "t2"].map(|toggle| body.contains(&format!("shop/prod/{toggle}")));
        assert_eq!(listed, [true, true, false], "{body}");
        team.job().exit(4).any_output();
        team.sent(&["t0", "t1"]);
    }
}

#[test]
fn a_fast_forward_of_several_commits_is_held_with_its_request_and_planned_again_as_a_whole() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        let base = repo.head();
        repo.branch("r1");
        team.set("t0", 21);
        let first = team.head();
        team.set("t1", 21).merge(1, Merge::FastForward);
        let why = "pull request 1, which has no plan in a comment that gitoggle wrote with this token's user, `--root` and \
                   `--layout`, and that is unchanged since; to publish it, run the plan job of pull request 1 again, or ";
        team.job().exit(4).any_stderr().stdout_contains(&[
            &format!("not reviewed: it came from commit {first}, perhaps of {why}"),
            &format!("not reviewed: it came from {why}"),
        ]);
        // Only GitLab names the base in a variable; the others have a file with the event.
        if kind == Kind::GitLab {
            let run = team.world.bare("plan").set("repo", repo.path());
            let run = team.forge.job_for(1, &team.world, run).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
            run.args("--pull-request").set("comment-on", "gitlab").exit(0).any_output();
            team.publishes(&["t0", "t1"]);
        }
    }
}

/// Makes a direct push of `t2` to `main`, and a pull request with one commit for each of `t0` and `t1` that
/// begins after the push, or has it through a merge of `main` between the two. Returns the commits before the
/// push, of the push, and of the branch.
fn beside_a_push(team: &Team, has_merge: bool) -> (String, String, Vec<String>) {
    let repo = &team.world.repo;
    let before = repo.head();
    team.set("t2", 30);
    let pushed = repo.head();
    repo.checkout(if has_merge { &before } else { &pushed }).branch("r1");
    team.set("t0", 21);
    let mut own = vec![repo.head()];
    if has_merge {
        repo.merge("main", "Update the branch");
        own.push(repo.head());
    }
    team.set("t1", 21);
    own.push(repo.head());
    (before, pushed, own)
}

#[test]
fn a_direct_push_is_never_part_of_a_request_that_is_planned_again() {
    for (kind, has_merge) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        // The forge knows where the request began, or it does not.
        for is_known in [true, false] {
            let team = Team::new(kind);
            let (before, pushed, own) = beside_a_push(&team, has_merge);
            let head = own.last().unwrap();
            team.merge(1, Merge::FastForward);
            if is_known {
                team.knows(1, &pushed, &own.iter().map(String::as_str).collect::<Vec<_>>());
            }
            let said = team.plan_again(1, head, &before, is_known.then_some(&pushed));
            let body = team.comment(1);
            assert!(!body.contains("shop/prod/t2"), "{kind:?}: {body}");
            let why = "the pull request was merged, and which of the merged commits are its own is not known, so its \
                       comment stays as it is";
            assert_eq!(said.contains(why), !is_known, "{kind:?}: {said}");
            assert_eq!(body.is_empty(), !is_known);
            team.job().exit(4).any_output();
            team.sent(if is_known { &["t0", "t1"] } else { &[] });
        }
    }
}

#[test]
fn a_request_of_150_commits_is_planned_again_as_a_whole() {
    for how in [Merge::FastForward, Merge::Rebase] {
        let team = Team::new(Kind::GitHub);
        let repo = &team.world.repo;
        let pushed = repo.branch("r1").head();
        let mut own = Vec::new();
        for number in 0..150 {
            // The first ones set `t0`, and the last ones set `t1`.
            team.set(if number < 75 { "t0" } else { "t1" }, 21 + number);
            own.push(repo.head());
        }
        // A rebase copies them onto a direct push, which is not part of the request.
        if matches!(how, Merge::Rebase) {
            repo.checkout("main");
            team.set("t2", 30);
        }
        team.merge(1, how);
        team.knows(1, &pushed, &own.iter().map(String::as_str).collect::<Vec<_>>());
        team.plan_again(1, own.last().unwrap(), &pushed, None);
        let body = team.comment(1);
        assert!(body.contains("shop/prod/t0") && body.contains("shop/prod/t1"), "{how:?}: {body}");
        assert!(!body.contains("shop/prod/t2"), "{how:?}: {body}");
        team.job().exit_in(&[0, 4]).any_output();
        team.sent(&["t0", "t1"]);
    }
}

#[test]
fn a_job_for_an_older_commit_of_a_fast_forward_leaves_the_comment_alone() {
    for kind in KINDS {
        let team = Team::new(kind);
        let (before, pushed, own) = beside_a_push(&team, true);
        // The newest commit is the merge of `main`, whose first parent is the older one.
        team.world.repo.force(&own[1]);
        team.merge(1, Merge::FastForward);
        team.plan_again(1, &own[0], &before, Some(&pushed));
        assert_eq!(team.comment(1), "", "{kind:?}");
        team.job().exit(4).any_output();
        team.sent(&[]);
    }
}

#[test]
fn what_else_came_with_the_merge_of_a_request_is_not_part_of_it() {
    for kind in KINDS {
        let team = Team::new(kind);
        let (repo, before) = (&team.world.repo, team.world.repo.head());
        repo.branch("r1");
        team.set("t0", 21);
        let head = repo.head();
        // Somebody merges more than the request, and changes a file in the merge.
        repo.branch("local");
        team.set("t1", 21);
        repo.checkout("main").git(&["merge", "--quiet", "--no-ff", "--no-commit", "local"]);
        repo.file("shop/prod/t2.yaml", doc(30)).commit("Merge all");
        team.forge.merge(1, repo.head());
        team.knows(1, &before, &[&head]);
        team.plan_again(1, &head, &before, Some(&before));
        let body = team.comment(1);
        let listed = ["t0", "t1", "t2"].map(|toggle| body.contains(&format!("shop/prod/{toggle}")));
        assert_eq!(listed, [true, false, false], "{kind:?}: {body}");
        team.job().exit(4).any_output();
        team.sent(&["t0"]);
        // Another push on top is not what it was merged as, either.
        team.set("t3", 30);
        team.forge.held().merged[0].commit = repo.head();
        team.forge.held().comments.clear();
        team.plan_again(1, &head, &before, Some(&before));
        assert_eq!(team.comment(1), "", "{kind:?}");
    }
}

#[test]
fn a_merge_beside_a_direct_push_is_not_planned_from_before_the_push() {
    for kind in KINDS {
        let team = Team::new(kind);
        let (before, pushed, own) = beside_a_push(&team, false);
        // The merge has everything, and its first parent is older than the push.
        let repo = &team.world.repo;
        repo.checkout(&before).branch("local").merge("r1", "Merge it");
        repo.checkout("main").git(&["merge", "--quiet", "--ff-only", "local"]);
        team.forge.merge(1, repo.head());
        team.plan_again(1, own.last().unwrap(), &pushed, Some(&pushed));
        assert_eq!(team.comment(1), "", "{kind:?}");
        team.job().exit(4).any_output();
        team.sent(&[]);
    }
}

#[test]
fn a_branch_that_took_a_direct_push_and_is_merged_beside_it_is_not_planned_from_before_the_push() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        let before = repo.head();
        repo.branch("r1");
        team.set("t0", 21);
        repo.checkout("main");
        team.set("t2", 30);
        let pushed = repo.head();
        repo.checkout("r1").merge("main", "Take what was pushed");
        let merged = repo.head();
        team.set("t1", 22);
        let head = repo.head();
        let first = repo.id("r1~2");
        // Someone pushes a merge whose first parent is older than the push, which the branch has.
        repo.checkout(&before).branch("local").git(&["merge", "--quiet", "--no-ff", "-m", "Merge it", "r1"]);
        repo.checkout("main").git(&["merge", "--quiet", "--ff-only", "local"]);
        team.forge.merge(1, repo.head());
        team.knows(1, &pushed, &[&first, &merged, &head]);
        // The event is older than the push.
        team.plan_again(1, &head, &before, Some(&pushed));
        assert_eq!(team.comment(1), "", "{kind:?}");
        team.job().exit(4).any_output();
        team.sent(&[]);
    }
}

#[test]
fn a_removal_is_reviewed_although_an_older_merge_was_not_applied() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let repo = &team.world.repo;
        let began = repo.head();
        repo.branch("r2").remove("shop/prod/t0.yaml").commit("Remove t0");
        let plan = team.world.bare("plan").set("repo", repo.path()).set("on-remove", "disable");
        let plan = team.forge.job_for(2, &team.world, plan).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", began);
        plan.arg("--pull-request").set("comment-on", team.forge.name()).exit(0).any_output();
        team.merge(2, Merge::Commit).job().set("on-remove", "disable").exit(0).any_output();
        let sent = team.world.service.take();
        assert_eq!((sent.len(), sent[0].toggle().as_str()), (1, "shop/prod/t0"), "{kind:?}");
        assert_eq!(sent[0].body()["disabled"], true, "{kind:?}");
    }
}

#[test]
fn a_merged_change_is_reviewed_although_its_file_got_another_extension_before_it_was_applied() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let repo = &team.world.repo;
        repo.branch("r2").rename("shop/prod/t0.yaml", "shop/prod/t0.yml").commit("Rename t0");
        team.plan(2).merge(2, Merge::Commit).publishes(&["t0"]);
        // What nobody reviewed is still held, whatever its extension is.
        repo.rename("shop/prod/t0.yml", "shop/prod/t0.yaml").file("shop/prod/t0.yaml", doc(22));
        repo.commit("Rename it back, and change it");
        team.job().exit(4).any_output();
        team.sent(&[]);
    }
}

#[test]
fn a_held_push_costs_few_requests_however_much_is_merged_later() {
    const LATER: u64 = 50;
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        // One request is open while somebody pushes, and could have the same change.
        team.forge.create(1);
        team.request(1, "t1", 21);
        repo.checkout("main");
        team.set("t0", 21);
        for number in 2..=LATER {
            team.forge.create(number);
            repo.branch(&format!("r{number}")).write("README.md", number.to_string()).git(&["add", "--all"]);
            repo.commit("Describe it");
            if number == 2 {
                team.merge(1, Merge::Commit);
            }
            team.merge(number, Merge::Commit);
        }
        for _ in 0..2 {
            team.forge.asked();
            let job = team.job().exit(4).any_stderr();
            job.stdout_contains(&["held shop/prod/t0", "not reviewed: it came from commit"]);
            let asked = team.forge.asked();
            assert!(asked.len() <= 8, "{kind:?}: {asked:#?}");
            team.world.service.take();
        }
        // A request that is created later and changes the toggle is read.
        team.forge.create(LATER + 1);
        team.request(LATER + 1, "t0", 22).merge(LATER + 1, Merge::Commit).publishes(&["t0"]);
    }
}

#[test]
fn commits_that_all_have_the_same_message_are_told_apart() {
    for (kind, how) in KINDS.into_iter().flat_map(|kind| [(kind, "squash"), (kind, "rebase")]) {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        let update = |toggle: &str| {
            repo.file(&format!("shop/prod/{toggle}.yaml"), doc(30)).commit("Update");
        };
        update("t3");
        let before = repo.head();
        repo.branch("r1");
        update("t0");
        update("t1");
        let head = repo.head();
        repo.checkout("main");
        update("t2");
        if how == "squash" {
            repo.git(&["merge", "--quiet", "--squash", "r1"]);
            repo.commit("Update");
            team.forge.merge(1, repo.head());
        } else {
            team.merge(1, Merge::Rebase);
        }
        team.plan_again(1, &head, &before, Some(&before));
        let body = team.comment(1);
        let listed = ["t0", "t1", "t2", "t3"].map(|toggle| body.contains(&format!("shop/prod/{toggle}")));
        assert_eq!(listed, [true, true, false, false], "{kind:?}: {how}: {body}");
        team.job().exit(4).any_output();
        team.sent(&["t0", "t1"]);
    }
}

#[test]
fn a_commit_of_the_target_is_not_the_copy_of_another_one_with_its_message() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        // The branch begins at a commit that a direct push has the message of.
        repo.file("shop/prod/t3.yaml", doc(30)).commit("Update");
        let before = repo.head();
        repo.branch("r1");
        team.set("t0", 21);
        let head = repo.head();
        repo.checkout("main").file("shop/prod/t2.yaml", doc(30)).commit("Update");
        team.merge(1, Merge::Rebase);
        team.plan_again(1, &head, &before, Some(&before));
        let body = team.comment(1);
        let listed = ["t0", "t2", "t3"].map(|toggle| body.contains(&format!("shop/prod/{toggle}")));
        assert_eq!(listed, [true, false, false], "{kind:?}: {body}");
        team.job().exit(4).any_output();
        team.sent(&["t0"]);
    }
}

#[test]
fn a_merge_that_brings_back_what_was_undone_is_not_reviewed() {
    for (kind, shape) in KINDS.into_iter().flat_map(|kind| [0, 1, 2].map(|shape| (kind, shape))) {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let (repo, first) = (&team.world.repo, team.world.repo.head());
        team.request(2, "t0", 18).merge(2, Merge::Commit).publishes(&[]);
        let merge = |one: &str, other: &str| {
            let tree = format!("{first}^{{tree}}");
            repo.git(&["commit-tree", &tree, "-p", one, "-p", other, "-m", "Merge an old one"])
        };
        // The old parent is that merge, the commit that it brought, or one beside a merge of the same kind.
        let pushed = match shape {
            0 => merge("main", &first),
            1 => merge("main", &format!("{first}^2")),
            _ => merge(&first, &merge("main", &first)),
        };
        repo.checkout("main").git(&["reset", "--quiet", "--hard", &pushed]);
        let job = team.job().exit(4).any_stderr();
        job.stdout_contains(&["which was undone since, and no plan of a pull request that was merged"]);
        team.sent(&[]);
        // What people see in a plan is published as ever.
        team.request(3, "t0", 22).merge(3, Merge::Commit).publishes(&["t0"]);
    }
}

#[test]
fn a_pushed_merge_that_the_forge_takes_for_one_of_a_request_proves_nothing() {
    for (kind, is_job_run) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let (repo, first) = (&team.world.repo, team.world.repo.head());
        // A push takes it back before it is applied.
        team.set("t0", 18);
        if is_job_run {
            team.publishes(&[]);
        }
        repo.branch("r2").file("README.md", "x").commit("Explain");
        team.forge.create(2);
        team.plan(2);
        // Another push has the request, the old content, and the old merge as its first parent.
        let (tree, head) = (format!("{first}^{{tree}}"), repo.head());
        let pushed = repo.git(&["commit-tree", &tree, "-p", &first, "-p", &head, "-m", "Merge r2"]);
        repo.checkout("main").git(&["reset", "--quiet", "--hard", &pushed]);
        team.forge.held().heads.insert(2, head);
        team.forge.merge(2, pushed);
        team.job().exit(4).any_stderr().stdout_contains(&["which was undone since"]);
        team.sent(&[]);
    }
}

#[test]
fn of_requests_that_were_merged_as_one_commit_the_one_with_the_change_is_named() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        for (number, toggle) in [(1, "t0"), (2, "t1"), (3, "t2")] {
            repo.checkout("main").branch(&format!("r{number}"));
            team.set(toggle, 21);
            // The job of the last one did not run.
            if number < 3 {
                team.plan(number);
            }
            team.forge.held().heads.insert(number, repo.head());
        }
        repo.checkout("main").git(&["merge", "--quiet", "-m", "Merge all", "r1", "r2", "r3"]);
        for number in 1..=3 {
            team.forge.merge(number, repo.head());
        }
        let why = "it came from pull request 3, which has no plan";
        team.job().exit(4).any_stderr().stdout_contains(&[why, "run the plan job of pull request 3 again"]);
        team.sent(&["t0", "t1"]);
    }
}

#[test]
fn a_branch_that_tries_a_value_and_goes_back_undoes_nothing() {
    for (kind, how) in
        KINDS.into_iter().flat_map(|kind| [Merge::Commit, Merge::Squash].map(|how| (kind, how)))
    {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        team.forge.create(2);
        team.world.repo.branch("r2");
        team.set("t0", 50).set("t0", 21).set("t1", 40).plan(2);
        team.merge(2, how).publishes(&["t0", "t1"]);
    }
}

#[test]
fn a_commit_of_the_future_is_reviewed_by_an_older_merge() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21);
        let repo = &team.world.repo;
        let (tree, parent) = (repo.git(&["rev-parse", "HEAD^{tree}"]), repo.git(&["rev-parse", "main"]));
        let author = "Ada Author <ada@example.com> 4000000000 +0000";
        let commit =
            format!("tree {tree}\nparent {parent}\nauthor {author}\ncommitter {author}\n\nSet t0 to 21\n");
        let file = team.world.write("commit", &commit);
        let ahead = repo.git(&["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
        repo.git(&["reset", "--quiet", "--hard", &ahead]);
        team.merge(1, Merge::FastForward);
        team.forge.held().merged[0].at = 1_750_000_000;
        team.publishes(&["t0"]);
    }
}

#[test]
fn what_holds_an_unreviewed_change_works_as_printed() {
    let team = Team::new(Kind::GitHub);
    team.set("t0", 21).set("t1", 21);
    let run = team.job();
    let output = run.start_piped().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let commands: Vec<&str> = text.split('`').filter(|part| part.starts_with("gitoggle ")).take(2).collect();
    assert_eq!(commands.len(), 2, "{text}");
    for command in commands {
        assert!(command.contains(" --state-remote ") && command.contains(" --repo "), "{command}");
        let ran = run.shell(command);
        assert!(ran.status.success(), "{command}\n{ran:?}");
    }
    team.sent(&["t0", "t1"]);
}

/// A person reads the log of a job where its variables are not.
#[test]
fn a_command_of_a_job_names_the_forge_of_the_reviews() {
    let service = with_pay_changed("Raise the age");
    service.apply().exit(0).any_output();
    let (world, forge) = (&service.world, StandIn::start(Kind::GitHub));
    let authorities = [world.ca(), world.path("sandbox.pem")];
    let both: String = authorities.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    std::fs::write(world.ca(), both).unwrap();
    world.repo.branch("r1");
    service.commit("pay", doc(22), "Raise it again");
    plan(&forge, world, 1);
    merge(&forge, &world.repo, 1, Merge::Commit);
    service.edit("pay", by_hand());
    let job = forge.job(&service.world, service.apply().set("reviewed", "github")).env("CI", "true");
    let output = job.start_piped().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut commands = text.split('`').filter(|part| part.starts_with("gitoggle apply --overwrite-drift"));
    let command = commands.next().unwrap_or_else(|| panic!("{text}"));
    assert!(command.contains(" --forge-repo shop/toggles --forge-url https://"), "{command}");
    let person = service.apply().env("GITOGGLE_FORGE_TOKEN", FORGE_TOKEN);
    let ran = person.shell(command);
    assert!(ran.status.success(), "{command}\n{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("applied shop/prod/pay"), "{ran:?}");
}

#[test]
fn what_a_person_did_on_the_service_came_from_no_commit() {
    let service = with_pay_changed("Raise the age");
    service.apply().exit(0).any_output();
    service.edit("pay", by_hand());
    let nothing = service.world.write("nothing.json", r#"{"version": 1, "changes": [], "held": []}"#);
    let run = service.apply().arg("--overwrite-drift").set("reviewed", nothing.display().to_string());
    let held = run.exit(4).any_stderr();
    let held = held.stdout_contains(&["not reviewed: it undoes a change on the service, which the review"]);
    held.never_says(&["it came from", "publishes over what"]);
}

#[test]
fn a_review_counts_only_for_what_was_applied_before_its_merge() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit).publishes(&["t0"]);
        team.request(2, "t0", 22).merge(2, Merge::Squash).publishes(&["t0"]);
        // An older change waits, and so its reviews are looked for from long ago.
        team.set("t9", 30);
        let reason = format!("commit {}, which was not merged from a pull request; ", team.head());
        team.holds(&reason, &[]);
        // Back to the value of the first request, by a push.
        team.set("t0", 21);
        let pushed = format!("commit {}, which was not merged from a pull request; ", team.head());
        team.holds(&pushed, &[]);
        // A merge that takes the whole of an older branch says that the request made the change.
        let repo = &team.world.repo;
        repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        repo.checkout("r1").branch("old").git(&[
            "merge",
            "--quiet",
            "-s",
            "ours",
            "-m",
            "Take the old one",
            "main",
        ]);
        repo.checkout("main").git(&["merge", "--quiet", "--ff-only", "old"]);
        team.job().exit(4).any_output();
        team.sent(&[]);
    }
}

#[test]
fn a_few_requests_are_enough_for_any_number_of_commits() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        for number in 0..250 {
            team.world.repo.commit(&format!("Describe step {number}"));
        }
        team.forge.asked();
        team.publishes(&["t0"]);
        let asked = team.forge.asked();
        assert!(asked.len() <= 4, "{asked:#?}");
    }
}

#[test]
fn many_requests_are_listed_in_pages_and_the_oldest_one_counts() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        for number in 2..130 {
            team.world.repo.commit(&format!("Describe step {number}"));
            team.forge.merge(number, team.world.repo.head());
        }
        team.forge.asked();
        team.publishes(&["t0"]);
        let asked = team.forge.asked();
        assert!(asked.len() <= 7, "the pages and one list of comments: {asked:#?}");
    }
}

#[test]
fn a_request_that_changes_while_the_list_is_read_counts() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        for number in 2..130 {
            team.world.repo.commit(&format!("Describe step {number}"));
            team.forge.merge(number, team.world.repo.head());
        }
        team.forge.held().changes_next = Some(1);
        team.publishes(&["t0"]);
    }
}

#[test]
fn a_list_without_an_end_is_an_error() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        team.forge.held().is_endless = true;
        let run = team.job().exit(1).stdout("");
        run.stderr_contains(&[
            "the list of merged pull requests has no end: page 2 has only what earlier pages have",
            "hint: nothing was sent; the next run will end the same until that is changed",
        ]);
        team.sent(&[]);
        team.forge.held().is_endless = false;
        team.publishes(&["t0"]);
    }
}

#[test]
fn only_a_refusal_that_may_pass_is_worth_another_run() {
    let again = "hint: nothing was sent; run it again\n";
    let same = "hint: nothing was sent; the next run will end the same until that is changed\n";
    let message = |status, text: &str| Answer::json(status, &format!(r#"{{"message":"{text}"}}"#));
    for (answer, shown, hint) in [
        (
            message(401, "Bad credentials"),
            "responded with 401: Bad",
            "hint: the token may have expired or been revoked; ",
        ),
        (message(403, "no"), "responded with 403: no", "hint: the token needs the scopes"),
        (message(410, "Gone"), "responded with 410: Gone", same),
        (message(422, "Invalid"), "responded with 422: Invalid", same),
        (Answer::html(200), "responded with 200, but not as its API does: the body is not JSON", same),
        (Answer::status(204), "responded with 204, but not as its API does: it did not name the user", same),
        (Answer::status(302).header("Location", "/x"), "it redirects to `/x`", same),
        (message(500, "oops"), "responded with 500: oops", again),
    ] {
        let team = Team::new(Kind::Gitea);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        team.forge.service.answers((0..4).map(|_| answer.clone()));
        team.job().exit(1).stdout("").stderr_contains(&["could not read the reviews on `", shown, hint]);
        team.sent(&[]);
    }
}

#[test]
fn all_requests_that_were_merged_as_one_commit_count() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(5, "t0", 21);
        team.world.repo.branch("r4");
        // The second one is stacked on the first, and both are merged by a fast-forward of the same commit.
        team.set("t1", 21).plan(4);
        team.forge.held().comments.retain(|comment| comment.request == 4);
        team.merge(4, Merge::FastForward);
        team.forge.merge(5, team.world.repo.head());
        team.publishes(&["t0", "t1"]);
    }
}

#[test]
fn a_merge_that_is_not_listed_yet_is_waited_for() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        team.forge.held().late = 2;
        team.publishes(&["t0"]);
    }
    // GitLab lists a request apart while it is being merged, whatever the newest commit is.
    let team = Team::new(Kind::GitLab);
    team.request(1, "t0", 21).merge(1, Merge::Commit).request(2, "t1", 21).merge(2, Merge::Commit);
    team.forge.held().merged.swap(0, 1);
    team.forge.held().late = 1;
    team.forge.held().is_merging = true;
    team.publishes(&["t0", "t1"]);
}

#[test]
fn a_repository_that_the_forge_does_not_show_is_an_error() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let answers = match kind {
            Kind::GitHub => [
                r#"{"data":{"viewer":{"databaseId":41}}}"#,
                r#"{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","message":"Could not resolve to a Repository"}]}"#,
            ]
            .map(|body| Answer::json(200, body)),
            Kind::GitLab | Kind::Gitea => {
                [Answer::json(200, r#"{"id":41}"#), Answer::json(404, r#"{"message":"404 Project Not Found"}"#)]
            }
        };
        team.forge.service.answers(answers);
        let run = team.job().exit(1).stdout("");
        run.stderr_contains(&["could not read the reviews on `", "responded with 404: "]);
        team.sent(&[]);
    }
}

#[test]
fn a_revert_by_request_is_published() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Squash).publishes(&["t0"]);
        team.world.repo.branch("r2").revert();
        team.plan(2).merge(2, Merge::Commit).publishes(&["t0"]);
    }
}

#[test]
fn a_job_that_is_run_again_sends_nothing_and_leaves_the_status_alone() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit).publishes(&["t0"]);
        let old = team.world.repo.head();
        team.request(2, "t0", 22).merge(2, Merge::Commit).publishes(&["t0"]);
        team.forge.held().statuses.clear();
        team.world.repo.checkout(&old);
        let run = team.forge.job(&team.world, team.any_job());
        let run = run.set("reviewed", team.forge.name()).set("commit-status", team.forge.name());
        run.exit(4).stdout("").stderr_contains(&["this checkout is stale"]);
        team.sent(&[]);
        assert_eq!(team.forge.held().statuses.len(), 0, "the status stays `success`");
    }
}

#[test]
fn a_forge_that_is_away_is_a_failure_and_changes_nothing() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.request(1, "t0", 21).merge(1, Merge::Commit);
        let remote = Repo::at(&team.world.path("remote.git"));
        let before = remote.git(&["for-each-ref"]);
        team.forge.held().is_away = true;
        let run = team.job().exit(1).stdout("");
        run.stderr_contains(&[
            "could not read the reviews on `",
            "the forge responded with 503: the forge is away",
        ]);
        team.sent(&[]);
        assert_eq!(remote.git(&["for-each-ref"]), before);
        team.forge.held().is_away = false;
        team.publishes(&["t0"]);
    }
}

#[test]
fn without_a_token_nothing_is_sent() {
    let team = Team::new(Kind::GitHub);
    team.request(1, "t0", 21).merge(1, Merge::Commit);
    let run = team.job().env("GITHUB_TOKEN", "").exit(1).stdout("");
    run.stderr_contains(&["could not read the reviews on `shop/toggles`", "there is no token"]);
    team.sent(&[]);
}

#[test]
fn a_pass_that_sends_nothing_asks_for_no_review() {
    let team = Team::new(Kind::GitLab);
    team.world.repo.file("README.md", "text").commit("Describe it");
    team.forge.held().is_away = true;
    team.any_job().set("reviewed", "gitlab").exit(64).any_output();
    team.job().unset("commit-status").exit(0).any_output();
    assert_eq!(team.forge.asked(), [""; 0]);
}

#[test]
fn a_reviewed_change_that_is_held_is_published_when_it_is_released() {
    for kind in KINDS {
        let team = Team::new(kind);
        team.world.repo.branch("r1").file("shop/test/pay.yaml", doc(5)).commit("Add a test");
        team.set("t0", 21).plan(1).merge(1, Merge::Commit);
        team.job().exit(4).says(&["held shop/test"]);
        team.sent(&["t0"]);
        team.job().set("first-pass", "assert").exit(0).any_output();
        assert_eq!(team.world.service.take()[0].toggle(), "shop/test/pay");
    }
}

#[test]
fn a_day_with_three_requests_publishes_what_was_reviewed_and_nothing_else() {
    for kind in KINDS {
        let team = Team::new(kind);
        let repo = &team.world.repo;
        // Ada's request falls behind, and Ben's is stacked on it.
        team.request(1, "t0", 21);
        repo.branch("r2");
        team.set("t1", 21).plan(2);
        repo.checkout("main").file("README.md", "text").commit("Describe it");
        // The third has an invalid document, which its comment says first, with the way out.
        repo.branch("r3")
            .file("shop/prod/t2.yaml", doc(21).replace("select: 1", "select: 7"))
            .commit("Break t2");
        let world = &team.world;
        let plan = || {
            let run = world.bare("plan").set("repo", repo.path()).args("--pull-request");
            team.forge.job_for(3, world, run).set("comment-on", team.forge.name())
        };
        plan().exit(3).any_output();
        let comment = |request: u64| {
            let comments = team.forge.comments().into_iter();
            let own: Vec<String> =
                comments.filter(|comment| comment.request == request).map(|comment| comment.body).collect();
            assert_eq!(own.len(), 1, "created once, and updated");
            own[0].clone()
        };
        let broken = comment(3);
        assert!(broken.contains("#### Findings\n\n* **error** ") && broken.contains("*help*"), "{broken}");
        team.set("t2", 21).plan(3);
        assert!(!comment(3).contains("Findings"));

        // Two are merged within a minute, and the job of the first is cancelled while it sends.
        team.merge(1, Merge::Squash);
        team.world.kill_in_first_request(team.job());
        team.world.service.take();
        crate::shared::age(&Repo::at(&team.world.path("remote.git")));
        team.merge(2, Merge::Commit).publishes(&["t0", "t1"]);
        team.merge(3, Merge::Rebase).set("t3", 21);
        let pushed = team.head();
        team.holds(
            &format!("commit {pushed}, which was not merged from a pull request; to publish it, "),
            &["t2"],
        );
        // A pull request that shows the pushed commit again is a review of it.
        repo.branch("r4").file("shop/prod/t3.yaml", doc(22)).commit("Set t3 to 22");
        team.plan(4).merge(4, Merge::Squash).publishes(&["t3"]);
    }
}

#[test]
fn what_the_service_has_already_needs_no_review() {
    let service = with_pay_changed("Raise the age");
    let nothing = service.world.write("nothing.json", r#"{"version": 1, "changes": [], "held": []}"#);
    let apply = || service.apply().set("reviewed", nothing.display().to_string());
    apply()
        .exit(4)
        .any_stderr()
        .stdout_contains(&["held shop/prod/pay", "not reviewed: it came from commit"]);
    // Somebody changed it on the service, and the change was imported and merged.
    service.edit("pay", by_hand());
    service.commit("pay", doc(18).replace("disabled: false", "disabled: true"), "Import what differs");
    let requests = service.requests(|| {
        apply().exit(0).any_stderr().stdout_contains(&["recorded without publishing: 1 toggle"]);
    });
    assert!(requests.iter().all(|request| request.starts_with("GET")), "{requests:?}");
    assert_eq!(service.versions("pay").len(), 3, "two publishes and the change by hand");
    apply().exit(0).any_output();
}

#[test]
fn the_comment_of_a_new_environment_says_how_to_decide_on_its_first_pass() {
    let team = Team::new(Kind::GitHub);
    team.world.repo.branch("r7").file("shop/test/pay.yaml", doc(5)).commit("Add a test");
    team.plan(7);
    let body = team.forge.comments()[0].body.clone();
    for part in ["> **Note**: ", "`shop/test`", "for a first pass", "Gitoggle-First-Pass: assert", "`adopt`"]
    {
        assert!(body.contains(part), "{part} in {body}");
    }
    team.merge(7, Merge::Commit);
    team.job().exit(4).says(&["held shop/test"]);
    team.sent(&[]);
}

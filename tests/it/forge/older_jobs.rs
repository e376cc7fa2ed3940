//! Two jobs for two commits of one pull request, of which the older one may end last.

use super::stand_in::{KINDS, Kind, OURS, StandIn, add};
use super::{note, own, plan, request_world};
use crate::support::World;

/// A commit that the clone does not have.
const ELSEWHERE: &str = "0123456789abcdef0123456789abcdef01234567";

/// Makes a repository whose branch has another commit on top, a forge with the comment of a job for that
/// commit, and the ids of the older and the newer commit.
fn pushed_twice(kind: Kind) -> (World, StandIn, [String; 2]) {
    let (world, forge) = (request_world(), StandIn::start(kind));
    let older = world.repo.head();
    world.repo.commit_pay(22, "Ask for 22 years");
    plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
    let newer = world.repo.head();
    world.repo.checkout(&older);
    forge.asked();
    (world, forge, [older, newer])
}

fn kept() -> String {
    note("kept").trim_end().to_owned() + ", which is about a newer commit\n"
}

#[test]
fn the_comment_of_a_newer_commit_stays() {
    for kind in KINDS {
        let (world, forge, [_, newer]) = pushed_twice(kind);
        let before = forge.comments();
        forge.held().head = Some(newer);
        plan(&world, &forge).exit(0).stdout_contains(&["21"]).stderr(&kept());
        // Without the answer of the forge, the history of the clone decides.
        forge.held().head = None;
        plan(&world, &forge).exit(0).any_stdout().stderr(&kept());
        // A failed plan of the older commit is outdated as well. GitHub and Gitea name the commit in the
        // event.
        let event = r#"{"pull_request": {"number": 7, "head": {"sha": "SHA"}}}"#;
        let event = world.write("event.json", &event.replace("SHA", &world.repo.head()));
        let failing = plan(&world, &forge).env("GITHUB_EVENT_PATH", event);
        let ran = failing.arg("--audience").arg(world.path("missing")).exit(1).stdout("");
        ran.stderr_contains(&[&kept(), "could not read the audience"]);
        assert_eq!(forge.comments(), before, "{kind:?}");
    }
}

#[test]
fn a_clone_without_the_newer_commit_asks_the_forge() {
    for kind in KINDS {
        let (world, forge, [older, newer]) = pushed_twice(kind);
        for comment in &mut forge.held().comments {
            comment.body = comment.body.replacen(&newer, ELSEWHERE, 1);
        }
        forge.held().head = Some(ELSEWHERE.to_owned());
        plan(&world, &forge).exit(0).any_stdout().stderr(&kept());
        let request = match kind {
            Kind::GitHub => "GET /repos/shop/toggles/pulls/7",
            Kind::GitLab => "GET /api/v4/projects/shop%2Ftoggles/merge_requests/7",
            Kind::Gitea => "GET /api/v1/repos/shop/toggles/pulls/7",
        };
        assert!(forge.asked().iter().any(|asked| asked == request), "{kind:?}");
        // A forced push made the commit of this job the newest one, or another commit that no job was run for
        // yet.
        for head in [older.clone(), "f".repeat(40)] {
            forge.held().head = Some(head);
            plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
            let body = &mut forge.held().comments[0].body;
            *body = body.replacen(&older, ELSEWHERE, 1);
        }
    }
}

#[test]
fn a_branch_that_was_reset_has_the_plan_of_its_older_commit() {
    for kind in KINDS {
        let (world, forge, [older, _]) = pushed_twice(kind);
        forge.held().head = Some(older);
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
        assert!(own(&forge)[0].contains("21"), "{kind:?}");
    }
}

#[test]
fn a_newer_commit_replaces_the_comment_without_asking_the_forge() {
    for kind in KINDS {
        let (world, forge, [older, newer]) = pushed_twice(kind);
        forge.held().head = Some(older);
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
        world.repo.checkout(&newer);
        forge.asked();
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
        let asked = forge.asked();
        assert!(asked.iter().all(|asked| !asked.ends_with("/7")), "{kind:?}: {asked:?}");
    }
}

#[test]
fn an_older_job_that_creates_its_comment_at_the_same_time_removes_it() {
    for kind in [Kind::GitLab, Kind::Gitea] {
        let (world, forge, [_, newer]) = pushed_twice(kind);
        let theirs = own(&forge).remove(0);
        forge.held().head = Some(newer);
        forge.held().comments.clear();
        let text = theirs.clone();
        forge.held().meanwhile = Some(Box::new(move |method, comments| {
            if method == "POST" {
                add(comments, OURS, &text);
            }
        }));
        plan(&world, &forge).exit(0).any_stdout().stderr(&kept());
        assert_eq!(own(&forge), [theirs], "{kind:?}");
    }
}

//! The one comment of a plan: created, updated, kept, and never duplicated.

use super::stand_in::{Comment, FORGE_TOKEN, KINDS, Kind, OURS, StandIn, THEIRS, add};
use super::{note, own, plan, request_world};
use crate::support::{Repo, doc};

fn change(repo: &Repo, age: u32) {
    repo.commit_pay(age, "Change the age");
}

#[test]
fn a_comment_is_created_then_kept_then_updated() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        let run = || plan(&world, &forge);
        run().exit(0).any_stdout().stderr(&note("created"));
        let first = own(&forge);
        assert_eq!(first.len(), 1, "{kind:?}");
        assert!(first[0].starts_with("<!-- gitoggle:"), "{}", first[0]);
        assert!(first[0].contains("shop/prod/pay") && first[0].contains("21"), "{}", first[0]);
        forge.asked();

        run().exit(0).any_stdout().stderr(&note("kept"));
        assert!(
            forge.asked().iter().all(|asked| asked.starts_with("GET") || asked.ends_with("/graphql")),
            "unchanged text is not sent again"
        );

        change(&world.repo, 22);
        run().exit(0).any_stdout().stderr(&note("updated"));
        let second = own(&forge);
        assert_eq!(second.len(), 1);
        assert_ne!(first, second);
        // The exit code is the plan's.
        run().args("--detailed-exitcode").exit(2).any_stdout().stderr(&note("kept"));
    }
}

#[test]
fn the_requests_are_those_of_each_api() {
    for (kind, expected) in [
        (
            Kind::GitHub,
            [
                "POST /graphql",
                "GET /repos/shop/toggles/issues/7/comments?per_page=100&page=1",
                "POST /repos/shop/toggles/issues/7/comments",
                "GET /repos/shop/toggles/issues/7/comments?per_page=100&page=1",
            ],
        ),
        (
            Kind::GitLab,
            [
                "GET /api/v4/user",
                "GET /api/v4/projects/shop%2Ftoggles/merge_requests/7/notes?sort=asc&order_by=created_at&per_page=100&page=1",
                "POST /api/v4/projects/shop%2Ftoggles/merge_requests/7/notes",
                "GET /api/v4/projects/shop%2Ftoggles/merge_requests/7/notes?sort=asc&order_by=created_at&per_page=100&page=1",
            ],
        ),
        (
            Kind::Gitea,
            [
                "GET /api/v1/user",
                "GET /api/v1/repos/shop/toggles/issues/7/comments",
                "POST /api/v1/repos/shop/toggles/issues/7/comments",
                "GET /api/v1/repos/shop/toggles/issues/7/comments",
            ],
        ),
    ] {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        assert_eq!(forge.asked(), expected);
    }
}

#[test]
fn the_comment_is_found_on_a_later_page() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        for number in 0..250 {
            forge.add(THEIRS, &format!("comment {number}"));
        }
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
        for number in 0..60 {
            forge.add(THEIRS, &format!("later comment {number}"));
        }
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("kept"));
        assert_eq!(own(&forge).len(), 1, "{kind:?}");
    }
}

#[test]
fn a_list_that_repeats_its_first_page_changes_no_comment() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let before = forge.comments();
        change(&world.repo, 22);
        forge.held().is_endless = true;
        forge.asked();
        plan(&world, &forge).exit(0).any_stdout().stderr(
            "warning: could not comment on pull request 7 of `shop/toggles`\n  caused by: the list of comments has no end: page 2 \
             has only what earlier pages have\n",
        );
        assert_eq!(forge.asked().len(), 3, "the user and two pages");
        assert_eq!(forge.comments(), before);
    }
}

#[test]
fn a_comment_that_moved_to_the_next_page_is_no_duplicate() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        let (world, forge) = (request_world(), StandIn::start(kind));
        for number in 0..99 {
            forge.add(THEIRS, &format!("comment {number}"));
        }
        plan(&world, &forge).exit(0).any_output();
        forge.add(THEIRS, "the last comment");
        change(&world.repo, 22);
        let mut gets = 0;
        forge.held().meanwhile = Some(Box::new(move |method, comments| {
            gets += usize::from(method == "GET");
            // GitLab's first GET names the user.
            if gets == 2 + usize::from(kind == Kind::GitLab) && comments.len() == 101 {
                comments.insert(0, Comment { id: 1, ..comments[0].clone() });
            }
        }));
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
        assert_eq!(own(&forge).len(), 1, "{kind:?}");
    }
}

#[test]
fn comments_of_other_users_with_the_marker_are_neither_changed_nor_believed() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let copied = own(&forge).remove(0);
        forge.held().comments.clear();
        forge.add(THEIRS, &copied);
        forge.add(OURS, "a comment by hand");
        forge.add(OURS, &format!("> {copied}"));
        let before = forge.comments();
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
        let after = forge.comments();
        assert_eq!(after[..3], before[..], "{kind:?}");
        assert_eq!(after[3].body, copied);
    }
}

#[test]
fn a_comment_that_somebody_hid_is_updated_with_a_warning() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    plan(&world, &forge).exit(0).any_output();
    let id = forge.comments()[0].id;
    forge.held().hidden.push(id);
    change(&world.repo, 22);
    let warning = "warning: the comment on pull request 7 of `shop/toggles` is hidden, so reviewers do not see the plan; show \
                   it again\n";
    plan(&world, &forge).exit(0).any_stdout().stderr(&format!("{warning}{}", note("updated")));
}

#[test]
fn jobs_for_two_folders_have_two_comments() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    plan(&world, &forge).exit(0).any_output();
    let run = plan(&world, &forge).set("only", "shop/prod/*");
    run.exit(0).any_stdout().stderr(&note("created"));
    assert_eq!(own(&forge).len(), 2);
}

#[test]
fn two_jobs_that_create_at_the_same_time_leave_one_comment() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let other = own(&forge).remove(0).replace("21", "20");
        // The other job creates its comment between our first list and our own comment.
        forge.held().comments.clear();
        let mut text = Some(other.clone());
        forge.held().meanwhile = Some(Box::new(move |method, comments| {
            if method == "POST" && comments.is_empty() {
                // GitHub's first POST only names the user.
                if kind != Kind::GitHub || text.as_ref().is_some_and(|text| text.ends_with(' ')) {
                    add(comments, OURS, text.take().unwrap_or_default().trim_end());
                } else if let Some(text) = &mut text {
                    text.push(' ');
                }
            }
        }));
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
        let left = forge.comments();
        assert_eq!(left.len(), 1, "{kind:?}");
        assert_eq!(left[0].id, 101, "the oldest one stays");
        assert_ne!(left[0].body, other, "with our text");
    }
}

#[test]
fn duplicates_are_deleted_and_a_comment_that_vanishes_is_created_again() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let body = own(&forge).remove(0);
        forge.add(OURS, &body);
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("kept"));
        assert_eq!(forge.comments().len(), 1, "{kind:?}");

        change(&world.repo, 23);
        let mut is_first = true;
        forge.held().meanwhile = Some(Box::new(move |method, comments| {
            if matches!(method, "PATCH" | "PUT") && std::mem::take(&mut is_first) {
                comments.clear();
            }
        }));
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
        assert_eq!(forge.comments().len(), 1, "{kind:?}");
    }
}

#[test]
fn the_token_of_a_gitlab_job_has_its_own_header_and_user() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitLab));
    forge.held().is_job_token = true;
    let run = || {
        let run = plan(&world, &forge).without_env("GITLAB_TOKEN");
        run.env("CI_JOB_TOKEN", FORGE_TOKEN).exit(0).any_stdout()
    };
    run().stderr(&note("created")).never_says(&[FORGE_TOKEN]);
    assert_eq!(forge.asked()[0], "GET /api/v4/job");
    run().stderr(&note("kept"));
    assert_eq!(own(&forge).len(), 1);
    // Most versions of GitLab let it read only.
    change(&world.repo, 22);
    forge.held().is_read_only = true;
    run().stderr_contains(&["warning: could not comment", "a job token (CI_JOB_TOKEN) may neither"]);
}

#[test]
fn a_plan_that_fails_replaces_the_comment_and_is_not_reviewed() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let planned = own(&forge).remove(0);
        world.repo.remove("shop/prod/pay.yaml").commit("Remove everything");
        let error = "is a document: read 0 files under `.`";
        let ran = plan(&world, &forge).exit(1).stdout("");
        ran.stderr_contains(&[&note("updated"), error]);
        let failed = own(&forge).remove(0);
        let revision = world.repo.head();
        for part in ["<!-- gitoggle:", &format!("**The plan of ` {revision} ` failed**"), error] {
            assert!(failed.contains(part), "{part} in {failed}");
        }
        assert!(!failed.contains("sha256:"), "{failed}");
        world.repo.checkout("main").commit_pay(30, "Ask for 30 years");
        forge.merge(7, world.repo.head());
        let apply = forge.job(&world, world.apply()).set("reviewed", forge.name());
        let held = apply.exit(4).any_stderr();
        held.stdout_contains(&["not reviewed: it came from pull request 7, whose last plan failed;"]);

        world.repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        world.repo.checkout("feature");
        world.repo.revert();
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("updated"));
        let marker =
            |body: &str| body.split_once(" reviewed:").unwrap().1.split_once(' ').unwrap().0.to_owned();
        assert_eq!(marker(&own(&forge)[0]), marker(&planned));
    }
}

#[test]
fn a_comment_uses_the_limit_of_its_forge_and_the_marker_counts() {
    // As many changes as the marker lists, with more text than the smaller comments have room for.
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        let text = |number: u32| doc(number).replace("name: adults", &format!("name: {}", "é".repeat(300)));
        for number in 0..199 {
            world.repo.write(&format!("shop/prod/t{number}.yaml"), text(number));
        }
        world.repo.git(&["add", "--all"]);
        world.repo.commit("Add many toggles");
        let run = plan(&world, &forge).set("max-change-ratio", "1");
        run.exit(0).any_stdout().stderr(&note("created"));
        let body = own(&forge).remove(0);
        assert_eq!(body.contains("did not fit"), kind != Kind::GitLab, "{kind:?}");
    }
}

#[test]
fn a_comment_with_two_thousand_changes_is_shortened() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        for number in 0..2_000 {
            world.repo.write(&format!("shop/prod/t{number}.yaml"), doc(number % 90));
        }
        world.repo.git(&["add", "--all"]);
        world.repo.commit("Add two thousand toggles");
        let run = plan(&world, &forge).set("max-change-ratio", "1");
        run.exit(0).any_stdout().stderr(&note("created"));
        assert_eq!(own(&forge).len(), 1, "{kind:?}");
    }
}

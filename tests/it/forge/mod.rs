//! Comments, statuses and reviewed plans on forges, against stand-ins that check every request.

mod comments;
mod failures;
mod histories;
mod invalid_settings;
mod live_histories;
mod older_jobs;
mod replay;
mod reviews;
mod routes;
pub(crate) mod stand_in;
mod statuses;

use crate::support::{Gitoggle, World};
use stand_in::{OURS, StandIn};

/// Makes a repository whose branch `feature` changes `shop/prod/pay`.
fn request_world() -> World {
    let world = World::with_pay_applied();
    world.repo.branch("feature");
    world.repo.commit_pay(21, "Ask for 21 years");
    world
}

/// Begins the plan of the pull request, which is then commented on.
fn plan(world: &World, forge: &StandIn) -> Gitoggle {
    let run = forge.request_job(world, world.bare("plan").set("repo", world.repo.path()));
    run.args("--pull-request").set("comment-on", forge.name())
}

/// Returns the note about the comment.
fn note(did: &str) -> String {
    format!("note: {did} the comment on pull request 7 of `shop/toggles`\n")
}

/// Returns the bodies of our comments.
fn own(forge: &StandIn) -> Vec<String> {
    let comments = forge.comments().into_iter();
    comments.filter(|comment| comment.author == OURS).map(|comment| comment.body).collect()
}

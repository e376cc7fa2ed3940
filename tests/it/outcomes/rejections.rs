//! Rejected tokens, environments and targets, which more attempts would not help.

use super::{each, sent_the_same, waiting};
use crate::support::{Answer, Request, Service, TOKEN, World, doc};

#[test]
fn a_token_that_is_refused_ends_the_pass() {
    // One 401 ends the pass. A 403 is charged to its toggle, and says what the toggles have in common.
    each(&[(401, 1), (403, 3)], |(status, count)| {
        let world = waiting();
        world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
        world.repo.file("shop/prod/zoo2.yaml", doc(5)).commit("Add another");
        world.service.always(move |_| Answer::json(status, r#"{"message": "who are you?"}"#));
        world.apply().exit(1).says(&[&status.to_string(), "token"]).never_says(&[TOKEN]);
        assert_eq!(world.service.take().len(), count, "nothing more is sent with that token");
    });
}

#[test]
fn a_token_file_is_read_again_once_when_the_token_is_refused() {
    let world = waiting();
    let file = world.write("token", "old-token-98765\n");
    let path = file.clone();
    world.service.always(move |request| {
        if request.header("authorization") == Some(TOKEN) {
            return Answer::applied();
        }
        std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
        Answer::json(401, "{}")
    });
    world.apply().without_env("GITOGGLE_TOKEN").set("token-file", file).exit(0).any_output();
    let tokens: Vec<_> = world
        .service
        .take()
        .iter()
        .map(|request| request.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(tokens, ["old-token-98765", TOKEN]);
}

#[test]
fn a_forbidden_environment_does_not_block_others() {
    let world = World::new();
    for path in ["shop/prod/a", "shop/prod/b", "shop/prod/c", "shop/test/x", "web/prod/x"] {
        world.repo.file(&format!("{path}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    world.service.always(|request| {
        if request.toggle().starts_with("shop/prod/") {
            Answer::json(403, r#"{"message": "not yours"}"#)
        } else {
            Answer::applied()
        }
    });
    world
        .apply()
        .set("first-pass", "assert")
        .set("max-in-flight", "1")
        .exit(1)
        .says(&["shop/prod/c", "not yours"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    let forbidden = sent.iter().filter(|toggle| toggle.starts_with("shop/prod/"));
    assert_eq!(forbidden.count(), 3, "each is tried: {sent:?}");
    assert_eq!(sent.len(), 5, "{sent:?}");
    world.status().set("first-pass", "assert").exit(1).says(&["3 failed", "2 in sync", "not yours"]);
}

#[test]
fn a_host_that_is_not_the_service_ends_the_pass() {
    each(
        &[
            ("a page", Answer::html(200)),
            ("not found", Answer::html(404)),
            ("not found, in silence", Answer::status(404)),
            ("not found, without a code", Answer::json(404, r#"{"message": "no route"}"#)),
            ("not allowed", Answer::html(405)),
        ],
        |(name, answer)| {
            let world = World::new();
            for number in 0..12 {
                world.repo.file(&format!("shop/prod/t{number:02}.yaml"), doc(18));
            }
            world.repo.commit("Add twelve");
            world.service.always(move |_| answer.clone());
            world.apply().set("first-pass", "assert").exit(1).says(&["`--base-url`"]);
            assert_eq!(world.service.take().len(), 10, "{name}");
        },
    );
}

#[test]
fn a_redirect_is_never_followed() {
    each(&[301, 302, 303, 307, 308], |status| {
        let world = waiting();
        let elsewhere = Service::start();
        let location = format!("{}/api", elsewhere.url());
        world.service.answers([Answer::status(status).header("Location", &location)]);
        world.apply().exit(1).says(&["redirect"]).never_says(&[TOKEN]);
        sent_the_same(&world.service.take(), 1);
        assert_eq!(elsewhere.connections(), 0);
    });
}

#[test]
fn a_refused_token_leaves_nothing_unknown() {
    each(&[401, 403], |status| {
        let world = waiting();
        world.service.answers([Answer::json(status, "{}")]);
        world.apply().exit(1).any_output();
        assert_eq!(world.service.take().len(), 1);
        world.repo.revert();
        world.apply().exit(0).any_output();
        world.nothing_sent();
    });
}

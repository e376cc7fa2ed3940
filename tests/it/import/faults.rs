//! A service that fails: each failure is reported, the rest is imported, and no toggle is lost or invented.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::{files, import_live};
use crate::support::answer::Gate;
use crate::support::{Answer, TOKEN, World, content, eventually};

/// The tries that each path had.
pub(super) type Tries = Arc<Mutex<BTreeMap<String, usize>>>;

/// Answers like a service with the environment `shop/prod` and these toggles, where `fault` gives no other
/// answer to the nth request of a path.
pub(super) fn serve(
    world: &World,
    keys: &[&str],
    mut fault: impl FnMut(&str, usize) -> Option<Answer> + Send + 'static,
) -> Tries {
    let tries = Tries::default();
    let counted = Arc::clone(&tries);
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    world.service.always(move |request| {
        assert_eq!(request.method, "GET");
        assert_eq!(request.header("authorization"), Some(TOKEN));
        let path = request.path.split('?').next().unwrap().to_owned();
        let mut counted = counted.lock().unwrap();
        let nth = counted.entry(path.clone()).or_insert(0);
        *nth += 1;
        if let Some(answer) = fault(&request.path, *nth) {
            return answer;
        }
        let is_archived = request.path.contains("archived=true");
        let toggles = keys.iter().filter(|_| !is_archived);
        let toggles: Vec<_> = toggles
            .map(|key| json!({ "key": key, "returnType": "boolean", "disabled": false, "locked": key == "locked" }))
            .collect();
        let body = match path.as_str() {
            "/api/projects" => json!([{ "key": "shop" }]),
            path if path.ends_with("/environments") => json!([{ "key": "prod" }]),
            path if path.ends_with("/toggles") => {
                json!({ "totalElements": toggles.len(), "totalPages": 1, "content": toggles })
            }
            path if path.ends_with("/versions/1") => json!({ "versions": [] }),
            _ => json!({ "version": 2, "disabled": false, "locked": path.contains("/locked/"), "content": content(18) }),
        };
        Answer::json(200, &body.to_string())
    });
    tries
}

#[test]
fn a_toggle_that_cannot_be_read_fails_alone_after_four_tries() {
    let world = World::new();
    let path = "/api/projects/shop/environments/prod/toggles/bad/targeting";
    let tries = serve(&world, &["bad", "good", "slow"], move |asked, nth| match asked {
        asked if asked == path => Some(Answer::status(503)),
        // Two failures, then the answer.
        asked if asked.contains("/slow/targeting") && nth <= 2 => Some(Answer::closes()),
        _ => None,
    });
    import_live(&world)
        .exit(1)
        .stdout_contains(&[
            "failed shop/prod/bad: the service responded with 503",
            "\n2 written, 0 unchanged",
        ])
        .stderr(
            "error: the import is incomplete: 1 failed\nhint: fix the cause, then run the command again\n",
        );
    assert_eq!(files(&world), ["shop/prod/good.yaml", "shop/prod/slow.yaml"]);
    assert_eq!(tries.lock().unwrap()[path], 4);
    // The next run continues.
    serve(&world, &["bad", "good", "slow"], |_, _| None);
    import_live(&world).exit(0).stdout("1 written, 2 unchanged, 0 different\n").any_stderr();
}

#[test]
fn a_token_that_is_rejected_or_may_not_read_ends_the_import() {
    for (status, reason) in [(401, "401"), (403, "403")] {
        let world = World::new();
        serve(&world, &["pay"], move |_, _| Some(Answer::json(status, r#"{"code":"forbidden"}"#)));
        import_live(&world)
            .exit(1)
            .stdout("0 written, 0 unchanged, 0 different\n")
            .stderr_contains(&[
                "error: the import ended early: ",
                reason,
                "hint: check that the token is valid",
            ])
            .never_says(&[TOKEN]);
    }
    // Rejected in the middle: what was written stays.
    let world = World::new();
    serve(&world, &["a", "b"], |path, _| path.contains("/b/").then(|| Answer::status(401)));
    import_live(&world)
        .set("max-in-flight", "1")
        .exit(1)
        .stdout("1 written, 0 unchanged, 0 different\n")
        .stderr_contains(&["error: the import ended early: "]);
}

#[test]
fn pages_of_a_proxy_and_a_wrong_base_url_are_not_toggles() {
    let world = World::new();
    serve(&world, &["pay"], |_, _| Some(Answer::html(200)));
    import_live(&world)
        .exit(1)
        .any_stdout()
        .stderr_contains(&["the import ended early", "check the path of `--base-url`"]);
    serve(&world, &["pay", "other"], |path, _| path.contains("/pay/").then(|| Answer::html(200)));
    import_live(&world).exit(1).stdout_contains(&["failed shop/prod/pay: ", "1 written"]).any_stderr();
    assert_eq!(files(&world), ["shop/prod/other.yaml"]);
}

#[test]
fn a_retry_after_holds_back_every_read() {
    let world = World::new();
    serve(&world, &["a", "b", "c"], |path, nth| {
        (path.contains("/a/targeting") && nth == 1).then(|| Answer::status(429).header("Retry-After", "1"))
    });
    let started = std::time::Instant::now();
    import_live(&world)
        .set("max-in-flight", "1")
        .exit(0)
        .stdout("3 written, 0 unchanged, 0 different\n")
        .any_stderr();
    assert!(started.elapsed() >= Duration::from_secs(1));
    let requests = world.service.take();
    let refused = requests.iter().position(|request| request.status == Some(429)).unwrap();
    assert!(requests[refused + 1].at - requests[refused].at >= Duration::from_millis(900));
}

#[test]
fn invalid_keys_and_hidden_live_values_are_skipped_with_the_reason() {
    let world = World::new();
    let keys = ["pay", "new pay", "../../escape", "::error::\u{1b}[2J", "locked"];
    serve(&world, &keys, |_, _| None);
    let ran = import_live(&world)
        .exit(0)
        .stdout_contains(&[
            "skipped shop/prod/new pay (a key that is not valid here): a key has only letters",
            "skipped shop/prod/../../escape (a key that is not valid here): ",
            "skipped shop/prod/locked (a draft that hides the live values): ",
            "1 written, 0 unchanged, 0 different, 4 skipped (a draft that hides the live values: 1, a key that is not valid \
             here: 3)\n",
        ])
        .any_stderr();
    assert!(!ran.both().contains('\u{1b}'));
    assert_eq!(files(&world), ["shop/prod/pay.yaml"]);
}

#[test]
fn at_most_max_in_flight_requests_are_open_also_within_an_environment() {
    let world = World::new();
    let keys: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let answer =
        Answer::json(200, &json!({ "version": 2, "disabled": false, "content": content(18) }).to_string());
    serve(&world, &keys, move |path, _| {
        path.contains("/targeting").then(|| answer.clone().slowly(Duration::from_millis(50)))
    });
    import_live(&world)
        .set("max-in-flight", "4")
        .exit(0)
        .stdout("40 written, 0 unchanged, 0 different\n")
        .any_stderr();
    let most = world.service.take().iter().map(|request| request.open).max();
    assert_eq!(most, Some(4));
}

#[test]
fn an_interrupted_import_continues_with_the_next_run() {
    let world = World::new();
    let gate = Gate::default();
    let closed = gate.clone();
    serve(&world, &["a", "b", "c"], move |path, _| {
        let content = json!({ "version": 2, "disabled": false, "content": content(18) });
        path.contains("/c/targeting").then(|| Answer::json(200, &content.to_string()).behind(&closed))
    });
    let log = world.path("log");
    let run = import_live(&world).start_logged(&log);
    eventually("two documents", || (files(&world).len() == 2).then_some(()));
    run.terminate();
    assert_eq!(run.wait(), Some(1));
    assert_eq!(
        world.printed(&log),
        "2 written, 0 unchanged, 0 different\n\
         error: the import ended early: interrupted\n\
         hint: run the command again to continue; documents that were written count as unchanged\n"
    );
    gate.open();
    import_live(&world).exit(0).stdout("1 written, 2 unchanged, 0 different\n").any_stderr();
}

#[test]
fn a_service_without_the_lists_is_not_unavailable() {
    let world = World::new();
    world.service.always(|_| Answer::json(404, r#"{"code":"not_found"}"#));
    import_live(&world).exit(1).any_stdout().stderr_contains(&[
        "error: the import ended early: the service responded with 404",
        "hint: check `--base-url`, and that the service is a FeatureProbe (`--service-kind`)\n",
    ]);
}

#[test]
fn a_project_or_an_environment_that_no_longer_exists_is_not_to_be_created_for_an_import() {
    for (list, name) in [("/shop/environments", "shop"), ("/shop/toggles", "shop/prod")] {
        let world = World::new();
        serve(&world, &["pay"], move |path, _| {
            let gone = r#"{"code":"not_found","message":"It was not found"}"#;
            path.contains(list).then(|| Answer::json(400, gone))
        });
        let failed = format!(
            "failed {name}: could not be listed: the service responded with 400 `not_found`: It was not found\n"
        );
        import_live(&world).exit(1).stdout_contains(&[&failed]).any_stderr();
    }
}

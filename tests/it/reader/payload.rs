//! Changed toggles, by the payload for SDKs.

use gitoggle::service::PayloadVersions;
use serde_json::json;

use super::{Stand, environment, failed, paths_of, recorded};
use crate::support::{Answer, TOKEN};

fn environments(key: &str) -> Answer {
    let list = json!([{"key": "Prod", "serverSdkKey": key}, {"key": "test"}]);
    Answer::json(200, &list.to_string())
}

fn payload(version: u64) -> Answer {
    let payload =
        json!({"version": version, "toggles": {"pay": {"version": 7}, "a b": {"version": 1}, "odd": {}}});
    Answer::json(200, &payload.to_string())
}

/// Asserts the paths and the `Authorization` of all requests.
#[track_caller]
fn asked(stand: &Stand, expected: &[(&str, &str)]) {
    let requests = stand.service.take();
    let with = requests.iter().map(|request| request.header("authorization").unwrap());
    let read: Vec<_> = paths_of(&requests).into_iter().zip(with).collect();
    assert_eq!(read, expected);
}

#[tokio::test]
async fn a_scan_without_changes_is_one_request() {
    let stand = Stand::answers([
        recorded("list-environments"),
        recorded("sdk-toggles"),
        recorded("sdk-toggles-unchanged"),
    ]);
    let production = environment("facts/production");
    let versions = stand.reader.payload_versions(&production, None).await.unwrap();
    let PayloadVersions::Versions { version, toggles } = versions else { panic!("{versions:?}") };
    let read: Vec<_> = toggles.iter().map(|(key, version)| (key.as_str(), *version)).collect();
    assert_eq!((version, read), (24, vec![("fresh", 2), ("guarded", 1), ("plain", 10)]));
    let again = stand.reader.payload_versions(&production, Some(24)).await.unwrap();
    assert_eq!(again, PayloadVersions::Unchanged);
    let key = format!("server-{}", "0".repeat(40));
    asked(
        &stand,
        &[
            ("/api/projects/facts/environments", TOKEN),
            ("/internal/server/toggles", &key),
            ("/internal/server/toggles?version=24", &key),
        ],
    );
}

#[tokio::test]
async fn a_reset_sdk_key_is_looked_up_again_once() {
    for status in [400, 401, 403, 404] {
        let stand = Stand::answers([
            environments("server-old"),
            payload(1),
            Answer::status(status),
            environments("server-new"),
            payload(2),
        ]);
        let prod = environment("shop/prod");
        for (known, expected) in [(None, 1), (Some(1), 2)] {
            let versions = stand.reader.payload_versions(&prod, known).await.unwrap();
            let PayloadVersions::Versions { version, toggles } = versions else { panic!("{versions:?}") };
            assert_eq!(version, expected);
            assert_eq!((toggles.iter().count(), toggles.get("PAY")), (1, Some(&7)));
        }
        asked(
            &stand,
            &[
                ("/api/projects/shop/environments", TOKEN),
                ("/internal/server/toggles", "server-old"),
                ("/internal/server/toggles?version=1", "server-old"),
                ("/api/projects/shop/environments", TOKEN),
                ("/internal/server/toggles?version=1", "server-new"),
            ],
        );
    }
}

#[tokio::test]
async fn a_rejected_sdk_key_does_not_affect_the_token() {
    let prod = environment("shop/prod");
    let refusal =
        |status| format!("the service responded with {status} to the server SDK key of `shop/prod`");
    // The service rejects a key that it just listed.
    let stand = Stand::answers([environments("server-a"), Answer::status(401)]);
    failed(stand.reader.payload_versions(&prod, None).await, "refused", &refusal(401));
    // The key that it lists is still the same.
    stand.service.answers([Answer::status(403), environments("server-a")]);
    failed(stand.reader.payload_versions(&prod, None).await, "refused", &refusal(403));
    assert_eq!(stand.service.count(), 4);
}

#[tokio::test]
async fn an_environment_without_an_sdk_key_is_refused() {
    for text in ["shop/test", "shop/none"] {
        let stand = Stand::answers([environments("server-a")]);
        failed(
            stand.reader.payload_versions(&environment(text), None).await,
            "refused",
            &format!("the service does not list an environment `{text}` with a server SDK key"),
        );
    }
    let stand = Stand::answers([environments("server\u{7f}")]);
    failed(
        stand.reader.payload_versions(&environment("shop/prod"), None).await,
        "refused",
        "the server SDK key of `shop/prod` is not valid in an HTTP header",
    );
}

#[tokio::test]
async fn a_406_counts_only_after_a_known_version() {
    let stand = Stand::answers([environments("server-a"), recorded("sdk-toggles-unchanged")]);
    failed(
        stand.reader.payload_versions(&environment("shop/prod"), None).await,
        "refused",
        "the service responded with 406",
    );
}

#[tokio::test]
async fn no_message_contains_an_sdk_key() {
    let prod = environment("shop/prod");
    for (answers, kind) in [
        (vec![environments("server-a"), Answer::json(503, r#"{"message":"no server-a"}"#)], "busy"),
        (vec![environments("server-a"), Answer::json(200, r#"{"version":"server-a"}"#)], "refused"),
        (vec![environments("server-a"), Answer::status(200).body("server-a?")], "misrouted"),
        (vec![Answer::json(200, r#"[{"key":"prod","enableApproval":"server-a"}]"#)], "refused"),
        (vec![Answer::json(200, r#"[{"serverSdkKey":"server-a"},]"#)], "refused"),
        (vec![Answer::json(200, r#"["server-a"]"#)], "refused"),
        (vec![Answer::json(200, r#"{"k":"server-a"}}"#)], "refused"),
    ] {
        let stand = Stand::answers(answers);
        let outcome = stand.reader.payload_versions(&prod, None).await.unwrap_err();
        assert_eq!(outcome.kind.as_str(), kind, "{outcome}");
        assert!(!format!("{outcome:?} {outcome}").contains("server-a"), "{outcome}");
    }
}

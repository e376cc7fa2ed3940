//! Single toggles: live targeting, drafts, history.

use gitoggle::model::{Key, Live, LiveContent, LiveDraft, LiveToggle, ReturnType};
use gitoggle::service::{ListedToggle, Outcome};
use serde_json::{Value, json};

use super::{Stand, exchange, failed, id, recorded};
use crate::support::Answer;

const PAY: &str = "/api/projects/shop/environments/prod/toggles/pay/targeting";

fn listed(key: &str) -> ListedToggle {
    ListedToggle {
        key: key.parse::<Key>().unwrap(),
        is_disabled: None,
        is_locked: None,
        is_archived: false,
        return_type: Some(ReturnType::Boolean),
    }
}

async fn read(stand: &Stand, toggle: &str) -> Result<Live, Outcome> {
    stand.reader.live(&id(toggle), &listed("any")).await
}

async fn live(stand: &Stand, toggle: &str) -> LiveToggle {
    match read(stand, toggle).await.unwrap() {
        Live::Toggle(live) => *live,
        other => panic!("{other:?}"),
    }
}

fn json_of(content: &LiveContent) -> Value {
    let payload = content.payload().unwrap_or_else(|| panic!("{content:?}"));
    serde_json::from_str(payload.json()).unwrap()
}

/// Returns the `disabled` and `content` of a recorded body.
fn targeting(body: &Value) -> Value {
    json!({"disabled": body["disabled"], "content": body["content"]})
}

/// Returns a response with this content and version 3.
fn with_content(content: &Value) -> Answer {
    Answer::json(200, &json!({"version": 3, "disabled": true, "content": content}).to_string())
}

fn empty_content() -> Value {
    json!({"rules": [], "disabledServe": {"select": 0}, "defaultServe": {"select": 0},
        "variations": [{"value": "a", "name": "a", "description": ""}], "prerequisites": []})
}

#[tokio::test]
async fn recorded_targetings_are_read_without_loss() {
    for name in [
        "get-targeting",
        "get-targeting-new",
        "get-targeting-prerequisites",
        "archived-get-targeting",
        "approval-get-before-draft",
    ] {
        let stand = Stand::answers([recorded(name)]);
        let body = &exchange(name)["body"];
        let live = live(&stand, "facts/production/plain").await;
        assert_eq!(json_of(&live.content), targeting(body), "{name}");
        assert_eq!(Some(live.version), body["version"].as_u64(), "{name}");
        assert_eq!(live.modified_by.as_deref(), body["modifiedBy"].as_str(), "{name}");
        assert_eq!(live.draft, None);
        assert_eq!(Some(live.needs_approval), body["enableApproval"].as_bool(), "{name}");
        assert_eq!(live.return_type, Some(ReturnType::Boolean));
        stand.asked(&["/api/projects/facts/environments/production/toggles/plain/targeting"]);
    }
}

#[tokio::test]
async fn a_draft_never_counts_as_live() {
    // The draft has number 2, and since it was submitted, another number 2 was published.
    let page = &exchange("approval-versions")["body"];
    let versions = json!({"total": 2, "versions": page["content"]});
    let stand =
        Stand::answers([recorded("approval-get-after-patch"), Answer::json(200, &versions.to_string())]);
    let live = live(&stand, "facts/guarded/guarded").await;
    let draft = &exchange("approval-get-after-patch")["body"];
    assert_ne!(json_of(&live.content), targeting(draft));
    assert_eq!(json_of(&live.content), targeting(&page["content"][0]));
    assert_eq!(json_of(&live.content)["content"], exchange("approval-diff")["body"]["oldContent"]);
    assert_eq!((live.version, live.modified_by.as_deref()), (2, Some("api:gitops-1795272940")));
    assert_eq!(live.modified_at, Some(1_795_274_757));
    let submitted_by = Some("Admin".to_owned());
    assert_eq!(live.draft, Some(LiveDraft { submitted_by }));
    stand.asked(&[
        "/api/projects/facts/environments/guarded/toggles/guarded/targeting",
        "/api/projects/facts/environments/guarded/toggles/guarded/targeting/versions/1",
    ]);
}

#[tokio::test]
async fn a_draft_without_a_published_version_is_an_error() {
    let versions = Answer::json(200, r#"{"total": 2, "versions": []}"#);
    let stand = Stand::answers([recorded("approval-get-with-draft"), versions]);
    failed(
        read(&stand, "facts/guarded/guarded").await,
        "refused",
        "the service has a draft of `facts/guarded/guarded`, but no version from number 1 on",
    );
}

#[tokio::test]
async fn the_recorded_history_is_read_newest_first() {
    let stand = Stand::answers([recorded("versions-from-1")]);
    let versions = stand.reader.versions_from(&id("facts/production/plain"), 1).await.unwrap();
    let read: Vec<_> = versions
        .iter()
        .map(|version| (version.version, version.comment.as_str(), version.created_by.as_deref().unwrap()))
        .collect();
    let gitops = "api:gitops-1795272940";
    assert_eq!(
        read,
        [
            (4, "As gitoggle sends it: no prerequisites", gitops),
            (3, "With a prerequisite", gitops),
            (2, "First by API", gitops),
            (1, "", "Admin"),
        ]
    );
    let body = exchange("versions-from-1")["body"]["versions"].clone();
    for (version, wire) in versions.iter().zip(body.as_array().unwrap()) {
        assert_eq!(json_of(&version.content), targeting(wire));
        assert!(version.created_at.is_some());
    }
    stand.asked(&["/api/projects/facts/environments/production/toggles/plain/targeting/versions/1"]);
}

#[tokio::test]
async fn an_unknown_toggle_is_missing_although_the_service_answers_500() {
    let stand = Stand::answers([
        recorded("get-unknown-toggle"),
        Answer::json(200, r#"{"content":[],"totalElements":0,"totalPages":0,"pageable":"INSTANCE"}"#),
        Answer::json(400, r#"{"code":"not_found","message":"Toggle pay not found"}"#),
    ]);
    let live = read(&stand, "shop/prod/pay").await.unwrap();
    assert!(matches!(live, Live::Missing { .. }), "{live:?}");
    stand.asked(&[PAY, &format!("{PAY}/versions?pageIndex=0&pageSize=1"), "/api/projects/shop/toggles/pay"]);
}

#[tokio::test]
async fn a_toggle_without_a_targeting_is_untargeted() {
    let stand = Stand::answers([
        Answer::json(500, r#"{"status":500,"error":"Internal Server Error"}"#),
        Answer::json(200, r#"{"content":[],"totalElements":0,"totalPages":0}"#),
        recorded("get-toggle"),
    ]);
    assert_eq!(read(&stand, "shop/prod/pay").await.unwrap(), Live::Untargeted);
}

#[tokio::test]
async fn a_500_of_an_overloaded_service_is_busy() {
    let page = r#"{"content":[{"version":1}],"totalElements":9,"totalPages":9}"#;
    for second in [Answer::json(200, page), Answer::status(500), Answer::status(403)] {
        let stand = Stand::answers([Answer::json(500, r#"{"error":"Internal Server Error"}"#), second]);
        failed(
            read(&stand, "shop/prod/pay").await,
            "busy",
            "the service responded with 500: Internal Server Error",
        );
    }
}

#[tokio::test]
async fn an_absent_description_is_empty() {
    let mut content = empty_content();
    content["variations"] = json!([{"value": "a", "name": "a"}]);
    let stand = Stand::answers([with_content(&content), with_content(&empty_content())]);
    let absent = live(&stand, "shop/prod/pay").await;
    let empty = live(&stand, "shop/prod/pay").await;
    assert_eq!(absent.content, empty.content);
    assert_eq!((empty.modified_by, empty.modified_at, empty.draft), (None, None, None));
}

#[tokio::test]
async fn content_of_one_mebibyte_is_read() {
    let mut content = empty_content();
    // Each character is escaped in JSON, so the response has 6 MiB.
    content["variations"][0]["value"] = json!("\u{1}".repeat(1 << 20));
    let stand = Stand::answers([with_content(&content)]);
    let live = live(&stand, "shop/prod/pay").await;
    assert_eq!(json_of(&live.content)["content"], content);
}

#[tokio::test]
async fn content_that_no_document_can_express_is_reported_with_the_reason() {
    let mut content = empty_content();
    content["defaultServe"] = json!({"split": [1, 2]});
    let stand = Stand::answers([with_content(&content)]);
    let live = live(&stand, "shop/prod/pay").await;
    let LiveContent::Inexpressible(reason) = live.content else { panic!("{live:?}") };
    assert_eq!(reason, "`content.defaultServe` has a split whose weights add up to 3, not 10000");
}

#[tokio::test]
async fn a_truncated_targeting_is_busy_and_another_shape_is_refused() {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"version\":1,\"content\":{";
    let stand = Stand::answers([Answer::raw(cut), Answer::json(200, r#"{"version":"1"}"#)]);
    failed(
        read(&stand, "shop/prod/pay").await,
        "busy",
        "the service responded with 200 and only the beginning of a targeting",
    );
    failed(
        read(&stand, "shop/prod/pay").await,
        "refused",
        "the service responded with 200 and JSON that is not a targeting: expected a whole number at line 1 column 14",
    );
}

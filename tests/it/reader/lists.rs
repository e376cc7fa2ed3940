//! Lists of projects, environments and toggles.

use gitoggle::model::Live;
use gitoggle::service::{EnvironmentReader, ListedToggle};
use serde_json::{Value, json};

use super::{Stand, environment, failed, id, recorded};
use crate::support::Answer;

const TOGGLES: &str = "/api/projects/shop/toggles?environmentKey=prod";

fn toggle(key: &str) -> Value {
    json!({"key": key, "returnType": "string", "disabled": false, "locked": false})
}

fn page(keys: impl IntoIterator<Item = String>, total: usize, pages: usize) -> Answer {
    let content: Vec<Value> = keys.into_iter().map(|key| toggle(&key)).collect();
    let page = json!({
        "content": content, "totalElements": total, "totalPages": pages, "pageable": "INSTANCE",
    });
    Answer::json(200, &page.to_string())
}

fn keys(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    range.map(|number| format!("toggle-{number:04}"))
}

/// Reads the toggles of `shop/prod` and returns their keys, sorted.
async fn read(stand: &Stand) -> Vec<String> {
    let listing = stand.reader.toggles(&environment("shop/prod")).await.unwrap();
    let mut keys: Vec<String> = listing.entries.iter().map(|entry| entry.key.to_string()).collect();
    keys.sort();
    keys
}

#[tokio::test]
async fn recorded_projects_and_environments_are_read() {
    let stand = Stand::answers([recorded("list-projects"), recorded("list-environments")]);
    let projects = stand.reader.projects().await.unwrap();
    assert_eq!(projects.entries, ["facts".parse().unwrap()]);
    let environments = stand.reader.environments(&projects.entries[0]).await.unwrap();
    let read: Vec<_> =
        environments.entries.iter().map(|entry| (entry.key.as_str(), entry.needs_approval)).collect();
    assert_eq!(read, [("online", false), ("production", false), ("guarded", false)]);
    let key = environments.entries[0].server_sdk_key.as_ref().unwrap();
    assert_eq!(key.expose(), format!("server-{}", "0".repeat(40)));
    assert!(!format!("{environments:?} {:?}", stand.reader).contains(key.expose()));
    stand.asked(&["/api/projects", "/api/projects/facts/environments"]);
}

#[tokio::test]
async fn an_unknown_project_has_no_environments() {
    let stand = Stand::answers([Answer::json(200, "[]")]);
    let environments = stand.reader.environments(&"nothing".parse().unwrap()).await.unwrap();
    assert!(environments.entries.is_empty() && environments.invalid.is_empty());
}

#[tokio::test]
async fn recorded_toggles_are_read_with_their_drafts() {
    let stand = Stand::answers([recorded("list-toggles-with-draft")]);
    let listing = stand.reader.toggles(&environment("facts/guarded")).await.unwrap();
    let read: Vec<String> = listing.entries.iter().map(line).collect();
    assert_eq!(
        read,
        [
            "fresh Some(true) Some(false) false Some(Boolean)",
            "guarded Some(false) Some(true) false Some(Boolean)",
            "other Some(true) Some(false) false Some(String)",
            "plain Some(true) Some(false) false Some(Boolean)",
        ]
    );
    stand.asked(&["/api/projects/facts/toggles?environmentKey=guarded&pageIndex=0&pageSize=1000"]);
}

fn line(toggle: &ListedToggle) -> String {
    let ListedToggle { key, is_disabled, is_locked, is_archived, return_type } = toggle;
    format!("{key} {is_disabled:?} {is_locked:?} {is_archived} {return_type:?}")
}

#[tokio::test]
async fn archived_toggles_have_their_own_list() {
    let stand = Stand::answers([page(["old".to_owned()], 1, 1)]);
    let listing = stand.reader.archived(&environment("shop/prod")).await.unwrap();
    assert_eq!(line(&listing.entries[0]), "old Some(false) Some(false) true Some(String)");
    stand.asked(&[&format!("{TOGGLES}&archived=true&pageIndex=0&pageSize=1000")]);
}

#[tokio::test]
async fn all_pages_are_read() {
    let stand = Stand::answers([
        page(keys(0..1000), 2500, 3),
        page(keys(1000..2000), 2500, 3),
        page(keys(2000..2500), 2500, 3),
    ]);
    assert_eq!(read(&stand).await, keys(0..2500).collect::<Vec<_>>());
    let paths = [0, 1, 2].map(|index| format!("{TOGGLES}&pageIndex={index}&pageSize=1000"));
    stand.asked(&paths.each_ref().map(String::as_str));
}

#[tokio::test]
async fn toggles_that_move_between_pages_are_neither_lost_nor_duplicated() {
    // Toggle 999 comes again on the second page, and toggle 1500 on none.
    let stand = Stand::answers([
        page(keys(0..1000), 1501, 2),
        page(keys(999..1500), 1501, 2),
        page(keys(0..1501), 1501, 1),
    ]);
    assert_eq!(read(&stand).await, keys(0..1501).collect::<Vec<_>>());
    stand.asked(&[
        &format!("{TOGGLES}&pageIndex=0&pageSize=1000"),
        &format!("{TOGGLES}&pageIndex=1&pageSize=1000"),
        &format!("{TOGGLES}&pageIndex=0&pageSize=2501"),
    ]);
}

#[tokio::test]
async fn a_list_whose_total_changes_while_it_is_read_is_read_again() {
    let stand = Stand::answers([
        page(keys(0..1000), 1001, 2),
        page(keys(1001..1002), 1002, 2),
        page(keys(0..1002), 1002, 1),
    ]);
    assert_eq!(read(&stand).await, keys(0..1002).collect::<Vec<_>>());
    // A page can become empty.
    let stand =
        Stand::answers([page(keys(0..1000), 1001, 2), page([], 1000, 1), page(keys(0..1000), 1000, 1)]);
    assert_eq!(read(&stand).await, keys(0..1000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_list_that_changes_in_every_attempt_is_busy() {
    let stand = Stand::new();
    stand.service.always(|_| page(keys(0..2), 3, 1));
    failed(
        stand.reader.toggles(&environment("shop/prod")).await,
        "busy",
        "the service's list of the toggles of `shop` changed while it was read, in all of 4 attempts",
    );
    assert_eq!(stand.service.count(), 4);
}

#[tokio::test]
async fn an_entry_that_comes_twice_on_a_page_is_one_toggle() {
    let stand = Stand::new();
    stand.service.always(|_| page(["pay", "ship", "pay"].map(str::to_owned), 2, 1));
    assert_eq!(read(&stand).await, ["pay", "ship"]);
    assert_eq!(stand.service.count(), 1);
}

#[tokio::test]
async fn keys_that_are_invalid_here_are_kept_aside() {
    let names = ["pay", "_hidden", "a b", "für"].map(str::to_owned);
    let stand = Stand::answers([
        page(names.clone(), 4, 1),
        Answer::json(200, &json!([{"key": "x/y"}, {"key": "shop"}]).to_string()),
    ]);
    let listing = stand.reader.toggles(&environment("shop/prod")).await.unwrap();
    assert_eq!(listing.entries.len(), 1);
    let invalid: Vec<String> =
        listing.invalid.iter().map(|key| format!("{}: {}", key.text, key.error)).collect();
    assert_eq!(
        invalid,
        [
            "_hidden: a key begins with a letter or digit, not `_`",
            "a b: a key has only letters, digits, `.`, `_` and `-`, not ` `",
            "für: a key has only letters, digits, `.`, `_` and `-`, not `ü`",
        ]
    );
    let projects = stand.reader.projects().await.unwrap();
    assert_eq!((projects.entries.len(), projects.invalid[0].text.as_str()), (1, "x/y"));
}

#[tokio::test]
async fn one_toggle_without_a_targeting_does_not_hide_the_others() {
    let stand = Stand::answers([Answer::status(500), page(keys(0..2), 2, 1)]);
    let listing = stand.reader.toggles(&environment("shop/prod")).await.unwrap();
    assert_eq!(line(&listing.entries[1]), "toggle-0001 None None false Some(String)");
    stand.asked(&[
        &format!("{TOGGLES}&pageIndex=0&pageSize=1000"),
        "/api/projects/shop/toggles?pageIndex=0&pageSize=1000",
    ]);
}

#[tokio::test]
async fn one_list_serves_all_toggles_of_an_environment_in_any_case() {
    let stand = Stand::answers([Answer::status(503), page(["Pay".to_owned()], 1, 1)]);
    let shop = EnvironmentReader::new(stand.reader.clone(), environment("shop/prod"));
    // A failed list is read again.
    assert!(shop.find(&id("shop/prod/pay")).await.is_err());
    for spelling in ["shop/prod/pay", "shop/prod/PAY", "shop/prod/Pay"] {
        let found = shop.find(&id(spelling)).await.unwrap().unwrap();
        assert_eq!(found.key.as_str(), "Pay");
    }
    assert_eq!(shop.index().await.unwrap().toggles.iter().count(), 1);
    stand.asked(&[&format!("{TOGGLES}&pageIndex=0&pageSize=1000"); 2].map(String::as_str));
}

#[tokio::test]
async fn a_toggle_that_is_not_listed_is_archived_or_missing() {
    let stand = Stand::answers([
        page([], 0, 0),
        recorded("archived-get-toggle"),
        Answer::json(400, r#"{"code":"not_found","message":"Toggle none not found"}"#),
        Answer::json(400, r#"{"code":"invalid_request"}"#),
    ]);
    let shop = EnvironmentReader::new(stand.reader.clone(), environment("shop/prod"));
    let archived = shop.find(&id("shop/prod/fresh")).await.unwrap().unwrap();
    assert_eq!(line(&archived), "fresh None None true Some(Boolean)");
    assert_eq!(shop.find(&id("shop/prod/none")).await.unwrap(), None);
    failed(
        shop.find(&id("shop/prod/odd")).await,
        "refused",
        "the service responded with 400: invalid_request",
    );
    stand.asked(&[
        &format!("{TOGGLES}&pageIndex=0&pageSize=1000"),
        "/api/projects/shop/toggles/fresh",
        "/api/projects/shop/toggles/none",
        "/api/projects/shop/toggles/odd",
    ]);
}

#[tokio::test]
async fn an_absurd_total_is_busy_and_no_panic() {
    let stand = Stand::new();
    stand.service.always(|_| page(keys(0..2), usize::MAX, 1));
    failed(
        stand.reader.toggles(&environment("shop/prod")).await,
        "busy",
        "the service's list of the toggles of `shop` changed while it was read, in all of 4 attempts",
    );
}

#[tokio::test]
async fn what_may_be_absent_may_be_null() {
    let environments = r#"[{"key":"prod","enableApproval":null,"serverSdkKey":null}]"#;
    let toggle = r#"{"key":"pay","returnType":null,"disabled":null,"locked":null,"archived":null}"#;
    let targeting = r#"{"version":3,"disabled":true,"content":{"rules":null,"variations":[{"value":"1","name":"a","description":null}],"disabledServe":{"select":0,"split":null},"defaultServe":null,"prerequisites":null},"locked":null,"enableApproval":null,"modifiedBy":null,"modifiedTime":null,"publishTime":null,"submitBy":null}"#;
    let stand = Stand::answers([environments, toggle, targeting].map(|body| Answer::json(200, body)));
    let read = stand.reader.environments(&"shop".parse().unwrap()).await.unwrap();
    assert!(!read.entries[0].needs_approval && read.entries[0].server_sdk_key.is_none());
    let id = id("shop/prod/pay");
    let listed = stand.reader.toggle(&id).await.unwrap().unwrap();
    assert_eq!(line(&listed), "pay None None false None");
    let Live::Toggle(live) = stand.reader.live(&id, &listed).await.unwrap() else {
        panic!("the toggle exists");
    };
    assert!(live.content.payload().is_some() && live.draft.is_none() && !live.needs_approval);
}

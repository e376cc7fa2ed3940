//! Which toggles of a project are archived, while a pass publishes some of them.

use std::time::Duration;

use gitoggle::service::{Outcome, ProjectReader, ToggleDemand};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Stand, id};
use crate::support::Answer;

const LIST: &str = "/api/projects/shop/toggles?pageIndex=0&pageSize=1000";
const PAY: &str = "/api/projects/shop/toggles/pay";

fn list(keys: &[&str]) -> Answer {
    let toggles: Vec<Value> = keys.iter().map(|key| json!({ "key": key, "returnType": "boolean" })).collect();
    Answer::json(
        200,
        &json!({ "content": toggles, "totalElements": keys.len(), "totalPages": 1 }).to_string(),
    )
}

fn toggle(archived: bool) -> Answer {
    Answer::json(200, &json!({ "key": "pay", "archived": archived }).to_string())
}

fn project(stand: &Stand, demand: ToggleDemand) -> ProjectReader {
    ProjectReader::new(stand.reader.clone(), "shop".parse().unwrap(), demand)
}

/// Returns whether `pay` is archived.
async fn is_archived(project: &ProjectReader, now: Instant) -> Result<Option<bool>, Outcome> {
    let found = project.find(&id("shop/prod/pay"), now).await?;
    Ok(found.map(|listed| listed.is_archived))
}

#[tokio::test]
async fn the_only_toggle_of_a_pass_is_read_each_time() {
    let stand = Stand::answers([toggle(false), toggle(true)]);
    let (project, now) = (project(&stand, ToggleDemand::One), Instant::now());
    assert_eq!(is_archived(&project, now).await, Ok(Some(false)));
    assert_eq!(is_archived(&project, now).await, Ok(Some(true)));
    stand.asked(&[PAY, PAY]);
}

#[tokio::test]
async fn several_toggles_share_a_list_which_is_read_again_after_ten_seconds() {
    let stand = Stand::answers([list(&["pay", "ship"]), list(&["ship"]), toggle(true)]);
    let (project, began) = (project(&stand, ToggleDemand::Several), Instant::now());
    for age in [0, 9_999] {
        let now = began + Duration::from_millis(age);
        assert_eq!(is_archived(&project, now).await, Ok(Some(false)), "{age}");
    }
    stand.asked(&[LIST]);
    let now = began + Duration::from_secs(20);
    assert_eq!(is_archived(&project, now).await, Ok(Some(true)));
    stand.asked(&[LIST, PAY]);
}

#[tokio::test]
async fn a_list_that_takes_long_to_read_is_used_for_ten_times_as_long() {
    let slow = list(&["pay", "ship"]).slowly(Duration::from_millis(1_500));
    let stand = Stand::answers([slow, list(&["ship"]), toggle(true)]);
    let (project, began) = (project(&stand, ToggleDemand::Several), Instant::now());
    for (age, archived) in [(0, false), (14, false), (60, true)] {
        let now = began + Duration::from_secs(age);
        assert_eq!(is_archived(&project, now).await, Ok(Some(archived)), "{age}");
    }
    stand.asked(&[LIST, LIST, PAY]);
}

#[tokio::test]
async fn a_toggle_that_the_list_lacks_may_have_been_created_since() {
    let unknown = Answer::json(400, r#"{"code":"not_found","message":"Toggle pay not found"}"#);
    let stand = Stand::answers([list(&["ship"]), unknown, toggle(false)]);
    let (project, now) = (project(&stand, ToggleDemand::Several), Instant::now());
    assert_eq!(is_archived(&project, now).await, Ok(None));
    assert_eq!(is_archived(&project, now).await, Ok(Some(false)));
    stand.asked(&[LIST, PAY, PAY]);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_read_again() {
    let stand = Stand::answers([Answer::status(503), list(&["pay", "ship"])]);
    let (project, now) = (project(&stand, ToggleDemand::Several), Instant::now());
    assert!(is_archived(&project, now).await.is_err());
    assert_eq!(is_archived(&project, now).await, Ok(Some(false)));
    stand.asked(&[LIST, LIST]);
}

//! The pages without HTTP.

use serde_json::{Value, json};

use super::*;
use crate::model::ServiceKind;
use crate::transport::Secret;

/// Toggles with their versions, oldest first.
struct Stored(Vec<(&'static str, Vec<ShownVersion>)>);

impl PageSource for Stored {
    fn toggles(&self) -> Vec<ShownToggle> {
        let toggles = self.0.iter().map(|(id, versions)| ShownToggle {
            id: (*id).to_owned(),
            changed: versions.last().unwrap().at,
            version_count: versions.len(),
        });
        toggles.collect()
    }

    fn versions(&self, toggle: &str, most: usize) -> Vec<ShownVersion> {
        let found = self.0.iter().find(|(id, _)| *id == toggle);
        let versions = found.map_or(&[][..], |(_, versions)| versions);
        let newest = versions.iter().skip(versions.len().saturating_sub(most));
        newest
            .map(|it| version(it.number, it.at.as_second(), &it.comment, it.content.clone()))
            .collect()
    }
}

fn version(number: u64, at: i64, comment: &str, content: Value) -> ShownVersion {
    ShownVersion {
        number,
        at: Timestamp::from_second(at).unwrap(),
        author: None,
        comment: comment.to_owned(),
        disabled: false,
        content,
    }
}

/// Returns `count` versions, the last of them at `at`.
fn versions(count: u64, at: i64) -> Vec<ShownVersion> {
    let numbers = 1..=count;
    let at = |number: u64| at - i64::try_from(count - number).unwrap();
    numbers
        .map(|number| {
            version(
                number,
                at(number),
                &format!("Change {number}"),
                json!({ "rules": [number] }),
            )
        })
        .collect()
}

fn overview(stored: Stored, filter: &str) -> String {
    let connection = SandboxConnection {
        url: "https://127.0.0.1:1".to_owned(),
        ca_file: None,
        token: Secret::new("secret".to_owned()),
        kind: ServiceKind::Documented,
    };
    let state = PageState {
        connection,
        source: Arc::new(stored),
    };
    let query = OverviewQuery { q: filter.to_owned() };
    overview::body(&state, &query, 100).main.into_string()
}

fn comparison(stored: &Stored, from: Option<u64>, to: Option<u64>) -> Option<String> {
    let toggle = "p/e/a".to_owned();
    let body = comparison::body(stored, &VersionsQuery { toggle, from, to }, 100);
    Some(body?.main.into_string())
}

#[test]
fn foreign_text_cannot_become_markup() {
    let hostile = "<script>alert(1)</script>\n</pre><b>\u{202e}";
    let content = json!({ "variations": [{ "name": "<b>" }], "defaultServe": { "select": 0 } });
    let stored = || Stored(vec![("p/e/a", vec![version(1, 0, hostile, content.clone())])]);
    let filter = "\"><script>";
    for page in [
        overview(stored(), ""),
        overview(stored(), filter),
        comparison(&stored(), None, None).unwrap(),
    ] {
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(!page.contains("\u{202e}"), "{page}");
    }
}

#[test]
fn the_most_recently_changed_toggle_comes_first_and_a_filter_hides_the_others() {
    let stored = || {
        Stored(vec![
            ("p/e/a", versions(1, 1)),
            ("p/e/b", versions(1, 3)),
            ("p/f/c", versions(1, 2)),
        ])
    };
    let page = overview(stored(), "");
    let at = |text: &str| page.find(text).unwrap();
    assert!(at(">p/e/b<") < at(">p/f/c<") && at(">p/f/c<") < at(">p/e/a<"));
    assert!(page.contains(">3 toggles<"), "{page}");
    let page = overview(stored(), "p/e/");
    assert!(
        !page.contains("p/f/c") && page.contains(">2 of 3 toggles<"),
        "{page}"
    );
    let page = overview(Stored(Vec::new()), "");
    assert!(page.contains("Nothing is here yet."), "{page}");
}

#[test]
fn only_the_newest_versions_and_toggles_are_listed() {
    let page = overview(Stored(vec![("p/e/a", versions(7, 10))]), "");
    assert!(page.contains("Change 3") && !page.contains("Change 2"), "{page}");
    assert!(page.contains("Compare version 3 with version 2"), "{page}");
    assert!(page.contains("Compare all 7 versions"), "{page}");
    let names = (0..101).map(|number| -> &'static str { format!("p/e/{number}").leak() });
    let page = overview(Stored(names.map(|name| (name, versions(1, 1))).collect()), "");
    assert_eq!(page.matches("<article").count(), 100);
    assert!(
        page.contains("The 100 most recently changed toggles are shown."),
        "{page}"
    );
}

#[test]
fn two_versions_are_compared_in_either_direction() {
    let stored = Stored(vec![("p/e/a", versions(3, 10))]);
    let page = comparison(&stored, None, None).unwrap();
    assert!(page.contains("From version 2 to version 3"), "{page}");
    assert!(
        page.contains("class=\"del\">-      2\n<") && page.contains("class=\"add\">+      3\n<"),
        "{page}"
    );
    let page = comparison(&stored, Some(3), Some(1)).unwrap();
    assert!(page.contains("From version 3 to version 1"), "{page}");
    assert!(
        page.contains("class=\"del\">-      3\n<") && page.contains("class=\"add\">+      1\n<"),
        "{page}"
    );
    let page = comparison(&stored, Some(2), Some(2)).unwrap();
    assert!(page.contains("Both versions have the same targeting."), "{page}");
    let page = comparison(&stored, None, Some(1)).unwrap();
    assert!(
        page.contains(">Version 1<") && !page.contains("class=\"diff\""),
        "{page}"
    );
}

#[test]
fn a_toggle_or_version_that_does_not_exist_is_not_found() {
    let stored = Stored(vec![("p/e/a", versions(3, 10))]);
    assert!(comparison(&stored, None, Some(4)).is_none());
    assert!(comparison(&stored, Some(0), None).is_none());
    assert!(comparison(&Stored(Vec::new()), None, None).is_none());
}

#[test]
fn content_of_any_form_is_summarized() {
    let text = |content: Value| overview::summary(&content).into_string();
    assert_eq!(
        text(Value::Null),
        "0 variations, 0 rules; serves nothing by default and nothing when disabled"
    );
    let content = json!({
        "variations": [{ "name": "a" }, { "name": "b" }],
        "rules": [{}],
        "defaultServe": { "split": [1, 2, 3] },
        "disabledServe": { "select": 1 },
    });
    assert_eq!(
        text(content),
        "2 variations, 1 rule; serves <code>a</code>/<code>b</code>/<code>?</code> by default and <code>b</code> \
         when disabled"
    );
}

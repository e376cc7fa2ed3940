//! axe-core: what is known to keep people from using a page.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::tab::{Browser, Scheme, missing};

/// Returns the script of axe-core, which `.ci/axe-core` downloads. Without it, prints that the test is
/// skipped, or fails if `REQUIRE_BROWSER` is set.
pub(super) fn axe() -> Option<String> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("axe-core/package/axe.min.js");
    let script = std::fs::read_to_string(path).ok();
    if script.is_none() {
        missing("no axe-core (.ci/axe-core downloads it)");
    }
    script
}

/// Fails if axe-core finds a violation, or if the page is wider than the window: at 1280 and 400 px, light
/// and dark.
#[track_caller]
pub(super) fn is_accessible(browser: &Browser, axe: &str) {
    for width in [1280, 400] {
        for scheme in [Scheme::Light, Scheme::Dark] {
            browser.window(width, scheme);
            browser.eval(&format!("{axe}; 0"));
            let found = browser.eval("axe.run({ resultTypes: ['violations'] }).then((it) => it.violations)");
            let found: Vec<Value> = found.as_array().unwrap().iter().map(summary).collect();
            assert!(found.is_empty(), "{width} px, {scheme:?}: {found:#?}");
            fits(browser, width);
        }
    }
}

/// Fails if the page can be scrolled sideways.
#[track_caller]
pub(super) fn fits(browser: &Browser, width: u32) {
    let found = browser.eval("document.documentElement.scrollWidth");
    assert!(found.as_u64() <= Some(width.into()), "{width} px: {found} px wide");
}

fn summary(violation: &Value) -> Value {
    let nodes = violation["nodes"].as_array().unwrap().iter();
    let nodes: Vec<_> =
        nodes.map(|node| json!({ "html": node["html"], "why": node["failureSummary"] })).take(5).collect();
    json!({ "rule": violation["id"], "help": violation["help"], "nodes": nodes })
}

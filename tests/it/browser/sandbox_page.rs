//! The page of `gitoggle sandbox`.

use std::collections::BTreeMap;

use serde_json::json;

use super::axe::{axe, is_accessible};
use super::{Browser, hostile};
use crate::sandbox::Sandbox;
use crate::support::{Gitoggle, LiveService, eventually};

/// Publishes `shop/prod/pay` with this age.
fn publish(sandbox: &Sandbox, age: u32) {
    let repo = &sandbox.world.repo;
    repo.commit_pay(age, &format!("Set the age to {age}\n\nReviewed by <b>Ann</b>."));
    sandbox.apply().set("first-pass", "assert").exit(0).any_output();
}

/// Waits until the page shows this text.
#[track_caller]
fn shows(browser: &Browser, text: &str) {
    browser.until(
        &format!("the page to show {text:?}"),
        &format!(
            "document.querySelector('main').innerText.includes({})",
            json!(text)
        ),
    );
}

#[test]
fn the_copied_lines_of_the_sandbox_connect_gitoggle_to_it() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::with_token("sandbox-token");
    browser.open(&format!("{}/", sandbox.url()));
    browser.click(".command .copy");
    browser.until(
        "the lines to be copied",
        "!!document.querySelector('[data-copied]')",
    );
    let copied = browser.clipboard();
    eventually("the start to be printed", || {
        sandbox.printed().ends_with("Ctrl-C\n").then_some(())
    });
    for line in copied.lines() {
        assert!(
            sandbox.printed().contains(&format!("\n  {line}\n")),
            "{line} in {}",
            sandbox.printed()
        );
    }
    let exports = copied.lines().map(|line| line.strip_prefix("export ").unwrap());
    let exports: BTreeMap<&str, &str> = exports.map(|line| line.split_once('=').unwrap()).collect();
    assert_eq!(
        exports.keys().copied().collect::<Vec<_>>(),
        ["GITOGGLE_BASE_URL", "GITOGGLE_CA_FILE", "GITOGGLE_TOKEN"]
    );
    sandbox.world.repo.commit_pay(18, "Add pay");
    let unset = |run: Gitoggle| {
        run.unset("base-url")
            .unset("ca-file")
            .without_env("GITOGGLE_TOKEN")
    };
    let run = exports
        .iter()
        .fold(unset(sandbox.world.apply()), |run, (name, value)| {
            run.env(name, value)
        });
    run.set("first-pass", "assert").exit(0).any_output();
    shows(&browser, "shop/prod/pay");
    browser.is_quiet(&sandbox.url());
}

#[test]
fn publishes_appear_on_the_page_of_the_sandbox_without_a_reload() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::start("");
    browser.open(&format!("{}/", sandbox.url()));
    shows(&browser, "Nothing is here yet.");
    browser.eval("window.isSame = true");
    publish(&sandbox, 18);
    shows(&browser, "Set the age to 18");
    publish(&sandbox, 21);
    shows(&browser, "Set the age to 21");
    browser.click("article details summary");
    shows(&browser, "From version 1 to version 2");
    let diff = browser.text("document.querySelector('article .diff').innerText");
    assert!(diff.contains("\"18\"") && diff.contains("\"21\""), "{diff}");
    shows(&browser, "Reviewed by <b>Ann</b>.");
    // What the reader opened stays open when the next version arrives.
    publish(&sandbox, 30);
    shows(&browser, "Set the age to 30");
    shows(&browser, "From version 1 to version 2");
    assert_eq!(browser.eval("window.isSame"), true);
    browser.is_quiet(&sandbox.url());
}

#[test]
fn two_versions_are_compared_on_the_page_of_the_sandbox() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::start("");
    for age in 1..=7 {
        publish(&sandbox, age);
    }
    browser.open(&format!("{}/", sandbox.url()));
    browser.click("article .pager a");
    shows(&browser, "From version 6 to version 7");
    browser.eval("window.isSame = true");
    browser.choose("#from", "2");
    shows(&browser, "From version 2 to version 7");
    browser.choose("#to", "4");
    shows(&browser, "From version 2 to version 4");
    let diff = browser.text("document.querySelector('.diff').innerText");
    assert!(diff.contains("\"2\"") && diff.contains("\"4\""), "{diff}");
    assert_eq!(browser.eval("window.isSame"), true);
    assert!(browser.text("location.search").contains("from=2&to=4"));
    browser.is_quiet(&sandbox.url());
    // People edit addresses.
    for query in ["", "?toggle=shop/prod/pay&to=last", "?toggle=nothing"] {
        browser.open(&format!("{}/versions{query}", sandbox.url()));
        shows(&browser, "The sandbox has no such toggle or version.");
    }
}

#[test]
fn the_page_of_the_sandbox_works_without_scripts() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::start("");
    publish(&sandbox, 18);
    publish(&sandbox, 21);
    browser.disable_scripts();
    browser.open(&format!("{}/", sandbox.url()));
    browser.click("article details summary");
    browser.click("article details a");
    shows(&browser, "From version 1 to version 2");
    browser.eval("document.querySelector('#to').value = '1'; document.querySelector('#from').value = '2'");
    browser.click("form button");
    shows(&browser, "From version 2 to version 1");
    browser.click("main a");
    shows(&browser, "Connect");
    browser.tab_to("#filter");
    browser.write("nothing like this");
    browser.press("Enter");
    shows(&browser, "0 of 1 toggle");
    browser.is_quiet(&sandbox.url());
}

#[test]
fn both_kinds_of_sandbox_have_an_accessible_page() {
    let Some(browser) = Browser::start() else { return };
    let Some(axe) = axe() else { return };
    let sandbox = Sandbox::start("");
    browser.open(&format!("{}/", sandbox.url()));
    is_accessible(&browser, &axe);
    hostile::toggles(&sandbox.world.repo);
    sandbox.apply().set("first-pass", "assert").exit(0).any_output();
    publish(&sandbox, 18);
    publish(&sandbox, 21);
    shows(&browser, "Set the age to 21");
    browser.click("article details summary");
    shows(&browser, "From version 1 to version 2");
    is_accessible(&browser, &axe);
    browser.open(&format!("{}/versions?toggle=shop/prod/pay", sandbox.url()));
    is_accessible(&browser, &axe);

    let service = Sandbox::readable();
    browser.open(&format!("{}/", service.url()));
    shows(&browser, "shop/production/banner");
    is_accessible(&browser, &axe);
}

#[test]
fn the_changes_of_others_appear_on_the_page_of_a_readable_sandbox() {
    let Some(browser) = Browser::start() else { return };
    let variations = json!([{ "name": "off", "value": "false" }, { "name": "on", "value": "true" }]);
    let toggle = json!({ "key": "pay", "returnType": "boolean", "variations": variations });
    let service = LiveService::start(&json!([toggle]));
    browser.open(&format!("{}/", service.url()));
    shows(&browser, "shop/prod/pay");
    shows(&browser, "disabled");
    service.edit(
        "pay",
        json!({ "comment": "Someone \u{202e}<i>else</i>", "disabled": false }),
    );
    shows(&browser, "Someone \\u{202e}<i>else</i>");
    shows(&browser, "enabled");
    browser.click("article details summary");
    shows(&browser, "-  \"disabled\": true");
    browser.is_quiet(&service.url());
}

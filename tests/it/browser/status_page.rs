//! The page of the daemon, as a person on call uses it.

use std::time::{Duration, Instant};

use serde_json::json;

use super::axe::{axe, fits, is_accessible};
use super::tab::Scheme;
use super::{Browser, hostile};
use crate::sandbox::Sandbox;
use crate::support::{Daemon, doc};

/// A sandbox and a daemon that publishes to it.
pub(super) struct Stand {
    sandbox: Sandbox,
    daemon: Daemon,
}

impl Stand {
    /// Nothing is in the repository, so that the daemon is not ready.
    fn empty() -> Self {
        let sandbox = Sandbox::start("");
        sandbox.world.repo.commit("Begin");
        let daemon = Daemon::start(&sandbox.world, |run| sandbox.connected(run));
        daemon.is_unready_for(&["no file"]);
        Self { sandbox, daemon }
    }

    /// Ten applied toggles, which one commit changes. That is held as a mass change.
    fn with_held_toggles() -> Self {
        let sandbox = Sandbox::start("");
        let change = |age, message: &str| {
            for number in 0..10 {
                sandbox.world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(age));
            }
            sandbox.world.repo.commit(message);
        };
        change(18, "Add all");
        sandbox.apply().set("first-pass", "assert").exit(0).any_output();
        change(21, "Raise every age");
        let daemon = Daemon::ready(&sandbox.world, |run| sandbox.connected(run));
        daemon.becomes("shop/prod/t0", "held");
        Self { sandbox, daemon }
    }

    fn origin(&self) -> String {
        format!("http://{}", self.daemon.endpoint.address())
    }

    fn open(&self, browser: &Browser) {
        browser.open(&format!("{}/", self.origin()));
    }

    /// Runs a command that a person copied from the page.
    fn enter(&self, command: &str) {
        let arguments = command.strip_prefix("gitoggle allow ");
        let arguments = arguments.unwrap_or_else(|| panic!("{command}"));
        let run = self.sandbox.world.bare("allow").args(arguments);
        let token = self.sandbox.world.path("admin-token");
        run.set("admin-token-file", token).exit(0).any_output();
    }
}

/// Waits until the text of an element is this one.
#[track_caller]
fn reads(browser: &Browser, selector: &str, text: &str) {
    let element = format!("document.querySelector({})", json!(selector));
    let what = format!("{selector} to read {text:?}");
    browser.until(&what, &format!("{element}?.innerText.includes({})", json!(text)));
}

const GROUP: &str = "[data-environment='shop/prod'][data-reason]";

#[test]
fn a_person_finds_out_why_a_toggle_is_held_and_releases_it() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::with_held_toggles();
    stand.open(&browser);
    browser.eval("window.isSame = true");
    reads(&browser, "#verdict", "Ready, 10 toggles are waiting");
    assert!(browser.text("document.title").starts_with("Ready, 10 toggles are waiting"));
    reads(&browser, &format!("{GROUP} .reason"), "10 of 10 applied toggles would be updated");
    browser.click("[data-toggle='shop/prod/t3'] summary");
    reads(&browser, "[data-toggle='shop/prod/t3'] .sentences", "age > 18 (number) → age > 21 (number)");
    let diff = browser.text("document.querySelector(\"[data-toggle='shop/prod/t3'] .diff\").innerText");
    assert!(diff.contains("objects: [\"18\"]") && diff.contains("objects: [\"21\"]"), "{diff}");
    reads(&browser, "[data-toggle='shop/prod/t3'] .origin", "Raise every age");

    browser.click(&format!("{GROUP} .remedies .copy"));
    browser.until("the command to be copied", "!!document.querySelector('[data-copied]')");
    let command = browser.clipboard();
    stand.enter(&command);
    // The page shows the result without being reloaded.
    reads(&browser, "#verdict", "Ready");
    reads(&browser, "#remarks", "All 10 toggles are in sync.");
    reads(&browser, "#waiting", "Nothing is waiting.");
    reads(&browser, "#history", "Raise every age");
    assert_eq!(browser.eval("window.isSame"), true);
    browser.click("#history summary");
    browser.click("#history [data-part] a");
    reads(&browser, "#deployment-toggles", "age > 18 (number) → age > 21 (number)");
    browser.is_quiet(&stand.origin());
}

#[test]
fn a_person_finds_a_toggle_by_its_name_and_state() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::with_held_toggles();
    stand.open(&browser);
    browser.eval("window.isSame = true");
    browser.click("#search");
    browser.write("prod t7");
    reads(&browser, "#toggle-count", "1 of 10 toggles");
    assert!(browser.text("location.search").contains("q=prod+t7"));
    browser.choose("#state", "in_sync");
    reads(&browser, "#toggle-count", "0 of 10 toggles");
    reads(&browser, "#toggle-list", "No toggle matches.");
    browser.choose("#state", "held");
    reads(&browser, "#toggle-list", "shop/prod/t7");
    assert_eq!(browser.eval("document.querySelector('#search').value"), "prod t7");
    assert_eq!(browser.eval("window.isSame"), true);
    browser.click("#toggle-list th a");
    reads(&browser, "#facts", "held");
    reads(&browser, "#toggle .diff", "\"21\"");
    browser.is_quiet(&stand.origin());
}

#[test]
fn a_paused_page_stays_as_it_is_and_can_be_filtered() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::with_held_toggles();
    stand.open(&browser);
    browser.click("#pause");
    reads(&browser, "#connection", "Paused");
    browser.click("#search");
    browser.write("prod t7");
    reads(&browser, "#toggle-count", "1 of 10 toggles");
    reads(&browser, "#connection", "Paused");
    // A response that arrives after the click changes nothing.
    browser.click("#pause");
    reads(&browser, "#connection", "Live");
    browser.eval(
        "document.dispatchEvent(new Event('visibilitychange')); document.querySelector('#pause').click()",
    );
    browser.eval("document.querySelector('#verdict').textContent = 'as it was'");
    browser.eval("document.body.dataset.version = ''");
    browser.eval("new Promise(resolve => setTimeout(resolve, 500))");
    reads(&browser, "#verdict", "as it was");
    reads(&browser, "#connection", "Paused");
    browser.is_quiet(&stand.origin());
}

#[test]
fn the_page_of_the_daemon_can_be_used_with_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::with_held_toggles();
    stand.open(&browser);
    browser.press("Tab");
    assert_eq!(browser.eval("document.activeElement.matches('a.skip')"), true);
    browser.press("Enter");
    browser.until("the skip link to lead to the content", "location.hash === '#main'");
    browser.tab_to(&format!("{GROUP} .copy"));
    browser.press("Enter");
    browser.until("the command to be copied", "!!document.querySelector('[data-copied]')");
    assert!(browser.clipboard().starts_with("gitoggle allow mass-change shop/prod"));
    reads(&browser, "#announcer", "Copied");
    browser.tab_to("[data-toggle='shop/prod/t2'] summary");
    browser.press("Space");
    // What scrolls can be reached.
    browser.tab_to("[data-toggle='shop/prod/t2'] .diff");
    browser.tab_to("#search");
    browser.write("t5");
    reads(&browser, "#toggle-count", "1 of 10 toggles");
    browser.tab_to("#toggle-list th a");
    browser.press("Enter");
    reads(&browser, "h1", "shop/prod/t5");
    browser.is_quiet(&stand.origin());
}

#[test]
fn the_page_of_the_daemon_works_without_scripts() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::with_held_toggles();
    browser.disable_scripts();
    stand.open(&browser);
    reads(&browser, "#verdict", "Ready, 10 toggles are waiting");
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('.copy')).display"), "none");
    browser.click("[data-toggle='shop/prod/t3'] summary");
    reads(&browser, "[data-toggle='shop/prod/t3'] .diff", "\"21\"");
    reads(&browser, &format!("{GROUP} .command"), "gitoggle allow mass-change shop/prod");
    browser.click("[data-environment='shop/prod'] summary");
    browser.click("[data-environment='shop/prod'] [data-part] a");
    // The first page has the same count, and what is typed there is gone with it.
    browser.until("the page to be followed", "location.search !== ''");
    browser.is_loaded();
    reads(&browser, "#toggle-count", "10 of 10 toggles");
    browser.click("#search");
    browser.write("t4");
    browser.press("Enter");
    reads(&browser, "#toggle-count", "1 of 10 toggles");
    browser.click("#toggle-list th a");
    reads(&browser, "h1", "shop/prod/t4");
    browser.is_quiet(&stand.origin());
}

#[test]
fn an_open_page_recovers_after_the_daemon_was_restarted() {
    let Some(browser) = Browser::start() else { return };
    let Stand { sandbox, daemon } = Stand::with_held_toggles();
    let origin = format!("http://{}", daemon.endpoint.address());
    browser.open(&format!("{origin}/"));
    browser.eval("window.isSame = true");
    browser.click("[data-toggle='shop/prod/t3'] summary");
    let address = daemon.endpoint.address();
    daemon.kill();
    reads(&browser, "#connection", "Connection lost");
    // As after a long time: each of these is an attempt that fails, and the script waits longer after each.
    for _ in 0..8 {
        browser.eval("dispatchEvent(new Event('online'))");
    }
    let shown = "document.querySelector(\"[data-toggle='shop/prod/t3'] .diff\")?.innerText.includes('21')";
    assert_eq!(browser.eval(shown), true, "the last state stays readable");
    sandbox.world.repo.file("shop/prod/t3.yaml", doc(30)).commit("Raise one age more");
    let _daemon = Daemon::start(&sandbox.world, |run| sandbox.connected(run).set("listen", &address));
    // The script waits longer after each failure, up to ten seconds.
    let end = Instant::now() + Duration::from_secs(20);
    while browser.eval("document.querySelector('#connection').textContent") != "Live" {
        assert!(Instant::now() < end, "the page does not recover");
        std::thread::sleep(Duration::from_millis(50));
    }
    reads(&browser, "[data-toggle='shop/prod/t3'] .diff", "\"30\"");
    assert_eq!(browser.eval("window.isSame"), true);
}

#[test]
fn short_texts_keep_their_distance_from_each_other_and_from_the_edge() {
    let Some(browser) = Browser::start() else { return };
    Stand::empty().open(&browser);
    reads(&browser, "#verdict", "Not ready");
    let empty =
        "[...document.querySelectorAll('.empty')].map(one => parseFloat(getComputedStyle(one).paddingLeft))";
    assert_eq!(browser.eval(&format!("{empty}.length")), 4);
    assert_eq!(browser.eval(&format!("Math.min(...{empty}) > 10")), true);
    let held = Stand::with_held_toggles();
    held.open(&browser);
    let place = |part: &str| {
        format!(
            "document.querySelector('{GROUP} header {part}').getBoundingClientRect()",
            GROUP = GROUP.replace('\'', "\\'")
        )
    };
    let gap = format!("{}.left - {}.right", place(".kind"), place(".state"));
    assert_eq!(browser.eval(&format!("{gap} >= 6")), true, "{gap}");
}

#[test]
fn hostile_names_and_texts_stay_text_and_break_no_layout() {
    let Some(browser) = Browser::start() else { return };
    let stand = Stand::empty();
    hostile::toggles(&stand.sandbox.world.repo);
    let name = "x".repeat(128);
    stand.daemon.becomes(&format!("{name}/{name}/{name}"), "held");
    stand.open(&browser);
    reads(&browser, "main", &name);
    // Images would load and scripts would run, were they elements.
    let strange = "document.querySelectorAll('main img, main script, main b b, main i').length";
    for address in
        ["/".to_owned(), format!("/?toggle={name}/{name}/{name}"), "/?q=%3Cscript%3E%E2%80%AE".to_owned()]
    {
        browser.open(&format!("{}{address}", stand.origin()));
        assert_eq!(browser.eval(strange), 0, "{address}");
        assert_eq!(browser.eval("/[\\u202e\\u2066]/.test(document.documentElement.outerHTML)"), false);
        for width in [1280, 400] {
            browser.window(width, Scheme::Light);
            fits(&browser, width);
        }
    }
    browser.is_quiet(&stand.origin());
}

#[test]
fn the_page_of_the_daemon_is_accessible_whatever_it_shows() {
    let Some(browser) = Browser::start() else { return };
    let Some(axe) = axe() else { return };
    let empty = Stand::empty();
    empty.open(&browser);
    reads(&browser, "#verdict", "Not ready");
    is_accessible(&browser, &axe);

    let held = Stand::with_held_toggles();
    held.open(&browser);
    browser.click("[data-environment='shop/prod'] summary");
    reads(&browser, "[data-environment='shop/prod'] [data-part]", "shop/prod/t0");
    browser.click("[data-toggle='shop/prod/t3'] summary");
    is_accessible(&browser, &axe);
    browser.open(&format!("{}/?toggle=shop/prod/t3", held.origin()));
    is_accessible(&browser, &axe);

    let many = Stand::empty();
    let repo = &many.sandbox.world.repo;
    for number in 0..300 {
        repo.file(&format!("shop/e{}/toggle-{number}.yaml", number % 30), doc(18));
    }
    hostile::toggles(repo);
    many.daemon.becomes("shop/e0/toggle-0", "held");
    many.open(&browser);
    reads(&browser, "#verdict", "301 toggles are waiting");
    is_accessible(&browser, &axe);
}

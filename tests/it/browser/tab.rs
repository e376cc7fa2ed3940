//! A browser with one tab: what a person does in it, and what it reports.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::devtools::{DevTools, program};
use crate::support::eventually;

/// A person's preferred colors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scheme {
    Dark,
    Light,
}

/// A headless browser. It ends when it is dropped.
pub(super) struct Browser {
    devtools: DevTools,
    session: String,
}

impl Browser {
    /// Starts a browser. Without one on this machine, prints that the test is skipped, or fails if
    /// `REQUIRE_BROWSER` is set.
    pub(super) fn start() -> Option<Self> {
        let Some(program) = program() else {
            missing("no Chromium on the PATH (or in CHROME)");
            return None;
        };
        let devtools = DevTools::start(&program);
        let command = |method: &str, parameters: Value| devtools.command(None, method, &parameters).unwrap();
        let target = command("Target.createTarget", json!({ "url": "about:blank" }));
        let session =
            command("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        command(
            "Browser.grantPermissions",
            json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] }),
        );
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let browser = Self { devtools, session };
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            browser.command(&format!("{domain}.enable"), &json!({}));
        }
        browser.command("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        browser.window(1280, Scheme::Light);
        Some(browser)
    }

    /// Opens an address and waits until it is loaded.
    #[track_caller]
    pub(super) fn open(&self, url: &str) {
        let answer = self.command("Page.navigate", &json!({ "url": url }));
        assert_eq!(answer["errorText"], Value::Null, "{url}");
        self.is_loaded();
    }

    #[track_caller]
    pub(super) fn is_loaded(&self) {
        self.until("the page to be loaded", "document.readyState === 'complete'");
    }

    /// Sets the width of the window in CSS pixels, and the preferred colors.
    pub(super) fn window(&self, width: u32, scheme: Scheme) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &size);
        let value = match scheme {
            Scheme::Dark => "dark",
            Scheme::Light => "light",
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.command("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Turns the page's JavaScript off.
    pub(super) fn disable_scripts(&self) {
        self.command("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    /// Evaluates an expression in the page, whatever its policy is.
    #[track_caller]
    pub(super) fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Evaluates an expression that returns text.
    #[track_caller]
    pub(super) fn text(&self, expression: &str) -> String {
        let value = self.eval(expression);
        let text = value.as_str();
        text.unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression is neither false nor empty.
    #[track_caller]
    pub(super) fn until(&self, what: &str, expression: &str) -> Value {
        eventually(what, || {
            // A page that is being replaced cannot evaluate.
            let value = self.try_eval(expression).ok()?;
            let is_met = !matches!(&value, Value::Null | Value::Bool(false)) && value != "" && value != 0;
            is_met.then_some(value)
        })
    }

    /// Waits until the element exists, then clicks in its middle, which must be visible and not covered.
    #[track_caller]
    pub(super) fn click(&self, selector: &str) {
        let quoted = json!(selector);
        let place = self.until(
            &format!("{selector} to be clickable"),
            &format!(
                "(() => {{
                   const element = document.querySelector({quoted});
                   if (!element) return null;
                   element.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                   const box = element.getClientRects()[0];
                   if (!box) return null;
                   const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                   const top = document.elementFromPoint(x, y);
                   return top && (element.contains(top) || top.contains(element)) ? {{ x, y }} : null;
                 }})()"
            ),
        );
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1 });
            self.command("Input.dispatchMouseEvent", &event);
        }
    }

    /// Chooses an option of a `select` element, as a person does.
    #[track_caller]
    pub(super) fn choose(&self, selector: &str, value: &str) {
        self.eval(&format!(
            "(() => {{
               const select = document.querySelector({});
               select.focus();
               select.value = {};
               for (const kind of ['input', 'change']) select.dispatchEvent(new Event(kind, {{ bubbles: true }}));
             }})()",
            json!(selector),
            json!(value)
        ));
    }

    /// Presses and releases a key, such as `Tab` or `Enter`.
    pub(super) fn press(&self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "Space" => (32, " "),
            "Tab" => (9, ""),
            other => panic!("{other} has no key code here"),
        };
        let name = if key == "Space" { " " } else { key };
        let mut event = json!({ "type": "keyDown", "key": name, "code": key, "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            event["text"] = text.into();
        }
        self.command("Input.dispatchKeyEvent", &event);
        event["type"] = "keyUp".into();
        self.command("Input.dispatchKeyEvent", &event);
    }

    /// Presses Tab until the element that has the focus matches the selector.
    #[track_caller]
    pub(super) fn tab_to(&self, selector: &str) {
        let is_there = format!("document.activeElement?.matches({}) ?? false", json!(selector));
        for _ in 0..200 {
            if self.eval(&is_there) == true {
                return;
            }
            self.press("Tab");
        }
        panic!("Tab does not reach {selector}");
    }

    /// Types text where the focus is.
    pub(super) fn write(&self, text: &str) {
        self.command("Input.insertText", &json!({ "text": text }));
    }

    /// Returns the text of the clipboard.
    pub(super) fn clipboard(&self) -> String {
        self.text("navigator.clipboard.readText()")
    }

    /// Fails if something was wrong since the browser started: an error or a warning in the console, a
    /// violation of the content security policy, or a request to another place than `origin`.
    #[track_caller]
    pub(super) fn is_quiet(&self, origin: &str) {
        let found = self.problems(origin);
        assert!(found.is_empty(), "{found:#?}");
    }

    /// Returns what [`Browser::is_quiet`] fails on, one line each.
    pub(super) fn problems(&self, origin: &str) -> Vec<String> {
        let events = |method| self.devtools.events(method).into_iter();
        let requests = events("Network.requestWillBeSent").map(|event| event["request"]["url"].clone());
        let is_foreign = |url: &Value| {
            let url = url.as_str().unwrap_or_default();
            !url.starts_with(&format!("{origin}/")) && url != "about:blank"
        };
        let logged = events("Log.entryAdded").map(|event| event["entry"].clone());
        let spoken = events("Runtime.consoleAPICalled");
        let is_bad =
            |level: &Value| ["assert", "error", "warning"].contains(&level.as_str().unwrap_or_default());
        let found = requests
            .filter(is_foreign)
            .map(|url| format!("a request to {url}"))
            .chain(logged.filter(|entry| is_bad(&entry["level"])).map(|entry| entry.to_string()))
            .chain(spoken.filter(|call| is_bad(&call["type"])).map(|call| call.to_string()))
            .chain(events("Runtime.exceptionThrown").map(|event| event.to_string()))
            .chain(events("Audits.issueAdded").map(|event| event.to_string()));
        found.collect()
    }

    /// Forgets the events so far.
    pub(super) fn forget(&self) {
        self.devtools.forget_events();
    }

    /// Returns the folder that holds everything the browser writes.
    pub(super) fn profile(&self) -> &Path {
        self.devtools.profile()
    }

    fn command(&self, method: &str, parameters: &Value) -> Value {
        let answer = self.devtools.command(Some(&self.session), method, parameters);
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let parameters = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let answer = self.devtools.command(Some(&self.session), "Runtime.evaluate", &parameters)?;
        match &answer["exceptionDetails"] {
            Value::Null => Ok(answer["result"]["value"].clone()),
            error => Err(format!("{expression}: {error}")),
        }
    }
}

/// Prints, past the test harness, that a test is skipped. Fails if CI says that nothing may be missing.
pub(super) fn missing(what: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    assert!(std::env::var_os("REQUIRE_BROWSER").is_none(), "REQUIRE_BROWSER is set, but there is {what}");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {what}");
}

#[test]
fn errors_foreign_requests_and_violations_of_the_policy_are_noticed() {
    let Some(browser) = Browser::start() else { return };
    for (page, script, word) in [
        ("<p>Nothing", "console.error('broken')", "broken"),
        ("<p>Nothing", "setTimeout(() => { throw new Error('thrown') })", "thrown"),
        ("<img src=http://127.0.0.1:1/x>", "0", "http://127.0.0.1:1/x"),
        (
            "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><script>1</script>",
            "0",
            "Content Security Policy",
        ),
    ] {
        browser.forget();
        browser.open(&format!("data:text/html,{page}"));
        browser.eval(script);
        eventually(word, || {
            let problems = browser.problems("data:text/html");
            problems.iter().any(|problem| problem.contains(word)).then_some(())
        });
    }
}

//! The pages in a real browser: headless Chromium over the DevTools protocol.
//!
//! Without Chromium, each test prints that it is skipped and passes. `.ci/run` installs Chromium and sets
//! `REQUIRE_BROWSER`, with which a test without a browser fails.

mod axe;
mod devtools;
mod hostile;
mod status_page;
mod tab;

use tab::Browser;

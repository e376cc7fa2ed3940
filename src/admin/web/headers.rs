//! The headers of every page.

use axum::http::{HeaderName, header};

/// Only the page's own stylesheet, script and icons load, and only its own addresses are fetched. Nothing inline runs,
/// so that text which was not escaped could do nothing.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Returns the headers of a page.
pub(crate) fn page_headers() -> [(HeaderName, &'static str); 6] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        // A page shows targeting, which no cache between may keep.
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ]
}

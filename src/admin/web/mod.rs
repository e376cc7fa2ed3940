//! The pages' common parts: the frame, the stylesheet, the script, and the headers that protect them.
//!
//! The daemon's pages are rendered by the server and work without JavaScript. The script fetches
//! the page's own address again and patches the elements marked with `data-live`, so the server alone decides what a
//! page contains. All files are compiled in.
//!
//! Invariant: nothing is loaded from another host, and text from elsewhere is escaped (see [`safe`]).

mod assets;
mod frame;
mod headers;
mod parts;

pub(crate) use assets::{Asset, asset_response};
pub(crate) use frame::{PageFrame, PageVerdict, RenderedPage};
pub(crate) use headers::page_headers;
pub(crate) use parts::{NavLink, command, diff, prose, safe, time};

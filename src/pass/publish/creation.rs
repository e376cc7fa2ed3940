//! The request that creates a toggle (DESIGN, section 8.6).

use bytes::Bytes;
use serde::Serialize;

use crate::model::{ReturnType, Serve, Variation};
use crate::plan::Change;

/// The longest description that the service's own pages accept, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// The members that the service requires, and those whose absence it does not handle (`featureprobe-behaviour.md`,
/// section 3).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Creation<'a> {
    name: &'a str,
    key: &'a str,
    return_type: &'a str,
    client_availability: bool,
    disabled_serve: u32,
    variations: &'a [Variation],
    desc: String,
    tags: [&'a str; 0],
    permanent: bool,
}

/// Returns the body of the request that creates the toggle of `change`. Its key is also its name.
pub(super) fn creation(change: &Change, return_type: ReturnType) -> Bytes {
    let content = change.payload.targeting().content;
    let key = change.id.toggle();
    let comment = change.comment();
    let first = comment.lines().next().unwrap_or_default();
    let body = Creation {
        name: key,
        key,
        return_type: return_type.as_str(),
        client_availability: false,
        disabled_serve: match content.disabled_serve {
            Serve::Select(index) => index,
            // A new toggle cannot have a split; the publish that follows sets it.
            Serve::Split(_) | Serve::Nothing => 0,
        },
        variations: &content.variations,
        desc: first.chars().take(LONGEST_DESCRIPTION).collect(),
        tags: [],
        permanent: false,
    };
    serde_json::to_vec(&body)
        .expect("text, numbers and lists always have a JSON form")
        .into()
}

//! The rules and serves that no expectation reaches.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cli::explain::label;
use crate::document::{ServeLines, serve_lines};
use crate::evaluate::ServePlace;
use crate::model::ToggleId;
use crate::pass::ReadDocument;

/// The serves of a toggle that no expectation reaches.
#[derive(Debug, Serialize)]
pub(super) struct Unreached {
    pub(super) toggle: ToggleId,
    pub(super) file: String,
    /// The number of serves that expectations can reach.
    pub(super) total: usize,
    /// Those that none reaches, in the order of the document's evaluation.
    pub(super) serves: Vec<UnreachedServe>,
}

/// A serve with its line; 0 if it is not known. The label is escaped.
#[derive(Debug, Serialize)]
pub(super) struct UnreachedServe {
    pub(super) line: u32,
    pub(super) label: String,
}

/// Returns what `reached` lacks of a valid document, if anything.
pub(super) fn unreached(
    id: &ToggleId,
    found: &ReadDocument,
    reached: Option<&BTreeSet<ServePlace>>,
) -> Option<Unreached> {
    let targeting = found.document.payload.as_ref()?.targeting();
    let content = &targeting.content;
    let mut places = Vec::new();
    if targeting.disabled {
        places.push(ServePlace::Disabled);
    } else {
        places.extend((0..content.rules.len()).map(ServePlace::Rule));
        places.push(ServePlace::Default);
        // The disabled serve of an enabled toggle is for users who do not meet a prerequisite.
        places.extend(
            content
                .prerequisites
                .iter()
                .flatten()
                .next()
                .map(|_| ServePlace::Disabled),
        );
    }
    let total = places.len();
    places.retain(|place| !reached.is_some_and(|reached| reached.contains(place)));
    if places.is_empty() {
        return None;
    }
    let lines = serve_lines(found.format, &found.content, content.rules.len()).unwrap_or_default();
    let serves = places.into_iter().map(|place| UnreachedServe {
        line: line(&lines, place),
        label: label(&targeting, place),
    });
    Some(Unreached {
        toggle: id.clone(),
        file: found.path.clone(),
        total,
        serves: serves.collect(),
    })
}

fn line(lines: &ServeLines, place: ServePlace) -> u32 {
    match place {
        ServePlace::Default => lines.default_serve,
        ServePlace::Disabled => lines.disabled_serve,
        ServePlace::Rule(index) => lines.rules.get(index).copied().unwrap_or_default(),
    }
}

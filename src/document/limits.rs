//! Checks the limits of FeatureProbe on one document (`featureprobe-behaviour.md`, "Seen on a running server"). It
//! answers a longer name or value with a 500, which looks like an outage.

use super::check;
use super::finding::{At, Finding, Part, Spot, add};
use super::raw::{RawContent, RawVariation};
use crate::model::Payload;

/// The maximum length of a variation's name, in characters.
const LONGEST_NAME: usize = 128;
/// The maximum length of a variation's value, in bytes.
const LONGEST_VALUE: usize = 65_535;
/// The maximum size of the content, in bytes of the JSON that is sent.
pub(super) const LARGEST_CONTENT: usize = 1024 * 1024;

/// Reports names and values that FeatureProbe cannot store.
pub(super) fn variations(variations: &[RawVariation], list: &At<'_>, findings: &mut Vec<Finding>) {
    for (index, variation) in variations.iter().enumerate() {
        let at = list.item(index);
        let name = variation.name.as_deref().unwrap_or_default().chars().count();
        if name > LONGEST_NAME {
            let message = format!("this name has {name} characters, over the limit of {LONGEST_NAME}");
            let finding = at.key("name").finding(&check::NAME_TOO_LONG, Part::Value, message);
            add(findings, finding.help("shorten it, and put the rest into `description`"));
        }
        let value = variation.value.as_deref().unwrap_or_default().len();
        if value > LONGEST_VALUE {
            let message = format!("this value has {value} bytes, over the limit of {LONGEST_VALUE}");
            let help = "serve a key or a URL instead, and keep the data where the application can fetch it";
            let finding = at.key("value").finding(&check::VALUE_TOO_LONG, Part::Value, message);
            add(findings, finding.help(help));
        }
    }
}

/// Returns an error if the splits alone make the content too large. As sent, each split has a weight for every
/// variation, so a small document could take gigabytes.
pub(super) fn splits(content: &RawContent, variations: usize) -> Option<Finding> {
    let serves = content.rules.iter().flatten().map(|rule| &rule.serve);
    let serves = serves.chain([&content.disabled_serve, &content.default_serve]).flatten();
    let splits = serves.filter(|serve| serve.split.is_some()).count();
    let size = splits.saturating_mul(variations).saturating_mul("0,".len());
    (size > LARGEST_CONTENT).then(|| too_large(size, "at least "))
}

/// Returns an error if the content of `payload` is larger than FeatureProbe accepts.
pub(super) fn content(payload: &Payload) -> Option<Finding> {
    let size = payload.content_len();
    (size > LARGEST_CONTENT).then(|| too_large(size, ""))
}

fn too_large(size: usize, at_least: &str) -> Finding {
    let message =
        format!("the content has {at_least}{size} bytes as sent, over the limit of {LARGEST_CONTENT}");
    Finding::new(&check::CONTENT_TOO_LARGE, Spot::WholeFile, message)
        .help("split a long list into several toggles, or compare with a segment")
}

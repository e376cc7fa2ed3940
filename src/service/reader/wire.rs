//! The JSON of FeatureProbe's answers, as far as it is read (src/service/featureprobe.md, "Reading").

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A page of a list. Its `pageable` is an object or a text, so it is not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePage<T> {
    pub(super) content: Vec<T>,
    pub(super) total_elements: usize,
    pub(super) total_pages: usize,
}

#[derive(Deserialize)]
pub(super) struct WireProject {
    pub(super) key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireEnvironment {
    pub(super) key: String,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) enable_approval: bool,
    pub(super) server_sdk_key: Option<String>,
}

/// A toggle, alone or in a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireToggle {
    pub(super) key: String,
    pub(super) return_type: Option<String>,
    pub(super) disabled: Option<bool>,
    pub(super) locked: Option<bool>,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) archived: bool,
}

/// The targeting of a toggle: live, or that of a draft if `locked`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTargeting {
    pub(super) version: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) locked: bool,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) enable_approval: bool,
    pub(super) modified_by: Option<String>,
    pub(super) modified_time: Option<String>,
    pub(super) publish_time: Option<String>,
    pub(super) submit_by: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireVersions {
    pub(super) versions: Vec<WireVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireVersion {
    pub(super) version: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    pub(super) comment: Option<String>,
    pub(super) created_by: Option<String>,
    pub(super) created_time: Option<String>,
}

/// The payload of an environment for SDKs.
#[derive(Deserialize)]
pub(super) struct WirePayload {
    pub(super) version: u64,
    pub(super) toggles: BTreeMap<String, WireDelivered>,
}

#[derive(Deserialize)]
pub(super) struct WireDelivered {
    pub(super) version: Option<u64>,
}

fn false_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

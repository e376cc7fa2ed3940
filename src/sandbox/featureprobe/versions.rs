//! The history of a targeting, the only place where comments can be read.

use serde_json::{Value, json};

use super::call::Call;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::paging::PageRequest;
use super::state::{StoredTargeting, StoredVersion, World, newest_first};
use super::targeting::TargetingPath;

/// `GET T/versions`: pages in an order that is arbitrary within a second.
pub(super) fn page(world: &World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let targeting = path.find(world);
    let versions = targeting.into_iter().flat_map(|targeting| &targeting.versions);
    let mut versions: Vec<_> = versions.collect();
    newest_first(&mut versions, |version| version.created);
    page.of_list(&versions, |version| Ok(written(version, path, targeting)))
}

/// `GET T/versions/{n}`: this version and all after it, newest first.
pub(super) fn from(world: &World, path: TargetingPath, version: &str) -> ApiAnswer {
    let from: i64 = version
        .parse()
        .map_err(|_| ApiRefusal::InvalidText(format!("For input string: \"{version}\"")))?;
    let targeting = path.find(world);
    let all: &[StoredVersion] = targeting.map_or(&[], |targeting| &targeting.versions);
    let wanted = all
        .iter()
        .rev()
        .filter(|one| i64::try_from(one.version).is_ok_and(|one| one >= from));
    Ok(json!({
        "total": all.len(),
        "versions": wanted.map(|one| written(one, path, targeting)).collect::<Vec<_>>(),
    }))
}

fn written(version: &StoredVersion, path: TargetingPath, targeting: Option<&StoredTargeting>) -> Value {
    json!({
        "projectKey": path.project,
        "environmentKey": path.environment,
        "toggleKey": targeting.map_or(path.toggle, |targeting| &targeting.key),
        "comment": version.comment,
        "content": version.content,
        "disabled": version.disabled,
        "version": version.version,
        "createdTime": dates::written(version.created),
        "createdBy": version.created_by,
    })
}

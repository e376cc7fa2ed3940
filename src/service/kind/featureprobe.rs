//! The documented endpoint, and what FeatureProbe has besides it (src/service/README.md, "The contract";
//! src/service/featureprobe.md): addresses, bodies and codes.

use bytes::Bytes;
use reqwest::Method;
use serde::Serialize;
use url::Url;

use super::{NewToggle, Protocol, WriteRequest};
use crate::model::{Sent, Serve, ToggleId, Variation};
use crate::service::BaseUrl;
use crate::service::outcome::ErrorCode;

pub(super) const PROTOCOL: Protocol = Protocol {
    publish,
    create,
    token_header: "authorization",
    scheme: "",
    // FeatureProbe responds in this language by default, but a proxy may add another one.
    read_headers: &[("accept-language", "en-US")],
    error_code,
};

fn publish(base: &BaseUrl, toggle: &ToggleId, sent: &Sent) -> WriteRequest {
    request(Method::PATCH, base.targeting(toggle), body(sent).into())
}

fn create(base: &BaseUrl, new: &NewToggle<'_>) -> WriteRequest {
    request(Method::POST, base.toggles(new.id.project()), creation(new))
}

fn request(method: Method, url: Url, body: Bytes) -> WriteRequest {
    WriteRequest { method, url, content_type: "application/json", body }
}

fn error_code(text: &str) -> ErrorCode {
    match text {
        "conflict" => ErrorCode::Taken,
        "forbidden" => ErrorCode::Forbidden,
        "invalid_request" => ErrorCode::Invalid,
        "not_found" => ErrorCode::Missing,
        "unauthorized" => ErrorCode::Unauthorized,
        _ => ErrorCode::Other,
    }
}

impl BaseUrl {
    /// The targeting of a toggle: where it is published, with every kind of service so far.
    pub fn targeting(&self, id: &ToggleId) -> Url {
        let (project, environment, toggle) = (id.project(), id.environment_key(), id.toggle());
        self.below(&["api", "projects", project, "environments", environment, "toggles", toggle, "targeting"])
    }

    pub(in crate::service) fn projects(&self) -> Url {
        self.below(&["api", "projects"])
    }

    pub(in crate::service) fn environments(&self, project: &str) -> Url {
        self.below(&["api", "projects", project, "environments"])
    }

    /// The toggles of a project: where they are listed, and where one is created.
    pub(in crate::service) fn toggles(&self, project: &str) -> Url {
        self.below(&["api", "projects", project, "toggles"])
    }

    pub(in crate::service) fn toggle(&self, project: &str, toggle: &str) -> Url {
        self.below(&["api", "projects", project, "toggles", toggle])
    }

    /// What an SDK with the key of an environment reads.
    pub(in crate::service) fn delivered_toggles(&self) -> Url {
        self.below(&["internal", "server", "toggles"])
    }
}

/// Returns the body of a publish: the comment, the targeting, and the version that it replaces, if one is known.
fn body(sent: &Sent) -> String {
    let comment = serde_json::to_string(&sent.comment).expect("text always has a JSON form");
    // The stored text is sent as it is, so that a retry repeats the journaled targeting byte for byte.
    let mut body = format!(r#"{{"comment":{comment},{}"#, &sent.payload.json()[1..]);
    if let Some(version) = sent.base_version {
        body.truncate(body.len() - 1);
        body.push_str(&format!(r#","baseVersion":{version}}}"#));
    }
    body
}

/// The longest description that the service's own pages accept, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// The members that the service requires, and those whose absence it does not handle
/// (src/service/featureprobe.md, "Creating").
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

/// Returns the body of the request that creates a toggle. Its key is also its name.
fn creation(new: &NewToggle<'_>) -> Bytes {
    let content = new.payload.targeting().content;
    let key = new.id.toggle();
    let first = new.comment.lines().next().unwrap_or_default();
    let body = Creation {
        name: key,
        key,
        return_type: new.return_type.as_str(),
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
    serde_json::to_vec(&body).expect("text, numbers and lists always have a JSON form").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Action, CommitId, Format, Payload};

    #[test]
    fn the_body_has_the_contracts_members_and_no_others() {
        let payload = r#"{"disabled":false,"content":{"rules":[{"name":"adults","serve":{"select":1},"conditions":[{"type":"number","subject":"age","predicate":">","objects":["18"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"false","name":"off","description":""}]}}"#;
        let mut sent = Sent {
            action: Action::Create,
            payload: serde_json::from_str::<Payload>(payload).unwrap(),
            comment: "Why \"now\"\n".to_owned(),
            object: "0".repeat(40).parse().unwrap(),
            format: Format::Yaml,
            path: String::new(),
            revision: CommitId("0".repeat(40).parse().unwrap()),
            base_version: None,
            note: None,
            earlier: Vec::new(),
            overtaken: false,
            asserted: None,
            passed: false,
            announced: None,
        };
        let rest = &payload[1..payload.len() - 1];
        assert_eq!(body(&sent), format!(r#"{{"comment":"Why \"now\"\n",{rest}}}"#));
        sent.base_version = Some(7);
        assert_eq!(body(&sent), format!(r#"{{"comment":"Why \"now\"\n",{rest},"baseVersion":7}}"#));
    }
}

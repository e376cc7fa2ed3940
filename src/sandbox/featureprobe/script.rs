//! Events that a test arranges for a request: a failure, or a change by another client.

use serde::Deserialize;
use serde_json::Value;

use super::call::ApiCall;

/// One step: the next request that matches `on` meets `act`. It happens once.
///
/// As JSON: `{"on": {"method": "PATCH", "path": "/toggles/pay/targeting"}, "do":
/// "lose_response"}`, or with `"do": {"before": {"method": "PATCH", "path": "/api/projects/…", "body": {…}}}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStep {
    /// The requests that it waits for.
    pub on: RequestPattern,
    /// What happens.
    #[serde(rename = "do")]
    pub act: ScriptAct,
}

/// Requests with this method, and with a path that contains this text. The path includes the query.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPattern {
    /// The method.
    pub method: String,
    /// A part of the path.
    pub path: String,
}

/// What happens at a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptAct {
    /// Another request is carried out before this one.
    Before(ScriptRequest),
    /// After it, this toggle is gone, as if someone had removed it from the database: the service itself only archives.
    DeleteAfter(ScriptToggle),
    /// It is answered with a 500 and not carried out, as the loser of a true race is.
    Fail,
    /// It is not answered, and carried out only when the held requests are released.
    Hold,
    /// It does not raise the version of its environment.
    LoseIncrement,
    /// It is carried out and not answered.
    LoseResponse,
    /// It is answered with this text as a page of HTML with the status 200, as a proxy may do.
    Page(String),
}

/// A request that the account `Admin` makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// The method.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The body.
    #[serde(default)]
    pub body: Value,
}

/// A toggle of a project.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptToggle {
    /// The key of the project.
    pub project: String,
    /// The key of the toggle.
    pub toggle: String,
}

/// The steps that have not happened yet.
#[derive(Default)]
pub(super) struct Script(Vec<ScriptStep>);

impl Script {
    pub(super) fn add(&mut self, step: ScriptStep) {
        self.0.push(step);
    }

    /// Takes what happens at `call`: at most one step of each kind, in the order in which they were added.
    pub(super) fn take(&mut self, call: &ApiCall) -> Vec<ScriptAct> {
        let mut taken: Vec<ScriptAct> = Vec::new();
        self.0.retain(|ScriptStep { on, act }| {
            let matches = on.method.eq_ignore_ascii_case(&call.method) && call.path.contains(&on.path);
            let kind = std::mem::discriminant(act);
            let is_next = matches && taken.iter().all(|one| std::mem::discriminant(one) != kind);
            if is_next {
                taken.push(act.clone());
            }
            !is_next
        });
        taken
    }
}

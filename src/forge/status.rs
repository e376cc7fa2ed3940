//! The status of a commit: the verdict of a pass.

use serde_json::{Value, json};

use super::client::ForgeClient;
use super::error::ForgeError;
use crate::model::{cut, escaped, words};

words! {
    CommitVerdict {
        /// A change failed, or a document is invalid.
        Failure = "failure",
        /// Something is held until an operator decides.
        Pending = "pending",
        /// Everything is applied.
        Success = "success",
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CommitStatus {
    pub(crate) verdict: CommitVerdict,
    /// The name that distinguishes it from other statuses of the commit.
    pub(crate) context: String,
    /// One sentence, cut at the forge's limit.
    pub(crate) description: String,
    /// The page of the job.
    pub(crate) target_url: Option<String>,
    /// The number of the pipeline that it belongs to, for a forge that wants it.
    pub(crate) pipeline: Option<u64>,
}

impl CommitStatus {
    /// Returns the body of a request. `longest` is the maximum of the description, in characters.
    pub(super) fn json(&self, state: &str, longest: usize) -> Value {
        const LONGEST_CONTEXT: usize = 100;
        let mut body = json!({
            "state": state,
            "context": cut(&escaped(&self.context).to_string(), LONGEST_CONTEXT),
            "description": cut(&escaped(&self.description).to_string(), longest),
        });
        if let Some(url) = &self.target_url {
            body["target_url"] = json!(url);
        }
        body
    }
}

impl ForgeClient {
    /// Sets a status of a commit. A status with the same context replaces an earlier one.
    pub(crate) fn set_status(&self, commit: &str, status: &CommitStatus) -> Result<(), ForgeError> {
        // Sent again without harm: the newest status of a context counts.
        match self.call(&self.routes.status(commit, status)) {
            // GitLab refuses to set the state that it has.
            Err(error) if error.refused(400) && error.mentions("Cannot transition status") => Ok(()),
            answer => answer.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_description_is_cut_and_has_one_line() {
        let status = CommitStatus {
            verdict: CommitVerdict::Success,
            context: "gitoggle".to_owned(),
            description: format!("a\n{}", "é".repeat(400)),
            target_url: None,
            pipeline: None,
        };
        let body = status.json("success", 140);
        let description = body["description"].as_str().unwrap();
        assert_eq!(description.chars().count(), 140);
        assert!(description.starts_with("a\\né"), "{description}");
        assert!(body.get("target_url").is_none());
    }
}

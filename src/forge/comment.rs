//! The one comment of a plan on a pull request, which later runs update.
//!
//! A hidden marker at the very beginning of a comment identifies it, and only comments of the token's own user count: other
//! users' comments with the marker are neither changed nor believed. Two jobs may create a comment at the same time, so each
//! lists the comments again afterwards. Both then agree that the oldest one stays, give it their text, and delete the rest.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::api_client::ForgeClient;
use super::api_error::ForgeError;
use super::api_routes::ForgeComment;
use crate::model::{PlanDigest, ReviewedPlan, hex};

/// Tells the comments of several gitoggle jobs on one pull request apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommentKey(String);

impl CommentKey {
    /// Returns the key of a job with these settings.
    #[must_use]
    pub fn of(settings: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for setting in settings {
            hash.update(setting);
            hash.update([0]);
        }
        Self(hex(&hash.finalize()[..8]))
    }

    fn prefix(&self) -> String {
        format!("<!-- gitoggle:{} ", self.0)
    }

    /// Returns the first line of the comment of a plan. It contains the digest, and the fingerprints of the changes if
    /// there are not too many.
    #[must_use]
    pub fn marker(&self, digest: &PlanDigest, fingerprints: &BTreeSet<String>) -> String {
        const MOST: usize = 200;
        let changes = match fingerprints.len() <= MOST {
            true => fingerprints
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(","),
            false => "unlisted".to_owned(),
        };
        format!("{}{digest} [{changes}] -->\n", self.prefix())
    }

    /// Returns the first line of the comment of a plan that failed. It has no digest, so that nothing counts as reviewed.
    #[must_use]
    pub fn failure_marker(&self) -> String {
        format!("{}failed -->\n", self.prefix())
    }

    /// Returns what the marker at the beginning of a comment contains; `None` if the plan failed.
    fn read(&self, body: &str) -> Option<ReviewedPlan> {
        let rest = body.strip_prefix(&self.prefix())?;
        let (digest, rest) = rest.split_once(" [")?;
        let (changes, _) = rest.split_once("] -->")?;
        let changes = match changes {
            "unlisted" => None,
            changes => {
                let changes = changes.split(',').filter(|change| !change.is_empty());
                Some(changes.map(str::to_owned).collect())
            }
        };
        let digest = digest.parse().ok()?;
        Some(ReviewedPlan { digest, changes })
    }
}

/// What became of a comment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CommentResult {
    /// There was none.
    Created,
    /// It had this text already.
    Unchanged,
    /// It had another text.
    Updated,
}

impl ForgeClient {
    /// Makes `body`, which begins with the marker of `key`, the text of the one comment on pull request `number`.
    ///
    /// # Errors
    /// If the forge does not answer or refuses.
    pub fn put_comment(
        &self,
        number: u64,
        key: &CommentKey,
        body: &str,
    ) -> Result<CommentResult, ForgeError> {
        // Enough for two jobs that delete each other's comments, and for an answer that was lost.
        const ROUNDS: u32 = 4;
        let user = self.user()?;
        let mut round = 1;
        loop {
            match self.put_once(number, key, body, user) {
                Ok(None) if round < ROUNDS => {}
                Ok(None) => return Err(ForgeError::foreign("its comments change with every request")),
                Ok(Some(result)) => return Ok(result),
                // The comment may have been created nevertheless, so the comments are listed before the next attempt.
                Err(error) if self.pause(&error, round) => {}
                Err(error) => return Err(error),
            }
            round += 1;
        }
    }

    /// Returns `None` if another job deleted the comment in between.
    fn put_once(
        &self,
        number: u64,
        key: &CommentKey,
        body: &str,
        user: u64,
    ) -> Result<Option<CommentResult>, ForgeError> {
        let mut own = self.own_comments(number, key, user)?;
        let is_new = own.is_empty();
        if is_new {
            let created = self.once(&self.routes.create(number, body))?;
            own = self.own_comments(number, key, user)?;
            // A list that is not up to date yet does not have the new comment.
            if let Some(created) = self.routes.read_comment(&created.body)
                && !own.iter().any(|comment| comment.id == created.id)
            {
                own.push(created);
            }
        }
        own.sort_by_key(|comment| comment.id);
        let mut own = own.into_iter();
        let Some(oldest) = own.next() else {
            return Err(ForgeError::foreign("it did not return the new comment"));
        };
        let is_current = same_text(&oldest.body, body);
        if !is_current {
            match self.call(&self.routes.update(number, oldest.id, body)) {
                Err(error) if error.refused(404) => return Ok(None),
                answer => drop(answer?),
            }
        }
        for newer in own {
            match self.call(&self.routes.delete(number, newer.id)) {
                // Another job deleted it.
                Err(error) if error.refused(404) => {}
                answer => drop(answer?),
            }
        }
        Ok(Some(match (is_new, is_current) {
            (true, _) => CommentResult::Created,
            (false, true) => CommentResult::Unchanged,
            (false, false) => CommentResult::Updated,
        }))
    }

    /// Returns what the comment on the pull request that was merged as `commit` says about the plan; `None` if there is no
    /// such pull request or no comment. `number` is that of the pull request, if it is known.
    ///
    /// # Errors
    /// If the forge does not answer or refuses.
    pub fn reviewed(
        &self,
        commit: &str,
        number: Option<u64>,
        key: &CommentKey,
    ) -> Result<Option<ReviewedPlan>, ForgeError> {
        let number = match number {
            Some(number) => Some(number),
            None => match self.call(&self.routes.requests_of(commit)) {
                // Gitea has no list, and answers so for a commit without a pull request.
                Err(error) if error.refused(404) => None,
                answer => self.routes.read_merged(&answer?.body, commit),
            },
        };
        let Some(number) = number else {
            return Ok(None);
        };
        let user = self.user()?;
        let own = self.own_comments(number, key, user)?;
        let oldest = own.iter().min_by_key(|comment| comment.id);
        Ok(oldest.and_then(|comment| key.read(&comment.body)))
    }

    fn user(&self) -> Result<u64, ForgeError> {
        let answer = self.call(&self.routes.user(self.token_kind))?;
        let user = self.routes.read_user(&answer.body);
        user.ok_or_else(|| ForgeError::foreign("it did not name the user of the token"))
    }

    fn own_comments(
        &self,
        number: u64,
        key: &CommentKey,
        user: u64,
    ) -> Result<Vec<ForgeComment>, ForgeError> {
        // Ten thousand comments.
        const MOST_PAGES: u32 = 100;
        let prefix = key.prefix();
        let mut own = Vec::new();
        for page in 1..=MOST_PAGES {
            let answer = self.call(&self.routes.comments(number, page))?;
            let Some(entries) = answer.body.as_array() else {
                return Err(ForgeError::foreign("it did not return a list of comments"));
            };
            let comments = entries.iter().filter_map(|entry| self.routes.read_comment(entry));
            own.extend(
                comments.filter(|comment| comment.author == user && comment.body.starts_with(&prefix)),
            );
            if !answer.has_next {
                return Ok(own);
            }
        }
        Err(ForgeError::foreign("the pull request has too many comments"))
    }
}

/// Compares texts as a forge stores them: without white space at the end, and with any line breaks.
fn same_text(stored: &str, text: &str) -> bool {
    let normal = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    normal(stored) == normal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest() -> PlanDigest {
        format!("sha256:{}", "0a".repeat(32)).parse().unwrap()
    }

    #[test]
    fn a_marker_is_read_back() {
        let key = CommentKey::of(&["toggles", ""]);
        for changes in [vec![], vec!["01234567"], vec!["01234567", "89abcdef"]] {
            let changes: BTreeSet<String> = changes.into_iter().map(str::to_owned).collect();
            let body = key.marker(&digest(), &changes) + "### Plan\n";
            let expected = ReviewedPlan {
                digest: digest(),
                changes: Some(changes),
            };
            assert_eq!(key.read(&body), Some(expected));
        }
        let many: BTreeSet<String> = (0..201).map(|number| format!("{number:08x}")).collect();
        let marker = key.marker(&digest(), &many);
        assert_eq!(key.read(&marker).unwrap().changes, None);
        assert!(marker.len() < 200);
    }

    #[test]
    fn a_marker_counts_at_the_beginning_only_and_for_its_own_job() {
        let key = CommentKey::of(&["a"]);
        let marker = key.marker(&digest(), &BTreeSet::new());
        for body in [
            format!("{}{marker}", key.failure_marker()),
            format!("> {marker}"),
            format!("\n{marker}"),
            marker.replace("sha256:", "sha256:x"),
            CommentKey::of(&["b"]).marker(&digest(), &BTreeSet::new()),
            String::new(),
        ] {
            assert_eq!(key.read(&body), None, "{body}");
        }
        assert_ne!(CommentKey::of(&["a", "b"]), CommentKey::of(&["ab", ""]));
    }
}

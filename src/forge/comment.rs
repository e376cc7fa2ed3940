//! The one comment of a plan on a pull request, which later runs update.
//!
//! A hidden marker at the very beginning of a comment identifies it, and only comments of the token's own user count: other
//! users' comments with the marker are neither changed nor believed. Two jobs may create a comment at the same time, so each
//! lists the comments again afterwards. Both then agree that the oldest one stays, give it their text, and delete the rest.
//!
//! A job for an older commit may end last. It does not replace the text of a job for the newest commit of the pull request.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::client::{ForgeClient, ForgeError};
use super::routes::ForgeComment;
use crate::model::{PlanDigest, ReviewedPlan, hex};

/// A comment to write.
pub(crate) struct CommentDraft<'a> {
    /// The job that writes it.
    pub(crate) key: &'a CommentKey,
    /// The text, which begins with the marker of the key.
    pub(crate) body: &'a str,
    /// The commit of the pull request that the text is about, if it is known.
    pub(crate) head: Option<&'a str>,
    /// Compares another commit with `head`: less if it is an ancestor, greater if it is a descendant. `None` if it is
    /// neither, or if it is not in this clone.
    pub(crate) order: &'a dyn Fn(&str) -> Option<Ordering>,
}

/// What became of a comment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CommentResult {
    /// There was none.
    Created,
    /// It is about a newer commit of the pull request.
    Newer,
    /// It had this text already.
    Unchanged,
    /// It had another text.
    Updated,
}

impl ForgeClient {
    /// Makes `draft` the text of the one comment on pull request `number`.
    pub(crate) fn put_comment(
        &self,
        number: u64,
        draft: &CommentDraft<'_>,
    ) -> Result<CommentResult, ForgeError> {
        // Enough for two jobs that delete each other's comments, and for an answer that was lost.
        const ROUNDS: u32 = 4;
        let user = self.user()?;
        let mut round = 1;
        loop {
            match self.put_once(number, draft, user) {
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
        draft: &CommentDraft<'_>,
        user: u64,
    ) -> Result<Option<CommentResult>, ForgeError> {
        let mut own = self.own_comments(number, draft.key, user)?;
        let is_new = own.is_empty();
        if is_new {
            let created = self.once(&self.routes.create(number, draft.body))?;
            own = self.own_comments(number, draft.key, user)?;
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
        let is_current = same_text(&oldest.body, draft.body);
        let is_newer = !is_current && self.is_newer(number, &oldest.body, draft)?;
        if !is_current && !is_newer {
            match self.call(&self.routes.update(number, oldest.id, draft.body)) {
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
            _ if is_newer => CommentResult::Newer,
            (true, _) => CommentResult::Created,
            (false, true) => CommentResult::Unchanged,
            (false, false) => CommentResult::Updated,
        }))
    }

    /// Returns whether the comment `body` is about a newer commit of the pull request than `draft`.
    fn is_newer(&self, number: u64, body: &str, draft: &CommentDraft<'_>) -> Result<bool, ForgeError> {
        let (Some(shown), Some(own)) = (commit_of(body), draft.head) else {
            return Ok(false);
        };
        let order = match (shown == own, (draft.order)(shown)) {
            (true, _) | (_, Some(Ordering::Less)) => return Ok(false),
            (false, order) => order,
        };
        // The clone of an older job does not have newer commits, and a descendant may have been removed by a forced push.
        // Only the forge knows the newest commit.
        let head = match self.call(&self.routes.request(number)) {
            // The token may lack the right to read pull requests.
            Err(error) if error.is_denied() => None,
            answer => self.routes.read_head(&answer?.body),
        };
        Ok(match head {
            Some(head) if head == own => false,
            Some(head) if head == shown => true,
            _ => order == Some(Ordering::Greater),
        })
    }

    /// Returns the plan in the comment on the pull request that was merged as `commit`; `None` if there is no
    /// such pull request or no comment. `number` is that of the pull request, if it is known.
    pub(crate) fn reviewed(
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
        let mut own = Vec::new();
        for page in 1..=MOST_PAGES {
            let answer = self.call(&self.routes.comments(number, page))?;
            let Some(entries) = answer.body.as_array() else {
                return Err(ForgeError::foreign("it did not return a list of comments"));
            };
            let comments = entries.iter().filter_map(|entry| self.routes.read_comment(entry));
            own.extend(comments.filter(|comment| comment.author == user));
            if !answer.has_next {
                key.retain(&mut own, |comment| &comment.body);
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

/// The key of a job whose settings are invalid, and so also those that its key would consist of.
const UNKNOWN: &str = "unknown";

const PREFIX: &str = "<!-- gitoggle:";

/// Distinguishes the comments of several gitoggle jobs on one pull request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CommentKey(String);

impl CommentKey {
    /// Returns the key of a job with these settings.
    pub(crate) fn of(settings: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for setting in settings {
            hash.update(setting);
            hash.update([0]);
        }
        Self(hex(&hash.finalize()[..8]))
    }

    /// Returns the key of a job whose settings are invalid. Its comment is that of the only other job, or one that the next
    /// run of any job takes over.
    pub(crate) fn unknown() -> Self {
        Self(UNKNOWN.to_owned())
    }

    /// Returns the first line of the comment of a plan of `head`. It contains the digest, and the fingerprints of the
    /// changes if there are not too many.
    pub(crate) fn marker(&self, head: &str, digest: &PlanDigest, fingerprints: &BTreeSet<String>) -> String {
        const MOST: usize = 200;
        let changes = match fingerprints.len() <= MOST {
            true => fingerprints
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(","),
            false => "unlisted".to_owned(),
        };
        format!("{PREFIX}{} {digest} [{changes}] {head} -->\n", self.0)
    }

    /// Returns the first line of the comment of a plan of `head` that failed. It has no digest, so that nothing counts as
    /// reviewed.
    pub(crate) fn failure_marker(&self, head: Option<&str>) -> String {
        let head = head.map_or_else(String::new, |head| format!(" {head}"));
        format!("{PREFIX}{} failed{head} -->\n", self.0)
    }

    /// Returns the plan in the marker at the beginning of a comment; `None` if the plan failed.
    pub(super) fn read(&self, body: &str) -> Option<ReviewedPlan> {
        let (digest, rest) = marked(body)
            .filter(|(key, _)| *key == self.0)?
            .1
            .split_once(" [")?;
        let (changes, _) = rest.split_once(']')?;
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

    /// Keeps the comments of this job. `comments` are by the user of the token.
    pub(super) fn retain<T>(&self, comments: &mut Vec<T>, body: impl Fn(&T) -> &str) {
        comments.retain(|comment| marked(body(comment)).is_some());
        let keys: BTreeSet<String> = comments
            .iter()
            .filter_map(|comment| Some(marked(body(comment))?.0.to_owned()))
            .filter(|key| key != UNKNOWN)
            .collect();
        // With several jobs, the comment of this one is not known.
        let is_only = self.0 == UNKNOWN && keys.len() == 1;
        comments.retain(|comment| {
            marked(body(comment)).is_some_and(|(key, _)| is_only || key == self.0 || key == UNKNOWN)
        });
    }
}

/// Returns the commit that a comment is about; `None` if its marker names none.
pub(super) fn commit_of(body: &str) -> Option<&str> {
    let (_, commit) = marked(body)?.1.rsplit_once(' ')?;
    let is_id = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(commit)
}

/// Returns the key in the marker at the beginning of a comment, and the rest of the marker.
fn marked(body: &str) -> Option<(&str, &str)> {
    let line = body.lines().next()?.trim_end();
    let marker = line.strip_prefix(PREFIX)?.strip_suffix(" -->")?;
    marker.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

    fn digest() -> PlanDigest {
        format!("sha256:{}", "0a".repeat(32)).parse().unwrap()
    }

    #[test]
    fn a_marker_is_read_back() {
        let key = CommentKey::of(&["toggles", ""]);
        for changes in [vec![], vec!["01234567"], vec!["01234567", "89abcdef"]] {
            let changes: BTreeSet<String> = changes.into_iter().map(str::to_owned).collect();
            let body = key.marker(HEAD, &digest(), &changes) + "### Plan\n";
            assert_eq!(commit_of(&body), Some(HEAD));
            let expected = ReviewedPlan {
                digest: digest(),
                changes: Some(changes),
            };
            assert_eq!(key.read(&body), Some(expected));
        }
        let many: BTreeSet<String> = (0..201).map(|number| format!("{number:08x}")).collect();
        let marker = key.marker(HEAD, &digest(), &many);
        assert_eq!(key.read(&marker).unwrap().changes, None);
        assert!(marker.len() < 250);
    }

    #[test]
    fn a_marker_counts_at_the_beginning_only_and_for_its_own_job() {
        let key = CommentKey::of(&["a"]);
        let marker = key.marker(HEAD, &digest(), &BTreeSet::new());
        for body in [
            format!("{}{marker}", key.failure_marker(Some(HEAD))),
            format!("> {marker}"),
            format!("\n{marker}"),
            marker.replace("sha256:", "sha256:x"),
            CommentKey::of(&["b"]).marker(HEAD, &digest(), &BTreeSet::new()),
            String::new(),
        ] {
            assert_eq!(key.read(&body), None, "{body}");
        }
        assert_ne!(CommentKey::of(&["a", "b"]), CommentKey::of(&["ab", ""]));
    }

    #[test]
    fn a_marker_names_its_commit_or_none() {
        let key = CommentKey::of(&["a"]);
        assert_eq!(commit_of(&key.failure_marker(Some(HEAD))), Some(HEAD));
        let old = format!("<!-- gitoggle:{} {} [] -->\n", key.0, digest());
        assert!(key.read(&old).is_some());
        for body in [
            &old,
            &key.failure_marker(None),
            "",
            HEAD,
            &format!("<!-- x {HEAD} -->"),
        ] {
            assert_eq!(commit_of(body), None, "{body}");
        }
    }

    #[test]
    fn a_job_with_invalid_settings_has_the_comment_of_the_only_other_job() {
        let (one, other, unknown) = (
            CommentKey::of(&["a"]),
            CommentKey::of(&["b"]),
            CommentKey::unknown(),
        );
        let bodies = |keys: &[&CommentKey]| -> Vec<String> {
            let mut bodies: Vec<String> = keys.iter().map(|key| key.failure_marker(None)).collect();
            bodies.push("a comment by hand".to_owned());
            bodies
        };
        for (key, all, kept) in [
            (&one, vec![&one, &other], vec![0]),
            (&one, vec![&other, &unknown], vec![1]),
            (&unknown, vec![&one], vec![0]),
            (&unknown, vec![&one, &unknown], vec![0, 1]),
            (&unknown, vec![&one, &other], vec![]),
            (&unknown, vec![&one, &other, &unknown], vec![2]),
            (&unknown, vec![], vec![]),
        ] {
            let all = bodies(&all);
            let mut found = all.clone();
            key.retain(&mut found, |body| body);
            let kept: Vec<String> = kept.into_iter().map(|at: usize| all[at].clone()).collect();
            assert_eq!(found, kept);
        }
    }
}

//! The one comment of a plan on a pull request, which later runs update.
//!
//! A hidden marker at the very beginning of a comment identifies it, and only comments of the token's own user count: other
//! users' comments with the marker are neither changed nor believed. Two jobs may create a comment at the same time, so each
//! lists the comments again afterwards. Both then agree that the oldest one stays, give it their text, and delete the rest.
//!
//! A job for an older commit may end last. It does not replace the text of a job for the newest commit of the pull request.

use std::cmp::Ordering;

use super::api_client::ForgeClient;
use super::api_error::ForgeError;
use super::api_routes::ForgeComment;
use super::comment_key::{CommentKey, commit_of};
use crate::model::ReviewedPlan;

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

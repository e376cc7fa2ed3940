//! The one comment of a plan on a pull request, which later runs update.
//!
//! A hidden marker at the very beginning of a comment identifies it, and only comments of the token's own
//! user count whose checksum is right: what other users wrote, or what anyone changed, is neither touched nor
//! believed. Two jobs may create a comment at the same time, so each lists the comments again afterwards.
//! Both then agree that the oldest one stays, give it their text, and delete the rest.
//!
//! A job for an older commit may end last. It does not replace the text of a job for the newest commit of the
//! pull request.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::client::{ForgeAnswer, ReadPage};
use super::routes::ForgeComment;
use super::{ForgeClient, ForgeError};
use crate::model::{Forge, ReviewedChanges, hex};

pub(crate) struct CommentDraft<'a> {
    /// The job that writes it.
    pub(crate) key: &'a CommentKey,
    /// The text, which begins with the marker of the key.
    pub(crate) body: &'a str,
    /// The commit of the pull request that the text is about, if it is known.
    pub(crate) head: Option<&'a str>,
    /// Compares another commit with `head`: less if it is an ancestor, greater if it is a descendant. `None`
    /// if it is neither, or if it is not in this clone.
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
    /// It had another text, and somebody has hidden it.
    UpdatedHidden,
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
        let user = &self.user()?;
        let mut round = 1;
        loop {
            match self.put_once(number, draft, user) {
                Ok(None) if round < ROUNDS => round += 1,
                Ok(None) => return Err(ForgeError::Comments("changed during every attempt")),
                Ok(Some(result)) => return Ok(result),
                // The comment may have been created nevertheless, so the comments are listed before the next
                // attempt.
                Err(error) if self.pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns `None` if another job deleted the comment in between.
    fn put_once(
        &self,
        number: u64,
        draft: &CommentDraft<'_>,
        user: &str,
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
        own.sort_unstable_by_key(|comment| comment.id);
        let mut own = own.into_iter();
        let Some(oldest) = own.next() else {
            return Err(ForgeError::Comments("do not have the new one"));
        };
        let is_current = same_text(&oldest.body, draft.body);
        let is_newer = !is_current && self.is_newer(number, &oldest.body, draft)?;
        let mut is_hidden = false;
        if !is_current && !is_newer {
            match self.call(&self.routes.update(number, oldest.id, draft.body)) {
                Err(error) if error.refused(404) => return Ok(None),
                answer => is_hidden = self.is_hidden(&answer?.body),
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
            (false, false) if is_hidden => CommentResult::UpdatedHidden,
            (false, false) => CommentResult::Updated,
        }))
    }

    /// Returns whether somebody has hidden the comment of `entry`. An answer that does not say so is not
    /// worth a retry.
    fn is_hidden(&self, entry: &Value) -> bool {
        let answer = self.routes.is_hidden(entry).and_then(|request| self.once(&request).ok());
        answer.is_some_and(|answer| answer.body["data"]["node"]["isMinimized"].as_bool() == Some(true))
    }

    /// Returns whether the comment `body` is about a newer commit of the pull request than `draft`.
    fn is_newer(&self, number: u64, body: &str, draft: &CommentDraft<'_>) -> Result<bool, ForgeError> {
        let shown = Marker::of(body).and_then(|marker| marker.head);
        let (Some(shown), Some(own)) = (shown.as_deref(), draft.head) else {
            return Ok(false);
        };
        let order = match (shown == own, (draft.order)(shown)) {
            (true, _) | (_, Some(Ordering::Less)) => return Ok(false),
            (false, order) => order,
        };
        // The clone of an older job does not have newer commits, and a descendant may have been removed by a
        // forced push. Only the forge knows the newest commit.
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

    /// Returns what the comment on a pull request says about its changes. `user` is that of the token, and
    /// `first` are the oldest comments, if they are known.
    pub(super) fn review(
        &self,
        number: u64,
        key: &CommentKey,
        user: &str,
        first: Option<(Vec<ForgeComment>, bool)>,
    ) -> Result<CommentPlan, ForgeError> {
        let (mut own, has_more) = first.unwrap_or((Vec::new(), true));
        own.retain(|comment| comment.author == user);
        own.sort_unstable_by_key(|comment| comment.id);
        let is_own = |comment: &ForgeComment| key.has(&comment.body);
        if has_more && !own.iter().any(is_own) {
            own = self.comments_of(number, user)?;
        }
        Ok(key.plan(own.iter().map(|comment| comment.body.as_str())))
    }

    pub(super) fn user(&self) -> Result<String, ForgeError> {
        let answer = self.call(&self.routes.user(self.token_kind))?;
        let user = self.routes.read_user(&answer.body);
        user.ok_or_else(|| answer.foreign("it did not name the user of the token"))
    }

    fn own_comments(
        &self,
        number: u64,
        key: &CommentKey,
        user: &str,
    ) -> Result<Vec<ForgeComment>, ForgeError> {
        let mut own = self.comments_of(number, user)?;
        key.retain(&mut own, |comment| &comment.body);
        Ok(own)
    }

    /// Returns the comments of `user`, each once, from the oldest one.
    fn comments_of(&self, number: u64, user: &str) -> Result<Vec<ForgeComment>, ForgeError> {
        let mut own = BTreeMap::new();
        let mut read = |answer: &ForgeAnswer| {
            let entries = self.routes.entries(&answer.body);
            let entries = entries.ok_or_else(|| answer.foreign("it did not return a list of comments"))?;
            let comments = entries.iter().filter_map(|entry| self.routes.read_comment(entry));
            let comments = comments.filter(|comment| comment.author == user);
            own.extend(comments.map(|comment| (comment.id, comment)));
            // GitLab lists what is no comment as well.
            let ids = entries.iter().filter_map(|entry| entry["id"].as_u64()).collect();
            Ok(ReadPage { ids, is_last: entries.is_empty() })
        };
        self.list("comments", |page| self.routes.comments(number, page.number), &mut read)?;
        Ok(own.into_values().collect())
    }
}

/// Compares texts as a forge stores them: without white space at the end, and with any line breaks.
fn same_text(stored: &str, text: &str) -> bool {
    normal(stored) == normal(text)
}

fn normal(text: &str) -> String {
    text.replace("\r\n", "\n").trim_end().to_owned()
}

/// The key of a job whose settings are invalid, and so also those that its key would consist of.
const UNKNOWN: &str = "unknown";

const PREFIX: &str = "<!-- gitoggle:";

/// The room that the marker leaves for the text, in characters.
const LEAST_TEXT: usize = 10_000;

/// What a comment says about the changes of a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum CommentPlan {
    /// There was no plan.
    Failed,
    /// There is no comment, or someone changed it.
    Missing,
    Reviewed(ReviewedChanges),
    /// There are too many changes to list them.
    Unlisted,
}

impl CommentPlan {
    /// Returns what a comment on `api` has room for.
    pub(crate) fn of(changes: ReviewedChanges, api: Forge) -> Self {
        let room = api.site().longest_comment - LEAST_TEXT;
        if changes.to_bytes().len().div_ceil(3) * 4 <= room {
            Self::Reviewed(changes)
        } else {
            Self::Unlisted
        }
    }

    /// Returns what is reviewed by either of two plans; if neither lists changes, why.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Reviewed(one), Self::Reviewed(other)) => Self::Reviewed(one.or(other)),
            (reviewed @ Self::Reviewed(_), _) | (_, reviewed @ Self::Reviewed(_)) => reviewed,
            (Self::Missing, other) => other,
            (one, _) => one,
        }
    }

    fn to_word(&self) -> String {
        match self {
            Self::Failed | Self::Missing => "failed".to_owned(),
            Self::Reviewed(changes) => format!("reviewed:{}", STANDARD.encode(changes.to_bytes())),
            Self::Unlisted => "unlisted".to_owned(),
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        match word.strip_prefix("reviewed:") {
            Some(digests) => {
                let digests = STANDARD.decode(digests).ok()?;
                ReviewedChanges::from_bytes(&digests).map(Self::Reviewed)
            }
            None => match word {
                "failed" => Some(Self::Failed),
                "unlisted" => Some(Self::Unlisted),
                _ => None,
            },
        }
    }
}

/// Distinguishes the comments of several gitoggle jobs on one pull request: by where the documents are, and by
/// the scope, so that a plan of a part does not replace that of everything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CommentKey(String);

impl CommentKey {
    /// Returns the key of a job that reads documents as `settings` say, and of these only those that the
    /// globs of `scope` match.
    pub(crate) fn of(settings: &[&str], scope: &[String]) -> Self {
        let hash = |parts: &mut dyn Iterator<Item = &str>| {
            let mut hash = Sha256::new();
            for part in parts {
                hash.update(part);
                hash.update([0]);
            }
            hex(&hash.finalize()[..8])
        };
        let documents = hash(&mut settings.iter().copied());
        match scope {
            [] => Self(documents),
            globs => Self(format!("{documents}.{}", hash(&mut globs.iter().map(String::as_str)))),
        }
    }

    /// Returns the part of a key that is the same for every scope.
    fn documents(key: &str) -> &str {
        key.split('.').next().unwrap_or_default()
    }

    /// Returns the key of a job whose settings are invalid. Its comment is that of the only other job, or one
    /// that the next run of any job takes over.
    pub(crate) fn unknown() -> Self {
        Self(UNKNOWN.to_owned())
    }

    /// Returns the comment on `api` with `page` about the commit `head`. Its hidden first line has the plan,
    /// the length of the page, and a checksum: a comment that a person pasted and added to is not one of
    /// gitoggle, and one that a person changed is not a review.
    pub(crate) fn comment(&self, api: Forge, head: Option<&str>, plan: &CommentPlan, page: &str) -> String {
        let page = &api.stored(page);
        let (head, plan) = (head.unwrap_or("-"), plan.to_word());
        let (length, sum) = (plain(page).count(), checksum(&[head, &plan, page]));
        format!("{PREFIX}{} {length} {sum} {head} {plan} -->\n{page}", self.0)
    }

    /// Returns the maximum length of the page in a comment on `api`, in characters.
    pub(crate) fn room(&self, api: Forge, plan: &CommentPlan) -> usize {
        let empty = self.comment(api, Some(&"0".repeat(40)), plan, "");
        // The length has up to seven digits.
        api.site().longest_comment - empty.len() - 7
    }

    /// Returns whether `body` is a comment of this job, or of one with invalid settings.
    fn has(&self, body: &str) -> bool {
        Marker::of(body).is_some_and(|marker| marker.key == self.0 || marker.key == UNKNOWN)
    }

    /// Returns what `bodies`, the comments by the user of the token from the oldest one, say about the changes
    /// of a pass. The comment of the job with the same scope decides. If there is none, each comment about
    /// these documents counts: a review lists single changes, so the scope of a pass only narrows what is
    /// published.
    fn plan<'a>(&self, bodies: impl Iterator<Item = &'a str>) -> CommentPlan {
        let mut oldest: BTreeMap<String, Marker> = BTreeMap::new();
        let mut own = None;
        for marker in bodies.filter_map(Marker::of) {
            if marker.key == self.0 || marker.key == UNKNOWN {
                own.get_or_insert(marker);
            } else if Self::documents(&marker.key) == Self::documents(&self.0) {
                oldest.entry(marker.key.clone()).or_insert(marker);
            }
        }
        match own {
            Some(own) if own.key == self.0 && own.is_unchanged => own.plan,
            Some(_) => CommentPlan::Missing,
            None => {
                let plans =
                    oldest.into_values().filter(|marker| marker.is_unchanged).map(|marker| marker.plan);
                plans.fold(CommentPlan::Missing, CommentPlan::or)
            }
        }
    }

    /// Keeps the comments of this job. `comments` are by the user of the token.
    pub(super) fn retain<T>(&self, comments: &mut Vec<T>, body: impl Fn(&T) -> &str) {
        let key = |comment: &T| Marker::of(body(comment)).map(|marker| marker.key);
        let keys: BTreeSet<String> = comments.iter().filter_map(key).filter(|key| key != UNKNOWN).collect();
        // With several jobs, the comment of this one is not known.
        let is_only = self.0 == UNKNOWN && keys.len() == 1;
        comments.retain(|comment| key(comment).is_some_and(|key| is_only || key == self.0 || key == UNKNOWN));
    }
}

/// The hidden first line of a comment that nobody has added to.
struct Marker {
    key: String,
    is_unchanged: bool,
    /// The commit that the comment is about, if it is known.
    head: Option<String>,
    plan: CommentPlan,
}

impl Marker {
    fn of(body: &str) -> Option<Self> {
        let (line, page) = body.split_once('\n')?;
        let line = line.trim_end().strip_prefix(PREFIX)?.strip_suffix(" -->")?;
        let mut words = line.split(' ');
        let [key, length, sum, head, plan] = [(); 5].map(|()| words.next());
        let (key, length, sum, head, plan) = (key?, length?, sum?, head?, plan?);
        let is_id = head.len() == 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_whole = words.next().is_none() && length == plain(page).count().to_string();
        is_whole.then_some(())?;
        Some(Self {
            key: key.to_owned(),
            is_unchanged: sum == checksum(&[head, plan, page]),
            head: is_id.then(|| head.to_owned()),
            plan: CommentPlan::of_word(plan)?,
        })
    }
}

/// Returns the letters and digits of a text.
fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| character.is_alphanumeric())
}

fn checksum(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(normal(part));
        hash.update([0]);
    }
    hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

    fn reviewed(count: u8) -> ReviewedChanges {
        let bytes: Vec<u8> = (0..count).flat_map(|number| [number; 16]).collect();
        ReviewedChanges::from_bytes(&bytes).unwrap()
    }

    #[test]
    fn a_comment_is_read_back_as_forges_store_it() {
        let key = CommentKey::of(&["toggles", ""], &[]);
        for plan in [
            CommentPlan::Reviewed(reviewed(0)),
            CommentPlan::Reviewed(reviewed(200)),
            CommentPlan::Failed,
            CommentPlan::Unlisted,
        ] {
            let body = key.comment(Forge::GitLab, Some(HEAD), &plan, "### Plan\n/merge é\n");
            assert!(body.contains("\n\\/merge é"), "GitLab would execute the line");
            for stored in [body.clone(), body.replace('\n', "\r\n"), body.trim_end().to_owned()] {
                let marker = Marker::of(&stored).unwrap();
                assert_eq!((marker.key.as_str(), marker.head.as_deref()), (key.0.as_str(), Some(HEAD)));
                assert_eq!((marker.plan, marker.is_unchanged), (plan.clone(), true));
            }
            let none = key.comment(Forge::GitHub, None, &plan, "");
            assert_eq!(Marker::of(&none).unwrap().head, None);
        }
    }

    #[test]
    fn a_comment_that_someone_changed_is_not_one_of_gitoggle() {
        let key = CommentKey::of(&["a"], &[]);
        let (one, two) = (reviewed(1), reviewed(2));
        let plan = CommentPlan::Reviewed(one.clone());
        let body = key.comment(Forge::GitHub, Some(HEAD), &plan, "### Plan\n`age > 20`\n");
        let word = |changes| CommentPlan::Reviewed(changes).to_word();
        for changed in [
            format!("{body}I think so, too.\n"),
            format!("> {body}"),
            format!("\n{body}"),
            body.replace("Plan", "No plan"),
            body.replace(" -->", " x -->"),
            body.lines().next().unwrap().to_owned(),
            String::new(),
        ] {
            assert!(Marker::of(&changed).is_none(), "{changed}");
        }
        for changed in [
            body.replace(&word(one.clone()), &word(two)),
            body.replace(HEAD, &HEAD.replace('0', "1")),
            body.replace("Plan", "Plam"),
            body.replace('>', "<").replacen(" --<", " -->", 1),
            body.replace("age > 20", "age  > 20"),
            body.replace('`', ""),
        ] {
            assert!(!Marker::of(&changed).unwrap().is_unchanged, "{changed}");
        }
        assert_ne!(CommentKey::of(&["a", "b"], &[]), CommentKey::of(&["ab", ""], &[]));
    }

    #[test]
    fn a_pass_with_another_scope_has_the_reviews_of_all_plans_of_its_documents() {
        let key = |root: &str, globs: &[&str]| {
            CommentKey::of(&[root], &globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>())
        };
        let (all, shop, web) = (key("a", &[]), key("a", &["shop/**"]), key("a", &["web/**"]));
        let (pay, other, unknown) = (key("a", &["shop/prod/pay"]), key("b", &[]), CommentKey::unknown());
        let listed = |number: u8| ReviewedChanges::from_bytes(&[number; 16]).unwrap();
        let reviewed = |number| CommentPlan::Reviewed(listed(number));
        let body = |(key, plan): &(&CommentKey, CommentPlan)| key.comment(Forge::GitHub, None, plan, "plan");
        let missing = CommentPlan::Missing;
        let both = CommentPlan::Reviewed(listed(1).or(listed(2)));
        for (key, comments, expected) in [
            (&pay, vec![(&all, reviewed(1))], reviewed(1)),
            (&all, vec![(&shop, reviewed(1))], reviewed(1)),
            (&pay, vec![(&shop, reviewed(1)), (&web, reviewed(2)), (&other, reviewed(3))], both),
            (&pay, vec![(&other, reviewed(3))], missing.clone()),
            (&pay, vec![(&shop, CommentPlan::Failed), (&web, reviewed(2))], reviewed(2)),
            (&pay, vec![(&shop, CommentPlan::Failed)], CommentPlan::Failed),
            // Its own plan is newer than what another one lists, whatever became of it.
            (&shop, vec![(&all, reviewed(1)), (&shop, reviewed(2))], reviewed(2)),
            (&shop, vec![(&all, reviewed(1)), (&shop, CommentPlan::Failed)], CommentPlan::Failed),
            (&pay, vec![(&all, reviewed(1)), (&unknown, CommentPlan::Failed)], missing),
            // Two jobs may have created the comment at the same time, and the oldest one stays.
            (&pay, vec![(&all, reviewed(1)), (&all, reviewed(2))], reviewed(1)),
        ] {
            let bodies: Vec<String> = comments.iter().map(body).collect();
            assert_eq!(key.plan(bodies.iter().map(String::as_str)), expected, "{comments:?}");
        }
        let changed = body(&(&all, reviewed(1))).replace("plan", "plam");
        assert_eq!(pay.plan([changed.as_str()].into_iter()), CommentPlan::Missing);
    }

    #[test]
    fn a_comment_lists_thousands_of_changes_and_says_if_there_are_more() {
        let changes = |count: u32| {
            let bytes: Vec<u8> = (0..count).flat_map(|number| [number.to_be_bytes(); 4].concat()).collect();
            ReviewedChanges::from_bytes(&bytes).unwrap()
        };
        for (api, most) in [(Forge::GitHub, 2600), (Forge::Gitea, 2600), (Forge::GitLab, 46_000)] {
            let key = CommentKey::of(&["a"], &[]);
            let plan = CommentPlan::of(changes(most), api);
            assert_eq!(plan, CommentPlan::Reviewed(changes(most)));
            assert!(key.room(api, &plan) > LEAST_TEXT - 200);
            assert_eq!(CommentPlan::of(changes(most + 1000), api), CommentPlan::Unlisted);
        }
    }

    #[test]
    fn a_job_with_invalid_settings_has_the_comment_of_the_only_other_job() {
        let (one, other, unknown) =
            (CommentKey::of(&["a"], &[]), CommentKey::of(&["b"], &[]), CommentKey::unknown());
        let bodies = |keys: &[&CommentKey]| -> Vec<String> {
            let comment = |key: &&CommentKey| key.comment(Forge::GitHub, None, &CommentPlan::Failed, "");
            let mut bodies: Vec<String> = keys.iter().map(comment).collect();
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

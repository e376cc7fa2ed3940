//! The marker at the beginning of a comment: which job wrote it, about which commit, and what it planned.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::model::{PlanDigest, ReviewedPlan, hex};

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

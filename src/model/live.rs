//! What the service has for a toggle.

use super::{Payload, ReturnType, ToggleId};

/// What the service has for a toggle in one environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Live {
    /// The service has no such toggle.
    Missing {
        /// Whether changes in its environment need an approval.
        needs_approval: bool,
    },
    Toggle(Box<LiveToggle>),
    /// The toggle exists, but without a targeting in this environment.
    Untargeted,
}

/// The live state of a toggle. What the service does not report is absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveToggle {
    pub id: ToggleId,
    /// The key as the service spells it, if that differs.
    pub spelling: Option<String>,
    /// The number of the live version. Never that of a draft.
    pub version: u64,
    /// The live targeting. Never that of a draft.
    pub content: LiveContent,
    /// The account that made this version.
    pub modified_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC. Only for display: the service's dates differ by a
    /// second.
    pub modified_at: Option<i64>,
    /// The change that awaits approval.
    pub draft: Option<LiveDraft>,
    pub is_archived: bool,
    /// Whether changes in this environment need an approval.
    pub needs_approval: bool,
    pub return_type: Option<ReturnType>,
    /// The versions that replaced what was applied, oldest first; empty if they were not read.
    pub events: Vec<LiveVersion>,
    /// Whether versions that are not in `events` may have replaced what was applied, because there are too many or
    /// they could not be read.
    pub has_earlier_events: bool,
}

impl LiveToggle {
    /// The number of versions to read if it is not known which one was applied. A version can have 100 KiB.
    pub(crate) const MOST_UNKNOWN: u64 = 200;

    /// Returns the number of the first version to read for [`LiveToggle::add_events`].
    pub(crate) fn first_event(&self, applied: Option<u64>) -> u64 {
        let unknown = self.version.saturating_sub(Self::MOST_UNKNOWN);
        applied.unwrap_or(unknown).min(self.version.saturating_sub(1)) + 1
    }

    /// Adds the events since this targeting was `applied`, as version `number`, as far as they are known.
    /// `versions` are those from [`LiveToggle::first_event`] on, newest first; empty if they could not be read.
    pub(crate) fn add_events(
        &mut self,
        versions: &[LiveVersion],
        number: Option<u64>,
        applied: Option<&Payload>,
    ) {
        let newest = versions.partition_point(|version| version.version > self.version);
        let versions = &versions[newest..];
        // The live version is one of them, unless they could not be read.
        if versions.is_empty() {
            self.has_earlier_events = number.is_none_or(|number| number < self.version);
            self.events.clear();
            return;
        }
        let is_applied = |version: &LiveVersion| match number {
            Some(number) => version.version <= number,
            None => applied.is_some() && version.content.payload() == applied,
        };
        let has_unread = versions.last().is_some_and(|oldest| oldest.version > 1);
        let count = match versions.iter().position(is_applied) {
            Some(count) => count,
            None if number.is_some() || has_unread => versions.len(),
            // No version has what was applied, so only the last one is certainly newer.
            None => versions.len().min(1),
        };
        self.has_earlier_events = number.is_none() && has_unread && count == versions.len();
        self.events = versions[..count].iter().rev().cloned().collect();
    }
}

/// A change on the service that awaits approval there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LiveDraft {
    pub submitted_by: Option<String>,
}

/// The targeting that the service has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveContent {
    /// A document cannot express it, for this reason.
    Inexpressible(String),
    Known(Payload),
}

impl LiveContent {
    /// Returns the targeting, if a document can express it.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Inexpressible(_) => None,
            Self::Known(payload) => Some(payload),
        }
    }
}

/// One entry of a toggle's history on the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveVersion {
    pub version: u64,
    pub content: LiveContent,
    pub comment: String,
    /// The account that published it.
    pub created_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC.
    pub created_at: Option<i64>,
}

impl LiveVersion {
    /// Returns the number of the version with the targeting that was `applied`, which was recorded at this time, in
    /// seconds since 1970-01-01 UTC: the newest one that is not newer than the record, because somebody may have gone
    /// back to it since. `versions` are the newest first.
    pub(crate) fn number_applied(versions: &[Self], applied: &Payload, recorded_at: i64) -> Option<u64> {
        /// How much the clocks of the service and of what records may differ, in seconds.
        const CLOCKS: i64 = 60;
        let is_older =
            |version: &&Self| version.created_at.is_some_and(|created| created <= recorded_at + CLOCKS);
        let equal = || versions.iter().filter(|version| version.content.payload() == Some(applied));
        // If the clock of the service is ahead by more than that, the oldest one was applied.
        let found = equal().find(is_older).or_else(|| equal().next_back());
        found.map(|version| version.version)
    }

    /// Returns the comment without white space around it, unless it is blank.
    pub(crate) fn shown_comment(&self) -> Option<&str> {
        Some(self.comment.trim()).filter(|comment| !comment.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(value: u64) -> Payload {
        let serve = json!({ "select": 0 });
        let variations = json!([{ "value": value.to_string(), "name": "", "description": "" }]);
        let content =
            json!({ "rules": [], "disabledServe": serve, "defaultServe": serve, "variations": variations });
        serde_json::from_value(json!({ "disabled": false, "content": content })).unwrap()
    }

    /// Returns the numbers of the events of a toggle whose versions have these contents, oldest first, and
    /// whether there may be earlier ones.
    fn events(contents: &[u64], number: Option<u64>, applied: u64) -> (Vec<u64>, bool) {
        let content = |content: u64| LiveContent::Known(payload(content));
        let mut live = LiveToggle {
            id: "shop/prod/pay".parse().unwrap(),
            spelling: None,
            version: contents.len() as u64,
            content: content(*contents.last().unwrap()),
            modified_by: None,
            modified_at: None,
            draft: None,
            is_archived: false,
            needs_approval: false,
            return_type: None,
            events: Vec::new(),
            has_earlier_events: false,
        };
        let version = |(version, one): (u64, &u64)| LiveVersion {
            version,
            content: content(*one),
            comment: String::new(),
            created_by: None,
            created_at: None,
        };
        let first = live.first_event(number);
        let mut versions: Vec<_> =
            (1..).zip(contents).filter(|(number, _)| *number >= first).map(version).collect();
        versions.reverse();
        live.add_events(&versions, number, Some(&payload(applied)));
        (live.events.iter().map(|event| event.version).collect(), live.has_earlier_events)
    }

    #[test]
    fn the_applied_version_is_the_newest_one_that_is_not_newer_than_its_record() {
        let version = |(number, content, created_at): (u64, u64, i64)| LiveVersion {
            version: number,
            content: LiveContent::Known(payload(content)),
            comment: String::new(),
            created_by: None,
            created_at: Some(created_at),
        };
        // Newest first: the number, the content, and the time.
        let versions = [(5, 2, 900), (4, 1, 800), (3, 2, 700), (2, 1, 100), (1, 1, 50)].map(version);
        for (applied, recorded_at, expected) in
            [(1, 110, Some(2)), (1, 790, Some(4)), (1, -100, Some(1)), (2, 650, Some(3)), (3, 900, None)]
        {
            let found = LiveVersion::number_applied(&versions, &payload(applied), recorded_at);
            assert_eq!(found, expected, "{applied} {recorded_at}");
        }
    }

    #[test]
    fn the_events_are_all_versions_after_the_applied_one() {
        let many: Vec<u64> = (1..=300).collect();
        for (contents, number, applied, expected, may_have_more) in [
            (&[1, 2, 3][..], Some(1), 1, vec![2, 3], false),
            // Known by its number, even if its content came back.
            (&[1, 2, 1, 3], Some(1), 1, vec![2, 3, 4], false),
            (&[1, 2, 1, 3], None, 1, vec![4], false),
            (&[1, 2, 3], None, 1, vec![2, 3], false),
            // No version has what was applied.
            (&[2, 3, 4], None, 1, vec![3], false),
            (&many, Some(7), 7, (8..=300).collect(), false),
            (&many, None, 150, (151..=300).collect(), false),
            (&many, None, 7, (101..=300).collect(), true),
        ] {
            let found = events(contents, number, applied);
            assert_eq!(found, (expected, may_have_more), "{number:?} {applied}");
        }
    }
}

//! Toggles that no longer decide anything (src/model/README.md, "Leftovers").

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{AuthoredCommit, CommitId, Condition, Rule, Serve, Targeting, ToggleId, delivered_time};

super::words! {
    /// Why a toggle does not decide anything.
    LeftoverKind {
        /// It is disabled.
        Off = "off",
        /// The time of a rule has passed, so that the rule decides always or never.
        Passed = "passed",
        /// It is enabled, and everyone is served the same variation.
        Settled = "settled",
    }
}

/// What a toggle that decides nothing serves.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Leftover {
    pub(crate) kind: LeftoverKind,
    /// The name of the variation that everyone is served; none if it depends on the user, or nothing is
    /// served.
    pub(crate) variation: Option<String>,
    /// The rule whose time has passed.
    pub(crate) rule: Option<PassedRule>,
}

/// A rule whose time has passed, for all users without the attribute that it compares with the time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PassedRule {
    /// The number of the rule, from 1.
    pub(crate) number: usize,
    pub(crate) name: String,
    /// The attribute. Users who have it are compared by it at any time.
    pub(crate) subject: String,
    /// Whether it matches everyone since then; otherwise, it matches nobody.
    pub(crate) is_always: bool,
    /// In seconds since 1970-01-01 UTC.
    pub(crate) since: i64,
}

impl Targeting {
    /// Returns what the toggle serves if it decides nothing.
    pub(crate) fn leftover(&self) -> Option<Leftover> {
        let content = &self.content;
        let (kind, serves) = match self.disabled {
            true => (LeftoverKind::Off, vec![&content.disabled_serve]),
            false => (LeftoverKind::Settled, self.serves()),
        };
        let mut served = serves.into_iter().flat_map(Serve::variations);
        let first = served.next();
        let only = first.filter(|first| served.all(|index| index == *first));
        let variation = only.and_then(|index| content.variations.get(index as usize));
        (self.disabled || only.is_some()).then(|| Leftover {
            kind,
            variation: variation.map(|variation| variation.name.clone()),
            rule: None,
        })
    }

    /// Returns the first rule whose time has passed at `now` for all users without the attribute that it
    /// compares.
    pub(crate) fn passed(&self, now: i64) -> Option<Leftover> {
        let reached = self.content.rules.iter().enumerate().filter(|_| !self.disabled);
        let mut passed = reached.filter_map(|(index, rule)| Some((index, rule, rule.passed(now)?)));
        let (index, rule, (is_always, since, subject)) = passed.next()?;
        let mut served = rule.serve.variations();
        let only = served.next().filter(|_| is_always && served.next().is_none());
        let variation = only.and_then(|index| self.content.variations.get(index as usize));
        Some(Leftover {
            kind: LeftoverKind::Passed,
            variation: variation.map(|variation| variation.name.clone()),
            rule: Some(PassedRule {
                number: index + 1,
                name: rule.name.clone(),
                subject: subject.to_owned(),
                is_always,
                since,
            }),
        })
    }

    /// Returns whether a rule compares a time.
    pub(crate) fn has_schedule(&self) -> bool {
        self.content.rules.iter().any(|rule| rule.conditions.iter().any(|one| !one.bounds().is_empty()))
    }

    /// Returns everything that the toggle can serve while it is enabled.
    fn serves(&self) -> Vec<&Serve> {
        let content = &self.content;
        let last = content.rules.iter().position(|rule| rule.conditions.is_empty());
        let reached = last.map_or(content.rules.len(), |last| last + 1);
        let mut serves: Vec<&Serve> = content.rules[..reached].iter().map(|rule| &rule.serve).collect();
        // A rule without conditions matches everyone, so the default serve is for nobody.
        serves.extend(last.is_none().then_some(&content.default_serve));
        // The disabled serve is for users who do not meet a prerequisite.
        serves.extend(content.prerequisites.iter().flatten().next().map(|_| &content.disabled_serve));
        serves
    }
}

impl Condition {
    /// Returns the times with which the condition compares its attribute, and whether each is the earliest
    /// one that matches. Empty if it compares anything else.
    fn bounds(&self) -> Vec<(i64, bool)> {
        let Self { kind, subject: _, predicate, objects, between } = self;
        let bound = |predicate: &str, objects: &[String]| {
            let is_earliest = match predicate {
                "after" => true,
                "before" => false,
                _ => return None,
            };
            let times: Option<Vec<i64>> = objects.iter().map(|object| delivered_time(object)).collect();
            // Any of several may match, so the earliest one decides `after`, and the latest one `before`. The
            // Rust SDK skips times before 1970.
            let times = times?.into_iter().filter(|time| *time >= 0);
            Some((if is_earliest { times.min()? } else { times.max()? }, is_earliest))
        };
        let bounds = match between.as_deref() {
            _ if kind != "datetime" => None,
            Some(between) => {
                let left = bound(&between.left_predicate, objects);
                let right = bound(&between.right_predicate, &between.right_objects);
                left.zip(right).map(|(left, right)| vec![left, right])
            }
            None => bound(predicate, objects).map(|bound| vec![bound]),
        };
        bounds.unwrap_or_default()
    }
}

impl Rule {
    /// Returns whether the rule matches always or never from now on, since when, and for users without which
    /// attribute.
    fn passed(&self, now: i64) -> Option<(bool, i64, &str)> {
        let all = self.conditions.iter().map(|condition| (condition, condition.bounds()));
        let all: Vec<(&Condition, Vec<(i64, bool)>)> = all.collect();
        // One condition that never matches is enough, whatever the others compare.
        let bounds = all.iter().flat_map(|(condition, bounds)| {
            bounds.iter().map(|(time, is_earliest)| (*time, *is_earliest, condition.subject.as_str()))
        });
        let ended = bounds.clone().filter(|(time, is_earliest, _)| !is_earliest && *time <= now);
        if let Some((since, _, subject)) = ended.min_by_key(|(time, ..)| *time) {
            let began = bounds.filter(|(_, is_earliest, _)| *is_earliest).map(|(time, ..)| time).max();
            // What never matched has not passed.
            return (began < Some(since)).then_some((false, since, subject));
        }
        let subject = self.conditions.first()?.subject.as_str();
        let compares_one_time =
            all.iter().all(|(condition, bounds)| condition.subject == subject && !bounds.is_empty());
        let is_always = bounds.clone().all(|(time, is_earliest, _)| is_earliest && time <= now);
        let since = bounds.map(|(time, ..)| time).max().unwrap_or_default();
        (compares_one_time && is_always).then_some((true, since, subject))
    }
}

/// The last change of a document's meaning.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LastChange {
    /// When the change reached the branch, in seconds since 1970-01-01 UTC. Without a commit, the history is
    /// cut there, and the change is older.
    pub(crate) at: i64,
    pub(crate) commit: Option<Arc<AuthoredCommit>>,
}

impl LastChange {
    /// Returns how long ago it was at `now`, in seconds since 1970-01-01 UTC.
    pub(crate) fn age(&self, now: i64) -> Duration {
        Duration::from_secs(u64::try_from(now.saturating_sub(self.at)).unwrap_or_default())
    }
}

/// An entry of a `CODEOWNERS` file.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct OwnerEntry {
    /// The file and the line.
    pub(crate) place: String,
    pub(crate) owners: Vec<String>,
}

/// A toggle that has decided nothing for a while.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StaleToggle {
    pub(crate) id: ToggleId,
    /// The path of its document with the root.
    pub(crate) path: String,
    pub(crate) leftover: Leftover,
    /// The keys of the toggles that need it, sorted.
    pub(crate) needed_by: Vec<String>,
    pub(crate) changed: LastChange,
    pub(crate) owners: Vec<OwnerEntry>,
}

/// A toggle that a waiver excludes, with its reason.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WaivedToggle {
    pub(crate) toggle: ToggleId,
    pub(crate) reason: String,
}

/// The toggles of a revision that have decided nothing for a while.
#[derive(Clone, Debug)]
pub(crate) struct StaleReport {
    pub(crate) reference: String,
    pub(crate) revision: CommitId,
    /// The time of the report, in seconds since 1970-01-01 UTC.
    pub(crate) now: i64,
    pub(crate) older_than: Duration,
    /// The number of documents in scope.
    pub(crate) documents: usize,
    pub(crate) stale: Vec<StaleToggle>,
    pub(crate) waived: Vec<WaivedToggle>,
    /// The toggles that decide nothing since a more recent change.
    pub(crate) recent: Vec<ToggleId>,
    /// The toggles that decide nothing, and whose age is unknown because the history is cut.
    pub(crate) unclear: Vec<ToggleId>,
    pub(crate) invalid: Vec<ToggleId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, Prerequisite, ReturnType, Rule, Variation};

    fn targeting() -> Targeting {
        let variation = |name: &str| Variation {
            value: name.to_owned(),
            name: name.to_owned(),
            description: String::new(),
        };
        Targeting {
            disabled: false,
            content: Content {
                rules: Vec::new(),
                disabled_serve: Serve::Select(0),
                default_serve: Serve::Select(1),
                variations: vec![variation("off"), variation("on")],
                prerequisites: None,
            },
        }
    }

    fn rule(serve: u32, conditions: usize) -> Rule {
        let condition = Condition {
            kind: "string".to_owned(),
            subject: "city".to_owned(),
            predicate: "is one of".to_owned(),
            objects: vec!["Paris".to_owned()],
            between: None,
        };
        Rule { name: String::new(), serve: Serve::Select(serve), conditions: vec![condition; conditions] }
    }

    fn schedule(comparisons: &[(&str, &str)]) -> Rule {
        let condition = |(predicate, object): &(&str, &str)| Condition {
            kind: "datetime".to_owned(),
            subject: "now".to_owned(),
            predicate: (*predicate).to_owned(),
            objects: vec![(*object).to_owned()],
            between: None,
        };
        let conditions = comparisons.iter().map(condition).collect();
        Rule { name: "launch".to_owned(), serve: Serve::Select(1), conditions }
    }

    #[test]
    fn a_rule_whose_time_has_passed_decides_always_or_never() {
        const JUNE: &str = "2026-06-01T00:00:00+00:00";
        const JULY: &str = "2026-07-01T00:00:00+00:00";
        let [june, july] = [JUNE, JULY].map(|time| delivered_time(time).unwrap());
        let passed = |rule: Rule, now: i64| {
            let mut targeting = targeting();
            targeting.content.rules = vec![rule];
            let rule = targeting.passed(now)?.rule?;
            Some((rule.is_always, rule.since))
        };
        let after = || schedule(&[("after", JUNE)]);
        assert_eq!(passed(after(), june - 1), None);
        assert_eq!(passed(after(), june), Some((true, june)));
        let before = || schedule(&[("before", JUNE)]);
        assert_eq!(passed(before(), june - 1), None);
        assert_eq!(passed(before(), june), Some((false, june)));
        let within = || schedule(&[("after", JUNE), ("before", JULY)]);
        assert_eq!(passed(within(), june), None);
        assert_eq!(passed(within(), july), Some((false, july)));
        assert_eq!(passed(schedule(&[("after", JUNE), ("after", JULY)]), july), Some((true, july)));
        let never = || schedule(&[("after", "2026-06-01T02:00:00+02:00"), ("before", JUNE)]);
        assert_eq!(passed(never(), july), None, "it did not match before either");
        assert_eq!(passed(rule(1, 1), july), None, "another condition");
        assert_eq!(passed(schedule(&[("after", "1960-01-01T00:00:00+00:00")]), july), None);
        let any_of_two = |comparison: &str| {
            let mut one = schedule(&[(comparison, JULY)]);
            one.conditions[0].objects.push(JUNE.to_owned());
            one
        };
        assert_eq!(passed(any_of_two("after"), june), Some((true, june)));
        assert_eq!(passed(any_of_two("before"), june), None);
        assert_eq!(passed(any_of_two("before"), july), Some((false, july)));
        let beside = |comparison: &str| {
            let mut one = schedule(&[(comparison, JUNE)]);
            one.conditions.insert(0, rule(1, 1).conditions.remove(0));
            one
        };
        assert_eq!(passed(beside("before"), july), Some((false, june)), "another condition cannot help");
        assert_eq!(passed(beside("after"), july), None, "the other condition decides");
        assert_eq!(passed(rule(1, 0), july), None, "no condition");
    }

    #[test]
    fn a_toggle_decides_nothing_if_everyone_gets_one_variation() {
        let leftover = |change: fn(&mut Targeting)| {
            let mut targeting = targeting();
            change(&mut targeting);
            let found = targeting.leftover();
            found.map(|found| (found.kind.as_str(), found.variation.unwrap_or_default()))
        };
        let settled = |name: &str| Some(("settled", name.to_owned()));
        assert_eq!(leftover(|_| {}), settled("on"));
        assert_eq!(leftover(|one| one.disabled = true), Some(("off", "off".to_owned())));
        assert_eq!(leftover(|one| one.content.rules = vec![rule(1, 1)]), settled("on"));
        assert_eq!(leftover(|one| one.content.rules = vec![rule(0, 1)]), None);
        assert_eq!(leftover(|one| one.content.rules = vec![rule(0, 0), rule(1, 1)]), settled("off"));
        assert_eq!(leftover(|one| one.content.default_serve = Serve::Split(vec![0, 10_000])), settled("on"));
        assert_eq!(leftover(|one| one.content.default_serve = Serve::Split(vec![1, 9_999])), None);
        assert_eq!(leftover(|one| one.content.default_serve = Serve::Nothing), None);
        let needed = |one: &mut Targeting| {
            let kind = ReturnType::Boolean;
            let needed = Prerequisite { key: "other".to_owned(), value: "true".to_owned(), kind };
            one.content.prerequisites = Some(vec![needed]);
        };
        assert_eq!(leftover(needed), None);
        let mut same = targeting();
        needed(&mut same);
        same.content.disabled_serve = Serve::Select(1);
        assert!(same.leftover().is_some());
    }
}

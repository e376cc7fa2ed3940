//! Finds the changes that must not be sent because another one is not applied (src/plan/README.md, "Order
//! and windows").
//!
//! A pass sends the changes that need each other in an order ([`super::order`]). If one of them is held or
//! fails, the service keeps what it has of that toggle. This module decides which of the others would then
//! break something that both commits have right. Every other change is sent.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::live::needed_id;
use super::{Change, Needs, Plan, WithheldToggle, hold};
use crate::model::{Components, EnvironmentId, Hold, Live, Payload, Prerequisite, ToggleId, components};

/// The changes of one environment, published and withheld, and what its other toggles need. All keys are in
/// lower case, because the service ignores case.
pub(crate) struct EnvironmentChanges<'a> {
    changes: HashMap<String, &'a Change>,
    /// The changes that drop a prerequisite, by the toggle of that prerequisite.
    losing: HashMap<String, Vec<&'a Change>>,
    /// What documents need that do not change and that are invalid because of a change, by the toggle that
    /// they need.
    broken: HashMap<String, Vec<(&'a ToggleId, &'a Prerequisite)>>,
    /// The toggles that keep what is applied, because their document is invalid or out of scope, each with that as far as it
    /// is known.
    kept: HashMap<String, (&'a ToggleId, Option<&'a Payload>)>,
    /// Those of them that need a toggle, each with what it asks for, by that toggle.
    needing: HashMap<String, Vec<(&'a ToggleId, Prerequisite)>>,
    needs: Option<&'a HashMap<String, Vec<String>>>,
}

/// What became of a change so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ChangeFate {
    Applied,
    /// Its turn has not come, so that the service has what it had before.
    Untried,
    Withheld,
}

impl Plan {
    /// Returns the changes of each environment in which one may have to wait for another.
    pub(crate) fn by_environment(&self) -> BTreeMap<EnvironmentId, EnvironmentChanges<'_>> {
        let mut all: BTreeMap<_, EnvironmentChanges<'_>> = BTreeMap::new();
        let known = |id: &ToggleId| self.needs.contains_key(&id.environment());
        let invalid = self.withheld.iter().filter(|held| held.change.is_none()).map(|held| &held.id);
        let kept: BTreeSet<&ToggleId> = invalid.chain(&self.outside).collect();
        let keeping: BTreeSet<EnvironmentId> = kept.iter().map(|id| id.environment()).collect();
        let withheld = self.withheld.iter().filter_map(|held| held.change.as_deref());
        for change in self.changes.iter().chain(withheld) {
            let lost = change.lost();
            let environment = change.id.environment();
            let is_alone = lost.is_empty() && self.broken.is_empty() && !keeping.contains(&environment);
            if is_alone && !known(&change.id) {
                continue;
            }
            let needs = self.needs.get(&environment);
            let own = all.entry(environment).or_insert_with(|| EnvironmentChanges::new(needs));
            own.changes.insert(change.id.toggle().to_lowercase(), change);
            for one in lost {
                own.losing.entry(one.key.to_lowercase()).or_default().push(change);
            }
        }
        for id in kept {
            let Some(own) = all.get_mut(&id.environment()) else { continue };
            let payload = self.kept(id);
            own.kept.insert(id.toggle().to_lowercase(), (id, payload));
            for one in payload.map(Payload::prerequisites).unwrap_or_default() {
                own.needing.entry(one.key.to_lowercase()).or_default().push((id, one));
            }
        }
        for (id, needed) in &self.broken {
            if let Some(own) = all.get_mut(&id.environment()) {
                for one in needed {
                    own.broken.entry(one.key.to_lowercase()).or_default().push((id, one));
                }
            }
        }
        all
    }

    /// Withholds the changes that must not be sent before a withheld one is applied. `live` is what the
    /// service has, as far as it was read, and `obstacle` says what else is in the way of a change, given which others
    /// are sent.
    ///
    /// Decides in the order of a pass, because a held change does not add its prerequisites, and leaves others free to
    /// add theirs. As in a pass, what waits is tried once more after the others.
    pub(super) fn hold_for_others(
        &mut self,
        live: &BTreeMap<ToggleId, Live>,
        obstacle: impl Fn(&Self, &Change, &dyn Fn(&ToggleId) -> bool) -> Option<Hold>,
    ) {
        self.hold_long_chains();
        self.changes.sort_by(|a, b| a.id.cmp(&b.id));
        let held = self.waiting(live, obstacle);
        for change in self.changes.extract_if(.., |change| held.contains_key(&change.id)) {
            self.withheld.push(WithheldToggle::of(Arc::new(held[&change.id].clone()), change));
        }
        self.note_withheld();
    }

    /// Returns the changes that a pass would not send, and why.
    fn waiting(
        &self,
        live: &BTreeMap<ToggleId, Live>,
        obstacle: impl Fn(&Self, &Change, &dyn Fn(&ToggleId) -> bool) -> Option<Hold>,
    ) -> BTreeMap<ToggleId, Hold> {
        let withheld = self.withheld.iter().map(|held| &held.id).chain(self.unless_equal.keys());
        let withheld: BTreeSet<&ToggleId> = withheld.collect();
        let environments = self.may_wait_in(&withheld, live);
        if environments.is_empty() {
            return BTreeMap::new();
        }
        let is_missing = |id: &ToggleId| matches!(live.get(id), Some(Live::Missing { .. }));
        let published: BTreeSet<&ToggleId> = self.changes.iter().map(|change| &change.id).collect();
        let all = self.by_environment();
        let wait = |change: &Change, fate: &dyn Fn(&ToggleId) -> ChangeFate| {
            let is_withheld = |id: &ToggleId| fate(id) == ChangeFate::Withheld;
            let is_lacking = |id: &ToggleId| {
                is_missing(id) && (!published.contains(id) || is_withheld(id)) && self.has_document(id)
            };
            let lacking = |one: &Prerequisite| needed_id(change, one).filter(is_lacking);
            if let Some(missing) = change.gained().iter().find_map(lacking) {
                return Some(hold::needs_missing(&missing));
            }
            let others = all.get(&change.id.environment());
            let hold = others.and_then(|others| others.wait(change, fate));
            hold.or_else(|| obstacle(self, change, &|id| fate(id) == ChangeFate::Applied))
        };
        let lanes = self.lanes().into_iter().filter(|lane| environments.contains(&lane.environment));
        let ordered = lanes.flat_map(|lane| lane.changes).filter(|change| !withheld.contains(&change.id));
        let ordered: Vec<&Change> = ordered.collect();
        let (mut held, mut applied) = (BTreeMap::new(), BTreeSet::new());
        for change in &ordered {
            let fate = |id: &ToggleId| match applied.contains(id) {
                true => ChangeFate::Applied,
                false if withheld.contains(id) || held.contains_key(id) => ChangeFate::Withheld,
                false => ChangeFate::Untried,
            };
            if let Some(hold) = wait(change, &fate) {
                held.insert(change.id.clone(), hold);
            } else {
                applied.insert(&change.id);
            }
        }
        // A pass that applies nothing tries nothing again.
        for change in ordered.into_iter().filter(|_| !applied.is_empty()) {
            if held.get(&change.id).is_none_or(|hold| !hold.awaits_others()) {
                continue;
            }
            let fate = |id: &ToggleId| match withheld.contains(id) || held.contains_key(id) {
                true => ChangeFate::Withheld,
                false if published.contains(id) => ChangeFate::Applied,
                false => ChangeFate::Untried,
            };
            match wait(change, &fate) {
                Some(hold) => held.insert(change.id.clone(), hold),
                None => held.remove(&change.id),
            };
        }
        held
    }

    /// Returns the environments in which something is withheld, broken, out of scope, or read.
    fn may_wait_in(
        &self,
        withheld: &BTreeSet<&ToggleId>,
        live: &BTreeMap<ToggleId, Live>,
    ) -> BTreeSet<EnvironmentId> {
        let withheld = withheld.iter().copied();
        let concerned = withheld.chain(self.broken.keys()).chain(&self.outside).chain(live.keys());
        concerned.map(ToggleId::environment).collect()
    }

    /// Withholds the changes whose new prerequisites make the chain of a document too long that does not change.
    fn hold_long_chains(&mut self) {
        let mut held = BTreeMap::new();
        for (environment, needs) in &self.dependents {
            let chains = Chains::of(needs);
            for change in self.changes.iter().filter(|change| change.id.is_in(environment)) {
                let own = change.id.toggle().to_lowercase();
                let gained = change.gained().into_iter().map(|one| one.key.to_lowercase());
                let too_long = gained.filter_map(|key| chains.through(&own, &key));
                let too_long = too_long.filter(|(_, steps)| *steps > self.longest_chain);
                if let Some((first, steps)) = too_long.max_by_key(|(_, steps)| *steps) {
                    held.insert(
                        change.id.clone(),
                        Arc::new(hold::lengthens_chain(first, steps, self.longest_chain)),
                    );
                }
            }
        }
        for change in self.changes.extract_if(.., |change| held.contains_key(&change.id)) {
            self.withheld.push(WithheldToggle::of(Arc::clone(&held[&change.id]), change));
        }
    }

    /// Notes that the service still has what withheld changes replace.
    fn note_withheld(&mut self) {
        for change in self.withheld.iter().filter_map(|held| held.change.as_deref()) {
            let before = change.before.prerequisites().into_iter().map(|one| one.key);
            note_needs(&mut self.needs, &change.id, before.collect());
        }
    }
}

/// The longest chains of prerequisites of one environment. A toggle that is part of a circle or leads to one has
/// none: circles have their own findings.
struct Chains<'a> {
    /// The steps of the longest chain that begins at a toggle.
    down: HashMap<&'a str, usize>,
    /// The same of those that end at it, each with the toggle at its beginning.
    up: HashMap<&'a str, (usize, &'a str)>,
}

impl<'a> Chains<'a> {
    /// `needs` has every toggle of a chain.
    fn of(needs: &'a HashMap<String, Vec<String>>) -> Self {
        let all: Vec<&str> = needs.keys().map(String::as_str).collect();
        let numbers: HashMap<&str, usize> = all.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let number = |key: &String| numbers.get(key.to_lowercase().as_str()).copied();
        let targets: Vec<Vec<usize>> =
            all.iter().map(|key| needs[*key].iter().filter_map(number).collect()).collect();
        let Components { of, sizes, targets_first } = components(&targets);
        let is_circle = |node: usize| sizes[of[node]] > 1 || targets[node].contains(&node);
        let mut down: Vec<Option<usize>> = vec![None; all.len()];
        for node in targets_first.iter().copied().filter(|node| !is_circle(*node)) {
            let steps: Option<Vec<usize>> = targets[node].iter().map(|target| down[*target]).collect();
            // A key that no document has is a step as well.
            let least = usize::from(!needs[all[node]].is_empty());
            down[node] = steps.map(|steps| steps.into_iter().max().map_or(least, |most| most + 1));
        }
        let mut up: Vec<(usize, &str)> = all.iter().map(|key| (0, *key)).collect();
        for node in targets_first.into_iter().rev().filter(|node| down[*node].is_some()) {
            for target in &targets[node] {
                let (steps, first) = up[node];
                if steps + 1 > up[*target].0 {
                    up[*target] = (steps + 1, first);
                }
            }
        }
        let down = all.iter().zip(down).filter_map(|(key, steps)| Some((*key, steps?)));
        Self { down: down.collect(), up: all.iter().copied().zip(up).collect() }
    }

    /// Returns the beginning and the steps of the longest chain that leads over the prerequisite `needed` of `own`;
    /// none if no other toggle leads to it.
    fn through(&self, own: &str, needed: &str) -> Option<(&'a str, usize)> {
        let (above, first) = *self.up.get(own)?;
        let below = match self.down.get(needed) {
            Some(below) => *below,
            // It is part of a circle, or leads to one.
            None if self.up.contains_key(needed) => return None,
            None => 0,
        };
        (above > 0).then_some((first, above + 1 + below))
    }
}

/// Notes that the service has a toggle that needs these keys, whatever its document says.
pub(super) fn note_needs(needs: &mut Needs, id: &ToggleId, keys: Vec<String>) {
    // In other environments, no change refers to a toggle.
    if let Some(needs) = needs.get_mut(&id.environment()) {
        needs.insert(id.toggle().to_lowercase(), keys);
    }
}

impl<'a> EnvironmentChanges<'a> {
    fn new(needs: Option<&'a HashMap<String, Vec<String>>>) -> Self {
        Self {
            changes: HashMap::new(),
            losing: HashMap::new(),
            broken: HashMap::new(),
            kept: HashMap::new(),
            needing: HashMap::new(),
            needs,
        }
    }

    /// Returns why `change` must not be sent while others are not applied, given the fate of each.
    pub(crate) fn wait(&self, change: &Change, fate: impl Fn(&ToggleId) -> ChangeFate) -> Option<Hold> {
        let is_open = |other: &&Change| other.id != change.id && fate(&other.id) == ChangeFate::Withheld;
        let gained = change.gained();
        // Users would get the disabled serve until the other toggle can serve what this one asks for.
        for one in &gained {
            if let Some((other, Some(payload))) = self.kept.get(&one.key.to_lowercase())
                && !payload.has_value_for(one)
            {
                return Some(hold::awaits_other(other.toggle(), hold::Awaited::Prerequisite));
            }
            let other = self.changes.get(&one.key.to_lowercase()).copied().filter(is_open);
            if let Some(other) = other
                && other.before.can_meet(one) == Some(false)
                && other.payload.can_meet(one)
            {
                return Some(hold::awaits_other(other.id.toggle(), hold::Awaited::Prerequisite));
            }
        }
        // The same, of a toggle that still needs this one. Who switches a toggle off means just that.
        if !change.only_switches_off() {
            let key = change.id.toggle().to_lowercase();
            let breaks = |one: &Prerequisite| {
                change.before.can_meet(one) == Some(true) && !change.payload.can_meet(one)
            };
            let mut broken = self.broken.get(&key).into_iter().flatten();
            if let Some((other, _)) = broken.find(|(_, one)| breaks(one)) {
                return Some(hold::breaks_other(other.toggle()));
            }
            let mut needing = self.needing.get(&key).into_iter().flatten();
            if let Some((other, _)) = needing.find(|(_, one)| breaks(one)) {
                return Some(hold::awaits_other(other.toggle(), hold::Awaited::Dependent));
            }
            let mut losing = self.losing.get(&key).into_iter().flatten().copied().filter(is_open);
            if let Some(other) = losing.find(|other| other.loses_before(change).iter().any(breaks)) {
                return Some(hold::awaits_other(other.id.toggle(), hold::Awaited::Dependent));
            }
        }
        let other = (!gained.is_empty()).then(|| self.circle(change, fate))??;
        Some(hold::awaits_other(other.toggle(), hold::Awaited::Circle))
    }

    /// Returns a toggle whose change is withheld, and without which `change` would make a circle on the service.
    fn circle(&self, change: &Change, fate: impl Fn(&ToggleId) -> ChangeFate) -> Option<&'a ToggleId> {
        let keys = |needed: Vec<Prerequisite>| needed.into_iter().map(|one| one.key).collect::<Vec<_>>();
        let own = change.id.toggle().to_lowercase();
        let mut seen = HashSet::new();
        let start = keys(change.payload.prerequisites());
        // Each key with the last toggle before it that the service has as it was.
        let mut open: Vec<(String, Option<&ToggleId>)> = start.into_iter().map(|key| (key, None)).collect();
        while let Some((key, last)) = open.pop() {
            let key = key.to_lowercase();
            if key == own {
                if last.is_some() {
                    return last;
                }
                continue;
            }
            if !seen.insert(key.clone()) {
                continue;
            }
            let (needed, last) = match self.changes.get(&key).map(|other| (*other, fate(&other.id))) {
                Some((other, ChangeFate::Applied)) => (keys(other.payload.prerequisites()), last),
                Some((other, ChangeFate::Untried)) => (keys(other.before.prerequisites()), last),
                Some((other, ChangeFate::Withheld)) => (keys(other.before.prerequisites()), Some(&other.id)),
                None => {
                    let needed = self.needs.and_then(|needs| needs.get(&key)).cloned();
                    (needed.unwrap_or_default(), self.kept.get(&key).map(|(id, _)| *id).or(last))
                }
            };
            open.extend(needed.into_iter().map(|key| (key, last)));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Before;
    use crate::plan::tests::change_of;

    /// Targeting that serves the first of these values while it is disabled.
    fn payload(disabled: bool, values: &[&str], needs: &[(&str, &str)]) -> Payload {
        let values =
            values.iter().map(|value| format!(r#"{{"value":"{value}","name":"","description":""}}"#));
        let needs = needs
            .iter()
            .map(|(key, value)| format!(r#"{{"key":"{key}","value":"{value}","type":"string"}}"#));
        let (values, needs): (Vec<_>, Vec<_>) = (values.collect(), needs.collect());
        let text = format!(
            r#"{{"disabled":{disabled},"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[{}],"prerequisites":[{}]}}}}"#,
            values.join(","),
            needs.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }

    fn change(key: &str, before: Payload, after: Payload) -> Change {
        change_of(key, Before::Applied(before), after)
    }

    fn created(key: &str, after: Payload) -> Change {
        change_of(key, Before::Nothing, after)
    }

    /// Returns why the first change waits if the second one is not applied, and asserts that it does not wait
    /// otherwise. `unchanged` needs the toggle of the second one.
    fn waits(changes: &[Change; 2]) -> Option<String> {
        let needs = HashMap::from([("unchanged".to_owned(), vec!["Other".to_owned()])]);
        let mut all = EnvironmentChanges::new(Some(&needs));
        for change in changes {
            all.changes.insert(change.id.toggle().to_lowercase(), change);
            for one in change.lost() {
                all.losing.entry(one.key.to_lowercase()).or_default().push(change);
            }
        }
        assert_eq!(all.wait(&changes[0], |_| ChangeFate::Applied), None);
        all.wait(&changes[0], |_| ChangeFate::Withheld).map(|hold| hold.reason())
    }

    #[test]
    fn a_change_waits_for_another_one_only_if_it_would_break_something_without_it() {
        let plain = || payload(false, &["a"], &[]);
        let needing = |key, value| payload(false, &["a"], &[(key, value)]);
        let own = |before, after| change("own", before, after);
        let other = |before, after| change("other", before, after);
        let two = || payload(false, &["a", "b"], &[]);
        for (changes, expected) in [
            // The circle of a commit that reverses who needs whom.
            ([own(plain(), needing("other", "a")), other(needing("own", "a"), plain())], Some("a circle")),
            ([own(plain(), needing("OTHER", "a")), other(needing("Own", "a"), plain())], Some("a circle")),
            (
                [own(plain(), needing("unchanged", "a")), other(needing("own", "a"), plain())],
                Some("a circle"),
            ),
            ([own(plain(), needing("other", "b")), other(plain(), two())], Some("serves only then")),
            (
                [own(plain(), needing("other", "b")), other(payload(true, &["a", "b"], &[]), two())],
                Some("serves only then"),
            ),
            ([own(two(), plain()), other(needing("own", "b"), plain())], Some("takes away")),
            ([own(plain(), payload(true, &["a"], &[])), other(needing("own", "a"), plain())], None),
            ([own(two(), payload(true, &["a", "b"], &[])), other(needing("own", "b"), plain())], None),
            ([own(plain(), needing("other", "a")), other(two(), plain())], None),
            ([own(plain(), two()), other(needing("own", "a"), plain())], None),
            // The other one asks for another value, which this one has already.
            ([own(two(), plain()), other(needing("own", "b"), needing("own", "a"))], Some("takes away")),
            ([own(plain(), two()), other(needing("own", "a"), needing("own", "b"))], None),
            ([own(needing("other", "b"), needing("other", "a")), other(two(), plain())], None),
            // A renamed value: whichever is sent first, the state in between has it wrong.
            (
                [
                    own(payload(false, &["a"], &[]), payload(false, &["b"], &[])),
                    other(needing("own", "a"), needing("own", "b")),
                ],
                None,
            ),
            // The service may just have got the toggle, without its targeting.
            ([own(plain(), needing("other", "a")), created("other", plain())], Some("serves only then")),
            // Neither side has it right.
            ([own(plain(), needing("other", "c")), other(plain(), two())], None),
        ] {
            let found = waits(&changes);
            match (expected, &found) {
                (Some(expected), Some(found)) => {
                    assert!(found.starts_with("waits for the change of `other`"), "{found}");
                    assert!(found.contains(expected), "{found}");
                }
                _ => assert_eq!(found.as_deref(), expected, "{changes:?}"),
            }
        }
    }
}

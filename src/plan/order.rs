//! Orders the changes of one environment that need each other.
//!
//! A change that gains a prerequisite is sent after the changes of all toggles that it then needs, directly
//! or through others. Then no state in between refers to a toggle that does not exist yet, and none has a
//! cycle: a cycle would have a prerequisite that was gained, and everything that this one leads to has its
//! new prerequisites by then, which form no cycle.
//!
//! A change that drops a prerequisite is sent before the change of that toggle, which may switch it off: the
//! users of the one that needed it would get its disabled serve in between. So is one that asks for another value,
//! which the toggle can serve already. Where that contradicts the first rule, the first rule counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Change;
use crate::model::{Components, EnvironmentId, Prerequisite, components};

/// The place of a change among those that wait for each other.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Turn {
    /// The changes that wait for each other have the same number, which is unique in the environment.
    pub group: usize,
    /// The change waits for those of its group with a lower level.
    pub level: usize,
}

/// The keys of the toggles that documents need, by their own keys in lower case: the service ignores case.
/// Documents that no change leads to are left out.
pub(crate) type Needs = BTreeMap<EnvironmentId, HashMap<String, Vec<String>>>;

/// Returns the turns of the changes of one environment, in their order; none of a change that waits for none
/// and that no other waits for. `needs` has the toggles that do not change.
pub(super) fn turns(changes: &[Change], needs: &Needs) -> Vec<Option<Turn>> {
    let mut graph = Graph::new(changes.iter(), needs);
    if !graph.nodes.iter().any(|node| node.gains || !node.losing.is_empty()) {
        return vec![None; changes.len()];
    }
    let Levels { ahead, own } = graph.levels();
    let mut groups = graph.groups(&ahead);
    let turn = |node: usize| {
        let group = groups.of(node);
        (groups.sizes[group] > 1).then_some(Turn { group, level: own[node] })
    };
    (0..changes.len()).map(turn).collect()
}

/// Returns whether each of `waiting` needs the toggle of one of `changes`, directly or through others. All
/// are in one environment.
pub(super) fn need_any(waiting: &[Change], changes: &[Change], needs: &Needs) -> Vec<bool> {
    let graph = Graph::new(waiting.iter().chain(changes), needs);
    let mut leads = vec![false; graph.nodes.len()];
    let targets: Vec<Vec<usize>> = graph.nodes.iter().map(|node| node.targets.clone()).collect();
    for node in components(&targets).targets_first {
        let is_published = |target: &usize| {
            leads[*target] || (waiting.len()..waiting.len() + changes.len()).contains(target)
        };
        leads[node] = targets[node].iter().any(is_published);
    }
    leads.truncate(waiting.len());
    leads
}

/// The toggles of an environment: those of the changes, in their order, and those that they lead to.
struct Graph {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    is_changed: bool,
    /// Whether the change has a prerequisite that its toggle does not have yet, and that is more than another value
    /// which the other toggle can serve already.
    gains: bool,
    targets: Vec<usize>,
    /// The changes that drop a prerequisite on this changed toggle.
    losing: Vec<usize>,
}

/// The levels of each node.
struct Levels {
    /// The level of a change that has to wait for all changes that this node leads to.
    ahead: Vec<usize>,
    /// That of the node's own change.
    own: Vec<usize>,
}

impl Graph {
    fn new<'c>(changes: impl Iterator<Item = &'c Change>, needs: &Needs) -> Self {
        let (mut nodes, mut open, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        let changes: Vec<&Change> = changes.collect();
        let known = changes.iter().find_map(|change| needs.get(&change.id.environment()));
        for (number, change) in changes.iter().enumerate() {
            nodes.push(Node { is_changed: true, ..Node::default() });
            numbers.insert(change.id.toggle().to_lowercase(), number);
            let needed = change.payload.prerequisites();
            if !needed.is_empty() {
                open.push((number, needed.into_iter().map(|one| one.key).collect()));
            }
        }
        for (number, change) in changes.iter().enumerate() {
            let of = |one: &Prerequisite| numbers.get(&one.key.to_lowercase()).copied();
            let gained = change.gained();
            let is_new =
                |one: &Prerequisite| !change.only_asks_otherwise(one, of(one).map(|other| changes[other]));
            nodes[number].gains = gained.iter().any(is_new);
            let others: BTreeSet<usize> = change.lost().iter().filter_map(of).collect();
            for other in others.into_iter().filter(|other| *other != number) {
                if !change.loses_before(changes[other]).is_empty() {
                    nodes[other].losing.push(number);
                }
            }
        }
        while let Some((number, keys)) = open.pop() {
            let keys: Vec<String> = keys;
            for key in keys {
                let key = key.to_lowercase();
                let target = *numbers.entry(key).or_insert_with_key(|key| {
                    nodes.push(Node::default());
                    let keys = known.and_then(|known| known.get(key)).cloned();
                    open.extend(keys.map(|keys| (nodes.len() - 1, keys)));
                    nodes.len() - 1
                });
                nodes[number].targets.push(target);
            }
        }
        Self { nodes }
    }

    /// Returns the order in which levels are computed: of what a node leads to, and then of its own change,
    /// whose number is greater by the number of nodes.
    fn dependencies(&self) -> Components {
        let count = self.nodes.len();
        let mut edges = vec![Vec::new(); 2 * count];
        for (number, node) in self.nodes.iter().enumerate() {
            for target in &node.targets {
                edges[number].extend([*target, count + *target]);
            }
            // A change waits for what it leads to only if it gains something.
            edges[count + number].extend(node.gains.then_some(number));
            edges[count + number].extend(node.losing.iter().map(|losing| count + *losing));
        }
        components(&edges)
    }

    /// Returns the levels. Drops the rule about lost prerequisites where it would make a cycle.
    fn levels(&mut self) -> Levels {
        let count = self.nodes.len();
        let Components { of, .. } = self.dependencies();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.losing.retain(|losing| of[count + *losing] != of[count + number]);
        }
        let components = self.dependencies();
        let (mut ahead, mut own) = (vec![0; count], vec![0; count]);
        for place in components.targets_first {
            match place.checked_sub(count) {
                None => {
                    let of_target = |target: &usize| match self.nodes[*target].is_changed {
                        true => ahead[*target].max(own[*target] + 1),
                        false => ahead[*target],
                    };
                    ahead[place] = self.nodes[place].targets.iter().map(of_target).max().unwrap_or_default();
                }
                Some(number) => {
                    let Node { gains, losing, .. } = &self.nodes[number];
                    let after_losing = losing.iter().map(|losing| own[*losing] + 1).max();
                    own[number] =
                        after_losing.unwrap_or_default().max(if *gains { ahead[number] } else { 0 });
                }
            }
        }
        Levels { ahead, own }
    }

    /// Joins the changes that wait with those that they wait for.
    fn groups(&self, ahead: &[usize]) -> Groups {
        let count = self.nodes.len();
        let mut groups = Groups { parents: (0..count).collect(), sizes: vec![0; count] };
        let mut open: Vec<usize> = (0..count).filter(|node| self.nodes[*node].gains).collect();
        let mut is_seen = vec![false; count];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            for target in &self.nodes[node].targets {
                open.push(*target);
                if self.nodes[*target].is_changed || ahead[*target] > 0 {
                    groups.join(node, *target);
                }
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            node.losing.iter().for_each(|losing| groups.join(number, *losing));
        }
        for node in (0..count).filter(|node| self.nodes[*node].is_changed) {
            let group = groups.of(node);
            groups.sizes[group] += 1;
        }
        groups
    }
}

/// Disjoint sets of nodes.
struct Groups {
    parents: Vec<usize>,
    /// The number of changes of each.
    sizes: Vec<usize>,
}

impl Groups {
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.parents[one.max(other)] = one.min(other);
    }

    fn of(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use fastrand::Rng;

    use super::*;
    use crate::model::Payload;
    use crate::plan::Before;
    use crate::plan::tests::change_of;

    /// What each toggle needs; none if the toggle does not exist.
    type Edges = BTreeMap<usize, BTreeSet<usize>>;

    fn payload(needs: &BTreeSet<usize>, serve: bool) -> Payload {
        let list: Vec<String> = needs
            .iter()
            .map(|key| format!(r#"{{"key":"t{key}","value":"true","type":"boolean"}}"#))
            .collect();
        let (list, serve) = (list.join(","), u8::from(serve));
        let text = format!(
            r#"{{"disabled":false,"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":{serve}}},"variations":[],"prerequisites":[{list}]}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn change(number: usize, before: Option<&BTreeSet<usize>>, after: &BTreeSet<usize>) -> Change {
        let before = before.map_or(Before::Nothing, |before| Before::Applied(payload(before, false)));
        change_of(&format!("t{number}"), before, payload(after, true))
    }

    /// Returns the prerequisites of `count` toggles, of which some do not exist, without a cycle.
    fn edges(count: usize, rng: &mut Rng, exist: impl Fn(&mut Rng) -> bool) -> Edges {
        let mut order: Vec<usize> = (0..count).filter(|_| exist(rng)).collect();
        rng.shuffle(&mut order);
        let needs = |place: usize, rng: &mut Rng| {
            order[..place].iter().copied().filter(|_| rng.u8(0..3) == 0).collect()
        };
        (0..order.len()).map(|place| (order[place], needs(place, rng))).collect()
    }

    /// Returns what is wrong with what the service has.
    fn fault(edges: &Edges) -> Option<String> {
        let mut left = edges.clone();
        if let Some(missing) = edges.values().flatten().find(|key| !edges.contains_key(key)) {
            return Some(format!("t{missing} does not exist"));
        }
        while let Some(next) = left.iter().find(|(_, needs)| needs.iter().all(|key| !left.contains_key(key)))
        {
            let next = *next.0;
            left.remove(&next);
        }
        (!left.is_empty()).then(|| format!("a cycle: {left:?}"))
    }

    fn needs(edges: &Edges, changes: &[Change]) -> Needs {
        let is_changed =
            |number: usize| changes.iter().any(|change| change.id.toggle() == format!("t{number}"));
        let others = edges.iter().filter(|(number, _)| !is_changed(**number));
        let keys = |needs: &BTreeSet<usize>| needs.iter().map(|key| format!("t{key}")).collect();
        let of = others.map(|(number, needs)| (format!("t{number}"), keys(needs))).collect();
        Needs::from([("shop/prod".parse().unwrap(), of)])
    }

    /// Returns the pairs of numbers of which the first must be changed after the second: it needs it, directly
    /// or through others, and gains something, or it was needed by it; directly or through others.
    fn must_follow(before: &Edges, after: &Edges, numbers: &[usize]) -> BTreeSet<(usize, usize)> {
        let mut all = BTreeSet::new();
        for own in numbers {
            let gains = after[own].iter().any(|key| !before.get(own).is_some_and(|had| had.contains(key)));
            let (mut open, mut seen) = (after[own].clone(), BTreeSet::new());
            while let Some(next) = open.pop_first() {
                if gains && seen.insert(next) {
                    all.extend(numbers.contains(&next).then_some((*own, next)));
                    open.extend(&after[&next]);
                }
            }
            let lost = before.get(own).into_iter().flatten().filter(|key| !after[own].contains(key));
            all.extend(lost.filter(|key| numbers.contains(key)).map(|key| (*key, *own)));
        }
        for through in numbers {
            for (one, other) in numbers.iter().flat_map(|one| numbers.iter().map(move |other| (one, other))) {
                if all.contains(&(*one, *through)) && all.contains(&(*through, *other)) {
                    all.insert((*one, *other));
                }
            }
        }
        all
    }

    #[test]
    fn what_drops_a_prerequisite_is_sent_before_the_change_of_that_toggle_where_that_makes_no_cycle() {
        let mut checked = 0;
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.usize(2..8);
            let (before, after) = (edges(count, &mut rng, |_| true), edges(count, &mut rng, |_| true));
            let numbers: Vec<usize> =
                (0..count).filter(|number| before[number] != after[number] || rng.bool()).collect();
            let changes: Vec<Change> =
                numbers.iter().map(|number| change(*number, before.get(number), &after[number])).collect();
            let turns = turns(&changes, &needs(&after, &changes));
            let must_follow = must_follow(&before, &after, &numbers);
            let turn = |number: usize| turns[numbers.iter().position(|one| *one == number).unwrap()];
            for own in &numbers {
                for key in before[own].iter().filter(|key| !after[own].contains(key) && numbers.contains(key))
                {
                    if must_follow.contains(&(*own, *key)) {
                        continue;
                    }
                    let (earlier, later) = (turn(*own).unwrap(), turn(*key).unwrap());
                    assert!(
                        earlier.group == later.group && earlier.level < later.level,
                        "seed {seed}: t{own} before t{key}: {before:?} → {after:?}, {turns:?}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 1_000, "{checked}");
    }

    #[test]
    fn no_state_in_between_has_a_cycle_or_needs_a_toggle_that_does_not_exist() {
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.usize(2..9);
            let before = edges(count, &mut rng, |rng| rng.u8(0..4) > 0);
            let mut after = edges(count, &mut rng, |_| true);
            // Some toggles do not change, as long as that makes no cycle.
            for (number, needs) in &before {
                let changed = after.insert(*number, needs.clone());
                if (rng.bool() || fault(&after).is_some())
                    && let Some(changed) = changed
                {
                    after.insert(*number, changed);
                }
            }
            let changed =
                (0..count).filter(|number| before.get(number) != after.get(number) || rng.u8(0..4) == 0);
            let numbers: Vec<usize> = changed.collect();
            let changes: Vec<Change> =
                numbers.iter().map(|number| change(*number, before.get(number), &after[number])).collect();
            let turns = turns(&changes, &needs(&after, &changes));
            let mut state = before.clone();
            let mut left: Vec<usize> = (0..changes.len()).collect();
            while !left.is_empty() {
                let is_next = |place: &usize| {
                    let earlier = |other: &usize| {
                        let both = turns[*other].zip(turns[*place]);
                        both.is_some_and(|(other, own)| other.group == own.group && other.level < own.level)
                    };
                    !left.iter().any(earlier)
                };
                let open: Vec<usize> = left.iter().copied().filter(is_next).collect();
                let next = *rng.choice(&open).unwrap();
                left.retain(|place| *place != next);
                state.insert(numbers[next], after[&numbers[next]].clone());
                assert_eq!(fault(&state), None, "seed {seed}: {before:?} → {after:?}, {turns:?}");
            }
        }
    }

    #[test]
    fn a_change_waits_only_for_what_it_gains_and_for_those_that_drop_it() {
        let (none, base) = (BTreeSet::new(), BTreeSet::from([0]));
        let same =
            [change(0, Some(&none), &none), change(1, Some(&base), &base), change(2, Some(&base), &none)];
        let turn = |level| Some(Turn { group: 0, level });
        assert_eq!(turns(&same[..2], &Needs::new()), [None; 2]);
        assert_eq!(turns(&same, &Needs::new()), [turn(1), None, Some(Turn { group: 0, level: 0 })]);
        let gains =
            [change(0, Some(&none), &none), change(1, Some(&none), &base), change(2, Some(&base), &base)];
        assert_eq!(turns(&gains, &Needs::new()), [turn(0), turn(1), None]);
    }

    /// Targeting with these values, which asks for these values of others.
    fn asking(values: &[u8], asks: &[(String, u8)]) -> Payload {
        let values =
            values.iter().map(|value| format!(r#"{{"value":"{value}","name":"","description":""}}"#));
        let asks =
            asks.iter().map(|(key, value)| format!(r#"{{"key":"{key}","value":"{value}","type":"number"}}"#));
        let (values, asks): (Vec<_>, Vec<_>) = (values.collect(), asks.collect());
        let text = format!(
            r#"{{"disabled":false,"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[{}],"prerequisites":[{}]}}}}"#,
            values.join(","),
            asks.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_value_that_both_commits_can_serve_is_served_in_every_state_in_between() {
        let mut checked = 0;
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let mut some = |least: usize| {
                let mut values: Vec<u8> = (0..4).collect();
                rng.shuffle(&mut values);
                values.truncate(rng.usize(least..4));
                values
            };
            let bases = [some(1), some(1)].map(|before| (before, some(1)));
            let key = |base: usize| format!("base{base}");
            let mut changes: Vec<Change> = Vec::new();
            for (base, (before, after)) in bases.iter().enumerate() {
                changes.push(change_of(&key(base), Before::Applied(asking(before, &[])), asking(after, &[])));
            }
            let mut asked = Vec::new();
            for user in 0..3 {
                let base = rng.usize(0..2);
                let (before, after) = &bases[base];
                let (old, new) = (*rng.choice(before).unwrap(), *rng.choice(after).unwrap());
                let is_kept = rng.u8(0..4) > 0;
                let asks = |value: u8| asking(&[0], &[(key(base), value)]);
                let after = if is_kept { asks(new) } else { asking(&[0], &[]) };
                changes.push(change_of(&format!("user{user}"), Before::Applied(asks(old)), after));
                asked.push((base, old, is_kept.then_some(new)));
            }
            let turns = turns(&changes, &Needs::new());
            for (user, (base, old, new)) in asked.into_iter().enumerate() {
                let (before, after) = &bases[base];
                // One of the two orders has no bad state; with a renamed value, neither.
                let is_first = new.is_none_or(|new| before.contains(&new)) && !after.contains(&old);
                let is_last = new.is_some_and(|new| !before.contains(&new));
                let order = turns[2 + user].zip(turns[base]);
                let order = order.filter(|(own, other)| own.group == other.group);
                let order = order.map(|(own, other)| own.level.cmp(&other.level));
                let expected = match (is_first, is_last) {
                    (true, _) => Ordering::Less,
                    (_, true) => Ordering::Greater,
                    _ => continue,
                };
                assert_eq!(order, Some(expected), "seed {seed}, user{user}: {changes:?}");
                checked += 1;
            }
        }
        assert!(checked > 2_000, "{checked}");
    }

    #[test]
    fn a_long_chain_is_ordered_in_linear_time() {
        let needs = |number: usize| if number == 0 { BTreeSet::new() } else { BTreeSet::from([number - 1]) };
        let chain: Vec<Change> = (0..100_000).map(|number| change(number, None, &needs(number))).collect();
        let turns = turns(&chain, &Needs::new());
        assert!(turns.iter().enumerate().all(|(number, turn)| turn.unwrap().level == number));
    }
}

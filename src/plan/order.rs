//! Orders the changes of one environment that need each other.
//!
//! A change that gains a prerequisite is sent after the changes of all toggles that it then needs, directly
//! or through others. Then no state in between refers to a toggle that does not exist yet, and none has a
//! cycle: a cycle would have a prerequisite that was gained, and everything that this one leads to has its
//! new prerequisites by then, which form no cycle.

use std::collections::{BTreeMap, HashMap};

use super::{Before, Change};
use crate::model::{Action, EnvironmentId, Payload, Prerequisite};

/// The place of a change among those that wait for each other.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Turn {
    /// The changes that wait for each other have the same number, which is unique in the environment.
    pub group: usize,
    /// The change waits for those of its group with a lower level.
    pub level: usize,
}

/// The keys of the toggles that documents need, by their own keys in lower case: the service ignores case.
/// Documents without prerequisites may be left out.
pub(crate) type Needs = BTreeMap<EnvironmentId, HashMap<String, Vec<String>>>;

/// Returns the turns of the changes of one environment, in their order; none of a change that waits for none
/// and that no other waits for. `needs` has the toggles that do not change.
pub(super) fn turns(changes: &[Change], needs: &Needs) -> Vec<Option<Turn>> {
    let graph = Graph::new(changes.iter(), needs);
    if !graph.nodes.iter().any(|node| node.gains) {
        return vec![None; changes.len()];
    }
    let ahead = graph.ahead();
    let mut groups = graph.groups(&ahead);
    let turn = |node: usize| {
        let group = groups.of(node);
        let level = if graph.nodes[node].gains { ahead[node] } else { 0 };
        (groups.sizes[group] > 1).then_some(Turn { group, level })
    };
    (0..changes.len()).map(turn).collect()
}

/// Returns whether each of `waiting` needs the toggle of one of `changes`, directly or through others. All
/// are in one environment.
pub(super) fn need_any(waiting: &[Change], changes: &[Change], needs: &Needs) -> Vec<bool> {
    let graph = Graph::new(waiting.iter().chain(changes), needs);
    let mut leads = vec![false; graph.nodes.len()];
    for node in graph.targets_first(0..graph.nodes.len()) {
        let is_published = |target: &usize| {
            leads[*target] || (waiting.len()..waiting.len() + changes.len()).contains(target)
        };
        leads[node] = graph.nodes[node].targets.iter().any(is_published);
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
    /// Whether the change has a prerequisite that its toggle does not have yet.
    gains: bool,
    targets: Vec<usize>,
}

impl Graph {
    fn new<'c>(changes: impl Iterator<Item = &'c Change>, needs: &Needs) -> Self {
        let (mut nodes, mut open, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        let mut known = None;
        for (number, change) in changes.enumerate() {
            known = known.or_else(|| needs.get(&change.id.environment()));
            let needed = change.payload.prerequisites();
            nodes.push(Node { is_changed: true, gains: gains(change, &needed), targets: Vec::new() });
            numbers.insert(change.id.toggle().to_lowercase(), number);
            if !needed.is_empty() {
                open.push((number, needed.into_iter().map(|one| one.key).collect()));
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

    /// Returns the nodes that `starts` lead to, each after those that it leads to. In a cycle, which the
    /// service refuses, one comes too early.
    fn targets_first(&self, starts: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut is_known = vec![false; self.nodes.len()];
        let mut all = Vec::new();
        for start in starts {
            // A list in place of recursion, because a chain can be long. A node has the number of its targets
            // that were visited.
            let mut open = vec![(start, 0)];
            while let Some((node, visited)) = open.last_mut() {
                if *visited == 0 && std::mem::replace(&mut is_known[*node], true) {
                    open.pop();
                    continue;
                }
                match self.nodes[*node].targets.get(*visited).copied() {
                    Some(target) => {
                        *visited += 1;
                        open.extend((!is_known[target]).then_some((target, 0)));
                    }
                    None => {
                        all.push(*node);
                        open.pop();
                    }
                }
            }
        }
        all
    }

    /// Returns how many changes each node needs that follow each other.
    fn ahead(&self) -> Vec<usize> {
        let mut ahead = vec![0; self.nodes.len()];
        for node in self.targets_first(0..self.nodes.len()) {
            let of_target = |target: &usize| {
                let Node { is_changed, gains, .. } = self.nodes[*target];
                match (is_changed, gains) {
                    (true, true) => ahead[*target] + 1,
                    // It does not wait itself.
                    (true, false) => ahead[*target].max(1),
                    (false, _) => ahead[*target],
                }
            };
            ahead[node] = self.nodes[node].targets.iter().map(of_target).max().unwrap_or_default();
        }
        ahead
    }

    /// Joins the changes that wait with those that they wait for.
    fn groups(&self, ahead: &[usize]) -> Groups {
        let mut groups = Groups { parents: (0..self.nodes.len()).collect(), sizes: Vec::new() };
        let waiting = (0..self.nodes.len()).filter(|node| self.nodes[*node].gains);
        for node in self.targets_first(waiting) {
            for target in &self.nodes[node].targets {
                if self.nodes[*target].is_changed || ahead[*target] > 0 {
                    let (one, other) = (groups.of(node), groups.of(*target));
                    groups.parents[one.max(other)] = one.min(other);
                }
            }
        }
        groups.sizes = vec![0; self.nodes.len()];
        for node in (0..self.nodes.len()).filter(|node| self.nodes[*node].is_changed) {
            let group = groups.of(node);
            groups.sizes[group] += 1;
        }
        groups
    }
}

/// Returns whether a change has a prerequisite that its toggle does not have yet.
fn gains(change: &Change, needed: &[Prerequisite]) -> bool {
    if needed.is_empty() || change.action == Action::Adopt {
        return false;
    }
    let before = match &change.before {
        // The service may have either, so only what both have is certain.
        Before::Unknown { applied, .. } => applied.as_deref(),
        before => before.payload(),
    };
    let before = before.map(Payload::prerequisites).unwrap_or_default();
    needed.iter().any(|one| !before.contains(one))
}

/// Disjoint sets of nodes.
struct Groups {
    parents: Vec<usize>,
    /// The number of changes of each.
    sizes: Vec<usize>,
}

impl Groups {
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
    use std::collections::BTreeSet;

    use fastrand::Rng;

    use super::*;
    use crate::model::{Attribution, Format, ObjectId, ToggleId, Version};
    use crate::plan::Overwrite;

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
        let id: ToggleId = format!("shop/prod/t{number}").parse().unwrap();
        Change {
            version: Version {
                path: format!("{id}.yaml").into(),
                id,
                format: Format::Yaml,
                object: ObjectId([0; 20]),
                payload: payload(after, true),
            },
            action: if before.is_some() { Action::Update } else { Action::Create },
            before: before.map_or(Before::Nothing, |before| Before::Applied(payload(before, false))),
            attribution: Attribution::Uncommitted,
            comment_max_chars: 0,
            is_retry: false,
            overwrite: Overwrite::Held,
            replaces: None,
            passed: false,
        }
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
    fn a_change_waits_only_if_it_gains_a_prerequisite() {
        let (none, base) = (BTreeSet::new(), BTreeSet::from([0]));
        let same =
            [change(0, Some(&none), &none), change(1, Some(&base), &base), change(2, Some(&base), &none)];
        assert_eq!(turns(&same, &Needs::new()), [None; 3]);
        let gains =
            [change(0, Some(&none), &none), change(1, Some(&none), &base), change(2, Some(&base), &base)];
        let turn = |level| Some(Turn { group: 0, level });
        assert_eq!(turns(&gains, &Needs::new()), [turn(0), turn(1), None]);
    }

    #[test]
    fn a_long_chain_is_ordered_in_linear_time() {
        let needs = |number: usize| if number == 0 { BTreeSet::new() } else { BTreeSet::from([number - 1]) };
        let chain: Vec<Change> = (0..100_000).map(|number| change(number, None, &needs(number))).collect();
        let turns = turns(&chain, &Needs::new());
        assert!(turns.iter().enumerate().all(|(number, turn)| turn.unwrap().level == number));
    }
}

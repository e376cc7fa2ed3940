//! Checks what documents say about others: the prerequisites of the toggles of one environment, and the type
//! of a toggle that has documents in several environments.
//!
//! The caller adds each document as a node, together with those that it refers to, directly or through
//! others. A document that no node refers to is not needed, so a check of one document reads only its
//! prerequisites. All steps take time that is linear in the number of nodes, and none recurses: a chain can
//! lead through every toggle of a repository.

use std::collections::{HashMap, HashSet, VecDeque};

use super::check::{self, Check};
use super::finding::{self, Diagnostic, Finding, Part, Spot, did_you_mean, shown};
use super::node::PathStep;
use super::{sdks, syntax, waiver};
use crate::model::{
    Blob, Components, Content, Payload, Prerequisite, ReturnType, Sdks, ServiceKind, Targeting, components,
    counted, is_same_value, listed, variation_fits,
};

/// What other documents need to know of one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Outline {
    /// The type of a new toggle with these values; none if the document is invalid.
    pub(crate) kind: Option<ReturnType>,
    pub(crate) has_prerequisites: bool,
    /// Whether a comment waives a finding about other documents.
    pub(crate) has_waiver: bool,
}

impl Outline {
    pub(crate) fn of(targeting: &Targeting) -> Self {
        let prerequisites = targeting.content.prerequisites.as_deref().unwrap_or_default();
        Self {
            kind: Some(type_of(targeting)),
            has_prerequisites: !prerequisites.is_empty(),
            has_waiver: false,
        }
    }
}

/// Returns the type of a new toggle with these values.
fn type_of(targeting: &Targeting) -> ReturnType {
    let values = targeting.content.variations.iter().map(|variation| variation.value.as_str());
    ReturnType::of(&values.collect::<Vec<_>>())
}

/// The most nodes that a search for a circle visits, so that all searches together are linear.
const MOST_VISITED: usize = 128;

/// The most toggles that a message names.
const MOST_NAMED: usize = 24;

/// The toggles of one environment that refer to each other.
#[derive(Debug)]
pub(crate) struct References {
    sdks: Sdks,
    /// The steps of the longest chain that the service accepts.
    longest_chain: usize,
    nodes: Vec<ReferenceNode>,
    by_key: HashMap<String, usize>,
}

#[derive(Debug)]
struct ReferenceNode {
    key: String,
    content: NodeContent,
    /// The toggle of each prerequisite; none if no document has the key.
    targets: Vec<Option<usize>>,
}

#[derive(Debug)]
enum NodeContent {
    /// The document is invalid or not read.
    Unreadable,
    Read {
        prerequisites: Vec<Prerequisite>,
        values: Vec<String>,
        kind: ReturnType,
        is_disabled: bool,
        /// The variations of the disabled serve.
        disabled: Vec<u32>,
        /// Whether a rule serves something else than the default serve.
        has_other_serve: bool,
    },
}

/// A finding about another document, before its position is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ReferenceProblem {
    check: &'static Check,
    place: Place,
    message: String,
    help: Option<String>,
    /// The keys of a circle that the message does not name whole.
    circle: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// A field of the prerequisite with this index.
    Prerequisite(usize, &'static str),
    /// The document as a whole, at its content.
    Content,
    Variations,
}

impl ReferenceProblem {
    fn new(check: &'static Check, place: Place, message: String, help: impl Into<Option<String>>) -> Self {
        Self { check, place, message, help: help.into(), circle: Vec::new() }
    }

    /// Returns whether it makes the document invalid.
    pub(crate) fn is_error(&self) -> bool {
        self.check.severity == check::Severity::Error
    }

    /// Returns whether it is about the types of a toggle's documents.
    pub(crate) fn is_about_types(&self) -> bool {
        *self.check == check::TYPE_DISAGREEMENT
    }

    /// Returns whether a waiver accepts such a finding in one of these.
    pub(crate) fn types_are_waived(found: &[Diagnostic]) -> bool {
        found.iter().any(|one| one.id == check::TYPE_DISAGREEMENT.id && one.waived.is_some())
    }

    fn finding(self) -> Finding {
        let mut path = vec![PathStep::Key("content")];
        let part = match self.place {
            Place::Prerequisite(index, field) => {
                path.extend([PathStep::Key("prerequisites"), PathStep::Item(index), PathStep::Key(field)]);
                Part::Value
            }
            Place::Content => Part::Key,
            Place::Variations => {
                path.push(PathStep::Key("variations"));
                Part::Key
            }
        };
        let finding = Finding::new(self.check, Spot::Path(path, part), self.message);
        Finding { circle: self.circle, ..finding.maybe_help(self.help) }
    }
}

impl References {
    /// Creates a graph for a service of this kind, whose findings say what `sdks` do not agree about.
    pub(crate) fn new(kind: ServiceKind, sdks: Sdks) -> Self {
        let longest_chain = kind.dialect().longest_chain();
        Self { sdks, longest_chain, nodes: Vec::new(), by_key: HashMap::new() }
    }

    /// Returns the number of the node of the toggle with this key, and whether it is new: then the caller has
    /// to [`fill`](Self::fill) it.
    pub(crate) fn node(&mut self, key: &str) -> (usize, bool) {
        if let Some(node) = self.by_key.get(key) {
            return (*node, false);
        }
        let node = self.nodes.len();
        self.by_key.insert(key.to_owned(), node);
        self.nodes.push(ReferenceNode {
            key: key.to_owned(),
            content: NodeContent::Unreadable,
            targets: Vec::new(),
        });
        (node, true)
    }

    pub(crate) fn key(&self, node: usize) -> &str {
        &self.nodes[node].key
    }

    /// Sets what a document says. Returns the keys of its prerequisites, whose nodes the caller has to
    /// [`connect`](Self::connect).
    pub(crate) fn fill(&mut self, node: usize, payload: &Payload) -> Vec<String> {
        let targeting = payload.targeting();
        let kind = type_of(&targeting);
        let prerequisites = targeting.content.prerequisites.unwrap_or_default();
        let keys = prerequisites.iter().map(|one| one.key.clone()).collect();
        let Content { rules, disabled_serve, default_serve, variations, .. } = targeting.content;
        self.nodes[node].content = NodeContent::Read {
            prerequisites,
            values: variations.into_iter().map(|variation| variation.value).collect(),
            kind,
            is_disabled: targeting.disabled,
            disabled: disabled_serve.variations().collect(),
            has_other_serve: rules.iter().any(|rule| rule.serve != default_serve),
        };
        keys
    }

    /// Sets the toggles of the prerequisites, in their order.
    pub(crate) fn connect(&mut self, node: usize, targets: Vec<Option<usize>>) {
        self.nodes[node].targets = targets;
    }

    /// Returns the prerequisites of a toggle; none if its document cannot be read.
    fn prerequisites(&self, node: usize) -> &[Prerequisite] {
        match &self.nodes[node].content {
            NodeContent::Read { prerequisites, .. } => prerequisites,
            NodeContent::Unreadable => &[],
        }
    }

    /// Returns the findings about the documents of `checked`, in its order.
    ///
    /// `others` finds out more about the repository: a key that is similar to one that no document has, and
    /// the types of a toggle in all environments.
    pub(crate) fn problems<E>(
        &self,
        checked: &[usize],
        others: &mut impl Others<Error = E>,
    ) -> Result<Vec<Vec<ReferenceProblem>>, E> {
        let chains = Chains::new(self);
        // The components of which a finding names a circle whole. With all of them in each, the output would be
        // quadratic.
        let mut named = HashSet::new();
        let mut all = Vec::with_capacity(checked.len());
        for node in checked {
            let mut problems = Vec::new();
            for (index, (prerequisite, target)) in
                self.prerequisites(*node).iter().zip(&self.nodes[*node].targets).enumerate()
            {
                let at = |field| Place::Prerequisite(index, field);
                let Some(target) = *target else {
                    problems.extend(self.unknown(*node, &prerequisite.key, at("key"), others)?);
                    continue;
                };
                let key = self.key(target);
                if key != prerequisite.key {
                    problems.push(ReferenceProblem::new(
                        &check::PREREQUISITE_CASE,
                        at("key"),
                        format!(
                            "`{}` differs from the toggle `{key}` only in case",
                            shown(&prerequisite.key)
                        ),
                        format!(
                            "write `{key}`: the service takes both for one toggle, but its SDKs find none"
                        ),
                    ));
                }
                if let Some(circle) = chains.circle(self, *node, target, MOST_VISITED) {
                    let is_named = circle.is_whole && circle.through.len() < MOST_NAMED;
                    let is_first = !is_named && named.insert(chains.component[*node]);
                    let whole = is_first.then(|| chains.circle(self, *node, target, usize::MAX)).flatten();
                    problems.push(self.cycle(&circle, whole, at("key")));
                }
                problems.extend(self.mismatch(prerequisite, index, target, others)?);
                problems.extend(self.nested(*node, prerequisite, target, at("key")));
            }
            problems.extend(chains.too_long(self, *node));
            all.push(problems);
        }
        Ok(all)
    }

    /// Returns the finding about a circle. `whole` is all of it, if the message is too short for that and no other
    /// finding has it.
    fn cycle(&self, circle: &Circle, whole: Option<Circle>, place: Place) -> ReferenceProblem {
        if circle.through.len() == 1 {
            let message = "this toggle is its own prerequisite".to_owned();
            let help = "remove this prerequisite: the service refuses it".to_owned();
            return ReferenceProblem::new(&check::PREREQUISITE_CYCLE, place, message, help);
        }
        let mut names: Vec<&str> = circle.through.iter().map(|node| self.key(*node)).collect();
        let message = match circle.is_whole {
            true => {
                names.push(names[0]);
                format!("these prerequisites form a circle: {}", path(&names))
            }
            false => format!(
                "this prerequisite is part of a circle of {}: {} → …",
                counted(circle.size, "toggle"),
                path(&names)
            ),
        };
        let mut help = "remove one of the prerequisites of the circle: the service refuses it".to_owned();
        if !circle.is_whole || circle.through.len() >= MOST_NAMED {
            help.push_str(
                "; `explain` names all of its toggles, and so does `circle` of one finding with `-o json`",
            );
        }
        let whole = whole.map(|whole| whole.through).unwrap_or_default();
        let whole = whole.iter().chain(whole.first()).map(|node| self.key(*node).to_owned()).collect();
        let problem = ReferenceProblem::new(&check::PREREQUISITE_CYCLE, place, message, help);
        ReferenceProblem { circle: whole, ..problem }
    }

    /// Returns why the toggle `target` never serves what `prerequisite` asks for.
    fn mismatch<E>(
        &self,
        prerequisite: &Prerequisite,
        index: usize,
        target: usize,
        others: &mut impl Others<Error = E>,
    ) -> Result<Option<ReferenceProblem>, E> {
        let NodeContent::Read { values, kind, .. } = &self.nodes[target].content else {
            return Ok(None);
        };
        let key = self.key(target);
        let wanted = prerequisite.kind;
        let at = |field| Place::Prerequisite(index, field);
        if let Some(value) = values.iter().find(|value| variation_fits(wanted, value).is_err()) {
            let message = format!(
                "the type of `{key}` is not `{}`: it has the value `{}`",
                wanted.as_str(),
                shown(value)
            );
            let help = format!("write `type: {}`, and one of the values of `{key}`", kind.as_str());
            return Ok(Some(ReferenceProblem::new(
                &check::PREREQUISITE_OTHER_TYPE,
                at("type"),
                message,
                help,
            )));
        }
        if wanted == ReturnType::String && *kind != ReturnType::String {
            let all = others.types(key)?;
            // A toggle that has other values elsewhere has the type that all of them fit.
            if all.iter().all(|other| other == kind) {
                let kind = kind.as_str();
                let message =
                    format!("the values of `{key}` are those of a `{kind}` toggle, not of a `string`");
                let help = format!("write `type: {kind}` ({})", sdks::with_other_type(self.sdks));
                let check = match kind {
                    "boolean" => &check::PREREQUISITE_OTHER_TYPE,
                    // A text may look like a number or like JSON.
                    _ => &check::PREREQUISITE_UNSURE_TYPE,
                };
                return Ok(Some(ReferenceProblem::new(check, at("type"), message, help)));
            }
        }
        let is_met = |value: &&String| is_same_value(wanted, value, &prerequisite.value);
        if values.iter().any(|value| is_met(&value) == Some(true)) {
            return Ok(None);
        }
        if let Some(value) = values.iter().find(|value| is_met(value).is_none()) {
            let words = sdks::other_notation(self.sdks, key, value, &prerequisite.value);
            return Ok(words.map(|(message, help)| {
                ReferenceProblem::new(&check::SDK_DISAGREEMENT, at("value"), message, help)
            }));
        }
        let message = format!("`{key}` has no variation with the value `{}`", shown(&prerequisite.value));
        // A number with other digits is not a misspelling.
        let is_text = wanted != ReturnType::Number;
        let similar = || did_you_mean(&prerequisite.value, values.iter().map(String::as_str));
        let help = if is_text { similar() } else { None };
        let help = help.unwrap_or_else(|| {
            const MOST_VALUES: usize = 8;
            let some = values.iter().take(MOST_VALUES).map(|value| format!("`{}`", shown(value)));
            let some: Vec<String> = some.collect();
            let begin = if values.len() > MOST_VALUES { "its values begin with" } else { "its values are" };
            format!("{begin} {}", listed(&some))
        });
        Ok(Some(ReferenceProblem::new(&check::PREREQUISITE_NO_VARIATION, at("value"), message, help)))
    }
}

impl References {
    /// Returns the finding that SDKs do not agree about a prerequisite of the prerequisite `target`.
    fn nested(
        &self,
        node: usize,
        prerequisite: &Prerequisite,
        target: usize,
        place: Place,
    ) -> Option<ReferenceProblem> {
        /// The most toggles that a search visits.
        const MOST_VISITED: usize = 64;
        let NodeContent::Read { is_disabled: false, has_other_serve: true, .. } = self.nodes[node].content
        else {
            return None;
        };
        let mut left = MOST_VISITED;
        if !self.hides(target, prerequisite, &mut left, self.longest_chain) {
            return None;
        }
        let (message, help) = sdks::nested(self.sdks, self.key(target), &prerequisite.value)?;
        Some(ReferenceProblem::new(&check::SDK_DISAGREEMENT, place, message, help))
    }

    /// Returns whether a toggle can meet `prerequisite` although one of its own prerequisites, or one further
    /// down, is not met.
    fn hides(&self, node: usize, prerequisite: &Prerequisite, left: &mut usize, depth: usize) -> bool {
        let NodeContent::Read { prerequisites, values, is_disabled: false, disabled, .. } =
            &self.nodes[node].content
        else {
            return false;
        };
        if prerequisites.is_empty() || *left == 0 || depth == 0 {
            return false;
        }
        *left -= 1;
        let is_met =
            |value: &String| is_same_value(prerequisite.kind, value, &prerequisite.value) == Some(true);
        if disabled.iter().filter_map(|index| values.get(*index as usize)).any(is_met) {
            return true;
        }
        let mut inner = prerequisites.iter().zip(&self.nodes[node].targets);
        values.iter().any(is_met)
            && inner.any(|(prerequisite, target)| {
                target.is_some_and(|target| self.hides(target, prerequisite, left, depth - 1))
            })
    }
}

impl References {
    fn unknown<E>(
        &self,
        node: usize,
        key: &str,
        place: Place,
        others: &mut impl Others<Error = E>,
    ) -> Result<Option<ReferenceProblem>, E> {
        // A path or a whole id is not a key.
        let name = key.rsplit('/').next().unwrap_or(key);
        let name = [".yaml", ".yml"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let Some(similar) = others.similar(name)? else {
            return Ok(None);
        };
        let message = format!("no document of this environment is that of the toggle `{}`", shown(key));
        let help = match similar.filter(|similar| self.can_need(node, similar)) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => format!(
                "add its document, or remove the prerequisite; if the service does not have it either, nobody meets it ({})",
                sdks::without_toggle(self.sdks)
            ),
        };
        Ok(Some(ReferenceProblem::new(&check::UNKNOWN_PREREQUISITE, place, message, help)))
    }

    /// Returns whether the toggle `key` can be one more prerequisite of a toggle: it is none yet, and does not
    /// need the toggle itself.
    fn can_need(&self, node: usize, key: &str) -> bool {
        /// The most toggles that a search visits.
        const MOST_VISITED: usize = 64;
        if self.key(node) == key || self.prerequisites(node).iter().any(|one| one.key == key) {
            return false;
        }
        let mut open: Vec<usize> = self.by_key.get(key).copied().into_iter().collect();
        let mut seen = open.clone();
        while let Some(next) = open.pop() {
            for target in self.nodes[next].targets.iter().flatten().copied() {
                if target == node || seen.len() >= MOST_VISITED {
                    return false;
                }
                if !seen.contains(&target) {
                    seen.push(target);
                    open.push(target);
                }
            }
        }
        true
    }
}

/// What only the whole repository knows.
pub(crate) trait Others {
    type Error;

    /// Returns the similar key of a document, if there is one. None if the other documents are not known at
    /// all.
    fn similar(&mut self, key: &str) -> Result<Option<Option<String>>, Self::Error>;

    /// Returns the types of a toggle in all environments.
    fn types(&mut self, key: &str) -> Result<Vec<ReturnType>, Self::Error>;
}

/// Returns the keys as a path, cut in the middle.
fn path(keys: &[&str]) -> String {
    let quoted = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" → ");
    match keys.len() {
        0..=MOST_NAMED => quoted(keys),
        length => format!("{} → … → {}", quoted(&keys[..MOST_NAMED - 1]), quoted(&keys[length - 1..])),
    }
}

/// A circle that begins with the toggle that has the finding.
struct Circle {
    through: Vec<usize>,
    /// Whether `through` has all of its toggles.
    is_whole: bool,
    /// The number of toggles that are connected in circles with each other.
    size: usize,
}

/// The circles and the lengths of the chains, of all nodes.
struct Chains {
    /// The number of the component of each node: nodes that reach each other.
    component: Vec<usize>,
    sizes: Vec<usize>,
    /// The longest chain of each node in steps; none if it reaches a circle.
    length: Vec<Option<usize>>,
}

impl Chains {
    fn new(graph: &References) -> Self {
        let targets = |node: &ReferenceNode| node.targets.iter().flatten().copied().collect();
        let targets: Vec<Vec<usize>> = graph.nodes.iter().map(targets).collect();
        let Components { of: component, sizes, targets_first } = components(&targets);
        let mut length = vec![None; graph.nodes.len()];
        for node in targets_first {
            let targets = &graph.nodes[node].targets;
            let is_circle = sizes[component[node]] > 1 || targets.contains(&Some(node));
            if !is_circle {
                let steps = targets.iter().map(|target| target.map_or(Some(0), |target| length[target]));
                let steps: Option<Vec<usize>> = steps.collect();
                length[node] = steps.map(|steps| steps.into_iter().max().map_or(0, |most| most + 1));
            }
        }
        Self { component, sizes, length }
    }

    /// Returns the circle through the prerequisite of `node` that is `target`, if there is one: the shortest
    /// one, or its beginning if the search would visit more than `most` nodes.
    fn circle(&self, graph: &References, node: usize, target: usize, most: usize) -> Option<Circle> {
        let component = self.component[node];
        if self.component[target] != component {
            return None;
        }
        let size = self.sizes[component];
        if node == target {
            return Some(Circle { through: vec![node], is_whole: true, size });
        }
        let mut from = HashMap::from([(target, node)]);
        let mut open = VecDeque::from([target]);
        let back = |from: &HashMap<usize, usize>, last: usize| {
            let mut through = vec![last];
            while let Some(before) = through.last().filter(|last| **last != node).map(|last| from[last]) {
                through.push(before);
            }
            through.reverse();
            through
        };
        let mut last = target;
        while let Some(next) = open.pop_front() {
            last = next;
            for after in graph.nodes[next].targets.iter().flatten() {
                if *after == node {
                    return Some(Circle { through: back(&from, next), is_whole: true, size });
                }
                if self.component[*after] == component && from.len() < most && !from.contains_key(after) {
                    from.insert(*after, next);
                    open.push_back(*after);
                }
            }
        }
        let mut through = back(&from, last);
        through.truncate(MOST_NAMED);
        Some(Circle { through, is_whole: false, size })
    }

    /// Returns the finding about a chain that is too long.
    fn too_long(&self, graph: &References, node: usize) -> Option<ReferenceProblem> {
        let limit = graph.longest_chain;
        let length = self.length[node].filter(|length| *length > limit)?;
        let step = |node: usize| {
            let targets = graph.nodes[node].targets.iter().enumerate();
            targets.max_by_key(|(index, target)| {
                let length = target.and_then(|target| self.length[target]).unwrap_or_default();
                // Of two equally long chains, the first one.
                (length, usize::MAX - index)
            })
        };
        let first = step(node)?.0;
        let (mut names, mut at) = (vec![graph.key(node)], node);
        while let Some((_, Some(next))) = step(at).filter(|_| names.len() < MOST_NAMED) {
            names.push(graph.key(*next));
            at = *next;
        }
        let more = if length + 1 > names.len() { " → …" } else { "" };
        let message = format!(
            "this chain of prerequisites has {length} steps, over the limit of {limit}: {}{more}",
            path(&names)
        );
        let help =
            "shorten the chain, for example with one prerequisite on its last toggle: the service refuses it";
        let place = Place::Prerequisite(first, "key");
        Some(ReferenceProblem::new(&check::PREREQUISITE_CHAIN, place, message, help.to_owned()))
    }
}

/// Returns the finding about a toggle whose document at `path` has values of another type.
pub(crate) fn disagreement(own: ReturnType, path: &str, other: ReturnType) -> ReferenceProblem {
    let (own, other) = (own.as_str(), other.as_str());
    let message = format!(
        "these values are those of a `{own}` toggle, but `{}` has those of a `{other}` toggle",
        shown(path)
    );
    let help = "a toggle has one type in all environments, which cannot be changed later: write values of the same type";
    ReferenceProblem::new(&check::TYPE_DISAGREEMENT, Place::Variations, message, help.to_owned())
}

/// Returns the finding about a toggle whose key another environment spells as `other`, in the document at
/// `path`.
pub(crate) fn other_spelling(key: &str, path: &str, other: &str) -> ReferenceProblem {
    let message = format!("`{}` spells the key of this toggle `{other}`, and not `{key}`", shown(path));
    let help = "rename one of the files: the service takes both for one toggle, and SDKs know only the spelling with which it \
                was created";
    ReferenceProblem::new(&check::CASE_ONLY_DIFFERENCE, Place::Content, message, help.to_owned())
}

/// Returns the findings about other documents in one document, with their positions, and applies its waivers
/// of them.
pub(crate) fn diagnose(path: &str, content: &Blob, problems: Vec<ReferenceProblem>) -> Vec<Diagnostic> {
    let Blob::Content(bytes) = content else { return Vec::new() };
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = syntax::parse(text);
    let findings = problems.into_iter().map(ReferenceProblem::finding).collect();
    let mut diagnostics = finding::diagnose(path, text, tree.root.as_ref(), findings);
    waiver::apply_to_references(path, &tree, &mut diagnostics);
    diagnostics
}

#[cfg(test)]
impl ReferenceProblem {
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn help(&self) -> &str {
        self.help.as_deref().unwrap_or_default()
    }

    pub(super) fn circle(&self) -> &[String] {
        &self.circle
    }

    pub(super) fn label(&self) -> String {
        format!("{} {}", self.check.severity.as_str(), self.check.id)
    }
}

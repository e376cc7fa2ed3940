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
use super::node::{PathStep, quoted};
use super::resolve::RawDocument;
use super::{sdks, syntax, waiver};
use crate::model::{
    Blob, Components, Content, NumberEquality, Payload, Prerequisite, ReturnType, Sdks, ServiceKind,
    Targeting, components, counted, is_same_value, listed, undenied, variation_fits,
};

/// What other documents need to know of one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Outline {
    /// The type of a new toggle with these values; none if the document is invalid.
    pub(crate) kind: Option<ReturnType>,
    pub(crate) has_prerequisites: bool,
    /// Whether a comment waives a finding about other documents.
    pub(crate) has_waiver: bool,
    /// Whether waivers of `sdk-disagreement` at its prerequisites waive nothing in the document itself.
    pub(crate) has_open_waiver: bool,
}

impl Outline {
    pub(crate) fn of(targeting: &Targeting) -> Self {
        let prerequisites = targeting.content.prerequisites.as_deref().unwrap_or_default();
        Self {
            kind: Some(type_of(targeting)),
            has_prerequisites: !prerequisites.is_empty(),
            has_waiver: false,
            has_open_waiver: false,
        }
    }
}

/// What an invalid document says about others, and others about it, as far as it can be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fragment {
    /// The prerequisites, in the order of the document.
    needed: Vec<Needed>,
    /// The values of its variations; none if one of them cannot be read.
    values: Option<Vec<String>>,
}

/// The parts of a prerequisite; none of what cannot be read. Then the key is empty.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Needed {
    key: String,
    value: Option<String>,
    kind: Option<ReturnType>,
    /// What is written in place of a type.
    no_type: Option<String>,
}

impl Fragment {
    pub(super) fn of(document: &RawDocument) -> Option<Box<Self>> {
        let content = document.content.as_ref()?;
        let needed = content.prerequisites.iter().flatten().map(|one| Needed {
            key: one.key.clone().unwrap_or_default(),
            value: one.value.clone(),
            kind: one.kind.as_deref().and_then(|kind| kind.parse().ok()),
            no_type: one.kind.clone().filter(|kind| kind.parse::<ReturnType>().is_err()),
        });
        let values = content.variations.iter().flatten().map(|variation| variation.value.clone());
        let values: Option<Vec<String>> = values.collect();
        let values = values.filter(|values| !values.is_empty());
        Some(Box::new(Self { needed: needed.collect(), values }))
    }

    pub(crate) fn has_prerequisites(&self) -> bool {
        !self.needed.is_empty()
    }
}

impl From<Prerequisite> for Needed {
    fn from(one: Prerequisite) -> Self {
        Self { key: one.key, value: Some(one.value), kind: Some(one.kind), no_type: None }
    }
}

/// Returns the message and the help on a prerequisite whose value is not of its own type.
pub(super) fn unfit(kind: ReturnType, value: &str) -> Option<(String, &'static str)> {
    let reason = variation_fits(kind, value).err()?;
    let help =
        "write the value of a variation of the other toggle; with any other, nobody meets the prerequisite";
    Some((format!("this value {reason}"), help))
}

/// Returns the message on what is written in place of the type of a prerequisite.
pub(super) fn no_type(word: &str) -> String {
    format!("`{}` is not a type of toggle", shown(word))
}

/// Returns the help on what is written in place of the type of a prerequisite whose toggle is not known.
pub(super) fn meant_type(word: &str, can_compare: bool) -> String {
    let words = ReturnType::WORDS;
    let similar = if can_compare { did_you_mean(word, words.iter().copied()) } else { None };
    similar.unwrap_or_else(|| format!("the types are {}", listed(&check::quoted(words))))
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
    /// The prerequisites; empty if the document cannot be read.
    needed: Vec<Needed>,
    /// The values of the variations and their type; none if one of them cannot be read.
    values: Option<(Vec<String>, ReturnType)>,
    /// The names of the variations of a valid document.
    names: Vec<String>,
    /// What a valid document serves.
    serving: Option<Serving>,
    /// The toggle of each prerequisite; none if no document has the key.
    targets: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Serving {
    is_disabled: bool,
    /// The variations of the disabled serve.
    disabled: Vec<u32>,
    /// Whether a rule serves something else than the default serve.
    has_other_serve: bool,
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
    /// Whether a waiver of this doubt decides that the document is valid.
    is_error_unless_waived: bool,
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
        Self { check, place, message, help: help.into(), circle: Vec::new(), is_error_unless_waived: false }
    }

    /// Returns whether a finding in a single document is left to the check of what it says about others, which
    /// knows better what is wrong with the prerequisite.
    pub(crate) fn replaces(found: &Diagnostic) -> bool {
        found.id == check::PREREQUISITE_VALUE.id || found.id == check::PREREQUISITE_TYPE.id
    }

    /// Returns whether it makes the document invalid, whatever its waivers.
    pub(crate) fn is_error(&self) -> bool {
        self.check.severity == check::Severity::Error
    }

    /// Returns whether it is about the types of a toggle's documents.
    pub(crate) fn is_about_types(&self) -> bool {
        *self.check == check::TYPE_DISAGREEMENT
    }

    /// Returns whether one of these makes the document invalid.
    pub(crate) fn has_error(found: &[Diagnostic]) -> bool {
        found.iter().any(|one| one.severity == check::Severity::Error)
    }

    /// Removes what an invalid document does not tell: whether its waivers are of use.
    pub(crate) fn keep_known(found: &mut Vec<Diagnostic>) {
        found.retain(|one| one.id != check::UNUSED_WAIVER.id);
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
        let mut finding = Finding { circle: self.circle, ..finding.maybe_help(self.help) };
        // Only a service whose toggles refer to each other gets here, and what it accepts is known.
        finding.explain();
        finding
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
            needed: Vec::new(),
            values: None,
            names: Vec::new(),
            serving: None,
            targets: Vec::new(),
        });
        (node, true)
    }

    pub(crate) fn key(&self, node: usize) -> &str {
        &self.nodes[node].key
    }

    /// Sets what a valid document says. Returns the keys of its prerequisites, whose nodes the caller has to
    /// [`connect`](Self::connect).
    pub(crate) fn fill(&mut self, node: usize, payload: &Payload) -> Vec<String> {
        let targeting = payload.targeting();
        let kind = type_of(&targeting);
        let Content { rules, disabled_serve, default_serve, variations, prerequisites } = targeting.content;
        let (values, names) = variations.into_iter().map(|one| (one.value, one.name)).unzip();
        self.nodes[node].names = names;
        self.nodes[node].serving = Some(Serving {
            is_disabled: targeting.disabled,
            disabled: disabled_serve.variations().collect(),
            has_other_serve: rules.iter().any(|rule| rule.serve != default_serve),
        });
        let needed = prerequisites.unwrap_or_default().into_iter().map(Needed::from).collect();
        self.set(node, needed, Some((values, kind)))
    }

    /// Does the same as [`fill`](Self::fill) for what can be read of an invalid document.
    pub(crate) fn fill_part(&mut self, node: usize, fragment: Fragment) -> Vec<String> {
        let Fragment { needed, values } = fragment;
        let of = |values: &[String]| ReturnType::of(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let values = values.map(|values| {
            let kind = of(&values);
            (values, kind)
        });
        self.set(node, needed, values)
    }

    fn set(
        &mut self,
        node: usize,
        needed: Vec<Needed>,
        values: Option<(Vec<String>, ReturnType)>,
    ) -> Vec<String> {
        let keys = needed.iter().map(|one| one.key.clone()).collect();
        (self.nodes[node].needed, self.nodes[node].values) = (needed, values);
        keys
    }

    /// Sets the toggles of the prerequisites, in their order.
    pub(crate) fn connect(&mut self, node: usize, targets: Vec<Option<usize>>) {
        self.nodes[node].targets = targets;
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
        let mut whole_once = HashSet::new();
        let mut all = Vec::with_capacity(checked.len());
        for node in checked {
            let (mut problems, mut named) = (Vec::new(), HashSet::new());
            let ReferenceNode { needed, targets, .. } = &self.nodes[*node];
            for (index, (prerequisite, target)) in needed.iter().zip(targets).enumerate() {
                let at = |field| Place::Prerequisite(index, field);
                problems.extend(self.no_type(prerequisite, index, *target, others));
                problems.extend(self.mismatch(prerequisite, index, *target, others)?);
                let Some(target) = *target else {
                    if !prerequisite.key.is_empty() {
                        problems.extend(self.unknown(*node, &prerequisite.key, at("key"), others)?);
                    }
                    continue;
                };
                let key = self.key(target);
                // A toggle that needs itself, or another one twice, does so in any spelling.
                if named.insert(target) && target != *node && key != prerequisite.key {
                    let written = shown(&prerequisite.key);
                    let message = format!("`{written}` differs from the toggle `{key}` only in case");
                    // What other environments call it as well was probably renamed by mistake.
                    let fix = match others.types(&prerequisite.key)?.is_empty() {
                        true => format!("write `{key}`"),
                        false => format!(
                            "rename the document of `{key}` to `{written}`, as in another environment, or write `{key}`"
                        ),
                    };
                    let help =
                        format!("{fix}: the service takes both for one toggle, but its SDKs find none");
                    problems.push(ReferenceProblem::new(&check::PREREQUISITE_CASE, at("key"), message, help));
                }
                if let Some(circle) = chains.circle(self, *node, target, MOST_VISITED) {
                    let is_named = circle.is_whole && circle.through.len() < MOST_NAMED;
                    let is_first = !is_named && whole_once.insert(chains.component[*node]);
                    let whole = is_first.then(|| chains.circle(self, *node, target, usize::MAX)).flatten();
                    problems.push(self.cycle(&circle, whole, at("key")));
                }
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

    /// Returns the finding that a prerequisite has no type. The other document tells which one is right.
    fn no_type<E>(
        &self,
        prerequisite: &Needed,
        index: usize,
        target: Option<usize>,
        others: &impl Others<Error = E>,
    ) -> Option<ReferenceProblem> {
        /// The most words that are compared with types.
        const MOST_COMPARED: usize = 100;
        let word = prerequisite.no_type.as_deref()?;
        let help = match target.and_then(|target| self.target(target)) {
            Some(target) if others.is_waived_text(target.key) => "write `type: string`".to_owned(),
            Some(target) => format!("write `type: {}`", target.kind.as_str()),
            None => meant_type(word, index < MOST_COMPARED),
        };
        let place = Place::Prerequisite(index, "type");
        Some(ReferenceProblem::new(&check::PREREQUISITE_TYPE, place, no_type(word), help))
    }

    /// Returns why the toggle `target` never serves what `prerequisite` asks for.
    fn mismatch<E>(
        &self,
        prerequisite: &Needed,
        index: usize,
        target: Option<usize>,
        others: &mut impl Others<Error = E>,
    ) -> Result<Option<ReferenceProblem>, E> {
        let at = |field| Place::Prerequisite(index, field);
        let Some(target) = target.and_then(|target| self.target(target)) else {
            // Without the other document, only the prerequisite itself tells what is wrong.
            let own = prerequisite.kind.zip(prerequisite.value.as_deref());
            return Ok(own.and_then(|(kind, value)| unfit(kind, value)).map(|(message, help)| {
                ReferenceProblem::new(&check::PREREQUISITE_VALUE, at("value"), message, help.to_owned())
            }));
        };
        let wanted = prerequisite.kind.unwrap_or(target.kind);
        if let Some(problem) = self.other_type(prerequisite, wanted, index, &target, others)? {
            return Ok(Some(problem));
        }
        let value = prerequisite.value.as_deref();
        Ok(value.and_then(|value| self.other_value(wanted, value, at("value"), &target)))
    }

    /// Returns what a toggle has to serve; none if its document cannot be read.
    fn target(&self, node: usize) -> Option<RequiredToggle<'_>> {
        let ReferenceNode { names, values, .. } = &self.nodes[node];
        let (values, kind) = values.as_ref()?;
        Some(RequiredToggle { key: self.key(node), names, values, kind: *kind })
    }

    /// Returns why the type of `target` is not `wanted`.
    fn other_type<E>(
        &self,
        prerequisite: &Needed,
        wanted: ReturnType,
        index: usize,
        target: &RequiredToggle<'_>,
        others: &mut impl Others<Error = E>,
    ) -> Result<Option<ReferenceProblem>, E> {
        let at = |field| Place::Prerequisite(index, field);
        let RequiredToggle { key, kind, .. } = *target;
        let word = kind.as_str();
        if let Some(value) = target.values.iter().find(|value| variation_fits(wanted, value).is_err()) {
            let message = format!(
                "the type of `{key}` is not `{}`: it has the value `{}`",
                wanted.as_str(),
                shown(value)
            );
            let help = format!("write `type: {word}`, and one of the values of `{key}`");
            let check = &check::PREREQUISITE_OTHER_TYPE;
            return Ok(Some(ReferenceProblem::new(check, at("type"), message, help)));
        }
        // A toggle that has other values elsewhere has the type that all of them fit.
        if wanted == ReturnType::String
            && kind != ReturnType::String
            && others.types(key)?.iter().all(|other| *other == kind)
        {
            return Ok(Some(match &prerequisite.value {
                Some(value) if !target.can_serve(value) => {
                    let help = match target.named_value(value) {
                        Some(named) => format!("write `type: {word}` and {named}"),
                        None => format!("{}: write `type: {word}` and one of them", target.its_values()),
                    };
                    target.no_variation(value, at("value"), help)
                }
                _ => self.unsure_type(key, kind, at("type")),
            }));
        }
        if wanted != ReturnType::String && others.is_waived_text(key) {
            let message = format!(
                "the documents of `{key}` have values of different types, as their waivers accept, so it is a `string` toggle"
            );
            let help = format!("write `type: string` ({})", sdks::with_other_type(self.sdks));
            let check = &check::PREREQUISITE_UNSURE_TYPE;
            return Ok(Some(ReferenceProblem::new(check, at("type"), message, help)));
        }
        Ok(None)
    }

    /// Returns why no value of `target` is `wanted`, of this type, to all SDKs.
    fn other_value(
        &self,
        kind: ReturnType,
        wanted: &str,
        place: Place,
        target: &RequiredToggle<'_>,
    ) -> Option<ReferenceProblem> {
        let is_met = |value: &str| is_same_value(kind, value, wanted);
        // The service takes a text that is no boolean for `false`. It is a mistake, and no other notation.
        let is_of_type = variation_fits(kind, wanted).is_ok();
        let is_number = kind == ReturnType::Number;
        let agree = |value: &str| match kind {
            ReturnType::Json => !sdks::differ_in_order(self.sdks, value, wanted),
            ReturnType::Number => NumberEquality::of(value, wanted) == NumberEquality::Agreed,
            ReturnType::Boolean | ReturnType::String => true,
        };
        if is_of_type && target.values.iter().any(|value| is_met(value) == Some(true) && agree(value)) {
            return None;
        }
        let is_unsure =
            |value: &str| is_met(value).is_none() || sdks::can_be_same(self.sdks, kind, value, wanted);
        if let Some(value) = target.values.iter().find(|value| is_of_type && is_unsure(value)) {
            let (message, help) = sdks::other_notation(self.sdks, kind, target.key, value, wanted)?;
            return Some(ReferenceProblem::new(&check::SDK_DISAGREEMENT, place, message, help));
        }
        let named = target.named_value(wanted).map(|named| format!("write {named}"));
        // A number with other digits is not a misspelling.
        let similar = || did_you_mean(wanted, target.values.iter().map(String::as_str));
        let help = named.or_else(|| if is_number { None } else { similar() });
        Some(target.no_variation(wanted, place, help.unwrap_or_else(|| target.its_values())))
    }

    /// Returns the finding that a prerequisite asks for a text, and the toggle `key` has values of another type.
    fn unsure_type(&self, key: &str, kind: ReturnType, place: Place) -> ReferenceProblem {
        let name = kind.as_str();
        let message = format!("the values of `{key}` are those of a `{name}` toggle, not of a `string`");
        let mut help = format!("write `type: {name}` ({})", sdks::with_other_type(self.sdks));
        // A text may look like a number or like JSON; that it looks like a boolean is rare.
        let is_error_unless_waived = kind == ReturnType::Boolean;
        if is_error_unless_waived {
            help.push_str(&format!(
                "; if `{key}` is a `string` on the service, a waiver above this line says so"
            ));
        }
        let check = &check::PREREQUISITE_UNSURE_TYPE;
        ReferenceProblem { is_error_unless_waived, ..ReferenceProblem::new(check, place, message, help) }
    }
}

/// The toggle of a prerequisite: what it can serve.
struct RequiredToggle<'n> {
    key: &'n str,
    names: &'n [String],
    values: &'n [String],
    /// The type of these values.
    kind: ReturnType,
}

impl RequiredToggle<'_> {
    /// Returns the problem that no variation has the value `wanted`.
    fn no_variation(&self, wanted: &str, place: Place, help: String) -> ReferenceProblem {
        let message = format!("`{}` has no variation with the value `{}`", self.key, shown(wanted));
        ReferenceProblem::new(&check::PREREQUISITE_NO_VARIATION, place, message, help)
    }

    /// Returns the value of the only variation with the name that a prerequisite has in place of a value, in words.
    fn named_value(&self, name: &str) -> Option<String> {
        let mut named = self.names.iter().zip(self.values).filter(|(own, _)| *own == name);
        let (name, value) = named.next().filter(|_| named.next().is_none())?;
        Some(format!("`{}`, the value of the variation `{}`", quoted(&shown(value)), shown(name)))
    }

    /// Returns the first values, in words.
    fn its_values(&self) -> String {
        const MOST_VALUES: usize = 8;
        let some = self.values.iter().take(MOST_VALUES).map(|value| format!("`{}`", shown(value)));
        let some: Vec<String> = some.collect();
        let begin = if self.values.len() > MOST_VALUES { "its values begin with" } else { "its values are" };
        format!("{begin} {}", listed(&some))
    }

    /// Returns whether one of the values may be `wanted`, as a text or as what it looks like.
    fn can_serve(&self, wanted: &str) -> bool {
        let is_of_kind = variation_fits(self.kind, wanted).is_ok();
        self.values.iter().any(|value| {
            value == wanted || (is_of_kind && is_same_value(self.kind, value, wanted) != Some(false))
        })
    }
}

impl References {
    /// Returns the finding that SDKs do not agree about a prerequisite of the prerequisite `target`.
    fn nested(
        &self,
        node: usize,
        prerequisite: &Needed,
        target: usize,
        place: Place,
    ) -> Option<ReferenceProblem> {
        /// The most toggles that a search visits.
        const MOST_VISITED: usize = 64;
        let Some(Serving { is_disabled: false, has_other_serve: true, .. }) = self.nodes[node].serving else {
            return None;
        };
        let mut left = MOST_VISITED;
        if !self.hides(target, prerequisite, &mut left, self.longest_chain) {
            return None;
        }
        let (message, help) = sdks::nested(self.sdks, self.key(target), prerequisite.value.as_deref()?)?;
        Some(ReferenceProblem::new(&check::SDK_DISAGREEMENT, place, message, help))
    }

    /// Returns whether a toggle can meet `prerequisite` although one of its own prerequisites, or one further
    /// down, is not met.
    fn hides(&self, node: usize, prerequisite: &Needed, left: &mut usize, depth: usize) -> bool {
        let ReferenceNode {
            needed,
            values: Some((values, _)),
            serving: Some(Serving { is_disabled: false, disabled, .. }),
            targets,
            ..
        } = &self.nodes[node]
        else {
            return false;
        };
        let (false, Some(kind), Some(wanted)) =
            (needed.is_empty() || *left == 0 || depth == 0, prerequisite.kind, &prerequisite.value)
        else {
            return false;
        };
        *left -= 1;
        let is_met = |value: &String| is_same_value(kind, value, wanted) == Some(true);
        if disabled.iter().filter_map(|index| values.get(*index as usize)).any(is_met) {
            return true;
        }
        let mut inner = needed.iter().zip(targets);
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
        let message = format!("no document of this environment is that of the toggle `{}`", shown(key));
        let problem = |message, help| {
            Ok(Some(ReferenceProblem::new(&check::UNKNOWN_PREREQUISITE, place, message, help)))
        };
        if others.was_removed(key) {
            // It is not misspelled, so that a similar key is not meant.
            let help = "restore its document, or remove the prerequisite".to_owned();
            return problem(format!("{message}: it was removed"), help);
        }
        let path = [".yaml", ".yml"].iter().find_map(|end| key.strip_suffix(end)).unwrap_or(key);
        let Some(similar) = others.similar(path)? else {
            return Ok(None);
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        // Who writes `!a` means that `a` serves another value.
        let bare = undenied(name).filter(|bare| similar.is_none() && self.can_need(node, bare));
        let denied = match bare {
            Some(bare) => others.similar(bare)?.flatten().filter(|similar| similar == bare),
            None => None,
        };
        let help = match similar.filter(|similar| self.can_need(node, similar)) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None if denied.is_some() => format!(
                "write `key: {}`, and the value that it must serve instead, such as `value: \"false\"`",
                denied.unwrap_or_default()
            ),
            None if key.contains('/') => format!(
                "name a toggle of the same project and environment by its key alone, or remove the prerequisite, which \
                 nobody meets ({})",
                sdks::without_toggle(self.sdks)
            ),
            None => format!(
                "add its document, or remove the prerequisite; if the service does not have it either, nobody meets it ({})",
                sdks::without_toggle(self.sdks)
            ),
        };
        problem(message, help)
    }

    /// Returns whether the toggle `key` can be one more prerequisite of a toggle: it is none yet, and does not
    /// need the toggle itself.
    fn can_need(&self, node: usize, key: &str) -> bool {
        /// The most toggles that a search visits.
        const MOST_VISITED: usize = 64;
        if self.key(node) == key || self.nodes[node].needed.iter().any(|one| one.key == key) {
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

    /// Returns the similar key of a document, if there is one; `key` can be a path or a whole id. None if the other documents are not known at
    /// all.
    fn similar(&mut self, key: &str) -> Result<Option<Option<String>>, Self::Error>;

    /// Returns whether the toggle had a document until the changes of a plan.
    fn was_removed(&self, key: &str) -> bool;

    /// Returns the types of a toggle in all environments.
    fn types(&mut self, key: &str) -> Result<Vec<ReturnType>, Self::Error>;

    /// Returns whether the checked documents of a toggle have different types, and each waives that.
    fn is_waived_text(&self, key: &str) -> bool;
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
/// of them. A waiver of `sdk-disagreement` has to waive one of these if `has_open_waiver`.
pub(crate) fn diagnose(
    path: &str,
    content: &Blob,
    problems: Vec<ReferenceProblem>,
    has_open_waiver: bool,
) -> Vec<Diagnostic> {
    let Blob::Content(bytes) = content else { return Vec::new() };
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = syntax::parse(text);
    let unsure: Vec<String> =
        problems.iter().filter(|one| one.is_error_unless_waived).map(|one| one.message.clone()).collect();
    let findings = problems.into_iter().map(ReferenceProblem::finding).collect();
    let mut diagnostics = finding::diagnose(path, text, tree.root.as_ref(), findings);
    waiver::apply_to_references(path, &tree, has_open_waiver, &mut diagnostics);
    for found in diagnostics.iter_mut().filter(|found| found.waived.is_none()) {
        if unsure.contains(&found.message) {
            found.severity = check::Severity::Error;
        }
    }
    diagnostics.sort_unstable();
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
        let severity = if self.is_error_unless_waived { check::Severity::Error } else { self.check.severity };
        format!("{} {}", severity.as_str(), self.check.id)
    }
}

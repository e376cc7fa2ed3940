//! A `between` in another form: bounds with keys of their own, in one list, in one text, or in a second list.
//!
//! Each of its keys would have a finding, and an example would stand where the author's numbers are.

use crate::document::check::{self, quoted as in_backticks};
use crate::document::dialects;
use crate::document::finding::{Finding, add, shown};
use crate::document::foreign::{names, takes};
use crate::document::keys::CONDITION;
use crate::document::meant::{self, Bound};
use crate::document::modifier;
use crate::document::node::{Node, NodeKind, Style, field, quoted, scalar};
use crate::model::{ConditionType, ServiceKind, listed};

/// What other tools call the lower bound, without `_` and `-`, besides the names of predicates.
const LOWER: &[&str] = &[
    "from",
    "start",
    "starts",
    "startsat",
    "startdate",
    "starttime",
    "begin",
    "low",
    "lower",
    "lowerbound",
    "minimum",
    "minvalue",
    "left",
    "leftobject",
    "leftobjects",
    "leftvalue",
    "leftvalues",
    "value1",
];

/// What other tools call the upper bound.
const UPPER: &[&str] = &[
    "to",
    "until",
    "end",
    "ends",
    "endsat",
    "enddate",
    "endtime",
    "high",
    "upper",
    "upperbound",
    "maximum",
    "maxvalue",
    "right",
    "rightobject",
    "rightobjects",
    "rightvalue",
    "rightvalues",
    "value2",
];

/// What other tools call a key with both bounds, besides the names of `between`.
const BOTH: &[&str] = &["bounds", "interval", "limits", "minmax"];

/// A key and its value.
type Entry = (Node, Node);

/// Returns the conditions of the list `name` with each `between` in the form that the service has: one condition, or
/// one for each bound. None if no condition has another form.
pub(super) fn written(
    name: &str,
    items: &[Node],
    service: ServiceKind,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Node>> {
    if name != "conditions" {
        return None;
    }
    let found: Vec<Option<Between<'_>>> = items.iter().map(|item| Between::of(item, service)).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut all = Vec::new();
    for (item, between) in items.iter().zip(found) {
        match between {
            Some(between) => {
                add(findings, between.finding(service));
                all.extend(between.conditions(item, service));
            }
            None => all.push(item.clone()),
        }
    }
    Some(all)
}

/// A `between` that is not in the form of a document.
struct Between<'n> {
    kind: &'static str,
    has_type: bool,
    /// The entries that stay: those of the type and the attribute.
    kept: Vec<&'n Entry>,
    modifiers: Vec<&'n Entry>,
    sides: Vec<Side<'n>>,
    /// What is wrong, where.
    finding: Finding,
    /// The keys that no condition has.
    foreign: Vec<&'n str>,
    /// Whether the author may mean a bound, or a time, otherwise.
    doubt: Option<&'static str>,
}

/// One bound.
struct Side<'n> {
    predicate: &'static str,
    objects: Vec<String>,
    from: &'n Entry,
}

/// The entries of a condition, by what they say.
#[derive(Default)]
struct Entries<'n> {
    kept: Vec<&'n Entry>,
    predicate: Option<&'n Entry>,
    /// The predicates of the sides.
    compares: [Option<&'n Entry>; 2],
    bounds: [Option<&'n Entry>; 2],
    objects: Vec<&'n Entry>,
    /// A key such as `between` or `range`, with both bounds.
    both: Option<&'n Entry>,
    /// Keys that reverse the condition, which have findings of their own.
    modifiers: Vec<&'n Entry>,
}

impl<'n> Entries<'n> {
    /// Sorts the entries of a condition; none if one of them has no place in a `between`, or is there twice.
    fn of(all: &'n [Entry]) -> Option<Self> {
        /// A `between` has fewer entries.
        const MOST: usize = 10;
        let mut sorted = Self::default();
        for entry in all.iter().take(MOST) {
            let name = scalar(&entry.0)?;
            let plain = names::plain(name);
            let own = names::own_of("a condition", &plain).copied().unwrap_or(name);
            let place = match own {
                "type" | "subject" => {
                    sorted.kept.push(entry);
                    continue;
                }
                "objects" => {
                    sorted.objects.push(entry);
                    continue;
                }
                _ if modifier::is_negation(&plain) => {
                    sorted.modifiers.push(entry);
                    continue;
                }
                "predicate" => &mut sorted.predicate,
                "leftPredicate" => &mut sorted.compares[0],
                "rightPredicate" => &mut sorted.compares[1],
                _ if dialects::is_between(name) || BOTH.contains(&plain.as_str()) => &mut sorted.both,
                _ if LOWER.contains(&plain.as_str()) || is_bound(name, LOWEST) => &mut sorted.bounds[0],
                _ if UPPER.contains(&plain.as_str()) || is_bound(name, HIGHEST) => &mut sorted.bounds[1],
                _ => return None,
            };
            if place.replace(entry).is_some() {
                return None;
            }
        }
        sorted.take_side();
        let types = sorted.kept.iter().filter(|entry| is_type(entry)).count();
        let is_short = types <= 1 && sorted.kept.len() <= types + 1 && all.len() <= MOST;
        is_short.then_some(sorted)
    }

    /// Takes the predicate for that of a side if the other side has a key: `predicate: ">=", objects: [18], max: 65`.
    fn take_side(&mut self) {
        let named = self.predicate.and_then(|(_, value)| scalar(value)).unwrap_or_default();
        let side = match (self.bounds, self.objects.as_slice()) {
            ([None, Some(_)], [_]) if is_bound(named, LOWEST) => 0,
            ([Some(_), None], [_]) if is_bound(named, HIGHEST) => 1,
            _ => return,
        };
        if self.compares[side].is_none() {
            self.compares[side] = self.predicate.take();
        }
    }

    /// Returns whether something says that there are two bounds: the predicate, or keys.
    fn is_between(&self) -> bool {
        match self.predicate {
            Some((_, value)) => scalar(value).is_some_and(dialects::is_between),
            None => {
                let has = |keys: &[Option<_>; 2], count| keys.iter().flatten().count() >= count;
                self.both.is_some() || has(&self.compares, 1) || has(&self.bounds, 2)
            }
        }
    }

    /// Returns the entry that has each bound; the same one if it has both.
    fn sources(&self) -> Option<Vec<&'n Entry>> {
        let all = match (self.bounds, self.objects.as_slice(), self.both) {
            ([Some(low), Some(high)], [], None) => vec![low, high],
            ([None, Some(high)], [low], None) => vec![*low, high],
            ([Some(low), None], [high], None) if self.compares[1].is_some() => vec![low, *high],
            ([None, None], [low, high], None) => vec![*low, *high],
            ([None, None], [both], None) => vec![*both],
            ([None, None], [], Some(both)) => vec![both],
            ([Some(one), None] | [None, Some(one)], [], None) if self.predicate.is_some() => vec![one],
            _ => return None,
        };
        Some(all)
    }

    /// Returns the entries whose keys no condition has, without those that reverse it.
    fn foreign(&self, all: &'n [Entry]) -> Vec<&'n Entry> {
        all.iter().filter(|entry| is_foreign(&entry.0) && !has(&self.modifiers, entry)).collect()
    }

    /// Returns the finding on the first entry that no condition has; none if all of a `between` are right.
    fn finding(&self, all: &'n [Entry], is_torn: bool) -> Option<Finding> {
        let foreign = self.foreign(all);
        if foreign.iter().any(|entry| !has(&self.kept, entry)) {
            let (key, _) = foreign.first()?;
            let message = format!("a condition has no `{}`", shown(scalar(key)?));
            return Some(Finding::at(&check::UNKNOWN_KEY, key.span, message));
        }
        if let [_, (key, _)] = self.objects.as_slice() {
            return Some(Finding::at(&check::DUPLICATE_KEY, key.span, "duplicate key `objects`"));
        }
        let predicate = self.predicate.map(|(_, value)| value.span);
        let side = || self.compares.iter().flatten().next().map(|(key, _)| key.span);
        let span = predicate.or_else(side).filter(|_| is_torn)?;
        let missing = ["predicate", "leftPredicate", "rightPredicate", "rightObjects"];
        let missing: Vec<&str> = missing.into_iter().filter(|name| field(all, name).is_none()).collect();
        let message = format!("`between` needs {}", listed(&in_backticks(&missing)));
        Some(Finding::at(&check::BETWEEN_FIELDS, span, message))
    }
}

const LOWEST: &[&str] = &[">", ">=", "after"];
const HIGHEST: &[&str] = &["<", "<=", "before"];

/// Returns whether a key names one of these predicates.
fn is_bound(name: &str, predicates: &[&str]) -> bool {
    dialects::other_types("", name).iter().any(|(_, predicate)| predicates.contains(predicate))
}

/// Returns whether `entry` is one of these, and not only the same.
fn has(entries: &[&Entry], entry: &Entry) -> bool {
    entries.iter().any(|one| std::ptr::eq(*one, entry))
}

fn is_type((key, _): &Entry) -> bool {
    scalar(key) == Some("type")
}

fn is_foreign(key: &Node) -> bool {
    scalar(key).is_some_and(|name| !CONDITION.contains(&name))
}

impl<'n> Between<'n> {
    fn of(item: &'n Node, service: ServiceKind) -> Option<Self> {
        let NodeKind::Mapping(all) = &item.kind else { return None };
        let entries = Entries::of(all)?;
        let sources = entries.sources().filter(|_| entries.is_between() && !entries.kept.is_empty())?;
        let given = field(all, "type");
        let kinds = kinds(given.map(|kind| scalar(kind).unwrap_or_default()));
        let (kind, sides, doubt) = kinds.into_iter().find_map(|kind| {
            let (sides, doubt) = sides(kind, &entries, &sources)?;
            Some((kind, sides, doubt))
        })?;
        // A list of two bounds in the right place has its finding elsewhere.
        let is_list = matches!(sources.as_slice(), [(_, Node { kind: NodeKind::Sequence(items), .. })]
            if items.len() > 1 && items.iter().filter_map(scalar).all(|text| takes(kind, text)));
        let is_list = is_list && entries.compares.iter().all(Option::is_none);
        let is_named = entries.predicate.is_some_and(|(_, value)| scalar(value) == Some("between"));
        // Where a service does not document `between`, it is a warning, but what is not a number is an error.
        let has_error = service.can().between || kind == "number" && !is_list;
        let is_torn = sources.len() == 1 && !(is_list && is_named) && has_error;
        let finding = entries.finding(all, is_torn)?;
        // Two conditions cannot say the opposite of `between`.
        if !entries.modifiers.is_empty() && !service.can().between {
            return None;
        }
        Some(Self {
            kind,
            has_type: given.and_then(scalar) == Some(kind),
            foreign: entries.foreign(all).into_iter().filter_map(|(key, _)| scalar(key)).collect(),
            kept: entries.kept,
            modifiers: entries.modifiers,
            sides,
            finding,
            doubt,
        })
    }

    fn finding(&self, service: ServiceKind) -> Finding {
        let instead = match self.foreign.as_slice() {
            [] => String::new(),
            keys => format!(" in place of {}", listed(&in_backticks(keys))),
        };
        let doubt = self.doubt.map(|doubt| format!("; {doubt}")).unwrap_or_default();
        let mut own = if self.has_type { String::new() } else { format!("type: {}, ", self.kind) };
        if self.kept.iter().any(|(key, _)| is_foreign(key)) {
            own.push_str(&format!("subject: {}, ", self.subject()));
        }
        let help = match self.sides.as_slice() {
            [low, high] if service.can().between => {
                let (left, right) = (meant::in_braces(low.predicate), meant::in_braces(high.predicate));
                let (low, high) = (low.objects(), high.objects());
                format!(
                    "write `{own}predicate: between, leftPredicate: {left}, objects: [{low}], rightPredicate: {right}, \
                     rightObjects: [{high}]`{instead}"
                )
            }
            [low, high] => {
                let kinds = ServiceKind::words_with(|can| can.between);
                format!(
                    "write two conditions, `{{ {} }}` and `{{ {} }}`: `between` needs `service_kind: {kinds}`",
                    self.condition(low),
                    self.condition(high)
                )
            }
            sides => {
                let one = sides.first().map(|side| {
                    format!("predicate: {}, objects: [{}]", meant::in_braces(side.predicate), side.objects())
                });
                format!(
                    "write `{own}{}`{instead} if there is no other bound: `between` has two",
                    one.unwrap_or_default()
                )
            }
        };
        self.finding.clone().help(format!("{help}{doubt}"))
    }

    /// Returns a condition with one bound, as it stands in braces.
    fn condition(&self, side: &Side<'_>) -> String {
        let subject = self.subject();
        let predicate = meant::in_braces(side.predicate);
        format!(
            "type: {}, subject: {subject}, predicate: {predicate}, objects: [{}]",
            self.kind,
            side.objects()
        )
    }

    /// Returns the attribute as it stands in braces.
    fn subject(&self) -> String {
        let subject = self.kept.iter().find(|entry| !is_type(entry)).and_then(|(_, value)| scalar(value));
        subject.filter(|text| !text.is_empty()).map_or_else(|| "…".to_owned(), |text| quoted(&shown(text)))
    }

    /// Returns what stands for `item`.
    fn conditions(&self, item: &Node, service: ServiceKind) -> Vec<Node> {
        let one = |own: Vec<Entry>| {
            let typed = self.kept.iter().find(|entry| is_type(entry)).map(|entry| (*entry, &entry.1));
            let place = typed.or_else(|| self.sides.first().map(|side| (side.from, &side.from.0)));
            let kind = place.map(|(entry, at)| entry_of("type", text(self.kind, at), entry));
            let subject = self.kept.iter().filter(|entry| !is_type(entry));
            let subject = subject.map(|entry| entry_of("subject", entry.1.clone(), entry));
            let modifiers = self.modifiers.iter().map(|entry| (*entry).clone());
            let entries = kind.into_iter().chain(subject).chain(own).chain(modifiers).collect();
            Node { kind: NodeKind::Mapping(entries), ..item.clone() }
        };
        match self.sides.as_slice() {
            [low, high] if service.can().between => {
                let predicate = entry_of("predicate", text("between", &low.from.0), low.from);
                let sides = [
                    low.entries(["leftPredicate", "objects"]),
                    high.entries(["rightPredicate", "rightObjects"]),
                ];
                vec![one([vec![predicate], sides.concat()].concat())]
            }
            sides => sides.iter().map(|side| one(side.entries(["predicate", "objects"]))).collect(),
        }
    }
}

impl Side<'_> {
    /// Returns the objects as they stand between brackets.
    fn objects(&self) -> String {
        meant::list(&self.objects).unwrap_or_else(|| "…".to_owned())
    }

    fn entries(&self, [predicate, list]: [&str; 2]) -> Vec<Entry> {
        let objects = self.objects.iter().map(|object| text(object, &self.from.1)).collect();
        let objects = Node { kind: NodeKind::Sequence(objects), ..self.from.1.clone() };
        vec![
            entry_of(predicate, text(self.predicate, &self.from.0), self.from),
            entry_of(list, objects, self.from),
        ]
    }
}

fn entry_of(name: &str, value: Node, from: &Entry) -> Entry {
    (text(name, &from.0), value)
}

/// Returns a text at the place of another node.
fn text(text: &str, at: &Node) -> Node {
    Node { kind: NodeKind::Scalar(text.to_owned(), Style::Quoted), ..at.clone() }
}

/// Returns the types with `between` that a condition can have.
fn kinds(given: Option<&str>) -> Vec<&'static str> {
    let of =
        |name: &str| ConditionType::find(name).filter(|kind| !kind.sides().is_empty()).map(|kind| kind.name);
    match given {
        None => ["number", "semver", "datetime"].into_iter().filter_map(of).collect(),
        Some(name) if ConditionType::find(name).is_some() => of(name).into_iter().collect(),
        Some(name) => dialects::meant_type(name).and_then(of).into_iter().collect(),
    }
}

/// Returns the sides, and what is in doubt; none if a bound is not one of this type.
fn sides<'n>(
    kind: &'static str,
    entries: &Entries<'n>,
    sources: &[&'n Entry],
) -> Option<(Vec<Side<'n>>, Option<&'static str>)> {
    let read = match sources {
        [low, high] => vec![(0, *low, bounds(kind, &low.1)?), (1, *high, bounds(kind, &high.1)?)],
        [one] if entries.bounds.iter().flatten().next().is_some() => {
            vec![(usize::from(entries.bounds[0].is_none()), *one, bounds(kind, &one.1)?)]
        }
        [both] => {
            let [low, high] = in_order(kind, pair(kind, &both.1)?);
            vec![(0, *both, vec![low]), (1, *both, vec![high])]
        }
        _ => return None,
    };
    let of_bounds = read.iter().flat_map(|(.., bounds)| bounds).find_map(|bound| bound.doubt);
    let mut is_unsure = false;
    let mut sides = Vec::new();
    for (side, from, bounds) in read {
        let given = entries.compares[side].map(|(_, value)| scalar(value).unwrap_or_default());
        let of_text = bounds.first().and_then(|bound| bound.predicate);
        let of_key =
            scalar(&from.0).and_then(|key| dialects::exact(kind, key)).filter(|one| *one != "between");
        let named = match given {
            // Which of two is meant, only the author knows.
            Some(word) => {
                dialects::exact(kind, word).filter(|own| of_text.is_none_or(|text| text == *own)).map(Some)?
            }
            None => of_text.or(of_key),
        };
        let usual = match (kind, side) {
            ("datetime", 0) => "after",
            ("datetime", _) => "before",
            (_, 0) => ">=",
            (..) => "<=",
        };
        is_unsure |= named.is_none() && usual == "<=";
        let objects = bounds.into_iter().map(|bound| bound.object).collect();
        sides.push(Side { predicate: named.unwrap_or(usual), objects, from });
    }
    const UNSURE: &str = "write `\"<\"` in place of `\"<=\"` if the upper bound itself is not meant";
    let doubt = of_bounds.or(is_unsure.then_some(UNSURE));
    Some((sides, doubt))
}

/// Returns the bounds with the lower one first, unless one says what it compares: a list has no order.
fn in_order(kind: &str, mut bounds: [Bound; 2]) -> [Bound; 2] {
    let [one, other] = &mut bounds;
    let is_plain = one.predicate.is_none() && other.predicate.is_none();
    if is_plain && meant::is_before(kind, &other.object, &one.object) {
        std::mem::swap(&mut one.object, &mut other.object);
    }
    bounds
}

/// Returns the bounds of one side.
fn bounds(kind: &str, value: &Node) -> Option<Vec<Bound>> {
    let texts: Vec<&str> = match &value.kind {
        NodeKind::Scalar(text, _) => vec![text],
        NodeKind::Sequence(items) => items.iter().map(scalar).collect::<Option<_>>()?,
        NodeKind::Mapping(_) | NodeKind::Refused => return None,
    };
    let all: Vec<Bound> = texts.into_iter().map(|text| bound(kind, text)).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

fn bound(kind: &str, text: &str) -> Option<Bound> {
    meant::bound(kind, text).filter(|bound| takes(kind, &bound.object))
}

/// Returns both bounds of one value: a list of two, a mapping of two, or a text.
fn pair(kind: &str, value: &Node) -> Option<[Bound; 2]> {
    match &value.kind {
        NodeKind::Scalar(text, _) => {
            let bounds = meant::bounds(kind, text)?;
            bounds.iter().all(|bound| takes(kind, &bound.object)).then_some(bounds)
        }
        NodeKind::Sequence(items) => match items.as_slice() {
            [one] => pair(kind, one),
            [low, high] => meant::sorted([bound(kind, scalar(low)?)?, bound(kind, scalar(high)?)?]),
            _ => None,
        },
        NodeKind::Mapping(entries) => {
            let sorted = Entries::of(entries)?;
            let [Some(low), Some(high)] = sorted.bounds else { return None };
            let named = |(key, value): &Entry| {
                let bound = bound(kind, scalar(value)?)?;
                let predicate = bound.predicate.or_else(|| dialects::exact(kind, scalar(key)?));
                Some(Bound { predicate, ..bound })
            };
            (entries.len() == 2).then(|| Some([named(low)?, named(high)?])).flatten()
        }
        NodeKind::Refused => None,
    }
}

//! Checks conditions: the types and predicates that a service knows (src/service/featureprobe.md,
//! "Conditions"), and the objects compared with.
//!
//! The documented API has no such list, so only the objects of `number` conditions are checked there.

use regex::{Error, RegexBuilder};

use super::check;
use super::check::{Check, VANISHES, condition_example, quoted};
use super::compared::Beside;
use super::dialects;
use super::exclusion;
use super::finding::{At, Finding, Part, add, is_affordable, shown};
use super::meant;
use super::meant::MeantTime;
use super::portable::{beyond_rust, without_references};
use super::resolve::{RawCondition, Text, has_optional_subject};
use super::sdks;
use super::versions;
use crate::model::{
    CONDITION_TYPES, ConditionType, ConditionValue, Predicate, Sdks, ServiceKind, TextComparison, closest,
    datetime_numbers, delivered_time, is_accepted_time, is_semver, listed, rfc3339,
};

/// Checks conditions for one kind of service.
pub(super) struct ConditionChecker<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) kind: ServiceKind,
    pub(super) sdks: Sdks,
    pub(super) patterns: &'a mut PatternChecker,
}

impl ConditionChecker<'_> {
    pub(super) fn check(&mut self, condition: &RawCondition, at: &At<'_>) {
        let RawCondition {
            kind,
            subject,
            predicate,
            objects,
            left_predicate,
            right_predicate,
            right_objects,
            has_unread,
        } = condition;
        for (name, text) in [("type", kind), ("predicate", predicate)] {
            if text.as_deref() == Some("") {
                self.empty_text(kind.as_deref(), name, at);
            }
        }
        let kind = kind.as_deref().unwrap_or_default();
        // A segment condition has no subject: the service's own UI leaves it out
        // (src/service/featureprobe.md, "Conditions").
        if subject.as_deref() == Some("") && kind != "segment" && self.kind.can().evaluate {
            self.empty_text(Some(kind), "subject", at);
        }
        // The positioned reader requires the subject of all other conditions.
        if subject.is_none() && kind == "segment" && !has_optional_subject(kind, self.kind) {
            let finding = at.finding(&check::MISSING_FIELD, Part::Key, "a condition needs `subject`");
            let help = format!(
                "a segment has no attribute to name: conditions on segments need `service_kind: {}`",
                ServiceKind::words_with(|can| can.refer)
            );
            add(self.findings, finding.help(help));
        }
        let evident = self.evident_type(condition);
        match evident {
            Some(other) => self.other_type(condition, other, at),
            None => {
                self.vocabulary(kind, predicate.as_deref(), objects.as_deref().unwrap_or_default(), at);
            }
        }
        // What follows is about the type that is meant.
        let kind = evident.map_or(kind, |other| other.name);
        self.unavailable(condition, at);
        self.between(condition, kind, at);
        let is_between = match predicate.as_deref() {
            Some(predicate) => predicate == "between",
            None => left_predicate.is_some() || right_predicate.is_some(),
        };
        let left = if is_between { ("leftPredicate", left_predicate) } else { ("predicate", predicate) };
        for (objects, list, (key, compares)) in
            [(objects, "objects", left), (right_objects, "rightObjects", ("rightPredicate", right_predicate))]
        {
            if let Some(objects) = objects {
                let side = Side {
                    keys: (key, list),
                    compares: compares.as_deref(),
                    predicate: predicate.as_deref(),
                };
                self.objects(kind, side, objects, *has_unread, &at.key(list));
            }
        }
    }

    fn objects(&mut self, kind: &str, side: Side<'_>, objects: &[Text], has_unread: bool, list: &At<'_>) {
        if objects.is_empty() {
            let message = "this condition has no objects to compare with";
            let finding = list.finding(&check::NO_OBJECTS, Part::Key, message);
            add(self.findings, finding.help(condition_example(Some(kind), "objects")));
        }
        let predicate = side.predicate;
        let is_regex = self.kind.can().evaluate && is_regex(kind, predicate);
        for (index, Text(object)) in objects.iter().enumerate() {
            let at = list.item(index);
            // It was reported already.
            if has_unread && object.is_empty() {
                continue;
            }
            let beside = |findings: &[Finding]| side.beside(self.kind, kind, objects.len() == 1, findings);
            if let Some((check, what, help)) = operand(self.kind, kind, object, || beside(self.findings)) {
                let message = format!("`{}` {what}", shown(object));
                add(self.findings, at.finding(check, Part::Value, message).help(help));
            }
            // In a pattern, brackets are a class.
            let is_text = !predicate.unwrap_or_default().contains("regex");
            let items = if is_text { meant::items(object) } else { None };
            // A text that begins with, or contains, another one may have its commas.
            let items = items.or_else(|| meant::enumerated(object).filter(|_| is_equality(kind, predicate)));
            if let Some(items) = items.and_then(|items| meant::list(&items)) {
                let message = "this text has the form of a list, but it is one object";
                let help = format!("write `{items}`");
                add(self.findings, at.finding(&check::LIST_IN_TEXT, Part::Value, message).help(help));
            }
            let literal = if is_regex { meant::RegexLiteral::of(object) } else { None };
            if let Some(literal) = literal {
                let message = format!("the slashes of `{}` are a part of the pattern here", shown(object));
                let finding = at.finding(&check::REGEX_LITERAL, Part::Value, message);
                add(self.findings, finding.help(literal.help()));
            }
            if let Some(Err(reason)) = is_regex.then(|| self.pattern(object)) {
                let message = format!("`{}` is not a regular expression: {}", shown(object), shown(&reason));
                let finding = at.finding(&check::BAD_REGEX, Part::Value, message);
                add(self.findings, finding.help(way_without(&reason, self.sdks)));
            }
        }
    }

    /// Checks a pattern as Rust does. What only others know is a disagreement, not an error, if the team uses one of
    /// them.
    fn pattern(&mut self, pattern: &str) -> Result<(), String> {
        let parts = beyond_rust(pattern);
        // Rust takes `\0` for a reference.
        let is_own = sdks::may_use_rust(self.sdks) && !parts.iter().any(|part| part.is_octal());
        match sdks::unknown(&parts, self.sdks) {
            Some(reason) => {
                self.patterns.check(pattern).map_err(|of_rust| if is_own { of_rust } else { reason })
            }
            None => self.patterns.check(without_references(pattern).as_deref().unwrap_or(pattern)),
        }
    }

    fn empty_text(&mut self, kind: Option<&str>, name: &'static str, at: &At<'_>) {
        let message = format!("`{name}` is empty");
        let finding = at.key(name).finding(&check::EMPTY_TEXT, Part::Value, message);
        add(self.findings, finding.help(condition_example(kind, name)));
    }

    fn vocabulary(&mut self, kind: &str, predicate: Option<&str>, objects: &[Text], at: &At<'_>) {
        if kind.is_empty() {
            return;
        }
        let Some(known) = ConditionType::find(kind) else {
            return self.unknown_type(kind, predicate, at);
        };
        match predicate {
            // Both were reported already.
            None | Some("") => {}
            Some(predicate) if known.comparison(predicate).is_some() => {}
            Some(predicate) => {
                self.unknown_predicate(kind, predicate, &known.predicates(), objects, &at.key("predicate"));
            }
        }
    }

    /// Reports a type and a predicate that another kind of service has. Fields that need it have their own findings.
    fn unavailable(&mut self, condition: &RawCondition, at: &At<'_>) {
        let Some(kind) = condition.kind.as_deref().and_then(ConditionType::find) else { return };
        if condition.subject.is_some() && !kind.is_of(self.kind) {
            let kinds = ServiceKind::words_with(|can| can.refer);
            let message = format!("`{}` is not a type of condition of this kind of service", kind.name);
            let finding = at.key("type").finding(&check::UNDOCUMENTED_CONDITION_TYPE, Part::Value, message);
            let help = format!("conditions on segments need `service_kind: {kinds}`");
            add(self.findings, finding.help(help));
        }
        let is_between = condition.predicate.as_deref() == Some("between") && !kind.sides().is_empty();
        let has_fields = condition.left_predicate.is_some()
            || condition.right_predicate.is_some()
            || condition.right_objects.is_some();
        if is_between && !has_fields && !self.kind.can().between {
            let kinds = ServiceKind::words_with(|can| can.between);
            let message = "`between` is not a predicate of this kind of service";
            let finding = at.key("predicate").finding(&check::UNDOCUMENTED_PREDICATE, Part::Value, message);
            let help = format!("write a condition for each bound; `between` needs `service_kind: {kinds}`");
            add(self.findings, finding.help(help));
        }
    }

    fn unknown_type(&mut self, kind: &str, predicate: Option<&str>, at: &At<'_>) {
        // The documented API does not list its types, so an unknown one is only a warning
        // (src/document/README.md, "Kinds of service").
        let check = match self.kind.can().evaluate {
            false => &check::UNDOCUMENTED_CONDITION_TYPE,
            true => &check::UNKNOWN_CONDITION_TYPE,
        };
        let known: Vec<&str> = CONDITION_TYPES.iter().map(|one| one.name).collect();
        let help = match self.meant_type(kind) {
            Some(meant) => with_predicate(meant.name, predicate),
            None if dialects::is_rollout(kind) => {
                format!("a share of users is a `split` in the `serve` of a rule{}", check::needs_split())
            }
            None => format!("the known types are {}", listed(&quoted(&known))),
        };
        let message = format!("`{}` is not a known type of condition", shown(kind));
        let finding = at.key("type").finding(check, Part::Value, message);
        add(self.findings, finding.help(help));
    }

    /// Returns the type of this service that an unknown one probably means.
    fn meant_type(&self, kind: &str) -> Option<&'static ConditionType> {
        // No help leads to a type that this service does not have.
        let types = || CONDITION_TYPES.iter().filter(|one| one.is_of(self.kind));
        let is_of = |meant: &&str| types().any(|one| one.name == *meant);
        let foreign = dialects::meant_type(kind).filter(is_of);
        // Comparing words is slow, and a hostile file could require it very often.
        let can_compare = is_affordable(self.findings) && !dialects::is_rollout(kind);
        let similar = || if can_compare { closest(kind, types().map(|one| one.name)) } else { None };
        foreign.or_else(similar).and_then(ConditionType::find)
    }

    /// Returns the type that the predicates and the objects of a condition have, if both are not those of its own
    /// type: only the type is wrong.
    fn evident_type(&self, condition: &RawCondition) -> Option<&'static ConditionType> {
        let RawCondition { kind, predicate, left_predicate, right_predicate, .. } = condition;
        let own = ConditionType::find(kind.as_deref()?)?;
        let sides = [left_predicate.as_deref(), right_predicate.as_deref()];
        let is_between = predicate.as_deref() == Some("between");
        let compares = if is_between { sides } else { [predicate.as_deref(), None] };
        let compares: Vec<&str> = compares.into_iter().flatten().collect();
        let objects = [&condition.objects, &condition.right_objects].into_iter().flatten().flatten();
        let objects: Vec<&str> = objects.map(|Text(object)| object.as_str()).collect();
        let has = |kind: &ConditionType, one: &str| kind.comparison(one).is_some_and(|_| one != "between");
        let is_compared = |kind: &ConditionType, object: &str| match kind.value {
            ConditionValue::Number => meant::is_decimal(object),
            ConditionValue::Semver => is_semver(object),
            ConditionValue::Time => meant::time(object).is_some() || is_accepted_time(object),
            // Any text can be one.
            ConditionValue::Text | ConditionValue::Segment => false,
        };
        let is_ordered = |kind: &ConditionType| {
            matches!(kind.value, ConditionValue::Number | ConditionValue::Semver | ConditionValue::Time)
        };
        let is_other = is_ordered(own)
            && !compares.is_empty()
            && !objects.is_empty()
            && !compares.iter().any(|one| has(own, one))
            && !objects.iter().any(|object| is_compared(own, object));
        CONDITION_TYPES.iter().filter(|_| is_other).find(|other| {
            compares.iter().all(|one| has(other, one))
                && objects.iter().all(|object| is_compared(other, object))
        })
    }

    /// Reports that the type of a condition is not the one that its predicates and objects have.
    fn other_type(&mut self, condition: &RawCondition, other: &ConditionType, at: &At<'_>) {
        let RawCondition { kind, predicate, left_predicate, objects, .. } = condition;
        let own = kind.as_deref().unwrap_or_default();
        let (key, compares) = match (predicate.as_deref(), left_predicate.as_deref()) {
            (Some("between"), Some(left)) => ("leftPredicate", left),
            (Some("between"), None) => {
                ("rightPredicate", condition.right_predicate.as_deref().unwrap_or_default())
            }
            (predicate, _) => ("predicate", predicate.unwrap_or_default()),
        };
        let help = format!("write `type: {}`, which the predicate and the objects have", other.name);
        // Decimal numbers are the same for every kind of service, whose predicates may not be documented.
        let finding = match (objects.as_deref(), self.kind.can().evaluate) {
            (Some([Text(object), ..]), false) if own == "number" => {
                let message = format!("`{}` is not a decimal number", shown(object));
                at.key("objects").item(0).finding(&check::NOT_A_NUMBER, Part::Value, message)
            }
            (_, evaluates) => {
                let check =
                    if evaluates { &check::UNKNOWN_PREDICATE } else { &check::UNDOCUMENTED_PREDICATE };
                let message =
                    format!("`{}` is not a known predicate of a `{own}` condition", shown(compares));
                at.key(key).finding(check, Part::Value, message)
            }
        };
        add(self.findings, finding.help(help));
    }

    fn unknown_predicate(
        &mut self,
        kind: &str,
        predicate: &str,
        known: &[&'static str],
        objects: &[Text],
        at: &At<'_>,
    ) {
        let check = match self.kind.can().evaluate {
            false => &check::UNDOCUMENTED_PREDICATE,
            true => &check::UNKNOWN_PREDICATE,
        };
        // Comparing words is slow, and a hostile file could require it very often.
        let is_affordable = is_affordable(self.findings);
        let meant = is_affordable.then(|| dialects::meant(kind, predicate, known)).flatten();
        // No help leads to what this service does not have.
        let meant = meant.filter(|meant| *meant != "between" || self.kind.can().between);
        let range = if kind == "semver" && is_affordable { range(predicate, objects) } else { None };
        let ilike = if kind == "string" && is_affordable { dialects::is_ilike(predicate) } else { None };
        let help = range.or_else(|| ilike.map(|is_denied| ilike_help(is_denied, objects))).or_else(|| {
            meant.map(|meant| match like(meant, predicate, objects).filter(|_| is_affordable) {
                Some(like) => like,
                None => format!("did you mean `{meant}`?"),
            })
        });
        let elsewhere = || {
            let others = dialects::other_types(kind, predicate);
            // A side of `between` can be none itself.
            let (_, first) = others.first().filter(|(_, first)| *first != "between")?;
            let types: Vec<&str> =
                others.iter().filter(|(_, one)| one == first).map(|(kind, _)| *kind).collect();
            Some(format!("it is `{first}` of {} conditions", listed(&quoted(&types))))
        };
        let own = || format!("a `{kind}` condition has {}", listed(&quoted(known)));
        let help = help.unwrap_or_else(|| match elsewhere() {
            Some(elsewhere) => format!("{}; {elsewhere}", own()),
            None => own(),
        });
        let message = format!("`{}` is not a known predicate of a `{kind}` condition", shown(predicate));
        add(self.findings, at.finding(check, Part::Value, message).help(help));
    }

    /// Reports fields of `between` that are missing or have no meaning.
    fn between(&mut self, condition: &RawCondition, kind: &str, at: &At<'_>) {
        let RawCondition { left_predicate, right_predicate, right_objects, predicate, .. } = condition;
        let fields = [
            ("leftPredicate", left_predicate.is_some()),
            ("rightPredicate", right_predicate.is_some()),
            ("rightObjects", right_objects.is_some()),
        ];
        let is_between = predicate.as_deref() == Some("between");
        let kinds = ServiceKind::words_with(|can| can.between);
        let needs = format!("the fields of `between` need `service_kind: {kinds}`");
        let unwanted = match self.kind.can().between {
            false => Some((&check::UNKNOWN_KEY, "a condition", needs.as_str())),
            true if is_between => None,
            true => Some((
                &check::SUPERFLUOUS_FIELD,
                "a condition without `between`",
                "remove it, or write `predicate: between`",
            )),
        };
        if let Some((check, what, help)) = unwanted {
            for (name, _) in fields.into_iter().filter(|(_, is_present)| *is_present) {
                let message = format!("{what} has no `{name}`");
                let finding = at.key(name).finding(check, Part::Key, message);
                add(self.findings, finding.help(help));
            }
            return;
        }
        let of_kind = ConditionType::find(kind);
        // A type without `between` has another finding, whose help does not need these fields.
        if of_kind.is_some_and(|kind| kind.sides().is_empty()) || condition.has_unread {
            return;
        }
        let missing: Vec<&str> =
            fields.into_iter().filter(|(_, is_present)| !is_present).map(|(name, _)| name).collect();
        if !missing.is_empty() {
            let help = exclusion::sides_help(condition, of_kind.or_else(|| self.meant_type(kind)));
            let message = format!("`between` needs {}", listed(&quoted(&missing)));
            let predicate = at.key("predicate");
            let finding = predicate.finding(&check::BETWEEN_FIELDS, Part::Value, message);
            add(self.findings, finding.help(help));
        }
        // Of a type that nobody knows, neither are the predicates.
        let Some(meant) = of_kind.or_else(|| self.meant_type(kind)) else { return };
        let known = meant.sides();
        for (name, side) in [("leftPredicate", left_predicate), ("rightPredicate", right_predicate)] {
            let unknown = side.as_deref().filter(|one| !known.is_empty() && !known.contains(one));
            if let Some(predicate) = unknown {
                self.unknown_predicate(meant.name, predicate, &known, &[], &at.key(name));
            }
        }
    }
}

/// Returns the help on `LIKE` of SQL, in whose objects `%` stands for any text. `meant` is what it would be
/// without that.
fn like(meant: &str, predicate: &str, objects: &[Text]) -> Option<String> {
    if !meant.contains("contain") || !predicate.to_lowercase().contains("like") {
        return None;
    }
    let patterns: Vec<&str> = objects.iter().map(|Text(object)| object.as_str()).collect();
    let write = |(means, denied, objects): dialects::Like| {
        let means = if meant == "contains" { means } else { denied };
        Some(format!("write `predicate: {means}, objects: [{}]`", meant::list(&objects)?))
    };
    match dialects::like(&patterns) {
        Some(like) => write(like),
        // To a tool without patterns, it is a character.
        None if patterns.iter().any(|pattern| pattern.contains('_')) => {
            let regex = write(dialects::like_as_regex(&patterns))?;
            Some(format!("did you mean `{meant}`? If `_` stands for any character, {regex}"))
        }
        None => None,
    }
}

/// Returns the help on a predicate that is the sign of a range of versions, such as `^`.
fn range(predicate: &str, objects: &[Text]) -> Option<String> {
    let [Text(object)] = objects else { return None };
    let range = format!("{}{object}", predicate.trim());
    matches!(predicate.trim(), "^" | "~").then(|| versions::help(&range, Some(Beside::EQUAL)))
}

/// Returns the help on `ILIKE` of SQL, which ignores case.
fn ilike_help(is_denied: bool, objects: &[Text]) -> String {
    let patterns: Vec<&str> = objects.iter().map(|Text(object)| object.as_str()).collect();
    let (means, denied, objects) = dialects::ilike(&patterns);
    let means = if is_denied { denied } else { means };
    match meant::list(&objects) {
        Some(objects) => format!("write `predicate: {means}, objects: [{objects}]`"),
        None => format!(
            "write `predicate: {means}`, and in its objects both cases of each letter as a class, such as `[Aa]`"
        ),
    }
}

/// Returns the help on a pattern that the Rust SDK does not know, for this reason.
fn way_without(reason: &str, sdks: Sdks) -> String {
    if [": an invalid pattern", ": unknown"].iter().any(|does| reason.contains(does)) {
        return "write literal text, classes such as `[a-z]`, groups and repetitions: the service accepts this, but no SDK \
                that your services use can read it"
            .to_owned();
    }
    let (way, others) = match () {
        () if reason.starts_with("look-around") => (
            "write several conditions, which must all match",
            "Go does the same; Java, Node and Python know it",
        ),
        () if reason.starts_with("backreferences") => {
            ("write each case as an object", "Go does the same; Java, Node and Python know it")
        }
        () if reason.contains("too large") || reason.contains("larger") => {
            ("write a shorter pattern", "other SDKs may know it")
        }
        () => {
            let way = "write literal text, classes such as `[a-z]`, groups and repetitions, and a backslash before a \
                       character that has another meaning";
            (way, "other SDKs may read it in another way, or refuse it as well")
        }
    };
    let rust = match sdks::may_use_rust(sdks) {
        true => "in the Rust SDK,",
        false => "in the Rust SDK, which `sdks` does not name,",
    };
    format!(
        "{way}: the service accepts this, but {rust} the condition never matches, or, if it is negated, always; {others}"
    )
}

/// Returns the help on the type of another tool which is `kind` here. It says what replaces the predicate, too, if
/// that one has another name.
fn with_predicate(kind: &str, predicate: Option<&str>) -> String {
    let known = ConditionType::find(kind).map(ConditionType::predicates).unwrap_or_default();
    let foreign = predicate.filter(|one| !one.is_empty() && !known.contains(one));
    match foreign.and_then(|one| dialects::meant(kind, one, &known)) {
        Some(meant) => format!("write `type: {kind}, predicate: {}`", meant::in_braces(meant)),
        None => format!("did you mean `{kind}`?"),
    }
}

/// Returns whether the objects of such a condition are regular expressions.
pub(super) fn is_regex(kind: &str, predicate: Option<&str>) -> bool {
    let comparison = ConditionType::find(kind).zip(predicate).and_then(|(kind, one)| kind.comparison(one));
    matches!(comparison, Some(Predicate::Text(TextComparison::Regex, _)))
}

/// Returns whether the objects of such a condition are whole texts or keys of segments.
fn is_equality(kind: &str, predicate: Option<&str>) -> bool {
    let comparison = ConditionType::find(kind).zip(predicate).and_then(|(kind, one)| kind.comparison(one));
    matches!(comparison, Some(Predicate::Text(TextComparison::IsOneOf, _) | Predicate::Membership))
}

/// The list of objects of a condition or of one side of `between`.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The key of what compares, and that of the list.
    keys: (&'static str, &'static str),
    /// What compares, if it is there.
    compares: Option<&'a str>,
    /// The predicate of the condition.
    predicate: Option<&'a str>,
}

impl<'a> Side<'a> {
    /// Returns what is beside an object; none if what compares has no certain meaning.
    fn beside(
        self,
        service: ServiceKind,
        kind: &str,
        is_alone: bool,
        findings: &[Finding],
    ) -> Option<Beside<'a>> {
        let known = ConditionType::find(kind).map(ConditionType::predicates).unwrap_or_default();
        let predicate = match self.compares {
            None | Some("") => "=",
            Some(own) if known.contains(&own) => own,
            // Comparing words is slow, and a hostile file could require it very often.
            Some(own) if is_affordable(findings) => dialects::meant(kind, own, &known)?,
            Some(_) => return None,
        };
        Some(Beside { predicate, keys: self.keys, is_alone, has_between: service.can().between })
    }
}

/// Returns the failed check on an object of a condition of type `kind`, with what is wrong with the object
/// and the help.
fn operand<'a>(
    service: ServiceKind,
    kind: &str,
    object: &str,
    beside: impl Fn() -> Option<Beside<'a>>,
) -> Option<(&'static Check, &'static str, String)> {
    let (check, what, help) = match (kind, service.can().evaluate) {
        // Decimal numbers are the same for every kind of service.
        ("number", _) if !meant::is_decimal(object) => {
            let reading = meant::almost_number(object).flatten();
            let help =
                reading.filter(|reading| meant::is_decimal(&reading.number)).map(|reading| reading.help(""));
            let help = help.or_else(|| meant::full_number(object).map(|number| format!("write `{number}`")));
            let help =
                help.or_else(|| Some(meant::compared_number(object)?.help(beside()?))).unwrap_or_else(|| {
                    if object.trim().is_empty() {
                        return "write the number to compare with, such as `18`".to_owned();
                    }
                    if let Some(help) = several(object, meant::is_decimal) {
                        return help;
                    }
                    "write digits, with an optional sign, fraction and exponent, such as `-1.5e3`".to_owned()
                });
            return Some((&check::NOT_A_NUMBER, "is not a decimal number", help));
        }
        ("semver", true) if !is_semver(object) => {
            let help = several(object, is_semver).unwrap_or_else(|| versions::help(object, beside()));
            return Some((&check::BAD_SEMVER, "is not a semantic version", help));
        }
        ("semver", true) if !has_short_numbers(object) => (
            &check::BAD_SEMVER,
            "has a number of more than 64 bits",
            "write smaller numbers: the service accepts this, but SDKs skip it, and Node fails the condition",
        ),
        ("datetime", true) => return time(object),
        _ => return None,
    };
    Some((check, what, help.to_owned()))
}

/// Returns the help on an object that is a list of objects.
fn several(object: &str, is_object: impl Fn(&str) -> bool) -> Option<String> {
    let all = meant::several(object)?;
    let all = meant::list(&all).filter(|_| all.iter().all(|one| is_object(one)))?;
    Some(format!("write `{all}`"))
}

/// Returns what is wrong with the object of a `datetime` condition. The help has the same time, if it is known.
fn time(object: &str) -> Option<(&'static Check, &'static str, String)> {
    const IN_UTC: &str = "write it in UTC, such as `2024-12-31T23:59:59+00:00`";
    // The service takes no `Z`.
    let help = |time: MeantTime| time.help("+00:00");
    let meant = || meant::time(object).map_or_else(|| IN_UTC.to_owned(), help);
    if !is_accepted_time(object) {
        return Some((&check::BAD_DATETIME, "is not a time that the service can parse", meant()));
    }
    let Some(seconds) = delivered_time(object) else {
        let help = format!("{}; {VANISHES}", meant());
        return Some((&check::BAD_DATETIME, "has an offset of a day or more", help));
    };
    if is_datetime(object) {
        return None;
    }
    // Only times with a year of four digits have the usual form.
    let taken = rfc3339(seconds).replace('Z', "+00:00");
    let help = match is_datetime(&taken) {
        true => format!("write `{taken}`: the service takes it for that time"),
        false => help(MeantTime { seconds, has_zone: true, has_fraction: false }),
    };
    Some((&check::BAD_DATETIME, "is not a time that exists", help))
}

/// Returns whether the three numbers of a semantic version have at most 64 bits, as the SDKs read them.
fn has_short_numbers(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').all(|number| number.parse::<u64>().is_ok())
}

/// Returns whether FeatureProbe can parse `text` as a time that exists: `YYYY-MM-DDThh:mm:ss+hh:mm` with a
/// `+` offset, whose minutes are at most 19 (src/service/featureprobe.md, "Publishing").
fn is_datetime(text: &str) -> bool {
    // The service rejects `Z`, negative offsets and fractions of a second.
    datetime_numbers(text).is_some_and(
        |[year, month, day, hour, minute, second, offset_hours, offset_minutes]| {
            // The service accepts days that do not exist, and rolls them over to another date.
            (1..=12).contains(&month)
                && (1..=days(year, month)).contains(&day)
                && hour < 24
                && minute < 60
                && second < 60
                && offset_hours < 24
                && offset_minutes < 20
        },
    )
}

fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// How much one document may cost to check: its patterns are compiled with growing limits until one suffices,
/// and each attempt costs the limit, in units of 16 KiB. A thousand simple patterns are far below.
const MOST_UNITS: usize = 8192;

const UNIT: usize = 16 * 1024;

/// Compiles the patterns of one document.
pub(super) struct PatternChecker {
    units: usize,
}

impl Default for PatternChecker {
    fn default() -> Self {
        Self { units: MOST_UNITS }
    }
}

impl PatternChecker {
    /// Checks that the `regex` crate compiles `pattern` with its default limits, as the Rust SDK does.
    pub(super) fn check(&mut self, pattern: &str) -> Result<(), String> {
        // The limit of the crate itself, to which the SDK keeps.
        const LARGEST: usize = 10 * 1024 * 1024;
        for limit in [UNIT, 16 * UNIT, LARGEST] {
            let left = self.units.checked_sub(limit / UNIT);
            let Some(left) = left else {
                return Err("the regular expressions of this document are too large to be checked".to_owned());
            };
            self.units = left;
            match RegexBuilder::new(pattern).size_limit(limit).build() {
                Ok(_) => return Ok(()),
                Err(Error::CompiledTooBig(_)) => {}
                // The last line has the reason; the others repeat the pattern and point into it.
                Err(error) => {
                    let text = error.to_string();
                    let reason = text.lines().last().unwrap_or_default();
                    return Err(reason.strip_prefix("error: ").unwrap_or(reason).to_owned());
                }
            }
        }
        Err("compiled, it is larger than 10 MiB".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_the_service_reads_as_one() {
        for good in ["2024-02-29T23:59:59+00:00", "2023-01-01T00:00:00+08:00"] {
            assert!(is_datetime(good), "{good}");
        }
        for bad in [
            "2023-02-29T00:00:00+00:00",
            "2023-19-01T00:00:00+00:00",
            "2023-01-01T00:00:00Z",
            "2023-01-01T00:00:00-01:00",
            "2023-01-01T00:00:00+05:30",
            "2023-01-01T00:00:00.5+00:00",
            "2023-01-01",
            "",
        ] {
            assert!(!is_datetime(bad), "{bad}");
        }
    }

    fn check(pattern: &str) -> Result<(), String> {
        PatternChecker::default().check(pattern)
    }

    #[test]
    fn a_pattern_is_one_of_the_regex_crate() {
        for good in ["", "^a+$", r"\w{2,}@example\.com", "(?i)paris", r"\p{Greek}", "(a|b)*"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("(", "unclosed group"),
            ("[a", "unclosed character class"),
            ("*", "repetition operator missing expression"),
            (r"(a)\1", "backreferences are not supported"),
            ("(?=a)", "look-around, including look-ahead and look-behind, is not supported"),
            (r"\w{1000}{1000}", "compiled, it is larger than 10 MiB"),
        ] {
            assert_eq!(check(bad), Err(reason.to_owned()), "{bad}");
        }
    }

    #[test]
    fn the_patterns_of_a_document_are_checked_in_bounded_time() {
        let mut checker = PatternChecker::default();
        assert!((0..1000).all(|_| checker.check("^a+$").is_ok()));
        let error = (0..1000).find_map(|_| checker.check(r"\w{40}").err());
        assert!(error.is_some_and(|reason| reason.contains("too large to be checked")));
    }
}

//! Reads targeting in the JSON of FeatureProbe (src/service/featureprobe.md, "Reading").
//!
//! The service leaves out absent members and stores content that no document can express. Such content is an
//! error, so that nothing is lost.

use serde_json::{Map, Value};

use super::meaning::LARGEST_CONTENT;
use crate::model::{
    Abilities, Between, Condition, Content, Payload, Prerequisite, Rule, Serve, ServiceKind, Targeting,
    Variation, WHOLE, escaped, listed,
};

/// The reason why no document can express what the service has, in one line of escaped text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Inexpressible(String);

type Result<T> = std::result::Result<T, Inexpressible>;

fn refuse<T>(reason: String) -> Result<T> {
    Err(Inexpressible(reason))
}

/// Returns the payload of a toggle that is `disabled` or not and has this `content` on the service.
///
/// Absent and null texts are empty, absent rules and prerequisites are none. The payload may have errors that
/// only reading its document reports, such as a `select` out of range.
pub(crate) fn from_service(kind: ServiceKind, disabled: bool, content: &Value) -> Result<Payload> {
    let mut members = Members::new("content", content)?;
    let variations = members.list("variations", &variation)?;
    let count = variations.len();
    if let Some(rules) = members.peek("rules").and_then(Value::as_array) {
        let splits = rules.iter().filter(|rule| rule["serve"]["split"].is_array()).count();
        // Each split gets a weight for every variation, so small content could take gigabytes.
        if splits.saturating_mul(count).saturating_mul("0,".len()) > LARGEST_CONTENT {
            return refuse("`content` has too many splits over too many variations".to_owned());
        }
    }
    let content = Content {
        rules: members.list("rules", &|at, value| rule(at, value, count))?,
        disabled_serve: serve("content.disabledServe", members.take("disabledServe"), count)?,
        default_serve: serve("content.defaultServe", members.take("defaultServe"), count)?,
        variations,
        prerequisites: Some(members.list("prerequisites", &prerequisite)?),
    };
    members.end()?;
    let targeting = Targeting { disabled, content };
    expressible(targeting, kind).map(|targeting| Payload::new(&targeting))
}

/// Returns `targeting` as a document of this kind of service has it, if it can have everything.
fn expressible(mut targeting: Targeting, kind: ServiceKind) -> Result<Targeting> {
    let can = kind.can();
    let content = &mut targeting.content;
    let has_prerequisites = content.prerequisites.as_ref().is_some_and(|all| !all.is_empty());
    if !can.refer {
        content.prerequisites = None;
    }
    let is_select = |serve: &Serve| matches!(serve, Serve::Select(_));
    let serves_one = is_select(&content.disabled_serve)
        && is_select(&content.default_serve)
        && content.rules.iter().all(|rule| is_select(&rule.serve));
    let mut conditions = content.rules.iter().flat_map(|rule| &rule.conditions);
    let has_between = conditions.any(|condition| condition.between.is_some());
    type HasAbility = fn(Abilities) -> bool;
    let parts: [(_, _, HasAbility); 3] = [
        ("a serve that is not one variation", !serves_one, |can| can.split),
        ("prerequisites", has_prerequisites, |can| can.refer),
        ("a `between` condition", has_between, |can| can.between),
    ];
    let missing = parts.into_iter().filter(|(_, is_used, has)| *is_used && !has(can));
    let (used, needed): (Vec<String>, Vec<HasAbility>) =
        missing.map(|(what, _, has)| (what.to_owned(), has)).unzip();
    if used.is_empty() {
        return Ok(targeting);
    }
    let kinds = ServiceKind::words_with(|can| needed.iter().all(|has| has(can)));
    refuse(format!("it has {}, which needs `service_kind: {kinds}`", listed(&used)))
}

fn rule(at: &str, value: &Value, count: usize) -> Result<Rule> {
    let mut members = Members::new(at, value)?;
    let rule = Rule {
        name: members.text("name")?,
        serve: serve(&format!("{at}.serve"), members.take("serve"), count)?,
        // The service fails on a rule without conditions, so an absent list does not mean an empty one.
        conditions: match members.peek("conditions") {
            Some(_) => members.list("conditions", &condition)?,
            None => return refuse(format!("`{at}` has no `conditions`")),
        },
    };
    members.end()?;
    Ok(rule)
}

fn condition(at: &str, value: &Value) -> Result<Condition> {
    let mut members = Members::new(at, value)?;
    let predicate = members.required("predicate")?;
    let between =
        [members.peek("leftPredicate"), members.peek("rightPredicate"), members.peek("rightObjects")];
    // The service keeps these members when the predicate changes, and no SDK reads them then.
    let between = match predicate.as_str() {
        "between" if between.iter().all(Option::is_some) => Some(Box::new(Between {
            left_predicate: members.required("leftPredicate")?,
            right_predicate: members.required("rightPredicate")?,
            right_objects: members.list("rightObjects", &text)?,
        })),
        "between" => {
            return refuse(format!(
                "`{at}` is `between`, but has no `leftPredicate`, `rightPredicate` or `rightObjects`"
            ));
        }
        _ => {
            for name in ["leftPredicate", "rightPredicate", "rightObjects"] {
                members.take(name);
            }
            None
        }
    };
    let condition = Condition {
        kind: members.required("type")?,
        subject: members.text("subject")?,
        predicate,
        objects: match members.peek("objects") {
            Some(_) => members.list("objects", &text)?,
            None => return refuse(format!("`{at}` has no `objects`")),
        },
        between,
    };
    members.end()?;
    Ok(condition)
}

fn variation(at: &str, value: &Value) -> Result<Variation> {
    let mut members = Members::new(at, value)?;
    let variation = Variation {
        value: members.required("value")?,
        name: members.text("name")?,
        description: members.text("description")?,
    };
    members.end()?;
    Ok(variation)
}

fn prerequisite(at: &str, value: &Value) -> Result<Prerequisite> {
    let mut members = Members::new(at, value)?;
    let kind = members.required("type")?;
    let prerequisite = Prerequisite {
        key: members.required("key")?,
        value: members.required("value")?,
        kind: kind
            .parse()
            .map_err(|_| Inexpressible(format!("`{at}` has the unknown type `{}`", escaped(&kind))))?,
    };
    members.end()?;
    Ok(prerequisite)
}

fn text(at: &str, value: &Value) -> Result<String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| Inexpressible(format!("`{at}` is not text")))
}

/// Reads a serve of a toggle with `count` variations. An absent serve serves nothing.
fn serve(at: &str, value: Option<&Value>, count: usize) -> Result<Serve> {
    let Some(value) = value else {
        return Ok(Serve::Nothing);
    };
    let mut members = Members::new(at, value)?;
    let weights = members.list("split", &|at, weight| {
        let weight = weight.as_i64().ok_or_else(|| Inexpressible(format!("`{at}` is not a whole number")))?;
        u32::try_from(weight).map_err(|_| Inexpressible(format!("`{at}` is {weight}, which is not a weight")))
    })?;
    let select = members.take("select");
    members.end()?;
    // If both are present, the service uses a split that is not empty.
    if !weights.is_empty() {
        return split(at, weights, count);
    }
    let Some(select) = select else {
        return Ok(Serve::Nothing);
    };
    let index = select.as_u64().and_then(|index| u32::try_from(index).ok());
    let index = index.ok_or_else(|| {
        Inexpressible(format!(
            "`{at}` selects {}, which is not the index of a variation",
            escaped(&select.to_string())
        ))
    })?;
    Ok(Serve::Select(index))
}

/// Returns the split with one weight per variation.
fn split(at: &str, mut weights: Vec<u32>, count: usize) -> Result<Serve> {
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    if sum != u64::from(WHOLE) {
        return refuse(format!("`{at}` has a split whose weights add up to {sum}, not {WHOLE}"));
    }
    if weights.iter().skip(count).any(|weight| *weight > 0) {
        return refuse(format!("`{at}` has a split over more variations than there are"));
    }
    weights.resize(count, 0);
    Ok(Serve::Split(weights))
}

/// The members of an object that were not taken yet. A null member is the same as none.
struct Members<'a> {
    at: &'a str,
    rest: Vec<(&'a str, &'a Value)>,
}

impl<'a> Members<'a> {
    fn new(at: &'a str, value: &'a Value) -> Result<Self> {
        let object: &Map<String, Value> =
            value.as_object().ok_or_else(|| Inexpressible(format!("`{at}` is not an object")))?;
        let rest = object.iter().filter(|(_, value)| !value.is_null());
        Ok(Self { at, rest: rest.map(|(name, value)| (name.as_str(), value)).collect() })
    }

    fn peek(&self, name: &str) -> Option<&'a Value> {
        self.rest.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    fn take(&mut self, name: &str) -> Option<&'a Value> {
        let at = self.rest.iter().position(|(other, _)| *other == name)?;
        Some(self.rest.swap_remove(at).1)
    }

    /// Takes a text, which is empty if it is absent.
    fn text(&mut self, name: &str) -> Result<String> {
        let at = format!("{}.{name}", self.at);
        self.take(name).map_or(Ok(String::new()), |value| text(&at, value))
    }

    fn required(&mut self, name: &str) -> Result<String> {
        match self.peek(name) {
            Some(_) => self.text(name),
            None => refuse(format!("`{}` has no `{name}`", self.at)),
        }
    }

    /// Takes a list, which is empty if it is absent. `item` gets the path of each item.
    fn list<T>(&mut self, name: &str, item: &dyn Fn(&str, &Value) -> Result<T>) -> Result<Vec<T>> {
        let Some(value) = self.take(name) else {
            return Ok(Vec::new());
        };
        let items = value.as_array();
        let items = items.ok_or_else(|| Inexpressible(format!("`{}.{name}` is not a list", self.at)))?;
        let numbered = items.iter().enumerate();
        numbered.map(|(index, value)| item(&format!("{}.{name}[{index}]", self.at), value)).collect()
    }

    /// Refuses members that were not taken.
    fn end(self) -> Result<()> {
        let names: Vec<String> = self.rest.iter().map(|(name, _)| format!("`{}`", escaped(name))).collect();
        match names.as_slice() {
            [] => Ok(()),
            names => refuse(format!("`{}` has {}, which gitoggle does not know", self.at, listed(names))),
        }
    }
}

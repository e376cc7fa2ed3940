//! Expectations of `NAME.test.yaml` in the notation of another tool: what is not served, the value of a variation,
//! and a whole user with the key and the attributes.

use super::names::{meant_field, own_of, plain};
use super::{ForeignKey, ReadVariations, UnknownKey, restriction};
use crate::document::dialects;
use crate::document::finding::shown;
use crate::document::meant::{short, unquoted};
use crate::document::node::{Node, NodeKind, is_null, quoted, scalar};
use crate::model::undenied;

const WHAT: &str = "an expectation";

impl UnknownKey<'_> {
    pub(super) fn in_expectation(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        self.denied(variations).or_else(|| match own_of(WHAT, self.plain) {
            Some(&"given") => self.user(),
            Some(&"serves") => self.served(variations),
            _ => self.named().or_else(|| self.variation_of_expectation(variations)),
        })
    }

    /// Returns the help on a key whose value is a variation, beside no `serves`. Whether it is served, or is not, no table
    /// knows.
    fn variation_of_expectation(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let is_missing = meant_field(self.beside, WHAT, "serves").is_none();
        let is_variation = scalar(self.value).is_some_and(|name| variations.has(name));
        (own_of(WHAT, self.plain).is_none() && is_missing && is_variation).then(|| ForeignKey {
            help: "do not just remove it: write the variation that this user is served as `serves: …`"
                .to_owned(),
            stands_for: &["serves"],
        })
    }

    /// Returns the help on a variation that must not be served: `not_serves: a`, `expect: { not: a }`.
    fn denied(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let (name, value) = match &self.value.kind {
            NodeKind::Mapping(entries) if own_of(WHAT, self.plain) == Some(&"serves") => only(entries)?,
            _ => (self.name, self.value),
        };
        if !denies(name) {
            return None;
        }
        if meant_field(self.beside, WHAT, "serves").is_some_and(|serves| !std::ptr::eq(serves, self.value)) {
            let help = "remove it: `serves` names the variation that is served, so that no other one is";
            return Some(ForeignKey::only(help));
        }
        let value = match &value.kind {
            NodeKind::Mapping(entries) => only(entries).map_or(value, |(_, value)| value),
            _ => value,
        };
        let help = variations.not_served(scalar(value));
        Some(ForeignKey { help, stands_for: &["serves"] })
    }

    /// Returns the help on a whole user: `user: { key: u1, age: 30 }`.
    fn user(&self) -> Option<ForeignKey> {
        let NodeKind::Mapping(entries) = &self.value.kind else { return None };
        if !entries.iter().any(|(key, value)| is_part_of_user(key, value)) {
            return None;
        }
        let has_key = |user: &User| user.key.is_some() && meant_field(self.beside, WHAT, "key").is_some();
        let help = match User::read(entries, Level::User) {
            _ if self.kept("given").is_some() => self.kept("given")?,
            Some(user) if has_key(&user) => {
                format!(
                    "keep one of the two keys: `{}` has one, and so has the expectation",
                    shown(self.name)
                )
            }
            user => match user.and_then(|user| user.written()) {
                Some(user) => format!("write {user} instead"),
                None => NESTED.to_owned(),
            },
        };
        Some(ForeignKey { help, stands_for: &["given"] })
    }

    /// Returns the help on a variation by its value or its index: `value: "true"`, `expected: true`.
    fn served(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        if self.kept("serves").is_some() {
            return None;
        }
        let (name, value) = match &self.value.kind {
            NodeKind::Mapping(entries) => only(entries)?,
            _ => (self.name, self.value),
        };
        let NodeKind::Scalar(text, style) = &value.kind else { return None };
        let is_value = plain(name) == "value";
        let by_name = variations.names.iter().position(|name| name == text);
        let index = match (is_value, by_name, variations.with_value(text)) {
            (true, Some(name), Some(value)) if name != value => None,
            (true, name, value) => value.or(name),
            (false, ..) => variations.index(text, *style),
        };
        let help = match index.and_then(|index| variations.unique(index)) {
            Some(name) if name == text => return None,
            Some(name) => format!("write `serves: {}` instead", quoted(&shown(name))),
            None if is_value => {
                format!("write `serves` instead, with the name of the variation{}", variations.beginning())
            }
            None => return None,
        };
        Some(ForeignKey { help, stands_for: &["serves"] })
    }

    /// Returns the help on a name in place of a key: `adults: { serves: a }`.
    fn named(&self) -> Option<ForeignKey> {
        let is_named = self.beside.len() == 1 && matches!(self.value.kind, NodeKind::Mapping(_));
        is_named.then(|| {
            let help = format!("write `name: {}`, and the rest beside it", quoted(&shown(self.name)));
            ForeignKey { help, stands_for: &["name", "serves"] }
        })
    }
}

impl ReadVariations {
    /// Returns the help on the variation `denied`, given by its name or its value, which must not be served.
    fn not_served(&self, denied: Option<&str>) -> String {
        let is_denied = |index: usize| {
            let denied = denied.and_then(|denied| {
                self.names.iter().position(|name| name == denied).or_else(|| self.with_value(denied))
            });
            denied == Some(index)
        };
        let other = match self.names.as_slice() {
            [_, _] if is_denied(0) => self.unique(1),
            [_, _] if is_denied(1) => self.unique(0),
            _ => None,
        };
        match other {
            Some(other) => {
                format!(
                    "write `serves: {}` instead, which is the only other variation",
                    quoted(&shown(other))
                )
            }
            None => format!(
                "do not just rename it, which would say the opposite: write `serves` with the variation that is \
                 served{}",
                self.beginning()
            ),
        }
    }

    /// Returns the help on a text in place of the name of a variation, if it is the value of one, or denies one.
    pub(in crate::document) fn served_by(&self, text: &str) -> Option<String> {
        let named = self.with_value(text).and_then(|index| self.unique(index));
        let named = named.map(|name| {
            format!("write `{}`, the name of the variation with this value", quoted(&shown(name)))
        });
        named.or_else(|| {
            let bare = undenied(text).map(|text| text.trim_start_matches(['=', ' ']));
            let bare = bare.or_else(|| text.strip_prefix("not "))?.trim();
            self.has(bare).then(|| self.not_served(Some(bare)))
        })
    }

    /// Returns the help on a collection in place of the name of a variation.
    pub(in crate::document) fn served_in(&self, value: &NodeKind) -> Option<String> {
        match value {
            NodeKind::Mapping(entries) => {
                let (key, value) = only(entries)?;
                denies(key).then(|| self.not_served(scalar(value)))
            }
            NodeKind::Sequence(items) if items.len() > 1 => {
                Some("name one variation, and write an expectation for each kind of user".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the name of a variation, if no other one has it.
    fn unique(&self, index: usize) -> Option<&str> {
        let name = self.names.get(index).filter(|name| !name.is_empty())?;
        (self.names.iter().filter(|other| *other == name).count() == 1).then_some(name)
    }
}

/// Returns the name and the value of the only entry of a mapping.
fn only(entries: &[(Node, Node)]) -> Option<(&str, &Node)> {
    match entries {
        [(key, value)] => Some((scalar(key)?, value)),
        _ => None,
    }
}

/// Returns whether a key says what is not served: `not_serves`, `servesNot`, `unexpected`, `!serves`.
fn denies(name: &str) -> bool {
    const AUXILIARIES: &[&str] = &["be", "do", "does", "equal", "get", "is", "must", "serves", "to", "will"];
    const DENIALS: &[&str] = &[
        "doesnot",
        "doesnt",
        "mustnot",
        "mustnt",
        "shouldnot",
        "shouldnt",
        "willnot",
        "isnot",
        "isnt",
        "never",
        "not",
        "un",
        "except",
        "no",
        "!",
        "ne",
    ];
    let plain: String = plain(name).chars().filter(|c| !matches!(c, ' ' | '\'' | '’' | '$')).collect();
    // `shouldNotBe`
    let of_serves =
        |word: &String| AUXILIARIES.contains(&word.as_str()) || own_of(WHAT, word) == Some(&"serves");
    if restriction::undenied(name).is_some_and(|rest| !rest.is_empty() && rest.iter().all(of_serves)) {
        return true;
    }
    let is_serve = |rest: &str| rest == "serves" || own_of(WHAT, rest) == Some(&"serves");
    DENIALS.iter().any(|denial| {
        let rests = [plain.strip_prefix(denial), plain.strip_suffix(denial)];
        rests.into_iter().flatten().any(|rest| rest.is_empty() || is_serve(rest))
    })
}

/// A user as other tools write one.
#[derive(Default)]
struct User {
    key: Option<String>,
    given: Vec<(String, String)>,
}

/// What a mapping is: a user, or attributes of one.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Level {
    Attributes,
    User,
}

/// The help on a user that cannot be written out.
const NESTED: &str =
    "write the attributes directly below `given`, each as a text, and the user's key as `key` beside it";

impl User {
    /// Reads a user; none if a value is not a text, or if a name is there twice.
    fn read(entries: &[(Node, Node)], level: Level) -> Option<Self> {
        let mut user = Self::default();
        user.extend(entries, level)?;
        let mut names: Vec<&str> = user.given.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).all(|two| two[0] != two[1]).then_some(user)
    }

    fn extend(&mut self, entries: &[(Node, Node)], level: Level) -> Option<()> {
        for (name, value) in entries {
            let name = scalar(name)?;
            match (level_of(name), &value.kind) {
                (Some(inner), NodeKind::Mapping(entries)) => self.extend(entries, inner)?,
                // The user does not have this attribute.
                _ if value.is_null() => {}
                (_, NodeKind::Scalar(key, _)) if level == Level::User && is_key(name) => {
                    if self.key.replace(key.clone()).is_some() {
                        return None;
                    }
                }
                (_, NodeKind::Scalar(text, _)) => self.given.push((name.to_owned(), text.clone())),
                _ => return None,
            }
        }
        Some(())
    }

    /// Returns the fields of an expectation with this user, each in backticks; none if they are long.
    fn written(&self) -> Option<String> {
        let key = self.key.as_ref().map(|key| format!("`key: {}`", quoted(key)));
        let given = (!self.given.is_empty()).then(|| format!("`given: {{ {} }}`", pairs(&self.given)));
        let fields: Vec<String> = [key, given].into_iter().flatten().collect();
        short(&fields.join(" and "))
    }
}

/// Returns whether an entry of a user is not an attribute, but the key or a mapping of attributes.
fn is_part_of_user(key: &Node, value: &Node) -> bool {
    let Some(name) = scalar(key) else { return false };
    is_key(name) || matches!(value.kind, NodeKind::Mapping(_)) && level_of(name).is_some()
}

/// Returns whether other tools call the key of a user so.
fn is_key(name: &str) -> bool {
    matches!(plain(name).as_str(), "key" | "targetingkey" | "userid" | "userkey")
}

/// Returns what a mapping under this key in a user is.
fn level_of(name: &str) -> Option<Level> {
    match plain(name).as_str() {
        "attributes" | "attrs" | "attr" | "custom" | "properties" | "traits" => Some(Level::Attributes),
        "user" | "context" => Some(Level::User),
        _ => None,
    }
}

/// Returns whether a mapping compares or denies a value: `{ not: AT }`.
pub(in crate::document) fn is_compared(entries: &[(Node, Node)]) -> bool {
    let compares = |name: &str| denies(name) || !dialects::other_types("", name).is_empty();
    only(entries).is_some_and(|(name, _)| compares(name))
}

/// Returns the key of a mapping with attributes that is among the attributes of `given`, and the help on it.
pub(in crate::document) fn nested_user(entries: &[(Node, Node)]) -> Option<(&Node, &Node, String)> {
    let is_nested = |(key, value): &&(Node, Node)| {
        matches!(value.kind, NodeKind::Mapping(_)) && scalar(key).and_then(level_of).is_some()
    };
    let (key, value) = entries.iter().find(is_nested)?;
    let user = User::read(entries, Level::Attributes).and_then(|user| user.written());
    let help = user.map_or_else(|| NESTED.to_owned(), |user| format!("write {user}"));
    Some((key, value, help))
}

/// Returns the help on attributes of a user in another notation than a mapping: `[{ age: 20 }, { vip: true }]`,
/// `[{ name: age, value: 20 }]`, `[age=20]`, `age=20,vip=true`.
pub(in crate::document) fn attributes(value: &NodeKind) -> Option<String> {
    let mut all = Vec::new();
    match value {
        NodeKind::Sequence(items) => {
            for item in items {
                match &item.kind {
                    NodeKind::Mapping(entries) => all.extend(of_item(entries)?),
                    _ => all.push(pair(scalar(item)?)?),
                }
            }
        }
        NodeKind::Scalar(text, _) if !is_null(text) => {
            for part in text.split([',', ';', '&', '\n']) {
                all.push(pair(part)?);
            }
        }
        _ => return None,
    }
    let all = short(&pairs(&all)).filter(|all| !all.is_empty())?;
    Some(format!("write one mapping: `given: {{ {all} }}`"))
}

/// Returns the attributes of an item: `{ age: 20 }`, or `{ name: age, value: 20 }`.
fn of_item(entries: &[(Node, Node)]) -> Option<Vec<(String, String)>> {
    let text = |node: &Node| scalar(node).map(str::to_owned);
    if let [(name, attribute), (value, text_of)] = entries
        && matches!(plain(scalar(name)?).as_str(), "name" | "key" | "attribute" | "trait" | "property")
        && scalar(value)? == "value"
    {
        return Some(vec![(text(attribute)?, text(text_of)?)]);
    }
    entries.iter().map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// Reads `age=20` or `age: 20`.
fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(['=', ':'])?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (name, value) = (name.trim(), value.trim());
    let value = unquoted(value);
    let is_pair = !name.is_empty() && name.chars().all(is_name) && !value.is_empty();
    (is_pair && !value.starts_with(['=', '~', '>'])).then(|| (name.to_owned(), value.to_owned()))
}

fn pairs(all: &[(String, String)]) -> String {
    let all = all.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
    all.collect::<Vec<_>>().join(", ")
}

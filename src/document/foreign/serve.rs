//! Variations and serves in the notation of another tool.

use super::names::{SHARES, has_field, meant_field, own_of, plain};
use crate::document::check::{ROLLOUT, SERVE_FORMS, needs_split};
use crate::document::finding::shown;
use crate::document::keys::{SERVE, VARIATION};
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Style, field, is_null, quoted, scalar};
use crate::model::{ReturnType, Variation, listed};

/// The variations of a `content`, as far as they can be read. One without a name has an empty one.
#[derive(Default)]
pub(in crate::document) struct ReadVariations {
    pub(in crate::document) names: Vec<String>,
    values: Vec<Option<String>>,
}

impl ReadVariations {
    /// Reads the variations of a `content`, also in the notation of another tool.
    pub(in crate::document) fn of(content: &Node) -> Self {
        let NodeKind::Mapping(entries) = &content.kind else { return Self::default() };
        let text = |node: &Node| scalar(node).map(str::to_owned);
        let one = |entries: &[(Node, Node)]| match entries {
            [(name, value)] if !has_field(entries, "a variation", VARIATION) => {
                (text(name).unwrap_or_default(), text(value))
            }
            _ => {
                let part = |own| meant_field(entries, "a variation", own).and_then(text);
                (part("name").unwrap_or_default(), part("value"))
            }
        };
        let all: Vec<(String, Option<String>)> =
            match meant_field(entries, "`content`", "variations").map(|list| &list.kind) {
                Some(NodeKind::Sequence(items)) => items
                    .iter()
                    .map(|item| match &item.kind {
                        NodeKind::Mapping(entries) => one(entries),
                        _ => (text(item).unwrap_or_default(), text(item)),
                    })
                    .collect(),
                Some(NodeKind::Mapping(entries)) if has_field(entries, "a variation", VARIATION) => {
                    vec![one(entries)]
                }
                Some(NodeKind::Mapping(entries)) => entries
                    .iter()
                    .map(|(name, value)| (text(name).unwrap_or_default(), value_of(value).map(str::to_owned)))
                    .collect(),
                _ => Vec::new(),
            };
        let (names, values) = all.into_iter().unzip();
        Self { names, values }
    }

    /// Takes the variations of a valid document.
    pub(in crate::document) fn of_toggle(variations: &[Variation]) -> Self {
        let one = |variation: &Variation| (variation.name.clone(), Some(variation.value.clone()));
        let (names, values) = variations.iter().map(one).unzip();
        Self { names, values }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns the index of the only variation with this value.
    pub(super) fn with_value(&self, value: &str) -> Option<usize> {
        let mut all = self.values.iter().enumerate().filter(|(_, own)| own.as_deref() == Some(value));
        let (index, _) = all.next()?;
        all.next().is_none().then_some(index)
    }

    /// Returns the index of the variation that a text names, by its name, its index or its value. None if index
    /// and value are those of two.
    pub(super) fn index(&self, text: &str, style: Style) -> Option<usize> {
        if let Some(index) = self.names.iter().position(|name| name == text) {
            return Some(index);
        }
        let index =
            text.parse::<usize>().ok().filter(|index| style == Style::Plain && *index < self.names.len());
        match (index, self.with_value(text)) {
            (Some(index), Some(other)) if index != other => None,
            (index, other) => index.or(other),
        }
    }

    /// Returns the field of a serve with this variation.
    pub(super) fn choice(&self, index: usize) -> String {
        let name = &self.names[index];
        let is_unique = self.names.iter().filter(|other| *other == name).count() == 1;
        match is_unique && !name.is_empty() {
            true => format!("variation: {}", quoted(&shown(name))),
            false => format!("select: {index}"),
        }
    }

    /// Returns the help on a percentage of users, who get the variation `chosen` if that is known.
    pub(in crate::document) fn rollout(&self, share: &Node, chosen: Option<&Node>) -> String {
        match shares(share, chosen, self) {
            Some(split) => format!("write a split, such as `split: {split}`{}", needs_split()),
            None => self.any_split(),
        }
    }

    /// Returns the help on a split whose shares are not known. What it prints is not one, so that nobody gets others.
    pub(in crate::document) fn any_split(&self) -> String {
        const MOST_NAMED: usize = 8;
        let named = self.names.iter().filter(|name| !name.is_empty()).take(MOST_NAMED);
        let named: Vec<String> = named.map(|name| format!("{}: …", quoted(&shown(name)))).collect();
        match named.is_empty() {
            true => ROLLOUT.clone(),
            false => format!(
                "write the percentage of each variation, as in `split: {{ {} }}`{}",
                named.join(", "),
                needs_split()
            ),
        }
    }

    /// Returns the end of a help with the first names, if there are any.
    pub(super) fn beginning(&self) -> String {
        const MOST_NAMED: usize = 8;
        let named = self.names.iter().filter(|name| !name.is_empty()).take(MOST_NAMED);
        let named: Vec<String> = named.map(|name| format!("`{}`", shown(name))).collect();
        if named.is_empty() {
            String::new()
        } else {
            format!("; the variations begin with {}", listed(&named))
        }
    }
}

/// Returns the serve that a value of another tool means, as a document has it; none if it names no variation.
pub(super) fn serve(value: &Node, variations: &ReadVariations) -> Option<String> {
    match &value.kind {
        NodeKind::Scalar(text, style) => {
            variations.index(text, *style).map(|index| format!("{{ {} }}", variations.choice(index)))
        }
        NodeKind::Mapping(entries) if entries.len() == 1 => {
            let (key, inner) = &entries[0];
            match scalar(key)? {
                name if name == "value" || SERVE.contains(&name) && name != "split" => {
                    serve(inner, variations)
                }
                name if own_of("a serve", &plain(name)).is_some() && !variations.has(name) => {
                    serve(inner, variations)
                }
                _ => Some(format!("{{ split: {} }}", meant::split(value, &variations.names)?)),
            }
        }
        NodeKind::Sequence(items)
            if items.len() == 1 && (scalar(&items[0]).is_some() || is_choice(&items[0])) =>
        {
            serve(&items[0], variations)
        }
        NodeKind::Mapping(_) | NodeKind::Sequence(_) => {
            Some(format!("{{ split: {} }}", meant::split(value, &variations.names)?))
        }
        NodeKind::Refused => None,
    }
}

fn is_choice(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Mapping(entries) if entries.len() == 1 && field(entries, "variation").is_some())
}

/// Returns the split that a share means, as a document has it: all shares, or that of one of two variations, the other
/// one of which has the rest. Without `chosen`, it is that with the value `true`.
pub(super) fn shares(share: &Node, chosen: Option<&Node>, variations: &ReadVariations) -> Option<String> {
    let names = &variations.names;
    let share = match (scalar(share), &share.kind) {
        (Some(share), _) => share,
        (None, NodeKind::Mapping(entries)) if !entries.iter().any(|entry| is_of_one(entry, variations)) => {
            part_of_users(entries)?
        }
        (None, _) => return meant::split(share, names),
    };
    let is_half = meant::percentage(share).is_some_and(|percentage| (percentage - 50.0).abs() < 1e-9);
    let index = match chosen {
        Some(chosen) => index_of(chosen, variations)?,
        None => variations.with_value("true").or(is_half.then_some(0))?,
    };
    meant::with_rest(names.get(index)?, share, names)
}

/// Returns whether a mapping with this entry has the shares of variations.
fn is_of_one((key, value): &(Node, Node), variations: &ReadVariations) -> bool {
    scalar(value).is_none() || scalar(key).is_none_or(|key| variations.index(key, Style::Plain).is_some())
}

/// Returns the only share in a mapping that has it in a field, beside what decides who the users are:
/// `{ percentage: 10, bucketBy: email }`.
fn part_of_users(entries: &[(Node, Node)]) -> Option<&str> {
    const OF_USERS: &[&str] = &["bucketby", "groupid", "hashattribute", "salt", "seed", "stickiness"];
    let is = |names: &[&str], key: &Node| scalar(key).is_some_and(|key| names.contains(&plain(key).as_str()));
    let mut shares = entries.iter().filter(|(key, _)| is(SHARES, key));
    let (_, share) = shares.next()?;
    let is_alone = shares.next().is_none();
    let has_others = entries.iter().any(|(key, _)| !is(SHARES, key) && !is(OF_USERS, key));
    scalar(share).filter(|_| is_alone && !has_others)
}

/// Returns what names the variation in a serve, whatever it is called.
pub(in crate::document) fn chosen(serve: &[(Node, Node)]) -> Option<&Node> {
    ["variation", "select"].iter().find_map(|own| meant_field(serve, "a serve", own))
}

/// Returns the index of the variation that a value names, or a serve with one.
fn index_of(chosen: &Node, variations: &ReadVariations) -> Option<usize> {
    match &chosen.kind {
        NodeKind::Scalar(text, style) => variations.index(text, *style),
        NodeKind::Mapping(entries) => match entries.as_slice() {
            [(key, value)] if scalar(key) != Some("split") && scalar(value).is_some() => {
                index_of(value, variations)
            }
            _ => None,
        },
        NodeKind::Refused | NodeKind::Sequence(_) => None,
    }
}

/// Returns what a help on `serve` adds about its needs: only some services have splits.
pub(super) fn needs(serve: &str) -> String {
    if serve.contains("split:") { needs_split() } else { String::new() }
}

/// Returns the key of the first share and the split of a serve that has the shares of a split itself.
pub(in crate::document) fn bare_split<'n>(
    value: &'n Node,
    variations: &ReadVariations,
) -> Option<(&'n Node, Option<String>)> {
    let NodeKind::Mapping(entries) = &value.kind else { return None };
    let is_share = |(key, share): &(Node, Node)| scalar(key).is_some() && meant::only_share(share).is_some();
    let is_named = |(key, _): &(Node, Node)| scalar(key).is_some_and(|name| variations.has(name));
    // A valid serve is not compared with all names, of which a hostile document can have any number.
    let is_valid = SERVE.iter().any(|name| field(entries, name).is_some());
    let is_split = !is_valid && entries.iter().all(is_share) && entries.iter().any(is_named);
    let (first, _) = entries.first().filter(|_| is_split)?;
    Some((first, meant::split(value, &variations.names)))
}

/// Returns the help on a value that is not a serve.
pub(in crate::document) fn not_a_serve(own: &str, value: &Node, variations: &ReadVariations) -> String {
    if let Some(serve) = serve(value, variations) {
        return format!("write `{own}: {serve}`{}", needs(&serve));
    }
    if scalar(value).is_some_and(|text| text.trim_end().ends_with('%')) {
        return match shares(value, None, variations) {
            Some(split) => format!("write `{own}: {{ split: {split} }}`{}", needs_split()),
            None => variations.any_split(),
        };
    }
    let (is_empty, beginning) = (scalar(value).is_none_or(is_null), variations.beginning());
    match is_empty || beginning.is_empty() {
        true => SERVE_FORMS.to_owned(),
        false => format!("write `{own}: {{ variation: \"name\" }}`{beginning}"),
    }
}

/// Returns the help on a `select` that is not an index.
pub(in crate::document) fn select(value: &Node, variations: &ReadVariations) -> Option<String> {
    let value = value.alone();
    let text = scalar(value).filter(|text| !value.is_null() && !text.is_empty())?;
    if variations.has(text) {
        return Some(format!("write `variation: {}` instead", quoted(&shown(text))));
    }
    let whole = text.strip_suffix(".0").unwrap_or(text);
    let index = whole.parse::<usize>().ok().filter(|index| *index < variations.names.len());
    let Some(index) = index else {
        return variations
            .with_value(text)
            .map(|index| format!("write `{}` instead", variations.choice(index)));
    };
    Some(match &value.kind {
        NodeKind::Scalar(_, Style::Quoted) => format!("write `select: {index}`, without quotes"),
        _ => format!("write `select: {index}`"),
    })
}

/// Returns the help on a `variation` that is not a name.
pub(in crate::document) fn variation(value: &Node, variations: &[String]) -> Option<String> {
    let write = |name: &str| format!("write `variation: {}`", quoted(&shown(name)));
    match &value.kind {
        NodeKind::Sequence(items) => match items.as_slice() {
            [one] => scalar(one).filter(|one| variations.iter().any(|name| name == one)).map(write),
            _ => None,
        },
        // It may be the name of one.
        NodeKind::Scalar(text, _) if variations.contains(text) => None,
        NodeKind::Scalar(..) if value.is_null() => {
            let named = variations.iter().find(|name| !name.is_empty())?;
            Some(format!("name the variation, such as `variation: {}`", quoted(&shown(named))))
        }
        _ => None,
    }
}

/// Returns the help on a variation without `name` or without `value`.
pub(in crate::document) fn missing_in_variation(own: &str, variation: &Node, all: &ReadVariations) -> String {
    /// A longer value is not a name.
    const LONGEST: usize = 20;
    /// As many as are enough to see the type.
    const MOST_COMPARED: usize = 100;
    let other = |own| match &variation.kind {
        NodeKind::Mapping(entries) => {
            meant_field(entries, "a variation", own).and_then(scalar).unwrap_or_default()
        }
        _ => "",
    };
    if own == "name" {
        let value = other("value");
        let name = match value.to_lowercase().as_str() {
            "true" => "on",
            "false" => "off",
            _ if value.len() > LONGEST => "",
            _ => value,
        };
        return match name.is_empty() || all.has(name) {
            true => "add a name that no other variation has".to_owned(),
            false => format!("add a name, such as `name: {}`", quoted(&shown(name))),
        };
    }
    let name = other("name");
    let values: Vec<&str> = all.values.iter().take(MOST_COMPARED).flatten().map(String::as_str).collect();
    let is_off = matches!(name.to_lowercase().as_str(), "off" | "false" | "no" | "disabled" | "inactive");
    let is_on = matches!(name.to_lowercase().as_str(), "" | "on" | "true" | "yes" | "enabled" | "active");
    let value = match ReturnType::of(&values) {
        ReturnType::Number => "1",
        ReturnType::Json => "{}",
        ReturnType::String if !values.is_empty() || !(is_on || is_off) => name,
        ReturnType::Boolean | ReturnType::String => {
            if is_off {
                "false"
            } else {
                "true"
            }
        }
    };
    format!("add the value to serve, such as `value: {}`", quoted(&shown(value)))
}

/// Returns a text, or the `value` of a mapping.
pub(super) fn value_of(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Mapping(entries) => field(entries, "value").and_then(scalar),
        _ => scalar(node),
    }
}

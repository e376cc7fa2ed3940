//! Keys that a document has under another name, with their values in the form of a document.

use super::condition::compared_with;
use super::expression::condition_of;
use super::list::{FormOfList, form_of_list, not_a_list};
use super::names::{SHARES, is_serve, meant_field, own_of, plain};
use super::serve::{needs, serve};
use super::{ForeignKey, ReadVariations, UnknownKey};
use crate::document::finding::shown;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, field, is_null, quoted, scalar};

impl UnknownKey<'_> {
    /// Returns the help on a key that a document has under another name.
    pub(super) fn renamed(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let own = own_of(self.what, self.plain)?;
        let is_share = SHARES.contains(&self.plain);
        if let Some(help) = self.kept(own) {
            return Some(ForeignKey::only(help));
        }
        // A user that is a text is its key, unless it is a time.
        if let ("given", Some(text)) = (*own, scalar(self.value).filter(|text| !is_null(text))) {
            let own: &[_] = if meant::time(text).is_some() { &["at"] } else { &["key"] };
            if let Some(help) = self.kept(own[0]) {
                return Some(ForeignKey::only(help));
            }
            let help = format!("write `{}: {}` instead", own[0], quoted(&shown(text)));
            return Some(ForeignKey { help, stands_for: own });
        }
        let help = match is_serve(own) {
            // `1` is a share here, not an index.
            true => match serve(self.value, variations)
                .filter(|_| !is_share || !self.is_percentage(variations))
            {
                Some(serve) => format!("write `{own}: {serve}` instead{}", needs(&serve)),
                None if is_share => {
                    format!("{} has this in its `{own}`: {}", self.what, variations.rollout(self.value, None))
                }
                None => format!("write `{own}` instead, with the variation to serve"),
            },
            false => self.rewritten(own, variations),
        };
        Some(ForeignKey { help, stands_for: std::slice::from_ref(own) })
    }

    /// Returns whether the value is a number of percent, and not the name of a variation.
    fn is_percentage(&self, variations: &ReadVariations) -> bool {
        let is_number = |text: &str| !variations.has(text) && meant::only_share(self.value).is_some();
        scalar(self.value).is_some_and(is_number)
    }

    /// Returns the help to write `own` instead, with the value in the notation of a document if it has another one.
    fn rewritten(&self, own: &str, variations: &ReadVariations) -> String {
        let in_other_form = match own {
            "conditions" | "prerequisites" | "variations" => self.as_list(own),
            "objects" => self.as_objects(),
            "rules" => self.as_rules(),
            "select" => self.as_choice(variations),
            "serves" => self.as_name(),
            "value" => self.as_value(),
            "variation" => self.as_choice(variations).or_else(|| self.as_serve(variations)),
            _ => None,
        };
        in_other_form.unwrap_or_else(|| format!("write `{own}` instead of `{}`", shown(self.name)))
    }

    /// Returns the help on a text in place of a variation.
    fn as_choice(&self, variations: &ReadVariations) -> Option<String> {
        let NodeKind::Scalar(text, style) = &self.value.kind else { return None };
        let index = variations.index(text, *style)?;
        Some(format!("write `{}` instead", variations.choice(index)))
    }

    /// Returns the help on a collection in place of a variation.
    fn as_serve(&self, variations: &ReadVariations) -> Option<String> {
        let (NodeKind::Mapping(_) | NodeKind::Sequence(_)) = self.value.kind else { return None };
        let serve = serve(self.value, variations)?;
        let inner = serve.strip_prefix("{ ")?.strip_suffix(" }")?;
        Some(format!("write `{inner}` instead{}", needs(inner)))
    }

    /// Returns the help on a collection in place of the value of a variation or of a prerequisite.
    fn as_value(&self) -> Option<String> {
        let text = match &self.value.kind {
            NodeKind::Mapping(entries) => field(entries, "value").and_then(scalar),
            NodeKind::Sequence(_) => None,
            NodeKind::Refused | NodeKind::Scalar(..) => return None,
        };
        if let Some(text) = text {
            return Some(format!("write `value: {}` instead", quoted(&shown(text))));
        }
        Some(match meant::json(&self.value.kind) {
            Some(json) => format!("write JSON as text: `value: {json}`"),
            None => {
                let name = shown(self.name);
                format!("write `value` instead of `{name}`, with JSON as text, in single quotes")
            }
        })
    }

    /// Returns the help on a mapping in place of the name of a variation.
    fn as_name(&self) -> Option<String> {
        let NodeKind::Mapping(entries) = &self.value.kind else { return None };
        Some(match entries.as_slice() {
            [(_, Node { kind: NodeKind::Scalar(text, _), .. })] => {
                format!("write `serves: {}` instead", quoted(&shown(text)))
            }
            _ => "write `serves` instead, with the name of the variation".to_owned(),
        })
    }

    /// Returns the help on a mapping in place of the rules.
    fn as_rules(&self) -> Option<String> {
        let NodeKind::Mapping(entries) = &self.value.kind else { return None };
        let help = match entries.is_empty() {
            true => "write `rules: []` instead",
            false => "write `rules` instead, as a list: each rule has `name`, `conditions` and `serve`",
        };
        Some(help.to_owned())
    }

    /// Returns the help on another form of a list of mappings.
    fn as_list(&self, own: &str) -> Option<String> {
        const OF_CONDITIONS: &str = "write `conditions` instead, as a list: each condition has `type`, `subject`, \
            `predicate` and `objects`";
        let is_text = scalar(self.value).is_some_and(|text| !is_null(text));
        if own == "conditions" && is_text {
            let condition = condition_of(self.value);
            let written = condition.map(|condition| format!("write `conditions: [{condition}]` instead"));
            return Some(written.unwrap_or_else(|| OF_CONDITIONS.to_owned()));
        }
        if let Some(FormOfList { list, otherwise }) = form_of_list(own, self.value) {
            return Some(format!("write a list: `{list}` instead{otherwise}"));
        }
        let help = not_a_list(own, self.value);
        help.filter(|help| help.starts_with("write a list: ")).map(|help| format!("{help} instead"))
    }

    /// Returns the help on a text in place of the objects of a condition.
    fn as_objects(&self) -> Option<String> {
        let text = scalar(self.value).filter(|text| !is_null(text))?;
        let predicate = meant_field(self.beside, self.what, "predicate").and_then(scalar);
        let objects = compared_with(self.value, predicate.unwrap_or_default());
        Some(format!("write `objects: [{}]` instead", objects.unwrap_or_else(|| quoted(&shown(text)))))
    }

    /// Returns the help on a key that stands for `own`, if another entry is or stands for it as well: a rename
    /// would repeat it.
    pub(super) fn kept(&self, own: &str) -> Option<String> {
        if field(self.beside, own).is_some() {
            return Some(format!(
                "keep one of the two: `{}` stands for `{own}`, which is here as well",
                shown(self.name)
            ));
        }
        let before = self.beside.iter().map_while(|(key, _)| scalar(key).filter(|key| *key != self.name));
        let mut others = before.filter(|key| own_of(self.what, &plain(key)) == Some(&own));
        let other = others.next()?;
        Some(format!("keep one of the two: `{}` stands for `{own}` as well", shown(other)))
    }
}

//! What an author means by an object that compares: `>=18`, `18-25`, `^1.2.3`. The predicate of its condition
//! decides what to write, so that no help reverses the condition.

use super::dialects;
use super::node::quoted;

/// An object that compares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ComparedObject {
    /// The predicate, and what it compares with.
    With(&'static str, String),
    /// From `low` on, up to `high` or, if that is open, below it.
    Range { low: String, high: String, is_open: bool },
}

/// What stands beside such an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside<'a> {
    /// What compares, as a document names it.
    pub(super) predicate: &'a str,
    /// Its key and that of the list: those of a condition, or of one side of `between`.
    pub(super) keys: (&'static str, &'static str),
    /// Whether the list has no other object.
    pub(super) is_alone: bool,
    /// Whether the service has `between`.
    pub(super) has_between: bool,
}

impl Beside<'_> {
    /// A condition that compares with one object.
    pub(super) const EQUAL: Self =
        Self { predicate: "=", keys: ("predicate", "objects"), is_alone: true, has_between: true };
}

impl Beside<'_> {
    fn is_side(self) -> bool {
        self.keys.0 != "predicate"
    }

    /// Returns the help to write another predicate with an object.
    fn with(self, predicate: &str, object: &str) -> String {
        match (self.is_alone, self.is_side()) {
            (true, _) => format!("write `{}`", self.entries(predicate, object)),
            // Two rules would match what one of the bounds allows.
            (false, true) => {
                "write each of these comparisons as a condition of this rule, all of which must match"
                    .to_owned()
            }
            (false, false) => RULE_FOR_EACH.to_owned(),
        }
    }

    fn entries(self, predicate: &str, object: &str) -> String {
        let (key, list) = self.keys;
        format!("{key}: {}, {list}: [{}]", quoted(predicate), quoted(object))
    }

    /// Returns the help on an object with a sign, which the predicate denies.
    fn denied(self, sign: &str, object: &str) -> String {
        match dialects::opposite(sign, self.is_alone) {
            _ if matches!(sign, "=" | "!=") => format!("write `{object}`"),
            Some(opposite) => self.with(opposite, object),
            None => "no predicate says the opposite of several comparisons: a rule before this one for each of them can \
                     serve the users that it matches"
                .to_owned(),
        }
    }

    /// Returns the help on an object with a sign.
    fn compared(self, sign: &str, object: &str) -> String {
        let own = self.predicate;
        let is_order = matches!(own, ">" | ">=" | "<" | "<=");
        match sign {
            _ if sign == own => format!("write `{object}`"),
            "=" if self.is_side() || own != "=" => format!("write `{object}`"),
            "!=" if self.is_side() || own != "=" && !is_order => format!("write `{object}`"),
            _ if !is_order || !self.is_alone => self.with(sign, object),
            // Which of the two is meant is not known.
            _ => {
                let (other, own) =
                    (format!("`{}`", self.entries(sign, object)), format!("`{object}` if `{own}` is meant"));
                match sign.chars().next() == self.predicate.chars().next() {
                    true => format!("write {other}, or {own}"),
                    false => format!("write {own}, or {other}"),
                }
            }
        }
    }
}

/// The help on several comparisons in one condition.
const RULE_FOR_EACH: &str = "write a rule for each of these comparisons";

impl ComparedObject {
    /// Returns what to write, so that the condition means the same.
    pub(super) fn help(&self, beside: Beside<'_>) -> String {
        match self {
            Self::With(sign, object) if beside.predicate == "!=" => beside.denied(sign, object),
            Self::With(sign, object) => beside.compared(sign, object),
            Self::Range { .. } if beside.predicate == "!=" => format!(
                "no predicate says the opposite of a range: a rule before this one, with {}, can serve the users that it \
                 matches",
                self.between(beside.has_between)
            ),
            Self::Range { low, high, is_open } => self.range(low, high, *is_open, beside),
        }
    }

    /// Returns the help on a range. Both bounds are written, so the one that a side does not have was meant, too.
    fn range(&self, low: &str, high: &str, is_open: bool, beside: Beside<'_>) -> String {
        let bound = match (beside.predicate, is_open) {
            (">=" | "<", _) => low.to_owned(),
            (">" | "<=", false) => high.to_owned(),
            (">", true) if beside.is_side() || !beside.is_alone => return beside.with(">=", high),
            ("<=", true) if beside.is_side() || !beside.is_alone => return beside.with("<", high),
            (">", true) => beside.entries(">=", high),
            ("<=", true) => beside.entries("<", high),
            _ if beside.is_side() => low.to_owned(),
            _ if beside.is_alone => {
                return format!("write {} for this range", self.between(beside.has_between));
            }
            _ => return RULE_FOR_EACH.to_owned(),
        };
        match (beside.is_side(), beside.is_alone) {
            (true, _) => format!("write `{bound}`"),
            (false, true) => format!(
                "write `{bound}` if `{}` is meant, or {} for this range",
                beside.predicate,
                self.between(beside.has_between)
            ),
            (false, false) => format!(
                "write `{bound}` if `{}` is meant, or a rule for each of these comparisons",
                beside.predicate
            ),
        }
    }

    /// Returns the fields of a range, or those of two conditions if the service has no `between`.
    fn between(&self, has_between: bool) -> String {
        let (low, high, below) = match self {
            Self::Range { low, high, is_open } => (low, high, if *is_open { "<" } else { "<=" }),
            Self::With(_, object) => (object, object, "<="),
        };
        let (low, below, high) = (quoted(low), quoted(below), quoted(high));
        match has_between {
            true => format!(
                "`predicate: between, leftPredicate: \">=\", objects: [{low}], rightPredicate: {below}, rightObjects: [{high}]`"
            ),
            false => format!(
                "two conditions, `predicate: \">=\", objects: [{low}]` and `predicate: {below}, objects: [{high}]`,"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_keeps_what_the_predicate_says() {
        let at_least = || ComparedObject::With(">=", "18".to_owned());
        let range = |is_open| ComparedObject::Range { low: "18".to_owned(), high: "25".to_owned(), is_open };
        let (closed, open) = (range(false), range(true));
        let between = "`predicate: between, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<=\", \
                       rightObjects: [\"25\"]` for this range";
        let below = between.replace("<=", "<");
        for (compared, own, expected) in [
            (&at_least(), "=", "write `predicate: \">=\", objects: [\"18\"]`"),
            (&at_least(), "!=", "write `predicate: \"<\", objects: [\"18\"]`"),
            (&at_least(), ">=", "write `18`"),
            (&at_least(), ">", "write `predicate: \">=\", objects: [\"18\"]`, or `18` if `>` is meant"),
            (&at_least(), "<", "write `18` if `<` is meant, or `predicate: \">=\", objects: [\"18\"]`"),
            (&ComparedObject::With("=", "18".to_owned()), "!=", "write `18`"),
            (&ComparedObject::With("!=", "18".to_owned()), "!=", "write `18`"),
            (
                &ComparedObject::With("!=", "18".to_owned()),
                "=",
                "write `predicate: \"!=\", objects: [\"18\"]`",
            ),
            (&ComparedObject::With("=", "18".to_owned()), ">", "write `18`"),
            (
                &ComparedObject::With("!=", "18".to_owned()),
                ">",
                "write `18` if `>` is meant, or `predicate: \"!=\", objects: [\"18\"]`",
            ),
            (&closed, ">=", &format!("write `18` if `>=` is meant, or {between}")),
            (&closed, "<", &format!("write `18` if `<` is meant, or {between}")),
            (&closed, ">", &format!("write `25` if `>` is meant, or {between}")),
            (&closed, "<=", &format!("write `25` if `<=` is meant, or {between}")),
            (&open, ">=", &format!("write `18` if `>=` is meant, or {below}")),
            (&open, "<", &format!("write `18` if `<` is meant, or {below}")),
            (
                &open,
                ">",
                &format!("write `predicate: \">=\", objects: [\"25\"]` if `>` is meant, or {below}"),
            ),
            (
                &open,
                "<=",
                &format!("write `predicate: \"<\", objects: [\"25\"]` if `<=` is meant, or {below}"),
            ),
        ] {
            let beside = Beside { predicate: own, ..Beside::EQUAL };
            assert_eq!(compared.help(beside), expected, "{own} {compared:?}");
        }
        let help = closed.help(Beside { has_between: false, ..Beside::EQUAL });
        let two = "write two conditions, `predicate: \">=\", objects: [\"18\"]` and `predicate: \"<=\", objects: [\"25\"]`,";
        assert_eq!(help, format!("{two} for this range"));
        let not = Beside { predicate: "!=", ..Beside::EQUAL };
        assert!(closed.help(not).starts_with("no predicate says the opposite of a range"));
        let several = Beside { is_alone: false, ..not };
        assert!(at_least().help(several).starts_with("no predicate says the opposite of several"));
        assert_eq!(
            open.help(Beside { is_alone: false, ..Beside::EQUAL }),
            "write a rule for each of these comparisons"
        );
        let side = Beside { predicate: "<", keys: ("rightPredicate", "rightObjects"), ..Beside::EQUAL };
        assert_eq!(ComparedObject::With("<", "65".to_owned()).help(side), "write `65`");
        let other = ComparedObject::With("<=", "65".to_owned()).help(side);
        assert!(other.starts_with("write `rightPredicate: \"<=\", rightObjects: [\"65\"]`"), "{other}");
    }
}

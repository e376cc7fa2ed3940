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

impl ComparedObject {
    /// Returns what to write, so that the condition means the same.
    pub(super) fn help(&self, beside: Beside<'_>) -> String {
        let Beside { predicate: own, keys: (key, list), is_alone, has_between } = beside;
        let alone = |object: &str| format!("write `{object}`");
        let with = |predicate: &str, object: &str| match is_alone {
            true => format!("write `{key}: {}, {list}: [{}]`", quoted(predicate), quoted(object)),
            // Two rules would match what one of the bounds allows.
            false if key != "predicate" => {
                "write each of these comparisons as a condition of this rule, all of which must match"
                    .to_owned()
            }
            false => "write a rule for each of these comparisons".to_owned(),
        };
        let is_side = key != "predicate";
        let either = |object: &str| match is_alone {
            true => {
                format!("write {object} if `{own}` is meant, or {} for this range", self.between(has_between))
            }
            false => format!("write {object} if `{own}` is meant, or a rule for each of these comparisons"),
        };
        match (self, own) {
            (Self::With("=" | "!=", object), "!=") => alone(object),
            (Self::With(sign, object), "!=") => match dialects::opposite(sign, is_alone) {
                Some(opposite) => with(opposite, object),
                None => "no predicate says the opposite of several comparisons: a rule before this one for each of them \
                         can serve the users that it matches"
                    .to_owned(),
            },
            (Self::Range { .. }, "!=") => format!(
                "no predicate says the opposite of a range: a rule before this one, with {}, can serve the users that it \
                 matches",
                self.between(has_between)
            ),
            (Self::With(sign, object), own) if *sign == own => alone(object),
            (Self::With("=", object), _) if is_side || own != "=" => alone(object),
            // What is denied and what the predicate says are not the same.
            (Self::With("!=", object), ">" | ">=" | "<" | "<=") if !is_side => {
                let other = with("!=", object);
                format!("{} if `{own}` is meant, or {}", alone(object), &other["write ".len()..])
            }
            (Self::With("!=", object), _) if is_side || own != "=" => alone(object),
            (Self::With(sign, object), ">" | ">=" | "<" | "<=") if is_alone => {
                let (predicate, object) = (with(sign, object), alone(object));
                match sign.chars().next() == own.chars().next() {
                    true => format!("{predicate}, or {} if `{own}` is meant", &object["write ".len()..]),
                    false => format!("{object} if `{own}` is meant, or {}", &predicate["write ".len()..]),
                }
            }
            (Self::With(sign, object), _) => with(sign, object),
            // Both bounds are written, so the one that is dropped was meant, too.
            (Self::Range { low, .. }, ">=" | "<") if !is_side => either(&format!("`{low}`")),
            (Self::Range { high, is_open: false, .. }, ">" | "<=") if !is_side => either(&format!("`{high}`")),
            (Self::Range { high, .. }, ">") if !is_side && is_alone => either(&format!("`{key}: \">=\", {list}: [{}]`", quoted(high))),
            (Self::Range { high, .. }, "<=") if !is_side && is_alone => either(&format!("`{key}: \"<\", {list}: [{}]`", quoted(high))),
            (Self::Range { low, .. }, ">=" | "<") => alone(low),
            (Self::Range { high, is_open: false, .. }, ">" | "<=") => alone(high),
            (Self::Range { high, .. }, ">") => with(">=", high),
            (Self::Range { high, .. }, "<=") => with("<", high),
            (Self::Range { low, .. }, _) if is_side => alone(low),
            (Self::Range { .. }, _) if is_alone => format!("write {} for this range", self.between(has_between)),
            (Self::Range { .. }, _) => "write a rule for each of these comparisons".to_owned(),
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

//! Globs over `project/environment/toggle`: which can match a toggle, and what was meant by one that cannot.

use std::ops::Range;

use globset::{Glob, GlobBuilder};

use super::escaped;

/// An invalid glob.
#[derive(Debug, thiserror::Error)]
#[error("`{glob}` is not a valid glob over `project/environment/toggle`")]
pub struct ScopeError {
    pub(super) glob: String,
    #[source]
    pub(super) source: globset::Error,
}

pub(super) fn parse(glob: &str) -> Result<Glob, ScopeError> {
    GlobBuilder::new(glob)
        // Without this, `shop/*` would match `shop/prod/pay`.
        .literal_separator(true)
        // Ids that differ only in case are one toggle (src/model/README.md, "Ids").
        .case_insensitive(true)
        .build()
        .map_err(|source| ScopeError { glob: glob.to_owned(), source })
}

/// Returns the glob, or the glob with one alternative of its braces, if that cannot match any toggle.
pub(super) fn unmatchable(glob: &str) -> Option<String> {
    if is_unmatchable(glob) { Some(glob.to_owned()) } else { unmatchable_in(glob, 0..glob.len()) }
}

fn is_unmatchable(glob: &str) -> bool {
    !alternatives(glob).iter().any(|glob| can_match(glob))
}

/// As [`unmatchable`], of the braces in a `part` of the glob. The braces elsewhere keep all alternatives.
fn unmatchable_in(glob: &str, part: Range<usize>) -> Option<String> {
    const MOST_BRACES: usize = 32;
    let mut pairs = braces(glob);
    pairs.retain(|(from, _, to)| part.contains(from) && part.contains(to));
    let is_outermost =
        |from: usize, to: usize| !pairs.iter().any(|(outer, _, end)| *outer < from && to < *end);
    let outermost = pairs.iter().filter(|(from, _, to)| is_outermost(*from, *to));
    for (from, commas, to) in outermost.take(MOST_BRACES) {
        let ends = commas.iter().chain([to]);
        for (start, end) in std::iter::once(from).chain(commas).zip(ends) {
            let alternative = &glob[start + 1..*end];
            let one = [&glob[..*from], alternative, &glob[to + 1..]].concat();
            if is_unmatchable(&one) {
                return Some(one);
            }
            let inner = unmatchable_in(&one, *from..from + alternative.len());
            if inner.is_some() {
                return inner;
            }
        }
    }
    None
}

/// Returns the places of each opening brace, of the commas that divide what is in it, and of its closing one.
/// Those in brackets or after a backslash are text.
fn braces(glob: &str) -> Vec<(usize, Vec<usize>, usize)> {
    let (mut open, mut found, mut is_class, mut is_escaped) = (Vec::new(), Vec::new(), false, false);
    for (at, c) in glob.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '{' if !is_class => open.push((at, Vec::new())),
            ',' if !is_class => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            '}' if !is_class => found.extend(open.pop().map(|(from, commas)| (from, commas, at))),
            _ => {}
        }
    }
    found
}

/// Returns the globs without braces that a glob with braces stands for; of very many, the glob itself.
fn alternatives(glob: &str) -> Vec<String> {
    const MOST: usize = 1_000;
    let (mut open, mut done) = (vec![glob.to_owned()], Vec::new());
    while let Some(glob) = open.pop() {
        if open.len() + done.len() > MOST {
            return vec!["**".to_owned()];
        }
        // The first one that closes has no others in it.
        match braces(&glob).into_iter().next() {
            None => done.push(glob),
            Some((from, _, to)) => {
                let each = glob[from + 1..to].split(',');
                open.extend(each.map(|one| format!("{}{one}{}", &glob[..from], &glob[to + 1..])));
            }
        }
    }
    done
}

/// Returns whether a glob without braces matches any text of the form `project/environment/toggle`.
fn can_match(glob: &str) -> bool {
    // A class or an escape can stand for any character but a slash, which no glob here matches with them.
    let mut components = glob.split('/').filter(|component| *component != "**");
    let count = components.clone().count();
    let is_deep = glob.split('/').any(|component| component == "**");
    // At the end, `**` matches at least one component.
    let most = if glob.ends_with("/**") { 2 } else { 3 };
    let fits = if is_deep { count <= most } else { count == 3 };
    fits && components.all(can_be_key)
}

/// Returns whether a component of a glob without braces can match a key.
fn can_be_key(component: &str) -> bool {
    let is_in_key = |c: char| c.is_ascii_alphanumeric() || "._-*?".contains(c);
    let is_hidden = component.starts_with(['.', '_', '-']);
    let is_judged = !component.contains('\\');
    !component.is_empty() && !is_hidden && (!is_judged || without_classes(component).all(is_in_key))
}

/// Returns the characters of a component outside of classes such as `[a-z]`.
fn without_classes(component: &str) -> impl Iterator<Item = char> {
    let mut is_class = false;
    component.chars().filter(move |c| {
        let was_class = is_class;
        is_class = if is_class { *c != ']' } else { *c == '[' };
        !was_class && !is_class
    })
}

/// Returns why a glob matches no toggle, whatever the repository contains, and what to write.
pub(crate) fn unmatchable_advice(glob: &str) -> String {
    let plain = without_regex(glob);
    if without_classes(&plain).any(|c| c == '!' || c == '^') {
        return "a glob cannot exclude anything, so it names what it contains".to_owned();
    }
    match corrected(&plain).filter(|corrected| corrected != "**") {
        Some(corrected) => {
            format!("globs are over `project/environment/toggle`; write `{}`", escaped(&corrected))
        }
        None => {
            "globs match the whole `project/environment/toggle`, and `*` does not cross a slash; use `**`"
                .to_owned()
        }
    }
}

/// Returns the glob without the anchors and dots of a regular expression.
fn without_regex(glob: &str) -> String {
    let is_regex = glob.contains(".*") || glob.ends_with('$');
    let glob = if is_regex { glob.trim_start_matches('^').trim_end_matches('$') } else { glob };
    glob.replace(".*", "*")
}

/// Returns the glob that was meant, which can match a toggle.
fn corrected(glob: &str) -> Option<String> {
    let alternatives: Vec<String> = match braces(glob).is_empty() {
        true => glob.split(',').map(corrected_one).collect::<Option<_>>()?,
        false => match format!("{glob}/*") {
            longer if unmatchable(&longer).is_none() => vec![longer],
            _ => alternatives(glob).iter().rev().map(|one| corrected_one(one)).collect::<Option<_>>()?,
        },
    };
    let corrected = match &alternatives[..] {
        [one] => one.clone(),
        several => format!("{{{}}}", several.join(",")),
    };
    (unmatchable(&corrected).is_none() && parse(&corrected).is_ok()).then_some(corrected)
}

/// Returns the glob without braces that was meant, if its components say so.
fn corrected_one(glob: &str) -> Option<String> {
    let glob = if glob.contains('/') { glob.to_owned() } else { glob.replace('\\', "/") };
    let components = glob.split('/').filter(|component| !component.is_empty() && *component != ".");
    // What no key can have says nothing about which are meant.
    let known = components.map(|component| if can_be_key(component) { component } else { "*" });
    let mut components: Vec<&str> = known.collect();
    let named = components.iter().filter(|component| **component != "**").count();
    let is_deep = named < components.len();
    match (named, is_deep) {
        (1, false) if components == ["*"] => components = vec!["**"],
        (1, false) => components.push("**"),
        (2, false) => components.push("*"),
        (3, true) if components.last() == Some(&"**") => drop(components.pop()),
        _ => {}
    }
    (named <= 3 && !components.is_empty()).then(|| components.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Scope;

    #[test]
    fn the_advice_on_a_glob_that_matches_no_toggle_is_one_that_is_accepted_and_matches() {
        for (glob, written) in [
            ("shop/prod", "shop/prod/*"),
            ("shop/prod/", "shop/prod/*"),
            ("shop//prod", "shop/prod/*"),
            ("/shop/prod", "shop/prod/*"),
            ("/shop/prod/pay", "shop/prod/pay"),
            ("./shop/prod/*", "shop/prod/*"),
            ("shop//pay/", "shop/pay/*"),
            ("shop", "shop/**"),
            ("shop/", "shop/**"),
            ("*", "**"),
            ("/", "**"),
            ("a/b/c/d", "**"),
            ("**/a/b/c/d", "**"),
            (".*", "**"),
            (".*/**", "*/**"),
            (".*/.*/.*", "*/*/*"),
            ("shop/.*", "shop/*/*"),
            ("shop/prod/.*", "shop/prod/*"),
            ("^shop/prod/.*$", "shop/prod/*"),
            ("shop/.prod/*", "shop/*/*"),
            ("shop/prod/päy", "shop/prod/*"),
            ("shop/pr]od/*", "shop/*/*"),
            ("shop/prod/pay/**", "shop/prod/pay"),
            ("shop/prod/pay/", "shop/prod/pay"),
            ("shop\\prod", "shop/prod/*"),
            ("{shop,web}/prod", "{shop,web}/prod/*"),
            ("{shop/,web//}prod", "{shop/prod/*,web/prod/*}"),
            ("shop/prod/pay,shop/prod/cart", "{shop/prod/pay,shop/prod/cart}"),
            ("shop/prod,web/prod", "{shop/prod/*,web/prod/*}"),
        ] {
            assert!(Scope::new(&[glob]).unwrap().unmatchable().next().is_some(), "{glob}");
            let advice = unmatchable_advice(glob);
            let advised = advice.rsplit('`').nth(1).unwrap();
            assert_eq!(advised, written, "{glob}: {advice}");
            let scope = Scope::new(&[advised]).unwrap();
            assert_eq!(scope.unmatchable().next(), None, "{glob}: {advice}");
        }
        for glob in ["!shop/prod/*", "shop/!prod/*", "^shop/prod/*"] {
            assert!(unmatchable_advice(glob).contains("cannot exclude"), "{glob}");
        }
    }
}

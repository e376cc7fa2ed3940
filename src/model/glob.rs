//! Globs over `project/environment/toggle`: which can match a toggle, and what was meant by one that cannot.

use std::collections::BTreeSet;
use std::ops::Range;

use globset::{Glob, GlobBuilder};
use regex_automata::nfa::thompson::{self, NFA, State, Transition, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;

use super::escaped;
use super::id::{Key, LONGEST_KEY};

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
    !can_match(glob, 3)
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

/// Returns whether a glob can match a key.
pub(crate) fn can_be_key(component: &str) -> bool {
    can_match(component, 1)
}

/// Returns whether a glob matches any text of this number of keys with slashes between them, or is invalid.
fn can_match(glob: &str, keys: usize) -> bool {
    let Some(automaton) = parse(glob).ok().and_then(|glob| automaton(&glob)) else { return true };
    let mut before = closure(&automaton, BTreeSet::from([automaton.start_anchored()]), Some(Look::Start));
    for key in 0..keys {
        if key > 0 {
            before = step(&automaton, &before, |byte| byte == b'/');
        }
        before = after_key(&automaton, &before);
    }
    let after = closure(&automaton, before, Some(Look::End));
    after.iter().any(|state| matches!(automaton.state(*state), State::Match { .. }))
}

/// Returns the automaton that matches what the glob matches.
fn automaton(glob: &Glob) -> Option<NFA> {
    // As `globset` builds its own.
    let syntax = syntax::Config::new().utf8(false).dot_matches_new_line(true);
    let config = thompson::Config::new().utf8(false).which_captures(WhichCaptures::None);
    NFA::compiler().syntax(syntax).configure(config).build(glob.regex()).ok()
}

/// Returns the states after a key, of an automaton that is in one of the states `before`.
fn after_key(automaton: &NFA, before: &BTreeSet<StateID>) -> BTreeSet<StateID> {
    let mut after = step(automaton, before, |byte| byte.is_ascii_alphanumeric());
    let mut new = after.clone();
    // What a longer key reaches in a state that a shorter one has reached, the shorter one reaches as well.
    for _ in 1..LONGEST_KEY {
        new = step(automaton, &new, Key::is_allowed).difference(&after).copied().collect();
        after.extend(&new);
    }
    after
}

/// Returns the states after one of these bytes.
fn step(automaton: &NFA, states: &BTreeSet<StateID>, is_taken: impl Fn(u8) -> bool) -> BTreeSet<StateID> {
    let is_taken = |transition: &Transition| (transition.start..=transition.end).any(&is_taken);
    let mut after = BTreeSet::new();
    for state in states {
        match automaton.state(*state) {
            State::ByteRange { trans } => after.extend(is_taken(trans).then_some(trans.next)),
            State::Sparse(sparse) => {
                let taken = sparse.transitions.iter().filter(|transition| is_taken(transition));
                after.extend(taken.map(|transition| transition.next));
            }
            _ => {}
        }
    }
    closure(automaton, after, None)
}

/// Returns the states that are reached without a further byte, where no assertion but this one holds.
fn closure(automaton: &NFA, mut states: BTreeSet<StateID>, holds: Option<Look>) -> BTreeSet<StateID> {
    let mut open: Vec<StateID> = states.iter().copied().collect();
    while let Some(state) = open.pop() {
        let next = match automaton.state(state) {
            State::Look { look, next } if Some(*look) == holds => vec![*next],
            State::Union { alternates } => alternates.to_vec(),
            State::BinaryUnion { alt1, alt2 } => vec![*alt1, *alt2],
            State::Capture { next, .. } => vec![*next],
            _ => Vec::new(),
        };
        open.extend(next.into_iter().filter(|state| states.insert(*state)));
    }
    states
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
        None if count(plain.split('/')) > 3 => {
            "globs match the whole `project/environment/toggle`, which has three parts; for all toggles, use `**`"
                .to_owned()
        }
        None => {
            "globs match the whole `project/environment/toggle`, and `*` does not cross a slash; use `**`"
                .to_owned()
        }
    }
}

/// Returns the number of components that each stand for a part of an id.
fn count<'a>(components: impl IntoIterator<Item = &'a str>) -> usize {
    components.into_iter().filter(|component| !matches!(*component, "" | "**")).count()
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
    let glob = if glob.contains('/') { glob.to_owned() } else { glob.replace(['\\', ':'], "/") };
    let is_folder = glob.ends_with('/');
    let stem = [".yaml", ".yml"].iter().find_map(|extension| glob.strip_suffix(extension));
    let components = stem.unwrap_or(&glob).split('/').filter(|one| !one.is_empty() && *one != ".");
    // What no key can have says nothing about which are meant.
    let known = components.map(|component| if can_be_key(component) { component } else { "*" });
    let mut components: Vec<&str> = known.collect();
    if stem.is_some() && components.len() < 3 && count(components.iter().copied()) == components.len() {
        // A file, somewhere in these folders.
        let file = components.pop().filter(|file| !file.bytes().all(|byte| byte == b'*'));
        components.push("**");
        components.extend(file);
    }
    let named = count(components.iter().copied());
    let is_deep = named < components.len();
    match (named, is_deep) {
        (1, false) if components == ["*"] => components = vec!["**"],
        (1, false) => components.push("**"),
        (2, false) => components.push("*"),
        (1 | 2, true) if is_folder && components.last() != Some(&"**") => components.push("*"),
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
            ("shop:prod", "shop/prod/*"),
            ("shop:prod:*", "shop/prod/*"),
            ("shop:prod:pay", "shop/prod/pay"),
            ("{shop,web}/prod", "{shop,web}/prod/*"),
            ("{shop/,web//}prod", "{shop/prod/*,web/prod/*}"),
            ("shop/prod/pay,shop/prod/cart", "{shop/prod/pay,shop/prod/cart}"),
            ("shop/prod,web/prod", "{shop/prod/*,web/prod/*}"),
            ("**/prod/", "**/prod/*"),
            ("**/shop/prod/", "**/shop/prod/*"),
            ("shop/**/prod/", "shop/**/prod/*"),
            ("shop/prod/**/", "shop/prod/**"),
            ("shop/**.yaml", "shop/**"),
            ("shop/*.yml", "shop/**"),
            ("*.yaml", "**"),
            ("shop/pay.yaml", "shop/**/pay"),
            ("pay.yaml", "**/pay"),
            ("/shop/prod/pay.yaml", "shop/prod/pay"),
            ("/shop/prod/*.yaml", "shop/prod/*"),
            ("shop/prod/[.]*", "shop/prod/*"),
            ("shop/prod/[_-]*", "shop/prod/*"),
            ("shop/prod/x[é]", "shop/prod/*"),
            (&format!("shop/prod/{}", "x".repeat(129)), "shop/prod/*"),
            (&format!("{}/prod/*", "?".repeat(129)), "*/prod/*"),
        ] {
            assert!(Scope::new(&[glob]).unwrap().unmatchable().next().is_some(), "{glob}");
            let advice = unmatchable_advice(glob);
            let advised = advice.rsplit('`').nth(1).unwrap();
            assert_eq!(advised, written, "{glob}: {advice}");
            let scope = Scope::new(&[advised]).unwrap();
            assert_eq!(scope.unmatchable().next(), None, "{glob}: {advice}");
        }
        for (glob, has_too_many) in [("a/b/c/d", true), ("**/a/b/c/d", true), ("*", false)] {
            let advice = unmatchable_advice(glob);
            assert_eq!(advice.contains("three parts"), has_too_many, "{glob}: {advice}");
        }
        for glob in ["!shop/prod/*", "shop/!prod/*", "^shop/prod/*"] {
            assert!(unmatchable_advice(glob).contains("cannot exclude"), "{glob}");
        }
    }

    #[test]
    fn a_glob_is_refused_if_and_only_if_it_matches_no_toggle() {
        // Each of these that can match a key matches one of at most two characters.
        const COMPONENTS: [&str; 24] = [
            "a", "*", "?", "a*", "*b", "?b", "??", "[ab]", "[!a]", "[.]", "[._]*", "-a", ".*", "_", "[a-]b",
            "a[-.]", "{a,b}", "{a,-b}", "**", "a**", "", "{a/b,a}", "ä", "*[!b]",
        ];
        let keys: Vec<String> = ["a", "b"]
            .iter()
            .flat_map(|first| ["", "a", "b", ".", "-"].map(|then| format!("{first}{then}")))
            .collect();
        let ids: Vec<String> = keys
            .iter()
            .flat_map(|one| keys.iter().map(move |two| format!("{one}/{two}")))
            .flat_map(|pair| keys.iter().map(move |three| format!("{pair}/{three}")))
            .collect();
        let mut random = fastrand::Rng::with_seed(3);
        let mut counts = [0, 0];
        for _ in 0..600 {
            let parts: Vec<&str> =
                (0..random.usize(1..5)).map(|_| COMPONENTS[random.usize(..COMPONENTS.len())]).collect();
            let glob = parts.join("/");
            let matcher = parse(&glob).unwrap().compile_matcher();
            let matches = ids.iter().any(|id| matcher.is_match(id));
            assert_eq!(is_unmatchable(&glob), !matches, "{glob}");
            counts[usize::from(matches)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
        // The longest key.
        for (length, matches) in [(128, true), (129, false)] {
            for one in ["x", "?", "[x-z]"] {
                assert_eq!(is_unmatchable(&format!("shop/prod/{}", one.repeat(length))), !matches, "{one}");
                assert_eq!(is_unmatchable(&format!("{}/*/pay", one.repeat(length))), !matches, "{one}");
                assert_eq!(is_unmatchable(&format!("*/{}*/pay", one.repeat(length))), !matches, "{one}");
            }
        }
    }
}

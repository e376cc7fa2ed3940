//! Which word an author probably misspelled.
//!
//! A document that follows a suggestion must not say the opposite, or name another number. So a word is not suggested if
//! its opposite is as similar, if another number is in it, or if the words are too short to tell.

/// Returns the candidate that `text` is probably a misspelling of.
pub(crate) fn closest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No name is longer, and the comparison is quadratic.
    const LONGEST: usize = 64;
    // Each is compared with many opposites.
    const MOST_TRIED: usize = 8;
    if text.chars().nth(LONGEST).is_some() {
        return None;
    }
    let folded = text.to_lowercase();
    let mut similar: Vec<_> = candidates
        .into_iter()
        // A hostile document can have any number of candidates.
        .take(100)
        .filter(|candidate| !candidate.is_empty() && candidate.len() <= 4 * LONGEST)
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            // A shortened word, such as `prod`, lacks many letters but is not another word.
            let most = if folded.len() > 2 && lower.starts_with(&folded) { 1 } else { usize::MAX };
            let distance = distance(&folded, &lower).min(most);
            (distance, other_letters(&folded, &lower), candidate)
        })
        // With more edits than a third of its characters, a word is probably another one.
        .filter(|(distance, _, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .collect();
    similar.sort_by_key(|(distance, other_letters, _)| (*distance, *other_letters));
    let mut similar = similar.into_iter().take(MOST_TRIED).map(|(_, _, candidate)| candidate);
    similar.find(|candidate| is_misspelling(text, candidate))
}

/// Returns whether one edit makes `candidate` of `text`: a letter more, less or other, or two that change places.
pub(crate) fn is_one_edit(text: &str, candidate: &str) -> bool {
    text.len() <= candidate.len() + 4
        && distance(&text.to_lowercase(), candidate) == 1
        && denying_signs(text) == denying_signs(candidate)
}

fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// Returns the number of letters that only one of the two has. Among candidates at the same distance, `=>`
/// means the one with the same letters (`>=`), and `==` the one that lacks a letter (`=`).
fn other_letters(a: &str, b: &str) -> usize {
    let mut left: Vec<char> = b.chars().collect();
    let mut missing = 0;
    for letter in a.chars() {
        match left.iter().position(|other| *other == letter) {
            Some(at) => {
                left.swap_remove(at);
            }
            None => missing += 1,
        }
    }
    missing + left.len()
}

/// Returns whether `text`, which is similar to `candidate`, can mean nothing else.
fn is_misspelling(text: &str, candidate: &str) -> bool {
    if text == candidate {
        return true;
    }
    if denying_signs(text) != denying_signs(candidate) {
        return false;
    }
    let (own, other) = (Words::of(text), Words::of(candidate));
    if own.digits != other.digits || own.denials() != other.denials() {
        return false;
    }
    // Signs have no letters to compare.
    if own.all.is_empty() || other.all.is_empty() {
        return own.all.is_empty() && other.all.is_empty() && own.digits.is_empty();
    }
    let (joined, other_joined) = (own.all.concat(), other.all.concat());
    if is_short(&joined, &other_joined) || is_opposite(&joined, &other_joined) {
        return false;
    }
    let is_letter = |word: &str| word.chars().count() == 1;
    own.all.len() != other.all.len()
        || own.all.iter().zip(&other.all).all(|(own, other)| {
            // Another letter is another name, such as `plan b`.
            own == other || !(is_letter(own) && is_letter(other) || is_opposite(own, other))
        })
}

/// Signs that deny the word before which they stand: `!dark`, `-dark`, `shop/~dark`.
const SIGNS: &[char] = &['!', '！', '¬', '~', '∼', '-', '−', '–', '—'];

/// Returns `text` without the signs that deny it; none if it begins with none.
pub(crate) fn undenied(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(SIGNS).trim_start();
    (bare.len() < text.trim_start().len() && !bare.is_empty()).then_some(bare)
}

/// Returns the number of signs that deny a word of `text`.
fn denying_signs(text: &str) -> usize {
    let mut count = 0;
    let mut is_start = true;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_sign = is_start && SIGNS.contains(&c);
        // A dash between blanks separates words.
        let is_dash =
            matches!(c, '-' | '−' | '–' | '—') && rest.peek().is_none_or(|next| next.is_whitespace());
        count += usize::from(is_sign && !is_dash);
        is_start = is_sign || !(c.is_alphanumeric() || matches!(c, '_' | '-'));
    }
    count
}

/// Returns whether there are too few letters for a misspelling. With three, only the order, a repeated letter
/// or a missing end can be one.
fn is_short(text: &str, candidate: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let once = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.dedup();
        letters
    };
    match text.chars().count() {
        0..=2 => text != candidate,
        3 => {
            let is_whole = sorted(text) == sorted(candidate) || once(text) == once(candidate);
            !is_whole && !candidate.starts_with(text)
        }
        _ => false,
    }
}

/// What a text says, without its signs.
struct Words {
    /// In lower case. Parts of `camelCase` are words.
    all: Vec<String>,
    digits: Vec<char>,
}

impl Words {
    fn of(text: &str) -> Self {
        let (mut all, mut digits) = (vec![String::new()], Vec::new());
        let mut is_after_lower = false;
        for c in text.chars().filter(|c| !matches!(c, '\'' | '’')) {
            if c.is_numeric() {
                digits.push(c);
            }
            if !c.is_alphabetic() || (is_after_lower && c.is_uppercase()) {
                all.push(String::new());
            }
            if let Some(word) = all.last_mut().filter(|_| c.is_alphabetic()) {
                word.extend(c.to_lowercase());
            }
            is_after_lower = c.is_lowercase();
        }
        all.retain(|word| !word.is_empty());
        Self { all, digits }
    }

    /// Returns how many words only deny others.
    fn denials(&self) -> usize {
        let denies = |word: &&String| DENIALS.contains(&word.as_str()) || word.ends_with("snt");
        self.all.iter().filter(denies).count()
    }
}

/// Words that deny others, without apostrophes. Those that end with `snt` deny as well.
const DENIALS: &[&str] = &[
    "aint", "anti", "arent", "cannot", "cant", "dont", "never", "no", "non", "none", "noone", "nor", "not",
    "nothing", "un", "without", "wont",
];

/// What denies the word that it begins.
const PREFIXES: &[&str] =
    &["anti", "de", "dis", "il", "im", "in", "ir", "mis", "never", "no", "non", "not", "un", "without"];

/// What denies the word that it ends.
const SUFFIXES: &[&str] = &["free", "less", "off", "out"];

/// Beginnings of words that say the opposite of each other.
const OPPOSITES: &[(&str, &str)] = &[
    ("above", "below"),
    ("accept", "reject"),
    ("add", "remov"),
    ("after", "before"),
    ("allow", "deny"),
    ("ascend", "descend"),
    ("download", "upload"),
    ("downgrad", "upgrad"),
    ("enabl", "disabl"),
    ("export", "import"),
    ("extern", "intern"),
    ("false", "true"),
    ("first", "last"),
    ("grant", "revok"),
    ("high", "low"),
    ("increas", "decreas"),
    ("increment", "decrement"),
    ("inbound", "outbound"),
    ("includ", "exclud"),
    ("input", "output"),
    ("left", "right"),
    ("lower", "upper"),
    ("major", "minor"),
    ("max", "min"),
    ("more", "less"),
    ("negativ", "positiv"),
    ("new", "old"),
    ("off", "on"),
    ("over", "under"),
    ("post", "pre"),
    ("privat", "public"),
    ("show", "hid"),
    ("start", "end"),
    ("start", "stop"),
    ("with", "without"),
    ("yes", "no"),
];

/// Returns whether an opposite of `candidate` is at least as similar to `text`.
fn is_opposite(text: &str, candidate: &str) -> bool {
    /// A word that is left must not be a syllable.
    const SHORTEST: usize = 4;
    if text == candidate {
        return false;
    }
    let own = distance(text, candidate);
    let is_nearer = |opposite: String| distance(text, &opposite) <= own;
    let denied = PREFIXES.iter().map(|prefix| format!("{prefix}{candidate}"));
    // `n` denies in some languages, and a repeated letter does not.
    let n = (candidate.len() >= SHORTEST && !candidate.starts_with('n')).then(|| format!("n{candidate}"));
    let ended = SUFFIXES.iter().map(|suffix| format!("{candidate}{suffix}"));
    let begins = PREFIXES.iter().filter_map(|prefix| candidate.strip_prefix(prefix));
    let ends = SUFFIXES.iter().filter_map(|suffix| candidate.strip_suffix(suffix));
    let bare = begins.chain(ends).filter(|bare| bare.len() >= SHORTEST).map(str::to_owned);
    let pairs = OPPOSITES.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    let other = pairs.filter_map(|(a, b)| Some(format!("{b}{}", candidate.strip_prefix(a)?)));
    denied.chain(n).chain(ended).chain(bare).chain(other).any(is_nearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_word_means_the_one_that_it_begins() {
        let environments = ["checkout/production", "checkout/test", "shop/production"];
        for (text, expected) in [
            ("checkout/prod", Some("checkout/production")),
            ("checkout/tets", Some("checkout/test")),
            ("shop/staging", None),
            ("ch", None),
        ] {
            assert_eq!(closest(text, environments), expected, "{text}");
        }
    }

    #[test]
    fn a_misspelling_is_recognized() {
        for (text, candidate) in [
            ("neww", "new"),
            ("onn", "on"),
            ("blu", "blue"),
            ("reed", "red"),
            ("tset", "test"),
            ("contrl", "control"),
            ("conrtol", "control"),
            ("visble", "visible"),
            ("invisble", "invisible"),
            ("inactve", "inactive"),
            ("unlimted", "unlimited"),
            ("limted", "limited"),
            ("dsabled", "disabled"),
            ("disbaled", "disabled"),
            ("contnet", "content"),
            ("defualtServe", "defaultServe"),
            ("maximun", "maximum"),
            ("decraese", "decrease"),
            ("is one off", "is one of"),
            ("is not one off", "is not one of"),
            ("doesn't contian", "doesn't contain"),
            ("nubmer", "number"),
            ("checkuot-v2", "checkout-v2"),
            ("shop/prod/pya", "shop/prod/pay"),
            ("shop/prdo", "shop/prod"),
            ("matches-everyon", "matches-everyone"),
            ("stal", "stale"),
            ("pol_interval", "poll_interval"),
            ("BASEURL", "BASE_URL"),
            ("!drak", "!dark"),
            ("dark-", "dark"),
            ("new--checkout", "new-checkout"),
            ("shop - prod", "shop-prod"),
        ] {
            assert_eq!(closest(text, [candidate]), Some(candidate), "{text}");
        }
    }

    #[test]
    fn what_may_mean_another_thing_is_no_misspelling() {
        for (text, candidate) in [
            ("no", "on"),
            ("non", "on"),
            ("un", "on"),
            ("inactive", "active"),
            ("active", "inactive"),
            ("inactve", "active"),
            ("nactive", "active"),
            ("deactivated", "activated"),
            ("unlimited", "limited"),
            ("limited", "unlimited"),
            ("invisible", "visible"),
            ("uncontrol", "control"),
            ("anticontrol", "control"),
            ("in active", "active"),
            ("no payments", "payments"),
            ("no-payments", "payments"),
            ("withoutPayments", "withPayments"),
            ("paymentless", "payment"),
            ("payment", "paymentless"),
            ("regular", "irregular"),
            ("possible", "impossible"),
            ("maximum", "minimum"),
            ("mximum", "minimum"),
            ("max-price", "min-price"),
            ("decrease", "increase"),
            ("icrease", "decrease"),
            ("import", "export"),
            ("lights-off", "lights-on"),
            ("is non of", "is one of"),
            ("is noone of", "is one of"),
            ("is un one of", "is one of"),
            ("is in", "is not in"),
            ("isn't in", "is in"),
            ("v3", "v1"),
            ("v12", "v10"),
            ("checkout-v2", "checkout-v1"),
            ("step-2", "step-1"),
            ("shop/prod/v3", "shop/prod/v1"),
            ("30%", "10%"),
            ("c", "a"),
            ("y", "x"),
            ("plan-b", "plan-a"),
            ("{\"a\":1}", "{\"a\":1.0}"),
            ("{\"a\":1}", "{\"b\":1}"),
            ("!dark", "dark"),
            ("-dark", "dark"),
            ("~dark", "dark"),
            ("¬dark", "dark"),
            ("−dark", "dark"),
            ("! dark", "dark"),
            ("--dark", "dark"),
            ("!!dark", "!dark"),
            ("drak", "!dark"),
            ("!drak", "dark"),
            ("shop/!checkout", "shop/checkout"),
            ("shop/prod/-pay", "shop/prod/pay"),
            ("matches -regex", "matches regex"),
            ("is !one of", "is one of"),
        ] {
            assert_eq!(closest(text, [candidate]), None, "{text}");
        }
    }

    /// A suggestion has the negation and the digits of what is written.
    #[test]
    fn no_suggestion_has_another_negation_or_another_number() {
        let words =
            ["active", "visible", "limited", "control", "regular", "possible", "checkout", "contains"];
        for word in words {
            for denying in PREFIXES {
                let denied = format!("{denying}{word}");
                let letters: Vec<char> = denied.chars().collect();
                for at in 0..=letters.len() {
                    // A letter is missing, or none.
                    let kept = letters.iter().enumerate().filter(|(index, _)| *index != at);
                    let written: String = kept.map(|(_, letter)| letter).collect();
                    if at >= denying.len() {
                        assert_eq!(closest(&written, [word]), None, "{written}");
                    }
                    let found = closest(&written, [word, denied.as_str()]);
                    assert!(
                        at < denying.len() || found.is_none_or(|one| one == denied),
                        "{written}: {found:?}"
                    );
                }
                let short: String = word.chars().skip(1).collect();
                assert_eq!(closest(&short, [denied.as_str()]), None, "{short}: {denied}");
            }
            for (own, other) in [("1", "2"), ("10", "100"), ("3", ""), ("", "3")] {
                let (own, other) = (format!("{word}{own}"), format!("{word}{other}"));
                assert_eq!(closest(&own, [other.as_str()]), None, "{own}");
            }
        }
    }
}

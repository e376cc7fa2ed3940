//! Shares in any unit and notation, as the split that a document has.

use super::short;
use crate::document::finding::shown;
use crate::document::node::{Node, NodeKind, quoted, scalar};
use crate::model::WHOLE;

/// Returns the split that a node in the notation of another tool means, as a document has it: a list of names
/// with shares, a mapping of them, a list of weights, or the ranges of SDKs.
///
/// Where a name is none of `variations`, it can be the index of one. A share that stands alone is not all of them: the
/// other one of two variations has the rest. None if no name is one of `variations`.
pub(in crate::document) fn split(node: &Node, variations: &[String]) -> Option<String> {
    const MOST_SHOWN: usize = 8;
    if let Some(weights) = weights(node) {
        return Some(format!("{weights:?}"));
    }
    let is_name = |key: &Node| scalar(key).is_some_and(|key| variations.iter().any(|name| name == key));
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut shares: Vec<&str> = Vec::new();
    match &node.kind {
        // What other tools call a split, within a split.
        NodeKind::Mapping(entries)
            if entries.len() == 1 && scalar(&entries[0].1).is_none() && !is_name(&entries[0].0) =>
        {
            return split(&entries[0].1, variations);
        }
        NodeKind::Mapping(entries) => {
            for (key, value) in entries {
                names.push(Some(scalar(key)?));
                shares.push(only_share(value)?);
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                let (name, share) = named_share(item)?;
                names.push(name);
                shares.push(share);
            }
        }
        _ => return None,
    }
    let mut known = names.iter().take(MOST_SHOWN).flatten().map(|name| of_index(name, variations));
    let has_names = names.first().is_some_and(Option::is_some) && !variations.is_empty();
    if has_names && !known.any(|name| variations.iter().any(|own| own == name)) {
        return None;
    }
    if let ([Some(name)], [share]) = (names.as_slice(), shares.as_slice())
        && let Some(split) = with_rest(of_index(name, variations), share, variations)
    {
        return Some(split);
    }
    let weights = hundredths(shares, variations.len()).filter(|weights| weights.len() <= MOST_SHOWN)?;
    if names.iter().all(Option::is_none) {
        return Some(format!("{weights:?}"));
    }
    let names: Vec<&str> =
        names.into_iter().map(|name| Some(of_index(name?, variations))).collect::<Option<_>>()?;
    let all = names.iter().zip(weights);
    let all: Vec<String> =
        all.map(|(name, weight)| format!("{}: {}", quoted(name), f64::from(weight) / 100.0)).collect();
    short(&format!("{{ {} }}", all.join(", ")))
}

/// Returns the split in which one of two variations has this share, in percent, and the other one the rest.
pub(in crate::document) fn with_rest(name: &str, share: &str, variations: &[String]) -> Option<String> {
    let [first, second] = variations else { return None };
    if first.is_empty() || second.is_empty() || first == second {
        return None;
    }
    let other = match name {
        _ if name == first => second,
        _ if name == second => first,
        _ => return None,
    };
    // A smaller number can be a part of 1.
    let percentage = percentage(share).filter(|percentage| *percentage >= 1.0)?;
    let rest = ((100.0 - percentage) * 100.0).round() / 100.0;
    let one = |name: &str, share: f64| format!("{}: {share}", quoted(&shown(name)));
    let own = one(name, percentage);
    Some(if rest > 0.0 { format!("{{ {own}, {} }}", one(other, rest)) } else { format!("{{ {own} }}") })
}

/// Returns the name of the variation that a text is the index of, unless it is a name itself.
fn of_index<'a>(name: &'a str, variations: &'a [String]) -> &'a str {
    let is_name = variations.iter().any(|known| known == name);
    let index = if is_name { None } else { name.parse::<usize>().ok() };
    index.and_then(|index| variations.get(index)).map_or(name, String::as_str)
}

/// Returns the only number in a value: a scalar, or a field such as `weight`.
pub(in crate::document) fn only_share(node: &Node) -> Option<&str> {
    let is_share = |text: &&str| share(text).is_some();
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let mut shares = entries.iter().filter_map(|(_, value)| scalar(value)).filter(is_share);
            shares.next().filter(|_| shares.next().is_none())
        }
        _ => scalar(node).filter(is_share),
    }
}

/// Returns the name and the share of an item of a list: `50`, `["on", 50]`, `on: 50`, or a mapping with the
/// name in one field and the share in another.
fn named_share(item: &Node) -> Option<(Option<&str>, &str)> {
    const NAMES: &[&str] = &["variation", "name", "variant", "variantkey", "variationid", "key", "value"];
    match &item.kind {
        NodeKind::Scalar(..) => Some((None, only_share(item)?)),
        NodeKind::Sequence(pair) => match pair.as_slice() {
            [name, share] => Some((Some(scalar(name)?), only_share(share)?)),
            _ => None,
        },
        NodeKind::Mapping(entries) => match entries.as_slice() {
            [(name, value)] => Some((Some(scalar(name)?), only_share(value)?)),
            _ => {
                let named = entries.iter().find(|(key, _)| {
                    scalar(key)
                        .is_some_and(|key| NAMES.contains(&key.to_lowercase().replace('_', "").as_str()))
                })?;
                let mut others = entries.iter().filter(|(key, _)| key.span != named.0.span);
                let share = others.find_map(|(_, value)| only_share(value))?;
                Some((Some(scalar(&named.1)?), share))
            }
        },
        NodeKind::Refused => None,
    }
}

/// Returns the weights of the ranges in which SDKs get a split: a list of ranges for each variation.
pub(in crate::document) fn weights(distribution: &Node) -> Option<Vec<u32>> {
    let list = |node: &Node| match &node.kind {
        NodeKind::Sequence(items) => Some(items.clone()),
        _ => None,
    };
    let bound = |node: &Node| match &node.kind {
        NodeKind::Scalar(text, _) => text.parse::<u32>().ok(),
        _ => None,
    };
    let weight = |ranges: &Node| {
        let lengths = list(ranges)?
            .iter()
            .map(|range| match list(range)?.as_slice() {
                [start, end] => bound(end)?.checked_sub(bound(start)?),
                _ => None,
            })
            .collect::<Option<Vec<u32>>>()?;
        lengths.into_iter().try_fold(0_u32, u32::checked_add)
    };
    let weights: Vec<u32> = list(distribution)?.iter().map(weight).collect::<Option<_>>()?;
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    (sum == u64::from(WHOLE)).then_some(weights)
}

/// Returns a share in percent, however it is written: `50 %`, `50,5`. At most two decimals are kept.
pub(in crate::document) fn percentage(text: &str) -> Option<f64> {
    let Share { number, rounding } = share(text)?;
    // A fraction may be one of another whole.
    (number <= 100.0 && rounding > 0.0).then_some((number * 100.0).round() / 100.0)
}

/// Returns shares with two decimals, which add up to 100, if they are in percent.
pub(in crate::document) fn percentages(shares: &[&str]) -> Option<Vec<f64>> {
    let all =
        hundredths(shares.iter().copied(), shares.len())?.into_iter().map(|weight| f64::from(weight) / 100.0);
    let all: Vec<f64> = all.collect();
    let is_near = |(text, percentage): (&&str, &f64)| {
        share(text).is_some_and(|share| (share.number - percentage).abs() < 1.0)
    };
    shares.iter().zip(&all).all(is_near).then_some(all)
}

/// Returns shares as hundredths of a percent if their sum is the whole of a usual unit, apart from what was
/// rounded; none if a sum is probably a mistake.
///
/// Small numbers are weights, such as `[1, 3]`, only if each of `variations` has one, and not if one of them has
/// everything: `10`, and `10` beside `0`, are percent.
pub(in crate::document) fn hundredths<'a>(
    shares: impl IntoIterator<Item = &'a str>,
    variations: usize,
) -> Option<Vec<u32>> {
    /// Percent, parts of 1, and the weights of other tools.
    const UNITS: &[f64] = &[100.0, 1.0, 1000.0, 10_000.0, 100_000.0];
    /// The largest sum of weights such as `[1, 3]`.
    const SMALLEST_UNIT: f64 = 10.0;
    /// The largest part of the unit that a share is rounded by, unless all are the same.
    const COARSEST: f64 = 1e-3;
    let shares: Vec<Share> = shares.into_iter().map(share).collect::<Option<_>>()?;
    let sum: f64 = shares.iter().map(|share| share.number).sum();
    let is_whole = shares.iter().all(|share| share.number.fract() == 0.0);
    let rounding: f64 = shares.iter().map(|share| share.rounding).sum();
    let finest = shares.iter().map(|share| share.rounding).fold(f64::INFINITY, f64::min);
    let are_same = shares.iter().all(|share| share.number.total_cmp(&shares[0].number).is_eq());
    // A sum of floats is not exact.
    let is_exact = |unit: &f64| (sum / unit - 1.0).abs() < 1e-6;
    let is_rounded = |unit: &f64| {
        (sum - unit).abs() < rounding.max(1.5e-4 * unit) + 1e-6
            && (are_same || finest <= 0.5 * COARSEST * unit)
    };
    let units = || UNITS.iter().copied();
    let has_one = shares.iter().filter(|share| share.number > 0.0).count() <= 1;
    // What stands alone can be a part of a larger unit.
    let is_sure = |unit: &f64| {
        !has_one || *unit == 100.0 || *unit >= f64::from(WHOLE) || shares.len() > 1 && *unit > 1.0
    };
    let unit = units().find(is_exact).or_else(|| units().find(is_rounded)).filter(is_sure);
    let are_weights = is_whole && !has_one && shares.len() >= variations && sum <= SMALLEST_UNIT;
    unit.or_else(|| are_weights.then_some(sum))?;
    let cut = |(at, share): (usize, &Share)| {
        let weight = share.number * f64::from(WHOLE) / sum;
        let whole = (weight + 1e-6).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 10,000")]
        (at, weight - whole, whole as u32)
    };
    let mut all: Vec<(usize, f64, u32)> = shares.iter().enumerate().map(cut).collect();
    let missing = WHOLE.checked_sub(all.iter().map(|(_, _, weight)| weight).sum())?;
    // The largest parts that were cut get the rest.
    all.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    for (_, _, weight) in all.iter_mut().take(usize::try_from(missing).ok()?) {
        *weight += 1;
    }
    all.sort_by_key(|(at, ..)| *at);
    let weights: Vec<u32> = all.into_iter().map(|(_, _, weight)| weight).collect();
    (weights.iter().sum::<u32>() == WHOLE).then_some(weights)
}

/// A share in any unit.
struct Share {
    number: f64,
    /// The half of its last digit, by which it may have been rounded; 0 for a fraction such as `1/3`.
    rounding: f64,
}

/// Returns a share, however it is written.
fn share(text: &str) -> Option<Share> {
    let text = text.trim().strip_suffix('%').unwrap_or(text).trim().replacen(',', ".", 1);
    let number = |text: &str| {
        let text = text.trim();
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())
    };
    if let Some((part, whole)) = text.split_once('/') {
        let whole = number(whole).filter(|whole| *whole > 0.0)?;
        return Some(Share { number: number(part)? / whole, rounding: 0.0 });
    }
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let number = number(&text)?;
    Some(Share { number, rounding: 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_in_any_notation_are_hundredths_of_a_percent_or_not_known() {
        for (shares, expected) in [
            (&["50", "50"][..], Some(&[5000, 5000][..])),
            (&["1", "1"], Some(&[5000, 5000])),
            (&["1", "3"], Some(&[2500, 7500])),
            (&["500", "500"], Some(&[5000, 5000])),
            (&["50000", "25000", "25000"], Some(&[5000, 2500, 2500])),
            (&["0.25", "0.75"], Some(&[2500, 7500])),
            (&["33.3", "66.7"], Some(&[3330, 6670])),
            (&["50 %", "50,0"], Some(&[5000, 5000])),
            (&["1e1", "9E1"], Some(&[1000, 9000])),
            // What was rounded adds up.
            (&["12.345", "87.655"], Some(&[1235, 8765])),
            (&["33.333", "33.333", "33.334"], Some(&[3333, 3333, 3334])),
            (&["33.333", "33.333", "33.333"], Some(&[3334, 3333, 3333])),
            (&["33.33", "33.33", "33.33"], Some(&[3334, 3333, 3333])),
            (&["33.3", "66.6"], Some(&[3333, 6667])),
            (&["33", "33", "33"], Some(&[3334, 3333, 3333])),
            (&["0.33", "0.33", "0.33"], Some(&[3334, 3333, 3333])),
            (&["14.29", "14.29", "71.43"], Some(&[1429, 1429, 7142])),
            (&["33.333", "66.67"], Some(&[3333, 6667])),
            (&["33.333", "66.667"], Some(&[3333, 6667])),
            (&["100.001"], Some(&[10_000])),
            (&["1/3", "2/3"], Some(&[3333, 6667])),
            (&["1 / 4", "0.75"], Some(&[2500, 7500])),
            (&["1", "2"], Some(&[3333, 6667])),
            (&["60", "60"], None),
            (&["60.001", "60"], None),
            (&["10", "89"], None),
            (&["0.25", "0.74"], None),
            (&["1/3", "1/3"], None),
            (&["1/0", "1"], None),
            (&["0", "0"], None),
            (&["-1", "2"], None),
            (&["a", "100"], None),
            (&["e1", "inf"], None),
            // What one variation has of it is not the whole.
            (&["10"], None),
            (&["1"], None),
            (&["0.1"], None),
            (&["1000"], None),
            (&["10", "0"], None),
            (&["0", "1"], None),
            (&["100", "0"], Some(&[10_000, 0])),
            (&["0", "1000"], Some(&[0, 10_000])),
            (&[], None),
        ] {
            assert_eq!(hundredths(shares.iter().copied(), 2).as_deref(), expected, "{shares:?}");
        }
    }

    #[test]
    fn small_numbers_are_weights_only_if_each_variation_has_one() {
        assert_eq!(hundredths(["1", "1"], 2), Some(vec![5000, 5000]));
        assert_eq!(hundredths(["5", "5"], 3), None);
        assert_eq!(hundredths(["0.5", "0.5"], 3), Some(vec![5000, 5000]));
        assert_eq!(hundredths(["50", "50"], 3), Some(vec![5000, 5000]));
    }

    #[test]
    fn a_share_that_stands_alone_leaves_the_rest_to_the_other_of_two_variations() {
        let two = ["off".to_owned(), "on".to_owned()];
        let three = [&two[..], &["new".to_owned()]].concat();
        for (share, split) in [
            ("10", Some("{ \"on\": 10, \"off\": 90 }")),
            ("12,5 %", Some("{ \"on\": 12.5, \"off\": 87.5 }")),
            ("100", Some("{ \"on\": 100 }")),
            ("0.1", None),
            ("1000", None),
        ] {
            assert_eq!(with_rest("on", share, &two).as_deref(), split, "{share}");
            assert_eq!(with_rest("on", share, &three), None, "{share}");
            assert_eq!(with_rest("percentage", share, &two), None, "{share}");
        }
    }
}

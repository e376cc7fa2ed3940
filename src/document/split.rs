//! Resolves splits: percentages by name and weights by index mean the same.

use super::raw::RawSplit;
use super::variation_names::{NameError, VariationNames};
use crate::model::WHOLE;

/// Why a split does not resolve. The index is that of an entry as it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SplitError {
    /// Not a percentage or not a weight.
    Share(usize),
    /// The sum, in hundredths of a percent.
    Sum(u64),
    /// There are fewer variations.
    TooMany(usize),
    /// The name is not that of a variation.
    Variation(usize, NameError),
}

/// Returns one weight per variation, in hundredths of a percent. The weights add up to [`WHOLE`].
pub(super) fn weights(split: &RawSplit, names: &VariationNames<'_>) -> Result<Vec<u32>, Vec<SplitError>> {
    let mut weights = vec![0; names.count() as usize];
    let mut errors = Vec::new();
    match split {
        RawSplit::ByName(shares) => {
            for (at, (name, share)) in shares.iter().enumerate() {
                let (index, weight) = (names.index(name), percentage(&share.0));
                if let Err(error) = index {
                    errors.push(SplitError::Variation(at, error));
                }
                match (index, weight) {
                    (Ok(index), Some(weight)) => weights[index as usize] = weight,
                    (Err(_), Some(_)) => {}
                    (_, None) => errors.push(SplitError::Share(at)),
                }
            }
        }
        RawSplit::ByIndex(shares) if shares.len() > weights.len() => {
            errors.push(SplitError::TooMany(weights.len()));
        }
        RawSplit::ByIndex(shares) => {
            for (at, (weight, share)) in weights.iter_mut().zip(shares).enumerate() {
                match whole_number(&share.0) {
                    Some(share) => *weight = share,
                    None => errors.push(SplitError::Share(at)),
                }
            }
        }
    }
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    match errors.is_empty() {
        true if sum == u64::from(WHOLE) => Ok(weights),
        true => Err(vec![SplitError::Sum(sum)]),
        // Without the shares that cannot be read, the sum means nothing.
        false => Err(errors),
    }
}

/// Returns hundredths of a percent, at most 99,999.
fn whole_number(text: &str) -> Option<u32> {
    let is_plain = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    // YAML parsers disagree on leading zeros.
    let is_octal = text.len() > 1 && text.starts_with('0');
    (is_plain && !is_octal).then(|| text.parse().ok()).flatten()
}

/// Returns a percentage with at most two decimals as hundredths of a percent.
fn percentage(text: &str) -> Option<u32> {
    // Digits, not floats: as a float, 0.29 × 100 is not 29.
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_decimals = matches!(decimals.len(), 1 | 2) && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let hundredths: u32 = is_decimals.then(|| format!("{decimals:0<2}").parse().ok()).flatten()?;
    Some(whole_number(whole)? * 100 + hundredths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_at_most_two_decimals_and_no_rounding() {
        for (text, expected) in
            [("0", 0), ("25", 2500), ("12.5", 1250), ("0.29", 29), ("100.00", 10_000), ("33.33", 3333)]
        {
            assert_eq!(percentage(text), Some(expected), "{text}");
        }
        for bad in
            ["", ".5", "5.", "25%", "-1", "+1", "1e1", "0.125", "025", "1.2.3", "1,5", "NaN", "100000", " 1"]
        {
            assert_eq!(percentage(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_weight_is_a_whole_number() {
        assert_eq!(["0", "1", "2500", "10000"].map(whole_number), [0, 1, 2500, 10_000].map(Some));
        for bad in ["", "-1", "+1", "1.0", "007", "0x10", "1_000", "100000"] {
            assert_eq!(whole_number(bad), None, "{bad}");
        }
    }
}

//! Semantic versions in conditions.

/// Returns whether `text` is a semantic version (SemVer 2.0), without a leading `v`.
pub fn is_semver(text: &str) -> bool {
    // Build metadata is removed first, because it may contain the `-` that begins a prerelease.
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // SemVer forbids leading zeros in the three numbers and in numeric identifiers of a prerelease.
    let is_number = |part: &str| is_digits(part) && (part == "0" || !part.starts_with('0'));
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| {
            pre.split('.').all(|part| is_word(part) && (!is_digits(part) || is_number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semantic_version_has_three_numbers() {
        for good in ["1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3+build.01", "1.2.3-0a+x", "1.2.3--"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["", "v1.2.3", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b"] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}

//! The files of the demonstration's sample repository: those of `examples/toggles`.

/// Every file of `examples/toggles`, path and content.
pub(super) const FILES: [(&str, &str); 8] = [
    (
        "search/production/ranking.yaml",
        include_str!("../../../examples/toggles/search/production/ranking.yaml"),
    ),
    (
        "search/production/suggestions.json",
        include_str!("../../../examples/toggles/search/production/suggestions.json"),
    ),
    (
        "search/staging/ranking.yaml",
        include_str!("../../../examples/toggles/search/staging/ranking.yaml"),
    ),
    (
        "search/staging/suggestions.json",
        include_str!("../../../examples/toggles/search/staging/suggestions.json"),
    ),
    (
        "shop/production/free-shipping-from.yaml",
        include_str!("../../../examples/toggles/shop/production/free-shipping-from.yaml"),
    ),
    (
        CHECKOUT,
        include_str!("../../../examples/toggles/shop/production/new-checkout.yaml"),
    ),
    (
        "shop/staging/free-shipping-from.yaml",
        include_str!("../../../examples/toggles/shop/staging/free-shipping-from.yaml"),
    ),
    (
        STAGING,
        include_str!("../../../examples/toggles/shop/staging/new-checkout.yaml"),
    ),
];

/// The document that the pull request changes.
pub(super) const CHECKOUT: &str = "shop/production/new-checkout.yaml";

/// The document that one step breaks.
pub(super) const STAGING: &str = "shop/staging/new-checkout.yaml";

/// Returns the content of `path` as it is in `examples/toggles`.
pub(super) fn original(path: &str) -> &'static str {
    FILES
        .iter()
        .find(|(file, _)| *file == path)
        .map_or("", |(_, content)| content)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_sample_is_the_whole_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/toggles");
        let mut folders = vec![root.clone()];
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => drop(found.insert(path.strip_prefix(&root).unwrap().display().to_string())),
                }
            }
        }
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }
}

//! The files of the demonstration's sample repository: those of `examples/toggles`.

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../examples/toggles/", $path)))
    };
}

/// Every file of `examples/toggles`, path and content.
pub(super) const FILES: [(&str, &str); 8] = [
    example!("search/production/ranking.yaml"),
    example!("search/production/suggestions.json"),
    example!("search/staging/ranking.yaml"),
    example!("search/staging/suggestions.json"),
    example!("shop/production/free-shipping-from.yaml"),
    example!("shop/production/new-checkout.yaml"),
    example!("shop/staging/free-shipping-from.yaml"),
    example!("shop/staging/new-checkout.yaml"),
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

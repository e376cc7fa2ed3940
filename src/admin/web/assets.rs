//! The files that the pages load, which are in the program.

use std::sync::LazyLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// A file of the pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asset {
    /// The tab's icon if something is wrong.
    IconBad,
    /// The tab's icon if all is well.
    IconGood,
    /// The tab's icon if something needs attention.
    IconWarn,
    Script,
    Style,
}

impl Asset {
    const ALL: [Self; 5] = [Self::IconBad, Self::IconGood, Self::IconWarn, Self::Script, Self::Style];

    /// Returns its address relative to the page, such as `assets/page.0123456789abcdef.css`. Relative,
    /// because a proxy may serve the page below a path.
    pub(crate) fn address(self) -> String {
        format!("assets/{}", self.name())
    }

    fn name(self) -> String {
        static HASHES: LazyLock<[String; 5]> =
            LazyLock::new(|| Asset::ALL.map(|asset| hex(&Sha256::digest(asset.content())[..8])));
        let hash = &HASHES[self as usize];
        let (stem, extension, _) = self.kind();
        format!("{stem}.{hash}.{extension}")
    }

    fn content(self) -> &'static str {
        match self {
            Self::IconBad => include_str!("bad.svg"),
            Self::IconGood => include_str!("good.svg"),
            Self::IconWarn => include_str!("warn.svg"),
            Self::Script => include_str!("page.js"),
            Self::Style => include_str!("page.css"),
        }
    }

    /// Returns the two parts of its name, and its content type.
    fn kind(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::IconBad => ("bad", "svg", "image/svg+xml"),
            Self::IconGood => ("good", "svg", "image/svg+xml"),
            Self::IconWarn => ("warn", "svg", "image/svg+xml"),
            Self::Script => ("page", "js", "text/javascript; charset=utf-8"),
            Self::Style => ("page", "css", "text/css; charset=utf-8"),
        }
    }
}

/// Returns the file with this name, which is what follows `/assets/` in the address; 404 for any other name.
pub(crate) fn asset_response(name: &str) -> Response {
    let Some(asset) = Asset::ALL.into_iter().find(|asset| asset.name() == name) else {
        return (StatusCode::NOT_FOUND, "not found\n").into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.kind().2),
        // The name changes with the content.
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.content()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_found_by_its_name_and_no_other() {
        for (position, asset) in Asset::ALL.into_iter().enumerate() {
            assert_eq!(asset as usize, position);
            let name = asset.address().replace("assets/", "");
            assert_eq!(asset_response(&name).status(), StatusCode::OK, "{name}");
        }
        for name in ["", "page.css", "../page.css", "page.0000000000000000.css"] {
            assert_eq!(asset_response(name).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}

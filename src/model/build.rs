//! The build of the program: version, commit and target.

/// The build of this program.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: if env!("BUILD_COMMIT").is_empty() { None } else { Some(env!("BUILD_COMMIT")) },
    date: if env!("BUILD_DATE").is_empty() { None } else { Some(env!("BUILD_DATE")) },
    target: env!("BUILD_TARGET"),
    text: concat!(env!("CARGO_PKG_VERSION"), " ", env!("BUILD_TEXT")),
};

/// The build of a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Build {
    /// The version of the package.
    pub version: &'static str,
    /// The first ten digits of the commit, followed by `-dirty` if the sources differed from it. `None` if it is not
    /// known, such as in a build of an archive.
    pub commit: Option<&'static str>,
    /// The day of the commit, such as `2026-11-22`, if it is known.
    pub date: Option<&'static str>,
    /// The target triple.
    pub target: &'static str,
    /// All of it, such as `0.1.0 (d77f556a01 2026-11-22, x86_64-unknown-linux-gnu)`.
    pub text: &'static str,
}

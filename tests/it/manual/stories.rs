//! The stories in `tests/stories`: days with gitoggle, with what it prints. Each is run.
//!
//! `GITOGGLE_REWRITE=1 cargo test --test it stories` writes what the commands print into the pages.

use super::page::Page;
use super::{dead_links, follow};

/// The stories in the order in which they are best read.
macro_rules! stories {
    ($($name:ident),+ $(,)?) => {
        const STORIES: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $name() {
                follow(Page(concat!("tests/stories/", stringify!($name), ".md")));
            }
        )+
    };
}

stories!(
    first_pass,
    edit,
    rollout,
    promote,
    review,
    hold,
    allow,
    import,
    drift,
    shared_state,
    emergency,
    retire,
);

#[test]
fn every_story_is_run_and_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let dead = dead_links(&folder.join(&name));
        assert!(dead.is_empty(), "{name}: {dead:?}");
        let Some(name) = name.strip_suffix(".md").filter(|name| *name != "README") else { continue };
        assert!(STORIES.contains(&name), "{name} is not run");
        assert!(list.contains(&format!("({name}.md)")), "{name} is not listed");
    }
}

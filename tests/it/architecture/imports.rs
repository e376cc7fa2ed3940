//! Imports from file to file: which groups of files import each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, sources};

/// How many groups of files may import each other beyond parent and child. Files of one module that hold
/// whole ideas may, such as the state of `admin` and the endpoints that keep something in it; `EDGES` rules
/// out circles between modules.
const MOST_CIRCLES: usize = 9;

#[test]
fn few_files_import_each_other() {
    let circles = circles(&imports(&sources()));
    assert!(circles.len() <= MOST_CIRCLES, "{circles:#?}");
}

/// Returns the imports of each module: paths such as `plan::value`. An import of an item that a parent
/// re-exports counts for the module that defines the item; an import of the parent itself is not counted.
fn imports(files: &[File]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeSet<String> = files.iter().map(|file| module(&file.path)).collect();
    let exports: BTreeMap<String, String> = files.iter().flat_map(exports).collect();
    files
        .iter()
        .map(|file| {
            let own = module(&file.path);
            let found = used_paths(&file.code)
                .into_iter()
                .filter_map(|path| resolve(&absolute(&own, &path)?, &modules, &exports))
                .filter(|found| !is_family(&own, found))
                .collect();
            (own, found)
        })
        .collect()
}

/// Returns the groups of modules that reach each other, each sorted.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|start| (start, reachable(imports, start))).collect();
    let group = |start: &String| -> Vec<String> {
        let mutual = reached[start].iter().filter(|other| reached[**other].contains(start));
        mutual.map(|other| (*other).clone()).collect()
    };
    let groups = imports.keys().map(group);
    groups.filter(|group| group.len() > 1).collect()
}

fn reachable<'a>(imports: &'a BTreeMap<String, BTreeSet<String>>, start: &'a String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in &imports[module] {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

/// Returns whether one module is an ancestor of the other.
fn is_family(one: &str, other: &str) -> bool {
    let is_below = |child: &str, parent: &str| child == parent || child.starts_with(&format!("{parent}::"));
    is_below(one, other) || is_below(other, one)
}

/// Returns the items that a module re-exports, with the path that each stands for.
fn exports(file: &File) -> Vec<(String, String)> {
    let own = module(&file.path);
    let uses = statements(&file.code).into_iter().filter(|(is_public, _)| *is_public);
    uses.flat_map(|(_, tree)| flatten("", &tree))
        .filter_map(|path| {
            let name = path.rsplit("::").next()?;
            Some((format!("{own}::{name}"), absolute(&own, &path)?))
        })
        .collect()
}

/// Returns all paths that the code imports or names inline.
fn used_paths(code: &str) -> Vec<String> {
    let uses = statements(code).into_iter().flat_map(|(_, tree)| flatten("", &tree));
    let inline = ["crate::", "super::"].into_iter().flat_map(|start| {
        let at = code.match_indices(start).map(|(at, _)| at);
        at.map(|at| code[at..].chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect())
    });
    uses.chain(inline).collect()
}

/// Returns the `use` statements: whether each is public, and its tree.
fn statements(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line..at].trim();
        if before.is_empty() || before.starts_with("pub") {
            let tree = code[at + 4..].split(';').next().unwrap_or_default();
            found.push((!before.is_empty(), tree.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    found
}

/// Returns the paths of a `use` tree.
fn flatten(prefix: &str, tree: &str) -> Vec<String> {
    let join = |rest: &str| match (prefix, rest) {
        ("", rest) => rest.to_owned(),
        (prefix, "self" | "") => prefix.to_owned(),
        (prefix, rest) => format!("{prefix}::{rest}"),
    };
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![join(path.trim())];
    };
    let prefix = join(head.trim().trim_end_matches("::"));
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for character in group.trim_end().strip_suffix('}').unwrap_or(group).chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is one from the start").push(character);
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| flatten(&prefix, part)).collect()
}

/// Returns `path` as seen from the crate's root; nothing for another crate's.
fn absolute(own: &str, path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    let mut base: Vec<&str> = own.split("::").collect();
    let mut rest = path;
    while let Some(shorter) = rest.strip_prefix("super::") {
        base.pop();
        rest = shorter;
    }
    let is_relative = rest != path;
    let rest = rest.strip_prefix("self::").unwrap_or(rest);
    base.push(rest);
    // A path without `super` is a child's or another crate's; `resolve` finds out.
    Some(base.join("::")).filter(|_| is_relative || !rest.is_empty())
}

/// Returns the module that defines what `path` names, through re-exports.
fn resolve(path: &str, modules: &BTreeSet<String>, exports: &BTreeMap<String, String>) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..8 {
        let parts: Vec<&str> = path.split("::").collect();
        let item = (1..=parts.len()).find_map(|end| {
            let start = parts[..end].join("::");
            let target = exports.get(&start).filter(|target| **target != start)?;
            Some(target.clone())
        });
        match item {
            Some(target) => path = target,
            None => break,
        }
    }
    let parts: Vec<&str> = path.split("::").collect();
    (1..=parts.len()).rev().map(|end| parts[..end].join("::")).find(|start| modules.contains(start))
}

#[test]
fn circles_are_found_through_reexports() {
    let file =
        |path: &str, code: &str| File { path: path.to_owned(), module: String::new(), code: code.to_owned() };
    let files = [
        file("a/mod.rs", "mod x;\nmod y;\npub use x::{X};\npub use y::Y;\n"),
        file("a/x.rs", "use super::Y;\n"),
        file("a/y.rs", "use crate::{a::{X}};\n"),
        file("a/z.rs", "fn z() { super::X::new() }\n"),
    ];
    let found = circles(&imports(&files));
    let expected = ["a::x", "a::y"].map(str::to_owned).to_vec();
    assert_eq!(found, BTreeSet::from([expected]));
}

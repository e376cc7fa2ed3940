//! Hostile commit messages and documents in every output of a plan.

use gitoggle::config::OutputFormat;

use crate::support::{World, doc};

/// A commit message with every kind of injection.
const HOSTILE: &str = "Nice change\u{1b}[2J\u{1b}]0;title\u{7}\n::error file=x::pwned\n##[error]pwned\n```\n# pwned\n<script>alert(1)</script>\n\u{202e}txet\n\u{2028}::warning::pwned\n[link](https://evil.example)\n@everyone\n";

#[test]
fn hostile_commit_messages_are_harmless_in_every_output() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21).replace("New payment page", "````` ::error::pwned"))
        .commit(HOSTILE);
    for output in OutputFormat::WORDS {
        let printed = world.plan().set("output", output).exit(0).both();
        harmless(&printed, output);
    }
    let printed = world.apply().arg("-vv").exit(0).both();
    harmless(&printed, "apply");
    // The message is sent unescaped, because the service is not a terminal.
    assert_eq!(world.service.take()[0].comment(), HOSTILE.trim());
}

fn harmless(printed: &str, output: &str) {
    for bad in ['\u{1b}', '\u{7}', '\u{202e}', '\u{2028}', '\r'] {
        assert!(!printed.contains(bad), "{output}: {bad:?} in {printed:?}");
    }
    for line in printed.lines() {
        let line = line.trim_start();
        assert!(!line.starts_with("::error file=x") && !line.starts_with("##["), "{output}: {line}");
        assert!(!(line.starts_with("::") && line.contains("::pwned")), "{output}: {line}");
    }
    if output == "markdown" || output == "github" {
        assert!(!printed.lines().any(|line| line.starts_with("# pwned")), "{printed}");
        assert!(!printed.contains("<script>"), "{printed}");
    }
}

#[test]
fn markdown_fences_are_longer_than_those_in_their_content() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21).replace("New payment page", "a ```` b")).commit("Fence");
    let printed = world.plan().set("output", "markdown").exit(0).both();
    let longest = |line: &str| line.chars().take_while(|c| *c == '`').count();
    let fences: Vec<_> = printed.lines().map(str::trim_start).map(longest).filter(|run| *run >= 3).collect();
    assert!(fences.len() % 2 == 0, "every fence is closed:\n{printed}");
    assert!(!printed.contains("````") || fences.iter().any(|run| *run > 4), "{printed}");
}

#[test]
fn github_gets_annotations_at_the_place_of_a_finding() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21).replace("select: 1", "select: 7")).commit("Break it");
    let printed = world.plan().set("output", "github").exit(3).both();
    let annotation = printed
        .lines()
        .find(|line| line.starts_with("::error "))
        .unwrap_or_else(|| panic!("an annotation in:\n{printed}"));
    for part in ["file=shop/prod/pay.yaml", "line=10"] {
        assert!(annotation.contains(part), "{part} in {annotation}");
    }
}

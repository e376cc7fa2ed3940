//! Markdown pages: their content, their limits, and what fits.

use super::*;
use crate::model::Forge;
use crate::report::{Links, PlanView};

const ANY: usize = render::ANY_COMMENT;

fn markdown(plan: &Plan, limit: usize, links: Option<&Links>) -> String {
    render::markdown(PlanView { links, ..PlanView::of(plan) }, limit)
}

/// The part of a page that a reader sees without opening a fold.
fn outside(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<details>") {
        out.push_str(before);
        rest = after.split_once("</details>\n\n").unwrap().1;
    }
    out + rest
}

#[test]
fn a_page_says_outside_of_the_folds_what_changes_for_whom() {
    let page = markdown(&rich(), ANY, None);
    insta::assert_snapshot!(outside(&page), @r##"
    ### gitoggle plan

    **2 to publish: 1 create, 1 update · 5 held · 1 failed · 1 orphan** · **1 invalid document**

    ` https://git.example.com/toggles ` ` refs/heads/main ` ` 0303030303 ` → ` https://toggles.example.com `

    #### Findings

    * **error** ` p/e/bad.yaml:1:1 ` `missing-field`: a document needs `content` — *help*: every document has `disabled` and `content`
    * **error** ` p/e/bad.yaml:2:1 ` `unknown-key`: a document has no `colour` — *help*: a document has `disabled` and `content`; do not just remove it: what `colour` says would be lost, so say it with these keys

    #### ` p/e ` 4 held

    * **held** 3 toggles: 3 changes are more than `max_change_count: 2` allows; if this is intended, pass `--allow-mass-change`, put the trailer `Gitoggle-Allow: mass-change` on the commit, or `Gitoggle-Allow: mass-change p/e` on a later one, or run `gitoggle allow mass-change p/e` for a running daemon
      * **update** ` t000 `: variation `a` value: `1` → `2`
      * **update** ` t001 `: variation `a` value: `1` → `2`
      * **update** ` t002 `: variation `a` value: `1` → `2`
    * **held** ` bad `: the document is invalid; nothing is published for this toggle before it is valid

    #### ` q/e ` 2 to publish · 1 failed · 1 orphan

    * **update** ` changed `: ENABLED → DISABLED; variation `a` value: `1` → `2`
    * **create** ` new `: new, ENABLED; default serve `a`
    * **failed** ` refused `: ` refused by the service: ::error::no\n `
      * **update** ` refused `: variation `a` value: `1` → `2`
    * **orphan** ` gone `: the file was removed; `--on-remove keep` leaves the toggle as it is; the file was renamed to that of `q/e/new`, which is a new toggle, and the old one keeps serving

    #### ` r/e ` 1 held

    * **held** ` first `: nothing is applied here yet: `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; to decide for this environment only, put the trailer `Gitoggle-First-Pass: assert` or `adopt` on a commit that adds or changes a document of it, or run `gitoggle allow first-pass-assert r/e` or `first-pass-adopt` for a running daemon
      * **create** ` first `: new, ENABLED; default serve `a`

    Digest: `sha256:06b38c5b2c51131ae510419c70c584cc67226d9c40b754e1d0e369677afba21f`
    "##);
}

#[test]
fn a_fold_has_the_commit_and_the_diff_of_each_change() {
    let page = markdown(&World::of(1, 1, 0).plan(&all_at_once()), ANY, None);
    insta::assert_snapshot!(page, @r##"
    ### gitoggle plan

    **1 to publish: 1 update**

    ` https://git.example.com/toggles ` ` refs/heads/main ` ` 0303030303 ` → ` https://toggles.example.com `

    #### ` p/e ` 1 to publish

    * **update** ` t000 `: variation `a` value: `1` → `2`

    <details><summary>1 diff</summary>

    ` p/e/t000 ` ` 0404040404 ` ` m `

    ```diff
    @@ canonical form @@
     content:
       variations:
         - name: a
    -      value: "1"
    +      value: "2"
       rules: []
       disabledServe: { variation: a }
       defaultServe: { variation: a }
    ```

    </details>

    Digest: `sha256:ad05c5cec3f19d05809c71fc7b1c926e1cec9aa094b6b022a0bdb01f7a9f84bf`
    "##);
}

#[test]
fn files_commits_and_findings_are_links_if_the_forge_is_known() {
    let links = Links::new(Forge::GitHub, "https://github.com", "team/toggles");
    let page = markdown(&rich(), ANY, links.as_ref());
    let base = "https://github.com/team/toggles";
    let (revision, commit) = ("03".repeat(20), "04".repeat(20));
    for link in [
        format!("[` new `]({base}/blob/{revision}/q/e/new.yaml): new, ENABLED"),
        format!("[` 0303030303 `]({base}/commit/{revision})"),
        format!("` q/e/new ` [` 0404040404 `]({base}/commit/{commit}) ` Raise it `"),
        format!(
            "[` p/e/bad.yaml:2:1 `]({base}/blob/{revision}/p/e/bad.yaml#L2) `unknown-key`: a document has no `colour`"
        ),
    ] {
        assert!(page.contains(&link), "{link}\n{page}");
    }
}

#[test]
fn a_removed_file_is_not_a_link() {
    let world = World::of(3, 0, 0).knows("p/e/zone", Known::Document(doc(2)));
    let policy = Policy { on_remove: OnRemove::Disable, ..all_at_once() };
    let links = Links::new(Forge::GitLab, "https://gitlab.com", "team/toggles");
    let page = markdown(&world.plan(&policy), ANY, links.as_ref());
    assert!(page.contains("* **disable** ` zone `: ENABLED → DISABLED\n"), "{page}");
}

#[test]
fn twenty_changes_take_one_line_each_outside_of_the_folds() {
    let page = outside(&markdown(&World::of(20, 20, 0).plan(&all_at_once()), ANY, None));
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("* ")).collect();
    assert_eq!(lines.len(), 20, "{page}");
    assert_eq!(lines[0], "* **update** ` t000 `: variation `a` value: `1` → `2`");
    assert!(page.lines().count() < 35, "{page}");
}

#[test]
fn a_page_never_exceeds_its_limit_and_counts_what_it_leaves_out() {
    let plan = World::of(2000, 2000, 0).plan(&all_at_once());
    for limit in [0, 100, 1_000, 2_000, 10_000, ANY, render::JOB_SUMMARY] {
        let page = markdown(&plan, limit, None);
        assert!(page.len() <= limit, "{} of {limit}", page.len());
        if limit < 2_000 {
            continue;
        }
        // Names of toggles, which are on the lines and in the diffs.
        let diffs = page.matches("```diff").count();
        let lines = page.matches("\n* **update** ` t").count();
        let number = |noun: &str| {
            let (before, _) = page.split_once(noun)?;
            before.rsplit(' ').next()?.parse::<usize>().ok()
        };
        assert_eq!(lines + number(" changes").unwrap_or(0), 2000, "{limit} {}", &page[..600]);
        assert_eq!(diffs + number(" diffs did not fit").unwrap_or(0), lines, "{limit}");
        assert!(page.contains("Digest: `sha256:"), "{limit}");
    }
    assert!(!markdown(&plan, render::JOB_SUMMARY, None).contains("did not fit"));
}

#[test]
fn each_change_has_a_line_and_links_are_left_out_before_lines_are() {
    let links = Links::new(Forge::GitHub, "https://github.com", "team/toggles");
    for (count, limit, are_linked) in [(300, ANY, true), (800, ANY, false), (800, render::JOB_SUMMARY, true)]
    {
        let plan = World::of(count, count, 0).plan(&all_at_once());
        let page = markdown(&plan, limit, links.as_ref());
        assert_eq!(page.matches("\n* **update** ").count(), count, "{limit}");
        let is_linked = page.contains("[` t000 `](https://github.com/team/toggles/blob/");
        assert_eq!(is_linked, are_linked, "{count} in {limit}");
    }
}

#[test]
fn a_change_that_is_the_same_in_several_environments_is_one_line_and_production_comes_first() {
    let mut world = World::default();
    for environment in ["shop/dev", "shop/production", "shop/qa", "shop/staging"] {
        for (toggle, before) in [("pay", 1), ("search", 2)] {
            let id = format!("{environment}/{toggle}");
            let before = if environment == "shop/qa" && toggle == "search" { 3 } else { before };
            world = world.want(&id, Want::Document(doc(5))).knows(&id, Known::Document(doc(before)));
        }
    }
    world = world.want("shop/a/own", Want::Document(doc(5))).knows("shop/a/own", Known::Document(doc(1)));
    let page = outside(&markdown(&world.plan(&all_at_once()), ANY, None));
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("#### ")).collect();
    assert_eq!(
        headings,
        [
            "#### 4 environments: 1 to publish in each",
            "#### 3 environments: 1 to publish in each",
            "#### ` shop/a ` 1 to publish",
            "#### ` shop/qa ` 1 to publish",
        ]
    );
    assert!(page.contains("\n` shop/dev `, ` shop/production `, ` shop/qa `, ` shop/staging `\n"), "{page}");
    assert_eq!(page.matches("\n* **update** ` pay `: variation `a` value: `0` → `2`\n").count(), 1, "{page}");
    assert_eq!(page.matches("\n* **update** ` search `: ").count(), 2, "{page}");
}

#[test]
fn a_plan_that_publishes_nothing_has_no_digest_and_notes_come_first() {
    let held = World::of(20, 20, 0).plan(&Policy::default());
    let notes = ["no document existed in `shop/test` before".to_owned()];
    let page = render::markdown(PlanView { notes: &notes, ..PlanView::of(&held) }, ANY);
    assert!(!page.contains("Digest"), "{page}");
    assert!(page.contains("\n\n> **Note**: no document existed in `shop/test` before\n\n#### "), "{page}");
    let remarks: Vec<_> = notes.iter().cloned().map(render::Remark::from).collect();
    for output in [
        render::github(&held, &notes, ""),
        render::junit_plan(&held, &notes),
        render::sarif(&[], &remarks, None).to_string(),
        serde_json::to_string(&render::code_quality(&[], &remarks, None)).unwrap(),
    ] {
        assert!(output.contains("no document existed in `shop/test` before"), "{output}");
    }
}

#[test]
fn very_many_environments_and_findings_leave_room_for_changes() {
    let mut world = World::default();
    for at in 0..3000 {
        world = world
            .want(&format!("p/e{at:04}/t{at}"), Want::Document(doc(4)))
            .knows(&format!("p/e{at:04}/t{at}"), Known::Document(doc(2)));
    }
    world.findings = (0..1000).flat_map(|at| broken(&format!("x/y/z{at}.yaml"))).collect();
    let page = markdown(&world.plan(&all_at_once()), ANY, None);
    assert!(page.len() <= ANY);
    let lines = page.matches("* **update** ").count();
    let findings = page.matches("* **error** ").count();
    // Half of the page names the environments, each with one line.
    let environments = page.matches(": 1 to publish\n").count();
    assert!(environments > 1000 && lines > 50 && findings > 50, "{environments} {lines} {findings}");
    assert!(page.contains("findings, "), "{}", &page[..1000]);
}

#[test]
fn an_environment_that_is_held_is_a_section_of_its_own() {
    let mut world = World::of(3, 1, 0);
    world
        .environment_holds
        .insert("z/z".parse().unwrap(), Arc::new(hold::environment("every document was removed")));
    let page = markdown(&world.plan(&all_at_once()), ANY, None);
    assert!(page.contains("#### ` z/z ` held\n\n* **held**: every document was removed\n"), "{page}");
}

#[test]
fn a_shortened_page_names_every_environment_with_one_line() {
    let mut world = World::default();
    for at in 0..4000 {
        let id = format!("p/e{}/t{at:05}", at / 1000);
        world = world.want(&id, Want::Document(doc(4))).knows(&id, Known::Document(doc(2)));
    }
    let page = markdown(&world.plan(&all_at_once()), ANY, None);
    assert!(page.contains("**Shortened**") && page.len() <= ANY, "{}", &page[..1000]);
    for at in 0..4 {
        assert_eq!(
            page.matches(&format!("* ` p/e{at} `: 1000 to publish\n")).count(),
            1,
            "{}",
            &page[..2000]
        );
    }
    let short = markdown(&World::of(2, 2, 0).plan(&all_at_once()), ANY, None);
    assert!(!short.contains("to publish\n* "), "{short}");
}

//! Documents that refer to each other, on every path that checks them.

use std::collections::BTreeMap;

use fastrand::Rng;
use gitoggle::config::OutputFormat;
use serde_json::{Value, json};

use crate::support::{Answer, Gitoggle, LiveService, Request, World, doc, targeting};

/// How many random cases a test draws.
const SEEDS: u64 = 40;

/// A document with these prerequisites and values.
fn toggle(prerequisites: &[&str], values: [&str; 2]) -> String {
    let list: String = prerequisites.iter().map(|one| format!("    - {one}\n")).collect();
    let prerequisites = if list.is_empty() { String::new() } else { format!("  prerequisites:\n{list}") };
    let [off, on] = values;
    format!(
        r#"disabled: false
content:
  variations:
    - {{ name: "off", value: "{off}" }}
    - {{ name: "on", value: "{on}" }}
{prerequisites}  rules:
    - name: adults
      conditions:
        - {{ type: number, subject: age, predicate: ">", objects: ["18"] }}
      serve: {{ select: 1 }}
  disabledServe: {{ select: 0 }}
  defaultServe: {{ select: 0 }}
"#
    )
}

fn needs(key: &str) -> String {
    format!("{{ key: {key}, type: boolean, value: \"true\" }}")
}

const SWITCH: [&str; 2] = ["false", "true"];

/// The forms that show each change, with the toggles that need it beside it. The others have notes.
const OF_CHANGES: [&str; 3] = ["human", "json", "markdown"];

fn featureprobe(run: Gitoggle) -> Gitoggle {
    run.set("service-kind", "featureprobe")
}

/// Returns the findings of a run that prints JSON, as `file:line:column id`.
fn found(run: Gitoggle) -> Vec<String> {
    let json = featureprobe(run).set("output", "json").exit_in(&[0, 3, 4]).any_stderr().json();
    let findings = json["findings"].as_array().unwrap().iter();
    let shown = findings.map(|one| {
        let text = |member: &str| one[member].as_str().unwrap().to_owned();
        format!("{}:{}:{} {}", text("file"), one["line"], one["column"], text("id"))
    });
    shown.collect()
}

/// What is wrong with the documents of a repository, and the files that solve it as the help says.
struct Case {
    files: Vec<(&'static str, String)>,
    findings: &'static [&'static str],
    fix: Vec<(&'static str, String)>,
}

fn cases() -> Vec<Case> {
    let base = || ("shop/prod/base.yaml", toggle(&[], SWITCH));
    let search = |prerequisite: &str| ("shop/prod/search.yaml", toggle(&[prerequisite], SWITCH));
    let color = || ("shop/prod/color.yaml", toggle(&[], ["red", "green"]));
    let numbers = || ("shop/prod/base.yaml", toggle(&[], ["1", "2"]));
    let spoilt = toggle(&[&needs("search")], SWITCH)
        .replace("defaultServe: { select: 0 }", "defaultServe: { select: 7 }");
    vec![
        Case {
            files: vec![search(&needs("search"))],
            findings: &["shop/prod/search.yaml:7:14 prerequisite-cycle"],
            fix: vec![("shop/prod/search.yaml", toggle(&[], SWITCH))],
        },
        Case {
            files: vec![("shop/prod/base.yaml", toggle(&[&needs("search")], SWITCH)), search(&needs("base"))],
            findings: &[
                "shop/prod/base.yaml:7:14 prerequisite-cycle",
                "shop/prod/search.yaml:7:14 prerequisite-cycle",
            ],
            fix: vec![base()],
        },
        Case {
            files: vec![base(), search(&needs("Base"))],
            findings: &["shop/prod/search.yaml:7:14 prerequisite-case"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search(&needs("bsae"))],
            findings: &["shop/prod/search.yaml:7:14 unknown-prerequisite"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search(&needs("shop/prod/base"))],
            findings: &["shop/prod/search.yaml:7:14 unknown-prerequisite"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search(&needs("base.yaml"))],
            findings: &["shop/prod/search.yaml:7:14 unknown-prerequisite"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search("{ key: base, type: string, value: \"true\" }")],
            findings: &["shop/prod/search.yaml:7:26 prerequisite-other-type"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![color(), search(&needs("color"))],
            findings: &["shop/prod/search.yaml:7:27 prerequisite-other-type"],
            fix: vec![search("{ key: color, type: string, value: red }")],
        },
        Case {
            files: vec![color(), search("{ key: color, type: string, value: gren }")],
            findings: &["shop/prod/search.yaml:7:42 prerequisite-no-variation"],
            fix: vec![search("{ key: color, type: string, value: green }")],
        },
        Case {
            files: vec![base(), search("{ key: base, type: str, value: \"true\" }")],
            findings: &["shop/prod/search.yaml:7:26 prerequisite-type"],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![base(), search("{ key: Base, type: number, value: \"true\" }")],
            findings: &[
                "shop/prod/search.yaml:7:14 prerequisite-case",
                "shop/prod/search.yaml:7:26 prerequisite-other-type",
            ],
            fix: vec![search(&needs("base"))],
        },
        Case {
            files: vec![numbers(), search("{ key: base, type: string, value: blue }")],
            findings: &["shop/prod/search.yaml:7:41 prerequisite-no-variation"],
            fix: vec![search("{ key: base, type: number, value: \"2\" }")],
        },
        Case {
            // The other mistake in `base` does not hide the circle.
            files: vec![("shop/prod/base.yaml", spoilt), search(&needs("base"))],
            findings: &[
                "shop/prod/base.yaml:7:14 prerequisite-cycle",
                "shop/prod/base.yaml:14:27 select-out-of-range",
                "shop/prod/search.yaml:7:14 prerequisite-cycle",
            ],
            fix: vec![base()],
        },
        Case {
            files: vec![base(), ("shop/staging/base.yaml", toggle(&[], ["red", "true"]))],
            findings: &[
                "shop/prod/base.yaml:3:3 type-disagreement",
                "shop/staging/base.yaml:3:3 type-disagreement",
            ],
            fix: vec![("shop/staging/base.yaml", toggle(&[], SWITCH))],
        },
    ]
}

#[test]
fn every_path_that_checks_finds_the_same_and_the_help_solves_it() {
    for Case { files, findings, fix } in cases() {
        let world = World::new();
        for (path, text) in &files {
            world.repo.file(path, text);
        }
        world.repo.commit("Add toggles");
        let plan = || world.plan().set("first-pass", "assert");
        assert_eq!(found(world.validate()), findings);
        assert_eq!(found(world.validate().set("ref", "main")), findings, "a revision");
        assert_eq!(found(plan()), findings, "a plan");
        assert_eq!(found(plan().arg("--worktree")), findings, "a plan of the work tree");
        for (path, _) in &files {
            let own: Vec<&str> = findings.iter().copied().filter(|found| found.starts_with(path)).collect();
            assert_eq!(found(world.validate().arg(world.repo.path().join(path))), own, "{path}");
        }
        for (path, text) in &fix {
            world.repo.file(path, text);
        }
        assert_eq!(found(world.validate()), [""; 0], "corrected");
    }
}

#[test]
fn the_help_on_what_is_no_type_names_the_type_of_the_other_document() {
    const OTHERS: [(&str, [&str; 2]); 4] =
        [("flag", SWITCH), ("limit", ["10", "20"]), ("color", ["red", "green"]), ("conf", ["[1]", "[2]"])];
    const WORDS: [&str; 10] =
        ["str", "bool", "int", "integer", "float", "double", "text", "object", "Boolean", "nubmer"];
    let world = World::new();
    for (key, values) in OTHERS {
        world.repo.file(&format!("shop/prod/{key}.yaml"), toggle(&[], values));
    }
    let mut rng = Rng::with_seed(39);
    let search = |key: &str, kind: &str, value: &str| {
        toggle(&[&format!("{{ key: {key}, type: {kind}, value: \"{value}\" }}")], SWITCH)
    };
    let needed: Vec<_> = (0..SEEDS)
        .map(|number| {
            let ((key, values), word) = (OTHERS[rng.usize(0..4)], WORDS[rng.usize(0..10)]);
            let (path, value) = (format!("shop/prod/s{number:02}.yaml"), values[rng.usize(0..2)]);
            world.repo.file(&path, search(key, word, value));
            (path, key, value)
        })
        .collect();
    let json = featureprobe(world.validate()).set("output", "json").exit(3).any_stderr().json();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), needed.len());
    for (finding, (path, key, value)) in findings.iter().zip(&needed) {
        let text = |member: &str| finding[member].as_str().unwrap();
        assert_eq!((text("id"), text("file")), ("prerequisite-type", path.as_str()));
        let kind = text("help").strip_prefix("write `type: ").and_then(|rest| rest.split('`').next());
        world.repo.file(path, search(key, kind.unwrap_or_else(|| panic!("{finding}")), value));
    }
    let left = found(world.validate());
    // Of JSON, there is a warning at the type that is right.
    assert!(left.iter().all(|found| found.ends_with(" json-prerequisite")), "{left:?}");
    // Without the other document, only the word itself tells what is meant.
    world.repo.remove("shop/prod/flag.yaml").file("shop/prod/s00.yaml", search("flag", "bolean", "true"));
    let plan = featureprobe(world.validate()).exit(3);
    plan.stdout_contains(&["prerequisite-type", "did you mean `boolean`?"]).any_output();
}

#[test]
fn a_branch_shows_what_it_breaks_in_documents_that_it_leaves_as_they_are() {
    let color = |values| ("shop/prod/color.yaml", toggle(&[], values));
    let red = "{ key: color, type: string, value: red }";
    let chain = || {
        let path = |number: usize| format!("shop/prod/s{number:02}.yaml");
        let link = |number: usize| (path(number), toggle(&[&needs(&format!("s{:02}", number + 1))], SWITCH));
        (0..19).map(link).chain([(path(19), toggle(&[], SWITCH))]).collect::<Vec<_>>()
    };
    let world = World::new();
    let repo = &world.repo;
    for (path, text) in chain() {
        repo.file(&path, text);
    }
    // The base has a finding that the branch leaves.
    repo.file("shop/prod/old.yaml", toggle(&[&needs("nowhere"), red], SWITCH));
    repo.file("shop/prod/search.yaml", toggle(&[red], SWITCH));
    repo.file("shop/prod/color.yaml", color(["red", "green"]).1).commit("Add toggles");
    let on_main = found(world.validate());
    assert_eq!(on_main, ["shop/prod/old.yaml:7:14 unknown-prerequisite"]);
    type Files = Vec<(&'static str, Option<String>)>;
    let branches: [(Files, i32); 5] = [
        (vec![("shop/prod/color.yaml", Some(color(["navy", "green"]).1))], 3),
        // The values may be texts, and none of them is the one that is needed.
        (vec![("shop/prod/color.yaml", Some(color(["1", "2"]).1))], 3),
        (vec![("shop/prod/color.yaml", None)], 0),
        (vec![("shop/prod/color.yaml", None), ("shop/prod/Color.yaml", Some(color(["red", "green"]).1))], 3),
        (
            vec![
                ("shop/prod/s19.yaml", Some(toggle(&[&needs("s20")], SWITCH))),
                ("shop/prod/s20.yaml", Some(toggle(&[], SWITCH))),
            ],
            3,
        ),
    ];
    for (number, (files, code)) in branches.into_iter().enumerate() {
        repo.checkout("main");
        let branch = format!("b{number}");
        repo.branch(&branch);
        for (path, text) in files {
            match text {
                Some(text) => repo.file(path, text),
                None => repo.remove(path),
            };
        }
        repo.commit("Change it");
        let mut caused = found(world.validate());
        caused.retain(|finding| !on_main.contains(finding));
        assert!(!caused.is_empty());
        let plans = [
            world.local("plan").set("from", "main").set("to", &branch),
            world.local("plan").arg("--pull-request").set("target", "main"),
        ];
        for plan in plans {
            let mut shown = found(plan.clone());
            // A comparison also finds what only the changed files say.
            shown.retain(|finding| finding.contains("prerequisite"));
            assert_eq!(shown, caused, "{branch}");
            featureprobe(plan).exit(code).any_output();
        }
    }
}

#[test]
fn what_a_commit_breaks_in_documents_that_it_leaves_as_they_are_is_found_and_held_by_every_command() {
    let service = LiveService::start(&json!([]));
    let repo = &service.world.repo;
    repo.file("shop/prod/color.yaml", toggle(&[], ["red", "green"]));
    let red = "{ key: color, type: string, value: red }";
    repo.file("shop/prod/search.yaml", toggle(&[red], SWITCH)).commit("Add toggles");
    let apply = || service.apply().set("on-missing", "create");
    apply().set("first-pass", "assert").exit(0).any_output();
    repo.file("shop/prod/color.yaml", toggle(&[], ["navy", "green"])).commit("Change a color");
    let expected = ["shop/prod/search.yaml:7:42 prerequisite-no-variation"];
    let plan = || service.connected(service.world.plan()).unset("timeout");
    assert_eq!(found(plan()), expected);
    assert_eq!(found(plan().arg("--live")), expected);
    plan().exit(3).any_output();
    let held = [
        "search.yaml:7:42",
        "held shop/prod/color",
        "the document of `search` needs a value that this change takes away",
    ];
    plan().exit(3).stdout_contains(&held).any_stderr();
    // A selection hides nothing that it breaks.
    let selected = || plan().set("only", "shop/prod/color");
    assert_eq!(found(selected()), expected);
    selected().exit(3).stdout_contains(&held).any_stderr();
    // A pass says the same until one of both is corrected, and changes nothing that would break the other.
    for _ in 0..2 {
        let requests = service.requests(|| drop(apply().exit(3).stdout_contains(&held).any_stderr()));
        assert!(!requests.iter().any(|one| one.starts_with("PATCH")), "{requests:?}");
    }
    // Another change of the same toggle is no reason to check others.
    let red = toggle(&[], ["red", "green"]);
    repo.file("shop/prod/color.yaml", red.replace("\"18\"", "\"21\"")).commit("Raise the age");
    apply().exit(0).any_output();
    let navy = "{ key: color, type: string, value: navy }";
    repo.file("shop/prod/color.yaml", toggle(&[], ["navy", "green"]));
    repo.file("shop/prod/search.yaml", toggle(&[navy], SWITCH)).commit("Change both");
    apply().exit(0).any_output();
}

#[test]
fn a_change_waits_for_a_prerequisite_that_is_not_applied_and_that_the_service_does_not_have() {
    let service = LiveService::start(&json!([unconfigured("search")]));
    commit(&service, &[("search", &[])], "Add search");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    // The service does not have `new`, and nothing creates it.
    commit(&service, &[("new", &[]), ("search", &["new"])], "Let search need new");
    let held = ["held shop/prod/search", "its prerequisite `new` is not applied"];
    let versions = service.versions("search").len();
    let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
    plan.exit(4)
        .stdout_contains(&["its prerequisite `new` is not applied", "nothing to publish"])
        .any_stderr();
    service.apply().exit(4).stdout_contains(&held).any_stderr();
    assert_eq!(service.versions("search").len(), versions);
    // So it does if that document is outside of the scope.
    let only = service.apply().set("only", "shop/prod/search").set("on-missing", "create");
    only.exit(4).stdout_contains(&held).any_stderr();
    assert_eq!(service.versions("search").len(), versions);
    // Those that need the held one wait, too, whatever holds it.
    let spoilt = "disabled: maybe\n";
    service.world.repo.file("shop/prod/new.yaml", spoilt);
    commit(&service, &[("app", &["search"]), ("late", &["new"]), ("later", &["late"])], "Add more");
    let apply = || service.apply().set("on-missing", "create");
    let sent = service.requests(|| {
        let held = [held[0], "held shop/prod/late ", "held shop/prod/later", "applied shop/prod/app"];
        apply().exit_in(&[3, 4]).stdout_contains(&held).any_stderr();
    });
    assert_eq!(sent.iter().filter(|one| one.starts_with("PATCH")).count(), 1, "{sent:?}");
    commit(&service, &[("new", &[])], "Correct it");
    apply().exit(0).stdout_contains(&["applied 4 of 4 changes"]).any_stderr();
}

#[test]
fn a_number_that_no_variation_has_is_answered_with_all_values() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], ["1", "2"]));
    let needs = "{ key: base, type: number, value: \"3\" }";
    world.repo.file("shop/prod/search.yaml", toggle(&[needs], SWITCH)).commit("Add toggles");
    let validate = featureprobe(world.validate()).exit(3);
    validate.stdout_contains(&["its values are `1` and `2`"]).never_says(&["did you mean"]).any_output();
}

#[test]
fn an_invalid_reference_holds_its_document_and_publishes_the_others() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world
        .repo
        .file("shop/prod/search.yaml", toggle(&["{ key: base, type: string, value: \"true\" }"], SWITCH));
    world.repo.commit("Add toggles");
    let plan = featureprobe(world.plan()).set("first-pass", "assert").exit(3);
    plan.stdout_contains(&[
        "shop/prod/search.yaml:7:26",
        "held shop/prod/search",
        "the document is invalid; nothing is published for this toggle before it is valid",
        "1 to publish: 1 create",
    ])
    .stderr("note: an asserted first pass replaces what the service has; `gitoggle plan --live` lists it\n");
}

#[test]
fn a_file_that_is_checked_alone_says_nothing_about_the_others() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop/prod/search.yaml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (prerequisite, findings) in
        [("base", &[][..]), ("search", &["shop/prod/search.yaml:7:14 prerequisite-cycle"])]
    {
        std::fs::write(&path, toggle(&[&needs(prerequisite)], SWITCH)).unwrap();
        assert_eq!(found(world.bare("validate").arg(&path)), findings);
    }
    // The folder has all documents.
    std::fs::write(&path, toggle(&[&needs("base")], SWITCH)).unwrap();
    let findings = ["shop/prod/search.yaml:7:14 unknown-prerequisite"];
    assert_eq!(found(world.bare("validate").arg(folder.path())), findings);
}

#[test]
fn documents_in_another_layout_refer_to_each_other() {
    let world = World::new();
    let layout = "{environment}/{project}/toggles/{toggle}.yaml";
    world.repo.file("prod/shop/toggles/base.yaml", toggle(&[&needs("search")], SWITCH));
    world.repo.file("prod/shop/toggles/search.yaml", toggle(&[&needs("base"), &needs("bsae")], SWITCH));
    world.repo.file("staging/shop/toggles/base.yaml", toggle(&[], ["red", "green"]));
    world.repo.commit("Add toggles");
    let expected = [
        "prod/shop/toggles/base.yaml:3:3 type-disagreement",
        "prod/shop/toggles/base.yaml:7:14 prerequisite-cycle",
        "prod/shop/toggles/search.yaml:7:14 prerequisite-cycle",
        "prod/shop/toggles/search.yaml:8:14 unknown-prerequisite",
        "staging/shop/toggles/base.yaml:3:3 type-disagreement",
    ];
    assert_eq!(found(world.validate().set("layout", layout)), expected);
    assert_eq!(found(world.plan().set("layout", layout).set("first-pass", "assert")), expected);
}

/// The service takes both for one toggle.
#[test]
fn a_key_that_another_environment_spells_otherwise_is_named_at_both() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/staging/Pay.yaml", toggle(&[], SWITCH));
    world.repo.file("web/prod/PAY.yaml", toggle(&[], SWITCH)).commit("Add toggles");
    assert_eq!(
        found(world.validate()),
        ["shop/prod/pay.yaml:2:1 case-only-difference", "shop/staging/Pay.yaml:2:1 case-only-difference"]
    );
    featureprobe(world.validate()).exit(0).stdout_contains(&[
        "`shop/staging/Pay.yaml` spells the key of this toggle `Pay`, and not `pay`",
        "rename one of the files",
    ]);
    // The help solves it.
    world.repo.remove("shop/staging/Pay.yaml").file("shop/staging/pay.yaml", toggle(&[], SWITCH));
    assert_eq!(found(world.validate()), Vec::<String>::new());
}

/// The files were renamed by mistake, so to write the new name would lead further away.
#[test]
fn a_prerequisite_that_another_environment_spells_so_leads_to_a_renamed_file() {
    let world = World::new();
    world.repo.file("shop/prod/Base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/test/base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/prod/search.yaml", toggle(&[&needs("base")], SWITCH)).commit("Add toggles");
    featureprobe(world.validate()).exit(3).any_output().stdout_contains(&[
        "`base` differs from the toggle `Base` only in case",
        "rename the document of `Base` to `base`, as in another environment, or write `Base`: the service takes both",
    ]);
    world.repo.remove("shop/prod/Base.yaml").file("shop/prod/base.yaml", toggle(&[], SWITCH));
    assert_eq!(found(world.validate()), Vec::<String>::new());
}

/// The service has a prerequisite that no document says.
#[test]
fn a_circle_that_only_the_service_closes_is_held_by_a_live_plan() {
    let service = LiveService::start(&json!([unconfigured("base"), unconfigured("search")]));
    commit(&service, &[("search", &[]), ("base", &["search"])], "Add both");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    service.world.repo.remove("shop/prod/base.yaml");
    commit(&service, &[("search", &["base"])], "Turn it around");
    let plan = || service.connected(service.world.plan()).unset("timeout");
    plan().arg("--live").exit(4).any_stderr().stdout_contains(&[
        "held shop/prod/search",
        "with what the service has of `base`, which has no document, prerequisites would form a circle",
    ]);
}

#[test]
fn a_circle_that_somebody_closes_on_the_service_is_held_by_plan_and_apply_in_the_same_words() {
    for has_document in [true, false] {
        let service = LiveService::start(&json!(["a", "m", "z"].map(unconfigured)));
        let documents: &[(&str, &[&str])] = &[("a", &[]), ("m", &[]), ("z", &[])];
        commit(&service, documents, "Add toggles");
        service.apply().set("first-pass", "assert").exit(0).any_output();
        if !has_document {
            service.world.repo.remove("shop/prod/a.yaml").commit("Remove a");
            service.apply().set("on-remove", "forget").exit(0).any_output();
        }
        let mut content = service.request("GET", &targeting("a"), None)["content"].clone();
        content["prerequisites"] = json!([{ "key": "z", "value": "true", "type": "boolean" }]);
        service.edit("a", json!({ "comment": "by hand", "disabled": false, "content": content }));
        commit(&service, &[("z", &["a"]), ("m", &[])], "Let z need a");
        let why = if has_document { "which was changed there" } else { "which has no document" };
        let reason = format!("with what the service has of `a`, {why}, prerequisites would form a circle");
        let held: &[&str] = &["held shop/prod/z", &reason];
        let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
        plan.exit(4).any_stderr().stdout_contains(held);
        let apply = service.apply().exit(4).any_stderr().stdout_contains(held);
        apply.never_says(&["failed shop/prod/z", "dependency.cycle"]);
        // Once the service has no circle, the change is sent.
        content["prerequisites"] = json!([]);
        service.edit("a", json!({ "comment": "again", "disabled": false, "content": content }));
        service.apply().exit(0).any_stderr().stdout_contains(&["applied shop/prod/z (update)"]);
    }
}

/// Returns which of `keys` need which, without a circle. Some have no entry.
fn random_needs(
    rng: &mut Rng,
    keys: &[&'static str],
    are_all: bool,
) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut order: Vec<&str> = keys.iter().copied().filter(|_| are_all || rng.u8(0..6) > 0).collect();
    rng.shuffle(&mut order);
    let needed =
        |place: usize, rng: &mut Rng| order[..place].iter().copied().filter(|_| rng.u8(0..3) == 0).collect();
    (0..order.len()).map(|place| (order[place], needed(place, rng))).collect()
}

/// Somebody changes what toggles need on the service, some documents are removed or invalid, and some changes are out
/// of scope.
#[test]
fn a_plan_holds_what_the_pass_holds_of_random_circles() {
    const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];
    let mut circles = 0;
    for seed in 0..SEEDS {
        let mut rng = Rng::with_seed(seed);
        let service = LiveService::start(&json!(KEYS.map(unconfigured)));
        let documents = |all: &BTreeMap<&'static str, Vec<&'static str>>, message: &str| {
            let all: Vec<_> = all.iter().map(|(key, needed)| (*key, needed.as_slice())).collect();
            commit(&service, &all, message);
        };
        documents(&random_needs(&mut rng, &KEYS, true), "Add toggles");
        service.apply().set("first-pass", "assert").exit(0).any_output();
        let edited: Vec<&str> = KEYS.into_iter().filter(|_| rng.u8(0..4) == 0).collect();
        for key in edited {
            let mut content = service.request("GET", &targeting(key), None)["content"].clone();
            let needed = KEYS.into_iter().filter(|other| *other != key && rng.u8(0..3) == 0);
            let needed = needed.map(|key| json!({ "key": key, "value": "true", "type": "boolean" }));
            content["prerequisites"] = needed.collect();
            // The service refuses what would form a circle.
            service.edit(key, json!({ "comment": "by hand", "disabled": false, "content": content }));
        }
        let next = random_needs(&mut rng, &KEYS, false);
        for key in KEYS.into_iter().filter(|key| !next.contains_key(key)) {
            service.world.repo.remove(&format!("shop/prod/{key}.yaml"));
        }
        documents(&next, "Change who needs whom");
        if rng.u8(0..4) == 0 {
            let spoilt = format!("shop/prod/{}.yaml", rng.choice(next.keys()).unwrap());
            service.world.repo.file(&spoilt, "disabled: maybe\n").commit("Make a mistake");
        }
        let on_drift = *rng.choice(&["hold", "overwrite"]).unwrap();
        let only = if rng.u8(0..4) == 0 { "shop/prod/[abc]" } else { "shop/prod/*" };
        let in_flight = rng.u8(1..5).to_string();
        let run = |run: Gitoggle| {
            let run = run.set("on-drift", on_drift).set("only", only).set("on-remove", "keep");
            let run = run.arg("--allow-mass-change").set("output", "json");
            run.exit_in(&[0, 1, 3, 4]).any_stderr().json()
        };
        let plan = || service.connected(service.world.plan()).unset("timeout");
        let held = |json: &Value| {
            let all = json["held"].as_array().unwrap().iter();
            let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
            all.map(|one| (text(one, "toggle"), text(one, "reason"))).collect::<BTreeMap<_, _>>()
        };
        let (offline, live) = (held(&run(plan())), held(&run(plan().arg("--live"))));
        let applied = run(service.apply().set("max-in-flight-per-environment", &in_flight));
        let pass = held(&applied);
        let case = || {
            let repo = service.world.repo.path().display();
            format!("seed {seed}, {on_drift}, {only}, {repo}: {offline:#?} {live:#?} {pass:#?}")
        };
        assert_eq!(applied["summary"]["failed"], 0, "{}", case());
        assert_eq!(live, pass, "{}", case());
        let is_known = |toggle: &String| pass.contains_key(toggle);
        assert!(offline.keys().all(is_known), "{}", case());
        circles += pass.values().filter(|reason| reason.contains("a circle")).count();
    }
    assert!(circles > 2, "{circles} circles");
}

#[test]
fn a_change_that_makes_the_chain_of_another_document_too_long_is_held() {
    let name = |at: usize| format!("t{at:02}");
    let service = LiveService::start(&json!((0..=20).map(|at| unconfigured(&name(at))).collect::<Vec<_>>()));
    let write = |at: usize, needed: &[usize]| {
        let needed: Vec<String> = needed.iter().map(|at| needs(&name(*at))).collect();
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        service.world.repo.file(&format!("shop/prod/{}.yaml", name(at)), toggle(&needed, SWITCH));
    };
    for at in 0..=20 {
        if matches!(at, 9 | 20) { write(at, &[]) } else { write(at, &[at + 1]) }
    }
    service.world.repo.commit("Add two chains");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    write(9, &[10]);
    service.world.repo.commit("Connect the chains");
    const HELD: &[&str] = &[
        "held shop/prod/t09",
        "with this change, the chain of prerequisites of `t00` has 20 steps, over the limit of 19",
        "shop/prod/t00.yaml",
    ];
    service.connected(service.world.plan()).unset("timeout").exit(3).any_stderr().stdout_contains(HELD);
    let requests =
        service.requests(|| drop(service.apply().exit_in(&[3, 4]).any_stderr().stdout_contains(HELD)));
    assert!(!requests.iter().any(|request| request.starts_with("PATCH")), "{requests:?}");
    let range = service.connected(service.world.plan()).unset("timeout").set("from", "HEAD~1");
    range.exit(3).any_stderr().stdout_contains(HELD);
    write(12, &[14]);
    service.world.repo.commit("Shorten the chain");
    let apply = service.apply().exit(0).any_stderr();
    apply.stdout_contains(&["applied shop/prod/t09 (update)", "applied shop/prod/t12 (update)"]);
}

#[test]
fn only_the_documented_kind_has_no_references() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/staging/base.yaml", toggle(&[], ["a", "b"]));
    world.repo.commit("Add toggles");
    world.validate().exit(0).stdout("checked 2 documents: no findings\n");
}

/// A toggle of the sandbox that was never configured.
fn unconfigured(key: &str) -> Value {
    let variation = |name: &str, value: &str| json!({ "name": name, "value": value, "description": "" });
    json!({ "key": key, "returnType": "boolean", "variations": [variation("off", "false"), variation("on", "true")] })
}

/// Commits documents of `shop/prod`, each with the keys that it needs.
fn commit(service: &LiveService, documents: &[(&str, &[&str])], message: &str) {
    for (key, keys) in documents {
        let needed: Vec<String> = keys.iter().map(|key| needs(key)).collect();
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        service.world.repo.file(&format!("shop/prod/{key}.yaml"), toggle(&needed, SWITCH));
    }
    service.world.repo.commit(message);
}

/// Applies, and returns the toggles in the order in which they were sent.
fn sent(service: &LiveService) -> Vec<String> {
    let all = service.requests(|| {
        let apply = service.apply().set("first-pass", "assert").arg("--allow-mass-change");
        apply.set("max-in-flight-per-environment", "8").exit(0).any_output();
    });
    let patched = all.iter().filter_map(|request| request.strip_prefix("PATCH ")?.split_once('/'));
    patched.map(|(key, _)| key.to_owned()).collect()
}

#[test]
fn a_commit_that_reverses_who_needs_whom_is_published() {
    let keys = ["a", "m", "z"];
    let service = LiveService::start(&json!(keys.map(unconfigured)));
    commit(&service, &[("a", &["m"]), ("m", &["z"]), ("z", &[])], "Add toggles");
    assert_eq!(sent(&service), ["z", "m", "a"], "each after those that it needs");
    commit(&service, &[("a", &[]), ("m", &["a"]), ("z", &["m"])], "Reverse them");
    assert_eq!(sent(&service), ["a", "m", "z"]);
    commit(&service, &[("a", &["z"]), ("m", &[]), ("z", &[])], "Shorten the chain");
    assert_eq!(sent(&service).last().map(String::as_str), Some("a"), "the one that gains comes last");
}

#[test]
fn a_new_toggle_is_created_before_those_that_need_it() {
    let service = LiveService::start(&json!([unconfigured("a")]));
    commit(&service, &[("a", &["new"]), ("new", &[])], "Add toggles");
    let apply = service.apply().set("first-pass", "assert").set("on-missing", "create");
    let requests =
        service.requests(|| drop(apply.set("max-in-flight-per-environment", "8").exit(0).any_output()));
    let place = |wanted: &str| requests.iter().position(|request| request.starts_with(wanted)).unwrap();
    assert!(place("PATCH new/") < place("PATCH a/"), "{requests:?}");
}

#[test]
fn what_the_service_refused_is_tried_once_more_after_the_others() {
    for (last, status) in [(Answer::applied(), 0), (Answer::json(400, r#"{"message": "no"}"#), 1)] {
        let world = World::new();
        for key in ["a", "m", "z"] {
            world.repo.file(&format!("shop/prod/{key}.yaml"), doc(18));
        }
        world.repo.commit("Add toggles");
        let refusal = || Answer::json(400, r#"{"message": "not before m"}"#);
        world.service.answers([refusal(), Answer::applied(), Answer::applied(), last]);
        world.apply().set("first-pass", "assert").set("max-in-flight", "1").exit(status).any_output();
        let sent: Vec<String> = world.service.take().iter().map(Request::toggle).collect();
        assert_eq!(sent, ["shop/prod/a", "shop/prod/m", "shop/prod/z", "shop/prod/a"]);
    }
    let world = World::new();
    world.repo.file("shop/prod/a.yaml", doc(18)).commit("Add a");
    world.service.always(|_| Answer::json(400, r#"{"message": "no"}"#));
    world.apply().set("first-pass", "assert").exit(1).any_output();
    assert_eq!(world.service.take().len(), 1, "nothing else was applied");
}

#[test]
fn a_change_waits_for_another_one_that_is_out_of_scope() {
    let service = LiveService::start(&json!([unconfigured("a"), unconfigured("z")]));
    commit(&service, &[("z", &[]), ("a", &["z"])], "Add toggles");
    assert_eq!(sent(&service), ["z", "a"]);
    commit(&service, &[("a", &[]), ("z", &["a"])], "Reverse them");
    let said = ["held shop/prod/z", "waits for the change of `a`, which is not applied", "a circle"];
    let plan = service.connected(service.world.plan()).unset("timeout").set("only", "shop/prod/z");
    plan.exit(4).stdout_contains(&said).any_stderr();
    let apply = || service.apply().set("only", "shop/prod/z").exit(4).stdout_contains(&said).any_stderr();
    let requests = service.requests(|| drop(apply()));
    assert!(!requests.iter().any(|one| one.starts_with("PATCH")), "{requests:?}");
    assert_eq!(sent(&service), ["a", "z"]);
}

#[test]
fn a_value_is_neither_asked_for_nor_taken_away_while_the_other_toggle_keeps_what_is_applied() {
    let texts = |key: &str| {
        let mut toggle = unconfigured(key);
        toggle["returnType"] = json!("string");
        toggle
    };
    let service = LiveService::start(&json!([texts("base"), unconfigured("user")]));
    let repo = &service.world.repo;
    let asks = |value: &str| format!("{{ key: base, type: string, value: {value} }}");
    let write = |values: [&str; 2], value: &str| {
        repo.file("shop/prod/base.yaml", toggle(&[], values));
        repo.file("shop/prod/user.yaml", toggle(&[&asks(value)], SWITCH)).commit("Change both");
    };
    write(["x", "y"], "y");
    assert_eq!(sent(&service), ["base", "user"]);
    // Both commits have it right, and each change alone breaks the prerequisite.
    write(["x", "z"], "z");
    for (only, other, why) in [
        ("user", "base", "asks for a value that it serves only then"),
        ("base", "user", "needs a value of this one that this change takes away"),
    ] {
        let held = format!("held shop/prod/{only}");
        let waits = format!("waits for the change of `{other}`, which is not applied");
        let said = [held.as_str(), waits.as_str(), why];
        let only = format!("shop/prod/{only}");
        for args in [&[][..], &["--live"]] {
            let plan = service.connected(service.world.plan()).unset("timeout").set("only", &only);
            args.iter().copied().fold(plan, Gitoggle::arg).exit(4).stdout_contains(&said).any_stderr();
        }
        let apply = || service.apply().set("only", &only).exit(4).stdout_contains(&said).any_stderr();
        let requests = service.requests(|| drop(apply()));
        assert!(!requests.iter().any(|one| one.starts_with("PATCH")), "{requests:?}");
    }
    // The same of a document that is invalid.
    repo.file("shop/prod/user.yaml", "disabled: maybe\n").commit("Make a mistake");
    let said = ["held shop/prod/base", "waits for the change of `user`"];
    service.apply().exit(3).stdout_contains(&said).any_stderr();
    write(["x", "z"], "z");
    assert_eq!(sent(&service), ["base", "user"]);
    // What is switched off before and after keeps nobody back.
    let off =
        |age: &str| toggle(&[], ["x", "z"]).replace("disabled: false", "disabled: true").replace("18", age);
    repo.file("shop/prod/base.yaml", off("18")).commit("Switch it off");
    assert_eq!(sent(&service), ["base"]);
    repo.file("shop/prod/base.yaml", off("21"));
    repo.file("shop/prod/user.yaml", toggle(&[&asks("x")], SWITCH)).commit("Change both");
    service
        .apply()
        .set("only", "shop/prod/user")
        .exit(0)
        .any_stderr()
        .stdout_contains(&["applied shop/prod/user"]);
}

#[test]
fn a_change_waits_for_another_one_that_is_held_and_is_sent_with_it() {
    let service = LiveService::start(&json!([unconfigured("a"), unconfigured("z")]));
    commit(&service, &[("a", &[]), ("z", &["a"])], "Add toggles");
    assert_eq!(sent(&service), ["a", "z"]);
    service.edit("z", json!({ "comment": "by hand", "disabled": true }));
    commit(&service, &[("a", &["z"]), ("z", &[])], "Reverse them");
    let said = ["held shop/prod/a", "waits for the change of `z`, which is not applied", "a circle"];
    let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
    plan.exit(4).stdout_contains(&said).any_stderr();
    let requests = service.requests(|| drop(service.apply().exit(4).stdout_contains(&said).any_stderr()));
    assert!(!requests.iter().any(|one| one.starts_with("PATCH")), "{requests:?}");
    service.apply().set("on-drift", "overwrite").exit(0).any_output();
    // An invalid document keeps what was applied as well.
    service.world.repo.file("shop/prod/a.yaml", "disabled: maybe\n");
    commit(&service, &[("z", &["a"])], "Reverse them again, with a mistake");
    service
        .apply()
        .exit(3)
        .stdout_contains(&["held shop/prod/z", "waits for the change of `a`"])
        .any_stderr();
    commit(&service, &[("a", &[])], "Correct it");
    assert_eq!(sent(&service), ["a", "z"]);
}

#[test]
fn a_toggle_is_switched_off_after_those_that_do_not_need_it_anymore() {
    let service = LiveService::start(&json!(["a", "b", "z"].map(unconfigured)));
    commit(&service, &[("a", &[]), ("b", &["a"]), ("z", &["a"])], "Add toggles");
    assert_eq!(sent(&service)[0], "a");
    commit(&service, &[("b", &[]), ("z", &[])], "Need it no more");
    let off = toggle(&[], SWITCH).replacen("disabled: false", "disabled: true", 1);
    service.world.repo.file("shop/prod/a.yaml", off).commit("Switch it off");
    assert_eq!(sent(&service)[2], "a");
}

#[test]
fn what_the_service_refused_is_tried_again_when_a_toggle_that_it_needs_changes() {
    let service = LiveService::start(&json!([unconfigured("a"), unconfigured("z")]));
    commit(&service, &[("a", &[]), ("z", &["a"])], "Add toggles");
    assert_eq!(sent(&service), ["a", "z"]);
    // `z` is not sent, because a change of it on the service is held, so `a` is refused.
    service.edit("z", json!({ "comment": "by hand", "disabled": true }));
    commit(&service, &[("a", &["z"]), ("z", &[])], "Reverse them");
    let apply = || service.apply().set("max-in-flight-per-environment", "8");
    apply().exit_in(&[1, 4]).any_output();
    let needed = |key: &str| {
        let stored = service.request("GET", &targeting(key), None);
        stored["content"]["prerequisites"].as_array().unwrap().len()
    };
    assert_eq!((needed("a"), needed("z")), (0, 1));
    apply().set("on-drift", "overwrite").exit(0).any_output();
    assert_eq!((needed("a"), needed("z")), (1, 0));
}

#[test]
fn a_circle_with_a_removed_toggle_is_held_by_plan_and_apply_in_the_same_words() {
    for on_remove in ["keep", "disable", "forget"] {
        let service = LiveService::start(&json!(["a", "z"].map(unconfigured)));
        commit(&service, &[("a", &["z"]), ("z", &[])], "Add toggles");
        service.apply().set("first-pass", "assert").exit(0).any_output();
        service.world.repo.remove("shop/prod/a.yaml");
        commit(&service, &[("z", &["a"])], "Remove a, and let z need it");
        let held = [
            "held shop/prod/z",
            "with what the service has of `a`, which has no document, prerequisites would form a circle",
        ];
        let of_state = service.connected(service.world.plan()).unset("timeout");
        for plan in [of_state.clone(), plan_of_last_commit(&service.world), of_state.arg("--live")] {
            plan.set("on-remove", on_remove)
                .arg("--allow-mass-change")
                .exit(4)
                .any_stderr()
                .stdout_contains(&held);
        }
        let apply = || service.apply().set("on-remove", on_remove).arg("--allow-mass-change");
        let held = || drop(apply().exit(4).any_stderr().stdout_contains(&held).never_says(&["failed"]));
        for _ in 0..2 {
            let requests = service.requests(held);
            let is_sent = |request: &String| request.starts_with("PATCH z");
            assert!(!requests.iter().any(is_sent), "what is known is read and not sent: {requests:?}");
        }
        // As the reason says, one way out is to change `a` on the service.
        let mut content = service.request("GET", &targeting("a"), None)["content"].clone();
        content["prerequisites"] = json!([]);
        service.edit("a", json!({ "comment": "by hand", "disabled": false, "content": content }));
        apply().exit(0).any_stderr().stdout_contains(&["applied shop/prod/z (update)"]);
    }
}

#[test]
fn toggles_that_stay_as_they_are_on_the_service_are_named_and_counted() {
    let service = LiveService::start(&json!(["base", "broken", "fine", "removed"].map(unconfigured)));
    let all: &[(&str, &[&str])] =
        &[("base", &[]), ("broken", &["base"]), ("fine", &["base"]), ("removed", &["base"])];
    commit(&service, all, "Add toggles");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    let repo = &service.world.repo;
    repo.file("shop/prod/base.yaml", toggle(&[], SWITCH).replace("\"18\"", "\"21\""));
    // The last applied version needs `base`, and this one says nothing of it.
    repo.file("shop/prod/broken.yaml", toggle(&[], SWITCH).replace("select: 1", "select: 7"));
    repo.remove("shop/prod/removed.yaml").commit("Raise the age");
    let users = service.world.write("users.csv", "key,age\nu1,17\nu2,19\nu3,22\n");
    let of_state = service.connected(service.world.plan()).unset("timeout");
    for plan in [plan_of_last_commit(&service.world), of_state] {
        plan.clone().exit(3).any_stderr().stdout_contains(&["`broken`, `fine`, `removed` need this"]);
        plan.set("audience", &users).exit(3).any_stderr().stdout_contains(&[
            "`broken` needs this: 1 of 3 users switches",
            "`fine` needs this: 1 of 3 users switches",
            "`removed` needs this: 1 of 3 users switches",
        ]);
    }
}

/// A plan of `world` that compares with the revision before.
fn plan_of_last_commit(world: &World) -> Gitoggle {
    featureprobe(world.local("plan").set("from", "HEAD~1").set("to", "HEAD"))
}

#[test]
fn a_plan_names_the_toggles_that_need_the_one_it_changes_in_every_output() {
    let world = World::new();
    for (key, keys) in [("base", &[][..]), ("search", &["base"]), ("app", &["search"]), ("other", &[])] {
        let needed: Vec<String> = keys.iter().map(|key| needs(key)).collect();
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        world.repo.file(&format!("shop/prod/{key}.yaml"), toggle(&needed, SWITCH));
    }
    world.repo.commit("Add toggles");
    let changed = toggle(&[], SWITCH).replace("\"18\"", "\"21\"");
    world.repo.file("shop/prod/base.yaml", changed).commit("Raise the age");
    let plan = || plan_of_last_commit(&world);
    let sentence = "`search` needs this, and through others `app`";
    plan().exit(0).stdout_contains(&[sentence]);
    plan().set("output", "markdown").exit(0).stdout_contains(&["`search` needs this"]);
    let json = plan().set("output", "json").exit(0).any_stderr().json();
    assert_eq!(json["changes"][0]["sentences"].as_array().unwrap().last().unwrap(), sentence);
    let expected = json!([
        { "toggle": "shop/prod/search", "through_others": false },
        { "toggle": "shop/prod/app", "through_others": true },
    ]);
    assert_eq!(json["changes"][0]["needed_by"], expected);
    for output in OutputFormat::WORDS.iter().filter(|form| !OF_CHANGES.contains(form)) {
        plan().set("output", output).exit(0).any_stderr().stdout_contains(&["search` needs it"]);
    }
    // What is about a document is at its file.
    plan()
        .set("output", "github")
        .exit(0)
        .any_stderr()
        .stdout_contains(&["::notice file=shop/prod/base.yaml,title=note::"]);
    let json = |output| plan().set("output", output).exit(0).any_stderr().json();
    let gitlab = json("gitlab");
    let path = |one: &Value| one["location"]["path"].clone();
    assert!(
        gitlab.as_array().unwrap().iter().map(path).any(|path| path == "shop/prod/base.yaml"),
        "{gitlab}"
    );
    let notes = json("sarif")["runs"][0]["invocations"][0]["toolExecutionNotifications"].clone();
    let uri = |one: &Value| one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert!(notes.as_array().unwrap().iter().map(uri).any(|uri| uri == "shop/prod/base.yaml"), "{notes}");
    // `search` serves 19-year-olds another value, although its document is the same.
    let users = "key,age\nu1,17\nu2,19\nu3,22\n";
    let users = world.write("users.csv", users);
    let with_users = || plan().set("audience", &users);
    with_users().exit(0).stdout_contains(&[
        "1 of 3 users switches",
        "`search` needs this: 1 of 3 users switches",
        "`app` needs this: 1 of 3 users switches",
    ]);
    let json = with_users().set("output", "json").exit(0).any_stderr().json();
    assert_eq!(json["changes"][0]["needed_by"][1]["audience"]["switched"], 1);
    let markdown = with_users().set("output", "markdown").exit(0);
    markdown.stdout_contains(&["`search` needs this: 1 of 3 users switches"]);
}

#[test]
fn a_removed_document_that_others_need_is_a_warning_in_a_plan_and_for_validate() {
    let world = World::new();
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/prod/search.yaml", toggle(&[&needs("base")], SWITCH));
    world.repo.commit("Add toggles");
    world.repo.remove("shop/prod/base.yaml").commit("Remove base");
    let expected = ["shop/prod/search.yaml:7:14 unknown-prerequisite"];
    assert_eq!(found(world.validate()), expected);
    assert_eq!(found(plan_of_last_commit(&world)), expected);
    plan_of_last_commit(&world).exit(0).stdout_contains(&["orphan shop/prod/base", "`search` needs it"]);
    for output in OutputFormat::WORDS.iter().filter(|form| !OF_CHANGES.contains(form)) {
        let plan = plan_of_last_commit(&world).set("output", output).exit(0).any_stderr();
        plan.stdout_contains(&["orphan shop/prod/base: ", "search` needs it"]);
    }
    let markdown = plan_of_last_commit(&world).set("output", "markdown").exit(0);
    markdown.stdout_contains(&["`search` needs it"]);
}

#[test]
fn a_prerequisite_whose_document_the_commits_remove_is_no_misspelling() {
    let world = World::new();
    world.repo.file("shop/prod/accounts.yaml", toggle(&[], SWITCH));
    // A similar key, which is not meant.
    world.repo.file("shop/prod/account.yaml", toggle(&[], ["no", "yes"]));
    world.repo.file("shop/prod/search.yaml", toggle(&[&needs("accounts")], SWITCH)).commit("Add toggles");
    world.repo.branch("work").remove("shop/prod/accounts.yaml").commit("Remove accounts");
    let is_told = |plan: Gitoggle| {
        let help = "restore its document, or remove the prerequisite";
        let plan = featureprobe(plan).exit(0).any_stderr();
        plan.stdout_contains(&["of the toggle `accounts`: it was removed", help])
            .never_says(&["did you mean"]);
    };
    is_told(plan_of_last_commit(&world));
    for on_remove in ["keep", "disable", "forget"] {
        is_told(plan_of_last_commit(&world).set("on-remove", on_remove));
    }
    is_told(world.local("plan").arg("--pull-request").set("target", "main"));
    // The one that needs it changes as well.
    let text = toggle(&[&needs("accounts")], SWITCH).replace("disabled: false", "disabled: true");
    world.repo.file("shop/prod/search.yaml", text).commit("Change search");
    is_told(plan_of_last_commit(&world).set("from", "HEAD~2"));
    // Only a plan knows what there was before.
    featureprobe(world.validate()).exit(0).stdout_contains(&["did you mean `account`?"]).any_output();
}

#[test]
fn a_change_that_waits_for_a_removed_document_has_its_own_exit_code() {
    let world = World::new();
    world.repo.file("shop/prod/a.yaml", toggle(&[&needs("b")], SWITCH));
    world.repo.file("shop/prod/b.yaml", toggle(&[], SWITCH)).commit("Add toggles");
    world.repo.remove("shop/prod/a.yaml").file("shop/prod/b.yaml", toggle(&[&needs("a")], SWITCH));
    world.repo.commit("Reverse who needs whom, and remove one");
    let plan = || plan_of_last_commit(&world).set("on-remove", "keep");
    plan().exit(4).stdout_contains(&["held shop/prod/b", "would form a circle"]);
    plan().arg("--detailed-exitcode").exit(4).any_output();
    // An invalid document has its own.
    world.repo.file("shop/prod/c.yaml", "disabled: maybe\n").commit("Add an invalid one");
    plan().set("from", "HEAD~2").exit(3).any_output();
}

#[test]
fn what_a_changed_document_says_about_the_others_of_its_toggle_is_found_although_the_base_has_it() {
    let world = World::new();
    let document = |text: String| text.replace("disabled: false", "disabled: true");
    world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/staging/base.yaml", toggle(&[], ["red", "green"]));
    world.repo.file("shop/prod/pay.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/staging/Pay.yaml", toggle(&[], SWITCH));
    world.repo.file("shop/prod/other.yaml", toggle(&[], SWITCH)).commit("Add toggles");
    world.repo.file("shop/prod/other.yaml", document(toggle(&[], SWITCH))).commit("Change another one");
    assert_eq!(found(plan_of_last_commit(&world)), [""; 0]);
    world.repo.file("shop/prod/base.yaml", document(toggle(&[], SWITCH))).commit("Change one of them");
    assert_eq!(found(plan_of_last_commit(&world)), ["shop/prod/base.yaml:3:3 type-disagreement"]);
    world.repo.file("shop/staging/Pay.yaml", document(toggle(&[], SWITCH))).commit("Change a spelling");
    assert_eq!(found(plan_of_last_commit(&world)), ["shop/staging/Pay.yaml:2:1 case-only-difference"]);
}

#[test]
fn a_toggle_is_not_created_while_its_documents_disagree_about_its_type() {
    let waiver = "# gitoggle: allow(type-disagreement) both are texts\n  variations:";
    // Each document needs its own waiver, whether it is in scope or not.
    for (waived, status, kind) in [
        ([false, false], 4, Value::Null),
        ([true, false], 4, Value::Null),
        ([false, true], 4, Value::Null),
        ([true, true], 0, json!("string")),
    ] {
        let service = LiveService::start(&json!([]));
        let document = |values, waived| {
            let text = toggle(&[], values);
            if waived { text.replace("variations:", waiver) } else { text }
        };
        service.world.repo.file("shop/prod/new.yaml", document(SWITCH, waived[0]));
        service.world.repo.file("shop/test/new.yaml", document(["red", "green"], waived[1]));
        service.world.repo.commit("Add new");
        // Only the service knows whether it has the toggle.
        let plan = service.connected(service.world.plan()).unset("timeout").set("only", "shop/prod/*");
        let plan = plan.set("first-pass", "assert").set("on-missing", "create").exit(0).any_stdout();
        let note = "1 change (shop/prod/new) is held if the service does not have the toggle: its documents do not \
                    tell its type; `gitoggle plan --live` shows which";
        match status {
            0 => plan.any_stderr().never_says(&["does not have the toggle"]),
            _ => plan.stderr_contains(&[note]),
        };
        let live =
            service.connected(service.world.plan()).unset("timeout").set("only", "shop/prod/*").arg("--live");
        live.set("first-pass", "assert").set("on-missing", "create").exit(status).any_output();
        let apply = service.apply().set("first-pass", "assert").set("on-missing", "create");
        let apply = apply.set("only", "shop/prod/*").exit(status).any_stderr();
        let said: &[&str] = match status {
            0 => &["applied shop/prod/new (create)"],
            _ => &["values of different types", "a waiver of `type-disagreement` in each of them"],
        };
        apply.stdout_contains(said);
        let list = service.request("GET", "/api/projects/shop/toggles/new", None);
        assert_eq!(list["returnType"], kind, "{list}");
    }
}

#[test]
fn a_toggle_is_created_only_when_all_of_its_documents_tell_its_type() {
    let texts = toggle(&[], ["red", "green"]);
    // The service takes the spellings of a key for one toggle.
    for (path, other, said) in [
        (
            "shop/test/new.yaml",
            "disabled: {",
            "`shop/test/new.yaml` is invalid; correct or remove that document",
        ),
        (
            "shop/test/New.yaml",
            "disabled: {",
            "`shop/test/New.yaml` is invalid; correct or remove that document",
        ),
        (
            "shop/test/New.yaml",
            texts.as_str(),
            "`shop/test/New.yaml` spells the key of this toggle in another way",
        ),
        ("shop/test/new.yaml", texts.as_str(), "its documents have values of different types"),
    ] {
        let service = LiveService::start(&json!([]));
        service.world.repo.file("shop/prod/new.yaml", toggle(&[], SWITCH)).file(path, other);
        service.world.repo.commit("Add new");
        let apply = || {
            let apply = service.apply().set("first-pass", "assert").set("on-missing", "create");
            apply.set("only", "shop/prod/*")
        };
        apply().exit(4).any_stderr().stdout_contains(&["held shop/prod/new", said]);
        let list = service.request("GET", "/api/projects/shop/toggles/new", None);
        assert_eq!(list["returnType"], Value::Null, "{list}");
        service.world.repo.remove(path).file("shop/test/new.yaml", toggle(&[], SWITCH)).commit("Correct new");
        apply().exit(0).any_stderr().stdout_contains(&["applied shop/prod/new (create)"]);
    }
}

/// The service takes both for one toggle, and its SDKs know only the spelling of the first.
#[test]
fn a_toggle_is_not_created_while_its_documents_spell_its_key_differently() {
    let service = LiveService::start(&json!([]));
    service.world.repo.file("shop/prod/new.yaml", toggle(&[], SWITCH));
    service.world.repo.file("shop/test/New.yaml", toggle(&[], SWITCH)).commit("Add new");
    let run = |run: Gitoggle| {
        run.set("first-pass", "assert").set("on-missing", "create").set("only", "shop/prod/*")
    };
    let plan = || service.connected(service.world.plan()).unset("timeout");
    let note = "1 change (shop/prod/new) is held if the service does not have the toggle: its documents do not tell \
                its key; `gitoggle plan --live` shows which";
    run(plan()).exit(0).any_stdout().stderr_contains(&[note]);
    let held = ["held shop/prod/new", "`shop/test/New.yaml` spells the key of this toggle in another way"];
    run(plan().arg("--live")).exit(4).stdout_contains(&held).any_stderr();
    let requests =
        service.requests(|| drop(run(service.apply()).exit(4).stdout_contains(&held).any_stderr()));
    assert!(!requests.iter().any(|request| request.starts_with("P")), "{requests:?}");
    service.world.repo.remove("shop/test/New.yaml").file("shop/test/new.yaml", toggle(&[], SWITCH));
    service.world.repo.commit("Spell it once");
    run(service.apply()).exit(0).any_output();
}

#[test]
fn a_prerequisite_of_another_type_than_on_the_service_is_held_and_the_plan_shows_it() {
    // The values of the document look like booleans, but the toggle is one of texts there.
    let service = LiveService::start(&json!([
        { "key": "base", "returnType": "string", "variations": unconfigured("base")["variations"] },
        unconfigured("search"),
    ]));
    service.world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    service.world.repo.file("shop/prod/search.yaml", toggle(&[&needs("base")], SWITCH));
    service.world.repo.commit("Add both");
    const HELD: &[&str] = &["the type of the prerequisite `base` is `boolean`, but `string` on the service"];
    let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
    plan.set("first-pass", "assert").exit(4).stdout_contains(HELD).any_stderr();
    let patched = |apply: &dyn Fn(Gitoggle)| {
        let run = service.apply().set("first-pass", "assert").set("only", "shop/prod/*");
        let all = service.requests(|| apply(run));
        let patched = all.iter().filter_map(|request| request.strip_prefix("PATCH ")?.split_once('/'));
        patched.map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
    };
    let held = |run: Gitoggle| {
        run.exit(4).stdout_contains(HELD).stdout_contains(&["held shop/prod/search"]).any_stderr();
    };
    assert_eq!(patched(&held), ["base"]);
    let document = toggle(&[&needs("base").replace("boolean", "string")], SWITCH);
    // The documents of another environment say that the values are texts.
    service.world.repo.file("shop/test/base.yaml", toggle(&[], ["red", "green"]));
    service.world.repo.file("shop/prod/search.yaml", document).commit("Name the type of the service");
    assert_eq!(patched(&|run| drop(run.exit(0).any_output())), ["search"]);
}

#[test]
fn a_prerequisite_of_another_type_than_the_same_pass_creates_is_held_by_plan_and_apply() {
    let waived = |needed: &str| {
        let comment = "    # gitoggle: allow(prerequisite-other-type) a text on the service\n    - { key";
        toggle(&[needed], SWITCH).replacen("    - { key", comment, 1)
    };
    let text = |value: &str| needs("base").replace("boolean", "string").replace("true", value);
    for (values, search, kind) in
        [(["1", "2"], toggle(&[&text("1")], SWITCH), "number"), (SWITCH, waived(&text("true")), "boolean")]
    {
        let service = LiveService::start(&json!([unconfigured("search")]));
        let repo = &service.world.repo;
        repo.file("shop/prod/base.yaml", toggle(&[], values)).file("shop/prod/search.yaml", search);
        repo.commit("Add both");
        let held = format!("the type of the prerequisite `base` is `string`, but `{kind}` on the service");
        let held: &[&str] = &["held shop/prod/search", &held];
        let creating = |run: Gitoggle| run.set("first-pass", "assert").set("on-missing", "create");
        let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
        creating(plan)
            .exit(4)
            .any_stderr()
            .stdout_contains(held)
            .stdout_contains(&["1 to publish: 1 create"]);
        let apply = creating(service.apply()).exit(4).any_stderr().stdout_contains(held);
        apply.stdout_contains(&["applied shop/prod/base (create)"]);
    }
}

/// The service ignores case, and the maps of SDKs do not.
#[test]
fn a_prerequisite_in_another_spelling_than_on_the_service_is_held_and_the_plan_shows_it() {
    let service = LiveService::start(&json!([unconfigured("base"), unconfigured("search")]));
    service.world.repo.file("shop/prod/search.yaml", toggle(&[&needs("Base")], SWITCH)).commit("Add search");
    const HELD: &[&str] = &["its prerequisite `Base` is `base` on the service", "did you mean `base`?"];
    let plan = service.connected(service.world.plan()).unset("timeout").arg("--live");
    plan.set("first-pass", "assert").exit(4).stdout_contains(HELD).any_stderr();
    let apply = |run: &dyn Fn(Gitoggle)| {
        let all = service.requests(|| run(service.apply().set("first-pass", "assert")));
        all.iter().filter(|request| request.starts_with("PATCH ")).count()
    };
    assert_eq!(apply(&|run| drop(run.exit(4).stdout_contains(HELD).any_stderr())), 0);
    let document = toggle(&[&needs("base")], SWITCH);
    service.world.repo.file("shop/prod/search.yaml", document).commit("Spell it as the service does");
    assert_eq!(apply(&|run| drop(run.exit(0).any_output())), 1);
}

#[test]
fn what_needs_a_removed_toggle_is_named_wherever_the_removal_is() {
    let service = LiveService::start(&json!([unconfigured("base"), unconfigured("search")]));
    service.world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
    service.world.repo.file("shop/prod/search.yaml", toggle(&[&needs("base")], SWITCH)).commit("Add both");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    service.world.repo.remove("shop/prod/base.yaml").commit("Remove base");
    let said = "`search` needs it";
    let plan = service.connected(service.world.plan()).exit_in(&[0, 2, 4]).both();
    assert!(plan.contains(said), "{plan}");
    for output in ["human", "markdown", "json", "github", "junit"] {
        let printed = service.apply().set("output", output).exit_in(&[0, 4]).both();
        assert!(printed.contains(said) || printed.contains("\"needed_by\":[{"), "{output}\n{printed}");
    }
}

#[test]
fn a_toggle_that_only_others_need_is_no_drift() {
    let service = LiveService::start(&json!([unconfigured("search")]));
    commit(&service, &[("search", &["nowhere"])], "Add search");
    let plan =
        service.connected(service.world.plan()).unset("timeout").arg("--live").set("first-pass", "assert");
    let json = plan.clone().set("output", "json").exit(0).any_stderr().json();
    assert_eq!((&json["drifted"], &json["held"]), (&json!([]), &json!([])), "{json}");
    plan.exit(0).never_says(&["missing", "drifted", "not applied yet"]).any_output();
    service.apply().set("first-pass", "assert").exit(0).any_output();
    service
        .connected(service.world.connected("drift"))
        .unset("timeout")
        .exit(0)
        .never_says(&["nowhere"])
        .any_output();
}

/// A pass that creates it makes a toggle of text, and holds what needs it with another type.
#[test]
fn a_prerequisite_on_a_toggle_that_waivers_make_one_of_texts_is_named_by_validate() {
    let service = LiveService::start(&json!([]));
    let waiver = "# gitoggle: allow(type-disagreement) both are texts\n  variations:";
    let document = |values| toggle(&[], values).replace("variations:", waiver);
    service.world.repo.file("shop/prod/base.yaml", document(SWITCH));
    service.world.repo.file("shop/test/base.yaml", document(["red", "green"]));
    let search = |needed: &str| service.world.repo.file("shop/prod/search.yaml", toggle(&[needed], SWITCH));
    search(&needs("base")).commit("Add toggles");
    assert_eq!(found(service.world.validate()), ["shop/prod/search.yaml:7:26 prerequisite-other-type"]);
    let apply = || {
        let apply = service.apply().set("first-pass", "assert").set("on-missing", "create");
        apply.set("only", "shop/prod/*")
    };
    apply().exit(4).any_stderr().stdout_contains(&[
        "held shop/prod/search",
        "the type of the prerequisite `base` is `boolean`, but `string` on the service",
    ]);
    search(&needs("base").replace("boolean", "string")).commit("Write the type that the finding names");
    assert_eq!(found(service.world.validate()), Vec::<String>::new());
    apply().exit(0).any_output();
}

#[test]
fn a_plan_shows_that_a_toggle_is_not_created_while_its_documents_disagree() {
    let service = LiveService::start(&json!([]));
    service.world.repo.file("shop/prod/new.yaml", toggle(&[], SWITCH));
    service.world.repo.file("shop/test/new.yaml", toggle(&[], ["red", "green"])).commit("Add new");
    let plan = service.connected(service.world.plan()).unset("timeout").args("--live --on-missing create");
    let plan = plan.set("only", "shop/prod/*");
    plan.set("first-pass", "assert")
        .exit(4)
        .stdout_contains(&["values of different types", "held"])
        .any_stderr();
}

#[test]
fn a_chain_through_all_documents_is_checked_with_linear_output() {
    let printed = |count: usize| {
        let world = World::new();
        for at in 0..count {
            let next = needs(&format!("t{:04}", at + 1));
            let needed = if at + 1 < count { vec![next.as_str()] } else { Vec::new() };
            world.repo.write(&format!("shop/prod/t{at:04}.yaml"), toggle(&needed, SWITCH));
        }
        let validate = featureprobe(world.validate()).set("sdks", "rust");
        let findings = found(featureprobe(world.validate()).set("sdks", "rust")).len();
        assert_eq!(findings, count - 20, "a chain of up to 19 steps is accepted");
        validate.exit(3).both().len()
    };
    let (small, large) = (printed(60), printed(100));
    // 40 findings more, each of the same size.
    let each = (large - small) / 40;
    assert!((small / 40).abs_diff(each) < each / 10, "{small} {large}");
}

/// Another toggle, or the opposite of a value, is not a misspelling.
#[test]
fn the_help_on_an_unknown_prerequisite_never_means_another_toggle() {
    let help = |key: &str| {
        let world = World::new();
        world.repo.file("shop/prod/base.yaml", toggle(&[], SWITCH));
        world.repo.file("other/prod/base.yaml", toggle(&[], SWITCH));
        world.repo.file("shop/prod/search.yaml", toggle(&[&needs(&format!("\"{key}\""))], SWITCH));
        world.repo.commit("Add toggles");
        let json = featureprobe(world.validate()).set("output", "json").exit_in(&[0, 3]).any_stderr().json();
        json["findings"][0]["help"].as_str().unwrap().to_owned()
    };
    let opposite = "write `key: base`, and the value that it must serve instead, such as `value: \"false\"`";
    let elsewhere = "name a toggle of the same project and environment by its key alone";
    for (key, expected) in [
        ("bsae", "did you mean `base`?"),
        ("shop/prod/base", "did you mean `base`?"),
        ("prod/base.yaml", "did you mean `base`?"),
        ("!base", opposite),
        ("-base", opposite),
        ("!other", "add its document"),
        ("other/prod/base", elsewhere),
        ("other/base", elsewhere),
        ("shop/staging/base", elsewhere),
    ] {
        let help = help(key);
        assert!(help.starts_with(expected), "{key}: {help}");
    }
}

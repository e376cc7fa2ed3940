//! Under the same settings, a pass accepts exactly the trees that `validate` accepts.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Repo, World, doc};

/// File contents of which the trees consist; about half of the trees are valid.
const NAMES: [&str; 8] =
    ["pay.yaml", "pay.yml", "PAY.yaml", "zoo.json", "with space.yaml", "Zoo.YAML", "_x.yaml", "zoo.yaml"];
const FOLDERS: [&str; 6] = ["shop/prod", "Shop/prod", "shop/Prod", "web/test", "shop", "shop/prod/deep"];

fn contents() -> Vec<String> {
    vec![
        doc(18),
        doc(21).replace("disabled: false", "disabled: true"),
        doc(18).replace("\">\"", "\"=>\""),
        doc(18).replace("type: number", "type: nubmer"),
        doc(18).replace("\"off\"", &format!("\"{}\"", "x".repeat(200))),
        doc(18).replace("select: 1", "select: 0b1"),
        doc(18).replace("select: 1", "split: [2500, 7500]"),
        "nonsense\n".to_owned(),
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n".to_owned(),
    ]
}

/// A small pseudo-random generator that yields the same trees in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn write_tree(repo: &Repo, seed: u64) {
    let mut random = Random(seed);
    random.below(2);
    let contents = contents();
    for _ in 0..=random.below(4) {
        let path = format!("{}/{}", FOLDERS[random.below(FOLDERS.len())], NAMES[random.below(NAMES.len())]);
        // Mostly valid documents, so that some trees are valid.
        let content = match random.below(4) {
            0 => random.below(contents.len()),
            _ => random.below(2),
        };
        if !repo.path().join(&path).is_dir() {
            repo.file(&path, &contents[content]);
        }
    }
    repo.commit("Add a tree");
}

/// The errors among findings, as `file id`.
fn errors(json: &Value) -> Vec<String> {
    let findings = json["findings"].as_array().expect("there are findings");
    let errors = findings.iter().filter(|one| one["severity"] == "error");
    errors.map(|one| format!("{} {}", one["file"].as_str().unwrap(), one["id"].as_str().unwrap())).collect()
}

#[test]
fn validate_and_a_pass_refuse_the_same_trees() {
    let (mut valid, mut invalid) = (0, 0);
    for seed in 0..40 {
        let kind = ["documented", "featureprobe"][usize::try_from(seed % 2).unwrap()];
        let world = World::new();
        write_tree(&world.repo, seed);
        let validate = || world.validate().set("service-kind", kind);
        let json = validate().set("output", "json").exit_in(&[0, 1, 3]).json();
        let documents = json["summary"]["documents"].as_u64().unwrap();
        let plan = || world.plan().set("service-kind", kind).set("first-pass", "assert");
        if documents == 0 {
            validate().exit(1).any_output();
            plan().exit(1).any_output();
        } else if errors(&json).is_empty() {
            valid += 1;
            validate().exit(0).any_output();
            plan().exit(0).any_output();
            let mut apply = world.apply().set("service-kind", kind).set("first-pass", "assert");
            if kind == "featureprobe" {
                // This service has only the documented endpoint.
                apply = apply.set("on-drift", "ignore");
            }
            apply.exit(0).any_output();
            let sent = world.service.take().len();
            assert_eq!(u64::try_from(sent).unwrap(), documents, "seed {seed}");
        } else {
            invalid += 1;
            validate().exit(3).any_output();
            let planned = plan().set("output", "json").exit(3).json();
            assert_eq!(errors(&planned), errors(&json), "seed {seed}");
        }
    }
    assert!(valid > 5 && invalid > 5, "{valid} valid, {invalid} invalid");
}

#[test]
fn documents_whose_ids_differ_only_in_case_are_one_toggle() {
    for (first, second) in [
        ("shop/prod/pay.yaml", "shop/prod/PAY.yaml"),
        ("shop/prod/pay.yaml", "shop/Prod/pay.yml"),
        ("shop/prod/pay.yaml", "SHOP/prod/Pay.yml"),
    ] {
        let world = World::with_pay_applied();
        world.repo.file("shop/prod/zoo.yaml", doc(18)).commit("Add zoo");
        world.settle();
        world.repo.file(second, doc(21)).commit("Add it again, in capitals");
        for kind in ["documented", "featureprobe"] {
            world.validate().set("service-kind", kind).exit(3).says(&[
                "error[duplicate-toggle]",
                first,
                second,
                "ids that differ only in case are one toggle",
                "checked 3 documents: 2 errors",
            ]);
        }
        // Neither the applied file nor its folder has changed.
        let assert = |run: crate::support::Gitoggle| run.set("first-pass", "assert");
        for run in [assert(world.plan()), assert(world.apply())] {
            run.exit(3).says(&["duplicate-toggle", first, second]);
        }
        world.nothing_sent();
        world.repo.remove(second).commit("Remove it again");
        assert(world.apply()).exit(0).any_output();
        world.nothing_sent();
    }
}

#[test]
fn a_tree_of_more_than_a_million_files_is_refused_quickly_by_every_command() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let blob = world.repo.id("HEAD:shop/prod/pay.yaml");
    let mut tree = make_tree(&world.repo, (0..100).map(|n| format!("100644 blob {blob}\tf{n}.md")));
    // 100 files in 100 folders, each in 100 folders, and so on: ten billion files in 5 small objects.
    for _ in 0..4 {
        tree = make_tree(&world.repo, (0..100).map(|n| format!("040000 tree {tree}\td{n}")));
    }
    let commit = world.repo.git(&["commit-tree", &tree, "-m", "Many"]);
    world.repo.git(&["update-ref", "refs/heads/many", &commit]);
    world.validate().set("ref", "many").exit(1).says(&["error[too-many-files]", "more than 1000000 files"]);
    for run in [world.plan(), world.apply()] {
        run.set("ref", "many")
            .set("first-pass", "assert")
            .exit(1)
            .says(&["more than 1000000 files", "--root"]);
    }
}

fn make_tree(repo: &Repo, entries: impl Iterator<Item = String>) -> String {
    use std::io::Write as _;
    let mut git = Command::new("git")
        .args(["mktree"])
        .current_dir(repo.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is installed");
    let text: String = entries.map(|entry| entry + "\n").collect();
    git.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

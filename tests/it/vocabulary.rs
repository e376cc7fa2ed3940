//! Documents with the vocabulary of FeatureProbe.

use crate::support::World;

const FULL: &str = r#"disabled: false
content:
  variations:
    - { name: "off", value: "false" }
    - { name: "on", value: "true" }
  prerequisites:
    - { key: new-checkout, value: "true", type: boolean }
  rules:
    - name: staff
      conditions:
        - { type: segment, predicate: is in, objects: [staff] }
        - { type: number, subject: age, predicate: between, leftPredicate: ">=", objects: [18], rightPredicate: "<", rightObjects: [65] }
      serve: { split: { "off": 12.5, "on": 87.5 } }
  disabledServe: { select: 0 }
  defaultServe: { split: [2500, 7500] }
"#;

fn world(text: &str) -> World {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", text).commit("Add pay");
    world
}

#[test]
fn the_vocabulary_is_valid_only_with_its_kind_of_service() {
    let world = world(FULL);
    world.validate().set("service-kind", "featureprobe").exit(0).any_output();
    world.validate().exit(3).says(&[
        "error[unknown-key]: `content` has no `prerequisites`",
        "error[unknown-key]: a serve has no `split`",
        "error[unknown-key]: a condition has no `leftPredicate`",
        "error[missing-field]: a condition needs `subject`",
        "service_kind: featureprobe",
    ]);
}

#[test]
fn a_plan_describes_the_vocabulary() {
    let world = world(FULL);
    let plan = || world.plan().set("service-kind", "featureprobe").set("first-pass", "assert");
    plan().exit(0).says(&[
        "prerequisite `new-checkout` must serve `true` (boolean)",
        "rule `staff` serves split `off` 12.5%, `on` 87.5%: is in `staff` (segment), \
         `age` between >= `18` and < `65` (number)",
        "default serve split `off` 25%, `on` 75%",
    ]);
    let json = plan().set("output", "json").exit(0).json();
    let text = json.to_string();
    assert!(text.contains(r#""split":[1250,8750]"#), "{text}");
}

#[test]
fn content_that_breaks_sdks_is_refused_with_what_callers_would_see() {
    let text = FULL
        .replace("[2500, 7500]", "[2500, 7000]")
        .replace("value: \"true\", type: boolean", "value: \"true\", type: flag");
    world(&text).validate().set("service-kind", "featureprobe").exit(3).says(&[
        "error[split-sum]: the weights add up to 9500, not 10000",
        "callers get the default value in their code",
        "error[prerequisite-type]: `flag` is not a type of toggle",
        "no longer delivers the toggle",
    ]);
}

#[test]
fn the_schema_describes_the_vocabulary_of_the_kind_of_service() {
    let world = World::new();
    for (kind, is_described) in [("documented", false), ("featureprobe", true)] {
        let schema = world.bare("schema").set("service-kind", kind).exit(0).json().to_string();
        for key in ["split", "prerequisites", "leftPredicate"] {
            assert_eq!(schema.contains(&format!("\"{key}\"")), is_described, "{kind} {key}");
        }
    }
}

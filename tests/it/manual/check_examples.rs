//! An example of each check.

use super::checks::Example::{self, Described, Edit, Files, Untested};
use super::checks::{
    ACCOUNTS, CONDITION, DEFAULT, EXPECTATION, GOOD, ON, PREREQUISITE, PREREQUISITES, SERVE, TEST, TOGGLE,
    bytes, large, write,
};

/// The examples of the warnings that have the id of an error.
pub(super) const DOUBTS: &[(&str, Example)] = &[(
    "prerequisite-other-type",
    Files("`{ key: accounts, type: string, value: \"2\" }`, and `accounts` has `1` and `2`", |folder| {
        let needs = "{ key: accounts, type: string, value: \"2\" }";
        write(folder, TOGGLE, &GOOD.replace(PREREQUISITE, needs));
        let numbers = GOOD.replace(PREREQUISITES, "").replace("\"false\"", "\"1\"");
        write(folder, ACCOUNTS, &numbers.replace("\"true\"", "\"2\""));
    }),
)];

/// The examples with `featureprobe`; those of the checks that exist with `documented` only are warnings
/// there.
pub(super) const EXAMPLES: &[(&str, Example)] = &[
    (
        "ambiguous-variation",
        Described(
            "two variations named `on`, and `serve: { variation: \"on\" }`",
            r#""off", value: "false""#,
            r#""on", value: "false""#,
        ),
    ),
    (
        "bad-datetime",
        Edit(CONDITION, r#"{ type: datetime, subject: now, predicate: after, objects: [tomorrow] }"#),
    ),
    (
        "bad-key",
        Files("a file `shop/production/new checkout.yaml`", |folder| {
            write(folder, "shop/production/new checkout.yaml", GOOD);
        }),
    ),
    (
        "bad-regex",
        Edit(CONDITION, r#"{ type: string, subject: mail, predicate: matches regex, objects: ["(a"] }"#),
    ),
    ("bad-semver", Edit(CONDITION, r#"{ type: semver, subject: app, predicate: "=", objects: ["1.2"] }"#)),
    (
        "between-fields",
        Edit(CONDITION, r#"{ type: number, subject: age, predicate: between, objects: ["18", "65"] }"#),
    ),
    ("comment-key", Edit("disabled: false", "comment: for the launch\ndisabled: false")),
    (
        "conflict-marker",
        Edit("disabled: false\n", "<<<<<<< HEAD\ndisabled: false\n=======\ndisabled: true\n>>>>>>> branch\n"),
    ),
    (
        "content-too-large",
        Files("many values that add up to over 1 MiB", |folder| {
            write(folder, TOGGLE, &GOOD.replace(ON, &large()));
        }),
    ),
    ("duplicate-key", Edit("disabled: false", "disabled: false\ndisabled: true")),
    (
        "duplicate-prerequisite",
        Described(
            "two prerequisites with the key `accounts`",
            PREREQUISITE,
            "{ key: accounts, type: boolean, value: \"true\" }\n    - { key: accounts, type: boolean, value: \"false\" }",
        ),
    ),
    (
        "duplicate-test",
        Files("two expectations with the same `name`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, TEST, &format!("{EXPECTATION}{EXPECTATION}"));
        }),
    ),
    (
        "duplicate-toggle",
        Files("`banner.yaml` next to `banner.yml`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/banner.yml", GOOD);
        }),
    ),
    (
        "duplicate-variation",
        Described("two variations named `on`", r#""off", value: "false""#, r#""on", value: "false""#),
    ),
    ("empty-document", Files("an empty file", |folder| write(folder, TOGGLE, ""))),
    ("empty-text", Edit(CONDITION, r#"{ type: number, subject: "", predicate: ">", objects: ["18"] }"#)),
    (
        "lfs-pointer",
        Files("a file that begins with `version https://git-lfs.github.com/spec/v1`", |folder| {
            write(folder, TOGGLE, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n");
        }),
    ),
    ("merge-key", Edit("disabled: false", "<<: { disabled: false }")),
    (
        "missing-content",
        Untested(
            "a file that a partial clone or a sparse checkout lacks",
            "the content of this file is not in the partial clone | fetch the complete repository, without a filter",
        ),
    ),
    ("missing-field", Described("a document without `disabled`", "disabled: false\n", "")),
    (
        "name-too-long",
        Files("a variation's name of 129 characters", |folder| {
            write(folder, TOGGLE, &GOOD.replace("\"on\"", &"n".repeat(129)));
        }),
    ),
    ("no-objects", Edit(CONDITION, r#"{ type: number, subject: age, predicate: ">", objects: [] }"#)),
    (
        "no-variations",
        Files("`variations: []`", |folder| {
            write(
                folder,
                TOGGLE,
                "disabled: false\ncontent: { variations: [], rules: [], disabledServe: { select: 0 }, defaultServe: { select: 0 } }\n",
            );
        }),
    ),
    (
        "not-a-document",
        Files("a CI workflow at the path of a toggle", |folder| {
            write(folder, TOGGLE, "name: ci\non: push\n");
        }),
    ),
    ("not-a-number", Edit(CONDITION, r#"{ type: number, subject: age, predicate: ">", objects: ["0x12"] }"#)),
    (
        "not-utf8",
        Files("a file in Latin-1", |folder| {
            bytes(folder, TOGGLE, b"disabled: false # \xe9\n");
        }),
    ),
    ("null-text", Edit(ON, r#"{ name: "on", value: null }"#)),
    (
        "prerequisite-case",
        Files("the key `Accounts`, and a document `accounts.yaml`", |folder| {
            write(folder, TOGGLE, &GOOD.replace("key: accounts", "key: Accounts"));
            write(folder, ACCOUNTS, &GOOD.replace("key: accounts", "key: users"));
        }),
    ),
    (
        "prerequisite-chain",
        Files("`step-00`, which needs `step-01`, and so on up to `step-20`", |folder| {
            for step in 0..=20 {
                let text = match step {
                    20 => GOOD.replace(PREREQUISITES, ""),
                    step => GOOD.replace("key: accounts", &format!("key: step-{:02}", step + 1)),
                };
                write(folder, &format!("shop/production/step-{step:02}.yaml"), &text);
            }
        }),
    ),
    (
        "prerequisite-cycle",
        Files("`accounts`, which needs `banner`, and `banner`, which needs `accounts`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, ACCOUNTS, &GOOD.replace("key: accounts", "key: banner"));
        }),
    ),
    (
        "prerequisite-no-variation",
        Files(
            "`{ key: accounts, type: string, value: blu }`, and the values of `accounts` are `red` and `blue`",
            |folder| {
                write(
                    folder,
                    TOGGLE,
                    &GOOD.replace(PREREQUISITE, "{ key: accounts, type: string, value: blu }"),
                );
                let colors =
                    GOOD.replace(PREREQUISITES, "").replace("\"false\"", "red").replace("\"true\"", "blue");
                write(folder, ACCOUNTS, &colors);
            },
        ),
    ),
    (
        "prerequisite-other-type",
        Files(
            "`{ key: accounts, type: string, value: \"true\" }`, and `accounts` has `true` and `false`",
            |folder| {
                write(folder, TOGGLE, &GOOD.replace("type: boolean", "type: string"));
                write(folder, ACCOUNTS, &GOOD.replace(PREREQUISITES, ""));
            },
        ),
    ),
    ("prerequisite-type", Edit(PREREQUISITE, r#"{ key: accounts, type: bool, value: "true" }"#)),
    ("prerequisite-value", Edit(PREREQUISITE, r#"{ key: accounts, type: boolean, value: "yes" }"#)),
    ("rule-without-serve", Described("a rule without `serve`", "      serve: { variation: \"on\" }\n", "")),
    ("select-negative", Edit(SERVE, "serve: { select: -1 }")),
    ("select-out-of-range", Edit(SERVE, "serve: { select: 2 }")),
    ("serve-choice", Edit(SERVE, r#"serve: { variation: "on", select: 1 }"#)),
    ("several-documents", Edit("disabled: false\n", "---\na: 1\n---\ndisabled: false\n")),
    ("split-share", Edit(SERVE, r#"serve: { split: { "on": 100.001 } }"#)),
    ("split-sum", Edit(SERVE, r#"serve: { split: { "on": 25, "off": 25 } }"#)),
    (
        "superfluous-field",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: ">", objects: ["18"], rightObjects: ["21"] }"#,
        ),
    ),
    ("syntax", Edit(SERVE, r#"serve: { variation: "on""#)),
    (
        "test-without-toggle",
        Files("`banner.test.yaml` without `banner.yaml`", |folder| {
            write(folder, "shop/production/other.yaml", GOOD);
            write(folder, TEST, EXPECTATION);
        }),
    ),
    (
        "too-deep",
        Files("33 lists in each other", |folder| {
            write(folder, TOGGLE, &format!("{}{}\n", "[".repeat(33), "]".repeat(33)));
        }),
    ),
    (
        "too-large",
        Files("a file of 2 MiB", |folder| {
            write(folder, TOGGLE, &"# comment\n".repeat(210_000));
        }),
    ),
    (
        "too-many-files",
        Untested(
            "a repository with 2,000,000 files",
            "more than 1000000 files or folders | read a folder of it with `--root`",
        ),
    ),
    (
        "unknown-condition-type",
        Edit(CONDITION, r#"{ type: strnig, subject: country, predicate: is one of, objects: [AT] }"#),
    ),
    ("unknown-key", Edit(DEFAULT, r#"defualtServe: { variation: "off" }"#)),
    (
        "unknown-predicate",
        Edit(CONDITION, r#"{ type: number, subject: age, predicate: "=>", objects: ["18"] }"#),
    ),
    ("unknown-variation", Edit(SERVE, r#"serve: { variation: "onn" }"#)),
    (
        "value-too-long",
        Files("a variation's value of 70 kB", |folder| {
            write(
                folder,
                TOGGLE,
                &GOOD.replace("\"true\" }\n  rules", &format!("{} }}\n  rules", "v".repeat(70_000))),
            );
        }),
    ),
    ("wrong-type", Edit("disabled: false", "disabled: \"no\"")),
    ("yaml-anchor", Edit(SERVE, r#"serve: &on { variation: "on" }"#)),
    ("yaml-tag", Edit(SERVE, r#"serve: !on { variation: "on" }"#)),
    (
        "almost-value",
        Described(
            "the values `19.90` and `49,90`",
            "value: \"false\" }\n    - { name: \"on\", value: \"true\" }",
            "value: \"19.90\" }\n    - { name: \"on\", value: \"49,90\" }",
        ),
    ),
    ("bad-waiver", Edit("disabled: false", "# gitoggle: allow(unused-variation)\ndisabled: false")),
    (
        "case-only-difference",
        Untested(
            "`banner.yaml`, renamed to `Banner.yaml`",
            "this creates `shop/production/Banner`, whose id differs from that of the applied toggle `shop/production/banner` only in case | `shop/production/banner` is dropped from the state and never disabled, because services fold ids; to keep its id, rename the file back",
        ),
    ),
    (
        "duplicate-rule-name",
        Described(
            "two rules named `adults`",
            "    - name: adults\n",
            "    - name: adults\n      conditions: [{ type: string, subject: country, predicate: is one of, objects: [AT] }]\n      serve: { variation: \"off\" }\n    - name: adults\n",
        ),
    ),
    (
        "elsewhere",
        Files(
            "a file `shop/banner.yaml` with the layout `{project}/{environment}/{toggle}.yaml`",
            |folder| {
                write(folder, TOGGLE, GOOD);
                write(folder, "shop/banner.yaml", GOOD);
            },
        ),
    ),
    (
        "extension-case",
        Files("`banner.YAML`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/other.YAML", GOOD);
        }),
    ),
    (
        "test-not-run",
        Files("a file `shop/banner.test.yaml`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/banner.test.yaml", "- { name: everyone, serves: \"off\" }\n");
        }),
    ),
    (
        "hidden-character",
        Described(
            "an object that ends in a no-break space",
            CONDITION,
            "{ type: string, subject: country, predicate: is one of, objects: [\"AT\u{a0}\"] }",
        ),
    ),
    (
        "json-file",
        Files("`banner.json`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/other.json", GOOD);
        }),
    ),
    ("json-prerequisite", Edit(PREREQUISITE, r#"{ key: accounts, type: json, value: "{}" }"#)),
    (
        "link",
        Files("`banner.yaml`, a link to another file", |folder| {
            write(folder, TOGGLE, GOOD);
            std::os::unix::fs::symlink("banner.yaml", folder.join("shop/production/other.yaml")).unwrap();
        }),
    ),
    (
        "list-in-text",
        Edit(
            CONDITION,
            r#"{ type: string, subject: country, predicate: is one of, objects: ["- AT\n- CH"] }"#,
        ),
    ),
    (
        "matches-everyone",
        Edit(
            "conditions:\n        - { type: number, subject: age, predicate: \">\", objects: [\"18\"] }",
            "conditions: []",
        ),
    ),
    (
        "never-matches",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["65"], rightPredicate: "<", rightObjects: ["18"] }"#,
        ),
    ),
    (
        "regex-literal",
        Edit(
            CONDITION,
            r#"{ type: string, subject: mail, predicate: matches regex, objects: ["/@example[.]com$/"] }"#,
        ),
    ),
    ("same-serve", Edit(SERVE, r#"serve: { variation: "off" }"#)),
    (
        "sdk-disagreement",
        Edit(
            CONDITION,
            r#"{ type: string, subject: mail, predicate: matches regex, objects: ["(?i)@example[.]com$"] }"#,
        ),
    ),
    (
        "too-many-findings",
        Files("150 findings in one file", |folder| {
            let keys: Vec<String> = (0..150).map(|n| format!("  key{n}: 1\n")).collect();
            write(folder, TOGGLE, &GOOD.replace("content:\n", &format!("content:\n{}", keys.concat())));
        }),
    ),
    (
        "type-disagreement",
        Files("`banner` has `true` and `false` in production, and `blue` and `false` in staging", |folder| {
            let alone = GOOD.replace(PREREQUISITES, "");
            write(folder, TOGGLE, &alone);
            write(folder, "shop/staging/banner.yaml", &alone.replace("\"true\"", "blue"));
        }),
    ),
    (
        "unknown-prerequisite",
        Files("the key `acounts`, and a document `accounts.yaml`", |folder| {
            write(folder, TOGGLE, &GOOD.replace("key: accounts", "key: acounts"));
            write(folder, ACCOUNTS, &GOOD.replace(PREREQUISITES, ""));
        }),
    ),
    (
        "typographic-quotes",
        Edit(CONDITION, "{ type: string, subject: country, predicate: is one of, objects: [“AT”] }"),
    ),
    (
        "unreachable-rule",
        Described(
            "a rule below one with `conditions: []`",
            "    - name: adults\n",
            "    - { name: all, conditions: [], serve: { variation: \"off\" } }\n    - name: adults\n",
        ),
    ),
    ("unused-variation", Edit(ON, "{ name: \"on\", value: \"true\" }\n    - { name: beta, value: beta }")),
    (
        "unused-waiver",
        Edit("disabled: false", "# gitoggle: allow(unused-variation) for later\ndisabled: false"),
    ),
];

//! Helps on splits.

use super::*;

pub(super) const MISTAKES: &[Mistake] = &[
    mistake(
        SPLIT,
        "{ split: { distribution: [[[0, 2500]], [[2500, 10000]]] } }",
        "10:25 unknown-key: `distribution` is the form of a split for SDKs, and a document has weights",
        "split: { distribution: [[[0, 2500]], [[2500, 10000]]] }",
    ),
    mistake(
        SPLIT,
        "{ distribution: [[[0, 100], [5000, 10000]], [[100, 5000]]] }",
        "10:16 unknown-key: `distribution` is the form of a split for SDKs, and a document has weights",
        "distribution: [[[0, 100], [5000, 10000]], [[100, 5000]]]",
    ),
    mistake(
        SPLIT,
        "{ split: [50, 50] }",
        "10:16 split-sum: the weights add up to 100, not 10000",
        "[50, 50]",
    ),
    mistake(SPLIT, "{ split: [33.3, 66.7] }", "10:24 split-share: `33.3` is not a weight", "[33.3, 66.7]"),
    mistake(
        SPLIT,
        "{ split: [50,5, 49,5] }",
        "10:30 split-share: this weight is number 3, but there are only 2 variations",
        "[50,5, 49,5]",
    ),
    mistake(SPLIT, "{ split: [50%, 50%] }", "10:24 split-share: `50%` is not a weight", "[50%, 50%]"),
    mistake(SPLIT, "{ split: [0.25, 0.75] }", "10:24 split-share: `0.25` is not a weight", "[0.25, 0.75]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 0.25, \"off\": 0.75 } }",
        "10:16 split-sum: the percentages add up to 1, not 100",
        "{ \"on\": 0.25, \"off\": 0.75 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 2500, \"off\": 7500 } }",
        "10:16 split-sum: the percentages add up to 10000, not 100",
        "{ \"on\": 2500, \"off\": 7500 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50 %, \"off\": 50 } }",
        "10:31 split-share: `50 %` is not a percentage",
        "50 %",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50,5, \"off\": 49.5 } }",
        "10:34 wrong-type: a comma ends a value in braces, so `50,5` is not one",
        "50,5",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 33.333, \"off\": 66.67 } }",
        "10:31 split-share: `33.333` is not a percentage",
        "33.333",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 33.33, \"off\": 66.66 } }",
        "10:16 split-sum: the percentages add up to 99.99, not 100",
        "{ \"on\": 33.33, \"off\": 66.66 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50, \"off\": 49.99 } }",
        "10:16 split-sum: the percentages add up to 99.99, not 100",
        "{ \"on\": 50, \"off\": 49.99 }",
    ),
    mistake(
        SPLIT,
        "{ split: [33.33, 66.66] }",
        "10:24 split-share: `33.33` is not a weight",
        "[33.33, 66.66]",
    ),
    mistake(SPLIT, "{ split: [1/3, 2/3] }", "10:24 split-share: `1/3` is not a weight", "[1/3, 2/3]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1/3, \"off\": 2/3 } }",
        "10:31 split-share: `1/3` is not a percentage",
        "{ \"on\": 1/3, \"off\": 2/3 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1e1, \"off\": 90 } }",
        "10:31 split-share: `1e1` is not a percentage",
        "1e1",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 0.005, \"off\": 0.995 } }",
        "10:31 split-share: `0.005` is not a percentage",
        "{ \"on\": 0.005, \"off\": 0.995 }",
    ),
    // No blank follows a colon.
    mistake(SPLIT, "{ split: { on: 50, off:50 } }", "10:33 null-text: `off:50` has no value", "off:50"),
    // Types, negations and units are kept.
    mistake(
        SPLIT,
        "{ split: { \"on\": { percentage: 40 }, \"off\": { weight: 60 } } }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: { \"on\": { percentage: 40 }, \"off\": { weight: 60 } }",
    ),
    mistake(
        SPLIT,
        "{ split: [[[0, 5000]], [[5000, 10000]]] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [[[0, 5000]], [[5000, 10000]]]",
    ),
    mistake(
        SPLIT,
        "{ split: [{ variation: \"on\", weight: 400 }, { weight: 600, variation: \"off\" }] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [{ variation: \"on\", weight: 400 }, { weight: 600, variation: \"off\" }]",
    ),
    mistake(
        SPLIT,
        "{ split: [\"on\": 40, \"off\": 60] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [\"on\": 40, \"off\": 60]",
    ),
    mistake(
        SPLIT,
        "{ split: [[\"on\", 40], [\"off\", 60]] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [[\"on\", 40], [\"off\", 60]]",
    ),
    mistake(
        SPLIT,
        "{ split: { weights: [1, 1] } }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: { weights: [1, 1] }",
    ),
    mistake(
        SPLIT,
        "{ percentage: { \"on\": 40, \"off\": 60 } }",
        "10:16 unknown-key: a serve has no `percentage`",
        "percentage: { \"on\": 40, \"off\": 60 }",
    ),
    mistake(
        SPLIT,
        "{ rollout: { \"on\": 0.4, \"off\": 0.6 } }",
        "10:16 unknown-key: a serve has no `rollout`",
        "rollout: { \"on\": 0.4, \"off\": 0.6 }",
    ),
    mistake(
        SPLIT,
        "{ fractional: [[\"on\", 40], [\"off\", 60]] }",
        "10:16 unknown-key: a serve has no `fractional`",
        "fractional: [[\"on\", 40], [\"off\", 60]]",
    ),
    mistake(
        SPLIT,
        "{ variations: [50, 50] }",
        "10:16 unknown-key: a serve has no `variations`",
        "variations: [50, 50]",
    ),
    mistake(SPLIT, "{ weights: [1, 3] }", "10:16 unknown-key: a serve has no `weights`", "weights: [1, 3]"),
    mistake(
        SPLIT,
        "{ variants: [{ name: \"on\", weight: 500 }, { name: \"off\", weight: 500 }] }",
        "10:16 unknown-key: a serve has no `variants`",
        "variants: [{ name: \"on\", weight: 500 }, { name: \"off\", weight: 500 }]",
    ),
    mistake(
        SPLIT,
        "{ split: [50000, 50000] }",
        "10:16 split-sum: the weights add up to 100000, not 10000",
        "[50000, 50000]",
    ),
    mistake(SPLIT, "{ split: [1, 1] }", "10:16 split-sum: the weights add up to 2, not 10000", "[1, 1]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1, \"off\": 3 } }",
        "10:16 split-sum: the percentages add up to 4, not 100",
        "{ \"on\": 1, \"off\": 3 }",
    ),
    // What stands in place of a text.
    mistake(SPLIT, "50%", "10:14 wrong-type: `serve` is a mapping, not `50%`", "serve: 50%"),
];

#[test]
fn rounded_percentages_add_up() {
    let text = DOCUMENT.replace(SPLIT, "{ split: { \"on\": 12.345, \"off\": 87.655 } }");
    let mut fixed = text.clone();
    for one in featureprobe(&text).diagnostics {
        let written = one.help.as_deref().unwrap().split('`').nth(1).unwrap().to_owned();
        fixed = fixed.replace(one.message.split('`').nth(1).unwrap(), &written);
    }
    assert!(featureprobe(&fixed).payload.is_some(), "{fixed}");
}

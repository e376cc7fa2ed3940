//! The limits of FeatureProbe, each at its last accepted and its first refused size.

use super::*;

#[test]
fn a_name_has_128_characters_and_a_value_65535_bytes() {
    for (from, accepted, refused, finding) in [
        ("\"off\"", "é".repeat(128), "é".repeat(129), "4:15 name-too-long"),
        ("\"true\"", "é".repeat(32_767), "é".repeat(32_768), "5:28 value-too-long"),
    ] {
        let quoted = |text: &str| with(from, &format!("\"{text}\""));
        assert_eq!(found(&featureprobe(&quoted(&accepted))), Vec::<String>::new());
        let bad = featureprobe(&quoted(&refused));
        assert_eq!(found(&bad), [finding]);
        assert!(bad.payload.is_none());
        assert_eq!(found(&yaml(quoted(&refused))), Vec::<String>::new());
    }
}

#[test]
fn a_content_has_1_mib_as_it_is_sent() {
    // A plain digit in a list is two bytes in the file and four as sent.
    let document = |digits: usize, tail: usize| {
        let objects = vec!["1"; digits].join(",");
        with("[\"18\"]", &format!("[{objects}]")).replace("New page", &"x".repeat(tail))
    };
    // A content that is too large has no payload with FeatureProbe, which also gets the prerequisites.
    let prerequisites = r#","prerequisites":[]"#.len();
    let size = |text: &str| yaml(text).payload.unwrap().content_len() + prerequisites;
    let short = 1024 * 1024 - size(&document(262_000, 0));
    let accepted = document(262_000, short);
    assert_eq!(size(&accepted), 1024 * 1024);
    assert_eq!(found(&featureprobe(&accepted)), Vec::<String>::new());
    let refused = document(262_000, short + 1);
    for text in [&refused, &refused.replace("defaultServe: { select: 0 }", "defaultServe: { select: 0x0 }")] {
        let bad = featureprobe(text);
        assert_eq!(found(&bad), ["0:0 content-too-large"]);
        assert!(bad.payload.is_none());
        assert!(yaml(text).payload.is_some());
    }
    let warned = featureprobe(&refused.replace("{ select: 1 }", "{ select: 0 }"));
    assert!(warned.payload.is_none());
}

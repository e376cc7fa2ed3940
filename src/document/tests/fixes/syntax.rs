//! Helps on signs that YAML reads otherwise than the author: brackets without quotes, and `#`.

use super::*;

/// A comment that hides the closing brackets of its line hides them again if they are written at its end.
#[test]
fn a_comment_that_hides_closing_brackets_is_named_with_what_to_write_before_it() {
    let variation = "{ name: \"on\", value: \"20\" }";
    for (from, to, comment, written) in [
        (variation, "{ name: \"on\", value: \"20\" # red }", "# red }", "} "),
        (variation, "{ name: \"on\", value: \"20\", # red }", "# red }", "} "),
        (variation, "{ name: \"on\", value: \"20\" #red}", "#red}", "} "),
        (variation, "{ name: \"on\", value: \"20\"#red }", "#red }", "} "),
        ("[\"AT\"]", "[\"AT\"] # c", "# c }", "} "),
        ("[\"AT\"]", "[AT # c ]", "# c ] }", "] } "),
        ("[\"AT\"]", "[\"AT\"], # c", "# c }", "} "),
        ("[\"AT\"]", "[\"AT\" # c ]", "# c ] }", "] } "),
        (SPLIT, "{ split: { \"on\": 50, \"off\": 50 # }}", "# }}", "} } "),
    ] {
        let text = DOCUMENT.replace(from, to);
        let found = featureprobe(&text).diagnostics;
        let [one] = &found[..] else { panic!("{to}: {found:#?}") };
        let line = text.lines().nth(one.line as usize - 1).unwrap();
        assert_eq!(line.find(comment), Some(one.column as usize - 1), "{to}");
        assert!(one.message.starts_with(&format!("`{comment}` begins a comment")), "{to}: {}", one.message);
        assert_eq!(one.help.as_deref(), Some(format!("write `{written}` before it").as_str()), "{to}");
        let fixed = featureprobe(&text.replace(comment, &format!("{written}{comment}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{to}: {:#?}", fixed.diagnostics);
    }
    // What follows a colon may be the value.
    for (value, shown) in [("#", "#"), ("#c", "#c"), ("# c", "# c")] {
        let text = DOCUMENT.replace("value: \"20\" }", &format!("value: {value} }}"));
        let found = featureprobe(&text).diagnostics;
        let [one] = &found[..] else { panic!("{value}: {found:#?}") };
        let help = format!("put it in quotes if it is a value: `\"{shown}\"`");
        assert_eq!(one.help.as_deref(), Some(help.as_str()));
        let fixed = featureprobe(&text.replace(&format!("value: {value}"), &format!("value: \"{shown}\"")));
        assert!(fixed.payload.is_some(), "{value}: {:#?}", fixed.diagnostics);
    }
}

/// Brackets belong to a pattern, and to YAML without quotes.
#[test]
fn a_pattern_without_quotes_is_to_be_quoted() {
    for (pattern, quoted) in [
        (".*@acme[.]com", "\".*@acme[.]com\""),
        ("[a-z]+", "\"[a-z]+\""),
        ("[a-z]", "\"[a-z]\""),
        ("^a{1,3}$", "\"^a{1,3}$\""),
        ("^[a-z]$", "\"^[a-z]$\""),
        ("a\\.[bc]", "\"a\\\\.[bc]\""),
    ] {
        for more in ["", ", b"] {
            let own = |pattern: &str| {
                format!(
                    "{{ type: string, subject: mail, predicate: matches regex, objects: [{pattern}{more}] }}"
                )
            };
            let found = featureprobe(&DOCUMENT.replace(CONDITION, &own(pattern))).diagnostics;
            let [one] = &found[..] else { panic!("{pattern}: {found:#?}") };
            assert_eq!(
                one.help.as_deref(),
                Some(format!("put it in quotes: `{quoted}`").as_str()),
                "{pattern}"
            );
            let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &own(quoted)));
            assert!(
                fixed.payload.is_some() && fixed.diagnostics.is_empty(),
                "{quoted}: {:#?}",
                fixed.diagnostics
            );
        }
    }
    // A list within a list of other texts, and a comma that is missing, stay what they are.
    for (objects, help) in [("[AT]", "remove the inner list"), ("AT [CH]", "write `,` between the items")] {
        let own = format!("{{ type: string, subject: country, predicate: is one of, objects: [{objects}] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        assert!(found[0].help.as_deref().is_some_and(|one| one.starts_with(help)), "{found:#?}");
    }
}

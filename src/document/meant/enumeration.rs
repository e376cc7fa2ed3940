//! Several words in one text: `AT, CH`, `AT;CH`, `('AT', 'CH')`, or one on each line.

use super::number::almost_number;

/// The longest word of an enumeration, in characters.
const LONGEST: usize = 40;

/// Returns the items of a text that is an enumeration; none if it may well be one text.
///
/// `Smith, John` and `Vienna, Austria` are one text, and `49,90` is one number. So the items are words without blanks, and
/// all of one form: letters of one case, digits, or both in the same order. Capitalized words may be a name. Of two words
/// behind a comma and a blank, each has at most three letters, such as codes of countries. What is in quotes, or on a line
/// of its own, is an item.
pub(in crate::document) fn enumerated(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let brackets = [('(', ')'), ('{', '}'), ('[', ']')];
    let bare = brackets.into_iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let inner = bare.unwrap_or(text).trim();
    let separator = ['\n', ';', '|', ','].into_iter().find(|sign| inner.contains(*sign))?;
    let parts = inner.split(separator).map(|part| match separator {
        '\n' => part.trim().trim_end_matches([',', ';']),
        _ => part.trim(),
    });
    let parts: Vec<&str> = parts.collect();
    if parts.len() < 2 {
        return None;
    }
    if let Some(items) = parts.iter().map(|part| in_quotes(part)).collect::<Option<Vec<_>>>() {
        return Some(items);
    }
    let forms: Vec<String> = parts.iter().map(|part| form(part)).collect::<Option<_>>()?;
    let is_one_form = forms.iter().all(|form| *form == forms[0]) && !forms[0].starts_with("Aa");
    let is_pair = parts.len() == 2 && bare.is_none() && inner.contains(", ");
    let is_name =
        is_pair && matches!(forms[0].as_str(), "A" | "a") && parts.iter().any(|part| part.len() > 3);
    let is_list = separator == '\n' || is_one_form && !is_name && almost_number(inner).is_none();
    is_list.then(|| parts.into_iter().map(str::to_owned).collect())
}

fn in_quotes(part: &str) -> Option<String> {
    let inner = |quote: char| {
        let inner = part.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.is_empty() && !inner.contains(quote)).then(|| inner.to_owned())
    };
    inner('"').or_else(|| inner('\''))
}

/// Returns the form of a word: its kinds of characters, without repetitions, `-` and `_`. None if it is not a word.
fn form(word: &str) -> Option<String> {
    let mut form = String::new();
    for c in word.chars() {
        let kind = match c {
            '-' | '_' => continue,
            '.' | '@' | '+' => c,
            c if c.is_ascii_digit() => '0',
            c if c.is_lowercase() => 'a',
            c if c.is_uppercase() => 'A',
            _ => return None,
        };
        if !form.ends_with(kind) {
            form.push(kind);
        }
    }
    let is_word = form.contains(['a', 'A', '0']) && word.chars().count() <= LONGEST;
    is_word.then_some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enumeration_is_told_from_one_text() {
        for (text, expected) in [
            ("AT, CH", &["AT", "CH"][..]),
            ("AT,CH", &["AT", "CH"]),
            ("AT;CH", &["AT", "CH"]),
            ("AT | CH", &["AT", "CH"]),
            ("(AT, CH)", &["AT", "CH"]),
            ("{AT, CH}", &["AT", "CH"]),
            ("[AT; CH]", &["AT", "CH"]),
            ("('AT', 'CH')", &["AT", "CH"]),
            ("\"New York\", \"Vienna\"", &["New York", "Vienna"]),
            ("AT\nCH\n", &["AT", "CH"]),
            ("Wien,\nGraz", &["Wien", "Graz"]),
            ("free,pro", &["free", "pro"]),
            ("free, pro, team", &["free", "pro", "team"]),
            ("de-AT, de-CH", &["de-AT", "de-CH"]),
            ("a@acme.com, bob@example.org", &["a@acme.com", "bob@example.org"]),
            ("user-1,user-22", &["user-1", "user-22"]),
            ("10;20", &["10", "20"]),
            ("18, 21", &["18", "21"]),
        ] {
            let found = enumerated(text);
            let found = found.as_ref().map(|items| items.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            ",",
            "AT",
            "AT,",
            "Smith, John",
            "SMITH, JOHN",
            "smith, john",
            "Vienna, Austria",
            "Wien,Graz",
            "hello, world",
            "Hello,world",
            "to be, or not to be",
            "Acme, Inc.",
            "AT&T, BT",
            "O'Neil, D'Arcy",
            "49,90",
            "1,000",
            "1,000,000",
            "a{1,2}",
            "^a|b$",
            "(a|B)",
            "{\"a\":1,\"b\":2}",
            "{a: 1, b: 2}",
            "https://a.b/c,https://a.b/d",
            "12 Main Street\nVienna",
            "東京,大阪",
        ] {
            assert_eq!(enumerated(text), None, "{text}");
        }
    }
}

//! Reports in the JUnit format, which CI systems show as tests.

use std::fmt::Write as _;

use super::html;

/// The tests of one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct JunitSuite {
    /// The name, such as the path of the file.
    pub name: String,
    /// The tests, in order.
    pub cases: Vec<JunitCase>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct JunitCase {
    /// The name of the group, such as a toggle.
    pub class: String,
    pub name: String,
    /// The reason why it did not pass.
    pub problem: Option<JunitProblem>,
}

/// The reason why a test did not pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct JunitProblem {
    /// Whether the test ran.
    pub kind: JunitKind,
    pub message: String,
    /// The details, of any number of lines.
    pub details: String,
}

impl JunitProblem {
    /// Creates a problem whose details are its message.
    pub(crate) fn new(kind: JunitKind, message: &str) -> Self {
        Self { kind, message: message.to_owned(), details: message.to_owned() }
    }
}

/// Whether a test that did not pass ran.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JunitKind {
    /// It could not run.
    Error,
    /// It ran and failed.
    Failure,
    /// It did not run, and need not.
    Skipped,
}

/// Returns a report of `suites`. All names and texts are escaped.
pub(crate) fn junit(suites: &[JunitSuite]) -> String {
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"gitoggle\" {}>", counts(&all()));
    for suite in suites {
        let name = xml(&suite.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" {} skipped=\"{}\">",
            counts(&suite.cases.iter()),
            number(&suite.cases.iter(), JunitKind::Skipped)
        );
        suite.cases.iter().for_each(|item| case(&mut out, item));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, case: &JunitCase) {
    let JunitCase { class, name, problem } = case;
    let _ = write!(out, "    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(name));
    let Some(JunitProblem { kind, message, details }) = problem else {
        out.push_str("/>\n");
        return;
    };
    let tag = match kind {
        JunitKind::Error => "error",
        JunitKind::Failure => "failure",
        JunitKind::Skipped => "skipped",
    };
    let details: Vec<String> = details.lines().map(xml).collect();
    // A line break would let a line begin with a command of a CI system.
    let _ = writeln!(
        out,
        ">\n      <{tag} message=\"{}\">{}</{tag}>\n    </testcase>",
        xml(message),
        details.join("&#10;")
    );
}

fn counts<'a>(cases: &(impl Iterator<Item = &'a JunitCase> + Clone)) -> String {
    let (failures, errors) = (number(cases, JunitKind::Failure), number(cases, JunitKind::Error));
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.clone().count())
}

fn number<'a>(cases: &(impl Iterator<Item = &'a JunitCase> + Clone), kind: JunitKind) -> usize {
    let problems = cases.clone().filter_map(|case| case.problem.as_ref());
    problems.filter(|problem| problem.kind == kind).count()
}

/// Escapes one line of text for elements and attributes.
fn xml(text: &str) -> String {
    // XML 1.0, section 2.2, excludes the two noncharacters; `html` escapes control characters.
    html(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_tests_and_escapes_every_text() {
        let case = |name: &str, kind: Option<JunitKind>| JunitCase {
            class: "shop/prod/pay".to_owned(),
            name: name.to_owned(),
            problem: kind.map(|kind| JunitProblem {
                kind,
                message: "served \"<off>\"".to_owned(),
                details: "line & one\nline ]]> \u{1b}[31m two".to_owned(),
            }),
        };
        let suite = JunitSuite {
            name: "pay's \u{ffff}.test.yaml".to_owned(),
            cases: vec![
                case("passes", None),
                case("a\nb", Some(JunitKind::Failure)),
                case("c", Some(JunitKind::Error)),
                case("d ##[e]", Some(JunitKind::Skipped)),
            ],
        };
        insta::assert_snapshot!(junit(&[suite]), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="gitoggle" tests="4" failures="1" errors="1">
          <testsuite name="pay&#39;s �.test.yaml" tests="4" failures="1" errors="1" skipped="1">
            <testcase classname="shop/prod/pay" name="passes"/>
            <testcase classname="shop/prod/pay" name="a\nb">
              <failure message="served &quot;&lt;off&gt;&quot;">line &amp; one&#10;line ]]&gt; \u{1b}[31m two</failure>
            </testcase>
            <testcase classname="shop/prod/pay" name="c">
              <error message="served &quot;&lt;off&gt;&quot;">line &amp; one&#10;line ]]&gt; \u{1b}[31m two</error>
            </testcase>
            <testcase classname="shop/prod/pay" name="d #\#[e]">
              <skipped message="served &quot;&lt;off&gt;&quot;">line &amp; one&#10;line ]]&gt; \u{1b}[31m two</skipped>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}

//! The part of a judgement's protocol that a viewer sees.

use super::verdict::Verdict;
use super::visibility::Visible;
pub use millibox_fleet::result::{Group, Protocol, Test, cut};

/// The part that a viewer of the submission sees.
#[must_use]
pub fn seen(protocol: Protocol, visible: Visible) -> Protocol {
    if visible.protocol {
        return protocol;
    }
    if !visible.initial {
        return Protocol::default();
    }
    let is_wrong = |test: &&Test| {
        let verdict = test.verdict;
        verdict.is_some_and(|verdict| verdict != Verdict::Accepted)
    };
    // What the checker writes may contain a part of the test.
    let first = protocol.tests.iter().find(is_wrong).map(|test| Test {
        reason: String::new(),
        comment: String::new(),
        ..test.clone()
    });
    let first = first.filter(|test| visible.first && !test.initial);
    let mut part = protocol.initial_part();
    part.tests.extend(first);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, initial: bool, verdict: Option<Verdict>) -> Test {
        Test {
            name: name.to_owned(),
            initial,
            verdict,
            ..Test::default()
        }
    }

    #[test]
    fn protocol_is_seen_by_this_table() {
        use super::super::finals::Reveal;
        use super::super::time::Time;
        use super::super::visibility::{Relation, Rules, visible};
        let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        let secret = |name: &str, verdict| Test {
            comment: "expected 42".to_owned(),
            ..test(name, false, verdict)
        };
        let protocol = Protocol {
            messages: "warning".to_owned(),
            tests: vec![
                test("sample", true, right),
                secret("one", right),
                secret("two", wrong),
                secret("three", wrong),
            ],
            ..Protocol::default()
        };
        // Level: messages, tests, comments of checkers.
        let table = [
            (Reveal::Hidden, "", "", 0),
            (Reveal::Nothing, "warning", "sample", 0),
            (Reveal::Score, "warning", "sample", 0),
            (Reveal::Status, "warning", "sample", 0),
            (Reveal::First, "warning", "sample two", 0),
            (Reveal::All, "warning", "sample one two three", 3),
        ];
        for (reveal, messages, names, comments) in table {
            let rules = Rules {
                reveal,
                full_results: Time::NEVER,
            };
            let seen = visible(Relation::Author, Some(rules), Time(0));
            let found = super::seen(protocol.clone(), seen);
            let found_names: Vec<&str> = found.tests.iter().map(|it| it.name.as_str()).collect();
            let found_comments = found.tests.iter().filter(|it| it.comment == "expected 42");
            assert_eq!(found.messages, messages, "{reveal:?}");
            assert_eq!(found_names.join(" "), names, "{reveal:?}");
            assert_eq!(found_comments.count(), comments, "{reveal:?}");
        }
    }
}

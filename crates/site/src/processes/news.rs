//! What the processes of a site tell each other, and its form in messages.

use super::seal::MAX_BYTES;
use crate::core::change::{Change, Note};
use crate::core::pending::SignIn;
use crate::core::shares::Told;
use crate::core::token::hex;
use crate::oidc::Flow;
use millibox_fleet::result::Test;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// The maximum length of a test's texts, in characters, if results exceed the size of a message.
/// The stored protocol has the whole text.
const MAX_TEXT: usize = 200;

/// An event in one process that concerns the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// Transactions were committed.
    Committed,
    /// News may have been lost.
    Missed,
    /// A submission has changed.
    Change(Change),
    /// A job has a new state or a new line in its log.
    Job(i64),
    /// A clarification is new or has changed.
    Note(Note),
    /// The rounds, problems or participants of a contest have changed.
    Contest(i64),
    /// Judgements were added to the queue.
    JudgementsAdded,
    /// A judgement was cancelled.
    JudgementCancelled(i64),
    /// Tests of a running judgement have results.
    Progress(Report),
    /// A judgement has ended, so its progress is no longer shown.
    JudgementEnded(i64),
    /// A job was added.
    JobAdded,
    /// A user stops a job.
    JobStopped(i64),
    /// A sign-in begins or ends to wait for a one-time password.
    SignIn(Told<i64, SignIn>),
    /// A sign-in at another service begins or ends.
    Flow(Told<IpAddr, Flow>),
}

/// Results of tests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The judgement.
    pub judgement: i64,
    /// The index of the first of these tests.
    pub from: usize,
    /// The results.
    pub tests: Vec<Test>,
    /// The number of all tests.
    pub of: usize,
}

impl News {
    /// The same news without texts that no other process needs.
    fn short(self) -> News {
        match self {
            News::Note(Note { contest, versions }) => News::Note(Note {
                contest,
                // Readers only compare the texts of two versions.
                versions: versions
                    .into_iter()
                    .map(|mut one| {
                        one.question = short(&one.question);
                        one.answer = one.answer.as_deref().map(short);
                        (one.label, one.problem_name, one.login) = (None, None, None);
                        (one.team_name, one.answered_login) = (None, None);
                        one
                    })
                    .collect(),
            }),
            news => news,
        }
    }

    /// The same news in several smaller parts, if it can be divided.
    fn parts(self) -> Vec<News> {
        let News::Progress(report) = self else {
            // The others have no texts of any length.
            return vec![News::Missed];
        };
        let Report {
            judgement,
            from,
            mut tests,
            of,
        } = report;
        if tests.len() > 1 {
            let middle = tests.len() / 2;
            let second = tests.split_off(middle);
            let part = |from, tests| {
                News::Progress(Report {
                    judgement,
                    from,
                    tests,
                    of,
                })
            };
            return vec![part(from, tests), part(from + middle, second)];
        }
        for test in &mut tests {
            for text in [
                &mut test.name,
                &mut test.group,
                &mut test.reason,
                &mut test.comment,
            ] {
                *text = text.chars().take(MAX_TEXT).collect();
            }
        }
        vec![News::Progress(Report {
            judgement,
            from,
            tests,
            of,
        })]
    }
}

/// A digest in place of a text.
fn short(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}

/// Messages with these news, in their order. None exceeds [`MAX_BYTES`].
pub fn messages(news: Vec<News>) -> Vec<String> {
    let news = news.into_iter().map(News::short).collect();
    let mut messages = Vec::new();
    encode(news, &mut messages);
    messages
}

fn encode(mut news: Vec<News>, messages: &mut Vec<String>) {
    // Numbers and texts always have a form in JSON.
    let text = serde_json::to_string(&news).unwrap_or_default();
    if text.len() <= MAX_BYTES {
        return messages.push(text);
    }
    if news.len() > 1 {
        let second = news.split_off(news.len() / 2);
        encode(news, messages);
        return encode(second, messages);
    }
    for one in news {
        let is_one_test = matches!(&one, News::Progress(report) if report.tests.len() == 1);
        for part in one.parts() {
            match is_one_test {
                // Its texts are short now. The names come from a package, whose bounds are lower;
                // otherwise the page shows the test at the end.
                true => messages.extend(fitting(&part)),
                false => encode(vec![part], messages),
            }
        }
    }
}

/// A message with one part of the news, if it is short enough.
fn fitting(news: &News) -> Option<String> {
    let text = serde_json::to_string(&[news]).ok()?;
    (text.len() <= MAX_BYTES).then_some(text)
}

/// The news of a message. News of a later version, which this one does not know, may concern each
/// reader.
pub fn of_message(text: &str) -> Vec<News> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![News::Missed])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(size: usize) -> Test {
        Test {
            name: "1".to_owned(),
            comment: "ä".repeat(size),
            ..Test::default()
        }
    }

    fn report(tests: Vec<Test>) -> News {
        News::Progress(Report {
            judgement: 7,
            from: 3,
            of: 1000,
            tests,
        })
    }

    /// The names of the news, and the tests with their indices.
    fn received(messages: &[String]) -> (Vec<News>, Vec<(usize, Test)>) {
        let mut news = Vec::new();
        for message in messages {
            assert!(message.len() <= MAX_BYTES);
            news.extend(of_message(message));
        }
        let mut tests = Vec::new();
        for one in &news {
            if let News::Progress(report) = one {
                tests.extend((report.from..).zip(report.tests.clone()));
            }
        }
        (news, tests)
    }

    #[test]
    fn news_arrive_in_order() {
        let news = vec![News::Committed, News::Job(1), News::Contest(2)];
        let messages = messages(news.clone());
        assert_eq!(messages.len(), 1);
        let (received, _) = received(&messages);
        assert_eq!(format!("{received:?}"), format!("{news:?}"));
    }

    #[test]
    fn long_reports_are_divided() {
        let sent: Vec<Test> = (0..500).map(|number| test(number % 50)).collect();
        let (_, tests) = received(&messages(vec![News::Committed, report(sent.clone())]));
        let expected: Vec<(usize, Test)> = (3..).zip(sent).collect();
        assert_eq!(tests, expected);
    }

    #[test]
    fn long_texts_of_one_test_are_shortened() {
        let (_, tests) = received(&messages(vec![report(vec![test(10), test(100_000)])]));
        assert_eq!(tests.len(), 2);
        assert_eq!(tests[1].1.comment.chars().count(), MAX_TEXT);
    }

    #[test]
    fn unknown_news_let_each_reader_look() {
        let news = of_message(r#"[{"unknown":1}]"#);
        assert!(matches!(news[..], [News::Missed]));
    }
}

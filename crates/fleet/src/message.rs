//! Requests of workers and their replies.
//!
//! A message is JSON with the number of its version. Messages are small enough for a server with
//! its default limit, and a longer message is rejected before it is read. The name of the worker is
//! not in a message but in its subject, which the message server checks.

use crate::class::Class;
use crate::introduction::{Introduction, MAX_LANGUAGES, is_name};
use crate::queue::{Lease, Task};
use crate::result::{Failure, Outcome, Test, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the messages.
pub const VERSION: u32 = 1;
/// The maximum length of a message. The default limit of nats-server is 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1_000_000;
/// The maximum length of a part of a package, before its encoding in base64.
pub const MAX_PART_BYTES: usize = 256 << 10;
/// The maximum number of tests in a report of progress.
pub const MAX_TESTS: usize = 256;
/// The maximum length of the reason for a failure, in bytes.
pub const MAX_REASON_BYTES: usize = 64 << 10;
/// The longest time for which a request for a task waits at the site, in milliseconds.
pub const MAX_WAIT_MS: u64 = 10_000;

/// What a worker requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Store what the worker says about itself. It repeats this request, so that the site knows
    /// that it still runs.
    Introduce(Box<Introduction>),
    /// The next task.
    Claim(Claim),
    /// A part of the package of a leased judgement.
    Part {
        /// The lease.
        lease: Lease,
        /// The position of its first byte.
        offset: u64,
    },
    /// Renew the lease.
    Renew {
        /// The lease.
        lease: Lease,
    },
    /// Store the initial verdict.
    SetInitial {
        /// The lease.
        lease: Lease,
        /// The verdict.
        verdict: Verdict,
    },
    /// Show the results of tests.
    Show {
        /// The lease.
        lease: Lease,
        /// The number of tests whose results were reported before.
        from: usize,
        /// The next results.
        tests: Vec<Test>,
        /// The number of all tests.
        of: usize,
    },
    /// Store the result.
    Finish {
        /// The lease.
        lease: Lease,
        /// The result.
        outcome: Box<Outcome>,
    },
    /// End the lease without a result.
    Fail {
        /// The lease.
        lease: Lease,
        /// The reason.
        failure: Failure,
    },
    /// Queue the judgement again if a submission to a contest waits.
    MakeWay {
        /// The lease.
        lease: Lease,
    },
    /// The worker that has made way has claimed its next judgement.
    WayUsed,
}

/// A request for a task. The site replies when it has a task, or after some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The name of the worker's slot, for lists.
    pub slot: String,
    /// The kinds of judgements that the worker accepts.
    pub classes: Vec<Class>,
    /// The names of the languages that are installed on the machine.
    pub languages: Vec<String>,
    /// How long the site may wait for a task, in milliseconds.
    pub wait_ms: u64,
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A task.
    Task(Box<Task>),
    /// The queue has no task for the worker.
    NoTask,
    /// A part of a package; it is empty at the end of the package.
    Part {
        /// The bytes.
        #[serde(with = "base64_bytes")]
        bytes: Vec<u8>,
    },
    /// The site has done what the worker requested.
    Done,
    /// The worker does not hold the lease.
    Lost,
    /// The number of tests whose results the site shows.
    Shown {
        /// The number.
        tests: usize,
    },
    /// The site cannot do what the worker requested.
    Rejected(Rejection),
}

/// Why the site rejects a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The site does not know the worker, or the worker is disabled.
    #[error("the site does not accept this worker; run `millibox site fleet list` at the site")]
    Worker,
    /// The message is not a request, or has a different version.
    #[error("the site does not understand the request; use the same version of both programs")]
    Request,
    /// Too many requests wait.
    #[error("the site has too many requests")]
    Busy,
    /// The database or a file cannot be read or written.
    #[error("the site cannot serve the request; its log states the reason")]
    Site,
}

/// A message of the site to a worker: stop judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The judgement.
    pub judgement: i64,
}

/// Why a message cannot be sent or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It is too long.
    #[error("the message has {bytes} bytes, more than {MAX_MESSAGE_BYTES}")]
    Long {
        /// Its length.
        bytes: usize,
    },
    /// It has a different version.
    #[error("the message has version {found}, and this program knows version {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// It has a different form.
    #[error("the message cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// A part of it exceeds its bound.
    #[error("{what} of the message exceeds its bound")]
    Bound {
        /// The part.
        what: &'static str,
    },
}

#[derive(Serialize)]
struct Envelope<'b, T> {
    version: u32,
    body: &'b T,
}

#[derive(Deserialize)]
struct Opened<T> {
    body: T,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// A message as bytes.
///
/// # Errors
/// The message is too long.
pub fn encode<T: Serialize>(body: &T) -> Result<Vec<u8>, MessageError> {
    let envelope = Envelope {
        version: VERSION,
        body,
    };
    let bytes = serde_json::to_vec(&envelope)?;
    match bytes.len() <= MAX_MESSAGE_BYTES {
        true => Ok(bytes),
        false => Err(MessageError::Long { bytes: bytes.len() }),
    }
}

/// Reads a message.
///
/// # Errors
/// The message is too long, or has a different version or form.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(MessageError::Long { bytes: bytes.len() });
    }
    let Versioned { version } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(MessageError::Version { found: version });
    }
    let Opened { body } = serde_json::from_slice(bytes)?;
    Ok(body)
}

/// Reads a request, and checks its bounds.
///
/// # Errors
/// The message cannot be read, or a part of the request exceeds its bound.
pub fn decode_request(bytes: &[u8]) -> Result<Request, MessageError> {
    let request = decode(bytes)?;
    let over = |what| Err(MessageError::Bound { what });
    match &request {
        Request::Claim(claim) => {
            let mut languages = claim.languages.iter();
            if claim.languages.len() > MAX_LANGUAGES || !languages.all(|name| is_name(name)) {
                return over("a language");
            }
            if !is_name(&claim.slot) {
                return over("the slot");
            }
            if claim.wait_ms > MAX_WAIT_MS {
                return over("the time");
            }
        }
        Request::Introduce(introduction) if !introduction.is_bounded() => {
            return over("the introduction");
        }
        Request::Show { tests, .. } if tests.len() > MAX_TESTS => return over("the tests"),
        Request::Fail { failure, .. } if failure.reason.len() > MAX_REASON_BYTES => {
            return over("the reason");
        }
        _ => {}
    }
    Ok(request)
}

/// The request that stores a result, as bytes. If it is too long, its comments and reasons are
/// shortened, and the verdicts stay.
///
/// # Errors
/// The result is too long even without comments.
pub fn encode_finish(lease: Lease, outcome: Outcome) -> Result<Vec<u8>, MessageError> {
    const SHORT_TEXT_BYTES: [usize; 2] = [200, 0];
    let request = |outcome: &Outcome| Request::Finish {
        lease,
        outcome: Box::new(outcome.clone()),
    };
    let mut encoded = encode(&request(&outcome));
    let mut outcome = outcome;
    for bytes in SHORT_TEXT_BYTES {
        if !matches!(encoded, Err(MessageError::Long { .. })) {
            break;
        }
        outcome = outcome.with_short_texts(bytes);
        encoded = encode(&request(&outcome));
    }
    encoded
}

/// The tests after `from` that one report of progress contains.
pub fn next_tests(tests: &[Test], from: usize) -> &[Test] {
    // The rest of the message is shorter than the difference.
    const MAX_BYTES: usize = MAX_MESSAGE_BYTES - 1000;
    let rest = tests.get(from..).unwrap_or_default();
    let mut bytes = 0;
    let fits = |test: &&Test| {
        let text = serde_json::to_string(test);
        bytes += text.map_or(MAX_BYTES, |text| text.len() + 1);
        bytes <= MAX_BYTES
    };
    let count = rest.iter().take(MAX_TESTS).take_while(fits).count();
    &rest[..count]
}

/// Bytes as base64.
pub mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Writes bytes.
    ///
    /// # Errors
    /// The serializer fails.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// The text is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::introduction::{MAX_NAME_BYTES, Toolchain};
    use crate::result::{FailureKind, Protocol};

    const LEASE: Lease = Lease {
        judgement: 7,
        attempt: 2,
    };

    fn claim() -> Claim {
        Claim {
            slot: "judge-1".to_owned(),
            classes: Class::ALL.to_vec(),
            languages: vec!["c17".to_owned(), "cpp20".to_owned()],
            wait_ms: 5000,
        }
    }

    fn introduction(languages: usize) -> Introduction {
        Introduction {
            version: "0.3.0".to_owned(),
            slots: 2,
            classes: Class::ALL.to_vec(),
            toolchains: vec![Toolchain::new("c17", "gcc 12"); languages],
            calibration_ns: 1,
        }
    }

    fn outcome(tests: usize, comment: &str) -> Outcome {
        let test = Test {
            name: "1".to_owned(),
            verdict: Some(Verdict::WrongAnswer),
            comment: comment.to_owned(),
            ..Test::default()
        };
        Outcome {
            initial_verdict: Verdict::Accepted,
            verdict: Verdict::WrongAnswer,
            score: 3,
            max_score: Some(4),
            cpu_time_ns: None,
            memory_bytes: None,
            as_expected: None,
            protocol: Protocol {
                tests: vec![test; tests],
                ..Protocol::default()
            },
        }
    }

    #[test]
    fn requests_and_replies_survive_their_encoding() {
        let finish = Request::Finish {
            lease: LEASE,
            outcome: Box::new(outcome(2, "wrong\0")),
        };
        let fail = Request::Fail {
            lease: LEASE,
            failure: Failure {
                kind: FailureKind::Machine,
                reason: "no disk".to_owned(),
            },
        };
        let introduce = Request::Introduce(Box::new(introduction(1)));
        let claim = Request::Claim(claim());
        for request in [introduce, claim, finish, fail, Request::WayUsed] {
            let bytes = encode(&request).unwrap();
            assert_eq!(decode_request(&bytes).unwrap(), request);
        }
        let task = Task {
            lease: LEASE,
            lease_ms: 30_000,
            submission: 1,
            makes_way: true,
            measures: false,
            language: "c17".to_owned(),
            model_name: None,
            file_name: "a.c".to_owned(),
            source: vec![0, 255, 10],
            package: Digest::of(b"package"),
            package_bytes: 7,
        };
        for reply in [
            Reply::Task(Box::new(task)),
            Reply::Part { bytes: vec![0; 9] },
            Reply::Rejected(Rejection::Busy),
        ] {
            let bytes = encode(&reply).unwrap();
            assert_eq!(decode::<Reply>(&bytes).unwrap(), reply);
        }
    }

    #[test]
    fn message_of_a_different_version_is_rejected_by_its_number() {
        let newer = br#"{"version": 2, "body": {"levitate": {}}}"#;
        let error = decode_request(newer).unwrap_err();
        assert!(matches!(error, MessageError::Version { found: 2 }));
        for wrong in [&b""[..], b"{}", b"\xff", br#"{"version": 1}"#] {
            let error = decode_request(wrong).unwrap_err();
            assert!(matches!(error, MessageError::Form(_)), "{wrong:?}");
        }
    }

    #[test]
    fn long_messages_are_not_read() {
        let long = vec![b' '; MAX_MESSAGE_BYTES + 1];
        let error = decode_request(&long).unwrap_err();
        assert!(matches!(error, MessageError::Long { .. }), "{error}");
    }

    #[test]
    fn request_over_its_bounds_is_rejected() {
        let wrong = [
            Claim {
                languages: vec!["c".to_owned(); MAX_LANGUAGES + 1],
                ..claim()
            },
            Claim {
                languages: vec!["c|cpp".to_owned()],
                ..claim()
            },
            Claim {
                slot: "x".repeat(MAX_NAME_BYTES + 1),
                ..claim()
            },
            Claim {
                slot: String::new(),
                ..claim()
            },
            Claim {
                wait_ms: MAX_WAIT_MS + 1,
                ..claim()
            },
        ];
        for claim in wrong {
            let bytes = encode(&Request::Claim(claim.clone())).unwrap();
            let error = decode_request(&bytes).unwrap_err();
            assert!(matches!(error, MessageError::Bound { .. }), "{claim:?}");
        }
        let many = Request::Show {
            lease: LEASE,
            from: 0,
            tests: vec![Test::default(); MAX_TESTS + 1],
            of: 1000,
        };
        let long = Request::Introduce(Box::new(introduction(MAX_LANGUAGES + 1)));
        for request in [many, long] {
            let error = decode_request(&encode(&request).unwrap()).unwrap_err();
            assert!(matches!(error, MessageError::Bound { .. }));
        }
    }

    #[test]
    fn largest_part_and_source_fit_into_a_message() {
        let part = Reply::Part {
            bytes: vec![255; MAX_PART_BYTES],
        };
        assert!(encode(&part).is_ok());
    }

    #[test]
    fn long_result_loses_comments_but_no_verdicts() {
        let comment = "x".repeat(4000);
        for (tests, kept) in [(10, 4000), (1000, 200), (3000, 0)] {
            let bytes = encode_finish(LEASE, outcome(tests, &comment)).unwrap();
            let Request::Finish { outcome: found, .. } = decode_request(&bytes).unwrap() else {
                panic!("not a result");
            };
            let expected = outcome(tests, &comment[..kept]);
            assert!(*found == expected, "{tests}");
        }
        let endless = encode_finish(LEASE, outcome(100_000, ""));
        assert!(matches!(endless, Err(MessageError::Long { .. })));
    }

    #[test]
    fn each_report_of_progress_fits_into_a_message() {
        let test = |bytes: usize| Test {
            // Its form in JSON has six characters.
            comment: "\u{1}".repeat(bytes),
            ..Test::default()
        };
        let many = vec![test(0); 600];
        assert_eq!(next_tests(&many, 0).len(), MAX_TESTS);
        assert_eq!(next_tests(&many, 500).len(), 100);
        assert!(next_tests(&many, 600).is_empty());
        assert!(next_tests(&many, 700).is_empty());
        let long = vec![test(40_000); 9];
        let tests = next_tests(&long, 0).to_vec();
        assert_eq!(tests.len(), 4);
        let request = Request::Show {
            lease: LEASE,
            from: 0,
            tests,
            of: 9,
        };
        assert!(encode(&request).is_ok());
    }
}

//! Compares the built-in checkers with slow and simple models, and interprets the output of custom
//! checkers.

use crate::Target;
use millibox::{Backend, Outcome, RunResult};
use millibox_judge::checker::custom::checker_limits;
use millibox_judge::checker::tokens::Options;
use millibox_judge::checker::{exact, lines, tokens};
use millibox_judge::convention::interpret;
use millibox_judge::feedback::{Feedback, FeedbackPlace};
use millibox_judge::scoring::Grade;
use millibox_judge::verdict::{COMMENT_LIMIT, Points, Verdict};
use millibox_package::model::{self, Convention};
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;

pub const TOKENS: Target = Target {
    name: "tokens",
    run: tokens,
    dictionary: &[
        "1.0",
        "1e-9",
        "0x1.8p3",
        "0x0p9999",
        "inf",
        "nan",
        "+",
        "-0",
        " ",
        "\n",
        "\t",
        "\x0b",
        "\r\n",
        "Yes",
        "yES",
        "1e400",
        "0x1p-1074",
        "0x",
        ".",
        "1.",
        ".5",
        "5e-324",
    ],
};
pub const LINES: Target = Target {
    name: "lines",
    run: lines,
    dictionary: &[" ", "\n", "  \n", "\n\n", "\t", "\r\n", "a"],
};
pub const EXACT: Target = Target {
    name: "exact",
    run: exact,
    dictionary: &[" ", "\n", "a", "\0"],
};
pub const ANSWER: Target = Target {
    name: "answer",
    run: answer,
    dictionary: &[
        "OK\n",
        "WRONG\n",
        "100",
        "0.5",
        "-0",
        "1e2",
        "points ",
        "partially correct (",
        ")",
        "inf",
        "nan",
        "\u{202e}",
        "\x1b[31m",
        "\r",
        "\n\n",
        "100.0000000000000001",
    ],
};

/// Reads bytes in chunks of at most `chunk_bytes`.
struct ChunkedReader<'a> {
    bytes: &'a [u8],
    chunk_bytes: usize,
}

impl Read for ChunkedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.chunk_bytes.min(buffer.len()).min(self.bytes.len());
        buffer[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

/// Asserts that a description of a difference is one short line.
fn assert_short_line(difference: Option<&str>) {
    if let Some(difference) = difference {
        super::assert_one_line(difference);
        // A description has two excerpts of 48 bytes, with at most ten characters per byte.
        assert!(difference.chars().count() < 1100, "{difference}");
    }
}

const SPACE: [u8; 6] = *b" \t\n\x0b\x0c\r";

/// Returns whether `bytes` is not empty and consists of the alphabet's bytes.
fn all(bytes: &[u8], alphabet: impl Fn(u8) -> bool) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| alphabet(*byte))
}

/// The model cannot decide because a hexadecimal number is not exactly representable as a double.
struct Undecided;

/// The number that scanf(3) reads as `%lf`, if it is finite and uses the whole token. A hexadecimal
/// token is a number only with `options.hexadecimal`.
fn number(token: &[u8], options: &Options) -> Result<Option<f64>, Undecided> {
    let (negative, rest) = match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    };
    let hexadecimal = rest.starts_with(b"0x") || rest.starts_with(b"0X");
    if hexadecimal && !options.hexadecimal {
        return Ok(None);
    }
    let (digits, marks): (&[u8], &[u8]) = if hexadecimal {
        (&rest[2..], b"pP")
    } else {
        (rest, b"eE")
    };
    let (mantissa, exponent) = match digits.iter().position(|byte| marks.contains(byte)) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let is_digit = |byte: u8| {
        if hexadecimal {
            byte.is_ascii_hexdigit()
        } else {
            byte.is_ascii_digit()
        }
    };
    let points = mantissa.iter().filter(|byte| **byte == b'.').count();
    let figures: Vec<u8> = mantissa
        .iter()
        .copied()
        .filter(|byte| *byte != b'.')
        .collect();
    if points > 1 || !all(&figures, is_digit) {
        return Ok(None);
    }
    let power = match exponent {
        None => 0,
        Some(text) => {
            let unsigned = text
                .strip_prefix(b"-")
                .or(text.strip_prefix(b"+"))
                .unwrap_or(text);
            if !all(unsigned, |byte| byte.is_ascii_digit()) {
                return Ok(None);
            }
            // The bound is far beyond all exponents of finite numbers other than 0.
            let size = unsigned.iter().fold(0i64, |size, digit| {
                (size * 10 + i64::from(digit - b'0')).min(1 << 40)
            });
            if text.starts_with(b"-") { -size } else { size }
        }
    };
    let value = if !hexadecimal {
        std::str::from_utf8(rest)
            .expect("digits")
            .parse::<f64>()
            .expect("a number")
    } else if figures.iter().all(|digit| *digit == b'0') {
        0.0
    } else {
        let after = mantissa
            .iter()
            .position(|byte| *byte == b'.')
            .map_or(0, |at| mantissa.len() - at - 1);
        let power = power - 4 * after as i64;
        let text = std::str::from_utf8(&figures)
            .expect("digits")
            .trim_start_matches('0');
        if text.len() > 13 || power.abs() > 900 {
            return Err(Undecided);
        }
        u64::from_str_radix(text, 16).expect("at most 13 digits") as f64 * 2f64.powi(power as i32)
    };
    Ok(value
        .is_finite()
        .then_some(if negative { -value } else { value }))
}

/// A simple model of the ICPC format's default validator, which holds everything in memory.
fn tokens_model(output: &[u8], answer: &[u8], options: &Options) -> Result<bool, Undecided> {
    let split = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split(|byte| SPACE.contains(byte))
            .filter(|token| !token.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    // Replaces each token with `x`, which leaves the white space and its position.
    let spaces = |text: &[u8]| -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        for byte in text {
            if SPACE.contains(byte) {
                out.push(*byte);
            } else if out.last() != Some(&b'x') {
                out.push(b'x');
            }
        }
        out
    };
    if options.space_change_sensitive && spaces(output) != spaces(answer) {
        return Ok(false);
    }
    let (output, answer) = (split(output), split(answer));
    if output.len() != answer.len() {
        return Ok(false);
    }
    for (read, expected) in output.iter().zip(&answer) {
        if read == expected {
            continue;
        }
        let floats = options.absolute.is_some() || options.relative.is_some();
        let same = match if floats {
            number(expected, options)?
        } else {
            None
        } {
            Some(wanted) => match number(read, options)? {
                None => false,
                Some(given) => {
                    let error = (wanted - given).abs();
                    options.absolute.is_some_and(|limit| error <= limit)
                        || options
                            .relative
                            .is_some_and(|limit| error <= limit * wanted.abs())
                }
            },
            None => !options.case_sensitive && read.eq_ignore_ascii_case(expected),
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The parts of the input are flags (one byte each), output and answer.
fn tokens(bytes: &[u8]) {
    let [flags, output, answer] = super::split_parts(bytes);
    let tolerance = |at: usize| match flags.get(at)? {
        b'0' => Some(0.0),
        b'1' => Some(1e-9),
        b'2' => Some(0.5),
        b'3' => Some(1e300),
        _ => None,
    };
    let options = Options {
        case_sensitive: flags.first() == Some(&b'c'),
        space_change_sensitive: flags.get(1) == Some(&b's'),
        absolute: tolerance(2),
        relative: tolerance(3),
        hexadecimal: flags.get(4) != Some(&b'd'),
    };
    let chunked_output = ChunkedReader {
        bytes: output,
        chunk_bytes: 1 + flags.len() % 7,
    };
    let chunked_answer = ChunkedReader {
        bytes: answer,
        chunk_bytes: 5,
    };
    let difference =
        tokens::compare(chunked_output, chunked_answer, &options).expect("memory is readable");
    assert_short_line(difference.as_deref());
    let whole = tokens::compare(output, answer, &options).expect("memory is readable");
    assert_eq!(difference, whole, "the result depends on the chunks");
    if let Ok(same) = tokens_model(output, answer, &options) {
        assert_eq!(difference.is_none(), same, "{options:?} {difference:?}");
    }
    if let Ok(text) = std::str::from_utf8(flags)
        && let Err(why) = Options::parse(&[text])
    {
        super::assert_one_line(&why.to_string());
    }
}

fn lines(bytes: &[u8]) {
    let [output, answer] = super::split_parts(bytes);
    let model = |text: &[u8]| -> Vec<Vec<u8>> {
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
        let trimmed = |line: &[u8]| {
            line[..line
                .iter()
                .rposition(|byte| !is_space(byte))
                .map_or(0, |at| at + 1)]
                .to_vec()
        };
        let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(trimmed).collect();
        while lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        lines
    };
    let difference =
        lines::compare(BufReader::with_capacity(3, output), answer).expect("memory is readable");
    assert_short_line(difference.as_deref());
    assert_eq!(
        difference.is_none(),
        model(output) == model(answer),
        "{difference:?}"
    );
}

fn exact(bytes: &[u8]) {
    let [output, answer] = super::split_parts(bytes);
    let difference =
        exact::compare(BufReader::with_capacity(3, output), answer).expect("memory is readable");
    assert_short_line(difference.as_deref());
    assert_eq!(difference.is_none(), output == answer, "{difference:?}");
}

thread_local! {
    static PLACE: FeedbackPlace = {
        let process = std::fs::metadata("/proc/self").expect("procfs is mounted");
        FeedbackPlace::new((process.uid(), process.gid())).expect("a temporary directory")
    };
}

/// Interprets the output of checkers, interactors and graders.
///
/// The input's first part is the convention and the exit code (one byte each). The other parts are
/// standard output, standard error, score, multiplier, judge message and team message.
fn answer(bytes: &[u8]) {
    let [header, stdout, stderr, score, part, judge, team] = super::split_parts(bytes);
    let convention = match header.first().unwrap_or(&0) % 3 {
        0 => Convention::Icpc,
        1 => Convention::Sim,
        _ => Convention::Testlib,
    };
    let code = i32::from(*header.get(1).unwrap_or(&0));
    match Grade::parse(stdout) {
        Ok(graded) => assert!(
            graded.points.is_finite() && graded.verdict != Verdict::JudgeError,
            "{graded:?}"
        ),
        Err(fault) => assert!(
            !fault.to_string().contains(char::is_control),
            "control character in {fault:?}"
        ),
    }
    PLACE.with(|place| {
        let feedback = place.fresh().expect("a feedback directory");
        let directory = place.path().join(Feedback::NAME);
        let files = [
            ("score.txt", score),
            ("score_multiplier.txt", part),
            ("judgemessage.txt", judge),
            ("teammessage.txt", team),
        ];
        for (name, bytes) in files.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            std::fs::write(directory.join(name), bytes).expect("the directory is writable");
        }
        let run = RunResult::new(Outcome::Exited(code), Backend::Rlimit);
        let answer = interpret(
            convention,
            &run,
            &checker_limits(&model::Limits::default()),
            stdout,
            stderr,
            &feedback,
        );
        assert!(matches!(
            answer.verdict,
            Verdict::Accepted | Verdict::WrongAnswer | Verdict::JudgeError
        ));
        assert_eq!(
            answer.verdict == Verdict::JudgeError,
            answer.failure.is_some(),
            "{answer:?}"
        );
        assert!(answer.comment.len() <= COMMENT_LIMIT);
        let reason = answer
            .failure
            .as_ref()
            .map_or_else(String::new, ToString::to_string);
        let text = [&answer.comment, &reason].map(|text| text.chars());
        assert!(
            text.into_iter()
                .flatten()
                .all(|c| !c.is_control() || c == '\n' || c == '\t'),
            "control character in {answer:?}"
        );
        match answer.points {
            Some(Points::Part(part)) => assert!((0.0..=1.0).contains(&part), "{answer:?}"),
            Some(Points::Absolute(points)) => assert!(points.is_finite(), "{answer:?}"),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        assert!(
            answer.points.is_none() || answer.verdict != Verdict::JudgeError,
            "{answer:?}"
        );
        if convention == Convention::Sim && code == 0 {
            // Points require OK in the first line and a number in the second.
            let mut text = if stdout.is_empty() { stderr } else { stdout }.to_vec();
            // The convention ignores carriage returns.
            text.retain(|byte| *byte != b'\r');
            let second = text.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
            let digit = second.iter().any(u8::is_ascii_digit);
            assert!(
                answer.points.is_none() || text.starts_with(b"OK") && digit,
                "{answer:?}"
            );
        }
    });
}

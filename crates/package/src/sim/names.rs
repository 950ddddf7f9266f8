//! Names of tests: `abc2b` is test `b` of group 2. Ranges of names: `1a-d`, `4-8c`.

use crate::bound::{Bound, MAX_NAME_BYTES};
use crate::fault::sim::RangeFault;

/// The parts of a test's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    pub prefix: &'a str,
    /// The digits.
    pub group: &'a str,
    /// The letters.
    pub test: &'a str,
}

/// Splits a name into its parts, which may be empty.
pub fn split(name: &str) -> Name<'_> {
    let rest = name.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let prefix = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    Name {
        prefix,
        group: &rest[prefix.len()..],
        test: &name[rest.len()..],
    }
}

/// Returns the group of a test with this name, or `None` if the name has no number. Initial tests
/// belong to group 0: their names have the number 0 or end in `ocen`.
pub fn group(name: &str) -> Option<&str> {
    let Name { group, test, .. } = split(name);
    match group {
        "" => None,
        _ if test == "ocen" => Some("0"),
        group => Some(plain(group)),
    }
}

/// Returns a number without leading zeros.
pub fn plain(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" if !digits.is_empty() => "0",
        digits => digits,
    }
}

/// Returns the sort key of a group. It sorts numbers of any length by value.
pub fn group_order(group: &str) -> (usize, &str) {
    (group.len(), group)
}

/// Returns the sort key of a test in its group.
pub fn test_order(name: &str) -> (&str, usize, &str, &str) {
    let Name {
        prefix,
        group,
        test,
    } = split(name);
    let group = plain(group);
    (test, group.len(), group, prefix)
}

/// Why a string cannot be expanded as a range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeError {
    Fault(RangeFault),
    Exceeds(Bound),
}

/// Returns the names in a range of at most `max` tests.
pub fn range(text: &str, max: usize) -> Result<Vec<String>, RangeError> {
    let wrong = |fault: RangeFault| Err(RangeError::Fault(fault));
    let first = text.split_once('-').map_or(text, |(first, _)| first);
    if first.len() > MAX_NAME_BYTES {
        return Err(RangeError::Exceeds(Bound::TestName));
    }
    if max == 0 {
        return Err(RangeError::Exceeds(Bound::TestsOfFile));
    }
    let Some((first, last)) = text.split_once('-') else {
        return Ok(vec![text.to_owned()]);
    };
    let (begin, end) = (split(first), split(last));
    if last.is_empty() {
        return wrong(RangeFault::NoEnd);
    }
    if !end.prefix.is_empty() && end.prefix != begin.prefix {
        return wrong(RangeFault::Prefixes {
            first: begin.prefix.into(),
            last: end.prefix.into(),
        });
    }
    let number = |digits: &str| {
        digits.parse::<u64>().map_err(|_| {
            let digits = digits.into();
            RangeError::Fault(RangeFault::GroupNumber { digits })
        })
    };
    let from = number(begin.group)?;
    // A range such as `4a-d`.
    let to = if end.group.is_empty() {
        from
    } else {
        number(end.group)?
    };
    // A range such as `4-8c`.
    let last = end.test.to_ascii_lowercase();
    let first = if begin.test.is_empty() {
        last.clone()
    } else {
        begin.test.to_ascii_lowercase()
    };
    if first.len() != last.len() {
        let (first, last) = (first.into(), last.into());
        return wrong(RangeFault::Lengths { first, last });
    }
    if from > to || first > last {
        return wrong(RangeFault::Reversed);
    }
    let mut names = Vec::new();
    for group in from..=to {
        let mut test = first.clone().into_bytes();
        loop {
            if names.len() == max {
                return Err(RangeError::Exceeds(Bound::TestsOfFile));
            }
            names.push(format!(
                "{}{group}{}",
                begin.prefix,
                String::from_utf8_lossy(&test)
            ));
            if test == last.as_bytes() || !next(&mut test) {
                break;
            }
        }
    }
    Ok(names)
}

/// Advances to the next name of the same length: `az`, `ba`, `bb`.
fn next(letters: &mut [u8]) -> bool {
    for letter in letters.iter_mut().rev() {
        if *letter < b'z' {
            *letter += 1;
            return true;
        }
        *letter = b'a';
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_returns_parts_of_names() {
        assert_eq!(
            split("abc2b"),
            Name {
                prefix: "abc",
                group: "2",
                test: "b"
            }
        );
        assert_eq!(
            split("a1b12"),
            Name {
                prefix: "a1b",
                group: "12",
                test: ""
            }
        );
        assert_eq!(
            split("é"),
            Name {
                prefix: "é",
                group: "",
                test: ""
            }
        );
        assert_eq!(group("abc2b"), Some("2"));
        assert_eq!(group("abc007"), Some("7"));
        assert_eq!(group("x000"), Some("0"));
        assert_eq!(group("abc3ocen"), Some("0"));
        assert_eq!(group("abc"), None);
    }

    #[test]
    fn range_returns_all_names() {
        let names = |text| range(text, 10).unwrap().join(" ");
        assert_eq!(names("x1"), "x1");
        assert_eq!(names("1a-d"), "1a 1b 1c 1d");
        assert_eq!(names("4-6c"), "4c 5c 6c");
        assert_eq!(names("1-3"), "1 2 3");
        assert_eq!(names("t1a-2b"), "t1a t1b t2a t2b");
        assert_eq!(names("1ay-bb"), "1ay 1az 1ba 1bb");
        assert_eq!(names("t1-t2"), "t1 t2");
    }

    #[test]
    fn range_with_too_many_tests_exceeds_bound() {
        assert_eq!(range("1-3", 3).unwrap().len(), 3);
        assert_eq!(
            range("1-3", 2),
            Err(RangeError::Exceeds(Bound::TestsOfFile))
        );
        assert_eq!(range("x1", 0), Err(RangeError::Exceeds(Bound::TestsOfFile)));
        let longest = "x".repeat(MAX_NAME_BYTES - 1);
        assert_eq!(range(&format!("{longest}1-3"), 3).unwrap().len(), 3);
        assert_eq!(
            range(&format!("{longest}x1-3"), 3),
            Err(RangeError::Exceeds(Bound::TestName))
        );
    }

    #[test]
    fn range_of_invalid_text_returns_error() {
        for text in [
            "1-",
            "a-b",
            "1b-a",
            "2-1",
            "1a-bb",
            "x1-y2",
            "1-99999999999999999999",
            "1-99999999",
        ] {
            assert!(range(text, 10).is_err(), "{text}");
        }
    }
}

//! Names of tests: `abc2b` is test `b` of group 2. Ranges of them: `1a-d`, `4-8c`.

use crate::bound::{Bound, LONGEST_NAME};

/// A test's name in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    pub prefix: &'a str,
    /// Digits.
    pub group: &'a str,
    /// Letters.
    pub test: &'a str,
}

/// Any text can be taken apart so, perhaps with empty parts.
pub fn split(name: &str) -> Name<'_> {
    let rest = name.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let prefix = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    Name {
        prefix,
        group: &rest[prefix.len()..],
        test: &name[rest.len()..],
    }
}

/// Name of the group that a test belongs to; `None`: its name has no number. Initial tests are
/// those of group 0, and those that end in `ocen`.
pub fn group(name: &str) -> Option<&str> {
    let Name { group, test, .. } = split(name);
    match group {
        "" => None,
        _ if test == "ocen" => Some("0"),
        group => Some(plain(group)),
    }
}

/// Without zeros before it.
pub fn plain(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" if !digits.is_empty() => "0",
        digits => digits,
    }
}

/// Brings groups in order: as numbers, however long.
pub fn group_order(group: &str) -> (usize, &str) {
    (group.len(), group)
}

/// Brings the tests of a group in order.
pub fn test_order(name: &str) -> (&str, usize, &str, &str) {
    let Name {
        prefix,
        group,
        test,
    } = split(name);
    let group = plain(group);
    (test, group.len(), group, prefix)
}

/// Why a range is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeError {
    /// In words.
    Wrong(String),
    Exceeds(Bound),
}

/// The names in a range, of which there may be `most`, or what is wrong with it.
pub fn range(text: &str, most: usize) -> Result<Vec<String>, RangeError> {
    let wrong = |why: String| Err(RangeError::Wrong(why));
    let first = text.split_once('-').map_or(text, |(first, _)| first);
    if first.len() > LONGEST_NAME {
        return Err(RangeError::Exceeds(Bound::TestName));
    }
    if most == 0 {
        return Err(RangeError::Exceeds(Bound::TestsOfFile));
    }
    let Some((first, last)) = text.split_once('-') else {
        return Ok(vec![text.to_owned()]);
    };
    let (begin, end) = (split(first), split(last));
    if last.is_empty() {
        return wrong("nothing stands after the hyphen".to_owned());
    }
    if !end.prefix.is_empty() && end.prefix != begin.prefix {
        return wrong(format!(
            "its ends begin differently, with {:?} and {:?}",
            begin.prefix, end.prefix
        ));
    }
    let number = |digits: &str| {
        digits
            .parse::<u64>()
            .map_err(|_| RangeError::Wrong(format!("{digits:?} is no number of a group")))
    };
    let from = number(begin.group)?;
    // `4a-d`
    let to = if end.group.is_empty() {
        from
    } else {
        number(end.group)?
    };
    // `4-8c`
    let last = end.test.to_ascii_lowercase();
    let first = if begin.test.is_empty() {
        last.clone()
    } else {
        begin.test.to_ascii_lowercase()
    };
    if first.len() != last.len() {
        return wrong(format!("{first:?} and {last:?} have different lengths"));
    }
    if from > to || first > last {
        return wrong("its end comes before its beginning".to_owned());
    }
    let mut names = Vec::new();
    for group in from..=to {
        let mut test = first.clone().into_bytes();
        loop {
            if names.len() == most {
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

/// The next name of the same length: `az`, `ba`, `bb`.
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
    fn names_come_apart() {
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
    fn ranges() {
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
    fn range_beyond_what_is_left_exceeds_a_bound() {
        assert_eq!(range("1-3", 3).unwrap().len(), 3);
        assert_eq!(
            range("1-3", 2),
            Err(RangeError::Exceeds(Bound::TestsOfFile))
        );
        assert_eq!(range("x1", 0), Err(RangeError::Exceeds(Bound::TestsOfFile)));
        let longest = "x".repeat(LONGEST_NAME - 1);
        assert_eq!(range(&format!("{longest}1-3"), 3).unwrap().len(), 3);
        assert_eq!(
            range(&format!("{longest}x1-3"), 3),
            Err(RangeError::Exceeds(Bound::TestName))
        );
    }

    #[test]
    fn what_is_no_range_is_refused() {
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

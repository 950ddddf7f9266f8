//! Versions and ranges of versions, as npm's `semver` understands them.

use std::cmp::Ordering;
use std::fmt;

/// A version `MAJOR.MINOR.PATCH`, with an optional pre-release part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    pre: Option<String>,
    text: String,
}

impl Version {
    /// Parses a complete version.
    pub fn parse(text: &str) -> Option<Version> {
        let partial = Partial::parse(text.trim())?;
        let [Some(major), Some(minor), Some(patch)] = partial.numbers else {
            return None;
        };
        Some(Version {
            numbers: [major, minor, patch],
            pre: partial.pre,
            text: text.trim().trim_start_matches(['v', '=']).to_owned(),
        })
    }

    /// Parses the version of a tool. Missing numbers are 0, and additional numbers are ignored.
    pub fn of_tool(text: &str) -> Version {
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(text.split('.')) {
            *number = part.parse().unwrap_or(0);
        }
        let [major, minor, patch] = numbers;
        Version {
            numbers,
            pre: None,
            text: format!("{major}.{minor}.{patch}"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        // A pre-release comes before its release.
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| match (&self.pre, &other.pre) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(one), Some(two)) => one.cmp(two),
            })
            .then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A range of versions: alternatives, each of which is a list of conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Condition>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    AtLeast([u64; 3]),
    Below([u64; 3]),
    Exactly([u64; 3], Option<String>),
    Never,
}

/// A version in which numbers may be missing, as in `3.x`.
#[derive(Debug, Clone)]
struct Partial {
    numbers: [Option<u64>; 3],
    pre: Option<String>,
}

impl Range {
    /// Parses a range such as `*`, `3.x`, `3.10.0`, `^3`, `~1.2`, `>=2 <4`, `1 - 2` or
    /// `1.x || 3.x`.
    pub fn parse(text: &str) -> Option<Range> {
        let alternatives = text
            .split("||")
            .map(|alternative| conditions(alternative.trim()))
            .collect::<Option<_>>()?;
        Some(Range { alternatives })
    }

    /// Whether a version is in the range. A pre-release is only in a range that names it exactly.
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|conditions| {
            let is_named = conditions
                .iter()
                .any(|condition| matches!(condition, Condition::Exactly(..)));
            (version.pre.is_none() || is_named)
                && conditions.iter().all(|condition| condition.holds(version))
        })
    }
}

impl Condition {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Condition::AtLeast(numbers) => version.numbers >= *numbers,
            Condition::Below(numbers) => version.numbers < *numbers,
            Condition::Exactly(numbers, pre) => version.numbers == *numbers && version.pre == *pre,
            Condition::Never => false,
        }
    }
}

fn conditions(text: &str) -> Option<Vec<Condition>> {
    if let Some((from, to)) = text.split_once(" - ") {
        let (from, to) = (Partial::parse(from.trim())?, Partial::parse(to.trim())?);
        let mut conditions = vec![Condition::AtLeast(from.lowest())];
        conditions.extend(to.after().map(Condition::Below));
        return Some(conditions);
    }
    let mut conditions = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let operator_end = rest
            .find(|character| !matches!(character, '<' | '>' | '=' | '^' | '~'))
            .unwrap_or(rest.len());
        let (operator, after) = rest.split_at(operator_end);
        let after = after.trim_start();
        let end = after
            .find(|character: char| {
                character.is_whitespace() || matches!(character, '<' | '>' | '=' | '^' | '~')
            })
            .unwrap_or(after.len());
        let (version, after) = after.split_at(end);
        compare(operator, &Partial::parse(version)?, &mut conditions)?;
        rest = after.trim_start();
    }
    Some(conditions)
}

fn compare(operator: &str, version: &Partial, conditions: &mut Vec<Condition>) -> Option<()> {
    let lowest = version.lowest();
    let mut between = |end: Option<[u64; 3]>| {
        conditions.push(Condition::AtLeast(lowest));
        conditions.extend(end.map(Condition::Below));
    };
    match operator {
        "" | "=" => match version.numbers {
            [Some(_), Some(_), Some(_)] => {
                conditions.push(Condition::Exactly(lowest, version.pre.clone()));
            }
            _ => between(version.after()),
        },
        "^" => between(version.next_breaking()),
        "~" | "~>" => between(match version.numbers {
            [Some(major), Some(minor), _] => Some([major, minor.saturating_add(1), 0]),
            _ => version.after(),
        }),
        ">=" => conditions.push(Condition::AtLeast(lowest)),
        "<" => conditions.push(Condition::Below(lowest)),
        ">" => conditions.push(version.after().map_or(Condition::Never, Condition::AtLeast)),
        "<=" => conditions.extend(version.after().map(Condition::Below)),
        _ => return None,
    }
    Some(())
}

impl Partial {
    fn parse(text: &str) -> Option<Partial> {
        let text = text.strip_prefix(['v', '=']).unwrap_or(text);
        // The part after `+` names a build and is not compared.
        let (text, build) = match text.split_once('+') {
            None => (text, None),
            Some((text, build)) => (text, Some(build)),
        };
        let (numbers_text, pre) = match text.split_once('-') {
            None => (text, None),
            Some((numbers, pre)) => (numbers, Some(pre)),
        };
        let is_identifier = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        };
        if ![pre, build].into_iter().flatten().all(is_identifier) {
            return None;
        }
        let mut numbers = [None; 3];
        let mut is_open = numbers_text.is_empty();
        let parts: Vec<&str> = match numbers_text {
            "" => Vec::new(),
            text => text.split('.').collect(),
        };
        if parts.len() > numbers.len() {
            return None;
        }
        for (number, part) in numbers.iter_mut().zip(parts) {
            match part {
                "x" | "X" | "*" => is_open = true,
                // Parts after `x` are not compared either.
                part if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                    let parsed = part.parse().ok()?;
                    *number = (!is_open).then_some(parsed);
                }
                _ => return None,
            }
        }
        if pre.is_some() && numbers.contains(&None) {
            return None;
        }
        Some(Partial {
            numbers,
            pre: pre.map(str::to_owned),
        })
    }

    fn lowest(&self) -> [u64; 3] {
        self.numbers.map(Option::unwrap_or_default)
    }

    /// The first version after all versions that match; `None` if all versions match.
    fn after(&self) -> Option<[u64; 3]> {
        match self.numbers {
            [Some(major), Some(minor), Some(patch)] => {
                Some([major, minor, patch.saturating_add(1)])
            }
            [Some(major), Some(minor), None] => Some([major, minor.saturating_add(1), 0]),
            [Some(major), ..] => Some([major.saturating_add(1), 0, 0]),
            [None, ..] => None,
        }
    }

    /// The upper bound of `^`: the first version in which the leftmost number that is not 0 is
    /// larger.
    fn next_breaking(&self) -> Option<[u64; 3]> {
        match self.numbers {
            [Some(0), Some(0), Some(patch)] => Some([0, 0, patch.saturating_add(1)]),
            [Some(0), Some(minor), _] => Some([0, minor.saturating_add(1), 0]),
            [Some(major), ..] => Some([major.saturating_add(1), 0, 0]),
            [None, ..] => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_contains_what_npm_says() {
        let cases = [
            ("*", "3.10.0", true),
            ("", "3.10.0", true),
            ("x", "3.10.0", true),
            ("3.x", "3.10.0", true),
            ("3", "3.10.0", true),
            ("3.1", "3.10.0", false),
            ("3.10", "3.10.7", true),
            ("3.10.0", "3.10.0", true),
            ("=v3.10.0", "3.10.0", true),
            ("3.10.0", "3.10.1", false),
            ("^3", "3.10.0", true),
            ("^3.11", "3.10.0", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("^0.0", "0.0.4", true),
            ("^0", "0.9.0", true),
            ("~3.10.1", "3.10.9", true),
            ("~3.10.1", "3.11.0", false),
            ("~3", "3.99.0", true),
            (">3", "3.99.0", false),
            (">3", "4.0.0", true),
            (">=3.10 <4", "3.10.0", true),
            (">= 3.10 < 3.10.5", "3.10.5", false),
            (">=3<4", "3.5.0", true),
            ("<=3.10", "3.10.9", true),
            ("<3", "3.0.0", false),
            ("1.2 - 3.4", "3.4.9", true),
            ("1.2 - 3.4.1", "3.4.2", false),
            ("2.x || 3.x", "3.0.0", true),
            ("2.x||4.x", "3.0.0", false),
            (">*", "3.0.0", false),
            ("*", "1.0.0-rc.1", false),
            ("1.0.0-rc.1", "1.0.0-rc.1", true),
            ("1.0.0", "1.0.0-rc.1", false),
        ];
        for (range, version, expected) in cases {
            let parsed = Range::parse(range).unwrap_or_else(|| panic!("{range:?}"));
            let version = Version::parse(version).unwrap();
            assert_eq!(
                parsed.contains(&version),
                expected,
                "{range:?} and {version}"
            );
        }
        for malformed in [
            "latest", "3.x.y", "1.2.3.4", "^", ">>1", "1.-", "-1", "3 ,4",
        ] {
            let parsed = Range::parse(malformed);
            let is_open = malformed == "^";
            assert_eq!(parsed.is_some(), is_open, "{malformed:?}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let mut versions: Vec<Version> = ["3.9.0", "3.10.0", "3.10.0-rc.1", "10.2.0"]
            .iter()
            .filter_map(|text| Version::parse(text))
            .collect();
        versions.sort();
        let sorted: Vec<String> = versions.iter().map(ToString::to_string).collect();
        assert_eq!(sorted, ["3.9.0", "3.10.0-rc.1", "3.10.0", "10.2.0"]);
        assert_eq!(Version::of_tool("12.2").to_string(), "12.2.0");
        assert_eq!(Version::of_tool("").to_string(), "0.0.0");
        assert_eq!(Version::parse("3.10"), None);
    }
}

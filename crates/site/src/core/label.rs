//! Labels of problems. Within a round, they differ by more than case and spaces, because columns,
//! clarifications and commands name a problem by its label.

/// The maximum length of a label, in characters.
pub const MAX_LABEL: usize = 16;

/// What labels are compared by.
fn key(label: &str) -> String {
    let symbols = label.chars().filter(|symbol| !symbol.is_whitespace());
    symbols.flat_map(char::to_lowercase).collect()
}

/// Whether two labels count as equal.
pub fn are_equal(one: &str, other: &str) -> bool {
    key(one) == key(other)
}

/// The label of the problem with this number, from 0: A to Z, and then P27 and so on.
pub fn of_number(number: usize) -> String {
    match (b'A'..=b'Z').nth(number) {
        Some(letter) => char::from(letter).to_string(),
        None => format!("P{}", number + 1),
    }
}

/// The label, or if it is taken, a similar one with a number.
pub fn free<'l>(label: &str, taken: impl Iterator<Item = &'l str> + Clone) -> String {
    let is_free = |label: &str| taken.clone().all(|other| !are_equal(label, other));
    if is_free(label) {
        return label.to_owned();
    }
    let mut number = 2_u64;
    loop {
        let suffix = format!("-{number}");
        let kept = label.chars().take(MAX_LABEL - suffix.len());
        let found: String = kept.chain(suffix.chars()).collect();
        if is_free(&found) {
            return found;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_letters_and_then_numbers() {
        let found = [0, 1, 25, 26, 99].map(of_number);
        assert_eq!(found, ["A", "B", "Z", "P27", "P100"]);
    }

    #[test]
    fn labels_differ_by_more_than_case_and_spaces() {
        let table = [
            ("A", "a", true),
            ("A", " A ", true),
            ("A 1", "a1", true),
            ("A\u{a0}1", "A1", true),
            ("Ä", "ä", true),
            ("A", "B", false),
            ("A1", "A2", false),
            ("A", "Ä", false),
        ];
        for (one, other, expected) in table {
            assert_eq!(are_equal(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn label_that_is_taken_gets_a_number() {
        let long = "x".repeat(MAX_LABEL);
        let table = [
            ("A", vec!["B"], "A".to_owned()),
            ("A", vec!["a"], "A-2".to_owned()),
            ("A", vec!["a", "a - 2"], "A-3".to_owned()),
            (&long, vec![long.as_str()], format!("{}-2", &long[2..])),
        ];
        for (label, taken, expected) in table {
            let found = free(label, taken.iter().copied());
            assert_eq!(found, expected);
            assert!(found.chars().count() <= MAX_LABEL);
        }
    }
}

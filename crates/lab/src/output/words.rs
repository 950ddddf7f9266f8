//! Formats numbers as text.

use crate::Unit;

/// The unit in which numbers are displayed so that they are short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisplayUnit {
    divisor: f64,
    /// The name for a heading, for example "ms"; may be empty.
    pub unit: &'static str,
}

impl DisplayUnit {
    /// Chooses the unit for numbers of about this size.
    pub fn for_values(unit: Unit, typical: f64) -> DisplayUnit {
        let steps: &[(f64, &str)] = match unit {
            Unit::Nanoseconds => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
            Unit::Bytes => &[
                (1073741824.0, "GiB"),
                (1048576.0, "MiB"),
                (1024.0, "KiB"),
                (1.0, "bytes"),
            ],
            Unit::Cycles => &[(1.0, "cycles")],
            Unit::PerSecond => &[(1.0, "per second")],
            Unit::Count => &[(1.0, "")],
        };
        // Show 1500 us and not 1.5 ms, because neighbouring numbers are then easier to compare.
        let fits = steps
            .iter()
            .find(|(divisor, _)| typical.abs() >= divisor * 2.0)
            .or(steps.last());
        let &(divisor, unit) = fits.unwrap_or(&(1.0, ""));
        DisplayUnit { divisor, unit }
    }

    /// Converts the number to this unit.
    pub fn scale(self, value: f64) -> f64 {
        value / self.divisor
    }

    /// Formats the number in this unit with four significant digits.
    pub fn number(self, value: f64) -> String {
        number(self.scale(value))
    }

    /// `name, unit`.
    pub fn heading(self, name: &str) -> String {
        if self.unit.is_empty() {
            name.to_owned()
        } else {
            format!("{name}, {}", self.unit)
        }
    }
}

/// Formats a number with four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let places = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

/// Converts a name to a file name of letters, digits and dashes.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        let of = |typical, value| {
            let shown = DisplayUnit::for_values(Unit::Nanoseconds, typical);
            format!("{} {}", shown.number(value), shown.unit)
        };
        assert_eq!(of(486_000.0, 486_123.0), "486.1 us");
        assert_eq!(of(1_500_000.0, 1_500_000.0), "1500 us");
        assert_eq!(of(25_000_000.0, 2_100_000.0), "2.100 ms");
        assert_eq!(of(0.0, 0.0), "0 ns");
        assert_eq!(
            DisplayUnit::for_values(Unit::Bytes, 5e6).number(5e6),
            "4.768"
        );
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(
            slug("CPU time, 2 slots (pinned)"),
            "cpu-time-2-slots-pinned"
        );
    }
}

//! The flags of the ICPC formats' default output validator, and the numbers that it accepts.

pub use crate::fault::icpc::FlagError;

/// The flags of the validator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    /// `case_sensitive`: upper and lower case letters are different.
    pub case_sensitive: bool,
    /// `space_change_sensitive`: white space must be the same.
    pub space_change_sensitive: bool,
    /// `float_absolute_tolerance E`, `float_tolerance E`.
    pub absolute: Option<f64>,
    /// `float_relative_tolerance E`, `float_tolerance E`.
    pub relative: Option<f64>,
    /// Whether hexadecimal tokens are numbers. The version of the format decides this, not a flag:
    /// the validator of `legacy` uses scanf(3), and from 2023-07 on, numbers are decimal.
    pub hexadecimal: bool,
}

impl Options {
    /// Parses flags. White space may separate flags in one string.
    ///
    /// # Errors
    /// A flag is unknown, or a tolerance is not a number.
    pub fn parse<S: AsRef<str>>(flags: &[S]) -> Result<Options, FlagError> {
        let mut options = Options::default();
        let mut words = flags
            .iter()
            .flat_map(|flag| flag.as_ref().split_whitespace());
        while let Some(flag) = words.next() {
            let mut tolerance = || {
                let value = words
                    .next()
                    .ok_or_else(|| FlagError::NoNumber { flag: flag.into() })?;
                match number(value.as_bytes(), true) {
                    Some(tolerance) if tolerance >= 0.0 => Ok(Some(tolerance)),
                    _ => Err(FlagError::Number {
                        flag: flag.into(),
                        value: value.into(),
                    }),
                }
            };
            match flag {
                "case_sensitive" => options.case_sensitive = true,
                "space_change_sensitive" => options.space_change_sensitive = true,
                "float_absolute_tolerance" => options.absolute = tolerance()?,
                "float_relative_tolerance" => options.relative = tolerance()?,
                "float_tolerance" => {
                    options.absolute = tolerance()?;
                    options.relative = options.absolute;
                }
                _ => return Err(FlagError::Unknown { flag: flag.into() }),
            }
        }
        Ok(options)
    }

    /// Whether numbers are compared with a tolerance.
    pub fn floats(&self) -> bool {
        self.absolute.is_some() || self.relative.is_some()
    }
}

/// Parses the finite number that scanf(3) would read with `%lf` from the whole token: decimal or,
/// if requested, hexadecimal.
pub fn number(token: &[u8], hexadecimal: bool) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(digits) if hexadecimal => of_hexadecimal(digits)?,
        Some(_) => return None,
        // A second sign is invalid, and infinities and numbers out of range are not finite.
        None if digits.starts_with(['+', '-']) => return None,
        None => digits.parse().ok()?,
    };
    value
        .is_finite()
        .then_some(if negative { -value } else { value })
}

/// Parses a whole number. A very long number becomes a number far beyond the exponent of a double.
fn power(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if negative { -size } else { size })
}

/// Parses the digits after `0x` with at most one point and an optional binary exponent.
fn of_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let (mut value, mut exponent) = (0u64, exponent - 4 * part.len() as i64);
    for digit in whole.chars().chain(part.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if value >> 60 == 0 {
            value = value << 4 | digit;
        } else {
            // These digits are beyond a double's precision, but decide how it is rounded.
            value |= u64::from(digit != 0);
            exponent += 4;
        }
    }
    if value == 0 {
        return Some(0.0);
    }
    // Multiply in two steps, because one factor may be out of range although the product is not.
    let exponent = exponent.clamp(-4000, 4000) as i32;
    let half = exponent / 2;
    Some(value as f64 * 2f64.powi(half) * 2f64.powi(exponent - half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_flags_returns_options_or_wrong_flag() {
        let all = Options::parse(&[
            "case_sensitive space_change_sensitive",
            "float_tolerance",
            "1e-6",
        ]);
        let expected = Options {
            case_sensitive: true,
            space_change_sensitive: true,
            absolute: Some(1e-6),
            relative: Some(1e-6),
            hexadecimal: false,
        };
        assert_eq!(all, Ok(expected));
        let both = Options::parse(&[
            "float_absolute_tolerance",
            "1",
            "float_relative_tolerance",
            "2",
        ])
        .unwrap();
        assert_eq!((both.absolute, both.relative), (Some(1.0), Some(2.0)));
        assert_eq!(Options::parse::<&str>(&[]), Ok(Options::default()));
        for wrong in ["case", "1e-6"] {
            let error = FlagError::Unknown { flag: wrong.into() };
            assert_eq!(Options::parse(&[wrong]), Err(error));
        }
        let flag = || "float_tolerance".into();
        let missing = FlagError::NoNumber { flag: flag() };
        assert_eq!(Options::parse(&["float_tolerance"]), Err(missing));
        for value in ["x", "-1", "nan"] {
            let error = FlagError::Number {
                flag: flag(),
                value: value.into(),
            };
            assert_eq!(Options::parse(&["float_tolerance", value]), Err(error));
        }
    }

    #[test]
    fn number_accepts_what_scanf_accepts() {
        for (text, value) in [
            ("1", 1.0),
            ("+1.", 1.0),
            ("-.5", -0.5),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1.e2", 100.0),
            ("0x10", 16.0),
            ("-0X1.8p3", -12.0),
            ("0x.8", 0.5),
            ("1e-999", 0.0),
            ("0x1p-1074", 5e-324),
            ("0x0p9999", 0.0),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1.fffffffffffffffp0", 2.0),
            ("00012", 12.0),
        ] {
            assert_eq!(number(text.as_bytes(), true), Some(value), "{text}");
            let decimal = (!text.contains(['x', 'X'])).then_some(value);
            assert_eq!(number(text.as_bytes(), false), decimal, "{text}");
        }
        for text in [
            "", "+", ".", "e5", "1e", "1e+", "--1", "+-1", "1_0", "1,5", "0x", "0x.", "0x1p",
            "0xg", "inf", "-nan", "infinity", "1e999", "0x1p9999", "1.4🚀", "1f", "1 ",
        ] {
            assert_eq!(number(text.as_bytes(), true), None, "{text}");
            assert_eq!(number(text.as_bytes(), false), None, "{text}");
        }
    }
}

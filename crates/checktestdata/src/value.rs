//! Numbers and strings. The size of whole numbers is bounded.

use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;
use std::sync::Arc;

/// Maximum length of a whole number in bits. Arithmetic with such numbers takes milliseconds.
pub const MAX_BITS: u64 = 1 << 16;

/// Whole numbers of more bits are larger than every floating-point number.
const MAX_FLOAT_BITS: u64 = 1024;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Integer(BigInt),
    Float(f64),
    Text(Arc<[u8]>),
}

impl Value {
    /// Parses the digits of a whole number, which may follow a sign. Returns `None` if the number
    /// is too long.
    pub fn integer(digits: &[u8]) -> Option<Value> {
        // A decimal digit has more than three bits.
        let fits = digits.len() as u64 * 3 < MAX_BITS;
        let parsed = fits.then(|| BigInt::parse_bytes(digits, 10))??;
        Some(Value::Integer(parsed))
    }

    /// Returns the number of bytes that the value occupies.
    pub fn bytes(&self) -> u64 {
        match self {
            Value::Integer(number) => 32 + number.bits() / 8,
            Value::Float(_) => 16,
            Value::Text(text) => 32 + text.len() as u64,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Integer(number) if number.bits() > MAX_FLOAT_BITS => {
                Some(match number.sign() == Sign::Minus {
                    true => f64::NEG_INFINITY,
                    false => f64::INFINITY,
                })
            }
            // The text of a number is the conversion without another crate.
            Value::Integer(number) => number.to_string().parse().ok(),
            Value::Float(number) => Some(*number),
            Value::Text(_) => None,
        }
    }

    /// Returns the number of steps of a comparison, beyond the first one.
    pub fn comparison_steps(&self, other: &Value) -> u64 {
        match (self, other) {
            // The whole number is converted.
            (Value::Integer(number), Value::Float(_))
            | (Value::Float(_), Value::Integer(number)) => number.bits().min(MAX_FLOAT_BITS) / 8,
            _ => self.bytes().min(other.bytes()) / 64,
        }
    }

    /// Compares two numbers or two strings.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            _ => self.float()?.partial_cmp(&other.float()?),
        }
    }

    /// Calculates `self OPERATOR other`. The error is a sentence.
    pub fn calculate(&self, operator: u8, other: &Value) -> Result<Value, &'static str> {
        match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => {
                let bits = match operator {
                    b'*' => a.bits() + b.bits(),
                    b'^' => {
                        let exponent = u64::try_from(b).map_err(|_| "the exponent is negative")?;
                        a.bits().max(1).saturating_mul(exponent)
                    }
                    _ => a.bits().max(b.bits()) + 1,
                };
                // Powers of 0, 1 and -1 are short.
                if bits > MAX_BITS && !(operator == b'^' && a.bits() <= 1) {
                    return Err("a whole number is too large");
                }
                let is_zero = *b == BigInt::ZERO;
                Ok(Value::Integer(match operator {
                    b'+' => a + b,
                    b'-' => a - b,
                    b'*' => a * b,
                    b'/' | b'%' if is_zero => return Err("a division by zero"),
                    b'/' => a / b,
                    b'%' => a % b,
                    _ if a.bits() <= 1 => {
                        let is_odd = b.bit(0);
                        match (a.sign(), is_odd) {
                            _ if is_zero => BigInt::from(1),
                            (Sign::Minus, false) => BigInt::from(1),
                            _ => a.clone(),
                        }
                    }
                    _ => a.pow(u32::try_from(b).map_err(|_| "the exponent is too large")?),
                }))
            }
            (Value::Text(_), _) | (_, Value::Text(_)) => Err("an operation needs numbers"),
            _ => {
                let (a, b) = (self.float(), other.float());
                let (a, b) = a.zip(b).ok_or("a number is too large")?;
                let result = match (operator, other) {
                    (b'+', _) => a + b,
                    (b'-', _) => a - b,
                    (b'*', _) => a * b,
                    (b'/', _) if b == 0.0 => return Err("a division by zero"),
                    (b'/', _) => a / b,
                    (b'^', Value::Integer(_)) if b >= 0.0 => a.powf(b),
                    (b'^', _) => return Err("the exponent is not a whole number"),
                    _ => return Err("% needs whole numbers"),
                };
                match result.is_finite() {
                    true => Ok(Value::Float(result)),
                    false => Err("a number is too large"),
                }
            }
        }
    }
}

//! Reads the fields of a request as FastAPI and pydantic do, and collects all errors.

use crate::dialects::json as decoder;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A file whose name contains this text is not written.
const IGNORED_FILE: &str = "IGNORE_THIS_FILE";
/// Inputs up to this size are repeated in an error.
const MAX_SHOWN_BYTES: usize = 1000;
/// Python pads what it encodes, but other clients may not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An error in a request, as FastAPI reports it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invalid {
    /// The kind of error, such as `missing`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The path to the field, from `body`.
    pub loc: Vec<Value>,
    /// What is wrong.
    pub msg: String,
    /// The value of the field in the request.
    pub input: Value,
    /// The data of the message, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<Value>,
}

impl Invalid {
    pub(super) fn new(
        kind: &'static str,
        field: &str,
        msg: impl Into<String>,
        input: Value,
    ) -> Invalid {
        Invalid {
            kind,
            loc: vec!["body".into(), field.into()],
            msg: msg.into(),
            input: shown(input),
            ctx: None,
        }
    }

    /// The value is none of the expected ones.
    pub(super) fn literal(field: &str, input: Value, expected: &[&str]) -> Invalid {
        let quoted: Vec<String> = expected.iter().map(|name| format!("'{name}'")).collect();
        let expected = match &quoted[..] {
            [others @ .., last] if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            names => names.concat(),
        };
        let msg = format!("Input should be {expected}");
        Invalid {
            ctx: Some(json!({ "expected": expected })),
            ..Invalid::new("literal_error", field, msg, input)
        }
    }

    /// The value exceeds the maximum, which `limits.max` of the configuration sets.
    pub(super) fn above(
        field: &str,
        input: impl Into<Value>,
        max: impl Into<Value>,
        key: &str,
    ) -> Invalid {
        let max = max.into();
        let msg = format!(
            "Input should be less than or equal to {max}; the key limits.max.{key} of the \
             service's configuration sets this maximum"
        );
        Invalid {
            ctx: Some(json!({ "le": max })),
            ..Invalid::new("less_than_equal", field, msg, input.into())
        }
    }

    /// A file of the request cannot be used.
    pub(super) fn file(path: &str, msg: impl Into<String>, input: Value) -> Invalid {
        let mut invalid = Invalid::new("value_error", "files", msg, input);
        invalid.loc.push(path.into());
        invalid
    }

    /// The path to the field with dots, such as `body.code`.
    pub fn field(&self) -> String {
        let part = |part: &Value| match part {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let parts: Vec<String> = self.loc.iter().map(part).collect();
        parts.join(".")
    }
}

/// The value, unless it is large.
fn shown(value: Value) -> Value {
    let is_small = match &value {
        Value::String(text) => text.len() <= MAX_SHOWN_BYTES,
        Value::Object(_) | Value::Array(_) => false,
        _ => true,
    };
    if is_small { value } else { Value::Null }
}

/// The fields of a request that have not been read yet, and the errors so far.
pub(super) struct Fields {
    values: Map<String, Value>,
    invalid: Vec<Invalid>,
}

impl Fields {
    pub(super) fn parse(body: &[u8]) -> Result<Fields, Vec<Invalid>> {
        match decoder::python(body) {
            Ok(Value::Object(values)) => Ok(Fields {
                values,
                invalid: Vec::new(),
            }),
            Ok(other) => Err(vec![Invalid {
                kind: "model_attributes_type",
                loc: vec!["body".into()],
                msg: "Input should be a valid dictionary or object to extract fields from"
                    .to_owned(),
                input: shown(other),
                ctx: None,
            }]),
            Err(error) => Err(vec![Invalid {
                kind: "json_invalid",
                loc: vec!["body".into(), error.column().into()],
                msg: "JSON decode error".to_owned(),
                input: json!({}),
                ctx: Some(json!({ "error": error.to_string() })),
            }]),
        }
    }

    /// Returns the request if it has no errors.
    pub(super) fn finish<T>(self, request: T) -> Result<T, Vec<Invalid>> {
        if self.invalid.is_empty() {
            Ok(request)
        } else {
            Err(self.invalid)
        }
    }

    pub(super) fn reject(&mut self, invalid: Invalid) {
        self.invalid.push(invalid);
    }

    fn wrong(&mut self, kind: &'static str, name: &str, msg: &str, input: Value) {
        self.reject(Invalid::new(kind, name, msg, input));
    }

    /// A value that is neither missing nor null.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    fn required(&mut self, name: &str) -> Option<Value> {
        let value = self.values.remove(name);
        if value.is_none() {
            self.wrong("missing", name, "Field required", Value::Null);
        }
        value
    }

    pub(super) fn string(&mut self, name: &str) -> String {
        match self.required(name) {
            None => String::new(),
            Some(value) => self.as_string(name, value).unwrap_or_default(),
        }
    }

    pub(super) fn optional_string(&mut self, name: &str) -> Option<String> {
        let value = self.take(name)?;
        self.as_string(name, value)
    }

    fn as_string(&mut self, name: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            other => {
                self.wrong("string_type", name, "Input should be a valid string", other);
                None
            }
        }
    }

    /// A number or a string that contains one.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        let value = self.take(name)?;
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            Value::String(text) => match text.trim().parse() {
                Ok(number) => Some(number),
                Err(_) => {
                    let msg = "Input should be a valid number, unable to parse string as a number";
                    self.wrong("float_parsing", name, msg, value);
                    return None;
                }
            },
            _ => None,
        };
        if number.is_none() {
            self.wrong("float_type", name, "Input should be a valid number", value);
        }
        number
    }

    /// A time in seconds, which must be positive.
    pub(super) fn seconds(&mut self, name: &str, default: Duration) -> Duration {
        let Some(seconds) = self.number(name) else {
            return default;
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if seconds > 0.0 => time.max(Duration::from_nanos(1)),
            Err(_) if seconds > 0.0 => Duration::MAX,
            _ => {
                let mut invalid = Invalid::new(
                    "greater_than",
                    name,
                    "Input should be greater than 0",
                    seconds.into(),
                );
                invalid.ctx = Some(json!({ "gt": 0 }));
                self.reject(invalid);
                default
            }
        }
    }

    /// A number of MiB in bytes; `None` if it is missing or not positive.
    pub(super) fn mebibytes(&mut self, name: &str) -> Option<u64> {
        let number = self.number(name)?;
        if number.fract() != 0.0 || !number.is_finite() {
            let msg = "Input should be a valid integer, got a number with a fractional part";
            self.wrong("int_from_float", name, msg, number.into());
            return None;
        }
        // The cast saturates.
        (number > 0.0).then(|| (number as u64).saturating_mul(1 << 20))
    }

    pub(super) fn required_strings(&mut self, name: &str) -> Vec<String> {
        match self.required(name) {
            None => Vec::new(),
            Some(value) => self.as_strings(name, value),
        }
    }

    pub(super) fn strings(&mut self, name: &str) -> Vec<String> {
        match self.take(name) {
            None => Vec::new(),
            Some(value) => self.as_strings(name, value),
        }
    }

    fn as_strings(&mut self, name: &str, value: Value) -> Vec<String> {
        let Value::Array(items) = value else {
            self.wrong("list_type", name, "Input should be a valid list", value);
            return Vec::new();
        };
        let mut strings = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => strings.push(text),
                other => {
                    let msg = "Input should be a valid string";
                    let mut invalid = Invalid::new("string_type", name, msg, other);
                    invalid.loc.push(index.into());
                    self.reject(invalid);
                }
            }
        }
        strings
    }

    /// Files in Base64 by path. Files without content and those with [`IGNORED_FILE`] in their
    /// names are left out.
    pub(super) fn files(&mut self, name: &str) -> Vec<(String, Bytes)> {
        let entries = match self.take(name) {
            None => return Vec::new(),
            Some(Value::Object(entries)) => entries,
            Some(other) => {
                let msg = "Input should be a valid dictionary";
                self.wrong("dict_type", name, msg, other);
                return Vec::new();
            }
        };
        let mut files = Vec::with_capacity(entries.len());
        for (path, content) in entries {
            match content {
                Value::Null => {}
                _ if path.contains(IGNORED_FILE) => {}
                Value::String(text) => match decode(text) {
                    Ok(bytes) => files.push((path, bytes)),
                    Err(error) => {
                        let msg = format!("Value error, the content is not valid Base64: {error}");
                        self.reject(Invalid::file(&path, msg, Value::Null));
                    }
                },
                other => {
                    let msg = "Input should be a valid string";
                    let mut invalid = Invalid::new("string_type", name, msg, other);
                    invalid.loc.push(path.into());
                    self.reject(invalid);
                }
            }
        }
        files
    }
}

/// Decodes Base64, which may be broken into lines.
fn decode(mut text: String) -> Result<Bytes, base64::DecodeError> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        text.retain(|character| !character.is_ascii_whitespace());
    }
    BASE64.decode(text).map(Bytes::from)
}

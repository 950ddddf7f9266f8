//! The submission of a request: its fields, their defaults and their checks.
//!
//! Values are converted as in Judge0: numbers may be strings, an empty string means the default,
//! and arrays and objects are ignored.

use super::archive::{self, ArchiveFile};
use super::callbacks::Receivers;
use super::encoding;
use super::field_errors::{FieldErrors, FieldFault, MAX_OPTION_CHARACTERS};
use super::languages::{Kind, Language, Languages};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The bytes that a submission or a file occupies in addition to its contents.
const RECORD_BYTES: usize = 1024;

/// A limit of a submission, with its default and its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitRule {
    /// The name of the field.
    pub name: &'static str,
    /// The value of a submission that does not specify one.
    pub default: f64,
    /// The smallest value.
    pub min: Min,
    /// The largest value.
    pub max: f64,
    /// Whether fractions are kept.
    pub decimal: bool,
}

/// The smallest value of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Min {
    /// This value.
    At(f64),
    /// More than this value.
    Above(f64),
}

const fn rule(name: &'static str, default: f64, min: Min, max: f64, decimal: bool) -> LimitRule {
    LimitRule {
        name,
        default,
        min,
        max,
        decimal,
    }
}

/// CPU time in seconds.
pub const CPU_TIME: LimitRule = rule("cpu_time_limit", 5.0, Min::At(0.0), 15.0, true);
/// CPU time in seconds beyond the limit before the program is killed.
pub const CPU_EXTRA_TIME: LimitRule = rule("cpu_extra_time", 1.0, Min::At(0.0), 5.0, true);
/// Real time in seconds.
pub const WALL_TIME: LimitRule = rule("wall_time_limit", 10.0, Min::At(1.0), 20.0, true);
/// Memory in KiB.
pub const MEMORY: LimitRule = rule("memory_limit", 128_000.0, Min::At(2048.0), 512_000.0, false);
/// The stack in KiB.
pub const STACK: LimitRule = rule("stack_limit", 64_000.0, Min::At(0.0), 128_000.0, false);
/// Processes and threads.
pub const PROCESSES: LimitRule = rule(
    "max_processes_and_or_threads",
    60.0,
    Min::Above(0.0),
    120.0,
    false,
);
/// The size of each file and of each output, in KiB.
pub const FILE_SIZE: LimitRule = rule("max_file_size", 1024.0, Min::At(0.0), 4096.0, false);
/// The number of times that the program is run.
pub const RUNS: LimitRule = rule("number_of_runs", 1.0, Min::Above(0.0), 20.0, false);

/// CPU time of a compiler.
pub const COMPILE_CPU_TIME: Duration = Duration::from_secs(15);

/// The number of [`LIMITS`]. A length computed from `LIMITS` makes rustc report a cycle (E0391) in
/// release builds.
const LIMIT_COUNT: usize = 8;

/// All limits.
pub const LIMITS: [LimitRule; LIMIT_COUNT] = [
    CPU_TIME,
    CPU_EXTRA_TIME,
    WALL_TIME,
    MEMORY,
    STACK,
    PROCESSES,
    FILE_SIZE,
    RUNS,
];

/// The rules that a submission is checked against.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The languages whose ids a submission may contain.
    pub languages: &'a Languages,
    /// The addresses to which results may be sent.
    pub receivers: &'a Receivers,
}

/// A submission that can be run.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The source; a multi-file program has none.
    pub source_code: Option<Bytes>,
    /// The language of the id in the request.
    pub language: Arc<Language>,
    /// Arguments of the compiler.
    pub compiler_options: Option<String>,
    /// Arguments of the program.
    pub command_line_arguments: Option<String>,
    /// Standard input.
    pub stdin: Option<Bytes>,
    /// The output to compare with.
    pub expected_output: Option<Bytes>,
    /// The archive of additional files.
    pub additional_files: Option<Bytes>,
    /// The files in it.
    pub files: Vec<ArchiveFile>,
    /// The address to which the result is sent.
    pub callback_url: Option<String>,
    /// Whether standard error goes to standard output.
    pub redirect_stderr_to_stdout: bool,
    /// The values of [`LIMITS`].
    limits: [f64; LIMIT_COUNT],
}

impl Draft {
    /// Checks the fields of a request.
    ///
    /// # Errors
    /// Some fields have invalid values.
    pub fn parse(
        fields: &Map<String, Value>,
        is_base64: bool,
        rules: Rules<'_>,
    ) -> Result<Draft, FieldErrors> {
        let mut errors = FieldErrors::default();
        let encoded = |name| bytes(fields, name, is_base64);
        let language = language(fields, rules.languages, &mut errors);
        let is_project = language
            .as_ref()
            .is_some_and(|language| matches!(language.kind, Kind::Project));
        let source_code = encoded("source_code");
        let additional_files = bytes(fields, "additional_files", true).filter(|it| !it.is_empty());
        match (is_project, is_blank(source_code.as_deref())) {
            (false, true) => errors.add("source_code", FieldFault::Blank),
            (true, false) => errors.add("source_code", FieldFault::NotBlank),
            _ => {}
        }
        if is_project && additional_files.is_none() {
            errors.add("additional_files", FieldFault::Blank);
        }
        let files = match additional_files.as_deref().map(archive::read) {
            None => Vec::new(),
            Some(Ok(files)) => files,
            Some(Err(error)) => {
                errors.add("additional_files", FieldFault::Archive(error));
                Vec::new()
            }
        };
        let mut limits = [0.0; LIMIT_COUNT];
        for (limit, rule) in limits.iter_mut().zip(&LIMITS) {
            *limit = rule.value(fields.get(rule.name), &mut errors);
        }
        for name in [
            "enable_per_process_and_thread_time_limit",
            "enable_per_process_and_thread_memory_limit",
        ] {
            if boolean(fields, name) {
                errors.add(name, FieldFault::NotEnabled);
            }
        }
        if boolean(fields, "enable_network") {
            errors.add("enable_network", FieldFault::Network);
        }
        let callback_url = text(fields, "callback_url").filter(|url| !url.trim().is_empty());
        if callback_url
            .as_ref()
            .is_some_and(|url| !rules.receivers.allow(url))
        {
            errors.add("callback_url", FieldFault::Callback);
        }
        let compiler_options = option(fields, "compiler_options", &mut errors);
        if let (Some(_), Some(language)) = (&compiler_options, &language) {
            check_compiler_options(language, rules.languages, &mut errors);
        }
        let command_line_arguments = option(fields, "command_line_arguments", &mut errors);
        match language {
            Some(language) if errors == FieldErrors::default() => Ok(Draft {
                source_code: source_code.filter(|_| !is_project),
                language,
                compiler_options,
                command_line_arguments,
                stdin: encoded("stdin"),
                expected_output: encoded("expected_output"),
                additional_files,
                files,
                callback_url,
                redirect_stderr_to_stdout: boolean(fields, "redirect_stderr_to_stdout"),
                limits,
            }),
            _ => Err(errors),
        }
    }

    /// The value of one of [`LIMITS`].
    pub fn limit(&self, rule: LimitRule) -> f64 {
        let at = LIMITS.iter().position(|known| known.name == rule.name);
        at.map_or(rule.default, |at| self.limits[at])
    }

    /// The value of one of [`LIMITS`] as a whole number. In isolate, a limit of 0 means no limit,
    /// so it becomes the largest value.
    pub fn whole_limit(&self, rule: LimitRule) -> u64 {
        match self.limit(rule) {
            0.0 => rule.max as u64,
            value => value as u64,
        }
    }

    /// The bytes that the submission occupies.
    pub fn size(&self) -> usize {
        let parts = [
            &self.source_code,
            &self.stdin,
            &self.expected_output,
            &self.additional_files,
        ];
        let parts: usize = parts.into_iter().flatten().map(Bytes::len).sum();
        let files: usize = self
            .files
            .iter()
            .map(|file| file.bytes.len() + file.path.as_os_str().len() + RECORD_BYTES)
            .sum();
        let texts = [
            &self.compiler_options,
            &self.command_line_arguments,
            &self.callback_url,
        ];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        parts + files + texts + RECORD_BYTES
    }
}

impl LimitRule {
    /// The value of a field, or the default with an error.
    fn value(&self, field: Option<&Value>, errors: &mut FieldErrors) -> f64 {
        let number = match field {
            None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => return self.default,
            Some(Value::String(text)) if text.trim().is_empty() => return self.default,
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::Bool(_)) => None,
        };
        let Some(number) = number.filter(|number: &f64| number.is_finite()) else {
            errors.add(self.name, FieldFault::NotNumber);
            return self.default;
        };
        // Turns -0 into 0.
        let number = number + 0.0;
        match self.min {
            Min::At(min) if number < min => {
                errors.add(self.name, FieldFault::BelowMin(min));
            }
            Min::Above(min) if number <= min => {
                errors.add(self.name, FieldFault::NotAbove(min));
            }
            _ if number > self.max => {
                let fault = FieldFault::AboveMax {
                    max: self.max,
                    decimals: usize::from(self.decimal),
                };
                errors.add(self.name, fault);
            }
            _ if self.decimal => return number,
            Min::Above(min) => return number.trunc().max(min + 1.0),
            Min::At(_) => return number.trunc(),
        }
        self.default
    }
}

/// A scalar as text.
fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("t".to_owned()),
        Value::Bool(false) => Some("f".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn bytes(fields: &Map<String, Value>, name: &str, is_base64: bool) -> Option<Bytes> {
    let text = text(fields, name)?;
    Some(if is_base64 {
        encoding::decode(&text).into()
    } else {
        text.into()
    })
}

fn is_blank(bytes: Option<&[u8]>) -> bool {
    bytes.is_none_or(|bytes| bytes.trim_ascii().is_empty())
}

/// Every value is true except those that Rails treats as false.
fn boolean(fields: &Map<String, Value>, name: &str) -> bool {
    text(fields, name).is_some_and(|text| {
        !matches!(
            &text[..],
            "" | "0" | "f" | "F" | "false" | "FALSE" | "off" | "OFF"
        )
    })
}

fn option(
    fields: &Map<String, Value>,
    name: &'static str,
    errors: &mut FieldErrors,
) -> Option<String> {
    let option = text(fields, name)?;
    if option.chars().count() > MAX_OPTION_CHARACTERS {
        errors.add(name, FieldFault::TooLong);
    }
    Some(option).filter(|option| !option.trim().is_empty())
}

fn language(
    fields: &Map<String, Value>,
    languages: &Languages,
    errors: &mut FieldErrors,
) -> Option<Arc<Language>> {
    const FIELD: &str = "language_id";
    let id = match fields.get(FIELD) {
        Some(Value::Number(number)) => number.as_f64().map(|number| number as i64),
        Some(Value::String(text)) if !text.trim().is_empty() => {
            Some(text.trim().parse::<f64>().unwrap_or_default() as i64)
        }
        Some(Value::Bool(value)) => Some(i64::from(*value)),
        _ => None,
    };
    let Some(id) = id else {
        errors.add(FIELD, FieldFault::Blank);
        return None;
    };
    let found = u32::try_from(id).ok().and_then(|id| languages.get(id));
    if found.is_none() {
        let fault = if Languages::is_archived(id) {
            FieldFault::ArchivedLanguage(id)
        } else {
            FieldFault::UnknownLanguage(id)
        };
        errors.add(FIELD, fault);
    }
    found.cloned()
}

fn check_compiler_options(language: &Language, languages: &Languages, errors: &mut FieldErrors) {
    const FIELD: &str = "compiler_options";
    if language.compile_command.is_none() {
        errors.add(FIELD, FieldFault::OptionsOfInterpreted);
    } else if !language.takes_options {
        let allowed = languages.with_compiler_options();
        errors.add(FIELD, FieldFault::OptionsOf { allowed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(fields: Value, is_base64: bool) -> Result<Draft, FieldErrors> {
        let Value::Object(fields) = fields else {
            panic!("{fields} is no object")
        };
        let receivers = Receivers::new(&["http://hooks.test/in/".to_owned()]);
        let rules = Rules {
            languages: &Languages::new(&[]),
            receivers: &receivers,
        };
        Draft::parse(&fields, is_base64, rules)
    }

    fn error(field: &str, value: Value) -> Vec<String> {
        let mut fields = json!({ "source_code": "x", "language_id": 43 });
        fields[field] = value;
        match parse(fields, false) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.of(field).iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn required_fields_must_not_be_blank() {
        let errors = parse(json!({ "source_code": " \n" }), false).unwrap_err();
        assert_eq!(errors.of("source_code"), [FieldFault::Blank]);
        assert_eq!(errors.of("language_id"), [FieldFault::Blank]);
        let errors = parse(json!({ "source_code": "a", "language_id": 89 }), false).unwrap_err();
        assert_eq!(errors.of("source_code"), [FieldFault::NotBlank]);
        assert_eq!(errors.of("additional_files"), [FieldFault::Blank]);
    }

    #[test]
    fn unknown_and_archived_languages_are_rejected() {
        let message = "language with id 150000 doesn't exist";
        assert_eq!(error("language_id", json!(150_000)), [message]);
        assert_eq!(error("language_id", json!("150000")), [message]);
        let message = "language with id 4 is archived and cannot be used anymore";
        assert_eq!(error("language_id", json!("4")), [message]);
        assert_eq!(error("language_id", json!("43")), [""; 0]);
    }

    #[test]
    fn limits_have_bounds_and_numbers_may_be_strings() {
        let cases = [
            (
                "cpu_time_limit",
                json!(16),
                "must be less than or equal to 15.0",
            ),
            (
                "wall_time_limit",
                json!("20.5"),
                "must be less than or equal to 20.0",
            ),
            (
                "wall_time_limit",
                json!(0.5),
                "must be greater than or equal to 1",
            ),
            (
                "cpu_extra_time",
                json!(-1),
                "must be greater than or equal to 0",
            ),
            (
                "memory_limit",
                json!(2047),
                "must be greater than or equal to 2048",
            ),
            (
                "memory_limit",
                json!("512001"),
                "must be less than or equal to 512000",
            ),
            (
                "stack_limit",
                json!(128_001),
                "must be less than or equal to 128000",
            ),
            (
                "max_processes_and_or_threads",
                json!(0),
                "must be greater than 0",
            ),
            (
                "max_file_size",
                json!(4097),
                "must be less than or equal to 4096",
            ),
            (
                "number_of_runs",
                json!("21"),
                "must be less than or equal to 20",
            ),
            ("number_of_runs", json!("many"), "is not a number"),
            ("memory_limit", json!(true), "is not a number"),
            (
                "enable_network",
                json!(true),
                "enabling network is not allowed",
            ),
            (
                "callback_url",
                json!("http://other.test/"),
                "setting callback is not allowed",
            ),
            (
                "enable_per_process_and_thread_time_limit",
                json!("true"),
                "this option cannot be enabled",
            ),
            (
                "compiler_options",
                json!("-O2"),
                "setting compiler options is only allowed for compiled languages",
            ),
            (
                "command_line_arguments",
                json!("a".repeat(513)),
                "is too long (maximum is 512 characters)",
            ),
            (
                "additional_files",
                json!("bm8gemlw"),
                "is not a readable zip archive",
            ),
        ];
        for (field, value, message) in cases {
            assert_eq!(error(field, value), [message], "{field}");
        }
    }

    #[test]
    fn valid_values_replace_defaults_and_empty_ones_do_not() {
        let draft = parse(
            json!({
                "source_code": "eA==", "language_id": "43", "stdin": "AAE=",
                "cpu_time_limit": "0.5", "memory_limit": 4096.9, "stack_limit": "",
                "number_of_runs": null,
                "max_file_size": 0, "redirect_stderr_to_stdout": "1", "enable_network": "false",
                "callback_url": "http://hooks.test/in/1", "expected_output": ["ignored"],
            }),
            true,
        )
        .unwrap();
        assert_eq!(draft.source_code.as_deref(), Some(&b"x"[..]));
        assert_eq!(draft.stdin.as_deref(), Some(&[0, 1][..]));
        assert_eq!(draft.expected_output, None);
        assert!(draft.redirect_stderr_to_stdout);
        let limits = LIMITS.map(|rule| draft.limit(rule));
        assert_eq!(limits, [0.5, 1.0, 10.0, 4096.0, 64_000.0, 60.0, 0.0, 1.0]);
        assert_eq!(draft.whole_limit(FILE_SIZE), 4096);
    }
}

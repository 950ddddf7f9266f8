//! Requests to execute a program, and answers.

use super::constraints::Constraints;
use super::error::{JobError, RequestError};
use super::runtimes::{Runtime, Runtimes};
use crate::config::LimitsConfig;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Base64 as Node.js decodes it: padding is optional.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A program to execute.
#[derive(Debug, Clone)]
pub struct Job {
    /// The runtime that compiles and runs the files.
    pub runtime: Runtime,
    /// Files of the working directory.
    pub files: Vec<JobFile>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Standard input, which ends with a newline.
    pub stdin: Bytes,
    /// The limits.
    pub constraints: Constraints,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// The name in the request.
    pub name: String,
    pub content: Bytes,
    /// Whether the file is text, and therefore one of the sources.
    pub is_text: bool,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The compile stage, if the language has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile: Option<Stage>,
    /// The run stage. If compiling failed, a copy of the compile stage.
    pub run: Stage,
    /// The language, not an alias.
    pub language: String,
    pub version: String,
}

/// The result of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// The name of the signal that ended the program.
    pub signal: Option<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: Option<i32>,
    /// Standard output and standard error, in the order in which they arrived.
    pub output: String,
    /// The highest memory use, in bytes.
    pub memory: Option<u64>,
    /// How the program ended, unless it exited with status 0.
    pub message: Option<String>,
    /// The kind of end, unless the program exited with status 0.
    pub status: Option<Status>,
    /// CPU time, in milliseconds.
    pub cpu_time: Option<u64>,
    /// Time from start to end, in milliseconds.
    pub wall_time: Option<u64>,
    /// The outcome in the words of the service, for a header.
    #[serde(skip)]
    pub outcome: Option<&'static str>,
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Status {
    /// A run-time error: an exit code other than 0.
    #[serde(rename = "RE")]
    RuntimeError,
    #[serde(rename = "SG")]
    Signal,
    /// A time limit.
    #[serde(rename = "TO")]
    TimeOut,
    /// Too much standard output.
    #[serde(rename = "OL")]
    OutputLimit,
    /// Too much standard error.
    #[serde(rename = "EL")]
    ErrorLimit,
}

impl Job {
    /// Reads a request, with Piston's checks, in Piston's order.
    ///
    /// # Errors
    /// The request is not valid.
    pub fn read(
        body: &Map<String, Value>,
        runtimes: &Runtimes,
        limits: &LimitsConfig,
    ) -> Result<Job, RequestError> {
        let required = |name, error| match body.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(error),
        };
        let language = required("language", RequestError::Language)?;
        let version = required("version", RequestError::Version)?;
        let files = body
            .get("files")
            .and_then(Value::as_array)
            .ok_or(RequestError::Files)?;
        for (index, file) in files.iter().enumerate() {
            if !file.get("content").is_some_and(Value::is_string) {
                return Err(RequestError::Content(index));
            }
        }
        let runtime =
            runtimes
                .find(language, version)
                .ok_or_else(|| RequestError::UnknownRuntime {
                    language: language.clone(),
                    version: version.clone(),
                })?;
        let is_for_files = runtime.language == "file";
        if !is_for_files && !files.iter().any(is_declared_text) {
            return Err(RequestError::NoTextFile);
        }
        let constraints = Constraints::read(body, &runtime.overrides, limits)?;
        let files: Vec<JobFile> = files.iter().enumerate().map(JobFile::read).collect();
        // A job without files would have no main file.
        if files.is_empty() {
            return Err(RequestError::NoTextFile);
        }
        Ok(Job {
            runtime: runtime.clone(),
            files,
            args: args(body.get("args"))?,
            stdin: stdin(body.get("stdin"))?,
            constraints,
        })
    }

    /// The sources: text files, or all files if the language is `file`, whose sources are programs.
    pub fn sources(&self) -> impl Iterator<Item = &JobFile> {
        let all = self.runtime.language == "file";
        self.files.iter().filter(move |file| all || file.is_text)
    }
}

/// Whether a file counts as text when Piston checks for a text file. A file with an unknown
/// encoding does not.
fn is_declared_text(file: &Value) -> bool {
    match file.get("encoding") {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::String(encoding)) => matches!(&encoding[..], "" | "utf8"),
        Some(_) => false,
    }
}

impl JobFile {
    fn read((index, file): (usize, &Value)) -> JobFile {
        let text = |name| file.get(name).and_then(Value::as_str).unwrap_or_default();
        let content = text("content");
        let (content, is_text) = match text("encoding") {
            "base64" => (base64(content), false),
            "hex" => (hex(content), false),
            _ => (content.as_bytes().to_vec(), true),
        };
        let name = match text("name") {
            "" => format!("file{index}.code"),
            name => name.to_owned(),
        };
        JobFile {
            name,
            content: content.into(),
            is_text,
        }
    }

    /// The path below the working directory.
    ///
    /// # Errors
    /// The name points outside the working directory, or to the directory itself.
    pub fn path(&self) -> Result<PathBuf, JobError> {
        let mut parts = Vec::new();
        for part in self.name.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts
                        .pop()
                        .ok_or_else(|| JobError::Path(self.name.clone()))?;
                }
                part => parts.push(part),
            }
        }
        if parts.is_empty() || self.name.contains('\0') || self.name.ends_with('/') {
            return Err(JobError::Path(self.name.clone()));
        }
        Ok(parts.iter().collect())
    }
}

fn args(value: Option<&Value>) -> Result<Vec<String>, RequestError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(args)) => args
            .iter()
            .map(|arg| match arg {
                Value::String(arg) if !arg.contains('\0') => Ok(arg.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(RequestError::Args),
            })
            .collect(),
        Some(_) => Err(RequestError::Args),
    }
}

fn stdin(value: Option<&Value>) -> Result<Bytes, RequestError> {
    let mut text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err(RequestError::Stdin),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text.into())
}

/// Decodes base64 as Node.js does: both alphabets are accepted, other characters are skipped, and
/// padding ends the text.
fn base64(text: &str) -> Vec<u8> {
    let mut clean: Vec<u8> = text
        .bytes()
        .take_while(|byte| *byte != b'=')
        .filter_map(|byte| match byte {
            b'-' => Some(b'+'),
            b'_' => Some(b'/'),
            b'+' | b'/' => Some(byte),
            byte => byte.is_ascii_alphanumeric().then_some(byte),
        })
        .collect();
    // One character alone is less than a byte.
    if clean.len() % 4 == 1 {
        clean.pop();
    }
    BASE64.decode(clean).unwrap_or_default()
}

/// Decodes hexadecimal digits as Node.js does: up to the first pair that is not hexadecimal.
fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks_exact(2)
        .map_while(|pair| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let value = digit(pair[0])? * 16 + digit(pair[1])?;
            u8::try_from(value).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::runtimes::tests::suite;
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<Job, String> {
        let runtimes = Runtimes::new(&[suite("cpp20", "12.2.0")], &[]);
        let Value::Object(body) = body else {
            panic!("not an object")
        };
        Job::read(body, &runtimes, &LimitsConfig::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn mistakes_are_reported_in_the_order_of_piston() {
        let mut body = json!({});
        for (error, field, value) in [
            ("language is required as a string", "language", json!("c++")),
            ("version is required as a string", "version", json!("9.x")),
            (
                "files is required as an array",
                "files",
                json!([{ "content": "" }, {}]),
            ),
            (
                "files[1].content is required as a string",
                "files",
                json!([{ "content": "", "encoding": "hex" }]),
            ),
            ("c++-9.x runtime is unknown", "version", json!("12.x")),
            (
                "files must include at least one utf8 encoded file",
                "files",
                json!([{ "content": "" }]),
            ),
        ] {
            body["run_timeout"] = json!("soon");
            assert_eq!(read(&body).unwrap_err(), error);
            body[field] = value;
        }
        assert_eq!(
            read(&body).unwrap_err(),
            "If specified, run_timeout must be a number"
        );
        body["run_timeout"] = json!(1);
        assert_eq!(read(&body).unwrap().stdin, "\n");
        for (field, wrong) in [
            ("language", json!("")),
            ("language", json!(1)),
            ("version", json!(null)),
            ("files", json!({})),
            ("files", json!([null])),
            ("args", json!("a")),
            ("args", json!([{}])),
            ("stdin", json!([])),
        ] {
            let mut body = body.clone();
            body[field] = wrong;
            read(&body).unwrap_err();
        }
    }

    #[test]
    fn files_have_names_encodings_and_safe_paths() {
        let job = read(&json!({
            "language": "g++", "version": "*", "args": ["a b", 5], "stdin": "x\n",
            "files": [
                { "content": "aGk=", "encoding": "base64", "name": "a/../b/./c.bin" },
                { "content": "int", "name": "" },
                { "content": "6869zz", "encoding": "hex", "name": "/abs" },
                { "content": "h\u{e9}", "encoding": "latin1", "name": "../up" },
                { "content": "", "name": "a/.." },
            ],
        }))
        .unwrap();
        let contents: Vec<&[u8]> = job.files.iter().map(|file| &file.content[..]).collect();
        assert_eq!(
            contents,
            [&b"hi"[..], b"int", b"hi", "h\u{e9}".as_bytes(), b""]
        );
        let sources: Vec<&str> = job.sources().map(|file| &file.name[..]).collect();
        assert_eq!(sources, ["file1.code", "../up", "a/.."]);
        let paths: Vec<Option<PathBuf>> = job.files.iter().map(|file| file.path().ok()).collect();
        let expected = [Some("b/c.bin"), Some("file1.code"), Some("abs"), None, None];
        assert_eq!(paths, expected.map(|path| path.map(PathBuf::from)));
        assert_eq!(job.args, ["a b", "5"]);
        assert_eq!(job.stdin, "x\n");
    }

    #[test]
    fn encodings_are_decoded_as_by_node() {
        for (text, expected) in [
            ("aGk=", &b"hi"[..]),
            ("aGk", b"hi"),
            ("a G\nk", b"hi"),
            ("-_8=", b"\xfb\xff"),
            ("aGk=aGk=", b"hi"),
            ("a", b""),
            ("", b""),
        ] {
            assert_eq!(base64(text), expected, "{text:?}");
        }
        for (text, expected) in [
            ("6869", &b"hi"[..]),
            ("686", b"h"),
            ("68g069", b"h"),
            ("é", b""),
        ] {
            assert_eq!(hex(text), expected, "{text:?}");
        }
    }
}

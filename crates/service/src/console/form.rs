//! The fields of the form, and the request that they describe.

use crate::config::LimitsConfig;
use crate::core::catalog::Runtime;
use crate::http::problem::{self, ProblemDetails};
use crate::http::v1::model::{Blob, LimitRequest, RunRequest};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of bytes of each output stream that are shown.
const SHOWN_BYTES: u64 = 256 << 10;
/// The longest query of a link. Browsers and servers accept at least this length.
const MAX_QUERY_BYTES: usize = 6000;
const MIB: u64 = 1 << 20;

/// The fields as the browser sends them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Fields {
    /// The name of a runtime.
    pub runtime: String,
    /// The program.
    pub code: String,
    /// Standard input.
    pub stdin: String,
    /// The limit of CPU time in seconds.
    pub cpu: String,
    /// The limit of memory in MiB.
    pub memory: String,
    /// The token, if the service requires one.
    pub token: String,
    /// The button that sent the form: `run` or `example`.
    pub action: String,
}

impl Fields {
    /// Converts line endings to those of Unix, because browsers send CR LF.
    pub fn normalized(mut self) -> Fields {
        for text in [&mut self.code, &mut self.stdin] {
            if text.contains('\r') {
                *text = text.replace("\r\n", "\n");
            }
        }
        self
    }

    /// Replaces the program with the example of a runtime.
    pub fn with_example(self, runtime: &Runtime) -> Fields {
        Fields {
            runtime: runtime.name.clone(),
            code: runtime.example.clone(),
            stdin: if self.stdin.is_empty() {
                "1 2 3\n".to_owned()
            } else {
                self.stdin
            },
            ..self
        }
    }

    /// The request for the service's own interface.
    ///
    /// # Errors
    /// A limit is not a number.
    pub fn request(
        &self,
        runtime: &Runtime,
        limits: &LimitsConfig,
    ) -> Result<RunRequest, ProblemDetails> {
        let code = Blob::Text(self.code.clone());
        Ok(RunRequest {
            runtime: Some(runtime.name.clone()),
            files: BTreeMap::from([(runtime.file_name.clone(), code)]),
            stdin: Some(Blob::Text(self.stdin.clone())),
            limits: LimitRequest {
                cpu_ms: scaled("cpu", &self.cpu, 1000)?,
                memory_bytes: scaled("memory", &self.memory, MIB)?,
                output_bytes: Some(SHOWN_BYTES.min(limits.max.output_bytes)),
                ..LimitRequest::default()
            },
            ..RunRequest::default()
        })
    }

    /// The address that opens the form with these fields, unless it would be too long.
    pub fn link(&self) -> Option<String> {
        let mut link = String::from("/?");
        for (name, value) in [
            ("runtime", &self.runtime),
            ("code", &self.code),
            ("stdin", &self.stdin),
            ("cpu", &self.cpu),
            ("memory", &self.memory),
        ] {
            if link.len() > 2 {
                link.push('&');
            }
            link.push_str(name);
            link.push('=');
            percent_encode(value, &mut link);
        }
        (link.len() <= MAX_QUERY_BYTES).then_some(link)
    }
}

/// Parses a positive number in units of `scale`; `None` for an empty field.
fn scaled(field: &str, text: &str, scale: u64) -> Result<Option<u64>, ProblemDetails> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<f64>().ok();
    #[expect(clippy::cast_precision_loss, reason = "the scale is small")]
    let value = number.map(|number| (number * scale as f64).round());
    match value {
        Some(value) if (1.0..1e15).contains(&value) =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range was checked"
            )]
            Ok(Some(value as u64))
        }
        _ => Err(problem::impossible(
            field,
            format!("{text:?} is not a positive number"),
        )),
    }
}

fn percent_encode(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            to.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_of_browsers_are_removed() {
        let fields = Fields {
            code: "a\r\nb".to_owned(),
            stdin: "1\r\n2\r\n".to_owned(),
            ..Fields::default()
        };
        let fields = fields.normalized();
        assert_eq!((&fields.code[..], &fields.stdin[..]), ("a\nb", "1\n2\n"));
    }

    #[test]
    fn limits_are_scaled_and_checked() {
        assert_eq!(scaled("cpu", "1.5", 1000), Ok(Some(1500)));
        assert_eq!(scaled("memory", "64", MIB), Ok(Some(64 << 20)));
        assert_eq!(scaled("cpu", " ", 1000), Ok(None));
        for text in ["0", "-1", "NaN", "inf", "1e300", "one"] {
            assert!(scaled("cpu", text, 1000).is_err(), "{text}");
        }
    }

    #[test]
    fn link_encodes_every_field_and_has_a_bound() {
        let mut fields = Fields {
            runtime: "cpp17".to_owned(),
            code: "a+b & \"ü\"\n".to_owned(),
            token: "secret".to_owned(),
            ..Fields::default()
        };
        let link = fields.link().unwrap();
        assert_eq!(
            link,
            "/?runtime=cpp17&code=a%2Bb%20%26%20%22%C3%BC%22%0A&stdin=&cpu=&memory="
        );
        fields.code = "x".repeat(MAX_QUERY_BYTES);
        assert_eq!(fields.link(), None);
    }
}

//! A submission with its state and result, and its JSON documents.

use super::encoding::{date, encode, seconds};
use super::error::RequestError;
use super::model::{
    CPU_EXTRA_TIME, CPU_TIME, Draft, FILE_SIZE, LimitRule, MEMORY, PROCESSES, RUNS, STACK,
    WALL_TIME,
};
use super::status::Status;
use crate::core::queue::ClientId;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;

/// Fields that only versions after 1.13.1 have. `*` does not include them, because clients of
/// 1.13.1 reject fields that they do not know.
pub const NEW_FIELDS: [&str; 5] = [
    "started_at",
    "queued_at",
    "updated_at",
    "queue_host",
    "execution_host",
];

/// All fields of a submission.
pub const FIELDS: [&str; 40] = [
    "source_code",
    "language_id",
    "stdin",
    "expected_output",
    "stdout",
    "status_id",
    "created_at",
    "finished_at",
    "time",
    "memory",
    "stderr",
    "token",
    "number_of_runs",
    "cpu_time_limit",
    "cpu_extra_time",
    "wall_time_limit",
    "memory_limit",
    "stack_limit",
    "max_processes_and_or_threads",
    "enable_per_process_and_thread_time_limit",
    "enable_per_process_and_thread_memory_limit",
    "max_file_size",
    "compile_output",
    "exit_code",
    "exit_signal",
    "message",
    "wall_time",
    "compiler_options",
    "command_line_arguments",
    "redirect_stderr_to_stdout",
    "callback_url",
    "additional_files",
    "enable_network",
    "started_at",
    "queued_at",
    "updated_at",
    "queue_host",
    "execution_host",
    "status",
    "language",
];

/// The result of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The state, which is final.
    pub status: Status,
    /// Standard output.
    pub stdout: Bytes,
    /// Standard error.
    pub stderr: Bytes,
    /// Messages of the compiler.
    pub compile_output: Bytes,
    /// Why the program ended.
    pub message: Option<String>,
    /// CPU time in seconds.
    pub time: Option<f64>,
    /// Real time in seconds.
    pub wall_time: Option<f64>,
    /// Peak memory in KiB.
    pub memory: Option<u64>,
    pub exit_code: Option<i32>,
    /// The signal that ended the program.
    pub exit_signal: Option<i32>,
}

impl Verdict {
    /// A result without figures.
    pub fn new(status: Status) -> Verdict {
        Verdict {
            status,
            stdout: Bytes::new(),
            stderr: Bytes::new(),
            compile_output: Bytes::new(),
            message: None,
            time: None,
            wall_time: None,
            memory: None,
            exit_code: None,
            exit_signal: None,
        }
    }

    /// The service failed.
    pub fn internal_error(reason: impl ToString) -> Verdict {
        Verdict {
            message: Some(reason.to_string()),
            ..Verdict::new(Status::InternalError)
        }
    }

    /// The bytes that the result occupies.
    pub fn size(&self) -> usize {
        let message = self.message.as_ref().map_or(0, String::len);
        self.stdout.len() + self.stderr.len() + self.compile_output.len() + message
    }
}

/// A submission. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The name.
    pub token: Arc<str>,
    /// The client that created it.
    pub client: ClientId,
    /// The program to run.
    pub draft: Arc<Draft>,
    /// When the request arrived and the submission began to wait.
    pub created_at: SystemTime,
    /// When the submission left the queue.
    pub started_at: Option<SystemTime>,
    /// When the result was known.
    pub finished_at: Option<SystemTime>,
    /// The result.
    pub verdict: Option<Arc<Verdict>>,
}

/// Text of a submission is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8;

impl From<NotUtf8> for RequestError {
    fn from(_: NotUtf8) -> RequestError {
        RequestError::NotUtf8
    }
}

impl Submission {
    /// A new submission, in the queue.
    pub fn new(token: String, client: ClientId, draft: Draft) -> Submission {
        Submission {
            token: token.into(),
            client,
            draft: Arc::new(draft),
            created_at: SystemTime::now(),
            started_at: None,
            finished_at: None,
            verdict: None,
        }
    }

    /// The state.
    pub fn status(&self) -> Status {
        match (&self.verdict, self.started_at) {
            (Some(verdict), _) => verdict.status,
            (None, Some(_)) => Status::Processing,
            (None, None) => Status::InQueue,
        }
    }

    /// The bytes that the submission occupies.
    pub fn size(&self) -> usize {
        self.draft.size() + self.verdict.as_ref().map_or(0, |verdict| verdict.size())
    }

    /// The document with these fields.
    ///
    /// # Errors
    /// A field has text that is not UTF-8, and Base64 was not requested.
    pub fn to_json(&self, fields: &[&'static str], is_base64: bool) -> Result<Value, NotUtf8> {
        let mut document = Map::new();
        for field in fields {
            document.insert((*field).to_owned(), self.field(field, is_base64)?);
        }
        Ok(document.into())
    }

    fn field(&self, field: &str, is_base64: bool) -> Result<Value, NotUtf8> {
        let draft = &*self.draft;
        let bytes = |bytes: Option<&Bytes>| match bytes {
            None => Ok(Value::Null),
            Some(bytes) if is_base64 => Ok(encode(bytes).into()),
            Some(bytes) => std::str::from_utf8(bytes)
                .map(Value::from)
                .map_err(|_| NotUtf8),
        };
        let output = |part: fn(&Verdict) -> &Bytes| {
            let verdict = self.verdict.as_deref();
            bytes(verdict.map(part).filter(|output| !output.is_empty()))
        };
        let number = |rule: LimitRule| Value::from(draft.limit(rule) as u64);
        let decimal = |rule: LimitRule| Value::from(seconds(draft.limit(rule)));
        let time = |time: Option<f64>| json!(time.map(seconds));
        let verdict = self.verdict.as_deref();
        let host = || Value::from(host_name());
        Ok(match field {
            "source_code" => bytes(draft.source_code.as_ref())?,
            "language_id" => draft.language.id.into(),
            "language" => json!({ "id": draft.language.id, "name": draft.language.name }),
            "stdin" => bytes(draft.stdin.as_ref())?,
            "expected_output" => bytes(draft.expected_output.as_ref())?,
            "additional_files" => json!(draft.additional_files.as_deref().map(encode)),
            "stdout" => output(|verdict| &verdict.stdout)?,
            "stderr" => output(|verdict| &verdict.stderr)?,
            "compile_output" => output(|verdict| &verdict.compile_output)?,
            "message" => {
                let message = verdict.and_then(|verdict| verdict.message.as_deref());
                match message {
                    Some(message) if is_base64 => encode(message.as_bytes()).into(),
                    message => json!(message),
                }
            }
            "status_id" => self.status().id().into(),
            "status" => self.status().to_json(),
            "time" => time(verdict.and_then(|verdict| verdict.time)),
            "wall_time" => time(verdict.and_then(|verdict| verdict.wall_time)),
            "memory" => json!(verdict.and_then(|verdict| verdict.memory)),
            "exit_code" => json!(verdict.and_then(|verdict| verdict.exit_code)),
            "exit_signal" => json!(verdict.and_then(|verdict| verdict.exit_signal)),
            "token" => Value::from(&*self.token),
            "number_of_runs" => number(RUNS),
            "cpu_time_limit" => decimal(CPU_TIME),
            "cpu_extra_time" => decimal(CPU_EXTRA_TIME),
            "wall_time_limit" => decimal(WALL_TIME),
            "memory_limit" => number(MEMORY),
            "stack_limit" => number(STACK),
            "max_processes_and_or_threads" => number(PROCESSES),
            "max_file_size" => number(FILE_SIZE),
            "enable_per_process_and_thread_time_limit"
            | "enable_per_process_and_thread_memory_limit"
            | "enable_network" => false.into(),
            "compiler_options" => json!(draft.compiler_options),
            "command_line_arguments" => json!(draft.command_line_arguments),
            "redirect_stderr_to_stdout" => draft.redirect_stderr_to_stdout.into(),
            "callback_url" => json!(draft.callback_url),
            "created_at" | "queued_at" => date(self.created_at).into(),
            "started_at" => json!(self.started_at.map(date)),
            "finished_at" => json!(self.finished_at.map(date)),
            "updated_at" => {
                let last = self.finished_at.or(self.started_at);
                date(last.unwrap_or(self.created_at)).into()
            }
            "queue_host" => host(),
            "execution_host" if self.started_at.is_some() => host(),
            _ => Value::Null,
        })
    }
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::callbacks::Receivers;
    use super::super::languages::Languages;
    use super::super::model::Rules;
    use super::*;

    fn submission() -> Submission {
        let fields = json!({ "source_code": "x", "language_id": 43, "stdin": "in" });
        let rules = Rules {
            languages: &Languages::new(&[]),
            receivers: &Receivers::default(),
        };
        let draft = Draft::parse(fields.as_object().unwrap(), false, rules).unwrap();
        Submission::new("token".to_owned(), 0, draft)
    }

    #[test]
    fn every_field_is_shown_and_limits_are_strings() {
        let document = submission().to_json(&FIELDS, false).unwrap();
        assert_eq!(document.as_object().unwrap().len(), FIELDS.len());
        assert_eq!(document["cpu_time_limit"], "5.0");
        assert_eq!(document["memory_limit"], 128_000);
        assert_eq!(
            document["status"],
            json!({ "id": 1, "description": "In Queue" })
        );
        assert_eq!(document["language"]["name"], "Plain Text");
        assert_eq!(document["stdin"], "in");
        assert_eq!(document["finished_at"], Value::Null);
        let created = document["created_at"].as_str().unwrap();
        assert!(created.len() == 24 && created.ends_with('Z'), "{created}");
    }

    #[test]
    fn outputs_are_null_if_empty_and_binary_ones_need_base64() {
        let mut submission = submission();
        submission.verdict = Some(Arc::new(Verdict {
            stdout: Bytes::from_static(b"\xfe"),
            message: Some("why".to_owned()),
            time: Some(0.0021),
            ..Verdict::new(Status::NonzeroExitCode)
        }));
        assert_eq!(submission.to_json(&["stdout"], false), Err(NotUtf8));
        let fields = ["stdout", "stderr", "message", "time", "status_id"];
        assert_eq!(
            submission.to_json(&fields, true).unwrap(),
            json!({
                "stdout": "/g==\n", "stderr": null, "message": "d2h5\n", "time": "0.002",
                "status_id": 11,
            })
        );
    }

    #[test]
    fn status_numbers_are_those_of_judge0() {
        let ids = Status::ALL.map(Status::id);
        assert!(ids.iter().copied().eq(1..=14));
        assert_eq!(Status::of_signal(11).id(), 7);
        assert_eq!(Status::of_signal(25).id(), 8);
        assert_eq!(Status::of_signal(8).id(), 9);
        assert_eq!(Status::of_signal(6).id(), 10);
        assert_eq!(Status::of_signal(9).id(), 12);
    }
}

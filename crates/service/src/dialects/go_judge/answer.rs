//! Results of commands in JSON.

use super::model::CommandResult;
use serde_json::{Map, Value, json};

/// The results of a group.
pub fn results(results: &[CommandResult]) -> Value {
    results.iter().map(result).collect()
}

fn result(result: &CommandResult) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("status", json!(result.status.text()));
    set("exitStatus", json!(result.exit_status));
    if !result.error.is_empty() {
        set("error", json!(result.error));
    }
    set("time", json!(result.time));
    set("memory", json!(result.memory));
    set("runTime", json!(result.run_time));
    if result.process_peak > 0 {
        set("procPeak", json!(result.process_peak));
    }
    if !result.files.is_empty() {
        let files = result.files.iter();
        let files: Map<String, Value> = files
            .map(|(name, bytes)| (name.clone(), Value::String(text(bytes))))
            .collect();
        set("files", files.into());
    }
    if !result.file_ids.is_empty() {
        set("fileIds", json!(result.file_ids));
    }
    if !result.file_errors.is_empty() {
        let errors = result.file_errors.iter().map(|error| {
            let mut value = json!({"name": error.name, "type": error.kind.text()});
            if !error.message.is_empty() {
                value["message"] = json!(error.message);
            }
            value
        });
        set("fileError", errors.collect());
    }
    Value::Object(fields)
}

/// Bytes as text. Go replaces every invalid byte with one U+FFFD, and clients count these
/// characters.
fn text(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::model::{FileError, FileErrorKind, Status};
    use super::*;

    #[test]
    fn empty_fields_are_omitted_and_full_ones_rendered() {
        let mut command = CommandResult::not_executed(Status::Accepted, "");
        assert_eq!(
            results(std::slice::from_ref(&command)),
            json!([{"status": "Accepted", "exitStatus": 0, "time": 0, "memory": 0, "runTime": 0}])
        );
        command.files.insert("stdout".to_owned(), "a".into());
        command.file_ids.insert("a".to_owned(), "X".to_owned());
        command.process_peak = 2;
        command.file_errors.push(FileError {
            name: "b".to_owned(),
            kind: FileErrorKind::CopyOutOpen,
            message: "missing".to_owned(),
        });
        let value = &results(&[command])[0];
        assert_eq!(value["files"], json!({"stdout": "a"}));
        assert_eq!(value["fileIds"], json!({"a": "X"}));
        assert_eq!(value["procPeak"], json!(2));
        assert_eq!(
            value["fileError"],
            json!([{"name": "b", "type": "CopyOutOpen", "message": "missing"}])
        );
    }

    #[test]
    fn every_invalid_byte_is_one_replacement_character() {
        assert_eq!(text(b"a\xff\xe2\x82z"), "a\u{fffd}\u{fffd}\u{fffd}z");
    }
}

//! Requests in Judge0's dialect.

use crate::Target;
use millibox_service::fuzzing::judge0::{
    Draft, LIMITS, Languages, Min, Receivers, Rules, archive, encoding,
};
use serde_json::Value;
use std::path::Component;

pub const JUDGE0: Target = Target {
    name: "judge0",
    run: judge0,
    dictionary: &[
        "{\"source_code\":\"",
        "\"language_id\":",
        "\"43\"",
        "89",
        "\"stdin\":",
        "\"additional_files\":\"UEsDB",
        "\"callback_url\":\"http://hooks.test/in/",
        "\"command_line_arguments\":\"",
        "\"cpu_time_limit\":",
        "\"wall_time_limit\":",
        "\"memory_limit\":",
        "\"number_of_runs\":",
        "\"redirect_stderr_to_stdout\":true",
        "1e309",
        "-0",
        "\"0x1\"",
        "\"NaN\"",
        "null",
        "[[",
        "%2e%2e",
        "@",
        "\\u0000",
        "=",
        "PK\u{1}\u{2}",
        "PK\u{3}\u{4}",
        "PK\u{5}\u{6}",
        "../",
    ],
};

/// Reads an archive, or checks a submission with and without Base64. Accepted input stays within
/// the bounds that the interface promises.
fn judge0(bytes: &[u8]) {
    if bytes.starts_with(b"PK") {
        check_archive(bytes);
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    check_texts(&text);
    let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else {
        return;
    };
    let receivers = Receivers::new(&["http://hooks.test/in/".to_owned()]);
    let rules = Rules {
        languages: &Languages::new(&[]),
        receivers: &receivers,
    };
    for is_base64 in [false, true] {
        match Draft::parse(&fields, is_base64, rules) {
            Ok(draft) => check_draft(&draft),
            Err(errors) => {
                let shown = serde_json::to_value(&errors).expect("errors are JSON");
                let fields = shown.as_object().expect("errors by field");
                assert!(
                    !fields.is_empty(),
                    "the submission is rejected without a reason"
                );
                for message in fields
                    .values()
                    .flat_map(|messages| messages.as_array())
                    .flatten()
                {
                    super::assert_one_line(message.as_str().expect("a message"));
                }
            }
        }
    }
}

fn check_draft(draft: &Draft) {
    for rule in LIMITS {
        let value = draft.limit(rule);
        let is_large_enough = match rule.min {
            Min::At(min) => value >= min,
            Min::Above(min) => value > min,
        };
        assert!(
            is_large_enough && value <= rule.max,
            "{}: {value}",
            rule.name
        );
        assert!(
            rule.decimal || value.fract() == 0.0,
            "{}: {value}",
            rule.name
        );
    }
    if let Some(url) = &draft.callback_url {
        let rest = url.trim().to_ascii_lowercase();
        let rest = rest.strip_prefix("http://hooks.test");
        let rest = rest.unwrap_or_else(|| panic!("{url}"));
        let path = rest.trim_start_matches([':', '0', '8']);
        assert!(path.starts_with("/in/"), "{url}");
        assert!(
            !path.split('?').next().unwrap_or_default().contains("/../"),
            "{url}"
        );
    }
    for options in [&draft.compiler_options, &draft.command_line_arguments] {
        assert!(options.as_ref().is_none_or(|it| it.chars().count() <= 512));
    }
}

fn check_archive(bytes: &[u8]) {
    let Ok(files) =
        archive::read(bytes).map_err(|error| super::assert_one_line(&error.to_string()))
    else {
        return;
    };
    let total: usize = files.iter().map(|file| file.bytes.len()).sum();
    assert!(
        total as u64 <= archive::MAX_EXTRACT_KIB << 10,
        "{total} bytes"
    );
    for file in &files {
        assert!(
            file.path
                .components()
                .all(|part| matches!(part, Component::Normal(_))),
            "{}",
            file.path.display()
        );
        assert_eq!(file.mode & !0o777, 0, "{:o}", file.mode);
    }
}

fn check_texts(text: &str) {
    let encoded = encoding::encode(text.as_bytes());
    assert!(encoded.lines().all(|line| line.len() <= 60), "{encoded}");
    assert_eq!(encoding::decode(&encoded), text.as_bytes());
    encoding::decode(text);
    for word in encoding::safe_words(text) {
        assert!(
            !word.contains(['$', '&', ';', '<', '>', '|', '`', '\0']),
            "{word}"
        );
    }
}

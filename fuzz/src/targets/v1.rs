//! Requests of the service's own interface: runs, batches and judgings.

use super::assert_one_line;
use crate::Target;
use millibox_service::fuzzing::LimitValues;
use millibox_service::fuzzing::v1::{
    JudgingRequest, ProblemDetails, RunRequest, batches, check_label, comparison,
};

pub const V1: Target = Target {
    name: "v1",
    run: request,
    dictionary: &[
        "{\"runtime\":\"python\"",
        "\"command\":[\"",
        "\"files\":{\"main.py\":{\"text\":\"\"}}",
        "{\"base64\":\"YQ==\"}",
        "{\"sha256\":\"",
        "\"tests\":[{\"id\":\"1\",\"stdin\":",
        "\"expected\":",
        "\"compare\":\"float:1e-6\"",
        "\"compare\":\"tokens\"",
        "\"stop_on\":\"failure\"",
        "\"limits\":{\"cpu_ms\":1}",
        "\"wall_ms\":",
        "\"memory_bytes\":",
        "\"processes\":",
        "\"output_bytes\":",
        "\"files_bytes\":",
        "\"open_files\":",
        "\"outputs\":[\"",
        "\"stdout\":\"discard\"",
        "\"interactive\":true",
        "\"runs\":[{",
        "\"env\":{\"A\":\"b\"}",
        "\"package\":{\"base64\":\"",
        "\"submission\":{\"a.cpp\":",
        "\"fail_fast\":true",
        "\"label\":\"",
        "18446744073709551615",
        "NaN",
        "inf",
    ],
};

/// Reads a request as all addresses do. Encoding a request again must give the same request. Its
/// limits are within those of the service, and an error names the mistake in one line.
fn request(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<RunRequest>(bytes) {
        run(&request);
    }
    if let Ok(request) = serde_json::from_slice::<JudgingRequest>(bytes) {
        let text = serde_json::to_string(&request).expect("a request is JSON");
        let again: JudgingRequest = serde_json::from_str(&text).expect("the same request");
        assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    }
    match batches::parse(bytes) {
        Ok((shared, runs)) => {
            for own in runs {
                let names: Vec<String> = own.keys().cloned().collect();
                let joined = batches::join(shared.clone(), own);
                assert!(names.iter().all(|name| joined.contains_key(name)));
                let joined = serde_json::Value::Object(joined);
                if let Ok(request) = serde_json::from_value::<RunRequest>(joined) {
                    run(&request);
                }
            }
        }
        Err(problem) => refused(&problem),
    }
}

fn run(request: &RunRequest) {
    let text = serde_json::to_string(request).expect("a request is JSON");
    let again: RunRequest = serde_json::from_str(&text).expect("the same request");
    assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    if let Err(problem) = check_label(request.label.as_deref()) {
        refused(&problem);
    }
    let max = LimitValues::default();
    match request.limits.with_defaults(&max, &max) {
        Ok(limits) => {
            assert!(limits.cpu_ms <= max.cpu_ms && limits.wall_ms <= max.wall_ms);
            assert!((1..=max.memory_bytes).contains(&limits.memory_bytes));
            assert!((1..=max.processes).contains(&limits.processes));
            assert!(limits.output_bytes <= max.output_bytes);
            assert!(limits.files_bytes <= max.files_bytes);
            assert!((1..=max.open_files).contains(&limits.open_files));
        }
        Err(problem) => refused(&problem),
    }
    for test in &request.tests {
        match comparison("compare", test.compare.as_deref()) {
            Ok(comparison) => {
                assert!(
                    comparison.accepts(b"1 2.5 x\n", b"1 2.5 x\n"),
                    "{comparison:?}"
                );
            }
            Err(problem) => refused(&problem),
        }
    }
}

fn refused(problem: &ProblemDetails) {
    assert!((400..500).contains(&problem.status), "{problem:?}");
    assert_one_line(&problem.detail);
}

//! Requests in Piston's dialect.

use crate::Target;
use millibox_languages::suite::Suites;
use millibox_service::fuzzing::LimitsConfig;
use millibox_service::fuzzing::piston::{Job, Range, Runtime, Runtimes, Version};
use serde_json::{Map, Value};
use std::path::Component;
use std::sync::Arc;
use std::time::Duration;

pub const PISTON: Target = Target {
    name: "piston",
    run: request,
    dictionary: &[
        "\"language\":\"python\"",
        "\"version\":\"*\"",
        "\"files\":[",
        "\"content\":\"\"",
        "\"name\":\"../a\"",
        "\"encoding\":\"base64\"",
        "\"encoding\":\"hex\"",
        "\"args\":[",
        "\"stdin\":\"\"",
        "\"run_timeout\":",
        "\"compile_timeout\":",
        "\"run_cpu_time\":",
        "\"run_memory_limit\":-1",
        "null",
        "1e400",
        "0.5",
        ">=3.x",
        " || ",
        " - ",
        "^",
        "~",
        "/..",
    ],
};

/// Reads a request. An accepted job stays within the limits and in its directory, and has the
/// requested version.
fn request(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        version(text);
    }
    let Ok(body) = serde_json::from_slice::<Map<String, Value>>(bytes) else {
        return;
    };
    let runtimes = Runtimes::new(&[Arc::new(python())], &[]);
    let limits = LimitsConfig::default();
    let job = match Job::read(&body, &runtimes, &limits) {
        Ok(job) => job,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let range = body["version"].as_str().expect("a version");
    version(range);
    let range = Range::parse(range).expect("a range that was found");
    assert!(range.contains(&job.runtime.version));
    assert!(job.sources().next().is_some(), "there is no source");
    assert!(job.stdin.ends_with(b"\n"));
    assert!(job.args.iter().all(|arg| !arg.contains('\0')));
    for path in job.files.iter().filter_map(|file| file.path().ok()) {
        assert!(path.file_name().is_some());
        for component in path.components() {
            assert!(matches!(component, Component::Normal(_)), "{path:?}");
        }
    }
    for stage in [job.constraints.compile, job.constraints.run] {
        assert!(stage.real_time <= Duration::from_millis(limits.max.wall_ms));
        assert!(stage.cpu_time <= Duration::from_millis(limits.max.cpu_ms));
        assert!((1..=limits.max.memory_bytes).contains(&stage.memory_or_default()));
    }
}

/// Checks that a version is in the range that names it.
fn version(text: &str) {
    if let Some(version) = Version::parse(text) {
        let range = Range::parse(text).unwrap_or_else(|| panic!("{text:?} is no range"));
        assert!(range.contains(&version), "{text:?}");
    }
}

fn python() -> Runtime {
    let suites = Suites::builtin();
    let suite = suites.named("python3").expect("Python is built in");
    Runtime::new(suite, Ok("Python 3.11.2".to_owned()), None)
}

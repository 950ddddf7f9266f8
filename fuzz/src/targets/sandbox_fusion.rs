//! Requests in SandboxFusion's dialect.

use super::assert_one_line;
use crate::Target;
use millibox_service::fuzzing::LimitValues;
use millibox_service::fuzzing::sandbox_fusion::{
    Invalid, RunCodeRequest, RunJupyterRequest, Surroundings, place,
};
use std::path::{Component, Path};
use std::time::Duration;

pub const SANDBOX_FUSION: Target = Target {
    name: "sandbox_fusion",
    run: request,
    dictionary: &[
        "\"code\":\"\"",
        "\"language\":\"python\"",
        "\"stdin\":null",
        "\"compile_timeout\":",
        "\"run_timeout\":",
        "\"total_timeout\":",
        "\"memory_limit_MB\":-1",
        "\"files\":{\"a\":\"YQ==\"}",
        "\"fetch_files\":[",
        "\"cells\":[",
        "\"kernel\":\"python3\"",
        "IGNORE_THIS_FILE",
        "/work/",
        "/tmp/",
        "../",
        "null",
        "1e308",
        "0.5",
        "\"7\"",
    ],
};

/// Reads a request as both endpoints do. An accepted request stays within the limits, and its files
/// stay in their directories. Every other request has at least one mistake.
fn request(bytes: &[u8]) {
    let max = LimitValues::default();
    match RunCodeRequest::parse(bytes) {
        Ok(request) => {
            assert!(!request.run_timeout.is_zero() && !request.compile_timeout.is_zero());
            surroundings(&request.surroundings);
            match request.check(&max) {
                Ok(()) => {
                    let longest = Duration::from_millis(max.wall_ms);
                    assert!(request.run_timeout <= longest && request.compile_timeout <= longest);
                    assert!(request.surroundings.memory_bytes <= Some(max.memory_bytes));
                }
                Err(invalid) => mistakes(&invalid),
            }
        }
        Err(invalid) => mistakes(&invalid),
    }
    match RunJupyterRequest::parse(bytes) {
        Ok(request) => {
            assert!(!request.total_timeout.is_zero());
            surroundings(&request.surroundings);
            if let Err(invalid) = request.check(&max) {
                mistakes(&invalid);
            }
        }
        Err(invalid) => mistakes(&invalid),
    }
}

fn surroundings(surroundings: &Surroundings) {
    assert!(surroundings.memory_bytes != Some(0));
    for (path, _) in &surroundings.files {
        assert!(!path.contains("IGNORE_THIS_FILE"), "{path:?}");
    }
    let fetched = surroundings.fetch_files.iter();
    for path in surroundings
        .files
        .iter()
        .map(|(path, _)| path)
        .chain(fetched)
    {
        let Some(place) = place(path) else { continue };
        assert!(place.file_name().is_some(), "{path:?}");
        let below = place.strip_prefix("/tmp").unwrap_or(&place);
        let is_plain = |component| matches!(component, Component::Normal(_));
        assert!(below.components().all(is_plain), "{path:?}: {place:?}");
        assert_ne!(below, Path::new(""), "{path:?}");
    }
}

fn mistakes(invalid: &[Invalid]) {
    assert!(
        !invalid.is_empty(),
        "a request without mistakes is rejected"
    );
    for mistake in invalid {
        assert!(mistake.field().starts_with("body"), "{mistake:?}");
        assert_one_line(&mistake.msg);
    }
}

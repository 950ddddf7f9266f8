//! Requests in go-judge's dialect, in JSON and as gRPC messages.

use super::assert_one_line;
use crate::Target;
use millibox_service::fuzzing::LimitValues;
use millibox_service::fuzzing::go_judge::{CommandFile, Group, Pipes, check, decode, request};

pub const GO_JUDGE: Target = Target {
    name: "go_judge",
    run: json,
    dictionary: &[
        "{\"cmd\":[{",
        "\"args\":[\"",
        "\"env\":[\"PATH=/bin\"]",
        "\"files\":[null,{\"name\":\"stdout\",\"max\":1}]",
        "{\"content\":\"\"}",
        "{\"src\":\"/dev/null\"}",
        "{\"fileId\":\"",
        "{\"symlink\":\"../",
        "\"streamIn\":true",
        "\"streamOut\":true",
        "\"cpuLimit\":",
        "\"clockLimit\":",
        "\"realCpuLimit\":",
        "\"memoryLimit\":",
        "\"procLimit\":",
        "\"cpuSetLimit\":\"0-1\"",
        "\"copyIn\":{\"",
        "\"copyOut\":[\"a?\"]",
        "\"copyOutCached\":[\"",
        "\"pipeMapping\":[{\"in\":{\"index\":0,\"fd\":1},\"out\":{\"index\":1,\"fd\":0}}]",
        "\"proxy\":true",
        "\"max\":-1",
        "18446744073709551615",
        "null",
    ],
};

pub const GO_JUDGE_GRPC: Target = Target {
    name: "go_judge_grpc",
    run: message,
    dictionary: &[
        "\n",
        "\u{12}",
        "\u{1a}",
        "\"",
        "*\0",
        "2\0",
        "\u{7f}",
        "\u{8}\u{1}",
        "stdout",
    ],
};

fn json(bytes: &[u8]) {
    match request::parse(bytes) {
        Ok(group) => check_group(&group, bytes.len()),
        Err(error) => assert_one_line(&error.to_string()),
    }
}

fn message(bytes: &[u8]) {
    match decode(bytes) {
        // The message may contain unknown fields, which are not included in the size of the group.
        Ok(group) => check_group(&group, bytes.len()),
        Err(Some(error)) => assert_one_line(&error.to_string()),
        Err(None) => {}
    }
}

/// Checks that a group that the service accepts stays within the limits. Each pipe has two ends at
/// unused descriptors, and the copy of its bytes is bounded.
fn check_group(group: &Group, size_bytes: usize) {
    assert!(group.size_bytes <= size_bytes, "{}", group.size_bytes);
    let max = LimitValues::default();
    if let Err(error) = check(group, &max) {
        assert_one_line(&error.to_string());
        return;
    }
    assert!(!group.commands.is_empty());
    for command in &group.commands {
        assert!(command.cpu_limit <= max.cpu_ms * 1_000_000);
        assert!(command.clock_limit <= max.wall_ms * 1_000_000);
        assert!(command.memory_limit <= max.memory_bytes);
        assert!(command.cpu_set.is_empty());
        for file in command.files.iter().flatten() {
            if let CommandFile::Collector { max, .. } = file {
                assert!(*max <= i64::MAX as u64, "{max}");
            }
        }
    }
    match Pipes::new(group) {
        Ok(pipes) => {
            assert_eq!(pipes.ends.len(), group.pipes.len() * 2);
            for end in pipes.ends.keys() {
                let files = &group.commands[end.index].files;
                assert!(files.get(end.fd).is_none_or(Option::is_none), "{end:?}");
            }
            let proxies = group.pipes.iter().filter(|pipe| pipe.proxy.is_some());
            assert_eq!(pipes.relays.len(), proxies.count());
        }
        Err(error) => assert_one_line(&error.to_string()),
    }
}

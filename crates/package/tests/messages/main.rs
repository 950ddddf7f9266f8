//! Compares the messages of faults with a golden file.

/// Lists names of variants with their messages.
macro_rules! messages {
    ($($name:literal => $message:expr),* $(,)?) => {
        vec![$(($name, Box::new($message) as Box<dyn std::fmt::Display>)),*]
    };
}

mod files;
mod icpc;
mod sim;
mod values;

use millibox_golden::assert_messages;
use millibox_package::edit::EditError;
use millibox_package::fault::files::SystemError;
use millibox_package::fault::text::Suggestion;
use millibox_package::{Bound, FaultKind, TooLong, ToolFault};
use std::fmt::Display;
use std::io;

/// Variants and their messages.
type Messages = Vec<(&'static str, Box<dyn Display>)>;

fn meant() -> Suggestion {
    Suggestion::new("secrets", ["secret"])
}

fn denied() -> SystemError {
    io::Error::from_raw_os_error(13).into()
}

#[test]
fn package_messages_match_golden_file() {
    let mut all = files::messages();
    all.extend(values::messages());
    all.extend(icpc::messages());
    all.extend(sim::messages());
    all.extend(other_messages());
    let all: Vec<(&str, &dyn Display)> = all
        .iter()
        .map(|(variant, message)| (*variant, &**message))
        .collect();
    assert_messages(env!("CARGO_MANIFEST_DIR"), "messages.txt", &all);
}

fn other_messages() -> Messages {
    messages![
        "EditError::Yaml" => EditError::Yaml {
            reason: "REASON".into(),
        },
        "EditError::TimeLimit" => EditError::TimeLimit,
        "EditError::NotMap" => EditError::NotMap,
        "EditError::UnusualLimits" => EditError::UnusualLimits,
        "EditError::QuotedLimit" => EditError::QuotedLimit {
            text: "TEXT".into(),
        },
        "EditError::Position" => EditError::Position { key: "key" },
        "Bound::Text" => Bound::Text,
        "Bound::Searched" => Bound::Searched,
        "Bound::Values" => Bound::Values,
        "Bound::Keys" => Bound::Keys,
        "Bound::TestsOfFile" => Bound::TestsOfFile,
        "Bound::TestName" => Bound::TestName,
        "Bound::Words" => Bound::Words,
        "Bound::Command" => Bound::Command,
        "Bound::Patterns" => Bound::Patterns,
        "Bound::Submissions" => Bound::Submissions,
        "Bound::Utils" => Bound::Utils,
        "Bound::Files" => Bound::Files,
        "Bound::Paths" => Bound::Paths,
        "Bound::Unpacked" => Bound::Unpacked,
        "Bound::Archived" => Bound::Archived,
        "Bound::Directories" => Bound::Directories,
        "Bound::Links" => Bound::Links,
        "FaultKind::NotShown" => FaultKind::NotShown {
            errors: 2,
            warnings: 3,
        },
        "FaultKind::Tool" => FaultKind::from(ToolFault::new(TooLong(3))),
        "TooLong" => TooLong(3),
    ]
}

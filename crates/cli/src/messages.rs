//! Compares the messages about values of options with a golden file.

use crate::values::ValueError;
use millibox::RequestMistake;
use millibox_cli_support::values;
use millibox_golden::assert_messages;
use std::io;

#[test]
fn messages_match_golden_file() {
    let number = |least, most| values::ValueError::Number { least, most };
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "messages.txt",
        &[
            (
                "ValueError::Common",
                &ValueError::Common(values::ValueError::Time),
            ),
            ("ValueError::Link", &ValueError::Link),
            ("ValueError::Size", &ValueError::Size),
            ("ValueError::SizeTooLarge", &ValueError::SizeTooLarge),
            ("ValueError::Empty", &ValueError::Empty),
            (
                "ValueError::MemoryUnit",
                &ValueError::MemoryUnit("256".to_owned()),
            ),
            ("ValueError::Memory", &ValueError::Memory),
            ("ValueError::Day", &ValueError::Day),
            ("ValueError::Bandwidth", &ValueError::Bandwidth),
            ("ValueError::BandwidthMax", &ValueError::BandwidthMax),
            ("ValueError::BandwidthPeriod", &ValueError::BandwidthPeriod),
            ("ValueError::BandwidthCpus", &ValueError::BandwidthCpus),
            ("ValueError::Rlimit", &ValueError::Rlimit),
            ("ValueError::RlimitValue", &ValueError::RlimitValue),
            (
                "ValueError::RlimitSize",
                &ValueError::RlimitSize(Box::new(ValueError::SizeTooLarge)),
            ),
            (
                "ValueError::Request",
                &ValueError::Request(RequestMistake::EmptyPath.into()),
            ),
            ("ValueError::Cpus", &ValueError::Cpus),
            ("ValueError::Variable", &ValueError::Variable),
            ("ValueError::Dash", &ValueError::Dash),
            ("ValueError::Inside", &ValueError::Inside),
            ("ValueError::Root", &ValueError::Root),
            ("ValueError::Bind", &ValueError::Bind),
            ("ValueError::NoSource", &ValueError::NoSource),
            (
                "ValueError::Source",
                &ValueError::from(io::Error::from(io::ErrorKind::NotFound)),
            ),
            (
                "ValueError::Destination",
                &ValueError::Destination(Box::new(ValueError::Root)),
            ),
            ("ValueError::NoDestination", &ValueError::NoDestination),
            ("ValueError::Tmpfs", &ValueError::Tmpfs),
            (
                "ValueError::Inodes",
                &ValueError::Inodes(number(1, u64::MAX)),
            ),
            (
                "ValueError::Pattern",
                &ValueError::Pattern {
                    message: "invalid range pattern",
                    position: 1,
                },
            ),
            ("Common, above", &values::ValueError::Above(512)),
            ("Common, too large", &values::ValueError::TooLarge),
            ("Common, number", &number(1, 512)),
            ("Common, no time", &values::ValueError::NoTime),
            ("Common, ids", &values::ValueError::Ids),
            ("Common, root", &values::ValueError::Root),
            ("Common, cgroup parent", &values::ValueError::CgroupParent),
        ],
    );
}

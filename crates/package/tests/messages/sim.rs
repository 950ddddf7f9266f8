//! The messages of faults of Sim's format.

use super::{Messages, meant};
use millibox_package::fault::sim::{ConfigFault, RangeFault, SimfileFault, SipfileFault};

pub fn messages() -> Messages {
    messages![
        "ConfigFault::UnknownKey" => ConfigFault::UnknownKey {
            key: "KEY".into(),
            suggestion: meant(),
        },
        "ConfigFault::RepeatedKey" => ConfigFault::RepeatedKey {
            key: "KEY".into(),
            line: 3,
        },
        "ConfigFault::NotText" => ConfigFault::NotText { key: "KEY".into() },
        "ConfigFault::NotArray" => ConfigFault::NotArray { key: "KEY".into() },
        "ConfigFault::NoKey" => ConfigFault::NoKey,
        "ConfigFault::NoColon" => ConfigFault::NoColon { key: "KEY".into() },
        "ConfigFault::AfterValue" => ConfigFault::AfterValue { character: 'x' },
        "ConfigFault::AfterItem" => ConfigFault::AfterItem { character: 'x' },
        "ConfigFault::OpenArray" => ConfigFault::OpenArray,
        "ConfigFault::NestedArray" => ConfigFault::NestedArray,
        "ConfigFault::OpenQuote" => ConfigFault::OpenQuote,
        "ConfigFault::NotUtf8" => ConfigFault::NotUtf8,
        "ConfigFault::UnknownEscape" => ConfigFault::UnknownEscape { character: 'x' },
        "ConfigFault::HexadecimalEscape" => ConfigFault::HexadecimalEscape,
        "SimfileFault::NoName" => SimfileFault::NoName,
        "SimfileFault::NoMemoryLimit" => SimfileFault::NoMemoryLimit,
        "SimfileFault::NoStatement" => SimfileFault::NoStatement {
            path: "PATH".into(),
        },
        "SimfileFault::Interactive" => SimfileFault::Interactive {
            text: "TEXT".into(),
        },
        "SimfileFault::MemoryLimit" => SimfileFault::MemoryLimit {
            text: "TEXT".into(),
        },
        "SimfileFault::NoChecker" => SimfileFault::NoChecker {
            path: "PATH".into(),
        },
        "SimfileFault::CheckerRequired" => SimfileFault::CheckerRequired,
        "SimfileFault::TestlibChecker" => SimfileFault::TestlibChecker,
        "SimfileFault::NoSolution" => SimfileFault::NoSolution {
            path: "PATH".into(),
        },
        "SimfileFault::RepeatedSolution" => SimfileFault::RepeatedSolution {
            path: "PATH".into(),
        },
        "SimfileFault::NoSolutions" => SimfileFault::NoSolutions,
        "SimfileFault::NoTests" => SimfileFault::NoTests,
        "SimfileFault::TestName" => SimfileFault::TestName {
            key: "key",
            name: "NAME".into(),
        },
        "SimfileFault::AfterLimits" => SimfileFault::AfterLimits {
            word: "WORD".into(),
            test: "TEST".into(),
        },
        "SimfileFault::TimeLimit" => SimfileFault::TimeLimit {
            test: "TEST".into(),
            text: Some("x".into()),
        },
        "SimfileFault::RepeatedLimits" => SimfileFault::RepeatedLimits {
            test: "TEST".into(),
            first_line: 3,
        },
        "SimfileFault::FileName" => SimfileFault::FileName,
        "SimfileFault::SecondFile" => SimfileFault::SecondFile {
            test: "TEST".into(),
            other: "OTHER".into(),
        },
        "SimfileFault::InteractiveFiles" => SimfileFault::InteractiveFiles {
            test: "TEST".into(),
        },
        "SimfileFault::Files" => SimfileFault::Files {
            test: "TEST".into(),
        },
        "SimfileFault::NoFile" => SimfileFault::NoFile {
            path: "PATH".into(),
        },
        "SimfileFault::AnswerWithoutInput" => SimfileFault::AnswerWithoutInput {
            test: "TEST".into(),
        },
        "SimfileFault::NoInput" => SimfileFault::NoInput {
            test: "TEST".into(),
        },
        "SimfileFault::NoAnswer" => SimfileFault::NoAnswer {
            test: "TEST".into(),
        },
        "SimfileFault::NoAnswerYet" => SimfileFault::NoAnswerYet {
            test: "TEST".into(),
        },
        "SimfileFault::Scoring" => SimfileFault::Scoring {
            text: "TEXT".into(),
        },
        "SimfileFault::NotGroup" => SimfileFault::NotGroup {
            group: "GROUP".into(),
        },
        "SimfileFault::Points" => SimfileFault::Points {
            group: "GROUP".into(),
            points: "POINTS".into(),
        },
        "SimfileFault::GroupWithoutTests" => SimfileFault::GroupWithoutTests {
            group: "GROUP".into(),
        },
        "SimfileFault::RepeatedGroup" => SimfileFault::RepeatedGroup {
            group: "GROUP".into(),
        },
        "SimfileFault::GroupWithoutPoints" => SimfileFault::GroupWithoutPoints {
            group: "GROUP".into(),
        },
        "SimfileFault::TimeLimit, missing" => SimfileFault::TimeLimit {
            test: "TEST".into(),
            text: None,
        },
        "SipfileFault::TimeLimit" => SipfileFault::TimeLimit {
            text: "TEXT".into(),
        },
        "SipfileFault::Seed" => SipfileFault::Seed {
            text: "TEXT".into(),
        },
        "SipfileFault::AfterRange" => SipfileFault::AfterRange {
            word: "WORD".into(),
        },
        "SipfileFault::RepeatedStatic" => SipfileFault::RepeatedStatic {
            test: "TEST".into(),
        },
        "SipfileFault::Repeated" => SipfileFault::Repeated {
            test: "TEST".into(),
        },
        "SipfileFault::NoCommand" => SipfileFault::NoCommand {
            range: "RANGE".into(),
        },
        "SipfileFault::Range" => SipfileFault::Range {
            range: "RANGE".into(),
            fault: RangeFault::Reversed,
        },
        "SipfileFault::TestName" => SipfileFault::TestName {
            name: "NAME".into(),
        },
        "SipfileFault::ShellCommand" => SipfileFault::ShellCommand {
            name: "NAME".into(),
        },
        "SipfileFault::AmbiguousGenerator" => SipfileFault::AmbiguousGenerator {
            name: "NAME".into(),
            first: "FIRST".into(),
            second: "SECOND".into(),
        },
        "RangeFault::NoEnd" => RangeFault::NoEnd,
        "RangeFault::Prefixes" => RangeFault::Prefixes {
            first: "FIRST".into(),
            last: "LAST".into(),
        },
        "RangeFault::GroupNumber" => RangeFault::GroupNumber {
            digits: "DIGITS".into(),
        },
        "RangeFault::Lengths" => RangeFault::Lengths {
            first: "FIRST".into(),
            last: "LAST".into(),
        },
        "RangeFault::Reversed" => RangeFault::Reversed,
    ]
}

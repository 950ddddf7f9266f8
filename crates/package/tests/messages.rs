//! Compares the messages of faults with a golden file.

use millibox_golden::assert_messages;
use millibox_package::edit::EditError;
use millibox_package::fault::files::{ArchiveFault, FileFault, SystemError};
use millibox_package::fault::icpc::{
    DataFault, DomjudgeFault, FlagError, GenerationFault, GroupFault, HeaderFault, ProgramFault,
    SubmissionFault, VerdictClaim,
};
use millibox_package::fault::sim::{ConfigFault, RangeFault, SimfileFault, SipfileFault};
use millibox_package::fault::text::{Found, MakeHint, Number, Suggestion, ValueKind};
use millibox_package::fault::values::{KeyFault, YamlFault};
use millibox_package::{Bound, FaultKind, TooLong, ToolFault};
use std::io;

fn meant() -> Suggestion {
    Suggestion::new("secrets", ["secret"])
}

fn denied() -> SystemError {
    io::Error::from_raw_os_error(13).into()
}

fn claim() -> VerdictClaim {
    VerdictClaim {
        pattern: "accepted/*".into(),
        permitted: "AC, WA".to_owned(),
        required: vec!["WA".to_owned()],
    }
}

#[test]
fn messages_of_the_package_match_the_golden_file() {
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "messages.txt",
        &[
            ("FileFault::Unreadable", &FileFault::Unreadable(denied())),
            ("FileFault::NoPackage", &FileFault::NoPackage),
            ("FileFault::OtherFormat", &FileFault::OtherFormat),
            ("FileFault::TooLong", &FileFault::TooLong { mebibytes: 3 }),
            ("FileFault::ByteOrderMark", &FileFault::ByteOrderMark),
            ("FileFault::NotUtf8", &FileFault::NotUtf8),
            ("FileFault::TooDeep", &FileFault::TooDeep { max: 3 }),
            ("FileFault::Name", &FileFault::Name),
            ("FileFault::NotRegular", &FileFault::NotRegular),
            (
                "FileFault::DanglingLink",
                &FileFault::DanglingLink {
                    target: "TARGET".into(),
                    error: denied(),
                },
            ),
            (
                "FileFault::LinkOutside",
                &FileFault::LinkOutside {
                    target: "TARGET".into(),
                },
            ),
            (
                "FileFault::LinkLoop",
                &FileFault::LinkLoop {
                    target: "TARGET".into(),
                },
            ),
            (
                "ArchiveFault::NotZip",
                &ArchiveFault::NotZip {
                    reason: "REASON".to_owned(),
                },
            ),
            (
                "ArchiveFault::TemporaryDirectory",
                &ArchiveFault::TemporaryDirectory(denied()),
            ),
            (
                "ArchiveFault::DuplicateNames",
                &ArchiveFault::DuplicateNames,
            ),
            (
                "ArchiveFault::EntryUnreadable",
                &ArchiveFault::EntryUnreadable {
                    number: 3,
                    reason: "REASON".to_owned(),
                },
            ),
            (
                "ArchiveFault::Entry",
                &ArchiveFault::Entry {
                    name: "NAME".into(),
                    error: denied(),
                },
            ),
            (
                "ArchiveFault::EntryOutside",
                &ArchiveFault::EntryOutside {
                    name: "NAME".into(),
                },
            ),
            (
                "ArchiveFault::EntryWithBackslash",
                &ArchiveFault::EntryWithBackslash {
                    name: "NAME".into(),
                },
            ),
            (
                "ArchiveFault::LinkOutside",
                &ArchiveFault::LinkOutside {
                    name: "NAME".into(),
                    target: "TARGET".into(),
                },
            ),
            (
                "ArchiveFault::Link",
                &ArchiveFault::Link {
                    name: "NAME".into(),
                    error: denied(),
                },
            ),
            (
                "YamlFault::Syntax",
                &YamlFault::Syntax {
                    reason: "REASON".into(),
                },
            ),
            ("YamlFault::SecondDocument", &YamlFault::SecondDocument),
            ("YamlFault::RecursiveAlias", &YamlFault::RecursiveAlias),
            ("YamlFault::TooDeep", &YamlFault::TooDeep { max: 3 }),
            (
                "KeyFault::NotMap",
                &KeyFault::NotMap {
                    name: "NAME".into(),
                    found: ValueKind::List,
                },
            ),
            (
                "KeyFault::KeyNotText",
                &KeyFault::KeyNotText {
                    found: ValueKind::List,
                },
            ),
            (
                "KeyFault::Repeated",
                &KeyFault::Repeated {
                    key: "KEY".into(),
                    first_line: 3,
                },
            ),
            (
                "KeyFault::Unknown",
                &KeyFault::Unknown {
                    key: "KEY".into(),
                    suggestion: meant(),
                },
            ),
            (
                "KeyFault::NotText",
                &KeyFault::NotText {
                    key: "KEY".into(),
                    found: ValueKind::List,
                },
            ),
            (
                "KeyFault::NotOneOf",
                &KeyFault::NotOneOf {
                    key: "key",
                    choices: "CHOICES".to_owned(),
                    found: Found::Text("x".into()),
                },
            ),
            (
                "KeyFault::NotNumber",
                &KeyFault::NotNumber {
                    key: "key",
                    found: Found::Text("x".into()),
                },
            ),
            (
                "KeyFault::TooSmall",
                &KeyFault::TooSmall {
                    key: "key",
                    min: Number(2.5),
                    number: Number(2.5),
                },
            ),
            (
                "KeyFault::NotTime",
                &KeyFault::NotTime {
                    key: "key",
                    seconds: Number(2.5),
                },
            ),
            (
                "KeyFault::NotWhole",
                &KeyFault::NotWhole {
                    key: "key",
                    min: 3,
                    found: Found::Text("x".into()),
                },
            ),
            (
                "KeyFault::TooLarge",
                &KeyFault::TooLarge {
                    key: "key",
                    number: 3,
                },
            ),
            (
                "KeyFault::NotTexts",
                &KeyFault::NotTexts {
                    key: "KEY".into(),
                    found: ValueKind::List,
                },
            ),
            (
                "KeyFault::TextsContain",
                &KeyFault::TextsContain {
                    key: "KEY".into(),
                    found: ValueKind::List,
                },
            ),
            ("HeaderFault::NoName", &HeaderFault::NoName),
            ("HeaderFault::NoUuid", &HeaderFault::NoUuid),
            (
                "HeaderFault::Version",
                &HeaderFault::Version {
                    found: Found::Text("x".into()),
                },
            ),
            (
                "HeaderFault::LaterFormat",
                &HeaderFault::LaterFormat {
                    feature: "FEATURE".into(),
                },
            ),
            (
                "HeaderFault::LegacyKey",
                &HeaderFault::LegacyKey { key: "key" },
            ),
            ("HeaderFault::Name", &HeaderFault::Name),
            (
                "HeaderFault::UnknownType",
                &HeaderFault::UnknownType {
                    word: "WORD".into(),
                    known: "KNOWN".to_owned(),
                    suggestion: meant(),
                },
            ),
            (
                "HeaderFault::RepeatedType",
                &HeaderFault::RepeatedType {
                    word: "WORD".into(),
                },
            ),
            ("HeaderFault::NoType", &HeaderFault::NoType),
            ("HeaderFault::ExclusiveTypes", &HeaderFault::ExclusiveTypes),
            ("HeaderFault::SubmitAnswer", &HeaderFault::SubmitAnswer),
            ("HeaderFault::NoValidation", &HeaderFault::NoValidation),
            (
                "HeaderFault::Validation",
                &HeaderFault::Validation {
                    word: "WORD".into(),
                    suggestion: meant(),
                },
            ),
            (
                "HeaderFault::DefaultWord",
                &HeaderFault::DefaultWord {
                    word: "WORD".into(),
                },
            ),
            (
                "HeaderFault::ScoreWithoutScoring",
                &HeaderFault::ScoreWithoutScoring,
            ),
            (
                "HeaderFault::CustomWord",
                &HeaderFault::CustomWord {
                    word: "WORD".into(),
                    suggestion: meant(),
                },
            ),
            (
                "HeaderFault::GradingWithoutScoring",
                &HeaderFault::GradingWithoutScoring,
            ),
            (
                "HeaderFault::MisplacedGrading",
                &HeaderFault::MisplacedGrading { key: "key" },
            ),
            (
                "HeaderFault::ConstantName",
                &HeaderFault::ConstantName {
                    name: "NAME".into(),
                },
            ),
            (
                "HeaderFault::ConstantVariant",
                &HeaderFault::ConstantVariant,
            ),
            (
                "HeaderFault::ConstantValue",
                &HeaderFault::ConstantValue {
                    name: "NAME".into(),
                },
            ),
            (
                "HeaderFault::Resolution",
                &HeaderFault::Resolution {
                    resolution: Number(2.5),
                    finer: Some(Number(0.5)),
                },
            ),
            (
                "HeaderFault::PassesWithoutMultiPass",
                &HeaderFault::PassesWithoutMultiPass,
            ),
            (
                "HeaderFault::TooManyPasses",
                &HeaderFault::TooManyPasses { number: 3 },
            ),
            ("DomjudgeFault::Line", &DomjudgeFault::Line),
            (
                "DomjudgeFault::TimeLimit",
                &DomjudgeFault::TimeLimit {
                    text: "TEXT".into(),
                },
            ),
            (
                "DomjudgeFault::TimeLimitsDiffer",
                &DomjudgeFault::TimeLimitsDiffer {
                    place: "PLACE".into(),
                    seconds: Number(2.5),
                },
            ),
            (
                "DomjudgeFault::ServerProgram",
                &DomjudgeFault::ServerProgram {
                    key: "KEY".into(),
                    program: "PROGRAM".into(),
                },
            ),
            ("DataFault::NoDirectory", &DataFault::NoDirectory),
            ("DataFault::MisplacedTest", &DataFault::MisplacedTest),
            (
                "DataFault::UnknownDirectory",
                &DataFault::UnknownDirectory {
                    suggestion: meant(),
                },
            ),
            (
                "DataFault::NoTests",
                &DataFault::NoTests {
                    hint: MakeHint::One,
                },
            ),
            ("DataFault::OnlySamples", &DataFault::OnlySamples),
            ("DataFault::TwoSettings", &DataFault::TwoSettings),
            ("DataFault::EmptyGroup", &DataFault::EmptyGroup),
            ("DataFault::NotGroup", &DataFault::NotGroup),
            (
                "DataFault::TestBesideGroups",
                &DataFault::TestBesideGroups {
                    test: "TEST".into(),
                },
            ),
            ("DataFault::NestedGroup", &DataFault::NestedGroup),
            (
                "DataFault::SameName",
                &DataFault::SameName {
                    name: "NAME".into(),
                },
            ),
            (
                "DataFault::NoAnswer",
                &DataFault::NoAnswer {
                    name: "NAME".into(),
                    hint: MakeHint::One,
                },
            ),
            (
                "DataFault::NoInput",
                &DataFault::NoInput {
                    name: "NAME".into(),
                },
            ),
            (
                "DataFault::NoTest",
                &DataFault::NoTest {
                    name: "NAME".into(),
                },
            ),
            (
                "DataFault::Stray",
                &DataFault::Stray {
                    suggestion: meant(),
                },
            ),
            ("DataFault::MoreStrays", &DataFault::MoreStrays { more: 3 }),
            ("GroupFault::NoGrader", &GroupFault::NoGrader),
            (
                "GroupFault::GraderWithoutScoring",
                &GroupFault::GraderWithoutScoring,
            ),
            (
                "GroupFault::ScoringOnly",
                &GroupFault::ScoringOnly { key: "key" },
            ),
            (
                "GroupFault::IgnoreSampleWithBreak",
                &GroupFault::IgnoreSampleWithBreak,
            ),
            (
                "GroupFault::MisplacedIgnoreSample",
                &GroupFault::MisplacedIgnoreSample,
            ),
            (
                "GroupFault::GraderFlag",
                &GroupFault::GraderFlag {
                    flag: "FLAG".into(),
                    suggestion: meant(),
                },
            ),
            (
                "GroupFault::Range",
                &GroupFault::Range {
                    found: Found::Text("x".into()),
                },
            ),
            (
                "GroupFault::ReversedRange",
                &GroupFault::ReversedRange {
                    min: Number(2.5),
                    max: Number(2.5),
                },
            ),
            (
                "GroupFault::FlagsWithoutName",
                &GroupFault::FlagsWithoutName { key: "key" },
            ),
            ("GroupFault::SamplePoints", &GroupFault::SamplePoints),
            (
                "GroupFault::MaxScore",
                &GroupFault::MaxScore {
                    found: Found::Text("x".into()),
                },
            ),
            ("GroupFault::NoMaxScore", &GroupFault::NoMaxScore),
            (
                "GroupFault::PassFailUnbounded",
                &GroupFault::PassFailUnbounded,
            ),
            ("GroupFault::NotPassFail", &GroupFault::NotPassFail),
            (
                "GroupFault::TooManyPoints",
                &GroupFault::TooManyPoints {
                    sum: Number(2.5),
                    max: Number(2.5),
                },
            ),
            ("GroupFault::SecretRequires", &GroupFault::SecretRequires),
            (
                "GroupFault::RequiredNotPassFail",
                &GroupFault::RequiredNotPassFail {
                    group: "GROUP".into(),
                },
            ),
            (
                "GroupFault::RequiredLater",
                &GroupFault::RequiredLater {
                    group: "GROUP".into(),
                },
            ),
            (
                "GroupFault::RequiredUnknown",
                &GroupFault::RequiredUnknown {
                    group: "GROUP".into(),
                    suggestion: meant(),
                },
            ),
            (
                "GroupFault::StaticValidators",
                &GroupFault::StaticValidators { key: Some("key") },
            ),
            ("SubmissionFault::Misplaced", &SubmissionFault::Misplaced),
            ("SubmissionFault::NoLanguage", &SubmissionFault::NoLanguage),
            ("SubmissionFault::Empty", &SubmissionFault::Empty),
            (
                "SubmissionFault::NothingExpected",
                &SubmissionFault::NothingExpected {
                    suggestion: meant(),
                },
            ),
            (
                "SubmissionFault::PartialWithoutScoring",
                &SubmissionFault::PartialWithoutScoring,
            ),
            (
                "SubmissionFault::NoneAccepted",
                &SubmissionFault::NoneAccepted,
            ),
            (
                "SubmissionFault::RepeatedTag",
                &SubmissionFault::RepeatedTag { tag: "tag" },
            ),
            (
                "SubmissionFault::ScoreTagWithoutScoring",
                &SubmissionFault::ScoreTagWithoutScoring,
            ),
            (
                "SubmissionFault::UnknownResult",
                &SubmissionFault::UnknownResult {
                    word: "WORD".into(),
                    suggestion: meant(),
                },
            ),
            (
                "SubmissionFault::TagsContradictDirectory",
                &SubmissionFault::TagsContradictDirectory,
            ),
            (
                "SubmissionFault::Pattern",
                &SubmissionFault::Pattern {
                    pattern: "PATTERN".into(),
                },
            ),
            (
                "SubmissionFault::UnusedPattern",
                &SubmissionFault::UnusedPattern {
                    pattern: "PATTERN".into(),
                },
            ),
            (
                "SubmissionFault::Contradiction",
                &SubmissionFault::Contradiction {
                    submission: "SUBMISSION".into(),
                    claims: vec![claim()],
                },
            ),
            (
                "SubmissionFault::RequiredMayBeUnknown",
                &SubmissionFault::RequiredMayBeUnknown,
            ),
            (
                "SubmissionFault::ScoreWithoutScoring",
                &SubmissionFault::ScoreWithoutScoring,
            ),
            (
                "SubmissionFault::Score",
                &SubmissionFault::Score {
                    found: Found::Text("x".into()),
                },
            ),
            (
                "SubmissionFault::UnknownVerdict",
                &SubmissionFault::UnknownVerdict {
                    key: "key",
                    word: "WORD".into(),
                },
            ),
            (
                "SubmissionFault::NoVerdict",
                &SubmissionFault::NoVerdict { key: "key" },
            ),
            ("SubmissionFault::EntryPoint", &SubmissionFault::EntryPoint),
            ("SubmissionFault::Message", &SubmissionFault::Message),
            (
                "SubmissionFault::OfSomeTests",
                &SubmissionFault::OfSomeTests { key: "key" },
            ),
            (
                "SubmissionFault::RequiredOfSomeTests",
                &SubmissionFault::RequiredOfSomeTests,
            ),
            (
                "SubmissionFault::LowerNotAccepted",
                &SubmissionFault::LowerNotAccepted {
                    submission: "SUBMISSION".into(),
                },
            ),
            (
                "SubmissionFault::UpperNotSlow",
                &SubmissionFault::UpperNotSlow {
                    submission: "SUBMISSION".into(),
                },
            ),
            (
                "SubmissionFault::StillMeasured",
                &SubmissionFault::StillMeasured {
                    submission: "SUBMISSION".into(),
                    pattern: "PATTERN".into(),
                },
            ),
            ("GenerationFault::NoData", &GenerationFault::NoData),
            (
                "GenerationFault::Data",
                &GenerationFault::Data {
                    found: ValueKind::List,
                },
            ),
            (
                "GenerationFault::MissingTest",
                &GenerationFault::MissingTest {
                    test: "TEST".into(),
                },
            ),
            (
                "GenerationFault::MissingTests",
                &GenerationFault::MissingTests {
                    test: "TEST".into(),
                    others: 3,
                },
            ),
            (
                "GenerationFault::NoSource",
                &GenerationFault::NoSource {
                    name: "NAME".into(),
                    path: "PATH".into(),
                },
            ),
            (
                "GenerationFault::NoSources",
                &GenerationFault::NoSources {
                    name: "NAME".into(),
                },
            ),
            ("GenerationFault::ListEntry", &GenerationFault::ListEntry),
            (
                "GenerationFault::DirectoryInList",
                &GenerationFault::DirectoryInList,
            ),
            (
                "GenerationFault::Name",
                &GenerationFault::Name {
                    name: "NAME".into(),
                },
            ),
            (
                "GenerationFault::UnknownDirectory",
                &GenerationFault::UnknownDirectory {
                    name: "NAME".into(),
                    suggestion: meant(),
                },
            ),
            (
                "GenerationFault::Repeated",
                &GenerationFault::Repeated {
                    test: "TEST".into(),
                },
            ),
            (
                "GenerationFault::NoCommand",
                &GenerationFault::NoCommand {
                    test: "TEST".into(),
                },
            ),
            (
                "GenerationFault::EmptyCommand",
                &GenerationFault::EmptyCommand,
            ),
            (
                "GenerationFault::NotOneSource",
                &GenerationFault::NotOneSource {
                    test: "TEST".into(),
                },
            ),
            (
                "GenerationFault::NoCopySource",
                &GenerationFault::NoCopySource {
                    path: "PATH".into(),
                },
            ),
            (
                "GenerationFault::Unsupported",
                &GenerationFault::Unsupported { key: "key" },
            ),
            (
                "GenerationFault::CountPlaceholder",
                &GenerationFault::CountPlaceholder,
            ),
            (
                "GenerationFault::NotGenerated",
                &GenerationFault::NotGenerated { key: "key" },
            ),
            (
                "GenerationFault::UnknownPlaceholder",
                &GenerationFault::UnknownPlaceholder {
                    placeholder: "PLACEHOLDER".into(),
                    suggestion: meant(),
                },
            ),
            (
                "GenerationFault::RepeatedSeed",
                &GenerationFault::RepeatedSeed,
            ),
            (
                "GenerationFault::NoGenerator",
                &GenerationFault::NoGenerator {
                    name: "NAME".into(),
                    suggestion: meant(),
                },
            ),
            (
                "GenerationFault::AmbiguousGenerator",
                &GenerationFault::AmbiguousGenerator {
                    name: "NAME".into(),
                    first: "FIRST".into(),
                    second: "SECOND".into(),
                },
            ),
            (
                "GenerationFault::Solution",
                &GenerationFault::Solution {
                    path: "PATH".into(),
                },
            ),
            (
                "FlagError::Unknown",
                &FlagError::Unknown {
                    flag: "FLAG".into(),
                },
            ),
            (
                "FlagError::NoNumber",
                &FlagError::NoNumber {
                    flag: "FLAG".into(),
                },
            ),
            (
                "FlagError::Number",
                &FlagError::Number {
                    flag: "FLAG".into(),
                    value: "VALUE".into(),
                },
            ),
            (
                "ProgramFault::UnknownDirectory",
                &ProgramFault::UnknownDirectory {
                    suggestion: meant(),
                },
            ),
            (
                "ProgramFault::UnusedValidator",
                &ProgramFault::UnusedValidator,
            ),
            (
                "ProgramFault::ValidatorRequired",
                &ProgramFault::ValidatorRequired,
            ),
            ("ProgramFault::NoValidator", &ProgramFault::NoValidator),
            (
                "ProgramFault::SeveralValidators",
                &ProgramFault::SeveralValidators {
                    others: "OTHERS".into(),
                },
            ),
            ("ProgramFault::UnusedGrader", &ProgramFault::UnusedGrader),
            (
                "ProgramFault::SeveralGraders",
                &ProgramFault::SeveralGraders {
                    others: "OTHERS".into(),
                },
            ),
            (
                "ProgramFault::UnsupportedValidator",
                &ProgramFault::UnsupportedValidator,
            ),
            (
                "ProgramFault::MisplacedInclude",
                &ProgramFault::MisplacedInclude,
            ),
            (
                "ConfigFault::UnknownKey",
                &ConfigFault::UnknownKey {
                    key: "KEY".into(),
                    suggestion: meant(),
                },
            ),
            (
                "ConfigFault::RepeatedKey",
                &ConfigFault::RepeatedKey {
                    key: "KEY".into(),
                    line: 3,
                },
            ),
            (
                "ConfigFault::NotText",
                &ConfigFault::NotText { key: "KEY".into() },
            ),
            (
                "ConfigFault::NotArray",
                &ConfigFault::NotArray { key: "KEY".into() },
            ),
            ("ConfigFault::NoKey", &ConfigFault::NoKey),
            (
                "ConfigFault::NoColon",
                &ConfigFault::NoColon { key: "KEY".into() },
            ),
            (
                "ConfigFault::AfterValue",
                &ConfigFault::AfterValue { character: 'x' },
            ),
            (
                "ConfigFault::AfterItem",
                &ConfigFault::AfterItem { character: 'x' },
            ),
            ("ConfigFault::OpenArray", &ConfigFault::OpenArray),
            ("ConfigFault::NestedArray", &ConfigFault::NestedArray),
            ("ConfigFault::OpenQuote", &ConfigFault::OpenQuote),
            ("ConfigFault::NotUtf8", &ConfigFault::NotUtf8),
            (
                "ConfigFault::UnknownEscape",
                &ConfigFault::UnknownEscape { character: 'x' },
            ),
            (
                "ConfigFault::HexadecimalEscape",
                &ConfigFault::HexadecimalEscape,
            ),
            ("SimfileFault::NoName", &SimfileFault::NoName),
            ("SimfileFault::NoMemoryLimit", &SimfileFault::NoMemoryLimit),
            (
                "SimfileFault::NoStatement",
                &SimfileFault::NoStatement {
                    path: "PATH".into(),
                },
            ),
            (
                "SimfileFault::Interactive",
                &SimfileFault::Interactive {
                    text: "TEXT".into(),
                },
            ),
            (
                "SimfileFault::MemoryLimit",
                &SimfileFault::MemoryLimit {
                    text: "TEXT".into(),
                },
            ),
            (
                "SimfileFault::NoChecker",
                &SimfileFault::NoChecker {
                    path: "PATH".into(),
                },
            ),
            (
                "SimfileFault::CheckerRequired",
                &SimfileFault::CheckerRequired,
            ),
            (
                "SimfileFault::TestlibChecker",
                &SimfileFault::TestlibChecker,
            ),
            (
                "SimfileFault::NoSolution",
                &SimfileFault::NoSolution {
                    path: "PATH".into(),
                },
            ),
            (
                "SimfileFault::RepeatedSolution",
                &SimfileFault::RepeatedSolution {
                    path: "PATH".into(),
                },
            ),
            ("SimfileFault::NoSolutions", &SimfileFault::NoSolutions),
            ("SimfileFault::NoTests", &SimfileFault::NoTests),
            (
                "SimfileFault::TestName",
                &SimfileFault::TestName {
                    key: "key",
                    name: "NAME".into(),
                },
            ),
            (
                "SimfileFault::AfterLimits",
                &SimfileFault::AfterLimits {
                    word: "WORD".into(),
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::TimeLimit",
                &SimfileFault::TimeLimit {
                    test: "TEST".into(),
                    text: Some("x".into()),
                },
            ),
            (
                "SimfileFault::RepeatedLimits",
                &SimfileFault::RepeatedLimits {
                    test: "TEST".into(),
                    first_line: 3,
                },
            ),
            ("SimfileFault::FileName", &SimfileFault::FileName),
            (
                "SimfileFault::SecondFile",
                &SimfileFault::SecondFile {
                    test: "TEST".into(),
                    other: "OTHER".into(),
                },
            ),
            (
                "SimfileFault::InteractiveFiles",
                &SimfileFault::InteractiveFiles {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::Files",
                &SimfileFault::Files {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::NoFile",
                &SimfileFault::NoFile {
                    path: "PATH".into(),
                },
            ),
            (
                "SimfileFault::AnswerWithoutInput",
                &SimfileFault::AnswerWithoutInput {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::NoInput",
                &SimfileFault::NoInput {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::NoAnswer",
                &SimfileFault::NoAnswer {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::NoAnswerYet",
                &SimfileFault::NoAnswerYet {
                    test: "TEST".into(),
                },
            ),
            (
                "SimfileFault::Scoring",
                &SimfileFault::Scoring {
                    text: "TEXT".into(),
                },
            ),
            (
                "SimfileFault::NotGroup",
                &SimfileFault::NotGroup {
                    group: "GROUP".into(),
                },
            ),
            (
                "SimfileFault::Points",
                &SimfileFault::Points {
                    group: "GROUP".into(),
                    points: "POINTS".into(),
                },
            ),
            (
                "SimfileFault::GroupWithoutTests",
                &SimfileFault::GroupWithoutTests {
                    group: "GROUP".into(),
                },
            ),
            (
                "SimfileFault::RepeatedGroup",
                &SimfileFault::RepeatedGroup {
                    group: "GROUP".into(),
                },
            ),
            (
                "SimfileFault::GroupWithoutPoints",
                &SimfileFault::GroupWithoutPoints {
                    group: "GROUP".into(),
                },
            ),
            (
                "SipfileFault::TimeLimit",
                &SipfileFault::TimeLimit {
                    text: "TEXT".into(),
                },
            ),
            (
                "SipfileFault::Seed",
                &SipfileFault::Seed {
                    text: "TEXT".into(),
                },
            ),
            (
                "SipfileFault::AfterRange",
                &SipfileFault::AfterRange {
                    word: "WORD".into(),
                },
            ),
            (
                "SipfileFault::RepeatedStatic",
                &SipfileFault::RepeatedStatic {
                    test: "TEST".into(),
                },
            ),
            (
                "SipfileFault::Repeated",
                &SipfileFault::Repeated {
                    test: "TEST".into(),
                },
            ),
            (
                "SipfileFault::NoCommand",
                &SipfileFault::NoCommand {
                    range: "RANGE".into(),
                },
            ),
            (
                "SipfileFault::Range",
                &SipfileFault::Range {
                    range: "RANGE".into(),
                    fault: RangeFault::Reversed,
                },
            ),
            (
                "SipfileFault::TestName",
                &SipfileFault::TestName {
                    name: "NAME".into(),
                },
            ),
            (
                "SipfileFault::ShellCommand",
                &SipfileFault::ShellCommand {
                    name: "NAME".into(),
                },
            ),
            (
                "SipfileFault::AmbiguousGenerator",
                &SipfileFault::AmbiguousGenerator {
                    name: "NAME".into(),
                    first: "FIRST".into(),
                    second: "SECOND".into(),
                },
            ),
            ("RangeFault::NoEnd", &RangeFault::NoEnd),
            (
                "RangeFault::Prefixes",
                &RangeFault::Prefixes {
                    first: "FIRST".into(),
                    last: "LAST".into(),
                },
            ),
            (
                "RangeFault::GroupNumber",
                &RangeFault::GroupNumber {
                    digits: "DIGITS".into(),
                },
            ),
            (
                "RangeFault::Lengths",
                &RangeFault::Lengths {
                    first: "FIRST".into(),
                    last: "LAST".into(),
                },
            ),
            ("RangeFault::Reversed", &RangeFault::Reversed),
            (
                "EditError::Yaml",
                &EditError::Yaml {
                    reason: "REASON".into(),
                },
            ),
            ("EditError::TimeLimit", &EditError::TimeLimit),
            ("EditError::NotMap", &EditError::NotMap),
            ("EditError::UnusualLimits", &EditError::UnusualLimits),
            (
                "EditError::QuotedLimit",
                &EditError::QuotedLimit {
                    text: "TEXT".into(),
                },
            ),
            ("EditError::Position", &EditError::Position { key: "key" }),
            ("Bound::Text", &Bound::Text),
            ("Bound::Searched", &Bound::Searched),
            ("Bound::Values", &Bound::Values),
            ("Bound::Keys", &Bound::Keys),
            ("Bound::TestsOfFile", &Bound::TestsOfFile),
            ("Bound::TestName", &Bound::TestName),
            ("Bound::Words", &Bound::Words),
            ("Bound::Command", &Bound::Command),
            ("Bound::Patterns", &Bound::Patterns),
            ("Bound::Submissions", &Bound::Submissions),
            ("Bound::Utils", &Bound::Utils),
            ("Bound::Files", &Bound::Files),
            ("Bound::Paths", &Bound::Paths),
            ("Bound::Unpacked", &Bound::Unpacked),
            ("Bound::Archived", &Bound::Archived),
            ("Bound::Directories", &Bound::Directories),
            ("Bound::Links", &Bound::Links),
            (
                "FaultKind::NotShown",
                &FaultKind::NotShown {
                    errors: 2,
                    warnings: 3,
                },
            ),
            (
                "FaultKind::Tool",
                &FaultKind::from(ToolFault::new("the tool failed")),
            ),
            ("TooLong", &TooLong(3)),
            (
                "HeaderFault::Resolution, no finer",
                &HeaderFault::Resolution {
                    resolution: Number(1.0),
                    finer: None,
                },
            ),
            (
                "GroupFault::StaticValidators, directory",
                &GroupFault::StaticValidators { key: None },
            ),
            (
                "DataFault::NoTests, no hint",
                &DataFault::NoTests {
                    hint: MakeHint::None,
                },
            ),
            (
                "DataFault::NoTests, several",
                &DataFault::NoTests {
                    hint: MakeHint::Several,
                },
            ),
            (
                "SimfileFault::TimeLimit, missing",
                &SimfileFault::TimeLimit {
                    test: "TEST".into(),
                    text: None,
                },
            ),
            (
                "KeyFault::NotNumber, list",
                &KeyFault::NotNumber {
                    key: "key",
                    found: Found::Other(ValueKind::List),
                },
            ),
            (
                "KeyFault::NotNumber, map",
                &KeyFault::NotNumber {
                    key: "key",
                    found: Found::Other(ValueKind::Map),
                },
            ),
            (
                "KeyFault::NotNumber, nothing",
                &KeyFault::NotNumber {
                    key: "key",
                    found: Found::Other(ValueKind::Null),
                },
            ),
            (
                "KeyFault::NotNumber, text",
                &KeyFault::NotNumber {
                    key: "key",
                    found: Found::Other(ValueKind::Text),
                },
            ),
            (
                "KeyFault::Unknown, no suggestion",
                &KeyFault::Unknown {
                    key: "KEY".into(),
                    suggestion: Suggestion::NONE,
                },
            ),
        ],
    );
}

//! The messages of faults of the ICPC formats.

use super::{Messages, meant};
use millibox_package::fault::icpc::{
    DataFault, DomjudgeFault, FlagError, GenerationFault, GroupFault, HeaderFault, ProgramFault,
    SubmissionFault, VerdictClaim,
};
use millibox_package::fault::text::{Found, MakeHint, Number, ValueKind, WordList};

fn claim() -> VerdictClaim {
    VerdictClaim {
        pattern: "accepted/*".into(),
        permitted: WordList::new(["AC", "WA"]),
        required: vec![WordList::new(["WA"])],
    }
}

pub fn messages() -> Messages {
    messages![
        "HeaderFault::NoName" => HeaderFault::NoName,
        "HeaderFault::NoUuid" => HeaderFault::NoUuid,
        "HeaderFault::Version" => HeaderFault::Version {
            found: Found::Text("x".into()),
        },
        "HeaderFault::LaterFormat" => HeaderFault::LaterFormat {
            feature: "FEATURE".into(),
        },
        "HeaderFault::LegacyKey" => HeaderFault::LegacyKey { key: "key" },
        "HeaderFault::Name" => HeaderFault::Name,
        "HeaderFault::UnknownType" => HeaderFault::UnknownType {
            word: "WORD".into(),
            known: WordList::new(["KNOWN"]),
            suggestion: meant(),
        },
        "HeaderFault::RepeatedType" => HeaderFault::RepeatedType {
            word: "WORD".into(),
        },
        "HeaderFault::NoType" => HeaderFault::NoType,
        "HeaderFault::ExclusiveTypes" => HeaderFault::ExclusiveTypes,
        "HeaderFault::SubmitAnswer" => HeaderFault::SubmitAnswer,
        "HeaderFault::NoValidation" => HeaderFault::NoValidation,
        "HeaderFault::Validation" => HeaderFault::Validation {
            word: "WORD".into(),
            suggestion: meant(),
        },
        "HeaderFault::DefaultWord" => HeaderFault::DefaultWord {
            word: "WORD".into(),
        },
        "HeaderFault::ScoreWithoutScoring" => HeaderFault::ScoreWithoutScoring,
        "HeaderFault::CustomWord" => HeaderFault::CustomWord {
            word: "WORD".into(),
            suggestion: meant(),
        },
        "HeaderFault::GradingWithoutScoring" => HeaderFault::GradingWithoutScoring,
        "HeaderFault::OldGrading" => HeaderFault::OldGrading { key: "key" },
        "HeaderFault::ConstantName" => HeaderFault::ConstantName {
            name: "NAME".into(),
        },
        "HeaderFault::ConstantVariant" => HeaderFault::ConstantVariant,
        "HeaderFault::ConstantValue" => HeaderFault::ConstantValue {
            name: "NAME".into(),
        },
        "HeaderFault::Resolution" => HeaderFault::Resolution {
            resolution: Number(2.5),
            finer: Some(Number(0.5)),
        },
        "HeaderFault::PassesWithoutMultiPass" => HeaderFault::PassesWithoutMultiPass,
        "HeaderFault::TooManyPasses" => HeaderFault::TooManyPasses { number: 3 },
        "HeaderFault::Resolution, no finer" => HeaderFault::Resolution {
            resolution: Number(1.0),
            finer: None,
        },
        "DomjudgeFault::Line" => DomjudgeFault::Line,
        "DomjudgeFault::TimeLimit" => DomjudgeFault::TimeLimit {
            text: "TEXT".into(),
        },
        "DomjudgeFault::TimeLimitsDiffer" => DomjudgeFault::TimeLimitsDiffer {
            place: "PLACE".into(),
            seconds: Number(2.5),
        },
        "DomjudgeFault::ServerProgram" => DomjudgeFault::ServerProgram {
            key: "KEY".into(),
            program: "PROGRAM".into(),
        },
        "DataFault::NoDirectory" => DataFault::NoDirectory,
        "DataFault::MisplacedTest" => DataFault::MisplacedTest,
        "DataFault::UnknownDirectory" => DataFault::UnknownDirectory {
            suggestion: meant(),
        },
        "DataFault::NoTests" => DataFault::NoTests {
            hint: MakeHint::One,
        },
        "DataFault::OnlySamples" => DataFault::OnlySamples,
        "DataFault::TwoSettings" => DataFault::TwoSettings,
        "DataFault::EmptyGroup" => DataFault::EmptyGroup,
        "DataFault::NotGroup" => DataFault::NotGroup,
        "DataFault::TestBesideGroups" => DataFault::TestBesideGroups {
            test: "TEST".into(),
        },
        "DataFault::NestedGroup" => DataFault::NestedGroup,
        "DataFault::SameName" => DataFault::SameName {
            name: "NAME".into(),
        },
        "DataFault::NoAnswer" => DataFault::NoAnswer {
            name: "NAME".into(),
            hint: MakeHint::One,
        },
        "DataFault::NoInput" => DataFault::NoInput {
            name: "NAME".into(),
        },
        "DataFault::OfLaterFormat" => DataFault::OfLaterFormat,
        "DataFault::NoTest" => DataFault::NoTest {
            name: "NAME".into(),
        },
        "DataFault::Stray" => DataFault::Stray {
            suggestion: meant(),
        },
        "DataFault::MoreStrays" => DataFault::MoreStrays { more: 3 },
        "DataFault::NoTests, no hint" => DataFault::NoTests {
            hint: MakeHint::None,
        },
        "DataFault::NoTests, several" => DataFault::NoTests {
            hint: MakeHint::Several,
        },
        "GroupFault::NoGrader" => GroupFault::NoGrader,
        "GroupFault::GraderWithoutScoring" => GroupFault::GraderWithoutScoring,
        "GroupFault::ScoringOnly" => GroupFault::ScoringOnly { key: "key" },
        "GroupFault::IgnoreSampleWithBreak" => GroupFault::IgnoreSampleWithBreak,
        "GroupFault::MisplacedIgnoreSample" => GroupFault::MisplacedIgnoreSample,
        "GroupFault::OldGraderFlag" => GroupFault::OldGraderFlag,
        "GroupFault::NotInherited" => GroupFault::NotInherited { key: "key" },
        "GroupFault::GraderFlag" => GroupFault::GraderFlag {
            flag: "FLAG".into(),
            suggestion: meant(),
        },
        "GroupFault::Range" => GroupFault::Range {
            found: Found::Text("x".into()),
        },
        "GroupFault::ReversedRange" => GroupFault::ReversedRange {
            min: Number(2.5),
            max: Number(2.5),
        },
        "GroupFault::FlagsWithoutName" => GroupFault::FlagsWithoutName { key: "key" },
        "GroupFault::SamplePoints" => GroupFault::SamplePoints,
        "GroupFault::MaxScore" => GroupFault::MaxScore {
            found: Found::Text("x".into()),
        },
        "GroupFault::NoMaxScore" => GroupFault::NoMaxScore,
        "GroupFault::PassFailUnbounded" => GroupFault::PassFailUnbounded,
        "GroupFault::NotPassFail" => GroupFault::NotPassFail,
        "GroupFault::TooManyPoints" => GroupFault::TooManyPoints {
            sum: Number(2.5),
            max: Number(2.5),
        },
        "GroupFault::SecretRequires" => GroupFault::SecretRequires,
        "GroupFault::RequiredNotPassFail" => GroupFault::RequiredNotPassFail {
            group: "GROUP".into(),
        },
        "GroupFault::RequiredLater" => GroupFault::RequiredLater {
            group: "GROUP".into(),
        },
        "GroupFault::RequiredUnknown" => GroupFault::RequiredUnknown {
            group: "GROUP".into(),
            suggestion: meant(),
        },
        "GroupFault::StaticValidators" => GroupFault::StaticValidators { key: Some("key") },
        "GroupFault::StaticValidators, directory" => GroupFault::StaticValidators { key: None },
        "SubmissionFault::Misplaced" => SubmissionFault::Misplaced,
        "SubmissionFault::NoLanguage" => SubmissionFault::NoLanguage,
        "SubmissionFault::Empty" => SubmissionFault::Empty,
        "SubmissionFault::NothingExpected" => SubmissionFault::NothingExpected {
            suggestion: meant(),
        },
        "SubmissionFault::PartialWithoutScoring" => SubmissionFault::PartialWithoutScoring,
        "SubmissionFault::NoneAccepted" => SubmissionFault::NoneAccepted,
        "SubmissionFault::RepeatedTag" => SubmissionFault::RepeatedTag { tag: "tag" },
        "SubmissionFault::ScoreTagWithoutScoring" => SubmissionFault::ScoreTagWithoutScoring,
        "SubmissionFault::UnknownResult" => SubmissionFault::UnknownResult {
            word: "WORD".into(),
            suggestion: meant(),
        },
        "SubmissionFault::TagsContradictDirectory" => SubmissionFault::TagsContradictDirectory,
        "SubmissionFault::Pattern" => SubmissionFault::Pattern {
            pattern: "PATTERN".into(),
        },
        "SubmissionFault::UnusedPattern" => SubmissionFault::UnusedPattern {
            pattern: "PATTERN".into(),
        },
        "SubmissionFault::Contradiction" => SubmissionFault::Contradiction {
            submission: "SUBMISSION".into(),
            claims: vec![claim()],
        },
        "SubmissionFault::RequiredMayBeUnknown" => SubmissionFault::RequiredMayBeUnknown,
        "SubmissionFault::ScoreWithoutScoring" => SubmissionFault::ScoreWithoutScoring,
        "SubmissionFault::Score" => SubmissionFault::Score {
            found: Found::Text("x".into()),
        },
        "SubmissionFault::UnknownVerdict" => SubmissionFault::UnknownVerdict {
            key: "key",
            word: "WORD".into(),
        },
        "SubmissionFault::NoVerdict" => SubmissionFault::NoVerdict { key: "key" },
        "SubmissionFault::EntryPoint" => SubmissionFault::EntryPoint,
        "SubmissionFault::Message" => SubmissionFault::Message,
        "SubmissionFault::OfSomeTests" => SubmissionFault::OfSomeTests { key: "key" },
        "SubmissionFault::RequiredOfSomeTests" => SubmissionFault::RequiredOfSomeTests,
        "SubmissionFault::LowerNotAccepted" => SubmissionFault::LowerNotAccepted {
            submission: "SUBMISSION".into(),
        },
        "SubmissionFault::UpperNotSlow" => SubmissionFault::UpperNotSlow {
            submission: "SUBMISSION".into(),
        },
        "SubmissionFault::StillMeasured" => SubmissionFault::StillMeasured {
            submission: "SUBMISSION".into(),
            pattern: "PATTERN".into(),
        },
        "GenerationFault::NoData" => GenerationFault::NoData,
        "GenerationFault::Data" => GenerationFault::Data {
            found: ValueKind::List,
        },
        "GenerationFault::MissingTest" => GenerationFault::MissingTest {
            test: "TEST".into(),
        },
        "GenerationFault::MissingTests" => GenerationFault::MissingTests {
            test: "TEST".into(),
            others: 3,
        },
        "GenerationFault::NoSource" => GenerationFault::NoSource {
            name: "NAME".into(),
            path: "PATH".into(),
        },
        "GenerationFault::NoSources" => GenerationFault::NoSources {
            name: "NAME".into(),
        },
        "GenerationFault::ListEntry" => GenerationFault::ListEntry,
        "GenerationFault::Count" => GenerationFault::Count {
            found: Found::Text("x".into()),
        },
        "GenerationFault::Include, unknown" => GenerationFault::Include {
            name: "NAME".into(),
            found: 0,
        },
        "GenerationFault::Include, ambiguous" => GenerationFault::Include {
            name: "NAME".into(),
            found: 2,
        },
        "GenerationFault::Name" => GenerationFault::Name {
            name: "NAME".into(),
        },
        "GenerationFault::UnknownDirectory" => GenerationFault::UnknownDirectory {
            name: "NAME".into(),
            suggestion: meant(),
        },
        "GenerationFault::Repeated" => GenerationFault::Repeated {
            test: "TEST".into(),
        },
        "GenerationFault::NoCommand" => GenerationFault::NoCommand {
            test: "TEST".into(),
        },
        "GenerationFault::EmptyCommand" => GenerationFault::EmptyCommand,
        "GenerationFault::NotOneSource" => GenerationFault::NotOneSource {
            test: "TEST".into(),
        },
        "GenerationFault::NoCopySource" => GenerationFault::NoCopySource {
            path: "PATH".into(),
        },
        "GenerationFault::Unsupported" => GenerationFault::Unsupported { key: "key" },
        "GenerationFault::CountPlaceholder" => GenerationFault::CountPlaceholder,
        "GenerationFault::NotGenerated" => GenerationFault::NotGenerated { key: "key" },
        "GenerationFault::UnknownPlaceholder" => GenerationFault::UnknownPlaceholder {
            placeholder: "PLACEHOLDER".into(),
            suggestion: meant(),
        },
        "GenerationFault::RepeatedSeed" => GenerationFault::RepeatedSeed,
        "GenerationFault::NoGenerator" => GenerationFault::NoGenerator {
            name: "NAME".into(),
            suggestion: meant(),
        },
        "GenerationFault::AmbiguousGenerator" => GenerationFault::AmbiguousGenerator {
            name: "NAME".into(),
            first: "FIRST".into(),
            second: "SECOND".into(),
        },
        "GenerationFault::Solution" => GenerationFault::Solution {
            path: "PATH".into(),
        },
        "FlagError::Unknown" => FlagError::Unknown {
            flag: "FLAG".into(),
        },
        "FlagError::NoNumber" => FlagError::NoNumber {
            flag: "FLAG".into(),
        },
        "FlagError::Number" => FlagError::Number {
            flag: "FLAG".into(),
            value: "VALUE".into(),
        },
        "ProgramFault::UnknownDirectory" => ProgramFault::UnknownDirectory {
            suggestion: meant(),
        },
        "ProgramFault::UnknownFile" => ProgramFault::UnknownFile {
            suggestion: meant(),
        },
        "ProgramFault::NotProgram" => ProgramFault::NotProgram,
        "ProgramFault::UnusedValidator" => ProgramFault::UnusedValidator,
        "ProgramFault::ValidatorRequired" => ProgramFault::ValidatorRequired,
        "ProgramFault::NoValidator" => ProgramFault::NoValidator,
        "ProgramFault::SeveralValidators" => ProgramFault::SeveralValidators {
            others: "OTHERS".into(),
        },
        "ProgramFault::UnusedGrader" => ProgramFault::UnusedGrader,
        "ProgramFault::SeveralGraders" => ProgramFault::SeveralGraders {
            others: "OTHERS".into(),
        },
        "ProgramFault::UnsupportedValidator" => ProgramFault::UnsupportedValidator,
        "ProgramFault::MisplacedInclude" => ProgramFault::MisplacedInclude,
    ]
}

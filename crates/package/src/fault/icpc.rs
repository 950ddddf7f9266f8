//! Faults of the ICPC formats.
#![allow(
    missing_docs,
    reason = "the message of a variant describes the variant and its fields"
)]

use super::text::{Excerpt, Found, MakeHint, Number, Suggestion, ValueKind, WordList};

/// A fault of problem.yaml.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFault {
    #[error("`name` is missing")]
    NoName,
    #[error("`uuid` is missing; this version of the format requires one")]
    NoUuid,
    #[error("problem_format_version must be legacy, 2023-07 or 2025-09{found}")]
    Version { found: Found },
    #[error(
        "`problem_format_version` is missing, so this is read as legacy, but {feature} belongs to \
         later formats; add problem_format_version: 2025-09"
    )]
    LaterFormat { feature: Excerpt },
    #[error(
        "`{key}` belongs to the legacy format and is ignored; use `type` and \
         `output_validator_args`"
    )]
    LegacyKey { key: &'static str },
    #[error("name must be a string, or a map of languages and strings")]
    Name,
    #[error("unknown type {word:?}; the types are {known}{suggestion}")]
    UnknownType {
        word: Excerpt,
        known: WordList,
        suggestion: Suggestion,
    },
    #[error("type {word} is repeated")]
    RepeatedType { word: Excerpt },
    #[error("type must name at least one type")]
    NoType,
    #[error("types pass-fail and scoring exclude each other")]
    ExclusiveTypes,
    #[error("type submit-answer is not supported: the format does not define the names of answers")]
    SubmitAnswer,
    #[error("validation must begin with default or custom")]
    NoValidation,
    #[error("validation must begin with default or custom, not {word:?}{suggestion}")]
    Validation {
        word: Excerpt,
        suggestion: Suggestion,
    },
    #[error("validation default takes no {word:?}; only custom does")]
    DefaultWord { word: Excerpt },
    #[error("validation score needs `type: scoring`")]
    ScoreWithoutScoring,
    #[error(
        "after custom, validation takes interactive, score and multi-pass, but not \
         {word:?}{suggestion}"
    )]
    CustomWord {
        word: Excerpt,
        suggestion: Suggestion,
    },
    #[error("grading applies to scoring problems only; ignored")]
    GradingWithoutScoring,
    #[error(
        "`{key}` of problem.yaml is obsolete: it replaces the values of all testdata.yaml; write \
         it in data/testdata.yaml"
    )]
    OldGrading { key: &'static str },
    #[error(
        "{name:?} is not a valid constant name; use only letters, digits and _, and do not begin \
         with a digit"
    )]
    ConstantName { name: Excerpt },
    #[error("a variant of a constant must have a name and a value")]
    ConstantVariant,
    #[error("the constant {name} must have a value, a number or a string")]
    ConstantValue { name: Excerpt },
    #[error(
        "time_limit must be a multiple of time_resolution, {resolution} s{}",
        FinerResolution(.finer)
    )]
    Resolution {
        resolution: Number,
        /// A finer resolution. The time limit is a multiple of it.
        finer: Option<Number>,
    },
    #[error("validation_passes applies to multi-pass problems only; ignored")]
    PassesWithoutMultiPass,
    #[error("validation_passes is too large: {number}")]
    TooManyPasses { number: u64 },
}

struct FinerResolution<'a>(&'a Option<Number>);

impl std::fmt::Display for FinerResolution<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(finer) => write!(f, "; or write `time_resolution: {finer}` beside it"),
            None => Ok(()),
        }
    }
}

/// A fault of domjudge-problem.ini or .timelimit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomjudgeFault {
    #[error("neither `key = value` nor a comment")]
    Line,
    #[error("the time limit must be more than 0 seconds and at most a day, but is {text:?}")]
    TimeLimit { text: Excerpt },
    #[error("this time limit differs from that of {place}, {seconds} s; remove one")]
    TimeLimitsDiffer { place: Excerpt, seconds: Number },
    #[error("{key} names a program of a DOMjudge server, {program:?}; ignored")]
    ServerProgram { key: Excerpt, program: Excerpt },
}

/// A fault of the tests and groups below `data`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataFault {
    #[error("the directory with the test data is missing")]
    NoDirectory,
    #[error("tests belong in data/sample or data/secret")]
    MisplacedTest,
    #[error("not read: tests are in data/sample and data/secret{suggestion}")]
    UnknownDirectory { suggestion: Suggestion },
    #[error("there are no tests; a test is a pair of files NAME.in and NAME.ans{hint}")]
    NoTests { hint: MakeHint },
    #[error("there are no secret tests, only samples")]
    OnlySamples,
    #[error("this is the newer name of testdata.yaml, which also exists; keep one")]
    TwoSettings,
    #[error("a group without tests")]
    EmptyGroup,
    #[error("has no test_group.yaml, but other directories beside it are groups")]
    NotGroup,
    #[error("data/secret has groups, so every test must be in a group, and {test} is not")]
    TestBesideGroups { test: Excerpt },
    #[error("a group within a group or within samples is not allowed")]
    NestedGroup,
    #[error("the directory has the same name as the test {name}.in; rename one")]
    SameName { name: Excerpt },
    #[error("an input without an answer; there is no {name}.ans{hint}")]
    NoAnswer { name: Excerpt, hint: MakeHint },
    #[error("an answer without an input; there is no {name}.in")]
    NoInput { name: Excerpt },
    #[error("not read: only version 2023-07 and later have such files")]
    OfLaterFormat,
    #[error("not read: it belongs to a test, but there is no {name}.in")]
    NoTest { name: Excerpt },
    #[error("not read: not part of a test, which consists of NAME.in and NAME.ans{suggestion}")]
    Stray { suggestion: Suggestion },
    #[error(
        "not read: not part of a test; this applies to {more} more files, which are not listed"
    )]
    MoreStrays { more: usize },
}

/// A fault in the settings of a group or test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupFault {
    #[error("grading custom needs a grader in graders/, but the directory has none")]
    NoGrader,
    #[error("grading custom applies to scoring problems only")]
    GraderWithoutScoring,
    #[error("{key} applies to scoring problems only; ignored")]
    ScoringOnly { key: &'static str },
    #[error(
        "with ignore_sample, on_reject should be continue; otherwise secret tests could be skipped"
    )]
    IgnoreSampleWithBreak,
    #[error("ignore_sample is for data/testdata.yaml only")]
    MisplacedIgnoreSample,
    #[error("no_errors is the old name of worst_error, and is read as worst_error")]
    OldGraderFlag,
    #[error("the default grader has no flag {flag:?}{suggestion}")]
    GraderFlag {
        flag: Excerpt,
        suggestion: Suggestion,
    },
    #[error("range must be two numbers, the minimum and the maximum{found}")]
    Range { found: Found },
    #[error("range: the minimum, {min}, is greater than the maximum, {max}")]
    ReversedRange { min: Number, max: Number },
    #[error("{key} needs a `name`")]
    FlagsWithoutName { key: &'static str },
    #[error("{key} is not read here, because groups do not inherit it; write it in data/secret")]
    NotInherited { key: &'static str },
    #[error("samples give no points; remove this")]
    SamplePoints,
    #[error("max_score must be a whole number, at least 0, or unbounded{found}")]
    MaxScore { found: Found },
    #[error("max_score is missing: a group may be unbounded only if data/secret is")]
    NoMaxScore,
    #[error("score_aggregation pass-fail needs a max_score that is not unbounded")]
    PassFailUnbounded,
    #[error("score_aggregation must be pass-fail, because that of data/secret is")]
    NotPassFail,
    #[error("the groups together have {sum} points, more than the {max} of data/secret")]
    TooManyPoints { sum: Number, max: Number },
    #[error("require_pass of data/secret can only name sample")]
    SecretRequires,
    #[error("require_pass: the score_aggregation of {group:?} must be pass-fail")]
    RequiredNotPassFail { group: Excerpt },
    #[error("require_pass: the group {group:?} does not come before this one")]
    RequiredLater { group: Excerpt },
    #[error("require_pass: there is no group {group:?}{suggestion}")]
    RequiredUnknown {
        group: Excerpt,
        suggestion: Suggestion,
    },
    /// docs/reference/packages.md explains the reasons in full.
    #[error(
        "{}static validators are not supported: the format contradicts itself in how they are \
         requested and counted",
        Key(.key)
    )]
    StaticValidators {
        /// The key that requests them. `None` means that the package has a directory of such
        /// validators.
        key: Option<&'static str>,
    },
}

struct Key<'a>(&'a Option<&'static str>);

impl std::fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |key| write!(f, "{key}: "))
    }
}

/// A fault of submissions, or of submissions.yaml.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmissionFault {
    #[error("not read: a submission belongs in a directory such as submissions/accepted")]
    Misplaced,
    #[error("not read: neither an extension nor a first line #! identifies the language")]
    NoLanguage,
    #[error("a submission without files")]
    Empty,
    #[error("the package does not state the expected verdict of these submissions{suggestion}")]
    NothingExpected { suggestion: Suggestion },
    #[error("only a scoring problem can be partially accepted")]
    PartialWithoutScoring,
    #[error("there is no submission that must be accepted; the format requires one")]
    NoneAccepted,
    #[error("{tag} occurs more than once; ignored")]
    RepeatedTag { tag: &'static str },
    #[error("@EXPECTED_SCORE@ applies to scoring problems only; ignored")]
    ScoreTagWithoutScoring,
    #[error("@EXPECTED_RESULTS@: unknown result {word:?}{suggestion}")]
    UnknownResult {
        word: Excerpt,
        suggestion: Suggestion,
    },
    #[error(
        "the source's @EXPECTED_RESULTS@ contradict its directory; the source takes precedence"
    )]
    TagsContradictDirectory,
    #[error("{pattern:?} is not a valid pattern; patterns may contain * and {{a,b}}")]
    Pattern { pattern: Excerpt },
    #[error("no submission matches {pattern:?}")]
    UnusedPattern { pattern: Excerpt },
    #[error(
        "no verdict of {submission} satisfies all matching patterns: {}; make them agree",
        Claims(.claims)
    )]
    Contradiction {
        submission: Excerpt,
        claims: Vec<VerdictClaim>,
    },
    #[error(
        "required: if judging ends with a failure before all tests were run, the verdicts of the \
         other tests are unknown and are not checked"
    )]
    RequiredMayBeUnknown,
    #[error("score applies to scoring problems only; ignored")]
    ScoreWithoutScoring,
    #[error("score must be a number, or a list of the minimum and the maximum{found}")]
    Score { found: Found },
    #[error("{key}: the verdicts are AC, WA, TLE and RTE, but not {word:?}")]
    UnknownVerdict { key: &'static str, word: Excerpt },
    #[error("{key} must name at least one of AC, WA, TLE and RTE")]
    NoVerdict { key: &'static str },
    #[error("entrypoint is not supported; the default of the language is used")]
    EntryPoint,
    #[error("message is not supported: the messages of a test are not compared with it")]
    Message,
    #[error("{key} for only some tests is not supported; ignored")]
    OfSomeTests { key: &'static str },
    #[error("required for only some tests applies to all tests: any test may have the verdict")]
    RequiredOfSomeTests,
    #[error(
        "use_for_time_limit: lower is not used for {submission}: only submissions that must be \
         accepted are measured"
    )]
    LowerNotAccepted { submission: Excerpt },
    #[error(
        "use_for_time_limit: upper is not used for {submission}, which need not exceed the time \
         limit"
    )]
    UpperNotSlow { submission: Excerpt },
    #[error(
        "use_for_time_limit: {submission} is still measured because of {pattern:?}; set it to \
         false there, too"
    )]
    StillMeasured {
        submission: Excerpt,
        pattern: Excerpt,
    },
}

/// What a pattern of submissions.yaml claims about verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictClaim {
    pub pattern: Excerpt,
    /// The permitted verdicts as the file names them.
    pub permitted: WordList,
    /// Sets of verdicts; at least one verdict of each set must occur.
    pub required: Vec<WordList>,
}

struct Claims<'a>(&'a [VerdictClaim]);

impl std::fmt::Display for Claims<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, claim) in self.0.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(
                f,
                "{separator}{:?} permits {}",
                claim.pattern, claim.permitted
            )?;
            for required in &claim.required {
                write!(f, " and requires {required}")?;
            }
        }
        Ok(())
    }
}

/// A fault of generators.yaml.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerationFault {
    #[error("`data` is missing: the tests to generate")]
    NoData,
    #[error("data must be a map or a list of tests, not {found}")]
    Data { found: ValueKind },
    #[error("test {test} does not exist; `millibox problem gen` generates it")]
    MissingTest { test: Excerpt },
    #[error("test {test} and {others} more do not exist; `millibox problem gen` makes them")]
    MissingTests { test: Excerpt, others: usize },
    #[error("generator {name:?}: there is no {path}")]
    NoSource { name: Excerpt, path: Excerpt },
    #[error("generator {name:?} has no files")]
    NoSources { name: Excerpt },
    #[error("in a list, each test must be a separate map: `- name: command`")]
    ListEntry,
    #[error("count must be a number up to 100, a list of numbers, or a range like 1..=9{found}")]
    Count { found: Found },
    #[error(
        "include: {} earlier key has the name {name:?}",
        if *.found == 0 { "no" } else { "more than one" }
    )]
    Include { name: Excerpt, found: usize },
    #[error(
        "{name:?} is not a valid test name; use only letters, digits and _ . - +, and do not begin \
         with . or -"
    )]
    Name { name: Excerpt },
    #[error("{name}: not generated: only tests in sample and secret are{suggestion}")]
    UnknownDirectory {
        name: Excerpt,
        suggestion: Suggestion,
    },
    #[error("test {test} is repeated")]
    Repeated { test: Excerpt },
    #[error("test {test} has no command, so it is not generated; write `copy`")]
    NoCommand { test: Excerpt },
    #[error("a command is missing: a generator and its arguments")]
    EmptyCommand,
    #[error("test {test} needs one of `generate`, `in` and `copy`")]
    NotOneSource { test: Excerpt },
    #[error("copy: there is no {path}")]
    NoCopySource { path: Excerpt },
    #[error("`{key}` is not supported here and has no effect")]
    Unsupported { key: &'static str },
    #[error("{{count}} is passed to the generator unchanged, because the test has no `count`")]
    CountPlaceholder,
    #[error("{key} is not generated from this; write the file")]
    NotGenerated { key: &'static str },
    #[error(
        "{placeholder} is passed to the generator unchanged: the placeholders are {{name}}, \
         {{seed}} and {{seed:NUMBER}}{suggestion}"
    )]
    UnknownPlaceholder {
        placeholder: Excerpt,
        suggestion: Suggestion,
    },
    #[error("the command has {{seed}} more than once")]
    RepeatedSeed,
    #[error("the directory `generators` contains no generator named {name:?}{suggestion}")]
    NoGenerator {
        name: Excerpt,
        suggestion: Suggestion,
    },
    #[error("{name:?} is ambiguous: it may be {first} or {second}; add the extension")]
    AmbiguousGenerator {
        name: Excerpt,
        first: Excerpt,
        second: Excerpt,
    },
    #[error("solution: {path:?} is not one of the submissions that must be accepted")]
    Solution { path: Excerpt },
}

/// A fault in the flags of the default output validator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlagError {
    /// The validator has no such flag.
    #[error(
        "the default checker has no flag {flag:?}; its flags are case_sensitive, \
         space_change_sensitive, float_absolute_tolerance E, float_relative_tolerance E, \
         float_tolerance E"
    )]
    Unknown {
        /// The flag.
        flag: Excerpt,
    },
    /// A flag's number is missing.
    #[error("the flag {flag} must be followed by a number")]
    NoNumber {
        /// The flag.
        flag: Excerpt,
    },
    /// A flag's number is not valid.
    #[error("the flag {flag} must be followed by a non-negative number, not {value:?}")]
    Number {
        /// The flag.
        flag: Excerpt,
        /// The text in place of the number.
        value: Excerpt,
    },
}

/// A fault of validators, graders, and other directories of an ICPC package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    #[error("not read: the format has no such directory{suggestion}")]
    UnknownDirectory { suggestion: Suggestion },
    #[error("not read: the format has no such file{suggestion}")]
    UnknownFile { suggestion: Suggestion },
    #[error("not read: the extension of a language is missing")]
    NotProgram,
    #[error("not used, because `validation` in problem.yaml is not `custom`")]
    UnusedValidator,
    #[error("an interactive or multi-pass problem needs its own output validator")]
    ValidatorRequired,
    #[error("there is no output validator, but problem.yaml requires one")]
    NoValidator,
    #[error("one output validator is supported, but there is also {others}")]
    SeveralValidators { others: Excerpt },
    #[error("not used, because no testdata.yaml has `grading: custom`")]
    UnusedGrader,
    #[error("one grader is supported, but there is also {others}")]
    SeveralGraders { others: Excerpt },
    #[error("VIVA files are not supported, so they do not check inputs")]
    UnsupportedValidator,
    #[error("not used: files to include belong in include/LANGUAGE, not in include")]
    MisplacedInclude,
}

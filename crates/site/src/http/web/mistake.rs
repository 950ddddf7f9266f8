//! Errors in the fields of a request.

use crate::core::account::{AccountError, MAX_NAME};
use crate::core::password::LENGTHS;
use crate::core::roster::{
    EncodingError, FileError, LineError, MAX_BYTES, MAX_LINES, MAX_PASSWORDS, MAX_TEAM_NAME,
    RosterError,
};
use crate::core::time::Time;
use crate::text::{self, Message, t};
use axum::extract::multipart::MultipartError;
use millibox_package::Fault;
use millibox_package::foreign::ForeignError;

/// An error in a request.
#[derive(Debug)]
pub enum Mistake {
    /// A field of an account is invalid.
    Account(AccountError),
    /// A list of users or teams is invalid.
    Roster(RosterError),
    /// A package is invalid.
    Package(Vec<Fault>),
    /// Some packages of a form are invalid, so that none was added.
    Packages {
        /// The names of the invalid files, and what is wrong.
        failed: Vec<(String, Mistake)>,
        /// The names of the other files.
        fine: Vec<String>,
    },
    /// A package of another system cannot be imported.
    Import(Box<ForeignError>),
    /// The parts of a form cannot be read.
    Form(MultipartError),
    /// A name is empty or too long.
    Name {
        /// The maximum length of a name, in characters.
        max: usize,
    },
    /// The password that confirms a request is wrong.
    WrongPassword,
    /// The current password, which a new one replaces, is wrong.
    WrongPresentPassword,
    /// The credentials of a sign-in are wrong.
    WrongSignIn,
    /// A one-time password is wrong.
    WrongCode,
    /// Another user has the login.
    LoginTaken,
    /// No user has the login.
    UnknownUser,
    /// No user has this login.
    UnknownLogin {
        /// The login.
        login: String,
    },
    /// A visibility that does not exist.
    UnknownVisibility,
    /// A role that does not exist.
    UnknownRole,
    /// A problem that does not exist, or that the user does not see.
    UnknownProblem,
    /// A class that does not exist, or that the user does not manage.
    UnknownClass,
    /// The chosen classes have too many members.
    TooManyMembers {
        /// The maximum number.
        max: usize,
    },
    /// No pupil of a class was chosen.
    NoPupilChosen,
    /// A submission names no problem, or two.
    SubmissionTarget,
    /// A number of hours is too large, or no number.
    RelaxHours {
        /// The maximum.
        max: u64,
    },
    /// A text is not a time.
    Time {
        /// The text.
        text: String,
    },
    /// The clocks skip a time when they are put forward.
    TimeSkipped {
        /// The time.
        text: String,
        /// The name of its zone.
        zone: String,
    },
    /// Someone else has changed a time since the form was shown.
    TimeChanged {
        /// The name of its field.
        field: &'static str,
        /// The current time.
        stored: Time,
    },
    /// A time zone that does not exist.
    UnknownZone {
        /// The name.
        name: String,
    },
    /// A text is not a number.
    Number {
        /// The text.
        text: String,
    },
    /// A number is out of range.
    NumberRange {
        /// The text.
        text: String,
        /// The largest number.
        max: i64,
    },
    /// A text names no problem.
    NoSuchProblem,
    /// The rules of the round or the problem do not allow the language.
    LanguageNotAllowed,
    /// Another problem of the round has the label.
    LabelTaken {
        /// The label of the other problem.
        label: String,
    },
    /// A round ends before it begins.
    RoundOrder,
    /// A personal time is not a number of minutes.
    PersonalTime,
    /// A penalty is not a number of minutes.
    Penalty,
    /// A round in ICPC mode has no start time.
    IcpcNeedsBegin,
    /// A round with a personal time has no end.
    PersonalTimeNeedsEnd,
    /// A round cannot last that much longer.
    MoreMinutes {
        /// The maximum number of minutes.
        max: i64,
    },
    /// The time of a file that the staff hands in is not within the participant's round.
    HandInTime {
        /// When the round begins for the participant.
        from: Time,
        /// When it ends, or now.
        until: Time,
    },
    /// The thaw comes before the freeze.
    ThawOrder,
    /// A text is not a colour.
    Colour,
    /// The times of a participant are out of range.
    Minutes,
    /// Only members of the contest can join a team.
    NotAMember,
    /// The name of a statement has an extension that is not allowed.
    StatementName,
    /// A problem has too many tags.
    TooManyTags {
        /// The maximum number.
        max: usize,
    },
    /// A problem is merged into itself.
    SameProblem,
    /// A user is merged into the same user.
    SameUser,
    /// The login was not repeated.
    ConfirmLogin {
        /// The login.
        login: String,
    },
    /// A token lasts too long.
    TokenDays {
        /// The maximum number of days.
        max: u64,
    },
    /// A form has two files.
    TwoFiles,
    /// A form has more packages than it may have.
    TooManyPackages { max: usize },
    /// A field of a form is too long.
    LongField,
    /// A field of a form is not text.
    FieldNotUtf8,
    /// A text contains the character U+0000.
    ZeroByte {
        /// The name of its field; empty if it is unknown.
        field: String,
    },
    /// A filter matches no submission.
    NoSubmissionFits,
    /// The language of a source is unknown.
    NoLanguage,
    /// A language is not installed.
    LanguageMissing,
    /// A source is empty.
    NoSource,
    /// A source is too large.
    LargeSource {
        /// The limit.
        bytes: usize,
    },
    /// A question or an answer is empty or too long.
    TextLength {
        /// The maximum length of a text, in characters.
        max: usize,
    },
    /// A name is not valid for a file.
    FileName {
        /// The maximum length of a name, in characters.
        max: usize,
    },
    /// A form has no file.
    NoFile,
    /// A text to print is empty or too long.
    PrintLength {
        /// The limit.
        bytes: usize,
    },
    /// Canned answers are too many or too long.
    CannedAnswers {
        /// The maximum number.
        max: usize,
        /// The maximum length of an answer, in characters.
        length: usize,
    },
    /// An input is too large.
    LargeInput {
        /// The limit.
        bytes: usize,
    },
}

impl Mistake {
    /// Whether the field of a form with this value may have the mistake.
    pub fn concerns(&self, field: &str, value: &str) -> bool {
        let names: &[&str] = match self {
            Mistake::Account(AccountError::Login) | Mistake::LoginTaken => &["login"],
            Mistake::Account(AccountError::Name) => &["name"],
            Mistake::Account(AccountError::Email) => &["email"],
            Mistake::Account(AccountError::Password) => &["new", "password"],
            Mistake::Roster(error) if field == error.file.field() => return true,
            Mistake::Roster(_) => &["list"],
            Mistake::Name { max } => {
                let length = value.trim().chars().count();
                return match field {
                    "name" | "label" => !(1..=*max).contains(&length),
                    "organization" | "group_name" => length > *max,
                    _ => false,
                };
            }
            Mistake::Time { text }
            | Mistake::TimeSkipped { text, .. }
            | Mistake::Number { text }
            | Mistake::NumberRange { text, .. } => {
                return value.trim() == text;
            }
            Mistake::TimeChanged { field: wrong, .. } => return field == *wrong,
            Mistake::UnknownZone { .. } => &["time_zone"],
            Mistake::NoSuchProblem => &["problem"],
            Mistake::LabelTaken { .. } => &["label"],
            Mistake::FileName { .. } => &["name"],
            Mistake::WrongPassword => &["password"],
            Mistake::WrongPresentPassword => &["old"],
            Mistake::WrongSignIn => &["login"],
            Mistake::WrongCode => &["code"],
            Mistake::UnknownUser | Mistake::SameUser => &["into", "login"],
            Mistake::UnknownLogin { .. } => &["user"],
            Mistake::UnknownVisibility => &["visibility", "audience"],
            Mistake::UnknownRole => &["role"],
            Mistake::UnknownProblem => &["problem"],
            Mistake::UnknownClass | Mistake::TooManyMembers { .. } => &["class", "classes"],
            Mistake::NoPupilChosen => &["user"],
            Mistake::RelaxHours { .. } => &["hours"],
            Mistake::RoundOrder => &["ends"],
            Mistake::PersonalTime | Mistake::PersonalTimeNeedsEnd => &["window_minutes"],
            Mistake::Penalty => &["penalty_minutes"],
            Mistake::IcpcNeedsBegin => &["mode"],
            Mistake::MoreMinutes { .. } => &["more_minutes"],
            Mistake::HandInTime { .. } => &["submitted_at"],
            Mistake::ThawOrder => &["thaw_at"],
            Mistake::Colour => &["colour"],
            Mistake::Minutes => &["delay", "extra", "penalty"],
            Mistake::NotAMember => &["login"],
            Mistake::StatementName
            | Mistake::Package(_)
            | Mistake::Packages { .. }
            | Mistake::Import(_)
            | Mistake::NoFile
            | Mistake::TwoFiles
            | Mistake::TooManyPackages { .. } => &["file"],
            Mistake::TooManyTags { .. } => &["tags"],
            Mistake::SameProblem => &["into"],
            Mistake::ConfirmLogin { .. } => &["confirm"],
            Mistake::TokenDays { .. } => &["days"],
            Mistake::ZeroByte { field: wrong } => return field == wrong,
            Mistake::NoLanguage | Mistake::LanguageMissing | Mistake::LanguageNotAllowed => {
                &["language"]
            }
            Mistake::NoSource | Mistake::LargeSource { .. } => &["code"],
            Mistake::TextLength { .. } => &["text", "answer", "description", "reason"],
            Mistake::PrintLength { .. } => &["text"],
            Mistake::CannedAnswers { .. } => &["list"],
            Mistake::LargeInput { .. } => &["input"],
            Mistake::Form(_)
            | Mistake::SubmissionTarget
            | Mistake::LongField
            | Mistake::FieldNotUtf8
            | Mistake::NoSubmissionFits => &[],
        };
        names.contains(&field)
    }

    /// The field whose form shows the current value from now on, because the message names it.
    pub fn renewed(&self) -> Option<&'static str> {
        match self {
            Mistake::TimeChanged { field, .. } => Some(field),
            _ => None,
        }
    }

    /// The message for the user.
    pub fn message(&self) -> Box<dyn Message + '_> {
        match self {
            Mistake::Account(error) => account(*error),
            Mistake::Roster(error) => Box::new(t::RosterInFile {
                file: error.file.field(),
                detail: roster(&error.why),
            }),
            Mistake::Package(_) => Box::new(t::MistakePackage),
            Mistake::Packages { failed, fine } if fine.is_empty() => {
                Box::new(t::MistakePackagesAll {
                    total: failed.len(),
                })
            }
            Mistake::Packages { failed, fine } => Box::new(t::MistakePackages {
                failed: failed.len(),
                total: failed.len() + fine.len(),
                fine: fine.join(", "),
            }),
            Mistake::Import(error) => Box::new(t::MistakeImport {
                detail: error.to_string(),
            }),
            Mistake::Form(error) => Box::new(t::MistakeForm {
                detail: error.body_text(),
            }),
            Mistake::Name { max } => Box::new(t::MistakeName { max }),
            Mistake::WrongPassword => Box::new(t::MistakeWrongPassword),
            Mistake::WrongPresentPassword => Box::new(t::MistakeWrongPresentPassword),
            Mistake::WrongSignIn => Box::new(t::MistakeWrongSignIn),
            Mistake::WrongCode => Box::new(t::MistakeWrongCode),
            Mistake::LoginTaken => Box::new(t::MistakeLoginTaken),
            Mistake::UnknownUser => Box::new(t::MistakeUnknownUser),
            Mistake::UnknownLogin { login } => Box::new(t::MistakeUnknownLogin { login }),
            Mistake::UnknownVisibility => Box::new(t::MistakeUnknownVisibility),
            Mistake::UnknownRole => Box::new(t::MistakeUnknownRole),
            Mistake::UnknownProblem => Box::new(t::MistakeUnknownProblem),
            Mistake::TooManyMembers { max } => Box::new(t::MistakeTooManyMembers { max }),
            Mistake::UnknownClass => Box::new(t::MistakeUnknownClass),
            Mistake::NoPupilChosen => Box::new(t::MistakeNoPupilChosen),
            Mistake::RelaxHours { max } => Box::new(t::MistakeRelaxHours { max }),
            Mistake::SubmissionTarget => Box::new(t::MistakeSubmissionTarget),
            Mistake::LabelTaken { label } => Box::new(t::MistakeLabelTaken { label }),
            Mistake::Time { text } => Box::new(t::MistakeTime { text }),
            Mistake::TimeSkipped { text, zone } => Box::new(t::MistakeTimeSkipped { text, zone }),
            Mistake::TimeChanged { stored, .. } => Box::new(t::MistakeTimeChanged {
                time: text::zone()
                    .local(*stored)
                    .map_or("–".to_owned(), |local| local.to_string()),
            }),
            Mistake::UnknownZone { name } => Box::new(t::MistakeUnknownZone { name }),
            Mistake::Number { text } => Box::new(t::MistakeNumber { text }),
            Mistake::NumberRange { text, max } => Box::new(t::MistakeNumberRange { text, max }),
            Mistake::NoSuchProblem => Box::new(t::MistakeNoSuchProblem),
            Mistake::LanguageNotAllowed => Box::new(t::MistakeLanguageNotAllowed),
            Mistake::RoundOrder => Box::new(t::MistakeRoundOrder),
            Mistake::PersonalTime => Box::new(t::MistakePersonalTime),
            Mistake::Penalty => Box::new(t::MistakePenalty),
            Mistake::IcpcNeedsBegin => Box::new(t::MistakeIcpcNeedsBegin),
            Mistake::PersonalTimeNeedsEnd => Box::new(t::MistakePersonalTimeNeedsEnd),
            Mistake::MoreMinutes { max } => Box::new(t::MistakeMoreMinutes { max }),
            Mistake::HandInTime { from, until } => Box::new(t::MistakeHandInTime {
                from: clock(*from),
                until: clock(*until),
            }),
            Mistake::ThawOrder => Box::new(t::MistakeThawOrder),
            Mistake::Colour => Box::new(t::MistakeColour),
            Mistake::Minutes => Box::new(t::MistakeMinutes),
            Mistake::NotAMember => Box::new(t::MistakeNotAMember),
            Mistake::StatementName => Box::new(t::MistakeStatementName),
            Mistake::TooManyTags { max } => Box::new(t::MistakeTooManyTags { max }),
            Mistake::SameProblem => Box::new(t::MistakeSameProblem),
            Mistake::SameUser => Box::new(t::MistakeSameUser),
            Mistake::ConfirmLogin { login } => Box::new(t::MistakeConfirmLogin { login }),
            Mistake::TokenDays { max } => Box::new(t::MistakeTokenDays { max }),
            Mistake::TwoFiles => Box::new(t::MistakeTwoFiles),
            Mistake::TooManyPackages { max } => Box::new(t::MistakeTooManyPackages { max }),
            Mistake::LongField => Box::new(t::MistakeLongField),
            Mistake::FieldNotUtf8 => Box::new(t::MistakeFieldNotUtf8),
            Mistake::ZeroByte { field } if field.is_empty() => Box::new(t::MistakeZeroByte),
            Mistake::ZeroByte { field } => Box::new(t::MistakeZeroByteIn { field }),
            Mistake::NoSubmissionFits => Box::new(t::MistakeNoSubmissionFits),
            Mistake::NoLanguage => Box::new(t::MistakeNoLanguage),
            Mistake::LanguageMissing => Box::new(t::MistakeLanguageMissing),
            Mistake::NoSource => Box::new(t::MistakeNoSource),
            Mistake::LargeSource { bytes } => Box::new(t::MistakeLargeSource { kib: bytes >> 10 }),
            Mistake::TextLength { max } => Box::new(t::MistakeTextLength { max }),
            Mistake::FileName { max } => Box::new(t::MistakeFileName { max }),
            Mistake::PrintLength { bytes } => Box::new(t::MistakePrintLength { kib: bytes >> 10 }),
            Mistake::NoFile => Box::new(t::MistakeNoFile),
            Mistake::CannedAnswers { max, length } => {
                Box::new(t::MistakeCannedAnswers { max, length })
            }
            Mistake::LargeInput { bytes } => Box::new(t::MistakeLargeInput { kib: bytes >> 10 }),
        }
    }

    /// Lines that follow the message; they are not translated.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Mistake::Package(faults) => faults.iter().map(ToString::to_string).collect(),
            Mistake::Packages { failed, .. } => failed.iter().flat_map(in_package).collect(),
            _ => Vec::new(),
        }
    }
}

/// What is wrong with one of several packages, with the name of its file.
fn in_package((name, mistake): &(String, Mistake)) -> Vec<String> {
    let mut lines = mistake.lines();
    if lines.is_empty() {
        lines.push(mistake.message().plain());
    }
    lines.iter().map(|line| format!("{name}: {line}")).collect()
}

/// A time in the zone of the page.
fn clock(time: Time) -> String {
    let local = text::zone().local(time);
    local.map_or(time.to_string(), |local| local.to_string())
}

fn account(error: AccountError) -> Box<dyn Message> {
    match error {
        AccountError::Login => Box::new(t::MistakeLogin { max: MAX_NAME }),
        AccountError::Name => Box::new(t::MistakeName { max: MAX_NAME }),
        AccountError::Email => Box::new(t::MistakeEmail),
        AccountError::Password => Box::new(t::MistakePasswordLength {
            min: *LENGTHS.start(),
            max: *LENGTHS.end(),
        }),
    }
}

fn roster(error: &FileError) -> Box<dyn Message + '_> {
    match error {
        FileError::Format {
            line,
            found,
            accepted,
        } => Box::new(t::RosterFormat {
            line: *line,
            found: found.join(", "),
            accepted: accepted.join(", "),
        }),
        FileError::Encoding(EncodingError::Workbook) => Box::new(t::RosterWorkbook),
        FileError::Encoding(EncodingError::Line(line)) => {
            Box::new(t::RosterEncoding { line: *line })
        }
        FileError::Version(version) => Box::new(t::RosterVersion { version }),
        FileError::Size => Box::new(t::RosterSize { max: MAX_LINES }),
        FileError::Bytes => Box::new(t::RosterBytes {
            kib: MAX_BYTES >> 10,
        }),
        FileError::Passwords => Box::new(t::RosterPasswords { max: MAX_PASSWORDS }),
        FileError::Json(detail) => Box::new(t::RosterJson {
            detail: detail.to_string(),
        }),
    }
}

/// Why a line of a list is refused, as a message for the user.
pub fn line(error: &LineError) -> Box<dyn Message + '_> {
    match error {
        LineError::Malformed => Box::new(t::RosterMalformed),
        LineError::Field(error) => account(*error),
        LineError::Role(role) => Box::new(t::RosterRole { role }),
        LineError::Twice(name) => Box::new(t::RosterTwice { name }),
        LineError::Id => Box::new(t::RosterIdWrong),
        LineError::TeamName => Box::new(t::MistakeName { max: MAX_TEAM_NAME }),
        LineError::Group(id) => Box::new(t::RosterGroupMissing { id }),
        LineError::Organization(id) => Box::new(t::RosterOrganizationMissing { id }),
        LineError::ClassRole(_) => Box::new(t::RosterClassRole),
        LineError::NoPupil(login) => Box::new(t::RosterNoPupil { login }),
        LineError::Team(id) => Box::new(t::RosterTeamMissing { id }),
    }
}

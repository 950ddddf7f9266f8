//! The objects of the interface.

use crate::core::balloons::Balloon as StoredBalloon;
use crate::core::changes::Part;
use crate::core::clarification::Seen;
use crate::core::judgement::State;
use crate::core::protocol::Test as StoredTest;
use crate::core::time::Time;
use crate::core::visibility::Visible;
use crate::db::clarification::Clarification as StoredClarification;
use crate::db::contest::{Contest as StoredContest, Round as StoredRound, RoundProblem};
use crate::db::contest_file::ContestFile as StoredContestFile;
use crate::db::print::Request as StoredPrint;
use crate::db::problem::Problem as StoredProblem;
use crate::db::submission::Submission as Stored;
use crate::db::user::User as StoredUser;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A part of a list, and the position of the next part.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// The objects.
    pub items: Vec<T>,
    /// The value of `before` or `after` for the next part; absent in the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
pub struct User {
    /// The number.
    pub id: i64,
    /// The login.
    pub login: String,
    /// The name of the person.
    pub name: String,
    /// The e-mail address.
    pub email: Option<String>,
    /// `admin`, `teacher` or `user`.
    pub role: String,
    /// Whether the user cannot sign in.
    pub disabled: bool,
}

impl From<&StoredUser> for User {
    fn from(user: &StoredUser) -> User {
        User {
            id: user.id,
            login: user.login.clone(),
            name: user.name.clone(),
            email: user.email.clone(),
            role: user.role.text().to_owned(),
            disabled: user.disabled_at.is_some(),
        }
    }
}

/// A language in which submissions are accepted.
#[derive(Debug, Serialize, ToSchema)]
pub struct Language {
    /// The name for `language` of submissions, such as `cpp20`.
    pub name: String,
    /// The display name.
    pub title: String,
    /// Extensions of files, without the dot.
    pub extensions: Vec<String>,
}

/// A contest.
#[derive(Debug, Serialize, ToSchema)]
pub struct Contest {
    /// The number.
    pub id: i64,
    /// The name.
    pub name: String,
    /// `private` or `public`.
    pub visibility: String,
}

impl From<StoredContest> for Contest {
    fn from(contest: StoredContest) -> Contest {
        Contest {
            id: contest.id,
            name: contest.name,
            visibility: contest.visibility.text().to_owned(),
        }
    }
}

/// A contest with the rounds that the caller may see now.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContestDetails {
    /// The contest.
    #[serde(flatten)]
    pub contest: Contest,
    /// Whether the caller manages the contest.
    pub manage: bool,
    /// The rounds in order.
    pub rounds: Vec<Round>,
}

/// A round. Times are RFC 3339 in UTC; absent times mean always, or never for `ends`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Round {
    /// The number.
    pub id: i64,
    /// The name.
    pub name: String,
    /// When it begins.
    pub begins: Option<String>,
    /// When it ends.
    pub ends: Option<String>,
    /// When contestants see full results. In ICPC mode, an absent time means never, or not before
    /// the staff thaws the ranking.
    pub full_results: Option<String>,
    /// The problems in order.
    pub problems: Vec<ContestProblem>,
}

impl Round {
    /// A round with its problems.
    pub fn of(round: StoredRound, problems: &[RoundProblem]) -> Round {
        let full_results = round.schedule().full_results;
        let own = problems.iter().filter(|one| one.round_id == round.id);
        Round {
            id: round.id,
            name: round.name,
            begins: round.begins.rfc3339(),
            ends: round.ends.rfc3339(),
            full_results: full_results.rfc3339(),
            problems: own
                .map(|one| ContestProblem {
                    id: one.id,
                    label: one.label.clone(),
                    name: one.name.clone(),
                })
                .collect(),
        }
    }
}

/// A problem of a round.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContestProblem {
    /// The number for `round_problem` of submissions.
    pub id: i64,
    /// The label, such as `A`.
    pub label: String,
    /// The name.
    pub name: String,
}

/// A problem outside contests.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The number for `problem` of submissions.
    pub id: i64,
    /// The name.
    pub name: String,
    /// `private`, `contest_only` or `public`.
    pub visibility: String,
}

impl From<StoredProblem> for Problem {
    fn from(problem: StoredProblem) -> Problem {
        Problem {
            id: problem.id,
            name: problem.name,
            visibility: problem.visibility.text().to_owned(),
        }
    }
}

/// A submission, with what the caller may know about its result.
#[derive(Debug, Serialize, ToSchema)]
pub struct Submission {
    /// The number.
    pub id: i64,
    /// The login of the author.
    pub user: String,
    /// The number of the problem.
    pub problem: i64,
    /// The problem of a round; absent outside contests.
    pub round_problem: Option<i64>,
    /// The language.
    pub language: String,
    /// When it was sent.
    pub submitted_at: Option<String>,
    /// Whether it is ignored in rankings.
    pub ignored: bool,
    /// Whether it was made for practice after the round, and counts in no ranking.
    pub practice: bool,
    /// Whether a result that the caller may see is still missing. This includes failures of the
    /// judge that its staff must resolve.
    pub pending: bool,
    /// Whether the staff has stopped the judging.
    pub cancelled: bool,
    /// Whether the judge has failed; staff only.
    pub judge_error: bool,
    /// The verdict on the initial tests.
    pub initial_verdict: Option<String>,
    /// The verdict, such as `accepted`; absent until it is known and may be shown.
    pub verdict: Option<String>,
    /// The points. In a round that sets the points of the problem, they are scaled to these.
    pub score: Option<f64>,
    /// The maximum points, in the same way.
    pub max_score: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "points have few digits")]
fn points(score: i64) -> f64 {
    score as f64 / 1e6
}

impl Submission {
    /// The part of a submission that is visible.
    pub fn of(one: &Stored, visible: Visible) -> Submission {
        let is_done = one.state == State::Done;
        let is_fault = one.state == State::Fault;
        let is_cancelled = one.state == State::Cancelled;
        Submission {
            id: one.id,
            user: one.login.clone(),
            problem: one.problem_id,
            round_problem: one.round_problem_id,
            language: one.language.clone(),
            submitted_at: one.submitted_at.rfc3339(),
            ignored: one.kind == crate::db::submission::Kind::Ignored,
            practice: one.kind == crate::db::submission::Kind::Practice,
            pending: one.awaits_result(visible),
            cancelled: is_cancelled && visible.initial,
            judge_error: is_fault && visible.faults,
            initial_verdict: one
                .initial_verdict
                .filter(|_| visible.initial)
                .map(|it| it.text().to_owned()),
            verdict: one
                .verdict
                .filter(|_| visible.verdict && is_done)
                .map(|it| it.text().to_owned()),
            score: one
                .points()
                .filter(|_| visible.score)
                .map(|it| points(it.0)),
            max_score: one
                .most_points()
                .filter(|_| visible.score)
                .map(|it| points(it.0)),
        }
    }
}

/// A submission with the protocol that the caller may see.
#[derive(Debug, Serialize, ToSchema)]
pub struct SubmissionDetails {
    /// The submission.
    #[serde(flatten)]
    pub submission: Submission,
    /// Whether the protocol contains all tests; otherwise, it contains only those that the caller
    /// may see, such as the initial tests.
    pub full_protocol: bool,
    /// The messages of the compiler.
    pub messages: String,
    /// The tests that have results, in the order of judging.
    pub tests: Vec<Test>,
    /// Groups with points.
    pub groups: Vec<Group>,
}

/// A test.
#[derive(Debug, Serialize, ToSchema)]
pub struct Test {
    /// The name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// The verdict; absent if the test was not judged.
    pub verdict: Option<String>,
    /// The reason for the verdict.
    pub reason: String,
    /// The comment of the checker.
    pub comment: String,
    /// CPU time in nanoseconds.
    pub cpu_time_ns: Option<u64>,
    /// The limit on CPU time in nanoseconds.
    pub cpu_time_limit_ns: Option<u64>,
    /// Peak memory.
    pub memory_bytes: Option<u64>,
    /// The limit on memory.
    pub memory_limit_bytes: Option<u64>,
}

impl From<StoredTest> for Test {
    fn from(test: StoredTest) -> Test {
        Test {
            name: test.name,
            group: test.group,
            verdict: test.verdict.map(|it| it.text().to_owned()),
            reason: test.reason,
            comment: test.comment,
            cpu_time_ns: test.cpu_time_ns,
            cpu_time_limit_ns: test.cpu_time_limit_ns,
            memory_bytes: test.memory_bytes,
            memory_limit_bytes: test.memory_limit_bytes,
        }
    }
}

/// A group of tests.
#[derive(Debug, Serialize, ToSchema)]
pub struct Group {
    /// The name.
    pub name: String,
    /// The points, as the package defines them.
    pub score: Option<f64>,
    /// The maximum points, as the package defines them.
    pub max_score: Option<f64>,
}

impl From<crate::core::protocol::Group> for Group {
    fn from(group: crate::core::protocol::Group) -> Group {
        Group {
            name: group.name,
            score: group.score.map(points),
            max_score: group.max_score.map(points),
        }
    }
}

/// A source to judge. Either `round_problem` or `problem` selects the problem.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubmission {
    /// A problem of a round.
    pub round_problem: Option<i64>,
    /// A problem outside contests.
    pub problem: Option<i64>,
    /// Whether to submit to `round_problem` for practice, after the round. The submission counts in
    /// no ranking of the round.
    #[serde(default)]
    pub practice: bool,
    /// The language; by default that of the file's extension.
    #[serde(default)]
    pub language: String,
    /// The name of the file.
    #[serde(default)]
    pub file_name: String,
    /// The text of the file.
    pub source: String,
}

/// The source of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub struct Source {
    /// The name of the file.
    pub file_name: String,
    /// The text. Bytes that are not UTF-8 are replaced.
    pub source: String,
}

/// A user to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// The login.
    pub login: String,
    /// The name; by default the login.
    #[serde(default)]
    pub name: String,
    /// The e-mail address.
    pub email: Option<String>,
    /// The password.
    pub password: String,
    /// `admin`, `teacher` or `user`.
    #[serde(default)]
    pub role: String,
}

/// A question with its answer, or an announcement, as far as the caller sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Clarification {
    /// The number.
    pub id: i64,
    /// The number of the contest.
    pub contest: i64,
    /// The problem that it concerns; absent if it concerns the contest.
    pub round_problem: Option<i64>,
    /// Whether this is an announcement, which has no question.
    pub announcement: bool,
    /// The login of the author; staff only.
    pub user: Option<String>,
    /// The question; absent if the caller sees only the answer.
    pub question: Option<String>,
    /// The answer, or the text of the announcement.
    pub answer: Option<String>,
    /// `author`, `all` or `quoted`: the audience of the answer.
    pub audience: String,
    /// When the question was asked or the announcement was made.
    pub created_at: Option<String>,
    /// When the answer was given.
    pub answered_at: Option<String>,
    /// The value for `replaces` of the next answer; absent before the first answer.
    pub version: Option<i64>,
}

impl Clarification {
    /// The part of a clarification that is visible.
    pub fn of(one: &StoredClarification, seen: Seen, staff: bool) -> Clarification {
        Clarification {
            id: one.id,
            contest: one.contest_id,
            round_problem: one.round_problem_id,
            announcement: one.is_announcement(),
            user: one.login.clone().filter(|_| staff),
            question: Some(one.question.clone())
                .filter(|_| seen.question && !one.is_announcement()),
            answer: one.answer.clone().filter(|_| seen.answer),
            audience: one.audience.text().to_owned(),
            created_at: one.created_at.rfc3339(),
            answered_at: one.answered_at.and_then(Time::rfc3339),
            version: one.answered_at.map(|at| at.0),
        }
    }
}

/// A question to the staff.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewQuestion {
    /// The problem that it concerns.
    pub round_problem: Option<i64>,
    /// The question.
    pub text: String,
}

/// An announcement of the staff.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAnnouncement {
    /// The problem that it concerns.
    pub round_problem: Option<i64>,
    /// The announcement.
    pub text: String,
}

/// An answer of the staff, or the new text of an announcement.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAnswer {
    /// The answer.
    pub text: String,
    /// `author`, `all` (without the question) or `quoted` (with the question).
    pub audience: String,
    /// The `version` of the answer that this one replaces. The request is refused if the answer has
    /// another version.
    pub replaces: Option<i64>,
}

/// A file of a contest.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContestFile {
    /// The number.
    pub id: i64,
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The size.
    pub bytes: i64,
    /// The SHA-256 of the content.
    pub sha256: String,
    /// `all` or `staff`: the audience of the file.
    pub audience: String,
    /// The round from whose start contestants see it.
    pub round: Option<i64>,
    /// When it was changed.
    pub modified_at: Option<String>,
}

impl From<StoredContestFile> for ContestFile {
    fn from(file: StoredContestFile) -> ContestFile {
        ContestFile {
            id: file.id,
            name: file.name,
            description: file.description,
            bytes: file.bytes,
            sha256: file.digest,
            audience: file.audience.text().to_owned(),
            round: file.round_id,
            modified_at: file.modified_at.rfc3339(),
        }
    }
}

/// A balloon that a participant has earned or has.
#[derive(Debug, Serialize, ToSchema)]
pub struct Balloon {
    /// The number of the participant.
    pub participant: i64,
    /// The name of the participant.
    pub name: String,
    /// The group of the participant, such as a room.
    pub group: String,
    /// The number of the problem in the round.
    pub round_problem: i64,
    /// The label of the problem.
    pub label: String,
    /// The colour of the balloon.
    pub colour: String,
    /// The accepted submission; absent if the problem is no longer solved.
    pub submission: Option<i64>,
    /// When it was submitted.
    pub submitted_at: Option<String>,
    /// Whether no other participant has solved the problem earlier.
    pub first: bool,
    /// When the balloon was delivered; absent if it waits.
    pub delivered_at: Option<String>,
    /// The login of the staff member.
    pub delivered_by: Option<String>,
}

impl From<StoredBalloon> for Balloon {
    fn from(one: StoredBalloon) -> Balloon {
        let (delivered_at, delivered_by) = match one.delivered {
            Some(found) => (found.delivered_at.rfc3339(), Some(found.login)),
            None => (None, None),
        };
        Balloon {
            participant: one.participant,
            name: one.name,
            group: one.group,
            round_problem: one.round_problem,
            label: one.label,
            colour: one.colour,
            submission: one.solved.map(|solved| solved.submission),
            submitted_at: one.solved.and_then(|solved| solved.submitted_at.rfc3339()),
            first: one.solved.is_some_and(|solved| solved.is_first),
            delivered_at,
            delivered_by,
        }
    }
}

/// A text that a contestant wants to have printed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Print {
    /// The number. The page `/prints/NUMBER` shows the text.
    pub id: i64,
    /// The title, such as the name of a file.
    pub title: String,
    /// The login of the sender.
    pub user: String,
    /// The number of the participant.
    pub participant: Option<i64>,
    /// The group of the participant, such as a room.
    pub group: Option<String>,
    /// When it was sent.
    pub created_at: Option<String>,
    /// When it was printed; absent if it waits.
    pub done_at: Option<String>,
}

impl From<StoredPrint> for Print {
    fn from(one: StoredPrint) -> Print {
        Print {
            id: one.id,
            title: one.title,
            user: one.login,
            participant: one.participant_id,
            group: one.group_name,
            created_at: one.created_at.rfc3339(),
            done_at: one.done_at.and_then(Time::rfc3339),
        }
    }
}

/// The changes in a contest.
#[derive(Debug, Serialize, ToSchema)]
pub struct Changes {
    /// The value of `since` for the next request.
    pub token: String,
    /// Whether the next request should be sent at once.
    pub more: bool,
    /// Parts of the submissions.
    pub submissions: Vec<SubmissionPart>,
    /// Parts of the clarifications and announcements.
    pub clarifications: Vec<ClarificationPart>,
    /// Parts of the balloons; staff only.
    pub balloons: Vec<BalloonPart>,
    /// Parts of the texts to print: all for the staff, otherwise those of the caller's team.
    pub prints: Vec<PrintPart>,
    /// The entity tag of the ranking, if the ranking has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<String>,
}

macro_rules! parts {
    ($($(#[$meta:meta])* $name:ident of $item:ty;)*) => { $(
        $(#[$meta])*
        #[derive(Debug, Serialize, ToSchema)]
        pub struct $name {
            /// The smallest number.
            pub from: i64,
            /// The largest number.
            pub to: i64,
            /// The objects with these numbers.
            pub items: Vec<$item>,
        }

        impl From<Part<$item>> for $name {
            fn from(part: Part<$item>) -> $name {
                let Part { from, to, items } = part;
                $name { from, to, items }
            }
        }
    )* };
}

parts! {
    /// All submissions with numbers in a range.
    SubmissionPart of Submission;
    /// All clarifications with numbers in a range.
    ClarificationPart of Clarification;
    /// All balloons of the participants with numbers in a range. A participant may have several.
    BalloonPart of Balloon;
    /// All texts to print with numbers in a range.
    PrintPart of Print;
}

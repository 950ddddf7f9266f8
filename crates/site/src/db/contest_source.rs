//! The sources of a contest, for comparisons and archives.

use super::{Db, Executor, Result, record, values};

/// The number of sources that are read at a time.
const BATCH: i64 = 50;

record! {
    /// A source of a participant.
    ContestSource {
        id: i64,
        participant_id: i64,
        round_id: i64,
        round_name: String,
        round_problem_id: i64,
        label: String,
        file_name: String,
        content: Vec<u8>,
    }
}

macro_rules! sources {
    ($rest:literal) => {
        concat!(
            "SELECT submission.id, participant_id, round_id, round.name AS round_name,
                round_problem_id, label, file_name, content
             FROM submission JOIN source ON source.submission_id = submission.id
             JOIN round_problem ON round_problem.id = round_problem_id
             JOIN round ON round.id = round_id
             WHERE kind = 'normal' AND participant_id IS NOT NULL AND ",
            $rest
        )
    };
}

/// Some sources of participants with submission numbers above `after`, in their order. Submissions
/// that do not count are left out.
pub async fn page(db: &Db, contest: i64, after: i64) -> Result<Vec<ContestSource>> {
    db.all(
        sources!("contest_id = $1 AND submission.id > $2 ORDER BY submission.id LIMIT $3"),
        values![contest, after, BATCH],
    )
    .await
}

/// Some sources of participants to a problem of a round with submission numbers below `before`, the
/// latest first.
pub async fn before(db: &Db, round_problem: i64, before: i64) -> Result<Vec<ContestSource>> {
    db.all(
        sources!(
            "round_problem_id = $1 AND submission.id < $2 ORDER BY submission.id DESC LIMIT $3"
        ),
        values![round_problem, before, BATCH],
    )
    .await
}

record! {
    /// A problem of a round with the number of its sources.
    SourceProblem {
        id: i64,
        round_name: String,
        label: String,
        sources: i64,
    }
}

/// The problems of a contest with the numbers of their sources, ordered by round.
pub async fn problems(db: &Db, contest: i64) -> Result<Vec<SourceProblem>> {
    db.all(
        "SELECT round_problem.id, round.name AS round_name, label,
            (SELECT COUNT(*) FROM submission WHERE round_problem_id = round_problem.id
                AND kind = 'normal' AND participant_id IS NOT NULL) AS sources
         FROM round_problem JOIN round ON round.id = round_id
         WHERE contest_id = $1 ORDER BY round_id, round_problem.id",
        values![contest],
    )
    .await
}

record! { Number { number: i64, } }

/// The highest submission number of a contest; 0 without submissions.
pub async fn last(db: &Db, contest: i64) -> Result<i64> {
    let found: Option<Number> = db
        .first(
            "SELECT COALESCE(MAX(submission.id), 0) AS number FROM submission
             JOIN round_problem ON round_problem.id = round_problem_id
             JOIN round ON round.id = round_id
             WHERE contest_id = $1 AND kind = 'normal' AND participant_id IS NOT NULL",
            values![contest],
        )
        .await?;
    Ok(found.map_or(0, |found| found.number))
}

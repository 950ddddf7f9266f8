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

/// Some sources of participants with submission numbers above `after`, in their order. Submissions
/// that do not count are left out.
pub async fn page(db: &Db, contest: i64, after: i64) -> Result<Vec<ContestSource>> {
    db.all(
        "SELECT submission.id, participant_id, round_id, round.name AS round_name,
            round_problem_id, label, file_name, content
         FROM submission JOIN source ON source.submission_id = submission.id
         JOIN round_problem ON round_problem.id = round_problem_id
         JOIN round ON round.id = round_id
         WHERE contest_id = $1 AND submission.id > $2 AND kind = 'normal'
            AND participant_id IS NOT NULL
         ORDER BY submission.id LIMIT $3",
        values![contest, after, BATCH],
    )
    .await
}

//! The latest comparison of a contest's sources.

use super::{Db, Executor, Result, Tx, record, values};
use crate::core::similarity::Pair;
use crate::core::time::Time;

record! {
    /// What was compared.
    Report {
        made_at: Time,
        last_submission: i64,
        problems: i64,
        sources: i64,
    }
}

record! {
    /// Two similar sources.
    Similar {
        label: String,
        percent: i64,
        first_id: i64,
        first_participant: i64,
        second_id: i64,
        second_participant: i64,
    }
}

/// Replaces the comparison of a contest.
pub async fn replace(tx: &mut Tx, contest: i64, report: &Report, pairs: &[Pair]) -> Result<()> {
    let last = "DELETE FROM similar_pair WHERE contest_id = $1";
    tx.execute(last, values![contest]).await?;
    tx.execute(
        "INSERT INTO similar_report (contest_id, made_at, last_submission, problems, sources)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (contest_id) DO UPDATE SET made_at = $2, last_submission = $3, problems = $4,
            sources = $5",
        values![
            contest,
            report.made_at,
            report.last_submission,
            report.problems,
            report.sources
        ],
    )
    .await?;
    for pair in pairs {
        let [first, second] = pair.submissions;
        // A submission may have been deleted since the comparison.
        tx.execute(
            "INSERT INTO similar_pair (first_id, second_id, contest_id, percent)
             SELECT first.id, second.id, $3, $4 FROM submission AS first, submission AS second
             WHERE first.id = $1 AND second.id = $2",
            values![
                first,
                second,
                contest,
                i64::try_from(pair.percent).unwrap_or(i64::MAX)
            ],
        )
        .await?;
    }
    Ok(())
}

/// The latest comparison of a contest.
pub async fn report(db: &Db, contest: i64) -> Result<Option<Report>> {
    db.first(
        "SELECT made_at, last_submission, problems, sources FROM similar_report
         WHERE contest_id = $1",
        values![contest],
    )
    .await
}

/// The pairs of a contest with at least this similarity in percent, by problems; the most similar
/// pairs of a problem come first.
pub async fn pairs(db: &Db, contest: i64, least: i64) -> Result<Vec<Similar>> {
    db.all(
        "SELECT label, percent, first_id, first.participant_id AS first_participant, second_id,
            second.participant_id AS second_participant
         FROM similar_pair JOIN submission AS first ON first.id = first_id
         JOIN submission AS second ON second.id = second_id
         JOIN round_problem ON round_problem.id = first.round_problem_id
         WHERE contest_id = $1 AND percent >= $2 AND first.participant_id IS NOT NULL
            AND second.participant_id IS NOT NULL
         ORDER BY round_id, round_problem.id, percent DESC, first_id, second_id",
        values![contest, least],
    )
    .await
}

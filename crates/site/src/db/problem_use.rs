//! The rounds that use a problem.

use super::contest::MemberRole;
use super::{Executor, Result, Tx, record, values};
use crate::core::access;
use crate::core::participant::Schedule;
use crate::core::time::Time;
use std::time::Duration;

record! {
    /// A round that uses a problem, as a user sees it.
    Use {
        round_problem_id: i64,
        round_id: i64,
        contest_id: i64,
        round_name: String,
        contest_name: String,
        begins: Time,
        ends: Time,
        /// The longest delay and the longest extra time of a participant.
        delay_seconds: i64,
        extra_seconds: i64,
        /// The role of the user in the contest.
        role: Option<MemberRole>,
    }
}

impl Use {
    /// Whether the user manages the contest.
    pub fn is_managed(&self) -> bool {
        matches!(self.role, Some(MemberRole::Owner | MemberRole::Moderator))
    }

    /// Whether a merge of problems by the user switches the round to another version.
    pub fn takes_version(&self, is_admin: bool, now: Time) -> bool {
        let additional = [self.delay_seconds, self.extra_seconds];
        let additional = additional.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
        let schedule = Schedule::new(self.begins, self.ends, self.ends, None);
        let over = schedule.over(additional[0].saturating_add(additional[1]));
        let is_running = self.begins <= now && now < over;
        access::takes_version(is_admin, self.is_managed(), is_running)
    }
}

/// The rounds that use a problem, as a user sees them.
pub async fn uses(db: impl Executor, problem_id: i64, user: i64) -> Result<Vec<Use>> {
    db.all(
        "SELECT round_problem.id AS round_problem_id, round_id, round.contest_id,
            round.name AS round_name, contest.name AS contest_name, begins, ends,
            COALESCE((SELECT MAX(delay_seconds) FROM participant
                WHERE participant.contest_id = contest.id), 0) AS delay_seconds,
            COALESCE((SELECT MAX(extra_seconds) FROM participant
                WHERE participant.contest_id = contest.id), 0) AS extra_seconds,
            (SELECT role FROM membership
             WHERE membership.contest_id = contest.id AND user_id = $2) AS role
         FROM round_problem JOIN round ON round.id = round_id
         JOIN contest ON contest.id = round.contest_id
         WHERE problem_id = $1 ORDER BY round_problem.id",
        values![problem_id, user],
    )
    .await
}

/// Switches a round to a version of its problem.
pub async fn use_version(tx: &mut Tx, round_problem: i64, version_id: i64) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem SET version_id = $2 WHERE id = $1",
        values![round_problem, version_id],
    )
    .await
}

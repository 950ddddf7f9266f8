//! The rounds that use a problem.

use super::contest::{MemberRole, Mode, schedule};
use super::participant::additional;
use super::problem::Visibility;
use super::{Executor, Result, Tx, record, values};
use crate::core::access;
use crate::core::freeze::Freeze;
use crate::core::package::editorial::RoundUse;
use crate::core::participant::{Schedule, full_results};
use crate::core::practice::is_disclosed;
use crate::core::time::Time;

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
        full_results: Time,
        mode: Mode,
        freeze_at: Time,
        thaw_at: Time,
        window_seconds: Option<i64>,
        /// The longest delay and the longest extra time of a participant.
        delay_seconds: i64,
        extra_seconds: i64,
        /// The role of the user in the contest.
        role: Option<MemberRole>,
        /// Whether the problem's owner manages the contest.
        owner_manages: bool,
        problem_visibility: Visibility,
    }
}

schedule!(Use);

impl Use {
    /// Whether the user manages the contest.
    pub fn is_managed(&self) -> bool {
        matches!(self.role, Some(MemberRole::Owner | MemberRole::Moderator))
    }

    /// When the round is over for all participants, at the latest.
    pub fn over(&self) -> Time {
        let schedule = Schedule::new(self.begins, self.ends, self.ends, None);
        schedule.over(additional(self.delay_seconds, self.extra_seconds))
    }

    /// Whether the round is over for all participants and shows all results.
    pub fn is_disclosed(&self, now: Time) -> bool {
        let additional = additional(self.delay_seconds, self.extra_seconds);
        is_disclosed(self.schedule(), self.freeze(), additional, now)
    }

    /// The round for the rule that opens hints and solutions. `page_of` is the round on whose page
    /// the user reads the problem.
    pub fn of_editorial(&self, page_of: Option<i64>) -> RoundUse {
        RoundUse {
            over: self.over(),
            owner_manages: self.owner_manages,
            is_public: self.problem_visibility == Visibility::Public,
            is_of_viewer: self.role.is_some() || page_of == Some(self.round_id),
        }
    }

    /// Whether a merge of problems by the user switches the round to another version.
    pub fn takes_version(&self, is_admin: bool, now: Time) -> bool {
        let is_running = self.begins <= now && now < self.over();
        access::takes_version(is_admin, self.is_managed(), is_running)
    }
}

/// The rounds that use a problem, as a user sees them.
pub async fn uses(db: impl Executor, problem_id: i64, user: i64) -> Result<Vec<Use>> {
    db.all(
        "SELECT round_problem.id AS round_problem_id, round_id, round.contest_id,
            round.name AS round_name, contest.name AS contest_name, begins, ends,
            full_results, mode, freeze_at, thaw_at, window_seconds,
            COALESCE((SELECT MAX(delay_seconds) FROM participant
                WHERE participant.contest_id = contest.id), 0) AS delay_seconds,
            COALESCE((SELECT MAX(extra_seconds) FROM participant
                WHERE participant.contest_id = contest.id), 0) AS extra_seconds,
            (SELECT role FROM membership
             WHERE membership.contest_id = contest.id AND user_id = $2) AS role,
            (SELECT COUNT(*) FROM membership AS staff
             WHERE staff.contest_id = contest.id AND staff.user_id = problem.owner_id
                AND staff.role IN ('owner', 'moderator')) AS owner_manages,
            problem.visibility AS problem_visibility
         FROM round_problem JOIN round ON round.id = round_id
         JOIN contest ON contest.id = round.contest_id
         JOIN problem ON problem.id = problem_id
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_is_over_after_the_last_participant() {
        let (minute, ends) = (60_000_000, 1_000_000_000);
        let round = Use {
            round_problem_id: 1,
            round_id: 1,
            contest_id: 1,
            round_name: String::new(),
            contest_name: String::new(),
            begins: Time::ALWAYS,
            ends: Time(ends),
            full_results: Time::ALWAYS,
            mode: Mode::Points,
            freeze_at: Time::NEVER,
            thaw_at: Time::NEVER,
            window_seconds: None,
            delay_seconds: 120,
            extra_seconds: 60,
            role: None,
            owner_manages: false,
            problem_visibility: Visibility::Private,
        };
        assert_eq!(round.over(), Time(ends + 3 * minute));
        let endless = Use {
            ends: Time::NEVER,
            ..round
        };
        assert_eq!(endless.over(), Time::NEVER);
    }
}

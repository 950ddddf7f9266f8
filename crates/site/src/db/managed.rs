//! The submissions that a user manages, as a condition in SQL.
//!
//! The rule is that of [`crate::core::access::submission`]: the staff of a contest manages its
//! submissions, and the owner of a problem those outside contests. Each statement that lists or
//! changes submissions across contests has this condition.

/// The condition that a user manages the `submission` of a statement. The arguments are the
/// placeholders of the user's id, and of 1 for administrators.
macro_rules! manages {
    ($user:literal, $all:literal) => {
        concat!(
            "(",
            $all,
            " = 1
            OR (submission.round_problem_id IS NULL AND submission.problem_id IN
                (SELECT owned.id FROM problem AS owned WHERE owned.owner_id = ",
            $user,
            "))
            OR submission.round_problem_id IN (SELECT place.id FROM round_problem AS place
                JOIN round AS part ON part.id = place.round_id
                JOIN membership AS own ON own.contest_id = part.contest_id
                WHERE own.user_id = ",
            $user,
            " AND own.role IN ('owner', 'moderator')))"
        )
    };
}

pub(crate) use manages;

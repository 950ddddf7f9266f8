//! The tables of an exported contest.
//!
//! Rows are exported with all their columns, so a new column needs no change here unless it refers
//! to another table. A test compares [`TABLES`] with the references of the database.

use super::schema::Fields;
use super::{Executor, Result, Tx, record, values};

/// What a column refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// `users`
    User,
    /// `problem`
    Problem,
    /// `package_version`
    Version,
    /// `contest`
    Contest,
    /// `round`
    Round,
    /// `round_problem`
    RoundProblem,
    /// `participant`
    Participant,
    /// `submission`
    Submission,
}

/// A table of an export.
#[derive(Debug)]
pub struct Table {
    /// The name.
    pub name: &'static str,
    /// What the table's column `id` identifies, if other tables refer to it.
    pub is: Option<Target>,
    /// Whether the table has a column `id`.
    pub has_id: bool,
    /// Columns that refer to tables.
    pub references: &'static [(&'static str, Target)],
    /// The column by which the rows of `select` are ordered.
    pub cursor: &'static str,
    /// Some rows of the contest `$1` whose cursor is greater than `$2`, in the order of the cursor.
    pub select: &'static str,
}

/// Columns that are left out, by table: they refer to objects that belong to one site.
const OMITTED: &[(&str, &str)] = &[
    ("judgement", "fault_id"),
    ("judgement", "fleet_worker_id"),
    ("judgement", "rejudging_id"),
    ("judgement", "replaces_id"),
];

macro_rules! of_contest {
    ($table:literal, $condition:literal, $cursor:literal) => {
        concat!(
            "SELECT ",
            $table,
            ".* FROM ",
            $table,
            " WHERE ",
            $condition,
            " AND ",
            $table,
            ".",
            $cursor,
            " > $2 ORDER BY ",
            $table,
            ".",
            $cursor,
            " LIMIT 50"
        )
    };
}

macro_rules! submissions {
    () => {
        "(SELECT submission.id FROM submission
          JOIN round_problem ON round_problem.id = submission.round_problem_id
          JOIN round ON round.id = round_id WHERE contest_id = $1)"
    };
}

/// The tables, in an order in which rows refer only to earlier tables.
pub const TABLES: &[Table] = &[
    Table {
        name: "problem",
        is: Some(Target::Problem),
        has_id: true,
        references: &[("owner_id", Target::User)],
        cursor: "id",
        select: of_contest!(
            "problem",
            "id IN (SELECT problem_id FROM round_problem
                JOIN round ON round.id = round_id WHERE contest_id = $1)",
            "id"
        ),
    },
    Table {
        name: "package_version",
        is: Some(Target::Version),
        has_id: true,
        references: &[
            ("problem_id", Target::Problem),
            ("created_by", Target::User),
        ],
        cursor: "id",
        select: concat!(
            "SELECT package_version.* FROM package_version
             WHERE (id IN (SELECT version_id FROM round_problem
                    JOIN round ON round.id = round_id WHERE contest_id = $1)
                OR id IN (SELECT version_id FROM judgement WHERE submission_id IN ",
            submissions!(),
            ")) AND id > $2 ORDER BY id LIMIT 50"
        ),
    },
    Table {
        name: "contest",
        is: Some(Target::Contest),
        has_id: true,
        references: &[],
        cursor: "id",
        select: of_contest!("contest", "id = $1", "id"),
    },
    Table {
        name: "membership",
        is: None,
        has_id: false,
        references: &[("contest_id", Target::Contest), ("user_id", Target::User)],
        cursor: "user_id",
        select: of_contest!("membership", "contest_id = $1", "user_id"),
    },
    Table {
        name: "round",
        is: Some(Target::Round),
        has_id: true,
        references: &[("contest_id", Target::Contest)],
        cursor: "id",
        select: of_contest!("round", "contest_id = $1", "id"),
    },
    Table {
        name: "round_problem",
        is: Some(Target::RoundProblem),
        has_id: true,
        references: &[
            ("round_id", Target::Round),
            ("problem_id", Target::Problem),
            ("version_id", Target::Version),
        ],
        cursor: "id",
        select: of_contest!(
            "round_problem",
            "round_id IN (SELECT id FROM round WHERE contest_id = $1)",
            "id"
        ),
    },
    Table {
        name: "participant",
        is: Some(Target::Participant),
        has_id: true,
        references: &[("contest_id", Target::Contest), ("user_id", Target::User)],
        cursor: "id",
        select: of_contest!("participant", "contest_id = $1", "id"),
    },
    Table {
        name: "team_member",
        is: None,
        has_id: false,
        references: &[
            ("contest_id", Target::Contest),
            ("user_id", Target::User),
            ("participant_id", Target::Participant),
        ],
        cursor: "user_id",
        select: of_contest!("team_member", "contest_id = $1", "user_id"),
    },
    Table {
        name: "participant_start",
        is: None,
        has_id: true,
        references: &[
            ("participant_id", Target::Participant),
            ("round_id", Target::Round),
        ],
        cursor: "id",
        select: of_contest!(
            "participant_start",
            "round_id IN (SELECT id FROM round WHERE contest_id = $1)",
            "id"
        ),
    },
    Table {
        name: "clarification",
        is: None,
        has_id: true,
        references: &[
            ("contest_id", Target::Contest),
            ("round_problem_id", Target::RoundProblem),
            ("user_id", Target::User),
            ("participant_id", Target::Participant),
            ("answered_by", Target::User),
        ],
        cursor: "id",
        select: of_contest!("clarification", "contest_id = $1", "id"),
    },
    Table {
        name: "contest_file",
        is: None,
        has_id: true,
        references: &[
            ("contest_id", Target::Contest),
            ("round_id", Target::Round),
            ("modified_by", Target::User),
        ],
        cursor: "id",
        select: of_contest!("contest_file", "contest_id = $1", "id"),
    },
    Table {
        name: "canned_answer",
        is: None,
        has_id: true,
        references: &[("contest_id", Target::Contest)],
        cursor: "id",
        select: of_contest!("canned_answer", "contest_id = $1", "id"),
    },
    Table {
        name: "submission",
        is: Some(Target::Submission),
        has_id: true,
        references: &[
            ("user_id", Target::User),
            ("problem_id", Target::Problem),
            ("round_problem_id", Target::RoundProblem),
            ("model_version_id", Target::Version),
            ("participant_id", Target::Participant),
        ],
        cursor: "id",
        select: concat!(
            "SELECT submission.* FROM submission WHERE id IN ",
            submissions!(),
            " AND id > $2 ORDER BY id LIMIT 50"
        ),
    },
    Table {
        name: "source",
        is: None,
        has_id: false,
        references: &[("submission_id", Target::Submission)],
        cursor: "submission_id",
        select: concat!(
            "SELECT source.* FROM source WHERE submission_id IN ",
            submissions!(),
            " AND submission_id > $2 ORDER BY submission_id LIMIT 50"
        ),
    },
    Table {
        name: "judgement",
        is: None,
        has_id: true,
        references: &[
            ("submission_id", Target::Submission),
            ("version_id", Target::Version),
            ("user_id", Target::User),
        ],
        cursor: "id",
        select: concat!(
            "SELECT judgement.* FROM judgement WHERE submission_id IN ",
            submissions!(),
            " AND id > $2 ORDER BY id LIMIT 50"
        ),
    },
];

record! {
    /// A user in an export.
    Person {
        id: i64,
        login: String,
        name: String,
        email: Option<String>,
        password: String,
    }
}

/// Some users with ids above `after` to which the rows of a contest refer.
pub async fn people(tx: &mut Tx, contest: i64, after: i64) -> Result<Vec<Person>> {
    tx.all(
        concat!(
            "SELECT id, login, name, email, password FROM users WHERE id > $2 AND (
                id IN (SELECT user_id FROM membership WHERE contest_id = $1)
                OR id IN (SELECT user_id FROM participant WHERE contest_id = $1)
                OR id IN (SELECT user_id FROM team_member WHERE contest_id = $1)
                OR id IN (SELECT user_id FROM clarification WHERE contest_id = $1)
                OR id IN (SELECT answered_by FROM clarification WHERE contest_id = $1)
                OR id IN (SELECT modified_by FROM contest_file WHERE contest_id = $1)
                OR id IN (SELECT user_id FROM submission WHERE id IN ",
            submissions!(),
            ") OR id IN (SELECT owner_id FROM problem WHERE id IN (SELECT problem_id
                    FROM round_problem JOIN round ON round.id = round_id WHERE contest_id = $1))
                OR id IN (SELECT created_by FROM package_version WHERE problem_id IN (SELECT
                    problem_id FROM round_problem JOIN round ON round.id = round_id
                    WHERE contest_id = $1))
             ) ORDER BY id LIMIT 50"
        ),
        values![contest, after],
    )
    .await
}

/// Some rows of a table, and the cursor of the last one; `None` after the last row.
pub async fn rows(
    tx: &mut Tx,
    table: &Table,
    contest: i64,
    after: i64,
) -> Result<Option<(Vec<Fields>, i64)>> {
    let rows = tx.rows(table.select, values![contest, after]).await?;
    let Some(last) = rows.last() else {
        return Ok(None);
    };
    let cursor = last.get(table.cursor)?;
    let mut pages = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut fields = row.fields()?;
        fields.retain(|(column, _)| !OMITTED.contains(&(table.name, column.as_str())));
        pages.push(fields);
    }
    Ok(Some((pages, cursor)))
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;

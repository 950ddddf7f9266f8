//! Deleting users, and merging two of them.
//!
//! A test compares [`REFERENCES`] with the references of the database.

use super::{Result, Tx, values};
use crate::db::contest::MemberRole;
use crate::db::user::User;
use crate::db::{Executor, record, user};

/// What happens to the rows that refer to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// They move to the other user of a merge, or to the administrator that deletes the user.
    Kept(&'static str),
    /// They move to the other user of a merge, and are deleted with a deleted user.
    Moved(&'static str, &'static str),
    /// They move; if both users are members of a contest, the higher role is kept.
    Members,
    /// These statements move them, and they are deleted with a deleted user.
    Joined(&'static [&'static str]),
    /// They are deleted with the user.
    Ended,
}

/// The columns that refer to users. `$1` is the removed user, `$2` the user that receives the rows.
pub const REFERENCES: &[(&str, &str, Fate)] = &[
    (
        "problem",
        "owner_id",
        Fate::Kept("UPDATE problem SET owner_id = $2 WHERE owner_id = $1"),
    ),
    (
        "users",
        "created_by",
        Fate::Kept("UPDATE users SET created_by = $2 WHERE created_by = $1"),
    ),
    (
        "class",
        "owner_id",
        Fate::Kept("UPDATE class SET owner_id = $2 WHERE owner_id = $1"),
    ),
    (
        "class_member",
        "user_id",
        Fate::Joined(&[
            "UPDATE class_member SET user_id = $2 WHERE user_id = $1 AND class_id NOT IN
                (SELECT class_id FROM class_member WHERE user_id = $2)",
        ]),
    ),
    (
        "package_version",
        "created_by",
        Fate::Kept("UPDATE package_version SET created_by = $2 WHERE created_by = $1"),
    ),
    (
        "submission",
        "user_id",
        Fate::Moved(
            "UPDATE submission SET user_id = $2 WHERE user_id = $1",
            "DELETE FROM submission WHERE user_id = $1",
        ),
    ),
    (
        "rejudging",
        "created_by",
        Fate::Kept("UPDATE rejudging SET created_by = $2 WHERE created_by = $1"),
    ),
    (
        "fault",
        "closed_by",
        Fate::Kept("UPDATE fault SET closed_by = $2 WHERE closed_by = $1"),
    ),
    (
        "job",
        "created_by",
        Fate::Kept("UPDATE job SET created_by = $2 WHERE created_by = $1"),
    ),
    (
        "identity",
        "user_id",
        Fate::Joined(&["UPDATE identity SET user_id = $2 WHERE user_id = $1"]),
    ),
    ("membership", "user_id", Fate::Members),
    (
        "participant",
        "user_id",
        Fate::Joined(&[
            // In a contest in which both users take part, the submissions of the first become the
            // second user's.
            "UPDATE submission SET participant_id = (SELECT own.id FROM participant AS own
                JOIN participant AS other ON other.contest_id = own.contest_id
                WHERE other.id = submission.participant_id AND own.user_id = $2)
             WHERE participant_id IN (SELECT other.id FROM participant AS other
                JOIN participant AS own ON own.contest_id = other.contest_id
                WHERE other.user_id = $1 AND own.user_id = $2)",
            "UPDATE clarification SET participant_id = (SELECT own.id FROM participant AS own
                JOIN participant AS other ON other.contest_id = own.contest_id
                WHERE other.id = clarification.participant_id AND own.user_id = $2)
             WHERE participant_id IN (SELECT other.id FROM participant AS other
                JOIN participant AS own ON own.contest_id = other.contest_id
                WHERE other.user_id = $1 AND own.user_id = $2)",
            // A disqualification is that of the person.
            "UPDATE participant SET disqualified = (SELECT other.disqualified
                FROM participant AS other WHERE other.contest_id = participant.contest_id
                AND other.user_id = $1)
             WHERE user_id = $2 AND disqualified IS NULL AND contest_id IN
                (SELECT contest_id FROM participant WHERE user_id = $1)",
            "UPDATE participant SET user_id = $2 WHERE user_id = $1 AND contest_id NOT IN
                (SELECT contest_id FROM participant WHERE user_id = $2)",
        ]),
    ),
    (
        "team_member",
        "user_id",
        Fate::Joined(&[
            "UPDATE team_member SET user_id = $2 WHERE user_id = $1 AND contest_id NOT IN
                (SELECT contest_id FROM team_member WHERE user_id = $2)",
        ]),
    ),
    (
        "clarification",
        "user_id",
        Fate::Moved(
            "UPDATE clarification SET user_id = $2 WHERE user_id = $1",
            "DELETE FROM clarification WHERE user_id = $1",
        ),
    ),
    (
        "clarification",
        "answered_by",
        Fate::Kept("UPDATE clarification SET answered_by = $2 WHERE answered_by = $1"),
    ),
    ("clarification_seen", "user_id", Fate::Ended),
    ("virtual_start", "user_id", Fate::Ended),
    (
        "balloon",
        "delivered_by",
        Fate::Kept("UPDATE balloon SET delivered_by = $2 WHERE delivered_by = $1"),
    ),
    (
        "print_request",
        "user_id",
        Fate::Moved(
            "UPDATE print_request SET user_id = $2 WHERE user_id = $1",
            "DELETE FROM print_request WHERE user_id = $1",
        ),
    ),
    (
        "print_request",
        "done_by",
        Fate::Kept("UPDATE print_request SET done_by = $2 WHERE done_by = $1"),
    ),
    (
        "contest_file",
        "modified_by",
        Fate::Kept("UPDATE contest_file SET modified_by = $2 WHERE modified_by = $1"),
    ),
    ("session", "user_id", Fate::Ended),
    ("recovery_code", "user_id", Fate::Ended),
    ("reset_link", "user_id", Fate::Ended),
    ("api_token", "user_id", Fate::Ended),
    ("idempotency_key", "user_id", Fate::Ended),
];

record! { Membership { contest_id: i64, role: MemberRole, } }

/// Deletes a user with all submissions. Problems move to another user.
pub async fn delete(tx: &mut Tx, id: i64, heir: i64) -> Result<()> {
    // Packages keep their submissions.
    tx.execute(
        "UPDATE submission SET user_id = $2 WHERE user_id = $1 AND kind = 'model'",
        values![id, heir],
    )
    .await?;
    for (_, _, fate) in REFERENCES {
        match fate {
            Fate::Kept(sql) => tx.execute(sql, values![id, heir]).await?,
            Fate::Moved(_, sql) => tx.execute(sql, values![id]).await?,
            // The database deletes these rows with the user.
            Fate::Members | Fate::Joined(_) | Fate::Ended => 0,
        };
    }
    tx.execute("DELETE FROM users WHERE id = $1", values![id])
        .await?;
    Ok(())
}

/// Moves everything of one user to another and deletes the first. The remaining user has the higher
/// of both roles.
pub async fn merge(tx: &mut Tx, from: &User, into: &User) -> Result<()> {
    for (_, _, fate) in REFERENCES {
        match fate {
            Fate::Kept(sql) | Fate::Moved(sql, _) => {
                tx.execute(sql, values![from.id, into.id]).await?;
            }
            Fate::Members => memberships(tx, from.id, into.id).await?,
            Fate::Joined(statements) => {
                for sql in *statements {
                    tx.execute(sql, values![from.id, into.id]).await?;
                }
            }
            Fate::Ended => {}
        }
    }
    // The queue is fair between users.
    tx.execute(
        "UPDATE judgement SET user_id = $2 WHERE user_id = $1",
        values![from.id, into.id],
    )
    .await?;
    let role = from.role.higher(into.role);
    user::update(tx, into.id, role, into.disabled_at).await?;
    tx.execute("DELETE FROM users WHERE id = $1", values![from.id])
        .await?;
    Ok(())
}

async fn memberships(tx: &mut Tx, from: i64, into: i64) -> Result<()> {
    const OF_USER: &str = "SELECT contest_id, role FROM membership WHERE user_id = $1";
    let own: Vec<Membership> = (&mut *tx).all(OF_USER, values![into]).await?;
    let others: Vec<Membership> = (&mut *tx).all(OF_USER, values![from]).await?;
    for other in others {
        let present = own.iter().find(|one| one.contest_id == other.contest_id);
        let sql = match present {
            None => "UPDATE membership SET user_id = $2 WHERE user_id = $1 AND contest_id = $3",
            Some(one) if rank(other.role) > rank(one.role) => {
                "UPDATE membership SET role = (SELECT role FROM membership AS other
                    WHERE other.user_id = $1 AND other.contest_id = $3)
                 WHERE user_id = $2 AND contest_id = $3"
            }
            Some(_) => continue,
        };
        tx.execute(sql, values![from, into, other.contest_id])
            .await?;
    }
    Ok(())
}

fn rank(role: MemberRole) -> usize {
    let place = MemberRole::ALL.iter().rev().position(|one| *one == role);
    place.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Db, migrate};

    record! { Reference { source: String, field: String, } }

    #[tokio::test]
    async fn each_reference_to_a_user_has_a_fate() {
        let directory = tempfile::tempdir().unwrap();
        let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
        migrate::migrate(&db).await.unwrap();
        let found: Vec<Reference> = (&db)
            .all(
                "SELECT tables.name AS source, keys.\"from\" AS field
                 FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS keys
                 WHERE tables.type = 'table' AND keys.\"table\" = 'users'",
                values![],
            )
            .await
            .unwrap();
        assert_eq!(found.len(), REFERENCES.len(), "{found:?}");
        for Reference { source, field } in found {
            let known = |(table, column, _): &(&str, &str, Fate)| {
                (*table, *column) == (source.as_str(), field.as_str())
            };
            assert!(
                REFERENCES.iter().any(known),
                "{source}.{field} refers to users: add it to REFERENCES of db/merge.rs"
            );
        }
        db.close().await;
    }
}

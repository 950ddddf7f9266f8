//! New passwords.

use super::*;
use crate::db::api_token::Scope;
use crate::db::credential::{self, CREDENTIALS, Fate, Kept, Proof};

const OLD_LINK: [u8; 32] = [7; 32];

/// Adds a link, three sessions, a token and an identity of a user.
async fn equip(db: &Db, id: i64) {
    let later = NOW.after(LEASE);
    let mut tx = db.begin().await.unwrap();
    reset::insert(&mut tx, OLD_LINK, id, NOW, later)
        .await
        .unwrap();
    for hash in [[1; 32], [2; 32], [3; 32]] {
        session::insert(&mut tx, hash, id, NOW, later)
            .await
            .unwrap();
    }
    api_token::insert(&mut tx, [4; 32], id, "", Scope::Read, NOW, later)
        .await
        .unwrap();
    identity::insert(&mut tx, "issuer", "subject", id, NOW)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

/// The numbers of links, sessions, tokens and identities that a user has.
async fn left(db: &Db, id: i64) -> [usize; 4] {
    let link = reset::user(db, OLD_LINK, NOW).await.unwrap();
    let sessions = session::of_user(db, id, NOW).await.unwrap();
    let tokens = api_token::of_user(db, id).await.unwrap();
    let identities = identity::of_user(db, id).await.unwrap();
    [
        usize::from(link.is_some()),
        sessions.len(),
        tokens.len(),
        identities.len(),
    ]
}

#[test]
fn new_password_ends_what_the_user_does_not_keep() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let other = add_user(db, "bob", Role::User).await;
        let kept = |session, tokens, identities| Kept {
            session,
            tokens,
            identities,
        };
        for (old, kept, changes, expected) in [
            (Some("wrong"), kept(None, false, false), false, [1, 3, 1, 1]),
            (Some("hash"), kept(None, false, false), true, [0, 0, 0, 0]),
            (Some("hash"), kept(None, true, true), true, [0, 0, 1, 1]),
            (None, kept(Some([2; 32]), false, true), true, [0, 1, 0, 1]),
            (None, kept(None, true, false), true, [0, 0, 1, 0]),
            (None, Kept::default(), true, [0, 0, 0, 0]),
        ] {
            equip(db, id).await;
            let mut tx = db.begin().await.unwrap();
            let set = password::set(&mut tx, other, "new", None, Kept::default()).await;
            assert!(set.unwrap());
            let set = password::set(&mut tx, id, "new", old, kept).await;
            assert_eq!(set.unwrap(), changes, "{kept:?}");
            if changes {
                tx.commit().await.unwrap();
            } else {
                drop(tx);
            }
            assert_eq!(left(db, id).await, expected, "{kept:?}");
            let found = user::by_id(db, id).await.unwrap().unwrap();
            assert_eq!(found.password, if changes { "new" } else { "hash" });
            let mut tx = db.begin().await.unwrap();
            user::set_password(&mut tx, id, "hash").await.unwrap();
            credential::end(&mut tx, id, Kept::default()).await.unwrap();
            tx.commit().await.unwrap();
        }
    });
}

record! { Table { name: String, } }

/// Tables with digests of secrets, and with identities, belong to users that show them.
#[tokio::test]
async fn each_table_of_credentials_has_a_fate() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
    migrate::migrate(&db).await.unwrap();
    let found: Vec<Table> = (&db)
        .all(
            "SELECT tables.name FROM sqlite_schema AS tables
             WHERE tables.type = 'table'
                AND EXISTS (SELECT * FROM pragma_foreign_key_list(tables.name) AS keys
                    WHERE keys.\"table\" = 'users' AND keys.\"from\" = 'user_id')
                AND EXISTS (SELECT * FROM pragma_table_info(tables.name) AS columns
                    WHERE columns.name IN ('hash', 'subject'))
             ORDER BY tables.name",
            values![],
        )
        .await
        .unwrap();
    let found: Vec<String> = found.into_iter().map(|table| table.name).collect();
    let mut known: Vec<&str> = CREDENTIALS.iter().map(|(table, _)| *table).collect();
    known.sort_unstable();
    assert_eq!(
        found, known,
        "add the table to CREDENTIALS of db/credential.rs"
    );
    // The function does what the list says.
    let id = add_user(&db, "ada", Role::User).await;
    equip(&db, id).await;
    let mut tx = db.begin().await.unwrap();
    tx.execute(
        "INSERT INTO recovery_code (hash, user_id) VALUES ($1, $2)",
        values![[9; 32], id],
    )
    .await
    .unwrap();
    credential::end(&mut tx, id, Kept::default()).await.unwrap();
    for (table, fate) in CREDENTIALS {
        let sql = match *table {
            "session" => "SELECT user_id FROM session",
            "reset_link" => "SELECT user_id FROM reset_link",
            "api_token" => "SELECT user_id FROM api_token",
            "identity" => "SELECT user_id FROM identity",
            "recovery_code" => "SELECT user_id FROM recovery_code",
            table => panic!("{table}"),
        };
        let stays = !(&mut tx).rows(sql, values![]).await.unwrap().is_empty();
        assert_eq!(stays, *fate == Fate::Stays, "{table}");
    }
    drop(tx);
    db.close().await;
}

#[test]
fn proof_holds_until_its_credential_ends() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let other = add_user(db, "bob", Role::User).await;
        equip(db, id).await;
        let password = Proof::Password("hash".to_owned());
        let identity = Proof::Identity {
            issuer: "issuer".to_owned(),
            subject: "subject".to_owned(),
        };
        let holds = async |user, proof: &Proof, has_code| {
            let mut tx = db.begin().await.unwrap();
            let holds = credential::holds(&mut tx, user, proof, has_code).await;
            holds.unwrap()
        };
        assert!(holds(id, &password, false).await && holds(id, &identity, false).await);
        assert!(!holds(other, &identity, false).await, "of another user");
        let wrong = Proof::Password("old".to_owned());
        assert!(!holds(id, &wrong, true).await);
        // A generator of one-time passwords requires a code.
        let mut tx = db.begin().await.unwrap();
        totp::propose(&mut tx, id, &[7; 20]).await.unwrap();
        totp::confirm(&mut tx, id, 1, &[], NOW).await.unwrap();
        tx.commit().await.unwrap();
        for proof in [&password, &identity] {
            assert!(!holds(id, proof, false).await && holds(id, proof, true).await);
        }
        let mut tx = db.begin().await.unwrap();
        identity::delete_of_user(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!holds(id, &identity, true).await);
        let mut tx = db.begin().await.unwrap();
        user::update(&mut tx, id, Role::User, Some(NOW))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert!(!holds(id, &password, true).await, "a disabled user");
    });
}

/// The session begins in one transaction and the password changes in another. Whichever comes
/// first, no session of the old password is left.
#[test]
fn sign_in_and_new_password_at_the_same_moment_leave_no_session() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let later = NOW.after(LEASE);
        let pause = Duration::from_millis(300);
        for sign_in_first in [true, false] {
            let other = db.clone();
            let sign_in = tokio::spawn(async move {
                if !sign_in_first {
                    tokio::time::sleep(pause / 2).await;
                }
                let mut tx = other.begin().await.unwrap();
                let proof = Proof::Password("hash".to_owned());
                let holds = credential::holds(&mut tx, id, &proof, false).await.unwrap();
                tokio::time::sleep(pause).await;
                if holds {
                    session::insert(&mut tx, [1; 32], id, NOW, later)
                        .await
                        .unwrap();
                }
                tx.commit().await.unwrap();
                holds
            });
            if sign_in_first {
                tokio::time::sleep(pause / 2).await;
            }
            let mut tx = db.begin().await.unwrap();
            password::set(&mut tx, id, "new", None, Kept::default())
                .await
                .unwrap();
            tokio::time::sleep(pause).await;
            tx.commit().await.unwrap();
            let holds = sign_in.await.unwrap();
            assert_eq!(holds, sign_in_first);
            assert_eq!(left(db, id).await, [0; 4], "{sign_in_first}");
            let mut tx = db.begin().await.unwrap();
            user::set_password(&mut tx, id, "hash").await.unwrap();
            tx.commit().await.unwrap();
        }
    });
}

#[test]
fn link_is_used_once_by_simultaneous_requests() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        equip(db, id).await;
        let mut first = db.begin().await.unwrap();
        let taken = reset::take(&mut first, OLD_LINK, NOW).await.unwrap();
        assert_eq!(taken, Some(id));
        let other = db.clone();
        let second = tokio::spawn(async move {
            let mut second = other.begin().await.unwrap();
            reset::take(&mut second, OLD_LINK, NOW).await.unwrap()
        });
        // The second request waits for the first one.
        tokio::time::sleep(Duration::from_millis(300)).await;
        first.commit().await.unwrap();
        assert_eq!(second.await.unwrap(), None);
    });
}

#[test]
fn link_of_a_disabled_user_or_past_its_time_is_not_used() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        equip(db, id).await;
        let take = async |now| {
            let mut tx = db.begin().await.unwrap();
            reset::take(&mut tx, OLD_LINK, now).await.unwrap()
        };
        assert_eq!(take(NOW.after(LEASE)).await, None);
        assert_eq!(take(NOW).await, Some(id));
        let mut tx = db.begin().await.unwrap();
        user::update(&mut tx, id, Role::User, Some(NOW))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(take(NOW).await, None);
    });
}

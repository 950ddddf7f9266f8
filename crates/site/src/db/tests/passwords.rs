//! New passwords.

use super::*;
use crate::db::api_token::Scope;
use crate::db::password::Reason;

const OLD_LINK: [u8; 32] = [7; 32];

/// Adds a link, three sessions and a token of a user.
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
    tx.commit().await.unwrap();
}

/// The numbers of links, sessions and tokens that a user has.
async fn left(db: &Db, id: i64) -> (usize, usize, usize) {
    let link = reset::user(db, OLD_LINK, NOW).await.unwrap();
    let sessions = session::of_user(db, id, NOW).await.unwrap();
    let tokens = api_token::of_user(db, id).await.unwrap();
    (usize::from(link.is_some()), sessions.len(), tokens.len())
}

#[test]
fn new_password_ends_what_belongs_to_the_old_one() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let other = add_user(db, "bob", Role::User).await;
        for (reason, kept, changes, expected) in [
            (Reason::Changed("wrong"), None, false, (1, 3, 1)),
            (Reason::Changed("hash"), None, true, (0, 0, 1)),
            (Reason::Changed("hash"), Some([2; 32]), true, (0, 1, 1)),
            (Reason::Replaced, Some([2; 32]), true, (0, 1, 0)),
            (Reason::Replaced, None, true, (0, 0, 0)),
        ] {
            equip(db, id).await;
            let mut tx = db.begin().await.unwrap();
            let set = password::set(&mut tx, other, "new", Reason::Replaced, None).await;
            assert!(set.unwrap());
            let set = password::set(&mut tx, id, "new", reason, kept).await;
            assert_eq!(set.unwrap(), changes, "{reason:?}");
            if changes {
                tx.commit().await.unwrap();
            } else {
                drop(tx);
            }
            assert_eq!(left(db, id).await, expected, "{reason:?}");
            let found = user::by_id(db, id).await.unwrap().unwrap();
            assert_eq!(found.password, if changes { "new" } else { "hash" });
            let mut tx = db.begin().await.unwrap();
            user::set_password(&mut tx, id, "hash").await.unwrap();
            session::delete_of_user(&mut tx, id).await.unwrap();
            api_token::delete_of_user(&mut tx, id).await.unwrap();
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

//! Transactions that write take turns, and tasks hold one connection.

use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[test]
fn transactions_that_count_before_they_write_keep_one_administrator() {
    with_each(async |db| {
        let mut admins = Vec::new();
        for login in ["ada", "bob", "eve", "joe"] {
            admins.push(add_user(db, login, Role::Admin).await);
        }
        let refused = Arc::new(AtomicUsize::new(0));
        let resign = |id: i64| {
            let (db, refused) = (db.clone(), refused.clone());
            tokio::spawn(async move {
                let mut tx = db.begin().await.unwrap();
                let others = "SELECT id FROM users WHERE role = 'admin' AND id <> $1";
                if tx.rows(others, values![id]).await.unwrap().is_empty() {
                    refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                // All transactions would read before the first one writes.
                tokio::time::sleep(Duration::from_millis(300)).await;
                user::update(&mut tx, id, Role::User, None).await.unwrap();
                tx.commit().await.unwrap();
            })
        };
        let tasks: Vec<_> = admins.into_iter().map(resign).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(refused.load(Ordering::Relaxed), 1);
        assert!(user::has_admin(db).await.unwrap());
    });
}

#[test]
fn processes_take_turns_too() {
    let Ok(url) = postgres::database() else {
        // The other tests name the reason.
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let site = Db::postgres(&url).await.unwrap();
        let command = Db::postgres(&url).await.unwrap();
        migrate::migrate(&site).await.unwrap();
        let mut first = site.begin().await.unwrap();
        let second = tokio::spawn(async move {
            let mut tx = command.begin().await.unwrap();
            let found = user::has_admin(&mut tx).await.unwrap();
            drop(tx);
            command.close().await;
            found
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let new = NewUser {
            login: "ada",
            name: "",
            password: "",
            role: Role::Admin,
        };
        user::insert(&mut first, &new, NOW).await.unwrap();
        first.commit().await.unwrap();
        assert!(
            second.await.unwrap(),
            "the second one begins after the first"
        );
        site.close().await;
    });
}

#[test]
fn connections_that_read_do_not_write() {
    with_each(async |db| {
        let sql = "UPDATE users SET name = 'x' RETURNING id";
        assert!(db.rows(sql, values![]).await.is_err());
    });
}

#[test]
fn task_that_asks_for_a_second_connection_panics() {
    with_each(async |db| {
        for second in 0..3 {
            let db = db.clone();
            let task = tokio::spawn(async move {
                let _first = db.begin().await.unwrap();
                match second {
                    0 => drop(db.begin().await),
                    1 => drop(db.snapshot().await),
                    _ => drop(db.rows("SELECT id FROM users", values![]).await),
                }
            });
            assert!(task.await.unwrap_err().is_panic(), "{second}");
        }
        // The transactions of these tasks are over.
        let tx = db.begin().await.unwrap();
        drop(tx);
        let mut tx = db.snapshot().await.unwrap();
        assert!(!user::has_admin(&mut tx).await.unwrap());
    });
}

#[test]
fn conflicts_have_types() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let mut tx = db.begin().await.unwrap();
        session::insert(&mut tx, [1; 32], id, NOW, NOW)
            .await
            .unwrap();
        let twice = session::insert(&mut tx, [1; 32], id, NOW, NOW).await;
        assert!(twice.unwrap_err().is_conflict());
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        let orphan = session::insert(&mut tx, [2; 32], id + 1, NOW, NOW).await;
        let orphan = orphan.unwrap_err();
        assert!(orphan.is_conflict() && !orphan.is_duplicate(), "{orphan:?}");
    });
}

#[test]
fn work_that_needs_a_closed_database_waits_for_the_end_of_the_process() {
    with_each(async |db| {
        db.close().await;
        let wait = Duration::from_millis(100);
        let begun = tokio::time::timeout(wait, db.begin()).await;
        assert!(begun.is_err(), "{begun:?}");
        let read = tokio::time::timeout(wait, user::has_admin(db)).await;
        assert!(read.is_err(), "{read:?}");
    });
}

//! The order of rounds and problems.

use super::super::contest::{RoundFields, RoundProblemFields, Visibility as ContestVisibility};
use super::*;

async fn add_round(db: &Db, contest: i64, name: &str) -> i64 {
    let fields = RoundFields {
        name: name.to_owned(),
        begins: Time::ALWAYS,
        ends: Time::NEVER,
        full_results: Time::ALWAYS,
        ranking_from: Time::ALWAYS,
    };
    let mut tx = db.begin().await.unwrap();
    let id = contest::insert_round(&mut tx, contest, &fields).await;
    tx.commit().await.unwrap();
    id.unwrap()
}

async fn attach(db: &Db, round: i64, problem: (i64, i64), label: &str) -> i64 {
    let fields = RoundProblemFields {
        version_id: problem.1,
        label: label.to_owned(),
        name: "Sum".to_owned(),
        final_method: FinalMethod::Best,
        reveal: Reveal::Nothing,
    };
    let mut tx = db.begin().await.unwrap();
    let id = contest::insert_round_problem(&mut tx, round, problem.0, &fields).await;
    tx.commit().await.unwrap();
    id.unwrap()
}

#[test]
fn new_rounds_and_problems_are_last_also_after_removals() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let sum = add_problem(db, ada, Visibility::Private).await;
        let mut tx = db.begin().await.unwrap();
        let cup = contest::insert(&mut tx, "Cup", ContestVisibility::Private, NOW).await;
        tx.commit().await.unwrap();
        let cup = cup.unwrap();
        let mut rounds = Vec::new();
        for name in ["1", "2", "3", "4"] {
            rounds.push(add_round(db, cup, name).await);
        }
        let mut problems = Vec::new();
        for label in ["A", "B", "C", "D"] {
            problems.push(attach(db, rounds[3], sum, label).await);
        }
        let mut tx = db.begin().await.unwrap();
        for index in [0, 1] {
            contest::delete_round(&mut tx, rounds[index]).await.unwrap();
            let removed = contest::delete_round_problem(&mut tx, problems[index]).await;
            assert_eq!(removed.unwrap(), 1);
        }
        tx.commit().await.unwrap();
        add_round(db, cup, "5").await;
        attach(db, rounds[3], sum, "E").await;
        let found = contest::rounds(db, cup).await.unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["3", "4", "5"]);
        let found = contest::problems(db, cup).await.unwrap();
        let labels: Vec<&str> = found.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels, ["C", "D", "E"]);
    });
}

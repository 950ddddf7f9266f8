//! Random histories in the database, compared with a model in memory.
//!
//! The steps are those of the site: submissions, leases with partial and complete results, failures
//! and late results, judging again, changes of kind, final method, revealing, mode, freeze,
//! personal times and teams. After a history, each ranking that is read from the database must
//! equal a naive recomputation from the model.

mod model;

use crate::core::finals::{FinalMethod, Reveal};
use crate::core::verdict::Verdict;
use crate::db::Db;
use crate::db::contest::Mode;
use crate::db::judgement;
use crate::db::submission::Kind;
use crate::db::tests::with_each;
use model::{LEASE, Model, PARTICIPANTS, PROBLEMS, ROUNDS, Step, TEAM, at, failure};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

const CASES: u32 = 24;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = || 0usize..64;
    let minute = || 90i64..410;
    let verdict = || select(Verdict::ALL);
    let window = || proptest::option::weighted(0.3, 30i64..90);
    let step = prop_oneof![
        6 => (0..PARTICIPANTS, 0..PROBLEMS, minute()).prop_map(|(participant, problem, minute)| {
            Step::Submit { participant, problem, minute }
        }),
        6 => Just(Step::Claim),
        2 => (index(), verdict()).prop_map(|(lease, verdict)| Step::Initial { lease, verdict }),
        6 => (index(), verdict(), verdict(), 0i64..3).prop_map(|(lease, initial, verdict, score)| {
            Step::Finish { lease, initial, verdict, score }
        }),
        1 => (index(), any::<bool>()).prop_map(|(lease, is_final)| Step::Fail { lease, is_final }),
        2 => index().prop_map(|submission| Step::Again { submission }),
        1 => (index(), select(Kind::ALL))
            .prop_map(|(submission, kind)| Step::Count { submission, kind }),
        1 => (0..PROBLEMS, select(FinalMethod::ALL), select(Reveal::ALL))
            .prop_map(|(problem, method, reveal)| Step::Method { problem, method, reveal }),
        1 => (0..ROUNDS, select(Mode::ALL), minute(), minute(), window())
            .prop_map(|(round, mode, freeze, thaw, window)| {
                Step::Rules { round, mode, freeze, thaw, window }
            }),
        1 => (0..PARTICIPANTS, any::<u8>(), 0i64..3, 0i64..2)
            .prop_map(|(participant, flags, delay, penalty)| {
                Step::Change { participant, flags, delay, penalty }
            }),
        1 => (0..TEAM, any::<bool>()).prop_map(|(user, joins)| Step::Member { user, joins }),
        1 => (0..PARTICIPANTS, 0..ROUNDS, minute())
            .prop_map(|(participant, round, minute)| Step::Start { participant, round, minute }),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Ends judgements that another history has left behind.
async fn drain(db: &Db) {
    judgement::release(db, None).await.unwrap();
    while let Some(task) = judgement::claim(db, "w", at(0), LEASE).await.unwrap() {
        let failed = judgement::fail(db, task.id, task.attempt, &failure(true), at(0)).await;
        assert!(failed.unwrap());
    }
}

#[test]
fn ranking_of_a_random_history_equals_a_naive_recomputation() {
    with_each(async |db| {
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        });
        let result = runner.run(&steps(), |steps| {
            let run = async {
                drain(db).await;
                let mut model = Model::new(db).await;
                for step in steps {
                    model.apply(step).await;
                }
                model.check().await
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(run))
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    });
}

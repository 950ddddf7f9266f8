//! Stamps of parts of the submissions to a contest.

use super::judging::add_round_problem;
use super::*;
use crate::db::submission_part::{self, Part};

/// Submissions to a problem of a new contest, with their contest and their judgements.
pub(crate) async fn contest_with(db: &Db, count: usize) -> (i64, Vec<(i64, i64)>) {
    let owner = add_user(db, "owner", Role::User).await;
    let sum = add_problem(db, owner, Visibility::Private).await;
    let attached = add_round_problem(db, sum).await;
    let contest = participants::contest_of(db, attached).await;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(submit(db, owner, sum, Some(attached)).await);
    }
    (contest, all)
}

/// Waits for a result of the judgement that was queued first.
pub(crate) async fn judge_next(db: &Db, verdict: Verdict) -> i64 {
    let task = judgement::claim(db, "w", NOW, LEASE).await.unwrap();
    let task = task.expect("a judgement that waits");
    let outcome = outcome(verdict, 1);
    let finished = judgement::finish(db, task.id, task.attempt, &outcome, NOW).await;
    assert!(finished.unwrap());
    task.submission_id
}

async fn stamps(db: &Db, contest: i64) -> Vec<i64> {
    let parts = submission_part::all(db, contest).await.unwrap();
    parts.iter().map(|one| one.stamp).collect()
}

#[test]
fn stamp_rises_with_each_change_of_a_submission() {
    with_each(async |db| {
        let (contest, all) = contest_with(db, 2).await;
        let (first, judged) = all[0];
        let one = submission::by_id(db, first).await.unwrap().unwrap();
        let other = add_user(db, "other", Role::User).await;
        let heir = add_user(db, "heir", Role::User).await;
        let mut known = stamps(db, contest).await;
        assert_eq!(known.len(), 1);
        let mut check = async |what: &str| {
            let now = stamps(db, contest).await;
            assert!(now[0] > known[0], "{what}: {known:?}, {now:?}");
            known = now;
        };
        let task = judgement::claim(db, "w", NOW, LEASE).await.unwrap();
        assert_eq!(task.map(|task| task.id), Some(judged));
        check("claim").await;
        let initial = judgement::set_initial(db, judged, 1, Verdict::WrongAnswer).await;
        assert!(initial.unwrap());
        check("initial verdict").await;
        assert_eq!(judgement::release(db, None).await.unwrap(), 1);
        check("release").await;
        assert_eq!(judge_next(db, Verdict::WrongAnswer).await, first);
        check("result").await;
        let filter = rejudging::Filter {
            submission: Some(first),
            ..rejudging::Filter::default()
        };
        sets::insert_set(db, &filter, true).await;
        assert_eq!(judge_next(db, Verdict::Accepted).await, all[1].0);
        check("result of another submission").await;
        assert_eq!(judge_next(db, Verdict::Accepted).await, first);
        check("set").await;

        let mut tx = db.begin().await.unwrap();
        submission::set_kind(&mut tx, first, Kind::Ignored)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        check("kind").await;
        let mut tx = db.begin().await.unwrap();
        participant::delete(&mut tx, one.participant_id.unwrap())
            .await
            .unwrap();
        tx.commit().await.unwrap();
        check("participant").await;
        let [from, into] = [one.user_id, other].map(|id| user::by_id(db, id));
        let (from, into) = (from.await.unwrap().unwrap(), into.await.unwrap().unwrap());
        let mut tx = db.begin().await.unwrap();
        merge::merge(&mut tx, &from, &into).await.unwrap();
        tx.commit().await.unwrap();
        check("merged user").await;
        let second = add_problem(db, other, Visibility::Private).await.0;
        let mut tx = db.begin().await.unwrap();
        problem::merge(&mut tx, one.problem_id, second, other, NOW)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        check("merged problem").await;
        let mut tx = db.begin().await.unwrap();
        submission::delete(&mut tx, first).await.unwrap();
        tx.commit().await.unwrap();
        check("deletion").await;
        let mut tx = db.begin().await.unwrap();
        merge::delete(&mut tx, other, heir).await.unwrap();
        tx.commit().await.unwrap();
        check("deletion of the user").await;
        let mut tx = db.begin().await.unwrap();
        contest::delete(&mut tx, contest).await.unwrap();
        tx.commit().await.unwrap();
        assert!(stamps(db, contest).await.is_empty());
    });
}

#[test]
fn stamp_of_other_parts_and_contests_stays() {
    with_each(async |db| {
        let (contest, all) = contest_with(db, 130).await;
        let parts = submission_part::all(db, contest).await.unwrap();
        let ranges: Vec<(i64, i64)> = parts.iter().map(Part::range).collect();
        for (id, _) in &all {
            let fits = ranges.iter().filter(|(from, to)| (from..=to).contains(&id));
            assert_eq!(fits.count(), 1, "{id} {ranges:?}");
        }
        let known = stamps(db, contest).await;
        assert_eq!(judge_next(db, Verdict::Accepted).await, all[0].0);
        let now = stamps(db, contest).await;
        assert!(now[0] > known[0] && now[1..] == known[1..], "{now:?}");
        // A lease that is renewed changes nothing that is shown.
        let task = judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        let known = stamps(db, contest).await;
        let renewed = judgement::renew(db, task.id, task.attempt, NOW).await;
        assert!(renewed.unwrap());
        assert_eq!(stamps(db, contest).await, known);
    });
}

#[test]
fn parts_of_version_13_keep_their_stamps() {
    with_each_of_version(13, async |db| {
        let (contest, all) = contest_with(db, 2).await;
        let known = stamps(db, contest).await;
        assert_eq!(migrate::migrate(db).await.unwrap(), 13);
        assert_eq!(stamps(db, contest).await, known);
        assert_eq!(judge_next(db, Verdict::Accepted).await, all[0].0);
        assert!(stamps(db, contest).await[0] > known[0]);
        let mut tx = db.begin().await.unwrap();
        contest::delete(&mut tx, contest).await.unwrap();
        tx.commit().await.unwrap();
        assert!(stamps(db, contest).await.is_empty());
    });
}

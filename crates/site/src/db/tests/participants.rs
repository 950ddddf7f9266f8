//! Users and teams as participants.

use super::super::*;
use super::*;

/// The contest of a round's problem. Databases of earlier versions do not have all columns of the
/// records.
pub async fn contest_of(db: impl Executor, round_problem: i64) -> i64 {
    let sql = "SELECT contest_id FROM round JOIN round_problem ON round_id = round.id
         WHERE round_problem.id = $1";
    let rows = db.rows(sql, values![round_problem]).await.unwrap();
    rows[0].get("contest_id").unwrap()
}

/// The participant on whose behalf a user submits to a problem of a contest.
pub async fn of_problem(tx: &mut Tx, round_problem: i64, user: i64) -> i64 {
    let contest = contest_of(&mut *tx, round_problem).await;
    // Databases of earlier versions do not have all columns of a participant.
    let sql = "SELECT id FROM participant WHERE contest_id = $1 AND (user_id = $2 OR id IN
            (SELECT participant_id FROM team_member WHERE contest_id = $1 AND user_id = $2))
         ORDER BY user_id NULLS FIRST LIMIT 1";
    let known = (&mut *tx).rows(sql, values![contest, user]).await.unwrap();
    if let Some(row) = known.first() {
        return row.get("id").unwrap();
    }
    let sql =
        "INSERT INTO participant (contest_id, user_id, name, organization, group_name, hidden,
            unofficial, delay_seconds, extra_seconds, penalty_minutes)
         VALUES ($1, $2, '', '', '', 0, 0, 0, 0, 0) RETURNING id";
    tx.id(sql, values![contest, user]).await.unwrap()
}

#[test]
fn participants_are_users_or_teams_with_clocks() {
    use contest::{MemberRole, RoundFields, RoundRules};
    use participant::Fields;
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let mut tx = db.begin().await.unwrap();
        let id = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW)
            .await
            .unwrap();
        let fields = RoundFields {
            name: "Round".to_owned(),
            begins: Time(0),
            ends: NOW,
            full_results: NOW,
            ranking_from: Time::ALWAYS,
        };
        let round = contest::insert_round(&mut tx, id, &fields).await.unwrap();
        let rules = RoundRules {
            mode: contest::Mode::Icpc,
            penalty_minutes: 15,
            freeze_at: Time(5),
            thaw_at: Time::NEVER,
            window_seconds: Some(60),
        };
        contest::update_rules(&mut tx, round, &rules).await.unwrap();
        contest::set_thaw(&mut tx, round, Time(7)).await.unwrap();
        contest::join(&mut tx, id, ada, MemberRole::Contestant, NOW)
            .await
            .unwrap();
        let single = participant::ensure(&mut tx, id, ada, false).await.unwrap();
        let again = participant::ensure(&mut tx, id, ada, true).await.unwrap();
        assert_eq!((single.id, single.unofficial), (again.id, again.unofficial));
        let mut fields = Fields {
            name: "Team".to_owned(),
            ..Fields::default()
        };
        let team = participant::insert(&mut tx, id, None, &fields)
            .await
            .unwrap();
        let other = participant::insert(&mut tx, id, None, &fields)
            .await
            .unwrap();
        fields.hidden = true;
        fields.extra_seconds = 90;
        participant::update(&mut tx, team, &fields).await.unwrap();
        participant::add_member(&mut tx, id, other, ada)
            .await
            .unwrap();
        participant::add_member(&mut tx, id, team, ada)
            .await
            .unwrap();
        participant::start(&mut tx, team, round, Time(3))
            .await
            .unwrap();
        participant::start(&mut tx, team, round, Time(4))
            .await
            .unwrap();
        tx.commit().await.unwrap();

        let found = contest::round(db, round).await.unwrap().unwrap();
        assert_eq!(found.freeze().thaw, Time(7));
        assert_eq!(found.schedule().window, Some(Duration::from_secs(60)));
        assert!(participant::of_user(db, id, bob).await.unwrap().is_none());
        let found = participant::of_user(db, id, ada).await.unwrap().unwrap();
        assert_eq!(found.id, team, "the team comes before the single user");
        assert!(found.hidden && found.user_id.is_none());
        let starts = participant::starts_of(db, team).await.unwrap();
        assert_eq!((starts.len(), starts[0].started_at), (1, Time(3)));
        assert_eq!(participant::starts(db, id).await.unwrap().len(), 1);
        assert!(participant::is_member(db, team, ada).await.unwrap());
        assert!(!participant::is_member(db, other, ada).await.unwrap());
        let members = participant::members(db, id).await.unwrap();
        assert_eq!((members.len(), members[0].participant_id), (1, team));
        let all = participant::all(db, id).await.unwrap();
        assert_eq!((all.len(), all[0].team_id), (3, Some(team)));
        assert_eq!(
            (all[0].shown_name(), all[1].shown_name()),
            ("A name", "Team")
        );
        assert_eq!(all[0].role, Some(MemberRole::Contestant));
        assert!(!participant::has_submissions(db, team).await.unwrap());

        let mut tx = db.begin().await.unwrap();
        participant::remove_member(&mut tx, team, ada)
            .await
            .unwrap();
        participant::delete(&mut tx, other).await.unwrap();
        tx.commit().await.unwrap();
        let found = participant::of_user(db, id, ada).await.unwrap().unwrap();
        assert_eq!(found.id, single.id);
        assert!(participant::by_id(db, other).await.unwrap().is_none());
    });
}

#[test]
fn submissions_of_a_team_are_listed_for_its_members() {
    use contest::{MemberRole, RoundFields, RoundProblemFields};
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Private).await;
        let mut tx = db.begin().await.unwrap();
        let id = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW)
            .await
            .unwrap();
        let fields = RoundFields {
            name: "Round".to_owned(),
            begins: Time(0),
            ends: NOW,
            full_results: NOW,
            ranking_from: Time::ALWAYS,
        };
        let round = contest::insert_round(&mut tx, id, &fields).await.unwrap();
        let fields = RoundProblemFields {
            version_id: sum.1,
            label: "A".to_owned(),
            name: "Sum".to_owned(),
            final_method: FinalMethod::Best,
            reveal: Reveal::Nothing,
        };
        let problem = contest::insert_round_problem(&mut tx, round, sum.0, &fields)
            .await
            .unwrap();
        contest::set_colour(&mut tx, problem, "#123456")
            .await
            .unwrap();
        let fields = participant::Fields::default();
        let team = participant::insert(&mut tx, id, None, &fields)
            .await
            .unwrap();
        for user in [ada, bob] {
            contest::join(&mut tx, id, user, MemberRole::Contestant, NOW)
                .await
                .unwrap();
            participant::add_member(&mut tx, id, team, user)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        let (submission, _) = submit(db, ada, sum, Some(problem)).await;
        let found = submission::by_id(db, submission).await.unwrap().unwrap();
        assert_eq!(found.participant_id, Some(team));
        assert!(participant::has_submissions(db, team).await.unwrap());
        for contest in [None, Some(id)] {
            let filter = submission::Filter {
                user: Some(bob),
                contest,
                ..submission::Filter::default()
            };
            let list = submission::page(db, filter, 10).await.unwrap();
            assert_eq!(list.len(), 1, "{filter:?}");
        }
        let found = contest::round_problem(db, problem).await.unwrap().unwrap();
        assert_eq!(found.colour, "#123456");
    });
}

#[tokio::test]
async fn submissions_of_older_versions_receive_participants() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::sqlite(&directory.path().join("site.db")).await.unwrap();
    migrate::migrate_to(&db, 5).await.unwrap();
    let ada = add_user(&db, "ada", Role::User).await;
    let bob = add_user(&db, "bob", Role::User).await;
    let sum = add_problem(&db, ada, Visibility::Private).await;
    let mut tx = db.begin().await.unwrap();
    let id = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW)
        .await
        .unwrap();
    contest::join(&mut tx, id, bob, contest::MemberRole::Contestant, NOW)
        .await
        .unwrap();
    for sql in [
        "INSERT INTO round (contest_id, name, position, begins, ends, full_results, ranking_from)
         VALUES (1, 'Round', 0, 0, 1, 1, 0)",
        "INSERT INTO round_problem (round_id, problem_id, version_id, label, name, position,
            final_method, reveal)
         VALUES (1, 1, 1, 'A', 'Sum', 0, 'best', 'nothing')",
        "INSERT INTO submission (user_id, problem_id, round_problem_id, language, kind,
            submitted_at)
         VALUES (1, 1, 1, 'c', 'normal', 0), (1, 1, NULL, 'c', 'normal', 0)",
    ] {
        tx.execute(sql, values![]).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!((ada, sum, id), (1, (1, 1), 1));
    migrate::migrate(&db).await.unwrap();
    assert_eq!(submission_part::all(&db, id).await.unwrap().len(), 1);
    let all = participant::all(&db, id).await.unwrap();
    let users: Vec<Option<i64>> = all.iter().map(|one| one.user_id).collect();
    assert_eq!(users, [Some(ada), Some(bob)]);
    let sql = "SELECT participant_id FROM submission ORDER BY id";
    let rows = (&db).rows(sql, values![]).await.unwrap();
    let participants: Vec<Option<i64>> = rows
        .iter()
        .map(|row| row.get("participant_id").unwrap())
        .collect();
    assert_eq!(participants, [Some(all[0].id), None]);
}

#[test]
fn merged_users_take_part_as_one() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Private).await;
        let mut tx = db.begin().await.unwrap();
        let mut contests = Vec::new();
        for name in ["Both", "One"] {
            let id = contest::insert(&mut tx, name, contest::Visibility::Private, NOW)
                .await
                .unwrap();
            let fields = contest::RoundFields {
                name: "Round".to_owned(),
                begins: Time(0),
                ends: NOW,
                full_results: NOW,
                ranking_from: Time::ALWAYS,
            };
            let round = contest::insert_round(&mut tx, id, &fields).await.unwrap();
            let fields = contest::RoundProblemFields {
                version_id: sum.1,
                label: "A".to_owned(),
                name: "Sum".to_owned(),
                final_method: FinalMethod::Best,
                reveal: Reveal::Nothing,
            };
            let problem = contest::insert_round_problem(&mut tx, round, sum.0, &fields)
                .await
                .unwrap();
            contests.push((id, problem));
        }
        let fields = participant::Fields::default();
        let team = participant::insert(&mut tx, contests[1].0, None, &fields)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        submit(db, ada, sum, Some(contests[0].1)).await;
        for (_, problem) in &contests {
            submit(db, bob, sum, Some(*problem)).await;
        }
        let mut tx = db.begin().await.unwrap();
        participant::add_member(&mut tx, contests[1].0, team, bob)
            .await
            .unwrap();
        let from = user::by_id(&mut tx, bob).await.unwrap().unwrap();
        let into = user::by_id(&mut tx, ada).await.unwrap().unwrap();
        merge::merge(&mut tx, &from, &into).await.unwrap();
        tx.commit().await.unwrap();
        for (id, _) in contests {
            let all = participant::all(db, id).await.unwrap();
            let single: Vec<i64> = all
                .iter()
                .filter(|one| one.user_id == Some(ada))
                .map(|one| one.id)
                .collect();
            assert_eq!(single.len(), 1, "{all:?}");
            let list = submission::briefs(db, id, (0, i64::MAX)).await.unwrap();
            assert!(!list.is_empty() && list.iter().all(|one| one.participant_id == single[0]));
        }
        assert!(participant::is_member(db, team, ada).await.unwrap());
    });
}

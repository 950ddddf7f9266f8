//! The changes in a contest since a program's last request.

use super::caller::Caller;
use super::model::{
    Balloon, BalloonPart, Changes, Clarification, ClarificationPart, Print, PrintPart, Submission,
    SubmissionPart,
};
use super::problem::{Answer, ApiError, ProblemDetails};
use crate::app::App;
use crate::core::changes::{
    Digest, Known, Memory, Part, Place, State as Has, digest, digest_of, part,
};
use crate::core::time::Time;
use crate::core::visibility::{Relation, visible};
use crate::db::api_token::Scope;
use crate::db::contest;
use crate::db::submission;
use crate::db::{self, Db, print, submission_part};
use crate::http::contests::balloons;
use crate::http::contests::clarifications::{self, Choice};
use crate::http::contests::ranking;
use crate::http::contests::view::ContestView;
use crate::http::judging::submissions;
use crate::http::web::error::PageError;
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The approximate maximum number of objects in an answer. An answer ends with the part that
/// exceeds it.
const MAX_ITEMS: usize = 500;

/// The query of [`changes`].
#[derive(Deserialize)]
pub struct Since {
    since: Option<String>,
}

/// Return the changes in a contest since the caller's last request
///
/// Without `since`, the answer contains everything that the caller may see: submissions with their
/// results, clarifications and announcements, balloons, texts to print, and the tag of the ranking.
/// Each answer contains a token for `since` in the next request. Tokens stay valid, even after a
/// restart of the site.
///
/// An answer consists of *parts*. A part replaces all objects with the numbers `from` to `to`:
/// remove those that you have, and store the `items`. In this way, objects that were deleted or
/// hidden disappear. The numbers of a part of balloons are those of participants. A balloon waits
/// until it has `delivered_at`, and a text until it has `done_at`. Send the next request at once if
/// `more` is true, and otherwise after a few seconds. If `ranking` is present, load the ranking
/// again.
#[utoipa::path(get, path = "/contests/{id}/changes", operation_id = "getChanges",
    params(
        ("id" = i64, Path, description = "The number of the contest"),
        ("since" = Option<String>, Query, description = "The token of the previous answer"),
    ),
    responses(
        (status = 200, description = "The changes, at most about 500 objects", body = Changes),
        (status = 400, description = "The token is malformed; start without it",
            body = ProblemDetails),
        (status = 404, description = "The caller sees no such contest", body = ProblemDetails),
    ))]
pub async fn changes(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    Query(query): Query<Since>,
) -> Answer<Json<Changes>> {
    let contest_view = ContestView::of(&app, &caller.session, id).await?;
    let mut known = match &query.since {
        None => Has::default(),
        Some(token) => Has::of_token(token).ok_or_else(|| {
            ApiError::Malformed("The token is malformed; ask without `since`.".to_owned())
        })?,
    };
    let mut room = MAX_ITEMS;
    let submissions = if contest_view.access.manage {
        let found = of_staff(&app.db, &app.changes, id, &mut known.submissions, &mut room);
        found.await?
    } else {
        own_submissions(
            &app,
            &caller,
            &contest_view,
            &mut known.submissions,
            &mut room,
        )
        .await?
    };
    let items = visible_clarifications(&app, &caller, &contest_view).await?;
    let clarifications = known.clarifications.changed(items, &mut room);
    let balloons = if contest_view.access.manage {
        let mut rows = balloons::listed(&app, caller.session.party(), &contest_view).await?;
        rows.sort_by_key(|one| (one.participant, one.round_problem));
        rows
    } else {
        Vec::new()
    };
    let items = balloons.into_iter();
    let items = items.map(|one| (one.participant, Balloon::from(one)));
    let balloons = known.balloons.changed(items.collect(), &mut room);
    let items = visible_prints(&app, &caller, &contest_view).await?;
    let prints = known.prints.changed(items, &mut room);
    let ranking = match ranking::tag(&app, &caller.session, id).await {
        Ok(tag) => known.ranking(tag),
        Err(PageError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(Changes {
        token: known.token(),
        more: room == 0,
        submissions: submissions.into_iter().map(SubmissionPart::from).collect(),
        clarifications: clarifications
            .into_iter()
            .map(ClarificationPart::from)
            .collect(),
        balloons: balloons.into_iter().map(BalloonPart::from).collect(),
        prints: prints.into_iter().map(PrintPart::from).collect(),
        ranking,
    }))
}

/// Returns the parts of a contest's submissions that differ from those which an API client of the
/// staff already has. Reads only the parts that have changed since they were last read.
async fn of_staff(
    db: &Db,
    memory: &Memory,
    contest: i64,
    known: &mut Known,
    room: &mut usize,
) -> db::Result<Vec<Part<Submission>>> {
    let mut tx = db.snapshot().await?;
    let parts = submission_part::all(&mut tx, contest).await?;
    let parts = known.stamped(&parts);
    let place = Place {
        contest,
        shift: known.shift(),
        viewer: None,
    };
    let everything = visible(Relation::Staff, None, Time::now());
    let mut changed = Vec::new();
    for (key, stamp) in parts {
        let remembered = match stamp {
            // No submission exists there.
            None => Some(None),
            Some(stamp) => memory.recall(&place, key, stamp),
        };
        if remembered.is_some_and(|now| known.has(key, now)) {
            continue;
        }
        let items: Vec<Submission> = match stamp {
            None => Vec::new(),
            Some(stamp) => {
                let rows = submission::between(&mut tx, contest, known.range(key)).await?;
                #[cfg(test)]
                memory
                    .readings
                    .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let items = rows.iter().map(|one| Submission::of(one, everything));
                let items: Vec<Submission> = items.collect();
                memory.remember(&place, key, stamp, digest_of(&items));
                items
            }
        };
        let now = digest_of(&items);
        if known.has(key, now) {
            continue;
        }
        if *room == 0 {
            break;
        }
        changed.push(known.part(key, items, now, room));
    }
    Ok(changed)
}

/// The digest of everything that determines which parts of their own submissions contestants see:
/// the rules of the problems and the contestant's own times.
async fn view(app: &App, contest_view: &ContestView, user: i64) -> db::Result<Digest> {
    let now = Time::now();
    let problems = contest::problems(&app.db, contest_view.contest.id).await?;
    let problems = problems.iter().map(|problem| {
        let results = contest_view
            .times(problem.round_id, problem.schedule())
            .full_results;
        (problem.id, problem.revealed(), results <= now)
    });
    let problems: Vec<_> = problems.collect();
    let participant = contest_view.participant.as_ref().map(|one| one.id);
    Ok(digest(
        format!("{user} {participant:?} {problems:?}").as_bytes(),
    ))
}

/// Returns the parts of the submissions of the caller and of the caller's team that differ from
/// those which the caller already has. Reads only from the first part on that may have changed.
async fn own_submissions(
    app: &App,
    caller: &Caller,
    contest_view: &ContestView,
    known: &mut Known,
    room: &mut usize,
) -> Answer<Vec<Part<Submission>>> {
    // Guests see no submissions.
    let Ok(user) = caller.user(Scope::Read) else {
        return Ok(Vec::new());
    };
    let (memory, contest) = (&app.own_changes, contest_view.contest.id);
    let view = view(app, contest_view, user.id).await?;
    let parts = known.stamped(&submission_part::all(&app.db, contest).await?);
    let place = Place {
        contest,
        shift: known.shift(),
        viewer: Some((user.id, view)),
    };
    let mut parts: Vec<(u32, Option<i64>)> = parts.into_iter().collect();
    parts.retain(|(key, stamp)| {
        let now = stamp.map(|stamp| memory.recall(&place, *key, stamp));
        // Without a stamp, no submission exists there.
        !now.unwrap_or(Some(None))
            .is_some_and(|now| known.has(*key, now))
    });
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Ok(Vec::new());
    };
    let range = (known.range(first.0).0, known.range(last.0).1);
    let rows = submission::own_between(&app.db, contest, user.id, range).await?;
    #[cfg(test)]
    memory
        .readings
        .fetch_add(rows.len() as u64, std::sync::atomic::Ordering::Relaxed);
    let mut items: BTreeMap<u32, Vec<Submission>> = BTreeMap::new();
    for (one, visible) in submissions::looked_at(app, &caller.session, rows).await? {
        let key = part(one.id, known.shift());
        items
            .entry(key)
            .or_default()
            .push(Submission::of(&one, visible));
    }
    let mut changed = Vec::new();
    for (key, stamp) in parts {
        let items = items.remove(&key).unwrap_or_default();
        let now = digest_of(&items);
        if let Some(stamp) = stamp {
            memory.remember(&place, key, stamp, now);
        }
        if !known.has(key, now) && *room > 0 {
            changed.push(known.part(key, items, now, room));
        }
    }
    Ok(changed)
}

async fn visible_clarifications(
    app: &App,
    caller: &Caller,
    contest_view: &ContestView,
) -> Answer<Vec<(i64, Clarification)>> {
    let (mut choice, mut items) = (Choice::default(), Vec::new());
    loop {
        let (rows, next) =
            clarifications::listed(app, &caller.session, contest_view, &choice).await?;
        let staff = contest_view.access.manage;
        items.extend(
            rows.iter()
                .map(|(one, seen)| (one.id, Clarification::of(one, *seen, staff))),
        );
        if next.is_none() {
            items.reverse();
            return Ok(items);
        }
        choice.before = next;
    }
}

/// All texts to print for the staff; otherwise those of the caller and of the caller's team.
async fn visible_prints(
    app: &App,
    caller: &Caller,
    contest_view: &ContestView,
) -> Answer<Vec<(i64, Print)>> {
    // Guests print nothing.
    let Ok(user) = caller.user(Scope::Read) else {
        return Ok(Vec::new());
    };
    let sender = (!contest_view.access.manage).then_some(user.id);
    let rows = print::all(&app.db, contest_view.contest.id, sender).await?;
    let items = rows.into_iter().map(|one| (one.id, Print::from(one)));
    Ok(items.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::Blobs;
    use crate::core::password::Passwords;
    use crate::core::verdict::Verdict;
    use crate::db::tests::parts::{contest_with, judge_next};
    use crate::db::tests::with_each;
    use crate::db::user::{self, User};
    use crate::text::Locales;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// A program of the staff.
    #[derive(Default)]
    struct Program {
        known: Known,
        items: BTreeMap<i64, String>,
    }

    impl Program {
        /// Asks until there is no more. Returns the number of parts.
        async fn ask(&mut self, db: &Db, memory: &Memory, contest: i64) -> usize {
            let mut count = 0;
            loop {
                let mut room = 200;
                let found = of_staff(db, memory, contest, &mut self.known, &mut room).await;
                for part in found.unwrap() {
                    let (from, to) = (part.from, part.to);
                    self.items.retain(|id, _| !(from..=to).contains(id));
                    let items = part.items.iter();
                    let items = items.map(|one| (one.id, serde_json::to_string(one).unwrap()));
                    self.items.extend(items);
                    count += 1;
                }
                if room > 0 {
                    return count;
                }
            }
        }
    }

    #[test]
    fn programs_share_what_was_read_and_read_only_what_has_changed() {
        with_each(async |db| {
            let (contest, all) = contest_with(db, 300).await;
            let everything = visible(Relation::Staff, None, Time::now());
            let expected = async || {
                let rows = submission::between(db, contest, (0, i64::MAX)).await;
                let rows = rows.unwrap();
                let items = rows.iter().map(|one| Submission::of(one, everything));
                let items = items.map(|one| (one.id, serde_json::to_string(&one).unwrap()));
                items.collect::<BTreeMap<_, _>>()
            };
            let memory = Memory::new(64);
            let readings = || memory.readings.swap(0, Ordering::Relaxed);
            let [mut one, mut other] = [Program::default(), Program::default()];
            let parts = one.ask(db, &memory, contest).await;
            assert!(parts >= 3 && one.items == expected().await);
            assert_eq!(one.ask(db, &memory, contest).await, 0);
            other.ask(db, &memory, contest).await;
            readings();
            for program in [&mut one, &mut other] {
                assert_eq!(program.ask(db, &memory, contest).await, 0);
            }
            assert_eq!(readings(), 0, "nothing has changed");

            judge_next(db, Verdict::Accepted).await;
            for program in [&mut one, &mut other] {
                assert_eq!(program.ask(db, &memory, contest).await, 1);
                assert_eq!(program.items, expected().await);
            }
            assert_eq!(readings(), 2, "one part for each program");

            // A change that the program cannot see.
            let task = crate::db::judgement::claim(db, "w", Time::now(), Duration::ZERO);
            assert!(task.await.unwrap().is_some());
            assert_eq!(one.ask(db, &memory, contest).await, 0);
            assert_eq!(other.ask(db, &memory, contest).await, 0);
            assert_eq!(readings(), 1, "the digest is remembered");

            let mut tx = db.begin().await.unwrap();
            for (id, _) in &all {
                submission::delete(&mut tx, *id).await.unwrap();
            }
            tx.commit().await.unwrap();
            assert_eq!(one.ask(db, &memory, contest).await, parts);
            assert!(one.items.is_empty());
            assert_eq!(one.ask(db, &memory, contest).await, 0);
            assert_eq!(readings(), u64::try_from(parts).unwrap());
        });
    }

    #[test]
    fn contestant_causes_reading_only_of_what_has_changed() {
        with_each(async |db| {
            let (contest, _) = contest_with(db, 300).await;
            let directory = tempfile::tempdir().unwrap();
            let app = App::new(
                db.clone(),
                Blobs::open(&directory.path().join("blobs")).unwrap(),
                Vec::new(),
                Locales::built_in(),
                Passwords::new(1).unwrap(),
                None,
                false,
            );
            let user = user::by_login(db, "owner").await.unwrap().unwrap();
            // An administrator sees any contest.
            let role = user::Role::Admin;
            let caller = Caller::of_user(User { role, ..user });
            let contest_view = ContestView::of(&app, &caller.session, contest)
                .await
                .unwrap();
            let ask = async |known: &mut Known| {
                let mut count = 0;
                loop {
                    let mut room = 200;
                    let found =
                        own_submissions(&app, &caller, &contest_view, known, &mut room).await;
                    count += found.unwrap().len();
                    if room > 0 {
                        let rows = app.own_changes.readings.swap(0, Ordering::Relaxed);
                        return (count, rows);
                    }
                }
            };
            let [mut one, mut other] = [Known::default(), Known::default()];
            assert!(ask(&mut one).await.1 >= 300);
            assert_eq!(ask(&mut one).await, (0, 0), "nothing has changed");
            judge_next(db, Verdict::Accepted).await;
            let (parts, rows) = ask(&mut one).await;
            assert!(parts <= 1 && (1..=128).contains(&rows), "{parts} {rows}");
            assert!(ask(&mut other).await.0 >= 3);
            assert_eq!(other, one);
        });
    }
}

//! The first page of a contest: its rounds, their problems, and the round that begins next.
//!
//! The page opens by itself when a round begins. Its stream waits for the next time at which the
//! rounds change for the viewer, and for changes of the contest by the staff.

use super::clocks;
use super::notices::notices;
use super::ranking::virtual_run;
use super::view::{ContestView, Viewed};
use crate::app::App;
use crate::core::participant::{OwnTimes, next_opening};
use crate::core::spread::spread;
use crate::core::time::Time;
use crate::core::virtual_run::length;
use crate::core::visibility::{Mark, Relation, Rules, mark, visible};
use crate::db::contest::{self, Round, RoundProblem};
use crate::db::submission;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::Page;
use crate::http::web::layout::live_page;
use crate::http::web::live::Seat;
use crate::http::web::parts::{empty, round_state, time};
use crate::http::web::session::Session;
use crate::judging::live::Signal;
use crate::text::t;
use axum::extract::Path;
use axum::response::IntoResponse;
use axum::response::sse::Event;
use futures_util::{Stream, stream};
use maud::{Markup, Render, html};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// The streams of a contest report the start of a round within this time, each at a different
/// moment, so that the browsers of all contestants do not load the page at once.
const SPREAD: Duration = Duration::from_secs(1);

/// The rounds of a contest with the viewer's times, and their problems.
struct Overview {
    rounds: Vec<(OwnTimes, Round)>,
    problems: Vec<RoundProblem>,
    /// How the participant stands, by problem.
    marks: HashMap<i64, Mark>,
    /// The rounds in which the viewer may take part virtually.
    past: HashSet<i64>,
}

impl Overview {
    async fn of(app: &App, view: &ContestView) -> Page<Overview> {
        let id = view.contest.id;
        let rounds = contest::rounds(&app.db, id).await?.into_iter();
        let rounds = rounds.map(|round| (view.times(round.id, round.schedule()), round));
        let rounds: Vec<(OwnTimes, Round)> = rounds.collect();
        let problems = contest::problems(&app.db, id).await?;
        Ok(Overview {
            rounds,
            past: HashSet::new(),
            marks: Overview::marks(app, view, &problems).await?,
            problems,
        })
    }

    /// Adds the rounds in which the viewer may take part virtually. Streams need none.
    async fn with_past(mut self, app: &App, view: &ContestView) -> Page<Overview> {
        let rounds = self.rounds.iter().map(|(_, round)| round);
        let over = rounds.filter(|round| {
            length(round.schedule()).is_some() && view.may_practise(round.schedule())
        });
        let over: Vec<&Round> = over.collect();
        if over.is_empty() {
            return Ok(self);
        }
        let additional = view.most_additional(app).await?;
        let past = over
            .iter()
            .filter(|round| view.practises(round.schedule(), round.freeze(), additional));
        self.past = past.map(|round| round.id).collect();
        Ok(self)
    }

    async fn marks(
        app: &App,
        view: &ContestView,
        problems: &[RoundProblem],
    ) -> Page<HashMap<i64, Mark>> {
        let Some(participant) = &view.participant else {
            return Ok(HashMap::new());
        };
        let now = Time::now();
        let mut marks = HashMap::new();
        for one in submission::standing(&app.db, participant.id).await? {
            let id = one.round_problem_id;
            let Some(problem) = problems.iter().find(|problem| problem.id == id) else {
                continue;
            };
            let times = view.times(problem.round_id, problem.schedule());
            let rules = Rules {
                reveal: problem.revealed(),
                full_results: times.full_results,
            };
            let seen = visible(Relation::Author, Some(rules), now);
            if let Some(found) = mark(true, one.accepted != 0, seen) {
                marks.insert(id, found);
            }
        }
        Ok(marks)
    }

    /// The next time at which the page changes by itself.
    fn next_change(&self, now: Time) -> Time {
        let times = self.rounds.iter().map(|(times, _)| times.next_change(now));
        times.min().unwrap_or(Time::NEVER)
    }

    /// A digest of everything that the viewer sees, without the countdowns.
    fn digest(&self, view: &ContestView, now: Time) -> [u8; 32] {
        let sees = |time: Time| view.access.sees_round(time, now);
        let rounds: Vec<_> = self
            .rounds
            .iter()
            .filter(|(times, _)| sees(times.opens) || self.is_next(view, times, now))
            .map(|(times, round)| (times, &round.name, round.freeze(), round.window_seconds))
            .collect();
        let is_shown = |problem: &&RoundProblem| {
            let round = self
                .rounds
                .iter()
                .find(|(_, round)| round.id == problem.round_id);
            round.is_some_and(|(times, _)| sees(times.begins))
        };
        let problems: Vec<_> = self
            .problems
            .iter()
            .filter(is_shown)
            .map(|one| (one.id, &one.label, &one.name, self.marks.get(&one.id)))
            .collect();
        Sha256::digest(format!("{:?} {rounds:?} {problems:?}", view.access)).into()
    }

    /// Whether a round is among those that begin next. The staff sees all rounds.
    fn is_next(&self, view: &ContestView, times: &OwnTimes, now: Time) -> bool {
        let opens = self.rounds.iter().map(|(times, _)| times.opens);
        !view.access.manage && next_opening(opens, now) == Some(times.opens)
    }

    /// The part of the page that changes.
    fn render(&self, view: &ContestView, now: Time) -> Markup {
        let id = view.contest.id;
        let is_open = |(times, _): &&(OwnTimes, Round)| view.access.sees_round(times.opens, now);
        let open: Vec<_> = self.rounds.iter().filter(is_open).collect();
        let is_next = |(times, _): &&(OwnTimes, Round)| self.is_next(view, times, now);
        let next: Vec<_> = self.rounds.iter().filter(is_next).collect();
        html! {
            div data-live {
                @for (times, round) in &open { (self.section(view, times, round, now)) }
                @for (times, round) in &next {
                    section.round {
                        header {
                            h2 { (round.name) }
                            (round_state(times.opens, Time::NEVER, now))
                        }
                        dl.facts { dt { (t::RoundBegins) } dd { (time(times.opens)) } }
                        p.hint { (t::RoundOpensItself) }
                    }
                }
                @if open.is_empty() && next.is_empty() {
                    @let address = format!("/contests/{id}/edit");
                    @let next: Option<(&str, &dyn Render)> =
                        view.access.manage.then_some((&address, &t::ContestAddRound));
                    (empty(t::ContestNoRound, next))
                }
            }
        }
    }

    fn section(&self, view: &ContestView, times: &OwnTimes, round: &Round, now: Time) -> Markup {
        html! {
            section.round {
                header {
                    h2 { (round.name) }
                    (clocks::state(view, times, now))
                }
                (clocks::facts(round, times))
                @if view.access.sees_round(times.begins, now) {
                    ul.problems {
                        @for one in self.problems.iter().filter(|one| one.round_id == round.id) {
                            li {
                                a href={ "/round-problems/" (one.id) } {
                                    b { (one.label) } " " (one.name)
                                }
                                @match self.marks.get(&one.id) {
                                    Some(Mark::Solved) => {
                                        " " span.chip.good { "✓ " (t::ProblemSolved) }
                                    }
                                    Some(Mark::Tried) => { " " span.chip { (t::ProblemTried) } }
                                    None => {}
                                }
                            }
                        }
                    }
                }
                @if view.access.take_part && !view.access.manage {
                    (clocks::start_form(view, round, times, now))
                }
                @if self.past.contains(&round.id) {
                    p { a href=(virtual_run::path(round.id)) { (t::VirtualTitle) } }
                }
                @if view.access.manage {
                    p { a.button.second href={ "/rounds/" (round.id) } { (t::ContestChangeRound) } }
                }
            }
        }
    }
}

/// `GET /contests/{id}`.
pub async fn show(Viewed(Ctx { app, session }, view): Viewed) -> Page {
    let overview = Overview::of(&app, &view).await?;
    let overview = overview.with_past(&app, &view).await?;
    let main = html! {
        (view.top(&session, None))
        (overview.render(&view, Time::now()))
    };
    let source = format!("/contests/{}/overview/live", view.contest.id);
    Ok(live_page(&session, &view.contest.name, &source, main).into_response())
}

/// What a viewer sees of the contest, as of some time.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    digest: [u8; 32],
    /// When the page changes by itself.
    next_change: Time,
}

/// A stream of the page.
struct Follower {
    app: Arc<App>,
    session: Session,
    contest: i64,
    changes: Receiver<Signal<i64>>,
    /// The part of the spread that passes before an event.
    pause: Duration,
}

impl Follower {
    async fn look(&self) -> Page<Look> {
        let now = Time::now();
        let view = ContestView::of(&self.app, &self.session, self.contest).await?;
        let overview = Overview::of(&self.app, &view).await?;
        Ok(Look {
            digest: overview.digest(&view, now),
            next_change: overview.next_change(now),
        })
    }
}

/// Waits for the time, or for a change of the contest. Changes within the pause that follows count
/// as one. Returns whether the time has come, or `None` if the site ends.
async fn wait(
    changes: &mut Receiver<Signal<i64>>,
    contest: i64,
    until: Time,
    pause: Duration,
) -> Option<bool> {
    loop {
        let left = until.0.saturating_sub(Time::now().0).max(0).unsigned_abs();
        let is_due = tokio::select! {
            () = tokio::time::sleep(Duration::from_micros(left)) => true,
            change = changes.recv() => match change {
                Ok(change) if !change.concerns(|changed| *changed == contest) => continue,
                Ok(_) | Err(RecvError::Lagged(_)) => false,
                Err(RecvError::Closed) => return None,
            },
        };
        tokio::time::sleep(pause).await;
        // The look that follows sees all these changes. If each caused a look of its own, a stream
        // would fall behind when many participants start their clocks.
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = changes.try_recv() {}
        return Some(is_due);
    }
}

/// An event whenever the viewer sees a different page.
fn openings(
    follower: Follower,
    known: Look,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((follower, known), async |(mut follower, mut known)| {
        loop {
            let Follower { contest, pause, .. } = follower;
            let changes = &mut follower.changes;
            let is_due = wait(changes, contest, known.next_change, pause).await?;
            // A database that is busy must not end the stream.
            let Ok(look) = follower.look().await else {
                continue;
            };
            let is_changed = look.digest != known.digest;
            known = look;
            if is_due || is_changed {
                let event = Event::default().event("change").data("changed");
                return Some((Ok(event), (follower, known)));
            }
        }
    })
}

/// `GET /contests/{id}/overview/live`: for the page, and for the notice.
pub async fn live(Ctx { app, session }: Ctx, client: Client, Path(id): Path<i64>) -> Page {
    let view = ContestView::of(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let notices = notices(&app, view);
    let follower = Follower {
        // The receiver exists before the first look, so no change is missed.
        changes: app.live.subscribe_contests(),
        pause: spread(app.live.next_stream(), SPREAD),
        app,
        session,
        contest: id,
    };
    let known = follower.look().await?;
    Ok(seat.respond(stream::select(openings(follower, known), notices)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::broadcast;

    const PAUSE: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn changes_within_the_pause_cause_one_look_and_later_changes_another() {
        let (sender, mut changes) = broadcast::channel(4);
        let mut look = async |until| wait(&mut changes, 1, until, PAUSE).await;
        for contest in [1, 2, 1, 1, 1, 1, 1] {
            sender.send(Signal::Of(contest)).unwrap();
        }
        assert_eq!(look(Time::NEVER).await, Some(false));
        // Without further changes, only the time is a reason to look again.
        assert_eq!(look(Time::now().after(PAUSE)).await, Some(true));
        sender.send(Signal::Of(2)).unwrap();
        sender.send(Signal::Missed).unwrap();
        assert_eq!(look(Time::NEVER).await, Some(false));
        drop(sender);
        assert_eq!(look(Time::NEVER).await, None);
    }
}

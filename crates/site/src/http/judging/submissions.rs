//! Submissions and their results.

use super::source;
use super::view::SubmissionView;
use crate::app::App;
use crate::core::protocol::{self, Protocol, Test};
use crate::core::score::Score;
use crate::core::time::Time;
use crate::core::visibility::Visible;
use crate::db::contest::RoundProblem;
use crate::db::judgement::{self, Past};
use crate::db::participant;
use crate::db::submission::{self, Filter, HandedIn, Kind, Submission};
use crate::http::contests::news;
use crate::http::contests::notices::notices;
use crate::http::contests::view::ContestView;
use crate::http::contests::view::Viewed;
use crate::http::problems::Place;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{InternalError, Page, PageError};
use crate::http::web::layout::{crumbs, live_page, page};
use crate::http::web::live::{Seat, changes, differences, digest};
use crate::http::web::parts::{self, PAGE_ROWS, memory, milliseconds, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::upload;
use crate::http::web::vocabulary;
use crate::judging::languages::Language;
use crate::judging::live::Change;
use crate::text::{self, Message, t};
use axum::extract::{Form, Path, Query};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect};
use futures_util::{StreamExt, stream};
use maud::{Markup, html};
use serde::Deserialize;

/// A submission that the viewer may see.
pub async fn find(
    app: &App,
    session: &Session,
    id: i64,
) -> Page<(Submission, Option<RoundProblem>, Visible)> {
    let one = submission::by_id(&app.db, id)
        .await?
        .ok_or(PageError::NotFound)?;
    let mut view = SubmissionView::new(app, session);
    let (round_problem, visible) = view.of(&one).await?;
    if visible.page {
        if let Some(problem) = &round_problem {
            text::set_contest_zone(view.zone(problem).await?.as_deref());
        }
        Ok((one, round_problem, visible))
    } else {
        Err(PageError::NotFound)
    }
}

/// Submissions with what the viewer sees of each. Those that the viewer may not see are left out.
pub async fn looked_at(
    app: &App,
    session: &Session,
    list: Vec<Submission>,
) -> Page<Vec<(Submission, Visible)>> {
    let mut view = SubmissionView::new(app, session);
    let mut seen = Vec::new();
    for one in list {
        let (_, visible) = view.of(&one).await?;
        if visible.page {
            seen.push((one, visible));
        }
    }
    Ok(seen)
}

/// `GET /submissions`: the viewer's own, or all for administrators.
pub async fn list(Ctx { app, session }: Ctx, Query(place): Query<Place>) -> Page {
    let user = session.user_id()?;
    let is_admin = session.viewer().is_admin();
    let filter = Filter {
        user: (!is_admin).then_some(user),
        before: place.before,
        ..Filter::default()
    };
    let list = submission::page(&app.db, filter, PAGE_ROWS).await?;
    let list = looked_at(&app, &session, list).await?;
    let banner = news::banner(&app, &session).await?;
    let title: &dyn Message = if is_admin {
        &t::SubmissionsAll
    } else {
        &t::YourSubmissions
    };
    let main = html! {
        h1 { (title) }
        (banner)
        (parts::submissions(&app.languages, &list, Some("/submissions")))
    };
    Ok(page(&session, title, main).into_response())
}

/// The submissions of the viewer and the viewer's team to a contest, or `all`, as the viewer sees
/// them.
async fn listed(
    app: &App,
    session: &Session,
    (contest, all): (i64, bool),
    before: Option<i64>,
) -> Page<Vec<(Submission, Visible)>> {
    let user = session.user_id()?;
    let filter = Filter {
        contest: Some(contest),
        user: (!all).then_some(user),
        before,
        ..Filter::default()
    };
    let list = submission::page(&app.db, filter, PAGE_ROWS).await?;
    looked_at(app, session, list).await
}

/// `GET /contests/{id}/submissions`: the viewer's own, or all for the staff.
pub async fn of_contest(
    Query(place): Query<Place>,
    Viewed(Ctx { app, session }, view): Viewed,
) -> Page {
    let id = view.contest.id;
    let whose = (id, view.access.manage);
    let list = listed(&app, &session, whose, place.before).await?;
    let more = format!("/contests/{id}/submissions");
    let main = html! {
        (view.top(&session, Some(&t::Submissions)))
        h2 { (t::Submissions) }
        (parts::submissions(&app.languages, &list, Some(&more)))
        @if view.access.manage {
            p.actions {
                a href={ "/contests/" (id) "/similar" } { (t::Similar) }
                a href={ "/contests/" (id) "/sources.zip" } { (t::SourcesArchive) }
            }
        }
    };
    let source = format!("/contests/{id}/live");
    Ok(live_page(&session, t::Submissions, &source, main).into_response())
}

/// The part of the protocol of a judgement that the viewer may see. While the judgement runs, it
/// contains only the tests with results.
pub async fn protocol(app: &App, judgement: i64, visible: Visible) -> Page<Protocol> {
    let details = judgement::details(&app.db, judgement).await?;
    let verdict = details.as_ref().and_then(|details| details.verdict);
    // Which test has failed first is known at the end.
    let is_done = details.as_ref().is_some_and(|one| one.protocol.is_some());
    let visible = Visible {
        first: visible.first && is_done,
        ..visible
    };
    let protocol = match details.and_then(|details| details.protocol) {
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| InternalError::Protocol { judgement, error })?,
        None => Protocol {
            tests: app
                .live
                .progress(judgement)
                .map(|running| running.tests)
                .unwrap_or_default(),
            ..Protocol::default()
        },
    };
    Ok(protocol::seen(protocol.of_verdict(verdict), visible))
}

/// The judgement whose protocol the staff sees.
#[derive(Deserialize)]
pub struct Which {
    judgement: Option<i64>,
}

/// The part of the page of a submission that changes.
struct Piece {
    main: Markup,
    /// Whether it will change by itself.
    is_live: bool,
    /// Whether a judgement of the submission waits or runs; staff only.
    is_open: bool,
}

/// The part of the page of a submission that changes, with a judgement that staff may choose.
async fn piece(
    app: &App,
    (one, round_problem, visible): (&Submission, Option<&RoundProblem>, Visible),
    chosen: Option<i64>,
) -> Page<Piece> {
    let id = one.id;
    let history = if visible.faults {
        judgement::history(&app.db, id).await?
    } else {
        Vec::new()
    };
    let shown = chosen
        .filter(|id| history.iter().any(|past| past.id == *id))
        .unwrap_or(one.judgement_id);
    let details = judgement::details(&app.db, shown).await?;
    let has_ended = details.as_ref().is_some_and(|one| one.verdict.is_some());
    let fault = details.and_then(|details| details.fault);
    let running = app.live.progress(shown).filter(|_| !has_ended);
    let protocol = protocol(app, shown, visible).await?;
    let handed_in = submission::handed_in(&app.db, id).await?;
    let is_open =
        visible.faults && (one.awaits_result(visible) || judgement::is_open(&app.db, id).await?);
    let main = html! {
        div data-live {
            (facts(one, round_problem, visible, handed_in.as_ref(), &app.languages))
            @if history.len() > 1 { (past(&history, one, shown)) }
            @if visible.faults && let Some(fault) = fault {
                h2 { (t::SubmissionJudgeFailed) } pre tabindex="0" { "\n" (fault) }
            }
            @if !protocol.messages.is_empty() {
                h2 { (t::SubmissionCompiler) } pre tabindex="0" { "\n" (protocol.messages) }
            }
            @if visible.protocol && let Some(running) = &running {
                @let (done, all) = (running.tests.len(), running.of);
                p { (t::SubmissionProgress { done, all }) }
            }
            @if !protocol.tests.is_empty() {
                h2 { (t::SubmissionTests) } (tests(&protocol, one.max_points))
            }
            @if !visible.protocol && let Some(problem) = round_problem
                && problem.full_results != Time::NEVER {
                p.hint { (t::SubmissionFullResults { time: time(problem.full_results) }) }
            }
        }
    };
    Ok(Piece {
        main,
        is_live: is_open || one.awaits_result(visible),
        is_open,
    })
}

/// The contest of a submission, if the viewer may see it.
async fn contest_of(
    app: &App,
    session: &Session,
    problem: Option<&RoundProblem>,
) -> Page<Option<ContestView>> {
    let Some(problem) = problem else {
        return Ok(None);
    };
    match ContestView::find(app, session, problem.contest_id).await {
        Ok(view) => Ok(Some(view)),
        // A former member still sees earlier submissions.
        Err(PageError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `GET /submissions/{id}`.
pub async fn show(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Query(which): Query<Which>,
) -> Page {
    let (one, round_problem, visible) = find(&app, &session, id).await?;
    let seen = (&one, round_problem.as_ref(), visible);
    let piece = piece(&app, seen, which.judgement).await?;
    let source = submission::source(&app.db, id)
        .await?
        .ok_or(PageError::NotFound)?;
    let previous = submission::previous(&app.db, &one).await?;
    let file_name = source.file_name.clone();
    let number = previous.as_ref().map(|(number, _)| *number);
    let source = source::shown(&app, session.party(), &one, source, previous).await?;
    let title = t::SubmissionTitle { id: id.to_string() };
    let main = html! {
        (crumbs(&[("/submissions", &t::Submissions)], format!("#{id}")))
        h1 { (title) }
        @match contest_of(&app, &session, round_problem.as_ref()).await? {
            Some(view) => (view.notice_box()),
            None => (news::banner(&app, &session).await?),
        }
        (piece.main)
        @if visible.manage { (actions(&one, piece.is_open)) }
        h2 { (t::SubmitSource) }
        p {
            a href={ "/submissions/" (id) "/source" } {
                (t::SubmissionDownload { file: &file_name })
            }
        }
        @if let (Some(number), Some(changes)) = (number, &source.changes) {
            details {
                summary { (t::SubmissionChanges { id: number.to_string() }) }
                (changes)
            }
        }
        (source.view)
    };
    let answer = if piece.is_live {
        live_page(&session, title, &format!("/submissions/{id}/live"), main)
    } else {
        page(&session, title, main)
    };
    Ok(answer.into_response())
}

fn facts(
    one: &Submission,
    round_problem: Option<&RoundProblem>,
    visible: Visible,
    handed_in: Option<&HandedIn>,
    languages: &[Language],
) -> Markup {
    html! {
        dl.facts {
            dt { (t::Problem) }
            dd {
                @match round_problem {
                    Some(problem) => a href={ "/round-problems/" (problem.id) } {
                        (problem.label) " " (problem.name)
                    },
                    None => a href={ "/problems/" (one.problem_id) } { (one.problem_name) },
                }
            }
            dt { (t::User) } dd { (one.user_name) " (" (one.login) ")" }
            dt { (t::Language) } dd translate="no" { (parts::language(languages, &one.language)) }
            dt { (t::Time) } dd { (time(one.submitted_at)) }
            @if let Some(how) = handed_in {
                dt { (t::SubmissionHandedIn) }
                dd {
                    @if visible.manage { (how.handed_in_by) } @else { (t::SubmissionByStaff) }
                    ": " (how.handed_in_for)
                }
            }
            dt { (t::Result) }
            dd #result {
                (parts::status(one, visible))
                @if one.kind == Kind::Ignored { " " (t::SubmissionIgnoredInRanking) }
                @if one.kind == Kind::Practice { " " (t::SubmissionPractice) }
                @if one.kind == Kind::Model { " " (t::SubmissionPackageOwn) }
            }
            @if visible.protocol && let Some(time) = one.cpu_time_ns {
                dt { (t::SubmissionCpuTime) } dd { (milliseconds(time.unsigned_abs())) }
            }
            @if visible.protocol && let Some(bytes) = one.memory_bytes {
                dt { (t::SubmissionMemory) } dd { (memory(bytes.unsigned_abs())) }
            }
            @if visible.score && one.score.is_some() {
                dt { (t::Points) } dd { (parts::points(one, visible)) }
            }
        }
    }
}

/// All judgements of a submission, for the staff.
fn past(history: &[Past], submission: &Submission, shown: i64) -> Markup {
    let points = |one: &Past| {
        let score = Score(one.score?);
        Some(score.scaled(one.max_score, submission.max_points))
    };
    html! {
        h2 { (t::SubmissionJudgements) }
        div.scroll { table {
            thead { tr {
                th { (t::SubmissionJudgement) } th { (t::Time) } th.number { (t::Version) }
                th { (t::Result) }
                th.number { (t::Points) } th { (t::SubmissionRejudging) } th { (t::State) }
            } }
            tbody { @for one in history { tr {
                td {
                    a href={ "/submissions/" (submission.id) "?judgement=" (one.id) }
                        aria-current=[(one.id == shown).then_some("true")] { "#" (one.id) }
                }
                td { (time(one.queued_at)) }
                td.number { (one.version) }
                td { @if let Some(found) = one.verdict { (parts::verdict(found)) } }
                td.number { @if let Some(points) = points(one) { (text::score(points)) } }
                td { @if let Some(set) = one.rejudging_id {
                    a href={ "/rejudgings/" (set) } { "#" (set) }
                } }
                @let state = vocabulary::judgement_state(one.state);
                td { @if one.current { (t::SubmissionCounts { state }) } @else { (state) } }
            } } }
        } }
    }
}

fn test_result(test: &Test) -> Markup {
    html! {
        @match test.verdict {
            Some(verdict) => (parts::verdict(verdict)),
            None if test.is_failure => span.muted { (t::StatusJudgeError) },
            None => span.muted { (t::StatusNotJudged) },
        }
    }
}

fn of_limit(figure: Option<u64>, limit: Option<u64>, words: fn(u64) -> Markup) -> Markup {
    html! {
        @if let Some(figure) = figure { (words(figure)) }
        @if let Some(limit) = limit { " / " (words(limit)) }
    }
}

fn tests(protocol: &Protocol, worth: Option<i64>) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::SubmissionTest) } th { (t::Result) } th.number { (t::Time) }
                th.number { (t::SubmissionMemoryColumn) }
                th { (t::SubmissionComment) }
            } }
            tbody { @for test in &protocol.tests { tr {
                td translate="no" { (test.name) }
                td { (test_result(test)) }
                td.number { (of_limit(test.cpu_time_ns, test.cpu_time_limit_ns, milliseconds)) }
                td.number { (of_limit(test.memory_bytes, test.memory_limit_bytes, memory)) }
                td translate="no" { (test.reason) " " (test.comment) }
            } } }
        } }
        @if protocol.groups.iter().any(|group| group.score.is_some()) {
            h2 { (t::SubmissionGroups) }
            @if let Some(points) = worth { p.hint { (t::SubmissionGroupsHint { points }) } }
            div.scroll { table {
                thead { tr { th { (t::Group) } th.number { (t::Points) } } }
                tbody { @for group in &protocol.groups { tr {
                    td translate="no" { (group.name) }
                    td.number {
                        @if let Some(score) = group.score { (text::score(Score(score))) }
                        @if let Some(max) = group.max_score { " / " (text::score(Score(max))) }
                    }
                } } }
            } }
        }
    }
}

/// The actions that the staff may take on a submission.
fn actions(one: &Submission, is_open: bool) -> Markup {
    let (kind, words): (_, &dyn Message) = match one.kind {
        Kind::Normal => (Kind::Ignored, &t::SubmissionIgnore),
        Kind::Ignored | Kind::Practice | Kind::Model => (Kind::Normal, &t::SubmissionCount),
    };
    html! {
        div.actions {
            @if matches!(one.kind, Kind::Normal | Kind::Ignored) {
                form.inline method="post" action={ "/submissions/" (one.id) "/kind" } {
                    input type="hidden" name="kind" value=(kind.text());
                    button { (words) }
                }
            }
            @if one.kind != Kind::Model {
                form.inline method="post" action={ "/submissions/" (one.id) "/delete" } {
                    button { (t::Delete) }
                }
            }
            form.inline method="post" action={ "/submissions/" (one.id) "/judge" } {
                button { (t::JudgeAgain) }
            }
            @if is_open {
                form.inline method="post" action={ "/submissions/" (one.id) "/cancel" } {
                    button { (t::SubmissionStop) }
                }
            }
        }
    }
}

/// `GET /submissions/{id}/source`.
pub async fn download(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let source = submission::source(&app.db, id)
        .await?
        .ok_or(PageError::NotFound)?;
    let name = upload::disposition(&source.file_name);
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, source.content).into_response())
}

/// `GET /submissions/{id}/live`.
pub async fn live(Ctx { app, session }: Ctx, client: Client, Path(id): Path<i64>) -> Page {
    let (_, round_problem, visible) = find(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let concerns = move |change: &Change| change.submission == id;
    let contest = contest_of(&app, &session, round_problem.as_ref()).await?;
    let notices = match contest {
        Some(view) => notices(&app, view).boxed(),
        None => stream::pending().boxed(),
    };
    if visible.faults {
        let events = changes(app.live.subscribe(), "change", concerns);
        return Ok(seat.respond(stream::select(events, notices)));
    }
    let receiver = app.live.subscribe();
    let look = move || {
        let (app, session) = (app.clone(), session.clone());
        async move {
            let (one, round_problem, visible) = find(&app, &session, id).await?;
            let piece = piece(&app, (&one, round_problem.as_ref(), visible), None).await?;
            Ok((digest(&piece.main), piece.is_live))
        }
    };
    let events = differences(receiver, concerns, look).await?;
    Ok(seat.respond(stream::select(events, notices)))
}

/// The viewer and the members of the viewer's team.
async fn team(app: &App, session: &Session, view: &ContestView) -> Page<Vec<i64>> {
    let mut users: Vec<i64> = session.viewer().id().into_iter().collect();
    if let Some(one) = &view.participant {
        let members = participant::members(&app.db, view.contest.id).await?;
        let members = members
            .iter()
            .filter(|member| member.participant_id == one.id);
        users.extend(members.map(|member| member.user_id));
    }
    Ok(users)
}

/// `GET /contests/{id}/live`: submissions of the viewer's team, or all for the staff, and notices.
pub async fn live_of_contest(
    Ctx { app, session }: Ctx,
    client: Client,
    Path(id): Path<i64>,
) -> Page {
    let view = ContestView::of(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let notices = notices(&app, view.clone());
    if view.access.manage {
        let concerns = move |change: &Change| change.contest == Some(id);
        let submissions = changes(app.live.subscribe(), "change", concerns);
        return Ok(seat.respond(stream::select(submissions, notices)));
    }
    let users = team(&app, &session, &view).await?;
    // The change of a whole set has no user.
    let concerns = move |change: &Change| {
        change.contest == Some(id) && (change.user == 0 || users.contains(&change.user))
    };
    let receiver = app.live.subscribe();
    let look = move || {
        let (app, session) = (app.clone(), session.clone());
        async move {
            let list = listed(&app, &session, (id, false), None).await?;
            Ok(digest(&parts::submissions(&app.languages, &list, None)))
        }
    };
    let submissions = differences(receiver, concerns, look).await?;
    Ok(seat.respond(stream::select(submissions, notices)))
}

/// The fields of `POST /submissions/{id}/kind`.
#[derive(Deserialize)]
pub struct KindForm {
    kind: Kind,
}

/// A submission that the viewer may change.
pub async fn managed(
    app: &App,
    session: &Session,
    id: i64,
) -> Page<(Submission, Option<RoundProblem>)> {
    let (one, round_problem, visible) = find(app, session, id).await?;
    if visible.manage {
        Ok((one, round_problem))
    } else {
        Err(PageError::NotFound)
    }
}

/// `POST /submissions/{id}/kind`.
pub async fn set_kind(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<KindForm>,
) -> Page {
    let (one, _) = managed(&app, &session, id).await?;
    if one.kind == Kind::Model || form.kind == Kind::Model {
        return Err(Refusal::PackageSubmission.into());
    }
    if one.kind == Kind::Practice || form.kind == Kind::Practice {
        return Err(Refusal::PracticeSubmission.into());
    }
    let mut tx = app.db.begin().await?;
    submission::set_kind(&mut tx, id, form.kind).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/submissions/{id}")).into_response())
}

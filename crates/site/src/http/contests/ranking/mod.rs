//! The ranking of a contest as a page, for projectors, as CSV and as JSON, with a stream of its
//! changes, and the statistics and certificates of the contest.
//!
//! The tables are rendered once for all viewers with the same access (`rankings`). The script of a
//! page requests only the tables, and receives them only if they have changed.

mod certificates;
mod export;
mod statistics;
mod table;
pub mod virtual_run;

pub use certificates::show as certificates;

use super::notices::notices;
use super::view::ContestView;
use crate::app::App;
use crate::core::standings::{self, Audience, Data, Scope, Shown};
use crate::core::time::Time;
use crate::db;
use crate::db::contest::Round;
use crate::http::web::client::Client;
use crate::http::web::context::{Ctx, arrive};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{live_page, page, projector_page};
use crate::http::web::live;
use crate::http::web::session::Session;
use crate::rankings::{Format, Render, Rendered};
use crate::text::{self, Reader, t};
use axum::body::Bytes;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A stream of changes ends after this time. The browser opens another one, whose access is checked
/// again.
const STREAM_LASTS: Duration = Duration::from_secs(120);
/// The minimum time between two changes of one stream. Streams differ by up to a second, so that
/// viewers do not all send requests at the same time.
const STREAM_PAUSE: Duration = Duration::from_secs(1);

/// The ranking that a viewer has chosen.
#[derive(Debug, Default, Deserialize)]
pub struct Choice {
    /// The number of a round; empty means all.
    #[serde(default)]
    round: String,
    /// A group; empty means all.
    #[serde(default)]
    group: String,
    /// `public`: the staff looks at what contestants and guests see.
    #[serde(default)]
    view: String,
    /// `tables`: without the page around them.
    #[serde(default)]
    part: String,
    /// With `part`: the tag of a ranking that an event has announced. The answer is this ranking or
    /// a newer one, and does not wait for changes after it.
    #[serde(default)]
    event: String,
}

impl Choice {
    fn round(&self) -> Page<Option<i64>> {
        match self.round.as_str() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| PageError::NotFound),
        }
    }

    fn is_public(&self) -> bool {
        self.view == "public"
    }

    /// Whether a slightly older ranking is good enough.
    fn is_announced(&self) -> bool {
        self.part == "tables" && !self.event.is_empty()
    }

    /// The query that repeats the choice, after other arguments.
    fn query(&self, begin: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("round", &self.round),
            ("group", &self.group),
            ("view", &self.view),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        let rest = query.finish();
        match (begin, rest.as_str()) {
            ("", "") => String::new(),
            (begin, "") => format!("?{begin}"),
            ("", rest) => format!("?{rest}"),
            (begin, rest) => format!("?{begin}&{rest}"),
        }
    }
}

/// What a viewer may see of the ranking of a contest.
pub struct Look {
    /// The language and the time zone; a stream of events outlives the request.
    reader: Reader,
    view: ContestView,
    choice: Choice,
    data: Arc<Data>,
    /// The number of commits that the ranking must contain.
    commits: u64,
}

impl Look {
    /// The chosen ranking of a contest.
    ///
    /// # Errors
    /// The viewer may not know of the contest, the round or the group.
    pub async fn of(app: &App, session: &Session, id: i64, choice: Choice) -> Page<Look> {
        let commits = *db::commits().borrow();
        let view = ContestView::of(app, session, id).await?;
        let data = match app
            .rankings
            .recent_data(id)
            .filter(|_| choice.is_announced())
        {
            Some(data) => data,
            None => app.rankings.data(&app.db, id, commits).await?,
        };
        let look = Look {
            reader: text::reader(),
            view,
            choice,
            data,
            commits,
        };
        let round = look.choice.round()?;
        let is_known = |shown: &[Shown]| shown.iter().any(|one| Some(one.round) == round);
        if round.is_some() && !is_known(&look.rounds(Time::now())) {
            return Err(PageError::NotFound);
        }
        // Each known group has its own rendering, so unknown ones must not have any.
        let group = &look.choice.group;
        if !group.is_empty() && !look.data.groups(look.audience()).contains(&group.as_str()) {
            return Err(PageError::NotFound);
        }
        Ok(look)
    }

    fn audience(&self) -> Audience {
        if self.view.access.manage && !self.choice.is_public() {
            Audience::Staff
        } else {
            Audience::Public
        }
    }

    /// The rounds that the viewer may see.
    fn rounds(&self, now: Time) -> Vec<Shown> {
        let mut access = self.view.access;
        // The public view of the staff is that of guests.
        access.manage &= self.audience() == Audience::Staff;
        let shown = |round: &Round| {
            let times = self.view.times(round.id, round.schedule());
            Shown::of(access, round, times, now)
        };
        self.data.rounds.iter().filter_map(shown).collect()
    }

    fn scope(&self, now: Time) -> Page<Scope> {
        let chosen = self.choice.round()?;
        let mut rounds = self.rounds(now);
        rounds.retain(|one| chosen.is_none_or(|round| round == one.round));
        let group = &self.choice.group;
        Ok(Scope {
            audience: self.audience(),
            rounds,
            group: (!group.is_empty()).then(|| group.clone()),
        })
    }

    /// The next time at which the scope or the tables change without a change of the data.
    fn next_change(&self, now: Time) -> Time {
        let times = self.data.rounds.iter().flat_map(|round| {
            let times = self.view.times(round.id, round.schedule());
            [times.begins, round.ranking_from, times.full_results]
        });
        let next = times.filter(|time| *time > now).min();
        next.unwrap_or(Time::NEVER).min(self.data.next_change(now))
    }

    async fn rendered(&self, app: &App, format: Format) -> Page<Arc<Rendered>> {
        let render: Render = match format {
            Format::Html => {
                |data, scope, now| table::render(scope, &standings::tables(data, scope, now))
            }
            Format::Csv => |data, scope, now| export::csv(&standings::tables(data, scope, now)),
            Format::Json => |data, scope, now| export::json(&standings::tables(data, scope, now)),
            Format::Statistics => statistics::render,
        };
        let scope = self.scope(Time::now())?;
        let id = self.view.contest.id;
        if self.choice.is_announced()
            && let Some(page) = app.rankings.recent(id, &scope, format, &self.reader)
        {
            return Ok(page);
        }
        let state = (&app.db, self.commits);
        let page = app
            .rankings
            .get(state, id, &scope, format, &self.reader, render);
        Ok(page.await?)
    }
}

/// The ranking in the path of a request, as its viewer may see it. The path and the query are
/// read before the rights are checked.
pub struct Looked(pub Ctx, pub Look);

impl FromRequestParts<Arc<App>> for Looked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Looked, Response> {
        let (ctx, id) = arrive(parts, app)
            .await
            .map_err(IntoResponse::into_response)?;
        let choice = Query::<Choice>::from_request_parts(parts, app).await;
        let Query(choice) = choice.map_err(IntoResponse::into_response)?;
        let look = Look::of(&ctx.app, &ctx.session, id, choice).await;
        Ok(Looked(ctx, look.map_err(IntoResponse::into_response)?))
    }
}

/// The tables, whose content the script replaces.
fn tables(id: i64, choice: &Choice, page: &Rendered) -> Markup {
    let source = format!("/contests/{id}/ranking{}", choice.query("part=tables"));
    html! { div data-live data-live-source=(source) { (PreEscaped(&page.text)) } }
}

/// `GET /contests/{id}/ranking`.
pub async fn show(Looked(Ctx { app, session }, look): Looked, headers: HeaderMap) -> Page {
    let id = look.view.contest.id;
    let page = look.rendered(&app, Format::Html).await?;
    if look.choice.part == "tables" {
        return Ok(send(&page, "text/html; charset=utf-8", &headers));
    }
    let choice = &look.choice;
    let query = choice.query("");
    let main = html! {
        (look.view.top(&session, Some(&t::Ranking)))
        h2 { (t::Ranking) }
        (chooser(&look, None))
        @if let Some(own) = &look.view.participant {
            link rel="stylesheet" href={ "/ranking-rows/" (own.id) };
        }
        (tables(id, choice, &page))
        p.actions {
            a href={ "/contests/" (id) "/projector" (query) } { (t::RankingProjector) }
            a href={ "/contests/" (id) "/statistics" (query) } { (t::Statistics) }
            a href={ "/contests/" (id) "/ranking.csv" (query) } { "CSV" }
            a href={ "/contests/" (id) "/ranking.json" (query) } { "JSON" }
            (certificates::link(&look)?)
        }
    };
    let source = format!("/contests/{id}/ranking/live{query}");
    Ok(live_page(&session, t::Ranking, &source, main).into_response())
}

/// `GET /ranking-rows/{participant}`: a style sheet, which depends on nothing else.
pub async fn row_style(Path(participant): Path<i64>) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (CACHE_CONTROL, "public, max-age=86400"),
    ];
    (headers, table::row_style(participant)).into_response()
}

/// The form for round, group and view. If `other` is given, it replaces the choice of the view.
fn chooser(look: &Look, other: Option<&Markup>) -> Markup {
    let shown = look.rounds(Time::now());
    let is_shown = |round: &&Round| shown.iter().any(|one| one.round == round.id);
    let rounds: Vec<&Round> = look.data.rounds.iter().filter(is_shown).collect();
    let groups = look.data.groups(look.audience());
    let can_switch = look.view.access.manage && other.is_none();
    html! {
        @if rounds.len() > 1 || !groups.is_empty() || look.view.access.manage {
            form.inline method="get" {
                @if rounds.len() > 1 {
                    label { (t::Round) select name="round" {
                        option value="" { (t::All) }
                        @for round in &rounds {
                            option value=(round.id)
                                selected[look.choice.round == round.id.to_string()] {
                                (round.name)
                            }
                        }
                    } }
                }
                @if !groups.is_empty() {
                    label { (t::Group) select name="group" {
                        option value="" { (t::All) }
                        @for group in &groups {
                            option value=(group) selected[look.choice.group == *group] { (group) }
                        }
                    } }
                }
                @if can_switch {
                    label { (t::RankingView) select name="view" {
                        option value="" { (t::RankingViewStaff) }
                        option value="public" selected[look.choice.is_public()] {
                            (t::RankingViewPublic)
                        }
                    } }
                }
                @if let Some(other) = other { (other) }
                button { (t::RankingShow) }
            }
        }
    }
}

/// `GET /contests/{id}/projector`: large, and without links.
pub async fn projector(Looked(Ctx { app, .. }, look): Looked) -> Page {
    let page = look.rendered(&app, Format::Html).await?;
    let (id, name) = (look.view.contest.id, &look.view.contest.name);
    let main = html! { h1 { (name) } (tables(id, &look.choice, &page)) };
    let source = format!("/contests/{id}/ranking/live{}", look.choice.query(""));
    Ok(projector_page(name, &source, main).into_response())
}

/// `GET /contests/{id}/ranking.csv`.
pub async fn csv(Looked(Ctx { app, .. }, look): Looked, headers: HeaderMap) -> Page {
    let id = look.view.contest.id;
    let page = look.rendered(&app, Format::Csv).await?;
    let mut answer = send(&page, "text/csv; charset=utf-8", &headers);
    let name = format!("attachment; filename=\"ranking-{id}.csv\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    Ok(answer)
}

/// The tag of the ranking that the viewer sees, as in JSON.
pub async fn tag(app: &App, session: &Session, id: i64) -> Page<String> {
    let look = Look::of(app, session, id, Choice::default()).await?;
    Ok(look.rendered(app, Format::Json).await?.etag.clone())
}

/// `GET /contests/{id}/ranking.json`.
pub async fn json(Looked(Ctx { app, .. }, look): Looked, headers: HeaderMap) -> Page {
    let page = look.rendered(&app, Format::Json).await?;
    Ok(send(&page, "application/json", &headers))
}

/// `GET /contests/{id}/statistics`.
pub async fn statistics(Looked(Ctx { app, session }, look): Looked) -> Page {
    let charts = look.rendered(&app, Format::Statistics).await?;
    let main = html! {
        (look.view.top(&session, Some(&t::Statistics)))
        h2 { (t::Statistics) }
        (chooser(&look, None))
        (PreEscaped(&charts.text))
    };
    Ok(page(&session, t::Statistics, main).into_response())
}

/// The bytes of a ranking, which all answers share. Slow clients would otherwise hold many copies.
struct Shared {
    page: Arc<Rendered>,
    is_gzip: bool,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        match self.is_gzip {
            true => &self.page.gzip,
            false => self.page.text.as_bytes(),
        }
    }
}

/// A ranking, unless the browser already has it.
fn send(page: &Arc<Rendered>, media: &'static str, headers: &HeaderMap) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let contains = |name, part: &str| {
        text(name).is_some_and(|value| value.split(',').any(|one| one.trim() == part))
    };
    let common = [
        (ETAG, page.etag.as_str()),
        // The site checks each time whether the viewer may see it.
        (CACHE_CONTROL, "private, no-cache"),
        (VARY, "accept-encoding, cookie"),
    ];
    if contains(IF_NONE_MATCH, &page.etag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let content = [(CONTENT_TYPE, media)];
    let is_gzip = contains(ACCEPT_ENCODING, "gzip");
    let page = page.clone();
    let bytes = Bytes::from_owner(Shared { page, is_gzip });
    let mut answer = (common, content, bytes).into_response();
    if is_gzip {
        let headers = answer.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

/// A viewer following a ranking.
struct Follower {
    app: Arc<App>,
    look: Look,
    commits: tokio::sync::watch::Receiver<u64>,
    /// The tag of the ranking that the viewer knows.
    etag: Option<String>,
    pause: Duration,
    /// The next event is not sent before this time.
    next: Instant,
    end: Instant,
}

impl Follower {
    /// The tag of the next ranking that differs; `None` if the stream ends.
    async fn follow(&mut self) -> Option<String> {
        loop {
            sleep_until(self.next).await;
            if self.end <= Instant::now() {
                return None;
            }
            self.look.commits = *self.commits.borrow_and_update();
            let page = self.look.rendered(&self.app, Format::Html).await.ok()?;
            let is_known = self.etag.as_ref() == Some(&page.etag);
            let is_first = self.etag.is_none();
            self.etag = Some(page.etag.clone());
            self.next = Instant::now() + self.pause;
            if !is_known && !is_first {
                return Some(page.etag.clone());
            }
            let now = Time::now();
            let left = self.look.next_change(now).0.saturating_sub(now.0);
            let left = Duration::from_micros(left.unsigned_abs()).min(STREAM_LASTS);
            tokio::select! {
                changed = self.commits.changed() => changed.ok()?,
                () = tokio::time::sleep(left) => {}
                () = sleep_until(self.end) => return None,
            }
        }
    }
}

/// `GET /contests/{id}/ranking/live`: an event with the tag of each new ranking.
pub async fn live(Looked(Ctx { app, session }, look): Looked, client: Client) -> Page {
    static STREAMS: AtomicU64 = AtomicU64::new(0);
    let seat = live::Seat::of(&app, &session, &client)?;
    let number = STREAMS.fetch_add(1, Ordering::Relaxed);
    let now = Instant::now();
    let notices = notices(&app, look.view.clone());
    let follower = Follower {
        app,
        look,
        commits: db::commits(),
        etag: None,
        pause: STREAM_PAUSE + Duration::from_millis(number.wrapping_mul(389) % 1000),
        next: now,
        end: now + STREAM_LASTS,
    };
    let events = stream::unfold(follower, async |mut follower| {
        let etag = follower.follow().await?;
        let event = Event::default().event("change").data(etag);
        Some((Ok::<_, Infallible>(event), follower))
    });
    let notices = notices.take_until(sleep_until(now + STREAM_LASTS));
    Ok(seat.respond(stream::select(events, notices)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_repeats_the_choice() {
        let choice = Choice {
            group: "a&b c".to_owned(),
            view: "public".to_owned(),
            ..Choice::default()
        };
        assert_eq!(choice.query(""), "?group=a%26b+c&view=public");
        assert_eq!(choice.query("x=1"), "?x=1&group=a%26b+c&view=public");
        assert_eq!(Choice::default().query(""), "");
        assert_eq!(Choice::default().query("x=1"), "?x=1");
    }
}

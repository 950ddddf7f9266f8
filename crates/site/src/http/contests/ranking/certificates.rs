//! Certificates to print: one sheet of paper for each participant.

use super::{Look, Looked, chooser};
use crate::core::certificate::{self as rule, Reader, RoundState};
use crate::core::standings::{Audience, Row, Table, Total, tables};
use crate::core::time::Time;
use crate::db::contest::Round;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::session::Session;
use crate::text::{self, t};
use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

/// The largest place that the staff can choose.
const MAX_PLACE: i64 = 100_000;

/// The choice of the staff beside that of the ranking.
#[derive(Debug, Default, Deserialize)]
pub struct Best {
    /// The last place with a certificate; empty for all participants.
    #[serde(default)]
    last_place: String,
}

/// The user that prints; `None` for users without a certificate.
fn reader(look: &Look, last_place: Option<usize>) -> Option<Reader> {
    match (look.audience(), &look.view.participant) {
        (Audience::Staff, _) => Some(Reader::Staff { last_place }),
        (Audience::Public, Some(own)) if own.state().rights().is_public => {
            Some(Reader::Participant(own.id))
        }
        (Audience::Public, _) => None,
    }
}

/// Whether the results are final: of the chosen round, or of all rounds of the contest. Contestants
/// must also see the ranking of each of these rounds.
fn are_ready(look: &Look, now: Time) -> Page<bool> {
    let chosen = look.choice.round()?;
    let participants = look.data.participants.iter();
    let additional = participants.map(crate::db::participant::Entry::additional);
    let additional = additional.max().unwrap_or_default();
    let state = |round: &Round| {
        let mut last = round.schedule();
        last.ends = last.ends.max(last.full_results);
        RoundState {
            complete: last.over(additional),
            is_frozen: round.freeze().is_on(now),
        }
    };
    let rounds = look.data.rounds.iter();
    let rounds = rounds.filter(|round| chosen.is_none_or(|id| id == round.id));
    let rounds: Vec<&Round> = rounds.collect();
    let shown = look.rounds(now);
    let is_shown = |round: &&Round| shown.iter().any(|one| one.round == round.id);
    if look.audience() == Audience::Public && !rounds.iter().all(is_shown) {
        return Ok(false);
    }
    let rounds: Vec<RoundState> = rounds.into_iter().map(state).collect();
    Ok(rule::are_ready(&rounds, now))
}

/// A link to the certificates that the viewer may print.
pub fn link(look: &Look) -> Page<Markup> {
    let (now, id) = (Time::now(), look.view.contest.id);
    let query = look.choice.query("");
    let address = format!("/contests/{id}/certificates{query}");
    Ok(match reader(look, None) {
        Some(reader) if are_ready(look, now)? => html! {
            a href=(address) {
                @match reader {
                    Reader::Staff { .. } => (t::Certificates),
                    Reader::Participant(_) => (t::CertificateOwn),
                }
            }
        },
        _ => html! {},
    })
}

/// `GET /contests/{id}/certificates`.
pub async fn show(
    Looked(Ctx { app, session }, look): Looked,
    Query(Best { last_place }): Query<Best>,
) -> Page {
    let now = Time::now();
    let last = match last_place.trim() {
        "" => None,
        text => Some(place(text)?),
    };
    let Some(reader) = reader(&look, last) else {
        // A participant that is not public has no certificate.
        look.view.participant.as_ref().ok_or(PageError::NotFound)?;
        return Ok(without(&session, &look));
    };
    let is_staff = matches!(reader, Reader::Staff { .. });
    let is_ready = are_ready(&look, now)?;
    if !is_ready && !is_staff {
        return Err(PageError::NotFound);
    }
    let sheets = match is_ready {
        true => {
            let (data, scope) = (look.data.clone(), look.scope(now)?);
            let (contest, texts) = (look.view.contest.name.clone(), look.reader.clone());
            let print = move || {
                let tables = tables(&data, &scope, now);
                text::at_once(&texts, || {
                    sheets(reader, &contest, scope.group.as_deref(), &tables)
                })
            };
            app.limits.rendering.run(session.party(), print).await?
        }
        false => Vec::new(),
    };
    if sheets.is_empty() && !is_staff {
        return Ok(without(&session, &look));
    }
    let id = look.view.contest.id;
    let main = html! {
        (look.view.top(&session, Some(&t::Certificates)))
        h2.unprinted { (t::Certificates) }
        @if is_staff {
            @let best = html! { label { (t::CertificateLastPlace)
                input name="last_place" type="number" min="1" value=(last_place); } };
            (chooser(&look, Some(&best)))
        }
        @if !is_ready { p { (t::CertificatesWait) } }
        @else if sheets.is_empty() { p { (t::RankingEmpty) } }
        @else { p.hint.unprinted { (t::CertificatesHint { count: sheets.len() }) } }
        div.certificates { @for sheet in &sheets { (sheet) } }
        p.actions.unprinted {
            a href={ "/contests/" (id) "/ranking" (look.choice.query("")) } { (t::Ranking) }
        }
    };
    Ok(page(&session, t::Certificates, main).into_response())
}

/// The last place with a certificate.
fn place(text: &str) -> Result<usize, Mistake> {
    let place = text
        .parse()
        .ok()
        .filter(|place| (1..=MAX_PLACE).contains(place));
    let place = place.and_then(|place| usize::try_from(place).ok());
    place.ok_or_else(|| Mistake::NumberRange {
        text: text.to_owned(),
        max: MAX_PLACE,
    })
}

/// The page of a participant without a certificate.
fn without(session: &Session, look: &Look) -> Response {
    let main = html! {
        (look.view.top(session, Some(&t::Certificates)))
        p { (t::CertificateMissing) }
    };
    page(session, t::Certificates, main).into_response()
}

/// The certificates that a user prints.
fn sheets(reader: Reader, contest: &str, group: Option<&str>, tables: &[Table]) -> Vec<Markup> {
    let rows = tables
        .iter()
        .flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let printed =
        rows.filter(|(_, row)| rule::is_printed(reader, row.participant, row.state, row.place));
    printed
        .map(|(table, row)| sheet(contest, group, table, row))
        .collect()
}

/// The places count within the group, if a group was chosen.
fn sheet(contest: &str, group: Option<&str>, table: &Table, row: &Row) -> Markup {
    let ranked = table.rows.iter().filter(|row| row.place.is_some()).count();
    html! {
        section.certificate {
            p.contest { (contest) }
            p { (table.rounds.join(", ")) }
            p.title { (t::Certificate) }
            h3 { (row.name) }
            @if !row.organization.is_empty() { p { (row.organization) } }
            @if !row.group.is_empty() && group.is_none() { p { (t::Group) ": " (row.group) } }
            @match row.place {
                Some(place) => p.place {
                    @match group {
                        Some(group) => {
                            (t::CertificatePlaceInGroup { place, all: ranked, group })
                        }
                        None => (t::CertificatePlace { place, all: ranked }),
                    }
                },
                None => p.place { (t::CertificateTookPart) },
            }
            @match row.total {
                Total::Points(score) => p { (t::Points) ": " (text::score(score)) },
                Total::Icpc { solved, penalty, .. } => p {
                    (t::RankingSolved) ": " (solved) " / " (table.problems.len()) ", "
                    (t::RankingPenalty) ": " (penalty)
                },
            }
        }
    }
}

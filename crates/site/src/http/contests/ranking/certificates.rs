//! Certificates to print: one sheet of paper for each participant.

use super::{Look, Looked, chooser};
use crate::core::certificate::{self as rule, Reader, RoundState};
use crate::core::standings::{Audience, Row, Table, Total, tables};
use crate::core::time::Time;
use crate::db::contest::Round;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::text::{self, t};
use axum::extract::Query;
use axum::response::IntoResponse;
use maud::{Markup, html};
use serde::Deserialize;

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
        (Audience::Public, Some(own)) => Some(Reader::Participant(own.id)),
        (Audience::Public, None) => None,
    }
}

/// Whether the results are final: of the chosen round, or of all rounds of the contest.
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
    let rounds: Vec<RoundState> = rounds.map(state).collect();
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
    let reader = reader(&look, last_place.trim().parse().ok()).ok_or(PageError::NotFound)?;
    let is_staff = matches!(reader, Reader::Staff { .. });
    let is_ready = are_ready(&look, now)?;
    if !is_ready && !is_staff {
        return Err(PageError::NotFound);
    }
    let tables = match is_ready {
        true => {
            let (data, scope) = (look.data.clone(), look.scope(now)?);
            let turn = app.limits.rendering.turn(session.party()).await?;
            turn.run(move || tables(&data, &scope, now)).await?
        }
        false => Vec::new(),
    };
    let rows = tables
        .iter()
        .flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    let printed =
        rows.filter(|(_, row)| rule::is_printed(reader, row.participant, row.state, row.place));
    let sheets: Vec<Markup> = printed
        .map(|(table, row)| sheet(&look, table, row))
        .collect();
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

fn sheet(look: &Look, table: &Table, row: &Row) -> Markup {
    let ranked = table.rows.iter().filter(|row| row.place.is_some()).count();
    html! {
        section.certificate {
            p.contest { (look.view.contest.name) }
            p { (table.rounds.join(", ")) }
            p.title { (t::Certificate) }
            h3 { (row.name) }
            @if !row.organization.is_empty() { p { (row.organization) } }
            @if !row.group.is_empty() { p { (t::Group) ": " (row.group) } }
            @match row.place {
                Some(place) => p.place { (t::CertificatePlace { place, all: ranked }) },
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

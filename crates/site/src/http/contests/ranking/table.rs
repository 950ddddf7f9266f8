//! The tables of a ranking.

use crate::core::icpc;
use crate::core::participation::State;
use crate::core::standings::{Audience, Cell, Head, Row, Scope, Table, Total};
use crate::core::virtual_run::ROW;
use crate::db::contest::Mode;
use crate::http::web::parts::{time, verdict};
use crate::text::{self, t};
use maud::{Markup, html};

/// The tables as HTML. For the staff, they contain links to submissions.
pub fn render(scope: &Scope, tables: &[Table]) -> String {
    let links = scope.audience == Audience::Staff;
    let all = html! {
        @if tables.is_empty() { p { (t::RankingNotShown) } }
        @for (number, one) in (1..).zip(tables) {
            @if tables.len() > 1 { h3 { (one.rounds.join(", ")) } }
            (table(one, number, links))
        }
    };
    all.into_string()
}

fn table(table: &Table, number: usize, links: bool) -> Markup {
    let is_icpc = table.mode == Mode::Icpc;
    html! {
        @if let Some(since) = table.frozen_since {
            p.frozen { (t::RankingFrozen { time: time(since) }) }
        }
        div.scroll.board { table.ranking id=[(number == 1).then_some("ranking")] {
            thead { tr {
                th.number.place { (t::RankingPlace) } th.team { (t::Name) }
                @if is_icpc { th.number { (t::RankingSolved) } th.number { (t::RankingPenalty) } }
                @else { th.number { (t::RankingSum) } }
                @for one in &table.problems { th.number { (head(one)) } }
            } }
            tbody { @for one in &table.rows { (row(one, links)) } }
        } }
        @if table.rows.is_empty() { p.muted { (t::RankingEmpty) } }
        @if is_icpc {
            p.hint {
                (t::RankingIcpcHint { minutes: table.penalty_minutes })
            }
        }
    }
}

/// The style that marks the row of a participant and keeps it in view. Tables are the same for all
/// viewers, so their markup cannot mark it.
pub fn row_style(participant: i64) -> String {
    let row = format!("table.ranking tr[data-participant=\"{participant}\"]");
    format!(
        "{row} > td {{ position: sticky; top: var(--board-head); bottom: 0; z-index: 2; \
         background: var(--busy-back); font-weight: 650; }}\n\
         {row} > .place, {row} > .team {{ z-index: 3; }}\n"
    )
}

fn head(problem: &Head) -> Markup {
    html! {
        @if !problem.colour.is_empty() {
            svg.colour viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" {
                circle cx="5" cy="5" r="4.5" fill=(problem.colour) stroke="currentColor"
                    stroke-width="0.5" {}
            }
        }
        abbr title=(problem.name) { (problem.label) }
    }
}

fn row(row: &Row, links: bool) -> Markup {
    html! {
        tr.ignored[!row.state.rights().has_place] data-participant=(row.participant) {
            td.number.place { @if let Some(place) = row.place { (place) } }
            td.team {
                div title=(row.name) {
                    (row.name)
                    @match row.state {
                        _ if row.participant == ROW => {
                            " " span.chip.busy { (t::RankingVirtual) }
                        }
                        State::TakesPart => {}
                        State::Unofficial => { " " (t::RankingUnofficial) }
                        State::Hidden => { " " (t::RankingHidden) }
                        State::Disqualified => {
                            " " span.chip.bad { (t::ParticipantDisqualified) }
                        }
                    }
                }
                @if !row.organization.is_empty() {
                    small.muted title=(row.organization) { (row.organization) }
                }
            }
            @match row.total {
                Total::Points(score) => td.number { (text::score(score)) },
                Total::Icpc { solved, penalty, .. } => {
                    td.number { (solved) } td.number { (penalty) }
                }
            }
            @for found in &row.cells { td.number { (cell(found, links)) } }
        }
    }
}

fn linked(submission: Option<i64>, links: bool, text: Markup) -> Markup {
    html! {
        @match submission.filter(|_| links) {
            Some(id) => a href={ "/submissions/" (id) } { (text) },
            None => (text),
        }
    }
}

fn cell(found: &Cell, links: bool) -> Markup {
    match found {
        Cell::Points { found, pending } => html! {
            @if let Some(found) = found {
                @let text = html! {
                    @match found.score { Some(score) => (text::score(score)), None => "?" }
                };
                (linked(Some(found.submission), links, text))
                @if let Some(one) = found.verdict { br; small { (verdict(one)) } }
            }
            @if *pending > 0 { br; small.muted { "?" (pending) } }
        },
        Cell::Icpc(found) => linked(found.last, links, icpc_cell(found)),
    }
}

fn icpc_cell(found: &icpc::Cell) -> Markup {
    html! {
        @if let Some(solved) = found.solved {
            span.good {
                @if solved.is_first { abbr title=(t::RankingFirst) { "★" } }
                "+" @if found.wrong > 0 { (found.wrong) }
            }
            br; small { (solved.minutes()) }
        } @else {
            @if found.wrong > 0 { span.bad { "−" (found.wrong) } " " }
            @if found.pending > 0 { span.limit { "?" (found.pending) } }
        }
    }
}

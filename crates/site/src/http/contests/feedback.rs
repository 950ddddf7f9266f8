//! What contestants see of results before the full results: the choice, and its preview.

use crate::core::finals::Reveal;
use crate::core::time::Time;
use crate::core::visibility::{Relation, Rules, Visible, visible};
use crate::http::web::parts::select;
use crate::text::{Message, t};
use maud::{Markup, Render, html};

/// The levels with their words.
const LEVELS: [(&str, &dyn Render); 6] = [
    ("hidden", &t::RevealHidden),
    ("nothing", &t::RevealInitial),
    ("score", &t::RevealScore),
    ("status", &t::RevealVerdict),
    ("first", &t::RevealFirst),
    ("all", &t::RevealAll),
];

/// The choice, with a preview of each level.
pub fn choice(chosen: Reveal) -> Markup {
    html! {
        (select("reveal", t::RoundReveal, &LEVELS, chosen.text()))
        (preview())
    }
}

/// A part of a result, and whether a viewer sees it.
type Part = (&'static dyn Message, fn(Visible) -> bool);

/// A table of what an author sees. It follows from the rule that the pages use.
fn preview() -> Markup {
    let parts: [Part; 6] = [
        (&t::RevealPartInitial, |seen| seen.initial),
        (&t::RevealPartScore, |seen| seen.score),
        (&t::RevealPartVerdict, |seen| seen.verdict),
        (&t::RevealPartFirst, |seen| seen.first),
        (&t::RevealPartTests, |seen| seen.protocol),
        (&t::RevealPartSource, |seen| seen.page),
    ];
    let seen = |reveal: Reveal| {
        let rules = Rules {
            reveal,
            full_results: Time::NEVER,
        };
        visible(Relation::Author, Some(rules), Time(0))
    };
    html! {
        details {
            summary { (t::RevealPreview) }
            div.scroll { table {
                thead { tr {
                    th { (t::RevealPreviewPart) }
                    @for (_, words) in LEVELS { th { (words) } }
                } }
                tbody { @for (words, is_seen) in parts { tr {
                    th scope="row" { (words) }
                    @for reveal in Reveal::ALL {
                        td { @if is_seen(seen(*reveal)) { (t::Yes) } @else { (t::No) } }
                    }
                } } }
            } }
            p.hint { (t::RevealPreviewHint) }
        }
    }
}

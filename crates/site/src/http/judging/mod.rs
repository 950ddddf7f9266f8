//! Submissions, their results, faults, and judging again.
//!
//! | file | content |
//! | --- | --- |
//! | `submit` | sending sources |
//! | `submissions`, `source` | submissions and their results; sources with highlighting |
//! | `view` | what the viewer sees of submissions |
//! | `trial` | trying a source on custom input |
//! | `faults` | stopping and pausing the judging, and faults |
//! | `rejudgings` | sets of submissions that are judged again |
//! | `queue`, `workers` | the queue, and workers on other machines |

mod faults;
mod queue;
mod rejudgings;
mod source;
pub mod submissions;
pub mod submit;
mod trial;
mod view;
mod workers;

use crate::app::App;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// The pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/problems/{id}/submit",
            get(submit::problem_form).post(submit::to_problem),
        )
        .route("/contests/{id}/submissions", get(submissions::of_contest))
        .route("/contests/{id}/live", get(submissions::live_of_contest))
        .route(
            "/round-problems/{id}/submit",
            get(submit::round_form).post(submit::to_round),
        )
        .route("/submissions", get(submissions::list))
        .route("/submissions/{id}", get(submissions::show))
        .route("/submissions/{id}/source", get(submissions::download))
        .route("/submissions/{id}/kind", post(submissions::set_kind))
        .route("/submissions/{id}/live", get(submissions::live))
        .route(
            "/problems/{id}/try",
            get(trial::problem_form).post(trial::on_problem),
        )
        .route(
            "/round-problems/{id}/try",
            get(trial::round_form).post(trial::on_round),
        )
        .route("/submissions/{id}/judge", post(rejudgings::judge_again))
        .route("/submissions/{id}/cancel", post(faults::cancel))
        .route("/round-problems/{id}/pause", post(faults::pause))
        .route("/faults", get(faults::list))
        .route("/faults/{id}", get(faults::show))
        .route("/faults/{id}/close", post(faults::close))
        .route("/rejudgings", get(rejudgings::list))
        .route(
            "/rejudgings/new",
            get(rejudgings::form).post(rejudgings::create),
        )
        .route("/rejudgings/{id}", get(rejudgings::show))
        .route("/rejudgings/{id}/live", get(rejudgings::live))
        .route("/rejudgings/{id}/apply", post(rejudgings::apply))
        .route("/rejudgings/{id}/drop", post(rejudgings::drop_set))
        .route("/rejudgings/{id}/repeat", post(rejudgings::repeat))
}

/// The pages for administrators.
pub fn administration() -> Router<Arc<App>> {
    Router::new()
        .route("/queue", get(queue::show))
        .route("/workers", get(workers::list))
        .route("/workers/{id}", post(workers::change))
}

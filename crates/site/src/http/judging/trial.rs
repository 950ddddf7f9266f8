//! Trying a source on custom input.

use super::submit::{Sent, last_language};
use crate::app::App;
use crate::core::package::Manifest;
use crate::core::submission_rules::SubmissionRules;
use crate::db::problem;
use crate::http::contests::view::ContestView;
use crate::http::problems;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{crumbs, page};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{Upload, select};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::judging::trial::{MAX_OUTPUT, Trial, Tried};
use crate::text::t;
use axum::extract::{Multipart, Path};
use axum::response::IntoResponse;
use maud::{Markup, Render, html};
use millibox_languages::program::Limits;
use std::time::{Duration, Instant};

/// The maximum size of an input, in bytes.
const MAX_INPUT: usize = 64 << 10;
/// The maximum number of bytes that a program may write.
const OUTPUT_LIMIT: u64 = 1 << 20;
/// The limit on CPU time if the package states none, and the largest limit.
const CPU_TIME: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
/// The limit on memory if the package states none.
const MEMORY_BYTES: u64 = 2048 << 20;
/// The maximum number of processes and threads, as for submissions to ICPC packages.
const PROCESSES: u32 = 64;

/// A problem whose limits apply.
struct Place {
    /// The beginning of the page.
    top: Markup,
    manifest: Manifest,
}

async fn of_problem(app: &App, session: &Session, id: i64) -> Page<Place> {
    session.user_id()?;
    let (problem, access) = problems::find(app, session, id).await?;
    if !access.submit {
        return Err(PageError::NotFound);
    }
    let version = problem::current_version(&app.db, id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let (root, name) = (format!("/problems/{id}"), problem.name.as_str());
    let top = html! {
        (crumbs(&[("/problems", &t::Problems), (&root, &name)], t::ProblemTry))
        h1 { (t::TryTitle { problem: html! { a href=(root) { (name) } } }) }
    };
    Ok(Place {
        top,
        manifest: Manifest::of_json(&version.manifest),
    })
}

async fn of_round(app: &App, session: &Session, id: i64) -> Page<Place> {
    session.user_id()?;
    let (view, problem) = ContestView::of_problem(app, session, id).await?;
    view.check_participant()?;
    if !view.submits(&problem) {
        return Err(Refusal::RoundNotOpen.into());
    }
    let version = problem::version(&app.db, problem.version_id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let name = format!("{} {}", problem.label, problem.name);
    let link = html! { a href={ "/round-problems/" (id) } { (name) } };
    let top = html! {
        (view.top(session, Some(&name)))
        h2 { (t::TryTitle { problem: link }) }
    };
    Ok(Place {
        top,
        manifest: Manifest::of_json(&version.manifest),
    })
}

fn limits(manifest: &Manifest) -> Limits {
    let stated = manifest.longest_cpu_time_ms.map(Duration::from_millis);
    let cpu_time = stated.unwrap_or(CPU_TIME.0).min(CPU_TIME.1);
    Limits {
        cpu_time,
        real_time: Limits::real_time_for(cpu_time),
        memory: manifest.memory_bytes.unwrap_or(MEMORY_BYTES),
        output: OUTPUT_LIMIT,
        processes: PROCESSES,
    }
}

fn show(app: &App, session: &Session, place: &Place, sent: [&str; 3], result: Markup) -> Page {
    let [language, code, input] = sent;
    let mut languages: Vec<(&str, &dyn Render)> = vec![("", &t::SubmitByName)];
    for one in &app.languages {
        languages.push((&one.name, &one.title));
    }
    let main = html! {
        (place.top)
        @if place.manifest.interactive {
            p { (t::TryInteractive) }
        } @else {
            (result)
            form.fields method="post" enctype="multipart/form-data" {
                (select("language", t::Language, &languages, language))
                label { (t::SubmitFile) input type="file" name="file"; }
                label { (t::TrySource)
                    textarea name="code" spellcheck="false" { "\n" (code) }
                }
                label { (t::StatementInput)
                    textarea name="input" spellcheck="false" { "\n" (input) }
                }
                button { (t::TryRun) }
            }
            p.hint { (t::TryHint) }
        }
    };
    Ok(page(session, t::ProblemTry, main).into_response())
}

/// The page before the first trial, with the language of the user's last submission.
async fn start(app: &App, session: &Session, place: &Place) -> Page {
    let last = last_language(app, session.user_id()?).await?;
    let language = last.unwrap_or_default();
    show(app, session, place, [&language, "", ""], html! {})
}

async fn try_out(app: &App, session: &Session, place: &Place, form: Multipart) -> Page {
    let user = session.user_id()?;
    if place.manifest.interactive {
        return Err(PageError::NotFound);
    }
    let upload = Upload::read(form).await?;
    // Browsers send the line ends of text fields as CR LF.
    let input = upload.field("input").replace("\r\n", "\n");
    let (language, code) = (
        upload.field("language").to_owned(),
        upload.field("code").to_owned(),
    );
    if input.len() > MAX_INPUT {
        return Err(Mistake::LargeInput { bytes: MAX_INPUT }.into());
    }
    let sent = Sent::of(app, upload, &SubmissionRules::default())?;
    let admitted = app.limits.tries.admit(user, Instant::now());
    admitted.map_err(PageError::TooOften)?;
    let trial = Trial {
        language: sent.language.name.clone(),
        file_name: sent.file_name,
        source: sent.content,
        input: input.clone().into_bytes(),
        limits: limits(&place.manifest),
    };
    let tried = app.trials.run(user, trial).await?;
    show(
        app,
        session,
        place,
        [&language, &code, &input],
        result(&tried),
    )
}

fn result(tried: &Tried) -> Markup {
    html! {
        h2 { (t::Result) }
        @match tried {
            Tried::Rejected { messages } => {
                p.bad { (t::TryCompileError) }
                pre tabindex="0" { "\n" (messages) }
            }
            Tried::Ran { output, failure } => {
                @match failure {
                    Some(failure) => p.bad { (t::TryFailed { failure }) },
                    None => p.good { (t::TryEnded) },
                }
                h3 { (t::StatementOutput) }
                pre #output tabindex="0" { "\n" (output) }
                @if output.len() >= MAX_OUTPUT { p.muted { (t::TryRest) } }
            }
        }
    }
}

/// `GET /problems/{id}/try`.
pub async fn problem_form(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let place = of_problem(&app, &session, id).await?;
    start(&app, &session, &place).await
}

/// `POST /problems/{id}/try`.
pub async fn on_problem(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    let place = of_problem(&app, &session, id).await?;
    try_out(&app, &session, &place, form).await
}

/// `GET /round-problems/{id}/try`.
pub async fn round_form(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let place = of_round(&app, &session, id).await?;
    start(&app, &session, &place).await
}

/// `POST /round-problems/{id}/try`.
pub async fn on_round(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    let place = of_round(&app, &session, id).await?;
    try_out(&app, &session, &place, form).await
}

//! Sending a source.

use crate::app::App;
use crate::core::source::{MAX_SOURCE, safe_name};
use crate::core::submission_rules::{Breach, Made, SubmissionRules};
use crate::core::time::Time;
use crate::db;
use crate::db::api_token;
use crate::db::contest::{self, MemberRole, RoundProblem};
use crate::db::judgement::{self, NewJudgement};
use crate::db::participant;
use crate::db::problem::{self, Problem};
use crate::db::submission::{self, Filter, Kind, NewSubmission};
use crate::http::contests::clocks;
use crate::http::contests::submission_rules::{facts, rejection};
use crate::http::contests::view::ContestView;
use crate::http::contests::view::{ViewedProblem, check_user};
use crate::http::problems;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{crumbs, editor_page, page};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{Upload, empty};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::judging::languages::{Language, of_source};
use crate::text::t;
use axum::extract::{Multipart, Path};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use std::time::Instant;

/// A source from a form.
pub struct Sent<'a> {
    pub language: &'a Language,
    pub file_name: String,
    pub content: Vec<u8>,
    pub is_ignored: bool,
}

/// A source that is not accepted. The form shows it again, with the mistake at its field.
struct Rejected {
    language: String,
    code: String,
    is_ignored: bool,
    why: Mistake,
}

/// The source in a form as text. A form cannot choose a file again, so the text of a file is kept.
fn source_text(upload: &Upload) -> String {
    match upload.content.is_empty() {
        true => upload.field("code").to_owned(),
        false => String::from_utf8_lossy(&upload.content).replace('\0', ""),
    }
}

impl Rejected {
    fn of(upload: Upload, why: Mistake) -> Rejected {
        Rejected {
            language: upload.field("language").to_owned(),
            code: source_text(&upload),
            is_ignored: !upload.field("ignored").is_empty(),
            why,
        }
    }

    fn concerns_language(&self) -> bool {
        matches!(
            self.why,
            Mistake::NoLanguage | Mistake::LanguageMissing | Mistake::LanguageNotAllowed
        )
    }

    fn respond(&self, page: Html<String>) -> Response {
        (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
    }
}

/// A mistake below the field that it concerns.
fn mistake(id: &str, why: &Mistake) -> Markup {
    html! { p.bad id=(id) role="alert" { (*why.message()) } }
}

/// For what a source is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For the result in a contest, or outside contests.
    Result,
    /// For a test by the staff, which may be ignored.
    Staff,
    /// For practice after a round.
    Practice,
}

/// The form. `last` is the language of the user's last submission, and `rules` are those of the
/// round.
fn form(
    app: &App,
    last: Option<&str>,
    purpose: Purpose,
    rejected: Option<&Rejected>,
    rules: &SubmissionRules,
) -> Markup {
    let is_allowed = |language: &&Language| rules.allows(&language.name);
    let last = rejected.map_or(last, |one| Some(&one.language));
    let of_language = rejected.filter(|one| one.concerns_language());
    let of_code = rejected.filter(|one| !one.concerns_language());
    let code = rejected.map_or("", |one| &one.code);
    html! {
        form.fields.wide method="post" enctype="multipart/form-data" {
            div.pair {
                label { (t::Language)
                    select #runtime name="language"
                        aria-invalid=[of_language.map(|_| "true")]
                        aria-describedby=[of_language.map(|_| "language-mistake")] {
                        option value="" { (t::SubmitByName) }
                        @for language in app.languages.iter().filter(is_allowed) {
                            option value=(language.name) data-language=(language.name)
                                data-extensions=(language.suite.sources.extensions.join(" "))
                                data-default[language.suite.default]
                                selected[last == Some(&language.name)] { (language.title) }
                        }
                    }
                }
                label { (t::SubmitFile)
                    input type="file" name="file";
                    span.hint { (t::SubmitFileHint) }
                }
            }
            @if let Some(one) = of_language { (mistake("language-mistake", &one.why)) }
            div {
                label for="code" { (t::SubmitSource) }
                div.editor #editor {
                    textarea.source #code name="code" spellcheck="false" autocapitalize="off"
                        autocomplete="off" aria-describedby="code-hint"
                        aria-invalid=[of_code.map(|_| "true")] { "\n" (code) }
                }
                @if let Some(one) = of_code { (mistake("code-mistake", &one.why)) }
                // Without the script, Tab leaves the field.
                p.hint #code-hint hidden { (t::SubmitTabHint) }
            }
            @if purpose == Purpose::Practice { input type="hidden" name="practice" value="1"; }
            @if purpose == Purpose::Staff {
                label.check {
                    input type="checkbox" name="ignored" value="1"
                        checked[rejected.is_none_or(|one| one.is_ignored)];
                    (t::SubmitIgnore)
                }
            }
            button { (t::Submit) }
        }
    }
}

/// The language of the user's last submission.
pub async fn last_language(app: &App, user: i64) -> Page<Option<String>> {
    let filter = Filter {
        user: Some(user),
        ..Filter::default()
    };
    let last = submission::page(&app.db, filter, 1).await?.pop();
    Ok(last.map(|one| one.language))
}

impl Sent<'_> {
    /// The language of a source. Checks it by the rules of a round, and checks its size.
    ///
    /// # Errors
    /// The source is not accepted.
    pub fn check<'a>(
        app: &'a App,
        upload: &Upload,
        rules: &SubmissionRules,
    ) -> Result<&'a Language, Mistake> {
        let language = match upload.field("language") {
            "" => of_source(&app.languages, &upload.file_name, &upload.content)
                .ok_or(Mistake::NoLanguage),
            name => app.language(name).ok_or(Mistake::LanguageMissing),
        }?;
        let code = upload.field("code");
        if upload.content.is_empty() && code.is_empty() {
            return Err(Mistake::NoSource);
        }
        // Line ends of text fields become shorter.
        let bytes = match upload.content.len() {
            0 => code.len() - code.matches("\r\n").count(),
            bytes => bytes,
        };
        if bytes > MAX_SOURCE {
            return Err(Mistake::LargeSource { bytes: MAX_SOURCE });
        }
        let language = match rules.allows(&language.name) || !upload.field("language").is_empty() {
            true => language,
            // The default version of a language may be forbidden, and a different one allowed.
            false => {
                let is_version = |one: &&Language| {
                    one.suite.language == language.suite.language && rules.allows(&one.name)
                };
                app.languages.iter().find(is_version).unwrap_or(language)
            }
        };
        match rules.check_source(&language.name, bytes) {
            Ok(()) => Ok(language),
            Err(Breach::Size { max_bytes }) => Err(Mistake::LargeSource { bytes: max_bytes }),
            Err(_) => Err(Mistake::LanguageNotAllowed),
        }
    }

    /// The source of a form with the fields `language`, `file` and `code`.
    ///
    /// # Errors
    /// The source is not accepted.
    pub fn of<'a>(
        app: &'a App,
        upload: Upload,
        rules: &SubmissionRules,
    ) -> Result<Sent<'a>, Mistake> {
        let language = Sent::check(app, &upload, rules)?;
        let is_ignored = !upload.field("ignored").is_empty();
        let (file_name, content) = if upload.content.is_empty() {
            // Browsers send the line ends of text fields as CR LF.
            let code = upload.field("code").replace("\r\n", "\n");
            (language.file_name.clone(), code.into_bytes())
        } else {
            let name =
                safe_name(&upload.file_name).filter(|name| language.suite.compiles(name.as_ref()));
            let name = name.unwrap_or(&language.file_name).to_owned();
            (name, upload.content)
        };
        Ok(Sent {
            language,
            file_name,
            content,
            is_ignored,
        })
    }
}

/// The target of a source.
struct Target {
    problem_id: i64,
    version_id: i64,
    round_problem_id: Option<i64>,
    /// The contest, and whether the user manages it.
    contest: Option<(i64, bool)>,
    /// The rules of the round.
    rules: SubmissionRules,
    priority: i64,
    kind: Kind,
}

/// Adds a submission and returns its number. A request with the key of an earlier one adds nothing.
async fn insert(
    app: &App,
    session: &Session,
    sent: Sent<'_>,
    target: Target,
    key: Option<&str>,
) -> Page<i64> {
    let user_id = session.user_id()?;
    if let Some(key) = key
        && let Some(earlier) = api_token::submitted(&app.db, user_id, key).await?
    {
        return Ok(earlier);
    }
    let admitted = app.limits.submissions.admit(user_id, Instant::now());
    admitted.map_err(PageError::TooOften)?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    if let Some(key) = key
        && let Some(earlier) = api_token::submitted(&mut tx, user_id, key).await?
    {
        return Ok(earlier);
    }
    let participant_id = match target.contest {
        Some((contest, is_staff)) => {
            if !is_staff {
                check_user(&mut tx, contest, user_id).await?;
                contest::join(&mut tx, contest, user_id, MemberRole::Contestant, now).await?;
            }
            let found = participant::ensure(&mut tx, contest, user_id, is_staff).await?;
            if let Some(problem) = target.round_problem_id {
                let made = db::submission_rules::made(&mut tx, found.id, problem).await?;
                target.rules.check_made(made, now).map_err(rejection)?;
            }
            Some(found.id)
        }
        None => None,
    };
    let new = NewSubmission {
        user_id,
        problem_id: target.problem_id,
        round_problem_id: target.round_problem_id,
        participant_id,
        language: &sent.language.name,
        kind: target.kind,
        file_name: &sent.file_name,
        source: &sent.content,
    };
    let submission_id = submission::insert(&mut tx, &new, now).await?;
    let new = NewJudgement {
        submission_id,
        version_id: target.version_id,
        user_id,
        priority: target.priority,
        is_first: true,
    };
    judgement::insert(&mut tx, &new, now).await?;
    if let Some(key) = key {
        api_token::remember(&mut tx, user_id, key, submission_id, now).await?;
    }
    tx.commit().await?;
    app.queue.wake();
    Ok(submission_id)
}

fn to_submission(id: i64) -> Page {
    Ok(Redirect::to(&format!("/submissions/{id}")).into_response())
}

/// `GET /problems/{id}/submit`.
pub async fn problem_form(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (problem, _) = problems::find(&app, &session, id).await?;
    let page = problem_page(&app, &session, &problem, None).await?;
    Ok(page.into_response())
}

async fn problem_page(
    app: &App,
    session: &Session,
    problem: &Problem,
    rejected: Option<&Rejected>,
) -> Page<Html<String>> {
    let last = last_language(app, session.user_id()?).await?;
    let address = format!("/problems/{}", problem.id);
    let main = html! {
        (crumbs(&[("/problems", &t::Problems), (&address, &problem.name)], t::Submit))
        h1 { (t::SubmitTo { problem: &problem.name }) }
        (form(app, last.as_deref(), Purpose::Result, rejected, &SubmissionRules::default()))
    };
    Ok(editor_page(session, t::Submit, main))
}

/// `POST /problems/{id}/submit`.
pub async fn to_problem(Ctx { app, session }: Ctx, Path(id): Path<i64>, form: Multipart) -> Page {
    // A form is read only for a problem that the viewer may see.
    let (problem, access) = problems::find(&app, &session, id).await?;
    session.user_id()?;
    let upload = Upload::read(form).await?;
    if let Err(why) = Sent::check(&app, &upload, &SubmissionRules::default())
        && access.submit
    {
        let rejected = Rejected::of(upload, why);
        let page = problem_page(&app, &session, &problem, Some(&rejected)).await?;
        return Ok(rejected.respond(page));
    }
    to_submission(send_to_problem(&app, &session, id, upload, None).await?)
}

/// Sends a source to a problem outside contests. Returns the number of the submission.
///
/// # Errors
/// The viewer may not do this, or the source is not accepted.
pub async fn send_to_problem(
    app: &App,
    session: &Session,
    id: i64,
    upload: Upload,
    key: Option<&str>,
) -> Page<i64> {
    let (problem, access) = problems::find(app, session, id).await?;
    session.user_id()?;
    if !access.submit {
        return Err(PageError::NotFound);
    }
    let version = problem::current_version(&app.db, problem.id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let sent = Sent::of(app, upload, &SubmissionRules::default())?;
    let target = Target {
        problem_id: id,
        version_id: version.id,
        round_problem_id: None,
        contest: None,
        rules: SubmissionRules::default(),
        priority: judgement::PRACTICE,
        kind: Kind::Normal,
    };
    insert(app, session, sent, target, key).await
}

/// The rules for a viewer. The staff may test the contest without them.
async fn rules(app: &App, view: &ContestView, problem: &RoundProblem) -> Page<SubmissionRules> {
    if view.access.manage {
        return Ok(SubmissionRules::default());
    }
    let own = db::submission_rules::of_problem(&app.db, problem.id).await?;
    let of_round = db::submission_rules::of_round(&app.db, problem.round_id).await?;
    Ok(own.in_round(of_round))
}

/// `GET /round-problems/{id}/submit`.
pub async fn round_form(ViewedProblem(Ctx { app, session }, view, problem): ViewedProblem) -> Page {
    let page = round_page(&app, &session, &view, &problem, None).await?;
    Ok(page.into_response())
}

async fn round_page(
    app: &App,
    session: &Session,
    view: &ContestView,
    problem: &RoundProblem,
    rejected: Option<&Rejected>,
) -> Page<Html<String>> {
    let last = last_language(app, session.user_id()?).await?;
    let times = view.times(problem.round_id, problem.schedule());
    let name = format!("{} {}", problem.label, problem.name);
    let rules = rules(app, view, problem).await?;
    let made = match &view.participant {
        Some(one) => db::submission_rules::made(&app.db, one.id, problem.id).await?,
        None => Made::default(),
    };
    let purpose = match view.access.manage {
        true => Purpose::Staff,
        false => Purpose::Result,
    };
    let practises = view.practises_problem(app, problem).await?;
    let main = html! {
        (view.top(session, Some(&name)))
        @let link = html! { a href={ "/round-problems/" (problem.id) } { (name) } };
        h2 { (t::SubmitTo { problem: link }) }
        (clocks::state(view, &times, Time::now()))
        @if view.submits(problem) {
            (facts(&rules, made, Time::now()))
            (form(app, last.as_deref(), purpose, rejected, &rules))
        } @else if practises {
            p.notice { (t::PracticeHint) }
            (form(app, last.as_deref(), Purpose::Practice, rejected, &rules))
        } @else if view.check_participant().is_ok() {
            (empty(t::RefusalRoundNotOpen, None))
        }
    };
    Ok(editor_page(session, t::Submit, main))
}

/// A source that came when the round did not accept it, so that its text is not lost.
fn unsent_page(
    session: &Session,
    view: &ContestView,
    problem: &RoundProblem,
    source: &str,
) -> Html<String> {
    let times = view.times(problem.round_id, problem.schedule());
    let name = format!("{} {}", problem.label, problem.name);
    let main = html! {
        (view.top(session, Some(&name)))
        @let link = html! { a href={ "/round-problems/" (problem.id) } { (name) } };
        h2 { (t::SubmitTo { problem: link }) }
        (clocks::state(view, &times, Time::now()))
        p.bad role="alert" { (t::SubmitNotOpen) }
        label { (t::SubmitSource)
            textarea.source readonly rows="20" spellcheck="false" { "\n" (source) }
        }
    };
    page(session, t::Submit, main)
}

/// `POST /round-problems/{id}/submit`.
pub async fn to_round(
    ViewedProblem(Ctx { app, session }, view, problem): ViewedProblem,
    form: Multipart,
) -> Page {
    let id = problem.id;
    session.user_id()?;
    let upload = Upload::read(form).await?;
    let rules = rules(&app, &view, &problem).await?;
    // A form of the round that arrives late is no practice.
    let is_practice = !upload.field("practice").is_empty();
    let is_open = match is_practice {
        true => view.practises_problem(&app, &problem).await?,
        false => view.submits(&problem),
    };
    if let Err(why) = Sent::check(&app, &upload, &rules)
        && is_open
    {
        let rejected = Rejected::of(upload, why);
        let page = round_page(&app, &session, &view, &problem, Some(&rejected)).await?;
        return Ok(rejected.respond(page));
    }
    let source = source_text(&upload);
    let keeps_source = !is_open && !source.is_empty() && view.check_participant().is_ok();
    if keeps_source {
        let page = unsent_page(&session, &view, &problem, &source);
        return Ok((StatusCode::FORBIDDEN, page).into_response());
    }
    let submission = match is_practice {
        true => send_for_practice(&app, &session, id, upload, None).await?,
        false => send_to_round(&app, &session, id, upload, None).await?,
    };
    to_submission(submission)
}

/// Sends a source to a problem of a round for practice. Returns the number of the submission.
///
/// # Errors
/// The viewer may not do this now, or the source is not accepted.
pub async fn send_for_practice(
    app: &App,
    session: &Session,
    id: i64,
    upload: Upload,
    key: Option<&str>,
) -> Page<i64> {
    let (view, problem) = ContestView::of_problem(app, session, id).await?;
    session.user_id()?;
    view.check_participant()?;
    if !view.practises_problem(app, &problem).await? {
        return Err(Refusal::RoundNotOpen.into());
    }
    let rules = rules(app, &view, &problem).await?;
    let sent = Sent::of(app, upload, &rules)?;
    let target = Target {
        problem_id: problem.problem_id,
        version_id: problem.version_id,
        round_problem_id: Some(id),
        // The submission belongs to no participant.
        contest: None,
        rules,
        priority: judgement::PRACTICE,
        kind: Kind::Practice,
    };
    insert(app, session, sent, target, key).await
}

/// Sends a source to a problem of a round. Returns the number of the submission.
///
/// # Errors
/// The viewer may not do this now, or the source is not accepted.
pub async fn send_to_round(
    app: &App,
    session: &Session,
    id: i64,
    upload: Upload,
    key: Option<&str>,
) -> Page<i64> {
    let (view, problem) = ContestView::of_problem(app, session, id).await?;
    session.user_id()?;
    view.check_participant()?;
    // The time at which the whole source has arrived counts.
    if !view.submits(&problem) {
        return Err(Refusal::RoundNotOpen.into());
    }
    let rules = rules(app, &view, &problem).await?;
    let sent = Sent::of(app, upload, &rules)?;
    let kind = if view.access.manage && sent.is_ignored {
        Kind::Ignored
    } else {
        Kind::Normal
    };
    let target = Target {
        problem_id: problem.problem_id,
        version_id: problem.version_id,
        round_problem_id: Some(id),
        contest: Some((problem.contest_id, view.access.manage)),
        rules,
        priority: judgement::CONTEST,
        kind,
    };
    insert(app, session, sent, target, key).await
}

//! Hints and solutions of problems, which open after the contest.

use super::{
    FILE_POLICY, LATEX, PDF, PDF_POLICY, StatementChoice, current, find, shown_file, shown_text,
};
use crate::app::App;
use crate::core::access::ProblemAccess;
use crate::core::package::editorial::{self as rule, Subject};
use crate::core::package::{Form, Manifest, Offer};
use crate::core::party::Party;
use crate::core::time::Time;
use crate::db::problem_use::{self, Use};
use crate::db::virtual_start::{self, Clock};
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{crumbs, page};
use crate::http::web::parts::{ShownStatement, readers_languages, time};
use crate::http::web::session::Session;
use crate::http::web::upload;
use crate::text::t;
use axum::extract::{Path, Query};
use axum::response::IntoResponse;
use maud::{Markup, PreEscaped, Render, html};

/// How a viewer is related to a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The owner, or an administrator.
    Owner,
    /// The staff of the contest whose page shows the problem.
    Staff,
    /// All others.
    Other,
}

/// A viewer that sees a problem.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    problem: i64,
    user: i64,
    role: Role,
    /// The round on whose page the viewer reads the problem.
    round: Option<i64>,
    /// The viewer sees the problem only because a class shows it.
    is_by_class: bool,
}

impl Reader {
    /// The viewer of a problem on the page of a round, or on its own page. Administrators are like
    /// its owner.
    pub fn new(session: &Session, problem: i64, role: Role, round: Option<i64>) -> Reader {
        let viewer = session.viewer();
        Reader {
            problem,
            user: viewer.id().unwrap_or(-1),
            role: if viewer.is_admin() { Role::Owner } else { role },
            round,
            is_by_class: false,
        }
    }

    /// A viewer on the page of the problem itself.
    pub fn of_problem(session: &Session, problem: i64, access: ProblemAccess) -> Reader {
        let role = match access.edit {
            true => Role::Owner,
            false => Role::Other,
        };
        Reader {
            is_by_class: access.is_by_class(),
            ..Reader::new(session, problem, role, None)
        }
    }

    /// When the hints and solutions open for others, and whether the viewer sees them now.
    async fn look(self, app: &App) -> Page<(Time, bool)> {
        let uses = problem_use::uses(&app.db, self.problem, self.user).await?;
        let round = |one: &Use| one.of_editorial(self.round);
        let opens = rule::opens(uses.iter().map(round));
        // A manager of one contest may be a contestant in another one with the same problem.
        let foreign = uses.iter().filter(|one| !one.is_managed());
        let now = Time::now();
        let is_staff = match self.role {
            Role::Owner => true,
            Role::Staff => rule::opens(foreign.map(round)) <= now,
            Role::Other => false,
        };
        // A virtual participation is like a round of the viewer's own.
        let clocks = virtual_start::of_problem(&app.db, self.user, self.problem).await?;
        let mut runs = clocks.iter().filter_map(Clock::run);
        let is_virtual = self.role != Role::Owner && runs.any(|run| run.is_on(now));
        let is_seen = rule::is_seen(true, is_staff, opens, now);
        let is_homework = self.is_by_class && !rule::has_ended(uses.iter().map(round), now);
        Ok((opens, is_seen && !is_virtual && !is_homework))
    }
}

/// Whether there are hints or solutions that the viewer sees.
pub async fn is_offered(app: &App, reader: Reader, manifest: &Manifest) -> Page<bool> {
    Ok(!manifest.editorial.notes.is_empty() && reader.look(app).await?.1)
}

/// A link to the page with hints and solutions. `root` is the path of the problem.
pub fn link(root: &str) -> Markup {
    html! { p.actions { a href={ (root) "/editorial" } { (t::Editorial) } } }
}

/// The hints and solutions, for a viewer that sees the problem. `root` is the path of the
/// problem.
///
/// # Errors
/// The package has none, or they are not open.
pub async fn content(
    app: &App,
    party: Party,
    reader: Reader,
    manifest: &Manifest,
    root: &str,
    choice: &StatementChoice,
) -> Page<Markup> {
    let (editorial, now) = (&manifest.editorial, Time::now());
    let (opens, is_seen) = reader.look(app).await?;
    if !is_seen || editorial.notes.is_empty() {
        return Err(PageError::NotFound);
    }
    let files = format!("{root}/editorial");
    let mut parts = Vec::new();
    for subject in Subject::ALL {
        let offers = editorial.offers(subject, &readers_languages());
        if offers.is_empty() {
            continue;
        }
        let shown = shown_text(
            app,
            party.clone(),
            &offers,
            &editorial.images,
            &files,
            choice,
        )
        .await?;
        parts.push(text(subject, &offers, &shown, &files));
    }
    Ok(html! {
        @if opens > now {
            p.hint {
                @if opens == Time::NEVER { (t::EditorialWithoutEnd) }
                @else { (t::EditorialOpens { time: time(opens) }) }
            }
        }
        @for part in &parts { (part) }
    })
}

fn subject_words(subject: Subject) -> &'static dyn Render {
    match subject {
        Subject::Hints => &t::EditorialHints,
        Subject::Solution => &t::EditorialSolution,
    }
}

/// A text that the reader opens, with links to its other languages and forms.
fn text(subject: Subject, offers: &[Offer<'_>], shown: &ShownStatement, files: &str) -> Markup {
    let is_shown = |one: &&Offer<'_>| {
        shown.html.is_some() && one.form == Form::Markdown && one.language == shown.language
    };
    let others: Vec<_> = offers.iter().filter(|one| !is_shown(one)).collect();
    let file = |language: &str, extension: &str| {
        format!("{files}/{}.{language}.{extension}", subject.stem())
    };
    html! {
        details.editorial {
            summary { h3 { (subject_words(subject)) } }
            @if !others.is_empty() { p.actions { @for one in others {
                @let language = one.language;
                @match one.form {
                    Form::Markdown => a href={ "?statement=" (language) } hreflang=(language) {
                        (t::EditorialMarkdown { language })
                    },
                    Form::Pdf => a href=(file(language, "pdf")) hreflang=(language) {
                        (t::EditorialPdf { language })
                    },
                    Form::Latex => a href=(file(language, "tex")) hreflang=(language) {
                        (t::EditorialLatex { language })
                    },
                }
            } } }
            @if let Some(text) = &shown.html {
                div.statement lang=(shown.language) { (PreEscaped(text)) }
            }
        }
    }
}

/// A file of the hints and solutions, for a viewer that sees the problem.
///
/// # Errors
/// The file does not exist, or the hints and solutions are not open.
pub async fn file(app: &App, reader: Reader, manifest: &Manifest, name: &str) -> Page {
    let (_, is_seen) = reader.look(app).await?;
    if !is_seen {
        return Err(PageError::NotFound);
    }
    let editorial = &manifest.editorial;
    if let Some(image) = editorial.images.iter().find(|image| image.name == name) {
        return shown_file(app, &image.digest, &image.media, FILE_POLICY).await;
    }
    let note = editorial.note(name).ok_or(PageError::NotFound)?;
    match note.form {
        Form::Pdf => shown_file(app, &note.digest, PDF, PDF_POLICY).await,
        Form::Latex => upload::download(app, &note.digest, name, LATEX).await,
        // Pages show these texts.
        Form::Markdown => Err(PageError::NotFound),
    }
}

/// `GET /problems/{id}/editorial`.
pub async fn of_problem(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Query(choice): Query<StatementChoice>,
) -> Page {
    let (problem, access) = find(&app, &session, id).await?;
    let (_, manifest) = current(&app, &problem).await?;
    let root = format!("/problems/{id}");
    let reader = Reader::of_problem(&session, id, access);
    let content = content(&app, session.party(), reader, &manifest, &root, &choice).await?;
    let main = html! {
        (crumbs(&[("/problems", &t::Problems), (&root, &problem.name)], t::Editorial))
        h1 { (problem.name) }
        h2 { (t::Editorial) }
        (content)
    };
    Ok(page(&session, t::Editorial, main).into_response())
}

/// `GET /problems/{id}/editorial/{name}`.
pub async fn file_of_problem(
    Ctx { app, session }: Ctx,
    Path((id, name)): Path<(i64, String)>,
) -> Page {
    let (problem, access) = find(&app, &session, id).await?;
    let (_, manifest) = current(&app, &problem).await?;
    let reader = Reader::of_problem(&session, id, access);
    file(&app, reader, &manifest, &name).await
}

//! Lists of users and teams: import with a preview, and export of users.

mod plan;

use crate::app::App;
use crate::core::roster::{
    self, Entry, File, FileError, LineError, MAX_BYTES, MAX_LINES, MAX_PASSWORDS, Roster,
    RosterError, Scope, Team, Unused,
};
use crate::core::token::PUPIL_BITS;
use crate::db::Db;
use crate::db::class::Class;
use crate::db::participant::Participant;
use crate::db::user::{self, Role, User};
use crate::http::classes::view::{self as classes, ManagedClass};
use crate::http::contests::view::ContestView;
use crate::http::web::context::{Admin, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::Upload;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::slips::{self, Issue, Made};
use crate::http::web::storable;
use crate::http::web::vocabulary;
use crate::text::{Message, t};
use axum::extract::{Multipart, Path};
use axum::http::Uri;
use axum::response::IntoResponse;
use maud::{Markup, Render, html};
use plan::{Aim, Effect, LINKS_LAST, Plan, Row, Step};

/// The number of users that are read at a time.
const EXPORT_ROWS: i64 = 500;

/// The target of lists: the site, a contest with its teams, or a class.
struct Target {
    view: Option<ContestView>,
    class: Option<Class>,
    path: String,
}

impl Target {
    fn site() -> Target {
        Target {
            view: None,
            class: None,
            path: "/users/import".to_owned(),
        }
    }

    async fn contest(app: &App, session: &Session, id: i64) -> Page<Target> {
        Ok(Target {
            view: Some(ContestView::managed(app, session, id).await?),
            class: None,
            path: format!("/contests/{id}/import"),
        })
    }

    fn class(class: Class) -> Target {
        Target {
            view: None,
            path: format!("/classes/{}/import", class.id),
            class: Some(class),
        }
    }

    fn aim(&self, session: &Session) -> Aim {
        match (&self.view, &self.class) {
            (Some(view), _) => Aim::Contest(view.contest.id),
            (None, Some(class)) => Aim::Class(class.id, session.viewer()),
            (None, None) => Aim::Site,
        }
    }

    /// The page with the result, and its name.
    fn after(&self) -> (String, &'static dyn Render) {
        match (&self.view, &self.class) {
            (Some(view), _) => (
                format!("/contests/{}/participants", view.contest.id),
                &t::ContestTabParticipants,
            ),
            (None, Some(class)) => (format!("/classes/{}", class.id), &t::ClassGoTo),
            (None, None) => ("/users".to_owned(), &t::RosterGoToUsers),
        }
    }

    fn scope(&self) -> Scope {
        match self.view {
            Some(_) => Scope::Contest,
            None => Scope::Site,
        }
    }

    /// The files that the form contains.
    fn files(&self) -> &'static [File] {
        match self.view {
            Some(_) => &File::ALL,
            None => &[File::Accounts],
        }
    }

    /// The page with a title, below the tabs of the contest.
    fn page(&self, session: &Session, title: impl Message + Copy, main: &Markup) -> Page {
        let main = html! {
            @match (&self.view, &self.class) {
                (Some(view), _) => { (view.top(session, Some(&title))) h2 { (title) } }
                (None, Some(class)) => div.unprinted {
                    (classes::top(class, Some(&title))) h2 { (title) }
                }
                (None, None) => h1 { (title) }
            }
            (main)
        };
        Ok(page(session, title, main).into_response())
    }
}

/// `GET /users/import`.
pub async fn form(Admin { session, .. }: Admin) -> Page {
    form_page(&session, &Target::site())
}

/// `GET /contests/{id}/import`.
pub async fn contest_form(Admin { app, session, .. }: Admin, Path(id): Path<i64>) -> Page {
    form_page(&session, &Target::contest(&app, &session, id).await?)
}

/// `GET /classes/{id}/import`.
pub async fn class_form(ManagedClass(Ctx { session, .. }, class): ManagedClass) -> Page {
    form_page(&session, &Target::class(class))
}

fn form_page(session: &Session, target: &Target) -> Page {
    let columns = match target.class {
        Some(_) => "login,name,password\n",
        None => "login,name,email,role,password\n",
    };
    let main = html! {
        form.fields method="post" enctype="multipart/form-data" {
            @for file in target.files() {
                label { (file_words(*file)) input type="file" name=(file.field())
                    accept=".csv,.tsv,.json,.txt"; }
            }
            @if target.view.is_none() {
                label { (t::RosterList) textarea name="list" spellcheck="false" {
                    (columns)
                } }
            }
            button { (t::RosterPreview) }
        }
        @if target.view.is_some() { p.hint { (t::RosterTeamsHint) } }
        @if target.class.is_some() { p.hint { (t::ClassImportHint) } }
        p.hint { (t::RosterHint { lines: MAX_LINES, kib: MAX_BYTES >> 10 }) }
    };
    match (&target.view, &target.class) {
        (Some(_), _) => target.page(session, t::RosterTeamsTitle, &main),
        (None, Some(_)) => target.page(session, t::ClassImport, &main),
        (None, None) => target.page(session, t::UsersAdd, &main),
    }
}

fn file_words(file: File) -> &'static dyn Render {
    match file {
        File::Teams => &t::RosterFileTeams,
        File::Groups => &t::RosterFileGroups,
        File::Organizations => &t::RosterFileOrganizations,
        File::Accounts => &t::RosterFileAccounts,
    }
}

/// The text of a file of the form.
fn text(upload: &Upload, file: File) -> &str {
    match upload.field(file.field()) {
        "" if file == File::Accounts => upload.field("list"),
        text => text,
    }
}

/// `POST /users/import`: shows the preview.
pub async fn preview(Admin { app, session, .. }: Admin, form: Multipart) -> Page {
    preview_page(&app, &session, &Target::site(), form).await
}

/// `POST /contests/{id}/import`: shows the preview.
pub async fn contest_preview(
    Admin { app, session, .. }: Admin,
    Path(id): Path<i64>,
    form: Multipart,
) -> Page {
    let target = Target::contest(&app, &session, id).await?;
    preview_page(&app, &session, &target, form).await
}

/// `POST /classes/{id}/import`: shows the preview.
pub async fn class_preview(
    ManagedClass(Ctx { app, session }, class): ManagedClass,
    form: Multipart,
) -> Page {
    preview_page(&app, &session, &Target::class(class), form).await
}

/// Adds the texts of the files to the fields of a form.
fn decode(upload: &mut Upload) -> Page<()> {
    for (name, content) in std::mem::take(&mut upload.others) {
        let Some(file) = File::ALL.into_iter().find(|file| file.field() == name) else {
            continue;
        };
        let text = roster::decode(&content).map_err(|error| RosterError {
            file,
            why: FileError::Encoding(error),
        })?;
        storable::check(&name, &text)?;
        upload.fields.insert(name, text);
    }
    Ok(())
}

/// Reads a form and its files.
async fn read(
    app: &App,
    session: &Session,
    target: &Target,
    form: Multipart,
) -> Page<(Upload, Roster)> {
    let mut upload = Upload::read(form).await?;
    decode(&mut upload)?;
    let turn = app.limits.rendering.turn(session.party()).await?;
    let scope = target.scope();
    let work = move || {
        let roster = roster::read(scope, |file| text(&upload, file));
        (upload, roster)
    };
    let (upload, roster) = turn.run(work).await?;
    Ok((upload, roster?))
}

async fn preview_page(app: &App, session: &Session, target: &Target, form: Multipart) -> Page {
    let (upload, mut roster) = read(app, session, target, form).await?;
    let unused = std::mem::take(&mut roster.unused);
    let plan = Plan::of(app, target.aim(session), roster).await?;
    let refused = plan.refusals();
    let main = html! {
        p #counts {
            (t::RosterCounts {
                added: plan.count(Effect::Add),
                changed: plan.count(Effect::Change),
                kept: plan.count(Effect::Keep),
                refused,
            })
        }
        (unused_columns(&unused))
        @if !plan.refused.is_empty() {
            ul { @for (file, number, error) in &plan.refused {
                li { (file_words(*file)) ", " (number) ": " (refusal(error)) }
            } }
        }
        @if !plan.teams.is_empty() { (teams(&plan.teams)) }
        @if !plan.users.is_empty() { (users(&plan.users)) }
        @if refused > 0 {
            p.bad { (t::RosterCorrect) }
            p { a href=(target.path) { (t::RosterOtherFiles) } }
        } @else {
            form.fields method="post" action={ (target.path) "/apply" }
                enctype="multipart/form-data" {
                @for file in target.files() {
                    textarea name=(file.field()) hidden { "\n" (text(&upload, *file)) }
                }
                input type="hidden" name="plan" value=(plan.digest());
                @if plan.needs_secrets() { (issues(target.class.is_some())) }
                button name="format" value="page" { (t::RosterApply) }
                button name="format" value="csv" { (t::RosterApplyCsv) }
            }
        }
    };
    target.page(session, t::RosterPreview, &main)
}

/// The choice of what new users without a password receive.
fn issues(prefers_passwords: bool) -> Markup {
    html! {
        fieldset {
            legend { (t::RosterIssue) }
            label.check {
                input type="radio" name="issue" value="links" checked[!prefers_passwords];
                (t::RosterIssueLinks { days: LINKS_LAST.as_secs() / 86_400 })
            }
            label.check {
                input type="radio" name="issue" value="passwords" checked[prefers_passwords];
                (t::RosterIssuePasswords { bits: PUPIL_BITS, max: MAX_PASSWORDS })
            }
        }
        p.hint { (t::RosterApplyHint) }
    }
}

/// The columns that are not read. Nothing of them is applied.
fn unused_columns(unused: &[Unused]) -> Markup {
    html! {
        @if !unused.is_empty() { ul.notice #unused { @for one in unused { li {
            (t::RosterUnused {
                file: file_words(one.file).render(),
                names: one.names.join(", "),
                read: one.read.join(", "),
            })
        } } } }
    }
}

/// The rows of a table, with `cells` for the lines that are accepted.
fn rows<T, F>(rows: &[Row<T, F>], cells: impl Fn(&Step<T, F>) -> Markup) -> Markup {
    html! {
        @for row in rows {
            @match row {
                Ok(step) => tr {
                    td.number { (step.number) }
                    td { (effect_words(step.effect)) }
                    (cells(step))
                },
                Err((number, error)) => tr {
                    td.number { (number) }
                    td.bad { (t::RosterRefuse) }
                    td colspan="5" { (refusal(error)) }
                },
            }
        }
    }
}

fn refusal(error: &LineError) -> Markup {
    crate::http::web::mistake::line(error).render()
}

fn teams(found: &[Row<Team, Participant>]) -> Markup {
    let cells = |step: &Step<Team, Participant>| {
        let (new, old) = (&step.listed, step.found.as_ref());
        html! {
            td { (new.id) }
            td { (changed(old.map(|one| one.name.as_str()), &new.name)) }
            td { (changed(old.map(|one| one.organization.as_str()), &new.organization)) }
            td { (changed(old.map(|one| one.group_name.as_str()), &new.group)) }
            td { @if new.hidden == Some(true) { (t::ParticipantHidden) } }
        }
    };
    html! {
        h2 { (t::RosterTeams) }
        div.scroll { table #teams {
            thead { tr {
                th.number { (t::RosterNumber) } th { (t::RosterEffect) } th { (t::RosterId) }
                th { (t::Name) } th { (t::ParticipantsOrganization) } th { (t::Group) }
                th { (t::ParticipantsDifferences) }
            } }
            tbody { (rows(found, cells)) }
        } }
    }
}

fn users(found: &[Row<Entry, User>]) -> Markup {
    let cells = |step: &Step<Entry, User>| {
        let (new, old) = (&step.listed, step.found.as_ref());
        html! {
            td { (new.login) @if let Some(team) = new.team.as_ref().filter(|_| step.joins) {
                " (" (t::RosterJoins { team }) ")"
            } }
            @let old_name = old.map(|one| one.name.as_str());
            td { (changed(old_name, new.name_after(old_name))) }
            td { (new.email.as_deref().unwrap_or_default()) }
            td { (changed_role(old, new.role_after(old.map(|one| one.role)))) }
            td { (password_words(step)) }
        }
    };
    html! {
        h2 { (t::Users) }
        div.scroll { table #users {
            thead { tr {
                th.number { (t::RosterNumber) } th { (t::RosterEffect) } th { (t::Login) }
                th { (t::PersonName) } th { (t::RosterEmail) } th { (t::Role) }
                th { (t::Password) }
            } }
            tbody { (rows(found, cells)) }
        } }
    }
}

fn effect_words(effect: Effect) -> &'static dyn Message {
    match effect {
        Effect::Add => &t::RosterAdd,
        Effect::Change => &t::RosterChange,
        Effect::Keep => &t::RosterKeep,
    }
}

fn changed(old: Option<&str>, new: &str) -> Markup {
    html! {
        @match old {
            Some(old) if old != new => { (old) " → " (new) },
            _ => (new),
        }
    }
}

fn changed_role(old: Option<&User>, new: Role) -> Markup {
    html! {
        @match old {
            Some(old) if old.role != new => {
                (vocabulary::role(old.role)) " → " (vocabulary::role(new))
            },
            _ => (vocabulary::role(new)),
        }
    }
}

fn password_words(step: &Step<Entry, User>) -> &'static dyn Render {
    match (&step.listed.password, &step.found) {
        (Some(_), None) => &t::RosterPasswordListed,
        (Some(_), Some(_)) if step.changes_password => &t::RosterPasswordListed,
        (None, None) => &t::RosterPasswordLink,
        _ => &"",
    }
}

/// `POST /users/import/apply`: applies all lines or none.
pub async fn apply(Admin { app, session, .. }: Admin, form: Multipart) -> Page {
    apply_page(&app, &session, &Target::site(), form).await
}

/// `POST /contests/{id}/import/apply`: applies all lines or none.
pub async fn contest_apply(
    Admin { app, session, .. }: Admin,
    Path(id): Path<i64>,
    form: Multipart,
) -> Page {
    let target = Target::contest(&app, &session, id).await?;
    apply_page(&app, &session, &target, form).await
}

/// `POST /classes/{id}/import/apply`: applies all lines or none.
pub async fn class_apply(
    ManagedClass(Ctx { app, session }, class): ManagedClass,
    form: Multipart,
) -> Page {
    apply_page(&app, &session, &Target::class(class), form).await
}

async fn apply_page(app: &App, session: &Session, target: &Target, form: Multipart) -> Page {
    let (upload, roster) = read(app, session, target, form).await?;
    let plan = Plan::of(app, target.aim(session), roster).await?;
    if plan.digest() != upload.field("plan") {
        return Err(Refusal::RosterChanged.into());
    }
    let issue = match upload.field("issue") {
        "passwords" => Issue::Passwords,
        _ => Issue::Links,
    };
    let made = plan.apply(app, session, issue).await?;
    if upload.field("format") == "csv" {
        return Ok(slips::secrets_file(&made, issue));
    }
    target.page(session, t::RosterDone, &done(target, &made, issue))
}

fn done(target: &Target, made: &[Made], issue: Issue) -> Markup {
    html! {
        div.unprinted {
            @match (made, issue) {
                ([], _) => p { (t::RosterMadeNone) },
                (_, Issue::Links) => p { (t::RosterMade) },
                (_, Issue::Passwords) => p { (t::RosterMadePasswords) },
            }
        }
        @if !made.is_empty() { (slips::slips(made, issue)) }
        @let (href, words) = target.after();
        p.unprinted { a href=(href) { (words) } }
    }
}

async fn everyone(db: &Db) -> Page<Vec<User>> {
    let mut users = Vec::new();
    let mut after = 0;
    loop {
        let page = user::page(db, after, EXPORT_ROWS).await?;
        let Some(last) = page.last() else {
            return Ok(users);
        };
        after = last.id;
        users.extend(page);
    }
}

/// `GET /users/export.csv` and `GET /users/export.json`.
pub async fn export(Admin { app, .. }: Admin, uri: Uri) -> Page {
    let format = uri.path().rsplit('.').next().unwrap_or_default();
    let users = everyone(&app.db).await?;
    match format {
        "csv" => {
            let head = vec!["login", "name", "email", "role"];
            let rows = users.iter().map(|one| {
                let email = one.email.as_deref().unwrap_or_default();
                vec![one.login.as_str(), &one.name, email, one.role.text()]
            });
            let text = roster::csv(std::iter::once(head).chain(rows));
            Ok(slips::file("users.csv", "text/csv; charset=utf-8", text))
        }
        "json" => {
            let users: Vec<_> = users.iter().map(object).collect();
            let text = serde_json::to_string_pretty(&users).unwrap_or_default() + "\n";
            Ok(slips::file("users.json", "application/json", text))
        }
        _ => Err(PageError::NotFound),
    }
}

fn object(user: &User) -> serde_json::Value {
    serde_json::json!({
        "login": user.login, "name": user.name, "email": user.email, "role": user.role,
    })
}

//! The plan of an import: its effect on each line, and its execution.

use crate::app::App;
use crate::core::access::{self, Viewer};
use crate::core::party::Party;
use crate::core::roster::{
    Entry, File, FileError, Line, LineError, MAX_PASSWORDS, Roster, RosterError, Team,
};
use crate::core::time::Time;
use crate::core::token::{Token, hex, pupil_password};
use crate::db::class;
use crate::db::contest::{self, MemberRole};
use crate::db::credential::Kept;
use crate::db::participant::{self, Fields, Participant};
use crate::db::password;
use crate::db::user::{self, NewUser, Role, User};
use crate::db::{Tx, reset};
use crate::http::classes::view as classes;
use crate::http::web::error::Page;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::slips::{Issue, Made};
use futures_util::{StreamExt, TryStreamExt, stream};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

/// How long new users have to choose a password.
pub const LINKS_LAST: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// The number of lines that are looked up, and of passwords that are hashed, at the same time. It
/// must be below the bound of [`crate::core::password`].
const HASHES: usize = 4;

/// Where an import adds users.
#[derive(Debug, Clone, Copy)]
pub enum Aim {
    /// To the site.
    Site,
    /// To a contest, with teams.
    Contest(i64),
    /// To the class with this id. The viewer changes only own pupils.
    Class(i64, Viewer),
}

impl Aim {
    fn contest(self) -> Option<i64> {
        match self {
            Aim::Contest(id) => Some(id),
            Aim::Site | Aim::Class(..) => None,
        }
    }

    /// The party for which passwords are hashed.
    fn party(self) -> Party {
        match self {
            Aim::Class(_, viewer) => viewer.id().map_or(Party::Guests, Party::User),
            Aim::Site | Aim::Contest(_) => Party::Site,
        }
    }
}

/// What an import does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Add,
    Change,
    Keep,
}

/// A line that is accepted.
#[derive(Debug)]
pub struct Step<T, F> {
    pub number: usize,
    pub listed: T,
    pub found: Option<F>,
    pub effect: Effect,
    /// Whether a user receives a new password.
    pub changes_password: bool,
    /// Whether a user becomes a member of the listed team, or of the class.
    pub joins: bool,
}

impl<T, F> Step<T, F> {
    /// Compares a line with what the site has.
    fn new(
        number: usize,
        listed: T,
        found: Option<F>,
        is_same: impl Fn(&T, &F) -> bool,
    ) -> Step<T, F> {
        let effect = match &found {
            None => Effect::Add,
            Some(found) if is_same(&listed, found) => Effect::Keep,
            Some(_) => Effect::Change,
        };
        Step {
            number,
            listed,
            found,
            effect,
            changes_password: false,
            joins: false,
        }
    }
}

/// A line, or its number and why it is refused.
pub type Row<T, F> = Result<Step<T, F>, (usize, LineError)>;

/// The effects of an import.
#[derive(Debug)]
pub struct Plan {
    aim: Aim,
    pub teams: Vec<Row<Team, Participant>>,
    pub users: Vec<Row<Entry, User>>,
    /// Lines of other files that are refused.
    pub refused: Vec<(File, usize, LineError)>,
}

impl Plan {
    /// Compares lists with the site. Teams need a contest.
    pub async fn of(app: &App, aim: Aim, roster: Roster) -> Page<Plan> {
        let known: HashSet<String> = roster
            .teams
            .iter()
            .filter_map(|line| Some(line.found.as_ref().ok()?.id.clone()))
            .collect();
        let mut teams = Vec::new();
        if let Some(contest) = aim.contest() {
            for line in roster.teams {
                teams.push(team(app, contest, line).await?);
            }
        }
        let users = roster.accounts.into_iter();
        let users: Vec<_> = users.map(|line| person(app, aim, &known, line)).collect();
        Ok(Plan {
            aim,
            teams,
            users: stream::iter(users).buffered(HASHES).try_collect().await?,
            refused: roster.refused,
        })
    }

    /// The number of lines with an effect.
    pub fn count(&self, effect: Effect) -> usize {
        let teams = self.teams.iter().flatten().map(|step| step.effect);
        let users = self.users.iter().flatten().map(|step| step.effect);
        teams.chain(users).filter(|one| *one == effect).count()
    }

    /// Whether a user is added without a password.
    pub fn needs_secrets(&self) -> bool {
        let mut users = self.users.iter().flatten();
        users.any(|step| step.found.is_none() && step.listed.password.is_none())
    }

    /// The number of lines that are refused.
    pub fn refusals(&self) -> usize {
        let teams = self.teams.iter().filter(|row| row.is_err()).count();
        let users = self.users.iter().filter(|row| row.is_err()).count();
        teams + users + self.refused.len()
    }

    /// A digest of all effects. It ensures that exactly the effects that an administrator has seen
    /// are applied.
    pub fn digest(&self) -> String {
        let mut text = String::new();
        // Writing to memory does not fail.
        for step in self.teams.iter().flatten() {
            let found = step.found.as_ref().map(team_state);
            let _ = writeln!(text, "{:?} {found:?} {:?}", step.listed.id, step.effect);
        }
        for step in self.users.iter().flatten() {
            let found = step.found.as_ref().map(user_state);
            let flags = (step.effect, step.changes_password, step.joins);
            let _ = writeln!(text, "{:?} {found:?} {flags:?}", step.listed.login);
        }
        hex(&Sha256::digest(text))
    }

    /// Applies everything in one transaction. Returns the users added without a password. The
    /// session of the administrator does not end.
    ///
    /// # Errors
    /// A line is refused, there are too many passwords, or the site has changed since the lists
    /// were compared.
    pub async fn apply(self, app: &App, session: &Session, issue: Issue) -> Page<Vec<Made>> {
        if self.refusals() > 0 {
            return Err(Refusal::RosterRefused.into());
        }
        let users: Vec<_> = self.users.into_iter().flatten().collect();
        let secrets: Vec<_> = users.iter().map(|step| secret(step, issue)).collect();
        let hashes = hashes(app, self.aim.party(), &users, &secrets).await?;
        let now = Time::now();
        let mut tx = app.db.begin().await?;
        check_unchanged(&mut tx, &users).await?;
        check_class(&mut tx, self.aim, &users).await?;
        let mut teams = HashMap::new();
        for step in self.teams.into_iter().flatten() {
            let contest = self.aim.contest().ok_or(Refusal::RosterChanged)?;
            let found = participant::by_external_id(&mut tx, contest, &step.listed.id).await?;
            if found.as_ref().map(team_state) != step.found.as_ref().map(team_state) {
                return Err(Refusal::RosterChanged.into());
            }
            let id = put_team(&mut tx, contest, &step).await?;
            teams.insert(step.listed.id, id);
        }
        let own = session.user_id()?;
        let (mut made, mut changed) = (Vec::new(), Vec::new());
        for ((step, hash), secret) in users.into_iter().zip(hashes).zip(secrets) {
            if let (Some(hash), Some(found)) = (&hash, &step.found) {
                let kept = Kept {
                    session: session.digest().filter(|_| found.id == own),
                    ..Kept::default()
                };
                password::set(&mut tx, found.id, hash, None, kept).await?;
                changed.push(found.id);
            }
            let id = put_user(&mut tx, &step, hash.as_deref(), now).await?;
            if let Aim::Class(class, viewer) = self.aim {
                if let (None, Some(teacher)) = (&step.found, viewer.id()) {
                    user::set_creator(&mut tx, id, teacher).await?;
                }
                class::add_member(&mut tx, class, id).await?;
            }
            let contest = self.aim.contest();
            if let (Some(contest), Some(team), true) = (contest, &step.listed.team, step.joins) {
                let team = match teams.get(team) {
                    Some(id) => *id,
                    None => {
                        participant::by_external_id(&mut tx, contest, team)
                            .await?
                            .ok_or(Refusal::RosterChanged)?
                            .id
                    }
                };
                contest::join(&mut tx, contest, id, MemberRole::Contestant, now).await?;
                participant::add_member(&mut tx, contest, team, id).await?;
            }
            let secret = match secret {
                None => continue,
                Some(Secret::Password(password)) => password,
                Some(Secret::Link(token)) => {
                    let ends = now.after(LINKS_LAST);
                    reset::insert(&mut tx, token.digest(), id, now, ends).await?;
                    format!("/reset/{}", token.hex())
                }
            };
            made.push(Made {
                name: step.listed.name_after(None).to_owned(),
                login: step.listed.login,
                secret,
            });
        }
        if let Aim::Class(class, _) = self.aim {
            classes::check_sizes(&mut tx, class, own).await?;
        }
        session.hold(&mut tx).await?;
        tx.commit().await?;
        for user in changed {
            app.pending.remove_of(user);
        }
        Ok(made)
    }
}

async fn team(app: &App, contest: i64, line: Line<Team>) -> Page<Row<Team, Participant>> {
    let listed = match line.found {
        Ok(listed) => listed,
        Err(error) => return Ok(Err((line.number, error))),
    };
    let found = participant::by_external_id(&app.db, contest, &listed.id).await?;
    Ok(Ok(Step::new(line.number, listed, found, is_same_team)))
}

/// Hashing takes time. Fails if users have changed in the meantime.
async fn check_unchanged(tx: &mut Tx, users: &[Step<Entry, User>]) -> Page<()> {
    for step in users {
        let found = user::by_login(&mut *tx, &step.listed.login).await?;
        if found.as_ref().map(user_state) != step.found.as_ref().map(user_state) {
            return Err(Refusal::RosterChanged.into());
        }
    }
    Ok(())
}

/// Hashing takes time. Fails if the viewer has lost the class, or a right on a pupil, meanwhile.
async fn check_class(tx: &mut Tx, aim: Aim, users: &[Step<Entry, User>]) -> Page<()> {
    let Aim::Class(class, viewer) = aim else {
        return Ok(());
    };
    classes::find(&mut *tx, viewer, class).await?;
    for found in users.iter().filter_map(|step| step.found.as_ref()) {
        classes::check_pupil(tx, viewer, found).await?;
    }
    Ok(())
}

/// What an import compares with the list. If it changes after the preview, nothing is applied.
fn team_state(one: &Participant) -> (i64, &str, &str, &str, bool) {
    let Participant {
        id,
        name,
        organization,
        group_name,
        hidden,
        ..
    } = one;
    (*id, name, organization, group_name, *hidden)
}

/// The same for a user.
fn user_state(one: &User) -> (i64, &str, Option<&str>, Role) {
    (one.id, &one.name, one.email.as_deref(), one.role)
}

fn is_same_team(listed: &Team, found: &Participant) -> bool {
    listed.name == found.name
        && listed.organization == found.organization
        && listed.group == found.group_name
        && listed.hidden.is_none_or(|hidden| hidden == found.hidden)
}

async fn person(
    app: &App,
    aim: Aim,
    known: &HashSet<String>,
    line: Line<Entry>,
) -> Page<Row<Entry, User>> {
    let listed = match line.found {
        Ok(listed) => listed,
        Err(error) => return Ok(Err((line.number, error))),
    };
    let found = user::by_login(&app.db, &listed.login).await?;
    // Before the password is compared, which would tell a stranger whether it is right.
    if let Aim::Class(_, viewer) = aim
        && let Some(error) = no_pupil(app, viewer, &listed, found.as_ref()).await?
    {
        return Ok(Err((line.number, error)));
    }
    let changes_password = match (&listed.password, &found) {
        (Some(password), Some(found)) => {
            let stored = Some(found.password.as_str());
            !app.passwords.verify(aim.party(), password, stored).await?
        }
        _ => false,
    };
    let joins = match (aim, &listed.team) {
        (Aim::Class(class, _), _) => match &found {
            Some(user) => !class::is_member(&app.db, class, user.id).await?,
            None => true,
        },
        (Aim::Contest(contest), Some(team)) => {
            let stored = participant::by_external_id(&app.db, contest, team).await?;
            match (stored, &found) {
                (None, _) if !known.contains(team) => {
                    return Ok(Err((line.number, LineError::Team(team.clone()))));
                }
                (Some(team), Some(user)) => {
                    !participant::is_member(&app.db, team.id, user.id).await?
                }
                _ => true,
            }
        }
        _ => false,
    };
    let is_same =
        |listed: &Entry, found: &User| is_same_user(listed, found) && !changes_password && !joins;
    Ok(Ok(Step {
        changes_password,
        joins,
        ..Step::new(line.number, listed, found, is_same)
    }))
}

/// Why a line does not concern a pupil of the viewer.
async fn no_pupil(
    app: &App,
    viewer: Viewer,
    listed: &Entry,
    found: Option<&User>,
) -> Page<Option<LineError>> {
    match (listed.role, found) {
        (Some(role @ (Role::Teacher | Role::Admin)), _) => Ok(Some(LineError::ClassRole(role))),
        (_, None) => Ok(None),
        (_, Some(found)) => {
            let tie = class::tie(&app.db, viewer.id().unwrap_or(-1), found).await?;
            let is_pupil = access::pupil(viewer, tie);
            Ok((!is_pupil).then(|| LineError::NoPupil(listed.login.clone())))
        }
    }
}

fn is_same_user(listed: &Entry, found: &User) -> bool {
    listed.name_after(Some(&found.name)) == found.name
        && (listed.email.is_none() || listed.email == found.email)
        && listed.role_after(Some(found.role)) == found.role
}

/// A new secret of a user.
enum Secret {
    Link(Token),
    Password(String),
}

/// The secret that a new user without a password receives.
fn secret(step: &Step<Entry, User>, issue: Issue) -> Option<Secret> {
    if step.found.is_some() || step.listed.password.is_some() {
        return None;
    }
    Some(match issue {
        Issue::Links => Secret::Link(Token::random()),
        Issue::Passwords => Secret::Password(pupil_password()),
    })
}

/// The hashes of the passwords that users receive. Users with a link receive a random password that
/// no person knows.
async fn hashes(
    app: &App,
    party: Party,
    users: &[Step<Entry, User>],
    secrets: &[Option<Secret>],
) -> Page<Vec<Option<String>>> {
    let is_hashed = |(step, secret): &(&Step<Entry, User>, &Option<Secret>)| {
        matches!(secret, Some(Secret::Password(_))) || step.listed.password.is_some()
    };
    if users.iter().zip(secrets).filter(is_hashed).count() > MAX_PASSWORDS {
        return Err(RosterError {
            file: File::Accounts,
            why: FileError::Passwords,
        }
        .into());
    }
    let unknown = app
        .passwords
        .hash(party.clone(), &Token::random().hex())
        .await?;
    let hashes = users.iter().zip(secrets).map(|(step, secret)| {
        let (hasher, unknown) = (app.passwords.clone(), unknown.clone());
        let party = party.clone();
        let password = match secret {
            Some(Secret::Password(password)) => Some(password.clone()),
            _ => step.listed.password.clone(),
        };
        let (is_new, changes) = (step.found.is_none(), step.changes_password);
        async move {
            match password {
                Some(password) if is_new || changes => {
                    hasher.hash(party, &password).await.map(Some)
                }
                Some(_) => Ok(None),
                None => Ok(is_new.then_some(unknown)),
            }
        }
    });
    let hashes: Vec<_> = hashes.collect();
    Ok(stream::iter(hashes).buffered(HASHES).try_collect().await?)
}

/// Adds or changes a team. Returns the id.
async fn put_team(tx: &mut Tx, contest: i64, step: &Step<Team, Participant>) -> Page<i64> {
    let found = participant::by_external_id(&mut *tx, contest, &step.listed.id).await?;
    if found.as_ref().map(team_state) != step.found.as_ref().map(team_state) {
        return Err(Refusal::RosterChanged.into());
    }
    let listed = &step.listed;
    let mut fields = Fields {
        name: listed.name.clone(),
        organization: listed.organization.clone(),
        group_name: listed.group.clone(),
        hidden: listed.hidden.unwrap_or(false),
        ..Fields::default()
    };
    let Some(found) = found else {
        let id = participant::insert(tx, contest, None, &fields).await?;
        participant::set_external_id(tx, id, &listed.id).await?;
        return Ok(id);
    };
    if step.effect == Effect::Change {
        fields = Fields {
            hidden: listed.hidden.unwrap_or(found.hidden),
            unofficial: found.unofficial,
            delay_seconds: found.delay_seconds,
            extra_seconds: found.extra_seconds,
            penalty_minutes: found.penalty_minutes,
            ..fields
        };
        participant::update(tx, found.id, &fields).await?;
    }
    Ok(found.id)
}

/// Adds or changes a user, but not the password of an existing one. Returns the id.
async fn put_user(
    tx: &mut Tx,
    step: &Step<Entry, User>,
    hash: Option<&str>,
    now: Time,
) -> Page<i64> {
    let listed = &step.listed;
    let found = user::by_login(&mut *tx, &listed.login).await?;
    if found.as_ref().map(user_state) != step.found.as_ref().map(user_state) {
        return Err(Refusal::RosterChanged.into());
    }
    let name = listed.name_after(found.as_ref().map(|one| one.name.as_str()));
    let role = listed.role_after(found.as_ref().map(|one| one.role));
    match (&found, hash) {
        (None, Some(password)) => {
            let new = NewUser {
                login: &listed.login,
                name,
                password,
                role,
            };
            let id = user::insert(tx, &new, now).await?;
            user::set_profile(tx, id, name, listed.email.as_deref()).await?;
            Ok(id)
        }
        (None, None) => Err(Refusal::RosterChanged.into()),
        (Some(found), _) if step.effect == Effect::Keep => Ok(found.id),
        (Some(found), _) => {
            let email = listed.email.as_deref().or(found.email.as_deref());
            user::set_profile(tx, found.id, name, email).await?;
            user::update(tx, found.id, role, found.disabled_at).await?;
            Ok(found.id)
        }
    }
}

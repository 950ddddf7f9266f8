//! The example contest of `millibox site --demo`.
//!
//! Its problems are the example packages of the repository, which are embedded in this program. Its
//! submissions come from the packages, are dated in the past, and are judged like any others.

use crate::app::App;
use crate::blobs::BlobError;
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::package::PackageError;
use crate::core::party::Party;
use crate::core::password::PasswordError;
use crate::core::time::Time;
use crate::core::token::readable_password;
use crate::db::contest::{
    self, MemberRole, Mode, RoundFields, RoundProblemFields, RoundRules, Visibility,
};
use crate::db::judgement::{self, NewJudgement};
use crate::db::participant;
use crate::db::problem;
use crate::db::submission::{self, Kind, NewSubmission};
use crate::db::user::{self, NewUser, Role};
use crate::db::{DbError, Tx};
use crate::jobs::packages::{self, Package};
use millibox_setter::{SetterError, archive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The files of the example packages, by their paths.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The problems, in the order in which rounds list them.
const STALLS: usize = 0;
const HEAPS: usize = 1;
const CAUSEWAY: usize = 2;
const LEAK: usize = 3;
const PROBLEMS: [&str; 4] = ["stalls", "heaps", "causeway", "leak"];

/// The owner of the contest and its problems.
const TEACHER: (&str, &str) = ("teacher", "Theo Teacher");
/// The contestants.
const CONTESTANTS: [(&str, &str); 4] = [
    ("ada", "Ada Archer"),
    ("ben", "Ben Baker"),
    ("cleo", "Cleo Carter"),
    ("dan", "Dan Draper"),
];

/// A round relative to the current time, in minutes.
struct Plan {
    name: &'static str,
    mode: Mode,
    /// How long ago it began.
    age: u64,
    /// The remaining time.
    left: Option<u64>,
    problems: &'static [(&'static str, usize, &'static str)],
    submissions: &'static [Planned],
}

/// A contestant, the minute of the round, the problem, and the submission of its package.
type Planned = (&'static str, u64, usize, &'static str);

const PLANS: [Plan; 2] = [
    Plan {
        name: "Practice, with points",
        mode: Mode::Points,
        age: 120,
        left: None,
        problems: &[("A", STALLS, "#0ea5e9"), ("B", HEAPS, "#f59e0b")],
        submissions: &[
            ("ada", 10, STALLS, "60_points/neighbours.cpp"),
            ("ben", 12, STALLS, "50_points/table.cpp"),
            ("cleo", 15, STALLS, "0_points/every_second.py"),
            ("ben", 20, HEAPS, "wrong_answer/one_stone_often.cpp"),
            ("ada", 25, STALLS, "stalls.cpp"),
            ("ada", 40, HEAPS, "accepted/sums.cpp"),
            ("cleo", 50, STALLS, "100_points/stalls.py"),
            ("ben", 55, HEAPS, "accepted/bits.py"),
        ],
    },
    Plan {
        name: "Final, in ICPC mode",
        mode: Mode::Icpc,
        age: 60,
        left: Some(240),
        problems: &[("C", CAUSEWAY, "#22c55e"), ("D", LEAK, "#e11d48")],
        submissions: &[
            ("dan", 5, CAUSEWAY, "compiler_error/unfinished.c"),
            ("ada", 7, CAUSEWAY, "accepted/sweep.cpp"),
            ("ben", 9, CAUSEWAY, "wrong_answer/two_decimals.c"),
            ("cleo", 14, CAUSEWAY, "time_limit_exceeded/small_steps.cpp"),
            ("ben", 17, CAUSEWAY, "accepted/sweep.c"),
            ("ada", 21, LEAK, "accepted/halve.cpp"),
            ("dan", 29, CAUSEWAY, "accepted/sweep.py"),
            ("ben", 30, LEAK, "wrong_answer/guesses.cpp"),
            ("cleo", 33, LEAK, "run_time_error/crashes_first.c"),
            ("cleo", 41, LEAK, "accepted/halve.sh"),
        ],
    },
];

/// How many minutes before the end of a round its ranking is frozen.
const FROZEN_MINUTES: u64 = 60;

/// Why the example contest was not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// An example package is malformed.
    #[error("{}", .0.lines())]
    Package(#[from] PackageError),
    /// An example package cannot be packed.
    #[error("{0}")]
    Setter(#[from] SetterError),
    /// A package cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The database has failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The password cannot be hashed.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A file of a package cannot be written.
    #[error("an example package: {0}")]
    System(#[from] std::io::Error),
    /// A thread has panicked.
    #[error("a thread that reads packages failed")]
    Thread(#[from] tokio::task::JoinError),
}

/// A problem that was added.
struct Added {
    id: i64,
    version: i64,
    package: Package,
}

/// Creates the example contest, unless the site has users. Returns how to sign in.
///
/// # Errors
/// A package cannot be stored, or the database fails. In that case, nothing has changed.
pub async fn create(app: &Arc<App>) -> Result<Option<String>, DemoError> {
    if !user::page(&app.db, 0, 1).await?.is_empty() {
        return Ok(None);
    }
    let reader = app.clone();
    let packages = tokio::task::spawn_blocking(move || store_all(&reader)).await??;
    let password = readable_password();
    let hash = app.passwords.hash(Party::Site, &password).await?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let teacher = add_user(&mut tx, TEACHER, &hash, Role::Teacher, now).await?;
    let mut users = Vec::new();
    for names in CONTESTANTS {
        let id = add_user(&mut tx, names, &hash, Role::User, now).await?;
        users.push((names.0, id));
    }
    let mut problems = Vec::new();
    for package in packages {
        let name = packages::problem_name(&package.manifest);
        let visibility = problem::Visibility::Public;
        let id = problem::insert(&mut tx, &name, visibility, teacher, now).await?;
        problem::set_label(&mut tx, id, &package.manifest.label).await?;
        let version = packages::insert(&mut tx, id, &package, "", teacher).await?;
        problems.push(Added {
            id,
            version,
            package,
        });
    }
    let id = contest::insert(&mut tx, "Example contest", Visibility::Public, now).await?;
    contest::join(&mut tx, id, teacher, MemberRole::Owner, now).await?;
    for plan in &PLANS {
        add_round(&mut tx, id, plan, &problems, &users, now).await?;
    }
    tx.commit().await?;
    app.queue.wake();
    let logins: Vec<&str> = CONTESTANTS.iter().map(|(login, _)| *login).collect();
    Ok(Some(format!(
        "example users: {}, {}; the password of each is {password}",
        TEACHER.0,
        logins.join(", ")
    )))
}

/// Stores all packages. Returns their contents.
fn store_all(app: &App) -> Result<Vec<Package>, DemoError> {
    let directory = millibox_package::temporary::directory()?;
    for (name, content) in FILES {
        let path = directory.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    PROBLEMS
        .iter()
        .map(|name| store(app, directory.path(), name))
        .collect()
}

fn store(app: &App, directory: &Path, name: &str) -> Result<Package, DemoError> {
    let root = directory.join(name);
    let problem = millibox_package::read(&root).map_err(SetterError::Package)?;
    let to = directory.join(format!("{name}.zip"));
    archive::pack(&problem, &root, &to, &|| false)?;
    let digest = app.blobs.put_file(&to)?;
    Ok(packages::read(app, &digest, &format!("{name}.zip"))?)
}

async fn add_user(
    tx: &mut Tx,
    (login, name): (&str, &str),
    password: &str,
    role: Role,
    now: Time,
) -> Result<i64, DbError> {
    let new = NewUser {
        login,
        name,
        password,
        role,
    };
    user::insert(tx, &new, now).await
}

/// A point in time some minutes after another one.
fn minutes_after(time: Time, minutes: u64) -> Time {
    time.after(Duration::from_secs(60 * minutes))
}

async fn add_round(
    tx: &mut Tx,
    contest_id: i64,
    plan: &Plan,
    problems: &[Added],
    users: &[(&str, i64)],
    now: Time,
) -> Result<(), DbError> {
    let age = i64::try_from(60_000_000 * plan.age).unwrap_or(0);
    let begins = Time(now.0 - age);
    let ends = plan
        .left
        .map_or(Time::NEVER, |left| minutes_after(now, left));
    let fields = RoundFields {
        name: plan.name.to_owned(),
        begins,
        ends,
        full_results: Time::ALWAYS,
        ranking_from: Time::ALWAYS,
    };
    let round = contest::insert_round(tx, contest_id, &fields).await?;
    let freeze_at = plan.left.map_or(Time::NEVER, |left| {
        minutes_after(now, left.saturating_sub(FROZEN_MINUTES))
    });
    let rules = RoundRules {
        mode: plan.mode,
        penalty_minutes: 20,
        freeze_at,
        thaw_at: Time::NEVER,
        window_seconds: None,
    };
    contest::update_rules(tx, round, &rules).await?;
    let mut places = Vec::new();
    for (label, index, colour) in plan.problems {
        let added = &problems[*index];
        let fields = RoundProblemFields {
            version_id: added.version,
            label: (*label).to_owned(),
            name: packages::problem_name(&added.package.manifest),
            final_method: FinalMethod::Best,
            reveal: Reveal::Status,
        };
        let place = contest::insert_round_problem(tx, round, added.id, &fields).await?;
        contest::set_colour(tx, place, colour).await?;
        places.push((*index, place));
    }
    for planned in plan.submissions {
        let place = places.iter().find(|(index, _)| *index == planned.2);
        let place = place.ok_or(DbError::Missing("round_problem"))?.1;
        let user = users.iter().find(|(login, _)| *login == planned.0);
        let user = user.ok_or(DbError::Missing("users"))?.1;
        let at = minutes_after(begins, planned.1);
        let (contest_place, added) = ((contest_id, place), &problems[planned.2]);
        submit(tx, contest_place, user, added, planned.3, at).await?;
    }
    Ok(())
}

/// Adds a submission whose source is a solution of the package, if its language is installed.
async fn submit(
    tx: &mut Tx,
    (contest_id, round_problem): (i64, i64),
    user_id: i64,
    added: &Added,
    name: &str,
    at: Time,
) -> Result<(), DbError> {
    let mut solutions = added.package.solutions.iter();
    let Some(solution) = solutions.find(|solution| is_named(&solution.name, name)) else {
        return Ok(());
    };
    contest::join(tx, contest_id, user_id, MemberRole::Contestant, at).await?;
    let entry = participant::ensure(tx, contest_id, user_id, false).await?;
    let new = NewSubmission {
        user_id,
        problem_id: added.id,
        round_problem_id: Some(round_problem),
        participant_id: Some(entry.id),
        language: &solution.language,
        kind: Kind::Normal,
        file_name: &solution.file_name,
        source: &solution.content,
    };
    let submission_id = submission::insert(tx, &new, at).await?;
    let new = NewJudgement {
        submission_id,
        version_id: added.version,
        user_id,
        priority: judgement::CONTEST,
        is_first: true,
    };
    judgement::insert(tx, &new, Time::now()).await?;
    Ok(())
}

/// Whether a submission of a package has this path, in which leading directories may be missing.
fn is_named(solution: &str, name: &str) -> bool {
    let rest = solution.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_submissions_are_in_the_packages() {
        for plan in &PLANS {
            for (login, minute, problem, name) in plan.submissions {
                assert!(*minute < plan.age, "{name}");
                assert!(CONTESTANTS.iter().any(|(known, _)| known == login));
                let package = format!("{}/", PROBLEMS[*problem]);
                let mut paths = FILES.iter().filter_map(|(path, _)| {
                    let below = path.strip_prefix(package.as_str())?;
                    (below.starts_with("submissions/") || below.starts_with("prog/"))
                        .then_some(below)
                });
                assert!(paths.any(|path| is_named(path, name)), "{name}");
            }
        }
    }
}

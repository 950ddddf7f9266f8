//! `millibox site user`.

use super::Place;
use crate::core::account;
use crate::core::party::Party;
use crate::core::password::Passwords;
use crate::core::time::Time;
use crate::core::token::{Token, readable_password};
use crate::db::credential::Kept;
use crate::db::password as stored;
use crate::db::user::{NewUser, Role, User};
use crate::db::{Db, DbError, Tx, reset, user};
use crate::http::LINK_LASTS;
use clap::{Subcommand, ValueEnum};
use millibox_cli_support::failure::{Failure, answer};
use std::io::Read;

const LIST_ROWS: i64 = 500;

/// Options of `millibox site user`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a user, and print a generated password
    Add {
        /// The login
        login: String,
        /// The name of the person [default: the login]
        #[arg(long)]
        name: Option<String>,
        /// The e-mail address
        #[arg(long)]
        email: Option<String>,
        /// The role
        #[arg(long, value_enum, default_value_t)]
        role: RoleName,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Set a password, and end all sessions of the user
    ///
    /// Without --password-stdin, a password is generated and printed.
    SetPassword {
        /// The login
        login: String,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change the role of a user
    SetRole {
        /// The login
        login: String,
        /// The role
        #[arg(value_enum)]
        role: RoleName,
    },
    /// Print a path at which the user can choose a new password, once and within 24 hours
    ResetLink {
        /// The login
        login: String,
    },
    /// List all users
    List {
        /// Print one JSON object for each user
        #[arg(long)]
        json: bool,
    },
}

/// The names of roles on the command line.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum RoleName {
    /// Everything
    Admin,
    /// Add problems and private contests
    Teacher,
    /// Take part
    #[default]
    User,
}

impl RoleName {
    fn role(self) -> Role {
        match self {
            RoleName::Admin => Role::Admin,
            RoleName::Teacher => Role::Teacher,
            RoleName::User => Role::User,
        }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// The site does not exist, a field is not accepted, or the database fails.
pub async fn run(args: &Args) -> Result<(), Failure> {
    let (db, _) = args.place.existing().await?;
    let result = act(&db, &args.action).await;
    db.close().await;
    result
}

async fn act(db: &Db, action: &Action) -> Result<(), Failure> {
    match action {
        Action::Add {
            login,
            name,
            email,
            role,
            password_stdin,
        } => {
            account::check_login(login).map_err(Failure::option)?;
            let name = name.as_ref().unwrap_or(login);
            account::check_name(name).map_err(Failure::option)?;
            if let Some(email) = email {
                account::check_email(email).map_err(Failure::option)?;
            }
            let (password, is_generated) = password(*password_stdin)?;
            let hash = hash(&password).await?;
            let new = NewUser {
                login,
                name: name.trim(),
                password: &hash,
                role: role.role(),
            };
            let mut tx = db.begin().await.map_err(Failure::sandbox)?;
            let id = user::insert(&mut tx, &new, Time::now()).await;
            let id = id.map_err(|error| taken(login, error))?;
            let profile = user::set_profile(&mut tx, id, name.trim(), email.as_deref());
            profile.await.map_err(Failure::sandbox)?;
            tx.commit().await.map_err(Failure::sandbox)?;
            show(is_generated, &password)
        }
        Action::SetPassword {
            login,
            password_stdin,
        } => {
            let (password, is_generated) = password(*password_stdin)?;
            let hash = hash(&password).await?;
            let mut tx = db.begin().await.map_err(Failure::sandbox)?;
            let user = find(&mut tx, login).await?;
            let changed = stored::set(&mut tx, user.id, &hash, None, Kept::default());
            changed.await.map_err(Failure::sandbox)?;
            tx.commit().await.map_err(Failure::sandbox)?;
            show(is_generated, &password)
        }
        Action::SetRole { login, role } => {
            let mut tx = db.begin().await.map_err(Failure::sandbox)?;
            let user = find(&mut tx, login).await?;
            let changed = user::update(&mut tx, user.id, role.role(), user.disabled_at);
            changed.await.map_err(Failure::sandbox)?;
            if !user::has_admin(&mut tx).await.map_err(Failure::sandbox)? {
                return Err(Failure::option("the site needs an administrator"));
            }
            tx.commit().await.map_err(Failure::sandbox)
        }
        Action::ResetLink { login } => {
            let token = Token::random();
            let now = Time::now();
            let mut tx = db.begin().await.map_err(Failure::sandbox)?;
            let user = find(&mut tx, login).await?;
            let added = reset::insert(&mut tx, token.digest(), user.id, now, now.after(LINK_LASTS));
            added.await.map_err(Failure::sandbox)?;
            tx.commit().await.map_err(Failure::sandbox)?;
            answer(format!("/reset/{}", token.hex()))
        }
        Action::List { json } => list(db, *json).await,
    }
}

async fn find(tx: &mut Tx, login: &str) -> Result<User, Failure> {
    let found = user::by_login(tx, login).await.map_err(Failure::sandbox)?;
    found.ok_or_else(|| Failure::option(format!("there is no user with the login {login}")))
}

fn taken(login: &str, error: DbError) -> Failure {
    if error.is_duplicate() {
        Failure::option(format!("the login {login} is taken"))
    } else {
        Failure::sandbox(error)
    }
}

/// The password, and whether it was generated.
fn password(from_stdin: bool) -> Result<(String, bool), Failure> {
    if !from_stdin {
        return Ok((readable_password(), true));
    }
    let mut text = String::new();
    std::io::stdin()
        .take(4096)
        .read_to_string(&mut text)
        .map_err(|error| Failure::sandbox(format!("cannot read the password: {error}")))?;
    let password = text.trim_end_matches(['\r', '\n']).to_owned();
    account::check_password(&password).map_err(Failure::option)?;
    Ok((password, false))
}

async fn hash(password: &str) -> Result<String, Failure> {
    let passwords = Passwords::new(1).map_err(Failure::sandbox)?;
    passwords
        .hash(Party::Site, password)
        .await
        .map_err(Failure::sandbox)
}

fn show(is_generated: bool, password: &str) -> Result<(), Failure> {
    if is_generated {
        answer(password)?;
    }
    Ok(())
}

async fn list(db: &Db, json: bool) -> Result<(), Failure> {
    let mut after = 0;
    loop {
        let page = user::page(db, after, LIST_ROWS).await;
        let page = page.map_err(Failure::sandbox)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.id;
        for user in page {
            answer(line(&user, json))?;
        }
    }
}

fn line(user: &User, json: bool) -> String {
    if json {
        let object = serde_json::json!({
            "id": user.id, "login": user.login, "name": user.name, "email": user.email,
            "role": user.role, "created_at": user.created_at.rfc3339(),
            "disabled_at": user.disabled_at.and_then(Time::rfc3339),
        });
        return object.to_string();
    }
    let state = if user.disabled_at.is_some() {
        " (disabled)"
    } else {
        ""
    };
    format!(
        "{}\t{}\t{}\t{}{state}",
        user.id,
        user.login,
        user.role.text(),
        user.name
    )
}

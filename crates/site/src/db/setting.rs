//! Settings of the site.

use super::{Executor, Result, Tx, record, text_enum, values};

text_enum! {
    /// How people become users.
    SignUp {
        /// Everyone can sign up.
        Open = "open",
        /// Only with the link of the site.
        Link = "link",
        /// Only administrators add users.
        Closed = "closed",
    }
}

record! { Setting { value: String, } }

/// The setting that [`sign_up`] reads.
pub const SIGN_UP: &str = "sign_up";
/// The digest of the token in the link with which people sign up, in hexadecimal digits.
pub const SIGN_UP_LINK: &str = "sign_up_link";
/// The time until which wrong passwords lock no login, in microseconds.
pub const RELAXED_UNTIL: &str = "relaxed_until";

/// The public part of the key with which the site connects to the message server.
pub const FLEET_KEY: &str = "fleet_key";

/// The key with which the processes of the site seal their messages, in hexadecimal digits.
pub const NEWS_KEY: &str = "news_key";

/// The value of a setting.
pub async fn get(db: impl Executor, name: &str) -> Result<Option<String>> {
    let found: Option<Setting> = db
        .first("SELECT value FROM setting WHERE name = $1", values![name])
        .await?;
    Ok(found.map(|setting| setting.value))
}

/// How people become users. An unknown value means that sign-up is closed.
pub async fn sign_up(db: impl Executor) -> Result<SignUp> {
    Ok(match get(db, SIGN_UP).await? {
        None => SignUp::Open,
        Some(text) => SignUp::of_text(&text).unwrap_or(SignUp::Closed),
    })
}

/// Changes a setting.
pub async fn set(tx: &mut Tx, name: &str, value: &str) -> Result<u64> {
    tx.execute(
        "INSERT INTO setting (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = $2",
        values![name, value],
    )
    .await
}

//! The rules of the site, without HTTP and without statements of the database.

pub mod access;
pub mod account;
pub mod finals;
pub mod markdown;
pub mod package;
pub mod password;
pub mod protocol;
pub mod ranking;
pub mod score;
pub mod source;
pub mod throttle;
pub mod time;
pub mod token;
pub mod verdict;
pub mod visibility;

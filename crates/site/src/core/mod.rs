//! The rules of the site, without HTTP and without statements of the database.

pub mod access;
pub mod account;
pub mod clarification;
pub mod finals;
pub mod freeze;
pub mod icpc;
pub mod id_token;
pub mod markdown;
pub mod package;
pub mod participant;
pub mod password;
pub mod pending;
pub mod points;
pub mod protocol;
pub mod rejudging;
pub mod roster;
pub mod score;
pub mod source;
pub mod standings;
pub mod throttle;
pub mod time;
pub mod token;
pub mod totp;
pub mod verdict;
pub mod visibility;
pub mod work;

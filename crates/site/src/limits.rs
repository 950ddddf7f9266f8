//! The bounds on everything that users and guests share.
//!
//! Each entry has a bound and a share. `docs/security/shared-pools.md` lists them. A [`Throttle`]
//! bounds how often something happens, a [`Pool`] how much is held at the same time, and a [`Lane`]
//! gives turns to those that wait.

use crate::core::lane::{Bounds, Lane};
use crate::core::party::Party;
use crate::core::pool::Pool;
use crate::core::throttle::Throttle;
use std::net::IpAddr;
use std::time::Duration;

/// Bounds on sign-ins hold within this time.
const SIGN_IN_WINDOW: Duration = Duration::from_secs(15 * 60);
/// The maximum number of wrong passwords of one login from one address, from one known browser or
/// in one session.
const WRONG_PASSWORDS: u32 = 10;
/// The maximum number of wrong passwords from one address, without those from known browsers. A
/// school may share one address.
const FAILURES_OF_ADDRESS: u32 = 200;
/// The maximum number of wrong one-time passwords of one user.
const FAILURES_OF_CODE: u32 = 8;
/// The maximum number of sign-ins of one user with the right password.
const SIGN_INS: u32 = 60;
/// The maximum number of sign-up forms from one address. All contestants may share one address.
const SIGN_UPS: u32 = 600;
/// The maximum number of API requests of one user, or from one address, within [`MINUTE`].
const API_CALLS: u32 = 1200;
/// The maximum number of submissions of one user within [`MINUTE`].
const SUBMISSIONS: u32 = 20;
/// The maximum number of trials of one user within [`MINUTE`].
const TRIES: u32 = 10;
/// The maximum number of questions of one user within [`ASK_WINDOW`].
const QUESTIONS: u32 = 5;
/// The maximum number of texts that one user prints within [`ASK_WINDOW`].
const PRINTS: u32 = 10;
const ASK_WINDOW: Duration = Duration::from_secs(5 * 60);
const MINUTE: Duration = Duration::from_secs(60);

/// Event streams of all users, and of one user. A visible page has one.
const STREAMS_OF_USERS: (usize, usize) = (3072, 64);
/// Event streams of all guests. One address may have all of them, because a school may share one.
const STREAMS_OF_GUESTS: usize = 512;
/// Uploads of large files by all users, and by one user.
const UPLOADS: (usize, usize) = (16, 2);
/// Bytes of the bodies that are in memory, of all requests and of one party. One party must be able
/// to send the largest statement.
const BODIES: (usize, usize) = (128 << 20, 32 << 20);
/// The threads that render pages from large texts, and the requests that wait for them.
const RENDERING: Bounds = Bounds {
    turns: 2,
    turns_of_key: 1,
    waiting: 4096,
    waiting_of_key: 2048,
};

/// Bytes of the stored files of one user, without an option for it.
const DISK_OF_USER: u64 = 32 << 30;

/// The maximum size of a guest's request, in bytes. The forms for guests are short.
pub const MAX_GUEST_BODY: usize = 16 << 10;

/// The party whose wrong passwords are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Guesser {
    /// Any browser at an address, which names a login.
    Stranger(String, IpAddr),
    /// A browser in which the user has signed in before, by the digest of its cookie.
    Browser([u8; 32]),
    /// A signed-in user.
    User(i64),
}

/// The bounds of a site.
#[derive(Debug)]
pub struct Limits {
    /// Wrong passwords.
    pub wrong_passwords: Throttle<Guesser>,
    /// Failed sign-ins by address.
    pub failures_of_address: Throttle<IpAddr>,
    /// Wrong one-time passwords by user, from any address.
    pub failures_of_code: Throttle<i64>,
    /// Sign-ins with the right password, by user.
    pub sign_ins: Throttle<i64>,
    /// Sign-up forms by address.
    pub sign_ups: Throttle<IpAddr>,
    /// API requests by user.
    pub calls_of_user: Throttle<i64>,
    /// API requests without a token, or with a wrong one, by address.
    pub calls_of_address: Throttle<IpAddr>,
    /// Submissions by user.
    pub submissions: Throttle<i64>,
    /// Trials by user.
    pub tries: Throttle<i64>,
    /// Questions by user.
    pub questions: Throttle<i64>,
    /// Requests to print a text, by user.
    pub prints: Throttle<i64>,
    /// Event streams by user.
    pub streams_of_users: Pool<i64>,
    /// Event streams of guests, by address.
    pub streams_of_guests: Pool<IpAddr>,
    /// Uploads of large files by user.
    pub uploads: Pool<i64>,
    /// Bytes of bodies in memory.
    pub bodies: Pool<Party>,
    /// Turns of rendering large texts.
    pub rendering: Lane<Party>,
    /// Bytes of the stored files of one user.
    pub disk_of_user: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::new(DISK_OF_USER)
    }
}

impl Limits {
    /// The bounds of a site whose users may store this number of bytes.
    pub fn new(disk_of_user: u64) -> Limits {
        Limits {
            disk_of_user,
            wrong_passwords: Throttle::new(WRONG_PASSWORDS, SIGN_IN_WINDOW),
            failures_of_address: Throttle::new(FAILURES_OF_ADDRESS, SIGN_IN_WINDOW),
            failures_of_code: Throttle::new(FAILURES_OF_CODE, SIGN_IN_WINDOW),
            sign_ins: Throttle::new(SIGN_INS, SIGN_IN_WINDOW),
            sign_ups: Throttle::new(SIGN_UPS, SIGN_IN_WINDOW),
            calls_of_user: Throttle::new(API_CALLS, MINUTE),
            calls_of_address: Throttle::new(API_CALLS, MINUTE),
            submissions: Throttle::new(SUBMISSIONS, MINUTE),
            tries: Throttle::new(TRIES, MINUTE),
            questions: Throttle::new(QUESTIONS, ASK_WINDOW),
            prints: Throttle::new(PRINTS, ASK_WINDOW),
            streams_of_users: Pool::new(STREAMS_OF_USERS.0, STREAMS_OF_USERS.1),
            streams_of_guests: Pool::new(STREAMS_OF_GUESTS, STREAMS_OF_GUESTS),
            uploads: Pool::new(UPLOADS.0, UPLOADS.1),
            bodies: Pool::new(BODIES.0, BODIES.1),
            rendering: Lane::new(RENDERING),
        }
    }
}

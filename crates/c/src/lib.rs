//! The C library `libmillibox`: the client library behind a C interface with a stable ABI.
//!
//! Each exported function takes and returns opaque handles, numbers, strings and buffers.
//! `include/millibox.h` is generated from this crate by cbindgen, so the comment of an exported
//! function is its documentation for users of C. A test compares the header with the sources.
//!
//! * A handle of C is a `Box` of a type of this crate. A parameter `Option<&T>` is a pointer that
//!   may be NULL, so exported functions need no unsafe code of their own.
//! * Setters return nothing. They note mistakes, and the run or the start reports all of them.
//! * A panic does not cross the border: `border::checked` and `border::or` catch it.
//! * A process that was forked from the owner of a sandbox must not end its runs. So dropping a
//!   handle there does nothing (`border::Owned`).
//!
//! | file | content |
//! | --- | --- |
//! | `border` | pointers of C and panics; all unsafe blocks of the crate |
//! | `error` | errors with code and message |
//! | `version` | versions of the library and of the protocol |
//! | `sandbox` | options, and a running sandbox |
//! | `world` | what a program sees |
//! | `prepared` | interpreters that are started once and copied for each run |
//! | `program` | a program with its arguments, streams and limits |
//! | `run` | a run that was started |
//! | `result` | how a run ended |
//! | `files` | a directory for the files of a run |
//!
//! The allowed unsafe code in the other files is the attribute `no_mangle`.

mod border;
mod error;
mod files;
mod prepared;
mod program;
mod result;
mod run;
mod sandbox;
mod version;
mod world;

/// The header lets any number of threads use these handles at the same time.
const fn may_be_shared<T: Send + Sync>() {}
const _: () = {
    may_be_shared::<sandbox::Sandbox>();
    may_be_shared::<run::Run>();
    may_be_shared::<result::ProgramResult>();
    may_be_shared::<prepared::Prepared>();
};

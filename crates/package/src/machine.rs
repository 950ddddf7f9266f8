//! Tells failures of the machine from faults of what it reads.

use rustix::io::Errno;
use std::io::{self, ErrorKind};

/// Whether an error of the operating system means that the machine has failed, for example because
/// its disk is full. Then a later attempt, or an attempt of another machine, may succeed.
///
/// Names and contents of files cause other errors, such as `ENAMETOOLONG` or unexpected ends.
///
/// # Examples
///
/// ```
/// use millibox_package::is_of_machine;
/// use std::io::{Error, ErrorKind};
///
/// assert!(is_of_machine(&Error::from(ErrorKind::StorageFull)));
/// assert!(!is_of_machine(&Error::from(ErrorKind::UnexpectedEof)));
/// ```
pub fn is_of_machine(error: &io::Error) -> bool {
    // Without a kind in stable Rust.
    const ERRORS: [Errno; 3] = [Errno::IO, Errno::MFILE, Errno::NFILE];
    let of_kind = matches!(
        error.kind(),
        ErrorKind::OutOfMemory
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::StorageFull
    );
    of_kind || Errno::from_io_error(error).is_some_and(|errno| ERRORS.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_machine_differ_from_those_of_a_package() {
        for (errno, expected) in [
            (Errno::NOSPC, true),
            (Errno::DQUOT, true),
            (Errno::IO, true),
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::NOMEM, true),
            (Errno::ROFS, true),
            (Errno::STALE, true),
            (Errno::NAMETOOLONG, false),
            (Errno::NOTDIR, false),
            (Errno::NOENT, false),
            (Errno::EXIST, false),
            (Errno::LOOP, false),
            (Errno::ACCESS, false),
            (Errno::INVAL, false),
        ] {
            assert_eq!(is_of_machine(&errno.into()), expected, "{errno:?}");
        }
    }
}

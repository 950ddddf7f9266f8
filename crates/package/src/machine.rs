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
    // `ErrorKind` has no stable variant for these. A limit on the size of files causes EFBIG.
    const ERRORS: [Errno; 6] = [
        Errno::FBIG,
        Errno::IO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::UCLEAN,
    ];
    let of_kind = matches!(
        error.kind(),
        ErrorKind::OutOfMemory
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::StorageFull
            | ErrorKind::TimedOut
    );
    of_kind || Errno::from_io_error(error).is_some_and(|errno| ERRORS.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errno_of_full_disk_is_of_machine() {
        for (errno, expected) in [
            (Errno::NOSPC, true),
            (Errno::DQUOT, true),
            (Errno::IO, true),
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::FBIG, true),
            (Errno::TIMEDOUT, true),
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

//! Remedies for errors of the kernel.

use rustix::io::Errno;

/// The remedy for too many open files (EMFILE).
const MORE_FILES: &str = "; raise the limit on open files (ulimit -n) for this program";

/// The remedy for a missing executable or too many open files.
pub(crate) fn remedy(error: &std::io::Error, named_by: Option<&str>) -> String {
    match (Errno::from_io_error(error), named_by) {
        (Some(Errno::NOENT), Some(by)) => {
            format!("; {by} must name a millibox-supervisor, or be omitted")
        }
        (Some(Errno::MFILE), _) => MORE_FILES.to_owned(),
        _ => String::new(),
    }
}

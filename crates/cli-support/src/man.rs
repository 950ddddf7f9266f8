//! Manual pages of a command line. Packages contain them; see `packaging/`.

use crate::failure::Failure;
use std::path::Path;
use std::process::ExitCode;

/// The only argument before the directory.
const OPTION: &str = "--man-pages";

/// Writes the manual pages of a command and its subcommands if this program was started as
/// `PROGRAM --man-pages DIRECTORY`. Otherwise the result is `None`.
///
/// # Errors
/// A page cannot be written.
pub fn written(command: clap::Command) -> Option<Result<ExitCode, Failure>> {
    let mut arguments = std::env::args_os().skip(1);
    let (option, directory) = (arguments.next()?, arguments.next()?);
    if option != OPTION || arguments.next().is_some() {
        return None;
    }
    let directory = Path::new(&directory);
    let failed = |error| Failure::sandbox(format!("{}: {error}", directory.display()));
    let pages = clap_mangen::generate_to(command, directory);
    Some(pages.map(|()| ExitCode::SUCCESS).map_err(failed))
}

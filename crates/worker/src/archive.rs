//! Opens a package whose archive is stored.

use millibox_package::model::Problem;
use millibox_package::{Fault, Faults};
use std::path::{Path, PathBuf};

/// Why a package cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It contains errors.
    #[error("{}", lines(.0))]
    Faults(Vec<Fault>),
    /// The machine failed while the package was read, for example because its disk is full.
    #[error("cannot read the package: {}", lines(.0))]
    Machine(Vec<Fault>),
    /// It cannot be read.
    #[error("cannot read the package: {0}")]
    System(#[from] std::io::Error),
}

impl From<Vec<Fault>> for ArchiveError {
    fn from(faults: Vec<Fault>) -> ArchiveError {
        match faults.iter().any(Fault::is_of_machine) {
            true => ArchiveError::Machine(faults),
            false => ArchiveError::Faults(faults),
        }
    }
}

/// Faults as text, one in each line.
pub fn lines(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Opens a package whose archive is stored. `name` is the name of the uploaded file.
///
/// # Errors
/// The package contains errors, or the machine cannot read it.
pub fn open(archive: &Path, name: &str) -> Result<(Problem, tempfile::TempDir), ArchiveError> {
    // The reader takes the short name of some packages from the name of the archive.
    let directory = millibox_package::temporary::directory()?;
    let stem = Path::new(name).file_stem().unwrap_or("package".as_ref());
    let mut link: PathBuf = directory.path().join(stem);
    link.set_extension("zip");
    std::os::unix::fs::symlink(archive, &link)?;
    let problem = millibox_package::read(&link).map_err(|faults: Faults| {
        let shown = |fault| below(fault, directory.path());
        let faults: Vec<Fault> = faults.into_iter().map(shown).collect();
        ArchiveError::from(faults)
    })?;
    Ok((problem, directory))
}

/// Returns the fault with a path inside the package.
pub fn below(mut fault: Fault, directory: &Path) -> Fault {
    if let Ok(below) = fault.path.strip_prefix(directory) {
        fault.path = below.to_owned();
    }
    fault
}

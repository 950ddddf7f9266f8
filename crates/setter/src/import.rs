//! Converts packages of other systems into packages of the ICPC format.

use super::{SetterError, archive};
use millibox_package::foreign::{self, Conversion, ForeignError};
use millibox_package::{Cause, Fault, Faults, Problem};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A package that was imported.
#[derive(Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The conversion, with what was left out.
    pub conversion: Conversion,
    /// Warnings about the new package.
    pub warnings: Vec<Fault>,
}

/// Why a package was not imported. No file has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The package cannot be converted.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The package has none of the formats that can be imported.
    #[error(
        "no sinolpack, Polygon, CMS or Hydro package was found; a package is a directory or a \
         .zip archive"
    )]
    Unknown,
    /// The new package has faults.
    #[error("the converted package has faults: {0}")]
    Faults(Faults),
    /// The new directory exists and has files.
    #[error("{} is not empty; name a new directory", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be written.
    #[error("{}: {cause}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: Cause<io::Error>,
    },
    /// The new package cannot be packed.
    #[error(transparent)]
    Pack(#[from] SetterError),
}

fn system(path: &Path, cause: io::Error) -> ImportError {
    ImportError::System {
        path: path.to_owned(),
        cause: cause.into(),
    }
}

/// Converts into a temporary directory in `place`, and reads the result.
fn convert(package: &Path, place: &Path) -> Result<(TempDir, Problem, Conversion), ImportError> {
    let directory = tempfile::Builder::new()
        .prefix(".millibox-import-")
        .tempdir_in(place)
        .map_err(|error| system(place, error))?;
    let conversion = foreign::convert(package, directory.path())?;
    let conversion = conversion.ok_or(ImportError::Unknown)?;
    let problem = millibox_package::read(directory.path()).map_err(ImportError::Faults)?;
    Ok((directory, problem, conversion))
}

/// Imports a package into a directory that is new or empty.
///
/// # Errors
/// The package cannot be imported, or the directory cannot be written.
pub fn import(package: &Path, directory: &Path) -> Result<Imported, ImportError> {
    let failed = |error| system(directory, error);
    let place = std::path::absolute(directory).map_err(failed)?;
    match fs::read_dir(&place) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(ImportError::NotEmpty(directory.to_owned()));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let parent = place.parent().unwrap_or(&place);
    let (new, problem, conversion) = convert(package, parent)?;
    // An existing directory is empty, and a rename replaces it.
    fs::rename(new.path(), &place).map_err(failed)?;
    let _ = new.keep();
    Ok(Imported {
        conversion,
        warnings: problem.warnings,
    })
}

/// Imports a package, and packs the new one as the archive `to`.
///
/// # Errors
/// The package cannot be imported, or the archive cannot be written.
pub fn import_archive(package: &Path, to: &Path) -> Result<Imported, ImportError> {
    let place = to.parent().unwrap_or(to);
    let (new, problem, conversion) = convert(package, place)?;
    archive::pack(&problem, new.path(), to, &|| false)?;
    Ok(Imported {
        conversion,
        warnings: problem.warnings,
    })
}

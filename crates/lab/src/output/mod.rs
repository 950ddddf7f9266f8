//! Writing what was found.

use crate::{Error, Report};
use std::path::Path;

/// Writes all reports into a directory, which is made if it is not there: a file `NAME.json` for each.
///
/// # Errors
/// Something cannot be written.
pub fn write(reports: &[Report], directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(Error::system(format!("make {}", directory.display())))?;
    for report in reports {
        let path = directory.join(format!("{}.json", report.experiment));
        let json = serde_json::to_string_pretty(report).map_err(|error| Error::says(error.to_string()))?;
        std::fs::write(&path, json + "\n").map_err(Error::system(format!("write {}", path.display())))?;
    }
    Ok(())
}

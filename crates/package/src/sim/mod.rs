//! Sim's packages: a Simfile, and for the package's tools a Sipfile.
//!
//! | file | what |
//! | --- | --- |
//! | `config` | the syntax of both files |
//! | `simfile` | name, limits, points, files: what the judge needs |
//! | `sipfile` | how tests are made |
//! | `names` | names of tests, and ranges of them |
//! | `edit` | limits, written into a Simfile |

mod config;
pub mod edit;
mod names;
mod simfile;
mod sipfile;

use crate::fault::Log;
use crate::model::Problem;
use crate::tree::{Names, Tree};
use std::path::Path;

/// Reads the package; what comes back counts only if the log has no error.
pub fn read(directory: &Path, log: &Log) -> Problem {
    let names = Names {
        allowed: |name| !name.contains(char::is_control),
        needed: |path| !path.starts_with("doc/"),
    };
    let tree = Tree::list(directory, &names, log);
    let sipfile = sipfile::read(&tree, log);
    simfile::read(&tree, directory, sipfile, log)
}

//! Reads packages of Sim: a Simfile, and a Sipfile for the package's tools.
//!
//! | module | content |
//! | --- | --- |
//! | `config` | the syntax of both files |
//! | `simfile` | the Simfile: name, limits, checker, submissions |
//! | `test_files` | the tests and their files |
//! | `points` | groups and their points |
//! | `values` | paths and sizes in a Simfile |
//! | `sipfile` | the Sipfile: how tests are generated |
//! | `names` | names of tests, and ranges of names |
//! | `edit` | writes limits into a Simfile |

mod config;
pub mod edit;
mod names;
mod points;
mod simfile;
mod sipfile;
mod test_files;
mod values;

use crate::fault::log::Log;
use crate::model::Problem;
use crate::tree::{Names, Tree};
use std::path::Path;

/// Reads the package. The result is valid only if the log has no error.
pub fn read(directory: &Path, log: &Log) -> Problem {
    let names = Names {
        allowed: |name| !name.contains(char::is_control),
        needed: |path| !path.starts_with("doc/"),
    };
    let tree = Tree::list(directory, &names, log);
    let sipfile = sipfile::read(&tree, log);
    simfile::read(&tree, directory, sipfile, log)
}

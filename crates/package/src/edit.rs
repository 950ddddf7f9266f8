//! Writes limits into files of a package. Comments, other values and the order of lines are
//! preserved.
//!
//! The functions take the text of a file and return the new text. The caller writes the file, then
//! reads the package again and checks the limits.

pub use crate::fault::edit::EditError;
pub use crate::icpc::edit::{
    ini_has_time_limit, ini_time_limit, yaml_has_time_limit, yaml_time_limit,
};
pub use crate::position::seconds;
pub use crate::sim::edit::simfile_limits;

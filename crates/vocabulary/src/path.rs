//! Paths in requests, which client and supervisor check and display in the same way.

use crate::{WorldError, WorldProblem};

/// Normalises an absolute path: removes empty and `.` components.
///
/// # Errors
/// The path is relative, or has a `..` component or a NUL byte.
pub fn normal(path: &[u8]) -> Result<Vec<u8>, WorldProblem> {
    if path.first() != Some(&b'/') {
        return Err(WorldProblem::PathNotAbsolute);
    }
    let mut normal = Vec::with_capacity(path.len());
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return Err(WorldProblem::PathHasDotDot),
            part if part.contains(&0) => return Err(WorldProblem::PathHasNul),
            part => {
                normal.push(b'/');
                normal.extend_from_slice(part);
            }
        }
    }
    if normal.is_empty() {
        normal.push(b'/');
    }
    Ok(normal)
}

/// The maximum number of bytes of a path that a message contains. A message must fit into a frame,
/// and the kernel does not accept paths that are much longer.
const MAX_SHOWN_BYTES: usize = 4096;

/// A path as text for messages. A very long path is shortened to its beginning and its end.
pub fn shown(path: &[u8]) -> String {
    let half = MAX_SHOWN_BYTES / 2;
    match (
        path.get(..half),
        path.len().checked_sub(half).and_then(|at| path.get(at..)),
    ) {
        (Some(begin), Some(end)) if path.len() > MAX_SHOWN_BYTES => {
            format!(
                "{}[...]{}",
                String::from_utf8_lossy(begin),
                String::from_utf8_lossy(end)
            )
        }
        _ => String::from_utf8_lossy(path).into_owned(),
    }
}

impl WorldError {
    /// Creates an error about the mount at `path`.
    pub fn at(path: &[u8], problem: WorldProblem) -> WorldError {
        WorldError {
            path: Some(shown(path)),
            problem,
        }
    }
}

//! Values of a Simfile: paths and sizes.

use crate::fault::log::{Log, Place};
use crate::fault::sim::SimfileFault;
use crate::programs::extension;

/// The name of the main file.
pub const SIMFILE: &str = "Simfile";
pub const MIB: u64 = 1 << 20;

/// Whether Sim supports the file's language.
pub fn is_source(path: &str) -> bool {
    matches!(
        extension(path),
        Some("c" | "cc" | "cpp" | "cxx" | "pas" | "py" | "rs" | "sh" | "bash")
    )
}

/// Normalises a path from a Simfile. Any path leads to a file inside the package.
pub fn inside(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Converts a memory limit from MiB to bytes. `None` means that the log contains the fault.
pub fn mebibytes(text: &str, place: &Place, log: &Log) -> Option<u64> {
    let bytes = text
        .parse::<u64>()
        .ok()
        .filter(|number| *number > 0)
        .and_then(|number| number.checked_mul(MIB));
    if bytes.is_none() {
        let text = text.into();
        log.error(place, SimfileFault::MemoryLimit { text });
    }
    bytes
}

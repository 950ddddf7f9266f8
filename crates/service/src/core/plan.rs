//! The memory that one request may make the service keep.
//!
//! References cost a client nothing: a request of a few hundred bytes can name a large file a
//! thousand times, or ask for the output of a thousand tests. So everything that a request makes
//! the service keep in memory is counted once for the whole request. Before admission, [`Plan`]
//! adds up what the request may need at most, and the queue charges it to the client. After that,
//! a [`Budget`](super::budget::Budget) ensures that outputs do not exceed the plan.

use super::execution::{Content, InputContent, InputFile, OutputFile};

/// The bytes that a record occupies in addition to its content, such as a file in an archive.
pub const RECORD_BYTES: u64 = 1 << 10;

/// What a request may make the service keep in memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    bytes: u64,
}

impl Plan {
    /// Adds bytes.
    pub fn plus(self, bytes: u64) -> Plan {
        Plan {
            bytes: self.bytes.saturating_add(bytes),
        }
    }

    /// Adds the archive of these files, which exists in memory while a program starts.
    pub fn add_files(self, files: &[InputFile]) -> Plan {
        self.plus(archive_bytes(files))
    }

    /// The sum.
    pub fn bytes(self) -> u64 {
        self.bytes
    }
}

/// The size of an archive of these files.
pub fn archive_bytes(files: &[InputFile]) -> u64 {
    files
        .iter()
        .map(|file| content_bytes(&file.content).saturating_add(RECORD_BYTES))
        .fold(0, u64::saturating_add)
}

/// The size of a file's content.
pub fn content_bytes(content: &InputContent) -> u64 {
    match content {
        InputContent::File { content, .. } => content.bytes(),
        InputContent::Archive(bytes) => bytes.len() as u64,
        InputContent::Symlink(_) => 0,
    }
}

/// The maximum total size of these returned files in bytes, limited to `max_bytes`.
pub fn outputs_bytes(outputs: &[OutputFile], max_bytes: u64) -> u64 {
    outputs
        .iter()
        .map(|output| output.max_bytes)
        .fold(0, u64::saturating_add)
        .min(max_bytes)
}

/// The memory of standard input while a program reads it.
pub fn stdin_bytes(content: Option<&Content>) -> u64 {
    content.map_or(0, Content::memory_bytes)
}

//! The memory that one request may make the service keep.
//!
//! References cost a client nothing: a request of a few hundred bytes can name a large file a
//! thousand times, or ask for the output of a thousand tests. So everything that a request makes
//! the service keep in memory is counted once for the whole request. Before admission, [`Plan`]
//! adds up what the request may need at most, and the queue charges it to the client. After that,
//! a [`Budget`](super::budget::Budget) ensures that outputs do not exceed the plan.
//!
//! Most programs write much less than they may. So a request that may need more than one request is
//! charged for is admitted all the same, but always charged for its inputs: their size is known.

use super::execution::{Content, InputContent, InputFile, OutputFile};

/// The bytes that a record occupies in addition to its content, such as a file in an archive.
pub const RECORD_BYTES: u64 = 1 << 10;

/// What a request may make the service keep in memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    bytes: u64,
    /// The part that the request will need.
    inputs: u64,
}

impl Plan {
    /// Adds bytes that the request may need.
    pub fn plus(self, bytes: u64) -> Plan {
        Plan {
            bytes: self.bytes.saturating_add(bytes),
            ..self
        }
    }

    /// Adds bytes of inputs, such as the archive of the files with which a program starts.
    pub fn plus_inputs(self, bytes: u64) -> Plan {
        Plan {
            inputs: self.inputs.saturating_add(bytes),
            ..self.plus(bytes)
        }
    }

    /// What the request is charged for, if a request is charged for at most `max_charge` bytes of
    /// what it only may need.
    pub fn charge(self, max_charge: u64) -> u64 {
        self.bytes.min(max_charge).max(self.inputs)
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

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn inputs_are_charged_even_above_the_maximum() {
        let plan = Plan::default().plus(30).plus_inputs(40);
        assert_eq!([100, 50, 30].map(|max| plan.charge(max)), [70, 50, 40]);
    }
}

//! The header that precedes every body.
//!
//! The header has a fixed form and is read before the body. So a body that cannot be decoded is
//! rejected under its own id, and the following frames still work.

use crate::DecodeError;

/// The first word of every frame. Its last byte is the version of the protocol, which increases
/// whenever the encoding or the meaning of a message changes. Patch releases keep it. Tests compare
/// the encodings with golden files.
pub const PROTOCOL: u32 = u32::from_le_bytes(*b"mbx\x08");

/// The maximum length of a frame that is sent through the socket itself. A longer body is sent in a
/// sealed memfd, which is the first descriptor of the frame. The bound is well below the smallest
/// default buffer of a socket (`net.core.wmem_default`, 212,992 bytes with overhead).
pub const MAX_INLINE: usize = 60 * 1024;

/// The maximum length of an encoded run. It has room for a world and for more strings than
/// `ARG_MAX` allows with the default stack limit (2 MiB, execve(2)).
pub const MAX_RUN: usize = 4 * 1024 * 1024;

/// The maximum length of a body in a memfd, which may contain a pair of runs.
pub const MAX_BODY: usize = 2 * MAX_RUN;

/// The length of an encoded header in bytes.
pub const HEADER: usize = 16;

/// The maximum number of descriptors of one frame: a memfd, and the descriptors of a pair of runs.
pub const MAX_DESCRIPTORS: usize = 11;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Client: run a program ([`crate::Run`]).
    Run = 1,
    /// Client: run two programs (two [`crate::Run`]). Both start together in one slot, or neither
    /// starts. The header contains the id of the first run; the id of the second run follows the
    /// header.
    Pair = 4,
    /// Client: end a run and send its result ([`crate::Kill`]).
    Kill = 2,
    /// Client: end a run without a result.
    Cancel = 3,
    /// Supervisor: is ready for requests ([`crate::Hello`]).
    Hello = 16,
    /// Supervisor: the result of a run ([`crate::RunResult`]).
    Result = 17,
    /// Supervisor: the reason why it could not start or must end ([`crate::SupervisorError`]).
    Failure = 18,
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The kind of the body.
    pub kind: Kind,
    /// Whether the body is in a memfd, the frame's first descriptor.
    pub in_memfd: bool,
    /// The id of the run, chosen by the client; 0 if the frame belongs to no run.
    pub id: u64,
}

/// The error of an unreadable frame, with the frame's id if the id could be read.
pub type Unreadable = (Option<u64>, DecodeError);

const IN_MEMFD: u32 = 1 << 31;

impl Header {
    /// Encodes the header.
    pub fn encode(self) -> [u8; HEADER] {
        let kind = self.kind as u32 | if self.in_memfd { IN_MEMFD } else { 0 };
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&PROTOCOL.to_le_bytes());
        bytes[4..8].copy_from_slice(&kind.to_le_bytes());
        bytes[8..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    /// Splits a frame into header and body.
    ///
    /// # Errors
    /// The frame is unreadable. The error contains the id if the id could be read.
    pub fn decode(frame: &[u8]) -> Result<(Header, &[u8]), Unreadable> {
        let Some((head, body)) = frame.split_at_checked(HEADER) else {
            return Err((None, DecodeError::Short(frame.len())));
        };
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if word(0) != PROTOCOL {
            return Err((None, DecodeError::Protocol(word(0))));
        }
        let id = u64::from(word(8)) | u64::from(word(12)) << 32;
        let kind = match word(4) & !IN_MEMFD {
            1 => Kind::Run,
            2 => Kind::Kill,
            3 => Kind::Cancel,
            4 => Kind::Pair,
            16 => Kind::Hello,
            17 => Kind::Result,
            18 => Kind::Failure,
            other => return Err((Some(id), DecodeError::Kind(other))),
        };
        Ok((
            Header {
                kind,
                in_memfd: word(4) & IN_MEMFD != 0,
                id,
            },
            body,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_survives_encoding_and_decoding() {
        let header = Header {
            kind: Kind::Kill,
            in_memfd: true,
            id: 0x1234_5678_9abc_def0,
        };
        let mut frame = header.encode().to_vec();
        frame.extend_from_slice(b"body");
        assert_eq!(Header::decode(&frame).unwrap(), (header, &b"body"[..]));
    }

    #[test]
    fn invalid_frame_returns_its_own_error() {
        assert!(matches!(
            Header::decode(b"abc"),
            Err((None, DecodeError::Short(3)))
        ));
        assert!(matches!(
            Header::decode(&[0; 20]),
            Err((None, DecodeError::Protocol(0)))
        ));
        let mut frame = Header {
            kind: Kind::Run,
            in_memfd: false,
            id: 7,
        }
        .encode();
        frame[4] = 99;
        assert!(matches!(
            Header::decode(&frame),
            Err((Some(7), DecodeError::Kind(99)))
        ));
    }
}

//! The header that stands before every body.
//!
//! It is fixed and read before the body, so that a body that cannot be
//! understood is still refused under its own id, and the next one works.

use crate::DecodeError;

/// First word of every frame; its last byte is the protocol's version.
pub const PROTOCOL: u32 = u32::from_le_bytes(*b"mbx\x04");

/// Longest frame that is sent through the socket itself; a longer body goes
/// into a sealed memfd, sent as the frame's first descriptor. Well below the
/// smallest default socket buffer (`net.core.wmem_default`, 212,992 bytes,
/// accounted with overhead).
pub const MAX_INLINE: usize = 60 * 1024;

/// Longest body in a memfd: more than `ARG_MAX` strings under the default stack
/// limit (2 MiB, execve(2)), with room for a world.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// Length of an encoded header in bytes.
pub const HEADER: usize = 16;

/// Most descriptors that go with one frame.
pub const MAX_DESCRIPTORS: usize = 8;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Client: run a program ([`crate::Run`]).
    Run = 1,
    /// Client: end a run, its result is wanted ([`crate::Kill`]).
    Kill = 2,
    /// Client: forget a run; no result will come.
    Cancel = 3,
    /// Supervisor: I am ready ([`crate::Hello`]).
    Hello = 16,
    /// Supervisor: the result of a run ([`crate::RunResult`]).
    Result = 17,
    /// Supervisor: the reason why it could not start, or must end ([`crate::SupervisorError`]).
    Failure = 18,
}

/// Kind and id of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the body is.
    pub kind: Kind,
    /// The body is not in the frame but in the memfd that came as its first descriptor.
    pub in_memfd: bool,
    /// The run that the frame is about; chosen by the client; 0 if it is about no run.
    pub id: u64,
}

/// Why a frame could not be read, with its id if that could be.
pub type Unreadable = (Option<u64>, DecodeError);

const IN_MEMFD: u32 = 1 << 31;

impl Header {
    /// The header's bytes.
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
    /// On an error the id, where one could be read, is given with it.
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
    fn a_header_survives_the_wire() {
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
    fn invalid_frames_have_different_errors() {
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

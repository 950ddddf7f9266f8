//! The form of a message: a kind, the number of a tunnel, a sequence number and a payload.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The bytes of a message without a payload.
pub const HEADER_BYTES: usize = 1 + 16 + 4;

/// The number of a tunnel. It is random, so no number is used again after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TunnelId {
    /// The start of the front end that has opened the tunnel.
    pub epoch: u64,
    /// The number among the tunnels of the epoch.
    pub number: u64,
}

/// What a message means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The front end opens a tunnel. The payload is an [`super::load::Opening`].
    Open = 1,
    /// The executor has opened the tunnel.
    Accept = 2,
    /// Bytes of the stream.
    Data = 3,
    /// The stream of this direction has ended.
    End = 4,
    /// The receiver has consumed a number of bytes, which the sender may send in addition.
    Window = 5,
    /// The tunnel has ended.
    Reset = 6,
    /// The front end still has the tunnels of its epoch.
    Beat = 7,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Open,
        Kind::Accept,
        Kind::Data,
        Kind::End,
        Kind::Window,
        Kind::Reset,
        Kind::Beat,
    ];
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub tunnel: TunnelId,
    /// Counts the messages with parts of the stream, so that a lost part is noticed.
    pub sequence: u32,
    pub payload: Bytes,
}

impl Frame {
    /// A message that is no part of the stream.
    pub fn control(kind: Kind, tunnel: TunnelId, payload: Bytes) -> Frame {
        Frame {
            kind,
            tunnel,
            sequence: 0,
            payload,
        }
    }

    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEADER_BYTES + self.payload.len());
        bytes.put_u8(self.kind as u8);
        bytes.put_u64(self.tunnel.epoch);
        bytes.put_u64(self.tunnel.number);
        bytes.put_u32(self.sequence);
        bytes.extend_from_slice(&self.payload);
        bytes.freeze()
    }

    /// The message of these bytes. `None` if they are no message.
    pub fn decode(mut bytes: Bytes) -> Option<Frame> {
        if bytes.len() < HEADER_BYTES {
            return None;
        }
        let kind = bytes.get_u8();
        Some(Frame {
            kind: Kind::ALL.into_iter().find(|known| *known as u8 == kind)?,
            tunnel: TunnelId {
                epoch: bytes.get_u64(),
                number: bytes.get_u64(),
            },
            sequence: bytes.get_u32(),
            payload: bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_survives_its_encoding_and_short_or_unknown_ones_are_rejected() {
        let tunnel = TunnelId {
            epoch: u64::MAX - 1,
            number: 7,
        };
        for kind in Kind::ALL {
            let frame = Frame {
                kind,
                tunnel,
                sequence: 9,
                payload: Bytes::from_static(b"payload"),
            };
            assert_eq!(Frame::decode(frame.encode()), Some(frame));
        }
        let encoded = Frame::control(Kind::Beat, tunnel, Bytes::new()).encode();
        assert_eq!(encoded.len(), HEADER_BYTES);
        assert_eq!(Frame::decode(encoded.slice(1..)), None);
        let mut unknown = encoded.to_vec();
        unknown[0] = 8;
        assert_eq!(Frame::decode(unknown.into()), None);
    }
}

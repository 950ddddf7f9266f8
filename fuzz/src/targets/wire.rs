//! Messages of the protocol between client and supervisor.

use crate::Target;
use millibox_seccomp::Program;
use millibox_wire::frame::{HEADER, Header};
use millibox_wire::{Hello, Kill, Located, Run, RunResult, decode, encode};

pub const FRAME: Target = Target {
    name: "frame",
    run: frame,
    dictionary: &["mbx\x05", "/\0", "\0\0\0\0", "\x01\x01"],
};
pub const WORLD: Target = Target {
    name: "world",
    run: world,
    dictionary: &["/usr", "/lib64", "/", "..", "\0"],
};

/// Decodes a header and its body as each type of message. Encoding and decoding again must not
/// change a message.
fn frame(bytes: &[u8]) {
    match Header::decode(bytes) {
        Ok((header, body)) => {
            assert_eq!(&header.encode()[..], &bytes[..HEADER]);
            assert_eq!(body, &bytes[HEADER..]);
            if let Ok(run) = decode::<Run>(body) {
                let again = encode(&run);
                assert_eq!(decode::<Run>(&again).expect("an encoded value"), run);
                let longer = [&again[..], b"x"].concat();
                assert!(
                    decode::<Run>(&longer).is_err(),
                    "a body with an additional byte was accepted"
                );
                let shorter = &again[..again.len() - 1];
                assert!(
                    decode::<Run>(shorter).is_err(),
                    "a truncated body was accepted"
                );
                // A frame contains the world's bytes without decoding them.
                world(run.world);
            }
            if let Ok(pair) = decode::<[Run; 2]>(body) {
                assert_eq!(
                    decode::<[Run; 2]>(&encode(&pair)).expect("an encoded value"),
                    pair
                );
            }
            if let Ok(kill) = decode::<Kill>(body) {
                assert_eq!(
                    decode::<Kill>(&encode(&kill)).expect("an encoded value"),
                    kill
                );
            }
            if let Ok(hello) = decode::<Hello>(body) {
                assert_eq!(
                    decode::<Hello>(&encode(&hello)).expect("an encoded value"),
                    hello
                );
            }
            if let Ok(result) = decode::<RunResult>(body) {
                assert_eq!(
                    decode::<RunResult>(&encode(&result)).expect("an encoded value"),
                    result
                );
                if let Some(error) = result.outcome.error() {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        Err((id, error)) => {
            super::assert_one_line(&error.to_string());
            assert!(id.is_none() || bytes.len() >= HEADER);
        }
    }
}

/// Decodes a world. Its encoding must be canonical, because the supervisor compares worlds by their
/// bytes.
fn world(bytes: &[u8]) {
    match decode::<Located>(bytes) {
        Ok(located) => {
            let again = encode(&located);
            assert_eq!(
                decode::<Located>(&again).expect("an encoded value"),
                located
            );
            assert_eq!(
                Located::encoding(&encode(&located.world), &located.sources),
                again
            );
            assert!(
                again.len() <= bytes.len(),
                "encode() does not return the shortest encoding"
            );
            if let Some(Ok(program)) = located.world.seccomp.as_deref().map(Program::from_bytes) {
                assert_eq!(Some(program.as_bytes()), located.world.seccomp);
            }
        }
        Err(error) => super::assert_one_line(&error.to_string()),
    }
}

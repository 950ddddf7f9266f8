//! What a client sends.

use crate::Target;
use millibox_seccomp::Program;
use millibox_wire::frame::{HEADER, Header};
use millibox_wire::{Hello, Kill, Located, Run, RunResult, decode, encode};

pub const FRAME: Target = Target { name: "frame", run: frame, words: &["mbx\x04", "/\0", "\0\0\0\0", "\x01\x01"] };
pub const WORLD: Target = Target { name: "world", run: world, words: &["/usr", "/lib64", "/", "..", "\0"] };

/// A header says what its bytes say; a body that is understood is said again in the same way.
fn frame(bytes: &[u8]) {
    match Header::decode(bytes) {
        Ok((header, body)) => {
            assert_eq!(&header.encode()[..], &bytes[..HEADER]);
            assert_eq!(body, &bytes[HEADER..]);
            if let Ok(run) = decode::<Run>(body) {
                let again = encode(&run);
                assert_eq!(decode::<Run>(&again).expect("what was encoded"), run);
                let more = [&again[..], b"x"].concat();
                assert!(decode::<Run>(&more).is_err(), "bytes too many were taken");
                let less = &again[..again.len() - 1];
                assert!(decode::<Run>(less).is_err(), "bytes too few were taken");
                // The world is taken as it came.
                world(run.world);
            }
            if let Ok(kill) = decode::<Kill>(body) {
                assert_eq!(decode::<Kill>(&encode(&kill)).expect("what was encoded"), kill);
            }
            if let Ok(hello) = decode::<Hello>(body) {
                assert_eq!(decode::<Hello>(&encode(&hello)).expect("what was encoded"), hello);
            }
            if let Ok(result) = decode::<RunResult>(body) {
                assert_eq!(decode::<RunResult>(&encode(&result)).expect("what was encoded"), result);
                assert!(!result.to_string().is_empty());
            }
        }
        Err((id, error)) => {
            super::one_line(&error.to_string());
            assert!(id.is_none() || bytes.len() >= HEADER);
        }
    }
}

/// The same of worlds. Two worlds are one if their bytes are: whoever encodes does it in one way.
fn world(bytes: &[u8]) {
    match decode::<Located>(bytes) {
        Ok(located) => {
            let again = encode(&located);
            assert_eq!(decode::<Located>(&again).expect("what was encoded"), located);
            assert_eq!(Located::encoding(&encode(&located.world), &located.sources), again);
            assert!(again.len() <= bytes.len(), "there is a shorter way than encode()'s");
            if let Some(Ok(program)) = located.world.seccomp.as_deref().map(Program::from_bytes) {
                assert_eq!(Some(program.as_bytes()), located.world.seccomp);
            }
        }
        Err(error) => super::one_line(&error.to_string()),
    }
}

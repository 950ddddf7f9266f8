//! The mounter, a process that builds the template of a world.

use crate::sys::calls;
use crate::template::{self, BuildError, Built, Plan};
use millibox_wire::{Located, Step};

/// The main function of a mounter, in the forked child.
pub fn main(located: &Located, plan: &Plan, socket: i32, procfs: i32) -> ! {
    let _ = calls::prctl(
        libc::PR_SET_NAME,
        c"millibox-mount".as_ptr() as usize,
        0,
        0,
        0,
    );
    let failed = |error: BuildError| {
        let mut bytes = vec![b'F'];
        for word in [error.step as u32, error.errno.0 as u32, error.object as u32] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        let _ = calls::send_descriptors(socket, &bytes, &[]);
    };
    match template::build(located, plan) {
        Ok(Built { directories, stage }) => {
            match calls::openat(procfs, c"self/ns/mnt", libc::O_RDONLY, 0) {
                Ok(namespace) => {
                    let mut bytes = vec![b'B'];
                    bytes.extend_from_slice(&stage.to_ne_bytes());
                    bytes.extend(directories.iter().map(|&directory| u8::from(directory)));
                    let _ = calls::send_descriptors(socket, &bytes, &[namespace]);
                }
                Err(errno) => failed(BuildError {
                    step: Step::Template,
                    errno,
                    object: usize::MAX,
                }),
            }
        }
        Err(error) => failed(error),
    }
    calls::exit(0)
}

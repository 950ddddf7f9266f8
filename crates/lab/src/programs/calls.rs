//! The program `calls`, which times single system calls with a clock around each call, as in Zinke
//! 2009.

use super::{ProgramError, sys};
use serde::{Deserialize, Serialize};

/// The time of each call in ticks of `sys::ticks`, one number for each repetition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calls {
    /// The clock's unit.
    pub unit: String,
    /// Two readings of the clock with nothing between them.
    pub nothing: Vec<u64>,
    /// open(2) of /dev/null.
    pub open: Vec<u64>,
    /// open(2) of a missing file.
    pub open_invalid: Vec<u64>,
    /// write(2) of one byte to /dev/null.
    pub write: Vec<u64>,
    /// write(2) to an invalid descriptor.
    pub write_invalid: Vec<u64>,
    /// close(2).
    pub close: Vec<u64>,
    /// close(2) of an invalid descriptor.
    pub close_invalid: Vec<u64>,
    /// All three in sequence.
    pub sequence: Vec<u64>,
    /// All three in sequence, each of them invalid.
    pub sequence_invalid: Vec<u64>,
}

/// An invalid descriptor.
const INVALID_FD: i32 = -1;

/// Makes each call `repetitions` times in turn. The same number of uncounted calls precedes them,
/// because the first calls fill caches and page tables.
pub fn measure(repetitions: usize) -> Calls {
    let mut calls = Calls {
        unit: sys::TICKS.to_owned(),
        nothing: Vec::new(),
        open: Vec::new(),
        open_invalid: Vec::new(),
        write: Vec::new(),
        write_invalid: Vec::new(),
        close: Vec::new(),
        close_invalid: Vec::new(),
        sequence: Vec::new(),
        sequence_invalid: Vec::new(),
    };
    let time = |what: &mut dyn FnMut()| {
        let begin = sys::ticks();
        what();
        sys::ticks() - begin
    };
    let there = c"/dev/null";
    let not_there = c"/millibox-lab-has-no-such-file";
    for turn in 0..repetitions * 2 {
        let mut fd = INVALID_FD;
        let nothing = time(&mut || {});
        let open = time(&mut || fd = sys::open(there));
        let write = time(&mut || {
            sys::write_byte(fd);
        });
        let close = time(&mut || {
            sys::close(fd);
        });
        let open_invalid = time(&mut || {
            sys::open(not_there);
        });
        let write_invalid = time(&mut || {
            sys::write_byte(INVALID_FD);
        });
        let close_invalid = time(&mut || {
            sys::close(INVALID_FD);
        });
        let three = |path| {
            let fd = sys::open(path);
            sys::write_byte(fd);
            sys::close(fd);
        };
        let sequence = time(&mut || three(there));
        let sequence_invalid = time(&mut || three(not_there));
        if turn >= repetitions {
            calls.nothing.push(nothing);
            calls.open.push(open);
            calls.write.push(write);
            calls.close.push(close);
            calls.open_invalid.push(open_invalid);
            calls.write_invalid.push(write_invalid);
            calls.close_invalid.push(close_invalid);
            calls.sequence.push(sequence);
            calls.sequence_invalid.push(sequence_invalid);
        }
    }
    calls
}

/// Prints the times on standard output.
pub fn print(repetitions: usize) -> Result<u8, ProgramError> {
    // Times of calls that cannot succeed mean nothing.
    let fd = sys::open(c"/dev/null");
    if fd < 0 {
        return Err(format!("open /dev/null: {}", std::io::Error::last_os_error()).into());
    }
    sys::close(fd);
    println!("{}", serde_json::to_string(&measure(repetitions))?);
    Ok(0)
}

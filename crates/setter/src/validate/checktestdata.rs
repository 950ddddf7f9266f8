//! Input validators in the language checktestdata.

use super::fault::{Refusal, ValidationFault};
use crate::SetterError;
use crate::error::{FileAction, file};
use millibox_checktestdata as checktestdata;
use millibox_package::Constants;
use millibox_package::model::Program;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum size of a program in bytes.
const MAX_PROGRAM_BYTES: usize = 1 << 20;
/// Maximum size of an input in bytes. An input is read into memory.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Reads a validator.
pub fn read(program: &Program) -> Result<Vec<u8>, SetterError> {
    let mut bytes = Vec::new();
    File::open(&program.path)
        .and_then(|file| {
            file.take(MAX_PROGRAM_BYTES as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .map_err(|error| file(FileAction::Read, &program.path, error))?;
    Ok(bytes)
}

/// Parses a validator. The error is a fault and its line.
pub fn parse(
    mut bytes: Vec<u8>,
    constants: &Constants,
) -> Result<checktestdata::Program, Box<(Option<u32>, ValidationFault)>> {
    let not_text = || Box::new((None, ValidationFault::NotUtf8));
    let filled = constants.fill(&bytes, MAX_PROGRAM_BYTES);
    if let Some(filled) = filled.map_err(|_| not_text())? {
        bytes = filled;
    }
    let text = String::from_utf8(bytes).map_err(|_| not_text())?;
    checktestdata::Program::parse(&text).map_err(|error| {
        let line = u32::try_from(error.line).ok();
        let reason = error.message;
        Box::new((line, ValidationFault::Checktestdata { reason }))
    })
}

/// Checks an input. Returns why the validator did not accept it.
pub fn check(
    program: &checktestdata::Program,
    input: &Path,
) -> Result<Option<Refusal>, SetterError> {
    let failed = |error| file(FileAction::Read, input, error);
    let mut bytes = Vec::new();
    File::open(input)
        .and_then(|file| file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Ok(Some(Refusal::TooLong {
            mebibytes: MAX_INPUT_BYTES >> 20,
        }));
    }
    Ok(program.check(&bytes).err().map(Refusal::Checktestdata))
}

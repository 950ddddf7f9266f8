//! Interpreters that are started once and copied for each run.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, checked, given, returned, string, strings};
use crate::error::Error;
use crate::world::ProgramWorld;
use millibox::{Prepare, STANDARD_ENVIRONMENT};
use std::ffi::{OsStr, OsString, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;

/// An interpreter in a world, which is started once and copied for each run. A copy starts many
/// times faster. The supervisor starts the interpreter when a run first needs it.
///
/// Any number of threads may use it at the same time.
pub struct Prepared {
    pub prepared: millibox::Prepared,
}

/// Prepares the Python interpreter at `path` inside the world, with imported modules. `modules` is
/// an array of names that ends with NULL, or NULL. The caller frees `*prepared` with
/// millibox_prepared_free. The interpreter starts with the environment of a new program.
///
/// A program that uses it takes the arguments of python3: "-c" and code, "-m" and a module, a file,
/// or none for code from standard input.
///
/// The function does not start the interpreter, so it does not report that `path` does not exist in
/// the world; millibox_result_cold_start_reason does.
///
/// Fails with MILLIBOX_CODE_INVALID if libmillibox_ready.so is not installed, or an argument
/// is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_prepared_python(
    world: Option<&ProgramWorld>,
    path: *const c_char,
    modules: *const *const c_char,
    prepared: Option<&mut MaybeUninit<Option<Box<Prepared>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(prepared, "prepared", || {
            python(world, path, modules, std::ptr::null())
        })
    })
}

/// Prepares a Python interpreter as millibox_prepared_python does, with more environment variables.
/// `environment` is an array of strings NAME=VALUE that ends with NULL, or NULL.
///
/// A run has the environment of its program. If the program has other values of variables that
/// Python reads when it starts (PYTHON*, LC_*, LD_*, LANG, HOME), the copy executes the interpreter
/// anew, so set them here and with millibox_program_set_env.
///
/// Fails with MILLIBOX_CODE_INVALID also if a string contains no =.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_prepared_python_with_env(
    world: Option<&ProgramWorld>,
    path: *const c_char,
    modules: *const *const c_char,
    environment: *const *const c_char,
    prepared: Option<&mut MaybeUninit<Option<Box<Prepared>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(prepared, "prepared", || {
            python(world, path, modules, environment)
        })
    })
}

fn python(
    world: Option<&ProgramWorld>,
    path: *const c_char,
    modules: *const *const c_char,
    environment: *const *const c_char,
) -> Result<Option<Prepared>, Error> {
    let world = given(world, "world")?;
    if !world.mistakes.is_empty() {
        return Err(Error::invalid(world.mistakes.join("\n")));
    }
    let path = given(string(path), "path")?;
    let mut prepare = Prepare::python(path, strings(modules));
    let mut variables: Vec<(OsString, OsString)> = STANDARD_ENVIRONMENT
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    for variable in strings(environment) {
        let bytes = variable.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=');
        let Some((name, value)) = equals.map(|at| (&bytes[..at], &bytes[at + 1..])) else {
            let variable = variable.to_string_lossy();
            return Err(Error::invalid(format_args!(
                "the environment contains {variable:?}, which has no ="
            )));
        };
        let (name, value) = (OsStr::from_bytes(name), OsStr::from_bytes(value));
        variables.retain(|(known, _)| known != name);
        variables.push((name.into(), value.into()));
    }
    for (name, value) in variables {
        prepare = prepare.env(name, value);
    }
    let prepared = world.world.prepare(&prepare)?;
    Ok(Some(Prepared { prepared }))
}

/// Frees a prepared interpreter. Programs that use the interpreter keep it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_prepared_free(prepared: Option<Box<Prepared>>) {
    border::or((), || drop(prepared));
}

//! Interpreters that are started once and copied for each run.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, checked, given, returned, string, strings};
use crate::error::Error;
use crate::world::ProgramWorld;
use millibox::Prepare;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// An interpreter in a world, which is started once and copied for each run. A copy starts many
/// times faster. The supervisor starts the interpreter when a run first needs it.
///
/// Any number of threads may use it at the same time.
pub struct Prepared {
    pub prepared: millibox::Prepared,
}

/// Prepares the Python interpreter at `path` inside the world, with imported modules. `modules` is
/// an array of names that ends with NULL, or NULL. The caller frees `*prepared` with
/// millibox_prepared_free.
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
            let world = given(world, "world")?;
            if !world.mistakes.is_empty() {
                return Err(Error::invalid(world.mistakes.join("\n")));
            }
            let path = given(string(path), "path")?;
            let prepare = Prepare::python(path, strings(modules));
            let prepared = world.world.prepare(&prepare)?;
            Ok(Some(Prepared { prepared }))
        })
    })
}

/// Frees a prepared interpreter. Programs that use the interpreter keep it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_prepared_free(prepared: Option<Box<Prepared>>) {
    border::or((), || drop(prepared));
}

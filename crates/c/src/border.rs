//! Pointers of C, and panics.
//!
//! No function can check whether a pointer of C is valid. The header states what a caller
//! guarantees: a pointer is NULL or valid, a string ends with NUL, and a buffer has the stated
//! length. This module relies on these guarantees, so only exported functions may call it, with
//! pointers that they have received.
#![allow(unsafe_code, reason = "all unsafe blocks of the crate are here")]

use crate::error::Error;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The pointer with which a function returns a handle. The memory behind it need not be
/// initialized.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<Option<Box<T>>>>;

/// Calls the body of an exported function that can fail.
pub fn checked(body: impl FnOnce() -> Result<(), Error>) -> Option<Box<Error>> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(Box::new(error)),
        Err(payload) => {
            let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref()) {
                (Some(text), _) => text,
                (None, Some(text)) => String::as_str(text),
                (None, None) => "no message",
            };
            let error = Error::panic(text);
            // Dropping an unknown payload could panic again.
            std::mem::forget(payload);
            Some(Box::new(error))
        }
    }
}

/// Calls the body of an exported function that cannot fail. Returns `other` after a panic.
pub fn or<T>(other: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        std::mem::forget(payload);
        other
    })
}

/// Returns a handle through the pointer of the caller, or NULL before an error.
///
/// # Errors
/// The error of `make`, or the pointer is NULL.
pub fn returned<T>(
    out: Out<'_, T>,
    name: &str,
    make: impl FnOnce() -> Result<Option<T>, Error>,
) -> Result<(), Error> {
    let out = out.ok_or_else(|| Error::null(name))?.write(None);
    *out = make()?.map(Box::new);
    Ok(())
}

/// The handle that a pointer refers to.
///
/// # Errors
/// The pointer is NULL.
pub fn given<T>(pointer: Option<T>, name: &str) -> Result<T, Error> {
    pointer.ok_or_else(|| Error::null(name))
}

/// A string of C; `None` for NULL.
pub fn string<'a>(text: *const c_char) -> Option<&'a OsStr> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller of the exported function guarantees that the string ends with NUL and does
    // not change during the call. No exported function keeps the reference.
    let text = unsafe { CStr::from_ptr(text) };
    Some(OsStr::from_bytes(text.to_bytes()))
}

/// A buffer of C; `None` for NULL, unless the buffer is empty.
pub fn buffer<'a>(data: *const c_void, length: usize) -> Option<&'a [u8]> {
    if length == 0 {
        return Some(&[]);
    }
    if data.is_null() || length > isize::MAX as usize {
        return None;
    }
    // SAFETY: the caller of the exported function guarantees that the buffer has this length and
    // does not change during the call. No exported function keeps the reference.
    Some(unsafe { std::slice::from_raw_parts(data.cast(), length) })
}

/// The strings in an array of C that ends with NULL. NULL is an empty array.
pub fn strings<'a>(texts: *const *const c_char) -> Vec<&'a OsStr> {
    let mut all = Vec::new();
    if texts.is_null() {
        return all;
    }
    // SAFETY: the caller of the exported function guarantees that the array ends with NULL and does
    // not change during the call, and the loop does not read beyond its end.
    while let Some(text) = string(unsafe { *texts.add(all.len()) }) {
        all.push(text);
    }
    all
}

/// Duplicates the caller's descriptor.
///
/// # Errors
/// The descriptor is not open, or this process has too many open descriptors.
pub fn duplicate(descriptor: c_int) -> std::io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(rustix::io::Errno::BADF.into());
    }
    // SAFETY: the descriptor is not negative. If it is not open, the duplication fails. The
    // borrowed descriptor lives for this call only.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    borrowed.try_clone_to_owned()
}

/// A value that is dropped only in the process that created it.
pub struct Owned<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Owned<T> {
        Owned {
            value: ManuallyDrop::new(value),
            process: std::process::id(),
        }
    }

    /// The value, in the process that has created it.
    ///
    /// # Errors
    /// This process was forked from that process.
    pub fn here(&self) -> Result<&T, Error> {
        if self.process == std::process::id() {
            Ok(&self.value)
        } else {
            Err(millibox::Error::Died(millibox::EndReason::Forked).into())
        }
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: the value is not used after this, because its owner is being dropped.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn panic_becomes_an_error() {
        let error = checked(|| panic!("the reason is {}", 7)).expect("an error");
        assert_eq!(error.code(), ErrorCode::Panic);
        assert!(error.to_string().contains("the reason is 7"), "{error}");
        let error = checked(|| std::panic::panic_any(7)).expect("an error");
        assert_eq!(error.code(), ErrorCode::Panic);
    }

    #[test]
    fn panic_of_a_function_without_errors_becomes_its_default() {
        assert_eq!(or(7, || panic!("a reason")), 7);
    }
}

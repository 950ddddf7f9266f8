//! Versions of the library and of the protocol.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use millibox_wire::frame::PROTOCOL;
use std::ffi::{CStr, c_char};

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// Returns the version of the library, such as "0.3.0". It is static.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the version of the protocol between library and supervisor. The supervisor must have the
/// same version; millibox_sandbox_new checks it.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_protocol_version() -> u32 {
    // The last byte of the word that begins each frame.
    PROTOCOL >> 24
}

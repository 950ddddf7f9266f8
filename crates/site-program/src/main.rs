//! The program `millibox-site`, whose code is the library of the same name.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    millibox_site::main()
}

//! The execution service of millibox: runs programs over HTTP.
#![forbid(unsafe_code)]

pub mod core;

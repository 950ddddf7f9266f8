//! The lab.
#![deny(unsafe_code)]

pub mod programs;

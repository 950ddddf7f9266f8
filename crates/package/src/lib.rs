//! Problem packages: what a problem setter writes, read into one model.
//!
//! | file | what |
//! | --- | --- |
//! | `model` | a problem: tests, groups, limits, checkers, submissions |
//!
//! Nothing here runs a program or knows of the sandbox.
#![forbid(unsafe_code)]

pub mod model;

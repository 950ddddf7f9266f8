//! The contest site.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod blobs;
mod core;
mod db;
mod judging;
fn main() {}

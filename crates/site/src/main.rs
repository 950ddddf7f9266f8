//! The contest site.
fn main() {}

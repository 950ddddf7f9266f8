//! From tests' results to a submission's, in whatever order they come.

mod expected;
mod order;
mod rules;
mod tree;

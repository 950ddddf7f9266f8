//! From tests' results to a submission's, in whatever order they come, and to reports.

mod expected;
mod order;
mod reports;
mod rules;
mod tree;

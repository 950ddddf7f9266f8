//! From tests' results to a submission's, in whatever order they come, and to reports.

mod expected;
mod format;
mod order;
mod reports;
mod rules;
mod tree;

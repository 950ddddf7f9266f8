//! Tests of scoring, with results in any order, and of reports.

mod expected;
mod format;
mod order;
mod reports;
mod rules;
mod tree;

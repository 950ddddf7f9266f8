//! Tests of reports, and of scoring with results in any order.

mod expected;
mod format;
mod order;
mod reports;
mod rules;
mod tree;

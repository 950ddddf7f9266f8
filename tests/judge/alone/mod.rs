//! Tests that need an otherwise idle machine. `.ci/test` runs them after all others.

mod interactive;
mod overload;

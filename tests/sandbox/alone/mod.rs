//! Tests that need an otherwise idle machine. `.ci/test` runs them after all other tests.

mod locks;

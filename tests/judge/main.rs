//! Tests of the judge, with real compilers in the real sandbox.

mod suites;

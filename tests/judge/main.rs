//! Tests of the judge on the real sandbox, one module for each part.

mod batch;
mod cancel;
mod checkers;
mod interactive;
mod judge;
mod overload;
mod own_failures;
mod package;
mod passes;
mod problem;
mod setting;
mod suites;

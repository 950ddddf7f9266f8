//! Tests of the judge on the real sandbox, one module for each part.

mod batch;
mod cancel;
mod checkers;
mod command;
mod interactive;
mod languages;
mod overload;
mod own_failures;
mod package;
mod passes;
mod problem;
mod setting;

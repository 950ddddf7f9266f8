//! Tests of the judge on the real sandbox, one module for each part.

mod alone;
mod batch;
mod cancel;
mod checkers;
mod command;
mod interactive;
mod languages;
mod own_failures;
mod package;
mod pass_channels;
mod passes;
mod problem;
mod second;
mod setting;

//! Tests of the execution service: the real `millibox serve`, the real sandbox, and HTTP.

mod go_judge;
mod judge0;
mod piston;
mod sandbox_fusion;
mod server;

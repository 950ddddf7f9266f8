//! Tests of the execution service: the real `millibox serve`, the real sandbox, and HTTP.

mod console;
mod faults;
mod go_judge;
mod judge0;
mod overload;
mod piston;
mod root;
mod sandbox_fusion;
mod server;
mod v1;

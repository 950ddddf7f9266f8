//! Tests of the execution service: the real `millibox serve`, the real sandbox, and HTTP.

mod budget;
mod clients;
mod console;
mod faults;
mod fleet;
mod go_judge;
mod half_closed;
mod judge0;
mod machine;
mod overload;
mod owners;
mod piston;
mod pressure;
mod root;
mod sandbox_fusion;
mod server;
mod shares;
mod v1;

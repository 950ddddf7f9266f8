//! Tests of `millibox serve`, with the real sandbox.

mod piston;
mod server;

//! Tests of the execution service: the real `millibox serve`, the real sandbox, and HTTP.

mod console;
mod everything;
mod server;

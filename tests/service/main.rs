//! Tests of the execution service: the real `millibox serve`, the real sandbox, and HTTP.

mod faults;
mod overload;
mod server;
mod v1;

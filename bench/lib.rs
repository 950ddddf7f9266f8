//! Nothing of its own: `cargo bench -p millibox-bench` measures pieces of the other crates.
#![forbid(unsafe_code)]

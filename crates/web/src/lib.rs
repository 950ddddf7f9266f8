//! The floor below the two web servers of millibox, the execution service and the contest site.
//!
//! | file | content |
//! | --- | --- |
//! | `listen` | accepts connections within bounds, and lets open requests end |
//! | `socket` | distinguishes clients that have left from those that have finished sending |
//! | `stream` | a connection whose client must read, and receives early responses |
//! | `body` | the speed of request bodies |
//! | `watch` | drops the handler and the response of a client that has left |
//! | `unread` | reads the rest of a body that a handler has not read |
//! | `pace` | a minimum speed for data that a client sends or receives |
//! | `network` | the addresses that count as one client |
//! | `assets` | style sheets, scripts and icons, and headers that confine pages |
//! | `problem` | errors as RFC 9457 problem details |
//! | `openapi` | what the OpenAPI descriptions have in common, and their checks |
//!
//! Routes, pages, kinds of errors, and the shares of clients stay in the two programs.

pub mod assets;
pub mod body;
pub mod listen;
pub mod network;
pub mod openapi;
pub mod pace;
pub mod problem;
pub mod socket;
pub mod stream;
mod unread;
mod watch;

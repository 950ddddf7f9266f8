//! The JSON documents of requests and answers.

mod answer;
mod explain;
mod info;
mod request;

pub use answer::*;
pub use info::*;
pub use request::*;

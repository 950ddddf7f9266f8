//! Judging of submissions.
//!
//! | file | content |
//! | --- | --- |
//! | `check` | the known submission of workers on probation |
//! | `fleet` | replies to the requests of workers on other machines |
//! | `languages` | the languages that are installed |
//! | `live` | changes, for pages that follow them |
//! | `offers` | offers of these workers for which the queue has no judgement |
//! | `queue` | the queue of judgements, and its implementation in the database |
//! | `toolchains` | which workers judge a language with different versions |
//! | `trial` | runs of sources on custom input |
//!
//! The threads that take judgements from the queue are in the crate `millibox-worker`.

mod check;
pub mod fleet;
pub mod languages;
pub mod live;
mod offers;
pub mod queue;
pub mod toolchains;
pub mod trial;

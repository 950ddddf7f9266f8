//! Judging of submissions.
//!
//! | file | content |
//! | --- | --- |
//! | `languages` | the languages that are installed |
//! | `live` | changes, for pages that follow them |
//! | `queue` | the queue of judgements, and its implementation in the database |
//! | `stops` | stops work that runs in this process |
//! | `turns` | lets workers and jobs that measure take turns on a CPU |
//! | `trial` | runs of sources on custom input |
//! | `worker` | threads that take judgements from the queue |

pub mod languages;
pub mod live;
pub mod queue;
pub mod stops;
pub mod trial;
pub mod turns;
pub mod worker;

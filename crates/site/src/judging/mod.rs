//! Judging of submissions.
//!
//! | file | content |
//! | --- | --- |
//! | `languages` | the languages that are installed |
//! | `live` | what happens, for pages that follow it |
//! | `queue` | the queue of judgements, and its implementation in the database |
//! | `stops` | stopping of what runs in this process |
//! | `turns` | turns of workers and of jobs that measure, on the same CPU |
//! | `trial` | runs of sources on inputs of their users |
//! | `worker` | threads that take judgements from the queue |

pub mod languages;
pub mod live;
pub mod queue;
pub mod stops;
pub mod trial;
pub mod turns;
pub mod worker;

//! What the contest site and the machines that judge for it agree on.
//!
//! The database of the site is the queue. A worker leases a judgement, and each lease has a number,
//! the attempt. The site stores nothing for an attempt that is no longer the latest, so a message
//! that is lost, doubled or late does no harm.
//!
//! | module | content |
//! | --- | --- |
//! | [`queue`] | tasks, leases, and the queue as a trait |
//! | [`result`] | the result of a judgement, as it is stored |
//! | [`score`] | points |
//! | [`class`] | kinds of judgements, by their priority |
//! | [`digest`] | digests of packages |
//! | [`introduction`] | what a worker says about itself and its machine |
//! | [`name`] | names of workers |
//! | [`subject`] | the subjects of messages, and which subjects a worker may use |
//! | [`message`] | requests of workers and their replies |
//! | [`service`] | the subjects of execution services that share their work |
//! | [`rules`] | the rules of a message server |
//! | [`connection`] | the connection to a NATS server, and files with keys |
#![forbid(unsafe_code)]

pub mod class;
pub mod connection;
pub mod digest;
pub mod introduction;
pub mod message;
pub mod name;
pub mod queue;
pub mod result;
pub mod rules;
pub mod score;
pub mod service;
pub mod subject;

//! Verdicts as they are stored and ordered.

pub use millibox_fleet::result::Verdict;

crate::db::stored_as_text!(Verdict);

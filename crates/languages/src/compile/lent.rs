//! A supervisor that is borrowed or shared.

use millibox::Supervisor;
use std::ops::Deref;
use std::sync::Arc;

/// The supervisor of a toolbox.
#[derive(Debug)]
pub(super) enum Lent<'s> {
    Borrowed(&'s Supervisor),
    Shared(Arc<Supervisor>),
}

impl Deref for Lent<'_> {
    type Target = Supervisor;

    fn deref(&self) -> &Supervisor {
        match self {
            Lent::Borrowed(supervisor) => supervisor,
            Lent::Shared(supervisor) => supervisor,
        }
    }
}

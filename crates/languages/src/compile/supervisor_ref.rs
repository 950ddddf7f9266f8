//! A supervisor that is borrowed or shared.

use millibox::Supervisor;
use std::ops::Deref;
use std::sync::Arc;

/// The supervisor of a toolbox.
#[derive(Debug)]
pub(super) enum SupervisorRef<'s> {
    Borrowed(&'s Supervisor),
    Shared(Arc<Supervisor>),
}

impl Deref for SupervisorRef<'_> {
    type Target = Supervisor;

    fn deref(&self) -> &Supervisor {
        match self {
            SupervisorRef::Borrowed(supervisor) => supervisor,
            SupervisorRef::Shared(supervisor) => supervisor,
        }
    }
}

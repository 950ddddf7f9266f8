//! The arguments that the supervisor receives at its start.

use crate::backend::Handover;
use crate::cpus::Cpus;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// The arguments that the supervisor receives at its start.
pub struct Setup {
    pub socket: OwnedFd,
    pub client: OwnedFd,
    pub handover: Handover,
    pub slots: usize,
    pub runners_per_slot: usize,
    pub share_memory: bool,
    pub cpus: Cpus,
    pub uid: u32,
    pub gid: u32,
    pub cgroups: Vec<Vec<u8>>,
    pub declined: Vec<millibox_wire::BackendRefusal>,
    /// The version of landlock that confines the supervisor; 0 without landlock.
    pub landlock: u32,
    /// The mount point of all devices as one mount; see [`crate::devices`].
    pub devices: Option<String>,
    /// The bytes that a run may hold in buffers of TCP, and in buffers of UDP. The confined
    /// supervisor cannot read the machine's memory.
    pub socket_share: u64,
}

impl Setup {
    /// The indices of a slot's runners among all runners.
    pub fn runners_of(&self, slot: usize) -> Range<usize> {
        slot * self.runners_per_slot..(slot + 1) * self.runners_per_slot
    }
}

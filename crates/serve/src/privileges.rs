//! Gives up all root privileges permanently.

use rustix::io::Errno;
use rustix::process::{
    Gid, Pid, Signal, Uid, getegid, geteuid, getgid, getppid, getuid,
    set_parent_process_death_signal,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs, set_thread_gid, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    set_thread_uid,
};

/// Capabilities have numbers up to this one.
const LAST_CAPABILITY: u32 = 63;

/// Why the service cannot become an unprivileged process.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The kernel refuses to change the ids.
    #[error(
        "the service must not run as root, and cannot become user {uid}, group {gid}: cannot \
         {action}: {errno}; start it as an unprivileged user, choose other ids with --user, or \
         grant it CAP_SETUID, CAP_SETGID and CAP_CHOWN and map these ids in its user namespace"
    )]
    Ids {
        /// The user.
        uid: u32,
        /// The group.
        gid: u32,
        /// The action that the kernel refused.
        action: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// The kernel refuses to drop privileges that remain after the change of the ids.
    #[error(
        "the service must not keep root's privileges: cannot {action}: {errno}; start it as an \
         unprivileged user"
    )]
    Drop {
        /// The action that the kernel refused.
        action: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// Some privileges remain.
    #[error(
        "the service must not keep root's privileges, but still has {what} after dropping them; \
         start it as an unprivileged user"
    )]
    Kept {
        /// The remaining privileges.
        what: &'static str,
    },
    /// The process that starts supervisors has ended.
    #[error("the process that starts the supervisors has ended")]
    ParentEnded,
}

/// Becomes `user`, without capabilities and without a way to get any. The process is killed when
/// `parent` ends.
///
/// The change affects only this thread, so it must be the only thread.
///
/// # Errors
/// The kernel refuses a step, or a privilege remains at the end.
pub fn drop_all(user: (u32, u32), parent: Pid) -> Result<(), PrivilegeError> {
    let (uid, gid) = user;
    let refused = |action| {
        move |errno| PrivilegeError::Ids {
            uid,
            gid,
            action,
            errno,
        }
    };
    let kept = |action| move |errno| PrivilegeError::Drop { action, errno };
    drop_bounding_set();
    let (user_id, group_id) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[]).map_err(refused("drop the supplementary groups"))?;
    set_thread_res_gid(group_id, group_id, group_id).map_err(refused("change the group"))?;
    set_thread_res_uid(user_id, user_id, user_id).map_err(refused("change the user"))?;
    clear_ambient_capability_set().map_err(kept("drop the ambient capabilities"))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(kept("drop the capabilities"))?;
    set_no_new_privs(true).map_err(kept("set no_new_privs"))?;
    check(user_id, group_id)?;
    // The change of the ids has cleared an earlier signal (prctl(2)).
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(kept("request a signal for the end of the parent"))?;
    if getppid() != Some(parent) {
        return Err(PrivilegeError::ParentEnded);
    }
    Ok(())
}

/// With no_new_privs the bounding set has no effect, so a process without CAP_SETPCAP keeps it.
fn drop_bounding_set() {
    for number in 0..=LAST_CAPABILITY {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if capability_is_in_bounding_set(capability).unwrap_or(false) {
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
}

/// Checks that the privileges have been dropped and cannot be regained.
fn check(uid: Uid, gid: Gid) -> Result<(), PrivilegeError> {
    if [getuid(), geteuid()] != [uid; 2] || [getgid(), getegid()] != [gid; 2] {
        return Err(PrivilegeError::Kept {
            what: "its former ids",
        });
    }
    let sets = capabilities(None).map_err(|errno| PrivilegeError::Drop {
        action: "read the capabilities",
        errno,
    })?;
    if !(sets.effective | sets.permitted | sets.inheritable).is_empty() {
        return Err(PrivilegeError::Kept {
            what: "capabilities",
        });
    }
    if set_thread_uid(Uid::ROOT).is_ok() || set_thread_gid(Gid::ROOT).is_ok() {
        return Err(PrivilegeError::Kept { what: "root's ids" });
    }
    Ok(())
}

//! The steps of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares [`Step`]. Each step has a name for reports and a string that completes a sentence
/// beginning with "cannot ". An optional second string is for sentences in which the name of the
/// subject follows.
macro_rules! steps {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $action:literal $(, $on:literal)?;)*) => {
        /// The steps of a run that can fail, in the order in which they happen.
        ///
        /// ```
        /// use millibox_vocabulary::Step;
        /// assert_eq!(Step::MountSource.name(), "mount_source");
        /// assert!(Step::Pid1.is_sandbox_failure());
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum Step {
            $($(#[$doc])* $variant,)*
        }

        impl Step {
            /// All steps, in the order of their numbers.
            pub const ALL: &'static [Step] = &[$(Step::$variant),*];

            /// The name in reports, for example `mount_source`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Step::$variant => $name,)*
                }
            }

            /// The words that follow "cannot " if no subject is known.
            pub(crate) fn action(self) -> &'static str {
                match self {
                    $(Step::$variant => $action,)*
                }
            }

            /// The words between "cannot " and the name of the subject.
            pub(crate) fn action_on(self) -> &'static str {
                match self {
                    $(Step::$variant => last(&[$action $(, $on)?]),)*
                }
            }
        }
    };
}

const fn last(texts: &[&'static str]) -> &'static str {
    texts[texts.len() - 1]
}

steps! {
    /// The client sends the request to the supervisor.
    Send, "send", "send the run to the supervisor";
    /// The supervisor reads and checks the request.
    Request, "request", "accept the request";
    /// The supervisor reads and checks the request's world.
    World, "world", "accept the request's world";
    /// A mounter prepares the world's mount namespace.
    Template, "template", "prepare the mount namespace";
    /// A mounter opens the source of a bind mount.
    MountSource, "mount_source", "open the source of a mount", "open the mount source";
    /// A mounter or pid1 creates a mount point.
    MountPoint, "mount_point", "create a mount point", "create the mount point";
    /// A mounter or pid1 carries out a mount.
    Mount, "mount", "carry out a mount", "mount";
    /// A mounter sets a mount's attributes.
    MountAttributes, "mount_attributes", "set the attributes of a mount",
        "set read-only, noexec, nosuid or nodev on";
    /// A mounter changes the root.
    NewRoot, "new_root", "change the root", "change the root to";
    /// pid1's cgroup is created.
    Cgroup, "cgroup", "create the run's cgroup";
    /// A network namespace is created for the run.
    Network, "network", "create the run's network namespace";
    /// The zygote clones pid1.
    Clone, "clone", "clone pid1 into new namespaces";
    /// pid1 asks to be killed when its parent dies.
    ParentDeath, "parent_death", "make pid1 end with its parent";
    /// pid1 creates a cgroup namespace.
    CgroupNamespace, "cgroup_namespace", "create the run's cgroup namespace";
    /// pid1 forbids the creation of more cgroup namespaces.
    OtherCgroupNamespaces, "other_cgroup_namespaces",
        "forbid the run from creating cgroup namespaces";
    /// The user id is mapped.
    UidMap, "uid_map", "map the user id";
    /// The group id is mapped.
    GidMap, "gid_map", "map the group id";
    /// The target drops its capabilities.
    Capabilities, "capabilities", "drop capabilities";
    /// pid1 clones the target.
    CloneTarget, "clone_target", "clone the process of the program";
    /// pid1 confines itself.
    Confinement, "confinement", "confine pid1";
    /// The target starts a session.
    Session, "session", "start a session";
    /// The target or its zygote attaches the seccomp program.
    Seccomp, "seccomp", "attach the seccomp program";
    /// The target receives the run's descriptors.
    Receive, "receive", "receive the run's descriptors";
    /// The target puts the standard streams in place.
    Descriptors, "descriptors", "put the standard streams in place";
    /// The target changes its working directory.
    WorkingDirectory, "working_directory", "change to the working directory";
    /// The target sets a resource limit.
    Rlimit, "rlimit", "set a resource limit", "set the resource limit";
    /// The target sets its CPU affinity.
    Affinity, "affinity", "set the CPU affinity";
    /// The memory limit is set.
    MemoryLimit, "memory_limit", "set the memory limit";
    /// The swap limit is set.
    SwapLimit, "swap_limit", "set the swap limit";
    /// The process limit is set.
    ProcessLimit, "process_limit", "set the process limit";
    /// The CPU bandwidth is set.
    CpuBandwidth, "cpu_bandwidth", "set the CPU bandwidth";
    /// The resource backend prepares the run's limits.
    Backend, "backend", "enforce the run's limits";
    /// The arguments and the environment are passed to the program.
    Arguments, "arguments", "pass the arguments";
    /// The target waits for the tracer of `explain`.
    Trace, "trace", "trace the program";
    /// The target executes the program.
    Exec, "exec", "execute the program", "execute";
    /// The template of a prepared program becomes ready and makes a copy of itself.
    Ready, "ready", "prepare the program";
    /// pid1 reads or resets the run's counters.
    Counters, "counters", "read or reset the run's counters";
    /// pid1 supervises the run.
    Pid1, "pid1", "keep pid1 alive";
    /// The runner starts a zygote.
    Zygote, "zygote", "start the runner's zygote";
    /// A runner serves the run.
    Runner, "runner", "keep the runner alive";
}

impl Step {
    /// The step with this number. An unknown number becomes [`Step::Runner`], because only a broken
    /// runner writes an unknown number.
    pub fn from_number(number: u32) -> Step {
        Step::ALL
            .get(number as usize)
            .copied()
            .unwrap_or(Step::Runner)
    }

    /// Whether an error in this step means that the sandbox failed, regardless of the request.
    pub fn is_sandbox_failure(self) -> bool {
        matches!(
            self,
            Step::Send
                | Step::Template
                | Step::Cgroup
                | Step::Network
                | Step::Clone
                | Step::ParentDeath
                | Step::CgroupNamespace
                | Step::OtherCgroupNamespaces
                | Step::UidMap
                | Step::GidMap
                | Step::Capabilities
                | Step::CloneTarget
                | Step::Confinement
                | Step::Session
                | Step::Receive
                | Step::Descriptors
                | Step::Trace
                | Step::Counters
                | Step::Pid1
                | Step::Zygote
                | Step::Runner
        )
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_step_is_its_index_in_all() {
        for (number, step) in Step::ALL.iter().enumerate() {
            assert_eq!(*step as usize, number);
            assert_eq!(Step::from_number(number as u32), *step);
        }
        assert_eq!(Step::from_number(4000), Step::Runner);
    }
}

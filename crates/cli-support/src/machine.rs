//! The options of every command that starts a supervisor.

use crate::values;
use clap::ValueEnum;
use millibox::{BackendChoice, Builder, Supervisor};

const HEADING: &str = "Machine";

/// How to start a supervisor on this machine.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Options {
    /// Choose how runs are limited and measured
    ///
    /// If only the backend rlimit works, `auto` rejects limits that rlimit can enforce only for
    /// single processes. `--backend rlimit` accepts them.
    #[arg(
        long,
        value_name = "WHICH",
        value_enum,
        default_value_t,
        hide_possible_values = false
    )]
    pub backend: Backend,
    /// Set the user that the sandbox switches to if root starts it
    ///
    /// This user must have access to the files that the program uses. The default is 60578, which
    /// is normally unused. If another user starts the sandbox, it keeps that user.
    ///
    /// Example: --user 65534:65534
    #[arg(long, value_name = "UID:GID", value_parser = values::ids)]
    pub user: Option<(u32, u32)>,
    /// Create cgroups below this cgroup
    ///
    /// PATH starts at the mount point of each hierarchy. Default: the value of the environment
    /// variable MILLIBOX_CGROUP_PARENT, otherwise millibox's own cgroup.
    ///
    /// Example: --cgroup-parent /judge
    #[arg(long, value_name = "PATH", value_parser = values::cgroup_parent)]
    pub cgroup_parent: Option<String>,
    /// Give the init process of each run its own address space
    ///
    /// This is stricter and slower; see docs/security/shared-memory.md.
    #[arg(long)]
    pub separate_pid1: bool,
}

/// Values of `--backend`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The best backend that works on this machine
    #[default]
    Auto,
    /// Version 2 cgroups: a delegated subtree
    Cgroup2,
    /// Version 1 cgroups, for root
    Hybrid,
    /// Weaker limits for single processes: memory means each process's address space
    Rlimit,
}

impl From<Backend> for BackendChoice {
    fn from(backend: Backend) -> BackendChoice {
        match backend {
            Backend::Auto => BackendChoice::Auto,
            Backend::Cgroup2 => BackendChoice::Cgroup2,
            Backend::Hybrid => BackendChoice::Hybrid,
            Backend::Rlimit => BackendChoice::Rlimit,
        }
    }
}

impl Options {
    /// A builder of supervisors with these options.
    pub fn builder(&self) -> Builder {
        let mut builder = Supervisor::builder()
            .backend(self.backend.into())
            .separate_pid1(self.separate_pid1);
        if let Some((uid, gid)) = self.user {
            builder = builder.user(uid, gid);
        }
        if let Some(parent) = &self.cgroup_parent {
            builder = builder.cgroup_parent(parent);
        }
        builder
    }
}

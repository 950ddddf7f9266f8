//! Options of every subcommand that starts a supervisor: how this machine is used.

use crate::values;
use clap::ValueEnum;
use millibox::{BackendChoice, Builder, Supervisor};

const HEADING: &str = "Machine";

/// See the module.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Options {
    /// How runs are held and measured
    ///
    /// cgroup2: a delegated cgroup subtree. hybrid: version 1 cgroups, for root. rlimit: resource
    /// limits of single processes, weaker: memory is the address space of each process. auto takes
    /// the best there is, and refuses limits that rlimit would hold less strictly than they say;
    /// `--backend rlimit` accepts that.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t, hide_possible_values = false)]
    pub backend: Backend,
    /// Whom the sandbox becomes when it is started by root
    ///
    /// Files that the program reaches must be open to this user. Without the option it is a number that
    /// nobody uses. Who is not root stays who it is.
    ///
    /// Example: --user 65534:65534
    #[arg(long, value_name = "UID:GID", value_parser = values::ids)]
    pub user: Option<(u32, u32)>,
    /// Where cgroups are made
    ///
    /// An absolute path from the top of each hierarchy as it is mounted here. Without the option: what the
    /// environment variable MILLIBOX_CGROUP_PARENT says, or else where millibox itself is.
    ///
    /// Example: --cgroup-parent /judge
    #[arg(long, value_name = "PATH", value_parser = values::cgroup_parent)]
    pub cgroup_parent: Option<String>,
    /// Give the init process of each run an address space of its own
    ///
    /// Stricter and slower; see SECURITY.md.
    #[arg(long)]
    pub separate_pid1: bool,
}

/// Values of `--backend`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    #[default]
    Auto,
    Cgroup2,
    Hybrid,
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
    /// A supervisor as these options want it.
    pub fn builder(&self) -> Builder {
        let mut builder = Supervisor::builder().backend(self.backend.into()).separate_pid1(self.separate_pid1);
        if let Some((uid, gid)) = self.user {
            builder = builder.user(uid, gid);
        }
        if let Some(parent) = &self.cgroup_parent {
            builder = builder.cgroup_parent(parent);
        }
        builder
    }
}

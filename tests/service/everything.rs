//! A service that serves everything, not one dialect alone.

use crate::server::Server;
use millibox_tests::executable;
use std::process::Command;
use std::sync::OnceLock;

/// Starts a service with this configuration.
pub fn everything(config: &str) -> Server {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("config.toml");
    std::fs::write(&file, config).expect("a configuration file");
    let spawn = |backend: &[&str]| {
        Server::spawn(
            Command::new(executable("millibox"))
                .args(["serve", "--listen", "127.0.0.1:0", "--config"])
                .arg(&file)
                .args(backend),
        )
    };
    // Without cgroups, limits hold only if the weaker backend is chosen by name.
    static HAS_CGROUPS: OnceLock<bool> = OnceLock::new();
    if *HAS_CGROUPS.get_or_init(|| spawn(&[]).backend != "rlimit") {
        spawn(&[])
    } else {
        spawn(&["--backend", "rlimit"])
    }
}

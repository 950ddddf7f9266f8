//! The experiment `peers`: /bin/true bare, in millibox, and in other sandboxes.
//!
//! | file | content |
//! | --- | --- |
//! | `command` | sandboxes that run one command for each run: nsjail, bubblewrap, firejail |
//! | `isolate` | isolate, whose box is created once |
//! | `oci` | crun and runc, which run bundles |
//! | `go_judge` | go-judge, a server |

mod command;
pub(super) mod go_judge;
mod isolate;
mod oci;

use super::Experiment;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare};
use millibox::Request;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "peers",
    title: "Comparison with other sandboxes",
    about: "Thesis, chapter 5: /bin/true bare, in millibox, and in every other installed \
            sandbox. Settings are as similar as the sandboxes allow: namespaces, a read-only \
            root of the system's files, an empty tmpfs, no network, and limits. The list below \
            the table describes each sandbox. The time covers everything that a run needs: a \
            client's request to a server (millibox, go-judge), or a whole command. For isolate, it \
            covers only the run, because a judge creates its box once for many runs.",
    run,
};

/// Another sandbox, ready to run /bin/true.
struct PreparedPeer {
    /// Runs /bin/true once.
    run: Box<dyn FnMut() -> Result<(), Error>>,
    /// A description of what the sandbox does for a run.
    about: &'static str,
}

/// Another sandbox.
struct Peer {
    name: &'static str,
    executable: &'static str,
    /// The arguments that print its version.
    version: &'static [&'static str],
    prepare: fn(&Lab, &Path) -> Result<PreparedPeer, Error>,
}

const PEERS: [Peer; 7] = [
    Peer {
        name: "nsjail",
        executable: "nsjail",
        version: &["--version"],
        prepare: command::nsjail,
    },
    Peer {
        name: "bubblewrap",
        executable: "bwrap",
        version: &["--version"],
        prepare: command::bubblewrap,
    },
    Peer {
        name: "firejail",
        executable: "firejail",
        version: &["--version"],
        prepare: command::firejail,
    },
    Peer {
        name: "isolate",
        executable: "isolate",
        version: &["--version"],
        prepare: isolate::prepare,
    },
    Peer {
        name: "crun",
        executable: "crun",
        version: &["--version"],
        prepare: oci::crun,
    },
    Peer {
        name: "runc",
        executable: "runc",
        version: &["--version"],
        prepare: oci::runc,
    },
    Peer {
        name: "go-judge",
        executable: "go-judge",
        version: &["-version"],
        prepare: go_judge::prepare,
    },
];

/// The names of all peers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|peer| peer.name)
}

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let request = lab.limit(Request::new("/bin/true"));
    let usual = lab.supervisor(1)?;
    let apart = lab.builder().slots(1).separate_pid1(true).start()?;
    let sandboxed = |supervisor| {
        let request = &request;
        move || bare::sandboxed(supervisor, request).map(drop)
    };
    let mut comparison = Comparison::new("peers", "/bin/true in different sandboxes")
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .plan(Plan {
            rounds: lab.scale().pick(2, 60, 500),
            block: lab.scale().pick(1, 5, 20),
            settle_runs: 1,
            warm_up_runs: 2,
            budget: lab.scale().pick(
                Duration::from_secs(10),
                Duration::from_secs(45),
                Duration::from_secs(900),
            ),
            min_rounds: 2,
        })
        .variant(Variant::timed("bare", || bare::spawn("/bin/true")).about("posix_spawn and wait"))
        .variant(Variant::timed("millibox", sandboxed(&usual)).about(
            "through its library: fresh user, PID, mount and IPC namespaces, no network, read-only \
             root, tmpfs, seccomp, limits on memory, processes, CPU and real time, all figures \
             read",
        ))
        .variant(
            Variant::timed("millibox --separate-pid1", sandboxed(&apart))
                .about("the same, with pid1 in its own address space"),
        );
    if let Some(path) = &lab.options().millibox {
        let limits: &[&str] = if lab.limits_process_trees() {
            &[
                "--memory-limit=256M",
                "--process-limit=16",
                "--cpu-time-limit=10s",
            ]
        } else {
            &[]
        };
        let run = move || {
            let mut command = Command::new(path);
            command
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .args(["run", "--real-time-limit=10s"])
                .args(limits);
            bare::success(command.args(["--", "/bin/true"]).stdin(Stdio::null()))
        };
        comparison = comparison.variant(
            Variant::timed("millibox run", run)
                .about(
                    "the command, which starts and ends a supervisor with its cgroups for one run",
                )
                .optional(),
        );
    } else {
        let why = "the command millibox is neither beside millibox-lab nor on PATH";
        comparison = comparison.missing("millibox run", why);
    }
    for peer in PEERS {
        let Some(path) = lab.find_peer(peer.name, peer.executable) else {
            let why = match lab.options().peers.get(peer.name) {
                Some(path) => format!("there is no {}", path.display()),
                None => {
                    format!(
                        "{} is not on PATH; install it, or pass --peer {}=PATH",
                        peer.executable, peer.name
                    )
                }
            };
            comparison = comparison.missing(peer.name, why);
            continue;
        };
        let said = super::version(&path, peer.version);
        report.versions.push((peer.name.to_owned(), said));
        match (peer.prepare)(lab, &path) {
            Ok(PreparedPeer { run, about }) => {
                comparison =
                    comparison.variant(Variant::timed(peer.name, run).about(about).optional());
            }
            Err(error) => comparison = comparison.missing(peer.name, error.to_string()),
        }
    }
    let table = comparison.measure(lab)?;
    report.add_table(table);
    Ok(())
}

/// The top-level directories and links that system programs need, each with the target if it is a
/// link.
fn system() -> Vec<(PathBuf, Option<PathBuf>)> {
    let all = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin"].map(PathBuf::from);
    let there = all
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok());
    there
        .map(|path| (path.clone(), std::fs::read_link(&path).ok()))
        .collect()
}

/// Runs a peer's command. If it fails, the error contains the end of the command's standard error.
fn quiet(command: &mut Command) -> Result<(), Error> {
    // Use a file and not a pipe, because it is read only after a failure.
    let mut words = tempfile::tempfile().map_err(Error::system("create a temporary file"))?;
    let for_it = words
        .try_clone()
        .map_err(Error::system("copy a descriptor"))?;
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(for_it);
    let Err(error) = bare::success_with_timeout(command) else {
        return Ok(());
    };
    let mut said = String::new();
    let _ = words.rewind();
    let _ = words.read_to_string(&mut said);
    let said: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let from = said.len().saturating_sub(3);
    if from == said.len() {
        Err(error)
    } else {
        Err(Error::other(format!(
            "{error}: {}",
            said[from..].join("; ")
        )))
    }
}

/// Tries a command once with captured standard error. The measured runs use /dev/null, so that they
/// open no file of the lab.
fn tried(
    mut make: impl FnMut() -> Command + 'static,
    about: &'static str,
) -> Result<PreparedPeer, Error> {
    quiet(&mut make())?;
    let run = move || {
        let mut command = make();
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        bare::success_with_timeout(command).map_err(|error| match error {
            Error::Timeout { .. } | Error::Interrupted => error,
            // Run the command again to capture its standard error.
            error => match quiet(&mut make()) {
                Err(words) => words,
                Ok(()) => Error::other(format!(
                    "{error}; the same command succeeded before and after"
                )),
            },
        })
    };
    Ok(PreparedPeer {
        run: Box::new(run),
        about,
    })
}

/// The unique name of a peer's cgroups at the top of each hierarchy. It must not begin like a
/// supervisor's name. A starting supervisor removes empty cgroups with such names if their owner
/// seems to be dead, as the peer's owner would between two runs.
fn cgroups_of(peer: &str) -> String {
    format!("lab-of-millibox-{}-{peer}", std::process::id())
}

/// Removes the cgroups that a peer left at the top of each hierarchy: the directories `below` in
/// `name`, in this order. The kernel only removes cgroups that have neither processes nor children.
fn remove_cgroups(name: &str, below: &[&str]) {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        if let (Some(at), Some("cgroup" | "cgroup2")) = (fields.next(), fields.next()) {
            for directory in below {
                let _ = std::fs::remove_dir(Path::new(at).join(name).join(directory));
            }
        }
    }
}

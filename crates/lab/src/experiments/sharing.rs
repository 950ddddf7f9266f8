//! The experiment `sharing`: how much each shared or prepared resource saves.

use super::Experiment;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare, sys};
use millibox::{Mount, Network, Request, Supervisor, World};
use millibox_seccomp::{Action, Arch, Instruction, Program, compile, constant_action, profile};
use std::time::Duration;

pub const EXPERIMENT: Experiment = Experiment {
    name: "sharing",
    title: "What sharing saves",
    about: "Thesis, chapter 5: the unchanged sandbox, then the sandbox without one of its savings: \
            templates, several runners for each slot, a network shared by a runner's runs, pid1 in \
            its runner's memory, a seccomp program that is searched as a tree. Then the cost of \
            one new namespace of each kind.",
    run,
};

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let request = lab.limit(Request::new("/bin/true"));
    let usual = lab.supervisor(1)?;
    let apart = lab.builder().slots(1).separate_pid1(true).start()?;
    let one_runner = lab.builder().slots(1).runners_per_slot(1).start()?;
    let minimal = World::minimal();
    let loopback = minimal.clone().network(Network::Loopback);
    let linear = minimal
        .clone()
        .seccomp_program(&linear(Arch::native())?.as_bytes())?;
    let bare_calls = minimal.clone().without_seccomp();
    // No earlier run had this world, so its template is made for this run.
    let mut number = 0u64;
    let mut unseen = || {
        number += 1;
        minimal
            .clone()
            .mount(Mount::create_dir(format!("/n{number}"), 0o755))
    };
    let of = |name: &str, about: &str, supervisor, world: &World| {
        plain(name, about, supervisor, request.clone().world(world))
    };
    let table = Comparison::new(
        "sharing",
        "/bin/true, with one resource not shared or not prepared",
    )
    .metric(Metric::new("real time", Unit::Nanoseconds))
    .variant(of(
        "millibox",
        "unchanged: 1 slot, 3 runners",
        &usual,
        &minimal,
    ))
    .variant(of(
        "new network",
        "a network namespace with a loopback interface for each run",
        &usual,
        &loopback,
    ))
    .variant(
        Variant::timed("no template", || {
            bare::sandboxed(&usual, &request.clone().world(&unseen())).map(drop)
        })
        .about("a new world for each run, so that its mounts are made for this run"),
    )
    .variant(of(
        "one runner",
        "the next run is prepared when this one has ended",
        &one_runner,
        &minimal,
    ))
    .variant(of(
        "linear list",
        "the seccomp program as a list; it is attached once for each zygote",
        &usual,
        &linear,
    ))
    .variant(of("no seccomp", "no program at all", &usual, &bare_calls))
    .variant(of(
        "pid1 apart",
        "pid1 has its own address space; each run attaches the seccomp program",
        &apart,
        &minimal,
    ))
    .variant(of(
        "pid1 apart, linear list",
        "each run attaches a list",
        &apart,
        &linear,
    ))
    .variant(of(
        "pid1 apart, no seccomp",
        "nothing to attach",
        &apart,
        &bare_calls,
    ))
    .plan(Plan {
        rounds: lab.scale().pick(2, 100, 500),
        block: lab.scale().pick(2, 10, 20),
        settle_runs: 2,
        warm_up_runs: 3,
        budget: lab.scale().pick(
            Duration::from_secs(10),
            Duration::from_secs(40),
            Duration::from_secs(900),
        ),
        min_rounds: 2,
    })
    .measure(lab)?;
    report.add_table(table);
    let (tree, list) = (
        of_default(Arch::native())?.len(),
        self::linear(Arch::native())?.len(),
    );
    report.add_note(format!(
        "The default profile has {tree} instructions as a tree, {list} as a list."
    ));
    report.add_note(
        "IPC, PID, mount and user namespaces are fresh in every run and cannot be shared. A \
         runner's runs share UTS, time and cgroup namespaces, which no program can change, and no \
         option makes them fresh. The table of single namespaces shows the minimum cost of that.",
    );
    report.add_table(namespaces(lab)?);
    Ok(())
}

fn plain<'a>(name: &str, about: &str, supervisor: &'a Supervisor, request: Request) -> Variant<'a> {
    Variant::timed(name, move || {
        bare::sandboxed(supervisor, &request).map(drop)
    })
    .about(about)
}

/// Measures the kernel's time for one new namespace. A thread starts, creates the namespace and
/// ends. The later tear-down by kernel threads is not included.
fn namespaces(lab: &Lab) -> Result<crate::Table, Error> {
    let mut comparison = Comparison::new("namespaces", "One new namespace, by itself")
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .plan(Plan {
            rounds: lab.scale().pick(2, 50, 500),
            block: lab.scale().pick(2, 10, 20),
            settle_runs: 2,
            budget: lab.scale().pick(
                Duration::from_secs(5),
                Duration::from_secs(10),
                Duration::from_secs(300),
            ),
            ..Plan::default()
        })
        .variant(taking("none", 0).about("a thread that starts and ends"));
    let kinds = [
        ("UTS", libc::CLONE_NEWUTS),
        ("IPC", libc::CLONE_NEWIPC),
        ("cgroup", libc::CLONE_NEWCGROUP),
        ("PID", libc::CLONE_NEWPID),
        ("mount", libc::CLONE_NEWNS | libc::CLONE_FS),
        ("network", libc::CLONE_NEWNET),
    ];
    for (name, flags) in kinds {
        if lab.machine().root {
            comparison = comparison.variant(taking(name, flags).optional());
        } else {
            comparison =
                comparison.missing(name, "only root can create one without a user namespace");
        }
    }
    comparison.measure(lab)
}

fn taking(name: &'static str, flags: i32) -> Variant<'static> {
    Variant::timed(name, move || {
        let taken = std::thread::spawn(move || {
            if flags == 0 {
                Ok(())
            } else {
                sys::unshare(flags)
            }
        })
        .join();
        taken
            .unwrap_or(Ok(()))
            .map_err(Error::system(format!("create a new {name} namespace")))
    })
}

fn of_default(arch: Arch) -> Result<Program, Error> {
    let policy =
        profile("default").ok_or_else(|| Error::other("the default profile is missing"))?;
    compile(&policy, arch).map_err(|error| Error::other(error.to_string()))
}

/// The default profile as a list. The program compares with each number that is always allowed, one
/// after another, and falls back to the tree. It gives the same answers as the tree.
fn linear(arch: Arch) -> Result<Program, Error> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const NUMBERS: u32 = 600; // More than any architecture has.
    let tree = of_default(arch)?;
    let allow = Action::Allow.value();
    let allowed: Vec<u32> = (0..NUMBERS)
        .filter(|&nr| constant_action(&tree, arch, nr) == Some(allow))
        .collect();
    let of = |code, jt, jf, k| Instruction { code, jt, jf, k };
    let mut list = vec![
        of(LOAD, 0, 0, 4),
        of(EQUAL, 1, 0, arch.audit_value()),
        // Another architecture skips the list.
        of(JUMP, 0, 0, 1 + 2 * allowed.len() as u32),
        of(LOAD, 0, 0, 0),
    ];
    for nr in allowed {
        list.extend([of(EQUAL, 0, 1, nr), of(RETURN, 0, 0, allow)]);
    }
    list.extend_from_slice(tree.instructions());
    Program::new(list).map_err(|error| Error::other(format!("the list: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox_seccomp::{Data, run};

    #[test]
    fn linear_list_answers_like_the_tree() {
        let arch = Arch::native();
        let (tree, list) = (
            of_default(arch).expect("the tree"),
            linear(arch).expect("the list"),
        );
        assert!(list.len() > 2 * tree.len());
        for nr in (0..700).chain([u32::MAX, 1 << 30]) {
            for audit in [arch.audit_value(), 3] {
                for argument in [0, 1, 0x1000_0000] {
                    let data = Data {
                        nr,
                        arch: audit,
                        args: [argument; 6],
                        ..Data::default()
                    };
                    assert_eq!(run(&list, &data), run(&tree, &data), "{data:?}");
                }
            }
        }
    }
}

//! A client of the sandbox in a separate process, which tests can kill or start under unusual
//! circumstances.
//!
//! `client CHANGE... -- PROBE-ARGUMENT...` changes its circumstances, starts a supervisor, and runs
//! the probe in a world with a procfs. It prints `error=...` if the supervisor cannot start.
//! Otherwise it prints `pid=`, `cgroups=`, `backend=`, `outcome=`, `outcome_name=` (with
//! `exit_code=` if the probe exited, and with `step=` and `errno=` if there is an error) and the
//! probe's output. It prints `unable=...` if a change fails.
//!
//! | change | effect |
//! | --- | --- |
//! | `user=OUT:IN` | if root, become OUT; then become IN in a new user namespace |
//! | `unmapped` | enter a new user namespace without mapped ids |
//! | `ids=UID:GID` | become this user and group, without other groups |
//! | `mount-namespace` | enter a new mount namespace; must follow `user=` |
//! | `null=PATH` | mount PATH over /dev/null |
//! | `tmpfs=PATH` | mount a tmpfs |
//! | `masked-proc` | cover parts of /proc, as containers do |
//! | `hidden-proc` | mount a procfs with hidepid=2 over /proc |
//! | `container-seccomp` | attach a seccomp program like that of containers |
//! | `no-procfs` | use a world without a procfs |
//! | `exec` | instead of a run, execute the program after `--` outside the sandbox |
//! | `bind=SOURCE:AT:FLAGS` | add a bind; FLAGS of r(ead-only), n(oexec), R(ecursive) |
//! | `dirty` | change everything that a child can inherit |
//! | `keyring=NAME` | join a new session keyring with a key of this name |
//! | `small` | use one slot with one runner, not two with three |
//! | `separate-pid1` | give pid1 a separate address space |
//! | `cgroup-parent=PATH` | create the cgroups below this one |
//! | `idle` | run the probe to its end, print the output, and sleep |
//! | `hold=N` | run the probe N times, print a line, and sleep |
//! | `storm` | run the probe repeatedly |
//! | `files=SOFT:HARD` | set the limits on open files |
//! | `signals=N` | set the limit on queued signals and timers |
//! | `alarms` | receive and handle a signal every few milliseconds |
//! | `supervisor=PATH` | start this supervisor |
//! | `no-thread` | poll a run's handle when no thread can be started, then when it can |
//! | `careless` | ignore SIGCHLD; at the end kill the supervisor and print the error |
//! | `forked` | fork during a run; the child drops its copies; print the run's outcome |
//! | `crowd` | the probe leaves descriptors in unread messages; check that other runs work |
//! | `hang=PATH` | one run binds a FUSE file system at PATH that never answers; check other runs |
//! | `hang-run=PATH` | like `hang`, but the file system answers for its root |

#![allow(unsafe_code, reason = "the client makes plain system calls")]

mod changes;
mod fuse;
mod scenarios;

use changes::{Plan, change};
use millibox::{Mount, Request, Supervisor, World};
use millibox_tests::{executable, open, read_line, run};
use scenarios::{
    fork_during_a_run, poll_without_thread, run_beside_a_hanging_file_system,
    run_beside_a_hanging_run, run_with_descriptors_in_flight,
};
use std::io::Write;
use std::time::Duration;

fn main() {
    // Open the probe before a change restricts this process.
    let probe = open(&executable("probe"));
    let mut words = std::env::args().skip(1);
    let mut plan = Plan {
        world: World::minimal().mount(Mount::proc("/proc")),
        builder: Supervisor::builder().slots(2),
        idle: false,
        hold: None,
        storm: false,
        hang: None,
        hang_run: None,
        crowd: false,
        careless: false,
        no_thread: false,
        forked: false,
        exec: false,
    };
    for word in words.by_ref().take_while(|word| word != "--") {
        if let Err(why) = change(&word, &mut plan) {
            println!("unable={why}");
            return;
        }
    }
    if plan.exec {
        let program = words.next().unwrap_or_default();
        let error = std::os::unix::process::CommandExt::exec(
            std::process::Command::new(&program).args(words),
        );
        return println!("unable={program}: {error}");
    }
    let request = Request::from_descriptor(probe.clone())
        .arg("probe")
        .args(words)
        .world(&plan.world);
    let supervisor = match plan.builder.clone().start() {
        Ok(supervisor) => supervisor,
        Err(error) => return println!("error={error}"),
    };
    let cgroups: Vec<String> = supervisor
        .cgroups()
        .map(|path| path.display().to_string())
        .collect();
    println!(
        "pid={}\ncgroups={}\nbackend={}",
        supervisor.pid(),
        cgroups.join(","),
        supervisor.backend()
    );
    if let Some(path) = &plan.hang {
        return run_beside_a_hanging_file_system(&request, path);
    }
    if let Some(path) = &plan.hang_run {
        return run_beside_a_hanging_run(&request, path);
    }
    if plan.no_thread {
        return poll_without_thread(&supervisor, &request);
    }
    if plan.forked {
        return fork_during_a_run(supervisor, &request);
    }
    if plan.crowd {
        return run_with_descriptors_in_flight(&supervisor, &request, &probe);
    }
    if let Some(count) = plan.hold {
        let (read, write) = millibox_tests::pipe();
        let request = request.stdout(write);
        let handles: Vec<_> = (0..count).map(|_| supervisor.run(&request)).collect();
        // There are two slots, so two probes are running and print a line.
        (0..count.min(2)).for_each(|_| drop(read_line(&read)));
        println!("ready={}", handles.len());
        let _ = std::io::stdout().flush();
        std::thread::sleep(Duration::from_secs(100));
        return;
    }
    if plan.storm {
        println!("ready=1");
        let _ = std::io::stdout().flush();
        loop {
            let handles: Vec<_> = (0..4)
                .filter_map(|_| supervisor.run(&request).ok())
                .collect();
            handles.iter().for_each(|handle| drop(handle.wait()));
        }
    }
    let output = run(&supervisor, &request);
    println!(
        "outcome={}\noutcome_name={}",
        output.result,
        output.result.outcome.name()
    );
    if let Some(code) = output.result.exit_code {
        println!("exit_code={code}");
    }
    if let Some(error) = output.result.outcome.error() {
        println!("step={}\nerrno={}", error.step, error.errno.unwrap_or(0));
    }
    println!("{}", output.text());
    if plan.careless {
        millibox_tests::kill(supervisor.pid() as i32, rustix::process::Signal::KILL);
        println!(
            "error={}",
            supervisor
                .run(&request)
                .and_then(|handle| handle.wait())
                .map_or_else(|why| why.to_string(), |_| String::new())
        );
    }
    if plan.idle {
        println!("ready=0");
        let _ = std::io::stdout().flush();
        std::thread::sleep(Duration::from_secs(100));
    }
}

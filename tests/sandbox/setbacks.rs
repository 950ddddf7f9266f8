//! A run of which nothing has begun goes to another runner when its own is slow, dies or cannot
//! prepare it.

use crate::builder;
use millibox::{Backend, Handle, Outcome, Request, Step, Supervisor};
use millibox_tests::{
    PATIENCE, Process, Random, SPAWNER, descendants, eventually, kill, name, pipe, process,
    processes_that_say, read_all, request, result, run, skip, start, token, wait, world_with_proc,
};
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runners, and all that lives below them.
fn below_runners(supervisor: &Supervisor) -> Vec<Process> {
    let own = |process: &Process| {
        process.pid != supervisor.info().pid() as i32 && name(process.pid) != SPAWNER
    };
    descendants(supervisor.info().pid())
        .into_iter()
        .filter(own)
        .collect()
}

fn runners(supervisor: &Supervisor) -> Vec<Process> {
    let is_runner = |process: &Process| process.parent == supervisor.info().pid() as i32;
    below_runners(supervisor)
        .into_iter()
        .filter(is_runner)
        .collect()
}

fn children(supervisor: &Supervisor, parents: &[Process]) -> Vec<Process> {
    let is_child = |child: &Process| parents.iter().any(|parent| parent.pid == child.parent);
    below_runners(supervisor)
        .into_iter()
        .filter(is_child)
        .collect()
}

/// A run that copies its input to its output: its descriptors must be its own, and whole.
fn copies(supervisor: &Supervisor, text: &str) -> (Handle, OwnedFd) {
    let ((input, to_input), (output, to_output)) = (pipe(), pipe());
    rustix::io::write(&*to_input, text.as_bytes()).unwrap();
    let copy = Request::new("/bin/cat")
        .stdin(input)
        .stdout(to_output)
        .real_time_limit(Duration::from_secs(20));
    (supervisor.run(&copy).unwrap(), output)
}

/// Two that send each other a line.
fn pair(supervisor: &Supervisor) -> ([Handle; 2], OwnedFd) {
    let ((first_in, second_out), (second_in, first_out), (said, say)) = (pipe(), pipe(), pipe());
    let shell = |script: &str| Request::new("/bin/sh").args(["-c", script]);
    let first = shell("echo ping; read -r answer; echo \"$answer\" >&2")
        .stdin(first_in)
        .stdout(first_out)
        .stderr(say);
    let second = shell("read -r line; echo \"$line pong\"")
        .stdin(second_in)
        .stdout(second_out);
    (supervisor.run_pair([&first, &second]).unwrap(), said)
}

/// Stops all processes of all runners, also those that one of them made meanwhile.
fn stop_all(supervisor: &Supervisor) -> Vec<Process> {
    let mut stopped: Vec<Process> = Vec::new();
    // The state is field 3, after the last ')' (proc_pid_stat(5)).
    let is_stopped = |process: &Process| {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_none_or(|fields| !fields.trim_start().starts_with(['R', 'S', 'D']))
    };
    let stops = || {
        let now = below_runners(supervisor);
        let are_all = now.iter().all(is_stopped);
        now.iter()
            .for_each(|process| kill(process.pid, Signal::STOP));
        stopped = now;
        are_all
    };
    assert!(eventually(PATIENCE, stops));
    stopped
}

/// All processes of all runners are stopped, so that no target receives what is launched now. Then
/// some are killed.
#[test]
fn runners_killed_before_they_receive_their_runs_fail_none_of_them() {
    let supervisor = start(builder().slots(2));
    let mut random = Random::new();
    for round in 0..8 {
        // Of runners that have not settled nobody could tell that they can.
        assert_eq!(
            result(&supervisor, &request(["exit", "0"])).outcome,
            Outcome::Exited(0)
        );
        let stopped = stop_all(&supervisor);
        let texts = ["one", "two", "three"];
        let all = texts.map(|text| copies(&supervisor, text));
        let (both, said) = pair(&supervisor);
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let runners = runners(&supervisor);
        let zygotes = children(&supervisor, &runners);
        let victims = match round % 3 {
            0 => runners,
            1 => zygotes,
            _ => children(&supervisor, &zygotes),
        };
        // What is below them dies with them, and must not go on before that.
        let with_theirs: Vec<i32> = victims
            .iter()
            .flat_map(|victim| descendants(victim.pid as u32))
            .map(|process| process.pid)
            .collect();
        for process in &victims {
            kill(process.pid, Signal::KILL);
        }
        for process in stopped
            .iter()
            .filter(|process| !with_theirs.contains(&process.pid))
        {
            kill(process.pid, Signal::CONT);
        }
        for ((handle, output), text) in all.iter().zip(texts) {
            let result = wait(handle);
            assert_eq!(
                result.outcome,
                Outcome::Exited(0),
                "round {round}: {result}"
            );
            assert_eq!(read_all(output), text.as_bytes());
        }
        for handle in &both {
            let result = wait(handle);
            assert_eq!(
                result.outcome,
                Outcome::Exited(0),
                "round {round}: {result}"
            );
        }
        assert_eq!(read_all(&said), b"ping pong\n", "round {round}");
    }
}

/// A run in a shell whose zygote is stopped before it ends: its runner seems to take launches, and
/// does not come to them.
fn stop_a_runner(supervisor: &Supervisor) -> i32 {
    let token = token();
    let (read, write) = pipe();
    let shell = Request::new("/bin/sh")
        .args(["-c", "read line", &token])
        .stdin(read);
    let run = supervisor.run(&shell).unwrap();
    drop(shell);
    assert!(eventually(PATIENCE, || !processes_that_say(&token).is_empty()));
    let target = processes_that_say(&token).remove(0);
    let zygote = process(target.parent).expect("pid1").parent;
    kill(zygote, Signal::STOP);
    drop(write);
    assert!(matches!(wait(&run).outcome, Outcome::Exited(_)));
    zygote
}

#[test]
fn runner_with_a_stopped_zygote_keeps_no_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    for _ in 0..3 {
        let zygote = stop_a_runner(&supervisor);
        for _ in 0..3 {
            let (handle, output) = copies(&supervisor, "text");
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
            assert_eq!(read_all(&output), b"text");
            let (both, said) = pair(&supervisor);
            for handle in &both {
                let result = wait(handle);
                assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
            }
            assert_eq!(read_all(&said), b"ping pong\n");
        }
        kill(zygote, Signal::CONT);
    }
}

/// The run is nobody's yet, so its end is not the runner's matter.
#[test]
fn run_that_waits_in_a_stopped_runner_can_be_killed_and_cancelled() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    let zygote = stop_a_runner(&supervisor);
    let asked = [0, 1].map(|_| copies(&supervisor, "text"));
    asked[0].0.kill();
    asked[1].0.cancel();
    assert_eq!(wait(&asked[0].0).outcome, Outcome::Killed);
    assert_eq!(wait(&asked[1].0).outcome, Outcome::Cancelled);
    for (_, output) in &asked {
        assert_eq!(read_all(output), b"", "the ends of its pipes are closed");
    }
    kill(zygote, Signal::CONT);
    let (handle, output) = copies(&supervisor, "text");
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(read_all(&output), b"text");
}

/// Until it is dropped no runner can make a process: the cgroup above all of them has no room for
/// another one.
struct NoProcesses(Vec<PathBuf>);

impl NoProcesses {
    fn of(supervisor: &Supervisor) -> NoProcesses {
        let files: Vec<PathBuf> = supervisor
            .info()
            .cgroups()
            .map(|top| top.join("pids.max"))
            .filter(|file| file.exists())
            .collect();
        files
            .iter()
            .for_each(|file| std::fs::write(file, "1").expect("a limit on processes"));
        NoProcesses(files)
    }
}

impl Drop for NoProcesses {
    fn drop(&mut self) {
        self.0
            .iter()
            .for_each(|file| std::fs::write(file, "max").expect("no limit on processes"));
    }
}

#[test]
fn run_that_no_runner_can_prepare_ends_with_an_error() {
    let supervisor = start(builder().slots(1));
    if supervisor.info().backend() != Backend::Hybrid {
        return skip("only in a version 1 cgroup does a runner live in its runs' cgroup");
    }
    let broken = NoProcesses::of(&supervisor);
    // What is prepared already still runs.
    let failed = (0..6)
        .map(|_| result(&supervisor, &request(["exit", "0"])))
        .find(|result| {
            assert!(
                matches!(
                    result.outcome,
                    Outcome::Exited(0) | Outcome::SandboxError(_)
                ),
                "{result}"
            );
            result.outcome != Outcome::Exited(0)
        });
    let Some(Outcome::SandboxError(error)) = failed.map(|result| result.outcome) else {
        panic!("no run failed")
    };
    assert!(
        [Step::Clone, Step::Zygote, Step::CloneTarget].contains(&error.step),
        "{error}"
    );
    assert!(error.attempts > 1, "{error}");
    assert_eq!(error.errno, Some(libc::EAGAIN), "{error}");
    let good = request(["exit", "0"]);
    for handle in supervisor.run_pair([&good, &good]).unwrap() {
        assert!(matches!(
            wait(&handle).outcome,
            Outcome::SandboxError(_) | Outcome::NotStarted(_)
        ));
    }
    drop(broken);
    assert_eq!(result(&supervisor, &good).outcome, Outcome::Exited(0));
}

#[test]
fn run_outlasts_a_short_want_of_processes() {
    let supervisor = start(builder().slots(1));
    if supervisor.info().backend() != Backend::Hybrid {
        return skip("only in a version 1 cgroup does a runner live in its runs' cgroup");
    }
    for _ in 0..3 {
        let broken = NoProcesses::of(&supervisor);
        let handles: Vec<_> = (0..6)
            .map(|_| supervisor.run(&request(["exit", "0"])).unwrap())
            .collect();
        std::thread::sleep(Duration::from_millis(100));
        drop(broken);
        for handle in &handles {
            let result = wait(handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        }
    }
}

/// The socket that the run leaves in its standard input belongs to its runner's network namespace,
/// and stays.
#[test]
fn socket_left_in_standard_input_fails_no_later_run() {
    let supervisor = start(builder().slots(1));
    let mut left = Vec::new();
    for round in 0..4 {
        let (ours, its) = UnixStream::pair().unwrap();
        let leaves = request(["leave-socket"]).stdin(Arc::new(OwnedFd::from(its)));
        let leaving = supervisor.run(&leaves).unwrap();
        // The first of these is launched in the same runner before the kernel has taken the run
        // apart.
        let innocent: Vec<_> = (0..4).map(|_| copies(&supervisor, "text")).collect();
        assert_eq!(wait(&leaving).outcome, Outcome::Exited(0));
        left.push((ours, leaves));
        for (handle, output) in innocent {
            let result = wait(&handle);
            assert_eq!(
                result.outcome,
                Outcome::Exited(0),
                "round {round}: {result}"
            );
            assert_eq!(read_all(&output), b"text");
        }
    }
    // Each runner has the namespace that it has made, with nothing in it.
    for _ in 0..3 {
        let output = run(
            &supervisor,
            &request(["sockstat"]).world(&world_with_proc()),
        );
        assert_eq!(output.value("used"), "0", "{}", output.result);
    }
}

//! A run that has not started is given to another runner if its own runner is slow, dies or cannot
//! prepare it.

use crate::builder;
use millibox::{Backend, Handle, Outcome, Request, Step, Supervisor};
use millibox_tests::{
    HANG_TIMEOUT, Process, Random, SPAWNER, descendants, eventually, kill, pipe, process,
    process_name, processes_with_argument, read_all, request, result, run, skip, start, token,
    wait, world_with_proc,
};
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Runners and their descendants.
fn below_runners(supervisor: &Supervisor) -> Vec<Process> {
    let is_below_runners = |process: &Process| {
        process.pid != supervisor.info().pid() as i32 && process_name(process.pid) != SPAWNER
    };
    descendants(supervisor.info().pid())
        .into_iter()
        .filter(is_below_runners)
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

/// Starts a run that copies its input to its output, which shows that its descriptors belong to it
/// and are complete.
fn start_copy(supervisor: &Supervisor, text: &str) -> (Handle, OwnedFd) {
    let ((input, to_input), (output, to_output)) = (pipe(), pipe());
    rustix::io::write(&*to_input, text.as_bytes()).unwrap();
    let copy = Request::new("/bin/cat")
        .stdin(input)
        .stdout(to_output)
        .real_time_limit(Duration::from_secs(20));
    (supervisor.run(&copy).unwrap(), output)
}

/// Starts two programs that send each other a line.
fn start_pair(supervisor: &Supervisor) -> ([Handle; 2], OwnedFd) {
    let ((first_in, second_out), (second_in, first_out), (answers, answers_end)) =
        (pipe(), pipe(), pipe());
    let shell = |script: &str| Request::new("/bin/sh").args(["-c", script]);
    let first = shell("echo ping; read -r answer; echo \"$answer\" >&2")
        .stdin(first_in)
        .stdout(first_out)
        .stderr(answers_end);
    let second = shell("read -r line; echo \"$line pong\"")
        .stdin(second_in)
        .stdout(second_out);
    (supervisor.run_pair([&first, &second]).unwrap(), answers)
}

/// Stops all processes of all runners, including processes that are created in the meantime.
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
    let stop_and_check = || {
        let now = below_runners(supervisor);
        let are_all = now.iter().all(is_stopped);
        now.iter()
            .for_each(|process| kill(process.pid, Signal::STOP));
        stopped = now;
        are_all
    };
    assert!(eventually(HANG_TIMEOUT, stop_and_check));
    stopped
}

/// All processes of all runners are stopped, so no target receives its launch. Then some of them
/// are killed.
#[test]
fn runners_killed_before_the_launch_fail_no_run() {
    let supervisor = start(builder().slots(2));
    let mut random = Random::new();
    for round in 0..8 {
        // A run that succeeds shows that the runners are ready.
        assert_eq!(
            result(&supervisor, &request(["exit", "0"])).outcome,
            Outcome::Exited(0)
        );
        let stopped = stop_all(&supervisor);
        let texts = ["one", "two", "three"];
        let all = texts.map(|text| start_copy(&supervisor, text));
        let (both, answers) = start_pair(&supervisor);
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let runners = runners(&supervisor);
        let zygotes = children(&supervisor, &runners);
        let victims = match round % 3 {
            0 => runners,
            1 => zygotes,
            _ => children(&supervisor, &zygotes),
        };
        // Descendants of the victims die with them, and must not continue before that.
        let victims_and_descendants: Vec<i32> = victims
            .iter()
            .flat_map(|victim| descendants(victim.pid as u32))
            .map(|process| process.pid)
            .collect();
        for process in &victims {
            kill(process.pid, Signal::KILL);
        }
        for process in stopped
            .iter()
            .filter(|process| !victims_and_descendants.contains(&process.pid))
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
        assert_eq!(read_all(&answers), b"ping pong\n", "round {round}");
    }
}

/// Makes a run whose zygote is stopped before the program ends. The runner then seems to accept
/// launches, but does not process them. Returns the zygote's PID.
fn stop_a_runner(supervisor: &Supervisor) -> i32 {
    let token = token();
    let (read, write) = pipe();
    let shell = Request::new("/bin/sh")
        .args(["-c", "read line", &token])
        .stdin(read);
    let run = supervisor.run(&shell).unwrap();
    drop(shell);
    assert!(eventually(HANG_TIMEOUT, || !processes_with_argument(
        &token
    )
    .is_empty()));
    let target = processes_with_argument(&token).remove(0);
    let zygote = process(target.parent).expect("pid1").parent;
    kill(zygote, Signal::STOP);
    drop(write);
    assert!(matches!(wait(&run).outcome, Outcome::Exited(_)));
    zygote
}

#[test]
fn runner_with_stopped_zygote_keeps_no_run() {
    let supervisor = start(builder().slots(1).runners_per_slot(3));
    for _ in 0..3 {
        let zygote = stop_a_runner(&supervisor);
        for _ in 0..3 {
            let (handle, output) = start_copy(&supervisor, "text");
            let result = wait(&handle);
            assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
            assert_eq!(read_all(&output), b"text");
            let (both, answers) = start_pair(&supervisor);
            for handle in &both {
                let result = wait(handle);
                assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
            }
            assert_eq!(read_all(&answers), b"ping pong\n");
        }
        kill(zygote, Signal::CONT);
    }
}

/// The run has not started, so it can end without its runner.
#[test]
fn run_waiting_in_stopped_runner_can_be_killed_and_cancelled() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    let zygote = stop_a_runner(&supervisor);
    let waiting = [0, 1].map(|_| start_copy(&supervisor, "text"));
    waiting[0].0.kill();
    waiting[1].0.cancel();
    assert_eq!(wait(&waiting[0].0).outcome, Outcome::Killed);
    assert_eq!(wait(&waiting[1].0).outcome, Outcome::Cancelled);
    for (_, output) in &waiting {
        assert_eq!(read_all(output), b"", "an end of the pipe is still open");
    }
    kill(zygote, Signal::CONT);
    let (handle, output) = start_copy(&supervisor, "text");
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(read_all(&output), b"text");
}

/// While this value exists, no runner can create a process, because the cgroup above the runners
/// has reached its process limit.
struct ProcessBan(Vec<PathBuf>);

impl ProcessBan {
    fn of(supervisor: &Supervisor) -> ProcessBan {
        let files: Vec<PathBuf> = supervisor
            .info()
            .cgroups()
            .map(|top| top.join("pids.max"))
            .filter(|file| file.exists())
            .collect();
        files
            .iter()
            .for_each(|file| std::fs::write(file, "1").expect("a limit on processes"));
        ProcessBan(files)
    }
}

impl Drop for ProcessBan {
    fn drop(&mut self) {
        self.0
            .iter()
            .for_each(|file| std::fs::write(file, "max").expect("no limit on processes"));
    }
}

#[test]
fn run_that_no_runner_can_prepare_returns_error() {
    let supervisor = start(builder().slots(1));
    if supervisor.info().backend() != Backend::Hybrid {
        return skip("only with version 1 cgroups, runners are in the cgroup of their runs");
    }
    let broken = ProcessBan::of(&supervisor);
    // Runs that are already prepared still succeed.
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
fn short_lack_of_processes_fails_no_run() {
    let supervisor = start(builder().slots(1));
    if supervisor.info().backend() != Backend::Hybrid {
        return skip("only with version 1 cgroups, runners are in the cgroup of their runs");
    }
    for _ in 0..3 {
        let broken = ProcessBan::of(&supervisor);
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

/// The program leaves a socket in its standard input. The socket belongs to the network namespace
/// of the runner, and stays open.
#[test]
fn socket_left_in_standard_input_fails_no_later_run() {
    let supervisor = start(builder().slots(1));
    let mut left = Vec::new();
    for round in 0..4 {
        let (client_end, program_end) = UnixStream::pair().unwrap();
        let leaves = request(["leave-socket"]).stdin(Arc::new(OwnedFd::from(program_end)));
        let leaving = supervisor.run(&leaves).unwrap();
        // The first of these runs is launched in the same runner, before the kernel has freed the
        // previous run.
        let innocent: Vec<_> = (0..4).map(|_| start_copy(&supervisor, "text")).collect();
        assert_eq!(wait(&leaving).outcome, Outcome::Exited(0));
        left.push((client_end, leaves));
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
    // Each runner has a network namespace without sockets.
    for _ in 0..3 {
        let output = run(
            &supervisor,
            &request(["sockstat"]).world(&world_with_proc()),
        );
        assert_eq!(output.value("used"), "0", "{}", output.result);
    }
}

/// The cgroup of a new runner contains little, and memory that the kernel charges in advance looks
/// like that of an earlier run.
#[test]
fn peak_memory_of_new_runner_is_not_too_small() {
    let supervisor = start(builder().slots(1));
    if !millibox_tests::has_cgroups_or_skips(&supervisor) {
        return;
    }
    let mut all = Vec::new();
    for _ in 0..40 {
        for runner in runners(&supervisor) {
            kill(runner.pid, Signal::KILL);
        }
        for _ in 0..6 {
            let run = result(&supervisor, &Request::new("/bin/true"));
            // A run that had begun in a killed runner fails.
            if run.outcome == Outcome::Exited(0) {
                all.push(run.figures.peak_memory_bytes);
            }
        }
    }
    // The program needs half a megabyte.
    assert!(all.iter().min() > Some(&300_000), "{all:?}");
}

//! Each process is killed at any moment: the other processes report it, and nothing remains.

use crate::limits::ParentCgroup;
use crate::{builder, supervisor};
use millibox::{
    Backend, Error, Handle, Hint, Mount, Outcome, ProcessEnd, Request, RunError, Step, Supervisor,
    World,
};
use millibox_tests::{
    Footprint, HANG_TIMEOUT, Process, Random, SPAWNER, descendants, directory, eventually,
    executable, kill, pipe, process, process_name, processes_with_argument, read_all, request,
    result, sandbox_error, skip, start, start_sleeper, token, wait,
};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

fn died(handle: &Handle) -> String {
    match handle.wait_timeout(HANG_TIMEOUT) {
        Err(Error::Died(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The processes above the target with this argument: pid1, zygote and runner.
fn family(token: &str) -> [Process; 3] {
    let target = processes_with_argument(token)
        .into_iter()
        .next()
        .expect("the target");
    let pid1 = process(target.parent).expect("pid1");
    let zygote = process(pid1.parent).expect("the zygote");
    let runner = process(zygote.parent).expect("the runner");
    [pid1, zygote, runner]
}

#[test]
fn closed_supervisor_is_reported_to_handles() {
    for close in [
        |supervisor: Supervisor| supervisor.close(),
        |supervisor: Supervisor| drop(supervisor),
    ] {
        let supervisor = supervisor();
        let (running, _output) = start_sleeper(&supervisor, &[]);
        close(supervisor);
        assert!(
            died(&running).starts_with("the connection was closed by this program"),
            "{}",
            died(&running)
        );
    }
}

#[test]
fn killed_supervisor_is_reported_and_leaves_nothing() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15), (Signal::SEGV, 11)] {
        let supervisor = supervisor();
        let token = token();
        let done = supervisor.run(&request(["exit", "7"])).unwrap();
        let read_before = supervisor.run(&request(["exit", "8"])).unwrap();
        wait(&read_before);
        assert!(eventually(CLEANUP_TIMEOUT, || matches!(
            done.try_wait(),
            Ok(Some(_))
        )));
        let (running, read) = start_sleeper(&supervisor, &[&token]);
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                supervisor
                    .run(&request(["sleep", "100000", &token]))
                    .unwrap()
            })
            .collect();
        let footprint = Footprint::of(&supervisor);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| died(&running));
            std::thread::sleep(Duration::from_millis(20));
            kill(supervisor.pid() as i32, signal);
            let why = waiter.join().unwrap();
            assert!(
                why.contains("signal") && why.contains(&number.to_string()),
                "{why}"
            );
        });
        for handle in &waiting {
            assert!(died(handle).contains(&number.to_string()));
        }
        let begin = Instant::now();
        let later = supervisor.run(&request(["exit", "0"])).unwrap_err();
        assert!(
            later.to_string().starts_with("supervisor died: "),
            "{later}"
        );
        assert!(begin.elapsed() < Duration::from_secs(1));
        // Results that arrived before the death can still be read.
        assert_eq!(wait(&done).outcome, Outcome::Exited(7));
        assert_eq!(wait(&read_before).outcome, Outcome::Exited(8));
        footprint.assert_gone();
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
    }
}

#[test]
fn results_sent_before_the_death_are_delivered() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let request = |code: i32| request(["exit", &code.to_string()]).stdout(write.clone());
    let handles: Vec<_> = (0..5)
        .map(|code| supervisor.run(&request(code)).unwrap())
        .collect();
    drop(write);
    read_all(read);
    // All programs have ended. Within the next moment, the supervisor sends the results, which the
    // client has not read yet.
    std::thread::sleep(Duration::from_millis(500));
    kill(supervisor.pid() as i32, Signal::KILL);
    std::thread::sleep(Duration::from_millis(50));
    for (code, handle) in handles.iter().enumerate() {
        assert_eq!(wait(handle).outcome, Outcome::Exited(code as i32));
    }
}

#[test]
fn supervisor_killed_at_random_moments_leaves_nothing() {
    let mut random = Random::new();
    for _ in 0..15 {
        let supervisor = supervisor();
        let token = token();
        let handles: Vec<_> = (0..30)
            .map(|index| {
                let command = ["exit", "sleep", "spin"][index % 3];
                supervisor.run(&request([command, "20", &token])).unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let footprint = Footprint::of(&supervisor);
        kill(supervisor.pid() as i32, Signal::KILL);
        for handle in &handles {
            match handle.wait_timeout(HANG_TIMEOUT) {
                Ok(Some(result)) => assert!(
                    matches!(result.outcome, Outcome::Exited(0 | 20)),
                    "{result}"
                ),
                Err(Error::Died(why)) => assert!(why.contains("signal"), "{why}"),
                other => panic!("{other:?}"),
            }
        }
        footprint.assert_gone();
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
    }
}

/// The keeper of a supervisor, if one exists.
fn keeper_of(supervisor: &Supervisor) -> Option<Process> {
    let parent =
        process(supervisor.pid() as i32).and_then(|supervisor| process(supervisor.parent))?;
    (parent.pid != std::process::id() as i32).then_some(parent)
}

#[test]
fn killed_keeper_leaves_no_run_waiting() {
    let supervisor = supervisor();
    let Some(keeper) = keeper_of(&supervisor) else {
        return skip("without cgroups, no keeper exists");
    };
    let (running, _read) = start_sleeper(&supervisor, &[]);
    let footprint = Footprint::of(&supervisor);
    kill(keeper.pid, Signal::KILL);
    // The supervisor may end or continue without its keeper. In both cases, no run waits forever
    // and nothing remains. (On version 1, runs with several processes need the keeper.)
    let handles: Vec<_> = (0..20)
        .map_while(|_| supervisor.run(&request(["forks", "3"])).ok())
        .collect();
    for handle in &handles {
        match handle.wait_timeout(Duration::from_secs(20)) {
            Ok(Some(result)) => {
                assert!(
                    matches!(
                        result.outcome,
                        Outcome::Exited(0) | Outcome::SandboxError(_)
                    ),
                    "{result}"
                )
            }
            Ok(None) => panic!("a run hangs without the keeper"),
            Err(error) => assert!(matches!(error, Error::Died(_)), "{error}"),
        }
    }
    running.kill();
    drop(supervisor);
    footprint.assert_gone();
}

struct Client {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    supervisor: u32,
    cgroups: Vec<PathBuf>,
}

impl Client {
    fn start(arguments: &[&str]) -> Client {
        let mut child = Command::new(executable("client"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut value = |key: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(key)
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned()
        };
        let supervisor = value("pid=").parse().unwrap();
        let cgroups = value("cgroups=")
            .split(',')
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .collect();
        value("backend=");
        Client {
            child,
            lines,
            supervisor,
            cgroups,
        }
    }

    fn ready(&mut self) {
        let line = self.lines.next().unwrap().unwrap();
        assert!(line.starts_with("ready="), "{line}");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn killed_client_leaves_nothing() {
    let token = token();
    let mut client = Client::start(&["hold=20", "--", "ready-sleep", "100000", &token]);
    client.ready();
    assert_eq!(
        processes_with_argument(&token).len(),
        2 + 1,
        "two runs and the client itself"
    );
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    client.kill();
    footprint.assert_gone();
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
}

#[test]
fn client_killed_at_random_moments_leaves_nothing() {
    let mut random = Random::new();
    for _ in 0..10 {
        let mut client = Client::start(&["storm", "--", "forks", "3"]);
        client.ready();
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
        client.kill();
        footprint.assert_gone();
    }
}

#[test]
fn client_killed_with_its_supervisor_leaves_nothing() {
    let backend = supervisor().backend();
    if backend == Backend::Rlimit {
        return skip("without cgroups, no keeper exists");
    }
    // Root can give this client its own parent cgroup, where no other supervisor looks for remains
    // of a crash.
    let parent_cgroup = millibox_tests::is_root().then(|| ParentCgroup::create(backend));
    let parent = parent_cgroup
        .as_ref()
        .map(|parent_cgroup| format!("cgroup-parent={}", parent_cgroup.0));
    let mut arguments = vec!["hold=3", "--", "ready-sleep", "100000"];
    arguments.splice(0..0, parent.as_deref());
    let mut client = Client::start(&arguments);
    client.ready();
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // The keeper then finds a killed supervisor and no client.
    kill(keeper, Signal::STOP);
    kill(client.supervisor as i32, Signal::KILL);
    client.kill();
    kill(keeper, Signal::CONT);
    footprint.assert_gone();
}

#[test]
fn hanging_supervisor_is_killed_after_its_client() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("without cgroups, no keeper exists");
    }
    let footprint = Footprint::new(client.supervisor, client.cgroups.clone());
    let supervisor = client.supervisor;
    kill(supervisor as i32, Signal::STOP);
    client.kill();
    // The supervisor has some seconds to end by itself. The keeper watches it meanwhile.
    std::thread::sleep(Duration::from_secs(2));
    assert!(footprint.remaining().contains(&supervisor.to_string()));
    eventually(Duration::from_secs(15), || footprint.remaining().is_empty());
    footprint.assert_gone();
}

#[test]
fn next_start_removes_cgroups_of_a_crash() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("no cgroups are available");
    }
    let cgroups = client.cgroups.clone();
    let footprint = Footprint::new(client.supervisor, cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // Stop the process that would clean up before the one that would notice.
    for pid in [keeper, client.child.id() as i32] {
        kill(pid, Signal::STOP);
    }
    for pid in [keeper, client.child.id() as i32, client.supervisor as i32] {
        kill(pid, Signal::KILL);
    }
    client.kill();
    // The next start removes the cgroups of the crash once their processes have ended.
    let cleared = eventually(Duration::from_secs(10), || {
        drop(supervisor());
        cgroups.iter().all(|path| !path.exists())
    });
    assert!(cleared, "{}", footprint.remaining());
    footprint.assert_gone();
}

#[test]
fn killed_pid1_is_reported_as_sandbox_error() {
    let supervisor = supervisor();
    for _ in 0..3 {
        let token = token();
        let (victim, read) = start_sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = start_sleeper(&supervisor, &[]);
        let [pid1, ..] = family(&token);
        kill(pid1.pid, Signal::KILL);
        let result = wait(&victim);
        let killed = Hint::Ended(ProcessEnd::Killed(libc::SIGKILL));
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Pid1).with_hint(killed)
        );
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        assert_eq!(
            self::result(&supervisor, &Request::new("/bin/true")).outcome,
            Outcome::Exited(0)
        );
    }
}

#[test]
fn killed_runner_or_zygote_is_reported_as_sandbox_error() {
    let supervisor = supervisor();
    for zygote in [false, true, false, true] {
        let token = token();
        let (victim, read) = start_sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = start_sleeper(&supervisor, &[]);
        let [_, its_zygote, runner] = family(&token);
        assert!(descendants(supervisor.pid()).contains(&runner));
        kill(
            if zygote { its_zygote.pid } else { runner.pid },
            Signal::KILL,
        );
        let result = wait(&victim);
        let hint = if zygote {
            Hint::ZygoteLost
        } else {
            Hint::Ended(ProcessEnd::Killed(libc::SIGKILL))
        };
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Runner).with_hint(hint)
        );
        assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
            &token
        )
        .is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &Request::new("/bin/true")).outcome,
                Outcome::Exited(0)
            );
        }
    }
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

/// The death of a mounter does not fail the request; another mounter takes over.
#[test]
fn killed_mounter_is_replaced() {
    let supervisor = supervisor();
    let mut killed = 0;
    for round in 0..50 {
        // Each world is new and takes long to mount, longer in each round, for machines on which
        // reading /proc is slow.
        let many = (0..200 << round.min(3)).fold(World::minimal(), |world, index| {
            world.mount(Mount::CreateDir {
                path: format!("/{round}-{index}").into(),
                mode: 0o755,
            })
        });
        let request = Request::new("/bin/true").world(&many);
        let run = supervisor.run(&request).unwrap();
        let mounter = || {
            descendants(supervisor.pid())
                .into_iter()
                .find(|process| process_name(process.pid) == "millibox-mount")
        };
        let mut found = None;
        eventually(HANG_TIMEOUT, || {
            found = mounter();
            found.is_some() || run.try_wait().is_ok_and(|result| result.is_some())
        });
        // The mounter may have ended meanwhile. Its PID is then free, or still its own if the
        // supervisor has not waited for it.
        killed += found.map_or(0, |mounter| {
            let pid = rustix::process::Pid::from_raw(mounter.pid).expect("a process id");
            usize::from(rustix::process::kill_process(pid, Signal::KILL).is_ok())
        });
        let result = wait(&run);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        if killed == 3 {
            return;
        }
    }
    panic!("{killed} mounters were killed in time");
}

#[test]
fn killed_spawner_ends_supervisor() {
    let supervisor = supervisor();
    let token = token();
    let (running, read) = start_sleeper(&supervisor, &[&token]);
    let footprint = Footprint::of(&supervisor);
    let spawner = descendants(supervisor.pid())
        .into_iter()
        .find(|process| process_name(process.pid) == SPAWNER);
    kill(spawner.expect("the spawner").pid, Signal::KILL);
    // Only the spawner can replace runners.
    let why = died(&running);
    assert!(
        why.contains("the spawner") && why.contains("signal 9"),
        "{why}"
    );
    footprint.assert_gone();
    assert!(processes_with_argument(&token).is_empty());
    assert_eq!(millibox_tests::read_all(read), b"");
}

#[test]
fn processes_killed_at_random_moments_fail_one_run_each() {
    let supervisor = supervisor();
    let mut random = Random::new();
    let token = token();
    let mut failures = 0;
    for round in 0..30 {
        let handles: Vec<_> = (0..12)
            .map(|index| {
                supervisor
                    .run(&request([["exit", "sleep"][index % 2], "2", &token]))
                    .unwrap()
            })
            .collect();
        std::thread::sleep(Duration::from_micros(random.below(8000)));
        // The supervisor's children are runners, their children are zygotes, and their children are
        // pid1s.
        let all = descendants(supervisor.pid());
        let below = |parent_cgroup: &[i32]| -> Vec<i32> {
            all.iter()
                .filter(|p| parent_cgroup.contains(&p.parent))
                .map(|p| p.pid)
                .collect()
        };
        let mut victims = vec![supervisor.pid() as i32];
        for _ in 0..=round % 3 {
            victims = below(&victims);
        }
        victims.retain(|&pid| process_name(pid) != SPAWNER);
        if !victims.is_empty() {
            kill(
                victims[random.below(victims.len() as u64) as usize],
                Signal::KILL,
            );
        }
        for handle in &handles {
            let result = wait(handle);
            match &result.outcome {
                Outcome::Exited(0 | 2) => {}
                Outcome::SandboxError(error) => {
                    assert!(error.hint.is_some() || error.errno.is_some(), "{error}");
                    failures += 1;
                }
                _ => panic!("round {round}: {result}"),
            }
        }
        // The process killed last may belong to a prepared run.
        let works =
            || self::result(&supervisor, &Request::new("/bin/true")).outcome == Outcome::Exited(0);
        assert!(eventually(HANG_TIMEOUT, works), "round {round}");
    }
    eprintln!("{failures} runs failed with their runner, zygote or pid1");
    assert!(
        failures <= 60,
        "more than one run failed for each killed process: {failures}"
    );
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
}

#[test]
fn supervisor_dropped_after_orphans_leaves_nothing() {
    for slots in [1, 3] {
        let supervisor = start(builder().slots(slots));
        let handles: Vec<_> = (0..20)
            .map(|_| {
                supervisor
                    .run(&request(["orphans", "2", "100000"]))
                    .unwrap()
            })
            .collect();
        for handle in &handles {
            wait(handle);
        }
        let footprint = Footprint::of(&supervisor);
        drop(supervisor);
        footprint.assert_gone();
    }
}

#[test]
fn supervisor_out_of_descriptors_recovers() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    // Only root may set limits of another process.
    let before =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)));
    let (Ok(before), Ok(open)) = (
        before,
        std::fs::read_dir(format!("/proc/{}/fd", supervisor.pid())),
    ) else {
        return skip("this process may not set the supervisor's limits");
    };
    for room in [0, 1, 2, 5] {
        let open = std::fs::read_dir(format!("/proc/{}/fd", supervisor.pid()))
            .map_or(0, Iterator::count)
            .max(1);
        rustix::process::prlimit(
            pid,
            rustix::process::Resource::Nofile,
            limit(Some((open + room) as u64)),
        )
        .unwrap();
        let directory = millibox::Mount::CreateDir {
            path: format!("/new-{room}").into(),
            mode: 0o755,
        };
        let new_world = millibox::World::minimal().mount(directory);
        let mut handles = Vec::new();
        for _ in 0..10 {
            handles.push(supervisor.run(&request(["exit", "0"])).unwrap());
            handles.push(
                supervisor
                    .run(&request(["exit", "0"]).world(&new_world))
                    .unwrap(),
            );
        }
        std::thread::sleep(Duration::from_millis(100));
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, before).unwrap();
        for handle in &handles {
            // Each run has a result, and it does not blame the program.
            let result = wait(handle);
            let is_not_the_programs_fault = matches!(
                &result.outcome,
                Outcome::Exited(0) | Outcome::SandboxError(_) | Outcome::NotStarted(_)
            );
            assert!(is_not_the_programs_fault, "{room}: {result}");
        }
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &request(["exit", "0"])).outcome,
                Outcome::Exited(0),
                "{room}"
            );
        }
        // A run can still be killed.
        let (sleeping, _read) = start_sleeper(&supervisor, &[]);
        sleeping.kill();
        assert_eq!(wait(&sleeping).outcome, Outcome::Killed);
    }
    drop(open);
}

#[test]
fn killed_runners_are_replaced_once_possible() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    let Ok(before) =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)))
    else {
        return skip("this process may not set the supervisor's limits");
    };
    assert_eq!(
        result(&supervisor, &request(["exit", "0"])).outcome,
        Outcome::Exited(0)
    );
    // Without a free descriptor, the supervisor cannot create the socket of a new runner.
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(3))).unwrap();
    let runners = || {
        descendants(supervisor.pid())
            .into_iter()
            .filter(|process| process_name(process.pid) == "millibox-runner")
    };
    for runner in runners().collect::<Vec<_>>() {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(runner.pid).unwrap(),
            Signal::KILL,
        )
        .unwrap();
    }
    assert!(
        eventually(HANG_TIMEOUT, || runners().next().is_none()),
        "the runners are still alive"
    );
    // A request waits meanwhile.
    let waiting = supervisor
        .run(&Request::new("/bin/sh").args(["-c", "exit 7"]))
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(waiting.try_wait().unwrap(), None);
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, before).unwrap();
    assert_eq!(wait(&waiting).outcome, Outcome::Exited(7));
    assert!(
        eventually(HANG_TIMEOUT, || runners().count() > 1),
        "the runners are not replaced"
    );
}

#[test]
fn cgroup_with_a_foreign_process_blocks_no_run() {
    let supervisor = supervisor();
    if supervisor.cgroups().next().is_none() {
        return skip("no cgroups are available");
    }
    // A foreign process sits in each cgroup: in permanent ones, and in those that are created for
    // one or a few runs and removed while other runs wait.
    let (waiting, _read) = start_sleeper(&supervisor, &[]);
    let mut foreigners = Vec::new();
    for top in supervisor.cgroups() {
        for below in std::fs::read_dir(&top)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_dir())
        {
            let mut foreigner = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
            if std::fs::write(
                below.path().join("cgroup.procs"),
                foreigner.id().to_string(),
            )
            .is_ok()
            {
                foreigners.push((foreigner, below.path()));
            } else {
                foreigner.kill().unwrap();
                foreigner.wait().unwrap();
            }
        }
    }
    if foreigners.is_empty() {
        return skip("this process may not move processes into the supervisor's cgroups");
    }
    let queued: Vec<Handle> = (0..30)
        .map(|index| {
            supervisor
                .run(&request(["forks", "3"]).process_limit(10 + index % 3))
                .unwrap()
        })
        .collect();
    waiting.kill();
    for handle in &queued {
        let result = wait(handle);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
    }
    let cgroups: Vec<PathBuf> = supervisor.cgroups().collect();
    let backend = supervisor.backend();
    let begin = Instant::now();
    drop(supervisor);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "the supervisor waits for the cgroups"
    );
    for (mut foreigner, cgroup) in foreigners {
        if foreigner.try_wait().unwrap().is_none() {
            assert!(cgroup.exists());
            foreigner.kill().unwrap();
            foreigner.wait().unwrap();
        } else {
            // In a run's own cgroup, a foreign process is killed with the run.
            assert_eq!(backend, Backend::Cgroup2, "a foreign process was killed");
        }
    }
    // The next start removes the cgroups.
    drop(self::supervisor());
    let left: Vec<&PathBuf> = cgroups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn client_that_ignores_sigchld_is_informed_of_a_death() {
    let output = millibox_tests::client(["careless", "--", "exit", "0"]);
    assert!(
        output.stdout.contains("outcome=exited with 0"),
        "{output:?}"
    );
    let error = output.value("error");
    // Without a keeper, the supervisor is the client's own child, and its exit status is lost.
    let known = if output.value("backend") == "rlimit" {
        "it closed its socket"
    } else {
        "killed by signal 9"
    };
    assert!(error.contains(known), "{error}");
}

#[test]
fn child_forked_from_client_does_not_end_its_runs() {
    let output = millibox_tests::client(["forked", "--", "ready-sleep", "60000"]);
    let values = ["child", "continues", "outcome", "next"].map(|key| output.value(key));
    assert_eq!(
        values,
        ["true", "true", "killed by the caller", "exited with 0"],
        "{output:?}"
    );
}

/// Creates a shell script that replaces the supervisor, with the socket at descriptor 0.
fn script_as_supervisor(directory: &std::path::Path, script: &str) -> PathBuf {
    let path = directory.join("supervisor");
    // Another process writes the file, for the reason given at `Scene::start` in privileges.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("/bin/sh")
        .args(["-c", write])
        .arg(&path)
        .arg(script)
        .status()
        .unwrap();
    assert!(written.success());
    path
}

#[test]
fn last_message_interrupted_by_signals_is_read() {
    let dir = directory();
    let path = script_as_supervisor(
        dir.path(),
        "exec </dev/null; sleep 0.3; echo millibox: these >&2",
    );
    let output =
        millibox_tests::client(["alarms", &format!("supervisor={}", path.display()), "--"]);
    assert_eq!(
        output.value("error"),
        "cannot start the supervisor: these",
        "{output:?}"
    );
}

#[test]
fn supervisor_with_unreadable_hello_is_ended() {
    let dir = directory();
    // The script writes its PID, sends an invalid greeting, and ends with its socket.
    let pid_file = dir.path().join("pid");
    let script = format!(
        "echo $$ > {}; printf nonsense >&0; exec cat >/dev/null",
        pid_file.display()
    );
    match Supervisor::builder()
        .executable(script_as_supervisor(dir.path(), &script))
        .start()
    {
        Err(Error::NotSupervisor { why, .. }) => {
            assert!(
                why.contains("greeting") && why.contains("install both"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(
        !std::path::Path::new("/proc").join(pid.trim()).exists(),
        "the script is still a process"
    );
}

#[test]
fn polling_handle_without_thread_returns_error() {
    let output = millibox_tests::client(["no-thread", "--", "exit", "0"]);
    assert!(
        output.value("polled").contains("cannot start a thread"),
        "{output:?}"
    );
    assert_eq!(
        (output.value("waited"), output.value("readable")),
        ("exited with 0".to_owned(), "true".to_owned())
    );
}

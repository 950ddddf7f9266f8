//! Death of each process at any moment: nothing is left, and the others say what happened.

use crate::limits::Above;
use crate::{builder, supervisor};
use millibox::{
    Backend, EndReason, Error, Handle, Hint, Mount, Outcome, ProcessEnd, Request, RunError,
    StartError, Step, Supervisor, SupervisorHint, SupervisorStep, World,
};
use millibox_tests::{
    Gone, PATIENCE, Process, Random, SPAWNER, descendants, directory, eventually, executable, kill,
    name, pipe, process, processes_that_say, read_all, request, result, sandbox_error, skip,
    sleeper, start, token, wait,
};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(5);

fn died(handle: &Handle) -> EndReason {
    match handle.wait_timeout(PATIENCE) {
        Err(Error::Died(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Those above the target that says this: its pid1, its zygote, its runner.
fn family(token: &str) -> [Process; 3] {
    let target = processes_that_say(token)
        .into_iter()
        .next()
        .expect("the target");
    let pid1 = process(target.parent).expect("pid1");
    let zygote = process(pid1.parent).expect("the zygote");
    let runner = process(zygote.parent).expect("the runner");
    [pid1, zygote, runner]
}

#[test]
fn a_supervisor_that_we_have_closed() {
    for close in [
        |supervisor: Supervisor| supervisor.close(),
        |supervisor: Supervisor| drop(supervisor),
    ] {
        let supervisor = supervisor();
        let (running, _output) = sleeper(&supervisor, &[]);
        close(supervisor);
        assert_eq!(died(&running), EndReason::ClosedHere);
    }
}

#[test]
fn a_supervisor_that_is_killed() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15), (Signal::SEGV, 11)] {
        let supervisor = supervisor();
        let token = token();
        let done = supervisor.run(&request(["exit", "7"])).unwrap();
        let read_before = supervisor.run(&request(["exit", "8"])).unwrap();
        wait(&read_before);
        assert!(eventually(SOON, || matches!(done.try_wait(), Ok(Some(_)))));
        let (running, read) = sleeper(&supervisor, &[&token]);
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                supervisor
                    .run(&request(["sleep", "100000", &token]))
                    .unwrap()
            })
            .collect();
        let gone = Gone::of(&supervisor);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| died(&running));
            std::thread::sleep(Duration::from_millis(20));
            kill(supervisor.info().pid() as i32, signal);
            let why = waiter.join().unwrap();
            assert_eq!(why, EndReason::Process(ProcessEnd::Killed(number)));
        });
        for handle in &waiting {
            assert_eq!(died(handle), EndReason::Process(ProcessEnd::Killed(number)));
        }
        let begin = Instant::now();
        let later = supervisor.run(&request(["exit", "0"])).unwrap_err();
        assert!(
            later.to_string().starts_with("supervisor died: "),
            "{later}"
        );
        assert!(begin.elapsed() < Duration::from_secs(1));
        // What was over by then can still be read.
        assert_eq!(wait(&done).outcome, Outcome::Exited(7));
        assert_eq!(wait(&read_before).outcome, Outcome::Exited(8));
        gone.assert();
        assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
    }
}

#[test]
fn results_that_were_not_read_before_the_death() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let request = |code: i32| request(["exit", &code.to_string()]).stdout(write.clone());
    let handles: Vec<_> = (0..5)
        .map(|code| supervisor.run(&request(code)).unwrap())
        .collect();
    drop(write);
    read_all(read);
    // All have ended; in a moment they will have been answered, and nobody has read the answers
    // yet.
    std::thread::sleep(Duration::from_millis(500));
    kill(supervisor.info().pid() as i32, Signal::KILL);
    std::thread::sleep(Duration::from_millis(50));
    for (code, handle) in handles.iter().enumerate() {
        assert_eq!(wait(handle).outcome, Outcome::Exited(code as i32));
    }
}

#[test]
fn a_supervisor_that_is_killed_at_random_moments() {
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
        let gone = Gone::of(&supervisor);
        kill(supervisor.info().pid() as i32, Signal::KILL);
        for handle in &handles {
            match handle.wait_timeout(PATIENCE) {
                Ok(Some(result)) => assert!(
                    matches!(result.outcome, Outcome::Exited(0 | 20)),
                    "{result}"
                ),
                Err(Error::Died(why)) => assert!(
                    matches!(why, EndReason::Process(ProcessEnd::Killed(_))),
                    "{why}"
                ),
                other => panic!("{other:?}"),
            }
        }
        gone.assert();
        assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
    }
}

/// Is there a keeper between the supervisor and its client?
fn keeper_of(supervisor: &Supervisor) -> Option<Process> {
    let parent = process(supervisor.info().pid() as i32)
        .and_then(|supervisor| process(supervisor.parent))?;
    (parent.pid != std::process::id() as i32).then_some(parent)
}

#[test]
fn a_keeper_that_is_killed() {
    let supervisor = supervisor();
    let Some(keeper) = keeper_of(&supervisor) else {
        return skip("there is no keeper without cgroups");
    };
    let (running, _read) = sleeper(&supervisor, &[]);
    let gone = Gone::of(&supervisor);
    kill(keeper.pid, Signal::KILL);
    // Whether the supervisor goes with it or on without it: nobody waits for ever, and
    // nothing is left. (Runs with more than one process need the keeper on version 1.)
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
    gone.assert();
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
fn a_client_that_is_killed() {
    let token = token();
    let mut client = Client::start(&["hold=20", "--", "ready-sleep", "100000", &token]);
    client.ready();
    assert_eq!(
        processes_that_say(&token).len(),
        2 + 1,
        "two runs and the client itself"
    );
    let gone = Gone::new(client.supervisor, client.cgroups.clone());
    client.kill();
    gone.assert();
    assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
}

#[test]
fn a_client_that_is_killed_at_random_moments() {
    let mut random = Random::new();
    for _ in 0..10 {
        let mut client = Client::start(&["storm", "--", "forks", "3"]);
        client.ready();
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let gone = Gone::new(client.supervisor, client.cgroups.clone());
        client.kill();
        gone.assert();
    }
}

#[test]
fn a_client_that_is_killed_with_its_supervisor() {
    let backend = supervisor().info().backend();
    if backend == Backend::Rlimit {
        return skip("there is no keeper");
    }
    // Where no other test's supervisor looks for what was left: root can make that.
    let above = millibox_tests::is_root().then(|| Above::make(backend));
    let parent = above
        .as_ref()
        .map(|above| format!("cgroup-parent={}", above.0));
    let mut words = vec!["hold=3", "--", "ready-sleep", "100000"];
    words.splice(0..0, parent.as_deref());
    let mut client = Client::start(&words);
    client.ready();
    let gone = Gone::new(client.supervisor, client.cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // What the keeper finds then: a supervisor that was killed, and nobody to whom it could say so.
    kill(keeper, Signal::STOP);
    kill(client.supervisor as i32, Signal::KILL);
    client.kill();
    kill(keeper, Signal::CONT);
    gone.assert();
}

#[test]
fn a_supervisor_that_hangs_does_not_outlive_its_client_for_long() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("there is no keeper");
    }
    let gone = Gone::new(client.supervisor, client.cgroups.clone());
    let supervisor = client.supervisor;
    kill(supervisor as i32, Signal::STOP);
    client.kill();
    // It has its time to end by itself, and its keeper does not look away meanwhile.
    std::thread::sleep(Duration::from_secs(2));
    assert!(gone.left().contains(&supervisor.to_string()));
    eventually(Duration::from_secs(15), || gone.left().is_empty());
    gone.assert();
}

#[test]
fn a_crash_of_all_is_cleared_by_the_next_start() {
    let mut client = Client::start(&["hold=3", "--", "ready-sleep", "100000"]);
    client.ready();
    if client.cgroups.is_empty() {
        client.kill();
        return skip("there are no cgroups to clear");
    }
    let cgroups = client.cgroups.clone();
    let gone = Gone::new(client.supervisor, cgroups.clone());
    let keeper = process(client.supervisor as i32).unwrap().parent;
    // First the one that would clean up, then the one that would notice.
    for pid in [keeper, client.child.id() as i32] {
        kill(pid, Signal::STOP);
    }
    for pid in [keeper, client.child.id() as i32, client.supervisor as i32] {
        kill(pid, Signal::KILL);
    }
    client.kill();
    // The next start clears what a crash left; the cgroups can go once the processes have.
    let cleared = eventually(Duration::from_secs(10), || {
        drop(supervisor());
        cgroups.iter().all(|path| !path.exists())
    });
    assert!(cleared, "{}", gone.left());
    gone.assert();
}

#[test]
fn a_pid1_that_is_killed() {
    let supervisor = supervisor();
    for _ in 0..3 {
        let token = token();
        let (victim, read) = sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = sleeper(&supervisor, &[]);
        let [pid1, ..] = family(&token);
        kill(pid1.pid, Signal::KILL);
        let result = wait(&victim);
        let killed = Hint::Ended(ProcessEnd::Killed(libc::SIGKILL));
        assert_eq!(
            *sandbox_error(&result),
            RunError::new(Step::Pid1).with_hint(killed)
        );
        assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        assert_eq!(
            self::result(&supervisor, &Request::new("/bin/true")).outcome,
            Outcome::Exited(0)
        );
    }
}

#[test]
fn a_runner_or_zygote_that_is_killed() {
    let supervisor = supervisor();
    for zygote in [false, true, false, true] {
        let token = token();
        let (victim, read) = sleeper(&supervisor, &[&token]);
        let (neighbour, _neighbour_read) = sleeper(&supervisor, &[]);
        let [_, its_zygote, runner] = family(&token);
        assert!(descendants(supervisor.info().pid()).contains(&runner));
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
        assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
        assert_eq!(millibox_tests::read_all(read), b"");
        assert!(neighbour.try_wait().unwrap().is_none());
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &Request::new("/bin/true")).outcome,
                Outcome::Exited(0)
            );
        }
    }
    let gone = Gone::of(&supervisor);
    drop(supervisor);
    gone.assert();
}

/// A builder's death is no fault of the request, which gets another one.
#[test]
fn a_builder_that_is_killed() {
    let supervisor = supervisor();
    let mut killed = 0;
    for round in 0..50 {
        // Long to build, longer each time, for machines on which looking takes long; and never
        // built before.
        let many = (0..200 << round.min(3)).fold(World::minimal(), |world, index| {
            world.mount(Mount::CreateDir {
                path: format!("/{round}-{index}").into(),
                mode: 0o755,
            })
        });
        let request = Request::new("/bin/true").world(&many);
        let run = supervisor.run(&request).unwrap();
        let builder = || {
            descendants(supervisor.info().pid())
                .into_iter()
                .find(|process| name(process.pid) == "millibox-mount")
        };
        let mut found = None;
        eventually(PATIENCE, || {
            found = builder();
            found.is_some() || run.try_wait().is_ok_and(|result| result.is_some())
        });
        // It may have ended meanwhile; then the number is still its own, as the supervisor has not
        // waited for it, or free.
        killed += found.map_or(0, |builder| {
            let pid = rustix::process::Pid::from_raw(builder.pid).expect("a process id");
            usize::from(rustix::process::kill_process(pid, Signal::KILL).is_ok())
        });
        let result = wait(&run);
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        if killed == 3 {
            return;
        }
    }
    panic!("{killed} builders were killed in time");
}

#[test]
fn a_spawner_that_is_killed() {
    let supervisor = supervisor();
    let token = token();
    let (running, read) = sleeper(&supervisor, &[&token]);
    let gone = Gone::of(&supervisor);
    let spawner = descendants(supervisor.info().pid())
        .into_iter()
        .find(|process| name(process.pid) == SPAWNER);
    kill(spawner.expect("the spawner").pid, Signal::KILL);
    // Nobody else could make a runner in place of one that dies.
    let why = died(&running);
    assert!(
        matches!(&why, EndReason::Failed(error)
            if error.step == SupervisorStep::SpawnerEnd
                && error.hint == Some(SupervisorHint::Ended(ProcessEnd::Killed(9)))),
        "{why}"
    );
    gone.assert();
    assert!(processes_that_say(&token).is_empty());
    assert_eq!(millibox_tests::read_all(read), b"");
}

#[test]
fn runners_zygotes_and_pid1s_that_are_killed_at_random_moments() {
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
        // Runners are the supervisor's children, zygotes theirs, pid1s theirs.
        let all = descendants(supervisor.info().pid());
        let below = |above: &[i32]| -> Vec<i32> {
            all.iter()
                .filter(|p| above.contains(&p.parent))
                .map(|p| p.pid)
                .collect()
        };
        let mut victims = vec![supervisor.info().pid() as i32];
        for _ in 0..=round % 3 {
            victims = below(&victims);
        }
        victims.retain(|&pid| name(pid) != SPAWNER);
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
        // What was killed last may have been prepared for the next one.
        let works =
            || self::result(&supervisor, &Request::new("/bin/true")).outcome == Outcome::Exited(0);
        assert!(eventually(PATIENCE, works), "round {round}");
    }
    eprintln!("{failures} runs failed with their runner, zygote or pid1");
    assert!(
        failures <= 60,
        "one death ends more than one run: {failures}"
    );
    assert!(eventually(SOON, || processes_that_say(&token).is_empty()));
    let gone = Gone::of(&supervisor);
    drop(supervisor);
    gone.assert();
}

#[test]
fn nothing_is_left_after_a_good_end() {
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
        let gone = Gone::of(&supervisor);
        drop(supervisor);
        gone.assert();
    }
}

#[test]
fn a_supervisor_that_is_out_of_descriptors() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.info().pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    // Only root may do this to another process.
    let before =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)));
    let (Ok(before), Ok(open)) = (
        before,
        std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())),
    ) else {
        return skip("the supervisor's limits may not be changed");
    };
    for room in [0, 1, 2, 5] {
        let open = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid()))
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
            // An answer comes, and it is not the program's fault.
            let result = wait(handle);
            let ours = matches!(
                &result.outcome,
                Outcome::Exited(0) | Outcome::SandboxError(_) | Outcome::NotStarted(_)
            );
            assert!(ours, "{room}: {result}");
        }
        for _ in 0..10 {
            assert_eq!(
                self::result(&supervisor, &request(["exit", "0"])).outcome,
                Outcome::Exited(0),
                "{room}"
            );
        }
        // And it can still be ended.
        let (sleeping, _read) = sleeper(&supervisor, &[]);
        sleeping.kill();
        assert_eq!(wait(&sleeping).outcome, Outcome::Killed);
    }
    drop(open);
}

#[test]
fn a_runner_that_cannot_be_started_again_at_once() {
    let supervisor = supervisor();
    let pid = rustix::process::Pid::from_raw(supervisor.info().pid() as i32);
    let limit = |current| rustix::process::Rlimit {
        current,
        maximum: Some(1 << 20),
    };
    let Ok(before) =
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(1 << 16)))
    else {
        return skip("the supervisor's limits may not be changed");
    };
    assert_eq!(
        result(&supervisor, &request(["exit", "0"])).outcome,
        Outcome::Exited(0)
    );
    // No new descriptor, so no socket to a new runner.
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit(Some(3))).unwrap();
    let runners = || {
        descendants(supervisor.info().pid())
            .into_iter()
            .filter(|its| name(its.pid) == "millibox-runner")
    };
    for runner in runners().collect::<Vec<_>>() {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(runner.pid).unwrap(),
            Signal::KILL,
        )
        .unwrap();
    }
    assert!(
        eventually(PATIENCE, || runners().next().is_none()),
        "they are dead"
    );
    // What is asked for meanwhile waits.
    let waiting = supervisor
        .run(&Request::new("/bin/sh").args(["-c", "exit 7"]))
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(waiting.try_wait().unwrap(), None);
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, before).unwrap();
    assert_eq!(wait(&waiting).outcome, Outcome::Exited(7));
    assert!(
        eventually(PATIENCE, || runners().count() > 1),
        "all of them come again"
    );
}

#[test]
fn a_cgroup_that_cannot_be_removed() {
    let supervisor = supervisor();
    if supervisor.info().cgroups().next().is_none() {
        return skip("there are no cgroups");
    }
    // In each of the cgroups sits a process that is not ours: in those that are there for good, and
    // in those that are made for a run, or a few, and removed while others wait.
    let (waiting, _read) = sleeper(&supervisor, &[]);
    let mut squatters = Vec::new();
    for top in supervisor.info().cgroups() {
        for below in std::fs::read_dir(&top)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_dir())
        {
            let mut squatter = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
            if std::fs::write(below.path().join("cgroup.procs"), squatter.id().to_string()).is_ok()
            {
                squatters.push((squatter, below.path()));
            } else {
                squatter.kill().unwrap();
                squatter.wait().unwrap();
            }
        }
    }
    if squatters.is_empty() {
        return skip("a process may not be moved into the supervisor's cgroups");
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
    let cgroups: Vec<PathBuf> = supervisor.info().cgroups().collect();
    let backend = supervisor.info().backend();
    let begin = Instant::now();
    drop(supervisor);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "it hangs on the cgroups"
    );
    for (mut squatter, place) in squatters {
        if squatter.try_wait().unwrap().is_none() {
            assert!(place.exists());
            squatter.kill().unwrap();
            squatter.wait().unwrap();
        } else {
            // In a run's own cgroup whoever is there ends with the run.
            assert_eq!(
                backend,
                Backend::Cgroup2,
                "a process that is not ours was killed"
            );
        }
    }
    // The next start clears it.
    drop(self::supervisor());
    let left: Vec<&PathBuf> = cgroups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_client_that_ignores_its_children() {
    let said = millibox_tests::client(["careless", "--", "exit", "0"]);
    assert!(said.stdout.contains("outcome=exited with 0"), "{said:?}");
    let heard = said.value("heard");
    // Without a keeper the supervisor is the client's own child, and nobody can be told how it
    // ended.
    let known = if said.value("backend") == "rlimit" {
        "it closed its socket"
    } else {
        "killed by signal 9"
    };
    assert!(heard.contains(known), "{heard}");
}

#[test]
fn a_process_forked_from_the_client_ends_nothing() {
    let said = millibox_tests::client(["forked", "--", "ready-sleep", "60000"]);
    let values = ["child", "goes_on", "outcome", "next"].map(|key| said.value(key));
    assert_eq!(
        values,
        ["true", "true", "killed by the caller", "exited with 0"],
        "{said:?}"
    );
}

/// A shell script in the supervisor's place, with the socket at descriptor 0.
fn in_its_place(directory: &std::path::Path, script: &str) -> PathBuf {
    let path = directory.join("supervisor");
    // By another process: see `Scene::set` in privileges.rs.
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
fn last_words_that_signals_interrupt() {
    let place = directory();
    let path = in_its_place(
        place.path(),
        "exec </dev/null; sleep 0.3; echo millibox: these >&2",
    );
    let said = millibox_tests::client(["alarms", &format!("supervisor={}", path.display()), "--"]);
    assert!(said.value("error").ends_with(": these"), "{said:?}");
}

#[test]
fn nothing_is_left_of_one_whose_greeting_cannot_be_read() {
    let place = directory();
    // It says its number, then something that is no greeting, and ends with its socket.
    let said = place.path().join("pid");
    let script = format!(
        "echo $$ > {}; printf nonsense >&0; exec cat >/dev/null",
        said.display()
    );
    match Supervisor::builder()
        .executable(in_its_place(place.path(), &script))
        .start()
    {
        Err(Error::Start(StartError::NotSupervisor { reason, .. })) => {
            assert!(matches!(reason, EndReason::Unreadable(_)), "{reason:?}");
        }
        other => panic!("{other:?}"),
    }
    let pid = std::fs::read_to_string(said).unwrap();
    assert!(
        !std::path::Path::new("/proc").join(pid.trim()).exists(),
        "a zombie"
    );
}

#[test]
fn a_handle_that_nobody_could_make_readable_is_not_to_be_polled() {
    let said = millibox_tests::client(["no-thread", "--", "exit", "0"]);
    assert!(
        said.value("polled").contains("cannot start a thread"),
        "{said:?}"
    );
    assert_eq!(
        (said.value("waited"), said.value("readable")),
        ("exited with 0".to_owned(), "true".to_owned())
    );
}

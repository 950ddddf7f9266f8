//! Pools, which consist of one supervisor for each CPU.

use crate::builder;
use millibox::{
    Error, Handle, OptionMistake, Outcome, Pool, StartError, Supervisor, SupervisorHint,
};
use millibox_tests::{
    HANG_TIMEOUT, Process, descendants, eventually, kill, run, skip, start, token, wait,
    world_with_proc,
};
use std::collections::BTreeSet;

fn pool() -> Option<Pool> {
    let pool = Pool::with(&builder()).expect("a pool");
    if pool.members().len() < 2 {
        skip("this machine has one CPU");
        return None;
    }
    Some(pool)
}

fn sleep(pool: &Pool) -> Handle {
    pool.run(&millibox_tests::request(["sleep", "100000"]))
        .expect("a run")
}

/// The only CPU that the member may use.
fn cpu_of(member: &Supervisor) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", member.info().pid()))
        .expect("the status of the member");
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("a list of CPUs");
    cpus.trim().parse().expect("a list of one CPU")
}

#[test]
fn member_and_its_runs_use_one_cpu() {
    let Some(pool) = pool() else { return };
    let mut cpus = BTreeSet::new();
    for member in pool.members() {
        let output = run(
            member,
            &millibox_tests::request(["scheduling"]).world(&world_with_proc()),
        );
        assert_eq!(output.value("cpus"), cpu_of(member).to_string());
        cpus.insert(cpu_of(member));
        // A request can name other CPUs.
        let all = std::thread::available_parallelism()
            .expect("a number")
            .get();
        let request = millibox_tests::request(["scheduling"]).cpus(0..all);
        assert!(
            run(member, &request)
                .value("cpus")
                .contains(&format!("{}", all - 1))
        );
    }
    assert_eq!(cpus.len(), pool.members().len());
}

#[test]
fn least_busy_member_receives_the_run() {
    let Some(pool) = pool() else { return };
    let count = pool.members().len();
    let all: Vec<Handle> = (0..2 * count).map(|_| sleep(&pool)).collect();
    assert!(pool.members().all(|member| member.unfinished() == 2));
    all.iter().for_each(Handle::cancel);
    for handle in &all {
        assert_eq!(wait(handle).outcome, Outcome::Cancelled);
    }
    assert!(pool.members().all(|member| member.unfinished() == 0));
}

/// Calls the function on this CPU.
fn call_on_cpu<T>(cpu: usize, function: impl FnOnce() -> T) -> T {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the CPUs of this thread");
    let mut one = rustix::thread::CpuSet::new();
    one.set(cpu);
    rustix::thread::sched_setaffinity(None, &one).expect("a CPU that this thread may use");
    let result = function();
    rustix::thread::sched_setaffinity(None, &allowed).expect("the CPUs of this thread");
    result
}

/// Submits a run from this member's CPU.
fn sleep_near(pool: &Pool, member: &Supervisor) -> Handle {
    call_on_cpu(cpu_of(member), || sleep(pool))
}

#[test]
fn member_on_the_callers_cpu_is_preferred_among_equals() {
    let Some(pool) = pool() else { return };
    for member in pool.members() {
        let handle = sleep_near(&pool, member);
        assert_eq!(
            pool.members()
                .map(|other| (cpu_of(other), other.unfinished()))
                .find(|other| other.1 > 0),
            Some((cpu_of(member), 1))
        );
        handle.cancel();
        assert_eq!(wait(&handle).outcome, Outcome::Cancelled);
    }
}

#[test]
fn member_on_the_callers_cpu_may_have_more_runs_once_all_are_busy() {
    let Some(pool) = pool() else { return };
    let count = pool.members().len();
    for near in pool.members() {
        let mut all: Vec<Handle> = Vec::new();
        // First the near member has one run and the others have none. Then every member has one
        // run.
        all.push(sleep_near(&pool, near));
        all.extend((1..count).map(|_| sleep_near(&pool, near)));
        assert!(pool.members().all(|member| member.unfinished() == 1));
        all.extend((0..count).map(|_| sleep_near(&pool, near)));
        assert!(pool.members().all(|member| member.unfinished() == 2));
        // Now every member is busy.
        all.extend((0..2).map(|_| sleep_near(&pool, near)));
        assert_eq!(near.unfinished(), 4);
        // The near member must not have two runs more than the least busy member.
        all.push(sleep_near(&pool, near));
        assert_eq!(near.unfinished(), 4);
        all.iter().for_each(Handle::cancel);
        for handle in &all {
            assert_eq!(wait(handle).outcome, Outcome::Cancelled);
        }
    }
}

#[test]
fn pair_runs_on_one_member() {
    let Some(pool) = pool() else { return };
    let (one, two) = (
        millibox_tests::request(["exit", "1"]),
        millibox_tests::request(["exit", "2"]),
    );
    for _ in 0..3 {
        let pair = pool.run_pair([&one, &two]).expect("a pair");
        assert_eq!(
            pair.each_ref().map(|handle| wait(handle).outcome),
            [1, 2].map(Outcome::Exited)
        );
    }
    let endless = millibox_tests::request(["sleep", "100000"]);
    let pair = pool.run_pair([&endless, &endless]).expect("a pair");
    let mut unfinished: Vec<usize> = pool.members().map(Supervisor::unfinished).collect();
    unfinished.sort_unstable();
    assert_eq!(
        unfinished.split_last(),
        Some((&2, &vec![0; pool.members().len() - 1][..]))
    );
    pair.iter().for_each(Handle::cancel);
    pair.iter().for_each(|handle| drop(wait(handle)));
}

#[test]
fn killed_member_receives_no_more_runs() {
    let Some(pool) = pool() else { return };
    let victim = pool.members().next().expect("a member");
    let handle = victim
        .run(&millibox_tests::request(["sleep", "100000", &token()]))
        .expect("a run");
    kill(victim.info().pid() as i32, rustix::process::Signal::KILL);
    assert!(matches!(
        handle.wait_timeout(HANG_TIMEOUT),
        Err(Error::Died(_))
    ));
    for _ in 0..10 {
        let handle = pool
            .run(&millibox_tests::request(["exit", "5"]))
            .expect("a run");
        assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    }
    // The pool uses the other members, regardless of how busy they are.
    let more: Vec<Handle> = (0..10).map(|_| sleep(&pool)).collect();
    more.iter().for_each(Handle::cancel);
    assert!(
        more.iter()
            .all(|handle| wait(handle).outcome == Outcome::Cancelled)
    );
}

/// Kills a member without using it afterwards, so that the pool does not notice. Returns the
/// member's CPU.
fn kill_silently(member: &Supervisor) -> usize {
    let cpu = cpu_of(member);
    let family = descendants(member.info().pid());
    kill(member.info().pid() as i32, rustix::process::Signal::KILL);
    // The socket is closed once the last thread of all its processes has ended.
    let threads = || {
        std::fs::read_dir(format!("/proc/{}/task", member.info().pid())).map_or(0, Iterator::count)
    };
    assert!(eventually(HANG_TIMEOUT, || !family
        .iter()
        .any(Process::is_alive)
        && threads() <= 1));
    assert!(!member.is_dead());
    cpu
}

#[test]
fn silently_killed_member_is_replaced_by_another() {
    let exit = millibox_tests::request(["exit", "5"]);
    let Some(pool) = pool() else { return };
    let cpu = kill_silently(pool.members().next().expect("a member"));
    let handle = call_on_cpu(cpu, || pool.run(&exit)).expect("a run of another member");
    assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    drop(pool);

    let Some(pool) = self::pool() else { return };
    let cpu = kill_silently(pool.members().next().expect("a member"));
    let pair =
        call_on_cpu(cpu, || pool.run_pair([&exit, &exit])).expect("a pair of another member");
    assert_eq!(
        pair.each_ref().map(|handle| wait(handle).outcome),
        [5, 5].map(Outcome::Exited)
    );
    // Without any living member, the pool returns an error.
    for member in pool.members().skip(1) {
        kill_silently(member);
    }
    assert!(matches!(pool.run(&exit), Err(Error::Died(_))));
}

#[test]
fn builder_with_missing_or_no_cpu_returns_error() {
    match builder().cpus([1023]).start() {
        Err(Error::Start(StartError::Failed { error, .. })) => {
            let is_missing = matches!(
                error.hint,
                Some(SupervisorHint::CpuMissing { cpu: 1023, .. })
            );
            assert!(is_missing, "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    // All mistakes are reported at once.
    let several = builder().cpus([]).slots(0).cgroup_parent("a/b");
    match several.start() {
        Err(Error::Start(StartError::Options(mistakes))) => {
            assert_eq!(
                mistakes.as_slice(),
                [
                    OptionMistake::NoCpus,
                    OptionMistake::OutOfRange {
                        counted: "slots",
                        number: 0,
                        max: 512,
                    },
                    OptionMistake::CgroupParent {
                        parent: "a/b".to_owned(),
                        named_by: "the cgroup parent",
                    },
                ]
            );
        }
        other => panic!("{other:?}"),
    }
    // The default is one slot for each CPU.
    assert_eq!(start(Supervisor::builder().cpus([0])).info().slots(), 1);
}

//! Several supervisors as one.

use crate::builder;
use millibox::{Error, Handle, Outcome, Pool, StartError, Supervisor, SupervisorHint};
use millibox_tests::{
    PATIENCE, Process, descendants, eventually, kill, run, skip, start, token, wait,
    world_with_proc,
};
use std::collections::BTreeSet;

fn pool() -> Option<Pool> {
    let pool = Pool::with(&builder()).expect("a pool");
    if pool.members().len() < 2 {
        skip("there is one CPU");
        return None;
    }
    Some(pool)
}

fn sleep(pool: &Pool) -> Handle {
    pool.run(&millibox_tests::request(["sleep", "100000"]))
        .expect("a run")
}

/// The one CPU that it may use.
fn cpu_of(member: &Supervisor) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", member.info().pid()))
        .expect("its status");
    let its = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("its CPUs");
    its.trim().parse().expect("one CPU")
}

#[test]
fn each_member_and_its_runs_are_on_one_cpu() {
    let Some(pool) = pool() else { return };
    let mut cpus = BTreeSet::new();
    for member in pool.members() {
        let output = run(
            member,
            &millibox_tests::request(["scheduling"]).world(&world_with_proc()),
        );
        assert_eq!(output.value("cpus"), cpu_of(member).to_string());
        cpus.insert(cpu_of(member));
        // Who asks for others gets them.
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
fn who_has_least_to_do_is_asked() {
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

/// Does something on this CPU.
fn on<T>(cpu: usize, act: impl FnOnce() -> T) -> T {
    let allowed = rustix::thread::sched_getaffinity(None).expect("our CPUs");
    let mut one = rustix::thread::CpuSet::new();
    one.set(cpu);
    rustix::thread::sched_setaffinity(None, &one).expect("a CPU of ours");
    let done = act();
    rustix::thread::sched_setaffinity(None, &allowed).expect("our CPUs");
    done
}

/// Asks for a run from this member's CPU.
fn sleep_near(pool: &Pool, member: &Supervisor) -> Handle {
    on(cpu_of(member), || sleep(pool))
}

#[test]
fn of_those_with_as_little_to_do_the_callers_cpus_is_asked() {
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
fn where_nobody_lacks_work_the_callers_cpus_may_have_one_more() {
    let Some(pool) = pool() else { return };
    let count = pool.members().len();
    for near in pool.members() {
        let mut all: Vec<Handle> = Vec::new();
        // It has one run, and the others none; then one less than two.
        all.push(sleep_near(&pool, near));
        all.extend((1..count).map(|_| sleep_near(&pool, near)));
        assert!(pool.members().all(|member| member.unfinished() == 1));
        all.extend((0..count).map(|_| sleep_near(&pool, near)));
        assert!(pool.members().all(|member| member.unfinished() == 2));
        // Now each has enough.
        all.extend((0..2).map(|_| sleep_near(&pool, near)));
        assert_eq!(near.unfinished(), 4);
        // But not two more than the least.
        all.push(sleep_near(&pool, near));
        assert_eq!(near.unfinished(), 4);
        all.iter().for_each(Handle::cancel);
        for handle in &all {
            assert_eq!(wait(handle).outcome, Outcome::Cancelled);
        }
    }
}

#[test]
fn pairs_have_one_member() {
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
fn a_member_that_is_killed() {
    let Some(pool) = pool() else { return };
    let victim = pool.members().next().expect("a member");
    let its = victim
        .run(&millibox_tests::request(["sleep", "100000", &token()]))
        .expect("a run");
    kill(victim.info().pid() as i32, rustix::process::Signal::KILL);
    assert!(matches!(its.wait_timeout(PATIENCE), Err(Error::Died(_))));
    for _ in 0..10 {
        let handle = pool
            .run(&millibox_tests::request(["exit", "5"]))
            .expect("a run");
        assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    }
    // However much the others have to do.
    let more: Vec<Handle> = (0..10).map(|_| sleep(&pool)).collect();
    more.iter().for_each(Handle::cancel);
    assert!(
        more.iter()
            .all(|handle| wait(handle).outcome == Outcome::Cancelled)
    );
}

/// Kills it; nobody asks it for anything, so that is not known yet. The CPU that it was on.
fn kill_unheard(member: &Supervisor) -> usize {
    let cpu = cpu_of(member);
    let family = descendants(member.info().pid());
    kill(member.info().pid() as i32, rustix::process::Signal::KILL);
    // With the last thread of the last of them its socket is closed.
    let threads = || {
        std::fs::read_dir(format!("/proc/{}/task", member.info().pid())).map_or(0, Iterator::count)
    };
    assert!(eventually(PATIENCE, || !family
        .iter()
        .any(Process::is_there)
        && threads() <= 1));
    assert!(!member.is_dead());
    cpu
}

#[test]
fn a_member_of_which_nobody_knows_that_it_was_killed() {
    let exit = millibox_tests::request(["exit", "5"]);
    let Some(pool) = pool() else { return };
    let cpu = kill_unheard(pool.members().next().expect("a member"));
    let handle = on(cpu, || pool.run(&exit)).expect("a run of another member");
    assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    drop(pool);

    let Some(pool) = self::pool() else { return };
    let cpu = kill_unheard(pool.members().next().expect("a member"));
    let pair = on(cpu, || pool.run_pair([&exit, &exit])).expect("a pair of another member");
    assert_eq!(
        pair.each_ref().map(|handle| wait(handle).outcome),
        [5, 5].map(Outcome::Exited)
    );
    // Without any member left there is an end to asking.
    for member in pool.members().skip(1) {
        kill_unheard(member);
    }
    assert!(matches!(pool.run(&exit), Err(Error::Died(_))));
}

#[test]
fn a_cpu_that_is_not_there() {
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
    match builder().cpus([]).start() {
        Err(Error::Start(StartError::NoCpus)) => {}
        other => panic!("{other:?}"),
    }
    // One slot for each CPU, unless it is told.
    assert_eq!(start(Supervisor::builder().cpus([0])).info().slots(), 1);
}

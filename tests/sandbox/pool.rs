//! Several supervisors as one.

use crate::builder;
use millibox::{Error, Handle, Outcome, Pool};
use millibox_tests::{PATIENCE, kill, run, skip, start, token, wait, world_with_proc};
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
    pool.run(&millibox_tests::request(["sleep", "100000"])).expect("a run")
}

#[test]
fn each_member_and_its_runs_are_on_one_cpu() {
    let Some(pool) = pool() else { return };
    let mut cpus = BTreeSet::new();
    for member in pool.members() {
        let output = run(member, &millibox_tests::request(["scheduling"]).world(&world_with_proc()));
        let status = std::fs::read_to_string(format!("/proc/{}/status", member.pid())).expect("its status");
        let its = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("its CPUs").trim();
        assert_eq!(output.value("cpus"), its);
        cpus.insert(its.parse::<usize>().expect("one CPU"));
        // Who asks for others gets them.
        let all = std::thread::available_parallelism().expect("a number").get();
        let request = millibox_tests::request(["scheduling"]).cpus(0..all).expect("a request");
        assert!(run(member, &request).value("cpus").contains(&format!("{}", all - 1)));
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

#[test]
fn pairs_have_one_member() {
    let Some(pool) = pool() else { return };
    let (one, two) = (millibox_tests::request(["exit", "1"]), millibox_tests::request(["exit", "2"]));
    for _ in 0..3 {
        let pair = pool.run_pair([&one, &two]).expect("a pair");
        assert_eq!(pair.each_ref().map(|handle| wait(handle).outcome), [1, 2].map(Outcome::Exited));
    }
}

#[test]
fn a_member_that_is_killed() {
    let Some(pool) = pool() else { return };
    let victim = pool.members().next().expect("a member");
    let its = victim.run(&millibox_tests::request(["sleep", "100000", &token()])).expect("a run");
    kill(victim.pid() as i32, rustix::process::Signal::KILL);
    assert!(matches!(its.wait_timeout(PATIENCE), Err(Error::Died(_))));
    for _ in 0..10 {
        let handle = pool.run(&millibox_tests::request(["exit", "5"])).expect("a run");
        assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    }
}

#[test]
fn a_cpu_that_is_not_there() {
    match builder().cpus([1023]).start() {
        Err(Error::Start(why)) => assert!(why.contains("--cpus"), "{why}"),
        other => panic!("{other:?}"),
    }
    // One slot for each CPU, unless it is told.
    assert_eq!(start(millibox::Supervisor::builder().cpus([0])).slots(), 1);
}

//! Scenarios that check whether runs continue under special conditions.

use crate::changes::check;
use crate::fuse::{mount_hanging, serve_root};
use millibox::{Handle, Outcome, Request, Supervisor, World};
use millibox_tests::{read_line, wait};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Polls a run while no memory is available for the stack of a thread. No earlier thread has left a
/// stack that could be reused.
pub fn poll_without_thread(supervisor: &Supervisor, request: &Request) {
    let first = supervisor.run(request).expect("a run");
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB"))
        .expect("a size");
    let size = size.parse::<u64>().expect("a number") << 10;
    // SAFETY: the structures outlive the calls.
    let mut limit_address_space = |bytes: Option<u64>| unsafe {
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur = bytes.unwrap_or(limit.rlim_max);
        check(
            libc::setrlimit(libc::RLIMIT_AS, &raw const limit),
            "setrlimit",
        )
        .expect("a limit");
    };
    limit_address_space(Some(size + (1 << 20)));
    let polled = first.event().map(drop).map_err(|error| error.to_string());
    let waited = wait(&first);
    limit_address_space(None);
    println!("polled={polled:?}\nwaited={:?}", waited.outcome);
    let second = supervisor.run(request).expect("a run");
    println!(
        "readable={}",
        millibox_tests::readable(
            second.event().expect("a descriptor"),
            Duration::from_secs(30)
        )
    );
}

/// Forks during a run; the child drops its copies. The process has one thread, because the library
/// has not started its own yet.
pub fn fork_during_a_run(supervisor: Supervisor, request: &Request) {
    let (read, write) = millibox_tests::pipe();
    let handle = supervisor
        .run(&request.clone().stdout(write))
        .expect("a run");
    println!("{}", read_line(&read));
    // SAFETY: the process has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let failed = (
            handle.wait().is_err(),
            supervisor.run(request).is_err(),
            handle.try_wait().is_err(),
        );
        handle.kill();
        drop((handle, supervisor));
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(if failed == (true, true, true) { 0 } else { 1 }) }
    }
    let mut status = -1;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    println!("child={}", waited == child && status == 0);
    println!(
        "continues={}",
        matches!(handle.wait_timeout(Duration::from_millis(300)), Ok(None))
    );
    handle.kill();
    println!("outcome={:?}", wait(&handle).outcome);
    println!(
        "next={:?}",
        wait(&supervisor.run(&Request::new("/bin/true")).expect("a run")).outcome
    );
}

/// Starts a run, then leaves as many descriptors as possible in unread messages. The limits of runs
/// do not apply to this process.
pub fn run_with_descriptors_in_flight(
    supervisor: &Supervisor,
    request: &Request,
    probe: &Arc<OwnedFd>,
) {
    let start_run = || {
        let (_, write) = millibox_tests::pipe();
        let request = Request::from_descriptor(probe.clone()).args(["probe", "exit", "0"]);
        supervisor.run(&request.stdout(write)).expect("a run")
    };
    let is_over = |handle: &millibox::Handle, seconds: u64| {
        let result = handle
            .wait_timeout(Duration::from_secs(seconds))
            .expect("a supervisor");
        result.is_some_and(|result| result.outcome == Outcome::Exited(0))
    };
    let (read, write) = millibox_tests::pipe();
    let _parked = supervisor
        .run(&request.clone().stdout(write))
        .expect("a run");
    println!("{}", read_line(&read));
    println!(
        "others={}",
        (0..20).filter(|_| is_over(&start_run(), 5)).count()
    );

    let kept = park(probe);
    let waiting = [start_run(), start_run()];
    let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let before = cpu();
    println!("waits={}", !is_over(&waiting[0], 1));
    // No caller is waiting now, so the library's own thread reads.
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu() - before;
    println!("cpu_ms={}", used.tv_sec * 1000 + used.tv_nsec / 1_000_000);
    drop(kept);
    println!(
        "after={}",
        waiting.iter().filter(|handle| is_over(handle, 10)).count()
    );
}

/// Sends as many descriptors as possible in messages that no process receives.
fn park(descriptor: &Arc<OwnedFd>) -> Vec<UnixStream> {
    let all = [descriptor.as_fd(); 200];
    let mut kept = Vec::new();
    loop {
        let (near, far) = UnixStream::pair().expect("sockets");
        near.set_nonblocking(true).expect("a flag");
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&all));
            match sendmsg(
                &near,
                &[IoSlice::new(b"x")],
                &mut control,
                SendFlags::empty(),
            ) {
                Ok(_) => {}
                Err(rustix::io::Errno::TOOMANYREFS) => {
                    kept.extend([near, far]);
                    return kept;
                }
                Err(_) => break,
            }
        }
        kept.extend([near, far]);
    }
}

/// Prints how many of ten other runs succeed while one is stuck, and whether it is still stuck.
fn print_others(supervisor: &Supervisor, request: &Request, stuck: &Handle) {
    let others = (0..10)
        .map(|_| supervisor.run(request))
        .filter_map(Result::ok)
        .filter(|handle| wait(handle).outcome == Outcome::Exited(0));
    println!("others={}", others.count());
    println!("stuck={}", !matches!(stuck.try_wait(), Ok(Some(_))));
}

pub fn run_beside_a_hanging_run(request: &Request, path: &str) {
    let fuse = match mount_hanging(path) {
        Ok(fuse) => fuse,
        Err(why) => return println!("unable={why}"),
    };
    let (stop, stopped) = rustix::pipe::pipe().expect("a pipe");
    let server = std::thread::spawn(move || serve_root(fuse, &stop));
    // The first supervisor's mount namespace lacks the mount. Start a supervisor that has it.
    let Ok(inner) = Supervisor::builder().slots(2).start() else {
        return println!("unable=no second supervisor");
    };
    let world = World::minimal().read_only(path, "/stuck");
    let hanging_request = Request::new("/bin/cat")
        .arg("/stuck/x")
        .world(&world)
        .real_time_limit(Duration::from_millis(50));
    let stuck = match inner.run(&hanging_request) {
        Ok(stuck) => stuck,
        Err(error) => return println!("error={error}"),
    };
    std::thread::sleep(Duration::from_millis(300));
    stuck.kill();
    print_others(&inner, request, &stuck);
    // The end of the server makes the waiting lookup fail.
    drop(stopped);
    server.join().expect("no panic");
    println!("ended={:?}", wait(&stuck).outcome);
    println!(
        "after={:?}",
        wait(&inner.run(request).expect("a run")).outcome
    );
}

pub fn run_beside_a_hanging_file_system(request: &Request, path: &str) {
    let fuse = match mount_hanging(path) {
        Ok(fuse) => fuse,
        Err(why) => return println!("unable={why}"),
    };
    // The first supervisor's mount namespace lacks the mount. Start a supervisor that has it.
    let Ok(inner) = Supervisor::builder().slots(2).start() else {
        return println!("unable=no second supervisor");
    };
    let stuck = inner.run(
        &request
            .clone()
            .world(&World::minimal().read_only(format!("{path}/below"), "/stuck")),
    );
    let stuck = match stuck {
        Ok(stuck) => stuck,
        Err(error) => return println!("error={error}"),
    };
    std::thread::sleep(Duration::from_millis(200));
    print_others(&inner, request, &stuck);
    stuck.cancel();
    println!(
        "cancelled={}",
        matches!(stuck.wait_timeout(Duration::from_secs(5)), Ok(Some(_)))
    );
    println!(
        "after={:?}",
        wait(&inner.run(request).expect("a run")).outcome
    );
    drop(fuse);
}

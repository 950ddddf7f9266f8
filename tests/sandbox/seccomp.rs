//! System calls under the default profile and under policies of the caller.

mod descriptors;

use crate::supervisor;
use millibox::{Mount, Network, Outcome, Request, World};
use millibox_seccomp::Policy;
use millibox_tests::{
    has_cgroups_or_skips, pipe, request, result, run, run_probe, skip, skip_named, world_with_proc,
};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

fn call(number: i64) -> Vec<String> {
    vec!["call".to_owned(), number.to_string()]
}

fn errno_of(supervisor: &millibox::Supervisor, arguments: &[String]) -> i32 {
    let output = run(supervisor, &request(arguments.iter().cloned()));
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{arguments:?}: {}",
        output.result
    );
    output.number("errno") as i32
}

#[test]
fn unknown_system_calls_return_enosys() {
    let supervisor = supervisor();
    // These are numbers that no kernel uses or will use soon, and calls that the profile makes
    // unknown.
    let mut numbers = vec![470, 480, 500, 511, 1000, 5000, i64::from(u32::MAX >> 1)];
    numbers.extend([
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_inotify_init1,
        libc::SYS_io_setup,
    ]);
    for number in numbers {
        assert_eq!(
            errno_of(&supervisor, &call(number)),
            libc::ENOSYS,
            "{number}"
        );
    }
}

#[test]
fn clone3_returns_enosys_and_libc_falls_back() {
    let supervisor = supervisor();
    assert_eq!(errno_of(&supervisor, &call(libc::SYS_clone3)), libc::ENOSYS);
    // Threads and processes of the C library still work.
    assert_eq!(
        run_probe(&supervisor, &["threads", "3"]).number("reached"),
        4
    );
    assert_eq!(run_probe(&supervisor, &["forks", "3"]).number("reached"), 4);
}

#[test]
fn privileged_system_calls_return_eperm() {
    let supervisor = supervisor();
    let numbers = [
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_ptrace,
        libc::SYS_process_vm_writev,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_syslog,
        libc::SYS_clock_settime,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_sync,
    ];
    for number in numbers {
        assert_eq!(
            errno_of(&supervisor, &call(number)),
            libc::EPERM,
            "{number}"
        );
    }
}

#[test]
fn socket_families_depend_on_network() {
    let supervisor = supervisor();
    for (network, internet) in [(Network::None, libc::EAFNOSUPPORT), (Network::Loopback, 0)] {
        // The order of the two settings does not matter.
        let worlds = [
            World::minimal().network(network),
            World::minimal()
                .without_seccomp()
                .network(network)
                .default_seccomp(),
            World::minimal().network(Network::Loopback).network(network),
        ];
        for world in worlds {
            let socket = |family: i32, protocol: i32| {
                let number = libc::SYS_socket.to_string();
                let [family, kind, protocol] =
                    [family, libc::SOCK_DGRAM, protocol].map(|number| number.to_string());
                run(
                    &supervisor,
                    &request(["call".to_owned(), number, family, kind, protocol]).world(&world),
                )
                .number("errno") as i32
            };
            assert_eq!(
                [1, 2, 10].map(|family| socket(family, 0)),
                [0, internet, internet]
            );
            // These are AF_VSOCK, AF_ALG, AF_TIPC, AF_PACKET and AF_BLUETOOTH. Of netlink, only
            // routes are allowed, and only with an interface.
            for family in [40, 38, 30, 17, 31] {
                assert_eq!(socket(family, 0), libc::EAFNOSUPPORT, "{family}");
            }
            assert_eq!(socket(16, 0), internet);
            assert_eq!(socket(16, 9), libc::EAFNOSUPPORT);
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn x32_system_call_is_fatal_or_unknown() {
    let supervisor = supervisor();
    // x32 calls have bit 30 set.
    let result = result(
        &supervisor,
        &request(["call", &(0x4000_0000i64 | 39).to_string()]),
    );
    assert!(
        matches!(
            result.outcome,
            Outcome::Exited(0) | Outcome::Signaled(libc::SIGSYS)
        ),
        "{result}"
    );
    if result.outcome == Outcome::Exited(0) {
        assert_eq!(errno_of(&supervisor, &call(0x4000_0000 | 39)), libc::ENOSYS);
    }
}

#[test]
fn shells_and_interpreters_run_under_default_profile() {
    let supervisor = supervisor();
    let mut scripts = vec![
        (
            "/bin/sh",
            vec!["-c", "x=$(echo a | cat | tr a b); test $x = b"],
        ),
        (
            "/bin/bash",
            vec![
                "-c",
                "set -e; a=(1 2 3); cat <(echo x) >/dev/null; (( ${#a[@]} == 3 )); sleep 0 & wait",
            ],
        ),
    ];
    let python = "import \
        os,threading,subprocess,tempfile,socket,random,json;t=threading.Thread(target=print);t.start();t.join();subprocess.run(['/bin/true'],check=True);tempfile.TemporaryFile().write(b'x')";
    scripts.push(("/usr/bin/python3", vec!["-c", python]));
    scripts.push(("/usr/bin/perl", vec!["-e", "exit(system('/bin/true'))"]));
    for (program, arguments) in scripts {
        if !std::path::Path::new(program).exists() {
            skip_named(
                &format!("{program} with the default profile"),
                "it is not installed",
            );
            continue;
        }
        let (read, write) = pipe();
        let handle = supervisor
            .run(
                &Request::new(program)
                    .args(arguments)
                    .env("PATH", "/usr/bin:/bin")
                    .world(&world_with_proc())
                    .stderr(write),
            )
            .unwrap();
        let result = millibox_tests::wait(&handle);
        assert_eq!(
            result.outcome,
            Outcome::Exited(0),
            "{program}: {result}: {}",
            String::from_utf8_lossy(&millibox_tests::read_all(read))
        );
    }
}

#[test]
fn compilers_run_under_default_profile() {
    let supervisor = supervisor();
    let c = "printf 'int puts(const char *); int main(void) { return puts(__FILE__) < 0; }' > a.c \
        && cc -O1 a.c -o a && ./a";
    let cpp = "printf '#include <iostream>\\n#include <thread>\\nint main() { std::thread([] { \
        std::cout << 1; }).join(); }' > a.cc && c++ -pthread a.cc -o a && ./a";
    let pascal = "printf 'begin writeln(1); end.' > a.pas && fpc -v0 a.pas && ./a";
    let java = "printf 'class A { public static void main(String[] a) { System.out.println(1); } \
        }' > A.java && javac A.java && java A";
    let go = "printf 'package main\\nfunc main() { c := make(chan int); go func() { c <- 1 }(); \
        println(<-c) }' > a.go && HOME=/tmp GOFLAGS=-mod=mod go build a.go && ./a";
    let node = "node -e 'setTimeout(() => console.log(1), 5)'";
    // On some systems, the configuration of Java and Free Pascal is in /etc.
    let mut world = world_with_proc();
    for entry in std::fs::read_dir("/etc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("java") || name.starts_with("fpc") {
            world = world.read_only(entry.path(), entry.path());
        }
    }
    let programs = [
        ("cc", c),
        ("c++", cpp),
        ("fpc", pascal),
        ("javac", java),
        ("go", go),
        ("node", node),
    ];
    for (needs, script) in programs {
        if !std::path::Path::new("/usr/bin").join(needs).exists() {
            skip_named(
                &format!("{needs} with the default profile"),
                "it is not installed in /usr/bin",
            );
            continue;
        }
        let (read, write) = pipe();
        let request = Request::new("/bin/sh")
            .args(["-c", script])
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/tmp");
        let handle = supervisor
            .run(&request.world(&world).stderr(write))
            .unwrap();
        let reader = std::thread::spawn(move || millibox_tests::read_all(read));
        let result = millibox_tests::wait(&handle);
        let stderr = String::from_utf8_lossy(&reader.join().unwrap()).into_owned();
        assert_eq!(
            result.outcome,
            Outcome::Exited(0),
            "{needs}: {result}: {stderr}"
        );
    }
}

#[test]
fn policy_of_caller_replaces_default_profile() {
    let supervisor = supervisor();
    let policy: Policy = "name = \"no-getpid\"\ndescription = \"x\"\ndefault = \
        \"allow\"\n[[rule]]\naction = \"errno:E2BIG\"\nwhy = \"for this test\"\nsyscalls = \
        [\"getppid\"]\n"
        .parse()
        .unwrap();
    let world = World::minimal().seccomp(&policy).unwrap();
    let output = run(&supervisor, &request(call(libc::SYS_getppid)).world(&world));
    assert_eq!(output.number("errno"), i64::from(libc::E2BIG));
    // This policy kills the program.
    let deadly: Policy = "name = \"deadly\"\ndescription = \"x\"\ndefault = \
        \"allow\"\n[[rule]]\naction = \"kill_process\"\nwhy = \"for this test\"\nsyscalls = \
        [\"getppid\"]\n"
        .parse()
        .unwrap();
    let world = World::minimal().seccomp(&deadly).unwrap();
    let result = result(&supervisor, &request(call(libc::SYS_getppid)).world(&world));
    assert_eq!(result.outcome, Outcome::Signaled(libc::SIGSYS));
    // Other worlds keep the default profile.
    assert_eq!(errno_of(&supervisor, &call(libc::SYS_getppid)), 0);
}

#[test]
fn policy_may_forbid_calls_of_the_sandbox_itself() {
    let supervisor = supervisor();
    // The policy forbids calls that the sandbox makes while it prepares the program. Only execveat
    // is needed.
    let policy: Policy = "name = \"late\"\ndescription = \"x\"\ndefault = \
        \"allow\"\n[[rule]]\naction = \"errno:EPERM\"\nwhy = \"the sandbox uses these\"\nsyscalls \
        = [\"recvmsg\", \"dup3\", \"close_range\", \"sched_yield\", \"clock_gettime\", \"chdir\", \
        \"sched_setaffinity\", \"setsid\"]\n"
        .parse()
        .unwrap();
    let world = World::minimal().seccomp(&policy).unwrap();
    let request = Request::new("/bin/sh")
        .args(["-c", "exit 4"])
        .world(&world)
        .current_dir("/usr");
    assert_eq!(
        result(&supervisor, &request.rlimit("CORE", 0).cpus([0])).outcome,
        Outcome::Exited(4)
    );
    let missing = Request::new("/missing").world(&world);
    let result = result(&supervisor, &missing);
    assert!(
        matches!(&result.outcome, Outcome::NotStarted(error) if error.errno == Some(libc::ENOENT)),
        "{result}"
    );
}

/// If the target attaches the seccomp program, the sandbox makes these calls between the attachment
/// and the program's first instruction (ARCHITECTURE.md). Forbidding them affects no limit and no
/// measurement.
#[test]
fn forbidden_calls_after_attachment_affect_no_limit() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let world = |rest: &str| {
        let policy = format!("name = \"late\"\ndescription = \"x\"\n{rest}");
        World::minimal().seccomp(&policy.parse().unwrap()).unwrap()
    };
    // `for (;;);` and `_exit(0);`
    let (spins, exits) = if cfg!(target_arch = "x86_64") {
        ("jmp _start\n", "xor %edi,%edi\n mov $231,%eax\n syscall\n")
    } else {
        ("b _start\n", "mov x0,#0\n mov x8,#94\n svc 0\n")
    };
    let program = |body: &str| assemble(&format!(".globl _start\n_start:\n {body}"));
    let (Some(spins), Some(exits)) = (program(spins), program(exits)) else {
        return skip("cc is missing");
    };
    let world_that_answers = |calls: &str, return_action: &str| {
        world(&format!(
            "default = \"allow\"\n[[rule]]\naction = \"{return_action}\"\nwhy = \"x\"\nsyscalls = \
             [{calls}]\n"
        ))
    };
    for calls in [
        "\"clock_gettime\"",
        "\"pread64\"",
        "\"clock_gettime\", \"pread64\"",
    ] {
        for return_action in ["errno:EPERM", "errno:ENOSYS", "errno:0"] {
            let request = Request::from_descriptor(spins.clone())
                .argv(["spins"])
                .world(&world_that_answers(calls, return_action));
            let limited = request
                .cpu_time_limit(Duration::from_millis(100))
                .real_time_limit(Duration::from_secs(30));
            let result = result(&supervisor, &limited);
            assert_eq!(
                result.outcome,
                Outcome::CpuTimeLimit,
                "{calls} {return_action}: {result}"
            );
            assert!(
                result.figures.cpu_user_ns + result.figures.cpu_system_ns >= 90_000_000,
                "{result}"
            );
            assert!(result.figures.real_time_ns >= 90_000_000, "{result}");
        }
    }
    let least = "default = \"kill_process\"\n[[rule]]\naction = \"allow\"\nwhy = \"x\"\nsyscalls = \
        [\"execveat\", \"clock_gettime\", \"pread64\", \"exit_group\"]\n";
    let request = Request::from_descriptor(exits.clone())
        .argv(["exits"])
        .world(&world(least));
    assert_eq!(result(&supervisor, &request).outcome, Outcome::Exited(0));
    let fatal = least.replace("\"pread64\", ", "");
    let result = result(
        &supervisor,
        &Request::from_descriptor(exits)
            .argv(["exits"])
            .world(&world(&fatal)),
    );
    // If the target inherits the seccomp program, the sandbox does not make this call under it.
    assert!(
        matches!(
            result.outcome,
            Outcome::Exited(0) | Outcome::Signaled(libc::SIGSYS)
        ),
        "{result}"
    );
}

#[test]
fn strict_profile_runs_simple_programs() {
    let supervisor = supervisor();
    let policy = millibox_seccomp::profile("strict").unwrap();
    let world = World::minimal().seccomp(&policy).unwrap();
    assert_eq!(
        result(&supervisor, &request(["exit", "3"]).world(&world)).outcome,
        Outcome::Exited(3)
    );
    assert_eq!(
        run(&supervisor, &request(["out", "100"]).world(&world))
            .stdout
            .len(),
        112
    );
}

#[test]
fn program_cannot_drop_page_cache_of_shared_files() {
    let directory = millibox_tests::directory();
    let path = directory.path().join("file");
    std::fs::write(&path, [7; 1 << 16]).expect("a file");
    let file = std::fs::File::open(&path).expect("the file");
    // Only pages that are on the disk can be dropped.
    file.sync_all().expect("fsync");
    let is_in_memory = || {
        let mut bytes = [0; 16];
        let mut one = [std::io::IoSliceMut::new(&mut bytes)];
        rustix::io::preadv2(&file, &mut one, 0, rustix::io::ReadWriteFlags::NOWAIT)
            .is_ok_and(|length| length > 0)
    };
    if !is_in_memory() {
        return millibox_tests::skip("the file system does not report which pages are in memory");
    }
    let supervisor = supervisor();
    let world = World::minimal().read_only(directory.path(), "/data");
    let drop_it = |world: &World| {
        // dd(1) with count=0 and nocache asks the kernel to drop the whole file.
        let dd = Request::new("/bin/dd").args([
            "if=/data/file",
            "iflag=nocache",
            "count=0",
            "status=none",
        ]);
        assert_eq!(
            result(&supervisor, &dd.world(world)).outcome,
            Outcome::Exited(0)
        );
    };
    drop_it(&world);
    assert!(is_in_memory());
    drop_it(&world.clone().without_seccomp());
    if is_in_memory() {
        millibox_tests::skip("this file system does not drop pages");
    }
}

/// System calls of a dynamically linked program that does nothing, and those that follow the
/// attachment if each target attaches the seccomp program (ARCHITECTURE.md).
const MINIMAL_CALLS: [&str; 21] = [
    "execveat",
    "brk",
    // The machine determines which of these calls is used.
    "access",
    "faccessat",
    "openat",
    "newfstatat",
    "fstat",
    "mmap",
    "close",
    "read",
    "pread64",
    "arch_prctl",
    "set_tid_address",
    "set_robust_list",
    "rseq",
    "mprotect",
    "munmap",
    "getrandom",
    "exit_group",
    "clock_gettime",
    "prlimit64",
];

#[test]
fn policy_that_kills_for_calls_of_the_sandbox_itself_works() {
    let supervisor = supervisor();
    // The program inherits the filter from a process that continues to mount, clone and wait.
    let text = format!(
        "name = \"least\"\ndescription = \"x\"\ndefault = \"kill_process\"\n[[rule]]\naction = \
         \"allow\"\nwhy = \"x\"\nsyscalls = {MINIMAL_CALLS:?}\n"
    );
    let policy: Policy = text.parse().unwrap();
    let world = world_with_proc()
        .mount(Mount::tmpfs("/scratch"))
        .mount(Mount::read_only("/usr/share", "/scratch/share"))
        .mount(Mount::symlink("x", "/scratch/link"))
        .mount(Mount::create_file("/scratch/file", 0o600))
        .network(Network::Loopback)
        .seccomp(&policy)
        .unwrap();
    let request = Request::new("/bin/true")
        .world(&world)
        .current_dir("/scratch")
        .rlimit("CORE", 0);
    for _ in 0..5 {
        assert_eq!(
            result(&supervisor, &request.clone().cpus([0])).outcome,
            Outcome::Exited(0)
        );
        // The program itself is killed for other calls.
        let forks = result(
            &supervisor,
            &Request::new("/bin/sh")
                .args(["-c", "true & wait"])
                .world(&world),
        );
        assert_eq!(forks.outcome, Outcome::Signaled(libc::SIGSYS), "{forks}");
        // Another program runs in between, in the same runner.
        assert_eq!(errno_of(&supervisor, &call(libc::SYS_unshare)), libc::EPERM);
    }
}

/// Builds a program without a C library from assembler source. Returns `None` without a compiler.
fn assemble(source: &str) -> Option<Arc<OwnedFd>> {
    std::process::Command::new("cc")
        .arg("--version")
        .output()
        .ok()?;
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    std::fs::write(directory.path().join("program.s"), source).unwrap();
    let built = std::process::Command::new("cc")
        .args(["-nostdlib", "-static", "-o"])
        .arg(&program)
        .arg(directory.path().join("program.s"))
        .status();
    assert!(built.is_ok_and(|status| status.success()), "cc fails");
    Some(millibox_tests::open(&program))
}

#[test]
fn registers_are_zero_at_the_first_instruction() {
    // The sandbox's own calls carry a secret so that an inherited seccomp program lets them pass.
    // The program must not see this secret. At the first instruction of an ELF program, all
    // registers are 0.
    let source = if cfg!(target_arch = "x86_64") {
        ".globl _start\n_start:\n or %rbx,%rax\n or %rcx,%rax\n or %rdx,%rax\n or %rsi,%rax\n or \
         %rdi,%rax\n or %rbp,%rax\n or %r8,%rax\n or %r9,%rax\n or %r10,%rax\n or %r11,%rax\n or \
         %r12,%rax\n or %r13,%rax\n or %r14,%rax\n or %r15,%rax\n xor %edi,%edi\n test %rax,%rax\n \
         setnz %dil\n mov $231,%eax\n syscall\n"
    } else {
        ".globl _start\n_start:\n orr x0,x0,x1\n orr x0,x0,x2\n orr x0,x0,x3\n orr x0,x0,x4\n orr \
         x0,x0,x5\n orr x0,x0,x6\n orr x0,x0,x7\n cmp x0,#0\n cset x0,ne\n mov x8,#94\n svc 0\n"
    };
    let Some(program) = assemble(source) else {
        return skip("cc is missing");
    };
    let supervisor = supervisor();
    for _ in 0..10 {
        let request = Request::from_descriptor(program.clone()).argv(["registers"]);
        assert_eq!(result(&supervisor, &request).outcome, Outcome::Exited(0));
    }
}

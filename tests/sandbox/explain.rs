//! `Request::explain`: what a program lacked, on each backend.

use millibox::explain::{Change, Explanation};
use millibox::{BackendChoice, Outcome, Prepare, Request, Start, Supervisor, World};
use millibox_seccomp::Policy;
use millibox_tests::{copy_executable, directory, eventually, open, process_name, skip};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

/// A supervisor of each backend that this user can have.
fn supervisors() -> Vec<Supervisor> {
    let best = crate::supervisor();
    let mut all = Vec::new();
    if best.info().backend() != millibox::Backend::Rlimit {
        let builder = crate::builder().backend(BackendChoice::Rlimit);
        all.push(millibox_tests::start(builder));
    }
    all.push(best);
    all
}

fn python(script: &str) -> Request {
    Request::new("/usr/bin/python3").args(["-ISc", script])
}

/// Runs a request to its end, and returns its outcome and its explanation.
fn explain(supervisor: &Supervisor, request: &Request) -> (Outcome, Explanation) {
    let run = supervisor.run(&request.clone().explain(true)).unwrap();
    let outcome = run.wait().unwrap().outcome;
    let explanation = run.explanation();
    (outcome, explanation.expect("the program was executed"))
}

/// The explanation of a program that exits with 0.
fn explanation(supervisor: &Supervisor, request: &Request) -> Explanation {
    let (outcome, explanation) = explain(supervisor, request);
    assert_eq!(outcome, Outcome::Exited(0));
    explanation
}

/// A world whose policy applies `action` to getppid(2).
fn world_without_getppid(action: &str) -> World {
    let policy: Policy = format!(
        "name = \"no parents\"\ndescription = \"\"\ndefault = \"allow\"\n[[rule]]\n\
         action = \"{action}\"\nwhy = \"a test\"\nsyscalls = [\"getppid\"]\n"
    )
    .parse()
    .unwrap();
    World::minimal().seccomp(&policy).unwrap()
}

/// Files that Python itself looks for.
const OF_PYTHON: [&str; 2] = ["/etc/localtime", "/usr/share/locale/locale.alias"];

/// The missing paths with their counts and options, without those of Python itself.
fn paths(explanation: &Explanation) -> Vec<(&str, u64, String)> {
    let mut paths: Vec<_> = (explanation.missing_paths.iter())
        .filter(|path| !OF_PYTHON.contains(&path.path.as_str()))
        .map(|path| {
            let option = path.option.as_ref().map(Change::option);
            (path.path.as_str(), path.count, option.unwrap_or_default())
        })
        .collect();
    paths.sort_unstable();
    paths
}

fn options(explanation: &Explanation) -> Vec<String> {
    explanation.options.iter().map(Change::option).collect()
}

#[test]
fn refused_calls_of_all_processes_and_threads_are_counted_with_their_rule() {
    let script = "
import os, threading
def call():
    for _ in range(10):
        assert os.getppid() == -1
threads = [threading.Thread(target=call) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
call()
if child: assert os.waitpid(child, 0)[1] == 0
";
    for supervisor in supervisors() {
        let request = python(script).world(&world_without_getppid("errno:EPERM"));
        let explanation = explanation(&supervisor, &request);
        let [refused] = &explanation.refused_calls[..] else {
            panic!("{explanation:?}");
        };
        assert_eq!((refused.name.as_str(), refused.count), ("getppid", 50));
        assert_eq!(refused.action, "errno:EPERM");
        let rule = refused.rule.as_ref().unwrap();
        let rule = (rule.policy.as_str(), rule.line, rule.why.as_str());
        assert_eq!(rule, ("no parents", 5, "a test"));
    }
}

#[test]
fn default_profile_names_its_rule() {
    let explanation = explanation(
        &crate::supervisor(),
        &python(
            "import os\ntry: os.sched_setaffinity(0, [0])\nexcept OSError: os._exit(0)\n\
             os._exit(1)",
        ),
    );
    let mut calls = explanation.refused_calls.iter();
    let refused = calls.find(|call| call.name == "sched_setaffinity");
    let rule = refused.and_then(|call| call.rule.as_ref());
    let text = include_str!("../../crates/seccomp/profiles/default.toml");
    let line = text.lines().nth(rule.expect("a rule").line - 1).unwrap();
    assert!(line.starts_with("action = \"errno:"), "{line}");
}

#[test]
fn call_that_kills_is_named_and_still_kills() {
    for supervisor in supervisors() {
        for action in ["kill_process", "kill_thread", "trap"] {
            let request = python("import os; os.getppid()").world(&world_without_getppid(action));
            let (outcome, explanation) = explain(&supervisor, &request);
            assert_eq!(outcome, Outcome::Signaled(libc::SIGSYS), "{action}");
            let [refused] = &explanation.refused_calls[..] else {
                panic!("{explanation:?}");
            };
            assert_eq!((refused.count, refused.action.as_str()), (1, action));
        }
    }
}

#[test]
fn only_missing_paths_of_the_host_are_named() {
    let script = "
import os
def fails(call):
    try: call()
    except OSError: return
    os._exit(1)
for _ in range(3): fails(lambda: open('/etc/passwd'))
fails(lambda: open('/no/such/file'))
os.chdir('/etc')
fails(lambda: os.stat('group'))
fails(lambda: os.stat('hosts', dir_fd=os.open('/usr/../etc', os.O_RDONLY)))
fails(lambda: os.stat('no-such-file'))
if os.fork() == 0:
    fails(lambda: os.execv('/proc/self/exe', ['x']))
    os._exit(0)
os.wait()
";
    for supervisor in supervisors() {
        let explanation = explanation(&supervisor, &python(script));
        assert_eq!(
            paths(&explanation),
            [
                ("/etc/group", 1, "--ro /etc/group".to_owned()),
                ("/etc/hosts", 1, "--ro /etc/hosts".to_owned()),
                ("/etc/passwd", 3, "--ro /etc/passwd".to_owned()),
                ("/proc/self/exe", 1, "--proc /proc".to_owned()),
            ]
        );
        // With the options, nothing is missing.
        let world = ["/etc/group", "/etc/hosts", "/etc/passwd"]
            .into_iter()
            .fold(millibox_tests::world_with_proc(), |world, path| {
                world.read_only(path, path)
            });
        let script = "for path in ('group', 'hosts', 'passwd'): open('/etc/' + path)";
        let explanation = self::explanation(&supervisor, &python(script).world(&world));
        assert_eq!(paths(&explanation), []);
    }
}

#[test]
fn files_of_missing_directory_become_one_option() {
    // The option shows the topmost directory that the world lacks.
    let host = tempfile::tempdir_in("/tmp").unwrap();
    millibox_tests::set_mode(host.path(), 0o755);
    for name in ["one", "two"] {
        std::fs::write(host.path().join(name), "").unwrap();
    }
    let names = ["one", "two"].map(|name| host.path().join(name).display().to_string());
    let world = World::empty().system();
    let request = Request::new("/bin/cat").args(names).world(&world);
    let (outcome, explanation) = explain(&crate::supervisor(), &request);
    assert_eq!(outcome, Outcome::Exited(1));
    assert_eq!(explanation.missing_paths.len(), 2);
    assert_eq!(
        options(&explanation),
        [format!("--ro {}", host.path().display())]
    );
}

#[test]
fn paths_that_the_run_could_not_see_are_not_listed() {
    let supervisor = crate::supervisor();
    if supervisor.info().ids().0 == rustix::process::geteuid().as_raw() {
        return skip("the client and the run have the same user");
    }
    let host = directory();
    for (name, mode) in [("open", 0o755), ("closed", 0o700)] {
        let path = host.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), "").unwrap();
        millibox_tests::set_mode(&path, mode);
    }
    let path = |name: &str| host.path().join(name).display().to_string();
    let names = [
        path("open/file"),
        path("closed/file"),
        // A process of the host.
        "/proc/1/status".to_owned(),
    ];
    let world = World::empty().system();
    let request = Request::new("/bin/cat").args(names).world(&world);
    let (outcome, explanation) = explain(&supervisor, &request);
    assert_eq!(outcome, Outcome::Exited(1));
    let listed: Vec<_> = (explanation.missing_paths.iter())
        .map(|missing| missing.path.clone())
        .collect();
    assert_eq!(listed, [path("open/file")]);
}

#[test]
fn write_to_read_only_mount_needs_rw() {
    let host = directory();
    let world = World::minimal().read_only(host.path(), "/work");
    let request = Request::new("/bin/touch").arg("/work/new").world(&world);
    let (_, explanation) = explain(&crate::supervisor(), &request);
    assert_eq!(
        options(&explanation),
        [format!("--rw {}:/work", host.path().display())]
    );
    assert_eq!(explanation.missing_paths[0].error, "EROFS");
}

#[test]
fn hostile_paths_and_floods_are_bounded() {
    let script = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pointer in (0, 1, 2**47, 2**64 - 1):
    libc.syscall(257, -100, ctypes.c_void_p(pointer), 0)
libc.access(b'/' + b'x' * 5000, 0)
libc.access(b'/' + b'./' * 2040 + b'etc/passwd', 0)
libc.access(b'/etc/\\x1b[2J\\n\\xff', 0)
libc.access(b'', 0)
for index in range(6000):
    libc.access(b'/none/%d' % index, 0)
libc.access(b'/etc/group', 0)
os._exit(0)
";
    for supervisor in supervisors() {
        let explanation = explanation(&supervisor, &python(script));
        assert!(explanation.omitted_paths >= 6000 - 4096, "{explanation:?}");
        let found = paths(&explanation);
        let [(path, 1, option)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(path.starts_with("/./././"), "{path}");
        assert_eq!(option, "--ro /etc/passwd");
    }
}

#[test]
fn static_program_is_explained() {
    let host = directory();
    let source = host.path().join("source.c");
    let program = host.path().join("program");
    let text = "#include <fcntl.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n\
        int main(void) {\n\
        if (open(\"/etc/passwd\", O_RDONLY) >= 0 || syscall(SYS_mount, 0, 0, 0, 0, 0) == 0) {\n\
        return 1;\n}\nreturn 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    let compiler = std::process::Command::new("cc")
        .args(["-static", "-o"])
        .args([&program, &source])
        .status();
    let Ok(compiler) = compiler else {
        return skip("cc is missing");
    };
    assert!(compiler.success(), "cc fails");
    let copy = host.path().join("copy");
    copy_executable(&program, &copy);
    for supervisor in supervisors() {
        let program: Arc<OwnedFd> = open(&copy);
        let request = Request::from_descriptor(program)
            .arg("program")
            .world(&World::empty());
        let explanation = explanation(&supervisor, &request);
        let option = "--ro /etc/passwd".to_owned();
        // The C library also looks for /proc/self/exe.
        assert_eq!(paths(&explanation)[0], ("/etc/passwd", 1, option));
        let names: Vec<_> = explanation
            .refused_calls
            .iter()
            .map(|call| &call.name)
            .collect();
        assert_eq!(names, ["mount"]);
    }
}

#[test]
fn traced_run_keeps_its_limits_and_signals() {
    for supervisor in supervisors() {
        let endless = python("import os\nwhile True: os.getpid()")
            .real_time_limit(Duration::from_millis(300));
        let (outcome, _) = explain(&supervisor, &endless);
        assert_eq!(outcome, Outcome::RealTimeLimit);
        let stopped = "
import os, signal, time
parent = os.getpid()
child = os.fork()
while child == 0:
    # A traced process appears as stopped in each of its calls, so one signal could come too early.
    os.kill(parent, signal.SIGCONT)
    time.sleep(0.01)
os.kill(parent, signal.SIGSTOP)
os.kill(child, signal.SIGKILL)
os.wait()
os.kill(parent, signal.SIGTERM)
";
        let request = python(stopped).world(&millibox_tests::world_with_proc());
        let (outcome, _) = explain(&supervisor, &request);
        assert_eq!(outcome, Outcome::Signaled(libc::SIGTERM));
    }
}

/// If memory is not dumpable, files of its processes in /proc belong to root (proc(5)).
#[test]
fn sandbox_memory_is_not_dumpable_during_traced_run() {
    for supervisor in supervisors() {
        let (read, write) = millibox_tests::pipe();
        let request = millibox_tests::request(["ready-sleep", "100000"]).stdout(write);
        let run = supervisor.run(&request.explain(true)).unwrap();
        assert_eq!(millibox_tests::read_line(&read), "ready");
        // A runner's memory is also dumpable while its next pid1 is prepared, which takes moments.
        let is_protected = || {
            let processes = millibox_tests::descendants(supervisor.info().pid());
            let mut zygotes = (processes.iter())
                .filter(|process| process_name(process.pid) == "millibox-zygote")
                .filter_map(|process| {
                    std::fs::metadata(format!("/proc/{}/status", process.pid)).ok()
                })
                .peekable();
            zygotes.peek().is_some() && zygotes.all(|status| status.uid() == 0)
        };
        assert!(eventually(Duration::from_secs(20), is_protected));
        run.kill();
        run.wait().unwrap();
    }
}

#[test]
fn killed_and_unstarted_runs_end_their_tracer() {
    for supervisor in supervisors() {
        let run = supervisor
            .run(&Request::new("/bin/sleep").arg("1000").explain(true))
            .unwrap();
        run.kill();
        assert_eq!(run.wait().unwrap().outcome, Outcome::Killed);
        let _ = run.explanation();
        let run = supervisor
            .run(&Request::new("/no/such").explain(true))
            .unwrap();
        assert!(matches!(
            run.wait().unwrap().outcome,
            Outcome::NotStarted(_)
        ));
        let explanation = run.explanation().unwrap_or_default();
        assert!(explanation.is_empty(), "{explanation:?}");
    }
}

#[test]
fn prepared_program_is_explained_cold() {
    let supervisor = crate::supervisor();
    let prepare = Prepare::python("/usr/bin/python3", ["json"]);
    let prepared = World::minimal().prepare(&prepare).unwrap();
    let request = Request::new("/usr/bin/python3")
        .args(["-c", "open('/etc/passwd')"])
        .prepared(&prepared)
        .explain(true);
    let run = supervisor.run(&request).unwrap();
    assert_eq!(run.wait().unwrap().start, Start::Cold(None));
    assert!(options(&run.explanation().unwrap()).contains(&"--ro /etc/passwd".to_owned()));
}

#[test]
fn run_without_explain_has_no_explanation() {
    let supervisor = crate::supervisor();
    let run = supervisor.run(&Request::new("/bin/true")).unwrap();
    run.wait().unwrap();
    assert_eq!(run.explanation(), None);
}

//! Programs that are prepared once and copied for each run.

mod hostile;
mod inherited;
mod programs;
mod soak;

use crate::{builder, supervisor};
use millibox::{
    Backend, BackendChoice, Outcome, Output, Prepare, Prepared, Request, Start, Step, Supervisor,
    TemplateProblem, Unfit, World,
};
use millibox_tests::{not_started, result, skip, start, world_with_proc};
use std::time::Duration;

const PYTHON: &str = "/usr/bin/python3";
/// The maximum output that a test expects.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Whether prepared programs are possible here. If not, reports the test as skipped.
fn is_possible_or_skips(supervisor: &Supervisor) -> bool {
    if !std::path::Path::new(PYTHON).exists() {
        skip("there is no python3");
        return false;
    }
    if supervisor.info().backend() == Backend::Cgroup2 && !resets_peak() {
        skip("the peak of version 2 cgroups cannot be reset before Linux 6.12");
        return false;
    }
    true
}

/// Whether memory.peak can be written.
fn resets_peak() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.trim().parse().ok());
    (numbers.next(), numbers.next()) >= (Some(6u32), Some(12u32))
}

fn python(world: &World) -> Prepared {
    prepared(world, &Prepare::python(PYTHON, ["json"]))
}

fn prepared(world: &World, prepare: &Prepare) -> Prepared {
    world
        .prepare(prepare)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn request(code: &str, prepared: &Prepared) -> Request {
    Request::new(PYTHON).args(["-c", code]).prepared(prepared)
}

fn output(supervisor: &Supervisor, request: &Request) -> Output {
    supervisor
        .output(request, MAX_OUTPUT_BYTES)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a prepared program that must exit with 0. Returns its output.
fn text(supervisor: &Supervisor, code: &str, prepared: &Prepared) -> String {
    let output = output(supervisor, &request(code, prepared));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}: {stderr}",
        output.result
    );
    assert!(
        matches!(output.result.start, Start::Prepared { .. }),
        "{}",
        output.result.start
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn run_is_copy_of_template_with_own_arguments() {
    let supervisor = supervisor();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&World::minimal());
    for round in 0..6 {
        let code = format!("import sys; print({round}, 'json' in sys.modules, sys.argv)");
        let expected = format!("{round} True ['-c']\n");
        assert_eq!(text(&supervisor, &code, &python), expected);
    }
}

#[test]
fn two_runs_of_one_template_differ_in_random_numbers_and_share_nothing() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let modules = ["random", "uuid", "tempfile", "ssl"];
    let python = prepared(&world_with_proc(), &Prepare::python(PYTHON, modules));
    let code = "import json, os, random, ssl, tempfile, uuid\n\
                names = tempfile._get_candidate_names()\n\
                print(random.random(), uuid.uuid4(), next(names), sep='\\n')\n\
                print(ssl.RAND_bytes(8).hex(), os.urandom(8).hex(), sep='\\n')\n\
                print(os.listdir('/tmp'))\n\
                open('/tmp/left', 'w').write('x')\n\
                assert not hasattr(json, 'left')\n\
                json.left = 1";
    let first = text(&supervisor, code, &python);
    let second = text(&supervisor, code, &python);
    let (first, second): (Vec<_>, Vec<_>) = (first.lines().collect(), second.lines().collect());
    assert_eq!(first.len(), 6);
    for (a, b) in first.iter().zip(&second).take(5) {
        assert_ne!(a, b);
    }
    assert_eq!((first[5].trim(), second[5].trim()), ("[]", "[]"));
}

/// A template without `boot.py`. It compares the copy's namespaces with its own.
const NAMESPACES: &str = r#"
import ctypes, os
library = ctypes.PyDLL("/.millibox/libmillibox_ready.so")
def namespaces():
    return [os.stat("/proc/self/ns/" + kind).st_ino for kind in ("user", "pid", "mnt", "ipc")]
own = namespaces()
buffer = ctypes.create_string_buffer(100)
counts = (ctypes.c_uint32 * 2)()
length = library.millibox_ready(buffer, len(buffer), counts)
strings = (buffer.raw[:length], list(counts))
is_fresh = all(a != b for a, b in zip(own, namespaces()))
is_right = strings == (b"a\0b\0X=1\0", [2, 1])
os._exit(int(not (is_fresh and is_right)))
"#;

#[test]
fn copy_has_own_namespaces_and_receives_strings_of_request() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let template = Prepare::new(PYTHON).arg("-c").arg(NAMESPACES);
    let template = prepared(&world_with_proc(), &template);
    let request = Request::new("/bin/false")
        .argv(["a", "b"])
        .env("X", "1")
        .prepared(&template);
    for _ in 0..3 {
        assert_eq!(result(&supervisor, &request).outcome, Outcome::Exited(0));
    }
}

#[test]
fn figures_include_template_and_run() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let world = World::minimal();
    let python = python(&world);
    let run = |request: &Request| result(&supervisor, request);
    let idle = run(&request("pass", &python));
    let Start::Prepared {
        cpu_ns,
        memory_bytes,
    } = idle.start
    else {
        panic!("{}", idle.start)
    };
    let cpu =
        |result: &millibox::RunResult| result.figures.cpu_user_ns + result.figures.cpu_system_ns;
    assert!(cpu_ns > 1_000_000, "an interpreter starts in no less");
    assert!(cpu(&idle) >= cpu_ns);
    let busy = run(&request(
        "import time\nwhile time.process_time() < 0.3: pass",
        &python,
    ));
    assert!(cpu(&busy) >= 300_000_000, "{:?}", busy.figures);
    let large = run(&request("x = bytearray(64 << 20)", &python));
    assert!(large.figures.peak_memory_bytes >= 64 << 20);
    if supervisor.info().backend() != Backend::Rlimit {
        assert!(memory_bytes > 1 << 20);
        assert!(idle.figures.peak_memory_bytes >= memory_bytes);
        assert!(large.figures.peak_memory_bytes >= memory_bytes + (64 << 20));
    }
}

#[test]
fn limits_apply_to_each_run_and_template_survives() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    // Limits without cgroups are weaker, so that backend must be named.
    let supervisor = match supervisor.info().backend() {
        Backend::Rlimit => start(builder().slots(1).backend(BackendChoice::Rlimit)),
        _ => supervisor,
    };
    let python = python(&World::minimal());
    let has_cgroups = supervisor.info().backend() != Backend::Rlimit;
    for _ in 0..2 {
        let late = request("import time; time.sleep(100)", &python)
            .real_time_limit(Duration::from_millis(100));
        assert_eq!(result(&supervisor, &late).outcome, Outcome::RealTimeLimit);
        let busy = request("while True: pass", &python).cpu_time_limit(Duration::from_millis(300));
        let busy = result(&supervisor, &busy);
        assert_eq!(busy.outcome, Outcome::CpuTimeLimit);
        if has_cgroups {
            let large = request("x = bytearray(500 << 20)", &python).memory_limit(100 << 20);
            assert_eq!(result(&supervisor, &large).outcome, Outcome::MemoryLimit);
            let forks = request(
                "import os\nfor _ in range(8): os.fork() or os.pause()",
                &python,
            );
            let forks = result(&supervisor, &forks.process_limit(1));
            assert_eq!(forks.outcome, Outcome::Exited(1), "fork is refused");
        }
        let fine = result(&supervisor, &request("pass", &python));
        assert_eq!(fine.outcome, Outcome::Exited(0));
    }
}

#[test]
fn killed_run_ends_with_all_processes() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&World::minimal());
    for _ in 0..3 {
        let code = "import os, time\nos.fork()\nos.fork()\ntime.sleep(100)";
        let handle = supervisor
            .run(&request(code, &python))
            .unwrap_or_else(|error| panic!("{error}"));
        std::thread::sleep(Duration::from_millis(30));
        handle.kill();
        assert_eq!(millibox_tests::wait(&handle).outcome, Outcome::Killed);
    }
    assert_eq!(text(&supervisor, "print(1)", &python), "1\n");
}

/// A template that has a second thread when it is ready.
const THREADS: &str = r#"
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
library = ctypes.CDLL("/.millibox/libmillibox_ready.so")
counts = (ctypes.c_uint32 * 2)()
library.millibox_ready(ctypes.create_string_buffer(100), 100, counts)
"#;

#[test]
fn template_that_does_not_become_ready_is_named() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let world = World::minimal();
    let never = Prepare::new("/bin/sleep")
        .arg("100")
        .real_time_limit(Duration::from_millis(100));
    let missing = Prepare::python("/usr/bin/missing", ["json"]);
    let directory = Prepare::new("/usr");
    let ends = Prepare::new("/bin/sh").arg("-c").arg("exit 3");
    let busy = Prepare::new("/bin/sh")
        .arg("-c")
        .arg("while :; do :; done")
        .cpu_time_limit(Duration::from_millis(50));
    let threads = Prepare::new(PYTHON).arg("-c").arg(THREADS);
    let mut cases = vec![
        (never, TemplateProblem::NotReady),
        (
            missing,
            TemplateProblem::NotExecuted {
                errno: libc::ENOENT,
            },
        ),
        (
            directory,
            TemplateProblem::NotExecuted {
                errno: libc::EACCES,
            },
        ),
        (
            ends,
            TemplateProblem::Ended(millibox::ProcessEnd::Exited(3)),
        ),
        (busy, TemplateProblem::CpuTime),
        (threads, TemplateProblem::Unfit(Unfit::Threads)),
    ];
    if supervisor.info().backend() != Backend::Rlimit {
        let large = Prepare::new(PYTHON)
            .arg("-c")
            .arg("x = bytearray(500 << 20)")
            .memory_limit(64 << 20);
        cases.push((large, TemplateProblem::OutOfMemory));
    }
    for (prepare, problem) in cases {
        let prepared = prepared(&world, &prepare);
        let request = Request::new("/bin/true").prepared(&prepared);
        for _ in 0..2 {
            let result = result(&supervisor, &request);
            let error = not_started(&result);
            assert_eq!(error.step, Step::Ready);
            assert_eq!(error.hint, Some(millibox::Hint::Template(problem)));
        }
        let cold = result(&supervisor, &request.may_start_cold(true));
        assert_eq!(cold.outcome, Outcome::Exited(0));
        assert_eq!(cold.start, Start::Cold(Some(problem)));
    }
}

#[test]
fn world_that_cannot_be_copied_is_named() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let cases = [(World::minimal().uid(0), Unfit::RootInside)];
    for (world, unfit) in cases {
        let python = python(&world);
        let refused = result(&supervisor, &request("pass", &python));
        let problem = TemplateProblem::Unfit(unfit);
        assert_eq!(
            not_started(&refused).hint,
            Some(millibox::Hint::Template(problem))
        );
        let cold = request("pass", &python).may_start_cold(true);
        let cold = result(&supervisor, &cold);
        assert_eq!(cold.outcome, Outcome::Exited(0));
        assert_eq!(cold.start, Start::Cold(Some(problem)));
    }
}

#[test]
fn template_is_restarted_after_number_of_runs() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let prepare = Prepare::python(PYTHON, ["json"]).runs(3);
    let python = prepared(&World::minimal(), &prepare);
    // All copies of a template have the same hash seed.
    let seeds: Vec<String> = (0..7)
        .map(|_| text(&supervisor, "print(hash('x'))", &python))
        .collect();
    assert_eq!(seeds[0], seeds[2]);
    assert_ne!(seeds[2], seeds[3]);
    assert_eq!(seeds[3], seeds[5]);
    assert_ne!(seeds[5], seeds[6]);
}

#[test]
fn template_is_restarted_at_maximum_age() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let prepare = Prepare::python(PYTHON, ["json"]).age(Duration::ZERO);
    let python = prepared(&World::minimal(), &prepare);
    let seed = || text(&supervisor, "print(hash('x'))", &python);
    assert_ne!(seed(), seed());
}

#[test]
fn options_of_the_interpreter_are_those_of_its_template() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let prepare = Prepare::python(PYTHON, ["json"]).option("-B").option("-s");
    let python = prepared(&World::minimal(), &prepare);
    let code = "import sys; print(sys.flags.dont_write_bytecode, 'json' in sys.modules, sys.argv)";
    let request = |options: &[&str]| {
        Request::new(PYTHON)
            .args(options)
            .args(["-c", code])
            .prepared(&python)
    };
    let stdout = |options: &[&str]| output(&supervisor, &request(options)).stdout;
    assert_eq!(stdout(&["-B", "-s"]), b"1 True ['-c']\n");
    // With other options, the copy executes the interpreter again.
    assert_eq!(stdout(&[]), b"0 False ['-c']\n");
}

#[test]
fn copy_calls_fork_handlers_that_modules_have_registered() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let directory = millibox_tests::directory();
    let module = "import os\ncalls = []\n\
                  os.register_at_fork(before=lambda: calls.append('before'))\n\
                  os.register_at_fork(after_in_child=lambda: calls.append('after'))\n";
    std::fs::write(directory.path().join("handlers.py"), module).expect("write a module");
    let world = World::minimal().read_only(directory.path(), "/modules");
    let prepare = Prepare::python(PYTHON, ["handlers", "random"]).env("PYTHONPATH", "/modules");
    let python = prepared(&world, &prepare);
    let code = "import handlers, random; print(*handlers.calls, random.random())";
    let run = || {
        let request = request(code, &python).env("PYTHONPATH", "/modules");
        let output = output(&supervisor, &request);
        assert!(
            matches!(output.result.start, Start::Prepared { .. }),
            "{output:?}"
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let (first, second) = (run(), run());
    for text in [&first, &second] {
        assert!(text.starts_with("before after 0."), "{text}");
    }
    assert_ne!(first, second, "`random` is reseeded");
}

#[test]
fn program_that_forks_has_the_handlers_of_the_interpreter() {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let modules = [
        "random",
        "threading",
        "logging",
        "concurrent.futures.thread",
    ];
    let python = prepared(&World::minimal(), &Prepare::python(PYTHON, modules));
    let code = "import logging, os, random, sys, threading\n\
                thread = threading.Thread(target=threading.Event().wait, daemon=True)\n\
                thread.start()\n\
                logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))\n\
                number = random.getstate()\n\
                child = os.fork()\n\
                logging.warning('%s %s', threading.active_count(), random.getstate() == number)\n\
                sys.stdout.flush()\n\
                if not child: os._exit(0)\n\
                os.waitpid(child, 0)\n";
    let printed = text(&supervisor, code, &python);
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1 False", "2 True"]);
}

#[test]
fn strings_beyond_64_kib_start_cold_or_fail() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&World::minimal());
    let long = format!("print(len('{}'))", "x".repeat(60 << 10));
    assert_eq!(text(&supervisor, &long, &python), "61440\n");
    let too_long = request(&format!("'{}'", "x".repeat(65 << 10)), &python);
    let problem = TemplateProblem::Unfit(Unfit::TooLong);
    let refused = result(&supervisor, &too_long);
    assert_eq!(
        not_started(&refused).hint,
        Some(millibox::Hint::Template(problem))
    );
    let cold = result(&supervisor, &too_long.may_start_cold(true));
    assert_eq!(cold.start, Start::Cold(Some(problem)));
}

#[test]
fn other_worlds_take_runners_from_idle_templates() {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&World::minimal());
    for _ in 0..3 {
        assert_eq!(text(&supervisor, "print(1)", &python), "1\n");
        for hostname in ["a", "b", "c", "d"] {
            let path = format!("/{hostname}");
            let world = World::minimal().read_only("/etc/passwd", path);
            let cold = Request::new("/bin/true").world(&world);
            assert_eq!(result(&supervisor, &cold).outcome, Outcome::Exited(0));
        }
    }
}

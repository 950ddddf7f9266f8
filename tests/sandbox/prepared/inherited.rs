//! A run inherits from its template only what the program's owner has left there, and no run can
//! change that.

use super::{PYTHON, is_possible_or_skips, prepared, text};
use crate::builder;
use millibox::{Outcome, Prepare, Prepared, Request, Start, Supervisor, World};
use millibox_tests::{result, start, world_with_proc};

/// The beginning of a template without `boot.py`. `prepare` is executed before the ready point.
/// Each copy executes its first argument.
fn template(world: &World, prepare: &str) -> Prepared {
    let code = format!(
        r#"
import ctypes, os, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
library = ctypes.PyDLL("/.millibox/libmillibox_ready.so")
SIGNALS = [s for s in range(1, 65) if s not in (9, 19, 32, 33)]
{prepare}
buffer = ctypes.create_string_buffer(1 << 16)
counts = (ctypes.c_uint32 * 2)()
length = library.millibox_ready(buffer, len(buffer), counts)
exec(buffer.raw[:length].split(b"\0")[0].decode())
sys.stdout.flush()
os._exit(0)
"#
    );
    prepared(world, &Prepare::new(PYTHON).arg("-c").arg(code))
}

fn request(code: &str, prepared: &Prepared) -> Request {
    Request::new("/bin/false").argv([code]).prepared(prepared)
}

/// Runs code in a copy, which must exit with 0. Returns its output.
fn run(supervisor: &Supervisor, code: &str, prepared: &Prepared) -> String {
    let output = super::output(supervisor, &request(code, prepared));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}: {stderr}",
        output.result
    );
    assert!(matches!(output.result.start, Start::Prepared { .. }));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A supervisor with one runner, so that all runs come from one template.
fn lone_runner() -> Option<Supervisor> {
    let supervisor = start(builder().slots(1).runners_per_slot(1));
    is_possible_or_skips(&supervisor).then_some(supervisor)
}

/// Sends each signal to process 1, in several ways.
const ATTACK: &str = r#"
import time
pid1 = os.pidfd_open(1)
for _ in range(20):
    for s in SIGNALS:
        os.kill(1, s)
        libc.sigqueue(1, s, 7)
        signal.pidfd_send_signal(pid1, s)
time.sleep(0.02)
print("sent")
"#;

/// A handler of the interpreter only sets a flag in memory. The interpreter calls the function
/// later, which is during the next run if pid1 sets the flag in the template's memory.
#[test]
fn run_cannot_execute_handlers_of_interpreter_in_its_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let python = template(
        &world_with_proc(),
        "handled = []\nfor s in SIGNALS: signal.signal(s, lambda s, _: handled.append(s))",
    );
    let look = "for _ in range(1000): pass\nprint(handled)";
    assert_eq!(run(&supervisor, look, &python), "[]\n");
    for _ in 0..3 {
        assert_eq!(run(&supervisor, ATTACK, &python), "sent\n");
        assert_eq!(run(&supervisor, look, &python), "[]\n");
    }
    // A copy has the template's handlers.
    let own = "os.kill(os.getpid(), signal.SIGUSR1)\nfor _ in range(1000): pass\nprint(handled)";
    assert_eq!(run(&supervisor, own, &python), "[10]\n");
}

/// srand(3) as a handler changes the memory of the process that executes it.
#[test]
fn run_cannot_execute_c_handlers_in_its_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let program = template(
        &world_with_proc(),
        "libc.srand(1)\nfor s in SIGNALS: libc.signal(s, libc.srand)",
    );
    let look = "print([libc.rand() for _ in range(3)])";
    let expected = run(&supervisor, look, &program);
    for _ in 0..3 {
        assert_eq!(run(&supervisor, ATTACK, &program), "sent\n");
        assert_eq!(run(&supervisor, look, &program), expected);
    }
    let own = format!("os.kill(os.getpid(), signal.SIGUSR1)\n{look}");
    assert_ne!(run(&supervisor, &own, &program), expected);
}

/// The interpreter itself has a handler for SIGINT.
#[test]
fn interrupt_of_pid1_does_not_reach_later_runs() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let python = super::python(&world_with_proc());
    for _ in 0..5 {
        let attack = "import os\nfor s in range(1, 65): os.kill(1, s)\nprint('sent')";
        assert_eq!(text(&supervisor, attack, &python), "sent\n");
        assert_eq!(text(&supervisor, "print('fine')", &python), "fine\n");
    }
}

/// The kernel discards the exit status of a child whose parent ignores SIGCHLD.
#[test]
fn template_that_ignores_its_children_does_not_hide_exit_status() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let program = template(
        &World::minimal(),
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    );
    for _ in 0..3 {
        let outcome = result(&supervisor, &request("os._exit(7)", &program)).outcome;
        assert_eq!(outcome, Outcome::Exited(7));
    }
    let ignored = "print(signal.getsignal(signal.SIGCHLD))";
    assert_eq!(run(&supervisor, ignored, &program), "1\n");
}

#[test]
fn copy_has_signal_mask_dispositions_and_stack_of_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let state = r#"
def state():
    stack = (ctypes.c_uint64 * 3)()
    libc.sigaltstack(None, stack)
    blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    actions = []
    for s in range(1, 65):
        action = ctypes.create_string_buffer(32)
        libc.syscall({"x86_64": 13}.get(os.uname().machine, 134), s, None, action, 8)
        actions.append(action.raw.hex())
    return [list(stack), blocked, actions]
memory = ctypes.create_string_buffer(1 << 16)
libc.sigaltstack((ctypes.c_uint64 * 3)(ctypes.addressof(memory), 0, 1 << 16), None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGRTMIN])
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: None)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
before = state()
"#;
    let program = template(&World::minimal(), state);
    let look = "print(state() == before, signal.getitimer(signal.ITIMER_REAL))";
    for _ in 0..3 {
        assert_eq!(run(&supervisor, look, &program), "True (0.0, 0.0)\n");
    }
}

/// The template's own /tmp is the same for all runs, but no run may reach it.
#[test]
fn copy_does_not_begin_in_directory_of_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let world = World::minimal();
    let program = template(&world, "os.chdir('/tmp')");
    let code = "print(os.getcwd(), os.listdir('/tmp'))\n\
                os.getcwd() == '/' or open('left', 'w')";
    for _ in 0..3 {
        assert_eq!(run(&supervisor, code, &program), "/ []\n");
    }
}

/// A template may have replaced its standard streams. They are open files that all runs share.
#[test]
fn copy_has_no_standard_streams_of_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let world = World::minimal();
    for prepare in [
        "os.dup2(os.open('/usr/bin/env', os.O_RDONLY), 0)",
        "os.close(0)",
        "os.close(0); os.close(1)",
        "os.close(1); os.close(2)",
    ] {
        let program = template(&world, prepare);
        let code = "import fcntl\n\
                    print(struct.unpack('<q', struct.pack('<q', os.fstat(0).st_rdev))[0], \
                    fcntl.fcntl(0, 3) & 3)";
        for _ in 0..2 {
            assert_eq!(run(&supervisor, code, &program), "259 0\n", "{prepare}");
        }
    }
}

/// One start of a template may take longer than others. Runs are charged the lowest CPU time of any
/// start so far.
#[test]
fn run_is_charged_lowest_start_of_template() {
    let Some(supervisor) = lone_runner() else {
        return;
    };
    let burn = "import time\nend = 0.1 + os.urandom(1)[0] / 1000\n\
                while time.process_time() < end: pass";
    let code = format!(
        "{}\nimport ctypes\nlibrary = ctypes.PyDLL('/.millibox/libmillibox_ready.so')\n\
         library.millibox_ready(ctypes.create_string_buffer(99), 99, (ctypes.c_uint32 * 2)())\n\
         os._exit(0)",
        format_args!("import os\n{burn}")
    );
    let template = Prepare::new(PYTHON).arg("-c").arg(code).runs(1);
    let template = prepared(&World::minimal(), &template);
    let mut least = u64::MAX;
    for _ in 0..8 {
        let answer = result(&supervisor, &Request::new("/bin/false").prepared(&template));
        let Start::Prepared { cpu_ns, .. } = answer.start else {
            panic!("{answer}");
        };
        assert!(cpu_ns <= least, "{cpu_ns} after {least}");
        let used = answer.figures.cpu_user_ns + answer.figures.cpu_system_ns;
        assert!(used >= cpu_ns, "{used} of {cpu_ns}");
        least = cpu_ns;
    }
}

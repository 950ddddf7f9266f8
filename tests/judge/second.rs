//! Innocent runs after hostile ones: a second submission, and a second pass of a multi-pass
//! problem. Their results must be those of a fresh judge. `pass_channels` has submissions that try
//! to send data from one pass to the next one.

use crate::package::{Judged, Package};
use serde_json::Value;

/// The ways to start submissions. The judge runs the whole package in one slot, so that the runs
/// share their runners.
const WAYS: [&[&str]; 2] = [&["--jobs", "1"], &["--jobs", "1", "--prepared"]];
/// More tests than a slot has runners, so that a hostile submission reaches each of them.
const TESTS: u32 = 5;
/// The largest difference of two peaks of memory.
const MEMORY_TOLERANCE: u64 = 8 << 20;

/// Attacks pid1 and the open files of the standard streams, and doubles its input.
const HOSTILE_PYTHON: &str = r#"
import fcntl, os, signal
n = int(input())
print(2 * n, flush=True)

def attempt(what, *arguments):
    try:
        what(*arguments)
    except (OSError, ValueError):
        pass

for number in range(1, 65):
    attempt(os.kill, 1, number)
for fd in range(3):
    attempt(os.utime, fd)
    attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    attempt(fcntl.fcntl, fd, 10, signal.SIGUSR1)
    attempt(fcntl.fcntl, fd, fcntl.F_SETOWN, os.getpid())
    attempt(fcntl.fcntl, fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
attempt(os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt(os.nice, 19)
os.umask(0o777)
os._exit(0)
"#;

const HOSTILE_C: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    int n;
    if (scanf("%d", &n) != 1)
        return 1;
    printf("%d\n", 2 * n);
    fflush(stdout);
    for (int number = 1; number < 65; number++)
        kill(1, number);
    for (int fd = 0; fd < 3; fd++) {
        futimens(fd, NULL);
        flock(fd, LOCK_EX | LOCK_NB);
        fcntl(fd, F_SETSIG, SIGUSR1);
        fcntl(fd, F_SETOWN, getpid());
        fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND);
    }
    setpriority(PRIO_PROCESS, 1, 19);
    setpriority(PRIO_PROCESS, 0, 19);
    umask(0777);
}
"#;

/// Doubles its input, unless it finds traces of another run.
const INNOCENT_PYTHON: &str = r#"
import fcntl, os, signal
n = int(input())
owned = fcntl.fcntl(2, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC)
traces = [owned, fcntl.fcntl(2, 11), fcntl.fcntl(2, fcntl.F_GETOWN), len(signal.sigpending()),
          os.umask(0o22) - 0o22]
print([2 * n, traces][any(traces)])
"#;

const INNOCENT_C: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

int main(void)
{
    int n, flags = fcntl(2, F_GETFL) & (O_NONBLOCK | O_APPEND | O_ASYNC);
    sigset_t pending;
    sigpending(&pending);
    for (int number = 1; number < 32; number++)
        flags |= sigismember(&pending, number);
    if (scanf("%d", &n) != 1)
        return 1;
    if (flags || fcntl(2, F_GETSIG) || fcntl(2, F_GETOWN) || umask(022) != 022)
        n = 0;
    printf("%d\n", 2 * n);
}
"#;

#[test]
fn submission_after_hostile_one_is_judged_as_by_fresh_judge() {
    let mut package = Package::newer("");
    for number in 1..=TESTS {
        let (input, answer) = (format!("{number}\n"), format!("{}\n", 2 * number));
        package = package.test(&format!("secret/{number}"), &input, &answer);
    }
    package
        .submission("accepted/a_hostile.py", HOSTILE_PYTHON)
        .submission("accepted/b_hostile.c", HOSTILE_C)
        .submission("accepted/c_innocent.py", INNOCENT_PYTHON)
        .submission("accepted/d_innocent.c", INNOCENT_C);
    for way in WAYS {
        let names = ["accepted/c_innocent.py", "accepted/d_innocent.c"];
        let fresh = package.judge(&[way, &names].concat());
        fresh.exits_with(0);
        let after = package.judge(way);
        let submissions = after.report["submissions"].as_array().expect("a list");
        let order: Vec<_> = submissions.iter().map(|one| one["name"].as_str()).collect();
        assert!(order.is_sorted(), "the hostile ones come first: {order:?}");
        for name in names {
            assert_same(&fresh, &after, name);
        }
        after.exits_with(0);
    }
}

/// Asserts that a submission has the same results and comparable figures in both reports.
#[track_caller]
fn assert_same(fresh: &Judged, after: &Judged, name: &str) {
    let (fresh, after) = (fresh.submission(name), after.submission(name));
    for key in ["verdict", "reason", "score"] {
        assert_eq!(fresh[key], after[key], "{name}: {key}: {after}");
    }
    let tests = |submission: &Value| submission["tests"].as_array().expect("a list").clone();
    let (fresh, after) = (tests(fresh), tests(after));
    assert_eq!(fresh.len(), after.len());
    for (fresh, after) in fresh.iter().zip(&after) {
        for key in ["name", "verdict", "reason", "comment", "passes", "limits"] {
            assert_eq!(fresh[key], after[key], "{name}: {key}: {after}");
        }
        let number = |test: &Value, key: &str| test["figures"][key].as_u64();
        let memory = |test| number(test, "peak_memory_bytes").expect("a number");
        let difference = memory(fresh).abs_diff(memory(after));
        assert!(
            difference <= MEMORY_TOLERANCE,
            "{name}: {after}, not {fresh}"
        );
        // The number is unknown if an earlier copy of the same template had more processes.
        let processes = |test| number(test, "peak_processes");
        if let (Some(fresh), Some(after)) = (processes(fresh), processes(after)) {
            assert_eq!(fresh, after, "{name}: processes");
        }
    }
}

/// Expects the double of the number in each of two passes.
const DOUBLE_VALIDATOR: &str = r#"
read n <"$1"
read reply
test "$reply" = $((2 * n)) || exit 43
if [ "$n" -lt 1000 ]; then echo $((n + 1000)) >"$3nextpass.in"; fi
exit 42
"#;

/// Attacks in the first pass, and is innocent in the second one.
#[test]
fn pass_after_hostile_one_is_judged_as_by_fresh_judge() {
    let mut package = two_passes();
    for number in 1..=TESTS {
        package = package.test(&format!("secret/{number}"), &format!("{number}\n"), "");
    }
    let indented = |text: &str| text.trim().replace('\n', "\n    ");
    let (hostile, innocent) = (indented(HOSTILE_PYTHON), indented(INNOCENT_PYTHON));
    let both = format!(
        "value = input()\ninput = lambda: value\nif int(value) < 1000:\n    {hostile}\n\
         if int(value) >= 1000:\n    {innocent}\n"
    );
    package
        .submission("accepted/a_innocent.py", INNOCENT_PYTHON)
        .submission("accepted/b_both.py", &both);
    for way in WAYS {
        let judged = package.judge(way);
        judged.exits_with(0);
        assert_eq!(judged.tests("a_innocent.py"), judged.tests("b_both.py"));
        for test in judged.submission("b_both.py")["tests"]
            .as_array()
            .expect("a list")
        {
            assert_eq!(test["passes"], 2, "{test}");
        }
    }
}

fn two_passes() -> Package {
    let package = Package::empty();
    package
        .file(
            "problem.yaml",
            "problem_format_version: 2023-07\nname: Double\nuuid: 1\ntype: multi-pass\n\
             limits: {time_limit: 2, validation_passes: 2}\n",
        )
        .file("output_validator/validate.sh", DOUBLE_VALIDATOR);
    package
}

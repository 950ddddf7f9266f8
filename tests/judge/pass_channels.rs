//! Submissions that try to remember something from one pass of a test to the next one.
//!
//! The problem cannot be solved: the first pass receives a number, and the second pass must print
//! it. Each submission uses a channel through the kernel that must not exist.

use crate::package::Package;

/// Pass 1 reads `store NUMBER TOKEN`, and pass 2 reads `recall 0 TOKEN`.
const VALIDATOR: &str = r#"
read what number token <"$1"
if [ "$what" = store ]; then
    echo "$number" >"$3number"
    echo "recall 0 $token" >"$3nextpass.in"
    exit 42
fi
read number <"$3number"
read reply
test "$reply" = "$number" && exit 42
exit 43
"#;

/// The first lines of each submission in Python.
const PYTHON: &str = "import ctypes, fcntl, os, time\n\
                      what, number, token = input().split()\n\
                      number, is_first = int(number), what == 'store'\n";

/// The signal of events belongs to the open file of standard error.
const SIGNAL: &str = "
if is_first: fcntl.fcntl(2, 10, number + 1)
print(is_first and 'stored' or fcntl.fcntl(2, 11) - 1)
";

/// Two bits of each number: O_APPEND and O_NONBLOCK of standard error.
const FLAGS: &str = "
if is_first: fcntl.fcntl(2, 4, 1 | (number & 3) << 10)
print(is_first and 'stored' or fcntl.fcntl(2, 3) >> 10 & 3)
";

/// The lowest bit of each number: whether the times of the device are new.
const TIMES: &str = "
try:
    if is_first and number & 1: os.utime(2)
except OSError: pass
print(is_first and 'stored' or int(time.time() - os.fstat(2).st_mtime < 5))
";

/// openat2(2) with RESOLVE_CACHED returns ENOENT for a missing name that was looked up before.
const NAMES: &str = "
libc = ctypes.CDLL(None, use_errno=True)
how = (ctypes.c_uint64 * 3)(0x200000, 0, 0x20)
found = 0
for bit in range(6):
    name = f'/usr/{token}-{bit}'
    if is_first and number >> bit & 1: os.path.exists(name)
    if not is_first:
        # The call fails with EAGAIN also while a mount of the machine changes.
        for _ in range(1000):
            libc.syscall(437, -100, name.encode(), how, 24)
            if ctypes.get_errno() == 2: break
        found |= (ctypes.get_errno() == 2) << bit
print(is_first and 'stored' or found)
";

const SIGNAL_IN_C: &str = "
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    char what[20];
    int number;
    if (scanf(\"%19s %d\", what, &number) != 2) return 1;
    if (strcmp(what, \"store\") == 0) {
        fcntl(2, F_SETSIG, number + 1);
        return puts(\"stored\") < 0;
    }
    printf(\"%d\\n\", fcntl(2, F_GETSIG) - 1);
}
";

fn package() -> Package {
    let package = Package::newer("");
    package
        .file(
            "problem.yaml",
            "problem_format_version: 2023-07\nname: Remember\nuuid: 1\ntype: multi-pass\n\
             limits: {time_limit: 2, validation_passes: 2}\n",
        )
        .file("output_validator/validate.sh", VALIDATOR);
    let token = millibox_tests::token();
    let input = |number: u32| format!("store {number} {token}-{number}\n");
    // Some submissions remember one or two bits, which are enough for the sample.
    package
        .test("sample/1", &input(1), "")
        .test("secret/1", &input(37), "")
        .test("secret/2", &input(21), "")
        .test("secret/3", &input(59), "")
}

#[test]
fn pass_cannot_receive_data_of_earlier_pass() {
    let package = package();
    for (name, code) in [
        ("signal.py", SIGNAL),
        ("flags.py", FLAGS),
        ("times.py", TIMES),
        ("names.py", NAMES),
    ] {
        let submission = format!("wrong_answer/{name}");
        package.submission(&submission, &format!("{PYTHON}{code}"));
    }
    package.submission("wrong_answer/signal.c", SIGNAL_IN_C);
    let mut found = Vec::new();
    for mode in [&[][..], &["--prepared"]] {
        let judged = package.judge(&[&["--jobs", "1"], mode].concat());
        for name in ["signal.py", "flags.py", "times.py", "names.py", "signal.c"] {
            // The sample decides, because it is not accepted. No other test runs after it.
            let tests = judged.tests(name);
            let is_rejected = tests.first().is_some_and(|first| *first == "wrong_answer");
            if !is_rejected || tests[1..].iter().any(|test| *test != "none") {
                found.push(format!("{name} {mode:?}: {tests:?}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

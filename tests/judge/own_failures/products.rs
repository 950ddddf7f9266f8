//! Products that cannot be executed, or are not products.

use super::{Bench, Case, GOOD, SUITE, best_backend, elf, patched, reason};
use crate::package::Package;
use millibox_judge::verdict::Verdict;
use std::fs;

#[test]
fn product_that_cannot_be_executed_is_run_time_error() {
    let bench = Bench::new();
    let (judge, prepared) = bench.judge();
    let other_machine = if cfg!(target_arch = "x86_64") {
        183u16
    } else {
        62
    };
    let mut long = vec![b'/'];
    long.extend([b'x'; 3000]);
    long.push(0);
    let products = [
        ("interp-missing", elf(Some(b"/lib/there-is-none.so\0"))),
        ("interp-directory", elf(Some(b"/usr\0"))),
        ("interp-device", elf(Some(b"/dev/null\0"))),
        ("interp-no-elf", elf(Some(b"/etc/ld.so.cache\0"))),
        ("interp-empty", elf(Some(b"\0"))),
        ("interp-without-end", elf(Some(b"/lib64/ld"))),
        ("interp-long", elf(Some(&long))),
        (
            "other-machine",
            patched(elf(None), 18, &other_machine.to_le_bytes()),
        ),
        ("core-file", patched(elf(None), 16, &4u16.to_le_bytes())),
        (
            "thousands-of-segments",
            patched(elf(None), 56, &u16::MAX.to_le_bytes()),
        ),
        ("no-segments", patched(elf(None), 56, &0u16.to_le_bytes())),
        (
            "huge-segment",
            patched(elf(None), 64 + 40, &(1u64 << 46).to_le_bytes()),
        ),
        (
            "absurd-segment",
            patched(elf(None), 64 + 40, &u64::MAX.to_le_bytes()),
        ),
        (
            "segment-in-the-kernel",
            patched(elf(None), 64 + 16, &(u64::MAX << 20).to_le_bytes()),
        ),
        (
            "segment-beyond-the-file",
            patched(elf(None), 64 + 8, &(1u64 << 40).to_le_bytes()),
        ),
        ("truncated", elf(None)[..70].to_vec()),
        ("empty", Vec::new()),
        ("text", b"print 42\n".to_vec()),
        ("zeros", vec![0; 4096]),
        ("script-missing", b"#!/usr/bin/there-is-none\n".to_vec()),
        ("script-directory", b"#!/usr\n".to_vec()),
        ("script-device", b"#!/dev/null\n".to_vec()),
        ("script-itself", b"#!/program/program\n".to_vec()),
        ("script-stdin", b"#!/dev/stdin\n".to_vec()),
        ("script-below-a-file", b"#!/program/program/x\n".to_vec()),
        ("script-not-executable", b"#!/etc/ld.so.cache\n".to_vec()),
        ("script-nothing", b"#!\n".to_vec()),
        ("script-long", [b"#!/", &[b'x'; 5000][..]].concat()),
        ("script-zeros", b"#!/\0/\0/\n".to_vec()),
    ];
    let cases: Vec<Case> = products
        .into_iter()
        .map(|(name, bytes)| Case::product(name, bytes))
        .collect();
    let reports = bench.reports(&judge, &prepared, &cases);
    let wrong: Vec<_> = cases
        .iter()
        .zip(&reports)
        .filter(|(_, report)| report.verdict != Some(Verdict::RunTimeError))
        .map(|(case, report)| (&case.name, report.verdict, reason(report)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let why = reason(&reports[0]);
    assert!(
        why.contains("could not be started: cannot execute"),
        "{why}"
    );
    // The broken products derive from a valid program.
    let whole = bench.reports(&judge, &prepared, &[Case::product("whole", elf(None))]);
    assert_eq!(
        whole[0].verdict,
        Some(Verdict::WrongAnswer),
        "{}",
        reason(&whole[0])
    );
}

#[test]
fn solution_that_cannot_be_executed_beside_interactor_is_run_time_error() {
    let package = Package::new("validation: custom interactive\n");
    package.file(
        "output_validators/talk.sh",
        "read n < $1\necho $n\nread a || exit 43\n[ \"$a\" = $((n * 2)) ] && exit 42\nexit 43\n",
    );
    let bench = Bench::with(best_backend(), package);
    let (judge, prepared) = bench.judge();
    let cases = [
        Case::product("elf", elf(Some(b"/lib/there-is-none.so\0"))),
        Case::product("script", b"#!/usr/bin/there-is-none\n".to_vec()),
        Case::product("text", b"print 42\n".to_vec()),
    ];
    for report in bench.reports(&judge, &prepared, &cases) {
        assert_eq!(
            report.verdict,
            Some(Verdict::RunTimeError),
            "{}: {}",
            report.name,
            reason(&report)
        );
    }
}

#[test]
fn product_beside_files_of_test_is_judged() {
    let package = Package::newer("");
    package
        .file("data/secret/1.files/data/x", "given\n")
        .file("data/secret/1.files/y", "given\n");
    let bench = Bench::with(best_backend(), package);
    // The product contains the names of the test's files, both as files and as directories, and
    // paths of the greatest depth.
    let script = format!(
        "{GOOD}cd $OUTPUT\necho x >data\nmkdir -p y/x\necho x >y/x/z\n\
         for i in $(seq 31); do mkdir d; cd -P d; done; echo >x\n"
    );
    bench.assert_all(Verdict::Accepted, &[("same-names", &script)]);
}

#[test]
fn program_that_misuses_resources_is_not_judge_error() {
    let program = |text: &str| {
        format!("cat >$OUTPUT/program <<'END'\n#!/bin/sh\n{text}\nEND\nchmod 755 $OUTPUT/program\n")
    };
    let scripts = [
        ("closes", program("exec <&- >&- 2>&-")),
        (
            "closes-all",
            program("for i in 0 1 2 3 4 5 6 7 8 9; do eval \"exec $i<&-\"; done; exit 0"),
        ),
        (
            "reopens",
            program("exec 3</proc/self/fd/1; cat <&3 >/dev/null & echo 2; echo 2"),
        ),
        (
            "truncates",
            program(": >/proc/self/fd/1; : >/dev/stdin; exit 1"),
        ),
        (
            "kills-all",
            program("kill -9 -1; kill -9 0; kill -9 1; kill -9 $$"),
        ),
        ("nothing-to-execute", program("exec /no/such/thing")),
        (
            "long-arguments",
            program("x=$(head -c 1000000 /dev/zero | tr '\\0' x); exec /bin/echo $x"),
        ),
        (
            "limits",
            program("ulimit -n 0; ulimit -f 0; ulimit -v 1; echo 2"),
        ),
        (
            "leaves-children",
            program("(sleep 100 &) ; (sleep 100 <&- >&- &) ; echo 2"),
        ),
        ("forks", program("f() { f | f & }; f; exit 1")),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    let mut wrong = Bench::new().verdicts(&scripts);
    wrong.retain(|(_, verdict, _)| {
        matches!(
            verdict,
            Some(Verdict::JudgeError | Verdict::CompileError) | None
        )
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn machine_that_executes_nothing_is_judge_error() {
    // The suite's own example cannot be executed, so no program in this language works here.
    let bench = Bench::new();
    let broken = SUITE.replace(
        "cat >\"$OUTPUT/program\" <<'END'\n#!/bin/sh",
        "cat >\"$OUTPUT/program\" <<'END'\n#!/no/such",
    );
    assert_ne!(broken, SUITE);
    fs::write(bench.suites.path().join("crafted.toml"), broken).unwrap();
    let (judge, prepared) = bench.judge();
    let reports = bench.reports(
        &judge,
        &prepared,
        &[Case::product("script", b"#!/no/such/either\n".to_vec())],
    );
    assert_eq!(
        reports[0].verdict,
        Some(Verdict::JudgeError),
        "{}",
        reason(&reports[0])
    );
}

#[test]
fn product_of_other_kind_is_compile_error() {
    Bench::new().assert_all(
        Verdict::CompileError,
        &[
            ("nothing", ":"),
            ("directory", "mkdir $OUTPUT/program"),
            (
                "directory-with-file",
                "mkdir $OUTPUT/program; cp {main} $OUTPUT/program/x",
            ),
            ("fifo", "mkfifo $OUTPUT/program"),
            ("link-absolute", "ln -s /bin/sh $OUTPUT/program"),
            ("link-to-itself", "ln -s program $OUTPUT/program"),
            ("link-to-proc", "ln -s /proc/self/exe $OUTPUT/program"),
            ("link-out", "ln -s ../source/main.crafted $OUTPUT/program"),
            ("not-executable", "echo >$OUTPUT/program"),
            (
                "mode-0",
                "cp /bin/sh $OUTPUT/program; echo >$OUTPUT/x; chmod 0 $OUTPUT/x",
            ),
            (
                "program-of-mode-0",
                "cp /bin/sh $OUTPUT/program; chmod 0 $OUTPUT/program",
            ),
            (
                "directory-of-mode-0",
                "mkdir $OUTPUT/d; echo >$OUTPUT/d/x; chmod 0 $OUTPUT/d",
            ),
            ("output-of-mode-0", "echo >$OUTPUT/program; chmod 0 $OUTPUT"),
            ("sparse", "truncate -s 1T $OUTPUT/program"),
            ("too-large", "head -c 20000000 /dev/zero >$OUTPUT/program"),
        ],
    );
}

#[test]
fn product_beside_impossible_paths_is_compile_error() {
    let beside = |more: &str| format!("{GOOD}cd $OUTPUT\n{more}\n");
    let scripts = [
        // A path of 4,050 bytes is valid in the sandbox, but too long below the host's directory
        // for temporary files.
        (
            "long",
            beside(
                "d=$(printf %0250d 0); for i in $(seq 16); do mkdir $d; cd -P $d; done; echo \
                 >$(printf %034d 0)",
            ),
        ),
        (
            "longer-than-a-path",
            beside(
                "d=$(printf %0250d 0); for i in $(seq 60); do mkdir $d; cd -P $d; done; echo >x",
            ),
        ),
        (
            "deep",
            beside("for i in $(seq 500); do mkdir d; cd -P d; done; echo >x"),
        ),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    Bench::new().assert_all(Verdict::CompileError, &scripts);
}

#[test]
fn product_with_odd_names_is_judged() {
    let odd = |more: &str| format!("{GOOD}cd $OUTPUT\n{more}\n");
    let scripts = [
        (
            "control-characters",
            odd("touch \"$(printf 'a\\nb\\033[31mc')\""),
        ),
        (
            "braces",
            odd("touch '{main}' '{memory_mib}' '{executable}'"),
        ),
        (
            "options",
            odd("touch -- -rf --checkpoint-action=exec=sh @x"),
        ),
        ("no-utf-8", odd("touch \"$(printf 'a\\377b')\"")),
        (
            "hard-links",
            odd("for i in $(seq 500); do ln program l$i; done"),
        ),
        ("setuid", odd("chmod 6755 program")),
        ("empty-directories", odd("mkdir -p a/b/c d")),
        (
            "unfinished-process",
            odd("(setsid sleep 1000 &) ; sleep 1000 &"),
        ),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    Bench::new().assert_all(Verdict::Accepted, &scripts);
}

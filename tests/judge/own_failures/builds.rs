//! Compilations that interfere with the judge, and unusable sources.

use super::{Bench, Case, GOOD, reason};
use crate::package::has_cgroups;
use millibox::{BackendChoice, Supervisor};
use millibox_judge::judge::choose;
use millibox_judge::verdict::Verdict;
use std::fs;
use std::path::Path;

#[test]
fn build_process_that_outlives_compiler_cannot_affect_packing() {
    let bench = Bench::new();
    let lasting = |script: &str| format!("{GOOD}({script}) &\nsleep 0.1\n");
    let signals_tar = |signal: &str| {
        lasting(&format!(
            "while :; do for p in /proc/[0-9]*; do read -r n <$p/comm && [ \"$n\" = tar ] && \
             kill -{signal} ${{p#/proc/}}; done; done 2>/dev/null"
        ))
    };
    let replaces = lasting(
        "while :; do cp $OUTPUT/program $OUTPUT/x; echo no >$OUTPUT/x; \
         mv $OUTPUT/x $OUTPUT/program; mkdir $OUTPUT/d; rmdir $OUTPUT/d; done 2>/dev/null",
    )
    .replace(
        "sleep 0.1",
        "printf '#!/bin/sh\\nread n\\necho $((n * 2))\\n' >$OUTPUT/y; chmod 755 $OUTPUT/y",
    );
    let scripts = [
        ("grows", lasting("while :; do echo x >>$OUTPUT/grows; done")),
        ("kills-tar", signals_tar("9")),
        ("stops-tar", signals_tar("STOP")),
        ("replaces", replaces),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    let wrong: Vec<_> = bench
        .verdicts(&scripts)
        .into_iter()
        .filter(|(name, verdict, _)| match &name[..] {
            // The verdict depends on the moment at which the process was killed.
            "replaces" => *verdict == Some(Verdict::JudgeError),
            _ => *verdict != Some(Verdict::Accepted),
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn build_that_attacks_its_shell_is_compile_error() {
    // $PPID is the shell that packs the product.
    let scripts = [
        ("kills-shell", "kill -9 $PPID; sleep 5"),
        ("kills-all", "kill -9 -1"),
        (
            "forks-without-end",
            "bomb() { bomb | bomb & }; bomb; sleep 1; exit 3",
        ),
        ("dies-of-signal", "kill -SEGV $$"),
        (
            "lowers-limits",
            "prlimit --pid $PPID --nofile=3:3 --fsize=1:1 2>/dev/null || exit 1",
        ),
        ("endless-source", "cat /dev/zero >$OUTPUT/program"),
        ("fills-scratch", "cat /dev/zero >/tmp/x"),
        ("reads-its-memory", "cat /proc/self/mem >$OUTPUT/program"),
    ];
    Bench::new().assert_all(Verdict::CompileError, &scripts);
}

#[test]
fn forged_archive_is_not_judge_error() {
    // If the judge runs as the sandbox's user, the archive's pipe can be opened again. While the
    // compiler runs, the shell keeps that pipe as descriptor 10 or above.
    let forge = |archive: &str| {
        format!(
            "out=$(echo /proc/$PPID/fd/1?)\n{{ echo 0; {archive}; }} >>$out 2>/dev/null\n{GOOD}"
        )
    };
    let scripts = [
        ("garbage", forge("head -c 100000 /dev/urandom")),
        ("nothing", forge(":")),
        ("endless", forge("cat /dev/zero")),
        (
            "other-status",
            "echo 77 >>$(echo /proc/$PPID/fd/1?)\n".to_owned() + GOOD,
        ),
        (
            "no-status",
            "echo abcdefgh >>$(echo /proc/$PPID/fd/1?)\n".to_owned() + GOOD,
        ),
        ("twice", forge("cd /tmp; echo x >a; tar -cf - a a ./a")),
        (
            "file-and-directory",
            forge("cd /tmp; mkdir a b; echo x >a/x; echo x >b/a; tar -cf - -C b a -C .. a/x"),
        ),
        (
            "outside",
            forge("cd /tmp; echo x >a; tar -P -cf - ../tmp/a /tmp/a"),
        ),
        (
            "and-then-killed",
            forge("cd /tmp; echo x >program; tar -cf - program") + "kill -9 $PPID; sleep 1\n",
        ),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    for backend in [BackendChoice::Auto, BackendChoice::Rlimit] {
        if backend == BackendChoice::Auto && !has_cgroups() {
            continue;
        }
        let bench = Bench::on(Supervisor::builder().backend(backend));
        let mut wrong = bench.verdicts(&scripts);
        wrong.retain(|(_, verdict, _)| {
            !matches!(verdict, Some(Verdict::CompileError | Verdict::Accepted))
        });
        assert!(wrong.is_empty(), "{backend:?}: {wrong:#?}");
    }
}

#[test]
fn sources_that_cannot_be_used_are_compile_error() {
    let bench = Bench::new();
    let (judge, prepared) = bench.judge();
    let case = |name: &str, files: &[(&str, &str)], language| Case {
        name: name.to_owned(),
        files: files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect(),
        language,
    };
    let many: Vec<String> = (0..900)
        .map(|number| format!("{number}-{}.c", "x".repeat(230)))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
    let cases = [
        case(
            "control-character",
            &[("a\nb.c", "int main() {}")],
            Some("c"),
        ),
        case("escape", &[("a\x1b[31m.c", "int main() {}")], Some("c")),
        case("braces", &[("{main}.c", "int main() {}")], Some("c")),
        case("headers-only", &[("a.h", "")], Some("c")),
        case("several-languages", &[("a.c", ""), ("a.py", "")], None),
        case("many", &many, Some("c")),
        case("nul-in-python", &[("a.py", "print(1)\0")], Some("python3")),
        case(
            "device",
            &[("a.c", "#include \"/dev/zero\"\nint main() {}\n")],
            Some("c"),
        ),
        case(
            "stdin",
            &[("a.c", "#include \"/dev/stdin\"\nint main() { return x; }\n")],
            Some("c"),
        ),
        case(
            "proc",
            &[("a.c", "#include \"/proc/self/mem\"\nint main() {}\n")],
            Some("c"),
        ),
    ];
    let reports = bench.reports(&judge, &prepared, &cases);
    let wrong: Vec<_> = cases
        .iter()
        .zip(&reports)
        .filter(|(_, report)| report.verdict != Some(Verdict::CompileError) && !report.is_skipped())
        .map(|(case, report)| (&case.name, report.verdict, reason(report)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn source_that_is_not_readable_file_is_compile_error() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let (judge, prepared) = bench.judge();
    let place = bench.submissions.path();
    let at = |name: &str| place.join(name);
    fs::write(at("closed.crafted"), GOOD).unwrap();
    fs::set_permissions(at("closed.crafted"), fs::Permissions::from_mode(0o000)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at("link.crafted")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        at("fifo.crafted"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    std::os::unix::net::UnixListener::bind(at("socket.crafted")).unwrap();
    fs::create_dir(at("directory.crafted")).unwrap();
    // The sources of a submission in a package.
    fs::write(at("good.crafted"), GOOD).unwrap();
    let mut submission = choose(prepared.problem(), &at("good.crafted"), None)
        .unwrap()
        .remove(0);
    for name in ["link", "fifo", "socket", "directory", "closed"] {
        submission.program.sources = vec![at(&format!("{name}.crafted"))];
        let report = judge.submission(&prepared, &submission, &mut |_| ());
        // Root can read all files.
        let readable = name == "closed" && rustix::process::geteuid().is_root();
        let expected = if readable {
            Verdict::Accepted
        } else {
            Verdict::CompileError
        };
        assert_eq!(
            report.verdict,
            Some(expected),
            "{name}: {}",
            reason(&report)
        );
    }
    assert_paths_are_left_alone(place);
}

/// Asserts that reading a source neither opened a FIFO nor removed anything.
fn assert_paths_are_left_alone(place: &Path) {
    assert_eq!(fs::read_dir(place).unwrap().count(), 6);
}

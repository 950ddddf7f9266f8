//! Submissions that try to make the judge fail: what breaks by a submission's doing is its own
//! compile error, run-time error or wrong answer, and never a judge error.

use crate::package::{Package, has_cgroups};
use millibox::{BackendChoice, Supervisor};
use millibox_judge::judge::{Judge, Machine, Options, PreparedProblem, choose};
use millibox_judge::report::SubmissionReport;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Seed of the property test.
const SEED: &str = "MILLIBOX_SEED";
/// Number of its cases; the default takes about 20 s.
const CASES: &str = "MILLIBOX_CASES";
const DEFAULT_CASES: u64 = 200;
/// Cases judged together, and followed by a submission that must be accepted.
const BATCH: u64 = 24;
/// However slow the machine is, the default number of cases ends.
const MOST_TIME: Duration = Duration::from_secs(60);

/// A language whose compiler is the source: a shell script that leaves what it likes in `$OUTPUT`.
const SUITE: &str = r#"
name = "crafted"
title = "Crafted"
extensions = ["crafted"]

[tool.sh]
package = "dash"
version = ["-c", "echo a shell"]

[compile]
command = ["/bin/sh", "{main}"]
proc = true
processes = 64
cpu_seconds = 2
memory_mib = 128
scratch_mib = 16
output_mib = 16

[run]
command = ["{executable}"]

[example]
file = "main.crafted"
source = '''
cat >"$OUTPUT/program" <<'END'
#!/bin/sh
sum=0
while read -r line || [ -n "$line" ]; do for number in $line; do sum=$((sum + number)); done; done
echo "$sum"
END
chmod 755 "$OUTPUT/program"
'''
"#;

/// A compilation whose product doubles a number.
const GOOD: &str =
    "printf '#!/bin/sh\\nread n\\necho $((n * 2))\\n' >$OUTPUT/.new; chmod 755 $OUTPUT/.new
mv -f $OUTPUT/.new $OUTPUT/program\n";

struct Bench {
    package: Package,
    suites: TempDir,
    submissions: TempDir,
    machine: Machine,
}

impl Bench {
    fn new() -> Bench {
        Bench::on(best())
    }

    fn on(builder: millibox::Builder) -> Bench {
        Bench::with(builder, Package::new(""))
    }

    fn with(builder: millibox::Builder, package: Package) -> Bench {
        let suites = tempfile::tempdir().unwrap();
        fs::write(suites.path().join("crafted.toml"), SUITE).unwrap();
        Bench {
            package,
            suites,
            submissions: tempfile::tempdir().unwrap(),
            machine: Machine::start(builder, Some(2), &[])
                .unwrap_or_else(|error| panic!("{error}")),
        }
    }

    fn judge(&self) -> (Judge<'_>, PreparedProblem) {
        let suites =
            Suites::with_directory(self.suites.path()).unwrap_or_else(|faults| panic!("{faults}"));
        let options = Options {
            time_limit: Some(Duration::from_millis(500)),
            ..Options::default()
        };
        let judge = Judge::new(&self.machine, suites, Cache::none(), options);
        let problem = millibox_package::read(&self.package.path()).unwrap();
        let prepared = judge.problem(problem, &mut |_| ()).unwrap();
        (judge, prepared)
    }

    fn write(&self, case: &Case) {
        let directory = self.submissions.path().join(&case.name);
        fs::create_dir(&directory).unwrap();
        for (name, bytes) in &case.files {
            fs::write(directory.join(name), bytes).unwrap();
        }
    }

    /// Judges all cases and, after them, a good submission.
    fn reports(
        &self,
        judge: &Judge<'_>,
        prepared: &PreparedProblem,
        cases: &[Case],
    ) -> Vec<SubmissionReport> {
        let good = Case::script("good", GOOD);
        let all: Vec<_> = cases.iter().chain([&good]).collect();
        let submissions: Vec<_> = all
            .iter()
            .map(|case| {
                self.write(case);
                let path = self.submissions.path().join(&case.name);
                choose(prepared.problem(), &path, case.language)
                    .unwrap()
                    .remove(0)
            })
            .collect();
        let mut reports = judge.submissions(prepared, &submissions, &mut |_| ());
        for case in &all {
            fs::remove_dir_all(self.submissions.path().join(&case.name)).unwrap();
        }
        let good = reports.pop().unwrap();
        assert_eq!(good.verdict, Some(Verdict::Accepted), "{}", good.reason);
        reports
    }

    /// The verdicts of scripts that are compilers.
    fn verdicts(&self, scripts: &[(&str, &str)]) -> Vec<(String, Option<Verdict>, String)> {
        let (judge, prepared) = self.judge();
        let cases: Vec<Case> = scripts
            .iter()
            .map(|(name, script)| Case::script(name, script))
            .collect();
        let reports = self.reports(&judge, &prepared, &cases);
        scripts
            .iter()
            .zip(reports)
            .map(|((name, _), report)| ((*name).to_owned(), report.verdict, reason(&report)))
            .collect()
    }

    #[track_caller]
    fn all_are(&self, expected: Verdict, scripts: &[(&str, &str)]) {
        let wrong: Vec<_> = self
            .verdicts(scripts)
            .into_iter()
            .filter(|(_, verdict, _)| *verdict != Some(expected))
            .collect();
        assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
    }
}

/// The best backend there is.
fn best() -> millibox::Builder {
    Supervisor::builder().backend(if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    })
}

fn reason(report: &SubmissionReport) -> String {
    let tests = report.tests.iter().map(|test| test.reason.as_str());
    [report.reason.as_str()]
        .into_iter()
        .chain(tests)
        .find(|reason| !reason.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// One submission.
struct Case {
    name: String,
    files: Vec<(String, Vec<u8>)>,
    language: Option<&'static str>,
}

impl Case {
    fn script(name: &str, script: &str) -> Case {
        let files = vec![("main.crafted".to_owned(), script.as_bytes().to_vec())];
        Case {
            name: name.to_owned(),
            files,
            language: Some("crafted"),
        }
    }

    /// A compiler that leaves these bytes as the program.
    fn product(name: &str, bytes: Vec<u8>) -> Case {
        let mut case = Case::script(
            name,
            "cat payload >$OUTPUT/program; chmod 755 $OUTPUT/program\n",
        );
        case.files.push(("payload".to_owned(), bytes));
        case
    }
}

// --- products that cannot be executed --------------------------------------------------

/// An ELF program for this machine that exits with 0, with one segment, and a second one if
/// `interpreter` is some.
fn elf(interpreter: Option<&[u8]>) -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    const CODE: &[u8] = &[0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05];
    #[cfg(target_arch = "aarch64")]
    const CODE: &[u8] = &[0, 0, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4];
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
        62
    } else {
        183
    };
    const BASE: u64 = 0x40_0000;
    let segments = 1 + u64::from(interpreter.is_some());
    let code_at = 64 + 56 * segments;
    let text = interpreter.unwrap_or_default();
    let text_at = code_at + CODE.len() as u64;
    let length = text_at + text.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(2u16.to_le_bytes());
    file.extend(MACHINE.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    for number in [BASE + code_at, 64, 0] {
        file.extend(number.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for number in [64, 56, segments as u16, 64, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    let mut segment = |kind: u32, flags: u32, at: u64, length: u64| {
        file.extend(kind.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for number in [at, BASE + at, BASE + at, length, length, 0x1000] {
            file.extend(number.to_le_bytes());
        }
    };
    if interpreter.is_some() {
        segment(3, 4, text_at, text.len() as u64);
    }
    segment(1, 7, 0, length);
    file.extend(CODE);
    file.extend(text);
    file
}

/// Overwrites a number of an ELF file.
fn with(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

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
            with(elf(None), 18, &other_machine.to_le_bytes()),
        ),
        ("core-file", with(elf(None), 16, &4u16.to_le_bytes())),
        (
            "thousands-of-segments",
            with(elf(None), 56, &u16::MAX.to_le_bytes()),
        ),
        ("no-segments", with(elf(None), 56, &0u16.to_le_bytes())),
        (
            "huge-segment",
            with(elf(None), 64 + 40, &(1u64 << 46).to_le_bytes()),
        ),
        (
            "absurd-segment",
            with(elf(None), 64 + 40, &u64::MAX.to_le_bytes()),
        ),
        (
            "segment-in-the-kernel",
            with(elf(None), 64 + 16, &(u64::MAX << 20).to_le_bytes()),
        ),
        (
            "segment-beyond-the-file",
            with(elf(None), 64 + 8, &(1u64 << 40).to_le_bytes()),
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
    // The products that were broken on purpose were made of one that is whole.
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
    let bench = Bench::with(best(), package);
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
    let bench = Bench::with(best(), package);
    // Names of the test's files, as files and as directories of the product, and paths as deep as
    // they may be.
    let script = format!(
        "{GOOD}cd $OUTPUT\necho x >data\nmkdir -p y/x\necho x >y/x/z\n\
         for i in $(seq 31); do mkdir d; cd -P d; done; echo >x\n"
    );
    bench.all_are(Verdict::Accepted, &[("same-names", &script)]);
}

#[test]
fn program_that_misuses_what_it_has_is_no_judge_error() {
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
    // The suite runs programs of a kind that its own example is none of: nothing of this language
    // works here.
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

// --- products that are none ------------------------------------------------------------

#[test]
fn product_of_other_kind_is_compile_error() {
    Bench::new().all_are(
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
        // 4,050 bytes: a path inside of the sandbox, and none below the host's directory for
        // temporary files.
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
    Bench::new().all_are(Verdict::CompileError, &scripts);
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
    Bench::new().all_are(Verdict::Accepted, &scripts);
}

// --- compilations that interfere -------------------------------------------------------

#[test]
fn build_process_that_outlives_compiler_cannot_touch_packing() {
    let bench = Bench::new();
    let lasting = |script: &str| format!("{GOOD}({script}) &\nsleep 0.1\n");
    let scripts = [
        ("grows", lasting("while :; do echo x >>$OUTPUT/grows; done")),
        ("kills-tar", lasting("while :; do for p in /proc/[0-9]*; do read -r n <$p/comm && [ \"$n\" = tar ] && kill -9 ${p#/proc/}; done; done 2>/dev/null")),
        ("stops-tar", lasting("while :; do for p in /proc/[0-9]*; do read -r n <$p/comm && [ \"$n\" = tar ] && kill -STOP ${p#/proc/}; done; done 2>/dev/null")),
        ("replaces", lasting("while :; do cp $OUTPUT/program $OUTPUT/x; echo no >$OUTPUT/x; mv $OUTPUT/x $OUTPUT/program; mkdir $OUTPUT/d; rmdir $OUTPUT/d; done 2>/dev/null").replace("sleep 0.1", "printf '#!/bin/sh\\nread n\\necho $((n * 2))\\n' >$OUTPUT/y; chmod 755 $OUTPUT/y")),
    ];
    let scripts: Vec<(&str, &str)> = scripts
        .iter()
        .map(|(name, script)| (*name, script.as_str()))
        .collect();
    let wrong: Vec<_> = bench
        .verdicts(&scripts)
        .into_iter()
        .filter(|(name, verdict, _)| match &name[..] {
            // What it is depends on when the process was killed.
            "replaces" => *verdict == Some(Verdict::JudgeError),
            _ => *verdict != Some(Verdict::Accepted),
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn build_that_attacks_its_shell_is_compile_error() {
    // $PPID is the shell that packs.
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
    Bench::new().all_are(Verdict::CompileError, &scripts);
}

#[test]
fn forged_archive_is_no_judge_error() {
    // Where the judge is the sandbox's own user, the pipe of the archive can be opened again. While
    // the compiler runs, the shell has put it aside as descriptor 10 or one of the next.
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

// --- sources ---------------------------------------------------------------------------

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
fn source_that_is_no_readable_file_is_compile_error() {
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
    // As a package would have them.
    fs::write(at("good.crafted"), GOOD).unwrap();
    let mut submission = choose(prepared.problem(), &at("good.crafted"), None)
        .unwrap()
        .remove(0);
    for name in ["link", "fifo", "socket", "directory", "closed"] {
        submission.program.sources = vec![at(&format!("{name}.crafted"))];
        let report = judge.submission(&prepared, &submission, &mut |_| ());
        // Root reads everything.
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

/// Reading a source must not have opened a FIFO or removed anything.
fn assert_paths_are_left_alone(place: &Path) {
    assert_eq!(fs::read_dir(place).unwrap().count(), 6);
}

// --- at random -------------------------------------------------------------------------

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// A number at which something may go wrong.
    fn number(&mut self) -> u64 {
        let near = self.next() % 3;
        let power = 1u64 << self.below(64);
        match self.below(4) {
            0 => 0u64.wrapping_sub(near),
            1 => power.wrapping_sub(1).wrapping_add(near),
            2 => self.next() % 65536,
            _ => self.next(),
        }
    }

    /// An interpreter that may be none.
    fn interpreter(&mut self) -> Vec<u8> {
        let all: &[&str] = &[
            "/bin/sh",
            "/usr/bin/env",
            "/usr/bin/env nothing",
            "/bin/true",
            "/program/program",
            "/program",
            "program",
            ".",
            "",
            "/",
            "/dev/null",
            "/dev/stdin",
            "/dev/fd/0",
            "/proc/self/exe",
            "/proc/self/fd/0",
            "/proc/1/exe",
            "/proc/self/mem",
            "/etc/ld.so.cache",
            "/lib64/ld-linux-x86-64.so.2",
            "/usr/lib",
            "/no/such/thing",
            "/bin/sh/x",
        ];
        let mut text = self.of(all).as_bytes().to_vec();
        match self.below(5) {
            0 => text.extend(vec![b'x'; self.below(5000)]),
            1 => text.extend(self.bytes(8)),
            2 => text.insert(0, b' '),
            _ => {}
        }
        text
    }
}

/// Compilations that leave something other than a plain program, or disturb what packs it.
const MISDEEDS: &[&str] = &[
    "mkdir program",
    "mkfifo program",
    "ln -s /bin/sh program",
    "ln -s program program",
    "ln -s /proc/self/root program",
    "ln -s . loop",
    "ln /source/main.crafted program",
    "truncate -s 1G program",
    "truncate -s 9000P program",
    "fallocate -l 15M program",
    "cp /bin/true program; chmod 6777 program",
    "cp /bin/true program; ln program other; chmod 0 other",
    "touch \"$(printf '\\001\\n\\033\\377')\"",
    "touch -- '-x' '{executable}' '{memory_mib}' '@y' '*'",
    "mkdir -p a/b/c/d/e/f/g; chmod 0 a/b",
    "for i in $(seq 40); do mkdir d && cd -P d; done; echo >x; cd $OUTPUT",
    "d=$(printf %0255d 0); for i in 1 2 3 4 5 6; do mkdir $d && cd -P $d; done; echo >x; cd \
     $OUTPUT",
    "touch $(seq 1000)",
    "head -c 17000000 /dev/zero >large",
    "(while :; do echo x >>grows; done) &",
    "(while :; do mv program p; mv p program; done) & sleep 0.02",
    "(setsid sleep 100 >/dev/null 2>&1 &)",
    "(while kill -9 $(pidof tar); do :; done; sleep 1) &",
    "(while :; do kill -CONT -1; done) &",
    "(sleep 0.01; kill -9 $PPID) & sleep 0.05",
    "kill -9 $PPID",
    "kill -9 -1",
    "kill -SEGV $$",
    "exit 1",
    "exit 255",
    "echo 0 >>$(echo /proc/$PPID/fd/1?)",
    "head -c 3000 /dev/urandom >>$(echo /proc/$PPID/fd/1?)",
    "exec >&- 2>&-",
    "chmod 0 $OUTPUT",
    "rm -rf $OUTPUT/* $OUTPUT",
    "cd /; rm -rf $OUTPUT; ln -s /tmp $OUTPUT",
    "ulimit -n 0; ulimit -f 0",
    "head -c 100000 /dev/urandom >&2",
    "cat /dev/zero >/tmp/x",
    "x=$(head -c 200000000 /dev/zero | tr '\\0' x)",
];

/// A broken product, and in what way it is broken.
fn craft(random: &mut Random, name: String) -> Case {
    let good = |random: &mut Random| match random.below(3) {
        0 => fs::read("/usr/bin/true").unwrap_or_else(|_| elf(None)),
        1 => elf(Some(b"/lib64/ld-linux-x86-64.so.2\0")),
        _ => elf(None),
    };
    let (what, bytes) = match random.below(7) {
        0 => {
            let mut file = good(random);
            file.truncate(random.below(file.len().min(4096)));
            ("truncated", file)
        }
        1 => {
            let mut file = good(random);
            for _ in 0..=random.below(16) {
                let at = random.below(file.len().min(1024));
                file[at] ^= 1 << random.below(8);
            }
            ("bits", file)
        }
        2 => {
            let mut file = elf(Some(
                &[random.interpreter(), vec![0; random.below(2)]].concat(),
            ));
            // Numbers of the header (from byte 16) or of one of its two segments.
            for _ in 0..random.below(4) {
                let at = 16 + 2 * random.below(80);
                let number = random.number().to_le_bytes();
                let width = [2, 4, 8][random.below(3)];
                file = with(file, at, &number[..width]);
            }
            ("fields", file)
        }
        3 => (
            "script",
            [
                b"#!",
                &random.interpreter()[..],
                random.of(&["\n", "\0", " -x\n", " a b\n", ""]).as_bytes(),
            ]
            .concat(),
        ),
        4 => {
            let length = random.below(3000);
            ("noise", random.bytes(length))
        }
        _ => {
            let (first, second) = (random.of(MISDEEDS), random.of(MISDEEDS));
            let order = if random.below(2) == 0 {
                [GOOD, ""]
            } else {
                ["", GOOD]
            };
            let script = format!("cd $OUTPUT\n{}{first}\n{second}\n{}", order[0], order[1]);
            return Case::script(&name, &script);
        }
    };
    Case::product(&format!("{name}-{what}"), bytes)
}

#[test]
fn random_broken_products_never_cause_judge_error() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let seed = number(SEED).unwrap_or_else(|| u64::from(std::process::id()) ^ 0x6d69_6c6c);
    let cases = number(CASES).unwrap_or(DEFAULT_CASES);
    let bench = Bench::new();
    let (judge, prepared) = bench.judge();
    let began = Instant::now();
    let mut seen = std::collections::BTreeMap::<&str, u64>::new();
    for first in (0..cases).step_by(BATCH as usize) {
        let numbers = first..cases.min(first + BATCH);
        // A case depends on its number alone, so that one can be repeated.
        let crafted: Vec<Case> = numbers
            .clone()
            .map(|number| {
                craft(
                    &mut Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(number)),
                    number.to_string(),
                )
            })
            .collect();
        let reports = bench.reports(&judge, &prepared, &crafted);
        for (case, report) in crafted.iter().zip(&reports) {
            *seen.entry(report.words()).or_default() += 1;
            let shown = case
                .files
                .iter()
                .map(|(name, bytes)| format!("{name}: {}", bytes.escape_ascii()));
            assert!(
                !matches!(report.verdict, Some(Verdict::JudgeError) | None),
                "{SEED}={seed}, case {}: {}: {}\n{}",
                case.name,
                report.words(),
                reason(report),
                shown.collect::<Vec<_>>().join("\n")
            );
        }
        if began.elapsed() > MOST_TIME && cases == DEFAULT_CASES {
            eprintln!(
                "stopped after {} of {cases} cases, as this machine is slow",
                numbers.end
            );
            break;
        }
    }
    eprintln!("{SEED}={seed}: {seen:?} in {:?}", began.elapsed());
    // The cases reach the kernel as well as the packing.
    for words in ["compile error", "run-time error"] {
        assert!(
            seen.contains_key(words) || cases < DEFAULT_CASES,
            "{SEED}={seed}: {seen:?}"
        );
    }
}

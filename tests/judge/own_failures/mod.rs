//! Submissions that try to make the judge fail. A failure that a submission causes must be a
//! compile error, run-time error or wrong answer of that submission, and never a judge error.

mod builds;
mod products;
mod random;

use crate::package::{Package, has_cgroups};
use millibox::{BackendChoice, Supervisor};
use millibox_judge::judge::{Judge, Machine, Options, PreparedProblem, choose};
use millibox_judge::report::SubmissionReport;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

/// A language in which the source is the compiler: a shell script that writes any files to
/// `$OUTPUT`.
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
        Bench::on(best_backend())
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

    /// Judges all cases, followed by a correct submission.
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

    /// Judges scripts as compilers and returns their verdicts.
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
    fn assert_all(&self, expected: Verdict, scripts: &[(&str, &str)]) {
        let wrong: Vec<_> = self
            .verdicts(scripts)
            .into_iter()
            .filter(|(_, verdict, _)| *verdict != Some(expected))
            .collect();
        assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
    }
}

/// Selects the best available backend.
fn best_backend() -> millibox::Builder {
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

    /// Creates a compiler whose product consists of these bytes.
    fn product(name: &str, bytes: Vec<u8>) -> Case {
        let mut case = Case::script(
            name,
            "cat payload >$OUTPUT/program; chmod 755 $OUTPUT/program\n",
        );
        case.files.push(("payload".to_owned(), bytes));
        case
    }
}

/// Creates an ELF program for this machine that exits with 0. It has one segment, and a second one
/// if `interpreter` is some.
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
fn patched(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

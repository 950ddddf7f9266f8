//! Helpers for tests of batch problems: a sandbox, programs and the files of a test.

use millibox::{Backend, BackendChoice, Supervisor, World};
use millibox_judge::batch::{Case, Trial, Worker, judge};
use millibox_judge::checker::CheckerInstance;
use millibox_judge::result::TestResult;
use millibox_languages::program::{Executable, Limits};
use millibox_tests::{builder, set_mode, start};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;

/// Starts a sandbox. Without cgroups, it uses the weaker backend, which the judge also selects by
/// name.
pub fn supervisor() -> Supervisor {
    static HAS_CGROUPS: OnceLock<bool> = OnceLock::new();
    if HAS_CGROUPS.get() != Some(&false) {
        let best = start(builder());
        if *HAS_CGROUPS.get_or_init(|| best.info().backend() != Backend::Rlimit) {
            return best;
        }
    }
    start(builder().backend(BackendChoice::Rlimit))
}

pub fn limits() -> Limits {
    Limits {
        cpu_time: Duration::from_secs(20),
        real_time: Duration::from_secs(60),
        memory: 256 * MIB,
        output: 64 * MIB,
        processes: 4,
    }
}

fn executable(argv: Vec<OsString>, world: World, files: Arc<TempDir>) -> Executable {
    Executable {
        world,
        argv,
        env: Vec::new(),
        current_dir: "/".into(),
        processes: 0,
        memory: 0,
        prepare: None,
        is_prepared: false,
        suite: "test".to_owned(),
        files,
    }
}

/// Returns the compiled `subject.c`. It is compiled once, but each caller has its own directory,
/// which is removed at the end.
pub fn subject() -> Executable {
    static SUBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    program(SUBJECT.get_or_init(|| compile(include_str!("subject.c"))))
}

/// Compiles a C program.
pub fn compiled(source: &str) -> Executable {
    program(&compile(source))
}

/// Compiles a program with the host's gcc and returns the executable's bytes.
fn compile(source: &str) -> Vec<u8> {
    let files = millibox_tests::directory();
    let (code, program) = (files.path().join("program.c"), files.path().join("program"));
    std::fs::write(&code, source).expect("the source");
    let compiler = std::process::Command::new("gcc")
        .args(["-O1", "-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(&code)
        .output();
    let compiler = compiler.expect("gcc");
    assert!(
        compiler.status.success(),
        "{}",
        String::from_utf8_lossy(&compiler.stderr)
    );
    std::fs::read(&program).expect("the program")
}

fn program(bytes: &[u8]) -> Executable {
    let files = Arc::new(millibox_tests::directory());
    let program = files.path().join("program");
    std::fs::write(&program, bytes).expect("the program");
    set_mode(&program, 0o755);
    let world = World::minimal()
        .mount(millibox::Mount::proc("/proc"))
        .read_only(&program, "/box/program");
    executable(vec!["/box/program".into()], world, files)
}

/// Returns a /bin/sh script as a program.
pub fn script(text: &str) -> Executable {
    let files = Arc::new(millibox_tests::directory());
    let script = files.path().join("script");
    std::fs::write(&script, text).expect("the script");
    set_mode(&script, 0o644);
    let world = World::minimal().read_only(&script, "/box/script");
    let argv = ["/bin/sh", "/box/script"].map(OsString::from).to_vec();
    Executable {
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..executable(argv, world, files)
    }
}

/// The test directory of a package that has one test.
pub struct Data {
    directory: TempDir,
    pub input: PathBuf,
    pub answer: PathBuf,
}

impl Data {
    pub fn new(input: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) -> Data {
        let directory = millibox_tests::directory();
        let (input_path, answer_path) = (
            directory.path().join("1.in"),
            directory.path().join("1.ans"),
        );
        std::fs::write(&input_path, input).expect("the input");
        std::fs::write(&answer_path, answer).expect("the answer");
        Data {
            directory,
            input: input_path,
            answer: answer_path,
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn judge(
        &self,
        worker: &mut Worker<'_>,
        executable: &Executable,
        arguments: &[&str],
        limits: &Limits,
        checker: &CheckerInstance,
        flags: &[&str],
    ) -> TestResult {
        let owned = |texts: &[&str]| -> Vec<String> {
            texts.iter().map(|text| (*text).to_owned()).collect()
        };
        let (arguments, flags) = (owned(arguments), owned(flags));
        let case = Case {
            input: &self.input,
            answer: Some(&self.answer),
            arguments: &arguments,
            flags: &flags,
        };
        judge(
            worker,
            &Trial {
                executable,
                case,
                limits,
            },
            checker,
        )
    }
}

/// Judges [`subject`] on one test with the exact checker.
pub fn judge_subject(
    supervisor: &Supervisor,
    arguments: &[&str],
    input: impl AsRef<[u8]>,
    answer: impl AsRef<[u8]>,
    limits: &Limits,
) -> TestResult {
    let mut worker = Worker::new(supervisor);
    Data::new(input, answer).judge(
        &mut worker,
        &subject(),
        arguments,
        limits,
        &CheckerInstance::Exact,
        &[],
    )
}

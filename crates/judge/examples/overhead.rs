//! Measures the cost of judging 100 tests of 5 ms each, compared with a shell loop that runs the
//! same program on the same files. Both run one test at a time, and tests in parallel on all CPUs.
//!
//! ```text
//! cargo build --release --bin millibox-supervisor
//! cargo run --release -p millibox-judge --example overhead
//! ```
//!
//! The loop and the judge alternate, so that the state of the machine affects both equally. Compare
//! ratios, not milliseconds. The loop sets no limits and measures nothing. If the judge runs a
//! checker, so does the loop. The measured program is this example, started with `work`: it copies
//! its input and uses CPU time. The CPU time begins in `main`, so it does not include the start of
//! the program. A C++ program that does the same is compiled as a submission would be, once for
//! each way of linking it, and measured as well.

use millibox::{BackendChoice, Supervisor, World};
use millibox_judge::batch::{Case, Trial, Worker, judge};
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Options, Toolbox};
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::private_directory;
use millibox_languages::suite::{Link, Suites};
use millibox_package::model::{self, Convention};
use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TESTS: usize = 100;
const WORK: Duration = Duration::from_millis(5);
const ROUNDS: usize = 7;
const LOOP: &str =
    r#"i=0; while [ $i -lt $1 ]; do "$2" work <"$3" >"$4" && $5 || exit 1; i=$((i+1)); done"#;
/// The commands that check an output in the loop: the shell's no-op, and the smallest program.
const CHECKERS: [&str; 2] = [":", "/bin/true"];

/// Uses CPU time, and copies its input with iostream.
const CPP: &str = r#"
#include <ctime>
#include <iostream>
#include <string>

long cpu_time() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000L + used.tv_nsec;
}

int main() {
    long end = cpu_time() + WORK;
    std::ios::sync_with_stdio(false);
    std::string input, line;
    while (std::getline(std::cin, line))
        input += line + "\n";
    while (cpu_time() < end)
        ;
    std::cout << input;
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("work") {
        return work();
    }
    let cpus = std::thread::available_parallelism()?.get();
    let mut supervisor = Supervisor::builder().slots(cpus).start()?;
    if !supervisor.info().declined().is_empty()
        && supervisor.info().backend() == millibox::Backend::Rlimit
    {
        supervisor = Supervisor::builder()
            .slots(cpus)
            .backend(BackendChoice::Rlimit)
            .start()?;
    }
    let files = Arc::new(private_directory(supervisor.info().ids())?);
    let place = files.path().to_owned();
    let (program, input) = (place.join("program"), place.join("input"));
    std::fs::copy(std::env::current_exe()?, &program)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let numbers: String = (0..2000).map(|number| format!("{number}\n")).collect();
    std::fs::write(&input, &numbers)?;
    let executable = Executable {
        world: World::minimal().read_only(&program, "/box/program"),
        argv: vec!["/box/program".into(), "work".into()],
        env: Vec::new(),
        current_dir: "/".into(),
        processes: 0,
        memory: 0,
        prepare: None,
        is_prepared: false,
        suite: "overhead".to_owned(),
        files,
    };
    let mut accept = executable.clone();
    accept.world = World::minimal();
    accept.argv = vec!["/bin/true".into()];
    let data = tempfile::tempdir()?;
    // In this convention, exit status 0 alone means that the output is accepted.
    let accept = OutputValidator::new(
        &supervisor,
        accept,
        Convention::Testlib,
        data.path(),
        &model::Limits::default(),
    )?;
    let custom = CheckerInstance::Custom(Arc::new(accept));

    let compiled = [Link::Dynamic, Link::Static].map(|link| compiled(&supervisor, link));
    let [dynamic, statically] = compiled;
    let (dynamic, statically) = (dynamic?, statically?);

    println!(
        "{TESTS} tests of {WORK:?}, backend {}, {cpus} CPUs, medians of {ROUNDS}",
        supervisor.info().backend()
    );
    for threads in if cpus > 1 { vec![1, cpus] } else { vec![1] } {
        let mut all = [const { Vec::new() }; 8];
        for round in 0..=ROUNDS {
            let output = |thread| place.join(format!("output{thread}"));
            let times = [
                at_once(threads, |thread| {
                    shell(&program, &input, &output(thread), CHECKERS[0])
                })?,
                at_once(threads, |_| {
                    judged(&supervisor, &executable, &input, &CheckerInstance::Tokens)
                })?,
                at_once(threads, |thread| {
                    shell(&program, &input, &output(thread), CHECKERS[1])
                })?,
                at_once(threads, |_| {
                    judged(&supervisor, &executable, &input, &custom)
                })?,
                at_once(threads, |thread| {
                    shell(&on_host(&dynamic), &input, &output(thread), CHECKERS[0])
                })?,
                at_once(threads, |_| {
                    judged(&supervisor, &dynamic, &input, &CheckerInstance::Tokens)
                })?,
                at_once(threads, |thread| {
                    shell(&on_host(&statically), &input, &output(thread), CHECKERS[0])
                })?,
                at_once(threads, |_| {
                    judged(&supervisor, &statically, &input, &CheckerInstance::Tokens)
                })?,
            ];
            // The first round warms the caches.
            if round > 0 {
                all.iter_mut()
                    .zip(times)
                    .for_each(|(all, time)| all.push(time));
            }
        }
        println!("{threads} in parallel, for each test:");
        let per_test = |time: Duration| time.as_secs_f64() * 1000.0 / TESTS as f64;
        let [
            bare,
            boxed,
            bare_checked,
            boxed_checked,
            bare_dynamic,
            boxed_dynamic,
            bare_static,
            boxed_static,
        ] = all.map(median);
        for (what, bare, boxed) in [
            ("tokens compared", bare, boxed),
            (
                "and a checker that is a program",
                bare_checked,
                boxed_checked,
            ),
            ("C++, dynamic", bare_dynamic, boxed_dynamic),
            ("C++, static", bare_static, boxed_static),
            ("C++, static; loop: dynamic", bare_dynamic, boxed_static),
        ] {
            let (bare, boxed) = (per_test(bare), per_test(boxed));
            println!(
                "  {what:32} loop {bare:6.2} ms   judge {boxed:6.2} ms   ratio {:.2}",
                boxed / bare
            );
        }
    }
    Ok(())
}

/// Compiles the C++ program as a submission and links it in the given way.
fn compiled(supervisor: &Supervisor, link: Link) -> Result<Executable, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let source = directory.path().join("main.cpp");
    std::fs::write(&source, CPP.replace("WORK", &WORK.as_nanos().to_string()))?;
    let toolbox = Toolbox::new(
        supervisor,
        Suites::builtin().with_linking(link),
        Cache::none(),
    );
    let suite = toolbox.suites().named("cpp")?;
    if toolbox
        .linking(suite)?
        .is_none_or(|linked| linked.link != link)
    {
        return Err(format!("a {link} program cannot be linked here").into());
    }
    Ok(toolbox
        .compile(suite, &[source], &Options::default())
        .result?)
}

/// Returns the path of the program's only file, as seen outside the sandbox.
fn on_host(executable: &Executable) -> PathBuf {
    executable.files.path().join("program")
}

fn work() -> Result<(), Box<dyn Error>> {
    let cpu_time = || {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
    };
    let end = cpu_time() + WORK;
    let input = std::io::read_to_string(std::io::stdin())?;
    while cpu_time() < end {}
    print!("{input}");
    Ok(())
}

/// Returns how long the work takes in several parallel threads.
fn at_once(
    threads: usize,
    what: impl Fn(usize) -> Result<(), Box<dyn Error>> + Sync,
) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let what = &what;
        let all: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || what(thread).map_err(|error| error.to_string())))
            .collect();
        all.into_iter().try_for_each(|one| {
            one.join()
                .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    })?;
    Ok(begin.elapsed())
}

fn shell(program: &Path, input: &Path, output: &Path, checker: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", LOOP, "loop", &TESTS.to_string()])
        .args([program, input, output])
        .arg(checker)
        .stdin(Stdio::null());
    if command.status()?.success() {
        Ok(())
    } else {
        Err("the loop failed".into())
    }
}

fn judged(
    supervisor: &Supervisor,
    executable: &Executable,
    input: &Path,
    checker: &CheckerInstance,
) -> Result<(), Box<dyn Error>> {
    let mut worker = Worker::new(supervisor);
    let limits = Limits {
        cpu_time: Duration::from_secs(2),
        real_time: Duration::from_secs(4),
        memory: 256 << 20,
        output: 8 << 20,
        processes: 1,
    };
    let case = Case {
        input,
        answer: Some(input),
        arguments: &[],
        flags: &[],
    };
    for _ in 0..TESTS {
        let result = judge(
            &mut worker,
            &Trial {
                executable,
                case,
                limits: &limits,
            },
            checker,
        );
        if result.verdict != Verdict::Accepted {
            return Err(format!("{result:?}").into());
        }
    }
    Ok(())
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

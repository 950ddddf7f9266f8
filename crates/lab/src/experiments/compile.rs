//! The experiment `compile`: a C++ compilation with many system calls.

use super::Experiment;
use crate::lab::find_executable;
use crate::{Comparison, Error, Lab, Metric, Plan, Report, Unit, Variant, bare};
use millibox::{Mount, Request, World};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const EXPERIMENT: Experiment = Experiment {
    name: "compile",
    title: "Compiling C++",
    about: "Thesis, chapter 5: g++ compiles and links a program with a few hundred headers, each \
            searched for in eight directories, so it makes many system calls. Variants: bare, \
            in the sandbox, and in the sandbox without a seccomp program. Target: at most 2 % more \
            than bare (the thesis found 14 %, all of it due to its seccomp program). All variants \
            write to a tmpfs, if the host has one.",
    run,
};

/// The number of directories that the compiler searches for a header. Each header is in one of
/// them.
const HEADER_DIRECTORIES: usize = 8;

fn run(lab: &Lab, report: &mut Report) -> Result<(), Error> {
    let compiler = find_executable("g++")
        .ok_or_else(|| Error::other("g++ is not on PATH; install it (Debian: g++)"))?;
    let headers = lab.scale().pick(10, 250, 250);
    let sources = lab.directory().join("compile");
    write_sources(&sources, headers)?;
    let output = OutputDirectory::new()?;
    let options = |sources: &Path, output: &Path| {
        let mut words: Vec<PathBuf> = ["-std=c++17", "-O1", "-pipe", "-o"]
            .map(PathBuf::from)
            .into();
        words.extend([output.join("out"), sources.join("main.cpp")]);
        words
            .extend((0..HEADER_DIRECTORIES).map(|at| {
                PathBuf::from(format!("-I{}", sources.join(format!("d{at}")).display()))
            }));
        words
    };
    let supervisor = lab.supervisor(1)?;
    let world = World::minimal().mount(Mount::read_only(&sources, "/src"));
    let request = Request::new(&compiler).args(options(Path::new("/src"), Path::new("/tmp")));
    let request = lab.limit_to(
        request.env("PATH", "/usr/bin:/bin"),
        2 << 30,
        64,
        Duration::from_secs(300),
    );
    let inside = |world: World| {
        let (supervisor, request) = (&supervisor, request.clone().world(&world));
        move || {
            let begin = Instant::now();
            let figures = bare::sandboxed(supervisor, &request)?.figures;
            let real = begin.elapsed().as_nanos() as f64;
            Ok(vec![
                real,
                (figures.cpu_user_ns + figures.cpu_system_ns) as f64,
            ])
        }
    };
    let table = Comparison::new("compile", "Compiling C++ with g++")
        .metric(Metric::new("real time", Unit::Nanoseconds))
        .metric(Metric::new("CPU time", Unit::Nanoseconds))
        .variant(Variant::new("bare", || {
            let mut command = Command::new(&compiler);
            command
                .args(options(&sources, output.path()))
                .env_clear()
                .env("PATH", "/usr/bin:/bin");
            command
                .env("TMPDIR", output.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let (begin, before) = (Instant::now(), bare::children_cpu_ns());
            bare::success(&mut command)?;
            let real = begin.elapsed().as_nanos() as f64;
            Ok(vec![real, (bare::children_cpu_ns() - before) as f64])
        }))
        .variant(Variant::new("millibox", inside(world.clone())))
        .variant(Variant::new(
            "millibox without seccomp",
            inside(world.without_seccomp()),
        ))
        .plan(Plan {
            rounds: lab.scale().pick(2, 40, 100),
            budget: lab.scale().pick(
                Duration::from_secs(20),
                Duration::from_secs(60),
                Duration::from_secs(1200),
            ),
            min_rounds: 2,
            ..Plan::default()
        })
        .measure(lab)?;
    report.add_claim(
        "compiling C++, real time",
        &table,
        "millibox",
        "real time",
        1.02,
    );
    report.add_test(&table, "real time", ["bare", "millibox"])?;
    report.add_test(
        &table,
        "real time",
        ["millibox without seccomp", "millibox"],
    )?;
    report.add_table(table);
    report
        .versions
        .push(("g++".to_owned(), super::version(&compiler, &["--version"])));
    if !output.in_memory {
        report.add_note(
            "This machine has no /dev/shm, so the bare compiler writes to a disk and the \
            sandboxed one to a tmpfs.",
        );
    }
    Ok(())
}

/// The directory to which the bare compiler writes.
struct OutputDirectory {
    directory: tempfile::TempDir,
    in_memory: bool,
}

impl OutputDirectory {
    fn new() -> Result<OutputDirectory, Error> {
        let make = |at: &Path| {
            tempfile::Builder::new()
                .prefix("millibox-lab.")
                .tempdir_in(at)
        };
        match make(Path::new("/dev/shm")) {
            Ok(directory) => Ok(OutputDirectory {
                directory,
                in_memory: true,
            }),
            Err(_) => {
                let directory = make(&std::env::temp_dir())
                    .map_err(Error::system("create a directory for objects"))?;
                Ok(OutputDirectory {
                    directory,
                    in_memory: false,
                })
            }
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Writes main.cpp, and its headers into [`HEADER_DIRECTORIES`] directories.
fn write_sources(at: &Path, headers: usize) -> Result<(), Error> {
    let put = |path: PathBuf, text: &str| {
        std::fs::write(&path, text).map_err(Error::system(format!("write {}", path.display())))
    };
    for directory in 0..HEADER_DIRECTORIES {
        let path = at.join(format!("d{directory}"));
        std::fs::create_dir_all(&path)
            .map_err(Error::system(format!("make {}", path.display())))?;
    }
    let mut main =
        "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <vector>\n".to_owned();
    let mut body = String::new();
    for number in 0..headers {
        let text =
            format!("#pragma once\ninline int f{number}(int x) {{ return x * {number} + 1; }}\n");
        put(
            at.join(format!("d{}/h{number}.h", number % HEADER_DIRECTORIES)),
            &text,
        )?;
        let _ = writeln!(main, "#include <h{number}.h>");
        let _ = writeln!(body, "    sum[f{number}({number})] += {number};");
    }
    let _ = write!(
        main,
        "int main() {{\n    std::map<int, int> sum;\n{body}    std::cout << sum.size() << '\\n';\n\
         }}\n"
    );
    put(at.join("main.cpp"), &main)
}

//! Builds programs in C and C++ with the library, and runs them: drivers, which check every
//! function, the examples and the quick starts of the guide.
//!
//! The compiler, valgrind or pkg-config may be missing; the tests are then skipped. If started by
//! root, the drivers also run as an unprivileged user.

use millibox_tests::{is_root, skip};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const UNPRIVILEGED_USER: &str = "61234";
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-g"];
const VALGRIND: [&str; 5] = [
    "--quiet",
    "--child-silent-after-fork=yes",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect",
];

/// An installation of the library and the supervisor, which every user can read.
struct Installed {
    prefix: PathBuf,
    _directory: tempfile::TempDir,
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The directory with the products of cargo.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    test.ancestors().nth(2).expect("target/debug").to_owned()
}

/// Installs the files, as `make install` does. They exist until no test keeps the value, which a
/// static would never drop.
fn installed() -> Arc<Installed> {
    static INSTALLED: Mutex<Weak<Installed>> = Mutex::new(Weak::new());
    let mut shared = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let installed = shared.upgrade().unwrap_or_else(|| Arc::new(install()));
    *shared = Arc::downgrade(&installed);
    installed
}

fn install() -> Installed {
    let directory = tempfile::Builder::new()
        .prefix("millibox-c.")
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()
        .expect("a directory");
    let prefix = directory.path().to_owned();
    for name in ["include", "lib/pkgconfig", "bin", "libexec/millibox"] {
        std::fs::create_dir_all(prefix.join(name)).expect("a directory");
    }
    let copy = |from: PathBuf, to: &str| {
        std::fs::copy(&from, prefix.join(to)).unwrap_or_else(|error| {
            panic!(
                "{}: {error}; run cargo build --workspace --lib --bins",
                from.display()
            )
        });
    };
    copy(source("include/millibox.h"), "include/millibox.h");
    copy(source("include/millibox.hpp"), "include/millibox.hpp");
    copy(
        built().join("millibox-supervisor"),
        "bin/millibox-supervisor",
    );
    copy(
        built().join("libmillibox_ready.so"),
        "libexec/millibox/libmillibox_ready.so",
    );
    succeeds(
        Command::new(source("link"))
            .arg(built().join("libmillibox_c.a"))
            .arg(prefix.join("lib")),
    );
    // As installed. Reading the debug information takes valgrind longer than a test.
    for name in ["lib/libmillibox.so.0", "lib/libmillibox.a"] {
        let mut strip = Command::new("strip");
        succeeds(strip.arg("--strip-debug").arg(prefix.join(name)));
    }
    symlink("libmillibox.so.0", prefix.join("lib/libmillibox.so")).expect("a link");
    let template = std::fs::read_to_string(source("millibox.pc.in")).expect("a template");
    let text = template
        .replace("@PREFIX@", &prefix.to_string_lossy())
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    std::fs::write(prefix.join("lib/pkgconfig/millibox.pc"), text).expect("write");
    Installed {
        prefix,
        _directory: directory,
    }
}

fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a command that must exit with this status, and returns its standard output.
#[track_caller]
fn exits(command: &mut Command, status: i32) -> String {
    let Output {
        status: ended,
        stdout,
        stderr,
    } = output(command);
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    assert!(
        ended.code() == Some(status),
        "{command:?}: {ended}\n{stdout}{}",
        String::from_utf8_lossy(&stderr)
    );
    stdout
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    exits(command, 0)
}

fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn exists_or_skips(program: &str) -> bool {
    let exists = exists(program);
    if !exists {
        skip(&format!("{program} is missing"));
    }
    exists
}

/// How a program is linked.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Link {
    Shared,
    Static,
}

/// The flags for compiler and linker, from pkg-config if it exists.
fn flags(link: Link) -> Vec<String> {
    let installed = installed();
    let prefix = &installed.prefix;
    let library = prefix.join("lib/libmillibox.a");
    let mut flags: Vec<String> = if exists("pkg-config") {
        let mut command = Command::new("pkg-config");
        command
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
            .args(["--cflags", "--libs", "millibox"]);
        if link == Link::Static {
            command.arg("--static");
        }
        let flags = succeeds(&mut command);
        flags.split_whitespace().map(str::to_owned).collect()
    } else {
        let include = format!("-I{}/include", prefix.display());
        let libraries = format!("-L{}/lib", prefix.display());
        ["-lmillibox", "-lpthread", "-ldl", "-lm"]
            .map(str::to_owned)
            .into_iter()
            .chain([include, libraries])
            .collect()
    };
    if link == Link::Static {
        // The linker would prefer the shared library.
        for flag in &mut flags {
            if flag == "-lmillibox" {
                *flag = library.display().to_string();
            }
        }
    }
    flags
}

/// Compiles a program without warnings. Returns its path.
fn compile(compiler: &str, options: &[&str], file: &Path, link: Link, name: &str) -> PathBuf {
    let installed = installed();
    let program = installed.prefix.join("bin").join(name);
    succeeds(
        Command::new(compiler)
            .args(STRICT)
            .args(options)
            .arg(file)
            .args(flags(link))
            .arg("-o")
            .arg(&program),
    );
    program
}

/// A command with the installed library and supervisor, and nothing of cargo's environment.
fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let installed = installed();
    let prefix = &installed.prefix;
    let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", prefix.display());
    command
        .current_dir(prefix)
        .env_clear()
        .env("PATH", path)
        .env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

fn as_user(program: &Path) -> Command {
    let mut command = clean("setpriv");
    command
        .args(["--reuid", UNPRIVILEGED_USER, "--regid", UNPRIVILEGED_USER])
        .args(["--clear-groups", "--inh-caps=-all"])
        .arg(program);
    command
}

/// Runs a driver with the best backend and without cgroups, and as an unprivileged user.
fn drive(program: &Path, runs: &str) {
    // An unprivileged user may have no cgroups, and "auto" then rejects limits.
    let backends: &[&str] = if is_root() {
        &["auto", "rlimit"]
    } else {
        &["rlimit"]
    };
    for backend in backends {
        succeeds(clean(program).args([backend, runs]));
    }
    if is_root() && exists_or_skips("setpriv") {
        succeeds(as_user(program).args(["rlimit", runs]));
    }
}

#[test]
fn c_driver_with_gcc_and_shared_library_succeeds() {
    let _installed = installed();
    if exists_or_skips("gcc") {
        let file = source("tests/programs/driver.c");
        drive(
            &compile("gcc", &["-std=c11"], &file, Link::Shared, "gcc"),
            "1000",
        );
    }
}

#[test]
fn c_driver_with_clang_and_static_library_succeeds() {
    let _installed = installed();
    if exists_or_skips("clang") {
        let file = source("tests/programs/driver.c");
        let options = ["-std=c11", "-pedantic"];
        drive(
            &compile("clang", &options, &file, Link::Static, "clang"),
            "20",
        );
    }
}

#[test]
fn c_driver_with_sanitizers_succeeds() {
    let _installed = installed();
    if exists_or_skips("gcc") {
        let file = source("tests/programs/driver.c");
        let options = ["-std=c11", "-fsanitize=address,undefined"];
        let program = compile("gcc", &options, &file, Link::Static, "sanitized");
        let backend = if is_root() { "auto" } else { "rlimit" };
        succeeds(clean(program).args([backend, "20"]));
    }
}

#[test]
fn cpp_driver_with_each_compiler_succeeds() {
    let _installed = installed();
    let file = source("tests/programs/driver.cpp");
    let cases = [
        ("g++", "-std=c++20", Link::Shared),
        ("g++", "-std=c++2b", Link::Static),
        ("clang++", "-std=c++20", Link::Static),
    ];
    for (compiler, standard, link) in cases {
        if exists_or_skips(compiler) {
            let name = format!("{compiler}{standard}");
            drive(&compile(compiler, &[standard], &file, link, &name), "20");
        }
    }
}

#[test]
fn libraries_export_only_the_functions_of_the_header() {
    let installed = installed();
    if !exists_or_skips("nm") {
        return;
    }
    let library = installed.prefix.join("lib/libmillibox.so.0");
    let symbols = succeeds(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library),
    );
    let mut exported: Vec<&str> = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .filter(|name| *name != "MILLIBOX_0")
        .collect();
    exported.sort_unstable();
    let map = std::fs::read_to_string(source("libmillibox.map")).expect("the version script");
    let mut listed: Vec<String> = map
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|name| name.starts_with("millibox_"))
        .map(|name| format!("{name}@@MILLIBOX_0"))
        .collect();
    listed.sort_unstable();
    assert_eq!(exported, listed);
    assert!(listed.len() > 50, "the version script has few functions");

    let library = installed.prefix.join("lib/libmillibox.a");
    let symbols = succeeds(
        Command::new("nm")
            .args(["-g", "--defined-only"])
            .arg(library),
    );
    let mut exported: Vec<String> = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .map(|name| format!("{name}@@MILLIBOX_0"))
        .collect();
    exported.sort_unstable();
    assert_eq!(exported, listed);
}

/// Runs commands with valgrind, or alone if valgrind cannot run the library.
fn with_valgrind() -> Vec<String> {
    if !exists_or_skips("valgrind") {
        return Vec::new();
    }
    let installed = installed();
    let program = installed.prefix.join("bin/pidfd");
    let code = "#include <sys/syscall.h>\n#include <unistd.h>\n\
        int main(void) { return syscall(SYS_pidfd_open, getpid(), 0) < 0; }\n";
    let file = program.with_extension("c");
    std::fs::write(&file, code).expect("write");
    succeeds(Command::new("gcc").arg(&file).arg("-o").arg(&program));
    let probe = output(Command::new("valgrind").arg("--quiet").arg(program));
    if !probe.status.success() {
        let version = succeeds(Command::new("valgrind").arg("--version"));
        skip(&format!("{} has no pidfd_open(2)", version.trim()));
        return Vec::new();
    }
    let mut command = vec!["valgrind".to_owned(), "--error-exitcode=99".to_owned()];
    command.extend(VALGRIND.map(str::to_owned));
    command
}

/// A program, with valgrind if it can be used.
fn checked(valgrind: &[String], program: &Path) -> Command {
    let mut command = match valgrind.split_first() {
        Some((first, others)) => {
            let mut command = clean(first);
            command
                .args(others)
                .arg(program)
                .env("MILLIBOX_VALGRIND", "1");
            if let Some(directory) = std::env::var_os("VALGRIND_LIB") {
                command.env("VALGRIND_LIB", directory);
            }
            command
        }
        None => clean(program),
    };
    if valgrind.is_empty() {
        command.env_remove("MILLIBOX_VALGRIND");
    }
    command
}

#[test]
fn drivers_and_examples_with_valgrind_succeed() {
    let installed = installed();
    if !exists_or_skips("gcc") || !exists_or_skips("g++") {
        return;
    }
    let valgrind = with_valgrind();
    let bin = installed.prefix.join("bin");
    let backend = if is_root() { "auto" } else { "rlimit" };
    if !valgrind.is_empty() {
        for (compiler, file) in [("gcc", "driver.c"), ("g++", "driver.cpp")] {
            let file = source("tests/programs").join(file);
            let standard = if compiler == "gcc" {
                "-std=c11"
            } else {
                "-std=c++20"
            };
            let name = format!("{compiler}-valgrind");
            let program = compile(compiler, &[standard], &file, Link::Shared, &name);
            succeeds(checked(&valgrind, &program).args([backend, "20"]));
        }
    }

    for compiler in ["clang", "gcc"] {
        if !exists_or_skips(compiler) {
            continue;
        }
        for name in ["checker", "events"] {
            let file = source("examples").join(name).with_extension("c");
            compile(compiler, &["-std=c11"], &file, Link::Shared, name);
        }
    }
    for compiler in ["clang++", "g++"] {
        if exists_or_skips(compiler) {
            let file = source("examples/judge.cpp");
            compile(compiler, &["-std=c++20"], &file, Link::Shared, "judge");
        }
    }

    let tests = bin.join("tests");
    std::fs::create_dir(&tests).expect("a directory");
    for (name, text) in [
        ("1.in", "1 2\n"),
        ("1.ans", "3\n"),
        ("2.in", "4 5\n"),
        ("2.ans", "9\n"),
    ] {
        std::fs::write(tests.join(name), text).expect("write");
    }
    let checker = |valgrind: &[String], answer: &str| {
        let mut command = checked(valgrind, &bin.join("checker"));
        command.arg(tests.join("1.in")).arg(tests.join(answer));
        command.args(["awk", "{ print $1 + $2 }"]);
        command
    };
    assert!(succeeds(&mut checker(&valgrind, "1.ans")).starts_with("accepted, "));
    assert!(exits(&mut checker(&[], "2.ans"), 1).starts_with("wrong answer, "));

    let events = succeeds(checked(&valgrind, &bin.join("events")).args(["100", "32"]));
    assert_eq!(events, "100 programs printed numbers with the sum 4950\n");

    let right = "#include <iostream>\n\
        int main() { int a, b; std::cin >> a >> b; std::cout << a + b; }";
    for (text, status, expected, valgrind) in [
        (right, 0, "1: accepted, ", valgrind.as_slice()),
        (&right.replace("a + b", "3"), 1, "2: wrong answer, ", &[]),
        (
            "int main() { return 1; }",
            1,
            "1: run-time error, exited with 1",
            &[],
        ),
        ("error", 1, "compile error, exited with 1", &[]),
    ] {
        let file = tests.join("main.cpp");
        std::fs::write(&file, text).expect("write");
        let mut judge = checked(valgrind, &bin.join("judge"));
        let printed = exits(judge.arg(&file).arg(&tests), status);
        assert!(printed.contains(expected), "{printed}");
    }
}

#[test]
fn judge_example_without_supervisor_prints_the_message() {
    let _installed = installed();
    if !exists_or_skips("g++") {
        return;
    }
    let file = source("examples/judge.cpp");
    for standard in ["-std=c++20", "-std=c++2b"] {
        let name = format!("judge{standard}");
        let program = compile("g++", &[standard], &file, Link::Shared, &name);
        let mut judge = clean(program);
        judge
            .args(["main.cpp", "tests"])
            .env("MILLIBOX_SUPERVISOR", "/no/such/supervisor");
        let ended = output(&mut judge);
        assert_eq!(ended.status.code(), Some(2), "{standard}");
        let message = String::from_utf8_lossy(&ended.stderr);
        assert!(
            message.contains("/no/such/supervisor"),
            "{standard}: {message}"
        );
    }
}

/// The programs in a page: language and text. A function is shown without the rest of its program.
fn programs(page: &str) -> Vec<(String, String)> {
    let mut programs = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language @ ("c" | "cpp")) = line.strip_prefix("```") else {
            continue;
        };
        let mut text = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            let _ = writeln!(text, "{line}");
        }
        if !text.contains("main(") {
            text = format!(
                "#include <millibox.h>\n#include <stdio.h>\n#include <stdlib.h>\n{text}\
                 int main(void) {{ check(NULL); puts(\"42\"); }}\n"
            );
        }
        programs.push((language.to_owned(), text));
    }
    programs
}

#[test]
fn programs_of_the_guide_print_what_it_states() {
    let installed = installed();
    let page = std::fs::read_to_string(source("../../docs/guide/c.md")).expect("the guide");
    let programs = programs(&page);
    assert_eq!(programs.len(), 3);
    for (index, (language, text)) in programs.iter().enumerate() {
        let (compiler, standard) = match language.as_str() {
            "c" => ("gcc", "-std=c11"),
            _ => ("g++", "-std=c++20"),
        };
        if !exists_or_skips(compiler) {
            continue;
        }
        let name = format!("guide-{index}");
        let file = installed.prefix.join(&name).with_extension(language);
        std::fs::write(&file, text).expect("write");
        let program = compile(compiler, &[standard], &file, Link::Shared, &name);
        assert_eq!(succeeds(&mut clean(program)), "42\n", "{text}");
    }
}

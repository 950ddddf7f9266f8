//! Small programs give the same output and status whether they are executed or copied.

use super::{PYTHON, is_possible_or_skips, output, prepared};
use crate::builder;
use millibox::{Outcome, Prepare, Request, Start, Supervisor};
use millibox_tests::{start, world_with_proc};
use std::path::Path;

/// `#### NAME` begins a program.
const PROGRAMS: &str = include_str!("programs.txt");
const INPUT: &str = "first line\r\nsecond\nno newline";

fn programs() -> Vec<(&'static str, &'static str)> {
    PROGRAMS
        .split("#### ")
        .filter_map(|program| program.split_once('\n'))
        .collect()
}

/// Returns the observable behaviour of a program, for comparison.
fn observe(supervisor: &Supervisor, request: &Request) -> (Outcome, String, String, Start) {
    let output = output(supervisor, &request.clone().input(INPUT));
    let text = |bytes: &[u8]| {
        // Addresses differ between runs.
        let text = bytes.escape_ascii().to_string();
        let mut parts = text.split("0x");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            format!("{text}ADDRESS{rest}")
        })
    };
    (
        output.result.outcome,
        text(&output.stdout),
        text(&output.stderr),
        output.result.start,
    )
}

/// Compares programs with the arguments that `wrap` creates from their code. `wrap` writes files to
/// the directory that is /programs in the world.
fn compare(
    programs: impl Iterator<Item = (&'static str, &'static str)>,
    directory: &Path,
    wrap: impl Fn(&str) -> Vec<String>,
) {
    compare_with(("NAME", "value"), programs, directory, wrap);
}

/// Like [`compare`], with an environment variable of the template and the programs.
fn compare_with(
    (variable, value): (&str, &str),
    programs: impl Iterator<Item = (&'static str, &'static str)>,
    directory: &Path,
    wrap: impl Fn(&str) -> Vec<String>,
) {
    let supervisor = start(builder().slots(1));
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let world = world_with_proc().read_only(directory, "/programs");
    let template = Prepare::python(PYTHON, ["json"])
        .env("LANG", "C.UTF-8")
        .env("HOME", "/tmp")
        .env(variable, value);
    let template = prepared(&world, &template);
    let mut different = Vec::new();
    for (name, code) in programs {
        let request = Request::new(PYTHON)
            .args(wrap(code))
            .env("LANG", "C.UTF-8")
            .env("HOME", "/tmp")
            .env(variable, value)
            .current_dir("/tmp");
        let cold = observe(&supervisor, &request.clone().world(&world));
        let copy = observe(&supervisor, &request.prepared(&template));
        assert!(matches!(copy.3, Start::Prepared { .. }), "{name}: {copy:?}");
        if (&cold.0, &cold.1, &cold.2) != (&copy.0, &copy.1, &copy.2) {
            different.push(format!(
                "{name}:\n  executed: {cold:?}\n  copied:   {copy:?}"
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// A directory that every user can read.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(directory.path(), mode).expect("chmod");
    directory
}

#[test]
fn programs_by_option_are_equal_executed_and_copied() {
    compare(programs().into_iter(), directory().path(), |code| {
        vec!["-c".to_owned(), code.to_owned(), "argument".to_owned()]
    });
}

#[test]
fn programs_with_variables_of_python_are_equal_executed_and_copied() {
    let option = |code: &str| vec!["-c".to_owned(), code.to_owned()];
    let unbuffered = "import sys; print(sys.stdout.write_through, type(sys.stdout.buffer))";
    let killed = "import os; print('before the end'); os.kill(os.getpid(), 9)";
    let path = "import sys; print(sys.path)";
    for (variable, codes) in [
        (
            "PYTHONUNBUFFERED",
            &[("streams", unbuffered), ("killed", killed)][..],
        ),
        ("PYTHONSAFEPATH", &[("path", path)]),
    ] {
        let directory = directory();
        let codes = codes.iter().copied();
        compare_with((variable, "1"), codes, directory.path(), option);
    }
    // The directory is created after the template has started.
    let directory = directory();
    let later = directory.path().join("later");
    let codes = [("before", "pass"), ("after", "import later_module")];
    let variable = ("PYTHONPATH", "/programs/later");
    compare_with(variable, codes.into_iter(), directory.path(), |code| {
        if code.contains("later") {
            std::fs::create_dir(&later).expect("a directory");
            std::fs::write(later.join("later_module.py"), "print('found')").expect("a file");
        }
        option(code)
    });
}

/// Every tenth program is run from a file and as a module.
#[test]
fn programs_by_file_are_equal_executed_and_copied() {
    let directory = directory();
    let write = |code: &str| {
        std::fs::write(directory.path().join("program.py"), code).expect("a file");
    };
    compare(
        programs().into_iter().step_by(10),
        directory.path(),
        |code| {
            write(code);
            vec!["/programs/program.py".to_owned(), "argument".to_owned()]
        },
    );
    // The working directory is /tmp.
    let relative = (
        "relative",
        "import sys; print(__file__, sys.argv, sys.path[0]); 1 / 0",
    );
    compare([relative].into_iter(), directory.path(), |code| {
        write(code);
        vec!["../programs/program.py".to_owned()]
    });
    // A module beside the program hides one that the template has imported.
    let shadow = directory.path().join("json.py");
    std::fs::write(&shadow, "mine = True").expect("a file");
    let mine = ("shadow", "import json; print(json.mine)");
    compare([mine].into_iter(), directory.path(), |code| {
        write(code);
        vec!["/programs/program.py".to_owned()]
    });
    std::fs::remove_file(&shadow).expect("a file");
    let json = ("module", "");
    compare([json].into_iter(), directory.path(), |_| {
        vec!["-m".to_owned(), "json.tool".to_owned(), "--help".to_owned()]
    });
    compare([("missing", "")].into_iter(), directory.path(), |_| {
        vec!["/programs/missing.py".to_owned()]
    });
    // The copy executes the interpreter.
    compare([("isolated", "")].into_iter(), directory.path(), |_| {
        ["-I", "-c", "import sys; print(sys.flags.isolated)"]
            .map(str::to_owned)
            .to_vec()
    });
}

//! Problem packages: files of both formats, archives, and limits written into files.
//!
//! An input has several files, each after a line `=== PATH`.

use crate::Target;
use millibox_package::model::{Group, Problem};
use millibox_package::{Faults, Severity, edit, read, read_unfinished, read_whole};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub const ICPC: Target = Target {
    name: "icpc",
    run: files,
    words: &[
        "=== problem.yaml\n",
        "=== data/secret/test_group.yaml\n",
        "=== data/testdata.yaml\n",
        "=== .timelimit\n",
        "=== domjudge-problem.ini\n",
        "=== submissions/submissions.yaml\n",
        "=== generators/generators.yaml\n",
        "=== data/secret/1.in\n",
        "=== data/secret/1.ans\n",
        "type: scoring\n",
        "limits:\n  time_limit: 1\n",
        "validation: custom interactive\n",
        "grading: custom\n",
        "range: -inf inf\n",
        "accept_score: 1\n",
        "problem_format_version: 2023-07\n",
        "score: [1, 2]\n",
        "require_pass: [1]\n",
        "&a [*a, *a]",
        "<<: *a",
        "constants:\n  n: {{n}}\n",
        "{{n}}",
        "- ",
        "? ",
        "!!float 1",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "|\n",
        "\u{feff}",
        "solution: ",
        "random_salt: x\n",
        "*: ",
    ],
};
pub const SIM: Target = Target {
    name: "sim",
    run: files,
    words: &[
        "=== Simfile\n",
        "=== Sipfile\n",
        "=== in/1a.in\n",
        "=== out/1a.out\n",
        "name: ",
        "label: ",
        "limits: [\n",
        "scoring: [\n",
        "]\n",
        "tests_files: [\n",
        "gen: [\n",
        "static: [\n",
        "1a 1 64\n",
        "1a-d ",
        "x1-9999 sh:g\n",
        "0 0\n",
        "9 100\n",
        "interactive: true\n",
        "memory_limit: 64\n",
        "global_time_limit: 1.5\n",
        "# c\n",
        "'",
        "\"",
        "\\x00",
        "sol: ",
    ],
};
pub const ZIP: Target = Target {
    name: "zip",
    run: zip,
    words: &["PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "../", "/", "a/b", "problem.yaml", "\0\0\0\0", "\u{fffd}"],
};
pub const EDIT: Target = Target {
    name: "edit",
    run: edit,
    words: &["limits:", "time_limit: 1", "\n", "  ", "#", "{", "}", ": ", "timelimit=1", "[", "]", "limits: [", "'"],
};

fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// A path below a directory, if it is one, and not a long one.
fn below(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    let plain = path.components().all(|part| matches!(part, Component::Normal(name) if name.len() < 60));
    (plain && (1..=5).contains(&path.components().count()) && !path.to_str()?.contains('\0')).then_some(path)
}

fn write(directory: &Path, bytes: &[u8]) {
    let mut file: Option<PathBuf> = None;
    let mut text: Vec<u8> = Vec::new();
    let mut count = 0;
    let mut put = |file: &Option<PathBuf>, text: &mut Vec<u8>| {
        if let Some(file) = file
            && count < 24
        {
            count += 1;
            let path = directory.join(file);
            // A file in the place of a directory is an input like another.
            let _ = path.parent().map(fs::create_dir_all);
            let _ = fs::write(path, &text);
        }
        text.clear();
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"=== ") {
            Some(name) => {
                put(&file, &mut text);
                file = std::str::from_utf8(name).ok().and_then(|name| below(name.trim_end_matches('\n')));
            }
            None => text.extend_from_slice(line),
        }
    }
    put(&file, &mut text);
}

/// Faults name a file of the package, and a line that it has.
fn faults(directory: &Path, faults: &Faults) {
    assert!(faults.iter().any(|fault| fault.severity == Severity::Error), "no error among {faults}");
    each(directory, faults.iter());
}

fn each<'a>(directory: &Path, faults: impl Iterator<Item = &'a millibox_package::Fault>) {
    for fault in faults {
        super::one_line(&fault.message);
        assert!(!fault.to_string().contains('\n'), "{fault}");
        assert!(fault.path.starts_with(directory), "{fault} is outside of {}", directory.display());
        assert!(fault.column.is_none() || fault.line.is_some(), "{fault}");
        if let (Some(line), Ok(bytes)) = (fault.line, fs::read(&fault.path)) {
            let lines = 1 + bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
            assert!((1..=lines + 1).contains(&(line as usize)), "{fault}: there are {lines} lines");
        }
        assert_ne!(fault.column, Some(0), "{fault}");
    }
}

/// What a problem says is in its directory, and makes sense.
fn problem(directory: &Path, problem: &Problem) {
    each(directory, problem.warnings.iter());
    let inside = |path: &Path| assert!(path.starts_with(&problem.directory), "{} is outside", path.display());
    for test in problem.tests() {
        inside(&test.input);
        test.answer.iter().for_each(|path| inside(path));
        assert_ne!(test.memory, Some(0), "{}", test.name);
        assert_ne!(test.cpu_time, Some(Duration::ZERO), "{}", test.name);
        assert_eq!(problem.test(&test.name).map(|found| &found.input), Some(&test.input), "two tests of one name");
    }
    for submission in &problem.submissions {
        inside(&submission.program.path);
        submission.program.sources.iter().for_each(|path| inside(path));
        assert!(submission.score.is_none_or(|(from, to)| from <= to), "{}", submission.name);
    }
    assert_ne!(problem.limits.memory, Some(0));
    assert_ne!(problem.limits.cpu_time, Some(Duration::ZERO));
    let factors = [problem.limits.from_accepted, problem.limits.to_exceeded];
    assert!(factors.into_iter().flatten().all(|factor| factor.is_finite() && factor > 0.0));
    let ranges = |group: &Group| {
        let rules = &group.rules;
        assert!(rules.range.is_none_or(|(from, to)| from <= to), "{}: {:?}", group.name, rules.range);
        let points = [rules.accept_score, rules.reject_score, rules.points];
        assert!(points.into_iter().flatten().all(|points| !points.is_nan()), "{}: {points:?}", group.name);
    };
    problem.groups().for_each(ranges);
}

fn files(bytes: &[u8]) {
    let directory = directory();
    write(directory.path(), bytes);
    let first = read(directory.path());
    match &first {
        Ok(found) => problem(directory.path(), found),
        Err(found) => faults(directory.path(), found),
    }
    // The same again, whatever the order in which a directory is listed.
    let (first, second) = (first.map(|found| found.root.clone()), read(directory.path()).map(|found| found.root));
    assert_eq!(format!("{first:?}"), format!("{second:?}"), "not the same when read again");
    for found in [read_unfinished(directory.path()), read_whole(directory.path())] {
        match found {
            Ok(found) => problem(directory.path(), &found),
            Err(found) => faults(directory.path(), &found),
        }
    }
}

/// An archive leaves nothing where it lies, and says what is wrong with it.
fn zip(bytes: &[u8]) {
    let directory = directory();
    let path = directory.path().join("x.zip");
    fs::write(&path, bytes).expect("a file");
    match read(&path) {
        Ok(found) => {
            let unpacked = found.unpacked.clone().expect("it was unpacked");
            assert!(found.directory.starts_with(unpacked.path()));
            problem(&path, &found);
        }
        Err(found) => faults(&path, &found),
    }
    let left = fs::read_dir(directory.path()).expect("the directory").count();
    assert_eq!(left, 1, "something lies beside the archive");
}

/// A time limit that is written into a file is there when the file is read again, and once.
fn edit(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let time = Duration::from_millis(1250);
    if let Ok(new) = edit::yaml_time_limit(text, time) {
        assert!(edit::yaml_has_time_limit(&new), "{new}");
        assert_eq!(edit::yaml_time_limit(&new, time).as_ref(), Ok(&new), "written twice");
    }
    let new = edit::ini_time_limit(text, time);
    assert!(edit::ini_has_time_limit(&new), "{new}");
    let lines = |text: &str| text.replace('\r', "");
    assert_eq!(lines(&edit::ini_time_limit(&new, time)), lines(&new), "written twice");
}

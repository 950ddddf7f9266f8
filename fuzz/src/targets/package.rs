//! Problem packages of both formats, archives, and the insertion of limits into package files.
//!
//! An input of `icpc` and `sim` consists of files, each after a line `=== PATH`.

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
    dictionary: &[
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
    dictionary: &[
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
    dictionary: &[
        "PK\x01\x02",
        "PK\x03\x04",
        "PK\x05\x06",
        "../",
        "/",
        "a/b",
        "problem.yaml",
        "\0\0\0\0",
        "\u{fffd}",
    ],
};
pub const EDIT: Target = Target {
    name: "edit",
    run: edit,
    dictionary: &[
        "limits:",
        "time_limit: 1",
        "\n",
        "  ",
        "#",
        "{",
        "}",
        ": ",
        "timelimit=1",
        "[",
        "]",
        "limits: [",
        "'",
    ],
};

/// A temporary directory, in memory if possible.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory)
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// Parses a short relative path without `..`.
fn relative_path(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(name) if name.len() < 60));
    (plain && (1..=5).contains(&path.components().count()) && !path.to_str()?.contains('\0'))
        .then_some(path)
}

/// The maximum number of files of an input.
const MAX_FILES: usize = 24;

/// Writes the files of an input.
fn write_files(directory: &Path, bytes: &[u8]) {
    let mut file: Option<PathBuf> = None;
    let mut text: Vec<u8> = Vec::new();
    let mut count = 0;
    let mut write_file = |file: &Option<PathBuf>, text: &mut Vec<u8>| {
        if let Some(file) = file
            && count < MAX_FILES
        {
            count += 1;
            let path = directory.join(file);
            // Errors are expected: a path may need a directory where the input has a file.
            let _ = path.parent().map(fs::create_dir_all);
            let _ = fs::write(path, &text);
        }
        text.clear();
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"=== ") {
            Some(name) => {
                write_file(&file, &mut text);
                file = std::str::from_utf8(name)
                    .ok()
                    .and_then(|name| relative_path(name.trim_end_matches('\n')));
            }
            None => text.extend_from_slice(line),
        }
    }
    write_file(&file, &mut text);
}

/// Asserts that the faults include an error and that each has an existing place.
fn check_faults(directory: &Path, faults: &Faults) {
    assert!(
        faults.iter().any(|fault| fault.severity == Severity::Error),
        "the faults contain no error: {faults}"
    );
    check_places(directory, faults.iter());
}

/// Asserts that each fault names a file of the package and one of its lines.
fn check_places<'a>(directory: &Path, faults: impl Iterator<Item = &'a millibox_package::Fault>) {
    for fault in faults {
        super::assert_one_line(&fault.kind.to_string());
        assert!(!fault.to_string().contains('\n'), "{fault}");
        assert!(
            fault.path.starts_with(directory),
            "{fault} is outside {}",
            directory.display()
        );
        assert!(fault.column.is_none() || fault.line.is_some(), "{fault}");
        if let (Some(line), Ok(bytes)) = (fault.line, fs::read(&fault.path)) {
            let lines = 1 + bytes
                .iter()
                .filter(|byte| matches!(byte, b'\n' | b'\r'))
                .count();
            assert!(
                (1..=lines + 1).contains(&(line as usize)),
                "{fault}: the file has {lines} lines"
            );
        }
        assert_ne!(fault.column, Some(0), "{fault}");
    }
}

/// Asserts that the problem's files lie in its directory and that its values are valid.
fn check_problem(directory: &Path, problem: &Problem) {
    check_places(directory, problem.warnings.iter());
    let inside = |path: &Path| {
        assert!(
            path.starts_with(&problem.directory),
            "{} is outside",
            path.display()
        )
    };
    for test in problem.tests() {
        inside(&test.input);
        test.answer.iter().for_each(|path| inside(path));
        assert_ne!(test.memory, Some(0), "{}", test.name);
        assert_ne!(test.cpu_time, Some(Duration::ZERO), "{}", test.name);
        assert_eq!(
            problem.test(&test.name).map(|found| &found.input),
            Some(&test.input),
            "two tests have the same name"
        );
    }
    for submission in &problem.submissions {
        inside(&submission.program.path);
        submission
            .program
            .sources
            .iter()
            .for_each(|path| inside(path));
        assert!(
            submission.score.is_none_or(|(from, to)| from <= to),
            "{}",
            submission.name
        );
    }
    assert_ne!(problem.limits.memory, Some(0));
    assert_ne!(problem.limits.cpu_time, Some(Duration::ZERO));
    let factors = [problem.limits.from_accepted, problem.limits.to_exceeded];
    assert!(
        factors
            .into_iter()
            .flatten()
            .all(|factor| factor.is_finite() && factor > 0.0)
    );
    let ranges = |group: &Group| {
        let rules = &group.rules;
        assert!(
            rules.range.is_none_or(|(from, to)| from <= to),
            "{}: {:?}",
            group.name,
            rules.range
        );
        let points = [rules.accept_score, rules.reject_score, rules.points];
        assert!(
            points.into_iter().flatten().all(|points| !points.is_nan()),
            "{}: {points:?}",
            group.name
        );
    };
    problem.groups().for_each(ranges);
}

/// Reads a package from files. The result must not depend on the order of directory entries.
fn files(bytes: &[u8]) {
    let directory = directory();
    write_files(directory.path(), bytes);
    let first = read(directory.path());
    match &first {
        Ok(found) => check_problem(directory.path(), found),
        Err(found) => check_faults(directory.path(), found),
    }
    let (first, second) = (
        first.map(|found| found.root.clone()),
        read(directory.path()).map(|found| found.root),
    );
    assert_eq!(
        format!("{first:?}"),
        format!("{second:?}"),
        "a second read returns another result"
    );
    for found in [
        read_unfinished(directory.path()),
        read_whole(directory.path()),
    ] {
        match found {
            Ok(found) => check_problem(directory.path(), &found),
            Err(found) => check_faults(directory.path(), &found),
        }
    }
}

/// Reads a package from an archive, which must create no files beside the archive.
fn zip(bytes: &[u8]) {
    let directory = directory();
    let path = directory.path().join("x.zip");
    fs::write(&path, bytes).expect("the directory is writable");
    match read(&path) {
        Ok(found) => {
            let unpacked = found
                .unpacked
                .clone()
                .expect("an archive has a directory of unpacked files");
            assert!(found.directory.starts_with(unpacked.path()));
            check_problem(&path, &found);
        }
        Err(found) => check_faults(&path, &found),
    }
    let left = fs::read_dir(directory.path())
        .expect("the directory is readable")
        .count();
    assert_eq!(left, 1, "a file was left beside the archive");
}

/// Writes a time limit into a file. The file must then contain exactly one.
fn edit(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let time = Duration::from_millis(1250);
    if let Ok(new) = edit::yaml_time_limit(text, time) {
        assert!(edit::yaml_has_time_limit(&new), "{new}");
        assert_eq!(
            edit::yaml_time_limit(&new, time).as_ref(),
            Ok(&new),
            "a second write changes the file"
        );
    }
    let new = edit::ini_time_limit(text, time);
    assert!(edit::ini_has_time_limit(&new), "{new}");
    let lines = |text: &str| text.replace('\r', "");
    assert_eq!(
        lines(&edit::ini_time_limit(&new, time)),
        lines(&new),
        "a second write changes the file"
    );
}

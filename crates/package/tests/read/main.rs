//! Reads small packages, each of which tests one rule.

mod archive;
mod data;
mod domjudge;
mod faults;
mod files;
mod generators;
mod groups;
mod header;
mod never_panics;
mod points;
mod programs;
mod sim;
mod submissions;

use millibox_package::{Fault, FaultKind, Faults, Problem, Severity};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A package in a temporary directory.
struct Package {
    directory: TempDir,
}

impl Package {
    fn empty() -> Package {
        Package {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Creates an ICPC package with this problem.yaml, one secret test and one submission.
    fn icpc(header: &str) -> Package {
        let package = Package::empty();
        package
            .file("problem.yaml", header)
            .file("data/secret/1.in", "1\n")
            .file("data/secret/1.ans", "1\n")
            .file("submissions/accepted/a.cpp", "");
        package
    }

    fn legacy() -> Package {
        Package::icpc("name: Legacy\n")
    }

    fn successor(header: &str) -> Package {
        Package::icpc(&format!(
            "problem_format_version: 2023-07\nname: New\nuuid: 1\n{header}"
        ))
    }

    /// Creates a Sim package with one test and additional lines in its Simfile.
    fn sim(simfile: &str) -> Package {
        let package = Package::empty();
        package
            .file(
                "Simfile",
                &format!("name: Sum of two\nlabel: sum\nmemory_limit: 64\n{simfile}"),
            )
            .file("in/sum1.in", "1\n")
            .file("out/sum1.out", "1\n")
            .file("prog/sum.cpp", "");
        package
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("pack")
    }

    fn file(&self, path: &str, text: &str) -> &Package {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a test with input and answer.
    fn test(&self, name: &str) -> &Package {
        self.file(&format!("data/{name}.in"), "")
            .file(&format!("data/{name}.ans"), "")
    }

    fn link(&self, path: &str, target: &str) -> &Package {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    fn remove(&self, path: &str) -> &Package {
        fs::remove_file(self.path().join(path)).unwrap();
        self
    }

    fn read(&self) -> Result<Problem, Faults> {
        millibox_package::read(&self.path())
    }

    /// Returns the problem. Panics if the package has errors.
    fn problem(&self) -> Problem {
        self.read().unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// Returns all faults, one per line, with paths relative to the package.
    fn faults(&self) -> String {
        let faults: Vec<_> = match self.read() {
            Ok(problem) => problem.warnings,
            Err(faults) => faults.into_iter().collect(),
        };
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        lines
            .join("\n")
            .replace(&format!("{}/", self.path().display()), "")
            .replace(&self.path().display().to_string(), "pack")
    }

    /// Returns whether the package can be read, and its faults.
    fn found(&self) -> (bool, Vec<Fault>) {
        match self.read() {
            Ok(problem) => (true, problem.warnings),
            Err(faults) => (false, faults.into_iter().collect()),
        }
    }

    /// Asserts that reading fails with this error.
    #[track_caller]
    fn refused(&self, kind: impl Into<FaultKind>) {
        self.refused_if(&kind.into(), |_| true);
    }

    /// Asserts that reading fails with this error at a place, which is `FILE`, `FILE:LINE` or
    /// `FILE:LINE:COLUMN`.
    #[track_caller]
    fn refused_at(&self, place: &str, kind: impl Into<FaultKind>) {
        self.refused_if(&kind.into(), |fault| self.place(fault) == place);
    }

    #[track_caller]
    fn refused_if(&self, kind: &FaultKind, is_there: impl Fn(&Fault) -> bool) {
        let (is_read, faults) = self.found();
        let is_wanted = |fault: &Fault| {
            fault.severity == Severity::Error && fault.kind == *kind && is_there(fault)
        };
        assert!(
            !is_read && faults.iter().any(is_wanted),
            "{kind:?} is not in {faults:#?}"
        );
    }

    /// Asserts that reading succeeds with this warning.
    #[track_caller]
    fn warned(&self, kind: impl Into<FaultKind>) {
        self.warned_if(&kind.into(), |_| true);
    }

    /// Asserts that reading succeeds with this warning at a place, as in [`Package::refused_at`].
    #[track_caller]
    fn warned_at(&self, place: &str, kind: impl Into<FaultKind>) {
        self.warned_if(&kind.into(), |fault| self.place(fault) == place);
    }

    #[track_caller]
    fn warned_if(&self, kind: &FaultKind, is_there: impl Fn(&Fault) -> bool) {
        let (is_read, faults) = self.found();
        let is_wanted = |fault: &Fault| fault.kind == *kind && is_there(fault);
        assert!(
            is_read && faults.iter().any(is_wanted),
            "{kind:?} is not in {faults:#?}"
        );
    }

    /// Returns the place of a fault, with its path below the package. `pack` is the package itself.
    fn place(&self, fault: &Fault) -> String {
        let path = fault.path.strip_prefix(self.path()).unwrap_or(&fault.path);
        let path = path.display().to_string();
        let number = |number: Option<u32>| number.map_or(String::new(), |it| format!(":{it}"));
        let path = if path.is_empty() { "pack" } else { &path };
        format!("{path}{}{}", number(fault.line), number(fault.column))
    }

    #[track_caller]
    fn silent(&self) {
        assert_eq!(self.faults(), "");
    }
}

fn names(problem: &Problem) -> Vec<&str> {
    problem.tests().map(|test| &*test.name).collect()
}

fn below(path: &Path, package: &Package) -> String {
    path.strip_prefix(package.path())
        .unwrap()
        .display()
        .to_string()
}

//! Reads small packages, each of which tests one rule.

mod archive;
mod data;
mod faults;
mod files;
mod generators;
mod header;
mod never_panics;
mod points;
mod programs;
mod sim;
mod submissions;

use millibox_package::{Faults, Problem};
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

    /// An ICPC package with this problem.yaml, one secret test and one submission.
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

    /// A Sim package with one test and additional lines in its Simfile.
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

    /// The problem. Panics if the package has errors.
    fn problem(&self) -> Problem {
        self.read().unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// All faults, one per line, with paths relative to the package.
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

    /// Asserts that reading fails with an error that contains these words.
    #[track_caller]
    fn refused(&self, words: &str) {
        assert!(
            self.read().is_err(),
            "the package has no error: {:?}",
            self.faults()
        );
        let faults = self.faults();
        assert!(
            faults
                .lines()
                .any(|line| line.contains(": error: ") && line.contains(words)),
            "{words:?} is not in\n{faults}"
        );
    }

    /// Asserts that reading succeeds with a warning that contains these words.
    #[track_caller]
    fn warned(&self, words: &str) {
        let warnings: Vec<String> = self
            .problem()
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(
            warnings.iter().any(|line| line.contains(words)),
            "{words:?} is not in {warnings:?}"
        );
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

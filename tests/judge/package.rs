//! Writes problem packages for tests, judges them with the command and returns its results.

use crate::setting::supervisor;
use millibox::Backend;
use millibox_tests::executable;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A package under construction, with a directory for temporary files and one for the cache.
pub struct Package {
    pub directory: TempDir,
}

impl Package {
    pub fn empty() -> Package {
        // No other user may write to this directory. Otherwise the command would keep no cache
        // there.
        let package = Package {
            directory: tempfile::tempdir().unwrap(),
        };
        millibox_tests::set_mode(package.directory.path(), 0o755);
        for place in ["tmp", "cache"] {
            fs::create_dir(package.directory.path().join(place)).unwrap();
        }
        millibox_tests::set_mode(&package.directory.path().join("tmp"), 0o755);
        package
    }

    /// Creates a legacy package with these lines in problem.yaml. The task is to double a number,
    /// and the time limit is one second.
    pub fn new(header: &str) -> Package {
        let package = Package::empty();
        package
            .file("problem.yaml", &format!("name: Double\n{header}"))
            .file("domjudge-problem.ini", "timelimit=1\n");
        package
            .test("sample/1", "1\n", "2\n")
            .test("secret/1", "21\n", "42\n")
    }

    /// Creates the same problem in version 2023-07 of the format.
    pub fn newer(header: &str) -> Package {
        let package = Package::empty();
        package.file(
            "problem.yaml",
            &format!(
                "problem_format_version: 2023-07\nname: Double\nuuid: 1\nlimits: \
                {{time_limit: 1}}\n{header}"
            ),
        );
        package
            .test("sample/1", "1\n", "2\n")
            .test("secret/1", "21\n", "42\n")
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("double")
    }

    pub fn file(&self, path: &str, text: &str) -> &Package {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self
    }

    pub fn test(self, name: &str, input: &str, answer: &str) -> Package {
        self.file(&format!("data/{name}.in"), input)
            .file(&format!("data/{name}.ans"), answer);
        self
    }

    pub fn submission(&self, name: &str, text: &str) -> &Package {
        self.file(&format!("submissions/{name}"), text)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_on(&self.path(), arguments)
    }

    /// Returns `millibox judge` for a package at another path.
    pub fn command_on(&self, package: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("judge")
            .args(backend_option())
            .arg(package)
            .args(arguments);
        command.env("TMPDIR", self.directory.path().join("tmp"));
        command
            .env("XDG_CACHE_HOME", self.directory.path().join("cache"))
            .stdin(Stdio::null());
        command
    }

    pub fn judge(&self, arguments: &[&str]) -> Judged {
        let report = self.directory.path().join("report.json");
        let _ = fs::remove_file(&report);
        let mut command = self.command(arguments);
        let output = command
            .arg("--report")
            .arg("json")
            .arg(&report)
            .output()
            .unwrap();
        let left: Vec<_> = fs::read_dir(self.directory.path().join("tmp"))
            .unwrap()
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        Judged {
            status: output.status.code().expect("an exit status"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            report: fs::read(&report).map_or(Value::Null, |report| {
                serde_json::from_slice(&report).unwrap()
            }),
        }
    }
}

/// The results of `millibox judge`.
#[derive(Debug)]
pub struct Judged {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    pub report: Value,
}

impl Judged {
    #[track_caller]
    pub fn exits_with(&self, status: i32) -> &Judged {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn submission(&self, name: &str) -> &Value {
        let all = self.report["submissions"]
            .as_array()
            .unwrap_or_else(|| panic!("{self:?}"));
        all.iter()
            .find(|one| one["name"].as_str().unwrap().ends_with(name))
            .unwrap_or_else(|| panic!("{name}: {all:?}"))
    }

    #[track_caller]
    pub fn verdict(&self, name: &str) -> &str {
        self.submission(name)["verdict"].as_str().unwrap_or("none")
    }

    /// Returns the verdicts of a submission's tests.
    #[track_caller]
    pub fn tests(&self, name: &str) -> Vec<&str> {
        let tests = self.submission(name)["tests"].as_array().unwrap();
        tests
            .iter()
            .map(|test| test["verdict"].as_str().unwrap_or("none"))
            .collect()
    }

    #[track_caller]
    pub fn prints(&self, text: &str) -> &Judged {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(all.contains(text), "{text:?} is not in\n{all}");
        self
    }
}

pub fn has_cgroups() -> bool {
    static HAS_CGROUPS: OnceLock<bool> = OnceLock::new();
    *HAS_CGROUPS.get_or_init(|| supervisor().info().backend() != Backend::Rlimit)
}

/// Returns the backend option for this machine: without cgroups, the command needs `--backend
/// rlimit`.
pub fn backend_option() -> &'static [&'static str] {
    if has_cgroups() {
        &[]
    } else {
        &["--backend", "rlimit"]
    }
}

//! Tests of `millibox problem`: from an empty directory to an archive, and the failures that may
//! occur on the way.

mod archive;
mod failures;
mod generate;
mod init;
mod limits;
mod validate;

use crate::setting::supervisor;
use millibox::Backend;
use millibox_tests::{directory, executable, set_mode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A directory with packages and its own cache of compiled programs.
struct Workspace {
    directory: TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let directory = directory();
        // The command keeps no cache in a directory that other users can write to. If root starts
        // the test, the sandbox's user cannot even enter the directory, just as it cannot enter
        // root's home.
        set_mode(directory.path(), 0o700);
        std::fs::create_dir(directory.path().join("cache")).unwrap();
        Workspace { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns `millibox` with these arguments, and with the backend that a machine without cgroups
    /// needs.
    fn command(&self, arguments: &[&str]) -> Command {
        static RLIMIT: OnceLock<bool> = OnceLock::new();
        let rlimit = *RLIMIT.get_or_init(|| supervisor().info().backend() == Backend::Rlimit);
        let mut command = Command::new(executable("millibox"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("XDG_CACHE_HOME", self.path("cache"));
        command
            .env("MILLIBOX_SUPERVISOR", executable("millibox-supervisor"))
            .stdin(Stdio::null());
        if rlimit && arguments.get(1) != Some(&"clean") {
            command.args(["--backend", "rlimit"]);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput(self.command(arguments).output().expect("millibox"))
    }

    /// Runs `millibox problem`, which must succeed, and returns its standard output.
    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.problem(arguments);
        assert_eq!(output.status(), 0, "{arguments:?}: {output:?}");
        output.stdout()
    }

    /// Runs `millibox problem` with `--json` and returns the parsed output.
    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.succeed(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn problem(&self, arguments: &[&str]) -> CommandOutput {
        self.run(&[&["problem"], arguments].concat())
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} has no {old:?}: {text}");
        self.write(path, text.replace(old, new));
    }

    /// Creates a package.
    fn init(&self, name: &str, more: &[&str]) {
        self.succeed(&[&["init", name], more].concat());
    }

    /// Returns all files of a package with their content, including the directory .millibox.
    fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.path(name)];
        while let Some(next) = waiting.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let below = path
                    .strip_prefix(self.path(name))
                    .unwrap()
                    .display()
                    .to_string();
                if path.is_dir() {
                    waiting.push(path);
                    files.insert(below + "/", Vec::new());
                } else {
                    files.insert(below, std::fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// Runs a command that must exit with this status, print this text and leave all files of the
    /// package unchanged.
    fn assert_fails(&self, package: &str, arguments: &[&str], status: i32, part: &str) {
        let before = self.files(package);
        let output = self.problem(arguments);
        assert_eq!(output.status(), status, "{arguments:?}: {output:?}");
        let all = output.stdout() + &output.stderr();
        assert!(
            all.contains(part),
            "{arguments:?} does not print {part:?}: {output:?}"
        );
        let after = self.files(package);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after));
        assert!(before == after, "{arguments:?} changed a file");
    }
}

struct CommandOutput(Output);

impl CommandOutput {
    fn status(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

impl std::fmt::Debug for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}{}", self.0.status, self.stdout(), self.stderr())
    }
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|made| made["path"].as_str().unwrap())
        .collect()
}

/// Writes a Sim package whose programs are scripts, which need no compiler.
fn scripts(workspace: &Workspace, gen_lines: &str) {
    workspace.write(
        "p/Simfile",
        "name: Scripts\nlabel: scr\nmemory_limit: 64\nsolutions: [prog/model.sh]\n",
    );
    workspace.write(
        "p/Sipfile",
        format!("default_time_limit: 5\nbase_seed: 7\nstatic: [0a]\ngen: [\n{gen_lines}\n]\n"),
    );
    workspace.write("p/prog/model.sh", "read -r line\necho \"$line!\"\n");
    workspace.write(
        "p/utils/gen.sh",
        "echo \"$1 $SIP_TEST_NAME $SIP_TEST_SEED\"\n",
    );
    workspace.write("p/in/0a.in", "hand\n");
}

/// Writes an ICPC package whose programs are scripts.
fn icpc_scripts(workspace: &Workspace, generators: &str) {
    workspace.write(
        "p/problem.yaml",
        "name: Scripts\nlimits:\n  time_limit: 0.5 # seconds\n  memory: 64\n",
    );
    workspace.write("p/generators/generators.yaml", generators);
    workspace.write("p/generators/gen.sh", "echo \"$@\"\n");
    workspace.write(
        "p/submissions/accepted/model.sh",
        "read -r line\necho \"$line!\"\n",
    );
    workspace.write(
        "p/input_validators/any.sh",
        "read -r line\n[ \"$line\" != bad ] && exit 42\necho never >&2\nexit 43\n",
    );
    workspace.write("p/data/sample/1.in", "hand\n");
}

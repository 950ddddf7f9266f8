//! Failures of `millibox problem`: a full disk, signals, paths that are not packages, and records
//! in a package that name files outside it.

use super::{CommandOutput, Workspace, icpc_scripts, scripts};
use millibox_tests::{eventually, is_root, set_mode, skip};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn gen_on_full_disk_changes_nothing() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x\n1b gen.sh y");
    if !is_root() {
        workspace.succeed(&["gen", "p"]);
        workspace.replace("p/Sipfile", "gen.sh x", "gen.sh z");
        // The new file exists, but the rename to its final name fails.
        set_mode(&workspace.path("p/in"), 0o555);
        workspace.assert_fails("p", &["gen", "p"], 2, "in/1a.in: Permission denied");
        return set_mode(&workspace.path("p/in"), 0o755);
    }
    let Some(small) = SmallFileSystem::mount(workspace.path("small")) else {
        return skip("cannot mount a tmpfs");
    };
    let copied = Command::new("cp")
        .args(["-R", "p/.", "small"])
        .current_dir(workspace.directory.path())
        .status()
        .unwrap();
    assert!(copied.success());
    workspace.succeed(&["gen", "small"]);
    workspace.write(
        "small/utils/gen.sh",
        "[ $1 = x ] && echo x && exit\nhead -c 4000000 /dev/zero\n",
    );
    workspace.assert_fails("small", &["gen", "small"], 2, "No space left on device");
    drop(small);
}

/// A tmpfs with a size of 1 MiB.
struct SmallFileSystem(PathBuf);

impl SmallFileSystem {
    fn mount(at: PathBuf) -> Option<SmallFileSystem> {
        std::fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=755", "none"])
            .arg(&at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(SmallFileSystem(at))
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn gen_interrupted_by_signal_changes_nothing() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x\n1b gen.sh y");
    workspace.succeed(&["gen", "p"]);
    workspace.write("p/utils/gen.sh", "echo new; [ $1 = x ] || sleep 1000\n");
    let before = workspace.files("p");
    let mut command = workspace.command(&["problem", "gen", "p"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_begun =
        || std::fs::read(workspace.path("p/.millibox/new/1")).is_ok_and(|bytes| !bytes.is_empty());
    assert!(eventually(Duration::from_secs(60), has_begun));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let output = CommandOutput(child.wait_with_output().unwrap());
    assert_eq!(output.status(), 128 + 2, "{output:?}");
    assert!(!output.stdout().contains("failed"), "{output:?}");
    let stderr = output.stderr();
    assert!(
        stderr.lines().count() == 1 && stderr.contains("received SIGINT;"),
        "{stderr}"
    );
    assert!(before == workspace.files("p"), "a file changed");
    // A second command that changes the package is rejected.
    let _lock = {
        let lock = std::fs::File::open(workspace.path("p/.millibox")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        lock
    };
    workspace.assert_fails("p", &["gen", "p"], 125, "is working on p");
}

#[test]
fn problem_command_on_other_files_fails_with_one_message() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("empty")).unwrap();
    workspace.write("file", "no archive");
    for (place, why) in [
        (
            "nowhere",
            "nowhere: error: cannot be read: No such file or directory",
        ),
        ("empty", "empty: error: not a problem package: "),
        (
            "file",
            "file: error: neither a directory nor a zip archive: ",
        ),
    ] {
        for words in [
            &["validate", place][..],
            &["validate", "--json", place],
            &["zip", place],
            &["gen", place],
        ] {
            let output = workspace.problem(words);
            assert_eq!(
                (output.status(), output.stdout()),
                (2, String::new()),
                "{words:?}: {output:?}"
            );
            let text = output.stderr();
            assert!(
                text.starts_with(why) && text.lines().count() == 1,
                "{words:?}: {text}"
            );
        }
    }
    // In a package's directory, the argument probably names a test.
    workspace.write("problem.yaml", "");
    let output = workspace.problem(&["gen", "secret/1"]);
    let hint =
        "\nmillibox: PACKAGE comes first, and tests after it: millibox problem gen . secret/1\n";
    assert!(
        output.status() == 2 && output.stderr().contains(hint),
        "{output:?}"
    );
}

/// SHA-256 of an empty file.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Creates a package beside files that do not belong to it.
fn package_beside_other_files() -> Workspace {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write("outside/file", "");
    workspace.write("outside/new/file", "");
    workspace.write("outside/made.json", "{}");
    std::fs::create_dir(workspace.path("outside/empty")).unwrap();
    workspace
}

#[test]
fn record_directory_that_is_link_or_file_is_rejected() {
    let workspace = package_beside_other_files();
    workspace.succeed(&["gen", "p"]);
    std::fs::rename(workspace.path("p/.millibox"), workspace.path("kept")).unwrap();
    std::os::unix::fs::symlink("../outside", workspace.path("p/.millibox")).unwrap();
    let before = workspace.files("outside");
    let refused = |arguments: &[&str]| {
        workspace.assert_fails(
            "p",
            arguments,
            2,
            "millibox: cannot use p/.millibox: it is not a directory; remove it\n",
        );
        assert!(before == workspace.files("outside"), "{arguments:?}");
    };
    refused(&["clean", "p"]);
    refused(&["clean", "p", "--dry-run"]);
    refused(&["gen", "p", "--all"]);
    refused(&["limits", "p", "--write"]);
    std::fs::remove_file(workspace.path("p/.millibox")).unwrap();
    workspace.write("p/.millibox", "");
    refused(&["clean", "p"]);
}

#[test]
fn record_naming_paths_outside_package_is_rejected() {
    let workspace = package_beside_other_files();
    let outside = workspace.files("outside");
    let absolute = workspace.path("outside/file").display().to_string();
    let record = |files: &[&str], directories: &[&str]| {
        let files: BTreeMap<_, _> = files
            .iter()
            .map(|file| (*file, serde_json::json!({"of": "x", "content": EMPTY})))
            .collect();
        let record = serde_json::json!({"version": 1, "files": files, "directories": directories});
        workspace.write("p/.millibox/made.json", record.to_string());
    };
    let refused = |command: &str, why: &str| {
        workspace.assert_fails("p", &[command, "p"], 2, why);
        assert!(outside == workspace.files("outside"), "{why}");
    };
    for path in [
        "../outside/file",
        "data/../../outside/file",
        &absolute,
        "",
        "data//x",
        ".",
        "a\0b",
    ] {
        record(&[path], &[]);
        let why = format!(
            "made.json: it names {path:?}, which is not a path in the package; remove this record\n"
        );
        refused("clean", &why);
        refused("gen", &why);
    }
    std::fs::File::create(workspace.path("p/.millibox/made.json"))
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    refused(
        "clean",
        "cannot read p/.millibox/made.json: longer than 64 MiB; remove it\n",
    );
    record(&[], &["../outside/empty"]);
    refused(
        "clean",
        "made.json: it names \"../outside/empty\", which is not a path in the package; remove this \
         record\n",
    );

    // A path through a link in the package also leads out of the package.
    std::os::unix::fs::symlink("../outside", workspace.path("p/way")).unwrap();
    record(&["way/file"], &["way/empty"]);
    refused(
        "clean",
        "cannot remove p/way/file: a directory above it is a symbolic link or not a directory; \
         nothing was removed\n",
    );
    record(&[], &["way/empty"]);
    workspace.succeed(&["clean", "p"]);
    assert!(outside == workspace.files("outside"));
    // A generated file is never a link, so `clean` keeps the link.
    std::os::unix::fs::symlink("../outside/file", workspace.path("p/link")).unwrap();
    record(&["link"], &[]);
    assert_eq!(
        workspace.json(&["clean", "p"])["kept"],
        serde_json::json!(["link"])
    );

    // The command does not wait for the writer of a FIFO.
    for (name, expected) in [
        (
            "made.json",
            "made.json: it is not a regular file; remove it\n",
        ),
        ("fifo", "kept fifo"),
    ] {
        std::fs::remove_file(workspace.path("p/.millibox/made.json")).unwrap();
        record(&["fifo"], &[]);
        let place = if name == "fifo" {
            workspace.path("p/fifo")
        } else {
            workspace.path("p/.millibox/made.json")
        };
        let _ = std::fs::remove_file(&place);
        assert!(
            Command::new("mkfifo")
                .arg(&place)
                .status()
                .unwrap()
                .success()
        );
        let mut child = workspace.command(&["problem", "clean", "p"]);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = eventually(Duration::from_secs(60), || {
            child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        let output = CommandOutput(child.wait_with_output().unwrap());
        assert!(ended, "{name}");
        assert!(
            (output.stdout() + &output.stderr()).contains(expected),
            "{output:?}"
        );
    }
}

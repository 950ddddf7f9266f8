//! `millibox problem zip`, and links in packages.

use super::{CommandOutput, Workspace, icpc_scripts};
use millibox_tests::{eventually, executable};
use serde_json::Value;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn zip_of_package_with_outside_link_fails() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.succeed(&["gen", "p"]);
    std::os::unix::fs::symlink("model.sh", workspace.path("p/submissions/accepted/same.sh"))
        .unwrap();
    workspace.succeed(&["zip", "p", "-o", "p.zip", "--force"]);
    let packed = millibox_package::read(&workspace.path("p.zip")).unwrap();
    assert!(
        packed
            .directory
            .join("submissions/accepted/same.sh")
            .symlink_metadata()
            .unwrap()
            .is_file()
    );
    std::os::unix::fs::symlink("/etc/passwd", workspace.path("p/attachments")).unwrap();
    workspace.assert_fails(
        "p",
        &["zip", "p", "-o", "out.zip", "--force"],
        2,
        "outside the package",
    );
    assert!(!workspace.path("out.zip").exists());
}

#[test]
fn programs_linked_within_package_are_used() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    let link = |target: &str, path: &str| {
        std::fs::rename(workspace.path(&format!("p/{path}")), workspace.path(target)).unwrap();
        let up = "../".repeat(path.matches('/').count());
        let target = target
            .strip_prefix("p/")
            .map_or(format!("{up}../{target}"), |target| format!("{up}{target}"));
        std::os::unix::fs::symlink(target, workspace.path(&format!("p/{path}"))).unwrap();
    };
    std::fs::create_dir(workspace.path("p/attachments")).unwrap();
    link("p/attachments/gen.sh", "generators/gen.sh");
    link("p/attachments/val.sh", "input_validators/any.sh");
    link("p/generators/sol.sh", "submissions/accepted/model.sh");
    workspace.succeed(&["gen", "p"]);
    workspace.succeed(&["validate", "p"]);
    let judged = workspace.run(&["judge", "p"]);
    assert_eq!(judged.status(), 0, "{judged:?}");
    // The command does not follow a link that leads out of the package.
    link("outside.sh", "attachments/val.sh");
    workspace.assert_fails(
        "p",
        &["validate", "p"],
        1,
        "input_validators/any.sh: error: symbolic link to ",
    );
}

#[test]
fn zip_to_path_that_is_not_file_fails() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    let zip = |place: &str| workspace.problem(&["zip", "p", "--force", "-o", place]);
    let refused = |place: &str, why: &str| {
        let kind = || {
            workspace
                .path(place)
                .symlink_metadata()
                .map(|found| found.file_type())
                .ok()
        };
        let before = kind();
        let output = zip(place);
        assert_eq!(
            (output.status(), output.stderr()),
            (2, format!("millibox: cannot write {place}: {why}\n")),
            "{place}"
        );
        assert_eq!(before, kind(), "{place}");
    };
    let other = "it is not a regular file; name another path";
    std::fs::create_dir(workspace.path("directory")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(workspace.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    std::os::unix::fs::symlink("fifo", workspace.path("to_fifo")).unwrap();
    std::os::unix::fs::symlink("nothing", workspace.path("to_nothing")).unwrap();
    for place in ["directory", "fifo", "to_fifo"] {
        refused(place, other);
    }
    refused(
        "to_nothing",
        "it is a symbolic link to a file that does not exist; name another path",
    );
    refused("none/p.zip", "No such file or directory (os error 2)");
    refused("/proc/self/fd/2", other);
    // The test creates its own device, because other programs need /dev/full.
    if Command::new("mknod")
        .arg(workspace.path("full"))
        .args(["c", "1", "7"])
        .output()
        .unwrap()
        .status
        .success()
    {
        refused("full", other);
    }

    // The command keeps the link and replaces its target.
    workspace.write("file", "old");
    std::os::unix::fs::symlink("file", workspace.path("to_file")).unwrap();
    assert_eq!(zip("to_file").status(), 0);
    assert!(workspace.path("to_file").is_symlink());
    millibox_package::read(&workspace.path("file")).unwrap_err();
    assert!(
        std::fs::read(workspace.path("file"))
            .unwrap()
            .starts_with(b"PK")
    );
    let left = |name: &str| name.starts_with(".millibox-zip");
    let mut names = std::fs::read_dir(workspace.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| left(&name.to_string_lossy())));
}

#[test]
fn zip_without_space_keeps_old_archive() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    // These bytes cannot be compressed.
    let mut number = 1_u32;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    });
    workspace.write(
        "p/attachments/noise",
        noise.take(100_000).collect::<Vec<u8>>(),
    );
    workspace.write("out/p.zip", "old");
    // A limit on the file size causes the same failure as a full disk and needs no privileges.
    let line = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", line, "sh"])
        .arg(executable("millibox"))
        .args(["problem", "zip", "p", "--force", "-o", "out/p.zip"])
        .current_dir(workspace.directory.path())
        .output();
    let output = CommandOutput(output.unwrap());
    assert_eq!(
        output.stderr(),
        "millibox: cannot write out/p.zip: File too large (os error 27)\n",
        "{output:?}"
    );
    assert_eq!(
        (
            output.status(),
            output.stdout(),
            workspace.read("out/p.zip")
        ),
        (2, String::new(), "old".to_owned())
    );
    assert_eq!(std::fs::read_dir(workspace.path("out")).unwrap().count(), 1);
}

#[test]
fn zip_of_archive_without_output_rewrites_it() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.succeed(&["gen", "p"]);
    workspace.succeed(&["zip", "p", "-o", "packed.zip"]);
    let packed = std::fs::read(workspace.path("packed.zip")).unwrap();
    // This is an archive from another tool, with a comment. The comment is the last part of an
    // archive and follows its length.
    let length = packed.len() - 2;
    workspace.write("mine.zip", [&packed[..length], b"\x05\x00other"].concat());
    let other = std::fs::read(workspace.path("mine.zip")).unwrap();
    assert!(
        workspace
            .succeed(&["zip", "mine.zip", "-o", "named.zip"])
            .starts_with("named.zip: ")
    );
    assert!(other == std::fs::read(workspace.path("mine.zip")).unwrap());
    assert!(packed == std::fs::read(workspace.path("named.zip")).unwrap());
    assert!(
        workspace
            .succeed(&["zip", "mine.zip"])
            .starts_with("mine.zip: ")
    );
    assert!(packed == std::fs::read(workspace.path("mine.zip")).unwrap());
}

#[test]
fn reports_with_non_utf_8_names_are_valid_json() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    let name = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_owned();
    std::fs::rename(
        workspace.path("p"),
        workspace.directory.path().join(name(b"p\xff")),
    )
    .unwrap();
    let run = |arguments: &[&str], names: &[&[u8]]| {
        let output = CommandOutput(
            workspace
                .command(arguments)
                .args(names.iter().map(|bytes| name(bytes)))
                .output()
                .unwrap(),
        );
        let report: Value = serde_json::from_str(&output.stdout())
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status(), report)
    };
    let (status, report) = run(&["problem", "validate", "--json"], &[b"p\xff"]);
    assert_eq!(
        (status, &report["faults"][0]["path"]),
        (1, &"p\u{fffd}/data/sample/1.in".into()),
        "{report}"
    );
    let (status, report) = run(
        &["problem", "zip", "--force", "--json"],
        &[b"p\xff", b"-o", b"o\xff.zip"],
    );
    assert_eq!(
        (status, &report["path"]),
        (0, &"o\u{fffd}.zip".into()),
        "{report}"
    );
    assert!(
        workspace
            .directory
            .path()
            .join(name(b"o\xff.zip"))
            .is_file()
    );
}

#[test]
fn zip_interrupted_by_signal_keeps_old_archive() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {}\n");
    workspace.write("out/p.zip", "old");
    // A sparse file takes a long time to pack but occupies no space.
    workspace.write("p/attachments/large", "");
    std::fs::File::options()
        .write(true)
        .open(workspace.path("p/attachments/large"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let mut command = workspace.command(&["problem", "zip", "p", "--force", "-o", "out/p.zip"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let names = || {
        std::fs::read_dir(workspace.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let is_written = |path: &PathBuf| {
        !path.ends_with("p.zip") && path.metadata().is_ok_and(|file| file.len() > 1000)
    };
    assert!(eventually(Duration::from_secs(60), || names()
        .iter()
        .any(is_written)));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let output = CommandOutput(child.wait_with_output().unwrap());
    assert_eq!(
        (
            output.status(),
            output.stdout(),
            workspace.read("out/p.zip")
        ),
        (128 + 2, String::new(), "old".to_owned())
    );
    assert_eq!(
        output.stderr(),
        "millibox: received SIGINT; the running programs were killed\n"
    );
    assert_eq!(names().len(), 1);
}

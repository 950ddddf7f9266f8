//! The files that go-judge's `mount.yaml` describes.

use super::{Judge, command, shell};
use crate::server::backend;
use millibox_tests::executable;
use serde_json::json;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// The beginning of each file: programs, libraries and the working directory.
const SYSTEM: &str = "mount:
  - {type: bind, source: /bin, target: /bin, readonly: true}
  - {type: bind, source: /lib, target: /lib, readonly: true}
  - {type: bind, source: /lib64, target: /lib64, readonly: true}
  - {type: bind, source: /usr, target: /usr, readonly: true}
  - {type: bind, source: /dev/null, target: /dev/null}
  - {type: tmpfs, target: /box, data: 'size=4m,nr_inodes=1k'}
  - {type: tmpfs, target: /tmp, data: 'size=4m'}
";

/// A directory with a `mount.yaml`, and the configuration that names it.
fn configured(text: &str) -> (TempDir, String) {
    let directory = millibox_tests::directory();
    let path = directory.path().join("mount.yaml");
    fs::write(&path, text).unwrap();
    let config = format!("[go_judge]\nmount_conf = {path:?}\n");
    (directory, config)
}

#[test]
fn commands_see_the_files_of_the_mount_file() {
    let (directory, config) = configured(&format!(
        "{SYSTEM}
  - {{type: bind, source: data, target: /data/shown, readonly: true}}
  - {{type: bind, source: missing, target: /data/missing}}
  - {{type: bind, source: names, target: /etc/passwd}}
  - {{type: bind, source: variables, target: /.env}}
proc: true
symLink:
  - {{linkPath: /data/link, target: shown/file}}
maskPath: [/data/shown/hidden, /proc/kcore]
workDir: /box
uid: 1536
gid: 1537
"
    ));
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("data/hidden")).unwrap();
    for (name, text) in [
        ("data/file", "shown"),
        ("data/hidden/file", "hidden"),
        ("names", "author:x:1536:1537::/box:/bin/sh\n"),
        ("variables", "# for all\nA=all\nB=all\n"),
    ] {
        fs::write(at(name), text).unwrap();
    }
    let judge = Judge::with_config(&config);
    let run = |script: &str| {
        let result = judge.run(shell(
            script,
            json!({
                "env": ["PATH=/usr/bin:/bin", "B=own"],
                "copyIn": {"in": {"content": "in"}},
                "copyOut": ["stdout", "out?", "/box/other?"],
            }),
        ));
        assert_eq!(result["status"], "Accepted", "{script}: {result}");
        result["files"].clone()
    };
    let output = |script: &str| run(script)["stdout"].clone();
    assert_eq!(output("cat /data/shown/file /data/link"), "shownshown");
    assert_eq!(output("id -u; id -g; id -un"), "1536\n1537\nauthor\n");
    assert_eq!(
        output("pwd; cat in; echo; echo $A $B"),
        "/box\nin\nall own\n"
    );
    assert_eq!(
        output("ls -A /data /data/shown/hidden"),
        "/data:\nlink\nshown\n\n/data/shown/hidden:\n"
    );
    // Nothing else of the machine is visible, and nothing of it can be changed.
    assert_eq!(
        output("ls / | xargs"),
        "bin box data dev etc lib lib64 proc tmp usr\n"
    );
    assert_eq!(output("ls /etc /dev | xargs"), "/dev: null /etc: passwd\n");
    let refused = "for f in /data/shown/file /etc/passwd /data/new; do \
        (echo a > $f) 2> /dev/null && echo $f; done; true";
    assert_eq!(output(refused), "");
    let files = run("echo 1 > out; echo 2 > other");
    assert_eq!(
        (&files["out"], &files["/box/other"]),
        (&json!("1\n"), &json!("2\n"))
    );
    // The tmpfs has the size of the file.
    assert_eq!(
        output("rm in; yes | head -c 5M 2> /dev/null > big; stat -c %s big"),
        "4194304\n"
    );

    let config: serde_json::Value = serde_json::from_slice(&judge.get("/config").1).unwrap();
    let runner = &config["runnerConfig"];
    assert_eq!(
        (&runner["workDir"], &runner["uid"]),
        (&json!("/box"), &json!(1536))
    );
}

#[test]
fn directory_may_be_writable_and_proc_may_be_absent() {
    let (directory, config) = configured(&format!(
        "{SYSTEM}  - {{type: bind, source: shared, target: /shared, readonly: false}}
workDir: /box
"
    ));
    let shared = directory.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let any = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(&shared, any).unwrap();
    let judge = Judge::with_config(&config);
    let result = judge.run(shell("echo a > /shared/a; test ! -e /proc", json!({})));
    assert_eq!(result["status"], "Accepted", "{result}");
    let result = judge.run(command(&["cat", "/shared/a"], json!({})));
    assert_eq!(result["files"]["stdout"], "a\n");
}

#[test]
fn size_of_the_usual_directories_is_configured() {
    let judge = Judge::with_config("[go_judge]\ntmp_fs_param = 'size=1m,nr_inodes=16'\n");
    let script = "df --output=size,itotal -k . /tmp | tail -n +2 | xargs";
    let result = judge.run(shell(script, json!({})));
    assert_eq!(result["files"]["stdout"], "1024 16 1024 16\n", "{result}");
}

#[test]
fn mistake_in_a_mount_file_prevents_the_start_with_one_message() {
    let start = |text: &str| {
        let (directory, config) = configured(text);
        let file = directory.path().join("config.toml");
        fs::write(&file, format!("languages = ['bash']\n{config}")).unwrap();
        let output = Command::new(executable("millibox"))
            .args(["serve", "--listen", "go-judge=127.0.0.1:0", "--config"])
            .arg(&file)
            .args(backend())
            .output()
            .unwrap();
        let path = directory.path().join("mount.yaml");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{text}: {error}");
        error.replace(path.to_str().unwrap(), "FILE")
    };
    for (text, place, remedy) in [
        ("mount: [", "FILE:", "YAML"),
        ("hostName: a\n", "FILE:9: ", "remove this line"),
        ("initCmd: ifconfig lo up\n", "FILE:9: ", "remove this line"),
        ("workDir: /w\n", "FILE:9: ", "type: tmpfs"),
        (
            "  - {type: bind, source: /dev, target: /dev}\n",
            "FILE:9: ",
            "each device",
        ),
        // go-judge cannot create this target either.
        (
            "  - {type: bind, source: /bin, target: /usr/none}\nworkDir: /box",
            "FILE: ",
            "/usr/none",
        ),
    ] {
        let text = match text {
            "mount: [" => text.to_owned(),
            text => format!("{SYSTEM}{text}"),
        };
        let error = start(&text);
        assert!(
            error.contains(place) && error.contains(remedy),
            "{text}: {error}"
        );
    }
}

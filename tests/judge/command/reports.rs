//! Reports, messages, the cache, and options for CPUs.

use super::DOUBLE;
use crate::package::{Judged, Package, has_cgroups};
use millibox_tests::executable;
use serde_json::Value;
use std::fs;
use std::process::Command;

#[test]
fn report_contains_warnings_of_package() {
    let package = Package::newer("");
    package.submission("accepted/double.sh", DOUBLE);
    assert_eq!(
        package.judge(&[]).exits_with(0).report["warnings"],
        serde_json::json!([])
    );
    package.submission("submissions.yaml", "accepted/*:\n  entrypoint: main\n");
    let judged = package.judge(&[]);
    let warning = &judged.exits_with(0).report["warnings"][0];
    assert!(
        warning["file"]
            .as_str()
            .unwrap()
            .ends_with("/double/submissions/submissions.yaml"),
        "{warning}"
    );
    assert_eq!(
        (&warning["line"], &warning["column"]),
        (&2.into(), &15.into())
    );
    assert!(
        warning["message"]
            .as_str()
            .unwrap()
            .starts_with("entrypoint is not supported"),
        "{warning}"
    );
}

#[test]
fn report_contains_enforced_memory_limit() {
    if !has_cgroups() {
        return;
    }
    let package = Package::newer("");
    package.submission("accepted/double.sh", DOUBLE);
    let judged = package.judge(&["--memory-limit", "100M"]);
    let test = &judged.exits_with(0).submission("double.sh")["tests"][0];
    assert_eq!(test["limits"]["memory_bytes"], 100 << 20);
    // suites/bash.toml adds 16 MiB.
    assert_eq!(test["enforced_memory_bytes"], 116 << 20);
    judged.prints("memory limit 100 MiB; ").prints(" / 116.0");
}

#[test]
fn messages_about_archive_name_archive() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/x.ghost", "boo\n");
    let zip = package.directory.path().join("p.zip");
    let judged = |arguments: &[&str]| {
        let packed = Command::new(executable("millibox"))
            .args(["problem", "zip", "--force", "-o"])
            .args([zip.as_path(), &package.path()])
            .output()
            .unwrap();
        assert!(packed.status.success(), "{packed:?}");
        let output = package.command_on(&zip, arguments).output().unwrap();
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!printed.contains("millibox-judge-"), "{printed}");
        printed
    };
    let prints = |printed: String, words: &str| {
        let words = words.replace("p.zip", zip.to_str().unwrap());
        assert!(printed.contains(&words), "{words}\n{printed}");
    };
    prints(
        judged(&["nosuch.py"]),
        "and no submission of that name in p.zip\n",
    );
    prints(
        judged(&["x.ghost"]),
        "judge error: p.zip/submissions/wrong_answer/x.ghost: neither the extension nor the first \
         line",
    );
    prints(
        judged(&["--tests", "x*"]),
        "p.zip: error: none of its 2 tests matches x*",
    );
    package
        .file("domjudge-problem.ini", "")
        .submission("accepted/wrong.sh", "echo 2\n");
    prints(
        judged(&["double.sh"]),
        "p.zip/submissions/accepted/wrong.sh: warning: does not count for the time limit",
    );
    package
        .file("problem.yaml", "name: x\nvalidation: custom\n")
        .file("output_validators/c.c", "int main(void) {\n");
    prints(
        judged(&[]),
        "p.zip/output_validators/c.c: error: the checker cannot be compiled: ",
    );
    prints(judged(&[]), "\n    ");
}

#[test]
fn report_on_stdout_is_only_output_there() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("accepted/again.sh", DOUBLE);
    let judge = |report: &[&str]| {
        package
            .command(report)
            .current_dir(package.directory.path())
            .output()
            .unwrap()
    };
    for path in ["-", "/dev/stdout"] {
        let output = judge(&["--report", "json", path]);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(
            report["submissions"].as_array().map(Vec::len),
            Some(2),
            "{report}"
        );
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && printed.contains("2 submissions: 2 as expected"),
            "{output:?}"
        );
    }
    for [one, other] in [
        ["-", "/dev/stdout"],
        ["-", "-"],
        ["out", "./out"],
        ["out", "tmp/../out"],
    ] {
        let output = judge(&["--report", "json", one, "--report", "html", other]);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(125), 0),
            "{one} {other}: {output:?}"
        );
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = printed.contains(&format!(
            "--report html {other}: another report goes there already"
        ));
        assert!(refused && printed.lines().count() == 1, "{printed}");
    }
    assert!(!package.directory.path().join("out").exists());
}

#[test]
fn reports_are_written_in_all_formats() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let path = |name: &str| {
        package
            .directory
            .path()
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    };
    let (html, junit) = (path("r.html"), path("r.xml"));
    package
        .judge(&["--report", "html", &html, "--report", "junit", &junit])
        .exits_with(0);
    assert!(fs::read_to_string(&html).unwrap().contains("double.sh"));
    assert!(fs::read_to_string(&junit).unwrap().contains("<testsuite"));
    let report = package.judge(&[]).report;
    assert_eq!(
        (
            report["problem"]["name"].as_str(),
            report["problem"]["format"].as_str()
        ),
        (Some("Double"), Some("legacy"))
    );
    let cpus = report["submissions"][0]["tests"][0]["cpus"]
        .as_array()
        .unwrap();
    assert_eq!(cpus.len(), 1);
    // `--verbose` also prints the CPU in the table.
    let titles = |judged: &Judged| {
        judged
            .stdout
            .lines()
            .find(|line| line.contains("verdict"))
            .unwrap()
            .to_owned()
    };
    let all = package.judge(&["--verbose"]);
    let (title, line) = (
        titles(&all),
        all.stdout
            .lines()
            .find(|line| line.contains("secret/1"))
            .unwrap(),
    );
    let column = title.find("CPU").unwrap_or_else(|| panic!("{title}"));
    let cpu = all.report["submissions"][0]["tests"][1]["cpus"][0]
        .as_u64()
        .unwrap();
    assert_eq!(line[column..].trim(), cpu.to_string(), "{line}");
    assert!(!titles(&package.judge(&["double.sh"])).contains("CPU"));
    package
        .judge(&["--report", "pdf", "x"])
        .exits_with(125)
        .prints("there is no format \"pdf\"");
    package
        .judge(&["--report", "html", "/no/such/place"])
        .exits_with(125)
        .prints("--report /no/such/place");
}

#[test]
fn tests_run_on_requested_cpus() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let allowed = fs::read_to_string("/proc/self/status").unwrap();
    let list = allowed
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let last = list.rsplit([',', '-']).next().unwrap();
    let judged = package.judge(&["--cpus", last, "--jobs", "2"]);
    let tests = judged.exits_with(0).submission("double.sh")["tests"]
        .as_array()
        .unwrap();
    assert!(
        tests
            .iter()
            .all(|test| test["cpus"][0] == last.parse::<u64>().unwrap()),
        "{tests:?}"
    );
    package
        .judge(&["--cpus", "1023"])
        .exits_with(125)
        .prints("--cpus: CPU 1023 cannot be used");
    package
        .judge(&["--jobs", "0"])
        .exits_with(125)
        .prints("--jobs");
}

#[test]
fn compiled_programs_are_cached_unless_disabled() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let from_cache = |more: &[&str]| {
        let compilation = package.judge(more).submission("double.sh")["compilation"].clone();
        // Only a compilation that ran has figures.
        assert_eq!(
            compilation["figures"].is_null(),
            compilation["from_cache"] == true,
            "{compilation}"
        );
        compilation["from_cache"].clone()
    };
    assert_eq!(from_cache(&["--no-cache"]), false);
    assert_eq!(
        (
            from_cache(&[]),
            from_cache(&[]),
            from_cache(&["--no-cache"])
        ),
        (false.into(), true.into(), false.into())
    );
    let page = |more: &[&str]| {
        package
            .judge(&[&["--report", "html", "-"], more].concat())
            .stdout
    };
    assert!(page(&[]).contains("<p>Compiled before</p>"));
    assert!(page(&["--no-cache"]).contains("<p>Compiled in "));
}

/// This happens with another user's HOME (sudo, cron).
#[test]
fn unusable_cache_directory_warns_and_judges() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".cache"), "").unwrap();
    for (variable, value) in [
        ("HOME", home.path().to_owned()),
        ("XDG_CACHE_HOME", home.path().join(".cache")),
    ] {
        let mut command = package.command(&[]);
        let output = command
            .env_remove("XDG_CACHE_HOME")
            .env(variable, value)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variable}: {output:?}");
        assert_eq!(
            stderr
                .matches("millibox: warning: cannot keep compiled programs in ")
                .count(),
            1,
            "{stderr}"
        );
        assert!(
            stderr.contains("--no-cache")
                && stderr.contains(&format!("the path comes from {variable}")),
            "{stderr}"
        );
    }
}

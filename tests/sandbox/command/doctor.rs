//! The command `millibox doctor`.

use super::{shell, status, text};
use millibox_tests::{directory, executable, is_root, set_mode, skip};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

#[test]
fn doctor_reports_its_checks_as_json() {
    let output = Command::new(executable("millibox"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 5, "{report}");
    for check in checks {
        assert!(
            check["name"].is_string() && check["ok"].is_boolean(),
            "{check}"
        );
    }
    // The doctor succeeds only if all limits are available. Otherwise, a check has a remedy.
    let remedies = checks
        .iter()
        .filter(|check| check["ok"] == false && check["remedy"].is_string())
        .count();
    assert!(output.status.success() || remedies > 0, "{report}");
    if output.status.success() {
        assert_eq!(
            status(&shell(
                &[
                    "--memory-limit",
                    "64M",
                    "--process-limit",
                    "9",
                    "--cpu-time-limit",
                    "9s"
                ],
                "exit 0"
            )),
            0
        );
    }
}

#[test]
fn doctor_with_backend_option_names_lost_features() {
    let doctor = |arguments: &[&str]| {
        let output = Command::new(executable("millibox"))
            .arg("doctor")
            .args(arguments)
            .output()
            .unwrap();
        (status(&output), text(&output.stdout))
    };
    let report: serde_json::Value = serde_json::from_str(&doctor(&["--json"]).1).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let works = |backend: &str| {
        checks
            .iter()
            .any(|check| check["ok"] == true && check["name"] == backend)
    };
    let trees = ["cgroup2", "hybrid"];
    let best = trees
        .into_iter()
        .find(|backend| works(&format!("backend {backend}")));
    let held = best.map_or_else(String::new, |best| {
        format!("; without the option, millibox uses {best}")
    });
    for backend in trees
        .into_iter()
        .filter(|backend| works("backend rlimit") && !works(&format!("backend {backend}")))
    {
        let (status, message) = doctor(&["--backend", backend]);
        let last =
            format!("\nWith the backend {backend}, no program can be run; see above{held}.\n");
        assert!(status == 1 && message.ends_with(&last), "{message}");
        let mut lines = message
            .lines()
            .skip_while(|line| !line.starts_with(&format!("✗ backend {backend}: ")));
        let remedy = lines.nth(1).unwrap_or_default().trim();
        let instead = best.map(|best| format!("omit --backend {backend}: {best} works here"));
        assert!(instead.is_none_or(|instead| remedy == instead), "{message}");
    }
    let Some(best) = best else {
        return skip("no cgroups are available");
    };
    let (status, message) = doctor(&["--backend", "rlimit"]);
    let last =
        format!("because of --backend rlimit, limits apply only to single processes{held}.\n");
    assert!(status == 1 && message.ends_with(&last), "{message}");
    assert!(
        doctor(&["--backend", best])
            .1
            .contains(&format!("ith the backend {best}"))
    );
}

#[test]
fn doctor_under_resource_limit_names_the_limit() {
    let doctor = |limit: &str| {
        let mut command = Command::new("prlimit");
        command
            .arg(limit)
            .arg(executable("millibox"))
            .args(["doctor", "--json"])
            .stdin(Stdio::null());
        if is_root() {
            // A limit on processes does not apply to root.
            command.uid(54321).gid(54321);
        }
        command
            .output()
            .ok()
            .and_then(|output| serde_json::from_slice::<serde_json::Value>(&output.stdout).ok())
    };
    // The version 2 backend may fail for other reasons.
    let failures = |report: &serde_json::Value| {
        let failed =
            |check: &&serde_json::Value| check["ok"] == false && check["name"] != "backend cgroup2";
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(failed)
            .map(|check| check["remedy"].to_string())
    };
    if doctor("--nofile=1024").is_none_or(|report| report["backend"].is_null()) {
        return skip(
            "prlimit(1) is missing, or another user cannot run programs in the sandbox here",
        );
    }
    for (limit, remedy) in [
        ("--nofile=8", "ulimit -n"),
        ("--nofile=16", "ulimit -n"),
        ("--nproc=5", "ulimit -u"),
    ] {
        let report = doctor(limit).unwrap();
        assert!(
            failures(&report).is_some_and(|message| message.contains(remedy)),
            "{limit}: {report}"
        );
    }
}

#[test]
fn doctor_with_inexecutable_supervisor_reports_only_that() {
    let dir = directory();
    let supervisor = dir.path().join("millibox-supervisor");
    std::fs::write(&supervisor, "").unwrap();
    set_mode(&supervisor, 0o644);
    let mut command = Command::new(executable("millibox"));
    let output = command
        .args(["doctor", "--json"])
        .env("MILLIBOX_SUPERVISOR", &supervisor)
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(
        (status(&output), checks.len()),
        (1, 1),
        "no other check is possible: {report}"
    );
    assert_eq!(
        (&checks[0]["name"], &checks[0]["ok"]),
        (&"supervisor".into(), &false.into()),
        "{report}"
    );
    let check_contains = |key: &str, part: &str| {
        checks[0][key]
            .as_str()
            .is_some_and(|text| text.contains(part))
    };
    assert!(
        check_contains("detail", supervisor.to_str().unwrap()) && check_contains("remedy", "chmod"),
        "{report}"
    );
}

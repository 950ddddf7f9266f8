//! Containers as Docker and Podman create them by default. Runs that are impossible there are
//! rejected with a message that names the option to use. No run gets a weaker world instead.

use millibox_tests::{ClientOutput, client, executable, is_root, skip};

/// The arguments of clients with these changes to their environment. One client is an ordinary user
/// in its own user namespace. If possible, another is root in its own mount namespace, as in a
/// container.
fn client_arguments(changes: &[&str]) -> Vec<Vec<String>> {
    let uid = if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    };
    let arguments = |before: &[String]| {
        let changes = changes.iter().map(|word| (*word).to_owned());
        before
            .iter()
            .cloned()
            .chain(["mount-namespace".to_owned()])
            .chain(changes)
            .collect::<Vec<_>>()
    };
    let mut all = vec![arguments(&[format!("user={uid}:{uid}")])];
    if is_root() {
        all.push(arguments(&[]));
    }
    all
}

/// Returns whether the client could change its environment. If not, reports the test as skipped.
fn is_prepared(output: &ClientOutput) -> bool {
    if output.stdout.contains("unable=") {
        skip(output.stdout.trim());
    }
    !output.stdout.contains("unable=")
}

/// Runs the command `millibox` with these changes to its environment.
fn millibox(changes: &[String], arguments: &[&str]) -> ClientOutput {
    let command = executable("millibox").display().to_string();
    let before = changes
        .iter()
        .map(String::as_str)
        .chain(["exec", "--", &command]);
    client(before.chain(arguments.iter().copied()))
}

/// Returns whether the doctor's check with this name succeeded, and its remedy.
fn check(output: &ClientOutput, name: &str) -> (bool, String) {
    let found: serde_json::Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let checks = found["checks"].as_array().cloned().unwrap_or_default();
    let check = checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {output:?}"));
    (
        check["ok"] == true,
        check["remedy"].as_str().unwrap_or_default().to_owned(),
    )
}

#[test]
fn masked_proc_rejects_runs_with_procfs() {
    for mut arguments in client_arguments(&["masked-proc"]) {
        arguments.extend(["--", "ids"].map(str::to_owned));
        let output = client(&arguments);
        if !is_prepared(&output) {
            return;
        }
        let outcome = output.value("outcome");
        let error = ["outcome_name", "step", "errno"].map(|key| output.value(key));
        assert_eq!(
            error,
            ["not_started", "mount", &libc::EPERM.to_string()],
            "{output:?}"
        );
        assert!(outcome.contains("systempaths=unconfined"), "{output:?}");
        assert!(
            !output.stdout.contains("uid="),
            "the program ran: {output:?}"
        );
    }
}

#[test]
fn masked_proc_allows_runs_without_procfs() {
    for mut arguments in client_arguments(&["masked-proc", "no-procfs"]) {
        arguments.extend(["--", "ids"].map(str::to_owned));
        let output = client(&arguments);
        if !is_prepared(&output) {
            return;
        }
        assert_eq!(output.value("exit_code"), "0", "{output:?}");
    }
}

#[test]
fn invisible_cpu_time_rejects_cpu_time_limit() {
    if !is_root() {
        return skip("only root can mount a procfs with hidepid");
    }
    let run = |limits: &[&str]| {
        let changes = ["mount-namespace", "hidden-proc"].map(str::to_owned);
        let arguments = ["run", "--backend=rlimit"]
            .iter()
            .chain(limits)
            .chain(&["--", "/bin/true"]);
        millibox(&changes, &arguments.copied().collect::<Vec<_>>())
    };
    let output = run(&["--cpu-time-limit=1s"]);
    assert!(output.stderr.contains("hidepid"), "{output:?}");
    let output = run(&["--real-time-limit=10s"]);
    assert!(!output.stderr.contains("hidepid"), "{output:?}");
}

#[test]
fn doctor_with_masked_proc_names_remedy() {
    for arguments in client_arguments(&["masked-proc"]) {
        let output = millibox(&arguments, &["doctor", "--json"]);
        if !is_prepared(&output) {
            return;
        }
        assert_eq!(
            check(&output, "mounts"),
            (true, String::new()),
            "{output:?}"
        );
        let (ok, remedy) = check(&output, "procfs");
        assert!(
            !ok && remedy.contains("--security-opt systempaths=unconfined"),
            "{output:?}"
        );
    }
}

#[test]
fn service_with_masked_proc_does_not_start() {
    let serve = ["serve", "--backend=rlimit", "--listen=127.0.0.1:0"];
    for arguments in client_arguments(&["masked-proc"]) {
        let output = millibox(&arguments, &serve);
        if !is_prepared(&output) {
            return;
        }
        assert!(
            output.stderr.contains("no program can be run here"),
            "{output:?}"
        );
        assert!(!output.stdout.contains("serving"), "{output:?}");
    }
}

#[test]
fn doctor_with_hidden_proc_reports_uncounted_file_locks() {
    if !is_root() {
        return skip("only root can mount a procfs with hidepid");
    }
    let locks = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|&word| word.to_owned()).collect();
        check(&millibox(&arguments, &["doctor", "--json"]), "file locks")
    };
    assert_eq!(locks(&["mount-namespace"]), (true, String::new()));
    let (ok, remedy) = locks(&["mount-namespace", "hidden-proc"]);
    assert!(!ok && remedy.contains("hidepid"), "{remedy}");
}

#[test]
fn filtered_namespaces_prevent_the_start() {
    // Test also as the current user, without a user namespace around the client.
    for mut arguments in client_arguments(&["container-seccomp"])
        .into_iter()
        .chain([vec!["container-seccomp".to_owned()]])
    {
        arguments.extend(["--", "ids"].map(str::to_owned));
        let output = client(&arguments);
        if !is_prepared(&output) {
            return;
        }
        let error = output.value("error");
        assert!(
            error.contains("cannot create namespaces") && error.contains("os error 1"),
            "{output:?}"
        );
        assert!(error.contains("`millibox doctor`"), "{output:?}");
        assert!(
            !output.stdout.contains("outcome="),
            "the program ran: {output:?}"
        );
    }
}

#[test]
fn doctor_and_run_report_filtered_namespaces() {
    let arguments = ["container-seccomp".to_owned()];
    let output = millibox(&arguments, &["doctor", "--json"]);
    if !is_prepared(&output) {
        return;
    }
    let (ok, remedy) = check(&output, "user namespaces");
    // The doctor first names a sysctl that also forbids them.
    assert!(
        !ok && (remedy.contains("--security-opt seccomp=") || remedy.contains("sysctl")),
        "{output:?}"
    );
    let output = millibox(&arguments, &["run", "--", "/bin/echo", "the program ran"]);
    assert!(
        output.stderr.contains("cannot create namespaces")
            && output.stderr.contains("millibox doctor"),
        "{output:?}"
    );
    assert_eq!(output.stdout, "");
}

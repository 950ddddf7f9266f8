//! Inside of containers as Docker and Podman make them by default: what cannot be had there is
//! refused, in words that name the option which helps, and no run gets a weaker world instead.

use millibox_tests::{Said, client, executable, is_root, skip};

/// What changes around the client; as root (a container's, who has a mount namespace of its own),
/// and as an ordinary user in a user namespace of its own.
fn around(changes: &[&str]) -> Vec<Vec<String>> {
    let uid = if is_root() {
        12345
    } else {
        rustix::process::geteuid().as_raw()
    };
    let words = |before: &[String]| {
        let changes = changes.iter().map(|word| (*word).to_owned());
        before
            .iter()
            .cloned()
            .chain(["mount-namespace".to_owned()])
            .chain(changes)
            .collect::<Vec<_>>()
    };
    let mut all = vec![words(&[format!("user={uid}:{uid}")])];
    if is_root() {
        all.push(words(&[]));
    }
    all
}

fn able(said: &Said) -> bool {
    if said.stdout.contains("unable=") {
        skip(said.stdout.trim());
    }
    !said.stdout.contains("unable=")
}

/// The command, among these changes.
fn millibox(changes: &[String], arguments: &[&str]) -> Said {
    let command = executable("millibox").display().to_string();
    let words = changes
        .iter()
        .map(String::as_str)
        .chain(["exec", "--", &command]);
    client(words.chain(arguments.iter().copied()))
}

/// The check of the doctor's with this name: whether it is well, and the remedy.
fn check(said: &Said, name: &str) -> (bool, String) {
    let found: serde_json::Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let checks = found["checks"].as_array().cloned().unwrap_or_default();
    let check = checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {said:?}"));
    (
        check["ok"] == true,
        check["remedy"].as_str().unwrap_or_default().to_owned(),
    )
}

#[test]
fn a_masked_proc_gives_no_other_procfs() {
    for mut words in around(&["masked-proc"]) {
        words.extend(["--", "ids"].map(str::to_owned));
        let said = client(&words);
        if !able(&said) {
            return;
        }
        let outcome = said.value("outcome");
        assert!(
            outcome.starts_with("could not be started: cannot mount /proc"),
            "{said:?}"
        );
        assert!(
            outcome.contains("os error 1") && outcome.contains("systempaths=unconfined"),
            "{said:?}"
        );
        assert!(!said.stdout.contains("uid="), "it has run: {said:?}");
    }
}

#[test]
fn a_masked_proc_is_no_matter_to_who_wants_none() {
    for mut words in around(&["masked-proc", "no-procfs"]) {
        words.extend(["--", "ids"].map(str::to_owned));
        let said = client(&words);
        if !able(&said) {
            return;
        }
        assert_eq!(said.value("outcome"), "exited with 0", "{said:?}");
    }
}

#[test]
fn cpu_time_that_cannot_be_seen_is_not_limited_in_silence() {
    if !is_root() {
        return skip("only root can mount a procfs with hidepid here");
    }
    let run = |limits: &[&str]| {
        let words = ["mount-namespace", "hidden-proc"].map(str::to_owned);
        let arguments = ["run", "--backend=rlimit"]
            .iter()
            .chain(limits)
            .chain(&["--", "/bin/true"]);
        millibox(&words, &arguments.copied().collect::<Vec<_>>())
    };
    let said = run(&["--cpu-time-limit=1s"]);
    assert!(said.stderr.contains("hidepid"), "{said:?}");
    let said = run(&["--real-time-limit=10s"]);
    assert!(!said.stderr.contains("hidepid"), "{said:?}");
}

#[test]
fn the_doctor_knows_a_masked_proc() {
    for words in around(&["masked-proc"]) {
        let said = millibox(&words, &["doctor", "--json"]);
        if !able(&said) {
            return;
        }
        assert_eq!(check(&said, "mounts"), (true, String::new()), "{said:?}");
        let (ok, remedy) = check(&said, "procfs");
        assert!(
            !ok && remedy.contains("--security-opt systempaths=unconfined"),
            "{said:?}"
        );
    }
}

#[test]
fn the_doctor_knows_where_file_locks_are_not_counted() {
    if !is_root() {
        return skip("only root can mount a procfs with hidepid here");
    }
    let locks = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        check(&millibox(&words, &["doctor", "--json"]), "file locks")
    };
    assert_eq!(locks(&["mount-namespace"]), (true, String::new()));
    let (ok, remedy) = locks(&["mount-namespace", "hidden-proc"]);
    assert!(!ok && remedy.contains("hidepid"), "{remedy}");
}

#[test]
fn where_namespaces_are_filtered_no_supervisor_starts() {
    // As whoever we are, too: without a user namespace around us.
    for mut words in around(&["container-seccomp"])
        .into_iter()
        .chain([vec!["container-seccomp".to_owned()]])
    {
        words.extend(["--", "ids"].map(str::to_owned));
        let said = client(&words);
        if !able(&said) {
            return;
        }
        let error = said.value("error");
        assert!(
            error.contains("cannot create namespaces") && error.contains("os error 1"),
            "{said:?}"
        );
        assert!(error.contains("`millibox doctor`"), "{said:?}");
        assert!(!said.stdout.contains("outcome="), "it has run: {said:?}");
    }
}

#[test]
fn the_doctor_and_run_know_a_filter_of_namespaces() {
    let words = ["container-seccomp".to_owned()];
    let said = millibox(&words, &["doctor", "--json"]);
    if !able(&said) {
        return;
    }
    let (ok, remedy) = check(&said, "user namespaces");
    // A sysctl that forbids them, too, is named first.
    assert!(
        !ok && (remedy.contains("--security-opt seccomp=unconfined") || remedy.contains("sysctl")),
        "{said:?}"
    );
    let said = millibox(&words, &["run", "--", "/bin/echo", "it has run"]);
    assert!(
        said.stderr.contains("cannot create namespaces") && said.stderr.contains("millibox doctor"),
        "{said:?}"
    );
    assert_eq!(said.stdout, "");
}

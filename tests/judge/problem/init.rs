//! `millibox problem init`, and every other subcommand on a new package.

use super::Workspace;
use serde_json::Value;

fn check_new_package(format: &str, interactive: bool) {
    let workspace = Workspace::new();
    let mut options = vec!["--format", format, "--name", "It's a \"test\": #1"];
    options.extend(interactive.then_some("--interactive"));
    workspace.init("first", &options);

    // The package has no faults, and its wrong solution fails a test.
    let report = workspace.json(&["validate", "first"]);
    assert_eq!(report["faults"], serde_json::json!([]), "{report}");
    assert!(report["tests"].as_u64().unwrap() > 4, "{report}");
    let report = workspace.json(&["test", "first"]);
    assert_eq!(report["remarks"], serde_json::json!([]), "{report}");
    let verdicts: Vec<&str> = report["submissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|submission| submission["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["accepted", "wrong_answer"], "{report}");
    assert_eq!(report["submissions"][0]["as_expected"], true);
    let judged = workspace.run(&["judge", "first"]);
    assert_eq!(judged.status(), 0, "{judged:?}");
    let name = "It's a \"test\": #1";
    assert_eq!(
        millibox_package::read(&workspace.path("first"))
            .unwrap()
            .name,
        name
    );

    // All files already exist. Generating them twice more changes nothing.
    let before = workspace.files("first");
    let report = workspace.json(&["gen", "first"]);
    assert_eq!(report["made"], serde_json::json!([]), "{report}");
    let current = report["current"].as_u64().unwrap();
    let report = workspace.json(&["gen", "first", "--all", "--check"]);
    assert_eq!(
        (
            report["made"].as_array().unwrap().len() as u64,
            &report["current"]
        ),
        (current, &Value::from(0))
    );
    assert!(
        report["made"]
            .as_array()
            .unwrap()
            .iter()
            .all(|made| made["changed"] == false),
        "{report}"
    );
    assert!(before == workspace.files("first"), "gen changed a file");

    // The archive is reproducible and readable. It contains neither .millibox nor backup files.
    workspace.succeed(&["zip", "first"]);
    let archive = std::fs::read(workspace.path("first.zip")).unwrap();
    let touched = std::fs::File::options()
        .append(true)
        .open(workspace.path("first/data/sample/1.in"));
    drop(touched.map(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH)));
    workspace.write("first/notes~", "mine");
    workspace.succeed(&["zip", "first", "-o", "again.zip"]);
    assert!(
        archive == std::fs::read(workspace.path("again.zip")).unwrap(),
        "two archives of the same files differ"
    );
    let packed = millibox_package::read(&workspace.path("again.zip")).unwrap();
    assert!(
        !packed.directory.join(".millibox").exists() && !packed.directory.join("notes~").exists()
    );
    assert_eq!(
        workspace.json(&["validate", "again.zip"])["faults"],
        serde_json::json!([])
    );

    // `clean` removes the generated files, and `gen` creates the same files again.
    std::fs::remove_file(workspace.path("first/notes~")).unwrap();
    let listed = workspace.json(&["clean", "first", "--dry-run"]);
    assert!(
        before == workspace.files("first"),
        "a dry run changed a file"
    );
    let removed = workspace.json(&["clean", "first"]);
    assert_eq!(listed, removed);
    assert_eq!(removed["removed"].as_array().unwrap().len() as u64, current);
    assert!(!workspace.path("first/.millibox").exists());
    workspace.succeed(&["gen", "first"]);
    assert!(
        before == workspace.files("first"),
        "clean and gen changed the package"
    );
}

#[test]
fn new_icpc_package_passes_every_subcommand() {
    check_new_package("icpc", false);
}

#[test]
fn new_interactive_icpc_package_passes_every_subcommand() {
    check_new_package("icpc", true);
}

#[test]
fn new_legacy_package_passes_every_subcommand() {
    check_new_package("icpc-legacy", false);
}

#[test]
fn new_interactive_legacy_package_passes_every_subcommand() {
    check_new_package("icpc-legacy", true);
}

#[test]
fn new_sim_package_passes_every_subcommand() {
    check_new_package("sim", false);
}

#[test]
fn new_interactive_sim_package_passes_every_subcommand() {
    check_new_package("sim", true);
}

#[test]
fn package_with_own_grader_passes_limits_zip_and_test() {
    let workspace = Workspace::new();
    for (file, text) in [
        ("problem.yaml", "name: P\ntype: scoring\n"),
        ("domjudge-problem.ini", "timelimit=9\n"),
        (
            "data/testdata.yaml",
            "on_reject: continue\ngrading: custom\n",
        ),
        ("data/secret/1.in", "1\n"),
        ("data/secret/1.ans", "2\n"),
        (
            "graders/g.sh",
            "while read verdict score; do echo AC $((score + 1)); done\n",
        ),
        ("input_validators/v.sh", "exit 42\n"),
        ("submissions/accepted/a.sh", "echo 2\n"),
        ("submissions/accepted/wrong_but_graded.sh", "echo 3\n"),
        (
            "submissions/time_limit_exceeded/t.sh",
            "while :; do :; done\n",
        ),
    ] {
        workspace.write(&format!("p/{file}"), text);
    }
    let report = workspace.json(&["limits", "p", "--write"]);
    assert_eq!(
        (&report["limit"], workspace.read("p/domjudge-problem.ini")),
        (&1.0.into(), "timelimit='1'\n".to_owned())
    );
    workspace.succeed(&["validate", "p"]);
    workspace.succeed(&["zip", "p", "--output", "p.zip"]);
    // If two files state the time limit, the command changes both.
    workspace.write(
        "p/problem.yaml",
        "name: P\ntype: scoring\nlimits: {time_limit: 9}\n",
    );
    workspace.write("p/domjudge-problem.ini", "timelimit=9\n");
    let report = workspace.json(&["limits", "p", "--write"]);
    assert_eq!(
        report["written"],
        serde_json::json!(["problem.yaml", "domjudge-problem.ini"])
    );
    // The grader accepts any results.
    let output = workspace.problem(&["test", "p"]);
    assert_eq!(output.status(), 1, "{output:?}");
    assert!(
        output
            .stdout()
            .contains("t.sh: no test catches it; add one"),
        "{output:?}"
    );
    workspace.write(
        "p/graders/g.sh",
        "while read verdict score; do echo $verdict $((score + 1)); done\n",
    );
    workspace.write("p/submissions/accepted/wrong_but_graded.sh", "echo 2\n");
    workspace.succeed(&["test", "p"]);
    workspace.write("p/graders/g.py", "");
    workspace.assert_fails(
        "p",
        &["validate", "p"],
        1,
        "one grader is supported, but there is also graders/g.sh",
    );
    std::fs::remove_file(workspace.path("p/graders/g.py")).unwrap();
    std::fs::rename(
        workspace.path("p/graders/g.sh"),
        workspace.path("p/graders/g.c"),
    )
    .unwrap();
    workspace.assert_fails("p", &["validate", "p"], 1, "p/graders/g.c: error: ");
}

#[test]
fn init_in_occupied_directory_fails() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("empty")).unwrap();
    workspace.init("empty", &["--no-gen", "--format", "sim"]);
    assert!(
        workspace.path("empty/Simfile").is_file() && !workspace.path("empty/in/1a.in").exists()
    );
    workspace.assert_fails(
        "empty",
        &["init", "empty"],
        125,
        "the directory is not empty",
    );
    workspace.write("file", "");
    let output = workspace.problem(&["init", "file"]);
    assert_eq!(output.status(), 2, "{output:?}");
    assert_eq!(
        workspace
            .problem(&["init", "new", "--name", "two\nlines"])
            .status(),
        125
    );
    // If the command cannot generate the tests, it leaves no files behind.
    workspace.write("suites/cpp.toml", "name = \"cpp\"\n");
    let output = workspace.problem(&["init", "new", "--suites", "suites"]);
    assert_ne!(output.status(), 0);
    let names: Vec<_> = std::fs::read_dir(workspace.directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

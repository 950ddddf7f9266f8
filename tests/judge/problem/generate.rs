//! `millibox problem gen`: inputs and answers of tests.

use super::{Workspace, icpc_scripts, paths, scripts};
use serde_json::Value;

#[test]
fn gen_after_change_generates_only_outdated_files() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a-b gen.sh x\n2a gen.sh y");
    let report = workspace.json(&["gen", "p"]);
    assert_eq!(
        paths(&report["made"]),
        [
            "in/1a.in",
            "in/1b.in",
            "in/2a.in",
            "out/0a.out",
            "out/1a.out",
            "out/1b.out",
            "out/2a.out"
        ]
    );
    // The hash of the test's name, combined with the Sipfile's seed.
    let seed = (u64::from(b'a') * 257 + u64::from(b'1')) ^ 7;
    assert_eq!(workspace.read("p/in/1a.in"), format!("x 1a {seed}\n"));
    assert_eq!(workspace.read("p/out/1a.out"), format!("x 1a {seed}!\n"));
    assert_eq!(
        (&report["made"][0]["seed"], &report["made"][0]["by"]),
        (&seed.into(), &"utils/gen.sh x".into())
    );

    workspace.replace("p/Sipfile", "2a gen.sh y", "2a gen.sh z");
    assert_eq!(
        paths(&workspace.json(&["gen", "p"])["made"]),
        ["in/2a.in", "out/2a.out"]
    );
    // If an input does not change, no new answer is needed.
    workspace.replace("p/utils/gen.sh", "echo", "echo  ");
    assert_eq!(
        paths(&workspace.json(&["gen", "p"])["made"]),
        ["in/1a.in", "in/1b.in", "in/2a.in"]
    );
    workspace.replace("p/prog/model.sh", "!", "?");
    assert_eq!(
        workspace.json(&["gen", "p", "1b"])["made"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        paths(&workspace.json(&["gen", "p"])["made"]),
        ["out/0a.out", "out/1a.out", "out/2a.out"]
    );
    // The command restores a generated file that was removed. It keeps an answer written by hand.
    std::fs::remove_file(workspace.path("p/in/1a.in")).unwrap();
    workspace.write("p/out/0a.out", "by hand\n");
    assert_eq!(
        paths(&workspace.json(&["gen", "p", "--all", "1a", "0a"])["made"]),
        ["in/1a.in", "out/1a.out"]
    );
    assert_eq!(workspace.read("p/out/0a.out"), "by hand\n");
    // `clean` keeps the answer written by hand.
    let removed = workspace.json(&["clean", "p"]);
    assert_eq!(removed["kept"], serde_json::json!(["out/0a.out"]));
    assert!(workspace.path("p/in/0a.in").is_file() && !workspace.path("p/in/1a.in").exists());
}

#[test]
fn gen_keeps_files_written_by_hand() {
    let workspace = Workspace::new();
    icpc_scripts(
        &workspace,
        "data: {secret: {data: {a: gen 1, b: gen 2, c: gen 3}}}\n",
    );
    workspace.write("p/data/secret/b.ans", "mine\n");
    workspace.write("p/data/secret/c.in", "mine\n");
    let stays = |file: &str, by: &str| {
        format!(
            "p/data/secret/{file}: warning: kept, because a person wrote or changed it; remove \
             it to generate it again ({by})\n"
        )
    };
    let model = "model solution accepted/model.sh";
    let gen_3 = "generators/gen.sh 3";
    let output = workspace.problem(&["gen", "p"]);
    let warnings = stays("c.in", gen_3) + &stays("b.ans", model);
    assert_eq!(
        (output.status(), output.stderr()),
        (0, warnings.clone()),
        "{output:?}"
    );
    assert_eq!(
        (
            workspace.read("p/data/secret/b.ans"),
            workspace.read("p/data/secret/c.in")
        ),
        ("mine\n".into(), "mine\n".into())
    );
    // The answer belongs to the input that was kept.
    assert_eq!(workspace.read("p/data/secret/c.ans"), "mine!\n");
    // Generated files are generated again, except for those that were changed in between.
    workspace.write("p/generators/gen.sh", "echo \"<$@>\"\n");
    workspace.write("p/data/secret/a.ans", "also mine\n");
    let output = workspace.problem(&["gen", "p", "--all"]);
    let mut lines: Vec<String> = output
        .stderr()
        .lines()
        .map(|line| format!("{line}\n"))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            stays("a.ans", model),
            stays("b.ans", model),
            stays("c.in", gen_3)
        ],
        "{output:?}"
    );
    assert_eq!(
        (
            workspace.read("p/data/secret/a.in"),
            workspace.read("p/data/secret/b.in")
        ),
        ("<1>\n".into(), "<2>\n".into())
    );
    assert_eq!(workspace.read("p/data/secret/a.ans"), "also mine\n");
    // Without a record, the command recognizes a generated file only by its content.
    std::fs::remove_dir_all(workspace.path("p/.millibox")).unwrap();
    workspace.write("p/data/secret/a.ans", "<1>!\n");
    assert_eq!(workspace.problem(&["gen", "p"]).stderr(), warnings);
    workspace.write(
        "p/submissions/accepted/model.sh",
        "read -r line\necho \"$line?\"\n",
    );
    assert_eq!(workspace.problem(&["gen", "p"]).stderr(), warnings);
    assert_eq!(workspace.read("p/data/secret/a.ans"), "<1>?\n");
    // After these files have been removed, they are generated.
    std::fs::remove_file(workspace.path("p/data/secret/b.ans")).unwrap();
    std::fs::remove_file(workspace.path("p/data/secret/c.in")).unwrap();
    assert_eq!(workspace.problem(&["gen", "p"]).stderr(), "");
    assert_eq!(
        (
            workspace.read("p/data/secret/b.ans"),
            workspace.read("p/data/secret/c.ans")
        ),
        ("<2>?\n".into(), "<3>?\n".into())
    );
}

#[test]
fn gen_keeps_tests_removed_from_generators_yaml() {
    let workspace = Workspace::new();
    icpc_scripts(
        &workspace,
        "data: {secret: {data: {a: {in: one, ans: ONE}, b: {copy: b}, c: gen 1, d: {in: four, ans: \
         FOUR}}}}\n",
    );
    workspace.write("p/generators/b.in", "two\n");
    workspace.write("p/generators/b.ans", "TWO\n");
    workspace.succeed(&["gen", "p"]);
    workspace.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {d: {in: four}}}}\n",
    );
    workspace.replace("p/submissions/accepted/model.sh", "!", "?");
    workspace.succeed(&["gen", "p", "--all"]);
    let answer = |test: &str| workspace.read(&format!("p/data/secret/{test}.ans"));
    assert_eq!((answer("a"), answer("b")), ("ONE\n".into(), "TWO\n".into()));
    // An empty answer of an interactive problem does not count as written by hand.
    let text = workspace.read("p/problem.yaml");
    workspace.write(
        "p/problem.yaml",
        format!("{text}validation: custom interactive\n"),
    );
    workspace.write("p/output_validators/v.sh", "exit 42\n");
    workspace.write("p/data/secret/e.in", "five\n");
    workspace.succeed(&["gen", "p", "e"]);
    assert_eq!(workspace.read("p/data/secret/e.ans"), "");
    workspace.write("p/problem.yaml", text);
    workspace.succeed(&["gen", "p", "e"]);
    assert_eq!(workspace.read("p/data/secret/e.ans"), "five?\n");
    // The model solution's answers are generated again, and so are the answers of a test that
    // generators.yaml still lists.
    assert_eq!(
        (answer("c"), answer("d")),
        ("1?\n".into(), "four?\n".into())
    );
}

#[test]
fn gen_with_failing_generator_changes_nothing() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a-c gen.sh x");
    workspace.succeed(&["gen", "p"]);
    workspace.write(
        "p/utils/gen.sh",
        "echo new; if [ $SIP_TEST_NAME = 1b ]; then echo no luck >&2; exit 3; fi\n",
    );
    let seed = (u64::from(b'b') * 257 + u64::from(b'1')) ^ 7;
    let message = format!(
        "test 1b: cannot generate the input with utils/gen.sh x, seed {seed}: exited with 3: \
         no luck"
    );
    workspace.assert_fails("p", &["gen", "p"], 1, &message);
    // A failure of the first `gen` leaves no directory.
    assert_eq!(workspace.problem(&["clean", "p"]).status(), 0);
    workspace.assert_fails("p", &["gen", "p"], 1, &message);
    workspace.write(
        "p/utils/gen.sh",
        "if [ $SIP_TEST_NAME = 1b ]; then exit 0; fi; echo new\n",
    );
    workspace.assert_fails(
        "p",
        &["gen", "p"],
        1,
        "test 1b: cannot generate the input with utils/gen.sh x, seed",
    );
    workspace.assert_fails(
        "p",
        &["gen", "p"],
        1,
        "wrote nothing to its standard output",
    );
    workspace.write("p/utils/gen.sh", "if\n");
    workspace.assert_fails("p", &["gen", "p"], 1, "utils/gen.sh: ");
    workspace.write("p/utils/gen.sh", "echo new\n");
    workspace.write("p/prog/model.sh", "exit 9\n");
    workspace.assert_fails(
        "p",
        &["gen", "p"],
        1,
        "test 1c: cannot generate the answer with model solution prog/model.sh: exited with 9",
    );
}

#[test]
fn gen_check_reports_output_that_differs_in_second_run() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x\n1b gen.sh y");
    workspace.write(
        "p/utils/gen.sh",
        "echo same; [ $1 = x ] || head -c 8 /dev/urandom\n",
    );
    workspace.assert_fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "test 1b: cannot generate the input with utils/gen.sh y, seed",
    );
    workspace.assert_fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "differs in a second run, from byte ",
    );
    // The check includes files that are up to date.
    workspace.succeed(&["gen", "p"]);
    workspace.assert_fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "differs in a second run, from byte ",
    );
    workspace.write("p/utils/gen.sh", "echo same\n");
    workspace.succeed(&["gen", "p", "--all"]);
    workspace.write("p/prog/model.sh", "echo $RANDOM$RANDOM$RANDOM\n");
    workspace.assert_fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "cannot generate the answer with model solution prog/model.sh: its output differs in a \
         second run",
    );
}

#[test]
fn shell_generator_sees_only_its_package() {
    let workspace = Workspace::new();
    scripts(
        &workspace,
        "1a sh:cat utils/words | tr a-z A-Z; echo $SIP_TEST_NAME",
    );
    workspace.write("p/utils/words", "abc\n");
    workspace.succeed(&["gen", "p"]);
    assert_eq!(workspace.read("p/in/1a.in"), "ABC\n1a\n");
    // The command cannot know which files a shell line reads, so it always runs the line.
    workspace.write("p/utils/words", "def\n");
    assert_eq!(
        paths(&workspace.json(&["gen", "p"])["made"]),
        ["in/1a.in", "out/1a.out"]
    );
    assert_eq!(workspace.read("p/in/1a.in"), "DEF\n1a\n");
    // Shell lines see no other files of the host.
    workspace.replace(
        "p/Sipfile",
        "cat utils/words",
        "cat /etc/hostname; touch utils/new",
    );
    workspace.succeed(&["gen", "p"]);
    assert_eq!(workspace.read("p/in/1a.in"), "1a\n");
    assert!(!workspace.path("p/utils/new").exists());
}

#[test]
fn gen_with_generators_yaml_creates_its_tests() {
    let workspace = Workspace::new();
    icpc_scripts(
        &workspace,
        r#"
random_salt: s
data:
  sample:
    data:
      2: {in: two, ans: TWO}
  secret:
    data:
      a: gen 1 {seed}
      g:
        data:
        - x: gen.sh p
        - '': {generate: gen q}
      m: {copy: hand/m}
"#,
    );
    workspace.write("p/generators/hand/m.in", "m in\n");
    workspace.write("p/generators/hand/m.ans", "m ans\n");
    let report = workspace.json(&["gen", "p"]);
    let made = paths(&report["made"]);
    for path in [
        "data/sample/1.ans",
        "data/secret/a.in",
        "data/secret/g/1-x.in",
        "data/secret/g/2.ans",
    ] {
        assert!(made.contains(&path), "{path}: {made:?}");
    }
    let seed = report["made"]
        .as_array()
        .unwrap()
        .iter()
        .find(|made| made["test"] == "secret/a")
        .unwrap()["seed"]
        .clone();
    assert_eq!(workspace.read("p/data/secret/a.in"), format!("1 {seed}\n"));
    assert_eq!(workspace.read("p/data/secret/g/1-x.ans"), "p!\n");
    assert_eq!(
        (
            workspace.read("p/data/sample/2.in"),
            workspace.read("p/data/sample/2.ans")
        ),
        ("two\n".into(), "TWO\n".into())
    );
    assert_eq!(workspace.read("p/data/secret/m.ans"), "m ans\n");
    // `clean` also removes the directories that were created for tests.
    workspace.succeed(&["clean", "p", "secret/g/1-x"]);
    assert!(
        workspace.path("p/data/secret/g/2.in").is_file()
            && !workspace.path("p/data/secret/g/1-x.in").exists()
    );
    workspace.succeed(&["clean", "p"]);
    assert!(!workspace.path("p/data/secret").exists());

    workspace.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {a: gne 1}}}\n",
    );
    workspace.assert_fails(
        "p",
        &["gen", "p"],
        2,
        "generators.yaml:1:27: error: the directory `generators` contains no generator",
    );
    workspace.write("p/generators/generators.yaml", "data: [\n");
    workspace.assert_fails("p", &["gen", "p"], 2, "generators.yaml:");
}

#[test]
fn gen_with_unknown_test_name_fails() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x");
    workspace.assert_fails(
        "p",
        &["gen", "p", "1b"],
        125,
        "there is no test \"1b\"; did you mean",
    );
    let output = workspace.problem(&["gen", "nowhere"]);
    assert_eq!(output.status(), 2, "{output:?}");
    workspace.assert_fails("p", &["gen", "p", "2*"], 125, "there is no test \"2*\"");
    workspace.assert_fails(
        "p",
        &["gen", "p", "[1"],
        125,
        "\"[1\" is not a valid pattern for test names: ",
    );
}

#[test]
fn gen_selects_tests_by_directory_pattern_or_last_part() {
    let workspace = Workspace::new();
    icpc_scripts(
        &workspace,
        "data: {sample: {data: {2: gen 2}}, secret: {data: {a: gen 1, g: {data: {b: gen 3}}}}}\n",
    );
    let inputs = |tests: &[&str]| -> Vec<String> {
        let report = workspace.json(&[&["gen", "p", "--all"], tests].concat());
        paths(&report["made"])
            .into_iter()
            .filter_map(|path| path.strip_suffix(".in"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(inputs(&["secret"]), ["data/secret/a", "data/secret/g/b"]);
    assert_eq!(inputs(&["secret/*"]), ["data/secret/a", "data/secret/g/b"]);
    assert_eq!(
        inputs(&["b", "sample/2"]),
        ["data/sample/2", "data/secret/g/b"]
    );
    workspace.succeed(&["clean", "p", "secret/g"]);
    assert!(
        workspace.path("p/data/secret/a.in").is_file()
            && !workspace.path("p/data/secret/g").exists()
    );
    // The help describes only the kinds of package that this subcommand accepts.
    let help = workspace.run(&["problem", "gen", "--help"]).stdout();
    assert!(!help.contains(".zip"), "{help}");
}

#[test]
fn gen_with_unknown_key_in_generators_yaml_warns() {
    let workspace = Workspace::new();
    icpc_scripts(
        &workspace,
        "solutoin: x\ndata: {secret: {data: {a: gen 1}}}\n",
    );
    let output = workspace.problem(&["gen", "p"]);
    let warning = "p/generators/generators.yaml:1:1: warning: unknown key \"solutoin\" is ignored; \
        did you mean \"solution\"?\n";
    assert_eq!(
        (output.status(), output.stderr()),
        (0, warning.to_owned()),
        "{output:?}"
    );
    let output = workspace.problem(&["gen", "p", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout()).unwrap();
    let fault = &report["warnings"][0];
    assert_eq!(
        (&fault["line"], &fault["severity"]),
        (&1.into(), &"warning".into()),
        "{report}"
    );
    assert_eq!(
        (report["current"].as_u64(), output.stderr()),
        (Some(3), String::new()),
        "{report}"
    );
}

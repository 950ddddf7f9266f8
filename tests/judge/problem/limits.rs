//! `millibox problem limits` and `millibox problem test`.

use super::{Workspace, icpc_scripts, scripts};
use serde_json::Value;

#[test]
fn limits_with_write_changes_only_limits() {
    let workspace = Workspace::new();
    scripts(&workspace, "1a gen.sh x");
    workspace.write(
        "p/Simfile",
        workspace.read("p/Simfile") + "limits: [ # all of them\n  0a 7   32 # not this\n]\n# end\n",
    );
    workspace.succeed(&["gen", "p"]);
    let before = workspace.files("p");
    let report = workspace.json(&["limits", "p"]);
    assert!(
        before == workspace.files("p"),
        "limits without --write changed a file"
    );
    assert_eq!(
        (
            report["tests"][0]["stated"].as_f64(),
            report["tests"][1]["stated"].as_f64()
        ),
        (Some(7.0), Some(5.0))
    );
    assert!(
        report["formula"]
            .as_str()
            .unwrap()
            .starts_with("3 t + 0.2 / (t^2 + 2)"),
        "{report}"
    );
    let report = workspace.json(&["limits", "p", "--write"]);
    assert_eq!(report["written"], serde_json::json!(["Simfile"]));
    let limit = |test: usize| report["tests"][test]["limit"].as_f64().unwrap();
    let text = workspace.read("p/Simfile");
    assert!(
        text.contains(&format!(
            "limits: [ # all of them\n  0a {}   32 # not this\n    1a {}\n]\n# end\n",
            limit(0),
            limit(1)
        )),
        "{text}"
    );

    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    std::fs::remove_file(workspace.path("p/Simfile")).unwrap();
    workspace.succeed(&["gen", "p"]);
    let report = workspace.json(&["limits", "p", "--write"]);
    assert_eq!(
        (report["limit"].as_f64(), &report["written"]),
        (Some(1.0), &serde_json::json!(["problem.yaml"]))
    );
    assert_eq!(
        workspace.read("p/problem.yaml"),
        "name: Scripts\nlimits:\n  time_limit: 1 # seconds\n  memory: 64\n"
    );

    // A wrong model solution yields no limits.
    workspace.write("p/data/secret/a.ans", "other\n");
    let wrong = "accepted/model.sh must be accepted but is not on test secret/a: wrong answer\n";
    workspace.assert_fails("p", &["limits", "p", "--write"], 1, wrong);
}

#[test]
fn limits_with_failing_checker_name_test_once() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write(
        "p/problem.yaml",
        "name: Scripts\nvalidation: custom\nlimits: {time_limit: 1}\n",
    );
    workspace.write("p/output_validators/fails.sh", "exit 7\n");
    workspace.succeed(&["gen", "p"]);
    std::fs::remove_dir_all(workspace.path("p/data/sample")).unwrap();
    let failed =
        "millibox: accepted/model.sh on test secret/a: checker: exited with 7, not with 42";
    workspace.assert_fails("p", &["limits", "p"], 2, failed);
}

#[test]
fn limits_ignore_submissions_not_used_for_time_limit() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write(
        "p/problem.yaml",
        "problem_format_version: 2023-07\nname: p\nuuid: 1\nlimits: {time_limit: 5}\n",
    );
    let slow = "import time\nwhile time.process_time() < 0.6: pass\nprint(input() + '!')\n";
    workspace.write("p/submissions/accepted/slow.py", slow);
    workspace.write(
        "p/submissions/submissions.yaml",
        "accepted: {use_for_time_limit: false}\naccepted/model.sh: {use_for_time_limit: lower}\n",
    );
    workspace.succeed(&["gen", "p"]);
    let report = workspace.json(&["limits", "p"]);
    assert_eq!(report["limit"].as_f64(), Some(1.0), "{report}");
    let tests = report["tests"].as_array().unwrap();
    assert!(
        tests
            .iter()
            .all(|test| test["submission"] == "accepted/model.sh"),
        "{report}"
    );
    workspace.write(
        "p/submissions/submissions.yaml",
        "accepted: {use_for_time_limit: false}\n",
    );
    workspace.assert_fails(
        "p",
        &["limits", "p"],
        1,
        "submissions.yaml excludes all submissions that must be accepted from measuring",
    );
}

#[test]
fn limits_skip_submissions_without_usable_language() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.succeed(&["gen", "p"]);
    // No suite supports this language.
    workspace.write(
        "p/submissions/accepted/a.klingon",
        "fun main() = println(readln() + \"!\")\n",
    );
    let report = workspace.json(&["limits", "p", "--write"]);
    let why = "p/submissions/accepted/a.klingon: neither the extension nor the first line \
         identifies the language";
    let skipped = &report["skipped"][0];
    assert_eq!(
        (&skipped["submission"], report["limit"].as_f64()),
        (&"accepted/a.klingon".into(), Some(1.0)),
        "{report}"
    );
    assert!(
        skipped["reason"].as_str().unwrap().starts_with(why),
        "{report}"
    );
    assert_eq!(report["tests"][0]["submission"], "accepted/model.sh");
    assert!(workspace.read("p/problem.yaml").contains("time_limit: 1 #"));
    let stdout = workspace.succeed(&["limits", "p"]);
    assert!(
        stdout.contains(&format!("\naccepted/a.klingon was not measured: {why}")),
        "{stdout}"
    );
    std::fs::remove_file(workspace.path("p/submissions/accepted/model.sh")).unwrap();
    let none = format!(
        "no submission that must be accepted can be measured here: accepted/a.klingon: {why}"
    );
    workspace.assert_fails("p", &["limits", "p"], 2, &none);
}

#[test]
fn test_reports_uncaught_and_slow_submissions() {
    let workspace = Workspace::new();
    icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
    workspace.write(
        "p/submissions/wrong_answer/lucky.sh",
        workspace.read("p/submissions/accepted/model.sh"),
    );
    workspace.write("p/submissions/wrong_answer/wrong.sh", "echo no\n");
    workspace.write(
        "p/submissions/time_limit_exceeded/ever.sh",
        "while :; do :; done\n",
    );
    workspace.succeed(&["gen", "p"]);
    let output = workspace.problem(&["test", "p", "--json"]);
    assert_eq!(output.status(), 1, "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout()).unwrap();
    let of = |name: &str| {
        let all = report["submissions"].as_array().unwrap();
        all.iter()
            .find(|submission| submission["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {report}"))
    };
    let (lucky, wrong) = (of("wrong_answer/lucky.sh"), of("wrong_answer/wrong.sh"));
    assert_eq!(
        (&lucky["verdict"], &lucky["as_expected"]),
        (&"accepted".into(), &false.into())
    );
    assert_eq!(
        (&wrong["as_expected"], &wrong["decided_by"]),
        (&true.into(), &"sample/1".into())
    );
    let slow = &report["slow"][0];
    assert_eq!(
        (&slow["name"], &slow["at_least"]),
        (&"time_limit_exceeded/ever.sh".into(), &true.into())
    );
    assert!(slow["times"].as_f64().unwrap() >= 4.0, "{slow}");
    let remarks = report["remarks"].as_array().unwrap();
    assert_eq!(
        remarks[0],
        "wrong_answer/lucky.sh: no test catches it; add one"
    );
    assert!(
        remarks[1]
            .as_str()
            .unwrap()
            .starts_with("time_limit_exceeded/ever.sh: needs more than "),
        "{report}"
    );
    assert_eq!(remarks.len(), 2, "{report}");
}

#[test]
fn test_with_time_limit_near_slow_solution_warns() {
    let taken_out =
        "accepted: {use_for_time_limit: false}\naccepted/model.sh: {use_for_time_limit: lower}\n";
    for (version, yaml, near) in [
        ("2023-07", "{}\n", true),
        ("2023-07", taken_out, false),
        ("legacy", "", false),
    ] {
        let workspace = Workspace::new();
        icpc_scripts(&workspace, "data: {secret: {data: {a: gen 1}}}\n");
        let header = format!(
            "problem_format_version: {version}\nname: p\nuuid: 1\nlimits: {{time_limit: 1}}\n"
        );
        workspace.write("p/problem.yaml", header);
        workspace.succeed(&["gen", "p"]);
        let slow = "import time\nwhile time.process_time() < 0.6: pass\nprint(input() + '!')\n";
        workspace.write("p/submissions/accepted/slow.py", slow);
        workspace.write("p/submissions/submissions.yaml", yaml);
        let report = workspace.json(&["test", "p"]);
        let remarks = report["remarks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|remark| remark.as_str().unwrap());
        let near_remarks = remarks
            .filter(|remark| remark.contains("must be at least 2 times that"))
            .collect::<Vec<_>>();
        assert_eq!(near_remarks.len(), usize::from(near), "{version}: {report}");
        assert!(
            near_remarks
                .iter()
                .all(|remark| remark.starts_with("accepted/slow.py: needs ")),
            "{near_remarks:?}"
        );
    }
}

//! Groups of tests and their settings.

use crate::{Package, below, names};
use millibox_package::fault::icpc::{DataFault, GroupFault, ProgramFault};
use millibox_package::fault::text::{Found, Number, Suggestion, ValueKind, WordList};
use millibox_package::fault::values::KeyFault;
use millibox_package::model::{InputFlags, Objective, Rules, ScoreMode, Scoring, VerdictMode};

#[test]
fn legacy_settings_are_inherited() {
    let package = Package::icpc("type: scoring\nvalidation: custom\nvalidator_flags: whole\n");
    package.file("output_validators/v.py", "");
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_sample max\n",
    );
    package.file(
        "data/secret/testdata.yaml",
        "accept_score: 50\nreject_score: -1.5\ngrader_flags: first_error \
         min\noutput_validator_flags: own flag\ninput_validator_flags: {name: v, flags: a b}\n",
    );
    package
        .file(
            "data/secret/sub/testdata.yaml",
            "on_reject: break\nrange: -inf +inf\n",
        )
        .test("secret/sub/x")
        .test("sample/s");
    package.silent();
    let problem = package.problem();
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: 100.0,
            objective: Objective::Max
        }
    );
    let rules = |name: &str| problem.group(name).unwrap().rules.clone();
    let root = Rules {
        stop_at_first_failure: false,
        score: ScoreMode::Maximum,
        accept_score: Some(1.0),
        reject_score: Some(0.0),
        range: Some((0.0, 100.0)),
        ignore_sample: true,
        ..Rules::default()
    };
    assert_eq!(rules(""), root);
    assert_eq!(
        rules("sample"),
        Rules {
            ignore_sample: false,
            ..root.clone()
        }
    );
    let secret = Rules {
        verdict: VerdictMode::First,
        score: ScoreMode::Minimum,
        accept_score: Some(50.0),
        reject_score: Some(-1.5),
        ignore_sample: false,
        ..root
    };
    assert_eq!(rules("secret"), secret);
    let range = Some((f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(
        rules("secret/sub"),
        Rules {
            stop_at_first_failure: true,
            range,
            ..secret
        }
    );

    let test = problem.test("secret/sub/x").unwrap();
    assert_eq!(
        test.checker_flags.as_ref().unwrap(),
        &["whole", "own", "flag"]
    );
    assert_eq!(problem.test("sample/s").unwrap().checker_flags, None);
    let InputFlags::Named(flags) = &test.input_flags else {
        panic!("{:?}", test.input_flags)
    };
    assert_eq!(flags["v"], ["a", "b"]);
}

#[test]
fn input_validator_flags_apply_to_named_validators() {
    let package = Package::legacy();
    package.file("data/testdata.yaml", "input_validator_flags: for all\n");
    package
        .file(
            "data/secret/g/testdata.yaml",
            "input_validator_flags: {name: b, flags: for b}\n",
        )
        .test("secret/g/x");
    package
        .file("input_validators/a.py", "")
        .file("input_validators/b.py", "")
        .silent();
    let problem = package.problem();
    let flags = |test: &str| -> Vec<Vec<String>> {
        let flags = &problem.test(test).unwrap().input_flags;
        problem
            .input_validators
            .iter()
            .map(|validator| flags.of(validator).to_vec())
            .collect()
    };
    assert_eq!(flags("secret/1"), [["for", "all"], ["for", "all"]]);
    assert_eq!(
        flags("secret/g/x"),
        [vec![], vec!["for".to_owned(), "b".to_owned()]]
    );
}

#[test]
fn grader_flags_set_verdict_and_score_mode() {
    let rules = |flags: &str| {
        let package = Package::icpc("type: scoring\n");
        package
            .file(
                "data/secret/testdata.yaml",
                &format!("grader_flags: {flags}\n"),
            )
            .silent();
        let rules = package.problem().group("secret").unwrap().rules.clone();
        (rules.verdict, rules.score)
    };
    assert_eq!(rules("''"), (VerdictMode::Worst, ScoreMode::Sum));
    assert_eq!(
        rules("always_accept avg"),
        (VerdictMode::AlwaysAccept, ScoreMode::Average)
    );
    assert_eq!(
        rules("accept_if_any_accepted first_error"),
        (VerdictMode::AnyAccepted, ScoreMode::Sum)
    );
    assert_eq!(rules("sum min"), (VerdictMode::Worst, ScoreMode::Minimum));
}

#[test]
fn testdata_yaml_with_fault_is_reported() {
    let package = Package::icpc("type: scoring\n");
    let yaml = |text: &str| package.file("data/secret/testdata.yaml", text);
    yaml("on_reject: stop\n").refused_at(
        "data/secret/testdata.yaml:1:12",
        KeyFault::NotOneOf {
            key: "on_reject",
            choices: WordList::new(["break", "continue"]),
            found: Found::Text("stop".into()),
        },
    );
    yaml("range: 5\n").refused(GroupFault::Range {
        found: Found::Text("5".into()),
    });
    yaml("range: 5 1\n").refused(GroupFault::ReversedRange {
        min: Number(5.0),
        max: Number(1.0),
    });
    yaml("range: 0 nan\n").refused(GroupFault::Range {
        found: Found::Text("0 nan".into()),
    });
    yaml("accept_score: much\n").refused(KeyFault::NotNumber {
        key: "accept_score",
        found: Found::Text("much".into()),
    });
    yaml("grader_flags: ignore_sample\n").refused(GroupFault::MisplacedIgnoreSample);
    yaml("grader_flags: summ\n").refused(GroupFault::GraderFlag {
        flag: "summ".into(),
        suggestion: Suggestion::new("sum", ["sum"]),
    });
    yaml("grading: custom\n").refused(GroupFault::NoGrader);
    yaml("grading: mine\n").refused(KeyFault::NotOneOf {
        key: "grading",
        choices: WordList::new(["default", "custom"]),
        found: Found::Text("mine".into()),
    });
    yaml("input_validator_flags: {flags: a}\n").refused(GroupFault::FlagsWithoutName {
        key: "input_validator_flags",
    });
    yaml("on_rejct: break\n").warned(KeyFault::Unknown {
        key: "on_rejct".into(),
        suggestion: Suggestion::new("on_reject", ["on_reject"]),
    });
    yaml("").silent();
    package
        .file("data/testdata.yaml", "grader_flags: ignore_sample\n")
        .warned(GroupFault::IgnoreSampleWithBreak);
    package
        .file("data/test_group.yaml", "")
        .refused(DataFault::TwoSettings);

    let package = Package::legacy();
    package
        .file("data/secret/testdata.yaml", "accept_score: 1\n")
        .warned(GroupFault::ScoringOnly {
            key: "accept_score",
        });
    package
        .file("data/secret/group/README.md", "")
        .warned_at("data/secret/group", DataFault::EmptyGroup);
}

#[test]
fn custom_grader_is_used_by_groups_that_name_it() {
    let package = Package::icpc("type: scoring\n");
    package.file(
        "data/secret/testdata.yaml",
        "grading: custom\ngrader_flags: strict\n",
    );
    package.file("graders/g.py", "").silent();
    let grader = |name: &str| package.problem().group(name).unwrap().rules.grader.clone();
    assert_eq!(grader("secret"), Some(vec!["strict".to_owned()]));
    assert_eq!(package.problem().root.rules.grader, None);
    assert_eq!(package.problem().grader.unwrap().name(), "g.py");

    // Groups inherit flags and grader independently.
    package.test("secret/a/x").test("secret/b/x");
    package
        .file("data/secret/a/testdata.yaml", "grader_flags: a b\n")
        .file("data/secret/b/testdata.yaml", "");
    package.silent();
    assert_eq!(
        grader("secret/a"),
        Some(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(grader("secret/b"), grader("secret"));
    package.file("data/secret/b/testdata.yaml", "grading: default\n");
    package.refused_at(
        "data/secret/b/testdata.yaml:1:10",
        GroupFault::GraderFlag {
            flag: "strict".into(),
            suggestion: Suggestion::NONE,
        },
    );
    package
        .file(
            "data/secret/b/testdata.yaml",
            "grading: default\ngrader_flags: max\n",
        )
        .silent();
    assert_eq!(grader("secret/b"), None);
    assert_eq!(
        package.problem().group("secret/b").unwrap().rules.score,
        ScoreMode::Maximum
    );
    // A custom grader may not know inherited flags of the default grader.
    package.file(
        "data/testdata.yaml",
        "on_reject: continue\ngrader_flags: ignore_sample\n",
    );
    package
        .file("data/secret/testdata.yaml", "grading: custom\n")
        .silent();
    assert_eq!(grader("secret"), Some(vec!["ignore_sample".to_owned()]));

    package.file("graders/h.py", "").refused_at(
        "graders/g.py",
        ProgramFault::SeveralGraders {
            others: "graders/h.py".into(),
        },
    );
    let package = Package::icpc("type: scoring\n");
    package
        .file("graders/g.py", "")
        .warned_at("graders", ProgramFault::UnusedGrader);
    assert!(package.problem().grader.is_none());
    let package = Package::legacy();
    package
        .file("graders/g.py", "")
        .file("data/secret/testdata.yaml", "grading: custom\n");
    package.refused(GroupFault::GraderWithoutScoring);
}

#[test]
fn test_settings_override_group_settings() {
    let package = Package::successor("");
    package.file(
        "data/secret/test_group.yaml",
        "args: [x]\noutput_validator_args: [case_sensitive]\ninput_validator_args: [n]\n",
    );
    package.file(
        "data/secret/1.yaml",
        "args: [a, b c]\ndescription: the least\nhint: h\nfull_feedback: true\n",
    );
    package
        .file("data/secret/1.files/input.txt", "")
        .test("secret/2")
        .file("data/secret/2.args", "old  way\n");
    package
        .file(
            "data/secret/3.yaml",
            "output_validator_args: []\ninput_validator_args: {v: [m]}\n",
        )
        .test("secret/3")
        .silent();
    let problem = package.problem();
    let one = problem.test("secret/1").unwrap();
    assert_eq!(one.arguments, ["a", "b c"]);
    assert_eq!(one.description.as_deref(), Some("the least"));
    assert_eq!(
        below(one.files.as_ref().unwrap(), &package),
        "data/secret/1.files"
    );
    assert_eq!(one.checker_flags.as_ref().unwrap(), &["case_sensitive"]);
    assert_eq!(one.input_flags, InputFlags::All(vec!["n".to_owned()]));
    assert_eq!(problem.test("secret/2").unwrap().arguments, ["old", "way"]);
    let three = problem.test("secret/3").unwrap();
    assert_eq!(
        (three.checker_flags.as_deref(), &*three.arguments),
        (Some(&[][..]), &["x".to_owned()][..])
    );
    assert!(matches!(&three.input_flags, InputFlags::Named(flags) if flags["v"] == ["m"]));

    package.file("data/secret/1.yaml", "arg: [a]\n").warned_at(
        "data/secret/1.yaml:1:1",
        KeyFault::Unknown {
            key: "arg".into(),
            suggestion: Suggestion::new("args", ["args"]),
        },
    );
    package
        .file("data/secret/1.yaml", "args: [[a]]\n")
        .refused(KeyFault::TextsContain {
            key: "args".into(),
            found: ValueKind::List,
        });
    package
        .file("data/secret/1.yaml", "")
        .file("data/secret/9.yaml", "args: [a]\n")
        .warned(DataFault::NoTest { name: "9".into() });
}

#[test]
fn directory_without_test_group_yaml_contains_tests() {
    // Groups of the successor have a test_group.yaml. Other directories only contain tests.
    let package = Package::successor("");
    package
        .test("secret/more/2")
        .test("secret/more/yet/3")
        .test("secret/z")
        .test("sample/dir/s")
        .silent();
    let problem = package.problem();
    assert_eq!(
        names(&problem),
        [
            "sample/dir/s",
            "secret/1",
            "secret/more/2",
            "secret/more/yet/3",
            "secret/z"
        ]
    );
    assert_eq!(problem.groups().count(), 3);
    package.test("secret/more").refused(DataFault::SameName {
        name: "more".into(),
    });
}

#[test]
fn successor_groups_must_be_complete() {
    let package = Package::successor("");
    package
        .file("data/secret/a/test_group.yaml", "")
        .test("secret/a/1");
    package.refused(DataFault::TestBesideGroups {
        test: "secret/1".into(),
    });
    package
        .remove("data/secret/1.in")
        .remove("data/secret/1.ans")
        .silent();
    package
        .test("secret/b/1")
        .refused_at("data/secret/b", DataFault::NotGroup);
    package.file("data/secret/b/test_group.yaml", "").silent();
    package
        .file("data/secret/c/test_group.yaml", "")
        .refused_at("data/secret/c", DataFault::EmptyGroup);
    package
        .test("secret/c/1")
        .test("secret/c/d/1")
        .file("data/secret/c/d/test_group.yaml", "");
    package.refused_at("data/secret/c/d/test_group.yaml", DataFault::NestedGroup);
}

#[test]
fn old_name_of_worst_error_is_read() {
    let package = Package::icpc("type: scoring\n");
    package
        .file(
            "data/secret/testdata.yaml",
            "grader_flags: no_errors max\non_reject: continue\n",
        )
        .warned_at("data/secret/testdata.yaml:1:15", GroupFault::OldGraderFlag);
    let problem = package.problem();
    let rules = &problem.group("secret").unwrap().rules;
    assert_eq!(
        (rules.verdict, rules.score),
        (VerdictMode::Worst, ScoreMode::Maximum)
    );
}

#[test]
fn test_group_yaml_in_data_applies_to_all_tests() {
    let package = Package::successor("type: scoring\n");
    package
        .test("sample/1")
        .test("secret/g/2")
        .file("data/secret/g/test_group.yaml", "max_score: 1\n")
        .remove("data/secret/1.in")
        .remove("data/secret/1.ans")
        .file(
            "data/test_group.yaml",
            "output_validator_args: [float_tolerance, '1e-6']\nargs: [x]\nmax_score: 3\n",
        )
        .warned_at(
            "data/test_group.yaml:3:12",
            GroupFault::NotInherited { key: "max_score" },
        );
    let problem = package.problem();
    assert_eq!(problem.tests().count(), 2);
    for test in problem.tests() {
        assert_eq!(
            test.checker_flags.as_deref(),
            Some(&["float_tolerance".to_owned(), "1e-6".to_owned()][..])
        );
        assert_eq!(test.arguments, ["x"]);
    }
    let package = Package::legacy();
    package.test("sample/1").file(
        "data/test_group.yaml",
        "output_validator_flags: case_sensitive\n",
    );
    for test in package.problem().tests() {
        assert_eq!(
            test.checker_flags.as_deref(),
            Some(&["case_sensitive".to_owned()][..])
        );
    }
}

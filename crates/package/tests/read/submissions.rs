//! Submissions and their expected verdicts.

use crate::Package;
use millibox_package::fault::files::FileFault;
use millibox_package::fault::icpc::{SubmissionFault, VerdictClaim};
use millibox_package::fault::text::{Found, Suggestion, ValueKind, WordList};
use millibox_package::fault::values::KeyFault;
use millibox_package::model::Expected::{self, *};
use millibox_package::model::Submission;

fn expected(package: &Package, name: &str) -> Vec<Expected> {
    let problem = package.problem();
    let found = problem
        .submissions
        .into_iter()
        .find(|submission| submission.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).expected
}

#[test]
fn directory_states_expected_verdicts() {
    let package = Package::icpc("type: scoring\n");
    for directory in [
        "partially_accepted",
        "wrong_answer",
        "time_limit_exceeded",
        "run_time_error",
        "compiler_error",
        "no_output",
        "output_limit",
        "memory_limit",
    ] {
        package.file(&format!("submissions/{directory}/x.py"), "");
    }
    package.silent();
    let of = |directory: &str| expected(&package, &format!("{directory}/x.py"));
    assert_eq!(of("partially_accepted"), [PartiallyAccepted]);
    assert_eq!(of("wrong_answer"), [WrongAnswer]);
    assert_eq!(of("time_limit_exceeded"), [TimeLimit]);
    assert_eq!(of("run_time_error"), [RunTimeError, MemoryLimit]);
    assert_eq!(of("compiler_error"), [CompileError]);
    assert_eq!(of("no_output"), [WrongAnswer]);
    assert_eq!(of("output_limit"), [OutputLimit]);
    assert_eq!(of("memory_limit"), [MemoryLimit]);
}

#[test]
fn successor_directories_state_verdicts() {
    let package = Package::successor("");
    package
        .file("submissions/rejected/x.py", "")
        .file("submissions/brute_force/x.py", "")
        .silent();
    assert_eq!(expected(&package, "rejected/x.py"), [Rejected]);
    assert_eq!(
        expected(&package, "brute_force/x.py"),
        [TimeLimit, RunTimeError, MemoryLimit]
    );
    Package::legacy()
        .file("submissions/rejected/x.py", "")
        .warned(SubmissionFault::NothingExpected {
            suggestion: Suggestion::NONE,
        });
}

#[test]
fn submissions_are_sorted_with_accepted_first() {
    let package = Package::legacy();
    package
        .file("submissions/accepted/b/main.cpp", "")
        .file("submissions/accepted/b/lib/x.h", "");
    package
        .file("submissions/accepted/README.md", "")
        .file("submissions/accepted/0.py", "");
    package
        .file("submissions/a_wrong/x.c++", "")
        .file("submissions/wrong_answer/x.py", "");
    let submissions = package.problem().submissions;
    let names: Vec<&str> = submissions
        .iter()
        .map(|submission| &*submission.name)
        .collect();
    assert_eq!(
        names,
        [
            "accepted/0.py",
            "accepted/a.cpp",
            "accepted/b",
            "a_wrong/x.c++",
            "wrong_answer/x.py"
        ]
    );
    assert_eq!(submissions[2].program.sources.len(), 2);
    assert_eq!(
        submissions[1].program.sources,
        [submissions[1].program.path.clone()]
    );
}

#[test]
fn unusual_submissions_cause_warnings() {
    let package = Package::legacy();
    package
        .file("submissions/stray.py", "")
        .warned_at("submissions/stray.py", SubmissionFault::Misplaced);
    package.remove("submissions/stray.py");
    package
        .file("submissions/acepted/x.py", "")
        .warned(SubmissionFault::NothingExpected {
            suggestion: Suggestion::new("accepted", ["accepted"]),
        });
    package.remove("submissions/acepted/x.py");
    package
        .file("submissions/accepted/e/.hidden", "")
        .warned_at("submissions/accepted/e", SubmissionFault::Empty);
    package.remove("submissions/accepted/e/.hidden");
    package
        .file("submissions/accepted/my prog.py", "")
        .warned(FileFault::Name);
    package
        .remove("submissions/accepted/a.cpp")
        .warned(SubmissionFault::NoneAccepted);
    let package = Package::legacy();
    package
        .file("submissions/accepted/bare", "print(1)")
        .warned_at("submissions/accepted/bare", SubmissionFault::NoLanguage);
    package.remove("submissions/accepted/bare");
    package
        .file("submissions/accepted/README", "")
        .file("submissions/accepted/notes.md", "")
        .file("submissions/accepted/lib.h", "")
        .silent();
    // A source with a wrong extension is not judged.
    package
        .file("submissions/accepted/main.txt", "")
        .warned_at("submissions/accepted/main.txt", SubmissionFault::NoLanguage);
    package.remove("submissions/accepted/main.txt");
    // The first line of a script names its language.
    package
        .file("submissions/accepted/script", "#!/bin/bash\necho 3\n")
        .silent();
    assert_eq!(expected(&package, "accepted/script"), [Accepted]);
    Package::legacy()
        .file("submissions/partially_accepted/x.py", "")
        .warned(SubmissionFault::PartialWithoutScoring);
}

#[test]
fn expected_results_tag_states_verdicts() {
    let package = Package::legacy();
    let tagged = |path: &str, text: &str| {
        package.file(&format!("submissions/{path}"), text);
        expected(&package, path)
    };
    assert_eq!(
        tagged(
            "mixed/a.py",
            "# @EXPECTED_RESULTS@: WRONG-ANSWER, TIMELIMIT\n"
        ),
        [WrongAnswer, TimeLimit]
    );
    assert_eq!(
        tagged(
            "mixed/b.py",
            "# @expected_results@:   run_time_error , Accepted  \nx"
        ),
        [Accepted, RunTimeError, MemoryLimit]
    );
    assert_eq!(
        tagged("mixed/c.py", "# @EXPECTED_RESULTS@: CHECK-MANUALLY\n"),
        []
    );
    assert_eq!(
        tagged("mixed/d.py", "# @EXPECTED_SCORE@: CORRECT\n"),
        [Accepted]
    );
    // The directory selects among the verdicts of the tag.
    assert_eq!(
        tagged(
            "wrong_answer/a.py",
            "# @EXPECTED_RESULTS@: CORRECT,NO-OUTPUT"
        ),
        [WrongAnswer]
    );
    assert_eq!(
        tagged("run_time_error/a.py", "# @EXPECTED_RESULTS@: RUN-ERROR"),
        [RunTimeError, MemoryLimit]
    );
    package.silent();

    assert_eq!(
        tagged("wrong_answer/b.py", "\n# @EXPECTED_RESULTS@: CORRECT"),
        [Accepted]
    );
    package.warned_at(
        "submissions/wrong_answer/b.py",
        SubmissionFault::TagsContradictDirectory,
    );
    package.remove("submissions/wrong_answer/b.py");

    let twice = "x\n@EXPECTED_RESULTS@: CORRECT\n@EXPECTED_RESULTS@: WRONG-ANSWER\n";
    assert_eq!(tagged("wrong_answer/c.py", twice), [WrongAnswer]);
    package.warned_at(
        "submissions/wrong_answer/c.py:2",
        SubmissionFault::RepeatedTag {
            tag: "@EXPECTED_RESULTS@",
        },
    );
    package.remove("submissions/wrong_answer/c.py");

    assert_eq!(
        tagged("wrong_answer/d.py", "@EXPECTED_RESULTS@: WORNG-ANSWER"),
        [WrongAnswer]
    );
    package.warned(SubmissionFault::UnknownResult {
        word: "WORNG-ANSWER".into(),
        suggestion: Suggestion::new("WRONG-ANSWER", ["WRONG-ANSWER"]),
    });
}

#[test]
fn expected_score_tag_states_points() {
    let package = Package::icpc("type: scoring\n");
    package.file(
        "submissions/partial/a.py",
        "# @EXPECTED_RESULTS@: WRONG-ANSWER\n# @EXPECTED_SCORE@: 30.5\n",
    );
    package
        .file("submissions/partial/b.py", "# @EXPECTED_SCORE@: 10\n")
        .silent();
    let problem = package.problem();
    let of = |name: &str| {
        problem
            .submissions
            .iter()
            .find(|submission| submission.name == name)
            .unwrap()
    };
    assert_eq!(
        (&*of("partial/a.py").expected, of("partial/a.py").score),
        (&[WrongAnswer][..], Some((30.5, 30.5)))
    );
    assert_eq!(
        (&*of("partial/b.py").expected, of("partial/b.py").score),
        (&[][..], Some((10.0, 10.0)))
    );

    let package = Package::legacy();
    package.file("submissions/accepted/a.cpp", "\n// @EXPECTED_SCORE@: 100\n");
    assert_eq!(package.problem().submissions[0].score, None);
    package.warned_at(
        "submissions/accepted/a.cpp:2",
        SubmissionFault::ScoreTagWithoutScoring,
    );
}

#[test]
fn submissions_yaml_states_claims() {
    let package = Package::successor("type: scoring\n");
    package
        .file("submissions/mixed/a.py", "")
        .file("submissions/mixed/b.py", "")
        .file("submissions/mixed/c/x.py", "");
    package
        .file("submissions/wrong_answer/w.py", "")
        .file("submissions/accepted/z.py", "");
    package.file(
        "submissions/submissions.yaml",
        "mixed/{a,b}.py:\n  permitted: [AC, WA, TLE]\n  required: [WA, TLE]\n  language: python3\n\
         mixed/b.*:\n  permitted: [AC, TLE, RTE]\n  score: [10, 20]\n\
         mixed/c:\n  permitted: [AC]\n\
         wrong_answer:\n  permitted: [AC, WA, RTE]\n\
         accepted/z.py:\n  model_solution: true\n  authors: Z\n  use_for_time_limit: lower\n",
    );
    package.silent();
    assert_eq!(expected(&package, "mixed/a.py"), [WrongAnswer, TimeLimit]);
    assert_eq!(expected(&package, "mixed/b.py"), [TimeLimit]);
    assert_eq!(expected(&package, "mixed/c"), [Accepted]);
    assert_eq!(
        expected(&package, "wrong_answer/w.py"),
        [WrongAnswer, RunTimeError, MemoryLimit]
    );
    let problem = package.problem();
    assert_eq!(problem.submissions[0].name, "accepted/z.py");
    let b = problem
        .submissions
        .iter()
        .find(|submission| submission.name == "mixed/b.py")
        .unwrap();
    assert_eq!(
        (b.score, b.program.language.as_deref()),
        (Some((10.0, 20.0)), Some("python3"))
    );
}

#[test]
fn key_without_verdicts_keeps_verdicts_of_directory() {
    let package = Package::successor("type: scoring\n");
    let of = |directory: &str| {
        package.file(&format!("submissions/{directory}/x.py"), "");
        package
            .file(
                "submissions/submissions.yaml",
                &format!("{directory}: {{language: python3}}\n"),
            )
            .silent();
        expected(&package, &format!("{directory}/x.py"))
    };
    // Of these directories, the format has default claims only for the first.
    assert_eq!(of("wrong_answer"), [WrongAnswer]);
    assert_eq!(of("partially_accepted"), [PartiallyAccepted]);
    assert_eq!(of("memory_limit"), [MemoryLimit]);
    assert_eq!(of("output_limit"), [OutputLimit]);
    assert_eq!(of("compile_error"), [CompileError]);
}

#[test]
fn required_verdicts_of_some_tests_apply_to_submission() {
    let package = Package::successor("");
    package.file("submissions/mixed/a.py", "");
    let yaml = |text: &str| package.file("submissions/submissions.yaml", text);
    let required = || package.problem().submissions.remove(1).required;
    yaml("mixed:\n  secret/2:\n    required: [WA, TLE, RTE]\n");
    assert_eq!(
        (expected(&package, "mixed/a.py"), required()),
        (vec![Rejected], vec![])
    );
    yaml("mixed:\n  permitted: [AC, WA, TLE, RTE]\n").silent();
    assert_eq!(
        (expected(&package, "mixed/a.py"), required()),
        (vec![], vec![])
    );
}

#[test]
fn required_verdicts_that_are_not_implied_are_kept() {
    let package = Package::successor("type: scoring\n");
    package
        .file("submissions/mixed/a.py", "")
        .file("submissions/wrong_answer/w.py", "");
    let yaml = |text: &str| package.file("submissions/submissions.yaml", text);
    let of = |name: &str| {
        let mut submissions = package.problem().submissions.into_iter();
        let submission = submissions
            .find(|submission| submission.name == name)
            .unwrap();
        (submission.expected, submission.required)
    };
    let crash = || vec![RunTimeError, MemoryLimit];
    // The verdict of the whole submission may come from another test.
    yaml("mixed/a.py: {permitted: [AC, WA, RTE], required: [RTE]}\n").silent();
    assert_eq!(
        of("mixed/a.py"),
        (vec![WrongAnswer, RunTimeError, MemoryLimit], vec![crash()])
    );
    yaml("mixed/*: {required: [AC]}\nmixed/a.*: {required: [TLE, RTE]}\n").silent();
    let required = vec![vec![Accepted], vec![TimeLimit, RunTimeError, MemoryLimit]];
    assert_eq!(of("mixed/a.py"), (vec![Rejected], required));
    // Verdicts that cannot occur are not required, and sets that follow from the verdict are
    // omitted.
    yaml("mixed/a.py: {permitted: [AC, WA], required: [WA, TLE]}\n").silent();
    assert_eq!(of("mixed/a.py"), (vec![WrongAnswer], vec![]));
    yaml("wrong_answer/w.py: {permitted: [AC, WA, TLE], required: [WA]}\n");
    assert_eq!(of("wrong_answer/w.py"), (vec![WrongAnswer], vec![]));

    let package = Package::successor("");
    package.file("submissions/mixed/a.py", "");
    package.file(
        "submissions/submissions.yaml",
        "mixed/a.py:\n  required: [TLE]\n",
    );
    package.warned_at(
        "submissions/submissions.yaml:1:1",
        SubmissionFault::RequiredMayBeUnknown,
    );
}

#[test]
fn contradictory_claims_are_refused() {
    let package = Package::successor("");
    package
        .file("submissions/wrong_answer/w.py", "")
        .file("submissions/mixed/a.py", "");
    let yaml = |text: &str| package.file("submissions/submissions.yaml", text);
    yaml("# Slow.\nwrong_answer/w.py: {permitted: [TLE], required: [TLE]}\n").refused_at(
        "submissions/submissions.yaml:2:1",
        SubmissionFault::Contradiction {
            submission: "wrong_answer/w.py".into(),
            claims: vec![
                VerdictClaim {
                    pattern: "wrong_answer/w.py".into(),
                    permitted: WordList::new(["TLE"]),
                    required: vec![WordList::new(["TLE"])],
                },
                VerdictClaim {
                    pattern: "wrong_answer".into(),
                    permitted: WordList::new(["AC", "WA"]),
                    required: vec![WordList::new(["WA"])],
                },
            ],
        },
    );
    yaml("mixed/*: {permitted: [AC, WA]}\nmixed/a.*: {permitted: [TLE, RTE]}\n").refused_at(
        "submissions/submissions.yaml:2:1",
        SubmissionFault::Contradiction {
            submission: "mixed/a.py".into(),
            claims: vec![
                VerdictClaim {
                    pattern: "mixed/*".into(),
                    permitted: WordList::new(["AC", "WA"]),
                    required: vec![],
                },
                VerdictClaim {
                    pattern: "mixed/a.*".into(),
                    permitted: WordList::new(["TLE", "RTE"]),
                    required: vec![],
                },
            ],
        },
    );
    yaml("mixed/*: {permitted: [AC, WA], required: [TLE]}\n").refused(
        SubmissionFault::Contradiction {
            submission: "mixed/a.py".into(),
            claims: vec![VerdictClaim {
                pattern: "mixed/*".into(),
                permitted: WordList::new(["AC", "WA"]),
                required: vec![WordList::new(["TLE"])],
            }],
        },
    );
    yaml("wrong_answer/*: {permitted: [AC]}\n").refused(SubmissionFault::Contradiction {
        submission: "wrong_answer/w.py".into(),
        claims: vec![
            VerdictClaim {
                pattern: "wrong_answer/*".into(),
                permitted: WordList::new(["AC"]),
                required: vec![],
            },
            VerdictClaim {
                pattern: "wrong_answer".into(),
                permitted: WordList::new(["AC", "WA"]),
                required: vec![WordList::new(["WA"])],
            },
        ],
    });
    yaml("mixed: {permitted: [AC], secret/1: {required: [WA]}}\n").refused(
        SubmissionFault::Contradiction {
            submission: "mixed/a.py".into(),
            claims: vec![VerdictClaim {
                pattern: "mixed".into(),
                permitted: WordList::new(["AC"]),
                required: vec![WordList::new(["WA"])],
            }],
        },
    );
    yaml("wrong_answer: {permitted: [TLE], required: [TLE]}\n");
    assert_eq!(expected(&package, "wrong_answer/w.py"), [TimeLimit]);
}

#[test]
fn unsupported_claims_are_reported_once() {
    let package = Package::successor("type: scoring\n");
    package.file(
        "submissions/submissions.yaml",
        "accepted/*:\n  message: right\n  sample: {permitted: [AC], score: 0, message: well done}\n\
         \x20 secret/1*: {permitted: [AC], score: 1, required: [AC]}\n\
         accepted/a*:\n  message: fine\n  secret/*: {required: [AC], score: 2}\n",
    );
    let lines = [
        "2:12: warning: message is not supported: the messages of a test are not compared with it",
        "3:23: warning: permitted for only some tests is not supported; ignored",
        "3:36: warning: score for only some tests is not supported; ignored",
        "4:52: warning: required for only some tests applies to all tests: any test may have \
         the verdict",
    ];
    assert_eq!(
        package.faults(),
        lines
            .map(|line| format!("submissions/submissions.yaml:{line}"))
            .join("\n")
    );
}

#[test]
fn submissions_yaml_with_fault_is_reported() {
    let package = Package::successor("");
    let yaml = |text: &str| package.file("submissions/submissions.yaml", text);
    yaml("accepted/*: {permitted: [AX]}\n").refused(SubmissionFault::UnknownVerdict {
        key: "permitted",
        word: "AX".into(),
    });
    yaml("accepted/*: {required: []}\n").refused(SubmissionFault::NoVerdict { key: "required" });
    yaml("accepted/[ab]*: {}\n").refused_at(
        "submissions/submissions.yaml:1:1",
        SubmissionFault::Pattern {
            pattern: "accepted/[ab]*".into(),
        },
    );
    yaml("accepted/**: {}\n").refused(SubmissionFault::Pattern {
        pattern: "accepted/**".into(),
    });
    yaml("accepted/{: {}\n").refused(SubmissionFault::Pattern {
        pattern: "accepted/{".into(),
    });
    yaml("accepted/*: {score: [2, 1]}\n").refused(SubmissionFault::Score {
        found: Found::Other(ValueKind::List),
    });
    yaml("accepted/*: 5\n").refused(KeyFault::NotMap {
        name: "the claim of a pattern".into(),
        found: ValueKind::Text,
    });
    yaml("other/*: {permitted: [AC]}\n").warned(SubmissionFault::UnusedPattern {
        pattern: "other/*".into(),
    });
    yaml("accepted/*: {permited: [AC]}\n").warned(KeyFault::Unknown {
        key: "permited".into(),
        suggestion: Suggestion::new("permitted", ["permitted"]),
    });
    yaml("accepted/*: {score: 1}\n").warned(SubmissionFault::ScoreWithoutScoring);
    yaml("accepted/*: {entrypoint: Main}\n").warned(SubmissionFault::EntryPoint);
}

#[test]
fn use_for_time_limit_selects_measured_submissions() {
    let package = Package::successor("");
    package
        .file("submissions/accepted/slow.py", "")
        .file("submissions/time_limit_exceeded/t.py", "");
    let measured = |yaml: &str| -> Vec<String> {
        package.file("submissions/submissions.yaml", yaml);
        let submissions = package.problem().submissions.into_iter();
        submissions
            .filter(Submission::is_measured)
            .map(|submission| submission.name)
            .collect()
    };
    assert_eq!(
        measured("accepted: {permitted: [AC]}\n"),
        ["accepted/a.cpp", "accepted/slow.py"]
    );
    assert_eq!(
        measured("accepted: {use_for_time_limit: true}\n"),
        ["accepted/a.cpp", "accepted/slow.py"]
    );
    let one = "accepted: {permitted: [AC], use_for_time_limit: false}\naccepted/a.cpp: \
        {use_for_time_limit: lower}\n";
    assert_eq!(measured(one), ["accepted/a.cpp"]);
    assert!(measured("accepted: {use_for_time_limit: false}\n").is_empty());
    assert_eq!(
        measured("time_limit_exceeded: {use_for_time_limit: upper}\n").len(),
        2
    );
    assert_eq!(
        measured("time_limit_exceeded: {use_for_time_limit: false}\n").len(),
        2
    );
    package.silent();

    // The default claim of the directory also applies, as the format defines.
    assert_eq!(
        measured("accepted/slow.py: {use_for_time_limit: false}\n"),
        ["accepted/a.cpp", "accepted/slow.py"]
    );
    package.warned_at(
        "submissions/submissions.yaml:1:40",
        SubmissionFault::StillMeasured {
            submission: "accepted/slow.py".into(),
            pattern: "accepted".into(),
        },
    );
    assert_eq!(
        measured("time_limit_exceeded: {use_for_time_limit: lower}\n").len(),
        2
    );
    package.warned(SubmissionFault::LowerNotAccepted {
        submission: "time_limit_exceeded/t.py".into(),
    });
    assert_eq!(
        measured("accepted/a.cpp: {use_for_time_limit: upper}\n").len(),
        2
    );
    package.warned(SubmissionFault::UpperNotSlow {
        submission: "accepted/a.cpp".into(),
    });
    assert_eq!(
        measured("accepted: {secret: {use_for_time_limit: lower}}\n").len(),
        2
    );
    package.warned(SubmissionFault::OfSomeTests {
        key: "use_for_time_limit",
    });
    package.file(
        "submissions/submissions.yaml",
        "accepted: {use_for_time_limit: no}\n",
    );
    package.refused(KeyFault::NotOneOf {
        key: "use_for_time_limit",
        choices: WordList::new(["false", "true", "lower", "upper"]),
        found: Found::Text("no".into()),
    });
}

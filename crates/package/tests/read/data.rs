//! Tests, and the files beside them.

use crate::{Package, below, names};
use millibox_package::fault::icpc::{DataFault, FlagError};
use millibox_package::fault::text::{MakeHint, Suggestion};
use millibox_package::model::{InputFlags, ProbeKind};

#[test]
fn tests_are_sorted_by_base_name() {
    let package = Package::legacy();
    // Tests are sorted by base name: `a` comes before `a-1`, although `-` comes before `.`.
    package
        .test("secret/a")
        .test("secret/a-1")
        .test("secret/10")
        .test("sample/2")
        .test("sample/1");
    // Groups are sorted among tests.
    package
        .test("secret/group/x")
        .test("secret/group/deeper/y")
        .test("secret/z")
        .silent();
    let problem = package.problem();
    assert_eq!(
        names(&problem),
        [
            "sample/1",
            "sample/2",
            "secret/1",
            "secret/10",
            "secret/a",
            "secret/a-1",
            "secret/group/deeper/y",
            "secret/group/x",
            "secret/z"
        ]
    );
    let groups: Vec<(&str, bool)> = problem
        .groups()
        .map(|group| (&*group.name, group.sample))
        .collect();
    let secret = [
        ("secret", false),
        ("secret/group", false),
        ("secret/group/deeper", false),
    ];
    assert_eq!(
        groups,
        [&[("", false), ("sample", true)][..], &secret].concat()
    );
    assert_eq!(
        problem.group("secret/group").unwrap().all_tests().count(),
        2
    );
    let test = problem.test("secret/group/x").unwrap();
    assert_eq!(below(&test.input, &package), "data/secret/group/x.in");
    assert_eq!(
        below(test.answer.as_ref().unwrap(), &package),
        "data/secret/group/x.ans"
    );
}

#[test]
fn probes_are_read_and_their_faults_are_warnings() {
    let package = Package::successor("");
    package.file("data/invalid_input/a.in", "").file(
        "data/invalid_input/a.yaml",
        "input_validator_args: ['1', '2 3']\n",
    );
    package.file(
        "data/invalid_input/test_group.yaml",
        "input_validator_args: [all]\n",
    );
    package
        .file("data/invalid_input/deep/b.in", "")
        .test("valid_output/c")
        .file("data/valid_output/c.out", "");
    package
        .file(
            "data/valid_output/c.yaml",
            "output_validator_args: [case_sensitive]\n",
        )
        .test("invalid_output/d")
        .silent();
    let problem = package.problem();
    let probes: Vec<_> = problem
        .probes
        .iter()
        .map(|probe| (probe.kind, &*probe.test.name))
        .collect();
    let invalid = [
        (ProbeKind::InvalidInput, "invalid_input/a"),
        (ProbeKind::InvalidInput, "invalid_input/deep/b"),
    ];
    let outputs = [
        (ProbeKind::InvalidOutput, "invalid_output/d"),
        (ProbeKind::ValidOutput, "valid_output/c"),
    ];
    assert_eq!(probes, [invalid, outputs].concat());
    let flags = |index: usize| problem.probes[index].test.input_flags.clone();
    assert_eq!(
        flags(0),
        InputFlags::All(vec!["1".to_owned(), "2 3".to_owned()])
    );
    assert_eq!(flags(1), InputFlags::All(vec!["all".to_owned()]));
    assert_eq!(
        (&problem.probes[0].test.answer, &problem.probes[2].output),
        (&None, &None)
    );
    assert_eq!(
        below(problem.probes[3].output.as_ref().unwrap(), &package),
        "data/valid_output/c.out"
    );
    assert_eq!(
        problem.probes[3].test.checker_flags,
        Some(vec!["case_sensitive".to_owned()])
    );
    assert_eq!(names(&problem), ["secret/1"]);
    // Submissions can be judged despite faults in probes.
    package.file(
        "data/valid_output/c.yaml",
        "output_validator_args: [none]\n",
    );
    package.warned_at(
        "data/valid_output/c.yaml:1:24",
        FlagError::Unknown {
            flag: "none".into(),
        },
    );
    package.file("data/valid_output/e.ans", "").warned_at(
        "data/valid_output/e.ans",
        DataFault::NoInput { name: "e".into() },
    );

    let package = Package::legacy();
    package
        .file("data/testdata.yaml", "input_validator_flags: x y\n")
        .file("data/invalid_inputs/1.in", "")
        .silent();
    let flags = package.problem().probes[0].test.input_flags.clone();
    assert_eq!(flags, InputFlags::All(vec!["x".to_owned(), "y".to_owned()]));
}

#[test]
fn known_files_beside_tests_give_no_warning() {
    let package = Package::legacy();
    for name in [
        "1.desc",
        "1.hint",
        "1.png",
        "1.in.statement",
        "1.out",
        "README.md",
        "generate.py",
    ] {
        package.file(&format!("data/secret/{name}"), " about it\n");
    }
    package.file("data/sample/1.interaction", "").silent();
    let problem = package.problem();
    assert_eq!(names(&problem), ["secret/1"]);
    assert_eq!(
        problem.test("secret/1").unwrap().description.as_deref(),
        Some("about it")
    );
}

#[test]
fn stray_files_are_reported() {
    for package in [Package::legacy(), Package::successor("")] {
        package
            .file("data/sample/UP.IN", "")
            .file("data/secret/q.input", "")
            .file("data/secret/z.in.gz", "");
        let why = "warning: not read: not part of a test, which consists of NAME.in and NAME.ans";
        let faults = package.faults();
        let lines: Vec<&str> = faults.lines().collect();
        let wanted = [
            format!("data/sample/UP.IN: {why}; did you mean \"UP.in\"?"),
            format!("data/secret/q.input: {why}"),
            format!("data/secret/z.in.gz: {why}"),
        ];
        assert_eq!(lines, wanted);
        for number in 0..10 {
            package.file(&format!("data/secret/{number}.input"), "");
        }
        // One more file is listed, and a final line states the number of the others.
        assert_eq!(package.faults().lines().count(), 6);
        package.warned_at("data/secret/4.input", DataFault::MoreStrays { more: 7 });
    }
}

#[test]
fn incomplete_tests_are_reported() {
    let package = Package::legacy();
    package.file("data/secret/2.in", "").refused_at(
        "data/secret/2.in",
        DataFault::NoAnswer {
            name: "2".into(),
            hint: MakeHint::None,
        },
    );
    package.remove("data/secret/2.in");
    package
        .file("data/secret/3.ans", "")
        .refused_at("data/secret/3.ans", DataFault::NoInput { name: "3".into() });
    package.remove("data/secret/3.ans");
    package.file("data/secret/4.inn", "").warned_at(
        "data/secret/4.inn",
        DataFault::Stray {
            suggestion: Suggestion::new("4.in", ["4.in"]),
        },
    );
    package
        .file("data/5.in", "")
        .refused_at("data/5.in", DataFault::MisplacedTest);
    package.remove("data/5.in");
    package
        .test("secrets/1")
        .warned(DataFault::UnknownDirectory {
            suggestion: Suggestion::new("secret", ["secret"]),
        });
    package
        .remove("data/secret/1.in")
        .remove("data/secret/1.ans")
        .refused(DataFault::NoTests {
            hint: MakeHint::None,
        });
    package.test("sample/1").warned(DataFault::OnlySamples);

    let package = Package::empty();
    package
        .file("problem.yaml", "")
        .refused_at("data", DataFault::NoDirectory);
}

//! Packages of Sim.

use crate::{Package, below, names};
use millibox_package::fault::sim::{ConfigFault, RangeFault, SimfileFault, SipfileFault};
use millibox_package::fault::text::Suggestion;
use millibox_package::model::{
    Checker, Convention, Expected, Format, Generator, Kind, Objective, ScoreMode, Scoring,
};
use std::time::Duration;

#[test]
fn sim_package_has_default_settings() {
    let package = Package::sim("");
    package.silent();
    let problem = package.problem();
    assert_eq!(
        (problem.format, &*problem.name, &*problem.label),
        (Format::Sim, "Sum of two", "sum")
    );
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: 100.0,
            objective: Objective::Max
        }
    );
    assert!(matches!(problem.checker, Checker::Lines));
    assert_eq!(problem.limits.memory, Some(64 << 20));
    assert_eq!(problem.model_solution().unwrap().name, "prog/sum.cpp");
    let test = problem.test("sum1").unwrap();
    assert_eq!(below(&test.input, &package), "in/sum1.in");
    assert_eq!(
        below(test.answer.as_ref().unwrap(), &package),
        "out/sum1.out"
    );
    assert_eq!((test.cpu_time, test.memory), (None, None));
}

#[test]
fn simfile_syntax_is_read() {
    let package = Package::empty();
    package.file(
        "Simfile",
        "# comment\nname = 'It''s #1'# more\nlabel: \"a\\x41\\tb\"\nmemory_limit: 8 # MiB\nempty:\
         \n\n\
         solutions: [,prog/a.cpp, 'prog/b c.cpp'\n  # comment\n\n  prog/d.cpp,]\nlimits: [\n  1a \
         0.5\n  1b 1.25 16 # own\n]\n",
    );
    package
        .file("prog/a.cpp", "")
        .file("prog/b c.cpp", "")
        .file("prog/d.cpp", "");
    for test in ["1a", "1b"] {
        package
            .file(&format!("tests/{test}.in"), "")
            .file(&format!("tests/{test}.out"), "");
    }
    assert_eq!(
        package.faults(),
        "Simfile:5:1: warning: unknown key \"empty\" is ignored"
    );
    let problem = package.problem();
    assert_eq!((&*problem.name, &*problem.label), ("It's #1", "aA\tb"));
    let solutions: Vec<&str> = problem
        .submissions
        .iter()
        .map(|submission| &*submission.name)
        .collect();
    assert_eq!(solutions, ["prog/a.cpp", "prog/b c.cpp", "prog/d.cpp"]);
    assert_eq!(problem.submissions[0].expected, [Expected::Accepted]);
    assert!(problem.submissions[1].expected.is_empty());
    let limits: Vec<_> = problem
        .tests()
        .map(|test| (test.cpu_time.unwrap(), test.memory))
        .collect();
    assert_eq!(
        limits,
        [
            (Duration::from_millis(500), None),
            (Duration::from_millis(1250), Some(16 << 20))
        ]
    );
}

#[test]
fn simfile_with_syntax_faults_reports_all() {
    let package = Package::sim(
        "'quoted': 1\nchecker 5\nstatement: \"doc\nlabel: \"\\q\"\nscoring: [\n 'x' y\n [\n 1 \
         100\n] z\nlimits: [\n",
    );
    assert_eq!(
        package.faults(),
        r#"Simfile:4:1: error: expected a key
Simfile:5:9: error: expected a colon after the key "checker"
Simfile:6:12: error: the quoted value does not end on its line
Simfile:7:9: error: unknown escape \q
Simfile:9:6: error: 'y' after the value; expected a comma or the end of the line
Simfile:10:2: error: an array within an array is not allowed
Simfile:12:3: error: 'z' after the value; put values with such characters in quotes
Simfile:13:9: error: the array has no end; add a ]"#
    );
}

#[test]
fn groups_are_sorted_and_share_points() {
    let package = Package::sim("");
    for name in [
        "sum0a", "sum3ocen", "sum10a", "sum2b", "sum2a", "sum2aa", "sum03",
    ] {
        package
            .file(&format!("in/{name}.in"), "")
            .file(&format!("out/{name}.out"), "");
    }
    package.silent();
    let problem = package.problem();
    assert_eq!(
        names(&problem),
        [
            "sum0a", "sum3ocen", "sum1", "sum2a", "sum2aa", "sum2b", "sum03", "sum10a"
        ]
    );
    let groups: Vec<_> = problem
        .root
        .groups
        .iter()
        .map(|group| (&*group.name, group.rules.points))
        .collect();
    // Four groups share 100 points.
    let some = |points| Some(f64::from(points));
    assert_eq!(
        groups,
        [
            ("0", some(0)),
            ("1", some(25)),
            ("2", some(25)),
            ("3", some(25)),
            ("10", some(25))
        ]
    );
    let initial = problem.group("0").unwrap();
    assert!(initial.sample && !initial.rules.stop_at_first_failure);
    let rules = &problem.group("2").unwrap().rules;
    assert_eq!(
        (rules.score, rules.time_graded_from),
        (ScoreMode::Minimum, Some(2.0 / 3.0))
    );
    assert!(rules.stop_at_first_failure);
}

#[test]
fn remainder_of_points_goes_to_last_group() {
    let package = Package::sim("");
    for name in ["sum2", "sum3"] {
        package
            .file(&format!("in/{name}.in"), "")
            .file(&format!("out/{name}.out"), "");
    }
    let points: Vec<_> = package
        .problem()
        .root
        .groups
        .iter()
        .map(|group| group.rules.points.unwrap())
        .collect();
    assert_eq!(points, [33.0, 33.0, 34.0]);
}

#[test]
fn scoring_assigns_points_to_groups() {
    let package = Package::sim("scoring: [\n 1 -5\n 002 30\n]\n");
    for name in ["sum2", "sum0"] {
        package
            .file(&format!("in/{name}.in"), "")
            .file(&format!("out/{name}.out"), "");
    }
    package.silent();
    let problem = package.problem();
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: -5.0,
            maximum: 30.0,
            objective: Objective::Max
        }
    );
    assert_eq!(problem.group("2").unwrap().rules.points, Some(30.0));
    assert_eq!(problem.group("0").unwrap().rules.points, Some(0.0));

    let scoring = |items: &str| Package::sim(&format!("scoring: [{items}]\n"));
    scoring("1 5, 7 5").refused(SimfileFault::GroupWithoutTests { group: "7".into() });
    scoring("").refused(SimfileFault::GroupWithoutPoints { group: "1".into() });
    scoring("1 5, 1 6").refused(SimfileFault::RepeatedGroup { group: "1".into() });
    scoring("1 much").refused(SimfileFault::Points {
        group: "1".into(),
        points: "much".into(),
    });
    scoring("x 5").refused(SimfileFault::NotGroup { group: "x".into() });
    scoring("1").refused(SimfileFault::Scoring { text: "1".into() });
}

#[test]
fn tests_files_names_files_of_tests() {
    let package = Package::sim("tests_files: [\n sum2 data/two /data/../data/two.answer\n]\n");
    package
        .file("data/two", "")
        .file("data/two.answer", "")
        .silent();
    let problem = package.problem();
    let test = problem.test("sum2").unwrap();
    assert_eq!(below(&test.input, &package), "data/two");
    assert_eq!(
        below(test.answer.as_ref().unwrap(), &package),
        "data/two.answer"
    );

    package.remove("data/two").refused_at(
        "Simfile:5:2",
        SimfileFault::NoFile {
            path: "data/two".into(),
        },
    );
    Package::sim("tests_files: [sum2 in]\n").refused(SimfileFault::Files {
        test: "sum2".into(),
    });
    Package::sim("tests_files: [sum a b]\n").refused(SimfileFault::TestName {
        key: "tests_files",
        name: "sum".into(),
    });
    // A path that leads outside is interpreted as a path inside the package.
    Package::sim("tests_files: [sum2 ../../etc/passwd a]\n").refused(SimfileFault::NoFile {
        path: "../../etc/passwd".into(),
    });
}

#[test]
fn missing_files_are_reported() {
    Package::sim("").file("in/sum2.in", "").refused_at(
        "in/sum2.in",
        SimfileFault::NoAnswer {
            test: "sum2".into(),
        },
    );
    Package::sim("").file("out/sum2.out", "").refused_at(
        "out/sum2.out",
        SimfileFault::AnswerWithoutInput {
            test: "sum2".into(),
        },
    );
    Package::sim("limits: [sum5 1]\n").refused_at(
        "Simfile:4:10",
        SimfileFault::NoInput {
            test: "sum5".into(),
        },
    );
    Package::sim("")
        .file("in/notes.in", "")
        .warned_at("in/notes.in", SimfileFault::FileName);
    Package::sim("")
        .file("tests/sum1.in", "")
        .warned(SimfileFault::SecondFile {
            test: "sum1".into(),
            other: "in/sum1.in".into(),
        });
    Package::sim("statement: doc/x.pdf\n").warned(SimfileFault::NoStatement {
        path: "doc/x.pdf".into(),
    });
    Package::sim("checker: check/x.cpp\n").refused_at(
        "Simfile:4:10",
        SimfileFault::NoChecker {
            path: "check/x.cpp".into(),
        },
    );
    Package::sim("solutions: [prog/x.cpp]\n").refused(SimfileFault::NoSolution {
        path: "prog/x.cpp".into(),
    });
    Package::sim("solutions: [prog/sum.cpp, prog/sum.cpp]\n").warned(
        SimfileFault::RepeatedSolution {
            path: "prog/sum.cpp".into(),
        },
    );
    Package::sim("solutions: prog/sum.cpp\n").refused(ConfigFault::NotArray {
        key: "solutions".into(),
    });
    Package::sim("")
        .remove("prog/sum.cpp")
        .refused(SimfileFault::NoSolutions);
    let package = Package::sim("");
    package
        .remove("in/sum1.in")
        .remove("out/sum1.out")
        .refused(SimfileFault::NoTests);
    package
        .file("Simfile", "x: 1\n")
        .refused(SimfileFault::NoName);
    Package::sim("")
        .file("Simfile", "name: x\n")
        .refused(SimfileFault::NoMemoryLimit);
    Package::sim("test_files: []\n").warned_at(
        "Simfile:4:1",
        ConfigFault::UnknownKey {
            key: "test_files".into(),
            suggestion: Suggestion::new("tests_files", ["tests_files"]),
        },
    );
    Package::sim("name: Other\n").warned(ConfigFault::RepeatedKey {
        key: "name".into(),
        line: 1,
    });
}

#[test]
fn invalid_limits_are_refused() {
    let limits = |items: &str| Package::sim(&format!("limits: [{items}]\n"));
    limits("sum1").refused(SimfileFault::TimeLimit {
        test: "sum1".into(),
        text: None,
    });
    limits("sum1 0").refused(SimfileFault::TimeLimit {
        test: "sum1".into(),
        text: Some("0".into()),
    });
    limits("sum1 x").refused(SimfileFault::TimeLimit {
        test: "sum1".into(),
        text: Some("x".into()),
    });
    limits("sum1 1 0").refused(SimfileFault::MemoryLimit { text: "0".into() });
    limits("sum1 1 2 3").refused(SimfileFault::AfterLimits {
        word: "3".into(),
        test: "sum1".into(),
    });
    limits("sum1 1, sum1 2").refused(SimfileFault::RepeatedLimits {
        test: "sum1".into(),
        first_line: 4,
    });
    limits("sum 1").refused(SimfileFault::TestName {
        key: "limits",
        name: "sum".into(),
    });
    Package::sim("memory_limit: much\n").refused(SimfileFault::MemoryLimit {
        text: "much".into(),
    });
    Package::sim("interactive: maybe\n").refused(SimfileFault::Interactive {
        text: "maybe".into(),
    });
}

#[test]
fn checker_with_shortest_path_is_used() {
    let package = Package::sim("");
    package
        .file("check/checker.cpp", "")
        .file("check/long-name.cpp", "")
        .file("check/c.h", "")
        .silent();
    let Checker::Custom {
        program,
        convention: Convention::Sim,
    } = package.problem().checker
    else {
        panic!("no checker")
    };
    assert_eq!(below(&program.path, &package), "check/checker.cpp");
    package
        .file("check/checker.cpp", "#include \"testlib.h\"\n")
        .warned(SimfileFault::TestlibChecker);
}

#[test]
fn interactive_problem_needs_checker() {
    let package = Package::sim("interactive: true\n");
    package.refused(SimfileFault::CheckerRequired);
    package.file("check/i.cpp", "").silent();
    let problem = package.problem();
    assert_eq!(
        (problem.kind, problem.test("sum1").unwrap().answer.as_ref()),
        (Kind::Interactive, None)
    );
    package.file(
        "Simfile",
        "name: x\nmemory_limit: 1\ninteractive: true\ntests_files: [sum1 \
         in/sum1.in out/sum1.out]\n",
    );
    package.refused(SimfileFault::InteractiveFiles {
        test: "sum1".into(),
    });
}

#[test]
fn unnamed_solutions_are_found() {
    let package = Package::sim("");
    package
        .file("sol.c", "")
        .file("prog/a.cpp", "")
        .file("utils/g.c", "")
        .file("check/c.c", "")
        .silent();
    let names: Vec<String> = package
        .problem()
        .submissions
        .into_iter()
        .map(|submission| submission.name)
        .collect();
    // The source with the shortest path is the model solution.
    assert_eq!(names, ["sol.c", "prog/a.cpp", "prog/sum.cpp"]);
}

#[test]
fn label_is_derived_from_name() {
    let package = Package::sim("");
    package.file("Simfile", "name: A bc D\nmemory_limit: 1\n");
    assert_eq!(package.problem().label, "abc");
}

#[test]
fn sipfile_names_generated_tests() {
    let package = Package::sim("");
    package.file(
        "Sipfile",
        "default_time_limit: 2.5\nbase_seed: 7\nstatic: [sum1]\ngen: [\n sum2a-b gen 5 1\\ 0\n \
         sum3 sh:echo 1 2\n sum4 utils/gen.py\n]\n",
    );
    package.file("utils/gen.py", "").silent();
    let problem = package.problem();
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_millis(2500)));
    assert_eq!(names(&problem), ["sum1", "sum2a", "sum2b", "sum3", "sum4"]);
    let made: Vec<&str> = problem
        .generators
        .iter()
        .map(|generation| &*generation.test)
        .collect();
    assert_eq!(made, ["sum2a", "sum2b", "sum3", "sum4"]);
    let Generator::Program(program) = &problem.generators[0].generator else {
        panic!("{:?}", problem.generators[0])
    };
    assert_eq!(below(&program.path, &package), "utils/gen.py");
    assert_eq!(problem.generators[0].arguments, ["5", "1 0"]);
    assert_eq!(
        problem.generators[2].generator,
        Generator::Shell("echo 1 2".to_owned())
    );
    // The hash of Sim: the sum of letter × 257^position, XOR the base seed.
    let hash = "sum4"
        .bytes()
        .rev()
        .fold(0, |hash: u64, byte| hash * 257 + u64::from(byte));
    assert_eq!(problem.generators[3].seed, hash ^ 7);
    assert_eq!(
        below(&problem.test("sum3").unwrap().input, &package),
        "in/sum3.in"
    );
    assert_eq!(
        below(
            problem.test("sum3").unwrap().answer.as_ref().unwrap(),
            &package
        ),
        "out/sum3.out"
    );
}

#[test]
fn sipfile_with_fault_is_reported() {
    let package = Package::sim("");
    package
        .file("utils/gena.cpp", "")
        .file("utils/genb.cpp", "");
    let sipfile = |text: &str| package.file("Sipfile", text);
    sipfile("gen: [\n sum2 gen\n]\n").refused_at(
        "Sipfile:2:2",
        SipfileFault::AmbiguousGenerator {
            name: "gen".into(),
            first: "utils/gena.cpp".into(),
            second: "utils/genb.cpp".into(),
        },
    );
    sipfile("gen: [sum2 seq 5]\n").warned(SipfileFault::ShellCommand { name: "seq".into() });
    sipfile("gen: [sum2]\n").refused(SipfileFault::NoCommand {
        range: "sum2".into(),
    });
    sipfile("gen: [sum3-2 gena]\n").refused(SipfileFault::Range {
        range: "sum3-2".into(),
        fault: RangeFault::Reversed,
    });
    sipfile("gen: [sum gena]\n").refused(SipfileFault::TestName { name: "sum".into() });
    sipfile("gen: [sum2 gena, sum2 genb]\n").refused(SipfileFault::Repeated {
        test: "sum2".into(),
    });
    sipfile("static: [sum2]\n").refused_at(
        "Sipfile:1:10",
        SimfileFault::NoInput {
            test: "sum2".into(),
        },
    );
    sipfile("static: [sum1 x]\n").warned(SipfileFault::AfterRange { word: "x".into() });
    sipfile("static: [sum1, sum1]\n").warned(SipfileFault::RepeatedStatic {
        test: "sum1".into(),
    });
    sipfile("default_time_limit: 0\n").refused(SipfileFault::TimeLimit { text: "0".into() });
    sipfile("base_seed: -1\n").refused(SipfileFault::Seed { text: "-1".into() });
    sipfile("bas_seed: 1\n").warned(ConfigFault::UnknownKey {
        key: "bas_seed".into(),
        suggestion: Suggestion::new("base_seed", ["base_seed"]),
    });
    sipfile("")
        .file("in/sum2.in", "")
        .warned(SimfileFault::NoAnswerYet {
            test: "sum2".into(),
        });
}

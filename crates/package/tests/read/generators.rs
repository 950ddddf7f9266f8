//! Packages whose tests will be generated.

use crate::{Package, names};
use millibox_package::fault::icpc::DataFault;
use millibox_package::fault::text::MakeHint;
use millibox_package::model::{Generation, Generator};
use millibox_package::{Problem, read_unfinished, read_whole};

const FILE: &str = "generators/generators.yaml";

fn read(package: &Package, text: &str) -> Problem {
    package.file(FILE, text);
    read_unfinished(&package.path()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn of<'p>(problem: &'p Problem, test: &str) -> &'p Generation {
    problem
        .generators
        .iter()
        .find(|generation| generation.test == test)
        .expect(test)
}

fn program(generation: &Generation) -> (String, usize) {
    match &generation.generator {
        Generator::Program(program) => (program.name().to_owned(), program.sources.len()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tests_that_can_be_generated_are_not_missing() {
    let package = Package::legacy();
    package
        .file("generators/gen.py", "")
        .file("data/secret/2.in", "2\n");
    let problem = read(
        &package,
        "data: {sample: {data: {'1': gen 1}}, secret: {data: {g: {data: {a: gen 2}}}}}\n",
    );
    assert_eq!(
        names(&problem),
        ["sample/1", "secret/1", "secret/2", "secret/g/a"]
    );
    assert!(problem.tests().all(|test| test.answer.is_some()));
    // Judging needs all files.
    package.refused_at(
        "data/secret/2.in",
        DataFault::NoAnswer {
            name: "2".into(),
            hint: MakeHint::One,
        },
    );
    package.remove("data/secret/2.in");
    assert!(package.problem().generators.is_empty());
}

#[test]
fn read_whole_checks_generators() {
    let package = Package::legacy();
    let faults = |text: &str| {
        package.file(FILE, text);
        let faults = match read_whole(&package.path()) {
            Ok(problem) => problem.warnings.iter().map(ToString::to_string).collect(),
            Err(faults) => faults.to_string(),
        };
        package.problem();
        faults.replace(&format!("{}/", package.path().display()), "")
    };
    package.file("generators/gen.py", "");
    assert_eq!(faults("data: {secret: {data: {'1': gen 1}}}\n"), "");
    assert!(
        faults("data: {secret: {data: {'1': gne 1}}}\n").contains(
            ":1:29: error: the directory `generators` contains no generator named \"gne\""
        )
    );
    assert!(
        faults("solution: /x.py\ndata: {}\n")
            .contains("error: solution: \"x.py\" is not one of the submissions")
    );
    let text = faults("data: {secret: {data: {'1': {generate: gen, match: x}}}}\n");
    assert!(
        text.ends_with("warning: `match` is not supported here and has no effect"),
        "{text}"
    );
    let there = "generators/generators.yaml: warning: test secret/2 does not exist; `millibox \
        problem gen` generates it";
    assert_eq!(
        faults("data: {secret: {data: {'1': gen 1, '2': gen 2}}}\n"),
        there
    );
    let text = faults("data: {secret: {data: {'2': gen 1, '3': gen 2}}}\n");
    assert!(
        text.ends_with("test secret/2 and 1 more do not exist; `millibox problem gen` makes them"),
        "{text}"
    );

    // The fault of a missing answer names the command that makes it.
    package
        .remove("data/secret/1.ans")
        .refused(DataFault::NoAnswer {
            name: "1".into(),
            hint: MakeHint::One,
        });
    package
        .remove("data/secret/1.in")
        .refused(DataFault::NoTests {
            hint: MakeHint::Several,
        });
}

#[test]
fn generators_are_found_by_name() {
    let package = Package::legacy();
    package
        .file("generators/a.py", "")
        .file("generators/b/b.cpp", "")
        .file("generators/b/lib.h", "");
    package
        .file("generators/c.cpp", "")
        .file("generators/c.py", "");
    let problem = read(
        &package,
        "generators:\n  two: [a.py, b/lib.h]\ndata:\n  secret:\n    data:\n      1x: a 1\n      \
         2x: a.py 1\n      3x: b 1\n      \
         4x: two  1 2\n      5x: c.py\n",
    );
    assert_eq!(program(of(&problem, "secret/1x")), ("a.py".to_owned(), 1));
    assert_eq!(program(of(&problem, "secret/2x")), ("a.py".to_owned(), 1));
    assert_eq!(program(of(&problem, "secret/3x")), ("b".to_owned(), 2));
    assert_eq!(program(of(&problem, "secret/4x")), ("a.py".to_owned(), 2));
    assert_eq!(program(of(&problem, "secret/5x")), ("c.py".to_owned(), 1));
    assert_eq!(of(&problem, "secret/4x").arguments, ["1", "2"]);
}

#[test]
fn seed_is_hash_of_command() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "random_salt: x\ndata:\n  secret:\n    data:\n      1x: gen {seed}\n      2x: gen \
         a={seed:2}b\n      3x: \
         {generate: gen}\n",
    );
    // int(hashlib.sha512(b"xgen {seed}").hexdigest(), 16) % 2**31
    let seed = of(&problem, "secret/1x").seed;
    assert_eq!(seed, 546_603_375);
    assert_eq!(of(&problem, "secret/1x").arguments, [seed.to_string()]);
    let other = of(&problem, "secret/2x");
    assert_ne!(other.seed, seed);
    assert_eq!(other.arguments, [format!("a={}b", other.seed)]);
}

#[test]
fn name_placeholder_becomes_name_of_test() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "random_salt: x\ndata:\n  secret:\n    data:\n      1x: gen {name} {seed} \
         a={name}.{name} {nam}\n      g: {data: \
         [{t: {generate: 'gen -{name}'}}]}\n",
    );
    let one = of(&problem, "secret/1x");
    assert_eq!(
        one.arguments,
        ["1x", &one.seed.to_string(), "a=1x.1x", "{nam}"]
    );
    // int(hashlib.sha512(b"xgen {name} {seed} a={name}.{name} {nam}").hexdigest(), 16) % 2**31
    assert_eq!(one.seed, 1_439_023_505);
    assert_eq!(of(&problem, "secret/g/1-t").arguments, ["-1-t"]);
}

#[test]
fn tests_in_lists_are_numbered() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let entries: String = (0..10)
        .map(|number| format!("      - {{t{number}: gen {number}}}\n"))
        .collect();
    let problem = read(
        &package,
        &format!("data:\n  secret:\n    data:\n{entries}      - {{'': {{in: text}}}}\n"),
    );
    let made: Vec<&str> = problem
        .generators
        .iter()
        .map(|generation| &*generation.test)
        .collect();
    assert_eq!(
        (made[0], made[9], made[10]),
        ("secret/01-t0", "secret/10-t9", "secret/11")
    );
    assert_eq!(
        of(&problem, "secret/11").generator,
        Generator::Text("text\n".to_owned())
    );
}

#[test]
fn solution_in_generators_yaml_is_model_solution() {
    let package = Package::legacy();
    package
        .file("submissions/accepted/b.cpp", "")
        .file("submissions/wrong_answer/c.cpp", "");
    let problem = read(
        &package,
        "solution: /submissions/accepted/b.cpp\ndata: {}\n",
    );
    assert_eq!(problem.model_solution().unwrap().name, "accepted/b.cpp");
    assert_eq!(problem.submissions.len(), 3);
}

#[test]
fn generators_yaml_with_fault_is_refused() {
    let package = Package::legacy();
    package
        .file("generators/gen.py", "")
        .file("generators/two.py", "")
        .file("generators/two.cpp", "");
    let in_secret = |test: &str| format!("data:\n  secret:\n    data:\n      {test}\n");
    for (text, part) in [
        ("solution: a\n".to_owned(), "`data` is missing"),
        (
            "solution: /other.py\ndata: {}\n".to_owned(),
            "1:11: error: solution: \"other.py\" is not one of the submissions",
        ),
        (
            "data: text\n".to_owned(),
            "must be a map or a list of tests",
        ),
        (
            in_secret("a: gne 1"),
            "the directory `generators` contains no generator named \"gne\"",
        ),
        (
            in_secret("a: two 1"),
            "it may be generators/two.cpp or generators/two.py",
        ),
        (in_secret("a: gen {seed} {seed:1}"), "more than once"),
        (in_secret("a: {in: x, generate: gen}"), "needs one of"),
        (
            in_secret("a: {generate: gen, count: 101}"),
            "count must be a number up to 100",
        ),
        (
            in_secret("a: {generate: gen, count: [1, 1]}"),
            "count must be a number up to 100",
        ),
        (
            in_secret("a: {generate: gen, count: 3..=2}"),
            "count must be a number up to 100",
        ),
        (
            in_secret("a: {include: [b]}"),
            "include: no earlier key has the name \"b\"",
        ),
        (
            in_secret("a: {copy: none}"),
            "there is no generators/none.in",
        ),
        (in_secret("a/b: gen"), "is not a valid test name"),
        (
            in_secret("- a: gen\n        b: gen"),
            "each test must be a separate map",
        ),
    ] {
        package.file(FILE, &text);
        let faults = read_unfinished(&package.path()).unwrap_err().to_string();
        assert!(faults.contains(part), "{text}: {faults}");
        // Judging does not read the file.
        package.problem();
    }
}

#[test]
fn unknown_placeholders_are_reported() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "data: {secret: {data: {a: 'gen {sed} x={Seed} {seed:3} {name} {other} {1}'}}}\n",
    );
    assert_eq!(of(&problem, "secret/a").arguments[0], "{sed}");
    let warnings: Vec<String> = problem.warnings.iter().map(ToString::to_string).collect();
    let why = "is passed to the generator unchanged: the placeholders are {name}, {seed} and \
     {seed:NUMBER}";
    let place = format!("{}:1:27: warning:", package.path().join(FILE).display());
    assert_eq!(
        warnings,
        [
            format!("{place} {{sed}} {why}; did you mean \"{{seed}}\"?"),
            format!("{place} {{Seed}} {why}; did you mean \"{{seed}}\"?"),
            format!("{place} {{other}} {why}"),
        ]
    );
}

#[test]
fn unknown_keys_in_generators_yaml_are_reported() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "version: 2025-02\nsolutoin: /a.py\ntool_specific: x\ntestdata.yaml: {}\nvisualizer: \
         /v.py\ndata:\n  secret:\n    rando_salt: \
         x\n    data:\n      a: {generate: gen, sed: 3}\n",
    );
    let warnings: Vec<String> = problem.warnings.iter().map(ToString::to_string).collect();
    let file = package.path().join(FILE).display().to_string();
    assert_eq!(
        warnings,
        [
            "2:1: warning: unknown key \"solutoin\" is ignored; did you mean \"solution\"?",
            "3:1: warning: unknown key \"tool_specific\" is ignored",
            "4:16: warning: testdata.yaml is not generated from this; write the file",
            "5:13: warning: `visualizer` is not supported here and has no effect",
            "8:5: warning: unknown key \"rando_salt\" is ignored; did you mean \"random_salt\"?",
            "10:26: warning: unknown key \"sed\" is ignored",
        ]
        .map(|warning| format!("{file}:{warning}"))
    );
}

#[test]
fn count_requests_several_tests_with_different_seeds() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "random_salt: x\ndata:\n  secret:\n    data:\n      \
         a: {generate: 'gen {seed}', count: 2}\n      \
         b: {generate: 'gen {count}', count: [7, 12]}\n      \
         c: {generate: 'gen {name}', count: 8..=10}\n      \
         d: {generate: 'gen {count}', count: -1..=0}\n",
    );
    let made: Vec<(&str, &str)> = problem
        .generators
        .iter()
        .map(|generation| (&*generation.test, &*generation.arguments[0]))
        .collect();
    // int(hashlib.sha512(b"xgen {seed}").hexdigest(), 16) % 2**31, and of b"x:1gen {seed}"
    assert_eq!(
        made,
        [
            ("secret/a-1", "546603375"),
            ("secret/a-2", "1884574776"),
            ("secret/b-7", "7"),
            ("secret/b-12", "12"),
            ("secret/c-08", "c-08"),
            ("secret/c-09", "c-09"),
            ("secret/c-10", "c-10"),
            ("secret/d--1", "-1"),
            ("secret/d-00", "0"),
        ]
    );
}

#[test]
fn lists_number_tests_of_the_file_and_directories_of_the_list() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let tests: String = (0..8).map(|_| "{t: gen}, ").collect();
    let problem = read(
        &package,
        &format!(
            "data:\n  secret:\n    data:\n      a: {{data: [{tests} {{u: {{generate: gen, count: \
             2}}}}]}}\n      b: {{data: [{{g: {{data: {{x: gen}}}}}}, {{'': {{data: [{{y: \
             gen}}]}}}}]}}\n"
        ),
    );
    let made: Vec<&str> = problem
        .generators
        .iter()
        .map(|generation| &*generation.test)
        .collect();
    assert_eq!(
        made[6..],
        [
            "secret/a/07-t",
            "secret/a/08-t",
            "secret/a/09-u-1",
            "secret/a/10-u-2",
            "secret/b/1-g/x",
            "secret/b/2/11-y"
        ]
    );
}

#[test]
fn include_repeats_tests_of_earlier_keys() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    let problem = read(
        &package,
        "data:\n  sample:\n    data: {s: gen 0}\n  secret:\n    data:\n      \
         a: {data: {x: 'gen {name}', y: gen 2}}\n      b: {include: [s, a], data: {z: gen 3}}\n",
    );
    let made: Vec<&str> = problem
        .generators
        .iter()
        .map(|generation| &*generation.test)
        .collect();
    assert_eq!(
        made,
        [
            "sample/s",
            "secret/a/x",
            "secret/a/y",
            "secret/b/s",
            "secret/b/x",
            "secret/b/y",
            "secret/b/z"
        ]
    );
    assert_eq!(of(&problem, "secret/b/x").arguments, ["x"]);
}

#[test]
fn constants_and_old_copies_in_generators_yaml_are_read() {
    let package = Package::successor("constants: {n: 40}\n");
    package
        .file("generators/gen.py", "")
        .file("generators/manual/1.in", "");
    let problem = read(
        &package,
        "data: {secret: {data: {a: 'gen {{n}} {seed}', b: manual/1.in}}}\n",
    );
    // int(hashlib.sha512(b"gen 40 {seed}").hexdigest(), 16) % 2**31
    assert_eq!(of(&problem, "secret/a").arguments, ["40", "576961937"]);
    assert!(matches!(
        of(&problem, "secret/b").generator,
        Generator::Copy(_)
    ));
}

#[test]
fn unsupported_features_of_generators_yaml_are_warnings() {
    let package = Package::legacy();
    package.file("generators/gen.py", "");
    package.file(
        FILE,
        "retries: 3\ninclude: [a]\ndata:\n  fuzz: {data: {a: gen}}\n  \
         invalid_answer: {data: {}}\n  \
         sample:\n    solution: /x.py\n    data:\n      s: {in.statement: x, ans.statement: {link: \
         ans}}\n  secret:\n    retries: 2\n    test_group.yaml: {max_score: 3}\n    data:\n      \
         a: {generate: 'gen {count}', match: [x], yaml: {hint: x}, solution: /x.py, out: x}\n      \
         b:\n",
    );
    let problem = read_unfinished(&package.path()).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(problem.generators.len(), 1);
    let lines: Vec<Option<u32>> = problem.warnings.iter().map(|fault| fault.line).collect();
    for line in [1, 2, 4, 5, 7, 9, 11, 12, 14, 15] {
        assert!(
            lines.contains(&Some(line)),
            "{line}: {:?}",
            problem.warnings
        );
    }
}

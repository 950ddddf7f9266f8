//! Reads the packages in `examples/`, which have no faults and match their README files.

use millibox_package::model::{Checker, Convention, Expected, Format, Kind, Objective, Scoring};
use millibox_package::{Problem, read};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ALL: [&str; 4] = ["causeway", "heaps", "leak", "stalls"];
/// Maximum size of an example.
const MAX_EXAMPLE_BYTES: u64 = 300 << 10;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

/// Reads an example. Panics if it has faults.
fn example(name: &str) -> Problem {
    let problem = read(&directory(name)).unwrap_or_else(|faults| panic!("{faults}"));
    let warnings: Vec<String> = problem.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
    problem
}

fn files(below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(below)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn expected<'a>(problem: &'a Problem, verdicts: &[Expected]) -> Vec<&'a str> {
    let submissions = problem
        .submissions
        .iter()
        .filter(|submission| submission.expected == verdicts);
    submissions.map(|submission| &*submission.name).collect()
}

#[test]
fn examples_are_read_and_are_small() {
    let there: BTreeSet<String> = fs::read_dir(directory(""))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(there.iter().map(String::as_str).collect::<Vec<_>>(), ALL);
    for name in ALL {
        let problem = example(name);
        let size: u64 = files(&directory(name))
            .iter()
            .map(|path| path.metadata().unwrap().len())
            .sum();
        assert!(size < MAX_EXAMPLE_BYTES, "{name} has {size} bytes");
        for test in problem.tests() {
            assert!(test.input.is_file(), "{name}: {}", test.input.display());
            let answer = test.answer.as_ref().unwrap();
            assert!(answer.is_file(), "{name}: {}", answer.display());
        }
    }
}

#[test]
fn examples_have_their_formats_and_kinds() {
    let problem = example("causeway");
    assert_eq!(
        (problem.format, problem.kind, problem.scoring),
        (Format::Legacy, Kind::Batch, Scoring::PassFail)
    );
    assert!(matches!(problem.checker, Checker::Tokens));
    assert_eq!(problem.checker_flags, ["float_tolerance", "1e-6"]);

    let problem = example("heaps");
    assert_eq!(
        (problem.format, problem.kind, problem.scoring),
        (Format::Icpc2023, Kind::Batch, Scoring::PassFail)
    );
    assert!(matches!(
        problem.checker,
        Checker::Custom {
            convention: Convention::Icpc,
            ..
        }
    ));
    let flags = |test: &str| problem.test(test).unwrap().checker_flags.clone().unwrap();
    assert_eq!(flags("sample/1"), ["slack", "5", "tell"]);
    assert_eq!(flags("secret/04-greedy"), ["slack", "5"]);
    assert_eq!(flags("secret/07-exact"), ["slack", "0"]);

    let problem = example("leak");
    assert_eq!(
        (problem.format, problem.kind, problem.scoring),
        (Format::Legacy, Kind::Interactive, Scoring::PassFail)
    );
    let Checker::Custom {
        program,
        convention: Convention::Icpc,
    } = &problem.checker
    else {
        panic!()
    };
    assert_eq!(program.sources.len(), 3);

    let problem = example("stalls");
    assert_eq!((problem.format, problem.kind), (Format::Sim, Kind::Batch));
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: 100.0,
            objective: Objective::Max
        }
    );
    assert!(matches!(
        problem.checker,
        Checker::Custom {
            convention: Convention::Sim,
            ..
        }
    ));
    let points: Vec<_> = problem
        .root
        .groups
        .iter()
        .map(|group| (&*group.name, group.rules.points))
        .collect();
    assert_eq!(
        points,
        [
            ("0", Some(0.0)),
            ("1", Some(20.0)),
            ("2", Some(30.0)),
            ("3", Some(50.0))
        ]
    );
    assert_eq!(problem.test("sta3a").unwrap().memory, Some(32 << 20));
    // Three tests are written by hand, and generators produce the others.
    assert_eq!(problem.tests().count(), 3 + problem.generators.len());
}

#[test]
fn sources_of_examples_have_expected_verdicts() {
    for name in ["causeway", "heaps", "leak"] {
        let problem = example(name);
        let submissions = directory(name).join("submissions");
        let sources: BTreeSet<PathBuf> = files(&submissions)
            .into_iter()
            .filter(|path| !path.ends_with("submissions.yaml"))
            .collect();
        let read: BTreeSet<PathBuf> = problem
            .submissions
            .iter()
            .flat_map(|submission| &submission.program.sources)
            .cloned()
            .collect();
        assert_eq!(read, sources);
        for submission in &problem.submissions {
            assert!(
                !submission.expected.is_empty(),
                "{name}: {}",
                submission.name
            );
        }
        for verdict in [
            Expected::Accepted,
            Expected::WrongAnswer,
            Expected::TimeLimit,
            Expected::CompileError,
        ] {
            assert!(
                !expected(&problem, &[verdict]).is_empty(),
                "{name}: {verdict:?}"
            );
        }
        assert!(
            !expected(&problem, &[Expected::RunTimeError, Expected::MemoryLimit]).is_empty(),
            "{name}"
        );
        assert!(!problem.input_validators.is_empty(), "{name}");
    }
    assert_eq!(
        expected(&example("causeway"), &[Expected::MemoryLimit]),
        ["memory_limit/eats_memory.c"]
    );
    assert!(!expected(&example("causeway"), &[Expected::OutputLimit]).is_empty());
    // The directory states no verdict, but the tag in the source does.
    assert_eq!(
        expected(
            &example("leak"),
            &[Expected::WrongAnswer, Expected::TimeLimit]
        ),
        ["wrong_or_slow/closes_and_lives_on.cpp"]
    );
    assert_eq!(
        example("heaps").model_solution().unwrap().name,
        "accepted/sums.cpp"
    );

    // Sim's format states a verdict only for the model solution. Its directories only inform human
    // readers.
    let problem = example("stalls");
    assert_eq!(problem.model_solution().unwrap().name, "prog/stalls.cpp");
    let points: BTreeSet<&str> = problem.submissions[1..]
        .iter()
        .map(|submission| submission.name.split('/').nth(1).unwrap())
        .collect();
    assert_eq!(
        points.into_iter().collect::<Vec<_>>(),
        [
            "0_points",
            "100_points",
            "20_points",
            "50_points",
            "60_points"
        ]
    );
}

#[test]
fn examples_have_accepted_submissions_in_all_languages() {
    let mut found = BTreeSet::new();
    for name in ALL {
        for submission in &example(name).submissions {
            let accepted = submission.expected == [Expected::Accepted]
                || submission.name.contains("/100_points/");
            let sources = submission.program.sources.iter().filter(|_| accepted);
            found.extend(sources.filter_map(|path| Some(path.extension()?.to_str()?.to_owned())));
        }
    }
    for language in ["c", "cpp", "go", "java", "js", "pas", "py", "rs", "sh"] {
        assert!(found.contains(language), "{language} is not in {found:?}");
    }
}

/// The comment states what the submission does and which verdict it receives.
#[test]
fn submissions_of_examples_begin_with_comment() {
    for name in ALL {
        for submission in &example(name).submissions {
            let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
            let begins = |text: String| {
                ["/*", "//", "# ", "{ "]
                    .iter()
                    .any(|comment| text.starts_with(comment))
            };
            assert!(
                submission.program.sources.iter().map(text).any(begins),
                "{name}: {}",
                submission.name
            );
        }
    }
}

//! problem.yaml, domjudge-problem.ini, .timelimit.

use crate::{Package, below};
use millibox_package::model::{Checker, Convention, Format, Kind, Objective, Scoring};
use std::time::Duration;

#[test]
fn legacy_package_has_default_settings() {
    let package = Package::legacy();
    package.silent();
    let problem = package.problem();
    assert_eq!(
        (problem.format, &*problem.name, &*problem.label),
        (Format::Legacy, "Legacy", "pack")
    );
    assert_eq!(
        (problem.kind, problem.scoring),
        (Kind::Batch, Scoring::PassFail)
    );
    assert!(matches!(problem.checker, Checker::Tokens));
    assert_eq!(problem.limits.from_accepted, Some(5.0));
    assert_eq!(problem.limits.to_exceeded, Some(2.0));
    assert_eq!(problem.limits.cpu_time, None);
    assert_eq!(problem.model_solution().unwrap().name, "accepted/a.cpp");
}

#[test]
fn empty_problem_yaml_is_read_as_legacy() {
    let problem = Package::icpc("# nothing\n").problem();
    assert_eq!((problem.format, &*problem.name), (Format::Legacy, "pack"));
}

#[test]
fn title_in_english_is_preferred() {
    let title = |names: &str| Package::icpc(&format!("name: {names}\n")).problem().name;
    assert_eq!(title("{sv: Hej, en: Hello}"), "Hello");
    assert_eq!(title("{sv: Hej, da: Dav}"), "Hej");
    assert_eq!(title("null"), "pack");
    Package::icpc("name: [a]\n").refused("problem.yaml:1:7: error: name must be a text, or a map");
    Package::icpc("name: {}\n").refused("name must be a text, or a map");
}

#[test]
fn format_versions_are_detected() {
    for version in ["2023-07", "2023-07-draft", "2025-09", "2025-09-draft"] {
        let package = Package::icpc(&format!(
            "problem_format_version: {version}\nname: x\nuuid: 1\n"
        ));
        package.silent();
        let problem = package.problem();
        assert_eq!(
            (problem.format, problem.version.as_deref()),
            (Format::Icpc2023, Some(version))
        );
        assert_eq!(
            (problem.limits.from_accepted, problem.limits.to_exceeded),
            (Some(2.0), Some(1.5))
        );
    }
    Package::icpc("problem_format_version: legacy-icpc\n").silent();
    Package::icpc("problem_format_version: 2024\nname: x\n")
        .refused("must be legacy, 2023-07 or 2025-09, but is \"2024\"");
}

#[test]
fn successor_requires_name_and_uuid() {
    let package = Package::icpc("problem_format_version: 2025-09\n");
    package.refused("`name` is missing");
    package
        .file("problem.yaml", "problem_format_version: 2025-09\nname: x\n")
        .warned("`uuid` is missing");
}

#[test]
fn limits_of_the_legacy_format_are_read() {
    let header = "limits:\n  time_multiplier: 3\n  time_safety_margin: 1.5\n  time_limit: 0.5\n  \
     memory: 512\n  output: 2\n  \
                  code: 3\n  compilation_time: 4\n  compilation_memory: 5\n  validation_time: 6\
                  \n  validation_memory: 7\n  \
                  validation_output: 8\n";
    let package = Package::icpc(header);
    package.silent();
    let limits = package.problem().limits;
    assert_eq!(
        (limits.from_accepted, limits.to_exceeded),
        (Some(3.0), Some(1.5))
    );
    assert_eq!(limits.cpu_time, Some(Duration::from_millis(500)));
    assert_eq!(
        (limits.memory, limits.output, limits.code),
        (Some(512 << 20), Some(2 << 20), Some(3 << 10))
    );
    assert_eq!(
        (limits.compilation_time, limits.compilation_memory),
        (Some(Duration::from_secs(4)), Some(5 << 20))
    );
    assert_eq!(
        (limits.validation_time, limits.validation_memory),
        (Some(Duration::from_secs(6)), Some(7 << 20))
    );
    assert_eq!(limits.validation_output, Some(8 << 20));
}

#[test]
fn limits_of_the_successor_are_read() {
    let package = Package::successor(
        "limits:\n  time_limit: 1.5\n  time_resolution: 0.5\n  time_multipliers: \
         {ac_to_time_limit: 3, time_limit_to_tle: 4}\n",
    );
    package.silent();
    let limits = package.problem().limits;
    assert_eq!(
        (limits.cpu_time, limits.resolution),
        (
            Some(Duration::from_millis(1500)),
            Some(Duration::from_millis(500))
        )
    );
    assert_eq!(
        (limits.from_accepted, limits.to_exceeded),
        (Some(3.0), Some(4.0))
    );
    Package::successor("limits: {time_limit: 1.5}\n").refused(
        "time_limit must be a multiple of time_resolution, 1 s; or write \
            `time_resolution: 0.5` beside it",
    );
    Package::successor("limits: {time_limit: 2.25}\n")
        .refused("1 s; or write `time_resolution: 0.01` beside it");
    Package::successor("limits: {time_limit: 0.25, time_resolution: 0.1}\n")
        .refused("time_resolution, 0.1 s; or write `time_resolution: 0.01` beside it");
    Package::successor("limits: {time_multiplier: 3}\n")
        .warned("unknown key \"time_multiplier\", not read; did you mean \"time_multipliers\"?");
    Package::legacy()
        .file("problem.yaml", "limits: {time_multipliers: 3}\n")
        .warned("unknown key");
}

#[test]
fn limits_with_invalid_numbers_are_refused() {
    for (limit, words) in [
        (
            "memory: 0",
            "memory must be a whole number, at least 1, but is \"0\"",
        ),
        ("memory: -1", "at least 1, but is \"-1\""),
        ("memory: 1.5", "whole number"),
        ("memory: 99999999999999999", "memory is too large"),
        (
            "memory: []",
            "memory must be a whole number, at least 1, not a list",
        ),
        ("compilation_time: 0", "more than 0 seconds"),
        ("compilation_time: 1e9", "at most a day"),
        ("compilation_time: nan", "must be a number"),
        (
            "time_limit: soon",
            "time_limit must be a number, but is \"soon\"",
        ),
        ("time_multiplier: 0.5", "time_multiplier must be at least 1"),
        ("time_multiplier: -inf", "must be a number"),
    ] {
        Package::icpc(&format!("limits:\n  {limit}\n")).refused(words);
    }
    Package::icpc("limits: many\n")
        .refused("problem.yaml:1:9: error: limits must be a map of keys and values, not a text");
}

#[test]
fn validation_selects_checker_and_kind() {
    let package = Package::icpc("validation: custom interactive\nvalidator_flags: a  b\n");
    package.refused("there is no output validator");
    package
        .file("output_validators/check/validate.py", "")
        .silent();
    let problem = package.problem();
    assert_eq!(
        (problem.kind, problem.checker_flags),
        (Kind::Interactive, vec!["a".to_owned(), "b".to_owned()])
    );
    let Checker::Custom {
        program,
        convention: Convention::Icpc,
    } = problem.checker
    else {
        panic!("no checker")
    };
    assert_eq!(below(&program.path, &package), "output_validators/check");
    assert_eq!(
        below(&program.sources[0], &package),
        "output_validators/check/validate.py"
    );

    package
        .file("problem.yaml", "validation: default\n")
        .warned("not used, because `validation`");
    package
        .file("problem.yaml", "validation: custom score\n")
        .refused("needs `type: scoring`");
    package
        .file("problem.yaml", "type: scoring\nvalidation: custom score\n")
        .silent();
    package
        .file("problem.yaml", "validation: custom interactiv\n")
        .refused("did you mean \"interactive\"?");
    package
        .file("problem.yaml", "validation: default interactive\n")
        .refused("only custom does");
    package
        .file("problem.yaml", "validation: costum\n")
        .refused("did you mean \"custom\"?");
    package
        .file("problem.yaml", "validation: ''\n")
        .refused("must begin with default or custom");
}

#[test]
fn validation_passes_set_number_of_passes() {
    let package = Package::icpc("validation: custom multi-pass\nlimits: {validation_passes: 26}\n");
    package.file("output_validators/v.py", "").silent();
    assert_eq!(
        package.problem().kind,
        Kind::MultiPass {
            passes: 26,
            interactive: false
        }
    );
    Package::icpc("limits: {validation_passes: 3}\n").warned("to multi-pass problems only");
    Package::icpc("limits: {validation_passes: 1}\n").refused("at least 2");
}

#[test]
fn types_select_kind_and_scoring() {
    let kind = |types: &str| {
        let package = Package::successor(&format!("type: {types}\n"));
        package.file("output_validator/v.py", "").silent();
        let problem = package.problem();
        (problem.kind, problem.scoring != Scoring::PassFail)
    };
    assert_eq!(kind("pass-fail"), (Kind::Batch, false));
    assert_eq!(kind("interactive"), (Kind::Interactive, false));
    assert_eq!(
        kind("[multi-pass, interactive]"),
        (
            Kind::MultiPass {
                passes: 2,
                interactive: true
            },
            false
        )
    );
    assert_eq!(
        kind("[scoring, multi-pass]"),
        (
            Kind::MultiPass {
                passes: 2,
                interactive: false
            },
            true
        )
    );

    let refused =
        |types: &str, words: &str| Package::successor(&format!("type: {types}\n")).refused(words);
    refused(
        "submit-answer",
        "problem.yaml:4:7: error: type submit-answer is not supported",
    );
    refused("[pass-fail, scoring]", "exclude each other");
    refused("[scoring, scoring]", "is repeated");
    refused("intractive", "did you mean \"interactive\"?");
    refused("[]", "at least one type");
    refused("{}", "type must be a list of texts");
    refused("interactive", "needs an output validator of its own");
}

#[test]
fn unknown_keys_of_problem_yaml_are_reported() {
    let package = Package::icpc("nmae: x\nvalidation: default\n");
    assert_eq!(
        package.faults(),
        "problem.yaml:1:1: warning: unknown key \"nmae\", not read; did you mean \"name\"?"
    );
    Package::icpc("xyzzy: 1\n").warned("unknown key \"xyzzy\", not read");
    Package::successor("validation: custom\n").warned("`validation` belongs to the legacy format");
    Package::icpc("type: scoring\ngrading: {range: 0 1}\n")
        .warned("write it in data/testdata.yaml");
    Package::icpc("grading: {objective: most}\n")
        .refused("objective must be one of max, min, but is \"most\"");
}

#[test]
fn objective_of_grading_is_read() {
    let objective = |grading: &str| {
        let package = Package::icpc(&format!("type: scoring\n{grading}"));
        package.silent();
        match package.problem().scoring {
            Scoring::Points { objective, .. } => objective,
            Scoring::PassFail => panic!("no points"),
        }
    };
    assert_eq!(objective(""), Objective::Max);
    assert_eq!(objective("grading: {objective: max}\n"), Objective::Max);
    assert_eq!(
        objective("grading: {objective: min, show_test_data_groups: true}\n"),
        Objective::Min
    );
    Package::icpc("grading: {objective: min}\n").warned("grading applies to scoring problems only");
}

#[test]
fn constants_are_filled_into_groups() {
    let package =
        Package::successor("type: scoring\nconstants: {most: 40, rest: {value: 1, tex: '1,0'}}\n");
    package.file(
        "data/secret/test_group.yaml",
        "max_score: {{most}}\noutput_validator_args: ['{{rest.tex}}', '{{x}}']\n",
    );
    package.file("output_validator/v.py", "").silent();
    let problem = package.problem();
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: 40.0,
            objective: Objective::Max
        }
    );
    assert_eq!(
        problem.test("secret/1").unwrap().checker_flags.as_deref(),
        Some(&["1,0".to_owned(), "{{x}}".to_owned()][..])
    );
    assert_eq!(
        problem.constants.fill(b"{{rest}} {{rest.value}}", 9),
        Ok(Some(b"1 1".to_vec()))
    );
    for (constants, says) in [
        (
            "{1a: 5}",
            "problem.yaml:4:13: error: \"1a\" is not a valid name of a constant",
        ),
        ("{a: [1]}", "the constant a must have a value"),
        ("{a: {tex: '5'}}", "the constant a must have a value"),
        (
            "{a: {value: 5, tex: [5]}}",
            "a variant of a constant must have a name and a value",
        ),
    ] {
        Package::successor(&format!("constants: {constants}\n")).refused(says);
    }
}

#[test]
fn problem_yaml_with_invalid_yaml_is_refused() {
    Package::icpc("name: x\nname: y\n")
        .refused("problem.yaml:2:1: error: the key \"name\" is repeated; it is first in line 1");
    Package::icpc("name: [\n").refused("problem.yaml:2:1: error: not valid YAML");
    Package::icpc("- a\n").refused("problem.yaml must be a map");
    Package::icpc("a: 1\n---\nb: 1\n").refused("a second document begins here");
    Package::icpc("? [a]\n: 1\n").refused("a key must be a text");
    Package::icpc(&format!("name: {}", "[".repeat(100))).refused("problem.yaml:1");
    Package::icpc("\u{feff}name: x\n").warned("begins with a byte-order mark");
    Package::icpc("x: &a {name: b}\nlimits: *a\n").warned("unknown key \"name\"");
    // Each line repeats the one before ten times.
    let bomb: String = (1..9)
        .map(|n| {
            format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 10].join(", ")
            )
        })
        .collect();
    Package::icpc(&format!("a0: &a0 x\n{bomb}")).refused("problem.yaml");

    let package = Package::legacy();
    std::fs::write(
        package.path().join("problem.yaml"),
        b"name: x\n\nsource: \xff\n",
    )
    .unwrap();
    package.refused("problem.yaml:3: error: is not UTF-8");
}

#[test]
fn domjudge_files_set_title_and_time_limit() {
    let package = Package::legacy();
    package
        .file(
            "domjudge-problem.ini",
            "; a comment\ntimelimit = '2.5'\nshort-name=A\nname = \"Title\"\n[x]\n",
        )
        .silent();
    let problem = package.problem();
    assert_eq!(
        (problem.limits.cpu_time, &*problem.name),
        (Some(Duration::from_millis(2500)), "Legacy")
    );
    package
        .file(".timelimit", "3\n")
        .refused(".timelimit: error: this time limit differs from that of");
    package.file(".timelimit", "2.5").silent();
    package
        .file(".timelimit", "soon")
        .refused(".timelimit:1: error: the time limit must be");
    package.remove(".timelimit");
    package.file("domjudge-problem.ini", "timelimt=5\n").warned(
        "domjudge-problem.ini:1: warning: unknown key \"timelimt\", not read; did you mean \
            \"timelimit\"?",
    );
    package
        .file("domjudge-problem.ini", "timelimit\n")
        .refused("neither `key = value` nor a comment");
    package
        .file("domjudge-problem.ini", "special_compare=x\n")
        .warned("names a program of a DOMjudge server");

    // domjudge-problem.ini may be the only main file. An existing validator is then used.
    package
        .remove("problem.yaml")
        .file("domjudge-problem.ini", "name=Alone\ntimelimit=1\n");
    package.file("output_validators/v.py", "").silent();
    let problem = package.problem();
    assert_eq!(
        (&*problem.name, problem.limits.cpu_time),
        ("Alone", Some(Duration::from_secs(1)))
    );
    assert!(matches!(problem.checker, Checker::Custom { .. }));
}

#[test]
fn time_limits_that_differ_are_refused() {
    let ini = "domjudge-problem.ini";
    for package in [
        Package::icpc("limits: {time_limit: 2}\n"),
        Package::successor("limits: {time_limit: 2}\n"),
    ] {
        package.file(ini, "timelimit=2.0\n").silent();
        assert_eq!(
            package.problem().limits.cpu_time,
            Some(Duration::from_secs(2))
        );
        package.file(ini, "name=X\ntimelimit=9\n");
        package.refused(
            "domjudge-problem.ini:2: error: this time limit differs from that of \
            problem.yaml, 2 s; remove one",
        );
    }
    let package = Package::legacy();
    package.file(ini, "timelimit=1\ntimelimit='1.0'\n").silent();
    package.file(ini, "timelimit=1\n\ntimelimit=5\n");
    package.refused(
        "domjudge-problem.ini:3: error: this time limit differs from that of line 1, 1 s; remove \
         one",
    );
}

#[test]
fn package_with_features_of_later_formats_gets_a_warning() {
    let later = |what: &str| {
        format!(
            "problem.yaml: warning: `problem_format_version` is missing, so this is read as \
             legacy, but {what} belongs to later formats; add problem_format_version: 2025-09"
        )
    };
    for (file, what) in [
        ("output_validator/v.py", "output_validator/"),
        ("statement/problem.en.md", "statement/"),
        ("data/secret/test_group.yaml", "data/secret/test_group.yaml"),
    ] {
        let package = Package::legacy();
        package.file(file, "");
        assert_eq!(package.faults(), later(what));
    }
    // A package that states its format gets no warning.
    let package = Package::icpc("name: x\nproblem_format_version: legacy\n");
    let unused = "not used, because `validation` in problem.yaml is not `custom`";
    package.file("statement/problem.en.md", "").silent();
    package.file("output_validator/v.py", "").warned(unused);
    let package = Package::icpc("validation: custom\n");
    package.file("output_validator/v.py", "").silent();
    // A header with faults may have meant to use the validators.
    for header in [
        "validation: [custom\n",
        "validation: costum\n",
        "problem_format_version: 1\nname: x\n",
    ] {
        let package = Package::icpc(header);
        package.file("output_validators/v.py", "");
        let faults = package.faults();
        assert!(
            faults.contains("error: ") && !faults.contains("not used"),
            "{faults}"
        );
    }
}

//! Tests of reading problem.yaml.

use crate::{Package, below};
use millibox_package::fault::files::FileFault;
use millibox_package::fault::icpc::{HeaderFault, ProgramFault};
use millibox_package::fault::text::{Found, Number, Suggestion, ValueKind, WordList};
use millibox_package::fault::values::{KeyFault, OtherMeaning, YamlFault};
use millibox_package::model::{Checker, Convention, Format, Kind, Objective, Scoring};
use millibox_package::{Bound, FaultKind};
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
    Package::icpc("name: [a]\n").refused_at("problem.yaml:1:7", HeaderFault::Name);
    Package::icpc("name: {}\n").refused(HeaderFault::Name);
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
    Package::icpc("problem_format_version: 2024\nname: x\n").refused(HeaderFault::Version {
        found: Found::Text("2024".into()),
    });
}

#[test]
fn successor_requires_name_and_uuid() {
    let package = Package::icpc("problem_format_version: 2025-09\n");
    package.refused(HeaderFault::NoName);
    package
        .file("problem.yaml", "problem_format_version: 2025-09\nname: x\n")
        .warned(HeaderFault::NoUuid);
}

#[test]
fn limits_of_legacy_format_are_read() {
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
fn limits_of_successor_are_read() {
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
    Package::successor("limits: {time_limit: 1.5}\n").refused(HeaderFault::Resolution {
        resolution: Number(1.0),
        finer: Some(Number(0.5)),
    });
    Package::successor("limits: {time_limit: 2.25}\n").refused(HeaderFault::Resolution {
        resolution: Number(1.0),
        finer: Some(Number(0.01)),
    });
    Package::successor("limits: {time_limit: 0.25, time_resolution: 0.1}\n").refused(
        HeaderFault::Resolution {
            resolution: Number(0.1),
            finer: Some(Number(0.01)),
        },
    );
    Package::successor("limits: {time_multiplier: 3}\n").warned(KeyFault::Unknown {
        key: "time_multiplier".into(),
        suggestion: Suggestion::new("time_multipliers", ["time_multipliers"]),
    });
    Package::legacy()
        .file("problem.yaml", "limits: {time_multipliers: 3}\n")
        .warned(KeyFault::Unknown {
            key: "time_multipliers".into(),
            suggestion: Suggestion::new("time_multiplier", ["time_multiplier"]),
        });
}

#[test]
fn limits_with_invalid_numbers_are_refused() {
    let not_whole = |found| KeyFault::NotWhole {
        key: "memory",
        min: 1,
        found,
    };
    let not_time = |seconds: f64| KeyFault::NotTime {
        key: "compilation_time",
        seconds: Number(seconds),
    };
    let not_number = |key, text: &str| KeyFault::NotNumber {
        key,
        found: Found::Text(text.into()),
    };
    for (limit, fault) in [
        ("memory: 0", not_whole(Found::Text("0".into()))),
        ("memory: -1", not_whole(Found::Text("-1".into()))),
        ("memory: 1.5", not_whole(Found::Text("1.5".into()))),
        ("memory: []", not_whole(Found::Other(ValueKind::List))),
        (
            "memory: 99999999999999999",
            KeyFault::TooLarge {
                key: "memory",
                number: 99_999_999_999_999_999,
            },
        ),
        ("compilation_time: 0", not_time(0.0)),
        ("compilation_time: 1e9", not_time(1e9)),
        (
            "compilation_time: nan",
            not_number("compilation_time", "nan"),
        ),
        ("time_limit: soon", not_number("time_limit", "soon")),
        (
            "time_multiplier: 0.5",
            KeyFault::TooSmall {
                key: "time_multiplier",
                min: Number(1.0),
                number: Number(0.5),
            },
        ),
        (
            "time_multiplier: -inf",
            not_number("time_multiplier", "-inf"),
        ),
    ] {
        Package::icpc(&format!("limits:\n  {limit}\n")).refused(fault);
    }
    Package::icpc("limits: many\n").refused_at(
        "problem.yaml:1:9",
        KeyFault::NotMap {
            name: "limits".into(),
            found: ValueKind::Text,
        },
    );
}

#[test]
fn validation_selects_checker_and_kind() {
    let package = Package::icpc("validation: custom interactive\nvalidator_flags: a  b\n");
    package.refused(ProgramFault::NoValidator);
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
        .warned(ProgramFault::UnusedValidator);
    package
        .file("problem.yaml", "validation: custom score\n")
        .refused(HeaderFault::ScoreWithoutScoring);
    package
        .file("problem.yaml", "type: scoring\nvalidation: custom score\n")
        .silent();
    package
        .file("problem.yaml", "validation: custom interactiv\n")
        .refused(HeaderFault::CustomWord {
            word: "interactiv".into(),
            suggestion: Suggestion::new("interactive", ["interactive"]),
        });
    package
        .file("problem.yaml", "validation: default interactive\n")
        .refused(HeaderFault::DefaultWord {
            word: "interactive".into(),
        });
    package
        .file("problem.yaml", "validation: costum\n")
        .refused(HeaderFault::Validation {
            word: "costum".into(),
            suggestion: Suggestion::new("custom", ["custom"]),
        });
    package
        .file("problem.yaml", "validation: ''\n")
        .refused(HeaderFault::NoValidation);
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
    Package::icpc("limits: {validation_passes: 3}\n").warned(HeaderFault::PassesWithoutMultiPass);
    Package::icpc("limits: {validation_passes: 1}\n").refused(KeyFault::NotWhole {
        key: "validation_passes",
        min: 2,
        found: Found::Text("1".into()),
    });
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

    let package = |types: &str| Package::successor(&format!("type: {types}\n"));
    package("submit-answer").refused_at("problem.yaml:4:7", HeaderFault::SubmitAnswer);
    package("[pass-fail, scoring]").refused(HeaderFault::ExclusiveTypes);
    package("[scoring, scoring]").refused(HeaderFault::RepeatedType {
        word: "scoring".into(),
    });
    package("intractive").refused(HeaderFault::UnknownType {
        word: "intractive".into(),
        known: WordList::new([
            "pass-fail",
            "scoring",
            "interactive",
            "multi-pass",
            "submit-answer",
        ]),
        suggestion: Suggestion::new("interactive", ["interactive"]),
    });
    package("[]").refused(HeaderFault::NoType);
    package("{}").refused(KeyFault::NotTexts {
        key: "type".into(),
        found: ValueKind::Map,
    });
    package("interactive").refused(ProgramFault::ValidatorRequired);
}

#[test]
fn unknown_keys_in_problem_yaml_are_reported() {
    let package = Package::icpc("nmae: x\nvalidation: default\n");
    package.warned_at(
        "problem.yaml:1:1",
        KeyFault::Unknown {
            key: "nmae".into(),
            suggestion: Suggestion::new("name", ["name"]),
        },
    );
    assert_eq!(package.found().1.len(), 1);
    Package::icpc("xyzzy: 1\n").warned(KeyFault::Unknown {
        key: "xyzzy".into(),
        suggestion: Suggestion::NONE,
    });
    Package::successor("validation: custom\n").warned(HeaderFault::LegacyKey { key: "validation" });
    Package::icpc("type: scoring\ngrading: {range: 0 1}\n")
        .warned(HeaderFault::OldGrading { key: "range" });
    Package::icpc("grading: {objective: most}\n").refused(KeyFault::NotOneOf {
        key: "objective",
        choices: WordList::new(["max", "min"]),
        found: Found::Text("most".into()),
    });
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
    Package::icpc("grading: {objective: min}\n").warned(HeaderFault::GradingWithoutScoring);
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
    let no_value = || HeaderFault::ConstantValue { name: "a".into() };
    for (constants, place, fault) in [
        (
            "{1a: 5}",
            "problem.yaml:4:13",
            HeaderFault::ConstantName { name: "1a".into() },
        ),
        ("{a: [1]}", "problem.yaml:4:16", no_value()),
        ("{a: {tex: '5'}}", "problem.yaml:4:16", no_value()),
        (
            "{a: {value: 5, tex: [5]}}",
            "problem.yaml:4:27",
            HeaderFault::ConstantVariant,
        ),
    ] {
        Package::successor(&format!("constants: {constants}\n")).refused_at(place, fault);
    }
}

#[test]
fn problem_yaml_with_invalid_yaml_is_refused() {
    Package::icpc("name: x\nname: y\n").refused_at(
        "problem.yaml:2:1",
        KeyFault::Repeated {
            key: "name".into(),
            first_line: 1,
        },
    );
    Package::icpc("name: [\n").refused_at(
        "problem.yaml:2:1",
        YamlFault::Syntax {
            reason: "while parsing a node, did not find expected node content".into(),
        },
    );
    Package::icpc("- a\n").refused(KeyFault::NotMap {
        name: "problem.yaml".into(),
        found: ValueKind::List,
    });
    Package::icpc("a: 1\n---\nb: 1\n").refused(YamlFault::SecondDocument);
    Package::icpc("? [a]\n: 1\n").refused(KeyFault::KeyNotText {
        found: ValueKind::List,
    });
    Package::icpc(&format!("name: {}", "[".repeat(100))).refused(YamlFault::TooDeep { max: 64 });
    Package::icpc("\u{feff}name: x\n").warned(FileFault::ByteOrderMark);
    Package::icpc("x: &a {name: b}\nlimits: *a\n").warned(KeyFault::Unknown {
        key: "name".into(),
        suggestion: Suggestion::NONE,
    });
    // Each line repeats the previous one ten times.
    let bomb: String = (1..9)
        .map(|n| {
            format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 10].join(", ")
            )
        })
        .collect();
    Package::icpc(&format!("a0: &a0 x\n{bomb}")).refused(Bound::Values);

    let package = Package::legacy();
    std::fs::write(
        package.path().join("problem.yaml"),
        b"name: x\n\nsource: \xff\n",
    )
    .unwrap();
    package.refused_at("problem.yaml:3", FileFault::NotUtf8);
}

#[test]
fn package_with_features_of_later_formats_causes_warning() {
    for (file, what) in [
        ("output_validator/v.py", "output_validator/"),
        ("statement/problem.en.md", "statement/"),
        ("data/secret/test_group.yaml", "data/secret/test_group.yaml"),
    ] {
        let package = Package::legacy();
        package.file(file, "");
        let later = HeaderFault::LaterFormat {
            feature: what.into(),
        };
        package.warned_at("problem.yaml", later);
        assert_eq!(package.found().1.len(), 1);
    }
    // A package that states its format causes no warning.
    let package = Package::icpc("name: x\nproblem_format_version: legacy\n");
    package.file("statement/problem.en.md", "").silent();
    package
        .file("output_validator/v.py", "")
        .warned(ProgramFault::UnusedValidator);
    let package = Package::icpc("validation: custom\n");
    package.file("output_validator/v.py", "").silent();
    // The author of a header with faults may have intended to use the validators.
    for header in [
        "validation: [custom\n",
        "validation: costum\n",
        "problem_format_version: 1\nname: x\n",
    ] {
        let package = Package::icpc(header);
        package.file("output_validators/v.py", "");
        let (is_read, faults) = package.found();
        let unused = FaultKind::from(ProgramFault::UnusedValidator);
        assert!(
            !is_read && faults.iter().all(|fault| fault.kind != unused),
            "{faults:#?}"
        );
    }
}

#[test]
fn grading_of_problem_yaml_replaces_settings_of_all_groups() {
    let package = Package::icpc(
        "type: scoring\ngrading: {on_reject: grade, accept_score: 7, reject_score: 1, range: -inf \
         0x10}\n",
    );
    package.test("secret/g/2").file(
        "data/secret/testdata.yaml",
        "on_reject: break\naccept_score: 3\nrange: 0 5\n",
    );
    let problem = package.problem();
    for group in problem.groups() {
        let rules = &group.rules;
        assert!(!rules.stop_at_first_failure, "{}", group.name);
        assert_eq!(
            (rules.accept_score, rules.reject_score, rules.range),
            (Some(7.0), Some(1.0), Some((f64::NEG_INFINITY, 16.0))),
            "{}",
            group.name
        );
    }
    let stops = |word: &str| {
        let package = Package::icpc(&format!("grading: {{on_reject: {word}}}\n"));
        package.file("data/testdata.yaml", "on_reject: continue\n");
        package
            .problem()
            .group("secret")
            .unwrap()
            .rules
            .stop_at_first_failure
    };
    assert!(stops("first_error") && stops("break"));
    assert!(!stops("worst_error") && !stops("continue"));
}

#[test]
fn words_of_yaml_1_1_are_reported_in_all_files() {
    let word = |word: &str, meaning| YamlFault::OldWord {
        word: word.into(),
        meaning,
    };
    Package::icpc("name: No\n").warned_at("problem.yaml:1:7", word("No", OtherMeaning::Boolean));
    let package = Package::icpc("limits: {memory: 0o1000, time_limit: 010}\n");
    package.warned(word("0o1000", OtherMeaning::String));
    package.warned(word("010", OtherMeaning::Octal));
    let limits = package.problem().limits;
    assert_eq!(limits.memory, Some(512 << 20));
    assert_eq!(limits.cpu_time, Some(Duration::from_secs(10)));
    Package::icpc("limits: {memory: 1_000}\n").refused(KeyFault::NotWhole {
        key: "memory",
        min: 1,
        found: Found::Text("1_000".into()),
    });
    // Quoted words and keys are strings in both versions.
    Package::icpc("name: 'No'\nsource: \"on\"\nauthor: !!str yes\n").silent();
    let package = Package::icpc("type: scoring\n");
    package.file("data/secret/testdata.yaml", "accept_score: 1:30\n");
    assert!(
        package
            .faults()
            .contains("1:15: warning: 1:30 is a string in YAML 1.2")
    );
    let package = Package::successor("");
    package.file(
        "submissions/submissions.yaml",
        "accepted: {use_for_time_limit: no}\n",
    );
    assert!(
        package
            .faults()
            .contains("1:32: warning: no is a string in YAML 1.2")
    );
}

#[test]
fn booleans_have_all_spellings_of_yaml_1_2() {
    for (word, is_model) in [
        ("true", true),
        ("True", true),
        ("TRUE", true),
        ("FALSE", false),
    ] {
        let package = Package::successor("");
        package.file("submissions/accepted/b.cpp", "").file(
            "submissions/submissions.yaml",
            &format!("accepted/b.cpp: {{model_solution: {word}, use_for_time_limit: False}}\n"),
        );
        let problem = package.problem();
        let model = problem.model_solution().unwrap();
        assert_eq!(model.name == "accepted/b.cpp", is_model, "{word}");
    }
}

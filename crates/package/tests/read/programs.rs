//! Validators, the flags of the default checker, and included files.

use crate::{Package, below};
use millibox_package::fault::icpc::{FlagError, GroupFault, ProgramFault};
use millibox_package::model::Checker;

#[test]
fn headers_belong_to_single_input_validator() {
    let package = Package::legacy();
    let found = || {
        package
            .problem()
            .input_validators
            .into_iter()
            .map(|program| below(&program.path, &package))
            .collect::<Vec<_>>()
    };
    package
        .file("input_validators/a.cpp", "")
        .file("input_validators/v.h", "");
    assert_eq!(found(), ["input_validators"]);
    // Each of several sources may include the header.
    package.file("input_validators/b.cpp", "");
    assert_eq!(
        found(),
        ["input_validators/a.cpp", "input_validators/b.cpp"]
    );
    package.file("input_validators/c/c.cpp", "");
    assert_eq!(
        found(),
        [
            "input_validators/a.cpp",
            "input_validators/b.cpp",
            "input_validators/c"
        ]
    );
    package.file("input_validators/build", "");
    assert_eq!(found(), ["input_validators"]);
}

#[test]
fn one_output_validator_is_allowed() {
    // In the legacy format, each file or directory is a validator, unless there are headers.
    let package = Package::icpc("validation: custom\n");
    package
        .file("output_validators/a.py", "")
        .file("output_validators/b.py", "");
    package.refused(ProgramFault::SeveralValidators {
        others: "output_validators/b.py".into(),
    });
    package
        .remove("output_validators/b.py")
        .file("output_validators/a.h", "")
        .silent();
    let Checker::Custom { program, .. } = package.problem().checker else {
        panic!("no checker")
    };
    assert_eq!(
        (below(&program.path, &package), program.sources.len()),
        ("output_validators".to_owned(), 2)
    );

    package
        .file("output_validators/b.py", "")
        .refused(ProgramFault::SeveralValidators {
            others: "output_validators/b.py".into(),
        });

    // In the successor, there is one validator. Its files are in output_validator or below.
    let package = Package::successor("");
    package
        .file("output_validator/a.cc", "")
        .file("output_validator/b.cc", "")
        .silent();
    let Checker::Custom { program, .. } = package.problem().checker else {
        panic!("no checker")
    };
    assert_eq!(
        (program.name(), program.sources.len()),
        ("output_validator", 2)
    );

    // A directory with scripts is one validator.
    let package = Package::icpc("validation: custom\n");
    package
        .file("output_validators/build", "")
        .file("output_validators/x.d", "")
        .file("output_validators/y.d", "")
        .silent();
}

#[test]
fn input_validators_of_both_directories_are_read() {
    let package = Package::legacy();
    package
        .file("input_validators/a.py", "")
        .file("input_format_validators/b/x.cpp", "");
    package.file("input_validators/README.md", "").silent();
    let validators = package.problem().input_validators;
    assert_eq!(
        validators
            .iter()
            .map(|program| program.name())
            .collect::<Vec<_>>(),
        ["a.py", "b"]
    );
    package.file("input_validators/c.ctd", "").silent();
    let validators = package.problem().input_validators;
    assert!(validators[1].is_checktestdata(), "{validators:?}");
    package.file("input_validators/d.viva", "").warned_at(
        "input_validators/d.viva",
        ProgramFault::UnsupportedValidator,
    );
}

#[test]
fn unknown_flags_of_default_checker_are_refused() {
    let no_flag = || FlagError::Unknown {
        flag: "no_such_flag".into(),
    };
    let package = Package::icpc("name: x\nvalidator_flags: float_tolerance 1e-6 no_such_flag\n");
    package.test("secret/2").test("secret/3");
    package.refused_at("problem.yaml:2:18", no_flag());
    assert_eq!(package.found().1.len(), 1);
    // A custom checker has its own flags.
    package.file(
        "problem.yaml",
        "validation: custom\nvalidator_flags: no_such_flag\n",
    );
    package.file("output_validators/v.py", "").silent();

    let package = Package::icpc("validator_flags: case_sensitive\n");
    package.test("secret/g/1").test("secret/g/2").file(
        "data/secret/testdata.yaml",
        "output_validator_flags: float_tolerance x\n",
    );
    package.refused_at(
        "data/secret/testdata.yaml:1:25",
        FlagError::Number {
            flag: "float_tolerance".into(),
            value: "x".into(),
        },
    );
    assert_eq!(package.found().1.len(), 1);
    let package = Package::successor("");
    package
        .test("secret/2")
        .file(
            "data/secret/test_group.yaml",
            "output_validator_args: [float_tolerance, 0x.8]\n",
        )
        .silent();
    package.file(
        "data/secret/2.yaml",
        "output_validator_args: no_such_flag\n",
    );
    package.refused_at("data/secret/2.yaml:1:24", no_flag());
    assert_eq!(package.found().1.len(), 1);
}

#[test]
fn include_directory_is_read() {
    let package = Package::legacy();
    assert_eq!(package.problem().include, None);
    package.file("include/python3/driver.py", "").silent();
    assert_eq!(
        package.problem().include,
        Some(package.path().join("include"))
    );
    package
        .file("include/stray.py", "")
        .warned_at("include/stray.py", ProgramFault::MisplacedInclude);
}

#[test]
fn static_validators_are_refused() {
    Package::successor("")
        .file("static_validator/v.py", "")
        .refused(GroupFault::StaticValidators { key: None });
}

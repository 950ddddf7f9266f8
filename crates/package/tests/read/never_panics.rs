//! Reading never panics, regardless of the bytes in the files.

use crate::Package;
use proptest::prelude::*;

/// Arbitrary bytes, and strings of syntax elements.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        proptest::sample::select(vec![
            "name",
            "type",
            "scoring",
            "limits",
            "validation",
            "custom",
            "interactive",
            "memory",
            "range",
            "args",
            "scoring",
            "gen",
            "static",
            "solutions",
            "tests_files",
            "accepted/*",
            "permitted",
            "[AC, WA]",
            "sum1",
            "1a-d",
            "0",
            "-1",
            "1e9",
            "inf",
        ])
        .prop_map(str::to_owned),
        "[-:=\\[\\]{}#,&*!|>'\"%@`? \n\t\\\\]{1,3}",
        "[a-z0-9]{1,4}",
        "\\PC{1,2}",
        // Blank values in quotes, and arrays of them.
        Just("' '".to_owned()),
        Just("\nstatic: [' ']\ngen: [' ']\n".to_owned()),
        Just("\nlimits: [' ']\nscoring: ['']\ntests_files: [' ']\nsolutions: [' ']\n".to_owned()),
    ];
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        proptest::collection::vec(word, 0..40).prop_map(|words| words.concat().into_bytes()),
    ]
}

fn write(package: &Package, path: &str, bytes: &[u8]) {
    package.file(path, "");
    std::fs::write(package.path().join(path), bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn problem_yaml_with_arbitrary_bytes_does_not_panic(bytes in bytes()) {
        let package = Package::legacy();
        write(&package, "problem.yaml", &bytes);
        let _ = package.read();
    }

    #[test]
    fn successor_files_with_arbitrary_bytes_do_not_panic(
        groups in bytes(),
        test in bytes(),
        submissions in bytes(),
    ) {
        let package = Package::successor("type: scoring\n");
        write(&package, "data/secret/test_group.yaml", &groups);
        write(&package, "data/secret/1.yaml", &test);
        write(&package, "submissions/submissions.yaml", &submissions);
        let _ = package.read();
    }

    #[test]
    fn domjudge_files_with_arbitrary_bytes_do_not_panic(
        groups in bytes(),
        ini in bytes(),
        time in bytes(),
        source in bytes(),
    ) {
        let package = Package::legacy();
        write(&package, "data/testdata.yaml", &groups);
        write(&package, "domjudge-problem.ini", &ini);
        write(&package, ".timelimit", &time);
        write(&package, "submissions/accepted/a.cpp", &[b"@EXPECTED_RESULTS@: \
         ", &*source].concat());
        let _ = package.read();
    }

    #[test]
    fn simfile_and_sipfile_with_arbitrary_bytes_do_not_panic(
        simfile in bytes(),
        sipfile in bytes(),
    ) {
        let package = Package::sim("");
        write(&package, "Simfile", &simfile);
        write(&package, "Sipfile", &sipfile);
        let _ = package.read();
    }

    #[test]
    fn archive_of_arbitrary_bytes_does_not_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let package = Package::empty();
        write(&package, "x.zip", &bytes);
        let _ = millibox_package::read(&package.path().join("x.zip"));
    }
}

//! The files of a package: links, names, and files that are left out.

use crate::{Package, names};
use millibox_package::fault::files::{ArchiveFault, FileFault};
use millibox_package::fault::icpc::ProgramFault;
use millibox_package::fault::text::Suggestion;
use millibox_package::{Fault, FaultKind, Severity};
use std::io;
use std::os::unix::net::UnixListener;

#[test]
fn path_without_package_is_refused() {
    let package = Package::empty();
    package.refused_at(
        "pack",
        FileFault::Unreadable(io::Error::from_raw_os_error(2).into()),
    );
    package
        .file("x/y", "")
        .refused_at("pack", FileFault::NoPackage);
    let file = package.path().join("x/y");
    let faults = millibox_package::read(&file).unwrap_err();
    let is_wanted = |fault: &Fault| {
        fault.path == file && matches!(fault.kind, FaultKind::Archive(ArchiveFault::NotZip(_)))
    };
    assert!(faults.iter().any(is_wanted), "{faults:#?}");
}

#[test]
fn link_to_package_is_not_followed() {
    let outside = Package::legacy();
    let package = Package::empty();
    package
        .link("inner", &outside.path().display().to_string())
        .refused_at("pack", FileFault::NoPackage);
}

#[test]
fn only_directory_in_directory_is_read() {
    let package = Package::empty();
    package
        .file("inner/problem.yaml", "nmae: x\n")
        .file("inner/data/secret/1.in", "")
        .file("inner/data/secret/1.ans", "");
    package.file("inner/submissions/accepted/a.py", "");
    let problem = package.problem();
    assert_eq!(
        (&*problem.label, problem.directory),
        ("inner", package.path().join("inner"))
    );
    let (_, faults) = package.found();
    assert_eq!(package.place(&faults[0]), "inner/problem.yaml:1:1");
    assert_eq!(faults[0].severity, Severity::Warning);
}

#[test]
fn package_of_both_formats_is_read_as_icpc() {
    Package::legacy()
        .file("Simfile", "")
        .warned_at("Simfile", FileFault::OtherFormat);
}

#[test]
fn links_inside_package_are_followed() {
    let package = Package::legacy();
    package
        .link("data/secret/2.in", "1.in")
        .link("data/secret/2.ans", "../secret/1.ans");
    package
        .link("submissions/wrong_answer", "accepted")
        .link("data/sample", "secret")
        .silent();
    assert_eq!(
        names(&package.problem()),
        ["sample/1", "sample/2", "secret/1", "secret/2"]
    );
}

#[test]
fn links_outside_package_are_refused() {
    let package = Package::legacy();
    package.link("data/secret/2.in", "/etc/passwd");
    package.refused_at(
        "data/secret/2.in",
        FileFault::LinkOutside {
            target: "/etc/passwd".into(),
        },
    );
    package
        .remove("data/secret/2.in")
        .link("data/secret/2.in", "nowhere")
        .refused(FileFault::DanglingLink {
            target: "nowhere".into(),
            error: io::Error::from_raw_os_error(2).into(),
        });
    package
        .remove("data/secret/2.in")
        .link("data/sample", "../..")
        .refused_at(
            "data/sample",
            FileFault::LinkOutside {
                target: "../..".into(),
            },
        );
    package
        .remove("data/sample")
        .link("data/sample", "..")
        .refused(FileFault::LinkLoop {
            target: "..".into(),
        });
    package
        .remove("data/sample")
        .link("data/sample", "sample")
        .refused(FileFault::DanglingLink {
            target: "sample".into(),
            error: io::Error::from_raw_os_error(40).into(),
        });
    // Judging does not need the statement.
    package
        .remove("data/sample")
        .link("problem.pdf", "/etc/passwd")
        .warned_at(
            "problem.pdf",
            FileFault::LinkOutside {
                target: "/etc/passwd".into(),
            },
        );
}

#[test]
fn socket_among_tests_is_refused() {
    let package = Package::legacy();
    let _listener = UnixListener::bind(package.path().join("data/secret/2.in")).unwrap();
    package.refused_at("data/secret/2.in", FileFault::NotRegular);
}

#[test]
fn files_with_invalid_names_are_left_out() {
    let package = Package::legacy();
    package
        .test("secret/a b")
        .warned_at("data/secret/a b.in", FileFault::Name);
    let package = Package::legacy();
    package
        .test("secret/-3")
        .warned_at("data/secret/-3.in", FileFault::Name);
    let package = Package::legacy();
    package
        .file(".git/x", "")
        .file("data/secret/.2.in", "")
        .file("solution notes.txt", "")
        .silent();
    assert_eq!(names(&package.problem()), ["secret/1"]);
}

#[test]
fn python_cache_is_left_out() {
    let package = Package::icpc("validation: custom\n");
    for path in [
        "output_validators/v.py",
        "input_validators/i.py",
        "submissions/accepted/b.py",
        "submissions/wrong/c.py",
    ] {
        let (directory, name) = path.rsplit_once('/').unwrap();
        package
            .file(path, "# @EXPECTED_RESULTS@: CORRECT\n")
            .file(&format!("{directory}/__pycache__/{name}c"), "");
    }
    package
        .file("submissions/accepted/d/main.py", "")
        .file("submissions/accepted/d/__pycache__/main.pyc", "")
        .silent();
    let problem = package.problem();
    assert_eq!(problem.input_validators.len(), 1);
    let submissions: Vec<&str> = problem
        .submissions
        .iter()
        .map(|submission| &*submission.name)
        .collect();
    assert_eq!(
        submissions,
        [
            "accepted/a.cpp",
            "accepted/b.py",
            "accepted/d",
            "wrong/c.py"
        ]
    );
    assert_eq!(problem.submissions[2].program.sources.len(), 1);
}

#[test]
fn unreadable_file_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let package = Package::legacy();
    let path = package.path().join("data/secret/1.in");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        // Root can read any file.
        return;
    }
    let denied = io::Error::from_raw_os_error(13);
    package.refused_at("data/secret/1.in", FileFault::Unreadable(denied.into()));
}

#[test]
fn fault_with_line_break_in_name_is_one_line() {
    let package = Package::sim("");
    package
        .link("in/a\nb.in", "/etc/passwd")
        .file("in/c\u{7}.in", "");
    let faults = package.faults();
    assert!(
        faults
            .lines()
            .all(|line| line.contains(": error: ") || line.contains(": warning: ")),
        "{faults}"
    );
}

#[test]
fn misspelt_directory_causes_suggestion() {
    for (name, meant) in [
        ("output_validater", "output_validator"),
        ("input_validator", "input_validators"),
        ("submission", "submissions"),
        ("generator", "generators"),
        ("Data", "data"),
    ] {
        let package = Package::legacy();
        package.file(&format!("{name}/a.cpp"), "");
        let suggestion = Suggestion::new(meant, [meant]);
        package.warned_at(name, ProgramFault::UnknownDirectory { suggestion });
    }
    let package = Package::legacy();
    for name in [
        "attachments",
        "input_visualizer",
        "answer_validators",
        "solution",
    ] {
        package.file(&format!("{name}/a.cpp"), "");
    }
    for name in [
        "README.md",
        "LICENSE",
        "Makefile",
        "problem.pdf",
        "notes.txt",
    ] {
        package.file(name, "");
    }
    package.silent();
}

/// Every file that is not read is named, at every level of a package.
#[test]
fn unread_files_are_named() {
    for path in [
        "problem.yml",
        "Problem.yaml",
        "problem.yaml.old",
        "domjudge_problem.ini",
        "testdata.yaml",
        "test_group.yaml",
        "submissions.yaml",
        "xyzzy",
        "xyzzy/a.cpp",
        "data/testdata.yml",
        "data/TestData.yaml",
        "data/test-group.yaml",
        "data/1.ans",
        "data/xyzzy/1.in",
        "data/bad/1.in",
        "data/invalid_answer/1.in",
        "data/secret/testdata.yml",
        "data/secret/testgroup.yaml",
        "data/secret/test_group.yml",
        "data/secret/1.IN",
        "data/secret/1.out2",
        "data/secret/1.args",
        "data/secret/1.yaml",
        "data/secret/1.files/a",
        "data/secret/2.files/a",
        "data/secret/2.yaml",
        "submissions/submissions.yaml",
        "submissions/a.cpp",
        "submissions/a.txt",
        "submissions/accepted/b.txt",
        "submissions/accepted/b.yaml",
        "input_validators/check",
        "input_validators/notes.yaml",
        "output_validators/check",
        "generators/generators.yml",
        "generators/generator.yaml",
        "include/a.h",
    ] {
        let package = Package::legacy();
        package.file(path, "");
        let faults = package.faults();
        let named = |line: &str| {
            let place = line.split(": ").next().unwrap_or_default();
            let place = place.split(':').next().unwrap_or_default();
            path == place || path.starts_with(&format!("{place}/"))
        };
        assert!(faults.lines().any(named), "{path}: {faults:?}");
    }
    for path in [
        "data/testdata.yml",
        "data/test-group.yaml",
        "data/secret/testgroup.yaml",
        "data/secret/1/testdata.yml",
        "submissions/submissions.yml",
        "submissions/Submissions.yaml",
        "data/sample/test_group.yaml.orig",
    ] {
        let package = Package::successor("");
        package.file(path, "");
        let faults = package.faults();
        assert!(faults.contains(path), "{path}: {faults:?}");
    }
}

#[test]
fn name_of_unread_file_is_suggested() {
    let meant = |path: &str, word: &str| {
        let package = Package::legacy();
        package.file(path, "");
        let faults = package.faults();
        let end = format!("; did you mean {word:?}?");
        assert!(
            faults
                .lines()
                .any(|line| line.starts_with(path) && line.ends_with(&end)),
            "{path}: {faults}"
        );
    };
    meant("problem.yml", "problem.yaml");
    meant("testdata.yaml", "data/testdata.yaml");
    meant("data/testdata.yml", "testdata.yaml");
    meant("data/secret/testgroup.yml", "test_group.yaml");
    meant("generators/generators.yml", "generators.yaml");
    meant("data/secret/1.inn", "1.in");
}

//! domjudge-problem.ini and .timelimit.

use crate::Package;
use millibox_package::fault::icpc::DomjudgeFault;
use millibox_package::fault::text::{Number, Suggestion};
use millibox_package::fault::values::KeyFault;
use millibox_package::model::Checker;
use std::time::Duration;

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
    package.file(".timelimit", "3\n").refused_at(
        ".timelimit",
        DomjudgeFault::TimeLimitsDiffer {
            place: "domjudge-problem.ini".into(),
            seconds: Number(2.5),
        },
    );
    package.file(".timelimit", "2.5").silent();
    package.file(".timelimit", "soon").refused_at(
        ".timelimit:1",
        DomjudgeFault::TimeLimit {
            text: "soon".into(),
        },
    );
    package.remove(".timelimit");
    package
        .file("domjudge-problem.ini", "timelimt=5\n")
        .warned_at(
            "domjudge-problem.ini:1",
            KeyFault::Unknown {
                key: "timelimt".into(),
                suggestion: Suggestion::new("timelimit", ["timelimit"]),
            },
        );
    package
        .file("domjudge-problem.ini", "timelimit\n")
        .refused(DomjudgeFault::Line);
    package
        .file("domjudge-problem.ini", "special_compare=x\n")
        .warned(DomjudgeFault::ServerProgram {
            key: "special_compare".into(),
            program: "x".into(),
        });

    // domjudge-problem.ini may be the only main file. If a validator exists, it is used.
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
fn different_time_limits_are_refused() {
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
        package.refused_at(
            "domjudge-problem.ini:2",
            DomjudgeFault::TimeLimitsDiffer {
                place: "problem.yaml".into(),
                seconds: Number(2.0),
            },
        );
    }
    let package = Package::legacy();
    package.file(ini, "timelimit=1\ntimelimit='1.0'\n").silent();
    package.file(ini, "timelimit=1\n\ntimelimit=5\n");
    package.refused_at(
        "domjudge-problem.ini:3",
        DomjudgeFault::TimeLimitsDiffer {
            place: "line 1".into(),
            seconds: Number(1.0),
        },
    );
}

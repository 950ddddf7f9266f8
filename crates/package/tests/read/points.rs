//! Points of groups in the versions 2023-07 and 2025-09.

use crate::Package;
use millibox_package::fault::icpc::GroupFault;
use millibox_package::fault::text::{Found, Number, Suggestion, WordList};
use millibox_package::fault::values::KeyFault;
use millibox_package::model::{Objective, Rules, ScoreMode, Scoring};

fn groups(secret: &str, groups: &[(&str, &str, usize)]) -> Package {
    let package = Package::successor("type: scoring\n");
    package
        .remove("data/secret/1.in")
        .remove("data/secret/1.ans");
    package.file("data/secret/test_group.yaml", secret);
    for (name, text, tests) in groups {
        package.file(&format!("data/secret/{name}/test_group.yaml"), text);
        for test in 0..*tests {
            package.test(&format!("secret/{name}/{test}"));
        }
    }
    package.test("sample/1");
    package
}

#[test]
fn scoring_problem_has_default_points() {
    let package = Package::successor("type: scoring\n");
    package.test("secret/2").test("sample/1").silent();
    let problem = package.problem();
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: 100.0,
            objective: Objective::Max
        }
    );
    assert!(problem.root.rules.ignore_sample && !problem.root.rules.stop_at_first_failure);
    let secret = &problem.group("secret").unwrap().rules;
    assert_eq!((secret.score, secret.points), (ScoreMode::Sum, Some(100.0)));
    assert_eq!(
        (secret.accept_score, secret.reject_score),
        (Some(50.0), Some(0.0))
    );
    assert!(!secret.stop_at_first_failure);
    let sample = &problem.group("sample").unwrap().rules;
    assert_eq!(
        (sample.accept_score, sample.stop_at_first_failure),
        (Some(0.0), false)
    );
}

#[test]
fn groups_have_rules_of_aggregation() {
    let package = groups(
        "",
        &[
            ("a", "max_score: 10\n", 2),
            (
                "b",
                "max_score: 30\nscore_aggregation: sum\nrequire_pass: [sample, secret/a]\n",
                3,
            ),
            (
                "c",
                "max_score: 60\nscore_aggregation: min\nrequire_pass: secret/a\n",
                2,
            ),
        ],
    );
    package.silent();
    let problem = package.problem();
    let rules = |name: &str| problem.group(name).unwrap().rules.clone();
    let rest = |points| Rules {
        points: Some(points),
        range: Some((0.0, points)),
        reject_score: Some(0.0),
        ..Rules::default()
    };
    assert_eq!(
        rules("secret/a"),
        Rules {
            score: ScoreMode::PassFail,
            ..rest(10.0)
        }
    );
    let require_pass = vec!["sample".to_owned(), "secret/a".to_owned()];
    let b = Rules {
        score: ScoreMode::Sum,
        accept_score: Some(10.0),
        require_pass,
        stop_at_first_failure: false,
        ..rest(30.0)
    };
    assert_eq!(rules("secret/b"), b);
    let require_pass = vec!["secret/a".to_owned()];
    assert_eq!(
        rules("secret/c"),
        Rules {
            score: ScoreMode::Minimum,
            accept_score: Some(60.0),
            require_pass,
            ..rest(60.0)
        }
    );
}

#[test]
fn unbounded_groups_have_no_points() {
    let package = groups(
        "max_score: unbounded\n",
        &[("a", "score_aggregation: sum\n", 1)],
    );
    package.silent();
    let problem = package.problem();
    assert_eq!(
        problem.scoring,
        Scoring::Points {
            minimum: 0.0,
            maximum: f64::INFINITY,
            objective: Objective::Max
        }
    );
    let rules = &problem.group("secret/a").unwrap().rules;
    assert_eq!((rules.points, rules.accept_score), (None, None));
}

#[test]
fn invalid_points_are_reported() {
    let one = |text: &str| groups("", &[("a", text, 1)]);
    one("").refused(GroupFault::NoMaxScore);
    one("max_score: 1.5\n").refused(GroupFault::MaxScore {
        found: Found::Text("1.5".into()),
    });
    one("max_score: -1\n").refused(GroupFault::MaxScore {
        found: Found::Text("-1".into()),
    });
    one("max_score: 5\nscore_aggregation: avg\n").refused(KeyFault::NotOneOf {
        key: "score_aggregation",
        choices: WordList::new(["pass-fail", "sum", "min"]),
        found: Found::Text("avg".into()),
    });
    one("max_score: 5\nrequire_pass: secret/b\n").refused(GroupFault::RequiredUnknown {
        group: "secret/b".into(),
        suggestion: Suggestion::NONE,
    });
    one("max_score: 5\nrequire_pass: secret/a\n").refused(GroupFault::RequiredLater {
        group: "secret/a".into(),
    });
    one("max_score: 5\nstatic_validation_score: 3\n").refused(GroupFault::StaticValidators {
        key: Some("static_validation_score"),
    });
    one("max_score: 101\n").warned(GroupFault::TooManyPoints {
        sum: Number(101.0),
        max: Number(100.0),
    });
    groups("max_score: unbounded\n", &[("a", "", 1)]).refused(GroupFault::PassFailUnbounded);
    groups("require_pass: secret/a\n", &[("a", "max_score: 5\n", 1)])
        .refused(GroupFault::SecretRequires);
    let sum = "max_score: 5\nscore_aggregation: sum\n";
    groups("score_aggregation: pass-fail\n", &[("a", sum, 1)]).refused(GroupFault::NotPassFail);
    groups(
        "",
        &[
            ("a", sum, 1),
            ("b", "max_score: 5\nrequire_pass: secret/a\n", 1),
        ],
    )
    .refused(GroupFault::RequiredNotPassFail {
        group: "secret/a".into(),
    });
    let package = one("max_score: 5\n");
    package
        .file("data/sample/test_group.yaml", "max_score: 5\n")
        .refused(GroupFault::SamplePoints);

    Package::successor("")
        .file("data/secret/test_group.yaml", "max_score: 5\n")
        .warned(GroupFault::ScoringOnly { key: "max_score" });
}

#[test]
fn draft_with_testdata_yaml_has_legacy_groups() {
    let package = Package::successor("type: scoring\n");
    package
        .file(
            "data/secret/testdata.yaml",
            "accept_score: 7\non_reject: continue\noutput_validator_args: [case_sensitive]\n",
        )
        .silent();
    let problem = package.problem();
    let secret = problem.group("secret").unwrap();
    assert_eq!(
        (secret.rules.accept_score, secret.rules.points),
        (Some(7.0), None)
    );
    assert_eq!(
        secret.tests[0].checker_flags.as_ref().unwrap(),
        &["case_sensitive"]
    );
}

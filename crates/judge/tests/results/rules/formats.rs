//! Points in the successor of the legacy format and in Sim packages.

use super::{points, points_fault, sim_problem, successor, successor_problem};
use crate::tree::*;
use millibox_judge::scoring::PointsError;
use millibox_judge::verdict::Verdict::*;
use millibox_package::model::ScoreMode;

#[test]
fn successor_groups_follow_their_rules() {
    let problem = successor_problem(
        Some(100.0),
        vec![
            group(
                "a",
                successor(ScoreMode::PassFail, Some(10.0), 2),
                2,
                vec![],
            ),
            group("b", successor(ScoreMode::Sum, Some(30.0), 3), 3, vec![]),
            group("c", successor(ScoreMode::Minimum, Some(60.0), 2), 2, vec![]),
        ],
    );
    points(
        &problem,
        "AC  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "AC  WA -   AC AC TL  AC AC",
        TimeLimit,
        Some(80.0),
    );
    points(
        &problem,
        "AC  AC AC  AC%0.5 AC=3 AC  AC=7.5 AC",
        Accepted,
        Some(35.5),
    );
    points(
        &problem,
        "AC  AC AC  AC AC AC  AC RE",
        RunTimeError,
        Some(40.0),
    );
    // A checker's points for samples are ignored.
    points(
        &problem,
        "AC=99  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "WA=99  AC AC  AC AC AC  AC AC",
        Accepted,
        Some(100.0),
    );
    points_fault(
        &problem,
        "AC  AC=1 -  AC AC AC  AC AC",
        1,
        PointsError::AllOrNothing,
    );
    points_fault(
        &problem,
        "AC  AC AC  AC=10.5 AC AC  AC AC",
        3,
        PointsError::OutOfWorth {
            points: 10.5,
            max: 10.0,
        },
    );
    points_fault(
        &problem,
        "AC  AC AC  AC WA=0 AC  AC AC",
        4,
        PointsError::Rejected,
    );
    points_fault(
        &problem,
        "AC  AC AC  AC=-1 AC AC  AC AC",
        3,
        PointsError::OutOfWorth {
            points: -1.0,
            max: 10.0,
        },
    );
}

#[test]
fn unbounded_groups_use_checker_points() {
    let problem = successor_problem(
        None,
        vec![group("a", successor(ScoreMode::Sum, None, 2), 2, vec![])],
    );
    points(&problem, "AC AC=1000 AC=0.5", Accepted, Some(1000.5));
    points(&problem, "AC AC=1000 WA", WrongAnswer, Some(1000.0));
    let errors = [
        ("AC AC AC=1", PointsError::Missing),
        ("AC AC%1 AC=1", PointsError::PartWithoutMaximum),
        ("AC AC=-1 AC=1", PointsError::Negative(-1.0)),
    ];
    for (words, error) in errors {
        points_fault(&problem, words, 1, error);
    }
}

#[test]
fn sim_groups_have_smallest_share() {
    let problem = sim_problem(&[(0.0, 1), (40.0, 2), (60.0, 2)]);
    points(&problem, "AC AC AC AC AC", Accepted, Some(100.0));
    points(&problem, "WA AC AC AC AC", WrongAnswer, Some(100.0));
    points(&problem, "AC WA - AC AC", WrongAnswer, Some(60.0));
    points(&problem, "AC AC%0.5 AC%0.75 AC AC", Accepted, Some(80.0));
    // Points are full up to two thirds of the limit and 0 at the limit.
    points(
        &problem,
        "AC AC@0.6 AC@0.66 AC@0.1 AC@0",
        Accepted,
        Some(100.0),
    );
    points(
        &problem,
        "AC AC@0.75 AC AC AC@0.9",
        Accepted,
        Some(30.0 + 18.0),
    );
    points(&problem, "AC AC@1 AC AC AC", Accepted, Some(60.0));
    points(&problem, "AC AC@1.01 AC AC AC", Accepted, Some(60.0));
    // The smaller of the two shares counts, not their product.
    points(&problem, "AC AC%0.5@0.8 AC AC AC", Accepted, Some(80.0));
    points(&problem, "AC AC%0.9@0.9 AC AC AC", Accepted, Some(72.0));
    // Points of groups are whole numbers.
    points(
        &problem,
        "AC AC%0.33 AC AC AC%0.999",
        Accepted,
        Some(13.0 + 60.0),
    );
    points(&problem, "AC AC%0 AC AC AC", Accepted, Some(60.0));
    points_fault(&problem, "AC AC=7 - AC AC", 1, PointsError::NotAPart(7.0));
    // Sim groups may have negative points.
    points(
        &sim_problem(&[(0.0, 1), (-5.0, 1), (60.0, 1)]),
        "AC AC AC",
        Accepted,
        Some(55.0),
    );
}
